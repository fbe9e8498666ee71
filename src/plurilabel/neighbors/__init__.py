"""Nearest neighbours: exact ones by default, any other index that answers the same call."""

from plurilabel._public import publish
from plurilabel.neighbors._approximate import ApproximateIndex
from plurilabel.neighbors._canonical import Formula  # noqa: F401 - kept in model files
from plurilabel.neighbors._engines import AllPairs, Blocks, Brute, Tree, WholeBlocks  # noqa: F401 - kept in model files
from plurilabel.neighbors._exact import ExactIndex
from plurilabel.neighbors._operand import Operand, Rounded, Whole  # noqa: F401 - kept in model files
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

publish(globals())
