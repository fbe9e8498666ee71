"""Labels in any form, converted to the one form that learners see.

Lists, data frames, booleans, sparse matrices, tags and classes are checked here, once, and so are
scores and the names of labels and features.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from plurilabel._core.blocks import canonical, huge_numbers, is_missing, on_host, refuse_masked
from plurilabel._core.limits import check_size
from plurilabel._core.words import FRACTIONS, check_unicode

LabelMatrix: TypeAlias = Any
"""Labels as the hooks see them: an ndarray or a csr_array of 0 and 1 in int8, one column per
label. Cast before a product."""


def column_names(Y: Any) -> list[str] | None:
    """Names of the columns of a data frame, as strings; None for anything else."""
    columns = getattr(Y, "columns", None)
    if columns is None:
        return None
    names = [str(name) for name in columns]
    check_unicode(names, "column names")
    return names


class NumberedNames(Sequence[str]):
    """Names such as ``label0, label1, ...``, made when they are used.

    A million of them take no memory. They are equal to a tuple or list of the same names.
    """

    def __init__(self, stem: str, n: int) -> None:
        self.stem, self.n = stem, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: Any) -> Any:
        at = range(self.n)[i]
        return tuple(map(self.__getitem__, at)) if isinstance(at, range) else f"{self.stem}{at}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self.stem}{j}" for j in range(self.n))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames) and vars(self) == vars(other):
            return True
        if not isinstance(other, NumberedNames | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def default_feature_names(d: int) -> NumberedNames:
    """Names for features without names, as scikit-learn makes them: ``x0, x1, ...``."""
    return NumberedNames("x", d)


def default_label_names(q: int) -> NumberedNames:
    """Names for labels without names: ``label0, label1, ...``."""
    return NumberedNames("label", q)


def check_labels(Y: Any, *, name: str = "Y") -> LabelMatrix:
    """Check a label matrix (n, q) and return it as int8, dense or CSR; Y is never changed.

    CSR has sorted indices and no stored zeros; ``name`` is that of Y in errors.
    """
    Y = sparse_or_as_is(Y)
    return _sparse_labels(Y, name) if sparse.issparse(Y) else _dense_labels(Y, name)


def _sparse_labels(Y: Any, name: str) -> sparse.csr_array:
    if Y.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n, q), got {Y.ndim} dimension(s)")
    # COO adds up duplicates as it becomes CSR; their sum must fit: 256 ones are not a zero
    if Y.format == "coo" and Y.dtype.kind in "biu":
        Y = sparse.coo_array((Y.data.astype(np.int64), (Y.row, Y.col)), shape=Y.shape)
    csr = sparse.csr_array(Y, copy=False)
    _check_zero_one(csr.data, name, csr)
    if csr.has_canonical_format and csr.dtype == np.int8 and csr.data.all():
        return csr
    wide = np.int8 if csr.has_canonical_format else np.int64
    clean = sparse.csr_array(csr, dtype=wide, copy=True)
    clean.sum_duplicates()
    _check_zero_one(clean.data, name, clean)
    clean.eliminate_zeros()
    return clean.astype(np.int8, copy=False)


def _dense_labels(Y: Any, name: str) -> NDArray[np.int8]:
    refuse_masked(Y, name)
    if is_tags(Y):
        raise ValueError(
            f"{name} must be a 0/1 matrix (instances, labels), got tags: write "
            f"y = {FROM_TAGS}(y) before splits, searches and measures"
        )
    array = _as_array(Y, name)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be a 0/1 matrix (instances, labels), "
            f"got {array.ndim} dimension(s) of shape {array.shape}"
        )
    if array.dtype == object:
        array = _object_to_number(array, name)
    if array.dtype.kind not in "biuf":
        more = f"; {FROM_TAGS} makes them of tags" if array.dtype.kind in "UT" else ""
        raise ValueError(f"{name} must hold only 0 and 1, got values of type {array.dtype}{more}")
    _check_zero_one(array, name)
    return np.ascontiguousarray(array, dtype=np.int8)


def sparse_or_as_is(Y: Any) -> Any:
    """A data frame of sparse columns as a sparse matrix; torch's tensors as arrays."""
    if hasattr(Y, "columns") and hasattr(Y, "sparse") and len(Y.columns):
        return sparse.csr_array(Y.sparse.to_coo())
    return on_host(Y)


def _object_to_number(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        if any(issubclass(kind, str | bytes) for kind in set(map(type, array.flat))):
            raise TypeError  # "0" and "1" are not numbers here either
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for (i, j), value in np.ndenumerate(array):
            if not isinstance(value, int | float | np.number | np.bool_):
                raise ValueError(
                    f"{name} must hold only 0 and 1, got {value!r} in row {i}, column {j}"
                ) from None
        raise


def _check_zero_one(values: NDArray[Any], name: str, csr: sparse.csr_array | None = None) -> None:
    if values.dtype == bool or values.size == 0:
        return
    wrong = (values != 0) & (values != 1)
    if not wrong.any():
        return
    outside = (values < 0) | (values > 1)  # is worse than a fraction
    where = np.argwhere(outside if outside.any() else wrong)[0]
    value = values[tuple(where)]
    if csr is None:
        i, j = where
    else:
        i, j = np.searchsorted(csr.indptr, where[0], side="right") - 1, csr.indices[where[0]]
    short = f"{value:g}"
    what = "NaN" if value != value else short if float(short) == value else repr(float(value))
    more = f"; {FRACTIONS}" if 0 < value < 1 else ""
    raise ValueError(f"{name} must hold only 0 and 1, got {what} in row {i}, column {j}{more}")


FROM_TAGS = "plurilabel.label_matrix"  # named in errors about tags
TAG_SEPARATORS = ";|,"


def is_tags(y: Any) -> bool:
    """Whether y has a list or set of tags for each instance."""
    # Sets are always tags; lists, tuples and arrays are if they hold text, not numbers.
    for cell in _cells(y):
        if isinstance(cell, set | frozenset):
            return True
        if isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
            if len(cell):
                return isinstance(cell[0], str)
        elif not is_missing(cell):
            return False
    return False


def _cells(y: Any) -> Any:
    """The entries of a list, an array of objects or a column of a data frame, one per instance."""
    if hasattr(y, "columns"):  # a data frame: only one of a single column can hold tags
        return _cells(y[y.columns[0]]) if len(y.columns) == 1 else ()
    if isinstance(y, np.ndarray):
        return y if y.ndim == 1 and y.dtype == object else ()
    if hasattr(y, "to_list"):  # a column of pandas or polars
        return y.to_list() if str(y.dtype)[:4].lower() in ("obje", "list") else ()
    return y if isinstance(y, list | tuple) else ()


def check_label_order(y: Any, label_names: Any) -> None:
    """Refuse a data frame whose columns are not the labels of a learner, in the same order."""
    given, known = column_names(y), [str(name) for name in label_names]
    if given is None or known == default_label_names(len(known)) or given == known:
        return
    raise ValueError(
        f"y must have the labels that were learned, in the same order, {', '.join(known[:5])}"
        f"{', ...' * (len(known) > 5)}; got {', '.join(given[:5])}{', ...' * (len(given) > 5)}"
    )


def tag_matrix(y: Any, known: Sequence[str] | None = None) -> tuple[Any, Sequence[str]]:
    """The label matrix of tags, and the names of its columns: those known, or all, sorted."""
    cells = list(_cells(y))
    sets = [_tags_in(cell, i) for i, cell in enumerate(cells)]
    if absent := sum(map(is_missing, cells)):
        warnings.warn(
            f"y has no list of tags in {absent} of {len(sets)} rows (None or NaN): they are "
            "taken to have no label",
            stacklevel=6,
        )
    names = sorted(set().union(*sets)) if known is None else known
    check_unicode(names, "the tags of y")
    if names and set(names) <= {"0", "1"}:
        raise ValueError("y must hold only 0 and 1, got values that are text, '0' and '1'")
    place = {name: j for j, name in enumerate(names)}
    check_size(
        "a label matrix made of tags", f"{len(sets):,} rows and {len(names):,} labels",
        memory=len(sets) * len(names), instead=f"sparse labels: {FROM_TAGS}(..., sparse=True)",
    )  # fmt: skip
    Y = np.zeros((len(sets), len(names)), dtype=np.int8)
    for i, tags in enumerate(sets):
        for tag in tags:
            if tag not in place:
                raise ValueError(f"y has the tag {tag!r} in row {i}, which fit has not seen")
            Y[i, place[tag]] = 1
    return Y, names


def _tags_in(cell: Any, i: int) -> set[str]:
    """The tags of row i; none where they are missing."""
    if is_missing(cell):
        return set()
    if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        raise ValueError(f"y must have a list of tags in row {i} as in others, got {cell!r}")
    for tag in cell:
        if not isinstance(tag, str | int | np.integer) or isinstance(tag, bool):
            raise ValueError(f"the tags of y must be texts, got {tag!r} in row {i}")
    return {text for tag in cell if (text := str(tag).strip())}


def _as_array(y: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(y)
    except ValueError:  # numpy: "inhomogeneous shape"
        raise ValueError(
            f"{name} must be a 0/1 matrix (instances, labels), got rows of different lengths; "
            f"for tags, use {FROM_TAGS}"
        ) from None


def _refuse_joined_tags(flat: NDArray[Any]) -> None:
    """Refuse texts such as "sea;sun", which would be learned as one class each."""
    if flat.dtype.kind not in "OUT":
        return
    for i, text in enumerate(flat.tolist()):
        if isinstance(text, str) and (sep := next((s for s in TAG_SEPARATORS if s in text), None)):
            raise ValueError(
                f"y has the text {text!r} in row {i}, which looks like several tags: "
                f"{FROM_TAGS}(y, sep={sep!r}) makes a label matrix of them; if it is one class, "
                "number the classes, as sklearn.preprocessing.LabelEncoder does"
            )


def check_scores(scores: Any, *, name: str = "scores") -> NDArray[Any] | sparse.csr_array:
    """Check a score matrix (n, q): finite numbers, float32 or float64, dense or CSR."""
    refuse_masked(scores, name)
    with huge_numbers():
        return check_array(
            canonical(scores), accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name
        )


def one_class_each(y: Any) -> NDArray[Any] | None:
    """The 1-D form of y if it gives one class to each instance, None if it is a matrix."""
    # A single column of 0 and 1 is a matrix with one label; a single column of anything else is
    # read as classes, with scikit-learn's warning.
    y = _as_array(y, "y")
    if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):
        return None
    _refuse_joined_tags(y.ravel())
    if y.ndim == 1:
        return column_or_1d(y)
    if not np.isin(y, (0, 1)).all():
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. "
            "It is read as one class per instance.",
            DataConversionWarning,
            stacklevel=6,
        )
        return y.ravel()
    return None


def one_hot(flat: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int8]:
    unknown = ~np.isin(flat, classes)
    if unknown.any():
        strange = flat[unknown].tolist()[0]
        raise ValueError(f"y has the class {strange!r}, which is not among {classes.tolist()}")
    Y = np.zeros((len(flat), len(classes)), dtype=np.int8)
    Y[np.arange(len(flat)), np.searchsorted(classes, flat)] = 1
    return Y


def distinct_label_sets(Y: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """The distinct rows of Y (canonical CSR), the most frequent first, and their counts."""
    # a label set is identified by the bytes of its sorted column numbers: exact and sparse
    content, numbers = Y.indices.tobytes(), dict[bytes, int]()
    bounds = pairwise((Y.indptr.astype(np.int64) * Y.indices.itemsize).tolist())
    number_of_row = [numbers.setdefault(content[a:b], len(numbers)) for a, b in bounds]
    _, first, counts = np.unique(number_of_row, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Y[first[order]], counts[order].astype(np.int64)


def names_or_default(names: Sequence[str] | None, q: int) -> Sequence[str]:
    """Given label names, checked for their number, or ``label0, label1, ...``."""
    if names is None:
        return default_label_names(q)
    if len(names) != q:
        raise ValueError(f"label_names must have {q} entries, one per label, got {len(names)}")
    return tuple(map(str, names))
