"""Every learner on every split of every dataset: a comparison that any stop only interrupts."""

from plurilabel._public import publish
from plurilabel.compare._compare import compare
from plurilabel.compare._results import Results
from plurilabel.compare._spec import make_learner, make_learners
from plurilabel.compare._spec_names import learner_names
from plurilabel.compare._suggest import Suggestion, suggest_learner

__all__ = [
    "Results",
    "Suggestion",
    "compare",
    "learner_names",
    "make_learner",
    "make_learners",
    "suggest_learner",
]

publish(globals())
