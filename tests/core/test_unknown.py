"""UnknownLabels, measures, splits, descriptions, stacked tables, positive and unlabelled data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from plurilabel import BinaryRelevance, PositiveUnlabeled, datasets, metrics, model_selection
from plurilabel._core.unknown import known_part, stack_labels
from plurilabel.datasets import UnknownLabels
from plurilabel.io import stack_tables

RNG = np.random.default_rng(0)
Y = (RNG.random((50, 6)) < 0.4).astype(float)
S = RNG.random((50, 6)).round(1)  # with ties
Z = (S > 0.5).astype(int)
HIDDEN = RNG.random(Y.shape) < 0.3
HIDDEN[3] = True
PARTIAL = np.where(HIDDEN, np.nan, Y)
P = metrics.propensities(Y)


def test_partial_labels():
    for form in (np.asarray, sparse.csr_array, sparse.coo_array):
        labels = UnknownLabels(form(Y.astype(int)), form(HIDDEN))
        assert labels.shape == Y.shape and labels.n_unknown == HIDDEN.sum()
        np.testing.assert_array_equal(labels.toarray(), PARTIAL)
        np.testing.assert_array_equal(labels[[4, 3]].toarray(), PARTIAL[[4, 3]])
        np.testing.assert_array_equal(labels[2:5, ...].toarray(), PARTIAL[2:5])
        np.testing.assert_array_equal(labels.known_rows(1), ~HIDDEN[:, 1])
    with pytest.raises(ValueError, match="of the shape of Y"):
        UnknownLabels(Y, HIDDEN[:2])
    with pytest.raises(ValueError, match="only 0 and 1"):
        UnknownLabels(Y, 2 * HIDDEN)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_never_known_might_as_well_not_be_there(axis):
    """Columns or rows of NaN change no measure, whatever is predicted for them."""
    shape = (4, 6) if axis == 0 else (50, 2)
    more = [np.full(shape, np.nan), RNG.random(shape), RNG.integers(0, 2, shape)]
    y, s, z = (np.concatenate([a, b], axis=axis) for a, b in zip((Y, S, Z), more))
    p = P if axis == 0 else np.concatenate([P, [0.5, 0.5]])
    expected = metrics.evaluate(Y, S, Z, propensities=P)
    found = metrics.evaluate(y, s, z, propensities=p)
    assert found == pytest.approx(dict(expected))
    assert found.n_unknown == np.prod(shape)
    assert f"{np.prod(shape)} labels not known" in repr(found)


def _one(name):
    """A measure of one instance, by its known labels alone; None if it is left out."""
    measure = metrics.get_measure(name)
    given = Z if measure.kind == "labels" else S
    values = []
    for i in range(len(Y)):
        known = ~HIDDEN[i]
        if known.any():
            values.append(measure.function(Y[i : i + 1, known], given[i : i + 1, known]))
    return np.nanmean(values)


@pytest.mark.parametrize(
    "name",
    [
        "hamming_loss", "subset_accuracy", "accuracy", "precision", "recall", "f1", "one_error",
        "coverage", "coverage_normalized", "ranking_loss", "is_error", "average_precision",
    ],
)  # fmt: skip
def test_instances_are_judged_by_their_known_labels(name):
    found = metrics.evaluate(PARTIAL, S, Z)
    assert found[name] == pytest.approx(_one(name))
    measure = metrics.get_measure(name)
    assert measure.function(PARTIAL, Z if measure.kind == "labels" else S) == found[name]


def test_labels_are_judged_on_the_instances_that_know_them():
    table = metrics.per_label(PARTIAL, S, Z)
    for j in range(6):
        rows = ~HIDDEN[:, j]
        alone = metrics.per_label(Y[rows][:, [j]], S[rows][:, [j]], Z[rows][:, [j]])
        for column, values in alone.items():
            assert table[column][j] == pytest.approx(values[0]), column
    found = metrics.evaluate(PARTIAL, S, Z)
    known = ~HIDDEN
    assert found["micro_auc"] == pytest.approx(
        metrics.micro_auc(Y[known][:, None], S[known][:, None])
    )
    assert found["micro_f1"] == pytest.approx(
        metrics.micro_f1(Y[known][:, None], Z[known][:, None])
    )
    assert found["macro_f1"] == pytest.approx(table["f1"].mean())
    labels = UnknownLabels(sparse.csr_array(Y.astype(int)), sparse.csr_array(HIDDEN))
    assert metrics.evaluate(labels, S, sparse.csr_array(Z)) == found


def test_what_measures_refuse():
    with pytest.raises(ValueError, match="scores must be dense"):
        metrics.average_precision(PARTIAL, sparse.csr_array(S))
    with pytest.raises(ValueError, match="labels must hold only 0 and 1, got NaN"):
        metrics.evaluate(Y, labels=PARTIAL)
    nothing = metrics.evaluate(np.full(Y.shape, np.nan), S, Z)
    assert all(np.isnan(value) for name, value in nothing.items() if not name.startswith("micro"))


def test_splits_count_what_is_known():
    filled = np.nan_to_num(PARTIAL)
    folds = model_selection.IterativeStratifiedKFold(3)
    sparse_form = UnknownLabels(sparse.csr_array(Y.astype(int)), sparse.csr_array(HIDDEN))
    for form in (PARTIAL, UnknownLabels(Y, HIDDEN), sparse_form):
        for (_, a), (_, b) in zip(folds.split(S, form), folds.split(S, filled)):
            np.testing.assert_array_equal(a, b)
    *_, train, test = model_selection.stratified_split(S, PARTIAL, sizes=(0.5, 0.5))
    assert np.isnan(train).sum() + np.isnan(test).sum() == HIDDEN.sum()


def test_describe():
    found = datasets.describe(PARTIAL)
    assert found.unknown == HIDDEN.sum()
    assert found.counts.tolist() == np.nansum(PARTIAL, axis=0).tolist()
    assert "unknown labels" in found.summary()
    assert "not known" not in datasets.describe(Y).summary()


def test_stacked_tables():
    pd = pytest.importorskip("pandas")
    left = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    right = pd.DataFrame({"b": [5.0], "a": [6.0]})
    X, labels = stack_tables(
        [(left, pd.DataFrame({"sea": [1, 0]})), (right, pd.DataFrame({"sun": [1], "sea": [None]}))]
    )
    assert X.to_dict("list") == {"a": [1, 2, 6], "b": [3, 4, 5]}
    assert list(labels.columns) == ["sea", "sun"]
    np.testing.assert_array_equal(labels, [[1, np.nan], [0, np.nan], [np.nan, 1]])
    X, _ = stack_tables([(sparse.eye_array(2), [[1], [0]]), (sparse.eye_array(2), [[1], [0]])])
    assert sparse.issparse(X) and X.shape == (4, 2)
    for tables, message in [
        ([], "at least one pair"),
        ([(left, [[1]])], "as many rows"),
        ([([[1.0]], [[1]]), ([[1.0, 2.0]], [[1]])], "as many features"),
        ([(left, [[1], [0]]), (right[["a"]], [[1]])], "must have the features"),
    ]:
        with pytest.raises(ValueError, match=message):
            stack_tables(tables)


def test_positive_and_unlabelled():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    truth = (rng.logistic(size=X.shape) * 0.5 < 3 * X).astype(int)
    p = np.array([0.9, 0.5, 0.3])
    recorded = truth * (rng.random(truth.shape) < p)
    base = BinaryRelevance(LogisticRegression())
    found = PositiveUnlabeled(base).fit(X, recorded)
    # too small, as long as the label is never certain
    assert (found.propensities_ < p).all() and (found.propensities_ > 0.75 * p).all()
    assert (found.predict(X) == truth).mean() > (base.fit(X, recorded).predict(X) == truth).mean()
    given = PositiveUnlabeled(base, p).fit(sparse.csr_array(X), sparse.csr_array(recorded))
    expected = np.minimum(base.fit(X, recorded).predict_proba(X) / p, 1)
    np.testing.assert_allclose(given.predict_proba(X), expected, atol=1e-3)
    jain = PositiveUnlabeled(base, "jain").fit(X, recorded)
    np.testing.assert_allclose(jain.propensities_, metrics.propensities(recorded))
    rare = recorded.copy()
    rare[:, 0] = 0
    rare[:2, 0] = 1
    assert PositiveUnlabeled(base).fit(X, rare).propensities_[0] == 1
    for bad, message in [({"propensities": [1.0]}, "3 numbers"), ({"cv": 1}, "'cv' parameter")]:
        with pytest.raises(ValueError, match=message):
            PositiveUnlabeled(base, **bad).fit(X, recorded)
    with pytest.raises(ValueError, match="got NaN"):
        PositiveUnlabeled(base).fit(X, np.where(recorded, 1, np.nan))


def test_known_part_and_stacked_labels():
    filled, unknown = known_part([[1.0, float("nan")], [0.0, 1.0]])
    assert filled.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert unknown.tolist() == [[False, True], [False, False]]
    assert known_part([[1, 0]]) == ([[1, 0]], None)
    stacked = stack_labels([np.eye(2), UnknownLabels(np.eye(2), np.eye(2))])
    assert repr(stacked) == "UnknownLabels of shape (4, 2), 2 of 8 labels unknown"
