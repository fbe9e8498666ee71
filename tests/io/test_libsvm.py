import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from plurilabel.datasets import Dataset
from plurilabel.io import FileFormatError, read_libsvm, write_libsvm

TEXT = """\
# a comment, and a blank line

1,5 3:0.5 4:2   # two labels
 1:1
0
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "toy.svm").write_text(TEXT)
    return tmp_path / "toy.svm"


def test_reads_the_format(path):
    data = read_libsvm(path)
    assert isinstance(data.X, sparse.csr_array)
    assert isinstance(data.Y, sparse.csr_array)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 0, 0.5, 2], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(
        data.Y.toarray(), [[0, 1, 0, 0, 0, 1], [0] * 6, [1, 0, 0, 0, 0, 0]]
    )
    assert data.label_names == tuple(f"label{j}" for j in range(6))
    assert data.name == "toy"


def test_sizes_names_and_numbering(path):
    data = read_libsvm(path, n_features=7, n_labels=8, name="other")
    assert (data.X.shape, data.Y.shape, data.name) == ((3, 7), (3, 8), "other")
    data = read_libsvm(path, zero_based=True, label_names="abcdef")
    assert data.X.indices.tolist() == [3, 4, 1]
    assert data.X.shape == (3, 5)
    assert data.label_names == tuple("abcdef")
    path.write_text("0 0:1 2:1\n")
    assert read_libsvm(path).X.indices.tolist() == [0, 2]
    path.write_text("0\n")
    assert read_libsvm(path).X.shape == (1, 0)
    path.write_text(" 2:1\n")
    assert read_libsvm(path).Y.shape == (1, 0)


@pytest.mark.parametrize(
    ("text", "options", "line", "problem"),
    [
        ("", {}, None, "expected at least one row, got none"),
        ("# nothing\n\n", {}, None, "expected at least one row, got none"),
        ("# rows:\n0 2:1\n1 x:1", {}, 3, "expected a feature number before the colon, got 'x:1'"),
        ("0 qid:3 1:1", {}, 1, "expected a feature number before the colon, got 'qid:3'"),
        ("+1 1:1", {}, 1, "expected a label (a number from 0 on), got '+1'"),
        ("0 1:# 2", {}, 1, "expected a number after '1:', got ''"),
        ("0 1:1\n0 0:1", {"zero_based": False}, 2, "expected feature numbers from 1 (zero_based"),
        ("0 1:1\n0 4:1", {"n_features": 3}, 2, "expected feature numbers below 4 (n_features=3)"),
        ("0 0:1\n0 3:1", {"n_features": 3}, 2, "expected feature numbers below 3 (n_features=3)"),
        ("0\n1,2 1:1", {"n_labels": 2}, 2, "expected label numbers below 2 (n_labels=2), got 2"),
        ("0\n9", {"label_names": "ab"}, 2, "expected label numbers below 2 (the number of label_"),
        ("1 1:2\n\n3,3 1:1", {}, 3, "expected each label once, got label 3 twice"),
    ],
)
def test_broken_files(tmp_path, text, options, line, problem):
    path = tmp_path / "broken.svm"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_libsvm(path, **options)
    assert caught.value.line == line
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto', got 'yes'"),
        ({"n_labels": 3, "label_names": "ab"}, "n_labels is 3, but label_names has 2 entries"),
        ({"n_labels": -1}, "n_labels must be at least 0, got -1"),
        ({"n_features": -2}, "n_features must be at least 0, got -2"),
    ],
)
def test_wrong_parameters(path, options, message):
    with pytest.raises(ValueError, match=message):
        read_libsvm(path, **options)


@st.composite
def datasets(draw):
    n, d, q = draw(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)))
    numbers = st.just(0.0) | st.floats()
    X = draw(hnp.arrays(np.float64, (n, d), elements=numbers))
    Y = draw(hnp.arrays(np.int64, (n, q), elements=st.integers(0, 1)))
    return Dataset(X, Y, tuple(f"f{j}" for j in range(d)), tuple(f"l{j}" for j in range(q)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libsvm")


@settings(deadline=None)
@given(data=datasets(), suffix=st.sampled_from([".svm", ".svm.gz"]), zero=st.booleans())
def test_round_trip(folder, data, suffix, zero):
    path = folder / f"data{suffix}"
    write_libsvm(path, data, zero_based=zero)
    d, q = data.X.shape[1], data.Y.shape[1]
    back = read_libsvm(path, n_features=d, n_labels=q, zero_based=zero)
    np.testing.assert_array_equal(back.X.toarray(), data.X)
    np.testing.assert_array_equal(back.Y.toarray(), data.Y)
    if not zero:
        back = read_libsvm(path, n_features=d, label_names=data.label_names)
        np.testing.assert_array_equal(back.X.toarray(), data.X)
        assert back.label_names == data.label_names


@settings(deadline=None)
@given(data=datasets())
def test_scikit_learn_reads_what_we_write(folder, data):
    path = folder / "peer.svm"
    write_libsvm(path, data)
    d, q = data.X.shape[1], data.Y.shape[1]
    X, labels = load_svmlight_file(path, n_features=d, multilabel=True, zero_based=False)
    np.testing.assert_array_equal(X.toarray(), data.X)
    np.testing.assert_array_equal(
        MultiLabelBinarizer(classes=range(q)).fit_transform(labels), data.Y
    )


def test_no_features_cannot_be_written(tmp_path):
    data = Dataset(np.zeros((1, 0)), np.ones((1, 1)), (), ("a",))
    with pytest.raises(ValueError, match="dataset.X must have at least one feature"):
        write_libsvm(tmp_path / "a.svm", data)
