"""Small models to serve."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from plurilabel import BinaryRelevance, MLkNN, io
from plurilabel.models import Model

LABELS = ["sea", "snow", "sun"]
COLUMNS = ["heat", "height"]


def points(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] < -0.5, X[:, 1] > 0.2]).astype(int)
    return pd.DataFrame(X, columns=COLUMNS), pd.DataFrame(Y, columns=LABELS)


def lazy(n=60):
    return MLkNN(3).fit(*points(n))


def linear(n=60):
    return BinaryRelevance(LogisticRegression()).fit(*points(n))


def records(frame):
    return frame.to_dict("records")


def notes():
    """A table of text, numbers, categories and dates, and a model of it."""
    words = ["a red dog", "the blue cat", "red cat", "some dog", "dog and cat", "blue whale"] * 3
    table = pd.DataFrame(
        {
            "note": words,
            "length": np.arange(18.0),
            "place": ["town", "wood", "sea"] * 6,
            "day": [f"2024-0{1 + i % 9}-17" for i in range(18)],
            "tags": ["dog", "cat", "cat", "dog", "cat;dog", ""] * 3,
        }
    )
    data = io.read_table(table, labels="tags", text="note", encode=False)
    estimator = make_pipeline(io.table_encoder(data.X, text="note"), MLkNN(3))
    estimator.fit(data.X, data.Y)
    model = Model(
        estimator,
        data.label_names,
        list(data.X.columns),
        "tags",
        tag_sep=";",
    )
    return model, table
