"""Shared with the splits on Dask and with estimators that split their rows."""

from plurilabel.model_selection._holdout import part_sizes
from plurilabel.model_selection._splits import (
    Split,
    groups_for,
    held_out_rows,
    routed_splitter,
    splits_by,
)
from plurilabel.model_selection._stratification import deal_block, group_numbers, label_sets

__all__ = [
    "Split", "deal_block", "group_numbers", "groups_for", "held_out_rows", "label_sets",
    "part_sizes", "routed_splitter", "splits_by",
]  # fmt: skip
