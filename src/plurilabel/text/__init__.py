"""Encoders of text: static word vectors, transformers, any function, kept on disk."""

from plurilabel._core.roster import publish
from plurilabel.text._function import FunctionEncoder
from plurilabel.text._make_encoder import make_encoder
from plurilabel.text._packed_words import PackedWords
from plurilabel.text._static import StaticEncoder
from plurilabel.text._transformer import TransformerEncoder

__all__ = ["FunctionEncoder", "PackedWords", "StaticEncoder", "TransformerEncoder", "make_encoder"]

publish(globals())
