"""make_encoder: an encoder by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plurilabel.text._static import WORDLLAMA, StaticEncoder
from plurilabel.text._text_encoder import TextEncoder
from plurilabel.text._transformer import TransformerEncoder


def make_encoder(name: str, **options: Any) -> TextEncoder:
    """Make the encoder of a name, as ``plurilabel fit --encoder`` takes it.

    Parameters
    ----------
    name : str
        "static" for the vectors of wordllama; a folder with a model of model2vec or
        sentence-transformers; or the name of a model of sentence-transformers.
    **options : dict
        Further parameters of :class:`~plurilabel.TransformerEncoder`, such as ``cache``; static
        vectors need none.

    Returns
    -------
    StaticEncoder or TransformerEncoder, not fitted

    Examples
    --------
    >>> from plurilabel.text import make_encoder
    >>> make_encoder("static")
    StaticEncoder()
    >>> make_encoder("intfloat/e5-small", cache="vectors")
    TransformerEncoder(cache='vectors', model='intfloat/e5-small')
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be 'static', a folder or the name of a model, got {name!r}")
    if name in ("static", WORDLLAMA):
        return StaticEncoder()
    if _model_type(Path(name)) == "model2vec":
        return StaticEncoder(name)
    return TransformerEncoder(name, **options)


def _model_type(folder: Path) -> str | None:
    """What kind of model a folder says that it holds."""
    try:
        about = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return about.get("model_type") if isinstance(about, dict) else None
