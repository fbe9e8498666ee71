"""Learners that fail, and limits of time, size and speed."""

import pickle
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from plurilabel import AutoClassifier, BinaryRelevance, MLkNN, metrics
from plurilabel.datasets import make_multilabel
from plurilabel.wrappers.automatic import _auto, _ensemble, _pool, _selection, _trials
from plurilabel.wrappers.automatic._portfolio import Candidate

DATA = make_multilabel(60, 5, 4, noise=0.1, random_state=0)
X, Y = DATA.X, np.asarray(DATA.Y)


class Ticker:
    """A clock that stands still, unless a learner or a measure takes its time."""

    now = 0.0

    def __call__(self):
        return self.now


TICKER = Ticker()


@pytest.fixture
def ticker(monkeypatch):
    TICKER.now = 0.0
    for module in (_trials, _pool, _selection, _ensemble):
        monkeypatch.setattr(module, "perf_counter", TICKER)
    return TICKER


class Scripted(ClassifierMixin, BaseEstimator):
    """Neighbours that take so many seconds for 60 rows, and fail where they are told to."""

    def __init__(self, k=3, seconds=0.0, fails=None, rows=range(1000), calls="fit"):
        self.k = k
        self.seconds = seconds
        self.fails = fails
        self.rows = rows
        self.calls = calls

    def fit(self, X, y):
        TICKER.now += self.seconds * len(X) / 60
        self.n_ = len(X)
        self._maybe("fit")
        self.inner_ = MLkNN(self.k).fit(X, y)
        return self

    def predict_proba(self, X):
        self._maybe("predict_proba")
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return self.inner_.predict(X)

    def _maybe(self, call):
        if self.fails is not None and call == self.calls and self.n_ in self.rows:
            raise self.fails


class OwnError(Exception):
    """An error that nobody else knows."""


ERRORS = [
    RuntimeError("no\nluck"), TypeError("odd"), KeyError("column"), AttributeError("lost"),
    IndexError("beyond"), NotImplementedError(), MemoryError("16 GB"), OSError("disk"),
    AssertionError("never"), OwnError("own"), np.linalg.LinAlgError("singular"),
]  # fmt: skip
GOOD = ("good", Scripted(4))


def auto(*portfolio, **options):
    return AutoClassifier(portfolio=list(portfolio), cv=3, random_state=0, **options)


# failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "where", [{"rows": range(60)}, {"calls": "predict_proba"}], ids=["fold", "scores"]
)
def test_a_learner_that_fails_is_left_out(error, where):
    model = auto(("bad", Scripted(3, fails=error, **where)), GOOD).fit(X, Y)
    why = model.report_["left_out"]["bad"]
    assert why.startswith(f"it failed: {type(error).__name__}")
    assert " ".join(str(error).split()) in why and "\n" not in why
    assert f"Left out: bad, {why}" in model.summary()
    alone = auto(GOOD).fit(X, Y)
    assert model.names_ == ["good"] and model.estimate_ == alone.estimate_
    assert_allclose(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("error", ERRORS[:3], ids=lambda error: type(error).__name__)
def test_one_that_fails_in_its_last_fit_is_dropped_and_the_others_chosen_anew(error):
    good, more = GOOD, ("more", Scripted(12))
    whole = auto(("bad", Scripted(3)), good, more).fit(X, Y)
    assert "bad" in whole.names_  # it has a weight, unless it fails
    model = auto(("bad", Scripted(3, fails=error, rows=(60,))), good, more).fit(X, Y)
    without = auto(good, more).fit(X, Y)
    assert model.names_ == without.names_ and model.estimate_ == without.estimate_
    assert_allclose(model.weights_, without.weights_)
    assert_allclose(model.predict_proba(X), without.predict_proba(X))
    assert model.report_["left_out"]["bad"].startswith(f"it failed: {type(error).__name__}")
    assert [one["name"] for one in model.report_["tried"]] == ["good", "more"]
    assert_allclose(sum(one["weight"] for one in model.report_["tried"]), 1)


@pytest.mark.parametrize("rows", [range(60), (60,), (12,)], ids=["folds", "last fit", "few rows"])
def test_if_all_fail_the_error_says_why_each_does(rows):
    bad = [(f"bad{i}", Scripted(i + 3, fails=error, rows=rows)) for i, error in enumerate(ERRORS)]
    data = (X[:12], Y[:12]) if rows == (12,) else (X, Y)
    with pytest.raises(ValueError, match="none of the learners can take the data") as found:
        auto(*bad).fit(*data)
    for i, error in enumerate(ERRORS):
        assert f"bad{i}: it failed: {type(error).__name__}" in str(found.value)
    assert isinstance(found.value.__cause__, RuntimeError)  # the first, with its traceback


def test_with_few_rows_the_first_that_can_take_them_is_used():
    bad = ("bad", Scripted(3, fails=KeyError("x")))
    model = auto(bad, GOOD).fit(X[:12], Y[:12])
    assert model.names_ == ["good"]
    assert model.report_["left_out"] == {"bad": "it failed: KeyError: 'x'"}
    assert model.summary().endswith("\nLeft out: bad, it failed: KeyError: 'x'")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_an_interruption_goes_through(error):
    with pytest.raises(type(error)):
        auto(("stopped", Scripted(3, fails=error)), GOOD).fit(X, Y)


def test_refit_drops_what_fails_and_keeps_the_others(monkeypatch):
    monkeypatch.setattr(_ensemble, "WORTH", -1.0)  # whatever a learner adds, it stays
    bad = ("bad", Scripted(9, fails=TypeError("odd"), rows=(55,)))
    model = auto(bad, GOOD, measure="ranking_loss").fit(X, Y)
    assert set(model.names_) == {"bad", "good"}
    calibrator = model.calibrators_[model.names_.index("good")]
    weights = model.weights_[model.names_.index("good")]
    model.refit(X[:55], Y[:55])
    assert model.names_ == ["good"] and model.calibrators_ == [calibrator]
    assert_allclose(model.weights_, [weights / weights.sum()])
    assert model.report_["left_out"] == {"bad": "it failed: TypeError: odd"}
    assert [one["weight"] for one in model.report_["tried"]] == [1.0]
    scores = metrics.label_scores(Scripted(4).fit(X[:55], Y[:55]), X)
    expected = weights[0] * scores + weights[1] * calibrator.transform(scores)
    expected += weights[2] * np.where(Scripted(4).fit(X[:55], Y[:55]).predict(X), 0.95, 0.05)
    assert_allclose(model.predict_proba(X), expected / weights.sum())


def test_a_refit_in_which_all_fail_leaves_the_model_as_it_was():
    model = auto(("bad", Scripted(3, fails=TypeError("odd"), rows=(55,)))).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="none of the learners can take the data: bad: .*odd"):
        model.refit(X[:55, :4], Y[:55])
    assert_allclose(model.predict_proba(X), before)


# time ----------------------------------------------------------------------------------------


def guessed(monkeypatch, **guesses):
    """Learners with the seconds that are guessed, and those that they take: (guess, truth)."""
    made = [
        Candidate(name, Scripted(*k or [next(few)], seconds=truth), guess)
        for few in [count(3)]
        for name, (guess, truth, *k) in guesses.items()
    ]
    monkeypatch.setattr(_auto, "candidates", lambda *_: made)


def test_what_takes_too_long_is_left_out_and_the_limit_kept(ticker, monkeypatch):
    # a fold has 40 of 60 rows: 4 folds of "long" would take 80 seconds
    guessed(monkeypatch, first=(1, 1.5), second=(1, 1.5), long=(20, 30))
    told = []
    model = AutoClassifier(
        cv=3, time_limit=20, random_state=0, progress=lambda *a: told.append(a[:3])
    ).fit(X, Y)
    assert model.report_["left_out"] == {"long": "no time left"}
    assert "\nNo time left for: long\n" in model.summary()
    assert told == [(0, 3, "first"), (1, 3, "second")]
    last = 1.5 * len(model.names_)
    assert ticker.now == pytest.approx(2 * 3 * 1 + last)  # folds and last fits
    assert model.seconds_["fits"] == pytest.approx(last)


def test_time_that_guesses_leave_is_used(ticker, monkeypatch):
    # guesses are corrected to the double: the last three would take 3 * 24 seconds and more each
    costs = {"a": (1, 3), "b": (1, 3), "c": (1, 3), "d": (12, 6), "e": (12, 6), "f": (12, 60)}
    guessed(monkeypatch, **costs)
    model = AutoClassifier(cv=3, time_limit=100, random_state=0).fit(X, Y)
    tried = {one["name"] for one in model.report_["tried"]}
    assert tried >= {"a", "b", "c", "d", "e"}
    assert model.report_["left_out"].get("f") == "no time left"
    assert ticker.now <= 100


def test_only_as_many_last_fits_are_reserved_as_there_may_be(ticker, monkeypatch):
    # each takes 3 * 4 seconds, and the one that is chosen 6.5 in the end
    guessed(monkeypatch, **{name: (4, 6) for name in "abcdef"})
    model = AutoClassifier(cv=3, time_limit=75, max_models=1, random_state=0).fit(X, Y)
    assert len(model.report_["tried"]) == 5 and ticker.now <= 75


def test_learners_without_a_weight_need_no_time_for_a_last_fit(ticker, monkeypatch):
    # the six take 36 seconds, and 19.6 in the end if all have a weight; the last takes 18.5
    useless = {name: (2, 3, 30 + k) for k, name in enumerate("abcd")}
    guessed(monkeypatch, **useless, e=(2, 3), f=(2, 3), last=(4, 6, 33))
    model = AutoClassifier(cv=3, time_limit=75, random_state=0).fit(X, Y)
    assert len(model.report_["tried"]) == 7 and ticker.now <= 75


def test_a_learner_that_was_begun_goes_on_where_it_ended(ticker, monkeypatch):
    # after the first fold of "b" its last fit would come too late, if "a" had to be fitted again
    guessed(monkeypatch, a=(6, 6), b=(1, 9), c=(30, 1))
    fits = []
    monkeypatch.setattr(
        _pool, "_of_fold",
        lambda one, *rest, of=_pool._of_fold: fits.append(one.name) or of(one, *rest),
    )  # fmt: skip
    AutoClassifier(cv=3, time_limit=46, random_state=0).fit(X, Y)
    assert fits.count("b") <= 3


def test_where_the_last_fits_come_too_late_the_largest_weights_are_kept(ticker):
    # fits on all rows take much longer than those of folds
    class Late(Scripted):
        def fit(self, X, y):
            TICKER.now += 20.0 * (len(X) == 60)
            return super().fit(X, y)

    members = [(f"k{k}", Late(k, seconds=3)) for k in (3, 5, 9)]
    model = auto(*members, time_limit=36).fit(X, Y)
    assert len(model.names_) == 1 and ticker.now < 60
    late = [why for why in model.report_["left_out"].values() if "last fit" in why]
    assert late == ["no time left for its last fit"] * len(late) and late
    assert_allclose(model.weights_.sum(), 1)


def test_the_selection_is_in_the_limit(ticker, monkeypatch):
    # each look at the measure takes a second for all 60 rows: a choice alone would take minutes
    def slow(measure, cut, Y, of=_ensemble.value_function):
        value = of(measure, cut, Y)

        def look(scores):
            ticker.now += len(scores) / 60
            return value(scores)

        return look

    monkeypatch.setattr(_ensemble, "value_function", slow)
    members = [(f"k{k}", Scripted(k, seconds=0.1)) for k in (3, 5, 7, 9, 11)]
    unlimited = auto(*members).fit(X, Y)
    assert ticker.now > 200
    ticker.now = 0.0
    model = auto(*members, time_limit=60).fit(X, Y)
    assert ticker.now <= 75  # a step that has begun is finished
    assert len(model.names_) > 1
    assert model.report_["estimate_folds"] < unlimited.report_["estimate_folds"] == 3


def test_an_estimate_by_some_of_the_folds_says_so(ticker, monkeypatch):
    def slow(*args, of=_ensemble.choose, **options):
        ticker.now += 10
        return of(*args, **options)

    monkeypatch.setattr(_ensemble, "choose", slow)
    limits = {1000: 3, 25: 2, 15: 1}
    for limit, folds in limits.items():
        ticker.now = 0.0
        model = auto(GOOD, time_limit=limit).fit(X, Y)
        assert model.report_["estimate_folds"] == folds and np.isfinite(model.estimate_)
        words = {3: "measured on each fold,", 2: "measured on 2 of the 3 folds,",
                 1: "measured on 1 of the 3 folds,"}[folds]  # fmt: skip
        assert words in model.summary()


def test_without_time_nothing_else_is_begun(ticker):
    members = [(f"k{k}", Scripted(k, seconds=30)) for k in (3, 5, 7, 9)]
    model = auto(*members, time_limit=10).fit(X, Y)
    assert model.names_ == ["k3"] and np.isnan(model.estimate_)
    assert ticker.now == pytest.approx(20 + 30)  # a fold, and the last fit
    assert model.summary() == "Learner: k3, since time was up before any was tried."


def test_without_a_limit_the_clock_does_not_matter(ticker):
    members = [(f"k{k}", Scripted(k, seconds=1000)) for k in (3, 5)]
    slow = auto(*members).fit(X, Y)
    quick = auto(*((name, one.set_params(seconds=0)) for name, one in members)).fit(X, Y)
    assert slow.estimate_ == quick.estimate_
    assert_allclose(slow.predict_proba(X), quick.predict_proba(X))


def test_huge_values_and_a_single_text_are_named():
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y = (X[:, :2] > 0).astype(int)
    model = AutoClassifier(portfolio=[MLkNN(3)], cv=2)
    for huge in (X * 1e300, sparse.csr_array(X * 1e300)):
        with pytest.raises(ValueError, match=r"X must hold values up to 1e\+150, got .*e\+300"):
            model.fit(huge, Y)
    with pytest.raises(ValueError, match="X must be a sequence of texts, got a single text"):
        model.fit(["red day", "blue night", "a green sea"] * 20, Y).predict("red")


def test_few_members_by_size_or_speed():
    members = [
        ("large", ExtraTreesClassifier(80, random_state=0)),
        ("small", BinaryRelevance(LogisticRegression())),
        ("other", BinaryRelevance(LogisticRegression(C=0.01))),
    ]
    free = AutoClassifier("macro_auc", portfolio=members, cv=3, random_state=0).fit(X, Y)
    assert "large" in free.names_
    sizes = [len(pickle.dumps(one)) for one in free.estimators_]
    limited = AutoClassifier(
        "macro_auc", portfolio=members, cv=3, max_bytes=max(sizes) / 2, random_state=0
    ).fit(X, Y)
    assert "large" not in limited.names_
    assert sum(len(pickle.dumps(one)) for one in limited.estimators_) < max(sizes) / 2
    assert "more than max_bytes" in limited.report_["left_out"]["large"]
    assert "Size and speed: " in limited.summary()
    with pytest.raises(ValueError, match="small: .* s for a row, more than max_latency"):
        AutoClassifier(portfolio=members, cv=3, max_latency=1e-9).fit(X, Y)
