"""What a graph answers, asked with a matrix, texts or a table."""

import json

import numpy as np
import onnxruntime
import pandas as pd
from scipy import sparse

from plurilabel.models import Model, to_onnx


def session_of(model):
    graph = to_onnx(model).SerializeToString()
    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


def inputs(session, rows):
    """Rows as the inputs of a graph."""
    kinds = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
    if not isinstance(rows, pd.DataFrame):
        (name,) = kinds
        dtype = object if kinds[name] == "text" else np.float64
        rows = rows.fillna("") if dtype is object and hasattr(rows, "fillna") else rows
        return {name: np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=dtype)}
    if list(kinds) == ["X"]:
        return {"X": rows.to_numpy(dtype=np.float64)}
    found = {}
    for name, kind in kinds.items():
        cells = rows[name.removesuffix("_")].tolist()
        if kind == "numbers":
            found[name] = np.array(cells, dtype=np.float64)
        else:
            told = (getattr(cell, "isoformat", lambda cell=cell: str(cell))() for cell in cells)
            empty = pd.isna(pd.Series(cells, dtype=object))
            texts = ["" if none else text for none, text in zip(empty, told)]
            found[name] = np.array(texts, dtype=object)
    return found


def check(model, rows, *, atol=1e-5, label_names=None):
    """The graph of a fitted estimator answers as the estimator does."""
    kept = Model.of(model, label_names=label_names)
    session = session_of(kept)
    scores, labels = session.run(["scores", "labels"], inputs(session, rows))
    assert scores.dtype == np.float64 and labels.dtype == np.int64
    np.testing.assert_allclose(scores, kept.scores(rows), rtol=0, atol=atol)
    sets = model.predict(rows)
    np.testing.assert_array_equal(labels, sets.toarray() if sparse.issparse(sets) else sets)
