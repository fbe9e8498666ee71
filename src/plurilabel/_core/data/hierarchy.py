"""Labels with parents: which label implies which, and predictions that respect it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from plurilabel._core.base import LabelMatrix, check_labels, check_scores
from plurilabel._core.blocks import dense, is_missing, row_blocks
from plurilabel._core.words import first_repeated, similar

BLOCK = 2**22  # numbers in the largest temporary array
ROWS = 2**20  # rows times edges that the isotonic projection works on at a time
SWEEPS = 1024  # at most, of the isotonic projection; what they leave is too small to matter


class Hierarchy:
    """Labels with parents: an instance that has a label has all labels above it, too.

    Parameters
    ----------
    label_names : sequence of str
        The labels, in the order of the columns of Y.
    parents : mapping, or pairs (child, parent), or data frame of two columns; default=None
        The parent of a label, or a list of several, by name or by the number of its column. Names
        that are not labels may stand between labels: a label's parents are then the nearest
        labels above it. None: names are paths, ``sports/football`` is below ``sports``.
    sep : str, default="/"
        Separator of the parts of a name, if ``parents`` is None.

    Attributes
    ----------
    edges : ndarray of shape (m, 2)
        The numbers of child and parent.

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> tree = Hierarchy(["sports", "sports/football", "sports/football/women", "news"])
    >>> tree.ancestors("sports/football/women")
    ['sports/football', 'sports']
    >>> tree.close([[0, 0, 1, 0]])
    array([[1, 1, 1, 0]])
    >>> Hierarchy(["a", "b"], {"a": "b", "b": "a"})
    Traceback (most recent call last):
    ...
    ValueError: parents must not form a cycle, got a -> b -> a
    """

    def __init__(
        self,
        label_names: Sequence[str],
        parents: Mapping[str, Any] | Iterable[Any] | None = None,
        *,
        sep: str = "/",
    ) -> None:
        self.label_names = tuple(str(name) for name in label_names)
        if (twice := first_repeated(self.label_names)) is not None:
            raise ValueError(f"label_names must differ, but {twice!r} occurs more than once")
        number = {name: l for l, name in enumerate(self.label_names)}
        if parents is None:
            above = _by_names(self.label_names, sep)
        else:
            above = _as_lists(parents, self.label_names)
        try:
            TopologicalSorter(above).prepare()
        except CycleError as error:
            cycle = " -> ".join(reversed(error.args[1]))
            raise ValueError(f"parents must not form a cycle, got {cycle}") from None
        edges = [
            (l, number[parent])
            for l, name in enumerate(self.label_names)
            for parent in _nearest_labels(name, above, number)
        ]
        if not edges:
            raise ValueError(_no_parents(self.label_names, above, parents is None, sep))
        self.edges = np.array(sorted(set(edges)), dtype=np.intp)

    @classmethod
    def from_edges(cls, label_names: Iterable[str], edges: NDArray[np.intp]) -> Self:
        """A hierarchy from edges without a cycle; there may be none."""
        new = cls.__new__(cls)
        new.label_names, new.edges = tuple(str(name) for name in label_names), edges
        return new

    @classmethod
    def of(cls, label_names: Any, parents: Any, *, sep: str = "/") -> Self:
        """A hierarchy of these labels; ``parents`` may be another one of as many labels."""
        if not isinstance(parents, Hierarchy):
            return cls(label_names, parents, sep=sep)
        parents._check_width(len(label_names), "y")
        return cls.from_edges(label_names, parents.edges)

    # what is above what ------------------------------------------------------------------

    @property
    def parents(self) -> tuple[int | tuple[int, ...], ...]:
        """The number of each label's parent, -1 for a root, or a tuple if there are several."""
        above: list[list[int]] = [[] for _ in self.label_names]
        for child, parent in self.edges.tolist():
            above[child].append(parent)
        return tuple(tuple(some) if len(some) > 1 else (*some, -1)[0] for some in above)

    @cached_property
    def depth(self) -> NDArray[np.intp]:
        """The number of labels on the longest way up from each label, shape (q,)."""
        depth = np.zeros(len(self.label_names), dtype=np.intp)
        child, parent = self.edges.T
        while True:
            deeper = depth.copy()
            np.maximum.at(deeper, child, depth[parent] + 1)
            if (deeper == depth).all():
                return depth
            depth = deeper

    @cached_property
    def levels(self) -> list[NDArray[np.intp]]:
        """The edges in groups, ordered by the depth of the child."""
        level = self.depth[self.edges[:, 0]]
        return [self.edges[level == d] for d in range(1, level.max(initial=0) + 1)]

    @cached_property
    def matchings(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The children and parents of groups of edges; no two edges of one share a label."""
        groups: list[list[int]] = []
        taken: list[set[int]] = [set() for _ in self.label_names]
        for e, (child, parent) in enumerate(self.edges.tolist()):
            group = 0
            while group in taken[child] or group in taken[parent]:
                group += 1
            taken[child].add(group)
            taken[parent].add(group)
            if group == len(groups):
                groups.append([])
            groups[group].append(e)
        return [(self.edges[some, 0], self.edges[some, 1]) for some in groups]

    @cached_property
    def closure(self) -> sparse.csr_array:
        """A 0/1 matrix of shape (q, q); row l has l and all labels above it."""
        q = len(self.label_names)
        rows: list[NDArray[np.intp]] = [np.array([l], dtype=np.intp) for l in range(q)]
        for child, parent in np.concatenate([self.edges[:0], *self.levels]):
            rows[child] = np.union1d(rows[child], rows[parent])  # the parent's row is complete
        ends = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
        there = np.concatenate(rows)
        return sparse.csr_array((np.ones(len(there), dtype=np.int8), there, ends), shape=(q, q))

    def ancestors(self, label: str) -> list[str]:
        """The labels above one, the nearest first."""
        if label not in self.label_names:
            near = similar(label, self.label_names)
            raise KeyError(f"no label {label!r}" + (f"; did you mean {near!r}?" if near else ""))
        found: dict[int, None] = {}
        waiting = [self.label_names.index(label)]
        while waiting:
            level = [int(p) for l in waiting for p in self.edges[self.edges[:, 0] == l, 1]]
            waiting = [l for l in dict.fromkeys(level) if l not in found]
            found |= dict.fromkeys(waiting)
        return [self.label_names[l] for l in found]

    def close(self, Y: ArrayLike) -> Any:
        """Add all ancestors to the label sets Y (n, q); CSR if Y is sparse."""
        checked = check_labels(Y)
        self._check_width(checked.shape[1], "Y")
        up = self.closure.astype(np.int64)
        if sparse.issparse(checked):
            counts = sparse.csr_array(checked.astype(np.int64) @ up)
            counts.data[:] = 1
            counts.sort_indices()
            return counts
        return (np.asarray(checked.astype(np.int64) @ up) > 0).astype(np.int64)

    def is_closed(self, Y: LabelMatrix) -> bool:
        """Whether every label set contains the labels above its labels."""
        checked = check_labels(Y)
        return bool(self.close(checked).sum() == checked.sum(dtype=np.int64))

    def consistent(self, scores: ArrayLike, method: str = "isotonic") -> NDArray[np.float64]:
        """Change scores as little as possible so that no label scores above its parents.

        Parameters
        ----------
        scores : matrix of shape (n, q)
            Probabilities, or decision values on one scale.
        method : {"isotonic", "max", "min"}, default="isotonic"
            "isotonic": the nearest consistent scores, in squares. "max": a parent has at least
            the highest score below it. "min": a child has at most the lowest score above it.
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        S = np.array(dense(check_scores(scores)), dtype=np.float64)
        self._check_width(S.shape[1], "scores")
        child, parent = self.edges.T
        for rows in row_blocks(len(S), len(child), BLOCK):
            wrong = np.flatnonzero((S[rows][:, child] > S[rows][:, parent]).any(axis=1))
            if len(wrong):
                at = wrong + rows.start
                # label by label: the scores of a label are side by side in memory
                by_label = np.ascontiguousarray(S[at].T)
                METHODS[method](by_label, self)
                S[at] = by_label.T
        return S

    def _check_width(self, q: int, name: str) -> None:
        if q != (known := len(self.label_names)):
            raise ValueError(f"{name} must have the {known} labels of the hierarchy, got {q}")

    def __repr__(self) -> str:
        q, below = len(self.label_names), len(np.unique(self.edges[:, 0]))
        return f"Hierarchy of {q} labels, {below} of them below others"


def _max(S: NDArray[np.float64], tree: Hierarchy) -> None:
    """Raise parents, from the lowest labels up; S (q, n) is changed in place."""
    for child, parent in (edges.T for edges in reversed(tree.levels)):
        order = np.argsort(parent, kind="stable")
        raised, start = np.unique(parent[order], return_index=True)
        S[raised] = np.maximum(S[raised], np.maximum.reduceat(S[child[order]], start))


def _min(S: NDArray[np.float64], tree: Hierarchy) -> None:
    """Lower children, from the highest labels down; S (q, n) is changed in place."""
    for child, parent in (edges.T for edges in tree.levels):
        order = np.argsort(child, kind="stable")
        lowered, start = np.unique(child[order], return_index=True)
        S[lowered] = np.minimum(S[lowered], np.minimum.reduceat(S[parent[order]], start))


def _isotonic(S: NDArray[np.float64], tree: Hierarchy) -> None:
    """The nearest scores that are consistent, by Dykstra's alternating projections."""
    # Each edge in turn: what it took last time is given back, then child and parent meet halfway
    # if the child is above; a bit beyond (over-relaxation) converges faster. The sweeps converge
    # to the projection on all edges together. Edges without a label in common are taken at once.
    for rows in row_blocks(S.shape[1], len(tree.edges), ROWS):
        left = np.arange(rows.start, rows.stop)
        Z = S[:, left]
        taken = [np.zeros((len(child), len(left))) for child, _ in tree.matchings]
        for sweep in range(1, SWEEPS + 1):
            for (child, parent), given in zip(tree.matchings, taken):
                now = np.maximum(given + 0.6 * (Z[child] - Z[parent]), 0.0)
                Z[child] -= now - given
                Z[parent] += now - given
                given[:] = now
            if sweep & (sweep - 1) and sweep < SWEEPS:
                continue  # after 1, 2, 4, 8, ... sweeps, see which rows are settled
            means, settled = _settled(S[:, left], Z, tree, np.concatenate(taken) > 0)
            S[:, left[settled]] = means[:, settled]
            left, Z, taken = left[~settled], Z[:, ~settled], [t[:, ~settled] for t in taken]
            if not len(left):
                break
        S[:, left] = Z
    _max(S, tree)  # what rounding leaves


def _settled(
    S: NDArray[np.float64], Z: NDArray[np.float64], tree: Hierarchy, active: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Means of the scores over the blocks of labels that active edges join, and if all is done."""
    child, parent = (np.concatenate(ends) for ends in zip(*tree.matchings))
    e, row = np.nonzero(active)
    n = S.shape[1]
    ends = child[e] * n + row, parent[e] * n + row
    graph = sparse.coo_array((np.ones(len(e)), ends), shape=(S.size, S.size))
    _, block = connected_components(graph, directed=False)
    means = (np.bincount(block, S.ravel()) / np.bincount(block))[block].reshape(S.shape)
    # Consistent scores are the nearest ones if they are no further than any can be: Z is the
    # minimum of the Lagrangian for what the edges took, which is at most the smallest distance.
    least = ((Z - S) ** 2).sum(axis=0) + 2 * ((S - Z) * Z).sum(axis=0)
    gap = ((means - S) ** 2).sum(axis=0) - least
    consistent = (means[child] <= means[parent] + 1e-12 * np.abs(S).max(initial=1)).all(axis=0)
    return means, consistent & (gap <= 1e-9 * (1 + (S**2).sum(axis=0)))


METHODS = {"isotonic": _isotonic, "max": _max, "min": _min}


def _by_names(names: Sequence[str], sep: str) -> dict[str, list[str]]:
    if not sep:
        raise ValueError("sep must not be empty")
    above: dict[str, list[str]] = {}
    for name in names:
        while sep in name:
            parent = name.rpartition(sep)[0]
            above[name] = [parent]
            name = parent
    return above


def _as_lists(parents: Any, names: Sequence[str]) -> dict[str, list[str]]:
    known = set(names)

    def name_of(label: Any) -> str:
        """A name; a number that is not a name is that of a column.

        Whole numbers may be floats, as in a table in which others are missing.
        """
        whole = isinstance(label, Real) and str(label) not in known and float(label).is_integer()
        label = int(label) if whole else label
        return names[label] if whole and 0 <= label < len(names) else str(label)

    above: dict[str, list[str]] = {}
    for pair in _child_parent_pairs(parents):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"parents must be pairs (child, parent), got {pair!r}")
        child, parent = pair
        if is_missing(parent) or (isinstance(parent, str) and parent == ""):  # a root
            continue
        above.setdefault(name_of(child), []).append(name_of(parent))
    return above


def _child_parent_pairs(parents: Any) -> list[Any]:
    if isinstance(parents, Mapping):
        pairs = []
        for child, given in parents.items():
            one = is_missing(given) or isinstance(given, str | Real)
            if not one and not isinstance(given, Iterable):
                raise ValueError(
                    f"parents must be names or numbers of labels, or lists of them, got {given!r} "
                    f"for {child!r}"
                )
            pairs += [(child, parent) for parent in ([given] if one else given)]
        return pairs
    if not hasattr(parents, "columns"):
        return list(parents)
    if len(parents.columns) != 2:
        raise ValueError(f"a table of parents must have two columns, got {len(parents.columns)}")
    return list(zip(*(parents[name].tolist() for name in parents.columns)))


def _nearest_labels(name: str, above: Mapping[str, list[str]], number: Any) -> list[str]:
    """The labels above a name, with no label between."""
    found: dict[str, None] = {}
    waiting, seen = list(above.get(name, ())), {name}
    while waiting:
        parent = waiting.pop()
        if parent in seen:
            continue
        seen.add(parent)
        if parent in number:
            found[parent] = None
        else:
            waiting += above.get(parent, ())
    return list(found)


def _no_parents(names: Sequence[str], above: Any, by_names: bool, sep: str) -> str:
    if by_names and above:
        name, (parent,) = next(iter(above.items()))
        return (
            f"no label has a parent among the labels: {parent!r}, the parent of {name!r}, is not "
            "a label; add it as a column of zeros, which HierarchicalClassifier fills, or pass "
            "parents"
        )
    if by_names:
        return (
            f"no label has a parent among the labels: none of the names has a part before "
            f"{sep!r} that is a label, as 'a' is for 'a{sep}b'; pass parents"
        )
    given = [*above, *(parent for parents in above.values() for parent in parents)]
    unknown = [name for name in given if name not in names]
    near = similar(unknown[0], names) if unknown else None
    return "no label has a parent among the labels" + (
        f"; {unknown[0]!r} is not a label" + (f", did you mean {near!r}?" if near else "")
        if unknown
        else ""
    )
