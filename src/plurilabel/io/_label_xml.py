"""MULAN's label file: names in XML, nested where labels form a hierarchy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from plurilabel._core.records import write_atomic
from plurilabel._core.words import first_repeated
from plurilabel.io._files import AnyPath, FileFormatError, opened

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LabelLine(NamedTuple):
    """A ``<label>``: its name, the position of its parent (-1 for a root), and its line."""

    name: str
    parent: int
    line: int


def read_label_xml(path: AnyPath) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Read the names of the labels and their hierarchy from a MULAN XML file.

    Parameters
    ----------
    path : str or path
        Gzipped files are unpacked.

    Returns
    -------
    names : tuple of str
        In the order of the file, parents before their children.
    parents : tuple of int
        For each label, the position of its parent in ``names``, -1 for a root.

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


def parse_label_xml(path: AnyPath) -> list[LabelLine]:
    """All ``<label>`` elements, parents before their children."""
    # expat itself, because ElementTree drops the line numbers that errors should show
    parser = expat.ParserCreate()
    labels: list[LabelLine] = []
    place: dict[str, int] = {}
    above: list[int] = []  # positions of the open labels, -1 for the root element

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

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: above.pop()
    try:
        with opened(path) as stream:
            parser.ParseFile(stream)
    except FileFormatError:
        raise
    except expat.ExpatError as error:
        problem = f"broken XML: {expat.ErrorString(error.code)}"
        raise FileFormatError(path, error.lineno, problem) from None
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise FileFormatError(path, 1, f"broken XML: {error}") from None
    if not labels:
        raise FileFormatError(path, None, 'expected at least one <label name="...">, got none')
    return labels


def write_label_xml(
    path: AnyPath, names: Sequence[str], parents: Sequence[Any] | None = None
) -> None:
    """Write the names of the labels and their hierarchy as a MULAN XML file.

    Parameters
    ----------
    path : str or path
        Gzipped if it ends in ``.gz``.
    names : sequence of str
    parents : sequence of int, optional
        For each label, the position of its parent in ``names``, -1 for a root. Children are
        written inside their parent, so they are read after it.

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
    names, q = list(names), len(names)
    if not names:
        raise ValueError("names must hold at least one label, got none")
    if (twice := first_repeated(names)) is not None:
        raise ValueError(f"names must be different from each other, got {twice!r} twice")
    if strange := next(filter(_NOT_IN_XML.search, names), None):
        raise ValueError(f"label {strange!r} has a character that XML cannot hold")
    if several := [l for l, parent in enumerate(parents or ()) if isinstance(parent, tuple)]:
        raise ValueError(f"XML holds one parent of a label, got several for {names[several[0]]!r}")
    parents = [-1] * q if parents is None else [int(parent) for parent in parents]
    if len(parents) != q:
        raise ValueError(f"parents must have {q} entries, one per label, got {len(parents)}")
    root = ElementTree.Element("labels", xmlns=_NAMESPACE)
    labels = [ElementTree.Element("label", name=name) for name in names]
    for label, parent in zip(labels, parents):
        if not -1 <= parent < q:
            raise ValueError(f"parents must lie between -1 and {q - 1}, got {parent}")
        (root if parent == -1 else labels[parent]).append(label)
    if len([*root.iter("label")]) < q:
        raise ValueError("parents must lead from every label to a root, got a cycle")
    ElementTree.indent(root, space="")
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    with write_atomic(path) as stream:
        stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode())
