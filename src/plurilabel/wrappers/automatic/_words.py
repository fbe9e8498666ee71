"""Which features texts get: words, parts of words, static vectors, as the first folds decide."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from plurilabel._core.compat import safe_indexing
from plurilabel.io import TableEncoder
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.metrics import Measure, label_scores
from plurilabel.model_selection.shared import Split
from plurilabel.text import StaticEncoder
from plurilabel.wrappers.automatic._ensemble import Cut, HeldOut
from plurilabel.wrappers.automatic._race import best_form

FEW = 1000  # rows up to which static vectors are tried and rare words kept
MANY_LETTERS = 1e6  # in all texts: with more, parts of words have one length, at half the cost
MOST_LETTERS = 7e6  # with more, parts of words take too long
LETTERS = 5e4  # the same, for each second of a time limit
MOST_PARTS = 100_000  # of words, the most frequent
ENOUGH = 500  # held-out rows that decide
LEARNED = 2000  # training rows of a fold, at most, for the comparison of features
WORTH = 0.002  # of the measure: what a costlier set of features must gain
COSTS = (0.3, 1.0, 3.0)  # values of C; the first two with many rows
TITLES = {"words": "words", "parts": "parts of words", "vectors": "static vectors"}
CHOICES = (  # the cheapest first
    ("words",),
    ("parts",),
    ("words", "parts"),
    ("words", "vectors"),
    ("parts", "vectors"),
    ("words", "parts", "vectors"),
)

Encoded = dict[bytes, tuple[Any, Any]]  # training and test rows, by the numbers of the first


def blocks(encoder: TableEncoder, X: Any, limit: float | None) -> dict[str, Any]:
    """The transformers that may turn columns of text into features, by name."""
    texts = [name for name, kind in (encoder.kinds or {}).items() if kind == "text"]
    few = len(X) <= FEW
    given: dict[str, Any] = {"min_df": 1 if few else 2, "sublinear_tf": True}
    found: dict[str, Any] = {"words": TfidfVectorizer(ngram_range=(1, 2), **given)}
    letters = sum(len(str(cell)) for name in texts for cell in X[name])
    if letters <= min(MOST_LETTERS, np.inf if limit is None else LETTERS * limit):
        given |= {"analyzer": "char_wb", "max_features": MOST_PARTS}
        sizes = (2, 4) if letters <= MANY_LETTERS else (4, 4)
        found["parts"] = TfidfVectorizer(ngram_range=sizes, **given)
    if few and all(map(find_spec, ("wordllama", "tokenizers", "safetensors"))):
        found["vectors"] = StaticEncoder()
    return found


def choose_words(
    encoder: TableEncoder, X: Any, Y: Any, splits: Sequence[Split],
    measure: Measure, cut: Cut, limit: float | None, leave_out: Any = None,
) -> tuple[TableEncoder, Encoded, str]:  # fmt: skip
    """The encoder with the best features of texts, rows that it encoded, and their description.

    Features are compared by linear support vectors, in as many folds as have enough rows. Each
    fold is encoded once, with all features; every choice takes some of the columns.
    """
    found = blocks(encoder, X, limit)
    if leave_out is not None:
        found = {name: part for name, part in found.items() if not leave_out(part)}
    choices = [names for names in CHOICES if set(names) <= set(found)]
    if len(choices) == 1:
        return _with(encoder, found, choices[0]), {}, _told(choices[0])
    sizes = np.cumsum([len(test) for _, test in splits])
    some = splits[: int(np.searchsorted(sizes, ENOUGH)) + 1]
    folds = []  # the encoded rows of each, and the columns of each block
    for train, test in some:
        fitted = _with(encoder, found, tuple(found))
        A = fitted.fit_transform(safe_indexing(X, train))
        folds.append((A, fitted.transform(safe_indexing(X, test)), _columns(fitted)))
    best: tuple[float, Sequence[str], Encoded] | None = None
    for names in choices:
        encoded: Encoded = {}
        for (train, _), (A, B, columns) in zip(some, folds):
            kept = np.flatnonzero(np.isin(columns, ["", *names]))
            encoded[train.tobytes()] = A[:, kept], B[:, kept]
        value = _value(encoded, Y, some, measure, cut)
        if best is None or value > best[0] + WORTH:
            best = value, names, encoded
    assert best is not None
    return _with(encoder, found, best[1]), best[2], _told(best[1])


def _told(names: Sequence[str]) -> str:
    return " and ".join(TITLES[name] for name in names)


def _with(encoder: TableEncoder, found: dict[str, Any], names: Sequence[str]) -> TableEncoder:
    """A copy, not fitted, whose texts become these blocks of features."""
    words = FeatureUnion([(name, found[name]) for name in names])
    only = found["words"] if names == ("words",) else words
    same: TableEncoder = clone(encoder).set_params(words=clone(only))
    same.left_out_ = encoder.left_out_
    return same


def _columns(fitted: TableEncoder) -> NDArray[np.str_]:
    """The block that each column of the encoded rows belongs to; "" if it is not of a text."""
    where = fitted.transformer_.output_indices_
    found = np.full(max(rows.stop for rows in where.values()), "", dtype="U7")
    for name, part, _ in fitted.transformer_.transformers_:
        if isinstance(part, FeatureUnion):
            sizes = [
                len(block.vocabulary_) if hasattr(block, "vocabulary_") else block.n_features_out_
                for _, block in part.transformer_list
            ]
            found[where[name]] = np.repeat([block for block, _ in part.transformer_list], sizes)
    return found


def _value(encoded: Encoded, Y: Any, splits: Sequence[Split], measure: Measure, cut: Cut) -> float:
    """The measure of linear support vectors, with the best C."""
    costs = COSTS if len(Y) <= FEW else COSTS[:2]
    scores: list[list[Any]] = [[] for _ in costs]
    for train, _ in splits:
        A, B = encoded[train.tobytes()]
        rows = np.arange(0, len(train), -(-len(train) // LEARNED))
        learner = OneVsAllLinear(warm_start=True)
        for C, parts in zip(costs, scores):
            learner.set_params(C=C).fit(A[rows], Y[train[rows]])
            parts.append(np.asarray(label_scores(learner, B, n_labels=Y.shape[1])))
    truth = Y[np.concatenate([test for _, test in splits])]
    return max(
        best_form(HeldOut(np.concatenate(parts), False), truth, measure, cut)[0]
        for parts in scores
    )
