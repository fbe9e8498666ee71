"""Learning on Dask: data larger than memory, on one machine or on a cluster."""

from plurilabel._public import publish
from plurilabel.distributed._evaluate import evaluate
from plurilabel.distributed._lazy import DaskLazyClassifier

__all__ = ["DaskLazyClassifier", "evaluate"]

publish(globals())
