"""Folds and splits in which every label is as frequent as in the whole."""

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
