"""Bad input is refused in words, and strange input answered, by every learner of the roster."""

import datetime as dt
import re
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import get_tags

from plurilabel._core.roster import learners
from plurilabel.metrics import label_scores
from tests.test_metamorphic import unfitted

FORMS = [  # one of each learner, and wrappers that the roster has in other forms
    *(
        next(iter(entry.checked))
        for entry in learners().values()
        if entry.checked and (not entry.needs or find_spec(entry.needs))
    ),
    "HierarchicalClassifier(MLkNN(3), parents={0: 1})",
    "ThresholdClassifier(MLkNN(3), 'scut', cv=2)",
    *(
        f"ResampledClassifier(MLkNN(3), {resampler}())"
        for resampler in ["MLRUS", "LPROS", "LPRUS", "MLSMOTE", "MLeNN", "MLTL", "REMEDIAL"]
    ),
]
AROUND_OTHERS = ("Ridge", "LogisticRegression", "SVC", "BPMLL", "AutoClassifier", "MIMLBoost")
"""What these do with numbers that are too large is up to scikit-learn or torch."""


def problem(n=20, d=3):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(n, d)))
    Y = (X[:, [0, 1, 2, 0]] > np.array([0.5, 0.6, 0.7, 1.0])).astype(np.int64)
    return X, Y


def put(A, value):
    A = A.astype(float)
    A[3, 1] = value
    return A


X, Y = problem()
DAYS = pd.date_range("2021-01-01", periods=len(X))
DATES = {
    "array": np.column_stack([DAYS, DAYS]),
    "objects": np.array([[1.0, day.date()] for day in DAYS], dtype=object),
    "list": [[1.0, dt.datetime(2021, 1, 1)] for _ in DAYS],
    "frame": pd.DataFrame({"x": X[:, 0], "when": DAYS}),
    "zone": pd.DataFrame({"x": X[:, 0], "when": DAYS.tz_localize("UTC")}),
    "period": pd.DataFrame({"x": X[:, 0], "when": DAYS.to_period("D")}),
    "dates": pd.DataFrame({"x": X[:, 0], "when": DAYS.date}),
}
DURATIONS = {
    "array": DAYS.to_numpy()[:, np.newaxis] - DAYS.to_numpy()[0],
    "frame": pd.DataFrame({"when": DAYS - DAYS[0]}),
}
REFUSED = {
    "NaN": (put(X, np.nan), Y, "NaN"),
    "infinity": (put(X, np.inf), Y, "infinity|finite"),
    "1-D X": (X[:, 0], Y, "2D array|2-D|matrix"),
    "3-D X": (X[:, :, np.newaxis], Y, "dim"),
    "no rows": (X[:0], Y[:0], "0 sample|at least one row|no rows|without rows"),
    "no features": (X[:, :0], Y, "0 feature"),
    "no X": (None, Y, "None|2D array"),
    "no y": (X, None, "y"),
    "no labels": (X, Y[:, :0], "at least one label|label"),
    "other lengths": (X, Y[:-1], "inconsistent numbers of samples|20.*19"),
    "words": (np.full(X.shape, "red"), Y, "convert string to float|has text"),
    "some words": (np.where(X > 1, "red", X.astype(object)), Y, "convert string|has text"),
    "halves": (X, Y / 2, "only 0 and 1"),
    "twos": (X, 2 * Y, "only 0 and 1"),
    "labels in words": (X, Y.astype(str), "only 0 and 1"),
    "3-D y": (X, Y[:, :, np.newaxis], "dim"),
    "dates": (DATES["frame"], Y, "got dates in column 'when'"),
    "durations": (DURATIONS["array"], Y, "got durations in column 0"),
}
ALLOWED = {
    "AutoClassifier": {"NaN", "dates"},  # which it encodes
    "MIML": {"3-D X"},  # bags of equal size
    "ResampledClassifier(MLkNN(3), LPRUS": {"NaN", "infinity"},  # it leaves out this row
}


@pytest.mark.parametrize("text", FORMS)
def test_refused_in_words(text):
    allowed = next((ALLOWED[key] for key in ALLOWED if text.startswith(key)), set())
    if get_tags(unfitted(text)).input_tags.allow_nan:
        allowed = allowed | {"NaN"}
    if getattr(unfitted(text), "accepts_soft_labels", False):
        allowed = allowed | {"halves"}
    for name, (A, B, message) in REFUSED.items():
        if name in allowed:
            continue
        with pytest.raises((ValueError, TypeError)) as caught:
            unfitted(text).fit(A, B)
        assert re.search(message, str(caught.value)), (name, caught.value)


@pytest.mark.parametrize("A", DATES.values(), ids=DATES)
def test_dates(A):
    learner = unfitted("MLkNN(n_neighbors=3)")
    with pytest.raises(ValueError, match="X must hold numbers, got dates in column"):
        learner.fit(A, Y)
    with pytest.raises(ValueError, match="X must hold numbers, got dates in column"):
        learner.fit(X[:, :2], Y).predict(A)


@pytest.mark.parametrize("A", DURATIONS.values(), ids=DURATIONS)
def test_durations(A):
    with pytest.raises(ValueError, match=r"got durations in column .*numpy.timedelta64\(1, 'D'\)"):
        unfitted("MLkNN(n_neighbors=3)").fit(A, Y)


STRANGE = {
    "one label": (X, Y[:, :1]),
    "no instance has a label": (X, np.zeros_like(Y)),
    "all instances have all labels": (X, np.ones_like(Y)),
    "a label that never occurs": (X, np.column_stack([Y[:, :2], np.zeros(len(Y), dtype=int)])),
    "features that are constant": (np.ones_like(X), Y),
    "no entries": (sparse.csr_array(X.shape), Y),
    "a row again and again": (np.tile(X[:2], (10, 1)), np.tile(Y[:2], (10, 1))),
    "whole numbers": (np.round(8 * X).astype(np.int8), Y),
    "Booleans": (X > 0.5, Y.astype(bool)),
    "objects": (X.astype(object), Y.astype(object)),
    "tiny": (X * 1e-300, Y),
    "smallest": (X * 5e-324, Y),
    "huge": (X * 1e300, Y),
    "one huge": (put(X, 1e300), Y),
    "huge and sparse": (sparse.csr_array(X * 1e300), Y),
    "one row": (X[:1], Y[:1]),
    "a row of another layout": (np.asfortranarray(X)[3:4], Y[3:4]),
    "two rows": (X[:2], Y[:2]),
}
RAW = (  # of numpy, or of Python
    "broadcast|out of bounds|zero-size array|subscriptable|unsupported operand|ufunc|NoneType|"
    "not aligned|empty sequence|at least one array to concatenate|object of type|has no attribute|"
    "infs or NaNs|not iterable|unpack"
)


@pytest.mark.parametrize(
    "text", [text for text in FORMS if not any(key in text for key in AROUND_OTHERS)]
)
def test_answered_or_refused_in_words(text):
    """Warnings are errors."""
    for name, (A, B) in STRANGE.items():
        said = None
        try:
            learner = unfitted(text).fit(A, B)
            scores, sets = label_scores(learner, A), learner.predict(A)
        except (ValueError, TypeError) as error:
            said = str(error)
        if said is None:
            assert np.isfinite(scores).all(), name
            assert sets.shape == B.shape, name
        else:
            assert not re.search(RAW, said), (name, said)
            assert len(said.split()) > 4, (name, said)
