"""Which attributes are labels, and real files against a slow reader."""

import gzip
import re

import numpy as np
import pytest
from scipy import sparse

from plurilabel._core.blocks import dense
from plurilabel.io import FileFormatError, read_arff, read_label_xml, write_label_xml
from tests.io.arff_twin import assert_is_twin, read

# instances of the files, attributes that are features, labels, LC and label sets of all together
REAL = {
    "yeast": (["yeast-train.arff", "yeast-test.arff"], [1500, 917], 103, 14, 4.237, 198),
    "scene": (["scene-train.arff", "scene-test.arff"], [1211, 1196], 294, 6, 1.074, 15),
    "emotions": (["emotions-train.arff", "emotions-test.arff"], [391, 202], 72, 6, 1.869, 27),
    "image": (["image-train.arff", "image-test.arff"], [1501, 499], 294, 5, 1.236, 20),
    "flags": (["flags-train.arff", "flags-test.arff"], [129, 65], 19, 7, 3.392, 54),
    "foodtruck": (["foodtruck.arff"], [407], 21, 12, 2.290, 116),
    "cal500": (["cal500.arff"], [502], 68, 174, 26.044, 502),
    "genbase": (
        ["genbase-train.arff.gz", "genbase-test.arff.gz"],
        [463, 199], 1186, 27, 1.252, 32,
    ),
    "medical": (["medical-train.arff", "medical-test.arff"], [333, 645], 1449, 45, 1.245, 94),
    "slashdot": (["SLASHDOT-F.arff"], [3782], 1079, 22, 1.181, 156),
    "reuters-k500": (
        ["reuters-k500-train.arff", "reuters-k500-test.arff"],
        [4014, 1986], 500, 103, 1.462, 811,
    ),
    "bibtex": (
        ["bibtex-train.arff.gz", "bibtex-test.arff.gz"],
        [4880, 2515], 1836, 159, 2.402, 2856,
    ),
    "delicious": (
        ["delicious-train.arff.gz", "delicious-test.arff.gz"],
        [12920, 3185], 500, 983, 19.020, 15806,
    ),
    "20ng": (["20ng-train.arff.gz", "20ng-test.arff.gz"], [12933, 6367], 1006, 20, 1.029, 55),
    "tmc2007-500": (
        ["tmc2007-500-train.arff.gz", "tmc2007-500-test.arff.gz"],
        [21519, 7077], 500, 22, 2.158, 1341,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_have_the_known_figures(data_folder, name):
    files, sizes, d, q, cardinality, n_sets = REAL[name]
    parts = [read_arff(data_folder / name / file) for file in files]
    assert [part.X.shape[0] for part in parts] == sizes
    for part in parts:
        features = part.feature_names
        if name in ("flags", "foodtruck", "genbase"):  # with nominal attributes of many values
            features = {feature.split("=")[0] for feature in features}
        assert len(features) == d
        assert part.Y.shape[1] == q
        assert part.X.dtype == np.float64 and part.Y.dtype == np.int64
        assert part.feature_names == parts[0].feature_names
        assert part.label_names == parts[0].label_names
    Y = [dense(part.Y) for part in parts]
    # the published figure of emotions, 1.869, is 1.86847 rounded up
    assert np.vstack(Y).sum(axis=1).mean() == pytest.approx(cardinality, abs=6e-4)
    assert len({row.tobytes() for part in Y for row in part}) == n_sets


SMALL = [
    "flags/flags.arff",
    "foodtruck/foodtruck.arff",
    "emotions/emotions-test.arff",
    "medical/medical-train.arff",
    "reuters-k500/reuters-k500-test.arff",
    "genbase/genbase-test.arff.gz",
    "slashdot/SLASHDOT-F.arff",
]


@pytest.mark.parametrize("file", SMALL)
def test_real_files_equal_the_twin(data_folder, file):
    path = data_folder / file
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode()
    drop = ["protein"] if "genbase" in file else []
    data = read_arff(path, drop=drop)
    xml = path.parent / f"{path.parent.name}.xml"
    if xml.exists():
        labels = read_label_xml(xml)[0]
    else:
        labels = re.findall(r"(?m)^@attribute (\S+)", text)[:22]
    assert sparse.issparse(data.X) == sparse.issparse(data.Y) == ("\n{" in text)
    assert_is_twin(data, text, labels, drop)


def test_whole_file_is_the_union_of_its_parts(data_folder):
    folder = data_folder / "medical"
    whole, *parts = (read_arff(folder / f"medical{part}.arff") for part in ("", "-train", "-test"))
    for side in "XY":
        rows = [sorted(map(bytes, dense(getattr(data, side)))) for data in (whole, *parts)]
        assert rows[0] == sorted(rows[1] + rows[2])


def test_slashdot_split_and_names(data_folder):
    data = read_arff(data_folder / "slashdot" / "SLASHDOT-F.arff")
    assert data.name == "Slashdot"
    assert data.label_names[:2] == ("Entertainment", "Interviews")
    np.testing.assert_array_equal(data.train, np.arange(1891))
    np.testing.assert_array_equal(data.test, np.arange(1891, 3782))


def test_medical_without_its_xml_is_not_guessed(data_folder, tmp_path):
    # the relation says -C 45, but a filter has moved the labels to the end
    path = tmp_path / "medical.arff"
    path.write_bytes((data_folder / "medical" / "medical.arff").read_bytes())
    with pytest.raises(FileFormatError, match="a WEKA filter changed the attributes"):
        read_arff(path)
    assert read_arff(path, -45).label_names[0] == "Class-0-593_70"


def test_yeast_labels_are_in_the_order_of_the_columns(data_folder):
    folder = data_folder / "yeast"
    in_xml, _ = read_label_xml(folder / "yeast.xml")
    in_data = read_arff(folder / "yeast-test.arff").label_names
    assert in_data == tuple(f"Class{l}" for l in range(1, 15))
    assert set(in_xml) == set(in_data) and in_xml != in_data


# which attributes are labels ------------------------------------------------------------------

FOUR = "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd") + "@data\n0,1,1,0\n"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(1, "a"), (3, "abc"), (-1, "d"), (np.int64(-2), "cd"), (["c", "a"], "ac"), (("d",), "d"),
     (np.array(["b", "a"]), "ab")],
)  # fmt: skip
def test_labels_by_number_and_by_name(labels, expected):
    data = read(FOUR, labels)
    assert "".join(data.label_names) == expected
    assert "".join(data.feature_names) == "".join(c for c in "abcd" if c not in expected)
    np.testing.assert_array_equal(data.Y[0], [int(c in "bc") for c in expected])


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (0, ValueError, "labels must be between 1 and the 4 attributes of .*, got 0"),
        (5, ValueError, "labels must be between 1 and the 4 attributes of .*, got 5"),
        (-5, ValueError, "got -5"),
        (True, TypeError, "labels must be the path of an XML file, .* got True"),
        (1.5, TypeError, "got 1.5"),
        ([], ValueError, "labels must name at least one attribute, got none"),
        (["a", "e"], ValueError, "labels must name attributes of .*some.arff, got 'e'"),
        (["a", "a"], ValueError, "labels must name each attribute once"),
        (None, FileFormatError, "which attributes are labels.*no XML file.*pass labels="),
    ],
)
def test_labels_that_do_not_fit(labels, error, message):
    with pytest.raises(error, match=message):
        read(FOUR, labels)


def test_labels_that_may_be_missing(tmp_path):
    for labels, expected in ((["e", "c"], "c"), (["e"], ""), ([], "")):
        data = read(FOUR, labels, require_labels=False)
        assert "".join(data.label_names) == expected
        assert "".join(data.feature_names) == "".join(c for c in "abcd" if c not in expected)
        assert data.Y.shape == (1, len(expected)) and data.label_parents is None
    sparse_rows = read(FOUR.replace("0,1,1,0", "{1 1,2 1}"), ["e"], require_labels=False)
    np.testing.assert_array_equal(sparse_rows.X.toarray(), [[0, 1, 1, 0]])
    assert sparse_rows.Y.shape == (1, 0)
    (tmp_path / "my.arff").write_text(FOUR)
    write_label_xml(tmp_path / "my.xml", ["e", "a", "c"], [-1, 0, 1])
    data = read_arff(tmp_path / "my.arff", require_labels=False)
    assert (data.label_names, data.label_parents) == (("a", "c"), (-1, 0))
    with pytest.raises(ValueError, match="labels must name each attribute once"):
        read(FOUR, ["a", "a"], require_labels=False)


def test_labels_from_the_relation():
    for option, expected in (("-C 2", "ab"), ("-C -1", "d"), ("-x 3 -C 1 -y", "a")):
        data = read(f"@relation 'my data: {option}'\n" + FOUR)
        assert ("".join(data.label_names), data.name) == (expected, "my data")
    assert read(f"@relation my-data: -C 3\n{FOUR}").name == "my-data"
    assert read("@relation 'a: b'\n" + FOUR, 1).name == "a: b"
    assert read("@relation 'r: -C 1'\n" + FOUR, 2, name="mine").name == "mine"
    for option in ("-C 0", "-C 5"):
        with pytest.raises(FileFormatError, match="n from 1 to 4 attributes, got"):
            read(f"@relation 'r: {option}'\n" + FOUR)


def test_labels_from_the_xml_file_beside(tmp_path):
    write_label_xml(tmp_path / "my.xml", ["c", "b"])
    for name in ("my.arff", "my-train.arff.gz", "my-test.arff", "my.ARFF"):
        opened = gzip.open if name.endswith(".gz") else open
        with opened(tmp_path / name, "wb") as stream:
            # explicit names win over the number in the relation
            stream.write(f"@relation 'r: -C 1'\n{FOUR}".encode())
        assert read_arff(tmp_path / name).label_names == ("b", "c")
    (tmp_path / "other.arff").write_text(FOUR)
    with pytest.raises(FileFormatError, match="which attributes are labels"):
        read_arff(tmp_path / "other.arff")


def test_hierarchy_is_kept(tmp_path):
    (tmp_path / "my.arff").write_text(FOUR)
    (tmp_path / "my.xml").write_text(
        '<labels><label name="d"><label name="a"><label name="c"/></label></label></labels>'
    )
    data = read_arff(tmp_path / "my.arff")
    assert data.label_names == ("a", "c", "d")
    assert data.label_parents == (2, 0, -1)
    write_label_xml(tmp_path / "my.xml", ["a", "b"])
    assert read_arff(tmp_path / "my.arff").label_parents is None


def test_label_of_the_xml_that_is_no_attribute(tmp_path):
    (tmp_path / "my.arff").write_text(FOUR.replace("attribute a", "attribute apple"))
    (tmp_path / "my.xml").write_text('<labels>\n<label name="b"/>\n<label name="aple"/></labels>')
    with pytest.raises(
        FileFormatError,
        match=r"my\.xml, line 3: label 'aple' is not an attribute of .*; did you mean 'apple'",
    ):
        read_arff(tmp_path / "my.arff")


def test_drop():
    text = FOUR.replace("@attribute b {0,1}", "@attribute b string").replace(
        "0,1,1,0", "0,'x, y',1,0"
    )
    data = read(text, ["c"], drop=["b"])
    assert data.feature_names == ("a", "d")
    np.testing.assert_array_equal(data.X, [[0, 0]])
    data = read(text.replace("0,'x, y',1,0", "{1 'x, y',2 1}"), ["c"], drop=["b", "d"])
    assert data.feature_names == ("a",)
    np.testing.assert_array_equal(data.Y.toarray(), [[1]])
    with pytest.raises(
        FileFormatError, match=r"line 2: attribute 'b' is of type string, .* drop=\['b'\]"
    ):
        read(text, ["c"])
    with pytest.raises(FileFormatError, match="label 'b' must be .* got string"):
        read(text, ["b"])
    with pytest.raises(ValueError, match="drop must not name labels, got 'c'"):
        read(text, ["c"], drop=["b", "c"])
    with pytest.raises(ValueError, match="drop must name attributes of .*, got 'e'"):
        read(text, ["c"], drop=["e"])
    with pytest.raises(TypeError, match="drop must be a sequence of names, got the string 'b'"):
        read(text, ["c"], drop="b")


def test_split_number_outside_of_the_rows_is_reported():
    with pytest.warns(
        UserWarning, match="-split-number 9, but there are 1 rows; the dataset has no"
    ):
        data = read("@relation 'r: -C 1 -split-number 9'\n" + FOUR)
    assert data.train is None and data.test is None


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arff(tmp_path / "none.arff")
