"""The summary of a description, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plurilabel.datasets._description import Description

_WIDEST_NAME = 60


def summary_text(found: Description, top: int) -> str:
    """The figures of a description, and its ``top`` labels, sets and pairs."""
    n = found.instances
    figures: list[tuple[str, str, str]] = [
        ("instances", f"{n}", ""),
        ("features", f"{found.features}", ""),
        ("labels", f"{found.labels}", ""),
        ("cardinality (LCard)", f"{found.cardinality:.3f}", "labels per instance"),
        ("density (LDen)", f"{found.density:.3f}", ""),
        (
            "distinct sets (LDiv)",
            f"{found.diversity}",
            f"{found.normalized_diversity:.1%} of the instances (PLDiv)",
        ),
        ("with a single label", f"{found.single_label}", f"{found.single_label / n:.1%}"),
        ("without a label", f"{found.no_label}", f"{found.no_label / n:.1%}"),
        ("imbalance (MeanIR)", _number(found.mean_ir), "1 = all labels equally frequent"),
        ("its variation (CVIR)", _number(found.cvir), ""),
        (
            "concurrence (SCUMBLE)",
            _number(found.scumble),
            "0 = frequent and rare labels do not meet",
        ),
    ]
    if found.features is None:
        del figures[1]
    width = max(9, *(len(value) for _, value, _ in figures))
    lines = [found.name, "=" * len(found.name)] if found.name else []
    lines += [f"{what:<22}{value:>{width}}  {note}".rstrip() for what, value, note in figures]

    order = np.argsort(-found.counts, kind="stable")[:top]
    lines += _block(
        ["most frequent labels", "count", "share", "IRLbl"],
        [
            [found.label_names[l], f"{c}", f"{c / n:.1%}", f"{found.irlbl[l]:.2f}"]
            for l, c in zip(order, found.counts[order])
            if c
        ],
    )
    lines += _block(
        ["most frequent sets", "count", "share"],
        [[_joined(s["labels"]), f"{s['count']}", f"{s['share']:.1%}"]
         for s in found.common_sets(top)],
    )  # fmt: skip
    lines += _block(
        ["most frequent pairs", "count", "share", "lift"],
        [
            [_joined(p["labels"]), f"{p['count']}", f"{p['share']:.1%}", f"{p['lift']:.2f}"]
            for p in found.common_pairs(top)
        ],
    )
    if never := found.never_present():
        rest = f" and {len(never) - top} more" if len(never) > top else ""
        lines += ["", f"never present ({len(never)}): {', '.join(never[:top])}{rest}"]
    return "\n".join(lines)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _joined(labels: Sequence[str]) -> str:
    return " + ".join(labels) or "(no label)"


def _block(head: list[str], rows: list[list[str]]) -> list[str]:
    """A small table after an empty line: first column to the left, the others to the right."""
    if not rows:
        return []
    table = [head, *([_short(name), *cells] for name, *cells in rows)]
    # three blocks under each other: columns line up unless something is long
    widths = [max(least, *(len(row[i]) for row in table))
              for i, least in zip(range(len(head)), (20, 5, 5, 5))]  # fmt: skip
    return ["", *("  ".join(_padded(row, widths)) for row in table)]


def _padded(row: list[str], widths: list[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST_NAME else text[: _WIDEST_NAME - 3] + "..."
