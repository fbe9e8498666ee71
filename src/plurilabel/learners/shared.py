"""Helpers of the learners that streams and comparisons use, too."""

from plurilabel.learners._spec import parts_of, wrapped
from plurilabel.learners.lazy._neighbor_labels import posterior, ratio
from plurilabel.learners.transformation._base_models import sure_model
from plurilabel.learners.transformation._transformation_classifier import only_weights

__all__ = ["only_weights", "parts_of", "posterior", "ratio", "sure_model", "wrapped"]
