"""Real tables with fixed folds, and how good the learner is on them with some weights."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.prior_fitted.learner._classifier import PriorFittedClassifier
from benchmarks.prior_fitted.learner._forward import view_features
from benchmarks.prior_fitted.learner._regressions import regress
from plurilabel import metrics

MEASURES = ("average_precision", "hamming_loss", "micro_f1")
CHOSEN_ON = ("flags", "emotions", "yeast")
"""Tables that may guide the choice of the prior; the others are only reported."""
REPORTED = ("foodtruck", "scene", "image")


def evaluate(
    learner: PriorFittedClassifier, files: Iterable[Path], *, holdouts: int = 0
) -> list[dict[str, object]]:
    """Measures on every table, averaged over its folds, printed as they are found."""
    lines: list[dict[str, object]] = []
    for file in files:
        with np.load(file, allow_pickle=False) as stored:
            X, Y, fold = stored["X"], stored["Y"], stored["fold"]
        found, start = [], time.perf_counter()
        folds = range(holdouts or int(fold.max()) + 1)
        for k in folds:
            train, test = fold != k, fold == k
            P = learner.fit(X[train], Y[train]).predict_proba(X[test])
            figures = metrics.evaluate(Y[test], P, (P > 0.5).astype(np.int8))
            found.append({name: float(figures[name]) for name in MEASURES})
        seconds = (time.perf_counter() - start) / len(folds)
        mean = {key: round(float(np.mean([f[key] for f in found])), 4) for key in found[0]}
        line = {"data": file.stem, "rows": len(X), "features": X.shape[1], "labels": Y.shape[1]}
        line |= mean | {"seconds_per_fold": round(seconds, 3)}
        line["folds"] = [round(f["average_precision"], 4) for f in found]
        lines.append(line)
        print(json.dumps(line), flush=True)
    average = np.mean([line["average_precision"] for line in lines])  # type: ignore[misc]
    print(
        json.dumps(
            {"mean_average_precision": round(float(average), 4), "passes": learner.n_estimators}
        )
    )
    return lines


def evaluate_regressions(files: Iterable[Path]) -> list[dict[str, object]]:
    """Average precision of each regression that the network reads, and of their mean."""
    lines: list[dict[str, object]] = []
    for file in files:
        with np.load(file, allow_pickle=False) as stored:
            X, Y, fold = (stored[name].astype(float) for name in ("X", "Y", "fold"))
        found = []
        for k in range(int(fold.max()) + 1):
            train, test = fold != k, fold == k
            views = view_features(X[train], X[test])
            rng = np.random.default_rng(k)
            said = regress(views[..., 0], views[..., 1], Y[train], rng)[train.sum() :, :, ::2]
            f = (Y[train].sum(axis=0) + 0.5) / (train.sum() + 1)
            P = np.clip(f[:, None] + said * np.sqrt(f * (1 - f))[:, None], 0, 1)
            answers = [*P.transpose(2, 0, 1), P.mean(axis=2)]
            found.append([metrics.evaluate(Y[test], A)["average_precision"] for A in answers])
        means = [round(float(value), 4) for value in np.mean(found, axis=0)]
        lines.append({"data": file.stem, "regressions": means[:-1], "mean_of_them": means[-1]})
        print(json.dumps(lines[-1]), flush=True)
    return lines


def export(folder: Path, names: Iterable[str] = CHOSEN_ON + REPORTED, *, seed: int = 0) -> None:
    """Write tables as arrays, with five fixed folds each."""
    from plurilabel import datasets
    from plurilabel.model_selection import IterativeStratifiedKFold

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        data = datasets.load(name)
        fold = np.empty(len(data.X), dtype=np.int8)
        splitter = IterativeStratifiedKFold(5, shuffle=True, random_state=seed)
        for k, (_, test) in enumerate(splitter.split(data.X, data.Y)):
            fold[test] = k
        X, Y = np.asarray(data.X, dtype=np.float32), np.asarray(data.Y, dtype=np.int8)
        np.savez_compressed(folder / f"{name}.npz", X=X, Y=Y, fold=fold)
