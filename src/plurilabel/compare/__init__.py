"""Every learner on every split of every dataset, in runs that can be stopped and resumed."""

from plurilabel._public import publish
from plurilabel.compare._cells import (
    check_measures,
    digest_of,
    plain,  # noqa: F401 - plurilabel.streams keeps its runs in the same way
    write_json,  # noqa: F401
)
from plurilabel.compare._compare import compare, compare_many, locked  # noqa: F401
from plurilabel.compare._given import learner_text
from plurilabel.compare._imputer import imputer
from plurilabel.compare._inside import set_seeds
from plurilabel.compare._results import Results
from plurilabel.compare._spec import learner_names, make_learner, make_learners

__all__ = [
    "Results",
    "check_measures",
    "compare",
    "compare_many",
    "digest_of",
    "imputer",
    "learner_names",
    "learner_text",
    "make_learner",
    "make_learners",
    "set_seeds",
]

publish(globals())
