"""Describing a dataset by its labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._dataset import Dataset
from plurilabel.base import check_labels, column_names, names_or_default
from plurilabel.datasets._description import Description


def describe(
    Y: Any, *, X: Any = None, label_names: Sequence[str] | None = None, name: str = ""
) -> Description:
    """Describe a dataset by its labels.

    Sparse labels stay sparse: a million rows by ten thousand labels take a few seconds.

    Parameters
    ----------
    Y : Dataset, or 0/1 matrix of shape (n, q), dense, sparse or a data frame
        The dataset, or its labels.
    X : array-like, sparse matrix or data frame of shape (n, d), optional
        The features, of which only the number is reported. Comes with a Dataset.
    label_names : sequence of str, optional
        Names of the labels; otherwise those of the Dataset or data frame, or made-up ones.
    name : str, optional
        Title of the summary; otherwise that of the Dataset.

    Returns
    -------
    Description

    Examples
    --------
    >>> from plurilabel.datasets import describe
    >>> Y = [[1, 0, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0]]
    >>> found = describe(Y, label_names=["sun", "sea", "sand"], name="holidays")
    >>> print(found)
    holidays
    ========
    instances                     4
    labels                        3
    cardinality (LCard)       1.500  labels per instance
    density (LDen)            0.500
    distinct sets (LDiv)          4  100.0% of the instances (PLDiv)
    with a single label           1  25.0%
    without a label               1  25.0%
    imbalance (MeanIR)        1.833  1 = all labels equally frequent
    its variation (CVIR)      0.568
    concurrence (SCUMBLE)     0.030  0 = frequent and rare labels do not meet
    <BLANKLINE>
    most frequent labels  count  share  IRLbl
    sun                       3  75.0%   1.00
    sand                      2  50.0%   1.50
    sea                       1  25.0%   3.00
    <BLANKLINE>
    most frequent sets    count  share
    sun + sand                1  25.0%
    sun                       1  25.0%
    sun + sea + sand          1  25.0%
    (no label)                1  25.0%
    <BLANKLINE>
    most frequent pairs   count  share   lift
    sun + sand                2  50.0%   1.33
    sun + sea                 1  25.0%   1.33
    sea + sand                1  25.0%   2.00
    >>> found.mean_ir
    1.8333333333333333
    >>> found.label_table()[1]["label"]
    'sea'
    """
    names: Sequence[str] | None
    if isinstance(Y, Dataset):
        if X is not None:
            raise ValueError("X must be left out when a Dataset is described: it has its own")
        X, Y, names, name = Y.X, Y.Y, Y.label_names, name or Y.name
    else:
        names = column_names(Y)
    labels = check_labels(Y)
    n, q = labels.shape
    if n == 0 or q == 0:
        raise ValueError(f"Y must have at least one row and one label, got shape {(n, q)}")
    features = None
    if X is not None:
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        if len(shape) < 2 or shape[0] != n:
            raise ValueError(f"X must have {n} rows, as Y has, got shape {tuple(shape)}")
        features = int(shape[-1])
    label_sets, set_counts = distinct_label_sets(sparse.csr_array(labels))
    return Description(
        name=name,
        instances=n,
        features=features,
        label_names=tuple(names_or_default(names if label_names is None else label_names, q)),
        label_sets=label_sets,
        set_counts=set_counts,
    )


def distinct_label_sets(Y: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """The distinct rows of Y (canonical CSR) and how often each occurs.

    The most frequent come first; among equals, those that occur first in Y.
    """
    # the sorted column numbers of a row, as bytes, are its label set: exact, and nothing densified
    content = Y.indices.tobytes()
    bounds = (Y.indptr.astype(np.int64) * Y.indices.itemsize).tolist()
    numbers: dict[bytes, int] = {}
    number_of_row = [
        numbers.setdefault(content[start:end], len(numbers)) for start, end in pairwise(bounds)
    ]
    _, first, counts = np.unique(number_of_row, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Y[first[order]], counts[order].astype(np.int64)
