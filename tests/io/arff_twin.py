"""A slow reader written from the format's description, and what compares with it."""

import math
import re
import tempfile
from pathlib import Path

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel.datasets import UnknownLabels
from plurilabel.io import read_arff


def _token(text, i, stops):
    """One bare or quoted token from place i; (text, quoted, next place)."""
    while i < len(text) and text[i] in " \t\r":
        i += 1
    if i < len(text) and text[i] in "'\"":
        mark, out, i = text[i], "", i + 1
        while text[i] != mark:
            if text[i] == "\\":
                i += 1
                out += {"n": "\n", "t": "\t", "r": "\r"}.get(text[i], text[i])
            else:
                out += text[i]
            i += 1
        return out, True, i + 1
    start = i
    while i < len(text) and text[i] not in stops:
        # a comment starts with % after a blank, not inside a word
        if text[i] in " \t\r" and text[i:].lstrip(" \t\r").startswith("%"):
            break
        i += 1
    return text[start:i].strip(" \t\r"), False, i


def _number(text):
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        raise ValueError(text)
    return float(text)


def _value(text, quoted, values):
    """A number, or the place of a nominal value; NaN for ?"""
    if text == "?" and not quoted:
        return math.nan
    if values is None:
        return _number(text)
    if text in values:
        return values.index(text)
    return [_number(value) for value in values].index(_number(text))


def _split_row(line, cut):
    """Tokens of a comma list up to ``cut``; ValueError if it is not one."""
    tokens, i = [], 0
    while True:
        text, quoted, i = _token(line, i, "," + cut)
        if text == "" and not quoted:
            raise ValueError("empty")
        tokens.append((text, quoted))
        rest = line[i:].lstrip(" \t\r")
        i = len(line) - len(rest)
        if rest.startswith(","):
            i += 1
            continue
        return tokens, rest


def _only_comment(rest):
    rest = rest.strip(" \t\r")
    if rest and not rest.startswith("%"):
        raise ValueError(rest)


def twin(text, labels, drop=()):
    """X, Y, feature names, label names from the text of an ARFF file, all dense."""
    attributes, rows, in_data, is_sparse = [], [], False, None
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if not line or line.startswith("%"):
            continue
        if not in_data:
            keyword = line.split()[0].lower()
            if keyword == "@data":
                in_data = True
            elif keyword == "@attribute":
                name, _, i = _token(line, len(keyword), " \t{")
                kind = line[i:].strip()
                values = None
                if kind.startswith("{"):
                    values = [value for value, _ in _split_row(kind[1:], "}")[0]]
                attributes.append((name, values))
            continue
        is_sparse = line.startswith("{") if is_sparse is None else is_sparse
        if is_sparse != line.startswith("{"):
            raise ValueError("mixed")
        row = [0.0] * len(attributes)  # left out: 0, or the first declared value
        if not is_sparse:
            cells, rest = _split_row(line, "")
            _only_comment(rest)
            if len(cells) != len(attributes):
                raise ValueError("number of values")
            for a, (cell, quoted) in enumerate(cells):
                if attributes[a][0] not in drop:
                    row[a] = _value(cell, quoted, attributes[a][1])
        elif re.match(r"\{[ \t\r]*\}", line):
            _only_comment(line[line.index("}") + 1 :])
        else:
            seen, rest = set(), "," + line[1:]
            while rest.startswith(","):
                index, _, i = _token(rest, 1, " \t\r,}{")
                a = int(_number(index))
                if a != _number(index) or a in seen or not 0 <= a < len(attributes):
                    raise ValueError("index")
                seen.add(a)
                if rest[i : i + 1] not in (" ", "\t", "\r"):
                    raise ValueError("blank")
                cell, quoted, i = _token(rest, i, ",}{")
                row[a] = _value(cell, quoted, attributes[a][1])
                rest = rest[i:].lstrip(" \t\r")
            if not rest.startswith("}"):
                raise ValueError("closing")
            _only_comment(rest[1:])
        rows.append(row)
    if not rows:
        raise ValueError("no rows")

    X, Y, features, names = [], [], [], []
    for a, (name, values) in enumerate(attributes):
        column = [row[a] for row in rows]
        words = values and [value.lower() for value in values]
        truth = words and (
            words in (["0"], ["1"])
            or sorted(words)
            in (["0", "1"], ["false", "true"], ["f", "t"], ["no", "yes"], ["n", "y"])
        )
        if truth:
            yes = [word in ("1", "true", "t", "yes", "y") for word in words]
            column = [c if math.isnan(c) else float(yes[int(c)]) for c in column]
        if name in drop:
            continue
        if name in labels:
            if not {c for c in column if not math.isnan(c)} <= {0, 1}:
                raise ValueError("label")
            Y.append(column)
            names.append(name)
        elif values is None or truth:
            X.append(column)
            features.append(name)
        elif len(values) == 2:
            X.append(column)
            features.append(f"{name}={values[1]}")
        else:
            for place, value in enumerate(values):
                X.append([c if math.isnan(c) else float(c == place) for c in column])
                features.append(f"{name}={value}")
    X = np.array(X, dtype=float).T.reshape(len(rows), len(features))
    Y = np.array(Y, dtype=float).T  # NaN where a label is not known
    return X, Y if np.isnan(Y).any() else Y.astype(np.int64), tuple(features), tuple(names)


def assert_same_bits(got, expected):
    got, expected = dense(got), dense(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


def assert_is_twin(data, text, labels, drop=()):
    X, Y, features, names = twin(text, labels, drop)
    assert_same_bits(data.X, X)
    got = data.Y.toarray() if isinstance(data.Y, UnknownLabels) else data.Y
    assert_same_bits(got, Y)
    assert data.feature_names == features
    assert data.label_names == names


def read(text, labels=None, **options):
    """Read from a text, in a folder without any XML file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "some.arff")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_arff(path, labels, **options)


TOP = "@relation r\n@attribute y {0,1}\n@attribute a numeric\n@attribute c {u,v,w}\n"
NUMBERS = TOP.replace("{u,v,w}", "numeric") + "@data\n"
