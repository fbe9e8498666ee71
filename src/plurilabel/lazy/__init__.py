"""Lazy learners: the labels of the nearest neighbours decide."""

from plurilabel.lazy._brknn import BRkNN

__all__ = ["BRkNN"]
