"""HOMER: a hierarchy of multi-label models over clusters of labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix, MultiLabelClassifier
from plurilabel._core.compat import AtLeastTwo, rows_of_params
from plurilabel._core.explanation.contributions import Given, Parts, constant_parts, side_by_side
from plurilabel._core.explanation.models import learner_parts
from plurilabel._core.fitted import Declared, count, lists_of_places, values
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._binary_relevance import BinaryRelevance
from plurilabel.learners.transformation._partition import partition_labels
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier
from plurilabel.metrics import label_scores


@dataclass(eq=False, repr=False)
class HOMER(TransformationClassifier):
    """A tree of labels: each node learns which of its children contain labels of the instance.

    The root holds all labels. The labels of a node are divided into ``branching_factor`` children
    of even size, such that labels that occur together stay together, down to single labels. The
    root is trained on all instances, every other node on the instances that have one of its
    labels. An instance descends to the predicted children, and the single labels that it reaches
    are predicted. Each model is small and balanced, and few are evaluated.

    Parameters
    ----------
    estimator : classifier
        Trained at each node: a learner of this library, or any other classifier, which is wrapped
        in :class:`BinaryRelevance`.
    branching_factor : int, default=3
        Number of children of a node, at least 2.
    clustering : {"co-occurrence", "random"}, default="co-occurrence"
        How to divide labels: by :func:`partition_labels`, or at random.
    random_state : int, RandomState instance or None, default=None
        For the clustering.
    n_jobs, verbose :
        As in :class:`BinaryRelevance`, for nodes.

    Attributes
    ----------
    node_labels_ : list of ndarray
        The labels of each node; node 0 is the root.
    node_children_ : list of list of int
        The children of each node; a node without children is a single label.
    estimators_ : list of fitted learners
        The learner of each node. None for single labels, and for nodes whose labels no training
        instance has.
    n_samples_fit_ : int
        Number of training instances, or their total weight.

    Notes
    -----
    The paper predicts label sets without scores. Here the score of a label is the lowest score on
    its path: it is above the cut exactly for the labels that the paper predicts, but it is only a
    bound on the label's probability.

    ``predict`` evaluates a node only for the instances that reach it: with ``c`` labels per
    instance about ``c * branching_factor * log(q)`` models instead of q. Scores need all nodes.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Effective and efficient multilabel classification in
    domains with large number of labels. ECML PKDD 2008 workshop on mining multidimensional data.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import HOMER, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = HOMER(LogisticRegression(max_iter=500), random_state=0).fit(X_train, Y_train)
    >>> [learner.node_labels_[child].tolist() for child in learner.node_children_[0]]
    [[0, 6], [1, 4], [2, 3, 5]]
    >>> round(learner.score(X_test, Y_test), 1)
    0.8
    """

    _fitted: ClassVar[Declared] = {
        "node_labels_": lists_of_places("n_nodes", below="n_labels_"),
        "node_children_": values("n_nodes"),
        "estimators_": values("n_nodes"),
        "n_samples_fit_": count(),
    }

    estimator: Any
    _: KW_ONLY
    branching_factor: AtLeastTwo = 3
    clustering: Literal["co-occurrence", "random"] = "co-occurrence"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.n_samples_fit_ = base.counted_instances(X, params)
        self.node_labels_: list[NDArray[np.intp]] = []
        self.node_children_: list[list[int]] = []
        rng = check_random_state(self.random_state)
        self._grow(np.arange(Y.shape[1]), Y, rng, params.get("sample_weight"))
        jobs = ((node, X, Y, params) for node in range(len(self.node_labels_)))
        how: Any = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        self.estimators_ = base.in_parallel(self._fit_node, jobs, **how)

    def _grow(self, labels: NDArray[np.intp], Y: LabelMatrix, rng: Any, weights: Any) -> int:
        """Add a node with these labels and the nodes below it; return its number."""
        node = len(self.node_labels_)
        self.node_labels_.append(labels)
        self.node_children_.append([])
        if len(labels) > 1 or node == 0:
            for part in self._divide(Y[:, labels], rng, weights):
                self.node_children_[node].append(self._grow(labels[part], Y, rng, weights))
        return node

    def _divide(self, Y: LabelMatrix, rng: Any, weights: Any) -> list[NDArray[np.intp]]:
        q = Y.shape[1]
        if q <= self.branching_factor:
            return [np.array([l]) for l in range(q)]
        if self.clustering == "random":
            return [*map(np.sort, np.array_split(rng.permutation(q), self.branching_factor))]
        return partition_labels(Y, self.branching_factor, random_state=rng, sample_weight=weights)

    def _fit_node(self, node: int, X: Any, Y: LabelMatrix, params: base.Params) -> Any:
        children = self.node_children_[node]
        if not children:
            return None
        parts = (Y[:, self.node_labels_[child]] for child in children)
        meta = np.column_stack([np.ravel(part.sum(axis=1, dtype=np.int64)) > 0 for part in parts])
        if node > 0:
            rows = np.flatnonzero(meta.any(axis=1))
            if len(rows) == 0:
                return None
            X, meta, params = X[rows], meta[rows], rows_of_params(X, params, rows)
        ours = isinstance(self.estimator, MultiLabelClassifier)
        learner = clone(self.estimator) if ours else BinaryRelevance(self.estimator)
        if isinstance(learner, TransformationClassifier):  # X was validated for the same estimator
            return learner._fit_inside(X, meta.astype(np.int8), **params)
        return learner.fit(X, meta, **params)

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return self._descend(X, stop_at=-np.inf)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        return self._descend(X, stop_at=self._cut) > self._cut

    def _descend(self, X: Any, stop_at: float) -> NDArray[np.float64]:
        """The lowest score on the path to each label; paths end at scores up to ``stop_at``."""
        n = X.shape[0]
        scores = np.full((n, self.n_labels_), -np.inf)
        waiting = [(0, np.arange(n), np.full(n, np.inf))]  # node, rows at it, lowest so far
        while waiting:
            node, rows, lowest = waiting.pop()
            found = self._node_scores(node, X if len(rows) == n else X[rows])
            for child, score in zip(self.node_children_[node], found.T):
                path = np.minimum(score, lowest)
                on = path > stop_at
                if not self.node_children_[child]:
                    scores[rows, self.node_labels_[child][0]] = path
                elif on.any():
                    waiting.append((child, rows[on], path[on]))
        return scores

    def _parts(self, x: Any, given: Given) -> Parts:
        """Explain each label by the node with the lowest score on its path."""
        found: list[Any] = [None] * self.n_labels_
        waiting: list[tuple[int, float, Any]] = [(0, np.inf, None)]
        while waiting:
            node, lowest, deciding = waiting.pop()
            children, learner = self.node_children_[node], self.estimators_[node]
            scores = self._node_scores(node, x)[0]
            parts = constant_parts(scores)
            if learner is not None:
                ask = partial(self._node_scores, node)
                method, every = self._score_method(), range(len(children))
                parts = learner_parts(learner, x, method, given, scores, ask, every)
            for at, child in enumerate(children):
                lower = scores[at] < lowest
                here = (scores[at], parts.columns([at])) if lower else (lowest, deciding)
                if self.node_children_[child]:
                    waiting.append((child, *here))
                else:
                    found[self.node_labels_[child][0]] = here[1]
        return side_by_side(found)

    def _node_scores(self, node: int, X: Any) -> NDArray[np.floating]:
        children, learner = self.node_children_[node], self.estimators_[node]
        if learner is None:
            absent = base.constant_score(False, self.n_samples_fit_, self._score_method())
            return np.full((X.shape[0], len(children)), absent)
        if isinstance(learner, TransformationClassifier):
            return learner._scores(X)
        return label_scores(learner, X, n_labels=len(children))
