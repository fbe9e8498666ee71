"""HOMER: a hierarchy of multi-label models over clusters of labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix, MultiLabelClassifier
from plurilabel.metrics import label_scores
from plurilabel.transformation._base import ESTIMATOR, PARALLEL, TransformationClassifier
from plurilabel.transformation._models import (
    Always,
    Params,
    in_parallel,
    rows_of_params,
)
from plurilabel.transformation._partition import partition_labels
from plurilabel.transformation._relevance import BinaryRelevance


@dataclass
class Node:
    """A set of labels; without children it is a single label."""

    labels: NDArray[np.intp]
    children: list[Node] = field(default_factory=list)
    model: Any = None  # a learner of the children, None where training shows none of the labels


class HOMER(TransformationClassifier):
    """A tree of labels: each node learns which of its few children have labels to predict.

    The root holds all labels. A node's labels are divided into ``n_children`` parts of even
    size, of labels that occur together; the children are these parts, down to single labels.
    A node is trained on the instances that have one of its labels, to predict which children
    have one. An instance goes down to the children predicted, and the labels that it reaches are
    its labels. So each model is small and balanced, and few are asked.

    Parameters
    ----------
    estimator : classifier
        A learner of this library, trained at each node; or any other classifier, which is then
        wrapped in :class:`BinaryRelevance`.
    n_children : int, default=3
        At least 2.
    clustering : {"co-occurrence", "random"}, default="co-occurrence"
        How labels are divided: by :func:`partition_labels`, or at random.
    random_state : int, RandomState instance or None, default=None
        For the clustering.
    n_jobs : int, default=None
        Nodes that are learned at the same time, in threads. The result does not depend on it.
    verbose : int, default=0
        Progress, as joblib reports it.

    Attributes
    ----------
    tree_ : Node
        The root, with ``labels``, ``children`` and ``model``.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    The paper predicts label sets and gives no scores. Here the score of a label is the lowest
    score on its path, which is above the cut exactly where every node on it scores the next one
    above the cut: the paper's prediction. It is no more than a bound of the label's probability.

    ``predict`` asks a node only about the instances that reach it: with ``c`` labels to an
    instance about ``c * n_children * log(q)`` models instead of q. Scores need all nodes.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Effective and efficient multilabel classification in
    domains with large number of labels. ECML PKDD 2008 workshop on mining multidimensional data.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import datasets, model_selection
    >>> from plurilabel.transformation import HOMER
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = HOMER(LogisticRegression(max_iter=500), random_state=0).fit(X_train, Y_train)
    >>> [child.labels.tolist() for child in learner.tree_.children]
    [[0, 6], [1, 4], [2, 3, 5]]
    >>> round(learner.score(X_test, Y_test), 1)
    0.8
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ESTIMATOR,
        **PARALLEL,
        "n_children": [Interval(Integral, 2, None, closed="left")],
        "clustering": [StrOptions({"co-occurrence", "random"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_children: int = 3,
        clustering: str = "co-occurrence",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_children = n_children
        self.clustering = clustering
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.tree_ = Node(np.arange(Y.shape[1]))
        inner = self._grow(self.tree_, Y, check_random_state(self.random_state))
        models = in_parallel(
            self._fit_node,
            ((node, X, Y, params) for node in inner),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        for node, model in zip(inner, models):
            node.model = model

    def _grow(self, node: Node, Y: LabelMatrix, rng: np.random.RandomState) -> list[Node]:
        """Divide the node's labels down to single ones; the nodes that need models."""
        labels = node.labels
        if len(labels) <= self.n_children:
            parts = [np.array([i]) for i in range(len(labels))]
        elif self.clustering == "random":
            shuffled = rng.permutation(len(labels))
            parts = [np.sort(part) for part in np.array_split(shuffled, self.n_children)]
        else:
            parts = partition_labels(Y[:, labels], self.n_children, random_state=rng)
        node.children = [Node(labels[part]) for part in parts]
        larger = [child for child in node.children if len(child.labels) > 1]
        return [node] + [inner for child in larger for inner in self._grow(child, Y, rng)]

    def _fit_node(self, node: Node, X: Any, Y: LabelMatrix, params: Params) -> Any:
        meta = np.column_stack([_has_any(Y, child.labels) for child in node.children])
        if len(node.labels) < self.n_labels_:
            rows = np.flatnonzero(meta.any(axis=1))
            if len(rows) == 0:
                return None
            X, meta, params = X[rows], meta[rows], rows_of_params(params, rows, X.shape[0])
        meta = meta.astype(np.int8)
        if isinstance(self.estimator, TransformationClassifier):
            return clone(self.estimator)._fit_inside(X, meta, **params)
        if isinstance(self.estimator, MultiLabelClassifier):
            return clone(self.estimator).fit(X, meta, **params)
        return BinaryRelevance(self.estimator)._fit_inside(X, meta, **params)

    def _scores(self, X: Any) -> NDArray[np.floating]:
        scores = np.empty((X.shape[0], self.n_labels_))
        self._descend(self.tree_, X, np.arange(X.shape[0]), np.inf, scores, stop_at=-np.inf)
        return scores

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        scores = np.full((X.shape[0], self.n_labels_), -np.inf)
        self._descend(self.tree_, X, np.arange(X.shape[0]), np.inf, scores, stop_at=self._cut)
        return scores > self._cut

    def _descend(
        self,
        node: Node,
        X: Any,
        rows: NDArray[np.intp],
        lowest: Any,
        scores: NDArray[np.float64],
        stop_at: float,
    ) -> None:
        """Fill in the scores of the node's labels for the rows, whose path had ``lowest``."""
        found = self._node_scores(node, X, rows)
        for c, child in enumerate(node.children):
            path = np.minimum(found[:, c], lowest)
            if not child.children:
                scores[rows, child.labels[0]] = path
                continue
            on = np.flatnonzero(path > stop_at)
            if len(on):
                self._descend(child, X, rows[on], path[on], scores, stop_at)

    def _node_scores(self, node: Node, X: Any, rows: NDArray[np.intp]) -> NDArray[np.floating]:
        part = X if len(rows) == X.shape[0] else X[rows]
        if node.model is None:
            absent = Always(False, X.shape[0]).score(self._score_method())
            return np.full((len(rows), len(node.children)), absent)
        if isinstance(node.model, TransformationClassifier):
            return node.model._scores(part)
        return label_scores(node.model, part, n_labels=len(node.children))


def _has_any(Y: LabelMatrix, labels: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.asarray(Y[:, labels].sum(axis=1, dtype=np.int64)).ravel() > 0
