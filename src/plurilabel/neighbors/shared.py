"""Parts of the search in memory that the search on Dask uses."""

from plurilabel.neighbors import _products as products
from plurilabel.neighbors._blocks import Across
from plurilabel.neighbors._distance import WIDE, Floats, Neighbors, Points
from plurilabel.neighbors._engines import Run, threads
from plurilabel.neighbors._exact_index import are_multiplied, how_many, validate_points

__all__ = [
    "WIDE", "Across", "Floats", "Neighbors", "Points", "Run", "are_multiplied", "how_many",
    "products", "threads", "validate_points",
]  # fmt: skip
