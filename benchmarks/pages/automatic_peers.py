"""AutoClassifier beside AutoGluon, BOOMER, LightGBM and XGBoost, on three random splits.

The others are installed in environments of their own:

    python -m venv boosters && boosters/bin/pip install mlrl-boomer lightgbm xgboost
    python -m venv autogluon && autogluon/bin/pip install "autogluon.tabular[lightgbm,xgboost]"
    python -m benchmarks automatic_peers --boosters boosters/bin/python \\
        --autogluon autogluon/bin/python flags emotions
    python -m benchmarks automatic_peers  # only the table, from the runs that are there

Two thirds of the rows train, stratified; split and learners have the same seed. Settings are the
defaults: one LightGBM model and one AutoGluon predictor per label, trees for all labels from
XGBoost (``multi_strategy="multi_output_tree"``), both losses of BOOMER. AutoGluon has as many
seconds, all labels together, as AutoClassifier has taken on that split. AutoClassifier is fitted
for each measure; the others have one answer for all, with their own label sets. One thread.

Writes results/automatic-peers-runs.csv, one row per run, and from it automatic-peers.csv: means
over the seeds, half the width of their 95% interval (t), and how often AutoClassifier won and
lost. Needs the datasets (PLURILABEL_DATA).
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks import RESULTS
from benchmarks.pages.accuracy import write
from benchmarks.pages.gradient_boosting import save
from plurilabel import datasets, metrics
from plurilabel._core.blocks import dense
from plurilabel.model_selection import stratified_split

RUNS, OUT = RESULTS / "automatic-peers-runs.csv", RESULTS / "automatic-peers.csv"
SEEDS = (0, 1, 2)
MEASURES = ("average_precision", "hamming_loss", "micro_f1", "macro_f1", "subset_accuracy")
AUTO, DATASETS = "AutoClassifier", ("flags", "emotions", "foodtruck", "medical", "yeast", "scene")
PEERS = {
    "boosters": ("BOOMER", "BOOMER, joint", "LightGBM per label", "XGBoost, all labels"),
    "autogluon": ("AutoGluon, medium", "AutoGluon, good"),
}
KEYS = ("dataset", "seed", "learner")

WORKER = """
import json, os, sys, tempfile, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse

learner, folder, seed, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])


def read(name):
    held = np.load(f"{folder}/{name}.npz")
    if "whole" in held:
        return held["whole"]
    return sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), held["shape"])


def per_label(fit):
    S = np.zeros((X_test.shape[0], Y.shape[1]))
    for l in range(Y.shape[1]):
        y = Y[:, l]
        S[:, l] = y[0] if y.min() == y.max() else fit(l, y)
    return S


X, Y, X_test = read("X"), read("Y"), read("X_test")
dense = lambda M: M.toarray() if sparse.issparse(M) else np.asarray(M)
Y, found = dense(Y), {}
start = time.process_time()
if learner == "AutoClassifier":
    from plurilabel import AutoClassifier

    with tempfile.TemporaryDirectory() as memory:
        for measure in json.loads(os.environ["MEASURES"]):
            model = AutoClassifier(measure, random_state=seed, memory=memory).fit(X, Y)
            if not found:
                found["seconds"] = time.process_time() - start
            found[measure] = np.stack([model.predict_proba(X_test), dense(model.predict(X_test))])
else:
    if learner.startswith("BOOMER"):
        from mlrl.boosting import BoomerClassifier

        loss = {"loss": "logistic-non-decomposable"} if "joint" in learner else {}
        model = BoomerClassifier(random_state=seed + 1, **loss).fit(X, Y)
        S, sets = dense(model.predict_proba(X_test)), dense(model.predict(X_test))
    elif learner.startswith("XGBoost"):
        from xgboost import XGBClassifier

        model = XGBClassifier(
            multi_strategy="multi_output_tree", tree_method="hist", random_state=seed, n_jobs=1)
        S = dense(model.fit(X, Y).predict_proba(X_test))
        sets = S > 0.5
    elif learner.startswith("LightGBM"):
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
        X, X_test = X.astype(float), X_test.astype(float)
        S = per_label(lambda l, y: model.fit(X, y).predict_proba(X_test)[:, 1])
        sets = S > 0.5
    else:
        import pandas as pd
        from autogluon.tabular import TabularPredictor

        frame, new = pd.DataFrame(dense(X)), pd.DataFrame(dense(X_test))
        preset = {"medium": "medium_quality", "good": "good_quality"}[learner.split()[1]]

        def fit(l, y):
            one = TabularPredictor("y", path=f"{folder}/ag{l}", verbosity=0, eval_metric="roc_auc")
            one.fit(frame.assign(y=y), presets=preset, time_limit=limit / Y.shape[1], num_cpus=1)
            return one.predict_proba(new)[1].to_numpy()

        S = per_label(fit)
        sets = S > 0.5
    found = {"all": np.stack([S, sets]), "seconds": time.process_time() - start}
np.savez(f"{folder}/answer.npz", **found)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--boosters", help="Python with BOOMER, LightGBM and XGBoost")
    parser.add_argument("--autogluon", help="Python with AutoGluon")
    parser.add_argument("--limit", type=float, default=900, help="seconds for each learner")
    parser.add_argument(
        "--again", action="store_true", help="also repeat the runs of AutoClassifier"
    )
    asked = parser.parse_args()
    for name in asked.datasets:
        data = datasets.load(name)
        for seed in SEEDS:
            part = stratified_split(data.X, data.Y, sizes=(2 / 3, 1 / 3), random_state=seed)
            seconds = run(name, seed, AUTO, sys.executable, part, asked.limit, again=asked.again)
            for kind, learners in PEERS.items():
                for learner in learners if (python := getattr(asked, kind)) else ():
                    run(name, seed, learner, python, part, asked.limit, float(seconds or 60))
    write_table()


def run(name, seed, learner, python, part, limit, same=0.0, *, again=False) -> str:
    """Its seconds, after a row has been written unless it is there already; "" if it failed."""
    known = {tuple(row[key] for key in KEYS): row for row in read_runs()}
    if not again and (kept := known.get((name, str(seed), learner))) is not None:
        return kept["seconds"]
    X, X_test, Y, Y_test = part
    row = {"dataset": name, "seed": seed, "learner": learner, "seconds": ""}
    row |= dict.fromkeys(MEASURES, "")
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MEASURES": _as_json()}
    with tempfile.TemporaryDirectory() as folder:
        for what, matrix in (("X", X), ("Y", dense(Y).astype(np.uint8)), ("X_test", X_test)):
            save(Path(folder, f"{what}.npz"), matrix)
        asked = [python, "-c", WORKER, learner, folder, str(seed), str(same)]
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        # BOOMER may crash after its work is done: what it has written counts
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                asked, env={**os.environ, **one_thread}, timeout=limit, check=False, **quiet
            )
        answer = Path(folder, "answer.npz")
        if answer.exists():
            with np.load(answer) as held:
                row["seconds"] = f"{float(held['seconds']):.2f}"
                for measure in MEASURES:
                    scores, sets = held[measure if measure in held else "all"]
                    found = metrics.evaluate(dense(Y_test), scores, sets.astype(np.int8))
                    row[measure] = f"{found[measure]:.4f}"
    print(*row.values(), sep="  ", flush=True)
    write(RUNS, tuple(row), {key: str(value) for key, value in row.items()}, KEYS)
    return row["seconds"]


def _as_json() -> str:
    return "[" + ", ".join(f'"{measure}"' for measure in MEASURES) + "]"


def read_runs() -> list[dict[str, str]]:
    if not RUNS.exists():
        return []
    with open(RUNS, newline="") as stream:
        return list(csv.DictReader(stream))


def write_table() -> None:
    """Means, intervals, and wins and losses of AutoClassifier over datasets and seeds."""
    rows = read_runs()
    learners = [AUTO, *(learner for some in PEERS.values() for learner in some)]
    own = {(row["dataset"], row["seed"]): row for row in rows if row["learner"] == AUTO}
    with open(OUT, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["dataset", "learner", *MEASURES, "seconds", "won", "lost"])
        for name in dict.fromkeys(name for name, _ in own):
            for learner in learners:
                runs = [r for r in rows if (r["dataset"], r["learner"]) == (name, learner)]
                runs = [run for run in runs if run["seconds"]]
                if not runs:
                    continue
                cells = [_mean([float(run[key]) for run in runs]) for key in MEASURES]
                seconds = f"{np.mean([float(run['seconds']) for run in runs]):.1f}"
                counts = ["", ""]
                if learner != AUTO:
                    ahead = [
                        _ahead(own[name, run["seed"]], run, key)
                        for run in runs if (name, run["seed"]) in own
                        for key in MEASURES
                    ]  # fmt: skip
                    counts = [sum(by > 0 for by in ahead), sum(by < 0 for by in ahead)]
                writer.writerow([name, learner, *cells, seconds, *counts])


def _mean(found: list[float]) -> str:
    """Mean and half the width of its 95% interval."""
    if len(found) < 2:
        return f"{found[0]:.4f}"
    half = stats.t.ppf(0.975, len(found) - 1) * np.std(found, ddof=1) / len(found) ** 0.5
    return f"{np.mean(found):.4f} ± {half:.4f}"


def _ahead(own: dict[str, str], run: dict[str, str], measure: str) -> float:
    sign = 1 if metrics.get_measure(measure).greater_is_better else -1
    return sign * (float(own[measure]) - float(run[measure]))


if __name__ == "__main__":
    main()
