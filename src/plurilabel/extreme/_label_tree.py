"""LabelTree: linear models in the nodes of a tree over the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._blocks import csr_of_rows, row_blocks
from plurilabel._compat import Interval, StrOptions
from plurilabel._fitted import Declared, count, numbers, parameter, places
from plurilabel.base import LabelMatrix, WeightedFit
from plurilabel.extreme._base import SparseAnswers, score_method, worth_of_labels
from plurilabel.extreme._clusters import child_bounds, label_features, label_order, level_bounds
from plurilabel.extreme._linear import LOSSES, prepared, train

PAIRS = 2**22
"""Entries of instances, once for each node that they are asked at, looked up together."""


class Model(NamedTuple):
    """The models of the children of one node, pruned."""

    features: NDArray[np.int64]  # those with a weight
    weights: sparse.csr_array  # (features, children)
    biases: NDArray[np.float64]  # (children,)
    n_iter: int


class LabelTree(WeightedFit, SparseAnswers):
    """Trees over the labels, with linear models in their nodes, for very many labels.

    Each tree halves the labels again and again, similar ones together, until ``max_leaf`` are
    left. In a node, one linear model for each child says whether an instance with a label below
    the node has one below the child; in a leaf, the children are labels. A prediction follows
    the ``beam`` best nodes of each level, so that it asks few of the models: its cost grows with
    the logarithm of the number of labels. The scores of several trees are averaged.

    ``predict_top`` is the method to ask with. ``predict`` is sparse where y was; no matrix (n, q)
    or (d, q) is made, except for ``predict_proba`` and ``decision_function``, which are dense by
    their contract and refuse what is too large.

    Parameters
    ----------
    n_estimators : int, default=3
        Trees.
    loss : {"logistic", "squared_hinge"}, default="logistic"
        With the logistic loss, the score of a label is a probability: the product of those on its
        path (probabilistic label trees). With the squared hinge loss it is
        exp(1 - s) - 1, where s is the sum of the losses on the path: a decision value.
    C : float, default=10.0
        Weight of the losses against the penalty ½|w|², as in scikit-learn.
    arity : int, default=16
        Children of an inner node.
    max_leaf : int, default=100
        The most labels of a leaf.
    beam : int, default=10
        Nodes of a level that a prediction looks into.
    prune : float, default=0.1
        Weights up to this size are dropped.
    propensity : bool, default=False
        Whether instances count 2 / p - 1 times for a label that they have, where p is the
        propensity of the label (:func:`plurilabel.metrics.propensities`): rare labels are ranked
        higher.
    normalize : bool, default=True
        Whether instances are scaled to length 1, in single precision.
    tol : float, default=0.01
        A model is trained until its gradient has become this small, relative to the first one and
        to the share of the rarer class.
    max_iter : int, default=20
        The most Newton steps for a model.
    n_jobs : int, default=None
        Threads, over nodes in ``fit`` and rows in predictions. The results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the first centres of the clusters.

    Attributes
    ----------
    order_ : ndarray of shape (n_estimators, q)
        The labels of each tree from left to right.
    keys_ : ndarray of shape (r,)
        Node times d plus feature, for each row of ``weights_``.
    weights_ : csr_array of shape (r + 1, children)
        The weights of a feature in a node, for each of its children. The last row is empty.
    biases_ : ndarray of shape (n_estimators, items)
        Of the models of each tree, level by level.
    n_iter_ : int
        The most Newton steps that a model took.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    *Tree.* As in Parabel: balanced 2-means on the sphere, on the sums of the instances of each
    label, scaled to length 1. ``arity`` parts are made by repeated halving, so that wide nodes are
    binary trees with levels left out (as in Bonsai, but balanced). Siblings differ by at most one
    label, and all leaves are on one level.

    *Models.* Those of siblings are trained together, by a truncated Newton method whose steps are
    products of a sparse matrix with a dense one. It is about as fast as the dual coordinate
    descent of liblinear, and its result does not depend on the order of instances or on threads.
    A child that all or none of the instances of a node reach gets no model, but a score of ±30.

    *Instances without labels* reach the root, where they speak against all children.

    *Weights.* The sums of label features and the losses are weighted by ``sample_weight``.

    References
    ----------
    Y. Prabhu et al. Parabel: partitioned label trees for extreme classification with application
    to dynamic search advertising. WWW 2018.

    K. Jasinska-Kobus et al. Probabilistic label trees for extreme multi-label classification.
    arXiv:2009.11218, 2020.

    S. Khandagale, H. Xiao, R. Babbar. Bonsai: diverse and shallow trees for extreme multi-label
    classification. Machine Learning 109, 2020.

    M. Qaraei et al. Convex surrogates for unbiased loss functions in extreme classification with
    missing labels. WWW 2021. (``propensity``)

    Examples
    --------
    >>> from plurilabel import datasets, metrics
    >>> from plurilabel.extreme import LabelTree
    >>> data = datasets.make_sparse_multilabel(3000, 2000, 1000, random_state=0)
    >>> tree = LabelTree(random_state=0).fit(data.X[:2500], data.Y[:2500])
    >>> top = tree.predict_top(data.X[2500:], k=5)
    >>> top.shape, top.nnz
    ((500, 1000), 2500)
    >>> round(metrics.precision_at_k(data.Y[2500:], top, 1), 2)
    0.92
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(LOSSES))],
        "C": [Interval(Real, 0, None, closed="neither")],
        "arity": [Interval(Integral, 2, None, closed="left")],
        "max_leaf": [Interval(Integral, 1, None, closed="left")],
        "beam": [Interval(Integral, 1, None, closed="left")],
        "prune": [Interval(Real, 0, None, closed="left")],
        "propensity": ["boolean"],
        "normalize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }
    _fitted: ClassVar[Declared] = {
        "loss_": parameter(),
        "beam_": parameter(),
        "arity_": parameter(),
        "max_leaf_": parameter(),
        "normalize_": parameter(),
        "n_iter_": count(),
        "order_": places("t", "n_labels_", below="n_labels_"),
        "biases_": numbers("t", "items"),
        "keys_": places("r", below=None),
        "weights_": numbers("r+1", "children"),
    }

    def __init__(
        self,
        n_estimators: int = 3,
        *,
        loss: str = "logistic",
        C: float = 10.0,
        arity: int = 16,
        max_leaf: int = 100,
        beam: int = 10,
        prune: float = 0.1,
        propensity: bool = False,
        normalize: bool = True,
        tol: float = 0.01,
        max_iter: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.loss = loss
        self.C = C
        self.arity = arity
        self.max_leaf = max_leaf
        self.beam = beam
        self.prune = prune
        self.propensity = propensity
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    # learning ----------------------------------------------------------------------------

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        for name in ("loss", "beam", "arity", "max_leaf", "normalize"):
            setattr(self, f"{name}_", getattr(self, name))
        q = Y.shape[1]
        Y = sparse.csr_array(Y)
        X = prepared(X, unit=self.normalize)
        levels = level_bounds(q, self.arity, self.max_leaf)
        features = label_features(X, Y, weights)
        worth = worth_of_labels(Y, self.propensity)
        draw = check_random_state(self.random_state)
        orders, models = [], []
        for _ in range(self.n_estimators):
            seed = np.random.SeedSequence(draw.randint(2**31, size=4).tolist())
            order = label_order(features, levels, seed, self.n_jobs)
            orders.append(order)
            models += Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._train_node)(X, rows, reached, weights, _some(worth, order, labels))
                for rows, reached, labels in _nodes(Y[:, order], levels)
            )
        self.n_iter_ = max(model.n_iter for model in models)
        self.order_ = np.stack(orders)
        self.biases_ = np.concatenate([model.biases for model in models]).reshape(len(orders), -1)
        sizes = [len(model.features) for model in models]
        node = np.repeat(np.arange(len(models)), sizes)
        self.keys_ = node * X.shape[1] + np.concatenate([model.features for model in models])
        self.weights_ = _below_each_other([model.weights for model in models])

    def _train_node(
        self, X: Any, rows: Any, Y: sparse.csc_array, weights: Any, worth: Any
    ) -> Model:
        """The models of one node, from the instances that reach it, on the features they have."""
        if rows is not None:
            X, weights = X[rows], None if weights is None else weights[rows]
        features, X = _features_present(X)
        trained = train(
            X,
            Y,
            loss=self.loss,
            C=self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            weights=weights,
            worth=worth,
        )
        kept = abs(trained.weights) > self.prune
        some = kept.any(axis=1)
        W = sparse.csr_array(np.where(kept, trained.weights, 0)[some])
        return Model(features[some], W, trained.biases, trained.n_iter)

    # asking ------------------------------------------------------------------------------

    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]:
        X = prepared(X, unit=self.normalize_)
        levels = level_bounds(self.n_labels_, self.arity_, self.max_leaf_)
        # what one row needs: its entries once for each node of the beam, and their children
        width = self.beam_ * (X.nnz / X.shape[0] + self.weights_.shape[1])
        return Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(lambda rows: then(self._search_trees(X[rows], levels)))(rows)
            for rows in row_blocks(X.shape[0], width, PAIRS)
        )

    def _search_trees(self, X: Any, levels: list[Any]) -> sparse.csr_array:
        """The mean of the scores over the trees; a label that one of them misses has 0 there."""
        total = self._search(X, 0, levels)
        for t in range(1, len(self.order_)):
            total = total + self._search(X, t, levels)
        total.data /= len(self.order_)
        if self.loss_ == "squared_hinge":  # above 0 where the losses are below 1
            total.data = np.e * total.data - 1
        return total

    def _search(self, X: Any, t: int, levels: list[Any]) -> sparse.csr_array:
        """Beam search in one tree: the scores of the labels that it reaches (n, q)."""
        n = X.shape[0]
        n_inner = sum(len(level) - 1 for level in levels[:-1])
        row, node = np.arange(n), np.zeros(n, dtype=np.int64)
        score = np.zeros(n, dtype=X.dtype)  # logarithms
        first_node, first_item = t * n_inner, 0  # of the level
        biases = self.biases_[t].astype(X.dtype)
        for depth, (above, below) in enumerate(pairwise(levels)):
            if depth:
                row, node, score = _best(row, node, score, self.beam_)
            children = child_bounds(above, below)
            n_children = np.diff(children)[node]
            place = np.arange(n_children.max())
            Z = self._products(X, row, first_node + node)[:, : len(place)]  # (pairs, children)
            if depth == len(levels) - 2:  # then row by row, as the answer is
                order = np.argsort(row, kind="stable")
                row, node, score, Z = row[order], node[order], score[order], Z[order]
                n_children = n_children[order]
            # siblings differ by at most one child: the last place may be empty
            child = np.minimum(children[node][:, None] + place, len(below) - 2)
            Z += biases[first_item + child]
            Z = self._log(Z)
            Z += score[:, None]
            there = place < n_children[:, None]
            row, node, score = np.repeat(row, n_children), child[there], Z[there]
            first_node += len(above) - 1
            first_item += len(below) - 1
        sizes = np.bincount(row, minlength=n)
        scores = np.exp(score).astype(np.float64)
        found = csr_of_rows(scores, self.order_[t, node].astype(np.int32), sizes, self.n_labels_)
        found.sort_indices()
        return found

    def _products(self, X: Any, row: Any, node: Any) -> NDArray[np.floating[Any]]:
        """Products of instances with the weights of the children of nodes (pairs, children).

        The weights of a node and a feature are one row of ``weights_``: those of a node follow
        each other. Pairs are in the order of the nodes.
        """
        d, last = X.shape[1], len(self.keys_)  # the last row of weights_ is empty
        length = np.diff(X.indptr)[row]
        ends = np.concatenate([[0], np.cumsum(length)])
        at = np.arange(ends[-1]) + np.repeat(X.indptr[row] - ends[:-1], length)
        features = X.indices[at]
        place = np.empty(len(at), dtype=self.weights_.indptr.dtype)
        row_of = np.full(d, last, dtype=place.dtype)  # of each feature in the node at hand
        first = np.flatnonzero(np.diff(node, prepend=-1))
        low, high = np.searchsorted(self.keys_, (node[first] * d, (node[first] + 1) * d))
        for i, (a, b) in enumerate(pairwise([*first, len(node)])):
            there = self.keys_[low[i] : high[i]] - node[a] * d
            row_of[there] = np.arange(low[i], high[i])
            place[ends[a] : ends[b]] = row_of[features[ends[a] : ends[b]]]
            row_of[there] = last
        return (csr_of_rows(X.data[at], place, length, last + 1) @ self.weights_).toarray()

    def _log(self, z: Any) -> Any:
        """The logarithm of the score of one step down the tree."""
        if self.loss_ == "logistic":  # log(1 / (1 + exp(-z))) without overflow
            return np.minimum(z, 0) - np.log(1 + np.exp(-abs(z)))
        return -(np.maximum(0, 1 - z) ** 2)

    def _score_method(self) -> str:
        return score_method(self)


def _nodes(Y: sparse.csr_array, levels: list[Any]) -> Iterator[Any]:
    """For each node, level by level: the instances that reach it, None for all, which child each
    reaches, and which labels the children are, None if they are nodes.

    All instances reach the root, those without labels too.
    """
    last = len(levels) - 2
    above: Any = None
    for depth, bounds in enumerate(levels[:-1]):
        children = child_bounds(bounds, levels[depth + 1])
        below = _reached(Y, levels[depth + 1])
        for v, (a, b) in enumerate(pairwise(children)):
            labels = slice(a, b) if depth == last else None
            if depth == 0:
                yield None, below, labels
                continue
            rows = above.indices[above.indptr[v] : above.indptr[v + 1]]
            mine = slice(below.indptr[a], below.indptr[b])
            parts = (
                below.data[mine],
                np.searchsorted(rows, below.indices[mine]),
                below.indptr[a : b + 1] - below.indptr[a],
            )
            yield rows, sparse.csc_array(parts, shape=(len(rows), b - a)), labels
        above = below


def _reached(Y: sparse.csr_array, bounds: NDArray[np.int64]) -> sparse.csc_array:
    """Which instances have a label of which node (n, nodes), rows in their order."""
    node = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    pairs = np.unique(node[Y.indices] * Y.shape[0] + row)
    node, row = np.divmod(pairs, Y.shape[0])
    pointers = np.searchsorted(node, np.arange(len(bounds)))
    ones = np.ones(len(row), dtype=np.int8)
    return sparse.csc_array((ones, row, pointers), shape=(Y.shape[0], len(bounds) - 1))


def _features_present(X: sparse.csr_array) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """The features that occur, and X with these only."""
    present = np.zeros(X.shape[1], dtype=bool)
    present[X.indices] = True
    features = np.flatnonzero(present)
    number = np.cumsum(present) - 1
    parts = (X.data, number[X.indices].astype(X.indices.dtype), X.indptr)
    return features, sparse.csr_array(parts, shape=(X.shape[0], len(features)))


def _below_each_other(parts: list[sparse.csr_array]) -> sparse.csr_array:
    """Matrices of different widths in one, and an empty row."""
    sizes = [*(np.diff(part.indptr) for part in parts), [0]]
    return csr_of_rows(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate(sizes),
        max(part.shape[1] for part in parts),
    )


def _best(row: Any, node: Any, score: Any, k: int) -> tuple[Any, Any, Any]:
    """The k best nodes of each instance, in the order of the nodes; of equal ones the first."""
    order = np.lexsort((node, -score, row))
    in_order = row[order]
    rank = np.arange(len(row)) - np.searchsorted(in_order, in_order)
    kept = order[rank < k]
    # by node: neighbouring pairs then look at neighbouring weights
    kept = kept[np.lexsort((row[kept], node[kept]))]
    return row[kept], node[kept], score[kept]


def _some(worth: Any, order: Any, labels: slice | None) -> Any:
    return None if worth is None or labels is None else worth[order[labels]]
