"""Streams: rows that come one by one and drift, learners that keep up, and their evaluation."""

from plurilabel._public import publish
from plurilabel.streams._generators import (
    GeneratedStream,
    LabelDependenceStream,
    MovingCentreStream,
    RandomTreeStream,
)
from plurilabel.streams._sources import DatasetStream, Drift, Stream
from plurilabel.streams._table import TableStream

__all__ = [
    "DatasetStream",
    "Drift",
    "GeneratedStream",
    "LabelDependenceStream",
    "MovingCentreStream",
    "RandomTreeStream",
    "Stream",
    "TableStream",
]

publish(globals())
