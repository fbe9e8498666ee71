"""Published results as data, and running them again: ``papers.reproduce("ml-knn")``."""

from plurilabel.papers._read import names
from plurilabel.papers._reproduce import reproduce
from plurilabel.papers._reproduction import Reproduction

__all__ = ["Reproduction", "names", "reproduce"]
