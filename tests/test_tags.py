"""Labels as people have them: every learner takes tags, or says which call makes a matrix."""

import importlib.util

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import plurilabel
from plurilabel import MLkNN, ThresholdClassifier, label_matrix
from plurilabel._core.base import check_labels
from plurilabel._core.roster import learners
from plurilabel.evaluation._checks import _data
from plurilabel.learners import make_learner, set_seeds
from plurilabel.model_selection import IterativeStratifiedKFold, stratified_split

pd = pytest.importorskip("pandas")

FIRST_FORMS = [
    next(iter(entry.checked))
    for entry in learners().values()
    if not entry.needs or importlib.util.find_spec(entry.needs)
]
X = np.arange(12.0).reshape(6, 2)
TAGS = [["sea", "sun"], ["sun"], [], ["sea"], ["sun", "sand"], ["sand"]]
NAMES = ["sand", "sea", "sun"]
Y = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0]])


def as_series(tags):
    return pd.Series(tags, index=[f"row {i}" for i in range(len(tags))])


def as_objects(tags):
    array = np.empty(len(tags), dtype=object)
    array[:] = tags
    return array


FORMS = {
    "lists": list,
    "tuples": lambda tags: [tuple(t) for t in tags],
    "sets": lambda tags: [set(t) for t in tags],
    "frozensets": lambda tags: tuple(frozenset(t) for t in tags),
    "arrays": lambda tags: [np.array(t, dtype=str) for t in tags],
    "column": as_series,
    "frame": lambda tags: as_series(tags).to_frame("tags"),
    "objects": as_objects,
    "repeated": lambda tags: [[f" {tag} " for tag in t] + list(t) for t in tags],
}


@pytest.mark.parametrize("text", FIRST_FORMS)
def test_every_learner_learns_from_tags(text):
    learner = make_learner(text)
    set_seeds(learner, 0)
    X, Y = _data(learner)
    names = [f"tag {j}" for j in range(Y.shape[1])]
    tags = [[names[j] for j in np.flatnonzero(row)] for row in np.asarray(Y)]
    of_tags = clone(learner).fit(X, tags)
    of_matrix = clone(learner).fit(X, pd.DataFrame(np.asarray(Y), columns=names))
    assert of_tags.label_names_.tolist() == names
    predicted = of_tags.predict(X)
    np.testing.assert_array_equal(predicted, of_matrix.predict(X))
    assert set(np.unique(predicted)) <= {0, 1}
    with pytest.raises(ValueError, match=r"plurilabel\.label_matrix\(y, sep=';'\)"):
        clone(learner).fit(X, [";".join(t) for t in tags])


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_tags_are_one_matrix(form):
    learner = MLkNN(n_neighbors=1).fit(X, FORMS[form](TAGS))
    assert learner.label_names_.tolist() == NAMES
    np.testing.assert_array_equal(learner.Y_, Y)
    made = label_matrix(FORMS[form](TAGS))
    assert made.columns.tolist() == NAMES
    np.testing.assert_array_equal(made, Y)


def test_polars_columns_of_lists():
    polars = pytest.importorskip("polars")
    column = polars.Series("tags", TAGS)
    assert MLkNN(n_neighbors=1).fit(X, column).label_names_.tolist() == NAMES
    np.testing.assert_array_equal(label_matrix(column), Y)


def test_sets_of_numbers_are_tags_and_lists_of_numbers_a_matrix():
    learner = MLkNN(n_neighbors=1).fit(X, [{4, 7}, {7}, set(), {4}, {7}, {4}])
    assert learner.label_names_.tolist() == ["4", "7"]
    assert MLkNN(n_neighbors=1).fit(X, Y.tolist()).label_names_.tolist() == [
        "label0",
        "label1",
        "label2",
    ]
    with pytest.raises(ValueError, match="rows of different lengths; for tags, use plurilabel"):
        MLkNN().fit(X, [[4, 7], [7], [], [4], [7], [4]])
    np.testing.assert_array_equal(label_matrix([[4, 7], [7], []]), [[1, 1], [0, 1], [0, 0]])


def test_missing_tags_are_no_label_and_are_counted():
    with pytest.warns(UserWarning, match="no list of tags in 2 of 6 rows"):
        learner = MLkNN(1).fit(X, [["a"], None, ["b"], float("nan"), ["a", "b"], ["a"]])
    assert learner.Y_.sum() == 5


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b", [], ["a"], ["a"], ["a"]], "a list of tags in row 1 as in others, got 'b'"),
        ([["a"], [2.5], [], ["a"], ["a"], ["a"]], "must be texts, got 2.5 in row 1"),
        ([[], [], [], [], [], []], "at least one label"),
        ([set(), set(), set(), set(), set(), set()], "at least one label"),
        (["a;b", "a", "b", "a", "b", "a"], r"label_matrix\(y, sep=';'\)"),
        (["a, b", "a", "b", "a", "b", "a"], r"sep=','\).*LabelEncoder"),
        (np.array([["a|b"]] * 6), r"sep='\|'\)"),
        (np.array([["a", "b"]] * 6), "label_matrix makes them of tags"),
    ],
)
def test_what_cannot_be_tags_is_refused_in_words(y, message):
    with pytest.raises(ValueError, match=message):
        MLkNN(n_neighbors=1).fit(X, y)


def test_classes_of_text_stay_classes():
    learner = MLkNN(n_neighbors=1).fit(X, ["a", "b", "a", "b", "a", "b"])
    assert learner.single_output_ and learner.predict(X).tolist()[0] in ("a", "b")


def test_further_tags_are_those_of_fit():
    learner = MLkNN(n_neighbors=1).fit(X, TAGS)
    learner.partial_fit(X[:2], [["sun"], {"sand"}])
    assert learner.Y_[-2:].tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match="the tag 'moon' in row 1, which fit has not seen"):
        learner.partial_fit(X[:2], [["sun"], ["moon"]])


@pytest.mark.parametrize("inner", [MLkNN(n_neighbors=2), KNeighborsClassifier(2)])
def test_a_cut_is_learned_from_tags(inner):
    tags, rows = TAGS * 3, np.vstack([X, X + 0.1, X + 0.2])
    cut = ThresholdClassifier(inner, "scut", cv=2).fit(rows, tags)
    assert cut.label_names_.tolist() == NAMES
    if hasattr(cut.estimator_, "label_names_"):
        assert cut.estimator_.label_names_.tolist() == NAMES
    assert cut.predict(rows).shape == (18, 3)


def test_splits_and_scores_of_tags():
    tags, rows = TAGS * 3, np.vstack([X, X + 0.1, X + 0.2])
    train, test, y, y_test = stratified_split(rows, tags, sizes=(0.5, 0.5), random_state=0)
    same = stratified_split(rows, label_matrix(tags), sizes=(0.5, 0.5), random_state=0)
    np.testing.assert_array_equal(train, same[0])
    np.testing.assert_array_equal(label_matrix(y, label_names=NAMES), same[2])
    learner = MLkNN(n_neighbors=1).fit(train, y)
    assert learner.score(test, y_test) == learner.score(test, same[3])
    folds = list(IterativeStratifiedKFold(3).split(rows, tags))
    assert len(folds) == 3


def test_doors_without_names_name_the_call():
    for wrong in (TAGS, [set(t) for t in TAGS], [[4, 7], [7]]):
        with pytest.raises(ValueError, match=r"plurilabel\.label_matrix"):
            check_labels(wrong)
    with pytest.raises(ValueError, match=r"plurilabel\.label_matrix"):
        plurilabel.metrics.evaluate(TAGS, labels=Y)


def test_label_matrix_keeps_index_order_and_emptiness():
    made = label_matrix(pd.Series(["b; a", None, "a"], index=list("xyz")), label_names=["b", "a"])
    assert made.index.tolist() == list("xyz") and made.columns.tolist() == ["b", "a"]
    np.testing.assert_array_equal(made, [[1, 1], [0, 0], [0, 1]])


def test_sparse_frames_are_sparse_labels():
    frame = label_matrix(TAGS, sparse=True)
    checked = check_labels(frame)
    assert sparse.issparse(checked)
    np.testing.assert_array_equal(checked.toarray(), Y)
    learner = MLkNN(n_neighbors=1).fit(X, frame)
    assert learner.label_names_.tolist() == NAMES and sparse.issparse(learner.predict(X))


@pytest.mark.parametrize(
    ("tags", "options", "error", "message"),
    [
        ("a;b", {}, TypeError, "sequence, one entry per instance"),
        ({"a": 1}, {}, TypeError, "sequence, one entry per instance"),
        ([], {}, ValueError, "at least one instance"),
        (["a;b|c"], {}, ValueError, "choose one with sep="),
        (["a;b"], {"sep": ""}, ValueError, "at least one character"),
        (["a", "c"], {"label_names": ["a", "b"]}, ValueError, "row 1: .*one of label_names, got"),
        (["a"], {"label_names": ["a", "a"]}, ValueError, "'a' twice"),
        (["1", "0"], {}, ValueError, "a label matrix already"),
        ([None, ""], {}, ValueError, "only empty cells"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), {}, ValueError, "a frame of 2"),
    ],
)
def test_label_matrix_says_what_is_wrong(tags, options, error, message):
    with pytest.raises(error, match=message):
        label_matrix(tags, **options)


def test_a_matrix_of_tags_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", "1e-8")
    with pytest.raises(ValueError, match="use sparse labels: plurilabel.label_matrix"):
        MLkNN(1).fit(X, TAGS)
