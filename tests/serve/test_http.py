"""JSON of requests: read fast, and as the standard library reads it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from plurilabel.serve import BadInput
from plurilabel.serve._http import json_bytes, parsed_json

WORDS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(WORDS, inside, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_numbers_keep_every_bit(numbers):
    for text in (json.dumps(numbers), json.dumps([f"{x:.30e}" for x in numbers]).replace('"', "")):
        assert [x.hex() for x in map(float, parsed_json(text.encode()))] == [
            x.hex() for x in map(float, json.loads(text))
        ]


@settings(max_examples=50)
@given(VALUES)
def test_what_json_says(value):
    text = json.dumps(value)
    if "Infinity" not in text:  # which is not JSON
        assert parsed_json(text.encode()) == json.loads(text) == parsed_json(json_bytes(value))


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbf{"a": 1}',
        b'"\\ud83d\\ude00"',
        b"[" * 150 + b"]" * 150,
        b"[" + b"1" * 4000 + b"]",
    ],
)
def test_unusual_but_json(content):
    assert parsed_json(content) == json.loads(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "EOF while parsing a value"),
        (b'{"a": NaN}', "column 7; send null instead of NaN"),
        (b"[-Infinity]", "column 3; send null instead of NaN"),
        (b"[" * 100_000, "recursion limit exceeded at line 1 column 2"),
        (b"[1,]", "line 1 column 4"),
        (b'"\\ud800"', "unexpected end of hex escape"),
        (b"1" * 5000, "number out of range"),
        ('{"a": "é"}'.encode("utf-16"), "expected value at line 1 column 1"),
    ],
)
def test_not_json(content, words):
    with pytest.raises(BadInput, match=words) as raised:
        parsed_json(content)
    assert raised.value.status == 400


def test_large_bodies():
    texts = ["é" * 200_000, "x"] * 2
    for encoding in ("utf-8", "utf-8-sig"):
        assert parsed_json(json.dumps(texts, ensure_ascii=False).encode(encoding)) == texts
    for content in (b"[" * 300_000, b"[" + b"[]," * 200_000, b'{"a": NaN' + b" " * 300_000 + b"}"):
        with pytest.raises(BadInput, match="the body is not JSON: .* column"):
            parsed_json(content)
