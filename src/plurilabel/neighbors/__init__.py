"""Nearest neighbours: an exact search, an approximate one, and the protocol of any other index."""

from plurilabel._core.roster import publish
from plurilabel.neighbors._approximate_index import ApproximateIndex
from plurilabel.neighbors._distance import Formula
from plurilabel.neighbors._exact_index import ExactIndex
from plurilabel.neighbors._protocol import (
    NeighborsIndex,
    query_neighbors,
    recall,
    training_neighbors,
)

__all__ = [
    "ApproximateIndex", "ExactIndex", "Formula", "NeighborsIndex", "query_neighbors", "recall",
    "training_neighbors",
]  # fmt: skip

publish(globals())
