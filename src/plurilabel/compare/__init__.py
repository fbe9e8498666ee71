"""Every learner on every split of every dataset: a comparison that any stop only interrupts."""

from plurilabel._public import publish
from plurilabel.compare._compare import compare
from plurilabel.compare._digest import digest_of
from plurilabel.compare._learners import learner_text, set_seeds
from plurilabel.compare._plan import check_measures
from plurilabel.compare._results import Results
from plurilabel.compare._spec import make_learner, make_learners
from plurilabel.compare._spec_names import learner_names
from plurilabel.compare._suggest import Suggestion, imputer, suggest_learner

__all__ = [
    "Results",
    "Suggestion",
    "check_measures",
    "compare",
    "digest_of",
    "imputer",
    "learner_names",
    "learner_text",
    "make_learner",
    "make_learners",
    "set_seeds",
    "suggest_learner",
]

publish(globals())
