"""Generative models of text: the words of a document come from its labels."""

from plurilabel._core.roster import publish
from plurilabel.learners.mixtures._label_set_mixture import LabelSetMixture
from plurilabel.learners.mixtures._pmm1 import PMM1
from plurilabel.learners.mixtures._pmm2 import PMM2
from plurilabel.learners.mixtures._word_mixture import WordMixture, WordShares

__all__ = ["PMM1", "PMM2", "LabelSetMixture", "WordMixture", "WordShares"]


publish(globals())
