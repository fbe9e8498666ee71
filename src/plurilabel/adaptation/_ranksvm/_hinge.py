"""The pairwise hinge of Rank-SVM and its dual set, without a list of pairs.

Instance i with label set A and the other labels D has the loss

    h(z) = c sum_{k in A, l in D} max(0, 1 - z_k + z_l),   c = C / (|A| |D|).

Its dual variables alpha_kl in [0, c] enter the dual problem only by their sums

    beta_k = sum_l alpha_kl (k in A),   beta_l = - sum_k alpha_kl (l in D),

so that the set Z of these vectors is all there is to know about the pairs. Here are the loss, by
one sort, and the projection on Z, by splitting: both take q numbers for an instance, not |A| |D|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._blocks import row_blocks

Floats = NDArray[np.float64]
BLOCK = 2**17  # entries projected at once: the arrays of a round stay in the cache


def pairwise_hinge(z: Floats, Y: NDArray[np.bool_], c: Floats) -> float:
    """Sum of the losses h of the instances with scores z."""
    total = 0.0
    for rows in row_blocks(len(z), z.shape[1], BLOCK):
        v, y = z[rows] - Y[rows], Y[rows]
        order = v.argsort(axis=1)
        v, y = np.take_along_axis(v, order, axis=1), np.take_along_axis(y, order, axis=1)
        # each label of D against those of A below it
        below, sums = np.cumsum(y, axis=1), np.cumsum(np.where(y, v, 0.0), axis=1)
        total += float(c[rows] @ np.where(y, 0.0, below * v - sums).sum(axis=1))
    return total


@dataclass(frozen=True)
class Groups:
    """Entries of (n, q) whose projections move together, in groups of at least two.

    The derivative of the projection, Q, takes from a change of these entries its mean over each
    group; the change of every other entry it makes 0.
    """

    row: NDArray[np.intp]  # of each entry
    column: NDArray[np.intp]
    number: NDArray[np.intp]  # the group of each entry, from 0
    size: NDArray[np.intp]  # of each group

    def centred(self, v: Floats) -> Floats:
        """Q v, where v has the values of the entries."""
        return v - (np.bincount(self.number, v) / self.size)[self.number]


def project(w: Floats, Y: NDArray[np.bool_], c: Floats) -> tuple[Floats, Groups]:
    """Projection of each row of w on its set Z, and the groups that move together."""
    beta, q = np.empty_like(w), w.shape[1]
    entries, numbers, n_groups = [], [], 0
    for rows in row_blocks(len(w), q, BLOCK):
        x, entry, number = _proximal(w[rows], Y[rows], c[rows])
        # Moreau: the projection on Z, from the proximal map of its support function
        beta[rows] = w[rows] - x
        entries.append(entry + rows.start * q)
        numbers.append(number + n_groups)
        n_groups += int(number.max(initial=-1)) + 1
    number = np.concatenate(numbers)
    return beta, Groups(*np.divmod(np.concatenate(entries), q), number, np.bincount(number))


def _proximal(
    w: Floats, Y: NDArray[np.bool_], c: Floats
) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """argmin_x |x - w|^2 / 2 + c sum_{k in A, l in D} max(0, x_k - x_l), row by row.

    The decomposition algorithm for submodular functions (Groenevelt 1991), for all rows at once.
    A segment is a set of labels of one row. If its entries were all equal they would be their
    mean t; the set U of those above t in the solution minimises

        sum_{e in U} (t - w_e) + c |A in U| |D not in U|.

    If nothing is below 0, t is the solution. Otherwise the segment splits into U and the rest,
    and every k of A in U is pulled by every l of D in the rest with the full force c. Equal
    forces keep the order of A, and that of D: U has the i highest of A and, given i, those of D
    above t - c i. So the search is over i alone.

    Returns x, and the flat places of the entries that are equal to others with their groups.
    """
    n, q = w.shape
    x = w.ravel().copy()
    tied: list[NDArray[np.intp]] = []
    groups: list[NDArray[np.intp]] = []
    n_groups = 0
    # A goes down and D up: what is on the right side of all others stays, and that is most
    highest = np.where(Y, w, -np.inf).max(axis=1, keepdims=True)  # of A
    lowest = np.where(Y, np.inf, w).min(axis=1, keepdims=True)  # of D
    entry = np.flatnonzero(np.where(Y, w > lowest, w < highest))
    # entries of the open segments, segment by segment; A and D each in descending order
    entry = entry[_sorted_within(entry // q, -x[entry])]
    segment = entry // q
    value, in_A, force = x[entry], Y.ravel()[entry], c[segment]

    rounding = 1e-13 * np.abs(value).max(initial=0.0)

    while len(entry):
        start = np.flatnonzero(np.r_[True, segment[1:] != segment[:-1]])
        size = np.diff(np.r_[start, len(entry)])
        s = np.repeat(np.arange(len(start)), size)  # segment numbers without holes
        n_A = np.add.reduceat(in_A, start, dtype=np.intp)
        n_D = size - n_A

        t = (np.add.reduceat(value, start) / size)[s]
        above = value - t
        rank = _running(in_A.astype(np.intp), start)  # i, for the entries of A
        key = np.where(in_A, -force * rank, above)  # t - c i beside the entries of D
        merged = _sorted_within(s, -key)  # equal keys of A and D in any order: same cost
        D_above = np.empty(len(entry), dtype=np.intp)
        D_sum = np.empty(len(entry))
        D_above[merged] = _running((~in_A[merged]).astype(np.intp), start)
        D_sum[merged] = _running(np.where(in_A, 0.0, above)[merged], start)
        A_sum = _running(np.where(in_A, above, 0.0), start)
        cost = force * rank * (n_D[s] - D_above) - A_sum - D_sum
        cost[~in_A] = np.inf
        none = -np.add.reduceat(np.where(in_A, 0.0, np.maximum(above, 0.0)), start)  # i = 0
        best = np.minimum(np.minimum.reduceat(cost, start), none)
        i = np.minimum.reduceat(np.where(cost <= best[s], rank, q), start)
        i[none <= best] = 0

        upper = np.where(in_A, rank <= i[s], above > -force * i[s])
        n_up = np.add.reduceat(upper, start, dtype=np.intp)
        pure = (n_A == 0) | (n_D == 0)
        equal = ~pure & ((best >= -rounding) | (n_up == 0) | (n_up == size))
        alone, together = pure[s], equal[s]
        x[entry[alone]] = value[alone]
        x[entry[together]] = t[together]
        tied.append(entry[together])
        groups.append((np.cumsum(equal) - 1 + n_groups)[s[together]])
        n_groups += int(equal.sum())

        split = ~(pure | equal)[s]
        A_up = np.add.reduceat(upper & in_A, start, dtype=np.intp)
        D_low = np.add.reduceat(~upper & ~in_A, start, dtype=np.intp)
        value = value - np.where(upper & in_A, force * D_low[s], 0.0)
        value += np.where(~upper & ~in_A, force * A_up[s], 0.0)
        keep = np.flatnonzero(split)
        new = 2 * s[keep] + ~upper[keep]
        keep = keep[np.argsort(new, kind="stable")]
        segment = np.sort(new, kind="stable")
        entry, value, in_A, force = entry[keep], value[keep], in_A[keep], force[keep]
    none_yet = np.empty(0, dtype=np.intp)
    return x.reshape(n, q), np.concatenate([none_yet, *tied]), np.concatenate([none_yet, *groups])


def _sorted_within(segment: NDArray[np.intp], value: Floats) -> NDArray[np.intp]:
    """The order by segment, then by value."""
    order = np.argsort(value)
    small = segment[order].astype(np.min_scalar_type(int(segment.max(initial=0))))
    return order[np.argsort(small, kind="stable")]  # 16 bits are sorted by radix


def _running(values: NDArray[Any], start: NDArray[np.intp]) -> NDArray[Any]:
    """Cumulative sums that restart at each segment, without the rounding of a long sum."""
    values = values.copy()
    ends = np.add.reduceat(values, start)
    values[start[1:]] -= ends[:-1]
    return np.cumsum(values)
