"""Files to datasets and back: ARFF, tables, LIBSVM, extreme classification, MATLAB bags."""

from plurilabel._core.roster import publish
from plurilabel.io._arff._label_xml import read_label_xml, write_label_xml
from plurilabel.io._arff._read import read_arff
from plurilabel.io._arff._write import write_arff
from plurilabel.io._files import FileFormatError, file_format, opened
from plurilabel.io._mat import read_mat_bags
from plurilabel.io._read import read
from plurilabel.io._sparse_text._libsvm import read_libsvm, write_libsvm
from plurilabel.io._sparse_text._xmc import read_xmc, write_xmc
from plurilabel.io._table._cells import CellReader
from plurilabel.io._table._date_encoder import DateEncoder
from plurilabel.io._table._encoder import (
    column_kinds,
    table_encoder,
    unseen_categories,
    without_known_words,
    word_features,
)
from plurilabel.io._table._read import FurtherRows, read_further, read_table
from plurilabel.io._table._stack import stack_tables
from plurilabel.io._table._tags import label_matrix
from plurilabel.io._table._write import frame_writer, write_table

__all__ = [
    "CellReader",
    "DateEncoder",
    "FileFormatError",
    "FurtherRows",
    "column_kinds",
    "file_format",
    "frame_writer",
    "label_matrix",
    "opened",
    "read",
    "read_arff",
    "read_further",
    "read_label_xml",
    "read_libsvm",
    "read_mat_bags",
    "read_table",
    "read_xmc",
    "stack_tables",
    "table_encoder",
    "unseen_categories",
    "without_known_words",
    "word_features",
    "write_arff",
    "write_label_xml",
    "write_libsvm",
    "write_table",
    "write_xmc",
]

publish(globals())
