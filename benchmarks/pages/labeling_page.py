"""How far the labeling page's own queue is ahead of random order, with its own models.

``python -m benchmarks labeling_page [--repeats N] [SET ...]`` answers 200 rows of a project
truly, in the order of its queue and in random order, and prints micro F1 on the published test
part (of goemotions, on its first 2,000 texts) of the model that is saved, with its own thresholds,
and of the suggestions, the mean of that and the live model, cut at one half. To save time, models
are trained after 25, 50, 100 and 200 answers.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from plurilabel import datasets
from plurilabel._core.blocks import dense
from plurilabel.metrics import micro_f1
from plurilabel.serve.labeling import LabelProject

TRAINED = (25, 50, 100, 200)  # answers


def table_and_labels(name, seed):
    """Rows to label and test rows in one table, their labels, and how many are to be labeled."""
    rng, data = np.random.default_rng(seed), datasets.load(name)
    Y, train, test = dense(data.Y), rng.permutation(data.train), data.test
    if name == "goemotions":
        train, test = train[:5000], test[:2000]
    X, rows = data.X, np.concatenate([train, test])
    if not hasattr(X, "iloc"):
        X = pd.DataFrame(dense(X), columns=[f"x{j}" for j in range(X.shape[1])])
    return X.iloc[rows].reset_index(drop=True), Y[rows], len(train)


def simulated(name, seed, in_random_order):
    """Micro F1 of the saved model and of the suggestions."""
    frame, Y, n = table_and_labels(name, seed)
    names = [f"label {j:03d}" for j in range(Y.shape[1])]
    pool, test = frame[:n], frame[n:].reset_index(drop=True)
    project = LabelProject(pool, labels=names, background=False, random_state=seed)
    for answers in range(1, max(TRAINED) + 1):
        row = int(project.draws[answers - 1]) if in_random_order else project.next("one")["row"]
        given = [names[j] for j in np.flatnonzero(Y[row])]
        project.say("one", "answer", {"rows": [row], "labels": given})
        if answers in TRAINED:
            project.trained = project._train_now()
    model, live = project.trained.model, project.live.learner
    place = [names.index(label) for label in model.label_names]
    scores = model.scores(model.read(test).X)
    predicted = np.zeros_like(Y[n:])
    predicted[:, place] = dense(model.labels_of(scores))
    # the test rows as the project encodes its own
    encode = project.encoder.transform
    X = encode(test)
    if sparse.issparse(X):
        X = sparse.csr_array(normalize(X))
    else:
        X = StandardScaler().fit(encode(pool)).transform(X)
    P = live.predict_proba(X)
    P[:, place] = (P[:, place] + dense(scores)) / 2
    project.close()
    return micro_f1(Y[n:], predicted), micro_f1(Y[n:], P > 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["yeast", "goemotions"])
    parser.add_argument("--repeats", type=int, default=6)
    options = parser.parse_args()
    for name in options.sets:
        runs = np.array(
            [[simulated(name, s, r) for r in (True, False)] for s in range(options.repeats)]
        )  # (repeats, orders, 2)
        for at, what in enumerate(("saved model", "suggestions")):
            first, ahead = runs[:, 0, at], runs[:, 1, at] - runs[:, 0, at]
            error = ahead.std(ddof=1) / np.sqrt(len(ahead))
            print(f"{name}, {what}: random order {first.mean():.3f}", end=", ")
            print(f"queue ahead by {ahead.mean():+.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
