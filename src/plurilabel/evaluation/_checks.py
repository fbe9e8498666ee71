"""Checks of multi-label learners, in addition to scikit-learn's estimator checks."""

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
    """Check that an estimator follows the multi-label conventions of this library.

    Use it in addition to :func:`sklearn.utils.estimator_checks.check_estimator`.

    Parameters
    ----------
    estimator : estimator instance
        Cloned for each check.
    expected_failed_checks : mapping of check name to reason, optional
        Checks that the estimator cannot pass. They must fail.

    Raises
    ------
    AssertionError
        If a check fails unexpectedly, or passes although it is expected to fail.

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
                reason = expected[name]
                raise AssertionError(f"{name} passes for {estimator}; expected failure: {reason}")


def check_sparse_labels(estimator: BaseEstimator) -> None:
    """Sparse Y, array or matrix, gives the same scores as dense Y, and CSR predictions."""
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
    """Labels may be bool, int8, int64, float or nested lists."""
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
    """Column l of the scores ranks the rows with label l above the others."""
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
    """A label that is never or always present is never or always predicted."""
    X, Y = _data(estimator)
    Y[:, 0], Y[:, 2] = 0, 1
    fitted = _fitted(estimator, X, Y)
    assert np.isfinite(label_scores(fitted, X)).all(), "scores of constant labels are not finite"
    predicted = fitted.predict(X)
    assert not predicted[:, 0].any(), "a label never present in training was predicted"
    assert predicted[:, 2].all(), "a label always present in training was not predicted"


def check_empty_label_sets(estimator: BaseEstimator) -> None:
    """Rows without labels are allowed; if no row has a label, none is predicted."""
    X, Y = _data(estimator)
    Y[::3] = 0
    fitted = _fitted(estimator, X, Y)
    assert np.isfinite(label_scores(fitted, X)).all()
    assert np.isin(fitted.predict(X), (0, 1)).all()
    try:
        fitted = _fitted(estimator, X, np.zeros_like(Y))
    except ValueError as error:
        assert "label" in str(error), f"the error does not mention labels: {error}"
    else:
        assert not fitted.predict(X).any(), "a label that no instance has was predicted"


def check_one_label(estimator: BaseEstimator) -> None:
    """A matrix with one column is a single label, not a 1-D y."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y[:, :1])
    assert label_scores(fitted, X).shape == (len(X), 1)
    assert fitted.predict(X).shape == (len(X), 1)


def check_row_order(estimator: BaseEstimator) -> None:
    """Scores depend neither on other rows in the batch nor on the training order."""
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
    """The scores do not depend on ``n_jobs``."""
    X, Y = _data(estimator)
    keys = [key for key in estimator.get_params() if key.split("__")[-1] == "n_jobs"]
    if not keys:
        return
    one, two = (clone(estimator).set_params(**dict.fromkeys(keys, jobs)) for jobs in (1, 2))
    with warnings.catch_warnings():
        # scikit-learn warns where n_jobs is deprecated
        warnings.simplefilter("ignore", FutureWarning)
        first, second = (label_scores(_fitted(learner, X, Y), X) for learner in (one, two))
    assert_array_equal(first, second)


def check_clone_and_pickle(estimator: BaseEstimator) -> None:
    """A clone learns the same, and a pickled learner predicts the same."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y)
    for other in (_fitted(fitted, X, Y), pickle.loads(pickle.dumps(fitted))):
        assert_array_equal(label_scores(other, X), label_scores(fitted, X))
        assert_array_equal(other.predict(X), fitted.predict(X))
        assert list(other.label_names_) == list(fitted.label_names_)


def check_inputs_unchanged(estimator: BaseEstimator) -> None:
    """X and Y are not modified, dense or sparse, and may be read-only."""
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
    """Errors for values other than 0 and 1, NaN, and a wrong number of rows name the problem."""
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
    """NaN and None mean unknown; learners that need all labels recommend a wrapper."""
    X, Y = _data(estimator)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.2
    nan, none = np.where(hidden, np.nan, Y), Y.astype(object)
    none[hidden] = None
    if not getattr(estimator, "accepts_unknown_labels", False):
        if hasattr(estimator, "accepts_unknown_labels"):
            message = _value_error(clone(estimator), X, nan)
            assert "ImputedLabels" in message, f"the error lacks a recommendation: {message}"
        return
    fitted, again = _fitted(estimator, X, nan), _fitted(estimator, X, none)
    scores = label_scores(fitted, X)
    assert_array_equal(label_scores(again, X), scores)
    assert np.isfinite(scores).all(), "scores are not finite"
    right = (fitted.predict(X) == Y).mean()
    assert right > 0.7, f"only {right:.0%} are correct if a fifth of the labels is missing"


def check_probability_range(estimator: BaseEstimator) -> None:
    """Probabilities are exactly between 0 and 1, also for extreme inputs."""
    X, Y = _data(estimator)
    if not hasattr(fitted := _fitted(estimator, X, Y), "predict_proba"):
        return
    proba = np.concatenate([fitted.predict_proba(X), fitted.predict_proba(20 * X)])
    assert proba.min() >= 0, f"predict_proba has the negative value {proba.min():g}"
    assert proba.max() <= 1, f"predict_proba exceeds 1 by {proba.max() - 1:g}"


def check_failed_fit(estimator: BaseEstimator) -> None:
    """A failing ``fit`` leaves the learner as it was, fitted or not."""
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
        assert isinstance(error, NotFittedError), f"predict after a failing fit raises {error!r}"
    else:
        raise AssertionError("predict works after a failing first fit")
    assert fitted.n_features_in_ == X.shape[1], "a failing fit changed n_features_in_"
    assert list(fitted.label_names_) == names, "a failing fit changed label_names_"
    assert_array_equal(label_scores(fitted, X), scores)


def check_cut(estimator: BaseEstimator) -> None:
    """Labels with a score strictly above 0.5, or 0 for decision values, are predicted."""
    X, Y = _data(estimator)
    fitted = _fitted(estimator, X, Y)
    cut = 0.5 if hasattr(fitted, "predict_proba") else 0.0
    assert_array_equal(fitted.predict(X), label_scores(fitted, X) > cut)


MULTILABEL_CHECKS: tuple[Check, ...] = tuple(
    value
    for name, value in list(globals().items())
    if name.startswith("check_") and value is not check_multilabel
)
"""The checks, in the order in which :func:`check_multilabel` runs them."""


def _data(estimator: BaseEstimator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """60 rows with four learnable labels of different frequencies."""
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
    raise AssertionError("no ValueError was raised for an invalid Y")
