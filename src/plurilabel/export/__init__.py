"""Models for programs without Python: ONNX."""

from plurilabel._public import publish
from plurilabel.export._onnx import to_onnx

__all__ = ["to_onnx"]

publish(globals())
