"""The header of an ARFF file, the quoting that rows share with it, and MULAN's label file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from plurilabel._core.records import write_atomic
from plurilabel._core.words import first_repeated, shortened
from plurilabel.io._files import AnyPath, FileFormatError, opened

SPACE = " \t\r\n\f\v"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Nothing that was matched is ever given back (*+ and ++): a long line is read once, not once for
# each of its letters.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
# a % inside a bare word belongs to the word: {10%,20%}
_COMMENT = r"""(?:(?<![^\s'"{}])%.*)"""
_LETTERS_OF_WORD = r"""(?:[^\s,{}%]|(?<=[^\s'"{}])%)++"""
_WORDS = rf"""(?!['"]){_LETTERS_OF_WORD}(?:\s++{_LETTERS_OF_WORD})*+"""
_VALUE = rf"""(?:({_QUOTED})|({_WORDS})?)\s*+(,|\}}|\Z|{_COMMENT})"""
CELL = re.compile(rf"\s*+{_VALUE}", re.ASCII)
PAIR = re.compile(rf"\s*+([^\s,{{}}]++)\s++{_VALUE}", re.ASCII)
NOTHING = re.compile(rf"\s*+{_COMMENT}?\Z", re.ASCII)

_KEYWORD = re.compile(r"@(\w+)\s*(.*)\Z", re.ASCII | re.DOTALL)
_A_QUOTED, _A_COMMENT = re.compile(_QUOTED), re.compile(_COMMENT, re.ASCII)
_NAME = re.compile(rf"""({_QUOTED})|[^\s{{%'"][^\s{{]*""", re.ASCII)
_WORD = re.compile(r"\w+", re.ASCII)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_BARE = re.compile(r"[\w.=:/+-]+", re.ASCII)

_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = str.maketrans(
    {c: f"\\{c}" for c in "\\'\"%"} | {c: f"\\{letter}" for letter, c in _LETTERS.items()}
)


class Attribute(NamedTuple):
    """One declared column."""

    name: str
    type: str  # number, nominal, string, date, relational or hierarchical
    values: tuple[str, ...]  # of a nominal attribute, or the classes of a hierarchical one
    line: int
    inside: tuple[Attribute, ...] = ()  # the attributes of a relational one


class Header(NamedTuple):
    """All that comes before the rows; ``lines`` is the number of lines read."""

    relation: str
    attributes: list[Attribute]
    lines: int


def quote(text: str) -> str:
    r"""A name as it is written in a file: bare if it is a plain word, else in quotes."""
    return text if _BARE.fullmatch(text) else f"'{text.translate(_ESCAPED)}'"


def unquote(quoted: str) -> str:
    r"""The text between the quotes, with WEKA's escapes resolved."""
    return _ESCAPE.sub(_unescape, quoted[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    if code:
        return chr(int(code, 16))
    return chr(int(octal, 8)) if octal else _LETTERS.get(letter, letter)


def decode(raw: bytes, path: AnyPath, line: int, encoding: str) -> str:
    """One line as text."""
    try:
        return raw.decode(encoding)
    except LookupError as error:
        raise ValueError(f"encoding must be one that Python knows, got {encoding!r}") from error
    except UnicodeDecodeError as error:
        problem = f"expected text in {encoding} ({error.reason}); pass another encoding="
        raise FileFormatError(path, line, problem) from None


def read_header(stream: BinaryIO, path: AnyPath, encoding: str) -> Header:
    """Read up to and including the line ``@data``."""
    declared, number = _Declared(), 0
    # not `for raw in stream`: that would read ahead of the rows
    for number, raw in enumerate(iter(stream.readline, b""), 1):
        raw = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        text = decode(raw, path, number, encoding).strip(SPACE)
        if not text or text.startswith("%"):
            continue
        match = _KEYWORD.match(text)
        keyword, rest = (match[1].lower(), match[2]) if match else ("", "")
        try:
            if keyword == "data":
                return declared.header(number)
            if keyword == "attribute":
                declared.add(rest, number)
            elif keyword == "end" and declared.above is not None:
                declared.end()
            elif keyword == "relation":
                declared.name(rest)
            else:
                got = shortened(text)
                raise ValueError(f"expected @relation, @attribute or @data, got {got!r}")
        except ValueError as error:
            raise FileFormatError(path, number, str(error)) from None
    raise FileFormatError(path, number, "expected a line @data before the end of the file")


class _Declared:
    """The declarations of a header so far."""

    def __init__(self) -> None:
        self.relation: str | None = None
        self.attributes: dict[str, Attribute] = {}
        # the attributes of the file, while a relational one is open
        self.above: dict[str, Attribute] | None = None
        self._known: dict[str, tuple[str, ...]] = {}  # thousands may share one {0,1}

    def name(self, rest: str) -> None:
        if self.relation is not None:
            raise ValueError("expected one @relation, got a second")
        self.relation = _relation(rest)

    def add(self, rest: str, line: int) -> None:
        attribute = _attribute(rest, line, self._known)
        name = attribute.name
        if (before := self.attributes.get(name)) is not None:
            raise ValueError(f"attribute {name!r} was declared before, on line {before.line}")
        self.attributes[name] = attribute
        if attribute.type == "relational":
            if self.above is not None:
                raise ValueError("expected no relational attribute inside another")
            self.above, self.attributes = self.attributes, {}

    def end(self) -> None:
        """Close the relational attribute, the last one of the file so far."""
        assert self.above is not None
        self._require("@end")
        name = [*self.above][-1]
        inside = tuple(self.attributes.values())
        self.above[name] = self.above[name]._replace(inside=inside)
        self.attributes, self.above = self.above, None

    def header(self, lines: int) -> Header:
        if self.above is not None:
            raise ValueError(f"expected @end {[*self.above][-1]} before @data")
        self._require("@data")
        return Header(self.relation or "", list(self.attributes.values()), lines)

    def _require(self, keyword: str) -> None:
        if not self.attributes:
            raise ValueError(f"expected at least one @attribute before {keyword}")


def _relation(rest: str) -> str:
    if rest[:1] not in ("'", '"'):
        comment = _A_COMMENT.search(rest)
        return rest[: comment.start() if comment else None].rstrip(SPACE)
    quoted = _A_QUOTED.match(rest)
    if quoted is None:
        raise ValueError(f"expected a closing quote in @relation, got {shortened(rest)!r}")
    if not NOTHING.match(rest, quoted.end()):
        raise ValueError(f"expected one name after @relation, got {shortened(rest)!r}")
    return unquote(quoted[0])


def _attribute(rest: str, line: int, known: dict[str, tuple[str, ...]]) -> Attribute:
    match = _NAME.match(rest)
    if match is None:
        raise ValueError(f"expected a name and a type after @attribute, got {shortened(rest)!r}")
    name = unquote(match[1]) if match[1] else match[0]
    declared = rest[match.end() :].strip(SPACE)
    if declared.startswith("{"):
        if declared not in known:
            known[declared] = _nominal_values(name, declared)
        return Attribute(name, "nominal", known[declared], line)
    word = _WORD.match(declared)
    kind = word[0].lower() if word else ""
    if kind == "date":  # its format follows, and does not matter here
        return Attribute(name, kind, (), line)
    if kind == "hierarchical":  # of CLUS
        classes = declared[len(kind) :].split(",")
        return Attribute(name, kind, tuple(one.strip(SPACE) for one in classes), line)
    if kind not in ("numeric", "real", "integer", "string", "relational"):
        got = repr(shortened(declared)) if declared else "nothing"
        raise ValueError(
            f"attribute {name!r} must be numeric, real, integer, string, date, relational, "
            f"hierarchical or {{a,b,...}}, got {got}"
        )
    if not NOTHING.match(declared, len(kind)):
        raise ValueError(f"expected nothing after the type {kind}, got {shortened(declared)!r}")
    return Attribute(name, kind if kind in ("string", "relational") else "number", (), line)


def _nominal_values(name: str, declared: str) -> tuple[str, ...]:
    values: list[str] = []
    position, end, shown = 1, ",", repr(shortened(declared))
    while end == ",":
        match = CELL.match(declared, position)
        if match is None or match[3] not in (",", "}"):
            problem = f"attribute {name!r} must list its values as {{a,b,...}}, got {shown}"
            raise ValueError(problem)
        if match[1] is None and match[2] is None:
            raise ValueError(f"attribute {name!r} has an empty value in {shown}")
        values.append(unquote(match[1]) if match[1] else match[2])
        position, end = match.end(), match[3]
    if not NOTHING.match(declared, position):
        rest = shortened(declared[position:])
        raise ValueError(f"expected nothing after the values, got {rest!r}")
    if (twice := first_repeated(values)) is not None:
        raise ValueError(f"attribute {name!r} lists the value {twice!r} twice")
    return tuple(values)


# MULAN's label file: names in XML, nested where labels form a hierarchy -----------------------

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LabelLine(NamedTuple):
    """One ``<label>``: its name, the place of its parent (-1 for a root), and its line."""

    name: str
    parent: int
    line: int


def read_label_xml(path: AnyPath) -> tuple[tuple[str, ...], tuple[int, ...]]:
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

    See Also
    --------
    write_label_xml : Writes such a file.
    read_arff : Reads the data with these labels.

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
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise FileFormatError(path, 1, f"broken XML: {error}") from None
    if not labels:
        raise FileFormatError(path, None, 'expected at least one <label name="...">, got none')
    return labels


def write_label_xml(
    path: AnyPath, names: Sequence[str], parents: Sequence[Any] | None = None
) -> None:
    """Write the names of the labels, and their hierarchy, as a MULAN XML file.

    Parameters
    ----------
    path : str or path
        Gzipped if it ends in ``.gz``.
    names : sequence of str
    parents : sequence of int, optional
        For each label, the place of its parent in ``names``, -1 for a root. Children are written
        inside their parent, so they come after it when the file is read.

    See Also
    --------
    read_label_xml : Reads such a file.

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
    root = _label_tree(names, parents)
    ElementTree.indent(root, space="")
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    with write_atomic(path) as stream:
        stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode())


def _label_tree(names: list[str], parents: list[int]) -> ElementTree.Element:
    root = ElementTree.Element("labels", xmlns=_NAMESPACE)
    labels = [ElementTree.Element("label", name=name) for name in names]
    for label, parent in zip(labels, parents):
        if not -1 <= parent < len(labels):
            raise ValueError(f"parents must lie between -1 and {len(labels) - 1}, got {parent}")
        (root if parent == -1 else labels[parent]).append(label)
    if len([*root.iter("label")]) < len(labels):
        raise ValueError("parents must lead from every label to a root, got a circle")
    return root
