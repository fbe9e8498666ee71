"""Every learner on every split of every dataset: a comparison that any stop only interrupts."""

from plurilabel._public import publish
from plurilabel.compare._compare import compare
from plurilabel.compare._digest import digest_of
from plurilabel.compare._learners import one_line, set_seeds
from plurilabel.compare._results import Results
from plurilabel.compare._spec import make_learner, make_learners
from plurilabel.compare._spec_names import learner_names
from plurilabel.compare._suggest import Suggestion, imputer, suggest_learner

__all__ = [
    "Results",
    "Suggestion",
    "compare",
    "digest_of",
    "imputer",
    "learner_names",
    "make_learner",
    "make_learners",
    "one_line",
    "set_seeds",
    "suggest_learner",
]

publish(globals())
