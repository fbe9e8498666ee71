"""Problem transformations beside scikit-learn's, and at scale.

Needs the datasets (PLURILABEL_DATA). Times are CPU seconds of one worker, ours and the peer's in
turns; the ratio is the median over the turns.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import datasets
from plurilabel.transformation import BinaryRelevance, CalibratedLabelRanking, ClassifierChain

BASES = {
    "logistic regression": LogisticRegression(max_iter=2000),
    "tree": DecisionTreeClassifier(max_depth=8, random_state=0),
    "linear SVM": LinearSVC(random_state=0),
    "kernel SVM": SVC(),
}
CASES = (
    ("scene", "logistic regression", 7),
    ("scene", "tree", 7),
    ("yeast", "logistic regression", 7),
    ("yeast", "tree", 7),
    ("medical", "linear SVM", 7),
    ("bibtex", "logistic regression", 3),
)


def run() -> list[dict[str, Any]]:
    rows = []
    for name, base_name, turns in CASES:
        X, X_test, Y, _ = datasets.load(name).holdout()
        Y = Y.toarray() if sparse.issparse(Y) else Y
        Y = Y[:, (Y.sum(axis=0) >= 2)]  # scikit-learn's chain refuses constant labels
        order = np.random.default_rng(0).permutation(Y.shape[1])
        base = BASES[base_name]
        pairs = {
            "binary relevance": (BinaryRelevance(base), OneVsRestClassifier(base)),
            "chain": (ClassifierChain(base, order=order), ScikitChain(base, order=order)),
        }
        for what, (ours, peer) in pairs.items():
            title = f"{what}, {base_name}, {name}"
            rows.append(_alternate(title, ours, peer, X, Y, X_test, turns))
    return [*rows, *_quick_voting(), _delicious()]


def _alternate(
    what: str, ours: Any, peer: Any, X: Any, Y: Any, X_test: Any, turns: int
) -> dict[str, Any]:
    times: dict[bool, list[float]] = {True: [], False: []}
    answers = {}
    for turn in range(turns):
        for is_ours in (True, False) if turn % 2 else (False, True):
            learner = ours if is_ours else peer
            start = time.process_time()
            answers[is_ours] = learner.fit(X, Y).predict(X_test)
            times[is_ours].append(time.process_time() - start)
    different = int((answers[True] != answers[False]).sum())
    return {
        "what": what,
        "ours_s": median(times[True]),
        "peer_s": median(times[False]),
        "ratio": median(a / b for a, b in zip(times[True], times[False])),
        "note": f"fit and predict; {different} predictions differ",
    }


def _quick_voting() -> list[dict[str, Any]]:
    rows = []
    for name, base_name in (
        ("scene", "linear SVM"),
        ("yeast", "linear SVM"),
        ("medical", "linear SVM"),
        ("scene", "kernel SVM"),
        ("medical", "kernel SVM"),
    ):
        X, X_test, Y, _ = datasets.load(name).holdout()
        learner = CalibratedLabelRanking(BASES[base_name]).fit(X, Y)
        asked = learner.count_asked(X_test).mean()
        every = Y.shape[1] * (Y.shape[1] + 1) // 2
        seconds = []
        for quick in (True, False):
            learner.quick = quick
            start = time.process_time()
            learner.predict(X_test)
            seconds.append(time.process_time() - start)
        rows.append(
            {
                "what": f"quick voting, {base_name}, {name}",
                "ours_s": seconds[0],
                "peer_s": seconds[1],
                "ratio": seconds[0] / seconds[1],
                "note": f"peer: all votes; asks {asked:.1f} of {every} models",
            }
        )
    return rows


def _delicious() -> dict[str, Any]:
    X, X_test, Y, _ = datasets.load("delicious").holdout()
    data = sum(a.nbytes for m in (X, Y) for a in (m.data, m.indices, m.indptr))
    learner = BinaryRelevance(LinearSVC(random_state=0))
    gc.collect()
    with PeakMemory() as memory:
        start = time.process_time()
        learner.fit(X, Y)
        fitted = time.process_time() - start
    start = time.process_time()
    learner.predict(X_test)
    asked = time.process_time() - start
    return {
        "what": "binary relevance, linear SVM, delicious (983 labels)",
        "ours_s": fitted,
        "peer_s": float("nan"),
        "ratio": memory.added / data,
        "note": f"ratio: memory that fit adds, {memory.added / 2**20:.0f} MiB with the models, to "
        f"X and Y, {data / 2**20:.0f} MiB; predict {asked:.1f} s",
    }


class PeakMemory:
    """How far resident memory rises within the block (Linux)."""

    def __enter__(self) -> PeakMemory:
        self.before = self.peak = _resident()
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._run)
        self._watch.start()
        return self

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            self.peak = max(self.peak, _resident())

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._watch.join()
        self.added = max(self.peak, _resident()) - self.before


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    for row in run():
        print(
            f"{row['what']:52} ours {row['ours_s']:8.3f} s  peer {row['peer_s']:8.3f} s  "
            f"ratio {row['ratio']:6.3f}  {row['note']}"
        )


if __name__ == "__main__":
    main()
