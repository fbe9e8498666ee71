"""Folds and splits of multi-label data with evenly distributed labels."""

from plurilabel._core.roster import publish
from plurilabel.model_selection._holdout import IterativeStratifiedShuffleSplit, stratified_split
from plurilabel.model_selection._kfold import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
)

__all__ = [
    "IterativeStratifiedGroupKFold", "IterativeStratifiedKFold", "IterativeStratifiedShuffleSplit",
    "RepeatedIterativeStratifiedKFold", "stratified_split",
]  # fmt: skip

publish(globals())
