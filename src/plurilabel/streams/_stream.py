"""Streams of rows, and datasets as streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import digest_of

Row: TypeAlias = tuple[dict[Hashable, Any], dict[Hashable, Any]]  # features and labels by name


class Drift(NamedTuple):
    """A change in the distribution of a stream.

    Attributes
    ----------
    row : int
        Index of the first row that may come from the new distribution.
    width : int
        Number of rows until all do; 0 for a sudden change.
    kind : str
    """

    row: int
    width: int = 0
    kind: str = "sudden"


class Stream(ABC):
    """Rows in order, each a pair of dicts: features by name, and labels by name.

    Labels that are absent from a row, None or NaN are unknown. Each iteration starts at the first
    row.

    Attributes
    ----------
    name : str
    drifts : tuple of Drift
        Known changes of the stream.
    """

    name: str = "stream"
    drifts: tuple[Drift, ...] = ()

    @abstractmethod
    def __iter__(self) -> Iterator[Row]:
        """Iterate over all rows."""

    def made_of(self) -> Any:
        """A JSON value that identifies the rows."""
        return {"name": self.name}


class DatasetStream(Stream):
    """A dataset, row by row in its own order.

    Parameters
    ----------
    data : Dataset
        Rows of sparse features have only the stored entries. NaN is left out.
    drifts : iterable of Drift, optional
        Known changes of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.datasets import Dataset
    >>> from plurilabel.streams import DatasetStream
    >>> data = Dataset(np.array([[0.5, 2.0], [1.5, np.nan]]), np.array([[1, 0], [0, 1]]))
    >>> for x, y in DatasetStream(data):
    ...     print(x, y)
    {'x0': 0.5, 'x1': 2.0} {'label0': True, 'label1': False}
    {'x0': 1.5} {'label0': False, 'label1': True}
    """

    def __init__(self, data: Dataset, drifts: Iterable[Drift] = ()) -> None:
        if data.has_bags or hasattr(data.X, "iloc"):
            raise TypeError("data must have a matrix of features, got bags or a table")
        self.data, self.name = data, data.name or "data"
        self.drifts = tuple(drifts)

    def made_of(self) -> Any:
        """Digest of the data."""
        return {"name": self.name, "data": digest_of(self.data.X, self.data.Y)}

    def __len__(self) -> int:
        return int(self.data.X.shape[0])

    def __iter__(self) -> Iterator[Row]:
        data = self.data
        features, labels = list(data.feature_names), list(data.label_names)
        X: Any = sparse.csr_array(data.X) if sparse.issparse(data.X) else np.asarray(data.X)
        Y: Any = sparse.csr_array(data.Y) if sparse.issparse(data.Y) else np.asarray(data.Y)
        absent: dict[Hashable, Any] = dict.fromkeys(labels, False)
        for i in range(len(self)):
            if sparse.issparse(X):
                stored = slice(X.indptr[i], X.indptr[i + 1])
                x = zip((features[j] for j in X.indices[stored].tolist()), X.data[stored].tolist())
            else:
                x = zip(features, X[i].tolist())
            if sparse.issparse(Y):
                present = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
            else:
                present = np.flatnonzero(Y[i]).tolist()
            y = {**absent, **{labels[j]: True for j in present}}
            yield {name: value for name, value in x if value == value}, y


class _Rows(Stream):
    """Any iterable of pairs, such as a list or one of river's datasets."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = rows
        self.name = type(rows).__name__
        self.drifts = tuple(getattr(rows, "drifts", ()))

    def __iter__(self) -> Iterator[Row]:
        for number, row in enumerate(self.rows):
            try:
                x, y = row
                yield dict(x), dict(y)
            except (TypeError, ValueError):
                words = f"row {number} of the stream must be a pair of dicts (x, y), got "
                raise ValueError(words + str(row)[:80]) from None


def as_stream(given: Any) -> Stream:
    """Convert a stream, a dataset, a pair (X, Y), or pairs of dicts to a stream."""
    if isinstance(given, Stream):
        return given
    if isinstance(given, Dataset):
        return DatasetStream(given)
    if isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "shape"):
        return DatasetStream(Dataset(*given))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict):
        return _Rows(given)
    raise TypeError(
        f"stream must be a stream, a Dataset, a pair (X, Y) or an iterable of pairs of dicts, "
        f"got {type(given).__name__}"
    )
