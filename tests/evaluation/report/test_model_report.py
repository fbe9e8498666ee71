"""The page about one model."""

import numpy as np
import pytest

from plurilabel.evaluation import write_model_report
from plurilabel.evaluation._report._model_report import _worst

Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
Z = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 0], [0, 0, 1]])
NAMES = ["sea", "<sun>", "sand"]


def test_the_page_says_what_is_wrong(tmp_path):
    scores = np.where(Z, 0.8, 0.3)
    given = {"label_names": NAMES, "instances": list("abcd"), "rows": [7, 8, 9, 10]}
    page = write_model_report(tmp_path / "new" / "m.html", Y, scores, Z, **given).read_text()
    assert "&lt;sun&gt;" in page and "<sun>" not in page
    for words in ("Worst rows", "Reliability", "Precision and recall", "Micro F1"):
        assert words in page
    assert "http" not in page.replace("http://www.w3.org", "")  # it needs nothing else


@pytest.mark.parametrize("scores", [None, np.where(Z, 5.0, -5.0)])
def test_without_probabilities_there_is_less(tmp_path, scores):
    page = write_model_report(tmp_path / "m.html", Y, scores, Z).read_text()
    assert "Reliability" not in page
    assert ("Precision and recall" in page) == (scores is not None)


def test_unknown_labels_are_not_wrong(tmp_path):
    unknown = Y.astype(float)
    unknown[1, 1] = np.nan
    page = write_model_report(tmp_path / "m.html", unknown, None, Z, instances=list("abcd"))
    assert "1 label not known" in page.read_text()
    with pytest.raises(ValueError, match="instances must have 4 entries, got 1"):
        write_model_report(tmp_path / "m.html", Y, None, Z, instances=["a"])


def test_worst_rows_come_first():
    known = np.ones(Y.shape, dtype=bool)
    first, second = _worst(Y, Z, None, known, NAMES, list("abcd"), [7, 8, 9, 10])
    assert first == {
        "row": 8, "text": "b", "missed": ["<sun>"], "added": ["sea"], "right": []
    }  # fmt: skip
    assert (second["row"], second["missed"], second["right"]) == (9, ["<sun>"], ["sea"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"labels": None}, "labels must be a 0/1 matrix, the output of predict, got None"),
        ({"rows": [1]}, "rows must have 4 entries, got 1"),
        ({"instances": ["a"]}, "instances must have 4 entries, got 1"),
    ],
)
def test_invalid_parts_of_a_page(tmp_path, options, problem):
    with pytest.raises(ValueError, match=problem):
        write_model_report(
            tmp_path / "m.html", Y, np.where(Z, 0.8, 0.3), **{"labels": Z} | options
        )
