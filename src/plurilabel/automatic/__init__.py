"""One call: learners that suit the data, weighted for the measure that matters."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.automatic._auto import AutoClassifier

__all__ = ["AutoClassifier"]

ROSTER = {
    "AutoClassifier": Learner(
        {
            "AutoClassifier('hamming_loss', cv=2, "
            "portfolio=(MLkNN(3), BinaryRelevance(RidgeClassifier())))": {},
        }
    ),
}

publish(globals())
