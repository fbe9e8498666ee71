"""Folds and splits in which every label is as frequent as in the whole."""

from plurilabel._public import publish
from plurilabel.model_selection._holdout import (
    IterativeStratifiedShuffleSplit,
    part_sizes,  # noqa: F401 - for plurilabel.distributed, as are those below
    stratified_split,
)
from plurilabel.model_selection._kfold import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
)
from plurilabel.model_selection._stratification import deal_block, label_sets  # noqa: F401

__all__ = [
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedKFold",
    "IterativeStratifiedShuffleSplit",
    "RepeatedIterativeStratifiedKFold",
    "stratified_split",
]

publish(globals())
