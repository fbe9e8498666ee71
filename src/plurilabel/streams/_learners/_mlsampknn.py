"""MLSAMPkNN: self-adjusting windows of neighbors, which are punished for wrong votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import AtLeastTwo, Interval, NotNegative, Share
from plurilabel._core.fitted import Declared, numbers, places
from plurilabel.streams._learners._window import Before, Slots, Window
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels, StreamClassifier

PULL = 5.0  # rows by which the F1 of a label is smoothed towards that of all labels
CUTS = np.array([0.5, 0.4, 0.3, 0.2])  # candidate thresholds for the share of votes
FEW = 10  # with fewer features, all members use all of them


class SelfAdjusting(Window):
    """Members that vote; each chooses a window and a k for each label by recent F1.

    Windows have ``size`` rows, half as many, and so on down to ``smallest``. A neighbor is removed
    at a charge of 1; ``penalty`` is the charge if all labels are wrong. If there are several
    members, each has random features and rows.
    """

    _fitted: ClassVar[Declared] = {
        "alive": numbers("members", "size"),
        "charges": numbers("members", "size"),
        "masks": numbers("members", "d"),
        "shares": numbers("members"),
        "occurrences": numbers("d"),
        "sizes": numbers("windows"),
        "ks": places("counts", below="size+1"),
        "gains": numbers(len(CUTS)),
        "norms": numbers("size", "members"),
        "tallies": numbers(3, "members", "windows", "counts", "q"),
        "best": numbers("members", "q"),
        "skill": numbers("members"),
    }

    def __init__(
        self,
        size: int,
        smallest: int,
        metric: str,
        ks: tuple[int, ...],
        penalty: float,
        fading: float,
        members: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(size, "euclidean")
        self.closeness = metric
        sizes = [size]
        while sizes[-1] // 2 >= smallest:
            sizes.append(sizes[-1] // 2)
        self.sizes = np.array(sizes)
        self.ks = np.array(sorted(ks))
        self.penalty, self.fading, self.rng = penalty, fading, rng
        self.alive = np.zeros((members, size), dtype=bool)
        self.charges = np.zeros((members, size))
        self.masks = np.zeros((members, 0))  # 1 for the features of a member
        self.shares = np.ones(1) if members == 1 else rng.uniform(0.5, 1.0, members)
        self.norms = np.zeros((size, members))  # squared, over the features of each member
        # recent true positives, false positives and false negatives
        self.tallies = np.zeros((3, members, len(sizes), len(self.ks), 0))
        self.best = np.zeros((members, 0), dtype=np.intp)  # window and k of each label, as one
        self.skill = np.ones(members)
        self.gains = np.zeros(len(CUTS))  # recent skill with each threshold
        self.occurrences = np.zeros(0)  # rows in which each feature was not 0

    def widen(self, x: Floats, y: Labels) -> None:
        super().widen(x, y)
        if not self.is_sparse:
            self.points = np.asfortranarray(self.points)  # read feature by feature
        members, d, q = len(self.masks), self.d_, self.labels.shape[1]
        if (more := d - self.masks.shape[1]) > 0:
            drawn = self.rng.random((members, more)) < self.shares[:, None]
            self.masks = np.hstack([self.masks, drawn | (d < FEW)])
            self.occurrences = np.append(self.occurrences, np.zeros(more))
        if (more := q - self.tallies.shape[-1]) > 0:
            new = np.zeros((*self.tallies.shape[:-1], more))
            self.tallies = np.concatenate([self.tallies, new], axis=-1)
            self.best = np.hstack([self.best, np.zeros((members, more), dtype=np.intp)])

    def _suits_sparse(self, x: Floats) -> bool:
        return self.closeness != "euclidean" and super()._suits_sparse(x)

    @property
    def _sparse(self) -> bool:
        return 2 * self.occurrences.sum() < self.seen * len(self.occurrences)

    def _dissimilarities(self, point: Floats) -> Floats:
        """Dissimilarities between a row and the window, (members, n); inf for removed rows."""
        n = self.n
        if self.closeness == "cosine" or (self.closeness == "auto" and self._sparse):
            at = np.flatnonzero(point)
            lengths = np.sqrt(self.norms[:n].T * (self.masks[:, at] @ point[at] ** 2)[:, None])
            if self.is_sparse:
                places = self.stored[:n]
                dots = self._sums((self.points[:n] * point.take(places)).T, places.T)
            else:
                dots = self._sums(self.points[:n, at].T * point[at, None], at[:, None])
            found = 1 - np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        else:  # by differences: expanded squares lose all digits far from the origin
            terms = (self.dense(slice(n)).T - point[:, None]) ** 2
            found = self._sums(terms, np.arange(self.d_)[:, None])
        return np.where(self.alive[:, :n], found, np.inf)

    def _sums(self, terms: Floats, places: Slots) -> Floats:
        """Sums of terms (m, n) in these places over the features of each member, (members, n)."""
        # in the order of the features, as in ``ExactIndex``, so that equal rows are equally near
        terms = np.ascontiguousarray(terms)
        if self.masks.all():
            return np.broadcast_to(terms.sum(axis=0), (len(self.masks), terms.shape[1]))
        return np.array([(terms * mask[places]).sum(axis=0) for mask in self.masks])

    def _votes(self, point: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Shares of neighbors with each label, (members, windows, ks, q), and the neighbors."""
        # The neighbors, (members, windows, k), are slots; -1 where the window has no more.
        most, starts, born = int(self.ks[-1]), self.seen - self.sizes, self.born[: self.n]
        slots = np.full((len(self.masks), len(self.sizes), most), -1, dtype=np.intp)
        for m, found in enumerate(self._dissimilarities(point)):
            # no window needs rows farther away than those of the shortest
            youngest, limit = found[born >= starts[-1]], np.inf
            if len(youngest) >= most:
                limit = np.partition(youngest, most - 1)[most - 1]
            near = np.flatnonzero((found <= limit) & (found < np.inf))
            near = near[np.lexsort((-born[near], found[near]))]
            ages = born[near]
            for w, start in enumerate(starts):
                first = (near if w == 0 else near[ages >= start])[:most]
                slots[m, w, : len(first)] = first
        have = (self.labels[slots] == 1) & (slots >= 0)[..., None]
        sums = have.cumsum(axis=2, dtype=np.int32)[:, :, self.ks - 1]
        there = np.minimum((slots >= 0).sum(axis=2)[:, :, None], self.ks)
        return sums / np.maximum(there, 1)[..., None], slots

    def _chosen(self, votes: Floats) -> Floats:
        """Votes with the window and k chosen by each member, (members, q)."""
        flat = votes.reshape(len(votes), -1, votes.shape[-1])
        return np.take_along_axis(flat, self.best[:, None, :], axis=1)[:, 0]

    def score(self, x: Floats) -> Floats:
        if self.n == 0:
            return np.zeros(self.labels.shape[1])
        share = self._combined(self._chosen(self.kept(self._votes, self.prepared(x))[0]))
        cut = CUTS[self.gains.argmax()]  # mapped to 0.5
        above = 0.5 + (share - cut) / (1 - cut) / 2
        return np.clip(np.where(share > cut, above, share / cut / 2), 0.0, 1.0)

    def _combined(self, votes: Floats) -> Floats:
        """Mean of the members' votes (members, q), weighted by their skill."""
        if len(votes) == 1 or not self.skill.any():
            return votes.mean(axis=0)
        return self.skill @ votes / self.skill.sum()

    def learn(self, x: Floats, y: Labels) -> None:
        """Evaluate the prediction for a row, punish neighbors, and add the row."""
        before, drawn = Before(self, SelfAdjusting._fitted), self.rng.bit_generator.state
        try:
            self._learn(x, y, before)
        except BaseException:
            before.restore()
            self.rng.bit_generator.state = drawn
            raise

    def _learn(self, x: Floats, y: Labels, before: Before) -> None:
        self.widen(x, y)
        point = self.prepared(x)
        if self.n:
            votes, slots = self.kept(self._votes, point)
            self._judge(votes, slots, y)
        slot = self.n
        if slot == self.size:
            free = np.flatnonzero(~self.alive.any(axis=0))
            slot = int(free[0]) if len(free) else int(self.born.argmin())
        self.put(slot, point, y, before)
        members = len(self.masks)
        self.alive[:, slot] = members == 1 or self.rng.poisson(1.0, members) > 0
        self.charges[:, slot] = 0
        at = np.flatnonzero(point)
        self.norms[slot] = self.masks[:, at] @ point[at] ** 2
        self.occurrences += point != 0

    def _judge(self, votes: Floats, slots: Slots, y: Labels) -> None:
        known, true = y != UNKNOWN, y == 1
        predicted = votes > 0.5
        shares = self._chosen(votes)
        chosen = shares > 0.5
        wrong = (chosen != true) & known  # (members, q)
        cut = self._combined(shares) > CUTS[:, None]
        self.gains += (1 - self.fading) * (goodness(cut, true, known) - self.gains)
        self._learned(goodness(chosen, true, known))
        if self.penalty:
            self._punish(slots, wrong, y)
        self.tallies *= np.where(known, self.fading, 1.0)
        counts = (predicted & true, predicted & ~true, ~predicted & true)
        for tally, is_so in zip(self.tallies, counts):
            tally += is_so & known
        tp, fp, fn = self.tallies
        micro = [tally.sum(axis=-1, keepdims=True) for tally in (tp, fp, fn)]
        overall = 2 * micro[0] / np.maximum(2 * micro[0] + micro[1] + micro[2], 1e-9)
        f1 = (2 * tp + PULL * overall) / (2 * tp + fp + fn + PULL)
        self.best = f1.reshape(len(f1), -1, f1.shape[-1]).argmax(axis=1)

    def _learned(self, right: Floats) -> None:
        """Hook, called with the skill of the members on a row."""

    def _punish(self, slots: Slots, wrong: NDArray[np.bool_], y: Labels) -> None:
        """Charge neighbors for votes that led to errors, and forget those charged with 1."""
        # Votes for a label that the row has reduce the charge. The shortest window stays complete.
        window = self.best // len(self.ks)
        known = max(int((y != UNKNOWN).sum()), 1)
        for m, at in enumerate(wrong | (y == 1)):
            if self.alive[m].sum() <= self.sizes[-1]:
                continue
            for w in np.unique(window[m, at]):
                voters = slots[m, w][slots[m, w] >= 0]
                here = at & (window[m] == w)
                agree = self.labels[voters][:, here] == y[here]
                against = (~agree & wrong[m, here]).sum(axis=1)
                change = self.penalty * (against - agree.sum(axis=1)) / known
                self.charges[m, voters] = np.maximum(self.charges[m, voters] + change, 0)
            self.alive[m] &= self.charges[m] < 1


def goodness(
    predicted: NDArray[np.bool_], true: NDArray[np.bool_], known: NDArray[np.bool_]
) -> Floats:
    """Mean of subset accuracy and example F1 of several predictions (m, q) for one row."""
    hits = (predicted & true & known).sum(axis=1)
    both = (predicted & known).sum(axis=1) + (true & known).sum()
    f1 = np.where(both > 0, 2 * hits / np.maximum(both, 1), 1.0)
    return (f1 + ((predicted == true) | ~known).all(axis=1)) / 2


@dataclass(eq=False, repr=False)
class MLSAMPkNN(StreamClassifier):
    """Nearest neighbors with self-adjusting memory, punished for wrong votes.

    Each label is predicted by a majority vote of the k nearest rows in a window. Windows of
    ``window_size`` rows, half as many, and so on down to ``min_window`` are tested on each new row
    before it is learned: each label uses the window and the k with the best recent F1. A neighbor
    is charged for each vote that led to a wrong prediction, and forgotten if its charge gets too
    high.

    Parameters
    ----------
    n_neighbors : int or sequence of int, default=(1, 3, 5, 7)
        Candidate values of k for each label.
    window_size : int, default=1000
        Number of rows in the longest window.
    min_window : int, default=50
        Number of rows in the shortest window.
    penalty : float, default=1.0
        A neighbor is charged ``penalty / q`` for a vote that led to an error on one of q labels,
        credited as much for a correct vote on a label that is present, and forgotten at a charge
        of 1; 0 for no punishment.
    fading : float, default=0.99
        Factor by which the weight of past rows decreases with each row.
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        "auto" is cosine if the rows so far are mostly zeros, as for texts, else Euclidean.

    Attributes
    ----------
    core_ : object
        The memory; ``core_.sizes`` and ``core_.ks`` are the candidate windows and numbers of
        neighbors.

    Notes
    -----
    Departures from the paper. The paper has a single k (3), and discards older rows for good when
    a shorter window is better; here rows are only removed by age or punishment, so that a longer
    window can be used again. Correct votes reduce charges, since otherwise all neighbors would be
    forgotten if there are few labels. The k of each label is chosen, as in the authors' later
    MLSAkNN, and so is the share of votes above which labels are predicted (0.2 to 0.5). Windows
    are compared by F1, because never predicting rare labels would give the fewest errors. The
    published program uses the true labels during prediction; here they are only used in
    ``learn_one`` and ``partial_fit``.

    References
    ----------
    M. Roseberry, B. Krawczyk, A. Cano. Multi-label punitive kNN with self-adjusting memory for
    drifting data streams. ACM Transactions on Knowledge Discovery from Data 13(6), 2019.

    M. Roseberry, B. Krawczyk, Y. Djenouri, A. Cano. Self-adjusting k nearest neighbors for
    continual learning from multi-label drifting data streams. Neurocomputing 442, 2021.

    Examples
    --------
    >>> from plurilabel import MLSAMPkNN
    >>> learner = MLSAMPkNN()
    >>> for i in range(300):
    ...     learner.learn_one({"x": i % 10}, {"low": i % 10 < 5, "late": i >= 150})
    >>> learner.predict_one({"x": 8})
    {'low': False, 'late': True}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), "array-like"],
    }

    n_neighbors: int | Sequence[int] = (1, 3, 5, 7)
    _: KW_ONLY
    window_size: AtLeastTwo = 1000
    min_window: AtLeastTwo = 50
    penalty: NotNegative = 1.0
    fading: Share = 0.99
    metric: Literal["auto", "euclidean", "cosine"] = "auto"

    def _new_core(self) -> SelfAdjusting:
        return SelfAdjusting(*self._settings(), members=1, rng=np.random.default_rng(0))

    def _settings(self) -> tuple[int, int, str, tuple[int, ...], float, float]:
        most = f"must be at most window_size={self.window_size}"
        if self.min_window > self.window_size:
            raise ValueError(f"min_window {most}, got {self.min_window}")
        ks = np.unique(np.atleast_1d(np.asarray(self.n_neighbors)))
        if ks.dtype.kind not in "iu" or not len(ks) or ks[0] < 1:
            raise ValueError(f"n_neighbors must be positive integers, got {self.n_neighbors!r}")
        if ks[-1] > self.window_size:
            raise ValueError(f"n_neighbors {most}, got {ks[-1]}")
        sizes = self.window_size, self.min_window
        return *sizes, self.metric, tuple(ks.tolist()), self.penalty, self.fading
