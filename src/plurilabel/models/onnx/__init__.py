"""Models as ONNX graphs."""

from plurilabel.models.onnx._to_onnx import not_exportable, to_onnx

__all__ = ["not_exportable", "to_onnx"]
