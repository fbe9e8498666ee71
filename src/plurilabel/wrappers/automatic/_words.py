"""Which features texts get: words, parts of words, static vectors, as the first folds decide."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import normalize

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
LEARNED = 8e7  # stored values times labels, at most, that features are compared with
WORTH = 0.002  # of the measure: what a costlier set of features must gain
COSTS = (0.3, 1.0, 3.0)  # values of C; the first two with many rows
TINY = 1e-6  # of a squared length of 1
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


def has_short_texts(encoder: Any, X: Any) -> bool:
    """Whether there are texts, and few enough letters that more folds take little time."""
    return isinstance(encoder, TableEncoder) and 0 < _letters(encoder, X) <= MANY_LETTERS


def _letters(encoder: TableEncoder, X: Any) -> int:
    texts = [name for name, kind in (encoder.kinds or {}).items() if kind == "text"]
    return sum(len(str(cell)) for name in texts for cell in X[name])


def blocks(encoder: TableEncoder, X: Any, limit: float | None) -> dict[str, Any]:
    """The transformers that may turn columns of text into features, by name."""
    few = len(X) <= FEW
    given: dict[str, Any] = {"min_df": 1 if few else 2, "sublinear_tf": True}
    found: dict[str, Any] = {"words": TfidfVectorizer(ngram_range=(1, 2), **given)}
    letters = _letters(encoder, X)
    if letters <= min(MOST_LETTERS, np.inf if limit is None else LETTERS * limit):
        given |= {"analyzer": "char_wb", "max_features": MOST_PARTS}
        sizes = (2, 4 if few else 5) if letters <= MANY_LETTERS else (4, 4)
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
    some, folds = _deciding(splits), []
    for train, test in some:
        fitted = _with(encoder, found, tuple(found))
        A = fitted.fit_transform(safe_indexing(X, train))
        B = fitted.transform(safe_indexing(X, test))
        folds.append(Fold(A, B, _columns(fitted)))
    best: tuple[float, Sequence[str]] | None = None
    for names in choices:
        value = _value([fold.learnable(names) for fold in folds], Y, some, measure, cut)
        if best is None or value > best[0] + WORTH:
            best = value, names
    assert best is not None
    chosen = best[1]
    encoded = {train.tobytes(): fold.rows(chosen) for (train, _), fold in zip(some, folds)}
    return _with(encoder, found, chosen), encoded, _told(chosen)


def idf_helps(X: Any, Y: Any, splits: Sequence[Split], measure: Measure, cut: Cut) -> bool:
    """Whether rows of counts are better with higher weights for rare words (TF-IDF)."""
    if not issparse(X) or not len(X.data) or X.data.min() < 0 or (X.data % 1).any():
        return False
    some = _deciding(splits)
    plain = [(normalize(X[train]), normalize(X[test])) for train, test in some]
    words = [TfidfTransformer(sublinear_tf=True).fit(X[train]) for train, _ in some]
    rare = [tuple(one.transform(X[rows]) for rows in split) for one, split in zip(words, some)]
    before, now = (_value(folds, Y, some, measure, cut) for folds in (plain, rare))
    return now > before + WORTH


def _deciding(splits: Sequence[Split]) -> Sequence[Split]:
    """The first splits, as many as have enough test rows."""
    sizes = np.cumsum([len(test) for _, test in splits])
    return splits[: int(np.searchsorted(sizes, ENOUGH)) + 1]


class Fold:
    """Training and test rows of a fold, with all blocks of features."""

    def __init__(self, A: Any, B: Any, columns: NDArray[np.str_]) -> None:
        self.A, self.B, self.columns = A, B, columns
        self.products: dict[str, tuple[Any, Any, Any]] = {}
        if A.shape[0] ** 2 > A.nnz:
            return
        for name in np.unique(columns):
            train, test = (part.astype(np.float64) for part in self.rows([str(name)]))
            squares = test.multiply(test).sum(axis=1)
            both = (train @ train.T).toarray(), (test @ train.T).toarray()
            self.products[str(name)] = *both, np.asarray(squares).ravel()

    def rows(self, names: Sequence[str]) -> tuple[Any, Any]:
        """Training and test rows with these blocks, and with columns that are not texts."""
        kept = np.flatnonzero(np.isin(self.columns, ["", *names]))
        return self.A[:, kept], self.B[:, kept]

    def learnable(self, names: Sequence[str]) -> tuple[Any, Any]:
        """The same rows, of length 1, for linear models.

        Few long texts are rotated into the space that the training rows span: models are the
        same there, and have a weight for each row in place of each feature.
        """
        if not self.products:
            return tuple(normalize(part) for part in self.rows(names))
        parts = [part for name, part in self.products.items() if name in ("", *names)]
        K, M, squares = (sum(some[1:], some[0]) for some in zip(*parts))
        lengths, others = (np.sqrt(np.maximum(part, TINY)) for part in (np.diag(K), squares))
        K = K / np.outer(lengths, lengths) + TINY * np.eye(len(K))
        root = cholesky(K, lower=True)
        return root, solve_triangular(root, (M / np.outer(others, lengths)).T, lower=True).T


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


def _value(
    folds: Sequence[tuple[Any, Any]], Y: Any, splits: Sequence[Split], measure: Measure, cut: Cut
) -> float:
    """The measure of linear support vectors, with the best C."""
    costs = COSTS if len(Y) <= FEW else COSTS[:2]
    scores: list[list[Any]] = [[] for _ in costs]
    for (train, _), (A, B) in zip(splits, folds):
        stored = A.nnz if issparse(A) else A.size
        rows = np.arange(0, len(train), max(1, round(stored * Y.shape[1] / LEARNED)))
        learner = OneVsAllLinear(normalize=False, prune=0, warm_start=True)
        for C, parts in zip(costs, scores):
            learner.set_params(C=C).fit(A[rows], Y[train[rows]])
            parts.append(np.asarray(label_scores(learner, B, n_labels=Y.shape[1])))
    truth = Y[np.concatenate([test for _, test in splits])]
    return max(
        best_form(HeldOut(np.concatenate(parts), False), truth, measure, cut)[0]
        for parts in scores
    )
