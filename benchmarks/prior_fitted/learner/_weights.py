"""The weights of the network, and the dimensions that they have."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

GROUP = 4
"""Features in a token."""
VIEWS = 3
"""What is said about a value: standardized, as a rank, and whether it is there at all."""
LARGEST = 8.0
"""Standardized values are clipped here."""
USUAL_ROWS = 256
"""Attention among rows is as sharp as usual at this many, and sharper among more."""
BINS = 8
"""Intervals of a feature's ranks whose labels are compared, to weigh it."""
PENALTIES = (10.0, 1.0, 1.0, 0.3, 1.0)
"""Of the regressions whose answers are part of a label cell."""

SHIPPED = Path(__file__).with_name("weights.npz")
"""In half precision; ``weights.json`` beside it has the digest and how they were made."""


@dataclass(frozen=True)
class Size:
    """Dimensions of a network."""

    width: int = 128
    heads: int = 4
    layers: int = 8
    name_width: int = 32


class Weights(NamedTuple):
    """Weights by name, in single precision."""

    size: Size
    arrays: dict[str, NDArray[np.float32]]
    digest: str
    about: dict[str, Any]


def load_weights(path: Any = None) -> Weights:
    """Weights of a file, by default of the one in the package, whose digest is checked."""
    return _shipped() if path is None else _read(Path(path))


@cache
def _shipped() -> Weights:
    weights = _read(SHIPPED)
    if weights.digest != json.loads(SHIPPED.with_suffix(".json").read_text("utf-8"))["sha256"]:
        raise ValueError(f"{SHIPPED} is damaged: its digest is not that of weights.json")
    return weights


def _read(path: Path) -> Weights:
    content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(str(arrays.pop("about")))
        size = Size(**about["plan"]["size"])
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"weights must be a file that the training wrote, got {path}") from error
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return Weights(size, arrays, hashlib.sha256(content).hexdigest(), about)
