"""The same question in another form has the same answer: learners, measures, thresholds.

Arrays may be read-only, strided, in Fortran order, of single precision, sparse, data frames, or
one-row views; rows and labels may come in another order; one row may be asked at a time. Learners
are those of the roster and some further forms; each is fitted once to each kind of training set.
"""

import warnings
from copy import copy, deepcopy
from functools import cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from plurilabel import metrics
from plurilabel._core.base import default_label_names
from plurilabel._core.roster import learners
from plurilabel.learners import make_learner
from plurilabel.metrics import get_measure, label_scores, measure_names
from plurilabel.thresholds import get_strategy, strategy_names

FORMS = [
    *(
        text
        for entry in learners().values()
        if not entry.needs or find_spec(entry.needs)
        for text in entry.checked
    ),
    "MLkNN(n_neighbors=5, metric='manhattan')",
    "BRkNN(n_neighbors=5, variant='b')",
    "BinaryRelevance(KNeighborsClassifier(n_neighbors=3), nonempty=True)",
    "ClassifierChain(LogisticRegression(), inference='exact')",
    "ClassifierChain(LogisticRegression(), inference='beam', beam_width=3, decision='marginal')",
    "ClassifierChain(LogisticRegression(), inference='monte-carlo', n_samples=20)",
    "LabelPowerset(LogisticRegression())",
    "LabelPowerset(SVC())",
    "RAkEL(RidgeClassifier(), labelset_size=2)",
    "CalibratedLabelRanking(LogisticRegression(), voting='soft')",
    "RankSVM(kernel='rbf')",
]

# What a learner need not do, and why. Each of these is tried and must be otherwise.

DEPENDS_ON_ROW_ORDER = {
    "ClassifierChain(RidgeClassifier(), order='random', cv=3)": "folds are taken in order",
    "EnsembleOfChains": "samples are drawn by row number",
    "EnsembleOfPrunedSets": "samples are drawn by row number",
    "OutputCodes": "bits that occur again are learned from samples drawn by row number",
    "StackedRelevance": "folds are filled in order",
    "MLRandomForest(n_estimators": "samples are drawn by row number",
    "subsample=": "samples are drawn by row number",
    "validation_fraction=": "what is held out is drawn by row number",
    "BPMLL": "batches are drawn by row number",
    "HierarchicalNetwork": "batches are drawn by row number",
    "MLFastText": "batches are drawn by row number",
    "INSDIF": "the first medoids are drawn by row number",
    "MIMLNN": "the first medoids are drawn by row number",
    "MIMLSVM": "the first medoids are drawn by row number",
    "window_size=40": "the last rows are kept",
    "n_components=20": "rows to compare with are drawn by row number",
    "MLSAMPkNN": "rows are learned in their order",
    "NeighborSubspaceEnsemble": "rows are learned in their order",
    "StreamBinaryRelevance": "rows are learned in their order",
    "StreamClassifierChain": "rows are learned in their order",
    "StreamPrunedSets": "rows are learned in their order",
    "MLHoeffdingTree": "rows are learned in their order",
    "CalibratedClassifier": "folds are filled in order",
    "PositiveUnlabeled": "folds are filled in order",
    "MLROS": "rows are drawn by their numbers",
    "AutoClassifier": "folds are drawn by row number",
}
DEPENDS_ON_LABEL_ORDER = {  # RAkEL has models of all pairs of these few labels
    "ClassifierChain": "the order of the chain is that of the columns, or drawn by column number",
    "EnsembleOfChains": "orders are drawn by column number",
    "OutputCodes": "the code is drawn by column number",
    "HOMER": "labels are divided from the first column on",
    "splits='label'": "the forest of each label is drawn by column number",
    "StreamClassifierChain": "the order of the chain is that of the columns",
    "BPMLL": "the first weights are drawn by column number",
    "HierarchicalNetwork": "the first weights are drawn by column number",
    "MLFastText": "the first weights are drawn by column number",
    "LabelForest": "combinations of labels are drawn by column number",
    "MLROS": "rows are drawn label by label",
}
DEPENDS_ON_ORIGIN = {
    "LogisticRegression": "its solver stops early where features have large means",
    "LinearSVC": "it penalises the intercept",
    "SVC": "scikit-learn's kernel expands squares",
    "OneVsAllLinear": "the intercept is a feature like others, or rows have length one",
    "LabelTree": "the intercept is a feature like others, or rows have length one",
    "LabelEmbedding": "rows have length one",
    "LabelForest": "scikit-learn's trees read single precision",
    "MLFastText": "rows have length one",
    "cosine": "directions depend on the origin",
    "MLDecisionTree": "scikit-learn's trees read single precision",
    "MLRandomForest": "scikit-learn's trees read single precision",
    "MIMLBoost": "scikit-learn's trees read single precision",
    "StreamBinaryRelevance": "river's learners take gradient steps on features as they are",
    "StreamClassifierChain": "river's learners take gradient steps on features as they are",
    "StreamPrunedSets": "river's learners take gradient steps on features as they are",
}
TIES_BY_STORAGE = {
    "KNeighborsClassifier": "scikit-learn orders equal distances by its tree or by the index",
}
SINGLE = {  # where single precision is close, not equal: how close
    "IBLRML(n_neighbors=5, own_features=True)": 1e-3,
    "LogisticRegression": 1e-3,
    "RidgeClassifier": 1e-3,
    "RankSVM": 1e-6,
    "SVC": 1e-4,
    "BPMLL": 1e-4,
    "HierarchicalNetwork": 1e-4,
    "MLFastText": 1e-3,
}


def why(text, reasons):
    """The reason for a form, or None: the longest key that is part of its text."""
    keys = [key for key in reasons if key in text]
    return reasons[max(keys, key=len)] if keys else None


# learners ------------------------------------------------------------------------------------


def problem(n=60, d=4):
    """Numbers that single precision can represent, without ties; four learnable labels."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    Y = (X + 0.3 * rng.normal(size=X.shape) > np.array([0.0, 0.5, -0.5, 0.2])).astype(np.int64)
    return X, Y


X, Y = problem()
NAMES = [f"x{j}" for j in range(X.shape[1])]
ROWS = np.random.default_rng(5).permutation(len(X))
LABELS = np.array([2, 0, 3, 1])
SOME = (0, 7, 59)


def coarse(n=60, d=4):
    """Odd quarters, which tie often, and which can be moved by 2**30 without rounding."""
    rng = np.random.default_rng(4)
    X = rng.integers(-5, 5, size=(n, d)) / 2 + 0.25
    Y = (X + rng.normal(size=X.shape) > np.array([0.0, 0.5, -0.5, 0.2])).astype(np.int64)
    return X, Y


def counts(seed, rate, n=60, d=6):
    """Counts, mostly zeros and ones: distances tie all the time."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rate, size=(n, d)).astype(np.float64)
    Y = (X - X.mean(axis=0)) @ rng.normal(size=(d, 4)) + rng.normal(size=(n, 4)) > 0.2
    return X, Y.astype(np.int64)


def strided(A):
    wide = np.zeros((2 * A.shape[0], 3 * A.shape[1]), dtype=A.dtype)
    wide[::2, ::3] = A
    return wide[::2, ::3]


def backwards(A):
    return A[::-1, ::-1].copy()[::-1, ::-1]


def read_only(A):
    A = A.copy()
    A.setflags(write=False)
    return A


def strided_read_only(A):
    A = strided(A)
    A.setflags(write=False)
    return A


def twice(A):
    """CSR in which each entry is stored as two halves, in no order."""
    half = sparse.csr_array(A) / 2
    data, columns = (np.repeat(a, 2) for a in (half.data, half.indices))
    return sparse.csr_array((data, columns, 2 * half.indptr), shape=A.shape)


def with_zeros(A):
    """CSR that stores zeros."""
    n, d = A.shape
    return sparse.csr_array(
        (A.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), A.shape
    )


DENSE = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": backwards,
    "read-only": read_only,
    "list": np.ndarray.tolist,
}
SPARSE = {
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "twice": twice,
    "zeros": with_zeros,
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def features(text):
    """X, or its absolute values for learners of counts."""
    return np.abs(X) if get_tags(unfitted(text)).input_tags.positive_only else X


def unfitted(text):
    learner = make_learner(text)
    keys = learner.get_params()
    seeds = dict.fromkeys((key for key in keys if key.endswith("random_state")), 0)
    jobs = dict.fromkeys((key for key in keys if key.endswith("n_jobs")), None)
    return learner.set_params(**seeds, **jobs)


@cache
def fitted(text):
    """The learner, its scores and its label sets of the training instances."""
    X = features(text)
    learner = unfitted(text).fit(X.copy(), Y.copy())
    return learner, label_scores(learner, X), learner.predict(X)


@pytest.mark.parametrize("text", FORMS)
def test_queries_in_any_form(text):
    X = features(text)
    learner, scores, sets = fitted(text)
    for name, form in DENSE.items():
        Q = form(X)
        kept = deepcopy(Q)
        assert_allclose(label_scores(learner, Q), scores, rtol=1e-9, atol=1e-12, err_msg=name)
        assert_array_equal(learner.predict(Q), sets, err_msg=name)
        assert_array_equal(Q, kept)


@pytest.mark.parametrize("text", FORMS)
def test_one_row_at_a_time(text):
    X = features(text)
    learner, scores, sets = fitted(text)
    Q = X.copy()
    for i in SOME:
        for row in (Q[i : i + 1], Q[i].reshape(1, -1), Q[[i]], read_only(Q)[i : i + 1]):
            assert_allclose(label_scores(learner, row)[0], scores[i], rtol=1e-7, atol=1e-9)
            assert_array_equal(learner.predict(row)[0], sets[i])
    assert_allclose(label_scores(learner, Q[::-7]), scores[::-7], rtol=1e-7, atol=1e-9)
    assert_array_equal(learner.predict(Q[ROWS]), sets[ROWS])
    assert_array_equal(Q, X)


@pytest.mark.parametrize("text", FORMS)
def test_queries_by_several_workers(text):
    X = features(text)
    learner, scores, sets = fitted(text)
    keys = [key for key in learner.get_params() if key.endswith("n_jobs")]
    if not keys:
        pytest.skip("it has no n_jobs")
    try:
        learner.set_params(**dict.fromkeys(keys, 2))
        assert_array_equal(label_scores(learner, X), scores)
        assert_array_equal(learner.predict(X), sets)
    finally:
        learner.set_params(**dict.fromkeys(keys, None))


@pytest.mark.parametrize("text", FORMS)
def test_training_sets_in_any_form(text):
    X = features(text)
    _, scores, _ = fitted(text)
    for form in (np.asfortranarray, strided_read_only):
        learner = unfitted(text).fit(form(X), form(Y))
        assert_allclose(label_scores(learner, X), scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", FORMS)
def test_data_frames_row_by_row(text):
    X = features(text)
    _, scores, sets = fitted(text)
    frame = pd.DataFrame(X, columns=NAMES)
    learner = unfitted(text).fit(frame, pd.DataFrame(Y, columns=list("abcd")))
    assert_allclose(label_scores(learner, frame), scores, rtol=1e-9, atol=1e-12)
    for i in SOME:
        row = frame.iloc[[i]]
        assert_allclose(label_scores(learner, row)[0], scores[i], rtol=1e-7, atol=1e-9)
        assert_array_equal(learner.predict(row)[0], sets[i])
    assert_array_equal(frame, X)


@pytest.mark.parametrize("text", FORMS)
def test_single_precision(text):
    X = features(text)
    learner, scores, _ = fitted(text)
    single = X.astype(np.float32)
    near = why(text, SINGLE) or 1e-9
    assert_allclose(label_scores(learner, single), scores, rtol=near, atol=near)
    again = unfitted(text).fit(single, Y)
    assert_allclose(label_scores(again, single), scores, rtol=near, atol=near)


@pytest.mark.parametrize("text", FORMS)
def test_sparse_features(text):
    X = features(text)
    _, dense_scores, _ = fitted(text)
    assert get_tags(unfitted(text)).input_tags.sparse
    first = unfitted(text).fit(sparse.csr_array(X), Y)
    scores = label_scores(first, sparse.csr_array(X))
    near = why(text, SINGLE) or 1e-9  # solvers differ for sparse X, as for single precision
    assert_allclose(scores, dense_scores, rtol=near, atol=near)
    for name, form in SPARSE.items():
        Q = form(X)
        kept = deepcopy(Q)
        assert_allclose(label_scores(first, Q), scores, rtol=1e-9, atol=1e-12, err_msg=name)
        if name in ("csc", "twice", "zeros"):  # the others become CSR in the same way
            again = unfitted(text).fit(Q, form(Y) if name != "twice" else Y)
            assert_allclose(label_scores(again, Q), scores, rtol=1e-9, atol=1e-12, err_msg=name)
        assert Q.nnz == kept.nnz and (kept != Q).nnz == 0, f"{name}: the input was changed"


@pytest.mark.parametrize("text", FORMS)
def test_counts_dense_and_sparse(text):
    near, differ = why(text, SINGLE) or 1e-9, []
    for seed, rate in ((0, 0.7), (2, 0.08)):
        X, Y = counts(seed, rate)
        thin = sparse.csr_array(X)
        scores = label_scores(unfitted(text).fit(X, Y), X)
        again = label_scores(unfitted(text).fit(thin, Y), thin)
        if not np.allclose(again, scores, rtol=near, atol=near):
            differ.append(seed)
    assert bool(differ) == bool(why(text, TIES_BY_STORAGE)), differ


@pytest.mark.parametrize("text", FORMS)
def test_another_origin(text):
    """Wherever the origin is, differences are the same, and so are ties."""
    if get_tags(unfitted(text)).input_tags.positive_only:
        pytest.skip("it learns from counts")
    X, Y = coarse()
    found, wanted = (label_scores(unfitted(text).fit(A, Y), A) for A in (X + 2.0**30, X))
    same(text, found, wanted, DEPENDS_ON_ORIGIN)


@pytest.mark.parametrize("text", FORMS)
def test_a_fit_that_fails_at_the_end_changes_nothing(text, monkeypatch):
    X = features(text)
    learner, scores, sets = fitted(text)
    learner = deepcopy(learner)
    learn = type(learner)._fit

    def fail(self, *args, **params):
        learn(self, *args, **params)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(learner), "_fit", fail)
        with pytest.raises(MemoryError):
            learner.fit(X[::-1, :3], pd.DataFrame(Y[:, :2]))
    assert_array_equal(label_scores(learner, X), scores)
    assert_array_equal(learner.predict(X), sets)
    assert learner.n_features_in_ == 4 and list(learner.label_names_) == [*default_label_names(4)]


@pytest.mark.parametrize("text", FORMS)
def test_parameters_set_after_fit_wait_for_the_next_fit(text):
    X = features(text)
    learner, scores, sets = fitted(text)
    learner = copy(learner)
    for name, value in learner.get_params(deep=False).items():
        other = DecisionTreeClassifier() if hasattr(value, "fit") else object()
        # these change no answer
        learner.set_params(**{name: value if name in ("n_jobs", "cache_size") else other})
    assert_array_equal(label_scores(learner, X), scores)
    assert_array_equal(learner.predict(X), sets)


@pytest.mark.parametrize(
    "text", [text for text in FORMS if "kNN" not in text and "IBLR" not in text]
)
def test_what_becomes_of_the_training_set_later_does_not_matter(text):
    X = features(text)
    if "KNeighbors" in text:
        pytest.skip("scikit-learn's neighbours keep the array that they are given")
    _, scores, _ = fitted(text)
    given = X.copy(), Y.copy()
    learner = unfitted(text).fit(*given)
    for array in given:
        array[:] = 0
    assert_array_equal(label_scores(learner, X), scores)


@pytest.mark.parametrize("text", FORMS)
def test_training_rows_in_another_order(text):
    X = features(text)
    _, scores, _ = fitted(text)
    learner = unfitted(text).fit(X[ROWS], Y[ROWS])
    same(text, label_scores(learner, X), scores, DEPENDS_ON_ROW_ORDER)


@pytest.mark.parametrize("text", FORMS)
def test_labels_in_another_order(text):
    X = features(text)
    _, scores, _ = fitted(text)
    learner = unfitted(text).fit(X, Y[:, LABELS])
    same(text, label_scores(learner, X), scores[:, LABELS], DEPENDS_ON_LABEL_ORDER)


def same(text, found, wanted, reasons):
    if why(text, reasons):
        with pytest.raises(AssertionError):
            assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    else:
        assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


# measures ------------------------------------------------------------------------------------


def scored(n=40, q=5):
    """Labels, scores that single precision can represent, sets; empty and full rows occur."""
    rng = np.random.default_rng(1)
    Y = (rng.random((n, q)) < 0.4).astype(np.int64)
    Y[0], Y[1] = 0, 1
    F = (0.05 + 0.6 * rng.random((n, q)) + 0.3 * Y).astype(np.float32).astype(np.float64)
    return Y, F, (F > 0.5).astype(np.int64)


def measured(name, Y, prediction, **labels):
    """A measure by its name, of prediction = scores or sets."""
    if name in ("psp@k", "ps_ndcg@k"):
        labels["propensities"] = np.linspace(0.2, 0.9, Y.shape[1])[
            labels.pop("order", slice(None))
        ]
    labels.pop("order", None)
    return get_measure(name.replace("@k", "@2")).function(Y, prediction, **labels)


@pytest.mark.parametrize("name", measure_names())
def test_measures_of_any_form(name):
    Y, F, Z = scored()
    P = Z if get_measure(name).kind == "labels" else F
    wanted = measured(name, Y, P)
    assert np.isfinite(wanted)
    for form in (np.asfortranarray, strided, backwards, read_only):
        assert measured(name, form(Y), form(P)) == pytest.approx(wanted, rel=1e-14)
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):  # no score is zero
        assert measured(name, form(Y), form(P)) == pytest.approx(wanted, rel=1e-14)
        assert measured(name, form(Y), P) == pytest.approx(wanted, rel=1e-14)
    frames = [pd.DataFrame(A, columns=list("abcde")) for A in (Y, P)]
    assert measured(name, *frames) == pytest.approx(wanted, rel=1e-14)
    short = P.astype(np.float32) if P is F else P.astype(bool)
    assert measured(name, Y.astype(np.int8), short) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("name", measure_names())
def test_measures_of_another_order(name):
    Y, F, Z = scored()
    P = Z if get_measure(name).kind == "labels" else F
    wanted = measured(name, Y, P)
    rows, labels = np.random.default_rng(0).permutation(40), [3, 1, 4, 0, 2]
    assert measured(name, Y[rows], P[rows]) == pytest.approx(wanted, rel=1e-12)
    got = measured(name, Y[:, labels], P[:, labels], order=labels)
    assert got == pytest.approx(wanted, rel=1e-12)


OVER_ALL_ROWS = ("macro_", "micro_", "weighted_", "psp@", "ps_ndcg@")


@pytest.mark.parametrize(
    "name", [name for name in measure_names() if not name.startswith(OVER_ALL_ROWS)]
)
def test_measures_row_by_row(name):
    """A mean over instances is the mean of the instances for which it is defined."""
    Y, F, Z = scored()
    P = Z if get_measure(name).kind == "labels" else F
    alone = [measured(name, Y[i : i + 1], P[i : i + 1]) for i in range(len(Y))]
    assert measured(name, Y, P) == pytest.approx(np.nanmean(alone), rel=1e-12)


def test_evaluate_is_all_measures():
    Y, F, Z = scored()
    found = metrics.evaluate(Y, F, Z, top=(2,), propensities=np.linspace(0.2, 0.9, 5))
    for name in measure_names():
        if "f_beta" not in name:
            P = Z if get_measure(name).kind == "labels" else F
            assert found[name.replace("@k", "@2")] == pytest.approx(measured(name, Y, P))


# thresholds ----------------------------------------------------------------------------------

LOOKS_AT_THE_BATCH = {"pcut": "so many rows get the label, of those asked about together"}


@pytest.mark.parametrize("name", strategy_names())
def test_thresholds_of_any_form(name):
    Y, F, _ = scored()
    wanted = get_strategy(name).fit(F, Y).predict(F)
    for form in (np.asfortranarray, strided, backwards, read_only, np.ndarray.tolist):
        Q = form(F)
        kept = deepcopy(Q)
        assert_array_equal(get_strategy(name).fit(Q, form(Y)).predict(Q), wanted)
        assert_array_equal(Q, kept)
    single = F.astype(np.float32)
    assert_array_equal(get_strategy(name).fit(single, Y).predict(single), wanted)
    frame = pd.DataFrame(F, columns=list("abcde"))
    assert_array_equal(get_strategy(name).fit(frame, pd.DataFrame(Y)).predict(frame), wanted)
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        predicted = get_strategy(name).fit(F, form(Y)).predict(F)
        assert predicted.format == "csr"
        assert_array_equal(predicted.toarray(), wanted)


@pytest.mark.parametrize("name", strategy_names())
def test_thresholds_row_by_row(name):
    Y, F, _ = scored()
    strategy = get_strategy(name).fit(F, Y)
    alone = np.vstack([strategy.predict(F[i : i + 1]) for i in range(len(F))])
    if name in LOOKS_AT_THE_BATCH:
        assert (alone != strategy.predict(F)).any()
        strategy.set_params(batch=False).fit(F, Y)
        alone = np.vstack([strategy.predict(F[i : i + 1]) for i in range(len(F))])
    assert_array_equal(alone, strategy.predict(F))


@pytest.mark.parametrize("name", strategy_names())
def test_a_fitted_threshold_keeps_its_parameters(name):
    Y, F, _ = scored()
    strategy = get_strategy(name).fit(F, Y)
    wanted = strategy.predict(F)
    others = {key: object() for key in strategy.get_params(deep=False)}
    assert_array_equal(strategy.set_params(**others).predict(F), wanted)


@pytest.mark.parametrize("name", strategy_names())
def test_thresholds_of_another_order(name):
    Y, F, _ = scored()
    wanted = get_strategy(name).fit(F, Y).predict(F)
    rows, labels = np.random.default_rng(0).permutation(40), [3, 1, 4, 0, 2]
    assert_array_equal(get_strategy(name).fit(F[rows], Y[rows]).predict(F), wanted)
    assert_array_equal(get_strategy(name).fit(F, Y).predict(F[rows]), wanted[rows])
    again = get_strategy(name).fit(F[:, labels], Y[:, labels]).predict(F[:, labels])
    assert_array_equal(again, wanted[:, labels])


def fitted_numbers(thing):
    """All arrays of numbers inside a fitted learner, its parts and theirs."""
    if isinstance(thing, np.ndarray):
        yield from [thing] if thing.dtype.kind == "f" else ()
    elif isinstance(thing, list | tuple | dict):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from fitted_numbers(part)
    elif hasattr(thing, "get_params"):
        yield from fitted_numbers(vars(thing))


@pytest.mark.parametrize("text", FORMS)
def test_nothing_is_fitted_to_rounding_errors(text):
    """Rows that occur three times and labels that occur twice: what is learned stays small."""
    rows = np.tile(np.arange(25), 3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* of the rows are equal to others")
        learner = unfitted(text).fit(features(text)[rows], Y[rows][:, [0, 0, 1, 2, 2, 3]])
    for numbers in fitted_numbers(learner):
        assert abs(numbers[np.isfinite(numbers)]).max(initial=0.0) < 1e4
