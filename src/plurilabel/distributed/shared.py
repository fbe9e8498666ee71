"""Parts of learning on Dask that models use."""

from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask
from plurilabel.distributed._csv_blocks import CsvBlock, csv_blocks
from plurilabel.distributed._read import tag_matrix
from plurilabel.distributed._split import label_counts

__all__ = [
    "CsvBlock", "RowBlocks", "blocks_of", "csv_blocks", "import_dask", "label_counts", "tag_matrix"
]  # fmt: skip
