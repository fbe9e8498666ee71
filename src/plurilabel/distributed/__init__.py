"""Learning on Dask: data larger than memory, on one machine or on a cluster."""

from plurilabel._public import publish
from plurilabel.distributed._evaluate import evaluate
from plurilabel.distributed._lazy import DaskLazyClassifier
from plurilabel.distributed._read import read
from plurilabel.distributed._split import (
    label_counts,  # noqa: F401 - for plurilabel.cli
    stratified_split,
)

__all__ = ["DaskLazyClassifier", "evaluate", "read", "stratified_split"]

publish(globals())
