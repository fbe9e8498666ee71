"""Models as ONNX graphs."""

from plurilabel.models.onnx._to_onnx import to_onnx

__all__ = ["to_onnx"]
