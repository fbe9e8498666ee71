"""What streams share with the learners."""

from plurilabel.learners.lazy._neighbor_labels import posterior, ratio

__all__ = ["posterior", "ratio"]
