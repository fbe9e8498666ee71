"""Assign rows, or whole groups of rows, to parts so that labels are evenly distributed.

A row goes to the part that needs its labels most: the part j with the smallest

    sum over the labels l of the row of  (got_jl + 1/2) / want_jl,

where ``want_jl`` is the part's share of label l. This step minimizes
``sum_jl (got_jl - want_jl)^2 / want_jl``, and for a single label it is Webster's method of
allocating seats to parties. The size of a part is one more label, which every row has.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from plurilabel._core.base import is_tags, tag_matrix
from plurilabel._core.blocks import csr_of_rows, ranges
from plurilabel._core.soft import soft_or_hard
from plurilabel._core.unknown import known_part

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
_ROUNDING = 1e-12


def label_sets(y: Any) -> sparse.csr_array:
    """The labels of y in CSR form; a 1-D y has one label per class."""
    if y is None:
        raise ValueError("y must be given: splits are stratified by its labels")
    y = known_part(y)[0]  # unknown labels count as absent
    if is_tags(y):
        y, _ = tag_matrix(y)
    if not sparse.issparse(y) and np.asarray(y).ndim == 1:
        check_classification_targets(y)
        classes, code = np.unique(y, return_inverse=True)
        ones = np.ones(len(code), dtype=np.int8)
        return csr_of_rows(ones, code, ones, len(classes))
    Y = soft_or_hard(y, name="y")
    if sparse.issparse(Y) or Y.dtype.kind == "f":
        return sparse.csr_array(Y)
    ones = Y.view(np.bool_)  # four times faster than SciPy's conversion
    columns = np.flatnonzero(ones) % max(Y.shape[1], 1)
    sizes = np.count_nonzero(ones, axis=1)
    return csr_of_rows(np.ones(len(columns), np.int8), columns, sizes, Y.shape[1])


def group_numbers(groups: Any) -> NDArray[np.intp]:
    """Groups of any type as numbers from 0."""
    if groups is None:
        raise ValueError("groups must be given: one group for each row")
    if isinstance(groups, str) or np.ndim(groups) != 1:
        raise ValueError(f"groups must have one group for each row, got shape {np.shape(groups)}")
    groups = column_or_1d(check_array(groups, input_name="groups", ensure_2d=False, dtype=None))
    try:
        return np.unique(groups, return_inverse=True)[1]
    except TypeError:
        kinds = sorted({type(group).__name__ for group in groups})
        message = f"groups must be of one type, got {' and '.join(kinds)}"
        raise ValueError(message) from None


def deal_rows(Y: sparse.csr_array, sizes: Ints, random_state: Any = None) -> Ints:
    """Part of each row of Y (n, q), in canonical CSR; the sizes of the parts sum to n."""
    # Without ``random_state``, rows with equal label sets are dealt in order.
    Y = _used_labels(Y)
    if random_state is None:
        return _deal_in_order(Y, sizes)
    # shuffle the parts too, or ties would always favor the first
    rows, parts = random_state.permutation(Y.shape[0]), random_state.permutation(len(sizes))
    part = np.empty(len(rows), dtype=np.intp)
    part[rows] = parts[_deal_in_order(Y[rows], sizes[parts])]
    return part


def deal_block(
    Y: sparse.csr_array, sizes: Ints, weight: Floats, got: Ints, random_state: Any = None
) -> Ints:
    """Part of each row of a block, where the parts already have some rows."""
    # ``sizes`` (k,) and ``weight`` (q,), the number of rows divided by those with each label,
    # refer to all rows. ``got`` (q + 1, k) counts rows of each part by label, all rows last;
    # updated.
    n, k = Y.shape[0], len(sizes)
    tie = np.arange(n) if random_state is None else random_state.permutation(n)
    order = np.lexsort((tie, -(Y @ weight)))  # rows with many and rare labels first
    part, sets, once = np.empty(n, np.intp), sparse.csr_array(Y[order]), np.ones(n, np.intp)
    part[order] = _deal_one_by_one(sets, once, weight, got[:-1], sizes, filled=got[-1])
    got[:-1] += _label_counts(Y, part, k)
    got[-1] += np.bincount(part, minlength=k)
    return part


def _label_counts(Y: sparse.csr_array, part: Ints, k: int) -> Ints:
    """Number of rows with each label in each part, (q, k)."""
    n = len(part)
    members = sparse.csr_array((np.ones(n, dtype=np.intp), part, np.arange(n + 1)), shape=(n, k))
    return (Y.T.astype(np.intp) @ members).toarray()


def _used_labels(Y: sparse.csr_array) -> sparse.csr_array:
    """Y without unused labels: a sample may have few of 100,000 labels."""
    return Y[:, np.bincount(Y.indices, minlength=Y.shape[1]) > 0]


def _deal_soft(Y: sparse.csr_array, sizes: Ints) -> Ints:
    """Parts of rows with soft labels, which count as much as their probabilities."""
    n, k, total = Y.shape[0], len(sizes), Y.sum(axis=0)
    load, row_load = np.zeros((Y.shape[1], k)), np.zeros(k)  # got / want
    step, part = 1 / np.outer(total, sizes / n), np.empty(n, dtype=np.intp)
    for i in np.lexsort((np.arange(n), -(Y @ (n / total)))):  # many and rare labels first
        inside = slice(Y.indptr[i], Y.indptr[i + 1])
        labels, p = Y.indices[inside], Y.data[inside, None]
        more = p * step[labels]
        need = (p * (load[labels] + more / 2)).sum(axis=0) + row_load + 0.5 / sizes
        j = part[i] = need.argmin()
        load[labels, j] += more[:, j]
        row_load[j] += 1 / sizes[j]
        if row_load[j] > 1 - 0.5 / sizes[j]:
            row_load[j] = np.inf  # full
    return part


def _deal_in_order(Y: sparse.csr_array, sizes: Ints) -> Ints:
    if Y.dtype.kind == "f":
        return _deal_soft(Y, sizes)
    # The sum of random numbers of its labels identifies a label set. Should two sets ever have the
    # same sum, they are dealt as if equal, a little less evenly.
    number = np.random.RandomState(0).randint(2**62, size=Y.shape[1], dtype=np.uint64)
    key = Y.astype(np.uint64) @ number
    part = _deal_label_sets(Y, key, sizes)
    _exchange(Y, number, key, sizes, part)
    return part


def _deal_label_sets(Y: sparse.csr_array, key: NDArray[np.uint64], sizes: Ints) -> Ints:
    """Part of each row; rows with the same key have the same labels."""
    n, k = Y.shape[0], len(sizes)
    rows = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[rows], prepend=key[rows[:1]] + np.uint64(1)))
    count = np.diff(start, append=n)
    sets = Y[rows[start]]  # (label sets, q)

    # Rows with the same label set are interchangeable: whole rounds are dealt at once. One round
    # of sets with at most one label is kept back, to even out what the others leave.
    cycle = _cycle(sizes, count.max())
    rounds = np.maximum(count // cycle.sum() - (np.diff(sets.indptr) <= 1), 0)
    bulk = np.flatnonzero(rounds)
    share = np.outer(rounds[bulk], cycle)  # (sets, k)
    for j in np.flatnonzero(share.sum(axis=0) > sizes):  # by one row, see _cycle
        share[share[:, j].argmax(), j] -= 1
    in_bulk = np.zeros(len(count), dtype=np.intp)
    in_bulk[bulk] = share.sum(axis=1)
    dealt = np.empty(n, dtype=np.intp)  # parts of the sorted rows
    dealt[ranges(start, in_bulk)] = np.repeat(np.tile(np.arange(k), len(bulk)), share.ravel())

    # Deal the rest row by row, rows with many and rare labels first.
    weight = n / np.bincount(Y.indices, minlength=Y.shape[1])  # (q,)
    start, count = start + in_bulk, count - in_bulk
    left = np.flatnonzero(count)
    left = left[np.lexsort((rows[start[left]], -(sets @ weight)[left]))]
    got = sets[bulk].T.astype(np.intp) @ share  # (q, k)
    dealt[ranges(start[left], count[left])] = _deal_one_by_one(
        sets[left], count[left], weight, got, sizes, filled=share.sum(axis=0)
    )
    part = np.empty(n, dtype=np.intp)
    part[rows] = dealt
    return part


def _cycle(sizes: Ints, most: int) -> Ints:
    """Shares of the smallest number of rows that divides in proportion to the sizes."""
    # Sizes are rounded, so one row off is right: folds of 34, 33 and 33 rows have the cycle
    # 1, 1, 1. Dealing in cycles can therefore overfill a part, but only by one row.
    n = sizes.sum()
    for m in range(max(1, n // (sizes.max() + 1)), most + 1):
        share = np.rint(m * sizes / n).astype(np.intp)
        if share.sum() == m and np.abs(share * n - m * sizes).max() <= m:
            return share
    return sizes


def _deal_one_by_one(
    sets: sparse.csr_array, count: Ints, weight: Floats, got: Ints, sizes: Ints, filled: Ints
) -> list[int]:
    """Parts of ``count[s]`` rows with label set s, set by set."""
    # For the few numbers of a row, lists are several times faster than arrays.
    load = ((got + 0.5) / sizes * weight[:, None]).tolist()  # [label][part]: (got + 1/2) / want
    row_load = ((filled + 0.5) / sizes).tolist()
    room = (sizes - filled).tolist()
    for full in np.flatnonzero(sizes == filled):
        row_load[full] = np.inf
    row_step, step = (1 / sizes).tolist(), np.outer(1 / sizes, weight).tolist()  # [part][label]
    labels, ends = sets.indices.tolist(), sets.indptr.tolist()
    parts = []
    for first, last, times in zip(ends[:-1], ends[1:], count.tolist()):
        row = labels[first:last]
        for _ in range(times):
            total: Iterable[float] = row_load
            for l in row:
                total = map(add, total, load[l])
            total = list(total)
            j = total.index(min(total))
            parts.append(j)
            step_j = step[j]
            for l in row:
                load[l][j] += step_j[l]
            room[j] -= 1
            row_load[j] = row_load[j] + row_step[j] if room[j] else np.inf
    return parts


def _exchange(Y: sparse.csr_array, number: Ints, key: Ints, sizes: Ints, part: Ints) -> None:
    """Exchange rows that differ in one label if that makes the label more even, in place."""
    # Other labels and sizes do not change. The last rows had to go where there was room, so a few
    # labels can be a row or two off.
    got = _label_counts(Y, part, len(sizes))
    excess = got - np.outer(got.sum(axis=1), sizes / len(part))
    by_label = None
    # decrease and increase of the objective, sum excess^2 / size, up to a factor
    gain, loss = (excess - 0.5) / sizes, (excess + 0.5) / sizes
    for l in np.flatnonzero(gain.max(axis=1) > loss.min(axis=1) + _ROUNDING):
        by_label = sparse.csc_array(Y) if by_label is None else by_label
        with_l = by_label.indices[by_label.indptr[l] : by_label.indptr[l + 1]]
        i, j = gain[l].argmax(), loss[l].argmin()
        while gain[l, i] > loss[l, j] + _ROUNDING:
            givers, takers = with_l[part[with_l] == i], np.flatnonzero(part == j)
            _, a, b = np.intersect1d(key[givers] - number[l], key[takers], return_indices=True)
            if len(a) == 0:
                break
            part[givers[a[0]]], part[takers[b[0]]] = j, i
            excess[l, [i, j]] += -1, 1
            gain[l], loss[l] = (excess[l] - 0.5) / sizes, (excess[l] + 0.5) / sizes
            i, j = gain[l].argmax(), loss[l].argmin()


def deal_groups(
    Y: sparse.csr_array, group: Ints, shares: Floats, random_state: Any = None
) -> Ints:
    """Part of each row, with about the given shares of rows and without splitting a group."""
    # Groups are numbered from 0; ``random_state`` breaks ties between groups and between parts.
    Y, n, k = _used_labels(Y), len(group), len(shares)
    members = sparse.csr_array((np.ones(n), group, np.arange(n + 1))).T  # (groups, n)
    counts = sparse.csr_array(members @ sparse.hstack([Y, np.ones((n, 1))], format="csr"))
    total = counts.sum(axis=0)  # (q + 1,), the last one n
    n_groups = counts.shape[0]
    rank, parts = np.arange(n_groups), np.arange(k)
    if random_state is not None:
        rank, parts = random_state.permutation(n_groups), random_state.permutation(k)
    heavy_first = np.lexsort((rank, -((counts * counts) @ (1 / total))))

    want = np.outer(total, shares[parts])
    load = np.zeros((len(total), k))  # got / want
    part = np.full(n_groups, -1)
    # After the first round, move each group to where it fits best.
    for _ in range(3):
        before = part.copy()
        for g in heavy_first:
            labels = counts.indices[counts.indptr[g] : counts.indptr[g + 1]]
            number = counts.data[counts.indptr[g] : counts.indptr[g + 1]]
            step = number[:, None] / want[labels]  # (labels of the group, k)
            if part[g] >= 0:
                load[labels, part[g]] -= step[:, part[g]]
            part[g] = np.argmin(number @ (load[labels] + step / 2))
            load[labels, part[g]] += step[:, part[g]]
        if (part == before).all():
            break
    return parts[part][group]
