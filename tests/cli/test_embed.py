"""``plurilabel embed``: a column of text as vectors."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plurilabel import StaticEncoder, io, load
from plurilabel.cli._data import check_encoder
from plurilabel.cli._main import plurilabel

pytest.importorskip("wordllama", reason="wordllama is not installed")

MAILS = pd.DataFrame(
    {
        "body": ["a cat and a dog", "shares fell", "kittens play", "the bank's money"] * 5,
        "size": range(20),
        "topics": ["animals", "money", "animals", "money"] * 5,
    }
)


def run(*args):
    return CliRunner().invoke(plurilabel, [str(arg) for arg in args])


def test_vectors_of_a_column(tmp_path):
    MAILS.to_csv(tmp_path / "mails.csv", index=False)
    out = tmp_path / "mails.parquet"
    result = run("embed", tmp_path / "mails.csv", "--text", "body", "-o", out)
    assert result.exit_code == 0, result.output
    assert "20 rows, 256 dimensions" in result.output
    data = io.read_table(out, labels="topics")
    assert data.feature_names[:2] == ("size", "vector[0]")
    expected = StaticEncoder().fit_transform(MAILS["body"])
    np.testing.assert_array_equal(data.X[:, 1:], expected)
    assert run("embed", tmp_path / "mails.csv", "--text", "body", "-o", out).exit_code != 0


@pytest.mark.parametrize("encoder", ["static", "tfidf+static"])
def test_fit_with_an_encoder(tmp_path, encoder):
    MAILS.to_csv(tmp_path / "mails.csv", index=False)
    model = tmp_path / "m.skops"
    given = ("--labels", "topics", "--text", "body", "--drop", "size", "--holdout", 0)
    learner = ("--learner", "OneVsAllLinear", "--encoder", encoder)
    result = run("fit", tmp_path / "mails.csv", *given, *learner, "-o", model)
    assert result.exit_code == 0, result.output
    new = pd.DataFrame({"body": ["puppies", "a stock market"]})
    assert load(model).predict(new) == [("animals",), ("money",)]


def test_errors_name_the_options(tmp_path):
    MAILS.to_csv(tmp_path / "mails.csv", index=False)
    result = run("embed", tmp_path / "mails.csv", "--text", "bodies", "-o", tmp_path / "m.parquet")
    assert result.exit_code == 1
    assert "'bodies', which the table does not have; did you mean 'body'?" in result.output
    result = run("fit", "yeast", "--encoder", "static", "-o", tmp_path / "m.skops")
    assert result.exit_code == 1 and "is a standard dataset" in result.output


@pytest.mark.parametrize("name", ["statik", "tfidf+statc"])
def test_a_misspelt_encoder_is_refused_before_anything_is_read(tmp_path, name):
    result = run("fit", tmp_path / "none.csv", "--labels", "l", "--encoder", name,
                 "-o", tmp_path / "m.skops")  # fmt: skip
    assert result.exit_code == 2 and "did you mean 'static'?" in result.output


def test_other_names_of_encoders_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "statics").mkdir()
    for name in ("statics", "me/statik", "all-MiniLM-L6-v2", "gpt2", "tfidf+gpt2", "wordllama"):
        check_encoder(name)
