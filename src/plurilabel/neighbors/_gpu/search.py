"""Exact neighbours on a GPU: products in half precision propose, float64 decides.

The points are centred, scaled by a power of two and rounded to half precision. A kernel multiplies
them and keeps only the smallest value of each group of 64 columns. The best groups of a row are
compared again in float32, without products, and the canonical distances of the best points there
are computed in float64, in the order of the features.

The result is certified as follows. With h the rounded points, A = |h_x - h_y|, and e = |x - h_x|,

    |x - y|  >=  A - e_x - e_y

for every point that was left out, where A is at least the product, less the rounding of its sum.
e_y is at most the largest e, and at most u |h_y| <= u (A + |h_x|) with the unit u of half
precision: the better bound counts, so that single points far away do no harm. Rows whose k-th
distance is not below the bound try more groups, then products in float32, and finally in float64.
Rows of duplicates are found by sorting. Whole numbers are multiplied exactly: among points at the
same distance, those with the lowest indices are chosen group by group.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import torch

from plurilabel.neighbors._gpu.arithmetic import (
    Frame,
    Rounded,
    functions,
    in_numbered_parts,
    in_parts,
    root,
)

Tensor: TypeAlias = torch.Tensor
GROUP = 64  # columns that share one value
ROWS = 65_536  # most rows at a time
_FEW = 4096  # rows for which float32 is not worth preparing
_PAIRS = 1 << 26  # compared at once
_PADDED = 256  # columns are padded to a multiple of this


class Search:
    """Points (n, d) on a device, float32 or float64, ready to be searched.

    A search may take ``memory`` bytes in addition to the points. For ``cosine``, rows have length
    one or are zero, with a mark in the last column; the neighbours of the latter are arbitrary.
    """

    def __init__(self, X: Tensor, memory: int, *, cosine: bool = False, use: Any = None):
        self.cosine = cosine
        self.marked = cosine and bool((X[:, -1] > 0).any())
        X = self._unmarked(X)
        self.n: int = X.shape[0]
        self.d: int = X.shape[1]
        self.memory = memory
        self.use = use or functions(X.device)
        self.whole = _are_small_whole(X)
        self.frame = Frame.of(X, whole=self.whole)
        self.order = None if self.whole else _near_together(X, self.frame)
        self.sorted = X if self.order is None else X[self.order]
        half, exact = torch.float16, self.whole
        self.columns = Rounded(self.sorted, self.frame, half, exact=exact, pad=_PADDED)
        # float32 points of usual size need no frame for differences
        self.as_given = X.dtype == torch.float32 and 2.0**-30 < self.frame.scale < 2.0**60
        self.single, self.errors = self.in_float32(self.sorted)
        self.single_error = 0.0 if self.errors is None else float(self.errors.max())
        self.uncertain = 0  # rows that needed float64, for benchmarks

    def _unmarked(self, X: Tensor) -> Tensor:
        """X without the column of marks if no point has one."""
        return X[:, :-1].contiguous() if self.cosine and not self.marked else X

    def in_float32(self, X: Tensor) -> tuple[Tensor, Tensor | None]:
        """Points for differences in float32, and their errors (None if there are none)."""
        if self.as_given and X.dtype == torch.float32:
            return X, None
        single = torch.empty(X.shape, device=X.device, dtype=torch.float32)
        errors = torch.empty(len(X), device=X.device, dtype=torch.float64)
        for i, part in in_numbered_parts(X):
            true = part.double() if self.as_given else self.frame.moved(part)
            single[i : i + len(part)] = true.clamp(-1e17, 1e17).float()  # squares stay finite
            off = true - single[i : i + len(part)].double()
            errors[i : i + len(part)] = off.square().sum(1).sqrt() * (1 + 1e-9)
        return single, errors

    def neighbors(self, Q: Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        """Canonical distances and indices of the k nearest points, each (m, k)."""
        # If Q is None, these are the neighbours of each point without itself.
        m = self.n if Q is None else len(Q)
        distances = torch.empty((m, k), device=self.sorted.device, dtype=torch.float64)
        indices = torch.empty((m, k), device=self.sorted.device, dtype=torch.int64)
        if m == 0:
            return distances, indices
        asked = self.sorted if Q is None else self._unmarked(Q)
        job = _Job(self, asked, Q is None, k)
        rows = torch.arange(m, device=self.sorted.device)
        doubtful = job.run(torch.float16, rows, distances, indices)
        if Q is None and len(doubtful):
            doubtful = _settle_duplicates(self.sorted, self.order, doubtful, distances, indices)
        if len(doubtful) > _FEW:
            doubtful = job.run(torch.float32, doubtful, distances, indices)
        self.uncertain = len(doubtful)
        job.in_float64(doubtful, distances, indices)
        if Q is None and self.order is not None:  # rows back in their own order
            back = torch.empty_like(self.order)
            back[self.order] = rows
            distances, indices = distances[back], indices[back]
        return distances, indices


class _Job:
    """One search for query rows among all columns."""

    def __init__(self, search: Search, asked: Tensor, own: bool, k: int):
        self.search, self.asked, self.own, self.k = search, asked, own, k
        own_points = (search.single, search.errors)
        self.single, self.errors = own_points if own else search.in_float32(asked)
        self.exact = search.whole and (own or _are_small_whole(asked))
        self.K = min(k + max(3, k // 8), search.n - own)

    def run(self, dtype: torch.dtype, rows: Tensor, distances: Tensor, indices: Tensor) -> Tensor:
        """Search for these rows; return those that are still uncertain."""
        search, s = self.search, self.search.frame.scale
        columns = search.columns
        if dtype != torch.float16:
            columns = Rounded(search.sorted, search.frame, dtype, exact=False, pad=_PADDED)
        largest = columns.errors.max()
        heights = columns.heights(exact=self.exact)
        n_groups = len(columns.points) // GROUP
        T = min(-(-(self.k + 6) // 4) * 4, n_groups)
        wide = min(4 * T, n_groups)
        per_row = 4 * n_groups + 8 * wide * GROUP + 64 * self.K + 4 * columns.points.shape[1]
        step = max(1, min(ROWS, len(rows), search.memory // per_row))
        minima = torch.empty((step, n_groups), device=rows.device)
        doubtful = []
        for i in range(0, len(rows), step):
            part = rows[i : i + step]
            left = torch.arange(len(part), device=rows.device)
            if self.own and dtype == torch.float16:
                asked, at = columns, part
            else:
                asked = Rounded(self.asked[part], search.frame, dtype, exact=self.exact)
                at = left
            terms = columns.terms + asked.terms  # in which two points may differ
            found = minima[: len(part)]
            search.use.group_minima(asked.points[at], columns.points, heights, GROUP, found)
            for how_many in dict.fromkeys((T, wide)):
                best = found if len(left) == len(found) else found[left]
                more = min(how_many + 1, n_groups)
                values, groups = _least(best, more)
                groups = groups[:, :how_many].contiguous()
                floor = torch.full((len(left),), torch.inf, device=rows.device).double()
                if n_groups > how_many:
                    floor = asked.floor(at[left], values[:, -1], largest)
                certain = self._choose(part[left], groups, terms, floor / s, distances, indices)
                left = left[~certain]
                if not len(left):
                    break
            if len(left) and self.exact:
                self._first_of_ties(part[left], found[left], distances, indices)
                left = left[:0]
            doubtful.append(part[left])
        return torch.cat(doubtful)

    def _choose(
        self, rows: Tensor, groups: Tensor, terms: int, floor: Tensor, *lists: Tensor
    ) -> Tensor:
        """Find the nearest points of these groups; return which rows are certain."""
        distances, indices = lists
        search, K, s = self.search, self.K, self.search.frame.scale
        own = rows if self.own else torch.full_like(rows, -1)
        near = search.use.distances_in_groups(self.single, rows, search.single, own, groups, GROUP)
        values, place = near.topk(min(K + 1, near.shape[1]), dim=1, largest=False)
        if near.shape[1] > K:
            lost = (min(terms, search.d) + 16) * 2.0**-22
            beyond = (values[:, K].double() * (1 - lost)).sqrt()
            if search.single_error:
                # as for half precision: the largest error of a point, or a unit of its length
                length = self.single[rows].double().square().sum(1).sqrt()
                u = 2.0**-24 * 1.001
                beyond = torch.maximum(beyond - search.single_error, beyond * (1 - u) - u * length)
                beyond = beyond - math.sqrt(search.d) * 2.0**-126
            if self.errors is not None:
                beyond = beyond - self.errors[rows]
            floor = torch.minimum(floor, beyond if search.as_given else beyond / s)
        place = place[:, :K]
        columns = groups.gather(1, place // GROUP) * GROUP + place % GROUP
        columns = columns.clamp_max(search.n - 1)
        exact = self._canonical(rows, columns)
        exact = exact.masked_fill(torch.isinf(values[:, :K]), torch.inf)
        names = columns if search.order is None else search.order[columns]
        distances[rows], indices[rows] = _ordered(exact, names, self.k)
        return self._reach(distances[rows, -1]) < floor * (1 - 2.0**-50)

    def _canonical(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Canonical distances of these rows and their columns (m, K)."""
        search = self.search
        squares = search.use.canonical_squares(self.asked, rows, search.sorted, columns)
        if not search.cosine:
            return root(squares)
        if not search.marked:
            return squares / 2
        zero = (self.asked[rows, -1:] > 0) | (search.sorted[columns, -1] > 0)
        return (squares / 2).masked_fill(zero, 1.0)

    def _reach(self, distance: Tensor) -> Tensor:
        """An upper bound of the true distance of points with this canonical distance."""
        # the canonical sum is rounded, a few units per feature, and squares may underflow
        d = self.search.d
        apart = (2 * distance).sqrt() if self.search.cosine else distance
        return apart * (1 + (d + 16) * 2.0**-52) + math.sqrt(4 * (d + 1) * 2.0**-1022)

    def _first_of_ties(self, rows: Tensor, minima: Tensor, *lists: Tensor) -> None:
        """Whole numbers: among all points at the k-th distance, choose the lowest indices."""
        distances, indices = lists
        # The k-th distance is known, and so are the fewer than k nearer points. Every group whose
        # minimum does not exceed it contains a point at that distance, a nearer one, or the row
        # itself: the first 2 k + 1 such groups contain all that are needed.
        search, k, n_groups = self.search, self.k, minima.shape[1]
        inside = torch.arange(GROUP, device=rows.device)
        number = torch.arange(n_groups, device=rows.device, dtype=torch.int32)
        step = max(1, search.memory // (32 * (2 * k + 1) * GROUP + 8 * n_groups))
        for i in range(0, len(rows), step):
            some = rows[i : i + step]
            last = distances[some, -1:]
            squared = (2 * last if search.cosine else last.square()).round()
            h = Rounded(self.asked[some], search.frame, torch.float16, exact=True).squares
            within = minima[i : i + step] <= (squared - h[:, None]).float()
            groups = torch.where(within, number, n_groups)
            groups = groups.topk(min(2 * k + 1, n_groups), dim=1, largest=False).values.long()
            own = some if self.own else torch.full_like(some, -1)
            near = search.use.distances_in_groups(
                self.single, some, search.single, own, groups.clamp_max(n_groups - 1), GROUP
            )
            columns = (groups[:, :, None] * GROUP + inside).flatten(1)
            there = (near == squared) & (columns < search.n)
            tied = torch.where(there, columns, search.n).topk(k, dim=1, largest=False).values
            far = torch.where(tied < search.n, last, torch.inf)
            nearer = distances[some].masked_fill(distances[some] == last, torch.inf)
            distances[some], indices[some] = _ordered(
                torch.cat([nearer, far], dim=1), torch.cat([indices[some], tied], dim=1), k
            )

    def in_float64(self, rows: Tensor, distances: Tensor, indices: Tensor) -> None:
        """Search everything within the k-th distance by products in float64."""
        step = max(1, min(256, self.search.memory // (32 * self.search.n)))
        parts = [rows[i : i + step] for i in range(0, len(rows), step)]
        while parts:
            some = parts.pop()
            r, c = self._within(some, distances[some, -1:])
            if len(r) > _PAIRS and len(some) > 1:
                parts += [some[: len(some) // 2], some[len(some) // 2 :]]
                continue
            exact = self._canonical(some[r], c[:, None]).ravel()
            names = c if self.search.order is None else self.search.order[c]
            order = names.argsort()
            for key in (exact, r):
                order = order[key[order].argsort(stable=True)]
            start = torch.searchsorted(r[order], torch.arange(len(some), device=r.device))
            chosen = order[start[:, None] + torch.arange(self.k, device=r.device)]
            distances[some], indices[some] = exact[chosen], names[chosen]

    def _within(self, rows: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        """Pairs (place in rows, column): all columns within this canonical distance, or more."""
        search, frame, d = self.search, self.search.frame, self.search.d
        lost = 4 * (d + 8) * 2.0**-53
        q = frame.moved(self.asked[rows])
        q2 = q.square().sum(1, keepdim=True)
        reach = self._reach(distance) * frame.scale
        limit = reach * reach * (1 + 2.0**-50) + 4 * (d + 8) * 2.0**-1022
        found, width = [], max(1, (1 << 25) // max(d, 1))
        for a in range(0, search.n, width):
            x = frame.moved(search.sorted[a : a + width])
            lower = (q2 + x.square().sum(1)) * (1 - lost) - 2 * (q @ x.T)
            row, column = (lower <= limit).nonzero(as_tuple=True)
            found.append((row, column + a))
        row, column = (torch.cat(parts) for parts in zip(*found))
        if self.own:
            other = column != rows[row]
            row, column = row[other], column[other]
        return row, column


def _least(values: Tensor, count: int, together: int = 16) -> tuple[Tensor, Tensor]:
    """The smallest values of each row, ascending, and their columns."""
    # Parts of long rows are first reduced to their minima: the smallest ``count`` values are in
    # the ``count`` parts with the smallest minima.
    m, n = values.shape
    parts = n // together
    if parts < 4 * count:
        return tuple(values.topk(count, dim=1, largest=False))
    # part i has the columns i, i + parts, i + 2 parts, ...
    least = values[:, : parts * together].view(m, together, parts).amin(dim=1)
    best = least.topk(count, dim=1, largest=False, sorted=False).indices
    step = torch.arange(0, parts * together, parts, device=values.device)
    columns = (best[:, :, None] + step).view(m, -1)
    rest = torch.arange(parts * together, n, device=values.device).expand(m, -1)
    columns = torch.cat([columns, rest], dim=1)
    values, place = values.gather(1, columns).topk(count, dim=1, largest=False)
    return values, columns.gather(1, place)


def _ordered(distances: Tensor, names: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The first k by distance, then by index."""
    names, order = names.sort(dim=1)
    distances = distances.gather(1, order)
    distances, order = distances.sort(dim=1, stable=True)
    return distances[:, :k], names.gather(1, order[:, :k])


def _near_together(X: Tensor, frame: Frame) -> Tensor:
    """An order of the points that keeps near points roughly together."""
    # By the nearest of some pivots and the distance to it: rows that are searched together then
    # need the same few groups of columns.
    n = len(X)
    some = torch.linspace(0, n - 1, min(n, 1024), device=X.device).long()
    pivots = frame.moved(X[some]).float()
    heights = pivots.square().sum(1)
    nearest = torch.empty(n, dtype=torch.int64, device=X.device)
    distance = torch.empty(n, device=X.device)
    for i, part in in_numbered_parts(X, len(some)):
        x = frame.moved(part).float()
        least = (heights - 2 * x @ pivots.T).min(dim=1)
        nearest[i : i + len(part)] = least.indices
        distance[i : i + len(part)] = least.values + x.square().sum(1)
    by_distance = distance.argsort()
    return by_distance[nearest[by_distance].argsort(stable=True)]


def _are_small_whole(X: Tensor) -> bool:
    """Whether all values are whole numbers small enough for exact products in half precision."""
    limit = math.sqrt(2.0**19 / max(X.shape[1], 1))
    for part in (X[:64], *in_parts(X)):
        if not bool(((part == part.round()) & (part.abs() <= min(limit, 1024.0))).all()):
            return False
    return True


def _settle_duplicates(
    X: Tensor, order: Tensor | None, rows: Tensor, distances: Tensor, indices: Tensor
) -> Tensor:
    """Give rows with at least k duplicates the first of them; return the other rows."""
    # Equal rows are found by sorting by a hash: a sum of their bits, each times an odd number.
    k = distances.shape[1]
    none = distances[rows, -1] == 0
    some = rows[none]
    if not len(some):
        return rows
    least = min(float(part.abs().masked_fill(part == 0, 1.0).min()) for part in in_parts(X))
    if least <= 1e-133:  # squares of tiny differences vanish: distance 0 does not mean equal
        return rows
    name = some if order is None else order[some]
    by_name = name.argsort()
    some, name = some[by_name], name[by_name]
    generator = torch.Generator().manual_seed(0)
    odd = (torch.randint(-(2**61), 2**61, (X.shape[1],), generator=generator) * 2 + 1).tolist()
    sums = torch.zeros(len(some), dtype=torch.int64, device=X.device)
    for j, factor in enumerate(odd):
        bits = (X[some, j].double() + 0.0).view(torch.int64)  # 0.0 and -0.0 are equal
        sums += (bits ^ (bits >> 17)) * factor
    by_sum = sums.argsort(stable=True)
    some, name, sums = some[by_sum], name[by_sum], sums[by_sum]
    start = torch.searchsorted(sums, sums)
    size = torch.searchsorted(sums, sums, right=True) - start
    differ = torch.zeros(len(some), dtype=torch.int32, device=X.device)
    for i, part in in_numbered_parts(X[some]):
        unequal = (part != X[some[start[i : i + len(part)]]]).any(dim=1)
        differ.index_add_(0, start[i : i + len(part)], unequal.to(torch.int32))
    sure = (differ[start] == 0) & (size > k)
    first = name[(start[:, None] + torch.arange(k + 1, device=X.device)).clamp_max(len(some) - 1)]
    keep = first != name[:, None]
    keep[keep.all(dim=1), -1] = False
    indices[some[sure]] = first[sure][keep[sure]].view(-1, k)
    return torch.cat([rows[~none], some[~sure]])
