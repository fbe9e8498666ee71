"""Which formula, which engine: what ``ExactIndex`` decides when it meets its points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from plurilabel.neighbors._canonical import Formula, Points
from plurilabel.neighbors._certified import Engine
from plurilabel.neighbors._engines import AllPairs, Blocks, Brute, Tree, WholeBlocks
from plurilabel.neighbors._operand import Whole

_NORMS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
}


def formula_of(metric: Any, p: float) -> Formula | None:
    """The canonical formula of a metric; None where the metric is left to scikit-learn."""
    if metric == "cosine":
        return Formula(cosine=True)
    if metric == "minkowski":
        return Formula(p=float(p))
    known = isinstance(metric, str) and metric in _NORMS
    return Formula(p=_NORMS[metric]) if known else None


def choose_engine(algorithm: str, formula: Formula, X: Points) -> Engine | WholeBlocks | AllPairs:
    """An engine for these (prepared) points: the one named, or for "auto" the fastest."""
    dense, products = isinstance(X, np.ndarray), formula.p == 2
    if algorithm == "tree" and not dense:
        raise ValueError("algorithm='tree' needs dense X, got a sparse matrix")
    if algorithm == "blocks" and not products:
        raise ValueError(
            "algorithm='blocks' is for the Euclidean and the cosine distance, "
            f"got a metric with p={formula.p:g}"
        )
    if algorithm == "auto":
        if dense and _tree_pays(formula, X):
            algorithm = "tree"
        else:
            algorithm = "blocks" if products else "brute"
    if algorithm == "tree":
        return Tree(formula, X)
    if algorithm == "brute" and not dense and formula.p != 1:
        return AllPairs(formula, X)
    if algorithm == "brute":
        return Brute(formula, X)
    whole = None if formula.cosine else Whole.for_points(X)
    return Blocks.for_points(formula, X) if whole is None else WholeBlocks(X, whole)


def _tree_pays(formula: Formula, X: NDArray[Any]) -> bool:
    """Whether a k-d tree is faster; measured on normal data, against products and brute force.

    The more features, the more points it takes. Many duplicates spoil a tree.
    """
    n, d = X.shape
    if formula.p == 2:
        enough = np.log(n / 150) >= d * np.log(2.25)
    else:
        enough = n >= 1000 and d <= 10
    if not enough:
        return False
    some = X[np.linspace(0, n - 1, min(n, 1000)).astype(int)]
    return len(np.unique(some, axis=0)) > len(some) / 2


def validate_points(
    estimator: Any, X: Any, *, reset: bool, accept_sparse: bool = True, accept_nan: bool = False
) -> Points:
    """Points as the searches want them: float, C order or CSR in canonical form."""
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite="allow-nan" if accept_nan else True,
    )
    if not sparse.issparse(checked):
        return checked
    points = sparse.csr_array(checked, copy=not checked.has_canonical_format)
    points.sum_duplicates()
    return points


def check_reach(formula: Formula | None, X: Points | None) -> None:
    """Raise an error for values so large that distances would overflow."""
    if formula is None or X is None:
        return
    values = X if isinstance(X, np.ndarray) else X.data
    largest = float(max(np.max(values, initial=0), -np.min(values, initial=0)))
    if largest > formula.limit():
        raise ValueError(
            f"X must hold values up to {formula.limit():g} in magnitude, so that distances "
            f"are finite, got {largest:g}"
        )
