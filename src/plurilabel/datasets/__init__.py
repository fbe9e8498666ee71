"""Reading, describing, splitting and generating multi-label data."""

from plurilabel.datasets._dataset import Dataset
from plurilabel.datasets._files import FileFormatError

__all__ = ["Dataset", "FileFormatError"]
