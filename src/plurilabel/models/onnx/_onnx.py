"""``to_onnx``: a model as a file that onnxruntime and others can run."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import CUTS
from plurilabel._core.compat import versions
from plurilabel._core.records import write_atomic
from plurilabel.models._model import Model
from plurilabel.models.onnx._graph import OPSETS, Graph
from plurilabel.models.onnx._learners import answer

IR_VERSION = 8  # of ONNX 1.12, as the operators


def to_onnx(model: Model | Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Write a fitted model down as an ONNX graph, to run it without Python or this library.

    The graph takes ``X``, a float64 matrix of n rows with the model's features as columns, and
    gives ``scores``, float64, and ``labels``, 0/1 in int64, each with n rows and a column for
    each label. The cut is in the graph. The number of rows is free.

    Needs onnx: ``pip install 'plurilabel[onnx]'``.

    Parameters
    ----------
    model : fitted estimator, pipeline, search or Model
    path : str or path, default=None
        Where to write the graph; the file appears whole or not at all.

    Returns
    -------
    onnx.ModelProto
        Its metadata has ``label_names`` and ``feature_names`` as JSON, ``score_method`` and
        ``cut``, the cut that is meant unless a strategy has others.

    Raises
    ------
    ValueError
        If a part of the model cannot be exported. The message names those that can.

    Notes
    -----
    These can be exported:

    - :class:`~plurilabel.BinaryRelevance`, :class:`~plurilabel.ClassifierChain` (greedy) and
      :class:`~plurilabel.EnsembleOfChains` of scikit-learn's linear classifiers, trees and
      forests;
    - :class:`~plurilabel.MLDecisionTree`, :class:`~plurilabel.MLRandomForest`;
    - :class:`~plurilabel.BPMLL`;
    - :class:`~plurilabel.MLkNN`, :class:`~plurilabel.MLkNNCV`, :class:`~plurilabel.DWMLkNN` and
      :class:`~plurilabel.BRkNN` with the Euclidean distance. The file holds the training set;
    - :class:`~plurilabel.ThresholdClassifier` around them, with strategies that cut one row at a
      time: ``"constant"``, ``"cardinality"``, ``"global"``, ``"linear"``, ``"mcut"``, ``"rcut"``
      and ``"scut"``;
    - before them in a pipeline scalers, ``SimpleImputer``, ``Normalizer``, feature selection, and
      a ``ColumnTransformer`` of these.

    Scores differ from the model's by rounding at most. Those of trees and forests are the same bit
    by bit, and so are those of neighbours: candidates found by a product of matrices are compared
    by the exact distance, and of equal distances the lower row number wins, unless more than
    k + 16 further points are equally near up to rounding. A graph does not check its input: where
    a model has an error, because of NaN for example, a graph gives some answer.

    The neighbours of n rows among N training instances take n N numbers of memory at once: send
    rows in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from plurilabel import MLkNN, datasets, models
    >>> data = datasets.load("digits")
    >>> learner = MLkNN().fit(data.X[:500], data.Y[:500])
    >>> graph = models.to_onnx(learner)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> scores, labels = session.run(["scores", "labels"], {"X": data.X[500:]})
    >>> np.allclose(scores, learner.predict_proba(data.X[500:]), rtol=0, atol=1e-5)
    True
    >>> np.array_equal(labels, learner.predict(data.X[500:]))
    True
    """
    graph = Graph()
    onnx, helper = graph.onnx, graph.onnx.helper
    if not isinstance(model, Model):
        model = Model.of(model)
    check_is_fitted(model.estimator)
    if not len(model.feature_names):
        raise ValueError(
            "a model of texts cannot be exported: a graph takes numbers only. Export what comes "
            "after the vectorizer, such as pipeline[1:], and send the graph rows that it has "
            "transformed, as dense matrices"
        )
    found = answer(graph, model.estimator, "X")
    graph.nodes.append(helper.make_node("Identity", [found.scores], ["scores"]))
    graph.nodes.append(
        helper.make_node("Cast", [found.sets], ["labels"], to=onnx.TensorProto.INT64)
    )
    features = getattr(model.estimator, "feature_names_in_", model.feature_names)  # in its order
    d, q = len(features), len(model.label_names)
    types = onnx.TensorProto
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "plurilabel",
            [helper.make_tensor_value_info("X", types.DOUBLE, ["n", d])],
            [
                helper.make_tensor_value_info("scores", types.DOUBLE, ["n", q]),
                helper.make_tensor_value_info("labels", types.INT64, ["n", q]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid(*one) for one in OPSETS.items()],
        ir_version=IR_VERSION,
        producer_name="plurilabel",
        producer_version=versions()["plurilabel"],
        doc_string=repr(model),
    )
    helper.set_model_props(
        proto,
        {
            "label_names": json.dumps(list(model.label_names), ensure_ascii=False),
            "feature_names": json.dumps(list(features), ensure_ascii=False),
            "score_method": found.method,
            "cut": repr(float(np.float64(CUTS[found.method]))),
        },
    )
    onnx.checker.check_model(proto)
    if path is not None:
        with write_atomic(os.fspath(path)) as stream:
            stream.write(proto.SerializeToString())
    return proto
