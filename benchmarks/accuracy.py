"""AutoClassifier beside single learners: is what one call gives the best there is?

    python -m benchmarks.accuracy emotions scene          # their hold-outs
    python -m benchmarks.accuracy --folds yeast scene     # five folds, as published figures are

For each dataset and each of six measures AutoClassifier is asked for that measure; its portfolio
is fitted once and serves all six. Beside it stand the learners of the portfolio by themselves,
each with its own cut, and forests and gradient boosting per label; BOOMER's figures are those of
docs/gradient-boosting.csv. What is finished is kept in a folder (``--folder``): a run that was
ended goes on. Writes docs/accuracy.csv, which docs/accuracy_results.md shows. One thread. Needs
the datasets (PLURILABEL_DATA).
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import joblib
import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.utils.metaestimators import available_if

from plurilabel import AutoClassifier, BinaryRelevance, datasets, metrics
from plurilabel._blocks import dense
from plurilabel.compare import digest_of
from plurilabel.model_selection import IterativeStratifiedKFold

DOCS = Path(__file__).parents[1] / "docs"
OUT, BOOMER = DOCS / "accuracy.csv", DOCS / "gradient-boosting.csv"
MEASURES = (
    "average_precision", "hamming_loss", "f1", "micro_f1", "macro_f1", "subset_accuracy",
)  # fmt: skip
COLUMNS = (
    "dataset", "rows", "measure", "AutoClassifier", "expected", "best other", "which", "ahead",
)  # fmt: skip
PUBLISHED = {  # five folds, papers of 2019 and before
    ("yeast", "hamming_loss"): 0.190,
    ("yeast", "average_precision"): 0.775,
    ("scene", "hamming_loss"): 0.072,
    ("scene", "average_precision"): 0.897,
    ("image", "hamming_loss"): 0.144,
    ("image", "average_precision"): 0.843,
}


class Kept:
    """A fitted learner that remembers its answers."""

    def __init__(self, fitted):
        self.fitted, self.answers = fitted, {}

    def _ask(self, method, X):
        key = method, digest_of(X)
        if key not in self.answers:
            self.answers[key] = getattr(self.fitted, method)(X)
        return self.answers[key]

    @property
    def classes_(self):
        return self.fitted.classes_

    @available_if(lambda self: hasattr(self.fitted, "predict_proba"))
    def predict_proba(self, X):
        return self._ask("predict_proba", X)

    @available_if(lambda self: hasattr(self.fitted, "decision_function"))
    def decision_function(self, X):
        return self._ask("decision_function", X)

    def predict(self, X):
        return self._ask("predict", X)


class Shared(AutoClassifier):
    """AutoClassifier whose fitted learners are kept, for the next measure."""

    kept: dict[str, Kept] = {}  # noqa: RUF012 - emptied for each dataset

    def _fit_member(self, member, X, Y):
        if member.name not in self.kept:
            self.kept[member.name] = Kept(super()._fit_member(member, X, Y))
        return self.kept[member.name]

    def fit_all(self, X, Y):
        """Fit every learner of the portfolio, and those that stand beside it."""
        seed = int(np.random.RandomState(self.random_state).randint(2**31 - 1))
        for member in self._candidates(X, Y, seed):
            self._fit_member(member, X, Y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--folds", action="store_true", help="five folds in place of the hold-out")
    parser.add_argument("--folder", type=Path, default=Path("out/accuracy"))
    parser.add_argument("--time-limit", type=float, help="seconds for the portfolio of each split")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.datasets:
        data = datasets.load(name)
        parts = five_folds(data) if asked.folds else [data.holdout()]
        found = [
            measure_split(f"{name}-{k}" if asked.folds else name, part, asked)
            for k, part in enumerate(parts)
        ]
        for row in rows_of(name, found, folds=asked.folds):
            print(*row.values(), sep="  ", flush=True)
            write(row)


def five_folds(data):
    folds = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
    return [
        (data.X[a], data.X[b], data.Y[a], data.Y[b])
        for a, b in folds.split(np.empty(data.X.shape[0]), data.Y)
    ]


def measure_split(name, part, asked):
    """Figures by measure and by learner, and what was expected by measure."""
    X, X_test, Y, Y_test = part
    Y, Y_test = dense(Y), dense(Y_test)
    path = asked.folder / f"{name}.joblib"
    asked.folder.mkdir(parents=True, exist_ok=True)
    Shared.kept = joblib.load(path) if path.exists() else {}
    options = {
        "random_state": 0, "memory": asked.folder / "scores", "time_limit": asked.time_limit,
    }  # fmt: skip
    figures: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    expected = {}
    for measure in MEASURES:
        model = Shared(measure, **options).fit(X, Y)
        answer = metrics.evaluate(Y_test, model.predict_proba(X_test), model.predict(X_test))
        figures[measure]["AutoClassifier"] = answer[measure]
        expected[measure] = model.estimate_
        print(f"{name} {measure} {answer[measure]:.4f}", flush=True)
    joblib.dump(Shared.kept, path)
    others(X, Y, model)
    for learner, fitted in Shared.kept.items():
        scores = metrics.label_scores(fitted, X_test, n_labels=Y.shape[1])
        answer = metrics.evaluate(Y_test, scores, dense(fitted.predict(X_test)))
        for measure in MEASURES:
            figures[measure][learner] = answer[measure]
    joblib.dump(Shared.kept, path)
    return figures, expected


def others(X, Y, model):
    """Fit the learners that stand beside the chosen ones."""
    model.fit_all(X, Y)
    beside = {"forest per label": RandomForestClassifier(100, random_state=0)}
    if not sparse.issparse(X):
        beside["histogram boosting per label"] = HistGradientBoostingClassifier(random_state=0)
    for name, estimator in beside.items():
        if name not in Shared.kept:
            Shared.kept[name] = Kept(BinaryRelevance(estimator).fit(X, Y))


def rows_of(name, found, *, folds):
    """A row for each measure: means over the splits."""
    boomer = {} if folds else boomers(name)
    for measure in MEASURES:
        better = 1 if metrics.get_measure(measure).greater_is_better else -1
        learners = set.intersection(*(set(figures[measure]) for figures, _ in found))
        means = {
            one: float(np.mean([figures[measure][one] for figures, _ in found]))
            for one in sorted(learners)
        } | boomer.get(measure, {})
        if folds and (name, measure) in PUBLISHED:
            means["published"] = PUBLISHED[name, measure]
        ours = means.pop("AutoClassifier")
        which = max(means, key=lambda one: better * means[one])
        yield dict(zip(COLUMNS, (
            name, "five folds" if folds else "hold-out", measure, f"{ours:.4f}",
            f"{np.mean([expected[measure] for _, expected in found]):.4f}",
            f"{means[which]:.4f}", which, f"{better * (ours - means[which]):+.4f}",
        )))  # fmt: skip


def boomers(name):
    """BOOMER's figures by measure, for the hold-out of a dataset."""
    columns = {
        "average_precision": "average precision", "hamming_loss": "Hamming loss",
        "subset_accuracy": "subset accuracy",
    }  # fmt: skip
    found: dict[str, dict[str, float]] = {}
    with open(BOOMER, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["dataset"] == name and row["learner"].startswith("boomer"):
                for measure, column in columns.items():
                    if row[column]:
                        found.setdefault(measure, {})[row["learner"]] = float(row[column])
    return found


def write(row) -> None:
    """Put a row into its place in the file, beside those that are there."""
    rows = [row]
    if OUT.exists():
        with open(OUT, newline="") as stream:
            rows = [*csv.DictReader(stream), row]
    known = {(each["rows"], each["dataset"], each["measure"]): each for each in rows}
    with open(OUT, "w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known.values())


if __name__ == "__main__":
    main()
