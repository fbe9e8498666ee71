"""Reading, describing, splitting and generating multi-label data."""

from plurilabel.datasets._arff import read_arff
from plurilabel.datasets._arff_write import write_arff
from plurilabel.datasets._dataset import Dataset
from plurilabel.datasets._describe import describe
from plurilabel.datasets._describe_plot import plot_description
from plurilabel.datasets._description import Description
from plurilabel.datasets._files import FileFormatError, write_atomic
from plurilabel.datasets._generate import make_multilabel
from plurilabel.datasets._generate_sparse import make_sparse_multilabel
from plurilabel.datasets._holdout import IterativeStratifiedShuffleSplit, stratified_split
from plurilabel.datasets._label_xml import read_label_xml, write_label_xml
from plurilabel.datasets._libsvm import read_libsvm, write_libsvm
from plurilabel.datasets._load import load, names
from plurilabel.datasets._read import read
from plurilabel.datasets._split import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
)
from plurilabel.datasets._table import read_table
from plurilabel.datasets._table_encoder import TableEncoder
from plurilabel.datasets._table_write import write_table
from plurilabel.datasets._xmc import read_xmc, write_xmc

__all__ = [
    "Dataset",
    "Description",
    "FileFormatError",
    "IterativeStratifiedGroupKFold",
    "IterativeStratifiedKFold",
    "IterativeStratifiedShuffleSplit",
    "RepeatedIterativeStratifiedKFold",
    "TableEncoder",
    "describe",
    "load",
    "make_multilabel",
    "make_sparse_multilabel",
    "names",
    "plot_description",
    "read",
    "read_arff",
    "read_label_xml",
    "read_libsvm",
    "read_table",
    "read_xmc",
    "stratified_split",
    "write_arff",
    "write_atomic",
    "write_label_xml",
    "write_libsvm",
    "write_table",
    "write_xmc",
]
