"""MLGradientBoosting compared with BOOMER and scikit-learn's HistGradientBoostingClassifier.

All with default settings, on one thread, each in its own process. The splits are the published
ones, or a stratified third as test part. BOOMER (mlrl-boomer) is installed in its own environment,
with the versions of scipy and scikit-learn that it needs:

    python -m benchmarks gradient_boosting --boomer /path/to/environment/bin/python
    python -m benchmarks gradient_boosting --only plurilabel yeast scene  # keep the rest

Writes results/gradient-boosting.csv: average precision, Hamming loss, subset accuracy, processor
seconds of fit and predict. A learner is stopped after ``--limit`` seconds (600). Needs the
datasets (PLURILABEL_DATA).
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import RESULTS
from plurilabel import datasets, metrics
from plurilabel._core.blocks import dense
from plurilabel.model_selection import stratified_split

OUT = RESULTS / "gradient-boosting.csv"
DATASETS = (
    "flags", "emotions", "foodtruck", "cal500", "medical", "genbase", "scene", "image", "yeast",
    "slashdot", "reuters-k500", "bibtex", "20ng", "tmc2007-500", "delicious",
)  # fmt: skip
LEARNERS = ("plurilabel", "boomer", "per label", "plurilabel, joint", "boomer, joint")
COLUMNS = (
    "dataset", "learner", "average precision", "Hamming loss", "subset accuracy", "seconds",
)  # fmt: skip

WORKER = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse

learner, folder = sys.argv[1:]


def read(name):
    held = np.load(f"{folder}/{name}.npz")
    if "whole" in held:
        return held["whole"]
    return sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), held["shape"])


X, Y, X_test = read("X"), read("Y"), read("X_test")
dense = lambda M: M.toarray() if sparse.issparse(M) else M
if learner == "per label":
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, X_test, Y = dense(X), dense(X_test), dense(Y)  # which it needs
    start = time.process_time()
    scores = np.zeros((len(X_test), Y.shape[1]))
    for l, y in enumerate(Y.T):
        if y.min() == y.max():
            scores[:, l] = y[0]
        else:
            model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
            scores[:, l] = model.predict_proba(X_test)[:, 1]
    sets = scores > 0.5
else:
    loss = {}
    if learner.startswith("boomer"):
        from mlrl.boosting import BoomerClassifier

        if learner.endswith("joint"):
            loss = {"loss": "logistic-non-decomposable"}
        model = BoomerClassifier(**loss)
    else:
        from plurilabel import MLGradientBoosting

        if learner.endswith("joint"):
            loss = {"loss": "joint"}
        model = MLGradientBoosting(**loss, random_state=0)
    start = time.process_time()
    model.fit(X, Y)
    scores, sets = model.predict_proba(X_test), model.predict(X_test)
seconds = time.process_time() - start
np.savez(f"{folder}/answer.npz", scores=scores, sets=dense(sets).astype(np.int8), seconds=seconds)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--boomer", help="Python of the environment that BOOMER is in")
    parser.add_argument("--only", nargs="+", choices=LEARNERS, default=LEARNERS)
    parser.add_argument("--limit", type=float, default=600, help="seconds for each learner")
    asked = parser.parse_args()
    for name in asked.datasets:
        X, X_test, Y, Y_test = split(name)
        for learner in asked.only:
            python = asked.boomer if learner.startswith("boomer") else sys.executable
            if python is None:
                continue
            figures = measure(python, learner, X, Y, X_test, Y_test, asked.limit)
            print(name, learner, *figures, sep="  ", flush=True)
            write(dict(zip(COLUMNS, (name, learner, *figures))))


def split(name: str) -> list:
    """X and Y of the training and the test part."""
    data = datasets.load(name)
    if data.train is None:
        n = data.X.shape[0]
        sizes = (n - round(n / 3), round(n / 3))
        return stratified_split(data.X, data.Y, sizes=sizes, random_state=0)
    return [data.X[data.train], data.X[data.test], data.Y[data.train], data.Y[data.test]]


def measure(python, learner, X, Y, X_test, Y_test, limit) -> tuple[str, ...]:
    """The figures as they are written, or what went wrong."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for part, matrix in (("X", X), ("Y", Y.astype(np.uint8)), ("X_test", X_test)):
            save(Path(folder, f"{part}.npz"), matrix)
        answer = Path(folder, "answer.npz")
        try:
            # BOOMER 0.12 may crash after its work is done: what it has written counts
            subprocess.run(
                [python, "-c", WORKER, learner, folder],
                env={**os.environ, **one_thread}, timeout=limit, check=False,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", "", "", f"over {limit:g}"
        if not answer.exists():
            return "", "", "", "fails"
        with np.load(answer) as held:
            scores, sets, seconds = held["scores"], held["sets"], float(held["seconds"])
    truth = dense(Y_test)
    figures = (
        metrics.average_precision(truth, scores),
        metrics.hamming_loss(truth, sets),
        metrics.subset_accuracy(truth, sets),
    )
    return (*(f"{figure:.4f}" for figure in figures), f"{seconds:.2f}")


def save(path: Path, matrix) -> None:
    if sparse.issparse(matrix):
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        np.savez(path, **parts, shape=matrix.shape)
    else:
        np.savez(path, whole=matrix)


def write(row: dict[str, str]) -> None:
    """Put a row into its place in the file, beside those that are there."""
    rows = [row]
    if OUT.exists():
        with open(OUT, newline="") as stream:
            rows = [*csv.DictReader(stream), row]
    known = {(each["dataset"], each["learner"]): each for each in rows}
    with open(OUT, "w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in DATASETS:
            writer.writerows(known[name, key] for key in LEARNERS if (name, key) in known)


if __name__ == "__main__":
    main()
