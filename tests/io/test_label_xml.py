"""MULAN's label files."""

import gzip

import pytest

from plurilabel.io import FileFormatError, read_label_xml, write_label_xml


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<labels>\n<label name='a'>\n</labels>", 3, "broken XML: mismatched tag"),
        ("", 1, "broken XML: no element found"),
        ("<label name='a'/>", 1, "expected <labels>, got <label>"),
        ("<labels>\n<tag name='a'/></labels>", 2, "expected <label>, got <tag>"),
        ("<labels>\n\n<label/></labels>", 3, 'expected <label name="...">, got a <label> without'),
        ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", 3, "'a' was named before, on"),
        ("<labels></labels>", None, 'expected at least one <label name="...">, got none'),
    ],
)  # fmt: skip
def test_broken_xml_names_its_line(tmp_path, text, line, message):
    path = tmp_path / "l.xml"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_label_xml(path)
    assert caught.value.line == line
    assert message in caught.value.problem


def test_xml_with_a_prefix_and_gzipped(tmp_path):
    path = tmp_path / "l.xml.gz"
    path.write_bytes(
        gzip.compress(b"<m:labels xmlns:m='http://mulan'><m:label name='a&amp;b'/></m:labels>")
    )
    assert read_label_xml(path) == (("a&b",), (-1,))


def test_written_xml_puts_children_below_parents(tmp_path):
    path = tmp_path / "l.xml"
    write_label_xml(path, ["leaf", "root", "twig", "<&'\">"], [2, -1, 1, -1])
    assert read_label_xml(path) == (("root", "twig", "leaf", "<&'\">"), (-1, 0, 1, -1))


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        ([], None, "names must hold at least one label, got none"),
        (["a", "b", "a"], None, "names must be different from each other, got 'a' twice"),
        (["a", "b"], [-1], "parents must have 2 entries, one per label, got 1"),
        (["a", "b"], [-1, 2], "parents must lie between -1 and 1, got 2"),
        (["a", "b", "c"], [1, 0, -1], "got a cycle"),
        (["a"], [0], "got a cycle"),
        (["a\x00"], None, r"label 'a\\x00' has a character that XML cannot hold"),
    ],
)
def test_xml_that_cannot_be_written(tmp_path, names, parents, message):
    with pytest.raises(ValueError, match=message):
        write_label_xml(tmp_path / "l.xml", names, parents)
    assert not list(tmp_path.iterdir())
