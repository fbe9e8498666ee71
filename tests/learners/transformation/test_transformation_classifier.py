"""What all transformations share: weights, metadata, sparse rows, the kind of scores, errors."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel import (
    HOMER,
    BinaryRelevance,
    CalibratedLabelRanking,
    ClassifierChain,
    EnsembleOfChains,
    EnsembleOfPrunedSets,
    LabelPowerset,
    OutputCodes,
    PrunedSets,
    RAkEL,
    StackedRelevance,
)
from tests.learners.transformation.data import positive


class Weighed(GaussianNB):
    """Insists on weights that belong to the rows (their first feature) and on two classes."""

    def fit(self, X, y, sample_weight=None):
        assert_array_equal(sample_weight, np.asarray(X)[:, 0])
        assert len(np.unique(y)) > 1
        return super().fit(X, y, sample_weight)


class Rows(BernoulliNB):
    """Insists on sparse X, in training and when asked."""

    def _check_X(self, X):
        assert sparse.issparse(X) and X.format == "csr" and X.dtype == np.float32
        return super()._check_X(X)

    def _check_X_y(self, X, y, reset=True):
        assert sparse.issparse(X) and X.format == "csr" and X.dtype == np.float32
        assert X.has_sorted_indices
        return super()._check_X_y(X, y, reset=reset)


def every_learner(base):
    return [
        BinaryRelevance(base),
        ClassifierChain(base),
        ClassifierChain(base, chain_method="predict_proba"),
        ClassifierChain(base, cv=3),
        ClassifierChain(base, inference="beam", beam_width=2),
        EnsembleOfChains(base, n_estimators=2, random_state=0),
        LabelPowerset(base),
        PrunedSets(base, pruning_threshold=2),
        EnsembleOfPrunedSets(base, n_estimators=2, bootstrap=True, random_state=0),
        RAkEL(base, labelset_size=2, random_state=0),
        CalibratedLabelRanking(base),
        StackedRelevance(base, cv=3),
        OutputCodes(base, code="repetition", random_state=0),
        HOMER(base, branching_factor=2, random_state=0),
        HOMER(LabelPowerset(base), branching_factor=2, random_state=0),
    ]


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("number", range(15))
def test_weights_go_with_their_rows_and_constant_labels_stay_away(number, routing):
    X, Y = positive()
    Y[:, 1], Y[:, 3] = 0, 1
    weights = X[:, 0].tolist()
    with config_context(enable_metadata_routing=routing):
        base = Weighed()
        learner = every_learner(base.set_fit_request(sample_weight=True) if routing else base)[
            number
        ]
        if routing and number == 14:
            learner.estimator.estimator = base.set_fit_request(sample_weight=True)
        learner.fit(X, Y, sample_weight=weights)
        predicted = learner.predict(X)
    assert not predicted[:, 1].any() and predicted[:, 3].all()


@pytest.mark.parametrize("learner", every_learner(Rows()), ids=repr)
def test_sparse_rows_stay_sparse_and_answer_as_dense_ones(learner):
    X, Y = positive()
    X = np.where(X > 1, X, 0).astype(np.float32)
    dense = type(learner)(**{**learner.get_params(deep=False)})
    plain = BernoulliNB()
    inner = LabelPowerset(plain) if isinstance(learner.estimator, LabelPowerset) else plain
    dense.set_params(estimator=inner).fit(X, Y)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        learner.fit(form(X), Y)
        assert_array_equal(learner.predict(form(X)), dense.predict(X))
    ask = "predict_proba" if hasattr(dense, "predict_proba") else "decision_function"
    assert_allclose(getattr(learner, ask)(sparse.csr_array(X)), getattr(dense, ask)(X), rtol=1e-5)


def test_weights_are_copies_of_rows():
    X, Y = positive()
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), times)
    for learner in (BinaryRelevance, ClassifierChain, LabelPowerset, CalibratedLabelRanking):
        weighed = learner(BernoulliNB(binarize=1)).fit(X, Y, sample_weight=times)
        copied = learner(BernoulliNB(binarize=1)).fit(X[rows], Y[rows])
        assert_array_equal(weighed.predict(X), copied.predict(X))
        if hasattr(weighed, "predict_proba"):
            assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("base", "params", "message"),
    [
        (
            GaussianNB(),
            {"sample_weight": [1.0]},
            r"sample_weight.shape == \(1,\), expected",
        ),
        (GaussianNB(), {"sample_weight": [np.nan] * 40}, "sample_weight contains NaN"),
        (GaussianNB(), {"groups": [1] * 40}, r"passing \['groups'\] to fit is only supported if"),
        (
            KNeighborsClassifier(),
            {"sample_weight": [1.0] * 40},
            "sClassifier does not accept",
        ),
    ],
)
def test_metadata_that_cannot_be_used(base, params, message):
    X, Y = positive()
    with pytest.raises(ValueError, match=message):
        BinaryRelevance(base).fit(X, Y, **params)


def test_scores_are_of_one_kind():
    X, Y = positive()
    sure, margin = BinaryRelevance(GaussianNB()), BinaryRelevance(RidgeClassifier())
    assert hasattr(sure, "predict_proba") and not hasattr(sure, "decision_function")
    assert hasattr(margin, "decision_function") and not hasattr(margin, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as error:
        margin.fit(X, Y).predict_proba(X)
    assert "its scores come from decision_function" in str(error.value.__cause__)
    votes = RAkEL(RidgeClassifier(), labelset_size=2)
    assert hasattr(votes, "predict_proba") and not hasattr(votes, "decision_function")
    assert hasattr(votes.set_params(voting="soft"), "decision_function")


OTHERWISE = {
    "inference": "monte-carlo",
    "chain_method": "decision_function",
    "order": [3, 2, 1, 0],
    "passthrough": False,
    "stack_method": "predict",
    "final_estimator": RidgeClassifier(),
    "branching_factor": 4,
    "code": "random",
    "label_sets": "all",
    "pruning_threshold": 9,
    "labelset_size": 3,
}
"""Parameters of ``fit``, as they were not in :func:`every_learner`."""


@pytest.mark.parametrize("learner", every_learner(GaussianNB()), ids=repr)
def test_a_fitted_learner_answers_with_the_parameters_of_fit(learner):
    X, Y = positive()
    learner.fit(X, Y)
    method, wanted = learner._score_method(), learner._validated_scores(X)
    sets = learner.predict(X)
    others = {name: value for name, value in OTHERWISE.items() if hasattr(learner, name)}
    if isinstance(learner, CalibratedLabelRanking):
        others["voting"] = "soft"
    learner.set_params(estimator=RidgeClassifier(), **others)
    assert_array_equal(getattr(learner, method)(X), wanted)
    assert_array_equal(learner.predict(X), sets)
    assert hasattr(learner, "predict_proba") == (method == "predict_proba")


def test_missing_values_go_to_base_estimators_that_take_them():
    X, Y = positive()
    X[::5, 1] = np.nan
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    found = ClassifierChain(tree).fit(X, Y).predict(X)
    assert_array_equal(found[:, 0], tree.fit(X, Y[:, 0]).predict(X))
    with pytest.raises(ValueError, match="NaN"):
        ClassifierChain(GaussianNB()).fit(X, Y)


def test_any_backend_and_number_of_workers_gives_the_same():
    X, Y = positive()
    base = SGDClassifier(loss="log_loss")  # random
    for learner in (
        EnsembleOfChains(base, n_estimators=3, random_state=3),
        RAkEL(base, labelset_size=2, random_state=3),
        OutputCodes(base, random_state=3),
    ):
        wanted = learner.fit(X, Y).predict(X)
        assert_array_equal(learner.set_params(n_jobs=3).fit(X, Y).predict(X), wanted)
    ensemble = EnsembleOfChains(base, n_estimators=2, random_state=3)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = ensemble.fit(X, Y).predict(X)
    assert_array_equal(found, ensemble.fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (ClassifierChain(GaussianNB(), order=[0, 1, 1, 3]), "each label from 0 to 3 once, got"),
        (ClassifierChain(GaussianNB(), order=[0, 1]), "each label from 0 to 3 once, got"),
        (
            ClassifierChain(RidgeClassifier(), inference="beam"),
            "inference='beam' needs an esti",
        ),
        (
            ClassifierChain(RidgeClassifier(), chain_method=["predict_proba"]),
            "chain_method must name a method of the estimator, but RidgeClassifier has no",
        ),
        (
            ClassifierChain(GaussianNB(), inference="exact", cv=3),
            "inference='exact' needs chain_method='predict' and cv=None, got 'predict' and 3",
        ),
        (
            ClassifierChain(GaussianNB(), cv=[([0, 1], [2])]),
            "cv must test each training instance exactly once",
        ),
        (CalibratedLabelRanking(RidgeClassifier(), voting="soft"), "voting='soft' needs an estim"),
        (PrunedSets(GaussianNB(), pruning_threshold=40), "pruning_threshold must leave some"),
        (OutputCodes(GaussianNB(), n_bits=3), "at least the number of labels, 4, got 3"),
        (
            OutputCodes(GaussianNB(), code=np.eye(3)),
            "a row for each of the 4 labels, got shape",
        ),
        (
            OutputCodes(GaussianNB(), code=np.eye(4) * 2),
            "code must hold only 0 and 1, got 2",
        ),
        (
            OutputCodes(GaussianNB(), code=np.eye(4)[:, :2]),
            "in at least one bit, but 2 is in no",
        ),
        (
            LabelPowerset(SVC(decision_function_shape="ovo")),
            "set decision_function_shape='ovr'",
        ),
        (BinaryRelevance(StandardScaler()), "'estimator' parameter of BinaryRelevance must be"),
    ],
)
def test_errors_in_words(learner, message):
    X, Y = positive()
    with pytest.raises(ValueError, match=message):
        learner.fit(X, Y).predict(X)
