"""Classes in a hierarchy, as CLUS writes them: by a slow parser, and bad files."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plurilabel import datasets
from plurilabel.io import FileFormatError, read, read_arff, write_arff

TREE = """\
% made up
@RELATION 'genes'

@ATTRIBUTE size numeric
@ATTRIBUTE kind {w,n,s}
@ATTRIBUTE class  hierarchical  01, 01/02, 01/02/03,02/01
@DATA
0.5,w,01/02/03@02/01
?,?,01
% a comment
1e3,s,'02' % another
"""
GRAPH = """\
@relation go
@attribute x numeric
@attribute class hierarchical root/a,root/b,a/c,b/c,c/d
@data
1,d@b
2,root
3,a@a
"""


def read_text(tmp_path, text, **options):
    path = tmp_path / "some.arff"
    path.write_text(text)
    return read_arff(path, **options)


def test_a_tree(tmp_path):
    data = read_text(tmp_path, TREE)
    assert data.name == "genes"
    assert data.feature_names == ("size", "kind=w", "kind=n", "kind=s")
    assert_array_equal(data.X, [[0.5, 1, 0, 0], [np.nan] * 4, [1000, 0, 0, 1]])
    assert data.label_names == ("01", "01/02", "01/02/03", "02", "02/01")
    assert data.Y.format == "csr"
    assert_array_equal(data.Y.toarray(), [[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0]])
    assert data.label_parents == (-1, 0, 1, -1, 3)
    assert data.hierarchy.ancestors("01/02/03") == ["01/02", "01"]


def test_a_graph(tmp_path):
    data = read_text(tmp_path, GRAPH, name="mine")
    assert data.name == "mine" and data.label_names == ("a", "b", "c", "d")
    assert_array_equal(data.Y.toarray(), [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    assert data.label_parents == (-1, -1, (0, 1), 2)
    assert data.hierarchy.edges.tolist() == [[2, 0], [2, 1], [3, 2]]
    with pytest.raises(ValueError, match="XML holds one parent of a label, got several for 'c'"):
        write_arff(tmp_path / "out.arff", data, labels_xml=tmp_path / "out.xml")


def test_other_forms(tmp_path):
    # the classes first, in quotes, in sparse rows, on one level, packed
    first = read_text(
        tmp_path,
        "@relation r\n@attribute class hierarchical a,a/b\n@attribute x numeric\n@data\n'a/b',2\n",
    )
    assert_array_equal(first.X, [[2.0]])
    assert_array_equal(first.Y.toarray(), [[1, 1]])
    sparse = read_text(
        tmp_path,
        "@relation r\n@attribute x numeric\n@attribute y numeric\n"
        "@attribute class hierarchical b,c\n@data\n{1 3,2 c@b}\n{2 b}\n",
    )
    assert_array_equal(sparse.X.toarray(), [[0, 3], [0, 0]])
    assert_array_equal(sparse.Y.toarray(), [[1, 1], [1, 0]])
    assert sparse.label_parents is None and sparse.hierarchy is None
    packed = tmp_path / "some.arff.gz"
    packed.write_bytes(gzip.compress(TREE.encode()))
    assert_array_equal(read(packed).Y.toarray(), read_text(tmp_path, TREE).Y.toarray())
    assert read_text(tmp_path, TREE, drop=["kind"]).feature_names == ("size",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("01/02/03@02/01", "01/02/04", "line 8: 'class' must have declared classes, joined by @, "
         "got '01/02/04'; did you mean '01/02/03'"),
        ("?,?,01\n", "?,?,?\n", r"line 9: .* joined by @, got '\?'"),
        ("?,?,01\n", "?,?,\n", "line 9: .* joined by @, got ''"),
        ("?,?,01\n", "?,?,01@\n", "line 9: .* joined by @, got ''"),
        ("?,?,01\n", "z,?,01\n", "line 9: attribute 'size' must be a number, got 'z'"),
        ("?,?,01\n", "?,01\n", "line 9: expected 3 values"),
        ("'02' % another", "'02", "line 11: cannot read value 3"),
        ("02/01\n@DATA", "02//01\n@DATA", "line 6: expected paths such as a/b .* got '02//01'"),
        ("02/01\n@DATA", "root/02\n@DATA", "line 6: expected edges parent/child .* got '01'"),
        ("hierarchical  01, 01/02, 01/02/03,02/01", "hierarchical", "line 6: expected paths"),
        ("@ATTRIBUTE size numeric", "@ATTRIBUTE size hierarchical a",
         "line 6: expected one hierarchical attribute, got 'class' as a second"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path, old, new, message):
    assert old in TREE
    with pytest.raises(FileFormatError, match=message):
        read_text(tmp_path, TREE.replace(old, new))


def test_a_circle_and_labels_that_are_named(tmp_path):
    with pytest.raises(FileFormatError, match="line 3: parents must not form a cycle, got c -> d"):
        read_text(tmp_path, GRAPH.replace("c/d", "c/d,d/c"))
    with pytest.raises(ValueError, match="labels must be None for .*'class' holds them"):
        read_text(tmp_path, GRAPH, labels=["a"])


def slow(path):
    """Rows and classes by splitting lines, every class with all above it."""
    above, rows, inside = {}, [], False
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if "hierarchical" in line:
            for entry in line.split("hierarchical")[1].strip().split(","):
                parent, _, child = entry.rpartition("/")
                above.setdefault(child, set()).add(parent)
        elif inside and line.strip():
            rows.append(line.strip().split(",")[-1].split("@"))
        inside |= line.upper().startswith("@DATA")

    def closed(name):
        return {name}.union(*(closed(parent) for parent in above.get(name, ())))

    return [set().union(*map(closed, row)) - {"root", ""} for row in rows]


def test_published_files(data_folder):
    data = datasets.load("eisen_GO")
    assert (len(data.train), len(data.test), data.X.shape[0]) == (1055, 835, 2418)
    assert np.isnan(data.X).any() and len(data.hierarchy.edges) == 5034
    names, test = np.array(data.label_names), data.Y[data.test]
    sets = slow(data_folder / "hierarchies" / "eisen_GO.test.arff.gz")
    for i, expected in enumerate(sets):
        assert set(names[test[[i]].indices]) == expected
    tree = datasets.load("cellcycle_FUN", as_frame=True)
    assert tree.hierarchy.is_closed(tree.Y) and len(tree.train) + len(tree.test) == 3757 - 848
