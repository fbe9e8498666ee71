"""Static vectors: the mean of the vectors of tokens."""

import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from plurilabel import OneVsAllLinear, StaticEncoder

pytest.importorskip("wordllama", reason="wordllama is not installed")

TEXTS = ["a red day in May", "Blue nights, blue lights!", "", "öffnen 打开 🎈"]


def slow(text):
    """The mean of the vectors of a text's tokens, from the files of the package."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    root = Path(find_spec("wordllama").origin).parent
    (tokens,) = (root / "tokenizers").glob("*.json")
    (weights,) = (root / "weights").glob("*.safetensors")
    table = load_file(weights)["embedding.weight"].astype(np.float64)
    ids = Tokenizer.from_file(str(tokens)).encode(text, add_special_tokens=False).ids
    return np.mean([table[i] for i in ids], axis=0) if ids else np.zeros(256)


def test_mean_of_the_vectors_of_tokens():
    found = StaticEncoder(normalize=False).fit_transform(TEXTS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [slow(text) for text in TEXTS], atol=1e-6)


def test_rows_have_length_one_and_an_empty_text_is_zero():
    found = StaticEncoder().fit(TEXTS).transform(TEXTS)
    expected = np.array([slow(text) for text in TEXTS])
    expected[[0, 1, 3]] /= np.linalg.norm(expected[[0, 1, 3]], axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "form", [np.array, pd.Series, tuple, lambda t: pd.DataFrame({"t": t}), lambda t: np.c_[t]]
)
def test_forms_of_texts(form):
    encoder = StaticEncoder().fit(TEXTS)
    np.testing.assert_array_equal(encoder.transform(form(TEXTS)), encoder.transform(TEXTS))


def test_a_missing_text_is_empty():
    encoder = StaticEncoder().fit(TEXTS)
    for missing in (None, np.nan, pd.NA):
        assert not encoder.transform(["red", missing])[1].any()


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        ("red", "X must be a sequence of texts, got a single text"),
        ([["red"], 3], "X must hold texts, got list in row 0"),
        (["red", 3], "X must hold texts, got int in row 1"),
        (np.zeros((3, 2)), r"X must be a sequence of texts, got ndarray of shape \(3, 2\)"),
        ([], "0 sample"),
    ],
)
def test_what_is_not_text_is_refused(X, problem):
    with pytest.raises(ValueError, match=problem):
        StaticEncoder().fit(X)
    with pytest.raises(ValueError, match=problem):
        StaticEncoder().fit(TEXTS).transform(X)


# scikit-learn's other checks fit arrays of numbers, and it leaves out estimators of texts
@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
    ],
)
def test_scikit_learn_checks(check):
    getattr(estimator_checks, check)("StaticEncoder", StaticEncoder())


def test_a_pickle_holds_no_model_and_answers_alike():
    encoder = StaticEncoder().fit(TEXTS)
    content = pickle.dumps(encoder)
    assert len(content) < 5000
    np.testing.assert_array_equal(pickle.loads(content).transform(TEXTS), encoder.transform(TEXTS))


def test_another_model_is_refused():
    encoder = StaticEncoder().fit(TEXTS)
    encoder.probes_ = encoder.probes_ + 0.01
    with pytest.raises(ValueError, match="was fitted with another model"):
        encoder.transform(TEXTS)


def test_names_and_clone():
    encoder = clone(StaticEncoder(normalize=False)).fit(TEXTS)
    names = encoder.get_feature_names_out()
    assert (names[0], names[-1], len(names)) == ("staticencoder0", "staticencoder255", 256)


def test_in_a_pipeline():
    texts = ["cats and dogs", "a kitten", "shares fell", "the stock market"] * 5
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
    model = make_pipeline(StaticEncoder(), OneVsAllLinear()).fit(texts, Y)
    np.testing.assert_array_equal(model.predict(["puppies", "trading stocks"]), [[1, 0], [0, 1]])


def test_a_folder_of_model2vec(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "red": 1, "blue": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    table = np.array([[0, 0], [1, 2], [3, 5]], dtype=np.float32)
    model2vec.StaticModel(table, tokenizer).save_pretrained(tmp_path)
    encoder = StaticEncoder(str(tmp_path), normalize=False).fit(["red"])
    np.testing.assert_allclose(
        encoder.transform(["red blue", "blue", "unknown", ""]), [[2, 3.5], [3, 5], [0, 0], [0, 0]]
    )
    with pytest.raises(ValueError, match="model must be 'wordllama' or a folder, got 'none'"):
        StaticEncoder("none").fit(["red"])


def test_half_a_pair_of_surrogates_is_an_unknown_character():
    vectors = StaticEncoder().fit_transform(["\ud800x", "\ufffdx"])
    np.testing.assert_array_equal(vectors[0], vectors[1])
