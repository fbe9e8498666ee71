"""Parts of learning on Dask that models use."""

from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask, workers
from plurilabel.distributed._cluster import connected, in_order
from plurilabel.distributed._csv_blocks import CsvBlock, csv_blocks
from plurilabel.distributed._fit import check_by_rows
from plurilabel.distributed._index import KEPT
from plurilabel.distributed._read import tag_matrix
from plurilabel.distributed._split import label_counts
from plurilabel.distributed._table_blocks import TableBlock, table_blocks, with_types

__all__ = [
    "KEPT", "CsvBlock", "RowBlocks", "TableBlock", "blocks_of", "check_by_rows", "connected",
    "csv_blocks", "import_dask", "in_order", "label_counts", "table_blocks", "tag_matrix",
    "with_types", "workers",
]  # fmt: skip
