"""Files to datasets and back: ARFF, tables, LIBSVM, extreme classification, MATLAB bags."""

from plurilabel._core.roster import publish
from plurilabel.io._arff import read_arff, write_arff
from plurilabel.io._files import FileFormatError, file_format
from plurilabel.io._label_xml import read_label_xml, write_label_xml
from plurilabel.io._mat import read_mat_bags
from plurilabel.io._read import read
from plurilabel.io._sparse_text import read_libsvm, read_xmc, write_libsvm, write_xmc
from plurilabel.io._table._embed import embed_table
from plurilabel.io._table._encoder import DateEncoder, word_features
from plurilabel.io._table._labels import label_matrix, stack_tables
from plurilabel.io._table._table import FurtherRows, read_further, read_table, write_table
from plurilabel.io._table._table_encoder import TableEncoder, column_kinds, table_encoder

__all__ = [
    "DateEncoder", "FileFormatError", "FurtherRows", "TableEncoder", "column_kinds",
    "embed_table", "file_format", "label_matrix", "read", "read_arff", "read_further",
    "read_label_xml", "read_libsvm", "read_mat_bags", "read_table", "read_xmc", "stack_tables",
    "table_encoder", "word_features", "write_arff", "write_label_xml", "write_libsvm",
    "write_table", "write_xmc",
]  # fmt: skip

publish(globals())
