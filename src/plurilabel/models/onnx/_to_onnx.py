"""Export a model as an ONNX graph, built node by node."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
from plurilabel._core.compat import import_extra, versions
from plurilabel._core.records import write_atomic
from plurilabel._core.words import file_size
from plurilabel.models._model import Model
from plurilabel.neighbors import ExactIndex

IR_VERSION = 8  # of ONNX 1.12, as the operators
OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
"""Versions of the operators: those of ONNX 1.12, which all runtimes since 2022 support.

The last are onnxruntime's own, included in all its builds. Only models of text, categories or
dates use them, since ONNX cannot split strings.
"""

LARGEST = 2_000_000_000  # bytes of a protocol buffer, less some for names
END = np.array([2**62])  # of a slice


def to_onnx(model: Model | Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Export a fitted model as an ONNX graph, which runs without Python and this library.

    The graph of a numeric model takes ``X``, a float64 matrix of shape (n, d). That of a table
    model has one input per column: float64 for numbers, NaN if missing; strings for text and
    categories, empty if missing; strings such as ``"2021-07-02"`` or ``"2021-07-02T10:00:00"``
    for dates; float64 of shape (n, length) for vectors. That of a vectorizer takes ``X``, n texts.

    The outputs are ``scores`` (float64) and ``labels`` (0/1, int64), both of shape (n, q), and
    ``names``, the label names. Thresholds are part of the graph.

    Needs onnx: ``pip install 'plurilabel[onnx]'``.

    Parameters
    ----------
    model : fitted estimator, pipeline, search or Model
    path : str or path, default=None
        File to write, atomically.

    Returns
    -------
    onnx.ModelProto
        Its metadata has ``label_names``, ``feature_names`` and ``inputs`` as JSON,
        ``score_method``, and ``cut``, the default threshold of that method.

    Raises
    ------
    ValueError
        If a part of the model cannot be exported. The message lists the parts that can.

    Notes
    -----
    Most transformations, trees, nearest neighbors, thresholds for single rows and the usual steps
    of scikit-learn are supported; see the guide on other tools. An
    :class:`~plurilabel.AutoClassifier` may choose unsupported parts, unless fitted with
    ``leave_out=not_exportable``. The graph of a nearest-neighbor learner has the training set.

    Words are counted as in scikit-learn, for any locale. Lowercasing differs for two letters: the
    Turkish dotted capital I in parts of words, and the Greek capital sigma after a non-letter.

    Scores equal the model's up to rounding. Those of trees, forests and nearest neighbors are
    equal bit by bit, unless more than k + 16 further points are equally near up to rounding. A
    graph does not validate its input: where the model raises an error, for example because of
    NaN, the graph returns an arbitrary result.

    Memory grows with rows times training instances for nearest neighbors, and with rows times
    words for texts: send rows in blocks.

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
    found = answer(graph, model.estimator, graph.x)
    names = graph.constant(np.array(model.label_names, dtype=object))
    types = onnx.TensorProto
    graph.nodes += [
        helper.make_node("Identity", [names.name], ["names"]),
        helper.make_node("Identity", [found.scores.name], ["scores"]),
        helper.make_node("Cast", [found.sets.name], ["labels"], to=types.INT64),
    ]
    features = getattr(model.estimator, "feature_names_in_", model.feature_names)  # in its order
    d, q = len(features), len(model.label_names)
    if not graph.inputs:
        graph.given("X", "numbers", d)
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
        opset_imports=[helper.make_opsetid(d, v) for d, v in OPSETS.items() if d in graph.domains],
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
    """Explain why a learner, fitted or not, cannot be exported by :func:`to_onnx`.

    Parameters
    ----------
    learner : learner, pipeline, search, transformer or threshold strategy
    unknown_labels : bool, default=False
        Whether it is fitted with unknown labels, for which no neighbor learner is exported.

    Returns
    -------
    str
        Empty if all parts can be exported. :func:`to_onnx` may still reject some parameters.

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
    """The outputs of a learner."""

    scores: Value  # (n, q), float64
    sets: Value  # (n, q), bool
    method: str  # "predict_proba" or "decision_function"


def converter(
    converters: Mapping[type, Callable[..., Any]], part: Any, what: str = "", more: str = ""
) -> Callable[..., Any]:
    """The function that converts a part; subclasses may behave differently and have none."""
    if type(part) not in converters:
        names = ", ".join(sorted(kind.__name__ for kind in converters))
        raise ValueError(
            f"{what}{type(part).__name__} cannot be exported; supported are {names}{more}"
        )
    return converters[type(part)]


def _operator(name: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.graph(name, self, other)


def _reflected(name: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.graph(name, other, self)


class Value:
    """An input of a graph, a constant, or the output of a node.

    Arithmetic and comparisons add nodes: ``(x - mean) / scale`` is the value of the quotient. The
    other operand may be an array or a number: floats are float64, integers int64.
    """

    __array_ufunc__ = None  # arrays on the left leave the operation to the value

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__, __radd__ = _operator("Add"), _reflected("Add")
    __sub__, __rsub__ = _operator("Sub"), _reflected("Sub")
    __mul__, __rmul__ = _operator("Mul"), _reflected("Mul")
    __truediv__, __rtruediv__ = _operator("Div"), _reflected("Div")
    __matmul__ = _operator("MatMul")
    __gt__, __lt__, __le__ = _operator("Greater"), _operator("Less"), _operator("LessOrEqual")
    __and__, __or__ = _operator("And"), _operator("Or")
    equals = _operator("Equal")

    def __neg__(self) -> Value:
        return self.graph("Neg", self)

    def __abs__(self) -> Value:
        return self.graph("Abs", self)

    def cast(self, dtype: Any) -> Value:
        to = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph("Cast", self, to=to)

    def columns(self, places: Any) -> Value:
        """Columns of a matrix, in the order given."""
        return self.graph("Gather", self, np.asarray(places, dtype=np.int64), axis=1)

    def part(self, start: int, stop: Any = END) -> Value:
        """Columns of a matrix from start to stop; negative numbers count from the end."""
        return self.graph("Slice", self, np.array([start]), np.atleast_1d(stop), np.array([1]))

    def size(self, axis: int) -> Value:
        """Number of rows (0) or columns (1), as an array of shape (1,)."""
        return self.graph("Slice", self.graph("Shape", self), *np.array([[axis], [axis + 1]]))

    def filled(self, number: Any) -> Value:
        """An array of the same shape with a number in each place."""
        fill = self.graph.onnx.numpy_helper.from_array(np.array([number]))
        return self.graph("ConstantOfShape", self.graph("Shape", self), value=fill)

    def largest(self) -> Value:
        """Largest value of each row, (n, 1)."""
        return self.graph("ReduceMax", self, axes=[1], keepdims=1)

    def best(self, *, keepdims: int = 0) -> Value:
        """Column of the largest value of each row, the first of ties."""
        return self.graph("ArgMax", self, axis=1, keepdims=keepdims)

    def fixed(self, numbers: NDArray[np.float64]) -> Value:
        """Scores (n, q), replaced in the columns whose number is not NaN."""
        known = ~np.isnan(numbers)
        if not known.any():
            return self
        return self.graph("Where", known[np.newaxis], np.nan_to_num(numbers)[np.newaxis], self)


class Graph:
    """The nodes and constants of a graph.

    A call adds a node: ``graph("Max", x, np.ones(3))`` returns its value. Arrays are constants.
    """

    def __init__(self, prefix: str = "") -> None:
        self.onnx, self.prefix = import_extra("onnx", "ONNX export", "onnx"), prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.sparse_constants: list[Any] = []
        self.inputs: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}  # of the inputs
        self.domains = {"", "ai.onnx.ml"}
        self.size, self._names = 0, 0
        self.x = Value(self, "X")

    def given(self, column: str, kind: str, *width: int) -> Value:
        """Add an input: float64 for numbers, strings for all other kinds."""
        name = f"{column}_" if column in ("scores", "labels", "names") else column
        types = self.onnx.TensorProto
        element = types.DOUBLE if kind == "numbers" else types.STRING
        shape = ["n", *width]
        self.inputs[name] = self.onnx.helper.make_tensor_value_info(name, element, shape)
        self.kinds[name] = kind
        return Value(self, name)

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> Value:
        (output,) = self.node(operator, *inputs, outputs=1, **attributes)
        return output

    def node(
        self, operator: str, *inputs: Any, outputs: int, domain: str = "", **attributes: Any
    ) -> list[Value]:
        values = [one if isinstance(one, Value) else self.constant(one) for one in inputs]
        results = [self._name(operator) for _ in range(outputs)]
        self.domains.add(domain)
        node = self.onnx.helper.make_node(
            operator,
            [value.name for value in values],
            results,
            name=f"{results[0]}_node",  # older runtimes need unique names
            domain=domain,
            **attributes,
        )
        self.nodes.append(node)
        return [Value(self, name) for name in results]

    def constant(self, array: Any) -> Value:
        """Add a constant; a matrix with few nonzero values is stored sparsely."""
        if sparse.issparse(array) and 16 * array.nnz < array.shape[0] * array.shape[1]:
            return self._sparse_constant(sparse.csr_array(array, dtype=np.float64))
        array = dense(array) if sparse.issparse(array) else array
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        self.check_room(array.nbytes)
        self.size += array.nbytes
        name = self._name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return Value(self, name)

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
        return Value(self, name)

    def check_room(self, n_bytes: float) -> None:
        """Raise an error if the graph would exceed the maximum size of a file."""
        if self.size + n_bytes > LARGEST:
            raise ValueError(f"the model exceeds {file_size(LARGEST)}, the limit of ONNX files")

    def concat(self, parts: Sequence[Value]) -> Value:
        return self("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]

    def nonempty(self, sets: Value, scores: Value, q: int) -> Value:
        """Add the label with the highest score to empty sets (n, q)."""
        some = sets.cast(np.int32).largest()
        top = scores.best(keepdims=1).equals(np.arange(q)[np.newaxis])
        return sets | (some.equals(np.int32(0)) & top)

    def _name(self, of: str) -> str:
        self._names += 1
        name = f"{self.prefix}{of}_{self._names}"
        return self._name(of) if name in self.inputs else name
