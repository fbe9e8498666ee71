"""Every learner of the roster, fitted, and whether two of them answer alike."""

import importlib.util

import numpy as np
from scipy import sparse

from plurilabel._core.roster import learners
from plurilabel.learners import make_learner, set_seeds

FORMS = [
    text
    for entry in learners().values()
    if not entry.unsaved and (not entry.needs or importlib.util.find_spec(entry.needs))
    for text in entry.checked
]


def answers(estimator, X):
    found = {"predict": estimator.predict(X)}
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            found[method] = getattr(estimator, method)(X)
    return found


def assert_same(before, after, X):
    before, after = answers(before, X), answers(after, X)
    assert list(before) == list(after)
    for method, expected in before.items():
        found = after[method]
        assert sparse.issparse(found) == sparse.issparse(expected)
        if sparse.issparse(found):
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)


def fitted(text, X, Y):
    learner = make_learner(text)
    set_seeds(learner, 0)
    return learner.fit(X, Y)
