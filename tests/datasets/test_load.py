"""Standard datasets: every row of the published table, and what happens without files."""

import gzip
import re
import shutil
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from plurilabel import datasets, io
from plurilabel.datasets import _load

# instances, training part, test part, attributes, labels, cardinality, density, label sets
PUBLISHED = {
    "yeast": (2417, 1500, 917, 103, 14, 4.237, 0.303, 198),
    "scene": (2407, 1211, 1196, 294, 6, 1.074, 0.179, 15),
    "emotions": (593, 391, 202, 72, 6, 1.868, 0.311, 27),
    "image": (2000, 1501, 499, 294, 5, 1.236, 0.247, 20),
    "image-bags": (2000, None, None, 15, 5, 1.236, 0.247, 20),
    "image-600": (600, 400, 200, 294, 5, 1.235, 0.247, 18),
    "flags": (194, 129, 65, 19, 7, 3.392, 0.485, 54),
    "foodtruck": (407, None, None, 21, 12, 2.290, 0.191, 116),
    "cal500": (502, None, None, 68, 174, 26.044, 0.150, 502),
    "genbase": (662, 463, 199, 1185, 27, 1.252, 0.046, 32),
    "medical": (978, 333, 645, 1449, 45, 1.245, 0.028, 94),
    "slashdot": (3782, 1891, 1891, 1079, 22, 1.181, 0.054, 156),
    "reuters-k500": (6000, 4014, 1986, 500, 103, 1.462, 0.014, 811),
    "bibtex": (7395, 4880, 2515, 1836, 159, 2.402, 0.015, 2856),
    "delicious": (16105, 12920, 3185, 500, 983, 19.020, 0.019, 15806),
    "20ng": (19300, 12933, 6367, 1006, 20, 1.029, 0.051, 55),
    "tmc2007-500": (28596, 21519, 7077, 500, 22, 2.158, 0.098, 1341),
    "miml-text": (2000, None, None, 243, 7, 1.154, 0.165, 25),
}
NOMINAL = {"flags", "foodtruck", "genbase"}
SPARSE = {"medical", "slashdot", "reuters-k500", "bibtex", "delicious", "20ng", "tmc2007-500"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_row_of_the_published_table(name, data_folder):
    n, train, test, attributes, q, cardinality, density, sets = PUBLISHED[name]
    data = datasets.load(name)
    found = datasets.describe(data.Y)
    assert (data.X.shape[0], data.Y.shape) == (n, (n, q))
    names = set(data.feature_names)
    if name in NOMINAL:  # one-hot columns are called attribute=value
        names = {feature.split("=")[0] for feature in names}
    assert len(names) == attributes
    assert sparse.issparse(data.X) == sparse.issparse(data.Y) == (name in SPARSE)
    assert found.cardinality == pytest.approx(cardinality, abs=0.0006)
    assert found.density == pytest.approx(density, abs=0.0006)
    assert found.diversity == sets
    if train is None:
        assert data.train is None and data.test is None
        with pytest.raises(ValueError, match=f"{name} has no published split"):
            data.holdout()
    else:
        assert (len(data.train), len(data.test)) == (train, test)
        assert_array_equal(np.sort(np.concatenate([data.train, data.test])), np.arange(n))
        assert data.holdout()[1].shape[0] == test
    assert data.citation and data.name == name


def test_the_table_has_every_dataset():
    labels = {name for name, entry in _load.catalog().items() if entry.kind == "labels"}
    assert set(PUBLISHED) == labels
    assert datasets.dataset_names() == ["digits", *_load.catalog()]


def test_the_page_shows_the_figures_of_the_catalogue():
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"(?m)^\| `([\w-]+)`.*?\| ([\d,]+) \| ([\d,]+) \| (\d+) \| ([\d.]+) \| ([\d,]+)", page
    )
    shown = {name: [float(x.replace(",", "")) for x in figures] for name, *figures in rows}
    digits = datasets.describe(datasets.load("digits"))
    entries = {
        name: entry
        for name, entry in _load.catalog().items()
        if (entry.folder == name and entry.kind == "labels") or entry.kind == "hierarchy"
    }
    assert list(shown) == ["digits", *entries]
    figures = [
        digits.instances,
        digits.features,
        digits.labels,
        digits.cardinality,
        digits.diversity,
    ]
    assert shown["digits"] == pytest.approx(figures, abs=0.0006)
    for name, e in entries.items():
        known = [e.instances, e.features, e.labels, e.cardinality, e.sets]
        # the published cardinality of emotions, 1.869, is 1.86847 rounded up
        assert shown[name] == pytest.approx(known, abs=0.0011), name


TEXTS = {
    # training, development and test part, labels, and texts of the test part with the first label
    "goemotions": (43410, 5426, 5427, 28, 504),
    "brighter-arq": (901, 100, 902, 6, 293),
    "brighter-deu": (2603, 200, 2604, 6, 776),
    "brighter-eng": (2764, 115, 2765, 5, 322),
    "brighter-ron": (1241, 123, 1119, 6, 206),
    "brighter-swe": (1187, 200, 1188, 6, 245),
    "brighter-ukr": (2466, 249, 2234, 6, 99),
}


@pytest.mark.parametrize("name", TEXTS)
def test_raw_texts(name, data_folder):
    train, dev, test, q, first = TEXTS[name]
    data = datasets.load(name)
    assert data.X.shape == (train + dev + test, 1) and data.kinds == {"text": "text"}
    assert_array_equal(data.train, np.arange(train))
    assert_array_equal(data.test, train + dev + np.arange(test))
    X_test, Y_test = data.holdout()[1], data.holdout()[3]
    assert Y_test.shape == (test, q) and Y_test[:, 0].sum() == first
    assert X_test["text"].map(lambda text: bool(text.strip())).all()


def test_texts_are_as_they_were_published(data_folder):
    data = datasets.load("goemotions")
    assert data.X["text"][0].startswith("My favourite food is anything I didn't have to cook")
    assert data.label_names[27] == "neutral" and data.Y[0].tolist() == [0] * 27 + [1]


def test_broken_texts_name_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PLURILABEL_DATA", str(tmp_path))
    (tmp_path / "goemotions").mkdir()
    for part in ("train", "dev", "test"):
        (tmp_path / "goemotions" / f"{part}.tsv").write_text("a text without labels\n")
    with pytest.raises(io.FileFormatError, match="train.tsv: expected texts and labels"):
        datasets.load("goemotions")


def test_images_have_names_and_bags_are_the_same_images(data_folder):
    flat, bags = datasets.load("image"), datasets.load("image-bags")
    assert flat.label_names == bags.label_names
    assert flat.label_names == ("desert", "mountains", "sea", "sunset", "trees")
    assert bags.X.shape == (2000, 9, 15)
    assert_array_equal(flat.Y.sum(axis=0), [409, 458, 580, 465, 560])
    assert_array_equal(bags.Y.sum(axis=0), [409, 458, 580, 465, 560])
    alone = flat.Y[flat.Y.sum(axis=1) == 1].sum(axis=0)
    assert_array_equal(alone, [340, 268, 341, 216, 378])


def test_labels_of_yeast_are_found_by_name_not_by_the_order_of_the_xml(data_folder):
    data = datasets.load("yeast")
    assert data.label_names == tuple(f"Class{j}" for j in range(1, 15))
    assert_array_equal(data.Y[data.train].sum(axis=0), _load.catalog()["yeast"].train_counts)


def test_grades_and_degrees(data_folder):
    wq, sjaffe = datasets.load("wq"), datasets.load("sjaffe")
    assert wq.X.shape == (1054, 16) and wq.Y.shape == (1054, 14)
    assert_array_equal(np.unique(wq.Y), [0, 1, 3, 5])
    assert_array_equal((wq.Y > 0).sum(axis=0)[:3], [456, 283, 305])
    assert sjaffe.X.shape == (213, 243) and sjaffe.Y.shape == (213, 6)
    assert_allclose(sjaffe.Y.sum(axis=1), 1)


def test_a_file_without_grades_is_refused(nowhere):
    folder = nowhere / "cache" / "wq"
    folder.mkdir(parents=True)
    savemat(folder / "wq.mat", {"features": np.zeros((3, 2))})
    with pytest.raises(io.FileFormatError, match="published MATLAB v5 file"):
        datasets.load("wq")
    savemat(folder / "wq.mat", {"features": np.zeros((3, 16)), "raw_data": np.zeros((3, 14))})
    with pytest.raises(ValueError, match="wq in .* has 3 instances"):
        datasets.load("wq")


def test_digits():
    data = datasets.load("digits")
    assert data.X.shape == (1797, 64) and data.Y.dtype == np.int64
    digit = load_digits().target
    even = data.Y[:, data.label_names.index("even")]
    assert_array_equal(even, digit % 2 == 0)
    square = data.Y[:, data.label_names.index("square")]
    assert_array_equal(square, np.isin(np.sqrt(digit) % 1, 0))
    assert datasets.describe(data.Y).diversity == 10


# where it is looked for --------------------------------------------------------------------


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data folder, an empty cache, and no network."""
    monkeypatch.delenv("PLURILABEL_DATA", raising=False)
    monkeypatch.setenv("PLURILABEL_CACHE", str(tmp_path / "cache"))

    def refuse(**_):
        raise URLError("no network")

    monkeypatch.setattr(_load, "fetch_openml", refuse)
    return tmp_path


def test_without_files_the_error_says_what_to_put_where(nowhere):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("bibtex")
    text = str(caught.value)
    assert "bibtex-train.arff, bibtex-test.arff, bibtex.xml" in text
    assert str(nowhere / "cache" / "bibtex") in text and "PLURILABEL_DATA" in text
    with pytest.raises(FileNotFoundError, match=r"yeast-train.*OpenML did not answer.*no network"):
        datasets.load("yeast")
    with pytest.raises(FileNotFoundError, match="put miml data.mat .*cache/image,"):
        datasets.load("image-bags")


def test_a_data_folder_that_does_not_exist(nowhere, monkeypatch):
    monkeypatch.setenv("PLURILABEL_DATA", str(nowhere / "missing"))
    with pytest.raises(FileNotFoundError, match="PLURILABEL_DATA names .*missing"):
        datasets.load("yeast")


def test_unknown_names():
    with pytest.raises(ValueError, match="unknown dataset 'yeats'; there are digits, yeast"):
        datasets.load("yeats")


def test_the_cache_is_searched_and_packed_files_are_found(nowhere, data_folder):
    folder = nowhere / "cache" / "emotions"
    folder.mkdir(parents=True)
    shutil.copy(data_folder / "emotions/emotions.xml", folder)
    for part in ("train", "test"):
        source = data_folder / f"emotions/emotions-{part}.arff"
        with gzip.open(folder / f"emotions-{part}.arff.gz", "wb") as packed:
            packed.write(source.read_bytes())
    data = datasets.load("emotions")
    assert (len(data.train), len(data.test)) == (391, 202)


def test_other_data_under_a_known_name_are_refused(nowhere, data_folder, monkeypatch):
    folder = nowhere / "data" / "emotions"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PLURILABEL_DATA", str(nowhere / "data"))
    shutil.copy(data_folder / "emotions/emotions.xml", folder)
    for part in ("train", "test"):
        shutil.copy(data_folder / "emotions/emotions-test.arff", folder / f"emotions-{part}.arff")
    with pytest.raises(ValueError, match="404 instances, but the published data have 593"):
        datasets.load("emotions")


# OpenML --------------------------------------------------------------------------------------


def bunch_of(data):
    """What scikit-learn's fetcher returns for OpenML's copy: labels as the words TRUE, FALSE."""
    target = pd.DataFrame(np.where(data.Y, "TRUE", "FALSE"), columns=data.label_names)
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    return Bunch(data=frame, target=target.astype("category"))


@pytest.mark.parametrize(("name", "swapped"), [("emotions", False), ("yeast", True)])
def test_download_finds_the_split_again_and_keeps_a_copy(
    name, swapped, nowhere, data_folder, monkeypatch
):
    monkeypatch.setenv("PLURILABEL_DATA", str(data_folder))
    known = datasets.load(name)
    monkeypatch.delenv("PLURILABEL_DATA")
    order = np.concatenate([known.test, known.train] if swapped else [known.train, known.test])
    copy = datasets.Dataset(known.X[order], known.Y[order], known.feature_names, known.label_names)
    calls = []

    def fetch(**options):
        calls.append(options["data_id"])
        return bunch_of(copy)

    monkeypatch.setattr(_load, "fetch_openml", fetch)
    first, second = datasets.load(name), datasets.load(name)
    assert calls == [_load.catalog()[name].openml]
    for data in (first, second):
        for mine, wanted in zip(data.holdout(), known.holdout()):
            assert_array_equal(mine, wanted)
        assert data.label_names == known.label_names
    left = sorted(path.name for path in (nowhere / "cache" / name).iterdir())
    assert left == [f"{name}.arff.gz", f"{name}.xml"]


def test_download_of_something_else_is_refused_and_not_kept(nowhere, monkeypatch):
    data = datasets.load("digits")
    monkeypatch.setattr(_load, "fetch_openml", lambda **_: bunch_of(data))
    with pytest.raises(ValueError, match="yeast in OpenML dataset 40597 has 1797 instances, but"):
        datasets.load("yeast")
    assert not (nowhere / "cache" / "yeast").exists()


def test_strange_words_for_labels_are_refused(nowhere, monkeypatch):
    bunch = bunch_of(datasets.load("digits"))
    bunch.target["even"] = "perhaps"
    monkeypatch.setattr(_load, "fetch_openml", lambda **_: bunch)
    match = "column 'even', row 0: expected a label 0 or 1, got 'perhaps'"
    with pytest.raises(ValueError, match=match):
        datasets.load("yeast")


@pytest.mark.parametrize(
    ("platform", "variable", "value", "wanted"),
    [
        ("linux", "XDG_CACHE_HOME", "/x", "/x/plurilabel"),
        ("linux", "XDG_CACHE_HOME", "", "/home/me/.cache/plurilabel"),
        ("darwin", "HOME", "/home/me", "/home/me/Library/Caches/plurilabel"),
        ("win32", "LOCALAPPDATA", "/local", "/local/plurilabel"),
        ("linux", "PLURILABEL_CACHE", "/here", "/here"),
    ],
)
def test_cache_folder(monkeypatch, platform, variable, value, wanted):
    monkeypatch.delenv("PLURILABEL_CACHE", raising=False)
    monkeypatch.setattr(_load.sys, "platform", platform)
    monkeypatch.setattr(_load.Path, "home", lambda: _load.Path("/home/me"))
    monkeypatch.setenv(variable, value)
    assert _load.cache_folder().as_posix() == wanted
