"""Tables for notebooks."""

from plurilabel._core.html import html_table


def test_cells_are_escaped():
    assert "<td" in html_table(["label", "count"], [["<b>", "7"]])
    end = 'overflow-wrap:anywhere">&lt;b&gt;</td></tr></tbody></table></div>'
    assert html_table([], [["<b>"]]).endswith(end)
