"""Standard datasets by name, from a folder, the cache or OpenML."""

from __future__ import annotations

import csv
import io
import os
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_digits

from plurilabel._core.blocks import stack_rows
from plurilabel._core.compat import import_extra
from plurilabel._core.data.dataset import Dataset
from plurilabel.datasets._describe import describe
from plurilabel.io import FileFormatError, read_arff, read_table, write_arff
from plurilabel.io.shared import mat_variables, opened

TEXT = "text"  # the column of published texts


@dataclass(frozen=True)
class Entry:
    """A dataset of ``catalog.toml``: its files, and the statistics that identify it."""

    files: list[str]
    instances: int
    features: int
    labels: int
    cardinality: float
    sets: int
    citation: str
    folder: str = ""
    xml: str = ""
    drop: tuple[str, ...] = ()
    openml: int | None = None
    label_names: tuple[str, ...] = ()
    train_counts: tuple[int, ...] = ()
    kind: str = "labels"


@cache
def catalog() -> dict[str, Entry]:
    """The datasets read from files, by name."""
    text = files("plurilabel.datasets").joinpath("catalog.toml").read_text(encoding="utf-8")
    return {
        name: Entry(folder=about.pop("folder", name), **about)
        for name, about in tomllib.loads(text).items()
    }


def dataset_names() -> list[str]:
    """Names of the datasets that :func:`load` accepts.

    Examples
    --------
    >>> from plurilabel import datasets
    >>> datasets.dataset_names()[:3]
    ['digits', 'yeast', 'scene']
    """
    return ["digits", *catalog()]


def load(name: str, *, as_frame: bool = False) -> Dataset:
    """Load a standard dataset.

    It is read from the folder named by the environment variable ``PLURILABEL_DATA``, from the user
    cache, or from OpenML; downloads are kept in the cache. Both folders have a subfolder for each
    dataset with its usual files, such as ``yeast/yeast-train.arff`` and ``yeast/yeast.xml``, plain
    or with ``.gz``. Data whose sizes differ from the published ones are refused. ``digits`` is
    built in.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`. ``image`` has 294 features per image; ``image-bags`` has the
        same images as bags of 9 instances by 15 features, ``image-600`` a published sample. The Y
        of ``wq`` has grades (0, 1, 3 or 5), that of ``sjaffe`` degrees that sum to one: they are
        for :mod:`plurilabel.graded`. The X of ``goemotions`` and ``brighter-*`` is a data frame
        with a column of texts. ``*_FUN``, ``*_GO``, ``ImCLEF07A`` and ``Diatoms`` have labels in a
        ``hierarchy``, and the first two NaN for missing features. Development and validation
        parts are in neither ``train`` nor ``test``.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels; see
        :meth:`Dataset.as_frame`.

    Returns
    -------
    Dataset
        With ``train`` and ``test`` if the files contain a split.

    Examples
    --------
    >>> from plurilabel import datasets
    >>> data = datasets.load("digits")
    >>> data
    Dataset 'digits': 1797 instances, 64 features, 7 labels
    >>> data.label_names[:3]
    ('even', 'prime', 'square')
    >>> datasets.load("digits", as_frame=True).Y.iloc[:2, :3]
       even  prime  square
    0     1      0       1
    1     0      0       1
    """
    data = _digits() if name == "digits" else _find_or_download(name)
    return data.as_frame() if as_frame else data


def _find_or_download(name: str) -> Dataset:
    """Read a dataset of the catalog from the folder or the cache, or download it."""
    if name not in catalog():
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(dataset_names())}")
    entry = catalog()[name]
    folder = os.environ.get("PLURILABEL_DATA")
    if folder and not Path(folder).is_dir():
        raise FileNotFoundError(f"PLURILABEL_DATA names {folder!r}, which is not a folder")
    for root in (*([Path(folder)] if folder else []), cache_folder()):
        if paths := _find(root, name, entry):
            data = _read(paths, name, entry)
            return _with_split(_checked(data, entry, where=str(paths[0].parent)), entry)
    if entry.openml is None:
        raise FileNotFoundError(_what_to_put_where(name, entry))
    return _with_split(_download(name, entry), entry)


def _digits() -> Dataset:
    """Scikit-learn's digits, labeled with properties of the digit."""
    properties = {
        "even": (0, 2, 4, 6, 8),
        "prime": (2, 3, 5, 7),
        "square": (0, 1, 4, 9),
        "multiple of three": (0, 3, 6, 9),
        "five or more": (5, 6, 7, 8, 9),
        # in the usual handwriting; an open 4 has none
        "has a loop": (0, 6, 8, 9),
        "straight lines only": (1, 4, 7),
    }
    bunch = load_digits()
    Y = np.stack([np.isin(bunch.target, which) for which in properties.values()], axis=1)
    citation = (
        "E. Alpaydin, C. Kaynak. Optical recognition of handwritten digits. UCI Machine Learning "
        "Repository, 1998 (as bundled with scikit-learn; labels derived from the digit)."
    )
    names = bunch.feature_names, tuple(properties)
    return Dataset(bunch.data, Y.astype(np.int64), *names, name="digits", citation=citation)


def cache_folder() -> Path:
    """Folder for downloaded data: ``PLURILABEL_CACHE``, or the default of the platform."""
    # not worth a core dependency on platformdirs
    if chosen := os.environ.get("PLURILABEL_CACHE"):
        return Path(chosen)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData/Local")) / "plurilabel"
    if sys.platform == "darwin":
        return home / "Library/Caches/plurilabel"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "plurilabel"


def _find(root: Path, name: str, entry: Entry) -> list[Path]:
    """The files of a dataset, or a copy without the split (``name.arff``); empty if incomplete."""
    for wanted in (entry.files, [f"{name}.arff"]):
        paths = [root / entry.folder / f for f in (*wanted, entry.xml) if f]
        paths = [path if path.is_file() else Path(f"{path}.gz") for path in paths]
        if all(path.is_file() for path in paths):
            return paths
    return []


def _read(paths: list[Path], name: str, entry: Entry) -> Dataset:
    if entry.kind == "texts":
        data = _read_texts(paths, entry.label_names)
    elif paths[0].suffix == ".mat":
        data = _read_mat(paths[0], entry.kind)
    else:
        labels = paths.pop() if entry.xml else None
        parts = [read_arff(path, labels, drop=entry.drop) for path in paths]
        data = parts[0] if len(parts) == 1 else _join(parts, paths)
    label_names = entry.label_names or data.label_names
    return replace(data, name=name, citation=entry.citation, label_names=label_names)


def _join(parts: list[Dataset], paths: list[Path]) -> Dataset:
    """Join the training and the test file; rows of files in between are in neither part."""
    first = parts[0]
    for part, path in zip(parts[1:], paths[1:]):
        for what in ("feature_names", "label_names", "label_parents"):
            if getattr(part, what) != getattr(first, what):
                raise FileFormatError(path, None, f"other {what} than in {paths[0].name}")
    X, Y = stack_rows([part.X for part in parts]), stack_rows([part.Y for part in parts])
    rows = np.split(np.arange(X.shape[0]), np.cumsum([part.X.shape[0] for part in parts[:-1]]))
    return replace(first, X=X, Y=Y, train=rows[0], test=rows[-1])


_MAT_NAMES = {"features", "raw_data", "labels", "bags", "targets", "train_data", "train_target",
              "test_data", "test_target"}  # fmt: skip


def _read_mat(path: Path, kind: str) -> Dataset:
    content = mat_variables(path, _MAT_NAMES)
    try:
        return _mat_arrays(content, kind)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"expected the published MATLAB v5 file of this dataset, got: {error}"
        raise FileFormatError(path, None, problem) from None


def _mat_arrays(content: dict[str, Any], kind: str) -> Dataset:
    """The dataset in a MATLAB file: grades, degrees, bags, or a split sample."""
    if kind != "labels":
        name, dtype = ("raw_data", np.int64) if kind == "grades" else ("labels", np.float64)
        return Dataset(content["features"].astype(np.float64), content[name].astype(dtype))
    if "bags" in content:
        X = np.stack([np.asarray(bag, dtype=np.float64) for bag in content["bags"]])
        return Dataset(X, (content["targets"].T > 0).astype(np.int64))
    X = np.vstack([content["train_data"], content["test_data"]]).astype(np.float64)
    Y = np.hstack([content["train_target"], content["test_target"]]).T > 0
    train, test = np.split(np.arange(len(X)), [len(content["train_data"])])
    return Dataset(X, Y.astype(np.int64), train=train, test=test)


def _read_texts(paths: list[Path], label_names: tuple[str, ...]) -> Dataset:
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


def _checked(data: Dataset, entry: Entry, *, where: str) -> Dataset:
    """Raise an error if the statistics of a dataset differ from the published ones."""
    if entry.kind not in ("grades", "degrees"):
        found = describe(data.Y)
        cardinality, sets = found.cardinality, found.diversity
    else:
        cardinality, sets = data.Y.sum() / data.Y.shape[0], len(np.unique(data.Y, axis=0))
    for what, got, known in (
        ("instances", data.Y.shape[0], entry.instances),
        ("features", data.X.shape[-1], entry.features),
        ("labels", data.Y.shape[1], entry.labels),
        ("labels per instance", cardinality, entry.cardinality),
        ("distinct label sets", sets, entry.sets),
    ):
        if abs(got - known) > 0.001:  # published cardinalities are rounded or truncated
            raise ValueError(
                f"{data.name} in {where} has {got} {what}, but the published data have {known}; "
                "replace these files with the original ones"
            )
    return data


def _with_split(data: Dataset, entry: Entry) -> Dataset:
    """Find the published training part at either end of a copy without its split."""
    if data.train is not None or not entry.train_counts:
        return data
    rows = np.arange(data.X.shape[0])
    counts = np.cumsum(data.Y, axis=0)
    for m in np.flatnonzero((counts == entry.train_counts).all(axis=1)) + 1:
        return replace(data, train=rows[:m], test=rows[m:])
    for m in np.flatnonzero((counts[-1] - counts == entry.train_counts).all(axis=1)) + 1:
        return replace(data, train=rows[m:], test=rows[:m])
    return data


def _download(name: str, entry: Entry) -> Dataset:
    try:
        bunch = fetch_openml(
            data_id=entry.openml, data_home=str(cache_folder() / "openml"), parser="liac-arff"
        )
    except (URLError, OSError) as error:
        advice = _what_to_put_where(name, entry)
        raise FileNotFoundError(f"{advice} (OpenML did not answer: {error})") from None
    labels = [str(column) for column in bunch.target.columns]
    kept = [column for column in bunch.data.columns if str(column) not in entry.drop]
    data = read_table(bunch.data.join(bunch.target), labels=labels, features=kept, name=name)
    data = replace(data, label_names=entry.label_names or labels, citation=entry.citation)
    data = _checked(data, entry, where=f"OpenML dataset {entry.openml}")
    folder = cache_folder() / entry.folder
    folder.mkdir(parents=True, exist_ok=True)
    xml = folder / entry.xml if entry.xml else None
    write_arff(folder / f"{name}.arff.gz", data, labels_xml=xml)
    return data


def _what_to_put_where(name: str, entry: Entry) -> str:
    wanted, folder = ", ".join(f for f in (*entry.files, entry.xml) if f), entry.folder
    return (
        f"no files for {name!r}: put {wanted} (plain or .gz) into {cache_folder() / folder}, "
        f"or set PLURILABEL_DATA to the folder that has {folder}/"
    )
