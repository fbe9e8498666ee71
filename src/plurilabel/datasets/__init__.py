"""Standard datasets by name, generated ones, and what is in them."""

from plurilabel._dataset import Dataset
from plurilabel._public import publish
from plurilabel.datasets._describe import Description, describe
from plurilabel.datasets._describe_plot import plot_description
from plurilabel.datasets._generate import make_multilabel
from plurilabel.datasets._generate_sparse import make_sparse_multilabel
from plurilabel.datasets._load import dataset_names, load

__all__ = [
    "Dataset",
    "Description",
    "dataset_names",
    "describe",
    "load",
    "make_multilabel",
    "make_sparse_multilabel",
    "plot_description",
]

publish(globals())
