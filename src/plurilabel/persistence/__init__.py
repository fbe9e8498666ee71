"""Model files: saved with skops, and checked before anything in them is built."""

from plurilabel._public import publish
from plurilabel.persistence._file import ModelFileError, load_model, save_model
from plurilabel.persistence._model import Model, ModelRows
from plurilabel.persistence._parts import load_parts, save_parts

__all__ = [
    "Model",
    "ModelFileError",
    "ModelRows",
    "load_model",
    "load_parts",
    "save_model",
    "save_parts",
]

publish(globals())
