"""A Hoeffding tree with multi-label learners in its leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from plurilabel._core.compat import (
    AtLeastOne,
    AtLeastTwo,
    Fraction,
    NotNegative,
)
from plurilabel._core.limits import check_size
from plurilabel.streams._adwin import ADWIN
from plurilabel.streams._learners._leaves import (
    N_THRESHOLDS,
    BayesOfSets,
    Leaf,
    Neighbors,
    Row,
    hoeffding_bound,
    restore,
)
from plurilabel.streams._learners._mlsampknn import goodness
from plurilabel.streams._river import Watch
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels, StreamClassifier


class Split:
    """An inner node: rows with values up to the threshold go to the first side."""

    def __init__(self, feature: int, threshold: float, sides: list[Node], watch: Watch) -> None:
        self.feature, self.threshold, self.sides, self.watch = feature, threshold, sides, watch

    def side(self, x: Floats) -> int:
        """The side of a row; missing features are 0."""
        return int((x[self.feature] if self.feature < len(x) else 0.0) > self.threshold)


Node = Leaf | Split


@dataclass(eq=False, repr=False)
class HoeffdingTree:
    """The tree: finds the leaf of a row, splits leaves, and replaces branches after drifts."""

    make: Callable[[], Any]
    detector: Any
    grace_period: int
    delta: float
    tie: float
    max_leaf_nodes: int
    leaf_size: int

    def __post_init__(self) -> None:
        self.root: Node = self._leaf(np.zeros(0))
        self.n_leaves, self.n_drifts, self.seen = 1, 0, 0
        self.d = self.q = 0

    def _leaf(self, shares: Floats) -> Leaf:
        return Leaf(self.leaf_size, self.make, Watch(self.detector), shares)

    def score(self, x: Floats) -> Floats:
        """Scores by the leaf of a row; 0 for labels unknown to it."""
        found = self._path(x)[-1].score(x)  # type: ignore[union-attr]
        return np.append(found, np.zeros(self.q - len(found)))

    def learn(self, x: Floats, y: Labels) -> None:
        """Handle drifts and splits, then teach the leaf of the row."""
        held, undo = vars(self).copy(), list[Callable[[], None]]()
        try:
            if len(x) > self.d or len(y) > self.q:
                self.d, self.q = max(len(x), self.d), max(len(y), self.q)
                self._check_size(self.n_leaves)
            self._look_for_drifts(x, y, undo)
            self._look_for_split(x, undo)
            self.seen += 1
            # the last step, since only the leaf itself can undo it
            self._path(x)[-1].learn(self.seen - 1, x, y)  # type: ignore[union-attr]
        except BaseException:
            restore(self, held, undo)
            raise

    def _check_size(self, n_leaves: int) -> None:
        of_leaf = 8.0 * self.leaf_size * self.d + 8.0 * self.d * (N_THRESHOLDS + 1) * self.q
        sizes = f"{self.d:,} features and {self.q:,} labels in {n_leaves:,} leaves"
        instead = "a smaller leaf_size or fewer labels"
        check_size("the tree", sizes, memory=n_leaves * of_leaf, instead=instead)

    def _path(self, x: Floats) -> list[Node]:
        """The nodes from the root to the leaf of a row."""
        path = [self.root]
        while isinstance(node := path[-1], Split):
            path.append(node.sides[node.side(x)])
        return path

    def _look_for_drifts(self, x: Floats, y: Labels, undo: list[Callable[[], None]]) -> None:
        path = self._path(x)
        leaf = path[-1]
        assert isinstance(leaf, Leaf)
        if not leaf.n:
            return
        found, predicted = leaf.score(x) > 0.5, np.zeros((1, len(y)), dtype=bool)
        predicted[0, : len(found)] = found
        error = 1.0 - float(goodness(predicted, y == 1, y != UNKNOWN)[0])
        drifts = [node.watch.sees(error) for node in path]
        if not any(drifts):
            return
        at = drifts.index(True)
        node, parent = path[at], path[at - 1] if at else None
        while isinstance(node, Split):
            # if only one side has more errors, the drift is there
            worse = [side for side in node.sides if side.watch.rise > node.watch.rise / 2]
            if len(worse) != 1:
                break
            node, parent = worse[0], node
        self.n_drifts += 1
        self._hang(parent, node, self._renewed(node), undo)

    def _look_for_split(self, x: Floats, undo: list[Callable[[], None]]) -> None:
        parent, leaf = [None, *self._path(x)][-2:]
        assert isinstance(leaf, Leaf)
        if leaf.n and leaf.n % self.grace_period == 0 and (split := self._split(leaf)):
            self._hang(parent, leaf, split, undo)

    def _hang(
        self, parent: Node | None, old: Node, new: Node, undo: list[Callable[[], None]]
    ) -> None:
        """Replace a node below its parent."""
        self.n_leaves += len(list(self._leaves(new))) - len(list(self._leaves(old)))
        if parent is None:
            self.root = new
            return
        assert isinstance(parent, Split)
        undo.append(partial(setattr, parent, "sides", parent.sides))
        parent.sides = [new if side is old else side for side in parent.sides]

    def _leaves(self, node: Node) -> Iterator[Leaf]:
        todo = [node]
        while todo:
            one = todo.pop()
            if isinstance(one, Leaf):
                yield one
            else:
                todo += one.sides

    def _renewed(self, node: Node) -> Leaf:
        """A leaf to replace a branch, with the rows in the window of the detector."""
        rows = [row for leaf in self._leaves(node) for row in leaf.rows]
        rows.sort(key=attrgetter("number"))
        width = int(getattr(node.watch.detector, "width", 0))
        return self._taught(rows[max(len(rows) - width, 0) :], np.zeros(self.q))

    def _taught(self, rows: list[Row], shares: Floats) -> Leaf:
        leaf = self._leaf(shares)
        for row in rows[-self.leaf_size :]:
            leaf.learn(*row)
        return leaf

    def _split(self, leaf: Leaf) -> Split | None:
        """Split a leaf if the best split is clear, or all are about equally good."""
        if self.n_leaves >= self.max_leaf_nodes or leaf.counts is None:
            return None
        best, bound = leaf.counts.best(), hoeffding_bound(self.delta, leaf.n)
        if best is None or (best.lead <= bound and bound >= self.tie):
            return None
        try:
            self._check_size(self.n_leaves + 1)
        except ValueError:  # no memory for more leaves
            return None
        split = Split(best.feature, best.threshold, [], leaf.watch)
        for side, shares in enumerate(leaf.counts.shares(best.feature, best.threshold)):
            rows = [row for row in leaf.rows if split.side(row.x) == side]
            split.sides.append(self._taught(rows, shares))
        return split


@dataclass(eq=False, repr=False)
class MLHoeffdingTree(StreamClassifier):
    """A Hoeffding tree with multi-label learners in its leaves.

    A leaf is split when, by the Hoeffding bound, its best split is truly the best with probability
    ``1 - delta``; the gain of a split is the sum of the information gains of all labels. Each leaf
    has a multi-label learner: pruned label sets with naive Bayes, or ML-kNN on its last rows. A
    drift detector in each node monitors the errors below it; when they rise, the branch is
    replaced by a leaf with its last rows.

    Parameters
    ----------
    leaf : {"mlknn", "pruned_sets"}, default="pruned_sets"
        The learner in the leaves.
    grace_period : int, default=200
        Number of rows between attempts to split a leaf.
    delta : float, default=1e-7
        Probability that another split would be better.
    tie : float, default=0.05
        A leaf is also split when the bound falls below this, since the best splits are then about
        equally good.
    max_leaf_nodes : int, default=64
        Maximum number of leaves.
    leaf_size : int, default=500
        Number of rows kept in each leaf, for ML-kNN and for its children.
    n_neighbors : int, default=10
        Number of neighbors of ML-kNN.
    metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        Distance of ML-kNN.
    min_count : int, default=2
        Number of times a set of two or more labels must occur in a leaf to be learned.
    max_sets : int, default=50
        Maximum number of label sets in a leaf.
    drift_detector : river drift detector, default=None
        None for :class:`plurilabel.streams.ADWIN`; :class:`river.drift.NoDrift` for none.

    Attributes
    ----------
    core_ : object
        The tree: ``core_.root``, ``core_.n_leaves``, and ``core_.n_drifts``, the number of
        branches that were replaced.

    Notes
    -----
    Departures from the paper. The gain is divided by the entropy of the leaf, so that it lies
    between 0 and 1 for any number and frequency of labels. Each feature has eight thresholds in a
    leaf, from its first 50 rows, with exact counts, where the paper has Gaussian distributions;
    naive Bayes uses the same intervals. Children learn the rows kept by their parent. The paper
    uses ADWIN on an ensemble of trees; here it is in each node, as in Hoeffding adaptive trees.
    Unknown labels are not counted.

    References
    ----------
    J. Read, A. Bifet, G. Holmes, B. Pfahringer. Scalable and efficient multi-label classification
    for evolving data streams. Machine Learning 88, 2012.

    P. Domingos, G. Hulten. Mining high-speed data streams. KDD 2000.

    A. Bifet, R. Gavaldà. Adaptive learning from evolving data streams. IDA 2009.

    Examples
    --------
    >>> from plurilabel import MLHoeffdingTree
    >>> learner = MLHoeffdingTree()
    >>> for i in range(1000):
    ...     a, b = i % 10, i % 7
    ...     learner.learn_one({"a": a, "b": b}, {"low": a < 5, "odd": (a < 5) == (b < 3)})
    >>> learner.predict_one({"a": 8, "b": 6})
    {'low': False, 'odd': True}
    """

    leaf: Literal["mlknn", "pruned_sets"] = "pruned_sets"
    _: KW_ONLY
    grace_period: AtLeastOne = 200
    delta: Fraction = 1e-7
    tie: NotNegative = 0.05
    max_leaf_nodes: AtLeastOne = 64
    leaf_size: AtLeastTwo = 500
    n_neighbors: int = 10
    metric: Literal["euclidean", "cosine", "manhattan", "chebyshev"] = "euclidean"
    min_count: AtLeastOne = 2
    max_sets: AtLeastOne = 50
    drift_detector: Any = None

    def _new_core(self) -> HoeffdingTree:
        if self.n_neighbors >= self.leaf_size:
            most = f"leaf_size={self.leaf_size}"
            raise ValueError(f"n_neighbors must be smaller than {most}, got {self.n_neighbors}")
        make: Any = partial(BayesOfSets, self.min_count, self.max_sets)
        if self.leaf == "mlknn":
            make = partial(Neighbors, self.leaf_size, self.metric, self.n_neighbors, 1.0, None)
        detector = ADWIN() if self.drift_detector is None else self.drift_detector
        when = self.grace_period, self.delta, self.tie
        return HoeffdingTree(make, detector, *when, self.max_leaf_nodes, self.leaf_size)
