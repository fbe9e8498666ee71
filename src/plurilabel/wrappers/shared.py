"""What training shares with the automatic choice."""

from plurilabel.wrappers.automatic._large import has_many_labels

__all__ = ["has_many_labels"]
