"""How well flipped labels are found, compared with cleanlab on the same scores.

``python -m benchmarks label_issues [PEER [DATASET ...]]`` prints the tables of
docs/guides/wrong-labels.md. PEER is the Python of an environment with cleanlab 2.9; without it,
its columns are left out. A share of all entries of Y is flipped at random, scores are computed in
three folds of the flipped data, and all entries are ranked. The figure is the area under the
precision-recall curve, mean of two seeds. For tmc2007-500, Scene and Yeast, 2,000 rows are drawn.
The combination of scores, labels and neighbors was chosen on the first four datasets with other
flips; Image was not used.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import BinaryRelevance, MLkNN, datasets
from plurilabel._core.blocks import dense
from plurilabel.inspection import find_label_issues, label_quality
from plurilabel.model_selection import IterativeStratifiedKFold

DATASETS = ("emotions", "scene", "yeast", "tmc2007-500", "image")
RATES = (0.05, 0.1, 0.2)
SEEDS = (10, 11)
ROWS = 2000

PEER = """
import sys, time
import numpy as np
from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class
held = np.load(sys.argv[1])
labels = [np.flatnonzero(row).tolist() for row in held["Y"]]
if sys.argv[3] == "time":
    start = time.process_time()
    find_multilabel_issues_per_class(
        labels, held["P"], return_indices_ranked_by="self_confidence", n_jobs=1
    )
    print(time.process_time() - start)
else:
    np.save(sys.argv[2], get_label_quality_scores_per_class(labels, held["P"]))
"""


def peer(python: str, Y, P, task="score"):
    """What cleanlab answers: qualities, or the seconds that it takes to find the issues."""
    with tempfile.TemporaryDirectory() as folder:
        held, told = Path(folder, "held.npz"), Path(folder, "told.npy")
        np.savez(held, Y=Y, P=P)
        run = [python, "-c", PEER, str(held), str(told), task]
        said = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(said.splitlines()[-1]) if task == "time" else np.load(told)


def main(python: str | None, names: tuple[str, ...]) -> None:
    """Print the table."""
    scaler = StandardScaler(with_mean=False)
    models = {
        "logistic": BinaryRelevance(
            make_pipeline(scaler, LogisticRegression(C=0.05, max_iter=500))
        ),
        "ML-kNN": make_pipeline(scaler, MLkNN()),
    }
    print("| data | flipped | scores | cleanlab | calibrated | + labels | + neighbours | + both |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        data = datasets.load(name)
        X, Y = data.X, dense(data.Y)
        if len(Y) > ROWS:
            rows = np.random.default_rng(0).choice(len(Y), ROWS, replace=False)
            X, Y = X[rows], Y[rows]
        seen = X if sparse.issparse(X) else scaler.fit_transform(X)
        for rate in RATES:
            for title, model in models.items():
                found = []
                for seed in SEEDS:
                    flipped = np.random.default_rng(seed).random(Y.shape) < rate
                    noisy = np.where(flipped, 1 - Y, Y)
                    P = cross_val_predict(
                        model, X, noisy, cv=IterativeStratifiedKFold(3), method="predict_proba"
                    )
                    qualities = [
                        label_quality(noisy, P, X=x, use_labels=labels)
                        for x in (None, seen)
                        for labels in (False, True)
                    ]
                    theirs = peer(python, noisy, P) if python else np.zeros(Y.shape)
                    found.append([
                        average_precision_score(flipped.ravel(), 1 - quality.ravel())
                        for quality in (theirs, *qualities)
                    ])  # fmt: skip
                cells = [f"{value:.3f}" for value in np.mean(found, axis=0)]
                print(f"| {name} | {rate:.0%} | {title} |", " | ".join(cells), "|", flush=True)


def speed(python: str | None) -> None:
    """Print processor time on 100,000 x 100 labels, one process each."""
    rng = np.random.default_rng(0)
    Y = (rng.random((100_000, 100)) < 0.05).astype(np.int8)
    P = 0.6 * Y + 0.4 * rng.random(Y.shape)
    Y = np.where(rng.random(Y.shape) < 0.05, 1 - Y, Y)
    start = time.process_time()
    find_label_issues(Y, P)
    ours = time.process_time() - start
    print(f"\n100,000 x 100: {ours:.2f} s", end="")
    if python:
        theirs = peer(python, Y, P, "time")
        print(f", cleanlab {theirs:.1f} s, {theirs / ours:.0f} times as long", end="")
    print()


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else None
    names = tuple(sys.argv[2:]) or (*DATASETS, "speed")
    main(given, tuple(name for name in names if name != "speed"))
    if "speed" in names:
        speed(given)
