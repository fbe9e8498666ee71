"""Mixtures of words: generative models of text, in which each word comes from a label."""

from plurilabel._core.roster import Learner, publish
from plurilabel.learners.mixtures._label_set_mixture import LabelSetMixture
from plurilabel.learners.mixtures._pmm1 import PMM1
from plurilabel.learners.mixtures._pmm2 import PMM2
from plurilabel.learners.mixtures._word_mixture import WordMixture, WordShares

__all__ = ["PMM1", "PMM2", "LabelSetMixture", "WordMixture", "WordShares"]

ROSTER = {
    "LabelSetMixture": Learner(
        {"LabelSetMixture()": {}, "LabelSetMixture(search='exact', set_prior='labels')": {}},
        exact=True,
    ),
    "PMM1": Learner({"PMM1()": {}, "PMM1(set_prior='sets', search='seen')": {}}, exact=True),
    "PMM2": Learner({"PMM2()": {}}, exact=True),
}

publish(globals())
