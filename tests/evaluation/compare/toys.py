"""Data for the tests of comparisons."""

import numpy as np
from scipy import sparse

from plurilabel import datasets
from plurilabel.datasets import Dataset

TOY = datasets.make_multilabel(60, random_state=0)
TAGS = Dataset(
    sparse.csr_array(np.abs(TOY.X[:40]).round()),
    sparse.csr_array(TOY.Y[:40]),
    TOY.feature_names,
    TOY.label_names,
    name="tags",
)
TIMES = {"fit_seconds", "predict_seconds", "search_seconds", "peak_mb"}


def without_times(results):
    return [{k: v for k, v in cell.items() if k not in TIMES} for cell in results.cells]


DATASETS, LEARNERS = ("scene", "yeast"), ("MLkNN", "RAkEL(labelset_size=3)", "slow/one")


def a_plan(measures=("f1", "hamming_loss")):
    return {
        "format": 1,
        "protocol": {"cv": 3, "repeats": 1, "random_state": 0, "measures": list(measures)},
        "datasets": {name: {"n": 10} for name in DATASETS},
        "learners": {name: {"class": "x"} for name in LEARNERS},
        "command": "x",
        "versions": {},
    }


def a_cell(dataset, learner, repeat, fold, f1, status="ok"):
    return {
        "format": 1,
        "key": "k",
        "dataset": dataset,
        "learner": learner,
        "repeat": repeat,
        "fold": fold,
        "status": status,
        "error": None if status == "ok" else "it broke",
        "scores": {"f1": f1, "hamming_loss": None},
        "fit_seconds": 0.5,
        "predict_seconds": 0.25,
        "n_train": 8,
        "n_test": 2,
        "seed": 7,
    }
