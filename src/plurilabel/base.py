"""The contract of a learner, and the one place where labels are checked.

A learner implements two hooks that trust what they get:

``_fit(X, Y)``
    X is float64 or float32, dense or CSR; Y is 0/1 in int8, dense or CSR.
``_scores(X)``
    returns an array (n, q), one score for each label.

Everything a user may pass (lists, data frames, booleans, a 1-D y, sparse labels) is converted to
that form here, once.

A learner's kind says what its scores are: probabilities (:class:`ProbabilisticClassifier`) or
decision values (:class:`ScoringClassifier`). A learner that can be of either kind, such as one
whose scores come from a base estimator, derives from both and says which it is in
``_score_method()``.
"""

from __future__ import annotations

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from plurilabel._blocks import canonical, dense, refuse_masked, short_indices
from plurilabel._compat import check_sample_weight, validate_parameter_constraints
from plurilabel._explanation import Given, Parts, checked_given, occlusion
from plurilabel._fitted import Declared, count, flag, values
from plurilabel._limits import check_size
from plurilabel._partial import PartialLabels, known_part

__all__ = [
    "CUTS",
    "AllOrNothing",
    "LabelMatrix",
    "MultiLabelClassifier",
    "ProbabilisticClassifier",
    "ScoringClassifier",
    "WeightedFit",
    "check_labels",
    "check_scores",
    "column_names",
    "default_label_names",
    "is_tags",
    "names_or_default",
    "refuse_masked",
    "tag_matrix",
    "validate_features",
]

LabelMatrix: TypeAlias = Any
"""Labels as the hooks see them: an ndarray or a csr_array of 0 and 1 in int8, one column per
label. Cast before a product."""

CUTS = {"predict_proba": 0.5, "decision_function": 0.0}
"""The score above which a label is predicted, by the method that gives the scores."""


def column_names(Y: Any) -> list[str] | None:
    """Names of the columns of a data frame, as strings; None for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"sea": [1], "sun": [0]})), column_names([[1, 0]])
    (['sea', 'sun'], None)
    """
    columns = getattr(Y, "columns", None)
    return None if columns is None else [str(name) for name in columns]


class NumberedNames(Sequence[str]):
    """Names such as ``label0, label1, ...``, made when they are asked for.

    A million of them take no memory. They are equal to a tuple or list of the same names.

    Examples
    --------
    >>> names = NumberedNames("label", 1_000_000)
    >>> names[-1], names[:2]
    ('label999999', ('label0', 'label1'))
    >>> NumberedNames("x", 2) == ("x0", "x1")
    True
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


def validate_features(estimator: Any, X: Any, *, reset: bool, **form: Any) -> Any:
    """X as a learner wants it: scikit-learn's ``validate_data``, and what that leaves open.

    Masked values are refused. Entries that a sparse matrix stores twice are added up, in a copy,
    and its indices have 32 bits where these are enough. ``form`` goes to ``validate_data``; by
    default X is float64 or float32, dense or CSR.
    """
    refuse_masked(X, "X")
    form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], **form}
    return short_indices(validate_data(estimator, canonical(X), reset=reset, **form))


def check_labels(Y: Any, *, name: str = "Y") -> LabelMatrix:
    """Check a label matrix and return it as int8, dense or CSR; the input is never changed.

    Parameters
    ----------
    Y : array-like, sparse matrix or data frame of shape (n, q)
        Only 0 and 1 (or False and True) may occur.
    name : str
        Its name in error messages.

    Returns
    -------
    ndarray of int8 or csr_array of int8
        CSR with sorted indices and no stored zeros if Y was sparse, else dense.

    Examples
    --------
    >>> check_labels([[True, False], [0, 1]])
    array([[1, 0],
           [0, 1]], dtype=int8)
    >>> check_labels([[1, 0], [0, 2]])
    Traceback (most recent call last):
    ...
    ValueError: Y must hold only 0 and 1, got 2 in row 1, column 1
    """
    Y = _sparse_or_as_is(Y)
    if sparse.issparse(Y):
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
        clean = sparse.csr_array(
            (csr.data.astype(wide), csr.indices.copy(), csr.indptr.copy()), shape=csr.shape
        )
        clean.sum_duplicates()
        _check_zero_one(clean.data, name, clean)
        clean.eliminate_zeros()
        return clean.astype(np.int8, copy=False)
    refuse_masked(Y, name)
    if is_tags(Y):
        raise ValueError(
            f"{name} must be a 0/1 matrix (instances, labels), got tags; {FROM_TAGS} makes one"
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


def _sparse_or_as_is(Y: Any) -> Any:
    """A data frame of sparse columns as the matrix that it is."""
    if hasattr(Y, "columns") and hasattr(Y, "sparse") and len(Y.columns):
        return sparse.csr_array(Y.sparse.to_coo())
    return Y


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
    where = np.argwhere(wrong)[0]
    value = values[tuple(where)]
    if csr is None:
        i, j = where
    else:
        i, j = np.searchsorted(csr.indptr, where[0], side="right") - 1, csr.indices[where[0]]
    what = "NaN" if value != value else f"{value:g}"
    raise ValueError(f"{name} must hold only 0 and 1, got {what} in row {i}, column {j}")


FROM_TAGS = "plurilabel.label_matrix"
"""The call that errors name where labels are tags."""

_SEPARATORS = ";|,"


def is_tags(y: Any) -> bool:
    """Whether y has a list or set of tags for each instance, and can be meant in no other way.

    Sets are always tags. Lists, tuples and arrays are if what they hold is text: a list of
    numbers is the row of a matrix.

    Examples
    --------
    >>> is_tags([["sea", "sun"], [], ["sun"]]), is_tags([{4, 7}, {7}])
    (True, True)
    >>> is_tags([[0, 1], [1, 1]]), is_tags(["sea", "sun"])
    (False, False)
    """
    for cell in _cells(y):
        if isinstance(cell, set | frozenset):
            return True
        if isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
            if len(cell):
                return isinstance(cell[0], str)
        elif not _is_missing(cell):
            return False
    return False


def _cells(y: Any) -> Any:
    """What a list, an array of objects or a column of a data frame holds, one per instance."""
    if hasattr(y, "columns"):  # a data frame: only one of a single column can hold tags
        return _cells(y[y.columns[0]]) if len(y.columns) == 1 else ()
    if isinstance(y, np.ndarray):
        return y if y.ndim == 1 and y.dtype == object else ()
    if hasattr(y, "to_list"):  # a column of pandas or polars
        return y.to_list() if str(y.dtype)[:4].lower() in ("obje", "list") else ()
    return y if isinstance(y, list | tuple) else ()


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def check_label_order(y: Any, label_names: Any) -> None:
    """Refuse a data frame of labels whose columns are not those that a learner knows by name.

    Labels without names, on either side, have nothing to be compared.
    """
    given, known = column_names(y), [str(name) for name in label_names]
    if given is None or known == default_label_names(len(known)) or given == known:
        return
    raise ValueError(
        f"y must have the labels that were learned, in the same order, {', '.join(known[:5])}"
        f"{', ...' * (len(known) > 5)}; got {', '.join(given[:5])}{', ...' * (len(given) > 5)}"
    )


def tag_matrix(
    y: Any, known: Sequence[str] | None = None
) -> tuple[NDArray[np.int8], Sequence[str]]:
    """The label matrix of tags, and the names of its columns: those known, or all, sorted.

    Examples
    --------
    >>> tag_matrix([["sun"], ["sea", "sun"]])
    (array([[0, 1],
           [1, 1]], dtype=int8), ['sea', 'sun'])
    """
    sets: list[set[str]] = []
    missing = 0
    for i, cell in enumerate(_cells(y)):
        missing += (is_missing := _is_missing(cell))
        if not is_missing and not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
            raise ValueError(f"y must have a list of tags in row {i} as in others, got {cell!r}")
        tags = () if is_missing else cell
        for tag in tags:
            if not isinstance(tag, str | int | np.integer) or isinstance(tag, bool):
                raise ValueError(f"the tags of y must be texts, got {tag!r} in row {i}")
        sets.append({text for tag in tags if (text := str(tag).strip())})
    if missing:
        warnings.warn(
            f"y has no list of tags in {missing} of {len(sets)} rows (None or NaN): they are "
            "taken to have no label",
            stacklevel=6,
        )
    names = sorted(set().union(*sets)) if known is None else known
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


def _as_array(y: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(y)
    except ValueError:  # numpy: "inhomogeneous shape"
        raise ValueError(
            f"{name} must be a 0/1 matrix (instances, labels), got rows of different lengths; "
            f"if they are tags, {FROM_TAGS} makes one"
        ) from None


def _refuse_joined_tags(flat: NDArray[Any]) -> None:
    """An error for texts such as "sea;sun", which would be learned as one class each."""
    if flat.dtype.kind not in "OUT":
        return
    for i, text in enumerate(flat.tolist()):
        if isinstance(text, str) and (sep := next((s for s in _SEPARATORS if s in text), None)):
            raise ValueError(
                f"y has the text {text!r} in row {i}, which looks like several tags: "
                f"{FROM_TAGS}(y, sep={sep!r}) makes a label matrix of them; if it is one class, "
                "number the classes, as sklearn.preprocessing.LabelEncoder does"
            )


def check_scores(scores: Any, *, name: str = "scores") -> NDArray[Any] | sparse.csr_array:
    """Check a score matrix (n, q): finite numbers, float32 or float64, dense or CSR.

    Examples
    --------
    >>> check_scores([[1, 0], [0, 1]])
    array([[1., 0.],
           [0., 1.]])
    """
    refuse_masked(scores, name)
    return check_array(
        canonical(scores),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        input_name=name,
        ensure_min_samples=1,
        ensure_min_features=1,
    )


class AllOrNothing:
    """A ``fit``, ``partial_fit`` or ``forget`` that fails leaves the object as it was.

    If one of them raises, even by an interrupt, all attributes are those from before the call: an
    object that was not fitted is still not fitted, and one that was answers as before. For that
    to hold, these methods replace attributes instead of changing arrays or lists in place.

    Examples
    --------
    >>> from plurilabel.base import AllOrNothing
    >>> class Mean(AllOrNothing):
    ...     def fit(self, x):
    ...         self.n_ = len(x)
    ...         self.mean_ = sum(x) / len(x)
    >>> mean = Mean()
    >>> mean.fit([1, 3])
    >>> mean.fit([])
    Traceback (most recent call last):
    ...
    ZeroDivisionError: division by zero
    >>> mean.n_
    2
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("fit", "partial_fit", "forget"):
            if callable(method := vars(cls).get(name)):
                setattr(cls, name, _undone_on_error(method))


def _undone_on_error(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return learn


class MultiLabelClassifier(AllOrNothing, ClassifierMixin, BaseEstimator, ABC):
    """What all learners share: the public door. Subclasses write ``_fit`` and ``_scores``.

    Learners derive from :class:`ProbabilisticClassifier` or :class:`ScoringClassifier`, or from
    both.

    A 1-D y is one class per instance: it is learned as one label per class, and ``predict``
    returns the class with the highest score.

    A ``fit`` that fails changes nothing (:class:`AllOrNothing`). A fitted learner answers with
    the parameters of its ``fit``, whatever is set later, but for ``n_jobs``, which changes no
    answer. A parameter that is needed after ``fit`` is kept there under its name with ``_``.
    """

    _learns_from_known: ClassVar[bool] = False  # then ``_fit`` gets PartialLabels if some are not
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _fitted: ClassVar[Declared] = {
        "n_features_in_": count(optional=True),
        "n_labels_": count(),
        "classes_": values(None),  # 0 and 1 for a single label, one for each label otherwise
        "label_names_": values("n_labels_"),
        "single_output_": flag(),
        "sparse_output_": flag(),
    }

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Or a list or set of tags for each instance, which are then the labels, sorted by name;
            :func:`plurilabel.io.label_matrix` reads them from texts such as ``"sea;sun"``.
            NaN, None and NA are labels that are not known, for learners with
            ``accepts_missing_labels``.

        Returns
        -------
        self
        """
        self._fit(*self._validate_fit(X, y))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets.

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse;
        classes of shape (n,) if they were 1-D.
        """
        X = self._validate_predict(X)
        if self.single_output_:
            return self.classes_[self._scores(X).argmax(axis=1)]
        sets = self._predict(X)
        return (sparse.csr_array(sets) if self.sparse_output_ else sets).astype(np.int64)

    def explain(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> list[Any]:
        """What speaks for and against each label, instance by instance.

        Parameters
        ----------
        X : the rows in question, as ``predict`` takes them
        feature_names : sequence of str, default=None
            Those of the data frame given to ``fit``, or ``x0, x1, ...``.
        reference : array-like of shape (d,), default=None
            For models that cannot be taken apart: the values that stand for "nothing known", such
            as the means of the training set. The default is 0, which suits standardised features
            and counts, unless a learner knows better.

        Returns
        -------
        list of explanations, one for each row of X
            :class:`~plurilabel.explanation.Contributions`, or a class of the learner's own with
            the same attributes; ``print`` shows one.
        """
        X = self._validate_predict(X)
        d = self.n_features_in_
        names = feature_names
        if names is None:
            names = getattr(self, "feature_names_in_", default_feature_names(d))
        return self._explain(X, checked_given(names, reference, d))

    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Subset accuracy: the share of the instances whose label set is predicted exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : true labels, as ``fit`` takes them
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        if is_tags(y):
            y, _ = tag_matrix(y, self.label_names_.tolist())
        else:
            check_label_order(y, self.label_names_)
        return super().score(X, y, sample_weight)

    # hooks -------------------------------------------------------------------------------

    def _explain(self, X: Any, given: Given) -> list[Any]:
        """An explanation of each row; overridden where these are not parts of features."""
        scores = np.asarray(self._scores(X), dtype=np.float64)
        return [
            self._parts(X[i : i + 1], given).said_of(scores[i], self.label_names_)
            for i in range(len(scores))
        ]

    def _parts(self, x: Any, given: Given) -> Parts:
        """Base and parts of the scores of one row (1, d), by occlusion unless a learner can
        take its scores apart.
        """
        return occlusion(self._scores, x, given)

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix) -> None: ...

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.floating]: ...

    @abstractmethod
    def _score_method(self) -> str:
        """What the scores are: "predict_proba" or "decision_function"."""

    def _predict(self, X: Any) -> Any:
        """Label sets (n, q): scores strictly above the cut, unless a learner decides otherwise."""
        return self._scores(X) > self._cut

    # the door ----------------------------------------------------------------------------

    @property
    def _cut(self) -> float:
        """The score above which a label is predicted."""
        return CUTS[self._score_method()]

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """X as float64 or float32, dense or CSR; overridden where a learner takes more."""
        return validate_features(self, X, reset=reset)

    def _validate_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None
    ) -> tuple[Any, LabelMatrix]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        X = self._validate_X(X, reset=True)
        filled, unknown = known_part(y)
        if unknown is not None and not self.accepts_missing_labels:
            raise ValueError(_needs_all_labels(self, unknown))
        Y = self._encode(filled, classes)
        check_consistent_length(X, Y)
        if unknown is None:
            return X, Y
        if self.single_output_:  # a column of classes
            raise ValueError("Input y contains NaN: a class of one instance must be known")
        if (names := column_names(y)) is not None:
            self.label_names_ = np.asarray(names, dtype=object)
        return X, PartialLabels(Y, unknown)

    @property
    def accepts_missing_labels(self) -> bool:
        """Whether ``fit`` takes labels that are not known: NaN, None, NA or PartialLabels."""
        return self._learns_from_known

    def _fit_inside(
        self, X: Any, Y: LabelMatrix, outer: MultiLabelClassifier | None = None, **params: Any
    ) -> Self:
        """``fit`` on data that the door of another learner has checked already.

        The fitted learner is asked with ``_scores(X)`` and ``_predict(X)``, again for checked X.

        Parameters
        ----------
        X, Y : as ``_fit`` takes them
        outer : learner, optional
            The learner whose features and labels these are, under the same names.
        **params : dict
            For ``_fit``.
        """
        if outer is None:
            self.n_features_in_, Y = X.shape[1], self._encode(Y)
        else:
            for name in _SEEN_BY_DOOR:
                if hasattr(outer, name):  # features need not have names
                    setattr(self, name, getattr(outer, name))
        self._fit(X, Y, **params)
        return self

    def _validate_predict(self, X: Any) -> Any:
        """X to ask a fitted learner about."""
        check_is_fitted(self)
        return self._validate_X(X, reset=False)

    def _validate_more(self, X: Any, y: Any) -> tuple[Any, LabelMatrix]:
        """Further training data for a fitted learner: the same features, the same labels."""
        X = self._validate_X(X, reset=False)
        Y = self._encode_more(y)
        check_consistent_length(X, Y)
        return X, Y

    def _encode(self, y: Any, classes: ArrayLike | None = None) -> LabelMatrix:
        """Turn y into a label matrix and remember what is needed to answer in its form."""
        names: Any = column_names(y)
        y = _sparse_or_as_is(y)
        self.sparse_output_ = bool(sparse.issparse(y))
        refuse_masked(y, "y")
        if is_tags(y):
            y, names = tag_matrix(y)
        flat = None if self.sparse_output_ else _one_class_each(y)
        self.single_output_ = flat is not None
        if flat is None:
            Y = check_labels(y, name="y")
            # as scikit-learn has them: the classes of a single label, the labels of several
            self.classes_ = np.arange(max(2, Y.shape[1]))
        else:
            assert_all_finite(flat, input_name="y")
            check_classification_targets(flat)
            self.classes_ = np.unique(flat if classes is None else np.asarray(classes))
            names = [str(c) for c in self.classes_]
            Y = _one_hot(flat, self.classes_)
        if Y.shape[1] == 0:
            raise ValueError("y must have at least one label (column), got 0")
        self.n_labels_ = Y.shape[1]
        names = list(names or default_label_names(Y.shape[1]))
        self.label_names_ = np.asarray(names, dtype=object)
        return Y

    def _encode_more(self, y: Any) -> LabelMatrix:
        """Turn further labels into the form of those seen at first."""
        refuse_masked(y, "y")
        if self.single_output_:
            return _one_hot(column_or_1d(y), self.classes_)
        if is_tags(y):
            y, _ = tag_matrix(y, self.label_names_.tolist())
        Y = check_labels(y, name="y")
        names = column_names(y)
        if Y.shape[1] != self.n_labels_:
            raise ValueError(f"y must have the {self.n_labels_} labels of fit, got {Y.shape[1]}")
        if names is not None and names != list(self.label_names_):
            raise ValueError(
                f"y must have the label names of fit, {list(self.label_names_)}, got {names}"
            )
        return sparse.csr_array(Y) if self.sparse_output_ else dense(Y)

    def _validated_scores(self, X: Any) -> NDArray[np.floating]:
        return self._scores(self._validate_predict(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags


class WeightedFit(MultiLabelClassifier):
    """A learner whose instances may have weights: its hook is ``_fit(X, Y, weights)``.

    A weight of 2 is as good as the instance twice, and one of 0 as good as none: such instances
    do not reach the hook. ``weights`` is None if no weights were given.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
        sample_weight : array-like of shape (n,), default=None
            Weight of each instance, not negative; None is 1 for all.

        Returns
        -------
        self
        """
        checked, Y = self._validate_fit(X, y)
        if sample_weight is None:
            self._fit(checked, Y)
            return self
        weights = check_sample_weight(sample_weight, checked)
        if not weights.all():
            kept = np.flatnonzero(weights)
            checked, Y, weights = checked[kept], Y[kept], weights[kept]
        self._fit(checked, Y, weights)
        return self

    @abstractmethod
    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None: ...


_SEEN_BY_DOOR = (
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "label_names_",
    "n_labels_",
    "single_output_",
    "sparse_output_",
)
"""What the door keeps of X and y."""


def _needs_all_labels(learner: Any, unknown: Any) -> str:
    i, j = (int(at[0]) for at in unknown.nonzero())
    name = type(learner).__name__
    return (
        f"y must hold only 0 and 1, got NaN in row {i}, column {j}: {name} needs all labels; "
        f"plurilabel.missing.ImputedLabels({name}(...)) fills in those that are not known"
    )


def _if_scores_by(method: str) -> Any:
    """Decorator: the method exists if the scores of the learner come from it."""

    def check(self: MultiLabelClassifier) -> bool:
        kind = self._score_method()
        if kind != method:
            raise AttributeError(
                f"this {type(self).__name__} has no {method}: its scores come from {kind}"
            )
        return True

    return available_if(check)


class ProbabilisticClassifier(MultiLabelClassifier):
    """A learner whose scores are probabilities: ``predict_proba``, cut at 0.5."""

    def _score_method(self) -> str:
        return "predict_proba"

    @_if_scores_by("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each label.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x). For a 1-D y the rows are scaled to sum to one.
        """
        scores = self._validated_scores(X)
        if not self.single_output_:
            return scores
        total = scores.sum(axis=1, keepdims=True)
        q = scores.shape[1]
        return np.where(total > 0, scores, 1.0) / np.where(total > 0, total, q)

    @available_if(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Logarithm of the probability of each label.

        Returns
        -------
        ndarray of shape (n, q)
            Minus infinity where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ScoringClassifier(MultiLabelClassifier):
    """A learner whose scores are not probabilities: ``decision_function``, cut at 0."""

    def _score_method(self) -> str:
        return "decision_function"

    @_if_scores_by("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[np.floating]:
        """Score of each label, positive for labels that are predicted.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y with two classes: shape (n,), positive for the second class.
        """
        scores = self._validated_scores(X)
        if self.single_output_ and scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores


def _one_class_each(y: Any) -> NDArray[Any] | None:
    """The 1-D form of y if it gives one class to each instance, None if it is a matrix.

    A single column of 0 and 1 is a matrix with one label; a single column of anything else is
    read as classes, with scikit-learn's warning.
    """
    y = _as_array(y, "y")
    if y.ndim == 2 and y.shape[1] == 1:
        _refuse_joined_tags(y.ravel())
    if y.ndim == 1:
        _refuse_joined_tags(y)
        return column_or_1d(y)
    if y.ndim == 2 and y.shape[1] == 1 and not np.isin(y, (0, 1)).all():
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. "
            "It is read as one class per instance.",
            DataConversionWarning,
            stacklevel=6,
        )
        return y.ravel()
    return None


def _one_hot(flat: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int8]:
    unknown = ~np.isin(flat, classes)
    if unknown.any():
        strange = flat[unknown].tolist()[0]
        raise ValueError(f"y has the class {strange!r}, which is not among {classes.tolist()}")
    Y = np.zeros((len(flat), len(classes)), dtype=np.int8)
    Y[np.arange(len(flat)), np.searchsorted(classes, flat)] = 1
    return Y


def names_or_default(names: Sequence[str] | None, q: int) -> Sequence[str]:
    """Given label names, checked for their number, or ``label0, label1, ...``.

    Examples
    --------
    >>> names_or_default(["sea", "sun"], 2), names_or_default(None, 2)
    (('sea', 'sun'), ('label0', 'label1'))
    """
    if names is None:
        return default_label_names(q)
    if len(names) != q:
        raise ValueError(f"label_names must have {q} entries, one per label, got {len(names)}")
    return tuple(map(str, names))
