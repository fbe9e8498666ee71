"""An ONNX graph that is written down node by node."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.words import file_size

OPSETS = {"": 17, "ai.onnx.ml": 3}
"""Versions of the operators: those of ONNX 1.12, which every runtime since 2022 knows."""

LARGEST = 2_000_000_000  # bytes of a protocol buffer, less some for names

Value: TypeAlias = str
"""The name of a value in the graph: of an input, a constant, or what a node computes."""


class Answer(NamedTuple):
    """What a learner computes.

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
        self.size, self._names = 0, 0

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
        """Add a constant."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        self.check_room(array.nbytes)
        self.size += array.nbytes
        name = self._name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def check_room(self, n_bytes: float) -> None:
        """An error if the graph would become too large for a file."""
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
        return f"{self.prefix}{of}_{self._names}"
