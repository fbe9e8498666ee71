"""Parts of learning on Dask that model files and the command line use."""

from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask, in_a_tree
from plurilabel.distributed._split import label_counts

__all__ = ["RowBlocks", "blocks_of", "import_dask", "in_a_tree", "label_counts"]
