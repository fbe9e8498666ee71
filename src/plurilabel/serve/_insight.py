"""Views of the training set for the page: rows, suspected errors, thresholds, pairs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from plurilabel._core.blocks import dense
from plurilabel._core.compat import safe_indexing
from plurilabel.inspection import find_label_issues
from plurilabel.learners import set_seeds
from plurilabel.metrics import label_scores
from plurilabel.serve._answers import holds
from plurilabel.serve._ledger import Ledger
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service
from plurilabel.serve._training import Growing, Refitting, Trained

MOST_CELLS = 2e7  # rows times labels
MOST_KEPT = 2e6  # rows times labels of the previous version
LEAST_MOVED = 5e-4  # smallest change of a score to report
MOST_PAIRS = 40  # labels in the co-occurrence table
FOLDS = 3
_CUTS = 101


@dataclass(frozen=True)
class View:
    """Labels, scores and suspected errors of the rows of one version."""

    version: int
    rows: NDArray[np.intp]  # (n,) numbers of the rows
    Y: NDArray[np.int8]  # (n, q)
    scores: NDArray[np.float64]  # (n, q) of models that were not fitted on the row
    predicted: NDArray[np.bool_]  # (n, q) labels that those models predict
    sure: NDArray[np.float64]  # (n,) certainty of the least certain label, from 0 to 1
    quality: NDArray[np.float64]  # (n, q) credibility of suspected errors, 1 elsewhere


class Insight:
    """The training set of a service for the page, computed on first use."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lock = threading.Lock()
        self._view: View | None = None
        self._before: View | None = None

    @property
    def possible(self) -> bool:
        """Whether there are training rows, and not too many."""
        n, q = self.service.n_given, len(self.service.places)
        return n > 1 and n * q <= MOST_CELLS and self.service.method is not None

    def view(self) -> View:
        if not self.possible:
            problem = "no rows to show: start the service with data that have at most"
            raise BadInput(f"{problem} {MOST_CELLS:,.0f} label values", status=404)
        with self._lock:
            now, ledger = self.service.now, self.service.ledger
            if self._view is None or self._view.version != now.version:
                made = self._made(now, ledger)
                self._before = self._view if made.scores.size <= MOST_KEPT else None
                self._view = made
            return self._view

    def _made(self, now: Trained, ledger: Ledger) -> View:
        training = self.service.training
        if isinstance(training, Growing):
            learner, rows = now.model.learner, now.rows
            Y, S = dense(learner.Y_), learner.training_scores()
            labels = now.model.labels_of(S)
            Z = learner.training_labels() if labels is None else dense(labels) == 1
        else:
            assert isinstance(training, Refitting)
            rows = np.array(ledger.rows())
            X, labels = training.table(ledger, rows.tolist())
            Y, (S, Z) = dense(labels), self._held_out(now.model.estimator, X, labels)
        quality = np.ones(Y.shape)
        issues = find_label_issues(Y, self.probabilities(S))
        quality[issues.rows, issues.labels] = issues.quality
        return View(now.version, rows, Y.astype(np.int8), S, Z, self.certainty(S), quality)

    def _held_out(
        self, estimator: Any, X: Any, Y: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Cross-validated scores and label sets."""
        S, Z = np.zeros(Y.shape), np.zeros(Y.shape, dtype=bool)
        folds = min(FOLDS, Y.shape[0])
        for train, test in KFold(folds, shuffle=True, random_state=0).split(S):
            fold = clone(estimator)
            set_seeds(fold, 0)
            fold.fit(safe_indexing(X, train), Y[train])
            rows = safe_indexing(X, test)
            S[test] = dense(label_scores(fold, rows, n_labels=S.shape[1]))
            Z[test] = dense(fold.predict(rows)) == 1
        return S, Z

    def probabilities(self, S: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores from 0 to 1, one half at the threshold of the learner."""
        if self.service.method == "predict_proba":
            return np.clip(S, 0.0, 1.0)
        return 1 / (1 + np.exp(-np.clip(S, -50, 50)))

    def certainty(self, S: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distance of the least certain label of each row from one half, scaled to [0, 1]."""
        return np.abs(2 * self.probabilities(S) - 1).min(axis=1)

    def rows(
        self, *, label: str | None = None, having: str = "any", below: float = 1.0,
        above: float = 0.0, issues: bool = False, find: str = "", sort: str = "row",
        start: int = 0, most: int = 20,
    ) -> dict[str, Any]:  # fmt: skip
        """Filter rows by label, certainty and suspected errors, and sort them: a page of them."""
        view, j = self.view(), self._place(label)
        keep = (view.sure <= below) & (view.sure >= above)
        quality = view.quality.min(axis=1) if j is None else view.quality[:, j]
        if issues:
            keep &= quality < 1
        if j is not None and having != "any":
            has, predicted = view.Y[:, j] == 1, view.predicted[:, j]
            filters = {"with": has, "without": ~has, "predicted": predicted}
            keep &= (filters | {"disputed": has != predicted})[having]
        at = np.flatnonzero(keep)
        if find:
            features = self.service.features_of
            at = at[[holds(features(int(row)), find) for row in view.rows[at]]]
        orders = {
            "row": view.rows,
            "doubt": quality,
            "unsure": view.sure,
            "score": -view.scores[:, j] if j is not None else -view.scores.max(axis=1),
        }
        at = at[np.argsort(orders[sort][at], kind="stable")]
        page = [self._card(view, int(i)) for i in at[start : start + most]]
        return {"version": view.version, "total": len(at), "start": start, "rows": page}

    def _place(self, label: str | None) -> int | None:
        if label and label not in self.service.places:
            raise BadInput(f"the model has no label {label[:60]!r}")
        return self.service.places[label] if label else None

    def some(self, rows: list[int]) -> dict[str, Any]:
        """Current rows by number; removed rows are left out."""
        view = self.view()
        place = {row: i for i, row in enumerate(view.rows.tolist())}
        found = [self._card(view, place[row]) for row in rows if row in place]
        return {"version": view.version, "rows": found}

    def _card(self, view: View, i: int) -> dict[str, Any]:
        names = self.service.model.label_names
        return {
            **self.service.row_card(int(view.rows[i])),
            "scores": _rounded(view.scores[i], 6),
            "predicted": [names[j] for j in np.flatnonzero(view.predicted[i]).tolist()],
            "sure": round(float(view.sure[i]), 4),
            "issues": [
                {
                    "label": names[j],
                    "issue": "wrong" if view.Y[i, j] else "missing",
                    "quality": round(float(view.quality[i, j]), 4),
                }
                for j in np.argsort(view.quality[i], kind="stable")
                if view.quality[i, j] < 1
            ],
        }

    def moved(self, since: int, most: int = 8) -> dict[str, Any]:
        """Rows whose scores changed most since the previous version, if it is still known."""
        view = self.view()
        before = self._before
        if before is None or before.version != since or view.version == since:
            return {"version": view.version, "rows": []}
        _, now, then = np.intersect1d(view.rows, before.rows, return_indices=True)
        change = view.scores[now] - before.scores[then]
        far = np.abs(change).max(axis=1)
        order = np.argsort(-far, kind="stable")[:most]
        rows = [
            {**self._card(view, int(now[i])), "change": _rounded(change[i], 6)}
            for i in order
            if far[i] > LEAST_MOVED
        ]
        return {"version": view.version, "rows": rows}

    def cuts(self, label: str | None = None) -> dict[str, Any]:
        """Precision, recall and F1 by threshold, for one label or all labels together.

        Scores are those of models that were not fitted on the row.
        """
        view, j = self.view(), self._place(label)
        S, Y, Z = view.scores, view.Y.astype(bool), view.predicted
        if j is not None:
            S, Y, Z = S[:, [j]], Y[:, [j]], Z[:, [j]]
        low, high = 0.0, 1.0
        if self.service.method != "predict_proba":
            low, high = np.quantile(S, [0.001, 0.999]).tolist()
        cuts = np.linspace(low, high, _CUTS)
        true, every = np.sort(S[Y]), np.sort(S.ravel())
        # the last entry is for the labels that the model predicts
        hits = np.append(len(true) - np.searchsorted(true, cuts, side="right"), (Y & Z).sum())
        predicted = np.append(len(every) - np.searchsorted(every, cuts, side="right"), Z.sum())
        precision = np.where(predicted > 0, hits / np.maximum(predicted, 1), 1.0)
        figures = {
            "precision": _rounded(precision, 4),
            "recall": _rounded(hits / max(len(true), 1), 4),
            "f1": _rounded(2 * hits / np.maximum(predicted + len(true), 1), 4),
            "per_row": _rounded(predicted / len(view.rows), 3),
        }
        return {
            "version": view.version,
            "rows": len(view.rows),
            "cuts": _rounded(cuts, 6),
            **{name: values[:-1] for name, values in figures.items()},
            "model": {name: values[-1] for name, values in figures.items()},
        }

    def pairs(self) -> dict[str, Any]:
        """How often labels occur together, for the most frequent ones."""
        view = self.view()
        often = view.Y.sum(axis=0, dtype=np.int64)
        at = np.argsort(-often, kind="stable")[:MOST_PAIRS]
        Y = view.Y[:, at].astype(np.int64)
        names = self.service.model.label_names
        return {
            "version": view.version,
            "rows": len(view.rows),
            "labels": [names[j] for j in at],
            "together": (Y.T @ Y).tolist(),
        }


def _rounded(values: Any, digits: int) -> list[float]:
    return [round(float(value), digits) for value in values]
