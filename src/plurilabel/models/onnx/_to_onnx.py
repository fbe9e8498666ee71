"""``to_onnx``: a model as a graph that onnxruntime and others can run, built node by node."""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import CUTS
from plurilabel._core.blocks import dense
from plurilabel._core.compat import versions
from plurilabel._core.records import write_atomic
from plurilabel._core.words import file_size
from plurilabel.models._model import Model
from plurilabel.neighbors import ExactIndex

IR_VERSION = 8  # of ONNX 1.12, as the operators
OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
"""Versions of the operators: those of ONNX 1.12, which every runtime since 2022 knows.

The last are onnxruntime's own, in all its builds. Only models of text, categories or dates use
one: ONNX has none that takes a text apart.
"""

LARGEST = 2_000_000_000  # bytes of a protocol buffer, less some for names

Value: TypeAlias = str
"""The name of a value in the graph: of an input, a constant, or what a node computes."""


def to_onnx(model: Model | Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Write a fitted model down as an ONNX graph, to run it without Python or this library.

    The graph of a model of numbers takes ``X``, a float64 matrix of n rows with the features as
    columns. That of a table has an input for each column: numbers as float64, NaN where missing;
    text and categories as strings, empty where missing; dates as strings such as
    ``"2021-07-02"`` or ``"2021-07-02T10:00:00"``; vectors as float64 of shape (n, length). That of
    a vectorizer takes ``X``, n texts. The number of rows is free.

    The outputs are ``scores``, float64, and ``labels``, 0/1 in int64, each with n rows and a
    column for each label, and ``names``, those of the labels. The cut is in the graph.

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
    The guide to other tools lists what can be exported: most transformations, trees and
    neighbours, with thresholds that cut one row at a time and scikit-learn's usual steps before
    them. :class:`~plurilabel.AutoClassifier` may choose what cannot, such as a
    :class:`~plurilabel.StaticEncoder` for texts, unless fitted with
    ``leave_out=not_exportable``. The files of neighbours hold the training set.

    Words are counted as scikit-learn counts them, also in lower case and whatever the language or
    the locale of the machine. Two letters may be told apart: the Turkish capital I with a dot in
    parts of words, and the Greek capital sigma after a character that is not a letter.

    Scores differ from the model's by rounding at most. Those of trees and forests are the same bit
    by bit, and so are those of neighbours: candidates found by a product of matrices are compared
    by the exact distance, and of equal distances the lower row number wins, unless more than
    k + 16 further points are equally near up to rounding. A graph does not check its input: where
    a model has an error, because of NaN for example, a graph gives some answer.

    The neighbours of n rows among N training instances take n N numbers of memory at once, and
    texts as many as rows and words: send rows in blocks.

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
    from plurilabel.models.onnx._learners import answer  # with all learners: only when needed

    graph = Graph()
    onnx, helper = graph.onnx, graph.onnx.helper
    if not isinstance(model, Model):
        model = Model.of(model)
    check_is_fitted(model.estimator)
    found = answer(graph, model.estimator, "X")
    names = graph.constant(np.array(model.label_names, dtype=object))
    graph.nodes.append(helper.make_node("Identity", [names], ["names"]))
    graph.nodes.append(helper.make_node("Identity", [found.scores], ["scores"]))
    graph.nodes.append(
        helper.make_node("Cast", [found.sets], ["labels"], to=onnx.TensorProto.INT64)
    )
    features = getattr(model.estimator, "feature_names_in_", model.feature_names)  # in its order
    d, q = len(features), len(model.label_names)
    if not graph.inputs:
        graph.given("X", "numbers", d)
    types = onnx.TensorProto
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "plurilabel",
            list(graph.inputs.values()),
            [
                helper.make_tensor_value_info("scores", types.DOUBLE, ["n", q]),
                helper.make_tensor_value_info("labels", types.INT64, ["n", q]),
                helper.make_tensor_value_info("names", types.STRING, [q]),
            ],
            graph.constants,
            sparse_initializer=graph.sparse_constants,
        ),
        opset_imports=[
            helper.make_opsetid(*one) for one in OPSETS.items() if one[0] in graph.domains
        ],
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
            "inputs": json.dumps(graph.kinds, ensure_ascii=False),
            "score_method": found.method,
            "cut": repr(float(np.float64(CUTS[found.method]))),
        },
    )
    onnx.checker.check_model(proto)
    if path is not None:
        with write_atomic(os.fspath(path)) as stream:
            stream.write(proto.SerializeToString())
    return proto


def not_exportable(learner: Any, *, unknown_labels: bool = False) -> str:
    """Say why a learner, which need not be fitted, cannot be exported by :func:`to_onnx`.

    Parameters
    ----------
    learner : learner, pipeline, search, transformer or threshold strategy
    unknown_labels : bool, default=False
        Whether it is fitted with unknown labels, with which neighbours cannot be exported.

    Returns
    -------
    str
        Empty if all its parts are of classes that can be exported. Some of their parameters may
        still be refused by :func:`to_onnx`.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from plurilabel import BinaryRelevance, MLkNN
    >>> from plurilabel.models import not_exportable
    >>> not_exportable(MLkNN())
    ''
    >>> not_exportable(BinaryRelevance(GaussianNB()))
    'GaussianNB cannot be exported'
    """
    from plurilabel.models.onnx._classifiers import CLASSIFIERS
    from plurilabel.models.onnx._cuts import STRATEGIES
    from plurilabel.models.onnx._learners import LEARNERS, counted_neighbors
    from plurilabel.models.onnx._steps import STEPS

    known = {*LEARNERS, *CLASSIFIERS, *STRATEGIES, *STEPS, ExactIndex, Pipeline}
    for part in (learner, *learner.get_params().values()):
        shell = isinstance(part, SelectorMixin | GridSearchCV | RandomizedSearchCV)
        if isinstance(part, BaseEstimator) and not shell and type(part) not in known:
            return f"{type(part).__name__} cannot be exported"
        if unknown_labels and LEARNERS.get(type(part)) is counted_neighbors:
            return f"{type(part).__name__} cannot be exported if it was fitted with unknown labels"
    return ""


class Answer(NamedTuple):
    """The outputs of a learner.

    Attributes
    ----------
    scores : value of shape (n, q), float64
    sets : value of shape (n, q), bool
    method : str
        Where the scores come from: "predict_proba" or "decision_function".
    """

    scores: Value
    sets: Value
    method: str


def import_onnx() -> Any:
    """The package onnx, or an error that says how to get it."""
    try:
        return import_module("onnx")
    except ImportError:
        raise ImportError(
            "ONNX files need onnx: install it with `pip install 'plurilabel[onnx]'`"
        ) from None


class Graph:
    """Nodes and constants so far.

    A call adds a node: ``graph("Add", x, np.ones(3))`` gives the name of the sum. Arrays among
    the inputs become constants.
    """

    def __init__(self, prefix: str = "") -> None:
        self.onnx, self.prefix = import_onnx(), prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.sparse_constants: list[Any] = []
        self.inputs: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}  # of the inputs
        self.domains = {"", "ai.onnx.ml"}
        self.size, self._names = 0, 0

    def given(self, column: str, kind: str, *width: int) -> Value:
        """Add an input of the graph: numbers, or text for all other kinds."""
        name = f"{column}_" if column in ("scores", "labels", "names") else column
        types = self.onnx.TensorProto
        element = types.DOUBLE if kind == "numbers" else types.STRING
        shape = ["n", *width]
        self.inputs[name] = self.onnx.helper.make_tensor_value_info(name, element, shape)
        self.kinds[name] = kind
        return name

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> Value:
        """Add a node with one output."""
        (output,) = self.node(operator, *inputs, outputs=1, **attributes)
        return output

    def node(
        self, operator: str, *inputs: Any, outputs: int, domain: str = "", **attributes: Any
    ) -> list[Value]:
        """Add a node with several outputs."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        results = [self._name(operator) for _ in range(outputs)]
        self.domains.add(domain)
        node = self.onnx.helper.make_node(
            operator,
            names,
            results,
            name=f"{results[0]}_node",  # older runtimes need names to tell nodes apart
            domain=domain,
            **attributes,
        )
        self.nodes.append(node)
        return results

    def constant(self, array: Any) -> Value:
        """Add a constant. In the file, a sparse matrix holds its values only."""
        if sparse.issparse(array) and 16 * array.nnz < array.shape[0] * array.shape[1]:
            return self._sparse_constant(sparse.csr_array(array, dtype=np.float64))
        array = dense(array) if sparse.issparse(array) else array
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        self.check_room(array.nbytes)
        self.size += array.nbytes
        name = self._name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def _sparse_constant(self, array: Any) -> Value:
        array.sum_duplicates()
        self.check_room(16.0 * array.nnz)
        self.size += 16 * array.nnz
        name, tensor = self._name("constant"), self.onnx.numpy_helper.from_array
        row = np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))
        places = row * array.shape[1] + array.indices
        values = tensor(array.data, name), tensor(places, f"{name}_places")
        made = self.onnx.helper.make_sparse_tensor(*values, array.shape)
        self.sparse_constants.append(made)
        return name

    def check_room(self, n_bytes: float) -> None:
        """Raise an error if the graph would become too large for a file."""
        if self.size + n_bytes > LARGEST:
            raise ValueError(
                f"the model would take more than {file_size(LARGEST)}, the most that an ONNX "
                "file can hold"
            )

    def cast(self, value: Value, dtype: Any) -> Value:
        """The value in another type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self("Cast", value, to=to)

    def columns(self, x: Value, places: Any) -> Value:
        """Columns of a matrix, in the order given."""
        return self("Gather", x, np.asarray(places, dtype=np.int64), axis=1)

    def filled_like(self, value: Value, number: Any) -> Value:
        """A number in each place of an array of the same shape."""
        fill = self.onnx.numpy_helper.from_array(np.array([number]))
        return self("ConstantOfShape", self("Shape", value), value=fill)

    def where_fixed(self, scores: Value, numbers: NDArray[np.float64]) -> Value:
        """Scores (n, q) with a number for all rows in columns where that is not NaN."""
        fixed = ~np.isnan(numbers)
        if not fixed.any():
            return scores
        return self("Where", fixed[np.newaxis], np.nan_to_num(numbers)[np.newaxis], scores)

    def nonempty(self, sets: Value, scores: Value, q: int) -> Value:
        """Sets (n, q) with the label of the highest score where there is none."""
        some = self("ReduceMax", self.cast(sets, np.int32), axes=[1], keepdims=1)
        top = self("Equal", self("ArgMax", scores, axis=1, keepdims=1), np.arange(q)[np.newaxis])
        return self("Or", sets, self("And", self("Equal", some, np.int32(0)), top))

    def _name(self, of: str) -> Value:
        self._names += 1
        name = f"{self.prefix}{of}_{self._names}"
        return self._name(of) if name in self.inputs else name
