"""Standard datasets by name, generated datasets, and statistics of datasets."""

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.roster import publish
from plurilabel._core.soft import soft_copies
from plurilabel._core.unknown import UnknownLabels
from plurilabel.datasets._describe import Description, describe
from plurilabel.datasets._describe_plot import plot_description
from plurilabel.datasets._generate import make_multilabel
from plurilabel.datasets._generate_sparse import make_sparse_multilabel
from plurilabel.datasets._load import dataset_names, load

__all__ = [
    "Dataset", "Description", "Hierarchy", "UnknownLabels", "dataset_names", "describe", "load",
    "make_multilabel", "make_sparse_multilabel", "plot_description", "soft_copies",
]  # fmt: skip

publish(globals())
