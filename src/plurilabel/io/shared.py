"""What other packages share with the readers of files."""

from plurilabel.io._sparse_text._xmc import xmc_blocks
from plurilabel.io._table._encoder import imputer, uncentred
from plurilabel.io._table._frame import CellError, csv_separator, table_module
from plurilabel.io._table._kinds import MISSING
from plurilabel.io._table._labels import tag_column

__all__ = [
    "MISSING",
    "CellError",
    "csv_separator",
    "imputer",
    "table_module",
    "tag_column",
    "uncentred",
    "xmc_blocks",
]
