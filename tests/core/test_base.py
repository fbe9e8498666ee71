"""What may be passed as y, and what comes back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import BRkNN, MLkNN, ProbabilisticClassifier, ScoringClassifier
from plurilabel._core.base import NumberedNames, check_labels

X = np.arange(12.0)[:, None]
Y = np.column_stack([np.arange(12) < 6, np.arange(12) % 2 == 0, np.ones(12)]).astype(int)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [2, 0]], "Y must hold only 0 and 1, got 2 in row 1, column 0"),
        ([[0, 1], [0, np.nan]], "got NaN in row 1, column 1"),
        (np.array([[0, None]]), "got NaN in row 0, column 1|got None in row 0, column 1"),
        ([["yes", "no"]], r"got tags: write y = plurilabel.label_matrix\(y\)"),
        (np.array([["yes", "no"]]), "got values of type <U3"),
        (np.array([[0, "x"]], dtype=object), "got 'x' in row 0, column 1"),
        ([0, 1], r"0/1 matrix \(instances, labels\), got 1 dimension\(s\) of shape \(2,\)"),
        (np.zeros((2, 2, 2)), "got 3 dimension"),
        (sparse.csr_array([[0, 1], [3, 0]]), "got 3 in row 1, column 0"),
        (sparse.csr_array([[0, 1], [0, np.nan]]), "got NaN in row 1, column 1"),
    ],
)
def test_labels_that_are_none(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels)


def test_labels_given_twice_in_a_sparse_matrix_are_not_two():
    twice = sparse.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2))
    with pytest.raises(ValueError, match="got 2 in row 0, column 1"):
        check_labels(twice)


@pytest.mark.parametrize("times", [256, 257, 2**16])
def test_many_duplicates_are_not_counted_modulo_256(times):
    zeros = np.zeros(times, dtype=int)
    for ones in (np.ones(times, dtype=np.int8), np.ones(times, dtype=bool)):
        for given in (
            sparse.coo_array((ones, (zeros, zeros)), shape=(1, 2)),
            sparse.csr_array((ones, zeros, [0, times]), shape=(1, 2)),
            sparse.csc_array((ones, zeros, [0, times, times]), shape=(1, 2)),
        ):
            with pytest.raises(ValueError, match=f"got {times} in row 0, column 0"):
                check_labels(given)
            assert given.nnz == times  # as it was


def test_numbers_as_text_are_no_labels_in_arrays_or_frames():
    text = Y.astype(str)
    forms = [text, text.astype(object), pd.DataFrame(text), pl.DataFrame(text)]
    forms += [text.tolist(), pd.DataFrame(Y).astype({1: str})]
    for form in forms:
        with pytest.raises(
            ValueError, match=r"y must hold only 0 and 1, got ('\d' in row 0|values)"
        ):
            BRkNN(2).fit(X, form)
    mixed = pd.DataFrame(Y).astype({1: bool})  # an array of objects, but of numbers
    assert_array_equal(check_labels(mixed), Y)


def test_masked_values_are_refused():
    masked = np.ma.array(Y, mask=np.arange(36).reshape(12, 3) == 5)
    with pytest.raises(ValueError, match="y must not have masked values, got 1: fill them in"):
        BRkNN(2).fit(X, masked)
    with pytest.raises(ValueError, match="y must not have masked values, got 3"):
        BRkNN(2).fit(X, np.ma.array(np.arange(12) % 2, mask=np.arange(12) < 3))
    hidden = np.ma.array(X, mask=X > 9)
    with pytest.raises(ValueError, match="X must not have masked values, got 2"):
        BRkNN(2).fit(hidden, Y)
    learner = BRkNN(2).fit(np.ma.array(X), np.ma.array(Y))  # nothing masked
    with pytest.raises(ValueError, match="X must not have masked values, got 2"):
        learner.predict(hidden)
    with pytest.raises(ValueError, match="y must not have masked values, got 1"):
        learner.partial_fit(X, masked)


@pytest.mark.parametrize("scoring", ["f1", "precision", "jaccard", "accuracy", "f1_macro"])
def test_measures_of_one_label_in_a_column(scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    column = cross_val_score(BRkNN(3), X, y[:, None], scoring=scoring, cv=3, error_score="raise")
    assert_allclose(column, cross_val_score(BRkNN(3), X, y, scoring=scoring, cv=3))


def test_stored_zeros_are_dropped_from_a_copy():
    given = sparse.csr_array((np.array([1, 0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    clean = check_labels(given)
    assert clean.nnz == 1 and given.nnz == 2 and clean.dtype == np.int8


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_names(frame):
    names = ["low", "even", "all"]
    data = frame({name: Y[:, j] for j, name in enumerate(names)})
    learner = BRkNN(3).fit(frame({"x": X.ravel()}), data)
    assert learner.label_names_.tolist() == names
    assert learner.feature_names_in_.tolist() == ["x"]


def test_names_are_made_up_where_there_are_none():
    assert BRkNN(3).fit(X, Y).label_names_.tolist() == ["label0", "label1", "label2"]
    assert BRkNN(3).fit(X, list("aaabbbaaabbb")).label_names_.tolist() == ["a", "b"]


def test_a_column_of_classes_is_read_as_classes_with_a_warning():
    y = np.array([[0], [1], [2]] * 4)
    with pytest.warns(DataConversionWarning, match="one class per instance"):
        learner = BRkNN(2).fit(X, y)
    assert learner.predict(X).shape == (12,)


def test_a_column_of_zeros_and_ones_is_one_label():
    assert BRkNN(2).fit(X, Y[:, :1]).predict(X).shape == (12, 1)


def test_errors_before_any_work():
    with pytest.raises(NotFittedError):
        BRkNN().predict(X)
    with pytest.raises(ValueError, match="The 'n_neighbors' parameter of BRkNN must be an int"):
        BRkNN(0).fit(X, Y)
    with pytest.raises(ValueError, match="at least one label"):
        BRkNN(2).fit(X, np.empty((12, 0)))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[12, 11\]"):
        BRkNN(2).fit(X, Y[1:])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        BRkNN(2).fit(X * np.nan, Y)


class Fails(ScoringClassifier):
    """Learns and then fails, if it is told to."""

    def __init__(self, error=None):
        self.error = error

    def _fit(self, X, Y):
        self.mean_ = Y.mean(axis=0)
        if self.error is not None:
            raise self.error("out of luck")

    def _scores(self, X):
        return np.tile(self.mean_ - 0.5, (len(X), 1))

    def partial_fit(self, X, y):
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y)
        return self


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fit_that_fails_changes_nothing(method, error):
    frame = pd.DataFrame(Y, columns=["low", "even", "all"])
    learner = Fails(error)
    with pytest.raises(error, match="out of luck"):
        getattr(learner, method)(X, frame)
    assert vars(learner) == {"error": error}
    with pytest.raises(NotFittedError):
        learner.predict(X)
    learner.set_params(error=None).fit(X, frame)
    scores = learner.decision_function(X)
    with pytest.raises(error, match="out of luck"):
        getattr(learner.set_params(error=error), method)(np.hstack([X, X]), Y[:, :2])
    assert learner.label_names_.tolist() == ["low", "even", "all"]
    assert learner.n_features_in_ == 1 and learner.n_labels_ == 3
    assert_array_equal(learner.decision_function(X), scores)


def test_warnings_point_at_the_caller():
    with pytest.warns(DataConversionWarning) as caught:
        BRkNN(2).fit(X, np.array([[0], [1], [2]] * 4))
    assert caught[0].filename == __file__


def test_probabilities_of_one_class_each_sum_to_one_even_if_nobody_votes():
    learner = BRkNN(3, smoothing=0.0).fit(X, np.arange(12) % 4)
    learner.table_ = np.zeros_like(learner.table_)
    assert_array_equal(learner.predict_proba(X), np.full((12, 4), 0.25))


class Distance(ScoringClassifier):
    """Scores that are not probabilities: is the mean of those with the label the nearer one?"""

    def _fit(self, X, Y):
        self.means_ = np.array([X[Y[:, l] == 1].mean(axis=0) for l in range(Y.shape[1])])
        self.rest_ = np.array([X[Y[:, l] == 0].mean(axis=0) for l in range(Y.shape[1])])

    def _scores(self, X):
        to = [np.linalg.norm(X[:, None] - m, axis=2) for m in (self.rest_, self.means_)]
        return to[0] - to[1]


def test_scores_are_cut_at_zero():
    learner = Distance().fit(X, Y[:, :2])
    scores = learner.decision_function(X)
    assert_array_equal(learner.predict(X), scores > 0)
    two = Distance().fit(X, Y[:, 0])
    assert two.decision_function(X).shape == (12,)
    assert_array_equal(two.predict(X), two.decision_function(X) > 0)
    assert not hasattr(learner, "predict_proba")


class EitherKind(ProbabilisticClassifier, Distance):
    """A learner of either kind, by a parameter."""

    def __init__(self, method="predict_proba"):
        self.method = method

    def _score_method(self):
        return self.method

    def _scores(self, X):
        scores = super()._scores(X)
        return expit(scores) if self.method == "predict_proba" else scores


def test_a_learner_of_either_kind_has_the_methods_of_one():
    learner = EitherKind().fit(X, Y[:, :2])
    assert not hasattr(learner, "decision_function")
    assert_array_equal(learner.predict(X), learner.predict_proba(X) > 0.5)
    other = EitherKind("decision_function").fit(X, Y[:, :2])
    assert not hasattr(other, "predict_proba") and not hasattr(other, "predict_log_proba")
    assert_array_equal(other.predict(X), other.decision_function(X) > 0)
    assert_array_equal(other.predict(X), learner.predict(X))
    with pytest.raises(AttributeError) as error:
        other.predict_proba(X)
    assert "its scores come from decision_function" in str(error.value.__cause__)


def test_logarithms_of_probabilities():
    learner = BRkNN(3, smoothing=0.0).fit(X, Y)
    p, log_p = learner.predict_proba(X), learner.predict_log_proba(X)
    assert (p == 0).any()
    assert_allclose(np.exp(log_p), p)
    assert np.isneginf(log_p[p == 0]).all()


def test_a_learner_inside_another_keeps_the_names_or_has_its_own():
    names = ["low", "even"]
    frame = pd.DataFrame(Y[:, :2], columns=names)
    outer = Distance().fit(pd.DataFrame(X, columns=["x"]), frame)
    same = Distance()._fit_inside(X, Y[:, :2].astype(np.int8), outer)
    assert same.label_names_.tolist() == names and same.feature_names_in_.tolist() == ["x"]
    assert_array_equal(same._predict(X), outer._predict(X))
    part = Distance()._fit_inside(X, Y[:, :1].astype(np.int8))
    assert part.label_names_.tolist() == ["label0"]
    assert_array_equal(part.predict(X), outer._predict(X)[:, :1])
    classes = Distance().fit(X, np.array(list("aaaaaabbbbbb")))
    one_hot = np.column_stack([Y[:, 0], 1 - Y[:, 0]]).astype(np.int8)
    inner = Distance()._fit_inside(X, one_hot, classes)
    assert_array_equal(inner.predict(X), classes.predict(X))


def test_in_pipelines_and_searches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = (X > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), MLkNN())
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.5
    search = GridSearchCV(pipeline, {"mlknn__n_neighbors": [3, 5]}, scoring="f1_macro", cv=3)
    assert search.fit(X, Y).best_params_["mlknn__n_neighbors"] in (3, 5)
    csr = sparse.csr_array(Y)
    assert sparse.issparse(pipeline.fit(X, csr).predict(X))
    assert LogisticRegression().fit(X, Y[:, 0]).score(X, Y[:, 0]) > 0.9


def test_numbered_names_are_those_of_a_tuple():
    names, same = NumberedNames("x", 3), ("x0", "x1", "x2")
    assert names == same and same == names and names == list(same) and tuple(names) == same
    assert names != ("x0", "x1") and names != ("x0", "x1", "y2") and names != "x0"
    assert names == NumberedNames("x", 3) != NumberedNames("label", 3)
    assert NumberedNames("x", 0) == NumberedNames("label", 0) == ()
    assert hash(names) == hash(same) and repr(names) == repr(same)
    assert [names[i] for i in (0, -1, np.int64(1))] == ["x0", "x2", "x1"]
    assert names[1:] == ("x1", "x2") and names[::-1] == ("x2", "x1", "x0")
    assert "x2" in names and "x3" not in names and names.index("x1") == 1
    assert np.asarray(names, dtype=object).tolist() == list(same)
    with pytest.raises(IndexError):
        names[3]


def test_arrays_that_are_taken_as_they_are_are_checked_like_others():
    learner = BRkNN(1).fit(X, Y)
    assert learner.n_features_in_ == 1
    with pytest.raises(ValueError, match="X has 2 features, but BRkNN is expecting 1 features"):
        learner.predict(np.ones((2, 2)))
    for wrong, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=f"Input X contains {message}"):
            learner.predict(np.full((2, 1), wrong))
    with pytest.raises(NotFittedError):
        BRkNN().predict(X)
    named = BRkNN(1).fit(pd.DataFrame(X, columns=["a"]), Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        named.predict(X)
    assert not hasattr(named.fit(X, Y), "feature_names_in_")
