"""MULAN's label file: the names of the labels in XML, nested where labels form a hierarchy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from plurilabel.io._files import FileFormatError, opened, write_atomic

_NAMESPACE = "http://mulan.sourceforge.net/labels"


class LabelLine(NamedTuple):
    """One ``<label>``: its name, the place of its parent (-1 for a root), and its line."""

    name: str
    parent: int
    line: int


def read_label_xml(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Read the names of the labels, and their hierarchy, from a MULAN XML file.

    Parameters
    ----------
    path : str or path
        Gzipped files are unpacked.

    Returns
    -------
    names : tuple of str
        In the order of the file, a parent before its children.
    parents : tuple of int
        For each label, the place of its parent in ``names``, -1 for a root.

    Raises
    ------
    FileFormatError
        Broken XML, a root other than ``<labels>``, a ``<label>`` without a name, a name that
        comes twice, no label at all. The message has the file and the line.

    See Also
    --------
    write_label_xml : The way back.
    read_arff : Reads the data that belong to the labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from plurilabel.io import read_label_xml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "zoo.xml")
    ...     _ = path.write_text('''<labels xmlns="http://mulan.sourceforge.net/labels">
    ...         <label name="animal"><label name="cat"/><label name="dog"/></label>
    ...         <label name="plant"/></labels>''')
    ...     read_label_xml(path)
    (('animal', 'cat', 'dog', 'plant'), (-1, 0, 0, -1))
    """
    lines = parse_label_xml(path)
    return tuple(label.name for label in lines), tuple(label.parent for label in lines)


def parse_label_xml(path: str | os.PathLike[str]) -> list[LabelLine]:
    """All ``<label>`` elements, a parent before its children."""
    # expat itself, because ElementTree forgets the line numbers that errors should show
    parser = expat.ParserCreate()
    labels: list[LabelLine] = []
    place: dict[str, int] = {}
    above: list[int] = []  # places of the labels that are open, -1 for the root element

    def fail(problem: str) -> FileFormatError:
        return FileFormatError(path, parser.CurrentLineNumber, problem)

    def start(tag: str, given: dict[str, Any]) -> None:
        wanted = "label" if above else "labels"
        if tag.rpartition(":")[2] != wanted:
            raise fail(f"expected <{wanted}>, got <{tag}>")
        if not above:
            above.append(-1)
            return
        name = given.get("name")
        if name is None:
            raise fail('expected <label name="...">, got a <label> without a name')
        if name in place:
            raise fail(f"label {name!r} was named before, on line {labels[place[name]].line}")
        labels.append(LabelLine(name, above[-1], parser.CurrentLineNumber))
        place[name] = len(labels) - 1
        above.append(place[name])

    def end(_: str) -> None:
        above.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        with opened(path) as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        problem = f"broken XML: {expat.ErrorString(error.code)}"
        raise FileFormatError(path, error.lineno, problem) from None
    if not labels:
        raise FileFormatError(path, None, 'expected at least one <label name="...">, got none')
    return labels


def write_label_xml(
    path: str | os.PathLike[str],
    names: Sequence[str],
    parents: Sequence[int] | None = None,
) -> None:
    """Write the names of the labels, and their hierarchy, as a MULAN XML file.

    The file is there whole or not at all; it is gzipped if its name ends in ``.gz``.

    Parameters
    ----------
    path : str or path
    names : sequence of str
    parents : sequence of int, optional
        For each label, the place of its parent in ``names``, -1 for a root. Children are written
        inside their parent, so they come after it when the file is read.

    See Also
    --------
    read_label_xml : The way back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from plurilabel.io import write_label_xml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "zoo.xml")
    ...     write_label_xml(path, ["animal", "cat", "plant"], parents=[-1, 0, -1])
    ...     print(path.read_text())
    <?xml version="1.0" encoding="utf-8"?>
    <labels xmlns="http://mulan.sourceforge.net/labels">
    <label name="animal">
    <label name="cat"></label>
    </label>
    <label name="plant"></label>
    </labels>
    """
    names = list(names)
    if not names:
        raise ValueError("names must hold at least one label, got none")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"names must be different from each other, got {twice!r} twice")
    children = _children(names, parents)
    text = ['<?xml version="1.0" encoding="utf-8"?>\n', f'<labels xmlns="{_NAMESPACE}">\n']
    waiting = [*reversed(children[-1])]  # labels to open; ~label to close
    while waiting:
        label = waiting.pop()
        if label < 0:
            text.append("</label>\n")
            continue
        text.append(f"<label name={_attribute(names[label])}>")
        if children[label]:
            text.append("\n")
            waiting += [~label, *reversed(children[label])]
        else:
            text.append("</label>\n")
    text.append("</labels>\n")
    with write_atomic(path) as stream:
        stream.write("".join(text).encode("utf-8"))


def _children(names: Sequence[str], parents: Sequence[int] | None) -> dict[int, list[int]]:
    """Labels below each label, and below the root, which is -1."""
    q = len(names)
    parents = [-1] * q if parents is None else [int(parent) for parent in parents]
    if len(parents) != q:
        raise ValueError(f"parents must have {q} entries, one per label, got {len(parents)}")
    children: dict[int, list[int]] = {label: [] for label in range(-1, q)}
    for label, parent in enumerate(parents):
        if not -1 <= parent < q:
            raise ValueError(f"parents must lie between -1 and {q - 1}, got {parent}")
        children[parent].append(label)
    reached, waiting = 0, [*children[-1]]
    while waiting:
        reached += 1
        waiting += children[waiting.pop()]
    if reached < q:
        raise ValueError("parents must lead from every label to a root, got a circle")
    return children


def _attribute(name: str) -> str:
    text = quoteattr(name)
    if any(c < " " or c in "\ufffe\uffff" or "\ud800" <= c <= "\udfff" for c in text):
        raise ValueError(f"label {name!r} has a character that XML cannot hold")
    return text
