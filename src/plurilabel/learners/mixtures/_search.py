"""The most probable label set of each document: greedily, or among sets that are listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.mixtures._sets import (
    Floats,
    Members,
    SeenSets,
    SetPrior,
    with_labels,
    without_labels,
)

BLOCK = 2**22
"""Numbers in the largest temporary array."""

TINY = np.finfo(np.float64).tiny
"""The score of a label that is predicted although another would do as well."""


@dataclass(frozen=True, eq=False)
class SetSearch:
    """log P(Y) + log P(words | Y) of label sets, and the sets that have the most of it.

    Attributes
    ----------
    theta : function
        Word probabilities (components, w) of words, given by their numbers; the last component
        is the one of no label.
    shares : function
        Shares (c, k + 1) of the components in sets of k labels, the last that of no label.
    prior : SetPrior
    seen : SeenSets
    always : tuple of int
        Labels of every set.
    free : array of int
        Labels that a set may have or lack, those preferred between equals first.
    empty : bool
        Whether a set may have no label.
    """

    theta: Callable[[NDArray[np.intp]], Floats]
    shares: Callable[[Members, NDArray[np.intp]], Floats]
    prior: SetPrior
    seen: SeenSets
    always: tuple[int, ...]
    free: NDArray[np.intp]
    empty: bool
    n_labels: int

    def log_joint(
        self, X: sparse.csr_array, theta: Floats, members: Members, numbers: NDArray[np.intp]
    ) -> Floats:
        """Documents by sets (r, c); theta has a column for each column of X."""
        W = self.shares(members, numbers)
        phi = W[:, -1:] * theta[-1]
        # one label after the other, always in the same order: a set has the same value, bit by
        # bit, whichever set it was reached from
        for j, labels in enumerate(members.T):
            phi += W[:, j, None] * theta[labels]
        return X @ np.log(phi).T + self.prior(members, numbers)

    def by_word(self, theta: Floats, present: tuple[int, ...]) -> tuple[Floats, float]:
        """The log probability of each word of theta, given a set, and that of the set."""
        members = np.array([present], dtype=np.intp).reshape(1, len(present))
        numbers = self.seen.find(members)
        w = self.shares(members, numbers)[0]
        phi = w[-1] * theta[-1] + w[:-1] @ theta[list(present)]
        return np.log(phi), float(np.ravel(self.prior(members, numbers))[0])

    def compared(
        self,
        x: sparse.csr_array,
        theta: Floats,
        predicted: NDArray[np.bool_],
        lists: list[Members],
    ) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """For each free label the sets, with and without it, that its score compares.

        Those of the greedy search differ in this label only; those of ``lists`` are the best.
        """

        def value(present: tuple[int, ...]) -> float:
            log_phi, prior = self.by_word(theta, present)
            return float(x.data @ log_phi) + prior

        found = {}
        if lists:
            every = [tuple(row) for members in lists for row in members.tolist()]
            values = np.array([value(present) for present in every])
            for l in self.free.tolist():
                has = np.array([l in present for present in every])
                if has.all() or not has.any():
                    continue
                best = [np.where(side, values, -np.inf).argmax() for side in (has, ~has)]
                found[l] = every[best[0]], every[best[1]]
            return found
        present = {*np.flatnonzero(predicted).tolist(), *self.always}
        for l in self.free.tolist():
            having, lacking = (tuple(sorted(s)) for s in (present | {l}, present - {l}))
            if not lacking and not self.empty:  # a set may not be empty: the next best label
                others = [(other,) for other in self.free.tolist() if other != l]
                if not others:
                    continue
                lacking = max(others, key=value)
            found[l] = having, lacking
        return found

    def blocks(self, X: sparse.csr_array) -> list[slice]:
        """Documents that are worked on together: the words that they have, times labels."""
        width = self.n_labels + 1
        if X.shape[1] * width > BLOCK:
            width *= max(X.nnz / X.shape[0], 1)
        return row_blocks(X.shape[0], width, BLOCK)

    # greedy ------------------------------------------------------------------------------

    def greedy(self, X: sparse.csr_array) -> Floats:
        """Scores (n, q) of the sets that no single label, added or dropped, makes more probable.

        A label's score is the gain in log probability by having it, the others staying.
        """
        scores = np.zeros((X.shape[0], self.n_labels))
        for rows in self.blocks(X):
            words, part = only_used(X[rows])
            self._grow(part, self.theta(words), scores[rows])
        return scores

    def _grow(self, X: sparse.csr_array, theta: Floats, scores: Floats) -> None:
        groups = {self.always: np.arange(X.shape[0])}
        reached, first = np.full(X.shape[0], -np.inf), None
        # documents with the same set are asked together, then part by what suits each best
        while groups:
            moved: dict[tuple[int, ...], list[NDArray[np.intp]]] = {}
            for present, docs in groups.items():
                used, part = only_used(X[docs])
                found = self._step(part, theta[:, used], present)
                scores[docs], reached[docs] = found.scores, found.now
                if first is None and self.empty and not present and len(self.free):
                    # two labels may be more probable than none where neither is alone: begin
                    # with the best single label, and come back if that leads nowhere
                    first = found
                    found = replace(found, flip=found.best)
                for label in np.unique(found.flip[found.flip >= 0]).tolist():
                    new = tuple(sorted({*present} ^ {label}))
                    moved.setdefault(new, []).append(docs[found.flip == label])
            groups = {present: np.concatenate(docs) for present, docs in moved.items()}
        if first is not None:
            back = reached < first.now
            scores[back] = first.scores[back]

    def _step(self, X: sparse.csr_array, theta: Floats, present: tuple[int, ...]) -> _Step:
        """The best label to add or to drop, for documents that all have the same set."""
        r = X.shape[0]
        scores = np.zeros((r, self.n_labels))
        flip = np.full(r, -1)
        if present or self.empty:
            members = np.array([present], dtype=np.intp)
            now = self.log_joint(X, theta, members, self.seen.find(members))[:, 0]
        else:
            now = np.full(r, -np.inf)
        whole = now
        absent = self.free[~np.isin(self.free, present)]
        settled = np.ones(r, dtype=bool)
        single = flip
        if len(absent):
            members = with_labels(present, absent)
            more = self.log_joint(X, theta, members, self.seen.find_extended(present, absent))
            best = more.argmax(axis=1)
            settled = more[np.arange(r), best] <= now
            single = absent[best]
            flip[~settled] = single[~settled]
            scores[np.ix_(settled, absent)] = more[settled] - now[settled, None]
        droppable = np.setdiff1d(present, self.always).astype(np.intp)
        if len(droppable) and settled.any():
            X, now = X[settled], now[settled]
            if len(present) > 1 or self.empty:
                members = without_labels(present, droppable.tolist())
                less = self.log_joint(X, theta, members, self.seen.find(members))
                best = less.argmax(axis=1)
                drop = less[np.arange(len(now)), best] >= now
                flip[np.flatnonzero(settled)[drop]] = droppable[best[drop]]
                scores[np.ix_(settled, droppable)] = now[:, None] - less
            else:  # the only label of a set that may not be empty: how far the next label is
                others = self.free[self.free != present[0]]
                members = others[:, None]
                other = self.log_joint(X, theta, members, self.seen.find(members))
                gap = np.maximum(now - other.max(axis=1), TINY)
                scores[settled, present[0]] = gap
        return _Step(flip, scores, whole, single)

    # lists -------------------------------------------------------------------------------

    def among(self, X: sparse.csr_array, lists: list[Members]) -> Floats:
        """Scores (n, q) of the most probable of some sets.

        A label's score is the log probability of the best set with it, less that of the best
        set without it.
        """
        n, q = X.shape[0], self.n_labels
        scores = np.zeros((n, q))
        numbered = [(members, self.seen.find(members)) for members in lists]
        for rows in self.blocks(X):
            words, part = only_used(X[rows])
            theta = self.theta(words)
            for docs in row_blocks(part.shape[0], 256, BLOCK):
                scores[rows][docs] = self._best(part[docs], theta, numbered)
        return scores

    def _best(self, X: sparse.csr_array, theta: Floats, numbered: list[Any]) -> Floats:
        r, q = X.shape[0], self.n_labels
        having, lacking = np.full((2, r, q), -np.inf)
        highest, chosen = np.full(r, -np.inf), np.zeros((r, q), dtype=bool)
        for members, numbers in numbered:
            for some in row_blocks(len(members), max(r, theta.shape[1]), BLOCK):
                J = self.log_joint(X, theta, members[some], numbers[some])  # (r, c)
                has = np.zeros((J.shape[1], q), dtype=bool)
                np.put_along_axis(has, members[some], True, axis=1)
                best = J.argmax(axis=1)
                value = J[np.arange(r), best]
                better = value > highest
                highest[better], chosen[better] = value[better], has[best[better]]
                for l in self.free:
                    having[:, l] = np.maximum(having[:, l], _row_max(J, has[:, l]))
                    lacking[:, l] = np.maximum(lacking[:, l], _row_max(J, ~has[:, l]))
        gain = np.zeros((r, q))
        gain[:, self.free] = having[:, self.free] - lacking[:, self.free]
        return np.where(chosen, np.maximum(gain, TINY), np.minimum(gain, 0.0))


@dataclass(frozen=True, eq=False)
class _Step:
    flip: NDArray[np.intp]  # (r,), the label to add or to drop, -1 for none
    scores: Floats  # (r, q), of documents that stay
    now: Floats  # (r,), the log probability of the present set
    best: NDArray[np.intp]  # (r,), the best label to add, whether or not it is better than none


def _row_max(J: Floats, columns: NDArray[np.bool_]) -> Floats:
    return J[:, columns].max(axis=1, initial=-np.inf)


def only_used(X: sparse.csr_array) -> tuple[NDArray[np.intp], sparse.csr_array]:
    """The columns in which X has anything, and X with only these.

    Examples
    --------
    >>> words, X = only_used(sparse.csr_array([[0, 2, 0, 1], [0, 0, 0, 3]]))
    >>> words.tolist(), X.toarray().tolist()
    ([1, 3], [[2, 1], [0, 3]])
    """
    words, columns = np.unique(X.indices, return_inverse=True)
    shape = (X.shape[0], len(words))
    columns = columns.ravel().astype(X.indices.dtype)
    return words, sparse.csr_array((X.data, columns, X.indptr), shape=shape)
