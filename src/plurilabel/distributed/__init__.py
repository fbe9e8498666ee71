"""Learning on Dask: data larger than memory, on one machine or on a cluster."""

from plurilabel._core.roster import publish
from plurilabel.distributed._answers import explain, predict, predict_proba, predict_top
from plurilabel.distributed._evaluate import evaluate
from plurilabel.distributed._fit import fit
from plurilabel.distributed._index import DaskIndex, SearchCost
from plurilabel.distributed._lazy import DaskLazyClassifier
from plurilabel.distributed._read import read
from plurilabel.distributed._split import stratified_split
from plurilabel.distributed._spread import spread

__all__ = [
    "DaskIndex", "DaskLazyClassifier", "SearchCost", "evaluate", "explain", "fit", "predict",
    "predict_proba", "predict_top", "read", "spread", "stratified_split",
]  # fmt: skip

publish(globals())
