"""The base class of stream learners: one core behind two interfaces.

River's interface takes one row at a time, as dicts; scikit-learn's takes arrays, whose rows are
learned one after the other. Both convert rows to the input of the core: a vector or a dict, and
labels as 0, 1, or -1 if unknown.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.blocks import dense, is_missing, refuse_masked, row_blocks
from plurilabel._core.compat import check_params
from plurilabel._core.fitted import Declared, values
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.streams._river import RiverClassifier

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int8]  # 0 and 1, and -1 for unknown labels
UNKNOWN = -1


class Core(Protocol):
    """The model inside a learner; later rows may have more features and labels."""

    def learn(self, x: Any, y: Labels) -> None:
        """Learn a row; if this raises an error, nothing has changed."""

    def score(self, x: Any) -> Floats:
        """Probability of each label seen so far."""


class StreamClassifier(ProbabilisticClassifier, RiverClassifier):
    """Base class of learners that learn row by row.

    ``learn_one``, ``predict_one`` and ``predict_proba_one`` take dicts, as in river; ``fit``,
    ``partial_fit``, ``predict`` and ``predict_proba`` take arrays. ``fit`` resets the learner and
    learns the rows in their order; ``partial_fit`` learns further rows.

    Unknown labels (no key, None or NaN in a dict, NaN in an array) are ignored. New labels and
    features may appear in any dict; new features are 0 in earlier rows. If y is 1-D, the classes
    are the labels, and a new label is a further class.

    If ``learn_one`` fails, the learner does not change, unless a classifier of river fails: then
    the classifiers of the labels before it have learned the row.

    Attributes
    ----------
    core_ : object
        The fitted model.
    columns_ : list
        Names or numbers of the features seen so far, in the order of the columns.
    label_names_ : ndarray of shape (q,)
        The labels seen so far, in the order of their first appearance.
    """

    _fitted: ClassVar[Declared] = {"columns_": values("n_features_in_")}
    _learns_from_known = True
    _takes_dicts: ClassVar[bool] = False

    core_: Any

    @abstractmethod
    def _new_core(self) -> Core:
        """A new core with the current parameters."""

    # river's interface --------------------------------------------------------------------

    def learn_one(self, x: Mapping[Hashable, Any], y: Mapping[Hashable, Any]) -> None:
        """Learn from one row.

        Parameters
        ----------
        x : dict
            Numbers by the name of their feature. Absent features are 0.
        y : dict
            True or False by the name of the label; None, NaN or no key if unknown. Rows without
            a known label are ignored.
        """
        _check_dict(y, "y", "labels")
        values = list(y.values())
        if not {*map(type, values)} <= {bool}:  # the common case
            values = [_truth(name, value) for name, value in y.items()]
        if not hasattr(self, "core_"):
            self._start()
        d, q = len(self.columns_), len(self._labels)
        try:
            self._learn_dict(x, dict(zip(y, values)))
        except BaseException:
            self._remove_names(d, q)
            raise

    def _learn_dict(self, x: Mapping[Hashable, Any], truth: Mapping[Hashable, int]) -> None:
        row = self._row(x, grow=True)
        if all(value == UNKNOWN for value in truth.values()):
            return
        if not self._labels.keys() >= truth.keys():
            self._add_labels([name for name in truth if name not in self._labels])
        values = [truth.get(name, UNKNOWN) for name in self._labels]
        self.core_.learn(row, np.array(values, dtype=np.int8))

    def predict_proba_one(
        self, x: Mapping[Hashable, Any], **kwargs: Any
    ) -> dict[Hashable, dict[bool, float]]:
        """Probability of each label seen so far, as ``{label: {False: 1 - p, True: p}}``."""
        del kwargs
        scores = self._scores_one(x).tolist()
        return {name: {False: 1.0 - p, True: p} for name, p in zip(self._known, scores)}

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Hashable, bool]:
        """Predict the labels of one row, as ``{label: bool}`` for each label seen so far."""
        del kwargs
        return dict(zip(self._known, (self._scores_one(x) > self._cut).tolist()))

    def labels_of(self, probabilities: Mapping[Hashable, Any]) -> dict[Hashable, bool]:
        """The result of ``predict_one``, from that of ``predict_proba_one``."""
        cut = self._cut
        return {name: p[True] > cut for name, p in probabilities.items()}

    @property
    def _known(self) -> Iterable[Hashable]:
        return getattr(self, "_labels", ())

    def _scores_one(self, x: Mapping[Hashable, Any]) -> Floats:
        return self.core_.score(self._row(x, grow=False)) if self._known else np.zeros(0)

    def _start(self) -> None:
        check_params(self)
        core = self._new_core()
        self.columns_: list[Hashable] = []
        self._columns: dict[Hashable, int] = {}
        self._labels: dict[Hashable, int] = {}
        self.n_features_in_ = 0
        self.single_output_ = self.sparse_output_ = False
        self._add_labels([])
        self.core_ = core

    def _add_labels(self, names: Iterable[Hashable]) -> None:
        for name in names:
            self._labels[name] = len(self._labels)
        self._count_labels()

    def _count_labels(self) -> None:
        q = self.n_labels_ = len(self._labels)
        if self.single_output_:  # one class for each row: a new label is a further class
            self.classes_ = _as_classes(list(self._labels))
            self.label_names_ = np.array([str(name) for name in self._labels], dtype=object)
        else:
            self.classes_ = np.arange(max(2, q))
            self.label_names_ = np.fromiter(self._labels, dtype=object, count=q)

    def _remove_names(self, d: int, q: int) -> None:
        """Remove columns after d and labels after q, which a failed row has added."""
        for name in self.columns_[d:]:
            self._columns.pop(name, None)  # an interrupt may have come before it was there
        del self.columns_[d:]
        self.n_features_in_ = d
        if len(self._labels) > q:
            for name in list(self._labels)[q:]:
                del self._labels[name]
            self._count_labels()

    def _row(self, x: Mapping[Hashable, Any], *, grow: bool) -> Any:
        """Convert a dict for the core; new features become columns, or are left out."""
        _check_dict(x, "x", "features")
        columns = self._columns
        if not self._takes_dicts and len(x) == len(columns):  # usually the same features
            try:
                return numbers(columns, list(map(x.__getitem__, columns)))
            except KeyError:
                pass
        row = numbers(x, list(x.values()))
        if grow and not columns.keys() >= x.keys():
            # sorted, so that the order of the keys in a dict does not matter
            for name in sorted((name for name in x if name not in columns), key=str):
                self.columns_.append(name)
                columns[name] = len(self.columns_) - 1
            self.n_features_in_ = len(self.columns_)
        if self._takes_dicts:
            return x
        out = np.zeros(len(columns))
        for name, value in zip(x, row):
            if name in columns:
                out[columns[name]] = value
        return out

    # scikit-learn's interface -------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn further rows, one after the other; the first call is ``fit``.

        X and y are checked as a whole before any row is learned.

        Parameters
        ----------
        X, y : as in ``fit``; NaN in y for unknown labels
        classes : array of shape (n_classes,), optional
            For a 1-D y, at the first call: all classes that may occur.
        """
        if not hasattr(self, "core_"):
            self._fit(*self._validate_fit(X, y, classes))
            return self
        self._learn_rows(self.core_, *self._validate_more(X, y))
        return self

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        core = self._new_core()
        if isinstance(Y, UnknownLabels):
            Y = np.where(dense(Y.unknown), np.int8(UNKNOWN), dense(Y.Y))
        self.columns_ = list(getattr(self, "feature_names_in_", range(X.shape[1])))
        self._columns = {name: j for j, name in enumerate(self.columns_)}
        names = self.classes_ if self.single_output_ else self.label_names_
        self._labels = {name: l for l, name in enumerate(names.tolist())}
        self._learn_rows(core, X, Y)
        self.core_ = core

    def _learn_rows(self, core: Core, X: Any, Y: LabelMatrix) -> None:
        for rows in row_blocks(X.shape[0], Y.shape[1], 1 << 16):
            for x, y in zip(self._rows(X[rows]), dense(Y[rows])):
                if (y != UNKNOWN).any():
                    core.learn(x, y)

    def _scores(self, X: Any) -> Floats:
        scores = np.zeros((X.shape[0], self.n_labels_))
        for i, x in enumerate(self._rows(X)):
            found = self.core_.score(x)  # empty as long as no label is known
            scores[i, : len(found)] = found
        return scores

    def _rows(self, X: Any) -> Iterator[Any]:
        """Convert the rows of a checked matrix for the core."""
        if not self._takes_dicts:
            for rows in row_blocks(X.shape[0], X.shape[1], 1 << 18):
                yield from np.ascontiguousarray(dense(X[rows]), dtype=np.float64)
            return
        names = self.columns_
        if sparse.issparse(X):  # features that are not stored are absent
            for i in range(X.shape[0]):
                stored = slice(X.indptr[i], X.indptr[i + 1])
                entries = zip(X.indices[stored].tolist(), X.data[stored].tolist())
                yield {names[j]: float(value) for j, value in entries if value}
        else:
            for row in X:
                yield dict(zip(names, row.astype(np.float64).tolist()))

    def _encode_more(self, y: Any) -> LabelMatrix:
        if self.single_output_:
            return self._encode_classes(y)
        filled, missing = known_part(y)
        Y = super()._encode_more(filled)
        return Y if missing is None else np.where(dense(missing), np.int8(UNKNOWN), dense(Y))

    def _encode_classes(self, y: Any) -> LabelMatrix:
        """Encode classes; those first seen in dicts are at the end."""
        refuse_masked(y, "y")
        flat = column_or_1d(y).tolist()
        if strange := [value for value in flat if value not in self._labels]:
            known = self.classes_.tolist()
            raise ValueError(f"y has the class {strange[0]!r}, which is not among {known}")
        Y = np.zeros((len(flat), self.n_labels_), dtype=np.int8)
        Y[np.arange(len(flat)), [self._labels[value] for value in flat]] = 1
        return Y


def _as_classes(names: list[Any]) -> NDArray[Any]:
    """Values of any types as an array that keeps their types."""
    array = np.array(names)
    return array if array.tolist() == names else np.fromiter(names, object, len(names))


def _check_dict(values: Any, name: str, of: str) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a dict of {of}, got {type(values).__name__}")


def _truth(name: Hashable, value: Any) -> int:
    """A label of a dict: 0, 1, or -1 if unknown."""
    if value is True or value is False:
        return int(value)
    if is_missing(value):
        return UNKNOWN
    if isinstance(value, bool | np.bool_ | float | Integral | np.floating) and value in (0, 1):
        return int(value)
    raise ValueError(f"label {name!r} must be True, False or None, got {value!r}")


def numbers(names: Iterable[Hashable], values: list[Any]) -> Floats:
    """The values of features, checked."""
    try:
        row = np.array(values)
        if row.dtype.kind in "biuf" and row.ndim == 1:
            row = row.astype(np.float64, copy=False)
            if np.isfinite(row).all():
                return row
    except ValueError:  # sequences of different lengths
        pass
    for name, value in zip(names, values):
        if not isinstance(value, int | float | np.number | np.bool_) or not np.isfinite(value):
            raise ValueError(
                f"feature {name!r} must be a finite number, got {value!r}; encode or impute it "
                "first, for instance by river's preprocessing.OneHotEncoder"
            )
    return np.array([float(value) for value in values])
