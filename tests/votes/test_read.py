"""Votes from files."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from plurilabel.io import FileFormatError
from plurilabel.votes import read_votes

WIDE = "id,text,emotion,A,B\n1,so,joy,0,3\n1,so,fear,,1\n2,la,joy,2,\n2,la,fear,0,0\n"


def test_wide_and_long_tables(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    votes = read_votes(path, row="id", label="emotion", sources=["A", "B"], cut=0)
    assert votes.row_names == (1, 2) and votes.source_names == ("A", "B")
    assert_array_equal(votes.matrix("A"), [[np.nan, 0], [0, 1]])
    assert_array_equal(votes.matrix("B"), [[1, 1], [0, np.nan]])
    for name in ("long.csv", "long.parquet"):
        frame = votes.to_frame()
        frame.to_csv(tmp_path / name) if name.endswith("csv") else frame.to_parquet(
            tmp_path / name
        )
        again = read_votes(
            tmp_path / name, row="row", label="label", source="source", value="value"
        )
        for source in "AB":
            assert_array_equal(again.matrix(source), votes.matrix(source))
    with pytest.raises(ValueError, match="got 2.0 of source .* grades need a cut"):
        read_votes(path, row="id", label="emotion", sources="[AB]")
    match = "label names a column 'emotions', .* did you mean 'emotion'"
    with pytest.raises(ValueError, match=match):
        read_votes(path, row="id", label="emotions")
    with pytest.raises(ValueError, match="by label and sources, got label"):
        read_votes(path, row="id", label="emotion")
    with pytest.raises(ValueError, match="no column of the pattern sources='C"):
        read_votes(path, row="id", label="emotion", sources="C*")


def test_answers_of_models(tmp_path):
    path = tmp_path / "answers.csv"
    pd.DataFrame(
        [(7, "x", '["joy"]'), (7, "x", '["joy", "fear"]'), (7, "y", '{"joy": 0.25}'),
         (8, "x", ""), (8, "y", "```json\n[]\n```")], columns=["id", "model", "answer"],
    ).to_csv(path, index=False)  # fmt: skip
    votes = read_votes(path, row="id", source="model", answer="answer")
    assert votes.label_names == ("fear", "joy") and votes.row_names == (7, 8)
    assert_array_equal(votes.matrix("x"), [[0.5, 1], [np.nan, np.nan]])  # two answers: the mean
    assert_array_equal(votes.matrix("y"), [[np.nan, 0.25], [0, 0]])
    bad = pd.DataFrame({"id": [1], "model": ["x"], "answer": ["joy and fear"]})
    with pytest.raises(ValueError, match="JSON list of labels .* in row 0, got 'joy and fear'"):
        read_votes(bad, row="id", source="model", answer="answer")


def test_label_studio(tmp_path):
    def said(*choices):
        return [{"type": "choices", "value": {"choices": list(choices)}}] if choices else []

    tasks = [
        {"id": 5, "annotations": [
            {"completed_by": 1, "result": said("a", "b")},
            {"completed_by": 1, "result": said("b")},
            {"completed_by": {"id": 2, "email": "bob@x.org"}, "result": said()},
            {"completed_by": 3, "was_cancelled": True, "result": said("b")},
        ], "predictions": [{"model_version": "m1", "result": said("b")}]},
        {"id": 6, "annotations": [{"completed_by": 1, "result": said("b")}]},
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    votes = read_votes(path)
    assert votes.source_names == ("1", "bob@x.org", "m1") and votes.row_names == (5, 6)
    assert_array_equal(votes.matrix("1"), [[0.5, 1], [0, 1]])  # two annotations: the mean
    assert_array_equal(votes.matrix("bob@x.org"), [[0, 0], [np.nan, np.nan]])
    assert_array_equal(votes.matrix("m1"), [[0, 1], [np.nan, np.nan]])
    for text, problem in (("{", "expected JSON"), ("{}", "list of Label"), ("[{}]", "got none")):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=problem):
            read_votes(path)


def test_brighter(data_folder):
    path = data_folder / "brighter" / "swe-individuals.csv.gz"
    votes = read_votes(path, row="text_id", label="emotion", sources="Annotator-*", cut=0)
    frame = pd.read_csv(path)
    names = [f"Annotator-{i}" for i in (1, 2, 3)]
    assert votes.source_names == tuple(names) and votes.shape == (frame.text_id.nunique(), 6)
    assert len(votes) == frame[names].notna().sum().sum()
    assert votes.values.sum() == (frame[names] > 0).sum().sum()


def test_tables_that_cannot_be_read(tmp_path):
    frame = pd.DataFrame({
        "id": [1, 1, 2], "label": ["x", "y", "x"], "by": ["a", "a", "b"], "v": ["yes", "No", None]
    })  # fmt: skip
    said = {"row": "id", "source": "by", "answer": "v"}
    long = {"row": "id", "label": "label", "source": "by", "value": "v"}
    votes = read_votes(frame, **long)
    assert_array_equal(votes.matrix("a"), [[1, 0], [np.nan, np.nan]])
    for table, params, message in (
        (frame.assign(v=["maybe", "no", "yes"]), long, "numbers from 0 to 1, got text: .*'maybe'"),
        (frame, {**long, "cut": np.nan}, "cut must be a finite number, got nan"),
        (frame, {**long, "row": None}, "row must name the column"),
        (frame.assign(label=["x", None, "y"]), long, "labels must not be missing, .* in row 1"),
        (frame.assign(id=[1, None, None]), long, "rows must not be missing, got nan in row 1"),
        (frame, {**said, "answer": "id"}, "JSON list .* in row 0, got '1'"),
        (frame.assign(v='[["x"]]'), said, "labels must be"),
        (frame.assign(by=[None, "a", "b"], v="[]"), said, "sources must not be missing, .* row 0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_votes(table, **params)
    path = tmp_path / "export.json"
    for value in ({"value": {}}, {"value": None}, {}):
        tasks = [{"annotations": [{"completed_by": 1, "result": [{"type": "choices", **value}]}]}]
        path.write_text(json.dumps(tasks))
        with pytest.raises(FileFormatError, match="expected choices in task 0"):
            read_votes(path)
