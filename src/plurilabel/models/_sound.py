"""Checks of a loaded model: indices that compiled code uses without bounds checks.

scikit-learn's trees, for instance, are arrays of nodes with the indices of other nodes, features
and rows. In a manipulated file they could point anywhere in memory, and so could those of sparse
matrices and support vectors. The attributes of plurilabel's learners are declared by their
classes, in ``_fitted``. An estimator whose compiled code cannot be checked is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier

from plurilabel._core.fitted import check_fitted, check_sparse
from plurilabel.models._params import check_attributes, check_callable, check_parameters

CHECKED = ("1.6", "1.9")
"""Oldest and newest version of scikit-learn for which checks of private arrays are tested."""

# modules whose compiled code trusts its input
_REFUSED = (
    "sklearn.cluster.", "sklearn.decomposition._dict_learning.", "sklearn.decomposition._lda.",
    "sklearn.decomposition._nmf.", "sklearn.ensemble._iforest.", "sklearn.manifold.",
    "sklearn.neighbors._kde.", "sklearn.semi_supervised._label_propagation.",
)  # fmt: skip
_NODES = "sklearn.tree._tree.Tree"


def check_sound(estimator: Any) -> None:
    """Raise a ValueError if anything in an estimator has indices out of bounds."""
    for part in parts_of(estimator):
        name = _name(part)
        if name.startswith(_REFUSED):
            raise ValueError(
                f"{name} is not allowed in a model file: its compiled code cannot be checked"
            )
        check_callable(part)
        check_attributes(part)
        if isinstance(part, BaseEstimator):
            check_parameters(part)
        if sparse.issparse(part):
            try:
                check_sparse(part)
            except ValueError as error:
                raise ValueError(f"{type(part).__name__} must be {error}") from None
        elif name.startswith("plurilabel."):
            check_fitted(part)
        else:  # of scikit-learn; numpy checks bounds itself
            checks = (check for start, check in _CHECKS.items() if name.startswith(start))
            if not next(checks, lambda _: True)(part):
                raise ValueError(f"{type(part).__name__} has indices out of bounds")


def unchecked(estimator: Any, version: str = sklearn.__version__) -> str | None:
    """A part whose private arrays may have changed in an untested version of scikit-learn."""
    if _minor(version) <= _minor(CHECKED[-1]):
        return None
    names = (_name(part) for part in parts_of(estimator))
    starts = tuple(start for start in _CHECKS if start.startswith("sklearn."))
    return next((name for name in names if name.startswith(starts)), None)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def parts_of(root: Any) -> Iterator[Any]:
    """All reachable objects, each once."""
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


def _is_array(value: Any, shape: tuple[int | None, ...], kinds: str) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind in kinds
        and value.ndim == len(shape)
        and all(n is None or n == m for n, m in zip(shape, value.shape))
    )


def _are_below(values: Any, limit: int) -> bool:
    return bool(((values >= 0) & (values < limit)).all())


def _words_are_sound(part: Any) -> bool:
    """Whether words, names or labels are mapped to the columns of a matrix."""
    places = (vars(part).get(name) or {} for name in ("vocabulary_", "_cached_dict"))
    idf = getattr(vars(part).get("_tfidf"), "idf_", None)  # one weight for each word
    return (idf is None or len(idf) == len(part.vocabulary_)) and all(
        set(each.values()) == set(range(len(each))) for each in places
    )


def _one_hot_is_sound(encoder: Any) -> bool:
    """Whether each category is mapped to a column of the output."""
    if "categories_" not in vars(encoder):
        return True
    drops = encoder._drop_idx_after_grouping
    for j, (values, width) in enumerate(zip(encoder.categories_, encoder._n_features_outs)):
        codes = np.arange(len(values))
        if encoder._infrequent_enabled and encoder._default_to_infrequent_mappings[j] is not None:
            codes = encoder._default_to_infrequent_mappings[j]
        if drops is not None and drops[j] is not None:
            codes = codes[codes != drops[j]]
            codes = codes - (codes > drops[j])
        if not _are_below(codes, width):
            return False
        # numbers are found by bisection
        if values.dtype != object and (values[1:] <= values[:-1]).any():
            return False
    return True


def _lead_on(left: Any, right: Any, inner: Any) -> bool:
    """Whether the children of each inner node come after it."""
    at = np.flatnonzero(inner)
    return all(
        bool(((child[at] > at) & (child[at] < len(child))).all())
        for child in (left.astype(np.int64), right.astype(np.int64))
    )


def _nodes_are_sound(tree: Any) -> bool:
    if not 1 <= tree.node_count <= tree.capacity:
        return False
    inner = tree.children_left != -1
    known = _are_below(tree.feature[inner], tree.n_features)
    return known and _lead_on(tree.children_left, tree.children_right, inner)


def _takes(tree: Any, owner: Any) -> bool:
    """Whether a tree has as many features as its owner checks, and all outputs."""
    nodes = vars(tree).get("tree_")
    sizes = vars(owner).get("n_features_in_"), vars(tree).get("n_outputs_")
    return _name(nodes) == _NODES and (nodes.n_features, nodes.n_outputs) == sizes


def _forest_is_sound(forest: Any) -> bool:
    trees = np.ravel(np.array(vars(forest).get("estimators_", []), dtype=object))
    return all(_takes(tree, forest) for tree in trees)


def _boosted_is_sound(part: Any) -> bool:
    held = vars(part)
    if "estimators_" not in held:
        return True
    # each column of trees adds to a column of the scores, in place
    _, n_columns = np.shape(held["estimators_"])
    first = held.get("init_")
    prior: Any = getattr(first, "class_prior_", None)
    is_prior = isinstance(first, DummyClassifier) and first.strategy == "prior"
    fits = n_columns == 1 or (
        _name(held.get("_loss")).endswith(".HalfMultinomialLoss")
        and (first == "zero" or (is_prior and np.shape(prior) == (n_columns,)))
    )
    return fits and held.get("n_trees_per_iteration_") == n_columns and _forest_is_sound(part)


def _histogram_is_sound(part: Any) -> bool:
    for predictor in (tree for trees in vars(part).get("_predictors", []) for tree in trees):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        if not _are_below(nodes["feature_idx"], part.n_features_in_):
            return False
        if nodes["is_categorical"].any():  # they need a function, which is not allowed
            return False
    return True


def _search_tree_is_sound(part: Any) -> bool:
    data, rows, nodes, bounds, _, _, n_nodes, *_, metric, weights = part.__getstate__()
    n, d = data.shape
    n_bounds = 2 if type(part).__name__.startswith("KD") else 1
    if metric is None or not (_is_array(rows, (n,), "i") and _are_below(rows, n)):
        return False
    if n_nodes < 1 or nodes.shape != (n_nodes,) or bounds.shape != (n_bounds, n_nodes, d):
        return False
    if weights is not None and np.shape(weights) != (n,):
        return False
    start, end = nodes["idx_start"], nodes["idx_end"]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    return bool(((start >= 0) & (start <= end) & (end <= n)).all()) and bool(
        (2 * inner + 2 < n_nodes).all()
    )


def _neighbors_are_sound(part: Any) -> bool:
    held = vars(part)
    if "_fit_X" not in held:
        return True
    X, y, classes = held["_fit_X"], held.get("_y"), held.get("classes_")
    is_matrix = sparse.issparse(X) or _is_array(X, (None, None), "biuf")
    if not is_matrix or X.shape != (held.get("n_samples_fit_"), held.get("n_features_in_")):
        return False
    if held.get("_tree") is not None and np.shape(held["_tree"].data) != X.shape:
        return False
    if classes is None:  # no classifier
        return y is None or _is_array(y, (X.shape[0], *np.shape(y)[1:]), "iuf")
    columns = classes if isinstance(classes, list) else [classes]
    codes = np.reshape(y, (len(y), -1))
    return (
        _is_array(y, (X.shape[0], *np.shape(y)[1:]), "i")
        and codes.shape[1] == len(columns)
        and all(_are_below(codes[:, j], len(known)) for j, known in enumerate(columns))
    )


def _support_vectors_are_sound(part: Any) -> bool:
    """Whether libsvm's arrays have consistent sizes."""
    held = vars(part)
    if "support_vectors_" not in held:
        return True
    support, per_class, shape = (
        held.get(name) for name in ("support_", "_n_support", "shape_fit_")
    )
    if not (_is_array(support, (None,), "i") and _is_array(per_class, (None,), "i")):
        return False
    n_vectors, n_classes = len(support), len(per_class)  # a regression has two
    if n_classes < 2 or len(shape) != 2 or "_impl" in held:
        return False
    is_svc = type(part).__name__.endswith("SVC")
    whole = per_class.sum(dtype=np.int64) == n_vectors and per_class.min() >= 0
    fits = (
        whole or not is_svc,
        shape[1] == held.get("n_features_in_"),
        _are_below(support, shape[0]),
        _vectors_fit(held, n_vectors, n_classes, shape[1]),
        _pairs_fit(held, n_classes * (n_classes - 1) // 2),
    )
    return all(fits)


def _vectors_fit(held: dict[str, Any], n_vectors: int, n_classes: int, d: int) -> bool:
    """Whether the sizes of support vectors and coefficients match."""
    coef: Any = held.get("_dual_coef_")
    vectors, sizes = held["support_vectors_"], (n_classes - 1, n_vectors)
    precomputed = held.get("kernel") == "precomputed"
    if held.get("_sparse"):  # stored numbers are used as they are: none may be missing
        if precomputed or not (sparse.issparse(coef) and sparse.issparse(vectors)):
            return False
        whole = coef.shape == sizes and coef.nnz == sizes[0] * sizes[1]
        return bool(whole and vectors.shape == (n_vectors, d))
    # with a precomputed kernel, only the indices of the rows are used
    shape = (None, None) if precomputed else (n_vectors, d)
    return _is_array(vectors, shape, "f") and _is_array(coef, sizes, "f")


def _pairs_fit(held: dict[str, Any], n_pairs: int) -> bool:
    """Whether there is a number for each pair of classes."""
    # used for probabilities; before scikit-learn 1.9, the parameter enables them
    asked = any(
        held.get(name, False) not in (False, "deprecated")
        for name in ("_effective_probability", "probability")
    )
    sizes = (n_pairs,) if asked else (0, n_pairs)
    return _is_array(held.get("_intercept_"), (n_pairs,), "f") and all(
        _is_array(held.get(name), (None,), "f") and len(held[name]) in sizes
        for name in ("_probA", "_probB")
    )


_PLACES = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}


def _generator_is_sound(part: Any) -> bool:
    """Whether the position of a generator is inside its block, which numpy does not check."""
    if isinstance(part, np.random.RandomState):
        state: Any = part.get_state(legacy=False)
    elif isinstance(part, np.random.Generator):
        state = part.bit_generator.state
    else:
        return False
    name, most = _PLACES.get(state["bit_generator"], ("", 0))
    inner = state["state"] if name == "pos" else state
    return name == "" or 0 <= inner[name] <= most


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "sklearn.feature_extraction.": _words_are_sound,
    "sklearn.preprocessing._label.": _words_are_sound,
    "sklearn.preprocessing._encoders.OneHotEncoder": _one_hot_is_sound,
    _NODES: _nodes_are_sound,
    "sklearn.tree._classes.": lambda tree: "tree_" not in vars(tree) or _takes(tree, tree),
    "sklearn.ensemble._forest.": _forest_is_sound,
    "sklearn.ensemble._gb.": _boosted_is_sound,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.": _histogram_is_sound,
    "sklearn.ensemble._hist_gradient_boosting.predictor.": lambda part: (
        len(part.nodes) > 0
        and _lead_on(part.nodes["left"], part.nodes["right"], part.nodes["is_leaf"] == 0)
    ),
    "sklearn.neighbors._kd_tree.": _search_tree_is_sound,
    "sklearn.neighbors._ball_tree.": _search_tree_is_sound,
    "sklearn.neighbors.": _neighbors_are_sound,
    "sklearn.svm._classes.": _support_vectors_are_sound,
    "numpy.random.": _generator_is_sound,
}
"""Checks by the beginning of the full class name; the first match is used."""
