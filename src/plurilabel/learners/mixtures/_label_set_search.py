"""The most probable label set of each document, found greedily or in a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import only_used, row_blocks

Floats = NDArray[np.float64]
Members = NDArray[np.intp]  # sets of one size (c, k): the labels of each in rising order


class SeenSets:
    """The numbers of the label sets of the training documents."""

    def __init__(self, sets: Iterable[tuple[int, ...]]):
        self.number = {present: s for s, present in enumerate(sets)}

    def find(self, members: Members) -> NDArray[np.intp]:
        """The number of each set (c,), -1 if it was not seen."""
        if not self.number:
            return np.full(len(members), -1, dtype=np.intp)
        numbers = (self.number.get(tuple(row), -1) for row in members.tolist())
        return np.fromiter(numbers, dtype=np.intp, count=len(members))


class SetPrior:
    """log P(Y), up to a constant, from the counts of label sets and labels."""

    def __init__(self, kind: str, set_counts: Floats, label_counts: Floats):
        self.kind, self.n = kind, set_counts.sum()
        self.log_counts = np.log(set_counts)
        p = (label_counts + 1) / (self.n + 2)
        self.log_odds, self.log_none = np.log(p / (1 - p)), float(np.log1p(-p).sum())

    def __call__(self, members: Members, numbers: NDArray[np.intp]) -> Floats:
        """The log probability of each set (c,), given its number."""
        if self.kind == "uniform":
            return np.zeros(len(members))
        independent = self.log_none + self.log_odds[members].sum(axis=1)
        if self.kind == "labels":
            return independent
        seen = np.where(numbers >= 0, self.log_counts[numbers], -np.inf)
        return np.logaddexp(seen, independent) - np.log(self.n + 1)


def with_labels(present: tuple[int, ...], labels: NDArray[np.intp]) -> Members:
    """A set with each of the labels added."""
    old = np.broadcast_to(np.array(present, dtype=np.intp), (len(labels), len(present)))
    return np.sort(np.column_stack([old, labels]).astype(np.intp), axis=1)


def without_labels(present: tuple[int, ...], labels: Iterable[int]) -> Members:
    """A set with each of the labels removed."""
    rest = [[m for m in present if m != label] for label in labels]
    return np.array(rest, dtype=np.intp).reshape(len(rest), len(present) - 1)


def all_sets(always: tuple[int, ...], free: Members, fewest: int, most: int) -> list[Members]:
    """Every set of the labels ``always`` and ``fewest`` to ``most`` free ones, by size."""
    lists = []
    for k in range(fewest, most + 1):
        rows = [always + some for some in combinations(free.tolist(), k)]
        lists.append(np.sort(np.array(rows, dtype=np.intp).reshape(len(rows), -1), axis=1))
    return lists


def by_size(sets: Iterable[tuple[int, ...]]) -> list[Members]:
    """Sets of any size, as one array for each size."""
    sizes: dict[int, list[tuple[int, ...]]] = {}
    for present in sets:
        sizes.setdefault(len(present), []).append(present)
    return [np.array(sizes[k], dtype=np.intp).reshape(len(sizes[k]), k) for k in sorted(sizes)]


BLOCK = 2**22  # numbers in the largest temporary array
TINY = np.finfo(np.float64).tiny  # the score of a predicted label if a set without it is as good


@dataclass(frozen=True, eq=False)
class SetSearch:
    """Finds the label sets Y that maximise log P(Y) + log P(words | Y)."""

    # probabilities (components, w) of words by number; the last component is "no label"
    theta: Callable[[NDArray[np.intp]], Floats]
    # shares (c, k + 1) of the components in sets of k labels
    shares: Callable[[Members, NDArray[np.intp]], Floats]
    prior: SetPrior
    seen: SeenSets
    always: tuple[int, ...]  # labels of every set
    free: NDArray[np.intp]  # labels that a set may have or lack, preferred ones first
    empty: bool  # whether a set may be empty
    n_labels: int

    def log_joint(
        self, X: sparse.csr_array, theta: Floats, members: Members, numbers: NDArray[np.intp]
    ) -> Floats:
        """Log joint probabilities (documents, sets); theta has a column for each column of X."""
        W = self.shares(members, numbers)
        phi = W[:, -1:] * theta[-1]
        # labels are added in order, so that a set has the same value, bit by bit, from any path
        for j, labels in enumerate(members.T):
            phi += W[:, j, None] * theta[labels]
        return X @ np.log(phi).T + self.prior(members, numbers)

    def _joint(self, X: sparse.csr_array, theta: Floats, members: Members) -> Floats:
        return self.log_joint(X, theta, members, self.seen.find(members))

    def by_word(self, theta: Floats, present: tuple[int, ...]) -> tuple[Floats, float]:
        """The log probabilities of the words given a set, and the log prior of the set."""
        members = np.array([present], dtype=np.intp)
        numbers = self.seen.find(members)
        w = self.shares(members, numbers)[0]
        phi = w[-1] * theta[-1] + w[:-1] @ theta[list(present)]
        return np.log(phi), float(np.ravel(self.prior(members, numbers))[0])

    def compared(
        self, x: sparse.csr_array, theta: Floats, predicted: NDArray[Any], lists: list[Members]
    ) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """For each free label the sets with and without it that its score compares."""
        # They differ in this label only for the greedy search; else they are the best in
        # ``lists``.

        def value(present: tuple[int, ...]) -> float:
            log_phi, prior = self.by_word(theta, present)
            return float(x.data @ log_phi) + prior

        if lists:
            return self._compared_in(lists, value)
        found, present = {}, {*np.flatnonzero(predicted).tolist(), *self.always}
        for l in self.free.tolist():
            having, lacking = (tuple(sorted(s)) for s in (present | {l}, present - {l}))
            if not lacking and not self.empty:  # compare with the best other single label
                others = [(other,) for other in self.free.tolist() if other != l]
                if not others:
                    continue
                lacking = max(others, key=value)
            found[l] = having, lacking
        return found

    def _compared_in(
        self, lists: list[Members], value: Callable[[tuple[int, ...]], float]
    ) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        every = [tuple(row) for members in lists for row in members.tolist()]
        values, found = np.array([value(present) for present in every]), {}
        for l in self.free.tolist():
            has = np.array([l in present for present in every])
            if has.any() and not has.all():
                best = [np.where(side, values, -np.inf).argmax() for side in (has, ~has)]
                found[l] = every[best[0]], every[best[1]]
        return found

    def blocks(self, X: sparse.csr_array) -> list[slice]:
        """Blocks of documents, by the number of their words times labels."""
        width = self.n_labels + 1
        if X.shape[1] * width > BLOCK:
            width *= max(X.nnz / X.shape[0], 1)
        return row_blocks(X.shape[0], width, BLOCK)

    def greedy(self, X: sparse.csr_array) -> Floats:
        """Scores (n, q) of sets that adding or dropping a single label does not improve."""
        # The score of a label is the gain in log probability from having it, all others being
        # fixed.
        scores = np.zeros((X.shape[0], self.n_labels))
        for rows in self.blocks(X):
            words, part = only_used(X[rows])
            self._grow(part, self.theta(words), scores[rows])
        return scores

    def _grow(self, X: sparse.csr_array, theta: Floats, scores: Floats) -> None:
        groups = {self.always: np.arange(X.shape[0])}
        reached, first = np.full(X.shape[0], -np.inf), None
        # documents with the same set are scored together, then separate by their best label
        while groups:
            moved: dict[tuple[int, ...], list[NDArray[np.intp]]] = {}
            for present, docs in groups.items():
                used, part = only_used(X[docs])
                found = self._step(part, theta[:, used], present)
                scores[docs], reached[docs] = found.scores, found.now
                if first is None and self.empty and not present and len(self.free):
                    # Two labels may be more probable than none even if neither is alone: start
                    # with the best single label, and return if that leads nowhere.
                    first = found
                    found = found._replace(flip=found.best)
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
            now = self._joint(X, theta, np.array([present], dtype=np.intp))[:, 0]
        else:
            now = np.full(r, -np.inf)
        whole = now
        absent = self.free[~np.isin(self.free, present)]
        settled = np.ones(r, dtype=bool)
        single = flip
        if len(absent):
            more = self._joint(X, theta, with_labels(present, absent))
            best = more.argmax(axis=1)
            settled = more[np.arange(r), best] <= now
            single = absent[best]
            flip[~settled] = single[~settled]
            scores[np.ix_(settled, absent)] = more[settled] - now[settled, None]
        droppable = np.setdiff1d(present, self.always).astype(np.intp)
        if len(droppable) and settled.any():
            X, now = X[settled], now[settled]
            if len(present) > 1 or self.empty:
                less = self._joint(X, theta, without_labels(present, droppable.tolist()))
                best = less.argmax(axis=1)
                drop = less[np.arange(len(now)), best] >= now
                flip[np.flatnonzero(settled)[drop]] = droppable[best[drop]]
                scores[np.ix_(settled, droppable)] = now[:, None] - less
            else:  # the only label of a set that may not be empty: compare with the next best
                other = self._joint(X, theta, self.free[self.free != present[0], None])
                scores[settled, present[0]] = np.maximum(now - other.max(axis=1), TINY)
        return _Step(flip, scores, whole, single)

    def among(self, X: sparse.csr_array, lists: list[Members]) -> Floats:
        """Scores (n, q): log probability of the best set with a label, less that without it."""
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


class _Step(NamedTuple):
    flip: NDArray[np.intp]  # (r,), the label to add or to drop, -1 for none
    scores: Floats  # (r, q), of documents that keep their set
    now: Floats  # (r,), the log probability of the present set
    best: NDArray[np.intp]  # (r,), the best label to add, even if none is better


def _row_max(J: Floats, columns: NDArray[np.bool_]) -> Floats:
    return J[:, columns].max(axis=1, initial=-np.inf)
