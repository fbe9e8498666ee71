"""Parts of learning on Dask that models use."""

from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask
from plurilabel.distributed._fill_and_scale import filling_and_scaling, transform_blocks
from plurilabel.distributed._split import label_counts

__all__ = [
    "RowBlocks",
    "blocks_of",
    "filling_and_scaling",
    "import_dask",
    "label_counts",
    "transform_blocks",
]
