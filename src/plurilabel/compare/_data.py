"""Datasets as they are given, and how they are split."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from plurilabel import datasets as library
from plurilabel.base import check_labels, column_names, names_or_default
from plurilabel.compare._learners import check_distinct, learner_text, unique_name
from plurilabel.datasets import Dataset
from plurilabel.io import read
from plurilabel.model_selection import IterativeStratifiedKFold, IterativeStratifiedShuffleSplit


def named_datasets(given: Any) -> dict[str, Dataset]:
    """Datasets by name, from whatever way they were given.

    Examples
    --------
    >>> named_datasets("digits")
    {'digits': Dataset 'digits': 1797 instances, 64 features, 7 labels}
    >>> list(named_datasets([([[0.0], [1.0]], [[1, 0], [0, 1]])]))
    ['data']
    """
    table: dict[str, Dataset] = {}
    if isinstance(given, Mapping):
        table = {str(name): _dataset(one, str(name)) for name, one in given.items()}
    else:
        one = not isinstance(given, Iterable) or isinstance(given, str | os.PathLike | Dataset)
        for entry in [given] if one or _is_pair(given) else given:
            data = _dataset(entry, "data")
            table[unique_name(data.name or "data", table, "{}-{}")] = data
    if not table:
        raise ValueError("datasets must hold at least one dataset, got none")
    check_distinct("datasets", list(table))
    return table


def _is_pair(given: Any) -> bool:
    """Whether this is (X, Y), and not two datasets."""
    whole = (str, os.PathLike, Dataset, tuple)
    return isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], whole)


def _dataset(given: Any, name: str) -> Dataset:
    if isinstance(given, Dataset):
        return given
    if isinstance(given, str | os.PathLike):
        if Path(given).is_file():
            return read(given)
        if given in library.dataset_names():
            return library.load(str(given))
        raise FileNotFoundError(
            f"{os.fspath(given)!r} is neither a file nor a standard dataset; "
            f"there are {', '.join(library.dataset_names())}"
        )
    if not _is_pair(given):
        raise TypeError(
            "datasets must be names, paths, Dataset objects or pairs (X, Y), "
            f"got {type(given).__name__}"
        )
    X, Y = given
    labels = check_labels(Y).astype(np.int64)
    if not hasattr(X, "iloc"):
        X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    features = column_names(X) or [f"feature{j}" for j in range(X.shape[1])]
    label_names = names_or_default(column_names(Y), labels.shape[1])
    return Dataset(X, labels, tuple(features), tuple(label_names), name=name)


class Split(NamedTuple):
    """Row numbers of one training and test part."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def splits_of(
    data: Dataset, name: str, cv: Any, repeats: int, random_state: int
) -> tuple[str, list[Split]]:
    """The splits of a dataset, and what they are in words."""
    holdout = isinstance(cv, str) and cv == "holdout"
    parts: list[Any] = []
    if holdout and data.train is not None and data.test is not None:
        words = f"published, {len(data.train)} to train and {len(data.test)} to test"
        parts = [[(data.train, data.test)]] * repeats
    elif holdout:
        words = "stratified, two thirds to train and one third to test (no published split)"
        cv = IterativeStratifiedShuffleSplit(1, test_size=1 / 3)
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        words = f"{cv} stratified folds"
        cv = IterativeStratifiedKFold(int(cv), shuffle=True)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        words = learner_text(cv)
    else:
        raise ValueError(f"cv must be 'holdout', a number of folds or a splitter, got {cv!r}")
    if not parts:
        seeded = [_seeded(cv, repeat, repeats, random_state) for repeat in range(repeats)]
        parts = [one.split(data.X, data.Y) for one in seeded]
    splits = []
    for repeat, folds in enumerate(parts):
        for fold, (train, test) in enumerate(folds):
            if not len(train) or not len(test):
                raise ValueError(
                    f"cv must leave rows to train and to test, got {len(train)} and {len(test)} "
                    f"in split {fold} of {name}"
                )
            splits.append(Split(repeat, fold, np.asarray(train), np.asarray(test)))
    return words, splits


def _seeded(cv: Any, repeat: int, repeats: int, random_state: int) -> Any:
    """A copy of the splitter for this repeat: seeded, so that it can be repeated."""
    own = copy.deepcopy(cv)
    given: Any = getattr(own, "random_state", "none")
    if getattr(own, "shuffle", True) and (given is None or isinstance(given, int)):
        own.random_state = (random_state if given is None else given) + repeat
    elif repeats > 1:
        raise ValueError(f"repeats must be 1 for a splitter that takes no seed, got {repeats}")
    return own
