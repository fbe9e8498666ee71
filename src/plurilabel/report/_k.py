"""Measures against the number of neighbours, for the report."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plurilabel.report._data import Findings
from plurilabel.report._svg import Chart, Figure, padded, series
from plurilabel.report._words import capital

AGAINST_K = ("hamming_loss", "f1", "ranking_loss", "average_precision")


def against_k(findings: Findings, dataset: str) -> list[Figure]:
    """Measures against the number of neighbours, where learners differ in nothing else."""
    groups = neighbour_groups(findings.results.plan["learners"])
    if not groups:
        return []
    i = findings.results.datasets.index(dataset)
    index = {name: j for j, name in enumerate(findings.results.learners)}
    figures = []
    for measure in [m for m in AGAINST_K if m in findings.tables] or findings.headlines[:4]:
        table = findings.tables[measure]
        lines = {}
        for name, group in groups.items():
            points = [(k, table.means[i, index[learner]]) for k, learner in group]
            points = [(k, value) for k, value in points if np.isfinite(value)]
            if len(points) > 1:
                lines[name] = tuple(zip(*points))
        if not lines:
            continue
        values = [v for _, ys in lines.values() for v in ys]
        ks = [k for xs, _ in lines.values() for k in xs]
        wide = max(ks) > 20 * min(ks)
        title = f"{table.title} {table.arrow}"
        chart = Chart(
            (min(ks) / 1.1, max(ks) * 1.1) if wide else padded(ks, 0.03), padded(values),
            x_label="number of neighbours", y_label=title, log_x=wide,
            says=f"{table.title} on {dataset} against the number of neighbours",
        )  # fmt: skip
        for place, (name, (xs, ys)) in enumerate(lines.items()):
            chart.line(xs, ys, series(place))
            titles = [f"{name}, {k:g} neighbours: {v:.4f}" for k, v in zip(xs, ys)]
            chart.dots(xs, ys, series(place), titles)
        legend = tuple((series(place), name) for place, name in enumerate(lines))
        figures.append(Figure(f"{capital(table.title)} against k", chart.svg(), legend=legend))
    return figures


def neighbour_groups(learners: dict[str, Any]) -> dict[str, list[tuple[float, str]]]:
    """Learners that differ in n_neighbors only: title to (k, learner), by k."""
    found: dict[str, list[tuple[float, str]]] = {}
    for name, about in learners.items():
        k, rest = _without_k({key: about.get(key) for key in ("class", "parameters")})
        if len(k) == 1:
            found.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(
                (k[0], name)
            )
    several = [sorted(group) for group in found.values() if len({k for k, _ in group}) > 1]
    groups = {}
    for group in several:
        kind = str(learners[group[0][1]].get("class", "")).rpartition(".")[2] or group[0][1]
        title = kind if kind not in groups else f"{kind}, as {group[0][1]}"
        groups[title] = group
    return groups


def _without_k(about: Any) -> tuple[list[float], Any]:
    """Every n_neighbors in nested parameters, and the parameters without them."""
    if isinstance(about, dict):
        found, rest = [], {}
        for key, value in about.items():
            if key.split("__")[-1] == "n_neighbors" and isinstance(value, int | float):
                found.append(float(value))
                continue
            inner, rest[key] = _without_k(value)
            found += inner
        return found, rest
    if isinstance(about, list):
        parts = [_without_k(value) for value in about]
        return [k for inner, _ in parts for k in inner], [rest for _, rest in parts]
    return [], about
