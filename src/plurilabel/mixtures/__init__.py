"""Generative models of text: the words of a document come from its labels."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.mixtures._base import WordMixture
from plurilabel.mixtures._label_set_mixture import LabelSetMixture
from plurilabel.mixtures._pmm1 import PMM1
from plurilabel.mixtures._pmm2 import PMM2
from plurilabel.mixtures._shares import WordShares

__all__ = ["PMM1", "PMM2", "LabelSetMixture", "WordMixture", "WordShares"]

ROSTER = {
    "LabelSetMixture": Learner(
        {"LabelSetMixture()": {}, "LabelSetMixture(search='exact', set_prior='labels')": {}}
    ),
    "PMM1": Learner({"PMM1()": {}, "PMM1(set_prior='sets', search='seen')": {}}),
    "PMM2": Learner({"PMM2()": {}}),
}

publish(globals())
