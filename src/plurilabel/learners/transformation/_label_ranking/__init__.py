"""Calibrated label ranking: the learner, and quick voting."""

from plurilabel.learners.transformation._label_ranking._label_ranking import CalibratedLabelRanking

__all__ = ["CalibratedLabelRanking"]
