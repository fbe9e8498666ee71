"""What the search on Dask shares with the search in memory."""

from plurilabel.neighbors._exact import products
from plurilabel.neighbors._exact.blocks import Across
from plurilabel.neighbors._exact.certify import Run, threads
from plurilabel.neighbors._exact.distance import WIDE, Floats, Neighbors, Points
from plurilabel.neighbors._exact.engines import are_multiplied
from plurilabel.neighbors._index import how_many, validate_points

__all__ = [
    "WIDE",
    "Across",
    "Floats",
    "Neighbors",
    "Points",
    "Run",
    "are_multiplied",
    "how_many",
    "products",
    "threads",
    "validate_points",
]
