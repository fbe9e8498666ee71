import re

import numpy as np
import pandas as pd
import pytest

from plurilabel.evaluation import write_stream_report
from plurilabel.evaluation._report._stream_report import curve_chart
from plurilabel.streams import Drift, LabelShares, NoChange, RandomTreeStream, prequential
from tests.streams.learners import Fragile

STREAM = RandomTreeStream(600, 4, 3, drift="gradual", drift_at=[200, 400], width=60)


@pytest.fixture(scope="module")
def results():
    learners = {"no <change>": NoChange(), "shares": LabelShares(), "weak": Fragile()}
    return prequential(STREAM, learners, window=100, every=50, checkpoint=200)


def test_page(results, tmp_path):
    files = write_stream_report(results, tmp_path / "new")
    page = files["html"].read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "no &lt;change&gt;" in page and "no <change>" not in page
    assert "row 10: RuntimeError: out of luck" in page
    assert not re.search(r"(src|href)=\"?https?:", page)
    assert "drift at 200" in page and "rows per second" in page
    table = pd.read_csv(files["csv"])
    assert table.shape == (3 * 3 * 12, 3 + 39 + 2)
    row = table[(table.learner == "shares") & (table.kind == "overall")].iloc[-1]
    assert row["hamming_loss"] == results.final("hamming_loss")["shares"]


def test_drifts_are_marked_where_they_are(results):
    chart = curve_chart(results, "hamming_loss", "window")
    lines = [mark.path for mark in chart.marks if mark.style == "drift"]
    x = [float(re.match(r"M([\d.]+)", path)[1]) for path in lines]
    expected = [chart.left + row / 600 * (chart.right - chart.left) for row in (200, 400)]
    np.testing.assert_allclose(x, expected, atol=0.06)
    assert sum(mark.style == "drifting" for mark in chart.marks) == 2
    assert [name for _, name in chart.legend] == ["no <change>", "shares"]


def test_a_curve_of_many_readings_is_thinned(tmp_path):
    found = prequential(STREAM, NoChange(), ["f1"], every=1)
    (line,) = [m for m in curve_chart(found, "f1", "window").marks if m.style.startswith("line")]
    assert line.path.count("L") + line.path.count("M") == 400


def test_little_to_show(tmp_path):
    rows = [({}, {"a": True})]
    found = prequential(rows, Fragile(), ["macro_auc"], window=None, fading=None)
    page = write_stream_report(found, tmp_path, formats="html", title="One row")["html"]
    assert "<h1>One row</h1>" in page.read_text()
    moving = prequential(STREAM, NoChange(), ["f1"], max_rows=60)
    moving.drifts = (Drift(0, 600, "moving"),)
    write_stream_report(moving, tmp_path)


def test_errors(results, tmp_path):
    with pytest.raises(ValueError, match="folder must be given"):
        write_stream_report(results)
    with pytest.raises(ValueError, match="formats must be some of html, csv, got 'pdf'"):
        write_stream_report(results, tmp_path, formats=["pdf"])
