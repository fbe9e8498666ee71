"""Models: trained, saved, loaded and exported."""

from plurilabel._core.roster import publish
from plurilabel.models._file import ModelFileError, load_model, save_model
from plurilabel.models._model import Model, ModelRows
from plurilabel.models._parts import load_parts, save_parts
from plurilabel.models.onnx._onnx import to_onnx

__all__ = [
    "Model",
    "ModelFileError",
    "ModelRows",
    "load_model",
    "load_parts",
    "save_model",
    "save_parts",
    "to_onnx",
]

publish(globals())
