"""PriorFittedClassifier: a network trained on generated tables answers for a new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from benchmarks.prior_fitted.learner._forward import (
    Answer,
    Floats,
    answerer,
    double_ranks,
    group_features,
    standardized,
    view_features,
)
from benchmarks.prior_fitted.learner._regressions import regress
from benchmarks.prior_fitted.learner._weights import GROUP, load_weights
from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, validate_features
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import Interval, StrOptions
from plurilabel._core.fitted import Declared, Fitted, count, labels, numbers, parameter, places
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import known_part
from plurilabel.neighbors import ExactIndex, query_neighbors

Rows = NDArray[np.intp]

MOST_LABELS = 60
"""Labels of a pass: the network has not seen more."""
MOST_ROWS = 2**16 - 1
"""Rows of a pass: kernels of attention on a GPU have a grid of this size."""
CELLS_AT_ONCE = 400_000
"""Cells of a pass, unless the training rows have more: about 5 kB each."""
FEW_CELLS = 2**12
"""Training sets of up to this many cells are answered for in double precision."""
ALL_CELLS = 2**17
"""Training cells that are read in all passes together, about, if the number of passes is open."""


def _check_shipped(_what: Fitted, value: Any, _sizes: Any) -> None:
    if value is not None:
        raise ValueError("None in a model file, which does not hold weights")


class PriorFittedClassifier(ProbabilisticClassifier):
    """A network that was trained on generated tables, and answers for a new one without fitting.

    The network reads the training set and the rows asked as one table: each group of four features
    and each label of a row is a cell, attention runs among the columns of a row and among the rows
    of a column, and the label cells of the rows asked become probabilities, all labels in one
    pass. A label cell also has what five kernel regressions say about it, each in closed form and
    without the row itself. The weights of the network come with the package. They were trained
    once, on random tables whose labels depend on each other, never on real data; ``fit`` only
    checks and keeps the training set.

    Predictions are means over ``n_estimators`` passes. Every pass has its own order and random
    names of the columns; every second one replaces the values of features by normal scores of
    their ranks.

    torch is used if it is installed (``pip install 'plurilabel[torch]'``), with a GPU if there is
    one. Otherwise numpy computes the same in about twice the time.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of passes. ``"auto"`` is 16 for training sets of up to 8,000 cells, fewer for
        larger ones, and 3 at least.
    context : {"sample", "neighbors"}, default="sample"
        What a pass sees of more than ``max_rows`` training rows: a random sample, another one in
        each pass; or the rows around one of several centres, which are training rows drawn
        at random: each row is answered for from the ``max_rows`` nearest neighbours of the centre
        that is nearest to it. The latter takes a pass for every centre, of which there are
        2 n / ``max_rows``.
    max_rows : int, default=4000
        Training rows of a pass, at most. Time grows with the square, memory in proportion.
    max_features : int, default=300
        If there are more features, those with the highest absolute correlation with any label are
        used. Sparse X is made dense for these only.
    weights : path, default=None
        Weights in place of those of the package, as ``python -m benchmarks.prior_fitted train``
        writes them. A learner with weights of its own cannot be saved to a model file.
    device : str, default="auto"
        Where to compute, by torch's names: "cpu", "cuda", "cuda:1". ``"auto"`` is a CUDA device if
        there is one, else the CPU.
    random_state : int, RandomState instance or None, default=None
        Determines orders, names, samples and centres.

    Attributes
    ----------
    X_, Y_ : ndarrays of shape (n, d) and (n, q)
        The features used of the training instances, and their labels.
    unknown_ : ndarray of bool of shape (n, q), or None
        The unknown training labels; None if all are known.
    n_estimators_ : int
        Number of passes.
    features_ : ndarray of int
        Numbers of the features used: those that vary, at most ``max_features``.
    digest_ : str
        SHA-256 of the weights.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    The order of training rows, features and labels does not matter, nor do the units of features:
    rows and columns are first put into an order that follows from ranks and labels alone. Only if
    there are more than ``n_estimators_`` times ``max_rows`` rows, with ``context="sample"``, those
    to keep are drawn by row number.

    Missing values in X and unknown labels are inputs of the network. More than 60 labels are
    answered for in random blocks of at most 60. Small training sets are computed in double
    precision, others in single precision.

    A fitted learner refuses to predict with other weights than it was fitted for, such as those
    of a later version of the package.

    References
    ----------
    N. Hollmann, S. Mueller, K. Eggensperger, F. Hutter. TabPFN: a transformer that solves small
    tabular classification problems in a second. ICLR 2023.

    Examples
    --------
    >>> from benchmarks.prior_fitted.learner._classifier import PriorFittedClassifier
    >>> from plurilabel import datasets, metrics, model_selection
    >>> data = datasets.make_multilabel(150, random_state=0)
    >>> X, X_test, Y, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = PriorFittedClassifier(n_estimators=1, random_state=0).fit(X, Y)
    >>> metrics.ranking_loss(Y_test, learner.predict_proba(X_test)) < 0.25
    True
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [StrOptions({"auto"}), Interval(Integral, 1, 10_000, closed="both")],
        "context": [StrOptions({"sample", "neighbors"})],
        "max_rows": [Interval(Integral, 1, MOST_ROWS // 2, closed="both")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "weights": [str, os.PathLike, None],
        "device": [str],
        "random_state": ["random_state"],
    }
    _fitted: ClassVar[Declared] = {
        "features_": places("d", below="n_features_in_"),
        "X_": numbers("n", "d", finite=False),
        "Y_": labels("n", "n_labels_"),
        "unknown_": labels("n", "n_labels_", optional=True),
        "label_order_": places("n_labels_", below="n_labels_"),
        "seed_": count(),
        "weights_": Fitted(_check_shipped),
        "n_estimators_": count(below=10_001),
        **dict.fromkeys(("context_", "max_rows_", "device_"), parameter()),
    }

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        context: str = "sample",
        max_rows: int = 4000,
        max_features: int = 300,
        weights: Any = None,
        device: str = "auto",
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.context = context
        self.max_rows = max_rows
        self.max_features = max_features
        self.weights = weights
        self.device = device
        self.random_state = random_state

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.context_, self.max_rows_ = self.context, self.max_rows
        self.device_, self.weights_ = self.device, self.weights
        self.digest_ = load_weights(self.weights).digest
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        Y, unknown = known_part(Y)
        passes: Any = self.n_estimators
        if passes == "auto":
            cells = _count_cells(min(X.shape[0], self.max_rows), X.shape[1], Y.shape[1])
            passes = max(3, min(16, ALL_CELLS // cells))
        self.n_estimators_ = int(passes)
        most = self.n_estimators_ * self.max_rows
        if self.context == "sample" and X.shape[0] > most:
            rng = np.random.default_rng(self.seed_)
            drawn = np.sort(rng.choice(X.shape[0], most, replace=False))
            X, Y, unknown = (None if A is None else A[drawn] for A in (X, Y, unknown))
        (n, q), d = Y.shape, min(X.shape[1], self.max_features)
        check_size(
            self, f"{n:,} instances, {d:,} features and {q:,} labels",
            memory=n * (40.0 * d + 34 * q), instead="context='sample' or fewer max_rows",
        )  # fmt: skip
        Y = dense(Y)
        if unknown is not None:
            unknown = dense(unknown).astype(bool)
        self.features_ = _relevant(X, Y, unknown, self.max_features)
        X = dense(X[:, self.features_])
        ranks, _ = double_ranks(X, X)
        varies = np.flatnonzero((ranks != ranks[0]).any(axis=0))
        if not len(varies):
            varies = np.arange(1)
        told = Y if unknown is None else np.where(unknown, 2, Y)
        rows, columns, self.label_order_ = _canonical_orders(ranks[:, varies], told)
        columns = varies[columns]
        self.features_, self.X_ = self.features_[columns], X[np.ix_(rows, columns)]
        self.Y_, self.unknown_ = Y[rows], None if unknown is None else unknown[rows]

    def _scores(self, X: Any) -> Floats:
        asked, (n, q) = dense(X[:, self.features_]), self.Y_.shape
        cells = _count_cells(min(n, self.max_rows_), len(self.features_), q)
        kind = "float64" if cells <= FEW_CELLS else "float32"
        answer, name_width = answerer(self.weights_, self.digest_, self.device_, kind)
        total = np.zeros((len(asked), q))
        read: dict[int, tuple[Floats, Floats]] = {}
        for number in range(self.n_estimators_):
            rng = np.random.default_rng([self.seed_, number])
            columns, order = rng.permutation(self.X_.shape[1]), rng.permutation(q)
            names = rng.standard_normal((self._groups + q, name_width))
            for known, some in self._contexts(asked, rng):
                if n > self.max_rows_ or number < 2:  # else the same as two passes before
                    views = view_features(self.X_[known], asked[some], normal=number % 2 == 1)
                    said = regress(*views[..., :2].transpose(2, 0, 1), self._told(known), rng)
                    read[number % 2] = views, said
                views, said = read[number % 2]
                table = group_features(views[:, columns]).astype(kind)
                for block in np.array_split(np.arange(q), -(-q // MOST_LABELS)):
                    labels = self.label_order_[order[block]]
                    own = np.concatenate([names[: self._groups], names[self._groups :][block]])
                    logits = _in_parts(
                        answer, table, said[:, labels], self._told(known)[:, labels], own
                    )
                    total[np.ix_(some, labels)] += expit(logits)
        return total / self.n_estimators_

    @property
    def _groups(self) -> int:
        return -(-len(self.features_) // GROUP)

    def _told(self, rows: Rows) -> Floats:
        """Training labels, NaN where unknown."""
        Y = self.Y_[rows].astype(np.float64)
        return Y if self.unknown_ is None else np.where(self.unknown_[rows], np.nan, Y)

    def _contexts(self, asked: Floats, rng: Any) -> Iterator[tuple[Rows, Rows]]:
        """Training rows, and the rows of X that are answered for from them."""
        n, most, everyone = len(self.X_), self.max_rows_, np.arange(len(asked))
        if n <= most:
            yield np.arange(n), everyone
        elif self.context_ == "sample":
            yield np.sort(rng.permutation(n)[:most]), everyone
        else:
            points = standardized(self.X_, self.X_)
            centres = points[rng.choice(n, -(-2 * n // most), replace=False)]
            _, near = query_neighbors(ExactIndex().fit(points), centres, most, n)
            queries, index = standardized(self.X_, asked), ExactIndex().fit(centres)
            _, nearest = query_neighbors(index, queries, 1, len(centres))
            for number in np.unique(nearest):
                yield near[number], everyone[nearest[:, 0] == number]

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return validate_features(self, X, reset=reset, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _count_cells(n: int, d: int, q: int) -> int:
    """Cells of the training rows in a pass."""
    return n * (-(-d // GROUP) + min(q, MOST_LABELS))


def _in_parts(answer: Answer, table: Floats, said: Floats, told: Floats, names: Floats) -> Floats:
    """Logits of all rows asked, by passes of a limited size."""
    m, columns = len(told), len(names)
    most = max(CELLS_AT_ONCE, 1.25 * m * columns) / columns
    parts = row_blocks(len(table) - m, 1, min(most, MOST_ROWS) - m)

    def rows(A: Floats, part: slice) -> Floats:
        return np.concatenate([A[:m], A[m:][part]])

    return np.concatenate(
        [answer(rows(table, part), told, rows(said, part), names) for part in parts]
    )


def _relevant(X: Any, Y: Any, unknown: Any, most: int) -> Rows:
    """Numbers of the features with the highest correlations with labels; all if there are few."""
    if X.shape[1] <= most:
        return np.arange(X.shape[1])
    known = np.ones(Y.shape, dtype=bool) if unknown is None else ~unknown
    frequency = (Y * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = _filled(X) if sparse.issparse(X) else standardized(X, X, most=np.inf)
    sums, squares = (np.asarray(A.sum(axis=0)).ravel() for A in (filled, filled * filled))
    norms = np.sqrt(np.maximum(squares - sums**2 / len(Y), 0.0))
    best = np.zeros(X.shape[1])
    for block in row_blocks(Y.shape[1], X.shape[1], 2**24):
        centred = (Y[:, block] - frequency[block]) * known[:, block]
        length = np.sqrt(np.square(centred).sum(axis=0))
        found = np.abs(filled.T @ centred) / np.where(length > 0, length, np.inf)
        best = np.maximum(best, found.max(axis=1))
    best /= np.where(norms > 0, norms, np.inf)
    return np.sort(np.argsort(-best, kind="stable")[:most])


def _filled(X: Any) -> Any:
    """Sparse X in double precision, by the largest values, with means in place of missing ones."""
    X = sparse.csc_array(X, dtype=np.float64, copy=True)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    there = ~np.isnan(X.data)
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, columns[there], np.abs(X.data[there]))
    X.data /= np.where(largest > 0, largest, 1.0)[columns]
    total = np.bincount(columns[there], X.data[there], minlength=X.shape[1])
    count = X.shape[0] - np.bincount(columns[~there], minlength=X.shape[1])
    X.data[~there] = (total / np.maximum(count, 1))[columns[~there]]
    return X


def _canonical_orders(ranks: Any, labels: Any) -> tuple[Rows, Rows, Rows]:
    """Orders of rows, features and labels that do not depend on how these were given.

    Everything gets a number by what stands in it, and what that stands beside: a row by the
    ranks and labels in it, a column by the rows in which they are.
    """
    x, y = _mixed(ranks), _mixed(labels.astype(np.int64) + 2**40)
    rows = x.sum(axis=1) + y.sum(axis=1)
    features, answers = (_mixed(part ^ rows[:, None]).sum(axis=0) for part in (x, y))
    rows = _mixed(x ^ features).sum(axis=1) + _mixed(y ^ answers).sum(axis=1)
    first, second, third = (np.argsort(key, kind="stable") for key in (rows, features, answers))
    return first, second, third


def _mixed(values: Any) -> NDArray[np.uint64]:
    """Numbers with all bits mixed (SplitMix64), so that sums of them tell multisets apart."""
    x = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x
