"""Generated results in the form that ``compare`` writes them, without running any learner."""

import numpy as np

from plurilabel.evaluation import Results
from plurilabel.metrics import get_measure

MEASURES = (
    "hamming_loss", "subset_accuracy", "accuracy", "precision", "recall", "f1", "macro_f1",
    "micro_f1", "one_error", "coverage", "ranking_loss", "average_precision", "macro_auc",
    "micro_auc",
)  # fmt: skip

LEARNERS = (
    "MLkNN(n_neighbors=5)", "MLkNN(n_neighbors=10)", "MLkNN(n_neighbors=20)", "RAkEL", "BRkNN",
    "BinaryRelevance", "ClassifierChain", "EnsembleOfChains", "LabelPowerset", "PrunedSets",
    "CalibratedLabelRanking", "StackedRelevance", "OutputCodes", "HOMER", "MLDecisionTree",
    "MLRandomForest", "RankSVM", "CML", "AdaBoostMH", "AdaBoostMR", "ADTBoostMH", "DWMLkNN",
    "MLWkNN", "DMLkNN", "IBLRML",
)  # fmt: skip


def example_results(
    datasets=1,
    learners=2,
    folds=1,
    labels=6,
    *,
    seed=0,
    measures=MEASURES,
    spread=0.01,
    names=None,
):
    """Results with the given sizes; later learners are worse, by less than the datasets differ."""
    rng = np.random.default_rng(seed)
    names = list(names or LEARNERS[:learners])
    sets = [f"data{i}" for i in range(datasets)]
    plan = {
        "format": 1,
        "protocol": {
            "cv": folds if folds > 1 else "holdout", "repeats": 1, "random_state": 0,
            "measures": list(measures),
        },
        "datasets": {name: about_data(rng, labels) for name in sets},
        "learners": {name: about_learner(name) for name in names},
        "command": "plurilabel compare " + " ".join(sets),
        "versions": {"plurilabel": "0.1", "numpy": "2.0"},
    }  # fmt: skip
    cells = [
        cell(rng, plan, dataset, j, name, fold, spread)
        for dataset in sets
        for j, name in enumerate(names)
        for fold in range(folds)
    ]
    return Results(plan, cells)


def about_data(rng, labels):
    counts = np.sort(np.maximum(1, (400 * rng.random(labels) ** 3).astype(int)))[::-1]
    return {
        "n": 600, "d": 30, "q": labels, "cardinality": 1.5, "density": 1.5 / labels,
        "label_names": [f"label {l}" for l in range(labels)], "label_counts": counts.tolist(),
        "split": "folds", "digest": "0123456789abcdef",
    }  # fmt: skip


def about_learner(name):
    kind, _, rest = name.partition("(")
    k = rest.partition("n_neighbors=")[2].rstrip(")")
    parameters = {"n_neighbors": int(k), "smoothing": 1.0} if k else {}
    return {"class": f"plurilabel.{kind}", "repr": name, "parameters": parameters}


def cell(rng, plan, dataset, j, learner, fold, spread):
    worse = 0.012 * j + spread * rng.standard_normal()
    scores = {}
    for measure in plan["protocol"]["measures"]:
        better = get_measure(measure).greater_is_better
        scores[measure] = float(0.75 - worse if better else 0.2 + worse)
    counts = np.asarray(plan["datasets"][dataset]["label_counts"]) // 3 + 1
    share = np.clip(np.log10(counts) / 3 + 0.1 - worse + 0.1 * rng.random(len(counts)), 0, 1)
    tp = (counts * share).astype(int)
    return {
        "format": 1, "key": "", "dataset": dataset, "learner": learner, "repeat": 0, "fold": fold,
        "status": "ok", "error": None, "traceback": None, "scores": scores, "seed": 1,
        "fit_seconds": float(0.02 * 1.4**j), "predict_seconds": 0.01, "search_seconds": 0.0,
        "peak_mb": 120.0, "n_train": 400, "n_test": 200, "class": learner, "parameters": {},
        "best_params": {"C": 0.1} if j == 3 else None, "versions": {}, "warnings": [],
        "per_label": {
            "tp": tp.tolist(), "fn": (counts - tp).tolist(), "fp": (counts // 4).tolist(),
            "tn": (200 - counts).tolist(), "auc": [0.8] * len(counts),
        },
    }  # fmt: skip
