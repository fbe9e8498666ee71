"""What other packages share with the encoders of text."""

from plurilabel.text._text_encoder import TextEncoder

__all__ = ["TextEncoder"]
