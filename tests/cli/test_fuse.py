"""``plurilabel fuse``: votes of several sources as probabilities."""

import json

import pandas as pd
import pytest

from plurilabel.votes import fuse, read_votes

ANSWERS = pd.DataFrame(
    [
        (text, model, json.dumps(said))
        for text, *answers in (("=a", ["joy"], {"joy": 0.9}), ("b", [], ["fear"]), ("c", ["fear"]))
        for model, said in zip("xy", answers)
    ],
    columns=["text", "model", "answer"],
)


def test_answers_of_models(run, tmp_path):
    data, out = tmp_path / "answers.csv", tmp_path / "fused.csv"
    ANSWERS.to_csv(data, index=False)
    said = ("fuse", data, "--row", "text", "--source", "model", "--answer", "answer", "-o", out)
    done = run(*said, "--label-names", "fear,joy,anger")
    assert done.status == 0, done.err
    assert "2 sources on 3 rows and 3 labels" in done.out
    votes = read_votes(
        data, row="text", source="model", answer="answer", label_names=["fear", "joy", "anger"]
    )
    expected = fuse(votes).to_frame().round(4).rename_axis("text")
    pd.testing.assert_frame_equal(pd.read_csv(out, index_col="text"), expected)
    assert run(*said).status != 0  # the file is there
    assert run(*said, "--method", "majority", "--force").status == 0
    done = run("describe", out, "--labels", "fear,joy", "--soft")
    assert done.status == 0, done.err


@pytest.mark.parametrize("sources", ["v_*", "v_a,v_b"])
def test_wide_tables(run, tmp_path, sources):
    data, out = tmp_path / "wide.csv", tmp_path / "fused.csv"
    table = {"id": [1, 1, 2], "label": ["x", "y", "x"], "v_a": [3, 0, 1], "v_b": [2, 0, None]}
    pd.DataFrame(table).to_csv(data, index=False)
    said = ("fuse", data, "--row", "id", "--label", "label", "--sources", sources, "-o", out)
    assert "votes must be between 0 and 1, got 3.0" in run(*said).err
    assert run(*said, "--cut", 0, "--method", "majority").status == 0
    assert pd.read_csv(out).to_dict("list") == {"id": [1, 2], "x": [1.0, 1.0], "y": [0.0, 0.0]}
