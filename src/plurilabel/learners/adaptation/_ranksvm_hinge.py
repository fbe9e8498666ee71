"""The pairwise hinge of Rank-SVM and its dual set, without a list of pairs.

Instance i with label set A and the other labels D has the loss

    h(z) = c sum_{k in A, l in D} max(0, 1 - z_k + z_l),   c = C / (|A| |D|).

Its dual variables alpha_kl in [0, c] enter the dual problem only by their sums

    beta_k = sum_l alpha_kl (k in A),   beta_l = - sum_k alpha_kl (l in D),

so that the set Z of these vectors says all about the pairs. This module computes the loss, by one
sort, and the projection on Z: both take q numbers for an instance, not |A| |D|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from plurilabel._core.blocks import row_blocks

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
BLOCK = 2**17  # entries projected at once: small enough for the cache


@dataclass(frozen=True)
class LabelSets:
    """The labels that each instance is known to have and to lack, and the weight of its pairs."""

    A: NDArray[np.bool_]  # (n, q)
    D: NDArray[np.bool_]  # (n, q)
    c: Floats  # (n,)

    @property
    def n_pairs(self) -> Ints:
        """|A| |D| of each instance."""
        return self.A.sum(axis=1) * self.D.sum(axis=1)

    def before(self) -> NDArray[np.bool_]:
        """Whether some instance has label k and lacks label l, (q, q)."""
        return np.asarray(self.A.T.astype(np.float64) @ self.D > 0)

    def parts(self) -> Ints:
        """The connected component (q,) of each label; one component if all labels are known."""
        return np.asarray(connected_components(self.before(), directed=False)[1])


def pairwise_hinge(z: Floats, sets: LabelSets) -> float:
    """Sum of the losses h of the instances with scores z."""
    total = 0.0
    for rows in row_blocks(len(z), z.shape[1], BLOCK):
        A, D = sets.A[rows], sets.D[rows]
        v = z[rows] - A
        order = v.argsort(axis=1)
        v = np.take_along_axis(v, order, axis=1)
        A, D = np.take_along_axis(A, order, axis=1), np.take_along_axis(D, order, axis=1)
        # each label of D against those of A below it
        below, sums = np.cumsum(A, axis=1), np.cumsum(np.where(A, v, 0.0), axis=1)
        total += float(sets.c[rows] @ np.where(D, below * v - sums, 0.0).sum(axis=1))
    return total


@dataclass(frozen=True)
class Groups:
    """Entries of (n, q) whose projections move together, in groups of at least two.

    The derivative Q of the projection subtracts from a change of these entries its mean over each
    group, and sets the change of every other entry to 0.
    """

    row: Ints  # of each entry
    column: Ints
    number: Ints  # the group of each entry, from 0
    size: Ints  # of each group

    def centred(self, v: Floats) -> Floats:
        """Q v, for the values v of the entries."""
        return v - (np.bincount(self.number, v) / self.size)[self.number]

    def summed(self, weight: Floats, q: int) -> Floats:
        """Sum over the rows of weight times Q, (q, q)."""
        w = weight[self.row]
        root = np.sqrt(w / self.size[self.number])
        shape = len(self.size), q
        means = sparse.csr_array((root, (self.number, self.column)), shape=shape)
        diagonal = np.bincount(self.column, w, minlength=q)
        return np.diag(diagonal) - (means.T @ means).toarray()


def project(w: Floats, sets: LabelSets) -> tuple[Floats, Groups]:
    """Project each row of w on its set Z; also return the groups that move together."""
    beta, q = np.empty_like(w), w.shape[1]
    entries, numbers, n_groups = [], [], 0
    for rows in row_blocks(len(w), q, BLOCK):
        x, entry, number = _proximal(w[rows], sets.A[rows], sets.D[rows], sets.c[rows])
        # Moreau: the projection on Z, from the proximal map of its support function
        beta[rows] = w[rows] - x
        entries.append(entry + rows.start * q)
        numbers.append(number + n_groups)
        n_groups += int(number.max(initial=-1)) + 1
    number = np.concatenate(numbers)
    return beta, Groups(*np.divmod(np.concatenate(entries), q), number, np.bincount(number))


def _proximal(
    w: Floats, A: NDArray[np.bool_], D: NDArray[np.bool_], c: Floats
) -> tuple[Floats, Ints, Ints]:
    """argmin_x |x - w|^2 / 2 + c sum_{k in A, l in D} max(0, x_k - x_l), row by row.

    A pair with x_k > x_l pulls both with the full force c, an equal pair with at most c. Forces
    keep the order of A, and that of D. So an l of D with i labels of A above it is at w_l + c i,
    unless it meets the next label of A and stays there. A block of A, s labels at the same place x
    with i others above them, is pulled by all it has passed or met:

        sum_{k in block} w_k = s x + sum_{l in D} clip(x - w_l - c i, 0, c s),

    whose right side grows with x and does not depend on other blocks. Each label of A starts as
    a block, and blocks in the wrong order are merged, as in isotonic regression.

    Returns x, and the flat indices of the entries that equal others, with their groups.
    """
    n, q = w.shape
    order = np.where(D, w, np.inf).argsort(axis=1)
    d = np.take_along_axis(w, order, axis=1)  # D in ascending order, then others
    sums = np.zeros((n, q + 1))
    np.cumsum(d, axis=1, out=sums[:, 1:])
    n_D = D.sum(axis=1)

    # blocks of A, row by row and from above
    flat = np.flatnonzero(A)
    row, value = flat // q, w.ravel()[flat]
    flat = flat[np.lexsort((-value, row))]
    total, size = w.ravel()[flat], np.ones(len(flat), dtype=np.intp)
    above = np.arange(len(flat)) - np.searchsorted(row, np.arange(n))[row]
    met, passed = np.zeros_like(row), np.zeros_like(row)
    x, new = np.empty(len(row)), np.ones(len(row), dtype=bool)
    while True:
        at = row[new]
        found = _places(d, sums, n_D, at, total[new], size[new], above[new], c[at])
        x[new], met[new], passed[new] = found
        wrong = (row[1:] == row[:-1]) & (x[1:] > x[:-1])
        if not wrong.any():
            break
        first = np.flatnonzero(np.r_[True, ~wrong])
        total, size = np.add.reduceat(total, first), np.add.reduceat(size, first)
        new = np.add.reduceat(np.r_[False, wrong], first, dtype=np.intp) > 0
        row, above, x, met, passed = (each[first] for each in (row, above, x, met, passed))

    # rounding must not make two blocks meet the same label
    same = np.flatnonzero(row[1:] == row[:-1]) + 1
    met[same] = np.maximum(np.minimum(met[same], passed[same - 1]), passed[same])

    # pull the labels of D by the blocks that passed them; then place those that met a block
    forces = np.bincount(row * (q + 1) + passed, size, n * (q + 1)).reshape(n, q + 1)[:, :0:-1]
    moved = np.where(np.arange(q) < n_D[:, None], forces.cumsum(axis=1)[:, ::-1], 0.0)
    d += c[:, None] * moved
    n_met = met - passed
    block = np.repeat(np.arange(len(row)), n_met)
    place = np.arange(len(block)) + np.repeat(passed - n_met.cumsum() + n_met, n_met)
    place += row[block] * q
    d.ravel()[place] = x[block]
    result = np.empty_like(w)
    np.put_along_axis(result, order, d, axis=1)
    of_A = np.repeat(np.arange(len(row)), size)
    result.ravel()[flat] = x[of_A]

    together = size + n_met > 1
    number = np.cumsum(together) - 1
    stays = order.ravel()[place] + row[block] * q
    entry, block = np.concatenate([flat, stays]), np.concatenate([of_A, block])
    kept = together[block]
    return result, entry[kept], number[block[kept]]


def _places(
    d: Floats, sums: Floats, n_D: Ints, row: Ints, total: Floats, size: Ints, i: Ints, c: Floats
) -> tuple[Floats, Ints, Ints]:
    """Where blocks of A come to rest, and how many of the ordered D they reach and pass."""
    # The right side of the equation bends at w_l + c i, where l is reached, and at
    # w_l + c (i + s), where it is passed: binary searches find the last of each.
    q = d.shape[1]
    d, sums, start, start_sums = d.ravel(), sums.ravel(), row * q, row * (q + 1)
    begin, width = c * i, c * size
    most = n_D[row]

    def right_side(x: Floats, reached: Ints, passed: Ints) -> Floats:
        pulled = (reached - passed) * (x - begin) + passed * width
        return size * x + pulled - (sums[start_sums + reached] - sums[start_sums + passed])

    def last(holds: Callable[[Ints], NDArray[np.bool_]], most: Any) -> Any:
        """The largest number, at most ``most``, for which it holds; 0 if for none."""
        low, high = np.zeros(len(row), dtype=np.intp), most
        for _ in range(int(np.max(most, initial=0)).bit_length()):
            middle = (low + high + 1) // 2
            above = holds(np.maximum(middle, 1)) & (middle > low)
            low, high = np.where(above, middle, low), np.where(above, high, middle - 1)
            high = np.maximum(high, low)
        return low

    def reaches(number: Ints) -> NDArray[np.bool_]:
        w_l = d[start + number - 1]
        passed = last(lambda other: d[start + other - 1] <= w_l - width, number)
        return right_side(w_l + begin, number, passed) < total

    reached = last(reaches, most)
    next_l = np.where(reached < most, d[np.minimum(start + reached, len(d) - 1)], np.inf)

    def passes(number: Ints) -> NDArray[np.bool_]:
        w_l = d[start + number - 1] + width
        return (right_side(w_l + begin, reached, number) < total) & (w_l < next_l)

    passed = last(passes, reached)
    pulled = sums[start_sums + reached] - sums[start_sums + passed]
    n_met = reached - passed
    x = (total + pulled + n_met * begin - passed * width) / (size + n_met)
    return x, reached, passed
