"""The header of an ARFF file, and the quoting that rows share with it."""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple

from plurilabel._core.words import first_repeated, shortened
from plurilabel.io._files import AnyPath, FileFormatError

SPACE = " \t\r\n\f\v"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Nothing that was matched is ever given back (*+ and ++): a long line is read once, not once for
# each of its letters.
_QUOTED = r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\""""
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
    # not `for raw in stream`, which would read ahead into the rows
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
                declared.add(_attribute(rest, number, declared.values))
            elif keyword == "end" and len(declared.levels) > 1:
                declared.end()
            elif keyword == "relation":
                if declared.relation is not None:
                    raise ValueError("expected one @relation, got a second")
                declared.relation = _relation(rest)
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
        # the attributes of the file and, while one of them is relational and open, those inside
        self.levels: list[dict[str, Attribute]] = [{}]
        self.values: dict[str, tuple[str, ...]] = {}  # thousands may share one {0,1}

    def add(self, attribute: Attribute) -> None:
        name, attributes = attribute.name, self.levels[-1]
        if (before := attributes.get(name)) is not None:
            raise ValueError(f"attribute {name!r} was declared before, on line {before.line}")
        attributes[name] = attribute
        if attribute.type == "relational":
            if len(self.levels) > 1:
                raise ValueError("expected no relational attribute inside another")
            self.levels.append({})

    def end(self) -> None:
        """Close the relational attribute, the last one of the file so far."""
        inside, attributes = self._all("@end"), self.levels[0]
        name = [*attributes][-1]
        attributes[name] = attributes[name]._replace(inside=inside)
        self.levels.pop()

    def header(self, lines: int) -> Header:
        if len(self.levels) > 1:
            raise ValueError(f"expected @end {[*self.levels[0]][-1]} before @data")
        return Header(self.relation or "", [*self._all("@data")], lines)

    def _all(self, keyword: str) -> tuple[Attribute, ...]:
        if not self.levels[-1]:
            raise ValueError(f"expected at least one @attribute before {keyword}")
        return tuple(self.levels[-1].values())


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
