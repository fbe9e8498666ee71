"""One cell: a learner, trained and tested on one split."""

from __future__ import annotations

import random
import traceback
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from plurilabel.compare._cell_files import Cell, plain
from plurilabel.compare._learners import set_seeds, share_searches
from plurilabel.compare._memory import peak_mb, reset_peak
from plurilabel.compare._shared_index import SearchCache
from plurilabel.lazy import MLkNNCV
from plurilabel.metrics import (
    evaluate,
    get_measure,
    label_scores,
    per_label,
    propensities,
    score_method,
)

MOST_LABELS = 2000
"""Beyond these, a cell holds nothing per label."""

CURVE = ("hamming_loss", "subset_accuracy", "accuracy", "f1", "macro_f1", "micro_f1")
CURVE_ENTRIES = 500_000
"""Where there are more scores, the curve is that of some test rows, evenly spaced."""


class Parts(NamedTuple):
    """What a learner is trained and tested on."""

    X_train: Any
    Y_train: Any
    X_test: Any
    Y_test: Any


def run_cell(
    learner: Callable[[], Any],
    parts: Callable[[], Parts],
    *,
    measures: Sequence[str],
    seed: int,
    cache: SearchCache,
) -> Cell:
    """Train, predict, measure; whatever goes wrong is in the cell.

    Parameters
    ----------
    learner, parts : callables without arguments
        Give the learner and the data, fresh: what a learner does to them is its own affair.
    measures : sequence of str
    seed : int
        For every ``random_state`` that is None, and for the global generators.
    cache : SearchCache
        Where lazy learners search.

    Returns
    -------
    dict
        Everything about the cell but its place.
    """
    cell: Cell = {
        **empty_cell(measures),
        "status": "ok",
        "error": None,
    }
    of_the_cell = reset_peak()
    cache.begin()
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - for learners that use it
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            _run(cell, learner(), parts(), measures, seed, cache)
        except BaseException as error:  # nobody presses Ctrl-C here: it is the learner's
            cell |= {
                **empty_cell(measures),
                "status": "error",
                "error": _sentence(error),
                "traceback": traceback.format_exc(),
            }
    cell["search_seconds"] = cache.unpaid_seconds()
    cell["peak_mb"] = peak_mb()
    if not of_the_cell:
        cell["peak_note"] = "since the worker process started, not of this cell alone"
    cell["warnings"] = list(dict.fromkeys(_sentence(one.message) for one in caught))[:20]
    return cell


def empty_cell(measures: Sequence[str]) -> Cell:
    """The fields that a cell fills when all goes well."""
    return {
        "scores": dict.fromkeys(measures),
        "fit_seconds": None,
        "predict_seconds": None,
        "search_seconds": None,
        "peak_mb": None,
        "best_params": None,
        "per_label": None,
        "threshold_curve": None,
        "traceback": None,
        "warnings": [],
    }


def _run(
    cell: Cell,
    learner: Any,
    parts: Parts,
    measures: Sequence[str],
    seed: int,
    cache: SearchCache,
) -> None:
    set_seeds(learner, seed)
    share_searches(learner, cache)
    start = perf_counter()
    learner.fit(parts.X_train, parts.Y_train)
    cell["fit_seconds"] = perf_counter() - start

    q = parts.Y_test.shape[1]
    scored = hasattr(learner, "predict_proba") or hasattr(learner, "decision_function")
    start = perf_counter()
    labels = learner.predict(parts.X_test)
    scores = label_scores(learner, parts.X_test, n_labels=q) if scored else None
    cell["predict_seconds"] = perf_counter() - start

    if q == 1 and not sparse.issparse(labels):
        labels = np.reshape(labels, (-1, 1))
    Y_test = parts.Y_test
    cell["scores"] = plain(_measured(measures, parts.Y_train, Y_test, scores, labels))
    cell["best_params"] = plain(_best_params(learner))
    if q <= MOST_LABELS:
        table = per_label(Y_test, scores, labels)
        columns = ("tp", "fp", "fn", "tn", "auc")
        cell["per_label"] = {name: plain(table[name]) for name in columns if name in table}
        cell["per_label"].setdefault("auc", [None] * q)
    if scores is not None and not sparse.issparse(scores):
        probabilities = score_method(learner) == "predict_proba"
        cell["threshold_curve"] = plain(_curve(Y_test, scores, probabilities))


def _measured(
    measures: Sequence[str], Y_train: Any, Y_test: Any, scores: Any, labels: Any
) -> dict[str, float | None]:
    q = Y_test.shape[1]
    top = {int(name.rpartition("@")[2]) for name in measures if "@" in name}
    weighted = any(name.startswith("ps") for name in measures)
    found = evaluate(
        Y_test,
        scores,
        labels,
        top=sorted(k for k in top if k <= q),
        propensities=propensities(Y_train) if weighted else None,
    )
    values: dict[str, float | None] = {}
    for name in measures:
        measure = get_measure(name)
        if name in found:
            values[name] = found[name]
        elif "@" in name or (measure.kind == "scores" and scores is None):
            values[name] = None
        else:
            values[name] = measure.function(Y_test, labels if measure.kind == "labels" else scores)
    return values


def _curve(Y: Any, scores: Any, probabilities: bool) -> dict[str, list[float]]:
    """Measures of the sets of labels above a cut, for cuts over the range of the scores."""
    step = -(-scores.size // CURVE_ENTRIES)
    Y, scores = Y[::step], scores[::step]
    ends = (0.0, 1.0) if probabilities else (float(scores.min()), float(scores.max()))
    cuts = np.linspace(*ends, 41)
    found = [evaluate(Y, labels=scores > cut) for cut in cuts]
    return {
        "cut": cuts.tolist(),
        **{name: [measures[name] for measures in found] for name in CURVE},
    }


def _best_params(learner: Any) -> dict[str, Any] | None:
    if isinstance(learner, Pipeline):
        return _best_params(learner.steps[-1][1])
    if hasattr(learner, "best_params_"):
        return dict(learner.best_params_)
    if isinstance(learner, MLkNNCV):
        return {"n_neighbors": learner.n_neighbors_, "smoothing": learner.smoothing_}
    inner = getattr(learner, "estimator_", None)
    return None if inner is None else _best_params(inner)


def _sentence(error: Any) -> str:
    """An error or warning in one line."""
    text = " ".join(str(error).split())
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return said if len(said) <= 500 else said[:499] + "…"
