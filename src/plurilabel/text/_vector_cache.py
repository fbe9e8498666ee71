"""Vectors of texts on disk, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 500  # keys in a question: SQLite takes no more than 999 in older versions

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
    """Vectors of texts, (n, d): equal texts are encoded once, in batches of similar length.

    With ``cache``, a folder, vectors are looked up by model and text first, and each batch is
    written as soon as it is there: what was interrupted goes on where it stopped. Several
    processes may share a folder. A batch is written whole or not at all.
    """
    wanted = list(dict.fromkeys(texts))
    known: dict[str, NDArray[np.float32]] = {}
    if cache is None:
        known = _encode_missing(wanted, known, encode, batch_size, progress)
    else:
        folder = Path(cache)
        folder.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(folder / "vectors.sqlite", timeout=60)) as store:
            with store:
                store.execute("CREATE TABLE IF NOT EXISTS vectors (k BLOB PRIMARY KEY, v BLOB)")
            keys = {text: _key(model, text) for text in wanted}
            known = _found(store, keys)

            def keep(batch: list[str], vectors: NDArray[np.float32]) -> None:
                rows = [(keys[text], vector.tobytes()) for text, vector in zip(batch, vectors)]
                with store:
                    store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

            known = _encode_missing(wanted, known, encode, batch_size, progress, keep)
    widths = sorted({len(vector) for vector in known.values()})
    if len(widths) > 1:
        raise ValueError(
            f"vectors of {model} must have the same length, got lengths {widths}; "
            "a cache of vectors of another model needs another name"
        )
    return np.stack([known[text] for text in texts])


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
    found = np.asarray(vectors, dtype=np.float32)
    if found.ndim != 2 or len(found) != n or found.shape[1] == 0:
        raise ValueError(f"an encoder must return a vector for each of {n} texts, got shape "
                         f"{found.shape}")  # fmt: skip
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
            found[texts[key]] = np.frombuffer(vector, dtype=np.float32)
    return found
