"""Labeling: which rows to label next, when to stop, and how good the model is by label."""

from plurilabel._core.roster import publish
from plurilabel.labeling._quality import confusions, drift, quality
from plurilabel.labeling._stopping import RecallBound, recall_bound
from plurilabel.labeling._strategies import (
    STRATEGIES,
    density,
    diverse,
    label_need,
    query,
    spread,
    uncertainty,
)

__all__ = [
    "STRATEGIES", "RecallBound", "confusions", "density", "diverse", "drift", "label_need",
    "quality", "query", "recall_bound", "spread", "uncertainty",
]  # fmt: skip

publish(globals())
