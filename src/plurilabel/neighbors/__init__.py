"""Nearest neighbours: exact ones by default, any other index that answers the same call."""

from plurilabel.neighbors._approximate import ApproximateIndex
from plurilabel.neighbors._exact import ExactIndex
from plurilabel.neighbors._protocol import (
    NeighborsIndex,
    check_index,
    check_neighbors,
    recall,
    training_graph,
)

__all__ = [
    "ApproximateIndex",
    "ExactIndex",
    "NeighborsIndex",
    "check_index",
    "check_neighbors",
    "recall",
    "training_graph",
]
