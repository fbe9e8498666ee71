"""Vectors of sentence-transformers, on a tiny model that is made here."""

import sys

import numpy as np
import pytest

from plurilabel import StaticEncoder, TransformerEncoder
from plurilabel.text import make_encoder

TEXTS = ["red day", "blue night day", "red"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two layers with random weights, and its tokenizer."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    place = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "blue", "day", "night"]
    (place / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(place / "vocab.txt")).save_pretrained(place)
    config = BertConfig(vocab_size=len(words), hidden_size=8, num_hidden_layers=2,
                        num_attention_heads=2, intermediate_size=16)  # fmt: skip
    BertModel(config).save_pretrained(place)
    parts = [Transformer(str(place)), Pooling(8)]
    whole = tmp_path_factory.mktemp("whole")
    SentenceTransformer(modules=parts, device="cpu").save(str(whole))
    return str(whole)


def test_vectors_are_those_of_the_model(folder, tmp_path):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(folder, device="cpu").encode(TEXTS)
    encoder = TransformerEncoder(folder, normalize=False, device="cpu", cache=str(tmp_path))
    for _ in range(2):  # the second time from the cache
        np.testing.assert_allclose(encoder.fit_transform(TEXTS), expected, atol=1e-5)
    assert encoder.n_features_out_ == 8
    assert make_encoder(folder, cache=str(tmp_path)).cache == str(tmp_path)


def test_a_cache_of_another_model_of_the_same_name(folder, tmp_path):
    encoder = TransformerEncoder(folder, device="cpu", cache=str(tmp_path)).fit(TEXTS)
    from plurilabel.text._text_encoder import PROBES
    from plurilabel.text._vector_cache import encoded

    encoded(PROBES[:1], lambda texts: np.zeros((len(texts), 8)), batch_size=1, model=folder,
            cache=str(tmp_path))  # fmt: skip
    with pytest.raises(ValueError, match="holds vectors of another model"):
        encoder.transform(TEXTS)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="pip install sentence-transformers"):
        TransformerEncoder("some/model-nobody-has").fit(TEXTS)


def test_encoders_by_name(tmp_path):
    assert isinstance(make_encoder("static"), StaticEncoder)
    (tmp_path / "config.json").write_text('{"model_type": "model2vec"}')
    assert make_encoder(str(tmp_path)).model == str(tmp_path)
    assert isinstance(make_encoder(str(tmp_path)), StaticEncoder)
    assert isinstance(make_encoder("a/name"), TransformerEncoder)
