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
from plurilabel.compare._cell_files import plain
from plurilabel.compare._learners import check_distinct
from plurilabel.datasets import Dataset
from plurilabel.io import read
from plurilabel.model_selection import IterativeStratifiedKFold, IterativeStratifiedShuffleSplit


class Split(NamedTuple):
    """Row numbers of one training and test part."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


# names ---------------------------------------------------------------------------------------


def named_datasets(given: Any) -> dict[str, Dataset]:
    """Datasets by name, from whatever way they were given.

    Examples
    --------
    >>> named_datasets("digits")
    {'digits': Dataset 'digits': 1797 instances, 64 features, 7 labels}
    >>> list(named_datasets([([[0.0], [1.0]], [[1, 0], [0, 1]])]))
    ['data']
    """
    if isinstance(given, Mapping):
        table = {str(name): _dataset(one, str(name)) for name, one in given.items()}
    else:
        one = not isinstance(given, Iterable) or isinstance(given, str | os.PathLike | Dataset)
        one = one or _is_pair(given)
        table = {}
        for entry in [given] if one else given:
            data = _dataset(entry, "data")
            name, number = data.name or "data", 2
            while name in table:
                name, number = f"{data.name or 'data'}-{number}", number + 1
            table[name] = data
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
    if isinstance(given, str) and given in library.dataset_names() and not Path(given).is_file():
        return library.load(given)
    if isinstance(given, str | os.PathLike):
        if not Path(given).is_file():
            raise FileNotFoundError(
                f"{os.fspath(given)!r} is neither a file nor a standard dataset; "
                f"there are {', '.join(library.dataset_names())}"
            )
        return read(given)
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


def described_data(data: Dataset, digest: str, split: str) -> dict[str, Any]:
    """What a plan says of a dataset."""
    figures = library.describe(data)
    return plain(
        {
            "n": figures.instances,
            "d": figures.features,
            "q": figures.labels,
            "cardinality": figures.cardinality,
            "density": figures.density,
            "diversity": figures.diversity,
            "mean_ir": figures.mean_ir,
            "scumble": figures.scumble,
            "sparse": bool(sparse.issparse(data.X)),
            "split": split,
            "citation": data.citation,
            "digest": digest,
            "label_names": list(data.label_names),
            "label_counts": figures.counts,
        }
    )


# splits --------------------------------------------------------------------------------------


def splits_of(
    data: Dataset, name: str, cv: Any, repeats: int, random_state: int
) -> tuple[str, list[Split]]:
    """The splits of a dataset, and what they are in words."""
    if isinstance(cv, str):
        if cv != "holdout":
            raise ValueError(f"cv must be 'holdout', a number of folds or a splitter, got {cv!r}")
        words, parts = _holdout(data, repeats, random_state)
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        words = f"{cv} stratified folds"
        parts = [
            IterativeStratifiedKFold(int(cv), shuffle=True, random_state=random_state + repeat)
            .split(data.X, data.Y)
            for repeat in range(repeats)
        ]  # fmt: skip
    elif hasattr(cv, "split"):
        words = " ".join(repr(cv).split())
        parts = [_seeded(cv, repeat, repeats, random_state).split(data.X, data.Y)
                 for repeat in range(repeats)]  # fmt: skip
    else:
        raise TypeError(f"cv must be 'holdout', a number of folds or a splitter, got {cv!r}")
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


def _holdout(data: Dataset, repeats: int, random_state: int) -> tuple[str, list[Any]]:
    if data.train is not None and data.test is not None:
        words = f"published, {len(data.train)} to train and {len(data.test)} to test"
        return words, [[(data.train, data.test)]] * repeats
    words = "stratified, two thirds to train and one third to test (there is no published split)"
    return words, [
        IterativeStratifiedShuffleSplit(1, test_size=1 / 3, random_state=random_state + repeat)
        .split(data.X, data.Y)
        for repeat in range(repeats)
    ]  # fmt: skip


def _seeded(cv: Any, repeat: int, repeats: int, random_state: int) -> Any:
    """A copy of the splitter for this repeat: seeded, so that it can be repeated."""
    own = copy.deepcopy(cv)
    given: Any = getattr(own, "random_state", "none")
    if getattr(own, "shuffle", True) and (given is None or isinstance(given, int)):
        own.random_state = (random_state if given is None else given) + repeat
    elif repeats > 1:
        raise ValueError(f"repeats must be 1 for a splitter that takes no seed, got {repeats}")
    return own


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows, as a copy, of an array, a sparse matrix or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    picked = X[rows]
    return picked if sparse.issparse(picked) else np.array(picked)
