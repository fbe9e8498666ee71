"""What is written is read back as it was."""

import dataclasses
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel._core.blocks import dense
from plurilabel.datasets import Dataset, UnknownLabels
from plurilabel.io import FileFormatError, read_arff, write_arff
from tests.io.arff_twin import assert_same_bits

names = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("'\"\\%,{}? \t\n\r\x1eu0n")
    ),
    max_size=8,
)
xml_names = st.text(
    st.one_of(
        st.characters(min_codepoint=32, max_codepoint=0xFFFD, exclude_categories=["Cs"]),
        st.sampled_from("'\"\\%,{}<>&\t\n\r"),
    ),
    max_size=8,
)


@st.composite
def datasets(draw, label=names):
    n, d, q = draw(st.integers(1, 5)), draw(st.integers(0, 4)), draw(st.integers(1, 4))
    numbers = st.one_of(st.sampled_from([0.0, 0.0, 1.0, 2.0]), st.floats(width=64))
    X = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d)), dtype=float).reshape(
        n, d
    )
    bits = draw(st.lists(st.integers(0, 1), min_size=n * q, max_size=n * q))
    Y = np.array(bits, dtype=np.int64).reshape(n, q)
    label_names = draw(st.lists(label, min_size=q, max_size=q, unique=True))
    feature_names = draw(
        st.lists(names.filter(lambda x: x not in label_names), min_size=d, max_size=d, unique=True)
    )
    train = test = None
    if n > 1 and draw(st.booleans()):
        k = draw(st.integers(1, n - 1))
        train, test = np.arange(k), np.arange(k, n)
    name = draw(names.filter(lambda x: not re.search(r":\s*-", x)))
    if draw(st.booleans()):
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    return Dataset(X, Y, tuple(feature_names), tuple(label_names), train, test, name)


def assert_same(got, data):
    assert_same_bits(got.X, data.X)
    assert_same_bits(got.Y, data.Y)
    for what in ("feature_names", "label_names", "name", "label_parents"):
        assert getattr(got, what) == getattr(data, what)
    for what in ("train", "test"):
        np.testing.assert_array_equal(getattr(got, what), getattr(data, what))


@settings(max_examples=100, deadline=None)
@given(
    data=datasets(),
    as_sparse=st.sampled_from([None, True, False]),
    end=st.sampled_from(["", ".gz"]),
)
def test_what_is_written_is_read_back(data, as_sparse, end):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x.arff{end}")
        write_arff(path, data, sparse=as_sparse)
        assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(end)
        got = read_arff(path)
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
    assert_same(got, data)
    expected = sparse.issparse(data.X) if as_sparse is None else as_sparse
    assert sparse.issparse(got.X) == sparse.issparse(got.Y) == expected
    if not expected:  # the sign of zero, too
        assert got.X.tobytes() == np.where(np.isnan(X := dense(data.X)), np.nan, X).tobytes()


@settings(max_examples=100, deadline=None)
@given(
    data=datasets(label=xml_names), parents=st.lists(st.integers(-1, 3), min_size=4, max_size=4)
)
def test_what_is_written_with_xml_is_read_back(data, parents):
    q = data.Y.shape[1]
    # a label may only hang below an earlier one, so there is no circle
    parents = tuple(min(parent, label - 1) for label, parent in enumerate(parents[:q]))
    data = dataclasses.replace(data, label_parents=parents if max(parents) >= 0 else None)
    with tempfile.TemporaryDirectory() as folder:
        path, xml = Path(folder, "x-train.arff"), Path(folder, "x.xml")
        write_arff(path, data, labels_xml=xml)
        beside = read_arff(path)
        named = read_arff(path, xml)
        xml.unlink()
        with pytest.raises(FileFormatError, match="which attributes are labels"):
            read_arff(path)
    assert_same(beside, data)
    assert_same(named, data)


def test_write_leaves_its_input_alone_and_sees_through_untidy_csr(tmp_path):
    # twice the same place, columns not in order, a stored zero
    X = sparse.csr_array(
        (np.array([1.0, 2, 0, 4]), np.array([2, 0, 1, 2]), np.array([0, 4, 4])), shape=(2, 3)
    )
    Y = sparse.csr_matrix(np.array([[0, 1], [0, 0]]))
    before = X.copy()
    write_arff(tmp_path / "x.arff", Dataset(X, Y, tuple("abc"), tuple("yz")))
    assert (tmp_path / "x.arff").read_text().split("@data\n")[1] == "{1 1,2 2,4 5}\n{}\n"
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, part), getattr(before, part))


def test_citation_becomes_a_comment(tmp_path):
    data = Dataset(np.ones((1, 1)), np.ones((1, 1), int), ("a",), ("y",), citation="A. B.\n@data")
    write_arff(tmp_path / "x.arff", data)
    assert (tmp_path / "x.arff").read_text().startswith("% A. B.\n% @data\n@relation ': -C 1'\n")
    np.testing.assert_array_equal(read_arff(tmp_path / "x.arff").X, data.X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((2, 3, 1))}, r"dataset\.X must be a matrix \(n, d\), got bags"),
        ({"Y": np.array([[2], [0]])}, r"dataset\.Y must hold only 0 and 1, got 2 in row 0"),
        ({"X": np.ones((0, 1)), "Y": np.ones((0, 1))}, "must have rows and labels, got 0 rows"),
        ({"Y": np.ones((2, 0)), "label_names": ()}, "got 2 rows and 0 labels"),
        ({"feature_names": ("y",)}, "must have different names .* got 'y' twice"),
        ({"feature_names": ("\ud800",)}, "feature_names must be valid Unicode"),
        ({"name": "\ud800"}, "name and citation of a dataset must be valid Unicode"),
        ({"name": "a: -C 5"}, r"dataset\.name must not hold ': -'"),
        ({"label_parents": (-1,)}, "hierarchy .* which only XML holds: pass labels_xml="),
        ({"train": np.array([1]), "test": np.array([0])}, "split .* other than first rows"),
        ({"train": np.arange(2)}, r"split \(train, test\) other than first rows"),
        ({"train": np.array([0]), "test": np.array([], int)}, r"split \(train, test\) other than"),
    ],
)  # fmt: skip
def test_what_arff_cannot_hold_is_refused(tmp_path, changes, message):
    data = Dataset(np.ones((2, 1)), np.ones((2, 1), int), ("a",), ("y",), name="toy")
    with pytest.raises(ValueError, match=message):
        write_arff(tmp_path / "x.arff", dataclasses.replace(data, **changes))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", ["{0,1}", "{yes,no}", "numeric"])
def test_labels_that_are_not_known(tmp_path, values):
    Y = np.array([[1, np.nan], [np.nan, 0], [0, 1]])
    path = tmp_path / "labels.arff"
    for X in (np.eye(3), sparse.csr_array(np.eye(3))):
        write_arff(path, Dataset(X, Y))
        found = read_arff(path)
        is_sparse = sparse.issparse(X)
        assert isinstance(found.Y, UnknownLabels) == is_sparse
        np.testing.assert_array_equal(found.Y.toarray() if is_sparse else found.Y, Y)
        write_arff(path, found)
        again = read_arff(path).Y
        np.testing.assert_array_equal(again.toarray() if is_sparse else again, Y)
    word = {"{0,1}": "01", "{yes,no}": ("no", "yes"), "numeric": "01"}[values]
    text = f"@relation 'r: -C 1'\n@attribute y {values}\n@attribute x numeric\n@data\n"
    path.write_text(f"{text}{word[1]},2\n?,3\n{word[0]},1\n")
    np.testing.assert_array_equal(read_arff(path).Y.ravel(), [1, np.nan, 0])
    path.write_text(f"{text}{{0 {word[1]}}}\n{{0 ?}}\n{{0 {word[0]}}}\n")
    np.testing.assert_array_equal(read_arff(path).Y.toarray().ravel(), [1, np.nan, 0])
