"""Parts of learning on Dask that models use."""

from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask
from plurilabel.distributed._split import label_counts

__all__ = ["RowBlocks", "blocks_of", "import_dask", "label_counts"]
