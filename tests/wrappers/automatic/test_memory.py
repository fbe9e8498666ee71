"""What AutoClassifier keeps in a folder, and what it does not take for the same."""

import sys
import types

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plurilabel import AutoClassifier, BinaryRelevance, ClassifierChain, LabelPowerset, MLkNN
from plurilabel.datasets import UnknownLabels, make_multilabel
from plurilabel.wrappers.automatic._pool import Pool
from plurilabel.wrappers.automatic._portfolio import Candidate

DATA = make_multilabel(60, 5, 4, noise=0.1, random_state=0)
X, Y = DATA.X, np.asarray(DATA.Y)
SETS = LabelPowerset(LogisticRegression(random_state=0))


def halves(n=60):
    even = np.arange(n) % 2 == 0
    return [(np.flatnonzero(even), np.flatnonzero(~even)),
            (np.flatnonzero(~even), np.flatnonzero(even))]  # fmt: skip


def place(tmp_path, estimator, *, X=X, Y=Y, splits=None, decides=False):
    """The file in which the predictions of a learner would be kept."""
    pool = Pool(X, Y, splits or halves(), tmp_path, None)
    return pool._path(Candidate("name", estimator, decides=decides))


def add(amount):
    return lambda X: X + amount


def class_in(module):
    made = sys.modules[module] = types.ModuleType(module)
    made.__version__ = "1"
    made.Own = type("Own", (MLkNN,), {"__module__": module})
    return made.Own


def test_learners_that_differ_are_kept_apart(tmp_path):
    order = np.random.default_rng(0).permutation(40).tolist()
    swapped = [*order[:35], order[36], order[35], *order[37:]]
    step = lambda power: FunctionTransformer(np.power, kw_args={"x2": power})  # noqa: E731
    differ = [
        ClassifierChain(LogisticRegression(), order=order),
        ClassifierChain(LogisticRegression(), order=swapped),  # repr shows neither in full
        class_in("one_module")(), class_in("other_module")(),
        make_pipeline(step(2), MLkNN()), make_pipeline(step(3), MLkNN()),
        BinaryRelevance(LogisticRegression(C=1)), BinaryRelevance(LogisticRegression(C=1.0)),
        BinaryRelevance(LogisticRegression(random_state=np.random.RandomState(0))),
        BinaryRelevance(LogisticRegression(random_state=np.random.RandomState(1))),
    ]  # fmt: skip
    assert repr(differ[0]) == repr(differ[1]) and repr(differ[2]) == repr(differ[3])
    places = [place(tmp_path, one) for one in differ]
    assert None not in places and len(set(places)) == len(differ)


def test_data_folds_and_kind_that_differ_are_kept_apart(tmp_path, monkeypatch):
    other, learner = X.copy(), MLkNN(3)
    other[7, 2] += 1e-12
    hidden = np.zeros(Y.shape, dtype=bool)
    one_hidden = hidden.copy()
    one_hidden[0, 0] = True
    first = halves()
    unused = [(train[1:], test) for train, test in first]  # the same test rows
    places = [
        place(tmp_path, learner),
        place(tmp_path, learner, decides=True),
        place(tmp_path, learner, X=other),
        place(tmp_path, learner, X=X.astype(np.float32)),
        place(tmp_path, learner, X=sparse.csr_array(X)),
        place(tmp_path, learner, Y=1 - Y),
        place(tmp_path, learner, Y=UnknownLabels(Y, hidden)),
        place(tmp_path, learner, Y=UnknownLabels(Y, one_hidden)),
        place(tmp_path, learner, splits=first[::-1]),
        place(tmp_path, learner, splits=unused),
    ]
    for package in ("plurilabel", "scikit-learn"):
        versions = {package: "99"}
        monkeypatch.setattr(
            "plurilabel.wrappers.automatic._pool.versions", lambda *_, v=versions: v
        )
        places.append(place(tmp_path, learner))
    assert len(set(places)) == len(places)


def test_what_cannot_be_hashed_is_not_kept(tmp_path):
    def scores(amount):
        learner = make_pipeline(FunctionTransformer(add(amount)), MLkNN(3, metric="cosine"))
        model = AutoClassifier(portfolio=[("own", learner)], cv=2, memory=tmp_path, random_state=0)
        return model.fit(X, Y).predict_proba(X)

    assert not np.array_equal(scores(0.0), scores(5.0))  # of two functions of one name
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("first", [True, False])
def test_a_named_portfolio_and_a_list_share_a_folder(tmp_path, monkeypatch, first):
    named = [Candidate("sets", SETS, decides=False)]
    options = {"cv": 2, "memory": tmp_path, "random_state": 0}
    listed = AutoClassifier(portfolio=[("sets", SETS)], **options)
    by_name = AutoClassifier(portfolio="quick", **options)
    monkeypatch.setattr("plurilabel.wrappers.automatic._auto.candidates", lambda *_: named)
    models = [by_name, listed] if first else [listed, by_name]
    for model in models:
        alone = AutoClassifier(**{**model.get_params(), "memory": None}).fit(X, Y)
        assert_array_equal(model.fit(X, Y).predict_proba(X), alone.predict_proba(X))


def test_damaged_files_are_computed_again(tmp_path):
    model = AutoClassifier(portfolio=[MLkNN(3)], cv=4, memory=tmp_path, random_state=0)
    expected, files = model.fit(X, Y).estimate_, sorted(tmp_path.glob("*.npz"))
    whole = [file.read_bytes() for file in files]
    for damage in (lambda _: b"", lambda c: c[: len(c) // 2], lambda _: b"junk"):
        for file, content in zip(files, whole):
            file.write_bytes(damage(content))
        assert model.fit(X, Y).estimate_ == expected
        assert [file.read_bytes()[:2] for file in files] == [b"PK"] * len(files)
    np.savez(files[0], scores=np.full((3, 2), np.nan), probabilities=True, seconds=1.0)
    assert model.fit(X, Y).estimate_ == expected
