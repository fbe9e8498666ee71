import re

import numpy as np
import pytest

from plurilabel.evaluation import write_issues_report
from plurilabel.inspection import find_label_issues

NASTY = '</td><script>alert("1")</script>'


@pytest.fixture
def issues():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, size=(20, 2))
    return find_label_issues(
        Y, rng.random((20, 2)), X=rng.normal(size=(20, 2)), label_names=[NASTY, "sun"]
    )


def test_page(issues, tmp_path):
    path = write_issues_report(issues, tmp_path / "new" / "page.html", instances=[NASTY] * 20)
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert NASTY not in page and "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=\"?https?:", page)
    assert page.count("<tr data-row=") == len(issues)
    assert f"{issues.agreeing[0]} of 15" in page


def test_only_the_first_are_shown(issues, tmp_path):
    page = write_issues_report(issues, tmp_path / "page.html", top=2).read_text()
    rows = [int(row) for row in re.findall(r'<tr data-row="(\d+)"', page)]
    assert rows == issues.rows[:2].tolist()
    assert f"{len(issues) - 2} more are not shown" in page


def test_no_issues(tmp_path):
    page = write_issues_report(find_label_issues([[1]], [[1.0]]), tmp_path / "page.html")
    assert "every label is credible" in page.read_text()


def test_invalid_input(issues, tmp_path):
    with pytest.raises(ValueError, match="instances must have 20 entries"):
        write_issues_report(issues, tmp_path / "page.html", instances=["one"])
    with pytest.raises(ValueError, match="top must be an integer of at least 1"):
        write_issues_report(issues, tmp_path / "page.html", top=0)
