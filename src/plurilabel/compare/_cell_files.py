"""Where the cells of a comparison lie, and how they are written and read."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from plurilabel.io import write_atomic

FORMAT = 1
"""Number of the format of plans and cells; a change that old readers cannot read raises it."""

Cell: TypeAlias = dict[str, Any]


def safe_name(name: str) -> str:
    """A name for a file: plain names as they are, others cut, cleaned and made unique.

    Examples
    --------
    >>> safe_name("ML-kNN")
    'ML-kNN'
    >>> safe_name("MLkNN(n_neighbors=7)")
    'MLkNN_n_neighbors=7_-3710ab9e'
    """
    clean = re.sub(r"[^A-Za-z0-9._+=-]", "_", name)[:60]
    # a device of Windows is no file there, whatever its suffix
    device = re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", clean)
    if clean == name and not clean.startswith(".") and not clean.endswith(".") and not device:
        return clean
    return f"{clean.lstrip('.')}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def cell_path(
    folder: str | os.PathLike[str], dataset: str, learner: str, repeat: int, fold: int
) -> Path:
    """The file of one cell."""
    place = Path(folder, "cells", safe_name(dataset), safe_name(learner))
    return place / f"{repeat}-{fold}.json"


def read_cell(path: Path) -> Cell | None:
    """The cell in a file; None where there is no whole cell in it."""
    try:
        cell = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    whole = isinstance(cell, dict) and cell.get("format") == FORMAT
    wanted = ("key", "dataset", "learner", "repeat", "fold", "status", "scores")
    return cell if whole and all(part in cell for part in wanted) else None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    with write_atomic(path) as stream:
        stream.write(text.encode())


def plain(value: Any) -> Any:
    """A value as JSON takes it: numbers that are none become None, arrays become lists.

    Estimators become their class and parameters; anything else that JSON does not know becomes
    its ``repr``, without the address in memory.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"k": np.int64(7), "loss": float("nan"), "grid": np.array([0.5, 1.0])})
    {'k': 7, 'loss': None, 'grid': [0.5, 1.0]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return [plain(entry) for entry in value.tolist()]
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(entry) for entry in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"class": class_name(value), "parameters": plain(value.get_params(deep=False))}
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).split()))


def class_name(value: Any) -> str:
    """Name of an object's class, by which it can be imported."""
    return f"{type(value).__module__}.{type(value).__qualname__}"
