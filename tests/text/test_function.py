"""Any function as an encoder, and the cache of vectors."""

import sqlite3
from multiprocessing import get_context

import numpy as np
import pytest

from plurilabel import FunctionEncoder
from plurilabel.text import _vector_cache, make_encoder
from plurilabel.text._vector_cache import encoded

TEXTS = ["a red day", "night", "a red day", "", "blue"]


def lengths(texts):
    return [[len(text), 1.0] for text in texts]


class Service:
    """An API that counts its texts, and may break down."""

    def __init__(self, fails_after=10**9):
        self.asked, self.fails_after = [], fails_after

    def __call__(self, texts):
        if len(self.asked) >= self.fails_after:
            raise ConnectionError("no answer")
        self.asked += texts
        return lengths(texts)


def test_vectors_of_a_function():
    found = FunctionEncoder(lengths, normalize=False).fit_transform(TEXTS)
    np.testing.assert_array_equal(found, lengths(TEXTS))
    unit = FunctionEncoder(lengths).fit_transform(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)


def test_equal_texts_are_asked_once_and_the_longest_first():
    service = Service()
    FunctionEncoder(service).fit(TEXTS).transform(TEXTS)
    assert service.asked[2:] == ["a red day", "night", "blue", ""]  # after two fixed texts


def test_the_cache_answers_without_the_service(tmp_path):
    first, second = Service(), Service()
    options = {"name": "lengths", "cache": str(tmp_path / "vectors")}
    found = FunctionEncoder(first, **options).fit_transform(TEXTS)
    again = FunctionEncoder(second, **options).fit(TEXTS).transform([*TEXTS, "new"])
    np.testing.assert_array_equal(again[:-1], found)
    assert second.asked == ["new"]
    other = FunctionEncoder(second, **{**options, "name": "another"}).fit(TEXTS)
    other.transform(["night"])
    assert second.asked[-1] == "night"


def test_what_was_interrupted_goes_on(tmp_path):
    texts = [f"text {i}" for i in range(20)]
    broken, seen = Service(fails_after=12), []
    with pytest.raises(ConnectionError):
        encoded(texts, broken, batch_size=4, model="m", cache=tmp_path)
    whole = Service()
    found = encoded(
        texts, whole, batch_size=4, model="m", cache=tmp_path, progress=lambda *so: seen.append(so)
    )
    assert len(broken.asked) == 12 and not set(whole.asked) & set(broken.asked)
    assert seen == [(12, 20), (16, 20), (20, 20)]
    np.testing.assert_array_equal(found, lengths(texts))


def fill(folder, start):
    texts = [f"text {i}" for i in range(start, start + 30)]
    encoded(texts, lengths, batch_size=3, model="m", cache=folder)


def test_several_processes_share_a_cache(tmp_path):
    context = get_context("spawn")
    workers = [context.Process(target=fill, args=(tmp_path, start)) for start in (0, 15)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with sqlite3.connect(tmp_path / "vectors.sqlite") as store:
        assert store.execute("SELECT COUNT(*) FROM vectors").fetchone() == (45,)
    store.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda texts: lengths(texts)[1:], "a vector for each of 2 texts, got shape"),
        (lambda texts: [1.0] * len(texts), "a vector for each of 2 texts, got shape"),
        (lambda texts: [[np.nan]] * len(texts), "must return finite numbers"),
        (lambda _: [[1.0], [1.0, 2.0]], r"an array of shape \(2, d\), got list that is not one"),
    ],
)
def test_wrong_answers_are_refused(answer, problem):
    with pytest.raises(ValueError, match=problem):
        FunctionEncoder(answer).fit(TEXTS)


def test_other_dimensions_than_in_fit(tmp_path):
    encoder = FunctionEncoder(lengths).fit(TEXTS)
    encoder.func = lambda texts: [[1.0]] * len(texts)
    with pytest.raises(ValueError, match="must have 2 dimensions, as in fit, got 1"):
        encoder.transform(TEXTS)
    options = {"batch_size": 2, "model": "m", "cache": tmp_path}
    encoded(["a"], lengths, **options)
    with pytest.raises(
        ValueError, match=r"vectors of m must have the same length, got .*\[1, 2\]"
    ):
        encoded(["a", "b"], encoder.func, **options)


def test_a_cache_needs_a_name(tmp_path):
    with pytest.raises(ValueError, match="name must say which model the vectors in cache are of"):
        FunctionEncoder(lengths, cache=str(tmp_path)).fit(TEXTS)


def filled(file, *statements):
    """A file of vectors of "a" and "b", changed by statements."""
    encoded(["a", "b"], lengths, batch_size=2, model="m", cache=file.parent)
    with sqlite3.connect(file) as store:
        for statement in statements:
            store.execute(statement)
    store.close()


def cut(file):
    filled(file)
    file.write_bytes(file.read_bytes()[:5000])


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b"no database" * 100),
        cut,
        lambda file: filled(file, "DROP TABLE vectors", "CREATE TABLE vectors (a, b, c)"),
        lambda file: filled(file, "UPDATE vectors SET v = x'0000c07f0000c07f'"),
        lambda file: filled(file, "UPDATE vectors SET v = x'000000'"),
        lambda file: filled(file, "UPDATE vectors SET v = 'text'"),
        lambda file: filled(file, "UPDATE vectors SET v = NULL"),
        lambda file: file.mkdir(),
    ],
    ids=["garbage", "cut", "columns", "nan", "short", "text", "null", "folder"],
)
def test_a_damaged_cache_is_named(tmp_path, damage):
    damage(tmp_path / "vectors.sqlite")
    with pytest.raises(ValueError, match=r"kept in .*vectors\.sqlite: .*; choose another folder"):
        encoded(["a", "b"], lengths, batch_size=2, model="m", cache=tmp_path)


def test_a_cache_that_is_a_file_or_locked(tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    with pytest.raises(ValueError, match="vectors cannot be kept in .*taken"):
        encoded(["a"], lengths, batch_size=2, model="m", cache=tmp_path / "taken")
    filled(tmp_path / "vectors.sqlite")
    monkeypatch.setattr(_vector_cache, "PATIENCE", 0.01)
    other = sqlite3.connect(tmp_path / "vectors.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ValueError, match="vectors cannot be kept in .*: database is locked"):
        encoded(["a"], lengths, batch_size=2, model="m", cache=tmp_path)
    other.close()


@pytest.mark.parametrize("size", [1e20, 1e-24, 1e-40])
def test_huge_and_tiny_vectors_get_length_one(size):
    vectors = FunctionEncoder(lambda texts: [[3 * size, 4 * size]] * len(texts)).fit_transform(
        ["a"]
    )
    np.testing.assert_allclose(vectors, [[0.6, 0.8]], rtol=1e-4)


@pytest.mark.parametrize("name", [None, "", 3])
def test_names_of_encoders(name):
    with pytest.raises(ValueError, match="name must be 'static', a folder or the name of a model"):
        make_encoder(name)
