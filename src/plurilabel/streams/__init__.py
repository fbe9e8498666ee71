"""Streams: rows that come one by one and drift, learners that keep up, and their evaluation."""

from plurilabel._public import publish
from plurilabel.streams._arrays import ArrayLearner
from plurilabel.streams._baselines import LabelShares, NoChange
from plurilabel.streams._generators import (
    GeneratedStream,
    LabelDependenceStream,
    MovingCentreStream,
    RandomTreeStream,
)
from plurilabel.streams._prequential import prequential
from plurilabel.streams._results import LivePlot, StreamResults
from plurilabel.streams._sources import DatasetStream, Drift, Stream
from plurilabel.streams._spec import make_stream_learners
from plurilabel.streams._table import TableStream

__all__ = [
    "ArrayLearner",
    "DatasetStream",
    "Drift",
    "GeneratedStream",
    "LabelDependenceStream",
    "LabelShares",
    "LivePlot",
    "MovingCentreStream",
    "NoChange",
    "RandomTreeStream",
    "Stream",
    "StreamResults",
    "TableStream",
    "make_stream_learners",
    "prequential",
]

publish(globals())
