"""Conditions on features, and rules made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks
from plurilabel._core.fitted import Declared, count, numbers, values

Floats = NDArray[np.float64]
Weights = NDArray[np.float64] | None
Rows = NDArray[np.intp]

CELLS = 1 << 18  # entries of a matrix (n, q) that are copied at a time


def add_to_rows(f: Floats, rows: Rows, scores: Floats) -> None:
    """Add scores (q,) to some rows of f (n, q)."""
    for part in row_blocks(len(rows), f.shape[1], CELLS):
        f[rows[part]] += scores


def sum_of_rows(V: Floats, rows: Rows) -> Floats:
    """The sum of some rows of V, added in order."""
    total = np.zeros(V.shape[1])
    for part in row_blocks(len(rows), V.shape[1], CELLS):
        total = np.add.reduce(np.vstack([total, V[rows[part]]]), axis=0)
    return total


class Columns:
    """Columns of X, dense or CSR, as float64."""

    def __init__(self, X: Any):
        self.n = X.shape[0]
        self._X = sparse.csc_array(X) if sparse.issparse(X) else X

    def __call__(self, j: int) -> Floats:
        """Column j as a dense array."""
        if not sparse.issparse(self._X):
            return np.asarray(self._X[:, j], dtype=np.float64)
        column = np.zeros(self.n)
        stored = slice(*self._X.indptr[j : j + 2])
        np.add.at(column, self._X.indices[stored], self._X.data[stored])  # sums duplicates
        return column


@dataclass(frozen=True)
class Condition:
    """A condition on one feature: it is above a threshold, or present (not zero).

    Attributes
    ----------
    feature : int
        Column of X.
    threshold : float or None
        None tests whether the feature is present.

    Examples
    --------
    >>> from plurilabel.learners import Condition
    >>> Condition(1, 0.5).text(["height", "width"])
    'width > 0.5'
    >>> Condition(1, 0.5).sides([0.2, 0.9, float("nan")])
    array([ 0,  1, -1], dtype=int8)
    """

    feature: int
    threshold: float | None = None

    def sides(self, column: Any) -> NDArray[np.int8]:
        """1 where the condition holds, 0 where it does not, -1 where the value is missing."""
        values = np.asarray(column)
        holds = values != 0 if self.threshold is None else values > self.threshold
        sides = holds.astype(np.int8)
        sides[np.isnan(values)] = -1
        return sides

    def text(self, feature_names: Sequence[str], holds: bool = True) -> str:
        """Describe the condition or, with ``holds=False``, its negation."""
        name = feature_names[self.feature]
        if self.threshold is None:
            return f"word {name!r} {'present' if holds else 'absent'}"
        return f"{name} {'>' if holds else '<='} {self.threshold:.4g}"

    def split(self, rows: Rows, columns: Columns) -> tuple[Rows, Rows]:
        """The rows where the condition holds and where it does not, without missing values."""
        sides = self.sides(columns(self.feature)[rows])
        return rows[sides == 1], rows[sides == 0]


@dataclass(frozen=True, eq=False)
class WeakRule:
    """One rule h(x, l) of AdaBoost: a stump or a small tree with scores for all labels.

    Attributes
    ----------
    conditions : tuple of Condition
        Empty for a rule that scores all instances alike.
    nodes : tuple of int
        The node at which each condition is tested. Node 0 is the root; the condition at position
        s leads to node 2s + 1 if it holds, else to node 2s + 2.
    scores : ndarray of shape (n_nodes, q)
        Added to the scores of instances at a node. Zero at inner nodes and for abstention.
    gains : tuple of float
        The reduction of Z by each condition.

    Examples
    --------
    >>> from plurilabel import AdaBoostMH
    >>> rule = AdaBoostMH(1).fit([[1.0], [2.0], [3.0]], [[0], [0], [1]]).rules_[0]
    >>> rule.conditions
    (Condition(feature=0, threshold=2.5),)
    >>> rule.scores.round(2)
    array([[ 0.  ],
           [ 0.35],
           [-0.55]])
    """

    _fitted: ClassVar[Declared] = {
        "conditions": values("n_conditions"),
        "nodes": values("n_conditions"),
        "scores": numbers(None, None),
    }

    conditions: tuple[Condition, ...]
    nodes: tuple[int, ...]
    scores: Floats
    gains: tuple[float, ...]

    def add_to(self, f: Floats, columns: Columns) -> None:
        """Add the scores of the rule to f (n, q)."""
        reached = [np.arange(columns.n)]
        for node, condition in zip(self.nodes, self.conditions):
            reached.extend(condition.split(reached[node], columns))
        for rows, scores in zip(reached, self.scores):
            if scores.any():
                add_to_rows(f, rows, scores)

    def said_to(self, columns: Columns, _: list[bool]) -> Iterator[tuple[list[int], Floats]]:
        """The scores that the rule adds for one row, with the features on the path to them."""
        paths: list[list[int] | None] = [[]]  # None if the row does not reach the node
        for node, condition in zip(self.nodes, self.conditions):
            path = paths[node]
            side = -1 if path is None else int(condition.sides(columns(condition.feature))[0])
            more = None if path is None else [*path, condition.feature]
            paths += [more if side == 1 else None, more if side == 0 else None]
        for path, scores in zip(paths, self.scores):
            if path is not None and scores.any():
                yield path, scores

    def features(self) -> list[tuple[int, float]]:
        """The feature and gain of each condition."""
        return [(c.feature, gain) for c, gain in zip(self.conditions, self.gains)]

    def text(
        self, feature_names: Sequence[str], label_names: Sequence[str], max_labels: int = 5
    ) -> str:
        """Describe the rule, with one line for each leaf that does not abstain."""
        condition_at = dict(zip(self.nodes, enumerate(self.conditions)))

        def leaves(node: int, path: list[str]) -> Iterator[str]:
            if node in condition_at:
                s, condition = condition_at[node]
                yield from leaves(2 * s + 1, [*path, condition.text(feature_names)])
                yield from leaves(2 * s + 2, [*path, condition.text(feature_names, holds=False)])
            elif self.scores[node].any():
                scores = scores_text(self.scores[node], label_names, max_labels)
                yield f"{' and '.join(path) or 'always'}: {scores}"

        return "\n".join(leaves(0, [])) or "always: no opinion"


@dataclass(frozen=True, eq=False)
class DecisionNode:
    """One rule of an alternating decision tree: a condition, and the two predictions below it.

    Attributes
    ----------
    precondition : int
        The prediction node below which the condition is tested: 0 is the root, and the t-th
        decision node leads to prediction node 2t - 1 if its condition holds, else to 2t.
    condition : Condition or None
        None for the root, whose scores are in ``yes``.
    yes, no : ndarray of shape (q,)
        Added to the scores of instances at the precondition if the condition holds, or does not.

    Examples
    --------
    >>> from plurilabel import ADTBoostMH
    >>> root, node = ADTBoostMH(1).fit([[1.0], [2.0], [3.0]], [[0], [0], [1]]).rules_
    >>> node.precondition, node.condition
    (0, Condition(feature=0, threshold=2.5))
    >>> node.yes.round(2), node.no.round(2)
    (array([0.41]), array([-0.5]))
    """

    _fitted: ClassVar[Declared] = {"precondition": count(), "yes": ["q"], "no": ["q"]}

    precondition: int
    condition: Condition | None
    yes: Floats
    no: Floats

    def add_to(self, f: Floats, columns: Columns, reached: list[Rows]) -> None:
        """Add the scores to f (n, q), and the rows of the new prediction nodes to ``reached``."""
        if self.condition is None:
            f += self.yes
            reached.append(np.arange(columns.n))
            return
        yes, no = self.condition.split(reached[self.precondition], columns)
        add_to_rows(f, yes, self.yes)
        add_to_rows(f, no, self.no)
        reached += [yes, no]

    def said_to(self, columns: Columns, reached: list[bool]) -> Iterator[tuple[list[int], Floats]]:
        """The scores that the node adds for one row, with the feature of its condition.

        Appends to ``reached``, which tells whether the row reaches each prediction node.
        """
        if self.condition is None:
            reached.append(True)
            yield [], self.yes
            return
        here = reached[self.precondition]
        side = int(self.condition.sides(columns(self.condition.feature))[0]) if here else -1
        reached += [side == 1, side == 0]
        if side >= 0:
            yield [self.condition.feature], self.yes if side == 1 else self.no

    def features(self) -> list[tuple[int, float]]:
        """The feature of the condition, with a gain of 1."""
        return [] if self.condition is None else [(self.condition.feature, 1.0)]


def scores_text(scores: Floats, label_names: Sequence[str], max_labels: int) -> str:
    """The labels with the largest absolute scores, such as ``sport +1.3, politics -0.7``."""
    if not scores.any():
        return "no opinion"
    largest = np.argsort(-np.abs(scores), kind="stable")[:max_labels]
    rest = len(scores) - len(largest)
    shown = ", ".join(f"{label_names[l]} {scores[l]:+.2g}" for l in largest)
    return f"{shown}, {rest} more" if rest else shown
