"""What the split on Dask shares with the split in memory."""

from plurilabel.model_selection._holdout import part_sizes
from plurilabel.model_selection._stratification import deal_block, label_sets

__all__ = ["deal_block", "label_sets", "part_sizes"]
