"""Learners, datasets and splits from the arguments of a comparison."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GroupShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_array, get_tags

from plurilabel import datasets as library
from plurilabel import model_selection as ms
from plurilabel._core.base import check_labels, column_names, names_or_default
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import distinct_names, unique_name
from plurilabel.io import TableEncoder, read
from plurilabel.io.shared import as_table, imputer, is_texts, needs_encoding
from plurilabel.learners import learner_text, make_learner, make_learners
from plurilabel.learners.shared import parts_of, wrapped
from plurilabel.model_selection.shared import splits_by
from plurilabel.wrappers import AutoClassifier

# learners ------------------------------------------------------------------------------------


def named_learners(learners: Any) -> dict[str, Any]:
    """Unfitted copies of learners by name, from any form that :func:`compare` accepts."""
    if isinstance(learners, Mapping):
        table = {str(name): _learner(one) for name, one in learners.items()}
    elif isinstance(learners, str):
        table = make_learners(learners)
    else:  # named by class, with parameters or a number where classes are equal
        several = learners if isinstance(learners, Sequence) else [learners]
        made = [_learner(one) for one in several]
        texts = [a if isinstance(a, str) else learner_text(b) for a, b in zip(several, made)]
        table = dict(zip(distinct_names([short_name(one) for one in made], texts), made))
    _check_names("learners", table)
    for name, one in table.items():
        if isinstance(one, type):
            raise TypeError(f"learners must be instances such as {one.__name__}(), got the class")
        if not (hasattr(one, "fit") and hasattr(one, "predict")):
            raise TypeError(f"learners[{name!r}] must have fit and predict, got {one!r}")
    return {name: clone(one, safe=False) for name, one in table.items()}


def _check_names(what: str, table: Mapping[str, Any]) -> None:
    """Names must differ, also where a file system ignores case."""
    if not table:
        raise ValueError(f"{what} must not be empty")
    seen: dict[str, str] = {}
    for name in table:
        if not name:
            raise ValueError(f"{what} must have names that are not empty, got ''")
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise ValueError(f"{what} must have names that differ, got {other!r} and {name!r}")


def _learner(given: Any) -> Any:
    return make_learner(given) if isinstance(given, str) else given


def short_name(learner: Any) -> str:
    """Name of a learner: its class, the steps of a pipeline, or the learner of a search."""
    if isinstance(learner, Pipeline):
        return " | ".join(short_name(step) for _, step in learner.steps)
    searched = hasattr(learner, "param_grid") or hasattr(learner, "param_distributions")
    if searched and hasattr(learner, "estimator"):
        return f"{short_name(learner.estimator)} (search)"
    return type(learner).__name__


def encoder_of(data: Dataset, words: Any = None) -> TableEncoder | None:
    """An unfitted encoder with the kinds of columns of all rows; None if X is not a table."""
    if not data.kinds and not needs_encoding(data.X):
        return None
    encoder = TableEncoder(numbers=imputer(), kinds=data.kinds or None, written=data.written)
    encoder = encoder.decided(data.X)
    has_text = "text" in dict(encoder.kinds or {}).values()
    return encoder.set_params(words=words) if has_text else encoder


def encoding(learner: Any, encoder: TableEncoder | None) -> Any:
    """A pipeline of encoder and learner, as in :func:`plurilabel.models.train`."""
    # Learners that encode tables themselves are returned unchanged.
    if encoder is None:
        return learner
    if isinstance(learner, AutoClassifier) and learner.encoder is None:
        return clone(learner).set_params(encoder=clone(encoder).set_params(numbers=None))
    if any(_takes_words(part) for part in parts_of(learner)):
        return learner
    fills = "Imputer" in learner_text(learner)
    before = clone(encoder).set_params(**({"numbers": "passthrough"} if fills else {}))

    def wrap(one: Any) -> tuple[Any, str]:
        steps = make_pipeline(before, one)
        return steps, f"{steps.steps[-1][0]}__"

    return wrapped(learner, wrap)[0]


def _takes_words(part: Any) -> bool:
    """Whether a part of a learner accepts tables with text."""
    if isinstance(part, ColumnTransformer | AutoClassifier):
        return True
    if not hasattr(part, "transform"):
        return False
    tags = get_tags(part)
    return bool(tags.input_tags.string or tags.input_tags.categorical or tags.no_validation)


def named_datasets(given: Any) -> dict[str, Dataset]:
    """Datasets by name, from any form that :func:`compare` accepts."""
    table: dict[str, Dataset] = {}
    if isinstance(given, Mapping):
        table = {str(name): _dataset(one, str(name)) for name, one in given.items()}
    else:
        one = not isinstance(given, Iterable) or isinstance(given, str | os.PathLike | Dataset)
        for entry in [given] if one or _is_pair(given) else given:
            data = _dataset(entry, "data")
            table[unique_name(data.name or "data", table, "{}-{}")] = data
    _check_names("datasets", table)
    return table


def _is_pair(given: Any) -> bool:
    """Whether this is (X, Y), not two datasets."""
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
        forms, kind = "names, paths, Dataset objects or pairs (X, Y)", type(given).__name__
        raise TypeError(f"datasets must be {forms}, got {kind}")
    X, Y = given
    filled, unknown = known_part(Y)
    labels: Any = check_labels(filled).astype(np.int64)
    if unknown is not None:
        labels = UnknownLabels(labels, unknown)
        labels = labels if sparse.issparse(filled) else labels.toarray()
    if is_texts(X):
        X = as_table(X).frame
    elif not hasattr(X, "iloc"):
        X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    features = column_names(X) or [f"feature{j}" for j in range(X.shape[1])]
    label_names = names_or_default(column_names(Y), labels.shape[1])
    return Dataset(X, labels, tuple(features), tuple(label_names), name=name)


class Split(NamedTuple):
    """Row indices of one training and test part."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def splits_of(
    data: Dataset, name: str, cv: Any, repeats: int, random_state: int
) -> tuple[str, list[Split]]:
    """A description of the splits of a dataset, and the splits."""
    is_holdout = isinstance(cv, str) and cv == "holdout"
    plain = data.groups is None and not data.ordered
    if is_holdout and plain and data.train is not None and data.test is not None:
        words = f"published, {len(data.train)} training and {len(data.test)} test instances"
        parts: list[Any] = [[(data.train, data.test)]] * repeats
    else:
        words, splitter = _holdout(data) if is_holdout else _splitter(cv, data)
        seeded = [_seeded(splitter, repeat, repeats, random_state) for repeat in range(repeats)]
        try:
            parts = [splits_by(one, data.X, data.Y, data.groups) for one in seeded]
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return words, [
        Split(repeat, fold, np.asarray(train), np.asarray(test))
        for repeat, folds in enumerate(parts)
        for fold, (train, test) in enumerate(folds)
    ]


def _holdout(data: Dataset) -> tuple[str, Any]:
    """Description and splitter where there is no published split."""
    if data.ordered:
        n = data.Y.shape[0]
        first, last = np.split(np.arange(n), [n - -(-n // 3)])
        return "first two thirds for training, last third for testing", [(first, last)]
    if data.groups is not None:
        words = "two thirds of the groups for training, one third for testing"
        return words, GroupShuffleSplit(1, test_size=1 / 3)
    words = "stratified, two thirds for training, one third for testing (no published split)"
    return words, ms.IterativeStratifiedShuffleSplit(1, test_size=1 / 3)


def _splitter(cv: Any, data: Dataset) -> tuple[str, Any]:
    """Description and splitter of a ``cv`` other than "holdout"."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if data.ordered:
            return f"{cv} folds in temporal order", TimeSeriesSplit(int(cv))
        if data.groups is not None:
            words = f"{cv} stratified folds of whole groups"
            return words, ms.IterativeStratifiedGroupKFold(int(cv), shuffle=True)
        return f"{cv} stratified folds", ms.IterativeStratifiedKFold(int(cv), shuffle=True)
    if hasattr(cv, "split") and not isinstance(cv, str):
        return learner_text(cv), cv
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return "splits as given", list(cv)
    raise ValueError(
        f"cv must be 'holdout', a number of folds, a splitter or pairs of row indices, got {cv!r}"
    )


def _seeded(cv: Any, repeat: int, repeats: int, random_state: int) -> Any:
    """A copy of the splitter with a seed for this repeat."""
    own = copy.deepcopy(cv)
    given: Any = getattr(own, "random_state", "none")
    if getattr(own, "shuffle", True) and (given is None or isinstance(given, int)):
        own.random_state = (random_state if given is None else given) + repeat
    elif repeats > 1:
        raise ValueError(f"repeats must be 1 for a splitter that takes no seed, got {repeats}")
    return own
