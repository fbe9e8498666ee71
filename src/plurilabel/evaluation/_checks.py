"""Checks of multi-label learners that scikit-learn's own suite lacks.

Run them beside :func:`sklearn.utils.estimator_checks.check_estimator`, on learners of this
library or on your own.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from plurilabel.metrics import label_scores

__all__ = ["MULTILABEL_CHECKS", "check_multilabel"]

Check = Callable[[BaseEstimator], None]


def check_multilabel(
    estimator: BaseEstimator, *, expected_failed_checks: Mapping[str, str] | None = None
) -> None:
    """Run every check of this module on an estimator.

    Parameters
    ----------
    estimator : estimator instance
        It is cloned for each check.
    expected_failed_checks : mapping of check name to reason, optional
        Checks that this estimator cannot pass, and why. Such a check must fail.

    Raises
    ------
    AssertionError
        Naming the check that failed, or that was expected to fail and did not.

    Examples
    --------
    >>> from plurilabel import BRkNN
    >>> from plurilabel.evaluation import check_multilabel
    >>> check_multilabel(BRkNN(n_neighbors=3))
    """
    expected = dict(expected_failed_checks or {})
    unknown = expected.keys() - {check.__name__ for check in MULTILABEL_CHECKS}
    if unknown:
        raise ValueError(f"expected_failed_checks names unknown checks: {sorted(unknown)}")
    for check in MULTILABEL_CHECKS:
        name = check.__name__
        try:
            check(estimator)
        except Exception as error:
            if name not in expected:
                raise AssertionError(f"{name} failed for {estimator}: {error}") from error
        else:
            if name in expected:
                but = f"although it is expected to fail: {expected[name]}"
                raise AssertionError(f"{name} passes for {estimator}, {but}")


def check_sparse_labels(estimator: BaseEstimator) -> None:
    """Sparse Y, array or matrix, gives the same scores as dense Y; predictions become CSR."""
    X, Y = _data(estimator)
    dense = _fitted(estimator, X, Y)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        fitted = _fitted(estimator, X, kind(Y))
        assert_allclose(label_scores(fitted, X), label_scores(dense, X), rtol=1e-10, atol=1e-12)
        predicted = fitted.predict(X)
        assert sparse.issparse(predicted) and predicted.format == "csr", (
            f"predict must return CSR for sparse Y, got {type(predicted)}"
        )
        assert_array_equal(predicted.toarray(), dense.predict(X))


def check_label_types(estimator: BaseEstimator) -> None:
    """Labels as bool, int8, int64, float or nested lists are the same labels."""
    X, Y = _data(estimator)
    wanted = label_scores(_fitted(estimator, X, Y), X)
    for form in (Y.astype(bool), Y.astype(np.int8), Y.astype(float), Y.tolist()):
        assert_array_equal(label_scores(_fitted(estimator, X, form), X), wanted)


def check_label_names(estimator: BaseEstimator) -> None:
    """The columns of a data frame become ``label_names_``, in their order."""
    import pandas as pd

    X, Y = _data(estimator)
    names, frame = [f"tag {j}" for j in range(Y.shape[1])][::-1], pd.DataFrame(X).add_prefix("x")
    fitted = _fitted(estimator, frame, pd.DataFrame(Y, columns=names))
    assert list(fitted.label_names_) == names, f"label_names_ is {list(fitted.label_names_)}"
    assert list(fitted.feature_names_in_) == [f"x{j}" for j in range(X.shape[1])]
    plain = _fitted(estimator, X, Y)
    assert_array_equal(label_scores(fitted, frame), label_scores(plain, X))
    assert len(plain.label_names_) == Y.shape[1]


def check_column_order(estimator: BaseEstimator) -> None:
    """Column l of the scores is about label l: it ranks the rows with l above the others."""
    if get_tags(estimator).classifier_tags.poor_score:
        return
    X, Y = _data(estimator)
    scores = label_scores(_fitted(estimator, X, Y), X)
    assert scores.shape == Y.shape, f"scores have shape {scores.shape}, Y has {Y.shape}"
    centred = Y - Y.mean(axis=0)
    agreement = centred.T @ (scores - scores.mean(axis=0))  # (label, column of the scores)
    agreement /= np.linalg.norm(centred, axis=0)[:, None]
    assert_array_equal(agreement.argmax(axis=0), np.arange(Y.shape[1]))


def check_constant_labels(estimator: BaseEstimator) -> None:
    """A label never present is never predicted, one always present always is."""
    X, Y = _data(estimator)
    Y[:, 0], Y[:, 2] = 0, 1
    fitted = _fitted(estimator, X, Y)
    assert np.isfinite(label_scores(fitted, X)).all(), "scores of constant labels are not finite"
    predicted = fitted.predict(X)
    assert not predicted[:, 0].any(), "a label never present in training was predicted"
    assert predicted[:, 2].all(), "a label always present in training was not predicted"


def check_empty_label_sets(estimator: BaseEstimator) -> None:
    """Rows without labels are learned like others; if no row has a label, none is predicted."""
    X, Y = _data(estimator)
    Y[::3] = 0
    fitted = _fitted(estimator, X, Y)
    assert np.isfinite(label_scores(fitted, X)).all()
    assert np.isin(fitted.predict(X), (0, 1)).all()
    try:
        fitted = _fitted(estimator, X, np.zeros_like(Y))
    except ValueError as error:
        assert "label" in str(error), f"the error for all-empty Y names no label: {error}"
    else:
        assert not fitted.predict(X).any(), "labels were predicted that no instance has"


def check_one_label(estimator: BaseEstimator) -> None:
    """A matrix with one column is one label, not a 1-D y."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y[:, :1])
    assert label_scores(fitted, X).shape == (len(X), 1)
    assert fitted.predict(X).shape == (len(X), 1)


def check_row_order(estimator: BaseEstimator) -> None:
    """Scores of a row depend neither on the rows predicted with it nor on the training order."""
    X, Y = _data(estimator)
    order = np.random.default_rng(7).permutation(len(X))
    fitted = _fitted(estimator, X, Y)
    scores, predicted = label_scores(fitted, X), fitted.predict(X)
    assert_allclose(label_scores(fitted, X[order]), scores[order], rtol=1e-7, atol=1e-9)
    assert_array_equal(fitted.predict(X[order]), predicted[order])
    assert_allclose(label_scores(fitted, X[:5]), scores[:5], rtol=1e-7, atol=1e-9)
    assert_array_equal(fitted.predict(X[:1]), predicted[:1])
    if not any(key.endswith("random_state") for key in estimator.get_params()):
        shuffled = _fitted(estimator, X[order], Y[order])
        assert_allclose(label_scores(shuffled, X), scores, rtol=1e-4, atol=1e-4)


def check_n_jobs(estimator: BaseEstimator) -> None:
    """Every ``n_jobs`` gives the same scores."""
    X, Y = _data(estimator)
    keys = [key for key in estimator.get_params() if key.split("__")[-1] == "n_jobs"]
    if not keys:
        return
    one, two = (clone(estimator).set_params(**dict.fromkeys(keys, jobs)) for jobs in (1, 2))
    with warnings.catch_warnings():
        # some of scikit-learn's estimators warn that their n_jobs has no effect any more
        warnings.simplefilter("ignore", FutureWarning)
        first, second = (label_scores(_fitted(learner, X, Y), X) for learner in (one, two))
    assert_array_equal(first, second)


def check_clone_and_pickle(estimator: BaseEstimator) -> None:
    """A clone learns the same; a pickled learner predicts the same and keeps its names."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y)
    for other in (_fitted(fitted, X, Y), pickle.loads(pickle.dumps(fitted))):
        assert_array_equal(label_scores(other, X), label_scores(fitted, X))
        assert_array_equal(other.predict(X), fitted.predict(X))
        assert list(other.label_names_) == list(fitted.label_names_)


def check_inputs_unchanged(estimator: BaseEstimator) -> None:
    """Neither X nor Y is changed, dense or sparse; read-only arrays are fine."""
    X, Y = _data(estimator)
    forms: list[tuple[Any, Any]] = [(X, Y), (X, sparse.csr_array(Y))]
    if get_tags(estimator).input_tags.sparse:
        forms.append((sparse.csr_array(np.where(X > 0.5, X, 0)), sparse.csr_array(Y)))
    for x, y in forms:
        before = copy.deepcopy((x, y))
        for array in (*_arrays(x), *_arrays(y)):
            array.setflags(write=False)
        fitted = _fitted(estimator, x, y)
        label_scores(fitted, x)
        fitted.predict(x)
        for was, now in zip(before, (x, y)):
            for a, b in zip(_arrays(was), _arrays(now)):
                assert_array_equal(a, b)


def check_bad_labels(estimator: BaseEstimator) -> None:
    """Values other than 0 and 1, NaN, and a wrong number of rows raise errors that name them."""
    X, Y = _data(estimator)
    for wrong, word in ((2.0, "2"), (np.nan, "NaN"), (-1.0, "-1")):
        bad = Y.astype(float)
        bad[3, 1] = wrong
        known = word != "NaN" or not getattr(estimator, "accepts_unknown_labels", False)
        for form in (bad, sparse.csr_array(bad))[0 if known else 1 :]:
            message = _value_error(clone(estimator), X, form)
            assert word in message, f"the error does not name the value {word}: {message}"
    assert "inconsistent" in _value_error(clone(estimator), X, Y[:-1])


def check_missing_labels(estimator: BaseEstimator) -> None:
    """NaN and None mean unknown. Errors of learners that need all labels name the wrapper."""
    X, Y = _data(estimator)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.2
    nan, none = np.where(hidden, np.nan, Y), Y.astype(object)
    none[hidden] = None
    if not getattr(estimator, "accepts_unknown_labels", False):
        if hasattr(estimator, "accepts_unknown_labels"):
            message = _value_error(clone(estimator), X, nan)
            assert "ImputedLabels" in message, f"the error does not name the wrapper: {message}"
        return
    fitted, again = _fitted(estimator, X, nan), _fitted(estimator, X, none)
    scores = label_scores(fitted, X)
    assert_array_equal(label_scores(again, X), scores)
    assert np.isfinite(scores).all(), "there are scores that are not finite"
    right = (fitted.predict(X) == Y).mean()
    assert right > 0.7, f"with a fifth of the labels missing, only {right:.0%} are predicted"


def check_probability_range(estimator: BaseEstimator) -> None:
    """Probabilities are between 0 and 1, exactly, however sure the learner is."""
    X, Y = _data(estimator)
    if not hasattr(fitted := _fitted(estimator, X, Y), "predict_proba"):
        return
    proba = np.concatenate([fitted.predict_proba(X), fitted.predict_proba(20 * X)])
    assert proba.min() >= 0, f"predict_proba has the negative value {proba.min():g}"
    assert proba.max() <= 1, f"predict_proba exceeds 1 by {proba.max() - 1:g}"


def check_failed_fit(estimator: BaseEstimator) -> None:
    """A ``fit`` that fails changes nothing: not fitted before, or fitted, the learner stays so."""
    X, Y = _data(estimator)
    wider, bad = np.hstack([X, X]), np.hstack([Y, Y])
    bad[3, 1] = 2
    fresh, fitted = clone(estimator), _fitted(estimator, X, Y)
    scores, names = label_scores(fitted, X), list(fitted.label_names_)
    for learner in (fresh, fitted):
        _value_error(learner, wider, bad)
    try:
        fresh.predict(X)
    except Exception as error:
        assert isinstance(error, NotFittedError), f"predict after a failed fit raises {error!r}"
    else:
        raise AssertionError("predict works after a failed first fit")
    assert fitted.n_features_in_ == X.shape[1], "a failed fit has changed n_features_in_"
    assert list(fitted.label_names_) == names, "a failed fit has changed label_names_"
    assert_array_equal(label_scores(fitted, X), scores)


def check_cut(estimator: BaseEstimator) -> None:
    """Labels are predicted if their score is strictly above the cut: 0.5, or 0 for decisions."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y)
    cut = 0.5 if hasattr(fitted, "predict_proba") else 0.0
    assert_array_equal(fitted.predict(X), label_scores(fitted, X) > cut)


MULTILABEL_CHECKS: tuple[Check, ...] = tuple(
    value
    for name, value in list(globals().items())
    if name.startswith("check_") and value is not check_multilabel
)
"""The checks in the order in which :func:`check_multilabel` runs them: that of this file."""


def _data(estimator: BaseEstimator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """60 rows in general position; four learnable labels of different frequency."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X + 0.1 * rng.normal(size=X.shape) > np.array([0.0, 0.5, -0.5, 0.2])).astype(np.int64)
    return np.exp(X) if get_tags(estimator).input_tags.positive_only else X, Y


def _fitted(estimator: BaseEstimator, X: Any, Y: Any) -> Any:
    estimator = clone(estimator)
    seeds = [key for key in estimator.get_params() if key.split("__")[-1] == "random_state"]
    estimator.set_params(**dict.fromkeys(seeds, 0))
    return estimator.fit(X, Y)


def _arrays(matrix: Any) -> list[NDArray[Any]]:
    is_sparse = sparse.issparse(matrix)
    return [matrix.data, matrix.indices, matrix.indptr] if is_sparse else [matrix]


def _value_error(estimator: Any, X: Any, Y: Any) -> str:
    try:
        estimator.fit(X, Y)
    except ValueError as error:
        return str(error)
    raise AssertionError("no ValueError was raised for a bad Y")
