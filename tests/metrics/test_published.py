"""The definitions against published figures: ML-kNN on Yeast, k = 9, as the ML-WKNN paper has it.

The learner here is the paper's figure 1 in a few lines, with the training points' neighbours
taken without themselves, so that only the measures are under test.
"""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from benchmarks.papers import load_paper
from plurilabel.metrics import evaluate

N_LABELS, K = 14, 9


def read(path):
    lines = path.read_text().splitlines()
    rows = lines[lines.index("@data") + 1 :]
    table = np.array([row.split(",") for row in rows if row], dtype=float)
    return table[:, :-N_LABELS], table[:, -N_LABELS:].astype(int)


def ml_knn(X, Y, X_test, s=1.0):
    index = NearestNeighbors(n_neighbors=K).fit(X)
    m = len(Y)
    prior = (s + Y.sum(axis=0)) / (2 * s + m)
    delta = Y[index.kneighbors(return_distance=False)].sum(axis=1)  # (m, q)
    with_l = np.array([((delta == j) & (Y == 1)).sum(axis=0) for j in range(K + 1)])
    without_l = np.array([((delta == j) & (Y == 0)).sum(axis=0) for j in range(K + 1)])
    likelihood = (s + with_l) / (s * (K + 1) + with_l.sum(axis=0))
    unlikelihood = (s + without_l) / (s * (K + 1) + without_l.sum(axis=0))
    seen = Y[index.kneighbors(X_test, return_distance=False)].sum(axis=1)
    column = np.arange(N_LABELS)
    yes = prior * likelihood[seen, column]
    no = (1 - prior) * unlikelihood[seen, column]
    return yes / (yes + no), (yes > no).astype(int)


def test_ml_knn_on_yeast(data_folder):
    X, Y = read(data_folder / "yeast" / "yeast-train.arff")
    X_test, Y_test = read(data_folder / "yeast" / "yeast-test.arff")
    result = evaluate(Y_test, *ml_knn(X, Y, X_test))
    published = load_paper("ml-wknn").table("table 2").row("k = 9").published
    assert len(published) == 5
    for name, value in published.items():
        assert result[name] == pytest.approx(value, abs=6e-5), name
