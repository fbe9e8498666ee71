"""A model file must not take far more memory than its size lets expect."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

MOST_FEATURES = 50_000_000  # whose names are made up: three gigabytes of them
_UNPACKED = 100, 10**8  # sparse matrices: so many times the size of the file, and so many bytes


def too_large(content: bytes) -> str | None:
    """Why the content of a model file must not be read, None if it may.

    skops saves without compression, except for the sparse matrices, each of which is a small
    archive of its own. It reads a member anew for each object that names it.
    """
    size = len(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
        if packed or sum(entry.file_size for entry in entries) > size:
            return "model files hold nothing compressed"
        inner = sum(_unpacked_size(archive, entry) for entry in entries)
        times, more = _UNPACKED
        if inner > times * size + more:
            return f"its sparse matrices would take {inner / 1e9:,.1f} GB"
        if "schema.json" not in archive.namelist():
            return None
        sizes = {entry.filename: entry.file_size for entry in entries}
        read = sum(sizes.get(name, 0) for _, name in _named_files(archive.read("schema.json")))
    if read > 2 * size:
        return f"it names the same arrays again and again, {read / 1e9:,.1f} GB of them"
    return None


def _unpacked_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """What a member takes when it is an archive itself, else 0."""
    with archive.open(entry) as stream:
        if stream.read(2) != b"PK":
            return 0
        stream.seek(0)
        with zipfile.ZipFile(stream) as inner:
            return sum(part.file_size for part in inner.infolist())


def _named_files(schema: bytes) -> set[tuple[Any, str]]:
    """Objects of the schema and the members that they are read from."""
    found = set()
    todo = [json.loads(schema)]
    for_nobody = 0
    while todo:
        state = todo.pop()
        if isinstance(state, list):
            todo += state
        elif isinstance(state, dict):
            todo += state.values()
            if isinstance(state.get("file"), str):
                for_nobody += 1  # what has no number of its own is not kept for the next
                owner = state.get("__id__") or f"object {for_nobody}"
                found.add((owner, state["file"]))
    return found
