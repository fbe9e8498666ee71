"""Save learners on Dask to a folder, with a file for each block of instances."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.records import write_atomic
from plurilabel.distributed import DaskLazyClassifier
from plurilabel.distributed.shared import RowBlocks, import_dask
from plurilabel.models._file import ModelFileError, load_model, save_model

FORMAT = 1
_ABOUT, _LEARNER = "parts.json", "learner.skops"
_DENSE, _SPARSE = ".npy", ".npz"


def save_parts(learner: DaskLazyClassifier, folder: str | os.PathLike[str]) -> None:
    """Save a fitted learner on Dask to a folder, with a file for each block of its instances.

    The workers write the blocks, so that all of them must see the folder. Each file is written
    atomically, ``parts.json`` last: a folder without it is not a learner. Needs skops: ``pip
    install plurilabel[cli]``.

    Parameters
    ----------
    learner : DaskLazyClassifier
        Fitted.
    folder : str or path
        Created if necessary; it must not contain a learner.

    Examples
    --------
    >>> import tempfile
    >>> import dask.array as da
    >>> from plurilabel import MLkNN
    >>> from plurilabel import DaskLazyClassifier
    >>> from plurilabel.models import load_parts, save_parts
    >>> X = da.from_array([[0.0], [1.0], [5.0], [6.0]], chunks=(2, 1))
    >>> learner = DaskLazyClassifier(MLkNN(n_neighbors=1)).fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_parts(learner, folder)
    ...     load_parts(folder).predict([[0.5], [7.0]])
    array([[1, 0],
           [0, 1]])
    """
    if not isinstance(learner, DaskLazyClassifier):
        raise TypeError(
            f"save_parts needs a DaskLazyClassifier, got {type(learner).__name__}: use save"
        )
    check_is_fitted(learner)
    dask = import_dask("save_parts")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if (place / _ABOUT).exists():
        raise FileExistsError(f"{place} already contains a learner; choose another folder")
    index = learner.index_
    write = dask.delayed(_write)
    stems = [os.fspath(place.absolute() / _stem(i)) for i in range(len(index.blocks_.parts))]
    names = dask.compute(*(write(stem, part) for stem, part in zip(stems, index.blocks_.parts)))
    save_model(learner.without_instances(), place / _LEARNER)
    about = {
        "format": FORMAT,
        "width": index.n_features_in_,
        "rows": learner.rows,
        "sizes": index.blocks_.sizes,
        "files": names,
    }
    with write_atomic(place / _ABOUT) as stream:
        stream.write(json.dumps(about).encode())


def load_parts(folder: str | os.PathLike[str]) -> DaskLazyClassifier:
    """Load a learner saved by :func:`~plurilabel.models.save_parts`.

    The instances stay in their files; the workers read blocks when they need them. The sizes of
    the files are checked, and the learner as by :func:`~plurilabel.models.load_model`.

    Parameters
    ----------
    folder : str or path
        Must be visible to all workers.

    Raises
    ------
    ModelFileError
        If the folder does not contain a complete learner.
    """
    dask = import_dask("load_parts")
    place = Path(folder).absolute()
    about = _read_about(place)
    sizes, width, names = about["sizes"], about["width"], about["files"]
    for name, size in zip(names, sizes):
        try:
            shape = _shape(place / name)
        except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
            raise ModelFileError(f"{place / name} cannot be read: {error}") from None
        if shape != (size, width):
            raise ModelFileError(f"{place / name} must have shape {(size, width)}, got {shape}")
    read = dask.delayed(_read)
    blocks = RowBlocks([read(os.fspath(place / name)) for name in names], sizes, width)
    try:
        estimator: Any = load_model(place / _LEARNER).estimator
        return DaskLazyClassifier.of_parts(estimator, blocks, about["rows"])
    except ModelFileError:
        raise
    except (AttributeError, FileNotFoundError, TypeError, ValueError) as error:
        raise ModelFileError(f"{place} does not contain a learner: {error}") from None


def _read_about(place: Path) -> dict[str, Any]:
    try:
        about = json.loads((place / _ABOUT).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ModelFileError(
            f"{place} has no {_ABOUT}: it is not a saved learner, or saving was not finished"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{place / _ABOUT} is damaged: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFileError(f"{place / _ABOUT} is not of format {FORMAT}")
    if not _lists_blocks(*(about.get(name) for name in ("sizes", "files", "width", "rows"))):
        raise ModelFileError(f"{place / _ABOUT} is damaged: it does not list blocks of instances")
    return about


def _lists_blocks(sizes: Any, files: Any, width: Any, rows: Any) -> bool:
    if not isinstance(sizes, list) or not sizes:
        return False
    counts = [*sizes, width, *([] if rows is None else [rows])]
    stems = [_stem(i) for i in range(len(sizes))]
    return all(type(count) is int and count >= 1 for count in counts) and any(
        files == [stem + end for stem in stems] for end in (_DENSE, _SPARSE)
    )


def _stem(i: int) -> str:
    return f"block{i:06}"


def _shape(path: Path) -> tuple[int, ...]:
    if path.suffix == _DENSE:
        return np.load(path, mmap_mode="r", allow_pickle=False).shape
    with ZipFile(path) as archive:
        if any(entry.compress_type != ZIP_STORED for entry in archive.infolist()):
            raise ValueError("it is compressed")
    with np.load(path, allow_pickle=False) as entries:
        return tuple(entries["shape"].tolist())


def _write(stem: str, block: Any) -> str:
    """Write a block, and return the name of its file."""
    path = stem + (_SPARSE if sparse.issparse(block) else _DENSE)
    block = block.astype(np.float64, copy=False)
    with write_atomic(path) as stream:
        if sparse.issparse(block):
            sparse.save_npz(stream, sparse.csr_array(block), compressed=False)
        else:
            np.save(stream, block, allow_pickle=False)
    return os.path.basename(path)


def _read(path: str) -> Any:
    if path.endswith(_DENSE):
        return np.load(path, allow_pickle=False)
    block = sparse.csr_array(sparse.load_npz(path))
    block.check_format(full_check=True)  # indices are not checked when they are used
    return block
