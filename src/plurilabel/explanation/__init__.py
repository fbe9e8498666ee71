"""Explanations: what speaks for and against each label, for every learner and any classifier."""

from plurilabel._explanation import Contributions, Explained
from plurilabel._public import publish
from plurilabel.explanation._explain import explain
from plurilabel.explanation._models import class_parts, learner_parts, output_parts
from plurilabel.explanation._trees import path_parts

__all__ = [
    "Contributions",
    "Explained",
    "class_parts",
    "explain",
    "learner_parts",
    "output_parts",
    "path_parts",
]

publish(globals())
