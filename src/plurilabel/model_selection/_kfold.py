"""Cross-validation folds with evenly distributed labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedGroupKFold
from sklearn.utils import check_random_state

from plurilabel.model_selection import _stratification

Masks: TypeAlias = Iterator[NDArray[np.bool_]]


class IterativeStratifiedKFold(KFold):
    """K folds of multi-label data with evenly distributed labels.

    Like :class:`sklearn.model_selection.StratifiedKFold`. A 1-D y is one label per class.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to assign rows in random order; otherwise rows with the same labels keep theirs.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle; only used with ``shuffle=True``.

    Notes
    -----
    Iterative stratification processes the labels from the rarest to the most frequent, and assigns
    their rows one by one to the fold that needs them most. This class differs in four ways:

    - All labels of a row decide, not only the rarest: the row goes to the fold with the smallest
      sum of (rows assigned + 1/2) / (rows needed) over its labels. Rows with many and rare labels
      come first.
    - Rows with the same label set are assigned together as far as they divide evenly.
    - Fold sizes differ by at most one row.
    - Finally, pairs of rows that differ in a single label are exchanged if that makes the label
      more even.

    The label distribution measure of the paper, LD x 10000 (lower is more even), for 5 folds, mean
    of 3 seeds, with the package iterative-stratification 0.1.9, which follows the paper, in
    parentheses: yeast 32.4 (323), medical 18.5 (20.6), bibtex 2.48 (2.96), delicious 1.95 (7.55),
    in about a tenth of the time. ``benchmarks/speed/split.py`` measures this.

    References
    ----------
    K. Sechidis, G. Tsoumakas, I. Vlahavas. On the stratification of multi-label data. ECML PKDD
    2011.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.model_selection import IterativeStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1]])
    >>> for train, test in IterativeStratifiedKFold(n_splits=2).split(Y, Y):
    ...     print(train, test, Y[test].sum(axis=0))
    [1 3 5] [0 2 4] [2 2]
    [0 2 4] [1 3 5] [2 2]
    """

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Masks:  # noqa: ARG002
        Y = _stratification.label_sets(y)
        n, k = Y.shape[0], self.n_splits
        sizes = n // k + (np.arange(k) < n % k)
        random_state = check_random_state(self.random_state) if self.shuffle else None
        if random_state is not None:
            sizes = random_state.permutation(sizes)
        fold = _stratification.deal_rows(Y, sizes, random_state)
        return (fold == j for j in range(k))


class RepeatedIterativeStratifiedKFold(RepeatedKFold):
    """Repeated :class:`IterativeStratifiedKFold` with different shuffles.

    Parameters
    ----------
    n_splits : int, default=5
    n_repeats : int, default=10
    random_state : int, RandomState instance or None, default=None
        Seed of all repetitions.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.model_selection import RepeatedIterativeStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1]])
    >>> cv = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    >>> cv.get_n_splits()
    6
    >>> [Y[test].sum(axis=0).tolist() for train, test in cv.split(Y, Y)]
    [[2, 2], [2, 2], [2, 2], [2, 2], [2, 2], [2, 2]]
    """

    def __init__(self, *, n_splits: int = 5, n_repeats: int = 10, random_state: Any = None):
        super().__init__(n_splits=n_splits, n_repeats=n_repeats, random_state=random_state)
        self.cv = IterativeStratifiedKFold


class IterativeStratifiedGroupKFold(StratifiedGroupKFold):
    """K folds with evenly distributed labels that keep the rows of each group together.

    The multi-label counterpart of :class:`sklearn.model_selection.StratifiedGroupKFold`. Groups
    are assigned like the rows in :class:`IterativeStratifiedKFold`, the largest first, and then
    moved up to twice to where they fit best. Fold sizes are as even as the groups allow.

    Parameters
    ----------
    n_splits, random_state
        As in :class:`IterativeStratifiedKFold`; at most as many folds as groups.
    shuffle : bool, default=False
        Whether to break ties between groups and between folds at random.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.model_selection import IterativeStratifiedGroupKFold
    >>> Y = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1]])
    >>> patient = ["a", "a", "b", "b", "c", "d"]
    >>> for train, test in IterativeStratifiedGroupKFold(n_splits=2).split(Y, Y, patient):
    ...     print(test, Y[test].sum(axis=0))
    [0 1 4] [2 2]
    [2 3 5] [2 2]
    """

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Masks:  # noqa: ARG002
        Y, group = _stratification.label_sets(y), _stratification.group_numbers(groups)
        n_groups, k = group.max() + 1, self.n_splits
        if k > n_groups:
            raise ValueError(f"n_splits must be at most the number of groups, {n_groups}, got {k}")
        random_state = check_random_state(self.random_state) if self.shuffle else None
        fold = _stratification.deal_groups(Y, group, np.full(k, 1 / k), random_state)
        return (fold == j for j in range(k))
