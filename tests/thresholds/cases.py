"""Small random problems and slow, obvious measures, written from the definitions."""

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

COARSE = st.integers(0, 4).map(lambda i: i / 4)


@st.composite
def matrices(draw, elements=COARSE, max_n=6, max_q=5, min_q=1):
    """Scores, with many ties by default."""
    shape = draw(st.integers(1, max_n)), draw(st.integers(min_q, max_q))
    return draw(hnp.arrays(np.float64, shape, elements=elements))


def labels_like(scores):
    return hnp.arrays(np.int8, scores.shape, elements=st.integers(0, 1))


@st.composite
def problems(draw, max_n=8, max_q=5, largest=1.7e308):
    """Scores with many ties, or none, and labels; never-present labels and empty rows occur."""
    kinds = [
        COARSE,
        st.integers(-3, 3).map(float),
        st.floats(-1e3, 1e3, width=32),
        st.floats(-largest, largest),
    ]
    scores = draw(matrices(draw(st.sampled_from(kinds)), max_n, max_q))
    return scores, draw(labels_like(scores))


def every_cut(scores):
    """One cut for each prediction that a constant cut can make."""
    return [-np.inf, *sorted(set(np.ravel(scores).tolist()))]


Counts = namedtuple("Counts", "tp fp fn tn")


def counts(y, predicted):
    pairs = list(zip(np.ravel(y).tolist(), np.ravel(predicted).tolist()))
    return Counts(*(pairs.count(pair) for pair in ((1, True), (0, True), (1, False), (0, False))))


def div(a, b):
    return a / b if b else 0.0


MEASURES = {
    "accuracy": lambda c: div(c.tp + c.tn, sum(c)),
    "balanced_accuracy": lambda c: (div(c.tp, c.tp + c.fn) + div(c.tn, c.tn + c.fp)) / 2,
    "precision": lambda c: div(c.tp, c.tp + c.fp),
    "recall": lambda c: div(c.tp, c.tp + c.fn),
    "f1": lambda c: div(2 * c.tp, 2 * c.tp + c.fp + c.fn),
    "f2": lambda c: div(5 * c.tp, 5 * c.tp + c.fp + 4 * c.fn),
    "f0.5": lambda c: div(1.25 * c.tp, 1.25 * c.tp + c.fp + 0.25 * c.fn),
    "jaccard": lambda c: div(c.tp, c.tp + c.fp + c.fn),
}


def matrix_measure(name, Y, predicted):
    """A measure of a label matrix by its name, as plurilabel.metrics names them."""
    kind, _, base = name.partition("_")
    if kind == "micro":
        return MEASURES[base](counts(Y, predicted))
    if kind == "macro":
        return np.mean([MEASURES[base](counts(y, p)) for y, p in zip(Y.T, predicted.T)])
    if name == "subset_accuracy":
        return np.mean([bool((y == p).all()) for y, p in zip(Y, predicted)])
    base = "jaccard" if name == "accuracy" else name
    defined = [y.any() for y in Y]  # instances without labels are left out
    if not any(defined):
        return np.nan
    values = [MEASURES[base](counts(y, p)) for y, p in zip(Y, predicted)]
    return np.mean([value for value, good in zip(values, defined) if good])
