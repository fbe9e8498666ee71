"""Which features texts get: words, parts of words, static vectors, as the first folds decide."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion

from plurilabel._core.compat import safe_indexing
from plurilabel.io import TableEncoder, word_features
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.metrics import Measure, label_scores
from plurilabel.model_selection.shared import Split
from plurilabel.text import StaticEncoder
from plurilabel.wrappers.automatic._ensemble import Cut, HeldOut
from plurilabel.wrappers.automatic._race import best_form

FEW = 1000  # rows up to which static vectors are tried, and rare words kept
MOST_LETTERS = {"quick": 7e5, "full": 4e6}  # of all texts: with more, parts of words cost much
LETTERS = 2e4  # the same for each second of a time limit
ENOUGH = 500  # rows that decide
WORTH = 0.002  # of the measure: what features must gain over those that cost less
COSTS = (0.3, 1.0)  # values of C

Encoded = dict[bytes, tuple[Any, Any]]  # training and test rows, by the numbers of the first


def options(encoder: TableEncoder, X: Any, portfolio: str, limit: float | None) -> dict[str, Any]:
    """What may turn columns of text into features, by what it is called; the cheapest first."""
    texts = [name for name, kind in (encoder.kinds or {}).items() if kind == "text"]
    is_few = len(X) <= FEW
    given: dict[str, Any] = {"ngrams": 2, "min_count": 1 if is_few else 2, "sublinear": True}
    words, parts = word_features(**given), word_features(**given, subwords=True)
    found = {"words": words}
    letters = sum(len(str(cell)) for name in texts for cell in X[name])
    if letters <= min(MOST_LETTERS[portfolio], np.inf if limit is None else LETTERS * limit):
        found["words and parts of words"] = parts
    if is_few and all(map(find_spec, ("wordllama", "tokenizers", "safetensors"))):
        found |= {
            f"{name}, static vectors": FeatureUnion(
                [("text", features), ("static", StaticEncoder())]
            )
            for name, features in list(found.items())
        }
    return found


def choose_words(
    encoder: TableEncoder, X: Any, Y: Any, splits: Sequence[Split],
    measure: Measure, cut: Cut, portfolio: str, limit: float | None, leave_out: Any = None,
) -> tuple[TableEncoder, Encoded, str]:  # fmt: skip
    """The encoder with the best features of texts, rows that it encoded, and what it is called.

    Features are compared by linear support vectors, in as many folds as have enough rows.
    """
    sizes = np.cumsum([len(test) for _, test in splits])
    some = splits[: int(np.searchsorted(sizes, ENOUGH)) + 1]
    best: tuple[float, TableEncoder, Encoded, str] | None = None
    found = options(encoder, X, portfolio, limit)
    if leave_out is not None:
        found = {name: words for name, words in found.items() if not leave_out(words)}
    for name, words in found.items():
        tried = clone(encoder).set_params(words=words)
        tried.left_out_ = encoder.left_out_
        if len(found) == 1:
            return tried, {}, name
        encoded: Encoded = {}
        for train, test in some:
            fitted = clone(tried)
            A = fitted.fit_transform(safe_indexing(X, train))
            encoded[train.tobytes()] = A, fitted.transform(safe_indexing(X, test))
        value = _value(encoded, Y, some, measure, cut)
        if best is None or value > best[0] + WORTH:
            best = value, tried, encoded, name
    assert best is not None
    return best[1:]


def _value(encoded: Encoded, Y: Any, splits: Sequence[Split], measure: Measure, cut: Cut) -> float:
    """The measure of linear support vectors, with the better C."""
    scores: list[list[Any]] = [[] for _ in COSTS]
    for train, _ in splits:
        A, B = encoded[train.tobytes()]
        learner = OneVsAllLinear(warm_start=True)
        for C, parts in zip(COSTS, scores):
            learner.set_params(C=C).fit(A, Y[train])
            parts.append(np.asarray(label_scores(learner, B, n_labels=Y.shape[1])))
    truth = Y[np.concatenate([test for _, test in splits])]
    return max(
        best_form(HeldOut(np.concatenate(parts), False), truth, measure, cut)[0]
        for parts in scores
    )
