"""Encoders of text: static word vectors, transformers, any function, kept on disk."""

from plurilabel._core.roster import publish
from plurilabel.text._static import StaticEncoder

__all__ = ["StaticEncoder"]

publish(globals())
