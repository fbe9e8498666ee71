"""Published texts with their labels."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import import_extra
from plurilabel._core.data.dataset import Dataset
from plurilabel.io import FileFormatError
from plurilabel.io.shared import opened

TEXT = "text"


def read_texts(paths: list[Path], label_names: tuple[str, ...]) -> Dataset:
    """Join the training, development and test files, with a column of texts."""
    # The rows of the development part are in neither ``train`` nor ``test``.
    pandas = import_extra("pandas", "a dataset of texts", "table")
    texts: list[str] = []
    parts: list[NDArray[np.int64]] = []
    for path in paths:
        read = _numbered if ".tsv" in path.suffixes else _in_columns
        try:
            some, labels = read(path, label_names)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            problem = f"expected texts and labels as published, got: {error}"
            raise FileFormatError(path, None, problem) from None
        texts += some
        parts.append(labels)
    rows = np.split(np.arange(len(texts)), np.cumsum([len(part) for part in parts])[:-1])
    return Dataset(
        pandas.DataFrame({TEXT: texts}),
        np.concatenate(parts),
        label_names=label_names,
        train=rows[0],
        test=rows[-1],
        kinds={TEXT: TEXT},
    )


def _numbered(path: Path, names: tuple[str, ...]) -> tuple[list[str], NDArray[np.int64]]:
    """GoEmotions: text, label indices, identifier; quotation marks are literal."""
    with opened(path) as stream:
        found = stream.read().decode().removesuffix("\n")
    lines = [line.split("\t") for line in found.split("\n")]
    labels = np.zeros((len(lines), len(names)), dtype=np.int64)
    for i, (_, numbers, _) in enumerate(lines):
        labels[i, [int(number) for number in numbers.split(",")]] = 1
    return [line[0] for line in lines], labels


def _in_columns(path: Path, names: tuple[str, ...]) -> tuple[list[str], NDArray[np.int64]]:
    """BRIGHTER: a column per label, with 0 or 1, or a grade from 0 to 3."""
    with opened(path) as stream:
        found = io.StringIO(stream.read().decode(), newline="")
    rows = list(csv.DictReader(found))
    labels = np.array([[int(row[name]) > 0 for name in names] for row in rows])
    return [row[TEXT] for row in rows], labels.astype(np.int64)
