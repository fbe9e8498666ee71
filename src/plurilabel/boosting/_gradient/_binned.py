"""Features as bins, of which the common one is not stored.

An entry says that an instance is in a bin of a feature. The bin of the zeros, or else the one that
most instances are in, is left out: so sparse X stays sparse, and dense indicators become sparse.
Every cut of a feature has this common bin on one side; on the other, its far side, are entries.
The bins below the common one are numbered upwards from the first, those above it downwards from
the last: then the sum over the far side of each cut is a running sum, and there are as many cuts
as bins with entries. The number of a bin in this order is its slot; the cut of a slot has the bin
on its far side, and is nearer to the common bin than the cuts before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.boosting._bins import columns_of, distinct_values, find_cuts
from plurilabel.boosting._rules import Floats, Rows


class Binned:
    """The bins of all features, feature by feature.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        NaN is a missing value: it has a bin of its own, the last of its feature.
    max_bins : int
        Bins of a feature with more distinct values, without the one for missing values.
    weights : ndarray of shape (n,)
        An instance of weight 2 counts as two.

    Attributes
    ----------
    features : ndarray of shape (d',)
        The features with more than one bin. All that follows is about these.
    common : ndarray of shape (d',)
        The bin that has no entries.
    n_slots : ndarray of shape (d',)
        Slots of each feature: bins with entries, and cuts.
    missing : ndarray of bool of shape (d',)
        Whether the last bin is for missing values.
    """

    def __init__(self, X: Any, max_bins: int, weights: Floats):
        self.n = X.shape[0]
        kept, common, n_slots, missing = [], [], [], []
        self._cuts: list[Floats] = []
        rows: list[NDArray[Any]] = [np.empty(0, dtype=np.int32)]
        codes: list[NDArray[Any]] = [np.empty(0, dtype=np.int32)]
        for j, (values, at, zeros) in enumerate(columns_of(X)):
            zeros = zeros or int(np.sum(values == 0))
            cuts, code, some = _codes(values, zeros, max_bins, weights[at])
            if len(cuts) + some == 0 or ((code > len(cuts)).all() and not zeros):
                continue
            if zeros:
                most = int(np.searchsorted(cuts, 0.0))
            else:
                most = int(np.bincount(code, weights[at]).argmax())
            stored = np.flatnonzero(code != most)
            kept.append(j)
            self._cuts.append(cuts)
            n_slots.append(len(cuts) + some)
            common.append(most)
            missing.append(some)
            rows.append(at[stored])
            codes.append(code[stored])
        self.features = np.array(kept, dtype=np.intp)
        self.common = np.array(common, dtype=np.intp)
        self.n_slots = np.array(n_slots, dtype=np.intp)
        self.missing = np.array(missing, dtype=bool)
        self._start = np.cumsum([len(part) for part in rows])
        self._rows = np.concatenate(rows).astype(np.int32)
        self._codes = np.concatenate(codes).astype(np.int32)

    def __len__(self) -> int:
        return len(self.features)

    def threshold(self, feature: int, cut: int) -> float:
        """The value of a cut; behind the last one there are only missing values."""
        cuts = self._cuts[feature]
        return float(cuts[cut]) if cut < len(cuts) else np.inf

    def slots(self, features: Rows) -> tuple[Rows, Rows, Rows]:
        """Of the slots of some features: the feature's position, the bin, and the cut.

        The cut c is between the bins c and c + 1.
        """
        size = self.n_slots[features]
        which = np.repeat(np.arange(len(features)), size)
        slot = np.arange(len(which)) - np.repeat(np.cumsum(size) - size, size)
        common = self.common[features][which]
        below = slot < common
        bins = np.where(below, slot, common + size[which] - slot)
        return which, bins, np.where(below, bins, bins - 1)

    def entries(self, features: Rows) -> tuple[Rows, NDArray[np.int32], NDArray[np.int32]]:
        """Position among the given features, instance and bin of all their entries."""
        start = self._start[features]
        size = self._start[features + 1] - start
        which = np.repeat(np.arange(len(features)), size)
        # consecutive numbers from the start of each feature
        at = np.arange(len(which)) + np.repeat(start - (np.cumsum(size) - size), size)
        return which, self._rows[at], self._codes[at]


def _codes(
    values: Floats, zeros: int, max_bins: int, weights: Floats
) -> tuple[Floats, Rows, bool]:
    """Cuts of a feature, the bins of its stored values, and whether some are missing."""
    if zeros and len(values) and values[0] > 0 and (values == values[0]).all():
        # an indicator, as most columns of texts are; the general way takes ten times as long
        return values[:1] / 2, np.ones(len(values), dtype=np.intp), False
    unknown = np.isnan(values)
    distinct, counts = distinct_values(values[~unknown], zeros)
    if len(distinct) > max_bins:
        place = np.searchsorted(distinct, values[~unknown])
        counts = np.bincount(place, weights[~unknown], minlength=len(distinct))
    cuts = find_cuts(distinct, counts, max_bins)
    code = np.searchsorted(cuts, values)
    code[unknown] = len(cuts) + 1
    return cuts, code, bool(unknown.any())
