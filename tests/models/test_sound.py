"""Parts of models with numbers that compiled code would follow out of its arrays.

Asked without the check, most of these end the process.
"""

import io
import json
import os
from importlib.metadata import requires
from types import FunctionType

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.neighbors import KDTree, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BinaryRelevance, MLDecisionTree, MLkNN, ThresholdClassifier
from plurilabel.models import Model, _file, load_model, save_model
from plurilabel.models._sound import CHECKED, check_sound, unchecked
from tests.models.test_file import NAMES, X, Y, refused, rewritten, saved, with_learner

pytest.importorskip("skops.io", reason="model files need skops")
__all__ = ["saved"]

y = Y[:, 0]
classes = y + Y[:, 1]  # three of them
SPARSE = sparse.csr_array(X)


def changed(learner, **changes):
    """A learner with other attributes; a function changes a copy of what is there."""
    for name, change in changes.items():
        value = change
        if isinstance(change, FunctionType):
            value = vars(learner)[name].copy()
            change(value)
        vars(learner)[name] = value
    return learner


def at(place, value):
    return lambda array: array.__setitem__(place, value)


SVMS = {
    "classes": lambda: SVC().fit(X, classes),
    "sparse": lambda: SVC().fit(SPARSE, classes),
    "probability": lambda: NuSVC(nu=0.1).fit(X, y),
    "precomputed": lambda: SVC(kernel="precomputed").fit(X @ X.T, y),
    "regression": lambda: SVR().fit(X, y),
    "linear": lambda: LinearSVC().fit(X, y),
    "not fitted": SVC,
}


@pytest.mark.parametrize("name", SVMS)
def test_sound_support_vectors(name):
    check_sound(SVMS[name]())


@pytest.mark.parametrize(
    "make",
    [
        lambda: changed(SVC().fit(X, y), _n_support=np.array([50, 50], np.int32)),
        lambda: changed(SVC().fit(X, y), _n_support=at(0, -1)),
        lambda: changed(SVC().fit(X, classes), _dual_coef_=np.ones((1, 60))),
        lambda: changed(SVC().fit(X, classes), _intercept_=np.ones(1)),
        lambda: changed(SVC().fit(X, y), support_vectors_=np.ones((3, 5))),
        lambda: changed(SVC().fit(X, y), support_vectors_=np.ones((60, 2))),
        lambda: changed(SVC().fit(X, y), _probA=np.ones(2)),
        lambda: changed(SVC().fit(X, y), _effective_probability=True),
        lambda: changed(SVC().fit(X, y), probability=True),
        lambda: changed(SVC().fit(SPARSE, classes), probability=True, _probA=np.ones(3)),
        lambda: changed(SVC(kernel="precomputed").fit(X @ X.T, y), support_=at(0, 60)),
        lambda: changed(SVC().fit(SPARSE, y), _dual_coef_=sparse.csr_matrix((1, 60))),
        lambda: changed(SVC().fit(SPARSE, y), kernel="precomputed"),
    ],
)
def test_support_vectors_that_lead_nowhere_are_refused(make):
    with pytest.raises(ValueError, match="SVC has indices out of bounds"):
        check_sound(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: changed(KNeighborsClassifier().fit(X, y), _y=at(0, 10**6)),
        lambda: changed(KNeighborsClassifier().fit(X, y), _y=at(0, -1)),
        lambda: changed(KNeighborsClassifier().fit(X, Y), _y=at((0, 1), 2)),
        lambda: changed(KNeighborsClassifier().fit(X, y), classes_=np.array([0])),
        lambda: changed(KNeighborsClassifier().fit(X, y), _fit_X=X[:, :2]),
        lambda: changed(KNeighborsClassifier().fit(X, y), _fit_X=X[:3]),
        lambda: changed(KNeighborsClassifier().fit(X, y), n_samples_fit_=10**6),
        lambda: changed(
            KNeighborsClassifier(algorithm="kd_tree").fit(X, y), _tree=KDTree(np.vstack([X, X]))
        ),
    ],
)
def test_neighbours_that_lead_nowhere_are_refused(make):
    with pytest.raises(ValueError, match="KNeighborsClassifier has indices"):
        check_sound(make())


@pytest.mark.parametrize(
    "make",
    [
        lambda: changed(DictVectorizer().fit([{"a": 1, "b": 2}]), vocabulary_={"a": 0, "b": 9**9}),
        lambda: changed(MultiLabelBinarizer().fit([["a"]]), _cached_dict={"a": 9**9}),
    ],
)
def test_columns_that_are_not_there_are_refused(make):
    with pytest.raises(ValueError, match="has indices out of bounds"):
        check_sound(make())


def boosted(target):
    return GradientBoostingClassifier(n_estimators=2).fit(X, target)


@pytest.mark.parametrize(
    "make",
    [
        lambda: changed(boosted(classes), n_trees_per_iteration_=1),
        lambda: changed(boosted(y), estimators_=boosted(classes).estimators_),
        lambda: changed(boosted(classes), _loss=boosted(y)._loss),
        lambda: changed(boosted(classes), init_=boosted(y).init_),
        lambda: changed(boosted(y), estimators_=np.array([[RandomForestClassifier()]])),
    ],
)
def test_boosted_trees_that_write_beside_their_scores_are_refused(make):
    check_sound(boosted(classes))
    with pytest.raises(ValueError, match="GradientBoostingClassifier has indices"):
        check_sound(make())


def test_what_cannot_be_checked_is_refused_when_it_is_saved_and_loaded(tmp_path, saved):
    learner = make_pipeline(KMeans(2, n_init=1), BinaryRelevance(LinearSVC())).fit(X, Y)
    with pytest.raises(ValueError, match="KMeans is not allowed in a model file"):
        save_model(Model(learner, NAMES, list("vwxyz")), tmp_path / "k.skops")
    with_learner(saved, learner)
    assert "KMeans is not allowed in a model file" in refused(saved)


def test_no_more_jobs_than_cores(saved):
    with_learner(saved, MLkNN(3, n_jobs=10**9).fit(X, Y))
    assert load_model(saved).estimator.n_jobs == os.cpu_count()
    with_learner(saved, MLkNN(3, n_jobs=-1).fit(X, Y))
    assert load_model(saved).estimator.n_jobs == -1


def test_parameters_are_checked_as_by_fit(saved):
    with_learner(saved, MLkNN(3).fit(X, Y).set_params(smoothing="a lot"))
    assert "The 'smoothing' parameter of MLkNN must be a float" in refused(saved)


def test_declared_attributes_are_checked(saved):
    with_learner(saved, changed(MLkNN(3).fit(X, Y), Y_=Y[:7].astype(np.int8)))
    assert "Y_ of a MLkNN must be 0 and 1 in shape (n, n_labels_) = (60, 4)" in refused(saved)
    learner = ThresholdClassifier(MLkNN(3), "seen_sets", cv=2).fit(X, Y)
    learner.strategy_.sets_.indices[0] = 9
    with_learner(saved, learner)
    assert "sets_ of a SeenSets must be a sparse matrix with sound pointers" in refused(saved)


def test_points_are_checked_before_they_are_searched(saved):
    """An index hands its points to compiled code."""
    learner = MLkNN(3).fit(SPARSE, Y)
    learner.index_.points_.indices[0] = 10**6
    with_learner(saved, learner)
    assert "points_ of a ExactIndex must be a sparse matrix with sound" in refused(saved)


def test_sparse_matrices_in_the_parts_of_an_object_are_checked(saved):
    """They can also be written as any object is, by their attributes."""
    csr = sparse.csr_array(np.eye(3))
    learner = changed(MLkNN(3).fit(X, Y))
    learner.extra_ = StandardScaler().fit(X)
    vars(learner.extra_).update(_shape=(3, 3), data=csr.data, indices=csr.indices + 7)
    learner.extra_.indptr = csr.indptr
    with_learner(saved, learner)

    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        extra = schema["content"]["content"]["extra_"]
        extra["__class__"], extra["__module__"] = "csr_array", "scipy.sparse._csr"
        kept = ("_shape", "data", "indices", "indptr")
        attributes = extra["content"]
        place = [*attributes["content"]]
        types = attributes["key_types"]["content"]
        attributes["key_types"]["content"] = [types[place.index(name)] for name in kept]
        attributes["content"] = {name: attributes["content"][name] for name in kept}
        return json.dumps(schema)

    rewritten(saved, change)
    assert "csr_array must be a sparse matrix with sound pointers" in refused(saved)


def test_an_object_that_is_written_differently_the_second_time_is_refused(saved):
    """Named by its number alone, a list of lists of lists would grow without end."""
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = [[1.5, 2.5]] * 2
    with_learner(saved, learner)
    assert load_model(saved).estimator.extra_ == [[1.5, 2.5]] * 2

    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        del schema["content"]["content"]["extra_"]["content"][1]["content"][0]
        return json.dumps(schema)

    rewritten(saved, change)
    assert "two objects have the id" in refused(saved)


def test_arrays_of_nothing_are_refused(saved):
    """Values of no size could be promised in any number."""

    def change(name, content):
        if not name.endswith(".npy"):
            return content
        header = b"{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }"
        return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header

    rewritten(saved, change)
    assert "an array of |S0" in refused(saved)


@pytest.mark.parametrize(
    ("part", "shape"), [("nodes", (2, 2)), ("values", (2, 2)), ("args", (5,))]
)
def test_trees_with_arrays_of_another_shape_are_refused(saved, part, shape):
    """scikit-learn reads the length of the nodes before it looks whether they have one."""
    learner = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    with_learner(saved, learner)
    array = io.BytesIO()
    np.save(array, np.ones(shape, dtype=np.int64))

    def change(name, content):
        if name == "schema.json":
            tree = json.loads(content)["content"]["content"]["tree_"]
            args = {"args": tree["__reduce__"]["args"]["content"][1]}
            files.append((tree["content"]["content"] | args)[part]["file"])
        return array.getvalue() if name in files else content

    files = []
    rewritten(saved, change)  # to learn its name
    rewritten(saved, change)
    assert "a tree in it has arrays of invalid shapes" in refused(saved)


@pytest.mark.parametrize("masked", [False, True])
def test_trees_of_an_array_without_dimensions_are_refused(saved, masked):
    """scikit-learn reads the length of their array of nodes before it looks at its dimensions."""
    tree = MLDecisionTree().fit(X, Y)
    tree.masked_ = np.ma.masked_array([1, 2], [True, False])  # as a grid search keeps
    with_learner(saved, tree)
    assert load_model(saved).predict(X) is not None

    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        todo = [schema]
        while todo:
            node = todo.pop()
            if isinstance(node, dict):
                if node.get("__loader__") == "TreeNode":
                    nodes = node["content"]["content"]
                todo += node.values()
            elif isinstance(node, list):
                todo += node
        attributes = schema["content"]["content"]
        number = {**attributes["n_classes_"], "__id__": 1, "__class__": "ndarray"}
        if masked:
            number["__class__"] = "int64"
            attributes["masked_"]["content"]["data"] = number
            number = {**attributes["masked_"], "__id__": 2}
        nodes["nodes"] = number
        return json.dumps(schema)

    tree.n_classes_ = np.int64(2)
    with_learner(saved, tree)
    rewritten(saved, change)
    assert "a 0-dimensional array" in refused(saved)


# what is built, and how -----------------------------------------------------------------------


def schema_changed(path, change):
    def changed(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        change(schema["content"]["content"])
        return json.dumps(schema)

    rewritten(path, changed)


def node(name, builder, **content):
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": builder, **content}


def plain(value):
    return node("builtins.str", "JsonNode", content=json.dumps(value))


SHAPE = node("builtins.tuple", "TupleNode", content=[plain(10**10), plain(1)])


@pytest.mark.parametrize(
    "extra",
    [
        # memory for as many pointers
        node("scipy.sparse._csr.csr_array", "ConstructorFromReduceNode",
             content=node("builtins.tuple", "TupleNode", content=[SHAPE])),
        node("plurilabel.MLkNN", "ConstructorFromReduceNode", content=SHAPE),
        node("plurilabel.MLkNN", "RandomStateNode", content=plain({})),
        node("plurilabel.MLkNN", "TypeNode"),
        node("plurilabel.MLkNN", "FunctionNode", content={}),
        node("scipy.sparse._csr.csr_array", "TypeNode"),
        node("builtins.list", "DefaultDictNode", content={}),
        node("plurilabel.MLkNN", "CachedNode"),
        node("builtins.range", "ObjectNode"),
    ],
    ids=lambda extra: f"{extra['__loader__']} of {extra['__class__']}",
)  # fmt: skip
def test_each_builder_builds_its_own_types(saved, extra):
    schema_changed(saved, lambda held: held.update(extra_=extra))
    message = refused(saved)
    assert (
        f"it contains {extra['__module__']}.{extra['__class__']} as a {extra['__loader__']}"
        in message
    )


def test_arrays_call_no_constructor(saved):
    def change(held):
        array = next(each for each in held.values() if each.get("type") == "numpy")
        held["extra_"] = {**array, **node("plurilabel.MLkNN", "NdArrayNode"), "__id__": 5}

    schema_changed(saved, change)
    assert "it contains plurilabel.MLkNN as a NdArrayNode" in refused(saved)


def test_numbers_that_are_given_twice_are_looked_at_in_both_places(saved):
    """Parts of an object that is written again may have other numbers, but not other content."""
    learner = MLkNN(3).fit(X, Y)
    inner = [1.5]
    learner.a_ = learner.b_ = [inner, inner]
    with_learner(saved, learner)

    def change(held):
        held["b_"]["content"][1]["content"][0]["__id__"] = 77
        held["n_neighbors"] = {**plain(2), "__id__": 77}

    schema_changed(saved, change)
    assert "two objects have the id 77" in refused(saved)


# random numbers -------------------------------------------------------------------------------


def seeded(saved, generator):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = generator
    with_learner(saved, learner)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937"])
def test_generators_come_back(saved, kind):
    generator = np.random.Generator(getattr(np.random, kind)(3))
    generator.random(7)
    seeded(saved, generator)
    np.testing.assert_array_equal(
        load_model(saved).estimator.extra_.random(9), generator.random(9)
    )


@pytest.mark.parametrize("size", [300_000_000, 5, 3, 0, -4, "4", None, 4.0])
def test_pools_of_another_size_are_refused(saved, size):
    """numpy fills a pool of any size, in quadratic time."""
    seeded(saved, np.random.default_rng(0))
    schema_changed(
        saved,
        lambda held: held["extra_"]["content"]["seed_seq"]["content"].update(
            pool_size=plain(size)
        ),
    )
    assert "a random generator in it has a pool size other than 4" in refused(saved)


@pytest.mark.parametrize(
    ("make", "name", "place"),
    [
        (lambda: np.random.RandomState(0), "pos", 625),
        (lambda: np.random.RandomState(0), "pos", -1),
        (lambda: np.random.Generator(np.random.MT19937(0)), "pos", 10**6),
        (lambda: np.random.Generator(np.random.Philox(0)), "buffer_pos", -(10**6)),
    ],
)
def test_places_out_of_a_block_of_random_numbers_are_refused(saved, make, name, place):
    seeded(saved, make())

    def change(held):
        state = held["extra_"]["content"]
        state = state.get("bit_generator", state)["content"]
        state = state if name in state else state["state"]["content"]
        state[name] = plain(place)

    schema_changed(saved, change)
    assert "has indices out of bounds" in refused(saved)


# versions -------------------------------------------------------------------------------------

LIBSVM = {
    "support_", "support_vectors_", "_n_support", "dual_coef_", "_dual_coef_", "intercept_",
    "_intercept_", "_probA", "_probB", "_sparse", "_gamma", "_num_iter", "n_iter_", "fit_status_",
    "shape_fit_", "class_weight_", "classes_", "n_features_in_", "_effective_probability",
}  # fmt: skip
NEIGHBOURS = {
    "_fit_X", "_fit_method", "_tree", "_y", "classes_", "effective_metric_",
    "effective_metric_params_", "n_features_in_", "n_samples_fit_", "outputs_2d_",
}  # fmt: skip
NODE = {
    "left_child", "right_child", "feature", "threshold", "impurity", "n_node_samples",
    "weighted_n_node_samples", "missing_go_to_left",
}  # fmt: skip
BOOSTED_NODE = {
    "value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right",
    "gain", "depth", "is_leaf", "bin_threshold", "is_categorical", "bitset_idx",
}  # fmt: skip
ONE_HOT = {
    "categories_", "_infrequent_enabled", "drop_idx_", "_drop_idx_after_grouping",
    "_n_features_outs", "n_features_in_", "infrequent_categories_", "_infrequent_indices",
    "_default_to_infrequent_mappings",
}  # fmt: skip


def test_the_oldest_and_the_newest_scikit_learn_are_checked():
    """Another one fails here, until its private arrays were looked at."""
    running = ".".join(sklearn.__version__.split(".")[:2])
    assert running in CHECKED
    oldest = next(line for line in requires("plurilabel") if line.startswith("scikit-learn"))
    assert f">={CHECKED[0]}" in oldest


def private(part):
    return {name for name in vars(part) if name.startswith("_") or name.endswith("_")}


def test_private_arrays_are_those_that_are_checked():
    tree, boosted = (
        DecisionTreeClassifier().fit(X, y).tree_.__getstate__(),
        HistGradientBoostingClassifier(max_iter=1).fit(X, y)._predictors[0][0],
    )
    for held, known in [
        (private(SVC().fit(X, y)), LIBSVM),
        (private(SVR().fit(SPARSE, y)), LIBSVM),
        (private(KNeighborsClassifier().fit(X, y)), NEIGHBOURS),
        (private(OneHotEncoder().fit(X)), ONE_HOT),
        (tree, {"max_depth", "node_count", "nodes", "values"}),
        (tree["nodes"].dtype.names, NODE),
        (vars(boosted), {"nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets"}),
        (boosted.nodes.dtype.names, BOOSTED_NODE),
        (range(len(KDTree(X).__getstate__())), range(13)),
    ]:
        assert set(held) <= set(known)


def test_newer_versions_are_met_with_a_warning(saved, monkeypatch):
    tree = MLDecisionTree().fit(X, Y)
    assert unchecked(tree) is None
    assert unchecked(tree, "1.10.0") == unchecked(tree, "2.0.dev0")
    assert unchecked(tree, "1.10.0").startswith("sklearn.tree.")
    assert unchecked(MLkNN(3).fit(X, Y), "1.10.0") is None
    with_learner(saved, tree)
    monkeypatch.setattr(_file, "unchecked", lambda estimator: unchecked(estimator, "1.10.0"))
    with pytest.warns(
        UserWarning, match=r"contains a .*Tree.*, whose arrays can be checked .* up to 1.9"
    ):
        load_model(saved)
