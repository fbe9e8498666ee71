"""What other packages share with the readers of files."""

from plurilabel.io._files import formats, is_table, opened, part_files
from plurilabel.io._mat import mat_variables
from plurilabel.io._sparse_text import xmc_blocks
from plurilabel.io._table._csv import header_separator, sniff
from plurilabel.io._table._encoder import imputer, is_dense, uncentred
from plurilabel.io._table._frame import (
    CellError,
    Frame,
    StackedFrame,
    check_columns,
    check_escapes,
    check_same_columns,
    open_frame,
    parquet_errors,
    table_module,
)
from plurilabel.io._table._kinds import needs_encoding, typed_frame
from plurilabel.io._table._labels import tag_column
from plurilabel.io._table._notation import MISSING, CellReader
from plurilabel.io._table._table import encoded, in_order
from plurilabel.io._table._table_encoder import (
    as_table,
    is_texts,
    kinds_text,
    unseen_categories,
    without_known_words,
)

__all__ = [
    "MISSING", "CellError", "CellReader", "Frame", "StackedFrame", "as_table",
    "check_columns", "check_escapes", "check_same_columns", "encoded", "formats",
    "header_separator", "imputer", "in_order", "is_dense", "is_table", "is_texts", "kinds_text",
    "mat_variables", "needs_encoding", "open_frame", "opened", "parquet_errors", "part_files",
    "sniff", "table_module", "tag_column", "typed_frame", "uncentred", "unseen_categories",
    "without_known_words", "xmc_blocks",
]  # fmt: skip
