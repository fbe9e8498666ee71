"""Texts in the automatic choice: which features they get."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from plurilabel import AutoClassifier, TableEncoder
from plurilabel.wrappers.automatic import _words

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
    assert model.report_["words"].startswith("words and parts of words")
    assert f"Features of text: {model.report_['words']}." in model.summary()
    assert (model.predict(TEXTS) == Y).mean() > 0.95
    # what was chosen is a parameter of the encoder, so that the model can be trained again
    words = model.encoder_.words
    assert repr(model.refit(TEXTS, Y).encoder_.words) == repr(words)
    again = TableEncoder(words=words, kinds=model.encoder_.kinds).fit(TEXTS)
    assert (again.transform(TEXTS) != model.encoder_.transform(TEXTS)).nnz == 0


def test_words_that_are_given_stay():
    given = TableEncoder(words=TfidfVectorizer(min_df=3))
    model = AutoClassifier(portfolio="quick", cv=2, encoder=given, random_state=0).fit(TEXTS, Y)
    assert "words" not in model.report_
    assert model.encoder_.words.min_df == 3


def test_what_is_tried_depends_on_sizes_and_on_what_is_installed(monkeypatch):
    encoder = TableEncoder().decided(TEXTS)
    frame = encoder.typed_rows(TEXTS).frame
    both = ["words", "words and parts of words"]
    monkeypatch.setattr(_words, "find_spec", lambda _: None)
    assert list(_words.options(encoder, frame, "quick", None)) == both
    assert list(_words.options(encoder, frame, "quick", 0.1)) == both[:1]
    monkeypatch.setattr(_words, "find_spec", lambda _: True)
    assert list(_words.options(encoder, frame, "full", None)) == [
        *both, *(f"{name}, static vectors" for name in both)
    ]  # fmt: skip
    monkeypatch.setattr(_words, "FEW", 100)
    monkeypatch.setitem(_words.MOST_LETTERS, "full", 100)
    (only,) = _words.options(encoder, frame, "full", None).items()
    assert only[0] == "words" and only[1].min_df == 2
