"""Generate streams with drifts at known rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from itertools import pairwise
from numbers import Integral
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import (
    AtLeastOne,
    Interval,
    Natural,
    Share,
    StrOptions,
    all_constraints,
    validate_parameter_constraints,
)
from plurilabel.streams._stream import Drift, Row, Stream

_CANDIDATES = 16  # rows to choose from if the frequencies of labels change

# the distribution of rows between two drifts: draws features (n, d) and labels (n, q) at row t
Concept: TypeAlias = Callable[[np.random.Generator, int, int], tuple[Any, Any]]


@dataclass(eq=False, repr=False)
class GeneratedStream(Stream):
    """Base class of generators: when the stream drifts, and how.

    Parameters
    ----------
    n_rows : int, default=10000
    n_features : int, default=10
    n_labels : int, default=5
    drift : str, default="sudden"
        - "none": no drift;
        - "sudden": the concept changes from one row to the next;
        - "gradual": the share of rows from the new concept increases over ``width`` rows;
        - "recurring": two concepts alternate;
        - "labels": label frequencies change, while P(x | y) does not.
    drift_at : sequence of int, optional
        Rows at which drifts start; by default three, evenly spaced.
    width : int, optional
        Number of rows of a gradual drift; by default a twentieth of all rows.
    new_labels : int, default=0
        Number of labels that are unknown at first and appear one by one, each at a drift.
    noise : float, default=0.02
        Share of labels flipped at random.
    random_state : int, default=0
        Seed; each iteration gives the same rows.
    """

    kinds: ClassVar[tuple[str, ...]] = ("none", "sudden", "gradual", "recurring", "labels")
    _constraints: ClassVar[dict[str, Any]]

    n_rows: AtLeastOne = 10_000
    n_features: AtLeastOne = 10
    n_labels: AtLeastOne = 5
    _: KW_ONLY
    drift: str = "sudden"
    drift_at: Sequence[int] | None = None
    width: AtLeastOne | None = None
    new_labels: Natural = 0
    noise: Share = 0.02
    random_state: Natural = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._constraints = all_constraints(cls) | {"drift": [StrOptions(set(cls.kinds))]}

    def __post_init__(self) -> None:
        name, given = (
            type(self).__name__,
            {one.name: getattr(self, one.name) for one in fields(self)},
        )
        validate_parameter_constraints(self._constraints, given, caller_name=name)
        span = (self.width or max(1, self.n_rows // 20)) if self.drift == "gradual" else 0
        usual = [i * self.n_rows // 4 for i in (1, 2, 3)]
        rows = list(map(int, usual if self.drift_at is None else self.drift_at))
        rows = [] if self.drift in ("none", "moving") else rows
        if rows != sorted(set(rows)) or any(not 0 < row < self.n_rows for row in rows):
            between = f"ascending rows between 1 and {self.n_rows - 1}"
            raise ValueError(f"drift_at must be {between}, got {rows}")
        if any(b - a < span for a, b in pairwise(rows)):
            raise ValueError(f"width must fit between the drifts at {rows}, got {span}")
        if self.new_labels > min(len(rows), self.n_labels - 1):
            raise ValueError(
                f"new_labels must be at most the number of drifts, {len(rows)}, and less than the "
                f"number of labels, {self.n_labels}; got {self.new_labels}"
            )
        self.width, self.name = span, f"{name} ({self.drift})"
        self.drifts = tuple(Drift(row, span, self.drift) for row in rows)

    @abstractmethod
    def _concept(self, number: int) -> Concept:
        """The concept with this number, which depends only on random_state."""

    def _rng(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, *numbers])

    def made_of(self) -> Any:
        """The parameters."""
        return {
            "class": type(self).__name__,
            **{key: value for key, value in vars(self).items() if key != "drifts"},
            "drift_at": [drift.row for drift in self.drifts],
        }

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[Row]:
        features = [f"x{j}" for j in range(self.n_features)]
        labels = [f"label{l}" for l in range(self.n_labels)]
        fixed = self.drift == "labels"
        several = 1 if fixed else 2 if self.drift == "recurring" else len(self.drifts) + 1
        concepts = [self._concept(number) for number in range(several)]
        favours = [self._favours(phase) for phase in range(len(self.drifts) + 1)]
        rng = self._rng(0)
        for t in range(self.n_rows):
            phase = self._phase(t, rng)
            X, Y = concepts[phase % several](rng, _CANDIDATES if fixed else 1, t)
            chosen = 0
            if fixed:  # P(x | y) stays: rows are chosen by their labels alone
                weights = np.exp(Y @ favours[phase])
                chosen = rng.choice(_CANDIDATES, p=weights / weights.sum())
            y = Y[chosen] ^ (rng.random(self.n_labels) < self.noise)
            known = self.n_labels - self.new_labels + min(phase, self.new_labels)
            x: dict[Hashable, Any] = dict(zip(features, X[chosen].tolist()))
            yield x, dict(zip(labels[:known], y.tolist()))

    def _phase(self, t: int, rng: np.random.Generator) -> int:
        """Number of drifts before row t."""
        phase = sum(t >= drift.row for drift in self.drifts)
        if phase and self.width:
            into = t - self.drifts[phase - 1].row
            if into < self.width and rng.random() >= (into + 1) / (self.width + 1):
                return phase - 1
        return phase

    def _favours(self, phase: int) -> NDArray[np.float64]:
        """Log weights of the labels; zero in the first phase."""
        favours = np.zeros(self.n_labels)
        if phase:
            some = max(1, self.n_labels // 3)
            order = self._rng(2, phase).permutation(self.n_labels)
            favours[order[:some]], favours[order[some : 2 * some]] = 2.0, -2.0
        return favours


@dataclass(eq=False, repr=False, kw_only=True)
class RandomTreeStream(GeneratedStream):
    """Label sets at the leaves of a random tree, with another tree for each concept.

    Features are uniform between 0 and 1.

    Parameters
    ----------
    n_rows, n_features, n_labels, drift, drift_at, width, new_labels, noise, random_state :
        As in :class:`GeneratedStream`.
    depth : int, default=4
        Depth of the trees, which have ``2 ** depth`` leaves.

    Examples
    --------
    >>> from plurilabel.streams import RandomTreeStream
    >>> stream = RandomTreeStream(1000, n_features=3, n_labels=2, drift="gradual", random_state=1)
    >>> stream.drifts[0]
    Drift(row=250, width=50, kind='gradual')
    >>> x, y = next(iter(stream))
    >>> sorted(x), sorted(y)
    (['x0', 'x1', 'x2'], ['label0', 'label1'])
    """

    depth: Annotated[int, Interval(Integral, 1, 16, closed="both")] = 4

    def _concept(self, number: int) -> Concept:
        rng, d, inner = self._rng(1, number), self.n_features, 2**self.depth - 1
        feature, cut = rng.integers(0, d, inner), np.empty(inner)
        low, high = np.zeros((2 * inner + 1, d)), np.ones((2 * inner + 1, d))
        for node in range(inner):  # cuts in the middle half of a cell: no leaf is empty
            j = feature[node]
            share = rng.uniform(0.25, 0.75)
            cut[node] = low[node, j] + share * (high[node, j] - low[node, j])
            for side, child in enumerate((2 * node + 1, 2 * node + 2)):
                low[child], high[child] = low[node], high[node]
                (low if side else high)[child, j] = cut[node]
        sets = _label_sets(rng, (high - low)[inner:].prod(axis=1), self.n_labels)

        def draw(rng: np.random.Generator, n: int, t: int) -> tuple[Any, Any]:  # noqa: ARG001
            X = rng.random((n, d))
            node, rows = np.zeros(n, dtype=np.intp), np.arange(n)
            for _ in range(self.depth):
                node = 2 * node + 1 + (X[rows, feature[node]] > cut[node])
            return X, sets[node - inner]

        return draw


def _label_sets(rng: np.random.Generator, shares: NDArray[Any], q: int) -> NDArray[np.bool_]:
    """Label sets of parts of the space, in which all labels are about equally frequent."""
    # so that concepts are about equally hard, and results before and after a drift comparable
    sets = np.zeros((len(shares), q), dtype=bool)
    for l in range(q):
        order = rng.permutation(len(shares))
        before = np.cumsum(shares[order]) - shares[order] / 2
        sets[order[before < 0.4], l] = True
    return sets


@dataclass(eq=False, repr=False, kw_only=True)
class MovingCentreStream(GeneratedStream):
    """Clusters of instances around centres, each with a label set.

    With ``drift="moving"``, the centres move through the unit cube all the time; with other kinds
    of drift, they are replaced.

    Parameters
    ----------
    n_rows, n_features, n_labels, drift, drift_at, width, new_labels, noise, random_state :
        As in :class:`GeneratedStream`, and "moving" for ``drift``.
    n_centres : int, default=20
    spread : float, default=0.1
        Standard deviation of each feature around a centre.
    speed : float, default=0.0005
        Distance that a centre moves with each row.

    Examples
    --------
    >>> from plurilabel.streams import MovingCentreStream
    >>> stream = MovingCentreStream(500, drift="moving")
    >>> stream.drifts
    (Drift(row=0, width=500, kind='moving'),)
    >>> len(list(stream))
    500
    """

    kinds = (*GeneratedStream.kinds, "moving")

    n_centres: AtLeastOne = 20
    spread: float = 0.1
    speed: float = 0.0005

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drift == "moving":
            self.drifts = (Drift(0, self.n_rows, "moving"),)

    def _concept(self, number: int) -> Concept:
        rng, k = self._rng(1, number), self.n_centres
        centres, way = rng.random((k, self.n_features)), rng.standard_normal((k, self.n_features))
        speed = self.speed if self.drift == "moving" else 0.0
        way = speed * way / np.linalg.norm(way, axis=1, keepdims=True)
        sets = _label_sets(rng, np.full(k, 1 / k), self.n_labels)

        def draw(rng: np.random.Generator, n: int, t: int) -> tuple[Any, Any]:
            which = rng.integers(0, k, n)
            place = centres[which] + t * way[which]
            place = 1 - np.abs(np.mod(place, 2) - 1)  # reflected at the walls of the cube
            return place + self.spread * rng.standard_normal(place.shape), sets[which]

        return draw

    def _phase(self, t: int, rng: np.random.Generator) -> int:
        return 0 if self.drift == "moving" else super()._phase(t, rng)


@dataclass(eq=False, repr=False, kw_only=True)
class LabelDependenceStream(GeneratedStream):
    """Pairs of labels whose dependence changes, while their marginal distributions do not.

    Labels depend linearly on normal features, plus an error. The errors of labels 0 and 1, 2 and
    3, and so on are correlated, and the sign of the correlation changes with each drift. Since
    P(label | x) does not change, only learners that model label sets are affected.

    Parameters
    ----------
    n_rows, n_features, n_labels, drift, drift_at, width, new_labels, noise, random_state :
        As in :class:`GeneratedStream`.
    correlation : float, default=0.95
        Absolute value of the correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.streams import LabelDependenceStream
    >>> stream = LabelDependenceStream(2000, n_labels=2, drift_at=[1000])
    >>> Y = np.array([list(y.values()) for _, y in stream])
    >>> bool((Y[:1000, 0] == Y[:1000, 1]).mean() > (Y[1000:, 0] == Y[1000:, 1]).mean() + 0.2)
    True
    """

    correlation: Share = 0.95

    def _concept(self, number: int) -> Concept:
        rho = -self.correlation if number % 2 else self.correlation
        d, q = self.n_features, self.n_labels
        W = self._rng(1).standard_normal((d, q))
        W /= np.linalg.norm(W, axis=0)

        def draw(rng: np.random.Generator, n: int, t: int) -> tuple[Any, Any]:  # noqa: ARG001
            X, errors = rng.standard_normal((n, d)), rng.standard_normal((n, q))
            left, right = errors[:, 0 : q - 1 : 2], errors[:, 1::2]
            errors[:, 1::2] = rho * left + np.sqrt(1 - rho**2) * right
            return X, X @ W + errors > 0.5

        return draw
