"""Learning on Dask: data larger than memory, on one machine or on a cluster."""

from plurilabel._public import publish
from plurilabel.distributed._lazy import DaskLazyClassifier

__all__ = ["DaskLazyClassifier"]

publish(globals())
