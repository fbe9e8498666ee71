"""Parameters in model files: none names a file, code or a pattern, whatever class has it."""

import inspect
import re
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import all_estimators

from plurilabel import AutoClassifier, BinaryRelevance, MLkNN
from plurilabel._core.roster import estimators, find_estimator
from plurilabel.models import Model, load_model, save_model
from plurilabel.models._params import check_parameters
from plurilabel.models._sound import _REFUSED, check_sound
from tests.models.test_file import FEATURES, NAMES, X, Y, refused, saved, with_learner

pytest.importorskip("skops.io", reason="model files need skops")
__all__ = ["saved"]

# Those that take text of any kind: names and words, which are looked up, compared and shown.
PLAIN = {
    "categorical", "categorical_features", "categories", "class_weight", "classes", "constant",
    "descriptions", "drop", "estimators", "fill_value", "grades", "interaction_cst", "kinds",
    "missing_values",
    "monotonic_cst", "outlier_label", "parents", "portfolio", "pos_label", "sep", "separator",
    "steps", "stop_words", "text", "transform_input", "transformer_list", "transformer_weights",
    "transformers", "vocabulary", "written",
}  # fmt: skip
RESET = {"cache", "memory"}  # to None, when a model is loaded
HOSTILE = (
    "../folder", "https://a.b/c", "__import__('os')", "(a+)+$", "{0.__class__}", ["/x"],
    ("a b", "/x"), {"a": "/x"}, np.array(["/x"]), np.array(["/x"], dtype=object), [[["/x"]]],
    b"/x", Path("x"),
)  # fmt: skip
FUNCTIONS = (np.exp, print, len, lambda X: X, [np.exp], {"a": print}, np.mean, "".join)

CLASSES = [
    found
    for found in [
        *(each for _, each in all_estimators()),
        *(find_estimator(name) for name in estimators()),
    ]
    if not inspect.isabstract(found)
    and not f"{found.__module__}.{found.__name__}".startswith(_REFUSED)
]


def takes(owner, name, value):
    part = object.__new__(owner)
    vars(part)[name] = value
    try:
        check_parameters(part)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("owner", CLASSES, ids=lambda owner: owner.__name__)
def test_no_parameter_of_any_class_takes_files_code_or_patterns(owner):
    """A parameter that a new version adds is refused until it is known to take plain text."""
    for name in [*inspect.signature(owner.__init__).parameters][1:]:
        if name in RESET:
            continue
        text = [value for value in HOSTILE if takes(owner, name, value)]
        assert name in PLAIN or not text, f"{name}={text[0]!r}"
        called = [value for value in FUNCTIONS if takes(owner, name, value)]
        here = owner is FunctionTransformer and name in ("func", "inverse_func")
        assert called == ([np.exp] if here else []), name


def test_parameters_that_take_plain_text_are_used():
    used = {name for owner in CLASSES for name in inspect.signature(owner.__init__).parameters}
    assert used >= PLAIN | RESET


@pytest.mark.parametrize(
    "part",
    [
        Pipeline([("a/b", StandardScaler())]),
        CountVectorizer(token_pattern=r"(?u)\b\w+\b", encoding="latin-1", stop_words=["../a"]),
        TfidfVectorizer(token_pattern=r"[a-z]+", analyzer="char_wb", stop_words="english"),
        HashingVectorizer(strip_accents="unicode"),
        SelectFromModel(LogisticRegression(), threshold="1.25*mean"),
        GridSearchCV(MLkNN(), {"metric": ["cosine"], "n_neighbors": [3]}, scoring="f1_micro"),
        GridSearchCV(LogisticRegression(), [{"solver": ["saga"], "C": [1.0]}]),
        FunctionTransformer(np.log1p, np.expm1),
        MLkNN(device="cuda:1", metric="manhattan"),
        AutoClassifier("f1", portfolio=[("my learner", MLkNN())], memory="kept on load"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_honest_parameters_are_taken(part):
    check_sound(part)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (CountVectorizer(input="filename"), "input of a CountVectorizer cannot be 'filename'"),
        (HashingVectorizer(input="file"), "input of a HashingVectorizer cannot be 'file'"),
        (CountVectorizer(encoding="zlib_codec"), "encoding of a CountVectorizer cannot be"),
        (GridSearchCV(make_pipeline(MLkNN()), {"memory": ["x"]}), "cannot be memory='x'"),
        (GridSearchCV(Pipeline([]), [{"a__b__input": ["filename"]}]), "cannot be a__b__input="),
        (GridSearchCV(MLkNN(), {"a": [1]}, pre_dispatch="exit()"), "pre_dispatch of a GridSearch"),
        (SelectFromModel(MLkNN(), importance_getter="__class__"), "importance_getter of a Select"),
        (MLkNN(metric=np.add), "metric of a MLkNN cannot be the function 'add'"),
        ([MLkNN, 3], "is not allowed in a model file: it could be called"),
        ([np.mean], "is not allowed in a model file: it could be called"),
    ],
    ids=range(10),
)
def test_parameters_that_lead_elsewhere_are_refused(part, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        check_sound(part)


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"\S+", r"\b[ab]{2,}\b", r"\w{3,}", r"\d"])
def test_tokens_are_found_in_linear_time(pattern):
    assert takes(CountVectorizer, "token_pattern", pattern)
    tokenize = re.compile(pattern).findall
    for text in ("a" * 10**5 + "!", "ab" * 10**5, "a." * 10**5, "é1" * 10**5):
        start = time.process_time()
        tokenize(text)
        assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"\w+b", r"[ab]+\b", r"\w*\w*x", r"(\w+)", r"a|b", r"\w+\w+\w+b", ""]
)
def test_other_patterns_are_refused(pattern):
    assert not takes(CountVectorizer, "token_pattern", pattern)


def test_a_model_from_a_file_reads_and_writes_no_cache(tmp_path):
    """joblib unpickles what it finds in the folder."""
    cache = tmp_path / "cache"
    steps = [("scale", StandardScaler()), ("learn", MLkNN(3))]
    learner = Pipeline(steps, memory=str(cache)).fit(X, Y)
    assert any(cache.rglob("*.pkl"))
    save_model(Model(learner, NAMES, FEATURES), tmp_path / "m.skops")
    assert learner.memory == str(cache)
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.memory is None
    for path in cache.rglob("*.pkl"):
        path.write_bytes(b"anything")
    np.testing.assert_array_equal(loaded.fit(X, Y).predict(X), learner.predict(X))
    inner = BinaryRelevance(Pipeline([("c", LogisticRegression())], memory=str(cache))).fit(X, Y)
    save_model(Model(inner, NAMES, FEATURES), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.estimator.memory is None and loaded.estimators_[0].memory is None


def test_methods_are_not_replaced(saved):
    learner = MLkNN(3).fit(X, Y)
    learner.predict = np.exp
    with_learner(saved, learner)
    assert "predict of a MLkNN must be a method" in refused(saved)


def test_parameters_of_scikit_learn_are_checked_as_by_fit(saved):
    learner = RandomForestClassifier(2).fit(X, Y)
    with_learner(saved, learner.set_params(max_depth=-1))
    assert "The 'max_depth' parameter of RandomForestClassifier must be" in refused(saved)
