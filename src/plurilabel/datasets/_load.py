"""Standard datasets by name: from a folder, from the cache, from OpenML."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from sklearn.datasets import fetch_openml

from plurilabel._dataset import Dataset, Matrix
from plurilabel.datasets._catalog import CATALOG, Entry
from plurilabel.datasets._describe import describe
from plurilabel.datasets._digits import digits
from plurilabel.io import FileFormatError, read_arff, write_arff

Found = list[Path]


def dataset_names() -> list[str]:
    """Names that :func:`load` knows.

    Examples
    --------
    >>> from plurilabel import datasets
    >>> datasets.dataset_names()[:3]
    ['digits', 'yeast', 'scene']
    """
    return ["digits", *CATALOG]


def load(name: str) -> Dataset:
    """Load a standard dataset.

    It is looked for in the folder named by the environment variable ``PLURILABEL_DATA``, then in
    the user cache, and then on OpenML, if that has it; what comes from there is kept in the
    cache. In both folders a dataset is a folder of its name with its usual files, such as
    ``yeast/yeast-train.arff``, ``yeast/yeast-test.arff`` and ``yeast/yeast.xml``, each plain or
    with ``.gz``. Whatever is found must show the known numbers of instances, features, labels
    and label sets. ``digits`` is built in.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`. ``image`` has 294 features for each image; ``image-bags``
        are the same images as bags of 9 instances by 15 features, ``image-600`` a published
        sample.

    Returns
    -------
    Dataset
        With ``train`` and ``test`` set where the files carry a split.

    Examples
    --------
    >>> from plurilabel import datasets
    >>> data = datasets.load("digits")
    >>> data
    Dataset 'digits': 1797 instances, 64 features, 7 labels
    >>> data.label_names[:3]
    ('even', 'prime', 'square')
    """
    if name == "digits":
        return digits()
    if name not in CATALOG:
        raise ValueError(f"unknown dataset {name!r}; there are {', '.join(dataset_names())}")
    entry = CATALOG[name]
    for root in _roots():
        paths = _find(root, name, entry)
        if paths is not None:
            data = _checked(_read(paths, name, entry), entry, where=str(paths[0].parent))
            return _with_split(data, entry)
    if entry.openml is None:
        raise FileNotFoundError(_what_to_put_where(name, entry))
    return _download(name, entry)


def cache_folder() -> Path:
    """Folder for downloaded data: ``PLURILABEL_CACHE``, or the platform's usual place."""
    if chosen := os.environ.get("PLURILABEL_CACHE"):
        return Path(chosen)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData/Local")) / "plurilabel"
    if sys.platform == "darwin":
        return home / "Library/Caches/plurilabel"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "plurilabel"


def _roots() -> list[Path]:
    folder = os.environ.get("PLURILABEL_DATA")
    if folder and not Path(folder).is_dir():
        raise FileNotFoundError(f"PLURILABEL_DATA names {folder!r}, which is no folder")
    return [*([Path(folder)] if folder else []), cache_folder()]


def _find(root: Path, name: str, entry: Entry) -> Found | None:
    """The dataset's files below root, in the catalogue's order; None if one is missing.

    A copy without the split (``name.arff`` alone, as the cache keeps it) is found as well.
    """
    for files in (entry.files, (f"{name}.arff",)):
        wanted = [f if "/" in f else f"{name}/{f}" for f in files]
        if entry.xml:
            wanted.append(f"{name}/{entry.xml}")
        found = [_plain_or_packed(root / f) for f in wanted]
        if all(found):
            return [path for path in found if path]
    return None


def _plain_or_packed(path: Path) -> Path | None:
    for candidate in (path, path.with_name(path.name + ".gz")):
        if candidate.is_file():
            return candidate
    return None


def _read(paths: Found, name: str, entry: Entry) -> Dataset:
    if paths[0].suffix == ".mat":
        data = _read_mat(paths[0])
    else:
        labels = paths.pop() if entry.xml else None
        parts = [read_arff(path, labels, drop=entry.drop) for path in paths]
        data = parts[0] if len(parts) == 1 else _join(parts, paths)
    label_names = entry.label_names or data.label_names
    return replace(data, name=name, citation=entry.citation, label_names=label_names)


def _join(parts: list[Dataset], paths: Found) -> Dataset:
    """Training and test file as one dataset, with their rows as the split."""
    first, second = parts
    for what in ("feature_names", "label_names"):
        if getattr(first, what) != getattr(second, what):
            raise FileFormatError(paths[1], None, f"other {what} than in {paths[0].name}")
    stack = sparse.vstack if sparse.issparse(first.X) else np.vstack
    n, m = first.X.shape[0], second.X.shape[0]
    return replace(
        first,
        X=_stacked(stack, first.X, second.X),
        Y=_stacked(stack, first.Y, second.Y),
        train=np.arange(n),
        test=np.arange(n, n + m),
    )


def _stacked(stack: Any, first: Matrix, second: Matrix) -> Matrix:
    both = stack([first, second])
    return sparse.csr_array(both) if sparse.issparse(both) else both


def _with_split(data: Dataset, entry: Entry) -> Dataset:
    """Find the published training part at either end of a copy that has lost its split."""
    if data.train is not None or entry.train_counts is None:
        return data
    known = np.array(entry.train_counts)
    rows = np.arange(data.X.shape[0])
    counts = np.cumsum(data.Y, axis=0)
    for m in np.flatnonzero((counts == known).all(axis=1)) + 1:
        return replace(data, train=rows[:m], test=rows[m:])
    for m in np.flatnonzero((counts[-1] - counts == known).all(axis=1)) + 1:
        return replace(data, train=rows[m:], test=rows[:m])
    return data


def _read_mat(path: Path) -> Dataset:
    """The MATLAB files of the image data: bags of instances, or a split sample."""
    try:
        content = loadmat(path)
        if "bags" in content:
            X = np.stack([np.asarray(bag, dtype=np.float64) for bag in content["bags"].ravel()])
            return _from_mat(X, content["targets"].T)
        X = np.vstack([content["train_data"], content["test_data"]]).astype(np.float64)
        data = _from_mat(X, np.hstack([content["train_target"], content["test_target"]]).T)
    except (KeyError, MatReadError, NotImplementedError, TypeError, ValueError) as error:
        raise FileFormatError(
            path, None, f"expected the published MATLAB v5 file of this dataset, got: {error}"
        ) from None
    n = len(content["train_data"])
    return replace(data, train=np.arange(n), test=np.arange(n, len(X)))


def _from_mat(X: NDArray[np.float64], targets: NDArray[Any]) -> Dataset:
    d, q = X.shape[-1], targets.shape[1]
    features = tuple(f"feature{j}" for j in range(d))
    labels = tuple(f"label{j}" for j in range(q))
    return Dataset(X, (targets > 0).astype(np.int64), features, labels)


def _checked(data: Dataset, entry: Entry, *, where: str) -> Dataset:
    """The dataset, if it shows the known figures; else an error that says which do not."""
    found = describe(data.Y)
    for what, got, known in (
        ("instances", data.X.shape[0], entry.instances),
        ("features", data.X.shape[-1], entry.features),
        ("labels", data.Y.shape[1], entry.labels),
        ("labels per instance", found.cardinality, entry.cardinality),
        ("distinct label sets", found.diversity, entry.sets),
    ):
        if abs(got - known) > 0.001:  # the published cardinalities are rounded or cut
            raise ValueError(
                f"{data.name} in {where} has {got} {what}, but the published data have {known}; "
                "replace these files by the original ones"
            )
    return data


def _download(name: str, entry: Entry) -> Dataset:
    folder = cache_folder() / name
    try:
        bunch = fetch_openml(
            data_id=entry.openml, data_home=str(cache_folder() / "openml"), parser="liac-arff"
        )
    except (URLError, OSError) as error:
        raise FileNotFoundError(
            f"{_what_to_put_where(name, entry)} (OpenML did not answer: {error})"
        ) from None
    data = _from_openml(bunch, name, entry)
    data = _checked(data, entry, where=f"OpenML dataset {entry.openml}")
    folder.mkdir(parents=True, exist_ok=True)
    xml = folder / entry.xml if entry.xml else None
    write_arff(folder / f"{name}.arff.gz", data, labels_xml=xml)
    return _with_split(data, entry)


def _from_openml(bunch: Any, name: str, entry: Entry) -> Dataset:
    """What scikit-learn's fetcher returns, as numbers: labels come as the words TRUE and FALSE."""
    frame, target = bunch.data, bunch.target
    columns, features = [], []
    for column in frame.columns:
        if str(column) in entry.drop:
            continue
        values = frame[column]
        if getattr(values.dtype, "kind", "O") in "biuf":
            columns.append(values.to_numpy(dtype=np.float64))
        else:
            columns.append(_is_yes(values))
        features.append(str(column))
    Y = np.stack([_is_yes(target[column]) for column in target.columns], axis=1)
    return Dataset(
        X=np.stack(columns, axis=1),
        Y=Y.astype(np.int64),
        feature_names=tuple(features),
        label_names=entry.label_names or tuple(str(column) for column in target.columns),
        name=name,
        citation=entry.citation,
    )


def _is_yes(values: Any) -> NDArray[np.float64]:
    """Two-valued words as 0 and 1; anything else is refused."""
    words = np.char.lower(np.asarray(values, dtype=str))
    yes = np.isin(words, ("true", "yes", "1", "1.0"))
    no = np.isin(words, ("false", "no", "0", "0.0"))
    if not (yes | no).all():
        strange = str(words[~(yes | no)][0])
        raise ValueError(f"expected TRUE or FALSE in column {values.name!r}, got {strange!r}")
    return yes.astype(np.float64)


def _what_to_put_where(name: str, entry: Entry) -> str:
    files = [Path(f).name for f in entry.files] + ([entry.xml] if entry.xml else [])
    folder = "image" if name.startswith("image") else name
    return (
        f"no files for {name!r}: put {', '.join(files)} (plain or .gz) into "
        f"{cache_folder() / folder}, or set PLURILABEL_DATA to the folder that has {folder}/"
    )
