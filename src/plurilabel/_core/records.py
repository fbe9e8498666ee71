"""Records in files: atomic writes, JSON, digests and locks."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import math
import os
import platform
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from scipy import sparse

from plurilabel._core.compat import import_extra
from plurilabel._core.data.bags import Bags
from plurilabel._core.unknown import UnknownLabels

AnyPath: TypeAlias = str | os.PathLike[str]
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of a disk that is full


@contextmanager
def write_atomic(path: AnyPath) -> Iterator[BinaryIO]:
    """Write a file atomically; gzipped if its name ends in ``.gz``."""
    # The bytes go to a temporary file in the same folder, which replaces ``path`` when the block
    # ends without an error. If the process is killed, the temporary file is removed when the same
    # file is written again on the same machine.
    path = Path(path)
    sweep(path.parent, path.name)
    temporary = path.with_name(f".{path.name}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    # the usual permissions of a new file: asking for the umask would change it for other threads
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                # no file name and no time in the header: the same data give the same bytes
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_HOST = re.sub(r"[^A-Za-z0-9]", "", platform.node())[:20]
_TEMPORARY = re.compile(r"\.(.+)\.([A-Za-z0-9]*)-([0-9]+)-[0-9a-f]{8}\.tmp")


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove temporary files of a file, or of all in a folder, whose processes were killed."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(".tmp")]
    for left in names:
        found = _TEMPORARY.fullmatch(left)
        if not found or name not in (None, found[1]) or found[2] != _HOST:
            continue
        if not _is_alive(int(found[3])):
            (folder / left).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # where this would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json_bytes(content, allow_nan=False, indent=1)
    with write_atomic(path) as stream:
        stream.write(text)


def json_bytes(content: Any, **options: Any) -> bytes:
    """JSON in UTF-8; what UTF-8 cannot hold, as in a file name of other bytes, is escaped."""
    # every backslash of the text is an escape of JSON already, and so is that of a code
    return json.dumps(content, ensure_ascii=False, **options).encode(errors="backslashreplace")


def read_json(path: Path) -> Any:
    """Content of a JSON file; None if there is no file, or only part of one."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None


def read_plan(
    folder: AnyPath, what: str, number: int, expected: Mapping[str, type]
) -> dict[str, Any] | None:
    """Plan of the "comparison" or "stream" in a folder, None if there is none."""
    # It must be in the format of this number and have entries of the expected types.
    plan = read_json(Path(folder, "plan.json"))
    if plan is None:
        return None
    is_plan = isinstance(plan, dict) and "format" in plan
    if not is_plan or plan.get("what", "comparison") != what:
        raise ValueError(f"plan.json in {folder} is not that of a {what}; use another folder")
    if plan["format"] != number:
        raise ValueError(
            f"{folder} holds a {what} in format {plan['format']}, but this version of plurilabel "
            f"reads format {number}; use another folder"
        )
    for name, kind in expected.items():
        if type(plan.get(name)) is not kind:
            raise ValueError(f"plan.json in {folder} is broken: {name} is not a {kind.__name__}")
    return plan


def plain(value: Any) -> Any:
    """Convert a value for JSON: NaN and infinity to None, arrays to lists."""
    # Estimators become class and parameters, other objects their ``repr`` without the address.
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    for kinds, as_plain in _PLAIN:
        if isinstance(value, kinds):
            return as_plain(value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"class": class_name(value), "parameters": plain(value.get_params(deep=False))}
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))


_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.generic, lambda value: plain(value.item())),
    (np.ndarray, lambda value: plain(value.tolist())),
    (Mapping, lambda value: {str(key): plain(entry) for key, entry in value.items()}),
    ((list, tuple, range), lambda value: [plain(entry) for entry in value]),
    (os.PathLike, os.fspath),
)


def class_name(value: Any) -> str:
    """Name of an object's class, by which it can be imported."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def digest_of(*values: Any) -> str:
    """Digest of arrays, sparse matrices, data frames, and JSON values."""
    # Unlike ``joblib.hash``, it depends on neither memory layout nor versions of libraries.
    total = hashlib.blake2b(digest_size=16)
    for value in values:
        _add_to(total, value)
    return total.hexdigest()


def _add_to(total: Any, value: Any) -> None:
    if sparse.issparse(value):
        rows = value.tocsr()
        total.update(f"csr {rows.shape}".encode())
        for part in (rows.data, rows.indices, rows.indptr):
            _add_to(total, part)
    elif isinstance(value, UnknownLabels):
        total.update(b"labels")
        _add_to(total, value.Y)
        _add_to(total, value.unknown)
    elif isinstance(value, Bags):
        total.update(b"bags")
        _add_to(total, value.instances)
        _add_to(total, value.offsets)
    elif hasattr(value, "iloc"):
        from pandas.util import hash_pandas_object

        total.update(f"frame {[str(name) for name in value.columns]}".encode())
        _add_to(total, hash_pandas_object(value, index=False).to_numpy())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        total.update(f"array {value.dtype} {value.shape}".encode())
        # dates have no buffer of their own
        total.update(np.ascontiguousarray(value).view(np.uint8).data if value.nbytes else b"")
    elif isinstance(value, np.ndarray):
        total.update(f"objects {value.shape}".encode())
        for cell in value.ravel():  # the repr of an array would leave out its middle
            is_array = isinstance(cell, np.ndarray)
            _add_to(total, cell) if is_array else total.update(f" {cell!r}".encode())
    else:
        total.update(json.dumps(value, sort_keys=True).encode())


@contextmanager
def locked(folder: Path, what: str = "comparison") -> Iterator[None]:
    """Lock a folder, created if needed, for this process."""
    filelock = import_extra("filelock", "out", "compare")
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / ".lock").is_symlink():  # which would be opened for writing
        raise OSError(f"{folder / '.lock'} is a link to another file; remove it")
    try:
        lock = filelock.FileLock(folder / ".lock", timeout=0).acquire()
    except filelock.Timeout:
        owner = [f" (process {path.name.split('-')[1]})" for path in folder.glob(".work-*")]
        raise BlockingIOError(
            f"{folder} is in use by another {what}{''.join(owner)}; wait for it, stop it, "
            "or choose another folder"
        ) from None
    except OSError as error:
        raise OSError(f"{folder} cannot be locked ({error}); choose another folder") from None
    with lock:
        try:
            yield
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, os.fspath(folder)) from error
