"""Resampling by labels alone: random rows are repeated or removed, mixed rows are split."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.compat import Interval, NotNegative, safe_indexing
from plurilabel.datasets import describe
from plurilabel.datasets.shared import set_scumble
from plurilabel.wrappers._resampling import Resampler, RowChooser, rare_labels, with_any


@dataclass(eq=False, repr=False)
class _Random(RowChooser):
    _needs_numbers: ClassVar[bool] = False

    share: NotNegative = 0.25
    _: KW_ONLY
    random_state: Any = None


@dataclass(eq=False, repr=False)
class _RandomUnder(_Random):
    share: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.25


def _bags(Y: Any) -> list[NDArray[np.intp]]:
    """The rows of each distinct label set, sets in the order in which they occur first."""
    Y = sparse.csr_array(Y)
    bags: dict[bytes, list[int]] = {}
    for i, (start, end) in enumerate(pairwise(Y.indptr)):
        bags.setdefault(Y.indices[start:end].tobytes(), []).append(i)
    return [np.asarray(rows) for rows in bags.values()]


def _shared_out(budget: int, room: list[int]) -> list[int]:
    """The budget in equal parts; what a bag has no room for goes to those after it."""
    parts = []
    for i, most in enumerate(room):
        part = min(most, round(budget / (len(room) - i)))
        parts.append(part)
        budget -= part
    return parts


class LPROS(_Random):
    """LP-ROS: repeat random rows of rare label sets.

    A label set is rare if fewer rows have it than the mean. Additional rows are divided equally
    among the rare sets, from the largest to the smallest. No set grows above the mean; what it
    cannot take goes to later ones.

    Parameters
    ----------
    share : float, default=0.25
        Rows added, as a share of n.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> from plurilabel import LPROS
    >>> X, Y = [["a"], ["b"], ["c"], ["d"], ["e"]], [[1, 0]] * 4 + [[1, 1]]
    >>> LPROS(0.2, random_state=0).fit_resample(X, Y)[0]
    [['a'], ['b'], ['c'], ['d'], ['e'], ['e']]
    """

    def _rows(self, _: Any, Y: Any) -> NDArray[np.intp]:
        n, rng, bags = Y.shape[0], check_random_state(self.random_state), _bags(Y)
        mean = n / len(bags)
        rare = sorted((bag for bag in bags if len(bag) < mean), key=len, reverse=True)
        parts = _shared_out(int(n * self.share), [int(mean - len(bag)) for bag in rare])
        more = [rng.choice(bag, size=part) for bag, part in zip(rare, parts)]
        return np.concatenate([np.arange(n), *more]).astype(np.intp)


class LPRUS(_RandomUnder):
    """LP-RUS: remove random rows of frequent label sets (paper: see :class:`LPROS`).

    A label set is frequent if more rows have it than the mean. The rows to remove are divided
    equally among the frequent sets, from the smallest to the largest. No set falls below the
    mean; what it cannot give is taken from later ones.

    Parameters
    ----------
    share : float, default=0.25
        Rows removed, as a share of n.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> from plurilabel import LPRUS
    >>> X, Y = [[0], [1], [2], [3], [4]], [[1, 0]] * 4 + [[1, 1]]
    >>> len(LPRUS(0.2, random_state=0).fit_resample(X, Y)[0])
    4
    """

    def _rows(self, _: Any, Y: Any) -> NDArray[np.intp]:
        n, rng, bags = Y.shape[0], check_random_state(self.random_state), _bags(Y)
        mean = n / len(bags)
        frequent = sorted((bag for bag in bags if len(bag) > mean), key=len)
        parts = _shared_out(int(n * self.share), [int(len(bag) - mean) for bag in frequent])
        gone = [rng.choice(bag, size=part, replace=False) for bag, part in zip(frequent, parts)]
        return np.setdiff1d(np.arange(n), np.concatenate([np.empty(0, np.intp), *gone]))


class MLROS(_Random):
    """ML-ROS: repeat random rows with rare labels (paper: see :class:`LPROS`).

    A label is rare if its IRLbl is above MeanIR. In each round, a random row with each rare label
    is added; a label is dropped when the added rows have brought its IRLbl down to MeanIR.

    Parameters
    ----------
    share : float, default=0.25
        Rows added at most, as a share of n.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> from plurilabel import MLROS
    >>> X, Y = [[0], [1], [2], [3], [4]], [[1, 0]] * 4 + [[1, 1]]
    >>> X, Y = MLROS(0.4, random_state=0).fit_resample(X, Y)
    >>> X
    [[0], [1], [2], [3], [4], [4]]
    """

    _learns_from_known = True

    def _rows(self, _: Any, Y: Any) -> NDArray[np.intp]:
        n, rng, found = Y.shape[0], check_random_state(self.random_state), describe(Y)
        rows_of, labels_of = sparse.csc_array(Y), sparse.csr_array(Y)
        rare = np.flatnonzero(rare_labels(Y)).tolist()
        counts, left = found.counts.copy(), int(n * self.share)
        added: list[int] = []
        while rare and left > len(added):
            still = []
            for l in rare:
                if left == len(added):
                    break
                i = rng.choice(rows_of.indices[rows_of.indptr[l] : rows_of.indptr[l + 1]])
                added.append(i)
                counts[labels_of.indices[labels_of.indptr[i] : labels_of.indptr[i + 1]]] += 1
                if counts.max() / counts[l] > found.mean_ir:
                    still.append(l)
            rare = still
        return np.concatenate([np.arange(n), added]).astype(np.intp)


class MLRUS(_RandomUnder):
    """ML-RUS: remove random rows without rare labels (paper: see :class:`LPROS`).

    A label is rare if its IRLbl is above MeanIR.

    Parameters
    ----------
    share : float, default=0.25
        Rows removed, as a share of n; all rows without rare labels at most, but never all rows.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    As in the authors' package mldr.resampling; that may draw a row twice, and then removes fewer.

    Examples
    --------
    >>> from plurilabel import MLRUS
    >>> X, Y = [[0], [1], [2], [3], [4]], [[1, 0]] * 4 + [[1, 1]]
    >>> X, Y = MLRUS(0.4, random_state=0).fit_resample(X, Y)
    >>> len(X), [4] in X
    (3, True)
    """

    _learns_from_known = True

    def _rows(self, _: Any, Y: Any) -> NDArray[np.intp]:
        n, rng = Y.shape[0], check_random_state(self.random_state)
        may_go = np.flatnonzero(~with_any(Y, rare_labels(Y)))
        size = min(int(n * self.share), len(may_go))
        return np.setdiff1d(np.arange(n), rng.choice(may_go, size=size, replace=False))


class REMEDIAL(Resampler):
    """REMEDIAL: a row that mixes frequent and rare labels becomes two with the same features.

    Rows whose SCUMBLE is above that of the dataset are split: the row keeps its frequent labels
    (IRLbl at most MeanIR), and a copy of it at the end gets the rare ones. Other resamplings can
    then add rows with rare labels that do not bring frequent ones along. For learners of one
    label at a time, the two rows contradict each other: each lacks labels of the instance.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Dealing with difficult minority labels
    in imbalanced multilabel data sets. Neurocomputing 326, 2019.

    Examples
    --------
    >>> from plurilabel import REMEDIAL
    >>> X, Y = [[0], [1], [2], [3], [4]], [[1, 0]] * 4 + [[1, 1]]
    >>> X, Y = REMEDIAL().fit_resample(X, Y)
    >>> X[4:], Y[4:].tolist()
    ([[4], [4]], [[1, 0], [0, 1]])
    """

    _needs_numbers: ClassVar[bool] = False

    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        rare, found, labels = rare_labels(Y), describe(Y), sparse.csr_array(Y)
        mixing = set_scumble(labels, np.where(found.counts > 0, found.irlbl, 1.0))
        split = mixing > mixing.mean()
        size = np.diff(labels.indptr)
        seldom, inside = rare[labels.indices], np.repeat(split, size)
        kept, moved = labels.copy(), labels[split]
        kept.data[seldom & inside] = 0
        moved.data[~rare[moved.indices]] = 0
        both = stack_rows([kept, moved])
        both.eliminate_zeros()
        rows = np.concatenate([np.arange(len(size)), np.flatnonzero(split)])
        return safe_indexing(X, rows), both if sparse.issparse(Y) else dense(both)
