"""Texts in the automatic choice: which features they get."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import hstack
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from plurilabel import AutoClassifier, OneVsAllLinear, TableEncoder
from plurilabel.metrics import get_measure
from plurilabel.wrappers.automatic import _words
from plurilabel.wrappers.automatic._ensemble import cuts_for
from plurilabel.wrappers.automatic._words import choose_words

RNG = np.random.default_rng(0)
STEMS = ["rain", "snow", "sun", "wind"]
TEXTS = [
    " ".join(f"{RNG.choice(STEMS)}{RNG.choice(list('abcdefghijk'))}{i % 7}" for _ in range(4))
    for i in range(150)
]
Y = np.array([[stem in text for stem in STEMS] for text in TEXTS]).astype(np.int8)


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_words, "find_spec", lambda _: None)  # whether or not there are vectors
        return AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(TEXTS, Y)


def test_parts_of_words_where_words_do_not_repeat(model):
    assert "parts of words" in model.report_["words"]
    assert f"Features of text: {model.report_['words']}." in model.summary()
    assert (model.predict(TEXTS) == Y).mean() > 0.95
    # what was chosen is a parameter of the encoder, so that the model can be trained again
    words = model.encoder_.words
    assert repr(model.refit(TEXTS, Y).encoder_.words) == repr(words)
    again = TableEncoder(words=words, kinds=model.encoder_.kinds).fit(TEXTS)
    assert (again.transform(TEXTS) != model.encoder_.transform(TEXTS)).nnz == 0


def test_rows_are_encoded_once_for_all_choices():
    frame = pd.DataFrame({"text": TEXTS, "length": [float(len(text)) for text in TEXTS]})
    encoder, splits = TableEncoder().decided(frame), [(np.arange(100), np.arange(100, 150))]
    measure = get_measure("micro_f1")
    cut = cuts_for(measure, labelled=False)[0]
    options = {"leave_out": lambda part: not isinstance(part, TfidfVectorizer)}
    chosen, encoded, told = choose_words(encoder, frame, Y, splits, measure, cut, None, **options)
    fitted = clone(chosen)
    wanted = fitted.fit_transform(frame[:100])
    ((A, B),) = encoded.values()
    assert told == "parts of words" and A.shape[1] > 20
    assert_array_equal(A.toarray(), wanted.toarray())
    assert_array_equal(B.toarray(), fitted.transform(frame[100:]).toarray())


def test_few_long_texts_have_the_same_models_where_they_are_compared():
    long = [" ".join(TEXTS[i : i + 5]) for i in range(60)]
    words, parts = TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))
    A, B = (
        hstack([getattr(block, how)(rows) for block in (words, parts)], format="csr")
        for how, rows in (("fit_transform", long[:20] + long[:2]), ("transform", long[40:]))
    )
    sizes = [len(words.vocabulary_), len(parts.vocabulary_)]
    fold = _words.Fold(A, B, np.repeat(["words", "parts"], sizes))
    assert fold.products
    for names in (["words"], ["words", "parts"]):
        scores = []
        for train, test in (fold.learnable(names), map(normalize, fold.rows(names))):
            learner = OneVsAllLinear(normalize=False, prune=0, tol=1e-8, max_iter=100)
            learner.fit(train, np.r_[Y[:20], Y[:2]])
            scores.append(learner.decision_function(test))
        assert_allclose(*scores, atol=1e-4)


def test_words_that_are_given_stay():
    given = TableEncoder(words=TfidfVectorizer(min_df=3))
    model = AutoClassifier(portfolio="quick", cv=2, encoder=given, random_state=0).fit(TEXTS, Y)
    assert "words" not in model.report_
    assert model.encoder_.words.min_df == 3


def test_what_is_tried_depends_on_sizes_and_on_what_is_installed(monkeypatch):
    encoder = TableEncoder().decided(TEXTS)
    frame = encoder.typed_rows(TEXTS).frame
    monkeypatch.setattr(_words, "find_spec", lambda _: None)
    assert list(_words.blocks(encoder, frame, None)) == ["words", "parts"]
    assert list(_words.blocks(encoder, frame, 0.01)) == ["words"]
    monkeypatch.setattr(_words, "find_spec", lambda _: True)
    assert list(_words.blocks(encoder, frame, None)) == ["words", "parts", "vectors"]
    monkeypatch.setattr(_words, "FEW", 100)
    monkeypatch.setattr(_words, "MOST_LETTERS", 100)
    (only,) = _words.blocks(encoder, frame, None).items()
    assert only[0] == "words" and only[1].min_df == 2


def counts_of(n=120, seed=0):
    """Rows whose four labels depend on one rare word each, among frequent words of no meaning."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < 0.3).astype(np.int8)
    rare = np.repeat(Y, 2, axis=1) * (rng.random((n, 8)) < 0.6)
    return sparse.csr_array(np.hstack([rare, rng.poisson(3.0, (n, 60))]).astype(float)), Y


@pytest.mark.parametrize(("change", "is_weighted"), [(1.0, True), (0.3, False), (-1.0, False)])
def test_rare_words_of_counts_weigh_more_where_that_helps(change, is_weighted):
    X, Y = counts_of()
    model = AutoClassifier(portfolio="quick", random_state=0).fit(X * change, Y)
    assert any("TF-IDF" in name for name in model.names_) is is_weighted
    copy = AutoClassifier(portfolio="quick", random_state=0).fit((X * change).toarray(), Y)
    assert not any("TF-IDF" in name for name in copy.names_)


def test_counts_of_equal_words_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((120, 20)) < 0.5).astype(float))  # all as frequent
    model = AutoClassifier(portfolio="quick", random_state=0).fit(X, X[:, :4].toarray())
    assert not any("TF-IDF" in name for name in model.names_)


def test_zeros_that_are_stored_are_no_words():
    X, Y = counts_of()
    stored = sparse.csr_array(
        (X.toarray().ravel(), np.tile(np.arange(68), 120), np.arange(0, 68 * 120 + 1, 68)),
        shape=X.shape,
    )
    few, many = (AutoClassifier(portfolio="quick", random_state=0).fit(A, Y) for A in (X, stored))
    assert any("TF-IDF" in name for name in many.names_)
    assert stored.nnz == 120 * 68  # the caller's matrix is left alone
    for A in (X, stored, X.tocsc(), stored[:1]):
        expected = few.predict_proba(X)[: A.shape[0]]
        np.testing.assert_allclose(many.predict_proba(A), expected, rtol=0, atol=1e-12)
    assert np.isfinite(many.explain(stored[:1])[0].parts).all()
