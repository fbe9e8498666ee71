"""Models to files and back, and files that must not be loaded."""

import io
import json
import os
import pickle
import sys
import warnings
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import plurilabel
from plurilabel import MLkNN, ThresholdClassifier
from plurilabel.io import TableEncoder, read_table, table_encoder
from plurilabel.learners import make_learner
from plurilabel.models import Model, ModelFileError, _file, load_model, save_model
from plurilabel.models._audit import stored, trusted_types
from plurilabel.thresholds import strategy_names
from tests.models.learners import FORMS, assert_same, fitted

sio = pytest.importorskip("skops.io", reason="model files need skops")

X, Y = make_multilabel_classification(60, 5, n_classes=4, random_state=0)
NAMES = ("a", "b", "c", "d")
FEATURES = tuple("vwxyz")


@pytest.mark.parametrize("text", FORMS)
def test_labels_that_every_row_has_or_none(tmp_path, text):
    B = Y.copy()
    B[:, 1], B[:, 2] = 1, 0
    learner = fitted(text, X, B)
    save_model(Model(learner, NAMES, FEATURES), tmp_path / "m.skops")
    assert_same(learner, load_model(tmp_path / "m.skops").estimator, X)


@pytest.mark.parametrize("strategy", strategy_names())
def test_every_threshold_comes_back(tmp_path, strategy):
    learner = ThresholdClassifier(MLkNN(3), strategy, cv=2, nonempty=True).fit(X, Y)
    save_model(Model(learner, NAMES, FEATURES), tmp_path / "m.skops")
    assert_same(learner, load_model(tmp_path / "m.skops").estimator, X)


# neighbours are searched in several ways, by size and metric
@pytest.mark.parametrize(("n", "d"), [(40, 2), (1500, 2), (1500, 12)])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_every_neighbour_search_comes_back(tmp_path, n, d, metric):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(n, d)), rng.integers(0, 2, size=(n, 2))
    learner = MLkNN(3, metric=metric).fit(A, B)
    save_model(Model(learner, ("p", "q"), [f"x{j}" for j in range(d)]), tmp_path / "m.skops")
    assert_same(learner, load_model(tmp_path / "m.skops").estimator, A[:20] + 0.1)


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(SimpleImputer(), StandardScaler(), MLkNN(3)),
        make_pipeline(
            ColumnTransformer(
                [("n", make_pipeline(SimpleImputer(), MaxAbsScaler()), slice(0, 2))],
                remainder="passthrough",
            ),
            OneVsRestClassifier(LogisticRegression()),
        ),
        make_learner("StandardScaler | MLkNN(n_neighbors=[3, 5])"),
        make_learner("BinaryRelevance(HistGradientBoostingClassifier(max_iter=2))"),
        make_learner("BinaryRelevance(KNeighborsClassifier)"),
        make_learner("BinaryRelevance(RidgeClassifier)"),
        make_learner("BinaryRelevance(SVC)"),
        make_learner("MultiOutputClassifier(MLPClassifier(tol=1.0, n_iter_no_change=1))"),
        DecisionTreeClassifier(),
    ],
    ids=lambda learner: " ".join(repr(learner).split())[:40],
)
def test_pipelines_and_searches_come_back(tmp_path, learner):
    learner.fit(X, Y)
    save_model(Model(learner, NAMES, FEATURES), tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(back.predict(X), learner.predict(X))


def test_a_model_of_a_table_comes_back(tmp_path):
    frame = pd.DataFrame(
        {"n": [1.5, 2, None], "kind": ["p", "q", ""], "text": ["a red house", "red", ""]}
    ).assign(tags=["ü", "v w|ü", "ü"], size=pd.Categorical(["s", "l", "s"], ["l", "m", "s"]))
    data = read_table(
        frame, labels="tags", features=["n", "kind", "size"], text="text", encode=False
    )
    encoder = table_encoder(data.X, text="text", numbers=SimpleImputer())
    pipeline = make_pipeline(encoder, MLkNN(1)).fit(data.X, data.Y)
    model = Model(
        pipeline, data.label_names, data.X.columns, "tags", data.tag_sep, ";",
        notes={"held_out": {"measures": {"f1": 0.1 + 0.2}}},
    )  # fmt: skip
    save_model(model, tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops")
    assert list(back.feature_names) == ["n", "kind", "size", "text"]
    for name in ("label_names", "labels", "tag_sep", "sep", "sparse_features", "notes"):
        assert getattr(back, name) == getattr(model, name)
    assert back.versions["plurilabel"] == plurilabel.__version__
    later = frame.assign(text=["a blue house", "red door", None], kind=["q", "x", "p"])
    X = model.read(later).X
    pd.testing.assert_frame_equal(back.read(later).X, X)
    assert_same(pipeline, back.estimator, X)
    encoded = [model.encoder.transform(X).toarray() for model in (model, back)]
    np.testing.assert_array_equal(*encoded)
    # skops alone reads the estimator, too
    assert_same(pipeline, sio.load(tmp_path / "m.skops", trusted=sorted(trusted_types())), X)


def table_of_all_kinds():
    """A fitted model of two texts with parts of words, a date, and decimal commas."""
    frame = pd.DataFrame(
        {
            "title": ["red ball", "blue sea", "red sea"],
            "body": ["a note", "the ball", "no note"],
            "sent": ["13/04/2021 10:00", "01/05/2022 20:00", ""],
            "price": ["1,5", "2", ""],
            "tags": ["a", "b", "a;b"],
        }
    )
    words = make_union(
        TfidfVectorizer(stop_words=["the"]),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
    )
    data = read_table(
        frame, labels="tags", features=["sent", "price"], text=["title", "body"], encode=False
    )
    encoder = TableEncoder(
        numbers=SimpleImputer(), words=words, kinds=data.kinds, written=data.written
    )
    pipeline = make_pipeline(encoder, MLkNN(1)).fit(data.X, data.Y)
    model = Model(pipeline, data.label_names, data.X.columns, "tags")
    return model, frame


def test_a_model_of_texts_and_dates_comes_back(tmp_path):
    model, frame = table_of_all_kinds()
    save_model(model, tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops")
    assert back.encoder.written_ == {"sent": "day first", "price": "decimal comma"}
    later = frame.assign(sent="03/04/2021", price="1,250", title="a red door")[:1]
    X = model.read(later).X
    assert (X["sent"][0].month, X["price"][0]) == (4, 1.25)
    pd.testing.assert_frame_equal(back.read(later).X, X)
    assert_same(model.estimator, back.estimator, X)
    assert_same(
        model.estimator, sio.load(tmp_path / "m.skops", trusted=sorted(trusted_types())), X
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"varies_": np.ones((1, 2), dtype=np.int8)},
        {"varies_": np.full((1, 3), 7)},
        {"feature_names_in_": np.array(["a", "b"], dtype=object)},
    ],
)
def test_dates_that_are_not_what_they_seem_are_refused(tmp_path, changes):
    model, _ = table_of_all_kinds()
    save_model(model, tmp_path / "m.skops")
    dates = model.encoder.transformer_.named_transformers_["dates"][0]
    for name, value in changes.items():
        setattr(dates, name, value)
    with_learner(tmp_path / "m.skops", model.estimator)
    assert "of a DateEncoder must be" in refused(tmp_path / "m.skops")


@pytest.mark.parametrize("more", ["", " " + "x" * 200, " été \U0001f642"])
def test_words_are_packed(tmp_path, more):
    """A dict of 4,000 words would be 2.5 MB, an array of strings with a long one 3.2 MB."""
    words = [f"w{i:04d}" for i in range(4_000)]
    frame = pd.DataFrame({"text": [" ".join(words[i::50]) + more for i in range(50)], "tags": "a"})
    data = read_table(frame, labels="tags", text="text", encode=False)
    encoder = table_encoder(
        data.X, text="text", words=TfidfVectorizer(token_pattern=r"\S+", strip_accents=None)
    )
    pipeline = make_pipeline(encoder, MLkNN(1)).fit(data.X, data.Y)
    before = dict(pipeline[0].transformer_.named_transformers_["text"].vocabulary_)
    save_model(Model(pipeline, ["a"], ["text"], "tags"), tmp_path / "m.skops")
    assert (tmp_path / "m.skops").stat().st_size < 250_000
    saved, back = (
        estimator[0].transformer_.named_transformers_["text"]
        for estimator in (pipeline, load_model(tmp_path / "m.skops").estimator)
    )
    for vectorizer in (saved, back):  # saving leaves the model as it was
        assert vectorizer.vocabulary_ == before and vectorizer.vocabulary is None
        assert not vectorizer.fixed_vocabulary_
        assert {type(word) for word in vectorizer.vocabulary_} == {str}


def test_arrays_of_words_in_older_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_file, "PackedWords", lambda words: np.array(list(words)))
    texts = ["red house", "blue", "red"]
    learner = make_pipeline(CountVectorizer(), MLkNN(1)).fit(texts, [[1, 0], [0, 1], [1, 0]])
    save_model(Model(learner, "ab", ["text"]), tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops").estimator[0]
    assert back.vocabulary_ == {"blue": 0, "house": 1, "red": 2} and back.vocabulary is None
    assert {type(word) for word in back.vocabulary_} == {str}


def test_skops_alone_reads_packed_words(tmp_path):
    texts = ["red house", "blue", "red"]
    learner = make_pipeline(CountVectorizer(), MLkNN(1)).fit(texts, [[1, 0], [0, 1], [1, 0]])
    save_model(Model(learner, "ab", ["text"]), tmp_path / "m.skops")
    found = sio.get_untrusted_types(file=tmp_path / "m.skops")
    back = sio.load(tmp_path / "m.skops", trusted=found)
    assert (
        back.predict(["a blue house", "red"]).tolist()
        == learner.predict(["a blue house", "red"]).tolist()
    )


def test_words_that_were_given_stay_so(tmp_path):
    vectorizer = CountVectorizer(vocabulary=np.array(["red", "blue"]))
    texts = ["red house", "blue", "red"]
    learner = make_pipeline(vectorizer, MLkNN(1)).fit(texts, [[1, 0], [0, 1], [1, 0]])
    save_model(Model(learner, "ab", ["text"]), tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops").estimator[0]
    assert back.vocabulary.tolist() == ["red", "blue"] and back.fixed_vocabulary_


def test_trusted_types_are_classes_that_exist():
    gone = {"sklearn.compose._column_transformer._RemainderColsList"}  # in scikit-learn 1.7
    for name in trusted_types() - gone:
        module, _, attribute = name.rpartition(".")
        __import__(module)
        assert isinstance(getattr(sys.modules[module], attribute), type)


# what is not saved ---------------------------------------------------------------------------


def shout(X):
    return X


def test_only_what_can_be_loaded_is_saved(tmp_path):
    with pytest.raises(ValueError, match="must end in .skops, got .*m.pkl"):
        save_model(Model(MLkNN(3).fit(X, Y), NAMES, FEATURES), tmp_path / "m.pkl")
    with pytest.raises(NotFittedError):
        save_model(Model(MLkNN(3), NAMES, FEATURES), tmp_path / "m.skops")
    strange = make_pipeline(FunctionTransformer(shout), MLkNN(3)).fit(X, Y)
    with pytest.raises(
        ValueError, match="func of a FunctionTransformer cannot be the function .shout."
    ):
        save_model(Model(strange, NAMES, FEATURES), tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


# what is not loaded --------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m.skops"
    save_model(Model(MLkNN(3).fit(X, Y), NAMES, FEATURES), path)
    return path


def refused(path):
    """The one sentence with which a file is refused."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 400
    return message


def rewritten(path, change, **options):
    """The archive with changed members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, change(name, content))


def with_learner(path, learner):
    """A model file whose learner is anything."""
    with zipfile.ZipFile(path) as archive:
        about = archive.read("plurilabel.json")
    content = io.BytesIO(stored(sio.dumps(learner)))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("plurilabel.json", about)
    path.write_bytes(content.getvalue())


class Trap:
    """Leaves a file behind when it is built."""

    where = None

    def __init__(self):
        self.content = 1

    def __setstate__(self, state):
        with open(Trap.where, "w") as stream:
            stream.write("caught")


def test_nothing_untrusted_is_built(saved, tmp_path):
    Trap.where = tmp_path / "trap"
    trapped = MLkNN(3).fit(X, Y)
    trapped.trap_ = Trap()
    with_learner(saved, trapped)
    message = refused(saved)
    assert "is rejected: it contains " in message and "Trap" in message
    assert not (tmp_path / "trap").exists()
    # the trap works, where it is trusted
    sio.load(saved, trusted=sio.get_untrusted_types(file=saved))
    assert (tmp_path / "trap").read_text() == "caught"


@pytest.mark.parametrize(
    "content",
    [
        partial(os.system, "true"),
        os.system,
        FunctionTransformer(os.system),
        FunctionTransformer(partial(eval, "1")),
        {"a": [os.remove]},
        plurilabel.io.write_table,
        partial(plurilabel.io.write_table, "here.csv"),
    ],
    ids=lambda content: type(content).__name__,  # no addresses: all processes see one name
)
def test_functions_are_refused(saved, content):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = content
    with_learner(saved, learner)
    assert "is rejected: it contains " in refused(saved)


def test_a_type_that_only_looks_like_ours_is_refused(saved):
    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        schema["__module__"] = "plurilabel.io._files"
        schema["__class__"] = "write_atomic"
        return json.dumps(schema)

    rewritten(saved, change)
    assert "write_atomic" in refused(saved)


def test_other_files(saved, tmp_path):
    for content in (b"", b"no zip", b"PK\x03\x04 and then nothing"):
        saved.write_bytes(content)
        assert "is not a model file, or is damaged" in refused(saved)
    saved.write_bytes(pickle.dumps(MLkNN(3).fit(X, Y)))
    assert "is a pickle, which can run arbitrary code" in refused(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "is not a model of plurilabel: it has no plurilabel.json" in refused(saved)
    sio.dump(MLkNN(3).fit(X, Y), saved)
    assert "is not a model of plurilabel" in refused(saved)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.skops")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def test_broken_files(saved):
    whole = saved.read_bytes()
    for share in (0.3, 0.6, 0.9, 0.999):
        saved.write_bytes(whole[: int(share * len(whole))])
        assert "damaged" in refused(saved)
    # a byte in the middle of an array: the archive's checksum tells
    middle = len(whole) // 3
    saved.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    refused(saved)


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("plurilabel.json", b"{"),
        ("plurilabel.json", b"[]"),
        ("plurilabel.json", b"{}"),
        ("plurilabel.json", b'{"format": 1, "versions": {"plurilabel": "1"}}'),
        ("plurilabel.json", b"\xff"),
        ("schema.json", b"{"),
        ("schema.json", b"[]"),
        ("schema.json", b"{}"),
        ("schema.json", b"[" * 100_000),
        ("schema.json", b'{"__class__": "MLkNN", "__module__": "nowhere", "__loader__": "x"}'),
    ],
)
def test_broken_members(saved, member, content):
    rewritten(saved, lambda name, old: content if name == member else old)
    refused(saved)


def test_a_learner_is_expected(saved):
    with_learner(saved, {"a": 1})
    assert "expected a classifier, got dict" in refused(saved)


def test_bombs_are_refused(saved):
    def inflated(name, content):
        if name != "plurilabel.json":
            return content
        return json.dumps(json.loads(content) | {"notes": {"": " " * 10**8}})

    rewritten(saved, inflated, compression=zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 10**6
    assert "it unpacks to more than 20 times its size" in refused(saved)


def test_bombs_in_sparse_matrices_are_refused(saved):
    """They are archives of their own, which skops compresses and unpacks; we store them."""
    learner = MLkNN(3).fit(sparse.csr_array(X), Y)
    learner.zeros_ = sparse.csr_matrix((np.zeros(200_000), np.zeros(200_000), [0, 200_000]))
    save_model(Model(learner, NAMES, FEATURES), saved)
    assert saved.stat().st_size > 200_000 * 12
    assert load_model(saved).estimator.zeros_.nnz == 200_000

    def pack(name, content):
        if not name.endswith(".npz"):
            return content
        with np.load(io.BytesIO(content)) as parts:
            np.savez_compressed(buffer := io.BytesIO(), **parts)
        return buffer.getvalue()

    rewritten(saved, pack)
    assert saved.stat().st_size < 200_000
    assert "it contains compressed sparse matrices" in refused(saved)


def test_arrays_that_are_named_again_and_again_are_refused(saved):
    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
                 "type": "numpy", "file": "large.npy"}  # fmt: skip
        schema["content"]["content"] = {"n_neighbors": [array] * 50}
        return json.dumps(schema)

    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("large.npy", bytes(100_000))
    rewritten(saved, change)
    assert "refers to the same arrays repeatedly" in refused(saved)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"n_features": 10**12, "feature_names": None}, "n_features cannot be 1000000000000"),
        ({"n_features": 50_000_000, "feature_names": None}, "50000000 names of features for an"),
        ({"n_features": True}, "n_features cannot be True"),
        ({"feature_names": list("vw")}, "2 names of features for an estimator with 5"),
        ({"feature_names": [[]]}, "feature_names cannot be [[]]"),
        ({"label_names": [1, 2, 3, 4]}, "label_names cannot be [1, 2, 3, 4]"),
        ({"label_names": "abcd"}, "label_names cannot be 'abcd'"),
        ({"label_names": ["a"]}, "1 names of labels for an estimator with 4"),
        ({"labels": 7}, "labels cannot be 7"),
        ({"tag_sep": ["; "]}, "tag_sep cannot be ['; ']"),
        ({"sep": ""}, "sep cannot be ''"),
        ({"sparse_features": "no"}, "sparse_features cannot be 'no'"),
        ({"notes": None}, "notes cannot be None"),
        ({"versions": 3}, "plurilabel.json is invalid"),
        ({"versions": {"plurilabel": 0.1}}, "plurilabel.json is invalid"),
        ({"more": 1}, "unexpected keyword argument 'more'"),
    ],
)
def test_made_up_text_beside_the_learner_is_refused(saved, changes, why):
    about_changed(saved, **changes)
    assert why in refused(saved)


def test_made_up_lengths_of_lists_take_no_memory(saved):
    """A column of lists is known by the names of its parts, each of which is there."""
    about_changed(saved, feature_names=[f"v[{10**12 + j}]" for j in range(5)])
    rows = load_model(saved).read(pd.DataFrame({"v": [[1, 2, 3, 4, 5]]}))
    assert rows.X.shape == (1, 5)


def test_what_is_looked_through_is_what_is_loaded(saved, monkeypatch):
    from plurilabel.models import _file as _model_file

    look = _model_file._untrusted

    def look_and_change(names):
        saved.write_bytes(b"something else")
        return look(names)

    monkeypatch.setattr(_model_file, "_untrusted", look_and_change)
    assert load_model(saved).estimator.predict(X).shape == (60, 4)


def test_sizes_that_lie_are_refused(saved):
    """A header of an array that promises more than there is."""

    def change(name, content):
        if not name.endswith(".npy"):
            return content
        buffer = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**13, 10)}
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue()

    rewritten(saved, change)
    assert "damaged" in refused(saved)


def about_changed(path, without=(), **changes):
    def change(name, content):
        if name != "plurilabel.json":
            return content
        about = json.loads(content) | changes
        return json.dumps({key: value for key, value in about.items() if key not in without})

    rewritten(path, change)


def test_files_of_other_versions(saved):
    about_changed(saved, format=2, versions={"plurilabel": "9.1"})
    message = refused(saved)
    assert "was saved by plurilabel 9.1 in format 2, but this version reads format 1" in message
    now = load_versions()
    about_changed(saved, format=1, versions=now | {"scikit-learn": "0.99.1"})
    with pytest.warns(
        UserWarning, match=r"was saved with scikit-learn 0.99.1 \(now .*predictions may"
    ):
        model = load_model(saved)
    assert model.estimator.predict(X).shape == (60, 4)
    # a patch makes no difference
    major, minor, *_ = now["scikit-learn"].split(".")
    about_changed(saved, versions=now | {"scikit-learn": f"{major}.{minor}.99"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(saved)

    # a type that only that version has
    def renamed(name, content):
        if name != "schema.json":
            return content
        ours = b'"__class__": "MLkNN",\n  "__module__": "plurilabel'
        return content.replace(ours + b'"', ours + b'.gone"')

    about_changed(saved, versions=now | {"plurilabel": "9.1.0"})
    whole = saved.read_bytes()
    rewritten(saved, renamed)
    message = refused(saved)
    assert "plurilabel.gone.MLkNN, which is unknown here" in message
    assert "was saved with plurilabel 9.1.0 (now " in message and "harm" not in message
    saved.write_bytes(whole)
    # if it does not load, the version is the reason to name
    about_changed(saved, versions=now | {"plurilabel": "0.0.1"})
    rewritten(saved, lambda name, old: b"{}" if name == "schema.json" else old)
    assert "it was saved with plurilabel 0.0.1 (now " in refused(saved)


def load_versions():
    from plurilabel._core.compat import versions

    return versions("skops")


def test_skops_is_named_where_it_is_missing(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: load_model(saved), lambda: save_model(None, saved)):
        with pytest.raises(ImportError, match=r"needs skops: pip install 'plurilabel\[cli\]'"):
            call()


# numbers that lead nowhere -------------------------------------------------------------------


def tree_with(**changes):
    """A learner whose tree was changed after it was fitted."""
    learner = DecisionTreeClassifier(random_state=0).fit(X, Y)
    for name, value in changes.items():
        getattr(learner.tree_, name)[0] = value
    return learner


def narrow(learner):
    learner.n_features_in_ = 2
    return learner


def forest_with_a_wide_tree():
    learner = make_learner("RandomForestClassifier(n_estimators=2)").fit(X, Y)
    wide = DecisionTreeClassifier().fit(np.hstack([X, X]), Y)
    learner.estimators_[1] = wide
    return learner


def boosted_with(**changes):
    spec = "MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2))"
    learner = make_learner(spec).fit(X, Y)
    nodes = learner.estimators_[1]._predictors[0][0].nodes
    for name, value in changes.items():
        nodes[name][0] = value
    return learner


def neighbours_with(part, change):
    learner = make_learner("KNeighborsClassifier(algorithm='kd_tree', leaf_size=5)").fit(X, Y)
    state = list(learner._tree.__getstate__())
    state[part] = change(np.array(state[part]))
    learner._tree.__setstate__(tuple(state))
    return learner


def changed_at(name, value):
    def change(array):
        (array if name is None else array[name])[0] = value
        return array

    return change


@pytest.mark.parametrize(
    "make",
    [
        lambda: tree_with(children_left=10**9),
        lambda: tree_with(children_right=-5),
        lambda: tree_with(children_left=0),  # for ever
        lambda: tree_with(feature=5),
        lambda: tree_with(feature=-1),
        lambda: narrow(tree_with()),
        lambda: [vars(tree := tree_with()).update(n_outputs_=4 * 10**8), tree],  # memory
        lambda: {"nested": [(tree_with(children_left=10**9),)]},
        forest_with_a_wide_tree,
        lambda: boosted_with(left=10**9),
        lambda: boosted_with(right=0),
        lambda: boosted_with(feature_idx=5),
        lambda: boosted_with(is_categorical=1),
        lambda: neighbours_with(1, changed_at(None, 60)),
        lambda: neighbours_with(2, changed_at("idx_end", 61)),
        lambda: neighbours_with(2, lambda nodes: nodes[:3].copy()),
        lambda: neighbours_with(3, lambda bounds: bounds[:, :, :2].copy()),
    ],
)
def test_trees_that_lead_nowhere_are_refused(saved, make):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = make()
    with_learner(saved, learner)
    assert "has indices out of bounds" in refused(saved)


def one_hot(**changes):
    encoder = OneHotEncoder(
        drop=changes.pop("drop", None), min_frequency=changes.pop("min_frequency", None)
    )
    encoder.fit([["a", 1], ["a", 2], ["b", 2], ["b", 1], ["c", 3]])
    vars(encoder).update(changes)
    return encoder


def words(vectorizer=None, **vocabulary):
    vectorizer = (vectorizer or CountVectorizer()).fit(["red blue"])
    vectorizer.vocabulary_ |= vocabulary
    return vectorizer


def matrix(indices):
    csr = sparse.csr_array(np.eye(3))
    csr.indices[:] = indices
    return csr


NARROW = {"_n_features_outs": [2, 3]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: one_hot(**NARROW),
        lambda: one_hot(drop="first", _n_features_outs=[1, 2]),
        lambda: one_hot(_drop_idx_after_grouping=[7, 7], **NARROW),
        lambda: one_hot(_infrequent_enabled=True, _default_to_infrequent_mappings=[
            np.array([0, 9, 1]), None]),
        lambda: one_hot(categories_=[np.array(["a", "b", "c"], object), np.array([3, 2, 1])]),
        lambda: words(red=7),
        lambda: words(green=-1),
        lambda: words(green=1),
        lambda: words(TfidfVectorizer(), green=2),
    ],
)  # fmt: skip
def test_encoders_that_lead_nowhere_are_refused(saved, make):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = make()
    with_learner(saved, learner)
    assert "has indices out of bounds" in refused(saved)


@pytest.mark.parametrize("indices", [[0, 1, 9], [0, 1, -1]])
def test_sparse_matrices_that_lead_nowhere_are_refused(saved, indices):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = matrix(indices)
    with_learner(saved, learner)
    assert "csr_array must be a sparse matrix with sound pointers" in refused(saved)


def test_sound_encoders_are_not_refused(saved):
    learner = MLkNN(3).fit(X, Y)
    learner.extra_ = [
        one_hot(), one_hot(drop="first"), one_hot(drop="if_binary"), one_hot(min_frequency=2),
        one_hot(drop="first", min_frequency=2), OneHotEncoder(), words(), CountVectorizer(),
    ]  # fmt: skip
    with_learner(saved, learner)
    assert len(load_model(saved).estimator.extra_) == 8


def test_sound_trees_are_not_refused(saved):
    learners = [
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, Y[:, 0]),
        GradientBoostingClassifier(n_estimators=2).fit(X, Y[:, 0]),
        make_learner("ExtraTreesClassifier(n_estimators=2)").fit(X, Y),
        make_learner("KNeighborsClassifier(algorithm='ball_tree', leaf_size=5)").fit(X, Y),
        DecisionTreeClassifier(max_leaf_nodes=7).fit(X, Y),
        BaggingClassifier(DecisionTreeClassifier(), 2, max_features=2).fit(X, Y[:, 0]),
    ]
    for learner in learners:
        with_learner(saved, learner)
        back = load_model(saved).estimator
        np.testing.assert_array_equal(back.predict(X), learner.predict(X))
