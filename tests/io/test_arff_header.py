"""Headers: what they may look like, and errors with their line."""

import re

import pytest

from plurilabel.io import FileFormatError
from plurilabel.io._arff_header import quote, unquote
from tests.io.arff_twin import TOP, read


def test_other_encodings_and_byte_order_mark():
    text = "@relation r\n@attribute é {0,1}\n@attribute a {ü,x,y}\n@data\n1,ü\n"
    assert read(b"\xef\xbb\xbf" + text.encode(), 1).label_names == ("é",)
    data = read(text.encode("latin-1"), 1, encoding="latin-1")
    assert (data.label_names, data.feature_names[0]) == (("é",), "a=ü")
    with pytest.raises(FileFormatError, match=r"line 2: expected text in utf-8 .*encoding="):
        read(text.encode("latin-1"), 1)
    with pytest.raises(FileFormatError, match=r"line 3: expected text in utf-8 .*encoding="):
        read(b"@attribute y {0,1}\n@data\n\xff\n", 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TOP, 4, "expected a line @data before the end of the file"),
        ("@relation r\n@data\n1\n", 2, "expected at least one @attribute before @data"),
        (TOP + "@attribute a real\n@data\n", 5, "attribute 'a' was declared before, on line 3"),
        (TOP + "@relation r\n", 5, "expected one @relation, got a second"),
        (TOP + "1,2,3\n", 5, "expected @relation, @attribute or @data, got '1,2,3'"),
        (TOP + "@attribute z\n", 5, "attribute 'z' must be numeric, .* got nothing"),
        (TOP + "@attribute z what\n", 5, "attribute 'z' must be numeric, .* got 'what'"),
        (TOP + "@attribute z real real\n", 5, "expected nothing after the type real"),
        (TOP + "@attribute\n", 5, "expected a name and a type after @attribute"),
        (TOP + "@attribute 'z real\n", 5, "expected a name and a type after @attribute"),
        (TOP + "@attribute z {a,b\n", 5, "attribute 'z' must list its values as {a,b,...}, got"),
        (TOP + "@attribute z {a,,b}\n", 5, "attribute 'z' has an empty value"),
        (TOP + "@attribute z {}\n", 5, "attribute 'z' has an empty value"),
        (TOP + "@attribute z {a,b,a}\n", 5, "attribute 'z' lists the value 'a' twice"),
        (TOP + "@attribute z {a,b} c\n", 5, "expected nothing after the values, got ' c'"),
        ("@relation 'r\n", 1, "expected a closing quote in @relation"),
        ("@relation 'r' s\n", 1, "expected one name after @relation"),
        (TOP.replace("{0,1}", "{a,b}") + "@data\n", 2, r"label 'y' .* \{0,1\}, .* '\{a,b\}'"),
        (TOP + "@attribute z date 'yyyy-MM-dd'\n@data\n", 5, r"type date, .* drop=\['z'\]"),
    ],
)  # fmt: skip
def test_broken_headers_name_their_line(text, line, message):
    with pytest.raises(FileFormatError) as caught:
        read(text, 1)
    assert caught.value.line == line
    assert re.search(message, caught.value.problem), caught.value.problem


def test_quotes_of_names():
    assert (quote("length"), quote("it's 5% off")) == ("length", r"'it\'s 5\% off'")
    assert unquote(r"'it\'s 5\% off'") == "it's 5% off"
