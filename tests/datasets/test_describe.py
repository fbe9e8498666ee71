"""describe against plain loops over Python sets, and against the published figures."""

import gzip
import json
import pickle
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import combinations, pairwise
from math import inf, isnan, nan, prod, sqrt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel.datasets import Dataset, describe, make_sparse_multilabel

label_matrices = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
)


def slow_description(Y):
    """All figures from their definitions, with Python's sets and loops."""
    n, q = len(Y), len(Y[0])
    sets = [frozenset(l for l in range(q) if row[l]) for row in Y]
    counts = [sum(l in s for s in sets) for l in range(q)]
    ir = [max(counts) / c if c else inf for c in counts]
    present = [x for x in ir if x < inf]
    mean_ir = sum(present) / len(present) if present else nan
    cvir = nan
    if len(present) > 1:
        cvir = sqrt(sum((x - mean_ir) ** 2 for x in present) / (len(present) - 1)) / mean_ir

    def scumble(s):
        if not s:
            return 0.0
        return 1 - prod(ir[l] for l in s) ** (1 / len(s)) / (sum(ir[l] for l in s) / len(s))

    return {
        "instances": n,
        "labels": q,
        "counts": counts,
        "cardinality": sum(map(len, sets)) / n,
        "density": sum(map(len, sets)) / n / q,
        "diversity": len(set(sets)),
        "normalized_diversity": len(set(sets)) / n,
        "single_label": sum(len(s) == 1 for s in sets),
        "no_label": sum(len(s) == 0 for s in sets),
        "irlbl": ir,
        "mean_ir": mean_ir,
        "cvir": cvir,
        "scumble": sum(map(scumble, sets)) / n,
        "label_scumble": [
            sum(scumble(s) for s in sets if l in s) / counts[l] if counts[l] else nan
            for l in range(q)
        ],
    }


@settings(max_examples=80, deadline=None)
@given(label_matrices)
def test_all_figures_equal_the_definitions(Y):
    expected = slow_description(Y.tolist())
    for form in (Y, Y.astype(bool), sparse.csr_array(Y), sparse.csc_matrix(Y)):
        found = describe(form)
        for key, value in expected.items():
            assert_allclose(getattr(found, key), value, rtol=1e-12, atol=1e-12, err_msg=key)


@settings(max_examples=100, deadline=None)
@given(label_matrices)
def test_sets_and_pairs_equal_the_definitions(Y):
    found = describe(Y)
    n, q = Y.shape
    sets = Counter(tuple(np.flatnonzero(row).tolist()) for row in Y)
    first_of = {s: i for i, s in reversed(list(enumerate(map(tuple, map(np.flatnonzero, Y)))))}
    in_order = sorted(sets, key=lambda s: (-sets[s], first_of[s]))
    assert [
        (tuple(row["labels"]), row["count"], row["share"]) for row in found.common_sets(1000)
    ] == [(tuple(f"label{l}" for l in s), sets[s], sets[s] / n) for s in in_order]

    together = [[sum(row[a] and row[b] for row in Y) for b in range(q)] for a in range(q)]
    assert_array_equal(found.cooccurrence.toarray(), together)

    pairs = [(a, b) for a, b in combinations(range(q), 2) if together[a][b]]
    pairs.sort(key=lambda pair: (-together[pair[0]][pair[1]], pair))
    for top in (1000, 3, 0):
        rows = found.common_pairs(top)
        assert [row["labels"] for row in rows] == [
            [f"label{a}", f"label{b}"] for a, b in pairs[:top]
        ]
        for row, (a, b) in zip(rows, pairs):
            assert row["count"] == together[a][b]
            independent = together[a][a] * together[b][b] / n
            assert row["lift"] == pytest.approx(together[a][b] / independent)


def test_sets_whose_numbers_share_bytes_are_kept_apart():
    # 256 and 1, or 65536 and 1, have the same bytes in another order
    sets = [[1], [256], [65536], [1, 256], [256, 65536], [1, 65536], [], [1]]
    rows = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    columns = np.concatenate(sets).astype(int)
    Y = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(sets), 70_000))
    found = describe(Y)
    assert found.diversity == 7
    assert found.common_sets(1) == [{"labels": ["label1"], "count": 2, "share": 0.25}]


def test_large_sparse_labels_are_not_densified():
    # dense, these labels would take 20 GB
    Y = make_sparse_multilabel(50_000, 10, 400_000, nnz_per_row=1, random_state=0).Y
    found = describe(Y)
    assert found.counts.sum() == Y.nnz
    rows = (tuple(Y.indices[a:b].tolist()) for a, b in pairwise(Y.indptr))
    assert sorted(Counter(rows).values(), reverse=True) == found.set_counts.tolist()
    assert "400000" in str(found)


def test_input_is_not_changed():
    # unsorted indices, a stored zero, a read-only buffer
    Y = sparse.csr_array(
        (np.array([1, 1, 0, 1]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    Y.data.flags.writeable = False
    before = Y.data.tolist(), Y.indices.tolist(), Y.indptr.tolist()
    assert describe(Y).common_sets()[0]["labels"] == ["label0", "label2"]
    assert (Y.data.tolist(), Y.indices.tolist(), Y.indptr.tolist()) == before


def test_names_come_from_where_they_are():
    Y = [[1, 0], [1, 1]]
    data = Dataset(np.zeros((2, 3)), np.array(Y), ("a", "b", "c"), ("red", "blue"), name="toy")
    for given_labels in (data, pd.DataFrame(Y, columns=["red", "blue"])):
        assert describe(given_labels).label_names == ("red", "blue")
        assert describe(given_labels, label_names=["x", "y"]).label_names == ("x", "y")
    assert describe(pl.DataFrame(Y, schema=["red", "blue"], orient="row")).cardinality == 1.5
    assert describe(data).name == "toy" and describe(data).features == 3
    assert describe(data, name="other").name == "other"
    assert describe(Y).features is None
    assert describe(Y, X=[[1, 2, 3, 4], [5, 6, 7, 8]]).features == 4
    assert describe(Y, X=sparse.csr_matrix((2, 9))).features == 9
    assert describe(Y, X=np.zeros((2, 9, 15))).features == 15  # bags of instances


def test_errors_say_what_was_expected():
    Y = [[1, 0], [1, 1]]
    data = Dataset(np.zeros((2, 1)), np.array(Y), ("a",), ("red", "blue"))
    with pytest.raises(ValueError, match="X must not be given with a Dataset"):
        describe(data, X=[[1], [2]])
    with pytest.raises(ValueError, match=r"X must have 2 rows like Y, got shape \(3, 1\)"):
        describe(Y, X=[[1], [2], [3]])
    with pytest.raises(ValueError, match="X must have 2 rows"):
        describe(Y, X=[1, 2])
    with pytest.raises(ValueError, match="label_names must have 2 entries, one per label, got 1"):
        describe(Y, label_names=["red"])
    with pytest.raises(ValueError, match="Y must hold only 0 and 1, got 2 in row 0, column 1"):
        describe([[1, 2]])
    for empty in (np.zeros((0, 3)), np.zeros((3, 0)), sparse.csr_array((0, 3))):
        with pytest.raises(ValueError, match="at least one row and one label, got shape"):
            describe(empty)


def test_undefined_figures_are_nan_and_none_in_json():
    found = describe([[0, 0]])
    assert isnan(found.mean_ir) and isnan(found.cvir) and found.scumble == 0
    assert found.never_present() == ["label0", "label1"]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["mean_ir"] is None and told["label_table"][0]["irlbl"] is None
    assert "MeanIR)            -" in str(found)
    assert isnan(describe([[1], [0]]).cvir)  # one label has no spread


def test_to_dict_is_json_and_holds_the_figures():
    Y = [[1, 0, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0]]
    found = describe(Y, X=np.zeros((4, 2)), label_names=["sun", "sea", "sand"], name="holidays")
    told = json.loads(json.dumps(found.to_dict(top=1), allow_nan=False))
    assert told["common_pairs"] == [
        {"labels": ["sun", "sand"], "count": 2, "share": 0.5, "lift": 4 / 3}
    ]
    assert told["common_sets"] == [{"labels": ["sun", "sand"], "count": 1, "share": 0.25}]
    table = told["label_table"]
    assert [row["label"] for row in table] == ["sun", "sea", "sand"]
    assert [row["count"] for row in table] == [3, 1, 2]
    assert [row["share"] for row in table] == [0.75, 0.25, 0.5]
    assert [row["irlbl"] for row in table] == [1, 3, 1.5]
    assert table[2]["scumble"] == found.label_scumble[2]
    assert (told["features"], told["diversity"], told["no_label"]) == (2, 4, 1)


def test_summary_shortens_what_is_long():
    Y = np.zeros((2, 30), dtype=int)
    Y[:, :12] = 1
    found = describe(Y, label_names=[f"a rather long name of label {l}" for l in range(30)])
    lines = found.summary(top=3).splitlines()
    assert lines[-1].startswith("never present (18): a rather long name of label 12, ")
    assert lines[-1].endswith(" and 15 more")
    assert max(map(len, lines[:-1])) < 99
    shares = [line for line in lines if line.split()[-2:-1] == ["100.0%"]]
    assert len(shares) == 3 + 3  # labels, pairs; the one set has its share at the end
    assert not lines[1].startswith("features")


def test_description_is_frozen_and_pickles():
    found = describe([[1, 0], [1, 1]], name="toy")
    found.cooccurrence  # noqa: B018  (cached values travel too)
    with pytest.raises(AttributeError):
        found.name = "other"
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert repr(found) == (
        "Description of 'toy': 2 instances, 2 labels, cardinality 1.500, 2 distinct label sets"
    )


# real data -------------------------------------------------------------------------------


def read_labels(folder, name):
    """Label columns of a MULAN or MEKA ARFF file: no more than these files need."""
    parts = [folder / name / f"{name}-{part}" for part in ("train", "test")]
    parts = [p.with_name(p.name + end) for p in parts for end in (".arff", ".arff.gz")]
    files = [p for p in parts if p.exists()] or sorted((folder / name).glob("*.arff"))
    blocks = []
    for path in files:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("latin-1")
        head, body = re.split(r"(?im)^@data.*$", text, maxsplit=1)
        found = re.findall(r"(?im)^\s*@attribute\s+('(?:[^'\\]|\\.)*'|\S+)", head)
        names = [attribute.strip("'").replace("\\'", "'") for attribute in found]
        xml = folder / name / f"{name}.xml"
        if xml.exists():
            tags = ElementTree.parse(xml).iter("{http://mulan.sourceforge.net/labels}label")
            wanted = [tag.get("name").replace("\\'", "'") for tag in tags]
            columns = [names.index(label.encode().decode("latin-1")) for label in wanted]
        else:
            columns = list(range(int(re.search(r"-C (\d+)", head)[1])))
        place = {column: l for l, column in enumerate(columns)}
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        rows, labels = [], []
        for i, line in enumerate(lines):
            if line[0] == "{":
                cells = [cell.split() for cell in line.strip("{}").split(",") if cell.strip()]
                has = [int(c) for c, value in cells if int(c) in place and value == "1"]
            else:
                cells = line.rsplit(",", len(names) - min(columns))
                cells = [None] * (len(names) - len(cells)) + cells
                has = [c for c in columns if cells[c].strip(" '") == "1"]
            rows += [i] * len(has)
            labels += [place[c] for c in has]
        shape = (len(lines), len(columns))
        blocks.append(sparse.csr_array((np.ones(len(rows)), (rows, labels)), shape=shape))
    return sparse.vstack(blocks, format="csr")


# instances, labels, LCard, LDen, LDiv, rows without a label, labels never present
FACTS = {
    "yeast": (2417, 14, 4.237, 0.303, 198, 0, 0),
    "scene": (2407, 6, 1.074, 0.179, 15, 0, 0),
    "emotions": (593, 6, 1.868, 0.311, 27, 0, 0),
    "image": (2000, 5, 1.236, 0.247, 20, 0, 0),
    "flags": (194, 7, 3.392, 0.485, 54, 0, 0),
    "foodtruck": (407, 12, 2.290, 0.191, 116, 0, 0),
    "cal500": (502, 174, 26.044, 0.150, 502, 0, 0),
    "genbase": (662, 27, 1.252, 0.046, 32, 0, 0),
    "medical": (978, 45, 1.245, 0.028, 94, 0, 0),
    "slashdot": (3782, 22, 1.181, 0.054, 156, 0, 2),
    "reuters-k500": (6000, 103, 1.462, 0.014, 811, 0, 4),
    "bibtex": (7395, 159, 2.402, 0.015, 2856, 0, 0),
    "delicious": (16105, 983, 19.020, 0.019, 15806, 14, 0),
    "20ng": (19300, 20, 1.029, 0.051, 55, 0, 0),
    "tmc2007-500": (28596, 22, 2.158, 0.098, 1341, 0, 0),
}

# MeanIR, SCUMBLE as the mldr papers print them; genbase is 37.315 there
PUBLISHED = {
    "yeast": (7.197, 0.104),
    "scene": (1.254, 0.000),
    "emotions": (1.478, 0.011),
    "cal500": (20.578, 0.337),
    "genbase": (37.313, 0.029),
    "medical": (89.501, 0.047),
    "bibtex": (12.498, 0.094),
}


@pytest.mark.parametrize("name", FACTS)
def test_real_data(data_folder, name):
    found = describe(read_labels(data_folder, name))
    instances, labels, cardinality, density, diversity, no_label, never = FACTS[name]
    assert (found.instances, found.labels, found.diversity) == (instances, labels, diversity)
    assert round(found.cardinality, 3) == pytest.approx(cardinality)
    assert round(found.density, 3) == pytest.approx(density)
    assert found.no_label == no_label
    assert len(found.never_present()) == never
    if name in PUBLISHED:
        assert round(found.mean_ir, 3) == pytest.approx(PUBLISHED[name][0])
        assert round(found.scumble, 3) == pytest.approx(PUBLISHED[name][1])
