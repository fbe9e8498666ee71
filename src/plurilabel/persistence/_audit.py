"""What is looked at before and after a model file is built, since it may come from anywhere.

Before: the types that it names, and the memory that it would take. After: numbers that compiled
code follows unchecked. scikit-learn's trees, for instance, are arrays of nodes that name other
nodes, features and rows by number. Where they were fitted these numbers are right; in a file that
was made to do harm they could point anywhere in memory.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder

from plurilabel._roster import OTHER_TARGETS, PACKAGES

# types ----------------------------------------------------------------------------------------

_PARTS = ("thresholds", "neighbors", "model_selection", "metrics")

# Beside those that skops trusts by itself, the plain ones of Python, numpy, scipy and
# scikit-learn: what the usual classifiers keep. Classes only: no function may be named in a file.
_OTHERS = (
    "builtins.range",
    "numpy.dtype",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn.compose._column_transformer._RemainderColsList",  # before scikit-learn 1.7
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)


@cache
def trusted_types() -> frozenset[str]:
    """Names of all types that may stand in a model file: ours are those with public names."""
    ours = (
        f"{value.__module__}.{value.__qualname__}"
        for package in (*PACKAGES, *OTHER_TARGETS, *_PARTS)
        for value in vars(import_module(f"plurilabel.{package}")).values()
        if isinstance(value, type) and value.__module__ == f"plurilabel.{package}"
    )
    return frozenset([*ours, *_OTHERS])


# size -----------------------------------------------------------------------------------------

MOST_FEATURES = 50_000_000  # whose names are made here: three gigabytes of them
_UNPACKED = 100, 10**8  # sparse matrices: so many times the size of the file, and so many bytes


def too_large(content: bytes) -> str | None:
    """Why the content of a model file must not be read, None if it may.

    skops saves without compression, except for the sparse matrices, each of which is a small
    archive of its own. It reads a member anew for each object that names it.
    """
    size = len(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
        if packed or sum(entry.file_size for entry in entries) > size:
            return "model files hold nothing compressed"
        inner = sum(_unpacked_size(archive, entry) for entry in entries)
        times, more = _UNPACKED
        if inner > times * size + more:
            return f"its sparse matrices would take {inner / 1e9:,.1f} GB"
        if "schema.json" not in archive.namelist():
            return None
        sizes = {entry.filename: entry.file_size for entry in entries}
        read = sum(sizes.get(name, 0) for _, name in _named_files(archive.read("schema.json")))
    if read > 2 * size:
        return f"it names the same arrays again and again, {read / 1e9:,.1f} GB of them"
    return None


def _unpacked_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """What a member takes when it is an archive itself, else 0."""
    with archive.open(entry) as stream:
        if stream.read(2) != b"PK":
            return 0
        stream.seek(0)
        with zipfile.ZipFile(stream) as inner:
            return sum(part.file_size for part in inner.infolist())


def _named_files(schema: bytes) -> set[tuple[Any, str]]:
    """Objects of the schema and the members that they are read from."""
    found = set()
    todo = [json.loads(schema)]
    for_nobody = 0
    while todo:
        state = todo.pop()
        if isinstance(state, list):
            todo += state
        elif isinstance(state, dict):
            todo += state.values()
            if isinstance(state.get("file"), str):
                for_nobody += 1  # what has no number of its own is not kept for the next
                owner = state.get("__id__") or f"object {for_nobody}"
                found.add((owner, state["file"]))
    return found


# numbers that are followed --------------------------------------------------------------------

_NODES = "sklearn.tree._tree.Tree"
_NEIGHBOURS = ("sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree")
_ENSEMBLES = ("sklearn.ensemble._forest.", "sklearn.ensemble._gb.")
_BOOSTED = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting."
_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


def check_numbers(estimator: Any) -> None:
    """Raise a ValueError if anything in an estimator leads out of its arrays."""
    for part in parts_of(estimator):
        if not _is_sound(part):
            raise ValueError(f"a {type(part).__name__} in it leads out of its arrays")


def parts_of(root: Any) -> Iterator[Any]:
    """Every object that can be reached, once."""
    todo, seen = [root], set()
    while todo:
        part = todo.pop()
        if part is None or isinstance(part, str | bytes | int | float) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, list | tuple | set):
            todo += part
        elif isinstance(part, np.ndarray):
            todo += part.ravel().tolist() if part.dtype == object else []
        elif not isinstance(part, type):
            todo += getattr(part, "__dict__", {}).values()


def _name(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__name__}"


def _is_sound(part: Any) -> bool:
    name = _name(part)
    if sparse.issparse(part) and part.format in ("csr", "csc"):
        part.check_format(full_check=True)
    if isinstance(part, CountVectorizer):
        words = getattr(part, "vocabulary_", {})
        return set(words.values()) == set(range(len(words)))
    if isinstance(part, OneHotEncoder):
        return not hasattr(part, "categories_") or _one_hot_is_sound(part)
    if name == _NODES:
        return _nodes_are_sound(part)
    if name in _NEIGHBOURS:
        return _neighbours_are_sound(*part.__getstate__()[:7])
    if name == _PREDICTOR:
        nodes = part.nodes
        inner = nodes["is_leaf"] == 0
        return len(nodes) > 0 and _lead_on(nodes["left"], nodes["right"], inner)
    if name.startswith(_BOOSTED):
        return _boosted_is_sound(part)
    if name.startswith(_ENSEMBLES):
        return all(_takes(tree, part) for tree in _trees(part))
    return _takes(part, part)


def _one_hot_is_sound(encoder: Any) -> bool:
    """Whether each category has its place among the columns that the encoder makes."""
    drops = encoder._drop_idx_after_grouping
    for j, (values, width) in enumerate(zip(encoder.categories_, encoder._n_features_outs)):
        codes = np.arange(len(values))
        if encoder._infrequent_enabled and encoder._default_to_infrequent_mappings[j] is not None:
            codes = encoder._default_to_infrequent_mappings[j]
        if drops is not None and drops[j] is not None:
            codes = codes[codes != drops[j]]
            codes = codes - (codes > drops[j])
        if ((codes < 0) | (codes >= width)).any():
            return False
        # those of numbers are found by bisection
        if values.dtype != object and (values[1:] <= values[:-1]).any():
            return False
    return True


def _lead_on(left: Any, right: Any, inner: Any) -> bool:
    """Whether each inner node has its children among the nodes that come after it."""
    at = np.flatnonzero(inner)
    return all(
        bool(((child[at] > at) & (child[at] < len(child))).all())
        for child in (left.astype(np.int64), right.astype(np.int64))
    )


def _nodes_are_sound(tree: Any) -> bool:
    if not 1 <= tree.node_count <= tree.capacity:
        return False
    inner = tree.children_left != -1
    features = tree.feature[inner]
    known = bool(((features >= 0) & (features < tree.n_features)).all())
    return known and _lead_on(tree.children_left, tree.children_right, inner)


def _takes(tree: Any, owner: Any) -> bool:
    """Whether a tree looks at as many features as its owner lets through."""
    nodes = getattr(tree, "__dict__", {}).get("tree_")
    if nodes is None or _name(nodes) != _NODES:
        return True
    return nodes.n_features == getattr(owner, "n_features_in_", None)


def _trees(ensemble: Any) -> list[Any]:
    return list(np.ravel(np.array(getattr(ensemble, "estimators_", []), dtype=object)))


def _boosted_is_sound(part: Any) -> bool:
    for predictor in (tree for trees in getattr(part, "_predictors", []) for tree in trees):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        features = nodes["feature_idx"]
        if ((features < 0) | (features >= part.n_features_in_)).any():
            return False
        if nodes["is_categorical"].any():  # these need a function, which no model file may hold
            return False
    return True


def _neighbours_are_sound(
    data: Any, rows: Any, nodes: Any, bounds: Any, _leaf_size: int, _levels: int, n_nodes: int
) -> bool:
    n, d = data.shape
    if rows.shape != (n,) or ((rows < 0) | (rows >= n)).any():
        return False
    if nodes.shape != (n_nodes,) or n_nodes < 1 or bounds.shape[1:] != (n_nodes, d):
        return False
    start, end = nodes["idx_start"], nodes["idx_end"]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    return bool(((start >= 0) & (start <= end) & (end <= n)).all()) and bool(
        (2 * inner + 2 < n_nodes).all()
    )
