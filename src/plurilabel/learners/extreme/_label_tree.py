"""LabelTree: linear models in the nodes of a tree over the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from plurilabel._core.base import LabelMatrix, WeightedFit, with_weights
from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel._core.compat import (
    AtLeastOne,
    AtLeastTwo,
    NotNegative,
    Positive,
    StrOptions,
    check_params,
)
from plurilabel._core.fitted import Declared, count, numbers, parameter, places
from plurilabel._core.soft import expanded
from plurilabel.learners.extreme import _tree_nodes as tree
from plurilabel.learners.extreme._linear import Settings, prepared
from plurilabel.learners.extreme._sparse_scores_classifier import (
    SparseScoresClassifier,
    worth_of_labels,
)
from plurilabel.learners.extreme._tree_nodes import NodeModel, child_bounds, level_bounds

PAIRS = 2**22  # entries of instances, once for each node that scores them, looked up together


@dataclass(eq=False, repr=False)
class LabelTree(WeightedFit, SparseScoresClassifier):
    """Trees over the labels, with linear models in their nodes, for very many labels.

    Each tree halves the labels again and again, similar ones together, until ``leaf_size`` are
    left. In a node, one linear model for each child says whether an instance with a label below
    the node has one below the child; in a leaf, the children are labels. A prediction follows
    the ``beam_width`` best nodes of each level, so that it asks few of the models: its cost grows
    with the logarithm of the number of labels. The scores of several trees are averaged.

    Use ``predict_top`` for predictions: ``predict_proba`` and ``decision_function`` are dense by
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
    branching_factor : int, default=16
        Children of an inner node.
    leaf_size : int, default=100
        The most labels of a leaf.
    beam_width : int, default=10
        Nodes of a level that a prediction looks into.
    prune : float, default=0.1
        Weights up to this size are dropped.
    propensities : bool, default=False
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
    squares_ : ndarray of shape (r,)
        The sum of the squares of a feature over the instances that reached a node.
    curvatures_ : ndarray of shape (n_estimators, items)
        The sums of the second derivatives of the losses, for ``biases_``.
    reached_ : ndarray of shape (n_estimators, nodes)
        How many instances reached each node, by their weights.
    worth_ : ndarray of shape (q,), or None
        How often an instance counts for a label that it has, with ``propensities``.
    n_iter_ : int
        The most Newton steps that a model took.

    Notes
    -----
    *Tree.* As in Parabel: balanced 2-means on the sphere, on the sums of the instances of each
    label, scaled to length 1. ``branching_factor`` parts are made by repeated halving, so that
    wide nodes are binary trees with levels left out (as in Bonsai, but balanced). Siblings differ
    by at most one label, and all leaves are on one level.

    *Models.* Those of siblings are trained together, by a truncated Newton method whose steps are
    products of a sparse matrix with a dense one. It is about as fast as the dual coordinate
    descent of liblinear, and its result does not depend on the order of instances or on threads.
    A child that all or none of the instances of a node reach gets no model, but a score of ±30.

    *Further instances.* ``partial_fit`` keeps the trees and updates the models of nodes that new
    instances reach, as Chapelle and Li (Algorithm 3) do for one model: the penalty becomes
    ½ Σ_j q_j (w_j - m_j)², where m are the weights so far and q their precisions: the more
    instances had a feature, the less its weights change. The precision q_j = 1 + s_j c is not kept
    for each weight: s_j is the sum of the squares of the feature over the instances so far, and c
    the mean second derivative of the losses of the child. A pruned weight counts as 0, with the
    same precision as long as another child has a weight for the feature. Propensities stay those
    of the first call.

    *Instances without labels* reach the root, where they speak against all children. The sums of
    label features and the losses are weighted by ``sample_weight``.

    References
    ----------
    Y. Prabhu et al. Parabel: partitioned label trees for extreme classification with application
    to dynamic search advertising. WWW 2018.

    K. Jasinska-Kobus et al. Probabilistic label trees for extreme multi-label classification.
    arXiv:2009.11218, 2020.

    O. Chapelle, L. Li. An empirical evaluation of Thompson sampling. NeurIPS 2011.
    (``partial_fit``)

    S. Khandagale, H. Xiao, R. Babbar. Bonsai: diverse and shallow trees for extreme multi-label
    classification. Machine Learning 109, 2020.

    M. Qaraei et al. Convex surrogates for unbiased loss functions in extreme classification with
    missing labels. WWW 2021. (``propensities``)

    Examples
    --------
    >>> from plurilabel import LabelTree, datasets, metrics
    >>> data = datasets.make_sparse_multilabel(3000, 2000, 1000, random_state=0)
    >>> tree = LabelTree(random_state=0).fit(data.X[:2500], data.Y[:2500])
    >>> top = tree.predict_top(data.X[2500:], k=5)
    >>> top.shape, top.nnz
    ((500, 1000), 2500)
    >>> round(metrics.precision_at_k(data.Y[2500:], top, 1), 2)
    0.92
    """

    _fitted: ClassVar[Declared] = {
        "loss_": parameter(),
        "beam_width_": parameter(),
        "branching_factor_": parameter(),
        "leaf_size_": parameter(),
        "normalize_": parameter(),
        "n_iter_": count(),
        "order_": places("t", "n_labels_", below="n_labels_"),
        "biases_": numbers("t", "items"),
        "curvatures_": numbers("t", "items"),
        "reached_": numbers("t", None),
        "worth_": numbers("n_labels_", optional=True),
        "keys_": places("r", below=None),
        "squares_": numbers("r"),
        "weights_": numbers("r+1", "children"),
    }

    n_estimators: int = 3
    _: KW_ONLY
    loss: Annotated[str, StrOptions({"logistic", "squared_hinge"})] = "logistic"
    C: float = 10.0
    branching_factor: AtLeastTwo = 16
    leaf_size: AtLeastOne = 100
    beam_width: AtLeastOne = 10
    prune: NotNegative = 0.1
    propensities: bool = False
    normalize: bool = True
    tol: Positive = 0.01
    max_iter: int = 20
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        label_features: Any = None,
    ) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Probabilities between 0 and 1 are soft labels: see
            :func:`plurilabel.datasets.soft_copies`.
        sample_weight : array-like of shape (n,), default=None
            Weight of each instance, not negative; None is 1 for all.
        label_features : array-like or sparse matrix of shape (q, f), default=None
            What is known of the labels themselves, such as the words of their names or their
            places in a catalogue. Labels are put together by these features and by their
            instances, which count the same. They are not needed for predictions.
        """
        X, y, sample_weight = expanded(self, X, y, sample_weight)
        checked, Y = self._validate_fit(X, y)
        if label_features is not None:
            label_features = check_array(
                label_features, accept_sparse="csr", input_name="label_features"
            )
            if label_features.shape[0] != Y.shape[1]:
                raise ValueError(
                    f"label_features must have a row for each of the {Y.shape[1]} labels, "
                    f"got {label_features.shape[0]}"
                )
        self._fit(*with_weights(checked, Y, sample_weight), label_features)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from further instances, without those of earlier calls.

        The first call is ``fit``. Later ones keep the trees and update the models (see the
        notes); the result is near that of one ``fit`` to all instances, but not the same.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            With the features of the first call.
        y : 0/1 matrix of shape (n, q), or 1-D classes
            With the labels of the first call. A label without instances then may have some now:
            it is learned where the trees had room for it. There is no room for further columns.
        classes : array of shape (n_classes,), optional
            For a 1-D y, at the first call: all classes that may occur.
        sample_weight : array-like of shape (n,), default=None
        """
        X, y, sample_weight = expanded(self, X, y, sample_weight)
        if not hasattr(self, "weights_"):
            self._fit(*with_weights(*self._validate_fit(X, y, classes), sample_weight))
            return self
        check_params(self)
        self._learn_more(*with_weights(*self._validate_more(X, y), sample_weight))
        return self

    def _fit(
        self, X: Any, Y: LabelMatrix, weights: Any = None, others: sparse.csr_array | None = None
    ) -> None:
        for name in ("loss", "beam_width", "branching_factor", "leaf_size", "normalize"):
            setattr(self, f"{name}_", getattr(self, name))
        q = Y.shape[1]
        Y = sparse.csr_array(Y)
        X = prepared(X, unit=self.normalize)
        levels = level_bounds(q, self.branching_factor, self.leaf_size)
        features = tree.label_features(X, Y, weights)
        if others is not None:
            features = tree.joined(features, others)
        self.worth_ = worth_of_labels(Y, self.propensities)
        draw = check_random_state(self.random_state)
        orders, models = [], []
        for _ in range(self.n_estimators):
            seed = np.random.SeedSequence(draw.randint(2**31, size=4).tolist())
            order = tree.label_order(features, levels, seed, self.n_jobs)
            orders.append(order)
            models += self._train_tree(X, Y[:, order], weights, order, levels)
        self.order_ = np.stack(orders)
        self._keep(models, X.shape[1])

    def _learn_more(self, X: Any, Y: LabelMatrix, weights: Any) -> None:
        Y = sparse.csr_array(Y)
        X = prepared(X, unit=self.normalize_)
        levels = level_bounds(self.n_labels_, self.branching_factor_, self.leaf_size_)
        before = iter(self._models(levels, X.shape[1]))
        models = []
        for order in self.order_:
            models += self._train_tree(X, Y[:, order], weights, order, levels, before)
        self._keep(models, X.shape[1])

    def _train_tree(
        self, X: Any, Y: Any, weights: Any, order: Any, levels: Any, before: Any = None
    ) -> list[NodeModel]:
        """The models of one tree, or those from before after further instances."""
        settings = Settings(self.loss_, self.C, self.tol, self.max_iter, self.prune)
        worth = self.worth_

        def tasks() -> Iterator[Any]:
            for rows, reached, labels in tree.nodes_of(Y, levels):
                own = None if worth is None or labels is None else worth[order[labels]]
                model = None if before is None else next(before)
                yield delayed(tree.train_node)(X, rows, reached, weights, own, model, settings)

        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks()))

    def _models(self, levels: list[Any], d: int) -> Iterator[NodeModel]:
        """The fitted models, node by node."""
        widths = np.concatenate([np.diff(child_bounds(*pair)) for pair in pairwise(levels)])
        n_nodes, ends = len(widths), np.concatenate([[0], np.cumsum(widths)])
        bounds = np.searchsorted(self.keys_, np.arange(self.reached_.size + 1) * d)
        for v, (a, b) in enumerate(pairwise(bounds)):
            t, place = divmod(v, n_nodes)
            items = slice(ends[place], ends[place + 1])
            yield NodeModel(
                self.keys_[a:b] - v * d,
                self.weights_[a:b, : widths[place]],
                self.squares_[a:b],
                self.biases_[t, items],
                self.curvatures_[t, items],
                self.reached_[t, place],
                self.n_iter_,
            )

    def _keep(self, models: list[NodeModel], d: int) -> None:
        self.n_iter_ = max(model.n_iter for model in models)
        sizes = [len(model.features) for model in models]
        node = np.repeat(np.arange(len(models)), sizes)
        self.keys_ = node * d + np.concatenate([model.features for model in models])
        self.squares_ = np.concatenate([model.squares for model in models])
        self.weights_ = tree.below_each_other([model.weights for model in models])
        by_tree = (len(self.order_), -1)
        self.biases_ = np.concatenate([model.biases for model in models]).reshape(by_tree)
        self.curvatures_ = np.concatenate([model.curvatures for model in models]).reshape(by_tree)
        self.reached_ = np.array([model.reached for model in models], dtype=float).reshape(by_tree)

    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]:
        X = prepared(X, unit=self.normalize_)
        levels = level_bounds(self.n_labels_, self.branching_factor_, self.leaf_size_)
        # what one row needs: its entries once for each node of the beam, and their children
        width = self.beam_width_ * (X.nnz / X.shape[0] + self.weights_.shape[1])
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
                row, node, score = tree.best_nodes(row, node, score, self.beam_width_)
            children = child_bounds(above, below)
            n_children = np.diff(children)[node]
            place = np.arange(n_children.max())
            Z = tree.node_products(X, row, first_node + node, self.keys_, self.weights_)
            Z = Z[:, : len(place)]  # (pairs, children)
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

    def _log(self, z: Any) -> Any:
        """The logarithm of the score of one step down the tree."""
        if self.loss_ == "logistic":  # log(1 / (1 + exp(-z))) without overflow
            return np.minimum(z, 0) - np.log(1 + np.exp(-abs(z)))
        return -(np.maximum(0, 1 - z) ** 2)
