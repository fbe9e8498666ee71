"""Declarations of fitted attributes, against which model files are checked.

A class lists its fitted attributes in ``_fitted``::

    _fitted = {
        "X_": numbers("n", "n_features_in_"),
        "Y_": labels("n", "n_labels_"),
        "n_neighbors_": count(below="n"),
    }

A size is a number, None for any, or a name. A name that ends in ``_`` is an attribute of the
object; any other name stands for the same size wherever it occurs. Either may be followed by
``+1``. Classes inherit the declarations of their bases.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.compat import validate_parameter_constraints

Size: TypeAlias = str | int | None


class Fitted(NamedTuple):
    """What one attribute holds."""

    check: Callable[[Any, Any, Any], None] | None  # None for parameters as they were in ``fit``
    shape: tuple[Size, ...] = ()
    below: Size = None
    optional: bool = False
    finite: bool = True
    options: tuple[str, ...] = ()
    several: bool = False


Declared: TypeAlias = dict[str, Fitted | tuple[Fitted, ...] | list[Size]]
"""The type of ``_fitted``; a tuple declares the entries of a tuple, a list a shape of numbers."""


def numbers(*shape: Size, finite: bool = True, optional: bool = False) -> Fitted:
    """A matrix or array of numbers, dense or sparse; not all finite if so declared."""
    return Fitted(_check_numbers, shape, finite=finite, optional=optional)


def labels(*shape: Size, optional: bool = False, soft: bool = False) -> Fitted:
    """A matrix or array of 0 and 1, dense or sparse; ``soft``: or of numbers between them."""
    return Fitted(_check_labels, shape, optional=optional, several=soft)


def places(*shape: Size, below: Size, optional: bool = False) -> Fitted:
    """An array of row or column numbers from 0 to ``below`` - 1."""
    return Fitted(_check_places, shape, below=below, optional=optional)


def count(below: Size = None, *, optional: bool = False) -> Fitted:
    """A non-negative integer."""
    return Fitted(_check_count, below=below, optional=optional)


def number(*, finite: bool = True, optional: bool = False) -> Fitted:
    """A single number."""
    return Fitted(_check_number, finite=finite, optional=optional)


def flag() -> Fitted:
    """True or False."""
    return Fitted(_check_flag)


def values(size: Size, *, optional: bool = False) -> Fitted:
    """A list or array of this size, of values of any kind."""
    return Fitted(_check_values, (size,), optional=optional)


def one_of(*options: str) -> Fitted:
    """One of these words."""
    return Fitted(_check_word, options=options)


def parameter() -> Fitted:
    """A parameter as it was in ``fit``: ``search_`` is what ``search`` may be."""
    return Fitted(None)


def parameters() -> Fitted:
    """A dict of parameters as they were in ``fit``."""
    return Fitted(None, several=True)


def lists_of_numbers(size: Size, *shape: Size) -> Fitted:
    """A list of arrays of finite numbers, each of this shape."""
    return Fitted(_check_arrays, (size, *shape))


def lists_of_places(size: Size, *, below: Size) -> Fitted:
    """A list of arrays of row or column numbers."""
    return Fitted(_check_lists, (size,), below=below)


_IN_SPARSE = {"_shape", "maxprint", "data", "indices", "indptr"}


def check_sparse(matrix: Any) -> None:
    """Raise a ValueError if a sparse matrix is not CSR or CSC, or points outside its arrays."""
    # scipy's compiled code follows the pointers unchecked. Flags about the order of the entries
    # are dropped, so that scipy determines them again.
    held = vars(matrix)
    for name in ("_has_canonical_format", "_has_sorted_indices"):
        held.pop(name, None)
    if type(matrix).__name__[:4] not in ("csr_", "csc_") or not _IN_SPARSE.issuperset(held):
        raise ValueError(f"CSR or CSC, got a {type(matrix).__name__}")
    shape, parts = held.get("_shape"), [held.get(n) for n in ("data", "indices", "indptr")]
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(map(_is_size, shape))):
        raise ValueError(f"of two dimensions, got shape {shape}")
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        raise ValueError("a sparse matrix of three arrays")
    if not all(part.dtype.kind in kinds for part, kinds in zip(parts, ("biuf", "i", "i"))):
        raise ValueError(f"a sparse matrix of numbers, got {[str(part.dtype) for part in parts]}")
    # scipy checks neither if the last pointer is 0, and takes differences, which overflow
    sound = "a sparse matrix with sound pointers, got"
    if any((part[1:] < part[:-1]).any() for part in in_blocks(matrix.indptr, more=1)):
        raise ValueError(f"{sound} some that go back")
    try:
        matrix.check_format(full_check=False)
    except ValueError as error:
        raise ValueError(f"{sound} one where {error}") from None
    width = matrix.shape[1 if type(matrix).__name__.startswith("csr_") else 0]
    if any(((part < 0) | (part >= width)).any() for part in in_blocks(matrix.indices)):
        raise ValueError(f"{sound} one where indices are not below {width}")


_BLOCK = 2**20


def in_blocks(array: NDArray[Any], *, more: int = 0) -> Iterator[NDArray[Any]]:
    """Yield the entries of an array in blocks, each with ``more`` entries of the next block."""
    flat = array.ravel(order="K")
    for start in range(0, len(flat), _BLOCK):
        yield flat[start : start + _BLOCK + more]
        let_go(array)


def let_go(array: Any) -> None:
    """Release the memory of the pages read from a memory-mapped file, if the array is one."""
    while isinstance(array, np.ndarray):
        array = array.base
    owner = array.obj if isinstance(array, memoryview) else array
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def _is_size(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def check_fitted(part: Any) -> None:
    """Raise a ValueError if a fitted object is not what its class declares."""
    # An object without any of the declared attributes is not fitted, and passes.
    declared: Declared = {}
    for cls in reversed(type(part).__mro__):
        declared |= vars(cls).get("_fitted", {})
    held = vars(part) if declared else {}
    if declared.keys().isdisjoint(held):
        return
    sizes = _Sizes(held)
    for name, what in declared.items():
        what, value = numbers(*what) if isinstance(what, list) else what, held.get(name)
        every, entries = ((what,), (value,)) if isinstance(what, Fitted) else (what, value)
        _check_attribute(part, name, every, entries, sizes)


def _check_attribute(part: Any, name: str, every: Any, entries: Any, sizes: _Sizes) -> None:
    owner, first, held = type(part).__name__, every[0], sizes.held
    if first.optional and held.get(name) is None:
        return
    if name not in held:
        raise ValueError(f"{name} of a {owner} is missing")
    if first.check is None:
        constraints = type(part)._parameter_constraints
        given = held[name] if first.several else {name.removesuffix("_"): held[name]}
        if not isinstance(given, dict) or not constraints.keys() >= given.keys():
            raise ValueError(f"{name} of a {owner} must be a dict of its parameters")
        validate_parameter_constraints(constraints, given, f"fitted {owner}")
        return
    if not isinstance(entries, tuple | list) or len(entries) != len(every):
        raise ValueError(f"{name} of a {owner} must have {len(every)} entries")
    for fitted, value in zip(every, entries):
        try:
            fitted.check(fitted, value, sizes)
        except ValueError as error:
            raise ValueError(f"{name} of a {owner} must be {error}") from None


class _Sizes:
    """Sizes by name: attributes of the object, and names that get their first value."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.held, self.named = held, dict[str, int]()

    def of(self, name: Size, found: int | None = None) -> int | None:
        """The size of this name; an unknown one is the size that was found."""
        if name is None or isinstance(name, int):
            return name
        name, _, more = name.partition("+")
        extra = int(more or 0)
        if not name.endswith("_"):
            if name not in self.named and found is not None:
                self.named[name] = found - extra
            return None if name not in self.named else self.named[name] + extra
        size = self.held.get(name)
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise ValueError(f"as large as {name}, which is not a number")
        return int(size) + extra

    def check_shape(self, words: str, shape: tuple[Size, ...], found: tuple[int, ...]) -> None:
        wanted: tuple[int | None, ...] = shape  # type: ignore[assignment]
        if len(shape) == len(found):
            wanted = tuple(self.of(name, n) for name, n in zip(shape, found))
            if all(n is None or n == m for n, m in zip(wanted, found)):
                return
        names = f"({', '.join(map(str, shape))})"
        same = "" if wanted == shape else f" = {wanted}"
        raise ValueError(f"{words} in shape {names}{same}, got shape {found}")

    def check_below(self, below: Size, entries: NDArray[Any]) -> None:
        limit = self.of(below)
        low = min((part.min() for part in in_blocks(entries)), default=0)
        high = max((part.max() for part in in_blocks(entries)), default=0)
        if low < 0 or (limit is not None and entries.size and high >= limit):
            upper = "" if limit is None else f" and below {limit}"
            raise ValueError(f"at least 0{upper}, got {low if low < 0 else high}")


def _check_flag(_what: Fitted, value: Any, _sizes: _Sizes) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"True or False, got {_type(value)}")


def _check_word(what: Fitted, value: Any, _sizes: _Sizes) -> None:
    if not isinstance(value, str) or value not in what.options:
        raise ValueError(f"one of {', '.join(what.options)}, got {_type(value)}")


def _check_count(what: Fitted, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"a number, got {_type(value)}")
    sizes.check_below(what.below, np.asarray(value))


def _check_number(what: Fitted, value: Any, _sizes: _Sizes) -> None:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        raise ValueError(f"a number, got {_type(value)}")
    if what.finite and not np.isfinite(value):
        raise ValueError(f"finite, got {value}")


def _check_values(what: Fitted, value: Any, sizes: _Sizes) -> None:
    if hasattr(value, "_fitted"):  # bags, which declare what they hold as learners do
        check_fitted(value)
    elif not isinstance(value, list | tuple) and getattr(value, "ndim", 0) == 0:
        raise ValueError(f"a list, got {_type(value)}")
    sizes.check_shape("values", what.shape[:1], (len(value),))


def _check_lists(what: Fitted, value: Any, sizes: _Sizes) -> None:
    _check_values(what, value, sizes)
    for entry in value:
        _check_places(places(None, below=what.below), entry, sizes)


def _check_arrays(what: Fitted, value: Any, sizes: _Sizes) -> None:
    _check_values(what, value, sizes)
    for entry in value:
        _check_numbers(numbers(*what.shape[1:]), entry, sizes)


def _entries(what: Fitted, value: Any, sizes: _Sizes, words: str, kinds: str) -> NDArray[Any]:
    """The stored entries of an array, dense or sparse, whose form was checked."""
    if not (isinstance(value, np.ndarray) or sparse.issparse(value)):
        raise ValueError(f"an array, got {_type(value)}")
    if value.dtype.kind not in kinds:
        raise ValueError(f"{words}, got values of type {value.dtype}")
    sizes.check_shape(words, what.shape, value.shape)
    if not sparse.issparse(value):
        return value
    check_sparse(value)
    return value.data


def _check_numbers(what: Fitted, value: Any, sizes: _Sizes) -> None:
    entries = _entries(what, value, sizes, "numbers", "biuf")
    if what.finite and not all(np.isfinite(part).all() for part in in_blocks(entries)):
        raise ValueError("finite, got NaN or infinity")


def _check_labels(what: Fitted, value: Any, sizes: _Sizes) -> None:
    entries = _entries(what, value, sizes, "0 and 1", "biuf")
    if what.several and entries.dtype.kind == "f":
        if not all(((part >= 0) & (part <= 1)).all() for part in in_blocks(entries)):
            raise ValueError("between 0 and 1, got other numbers")
    elif not all(((part == 0) | (part == 1)).all() for part in in_blocks(entries)):
        raise ValueError("0 and 1, got other numbers")


def _check_places(what: Fitted, value: Any, sizes: _Sizes) -> None:
    sizes.check_below(what.below, _entries(what, value, sizes, "whole numbers", "iu"))


def _type(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
