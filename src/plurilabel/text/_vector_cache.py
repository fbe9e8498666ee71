"""Vectors of texts on disk, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 500  # keys in a question: SQLite takes no more than 999 in older versions
PATIENCE = 60.0  # seconds that another process may take to write
Encode = Callable[[list[str]], NDArray[np.float32]]
Progress = Callable[[int, int], object]


def encoded(
    texts: Sequence[str],
    encode: Encode,
    *,
    batch_size: int,
    model: str,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Vectors of texts, (n, d): equal texts are encoded once, in batches of similar length."""
    # With ``cache``, a folder, vectors are looked up by model and text first, and each batch is
    # written as soon as it is there: what was interrupted goes on where it stopped. Several
    # processes may share a folder. A batch is written whole or not at all.
    wanted = list(dict.fromkeys(texts))
    known: dict[str, NDArray[np.float32]] = {}
    if cache is None:
        known = _encode_missing(wanted, known, encode, batch_size, progress)
    else:
        file = Path(cache) / "vectors.sqlite"
        with _told(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(file, timeout=PATIENCE)
        with closing(connection) as store:
            keys = {text: _key(model, text) for text in wanted}
            with _told(file), store:
                store.execute("CREATE TABLE IF NOT EXISTS vectors (k BLOB PRIMARY KEY, v BLOB)")
                known = _found(store, keys)

            def keep(batch: list[str], vectors: NDArray[np.float32]) -> None:
                rows = [(keys[text], vector.tobytes()) for text, vector in zip(batch, vectors)]
                with _told(file), store:
                    store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

            known = _encode_missing(wanted, known, encode, batch_size, progress, keep)
    kept = "" if cache is None else f" in {cache}"
    widths = sorted({len(vector) for vector in known.values()})
    if len(widths) > 1:
        raise ValueError(
            f"vectors of {model} must have the same length, got lengths {widths}; "
            f"a cache of vectors of another model{kept} needs another name"
        )
    return np.stack([known[text] for text in texts])


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Errors name the file and say what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise ValueError(
            f"vectors cannot be kept in {file}: {error}; choose another folder as cache, or "
            "delete the file if it is damaged"
        ) from error


def _encode_missing(
    wanted: list[str],
    known: dict[str, NDArray[np.float32]],
    encode: Encode,
    batch_size: int,
    progress: Progress | None,
    keep: Callable[[list[str], NDArray[np.float32]], None] | None = None,
) -> dict[str, NDArray[np.float32]]:
    """The known vectors and those of all other texts, the longest texts first."""
    missing = sorted((text for text in wanted if text not in known), key=len, reverse=True)
    for start in range(0, len(missing), batch_size):
        if progress is not None:
            progress(len(known), len(wanted))
        batch = missing[start : start + batch_size]
        vectors = _checked(encode(batch), len(batch))
        if keep is not None:
            keep(batch, vectors)
        known.update(zip(batch, vectors))
    if progress is not None:
        progress(len(wanted), len(wanted))
    return known


def _checked(vectors: object, n: int) -> NDArray[np.float32]:
    """What an encoder returned as a matrix of finite numbers, or an error that says what it is."""
    try:
        found = np.asarray(vectors, dtype=np.float32)
    except (ValueError, TypeError) as error:  # lists of several lengths, or no numbers
        raise ValueError(
            f"an encoder must return an array of shape ({n}, d), got {type(vectors).__name__} "
            f"that is not one: {error}"
        ) from None
    if found.ndim != 2 or len(found) != n or found.shape[1] == 0:
        each = f"a vector for each of {n} texts"
        raise ValueError(f"an encoder must return {each}, got shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("an encoder must return finite numbers, got NaN or infinity")
    return found


def _key(model: str, text: str) -> bytes:
    # a lone surrogate, as in broken files, is no UTF-8
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _found(store: sqlite3.Connection, keys: dict[str, bytes]) -> dict[str, NDArray[np.float32]]:
    texts = {key: text for text, key in keys.items()}
    every, found = list(texts), {}
    for start in range(0, len(every), AT_ONCE):
        some = every[start : start + AT_ONCE]
        marks = ",".join("?" * len(some))
        for key, vector in store.execute(f"SELECT k, v FROM vectors WHERE k IN ({marks})", some):
            whole = isinstance(vector, bytes) and vector and len(vector) % 4 == 0
            if not whole or not np.isfinite(np.frombuffer(vector, dtype=np.float32)).all():
                raise sqlite3.DatabaseError("it holds a vector that is cut off or not finite")
            found[texts[key]] = np.frombuffer(vector, dtype=np.float32)
    return found
