"""Requests that nobody should send, and what a good one is."""

import json
import random

from tests.serve.problems import LABELS, points, records

ROWS = records(points(4, seed=8)[0])
STRANGE = [
    None, True, False, 0, -1, 1.5, 1e308, 10**400, "", "x", "\ud800", "\0", "1", "NaN", [], [[]],
    {}, {"heat": {}}, [None], ["sea"] * 3, {"rows": []}, "🜂", " " * 50, [1, 2], [1, "x"],
]  # fmt: skip
GOOD = {
    "/predict": {"rows": ROWS[:1], "scores": True, "top": 2, "cut": 0.5},
    "/explain": {"rows": ROWS[:1], "labels": ["sea"], "top": 3},
    "/feedback": {"corrections": [{"features": ROWS[0], "labels": ["sea"]}]},
}
QUERIES = {
    "/data/rows": ["label", "having", "above", "below", "issues", "sort", "start", "most"],
    "/data/some": ["rows"],
    "/data/cuts": ["label"],
    "/feedback": ["most"],
    "/feedback/export": ["format", "all"],
}


def malformed(seed):
    """Method, path, and arguments of a request that is wrong in one way or another."""
    rng = random.Random(seed)
    kind = rng.choice(
        ["value", "value", "value", "bytes", "json", "type", "path", "query", "csv", "arrow"]
    )
    path = rng.choice(list(GOOD))
    headers = {"content-type": "application/json"}
    if kind == "value":
        body = _spoiled(rng, json.loads(json.dumps(GOOD[path])))
        return "POST", path, {"content": json.dumps(body).encode(), "headers": headers}
    if kind == "bytes":
        text = json.dumps(GOOD[path]).encode()
        at = rng.randrange(len(text))
        how = rng.randrange(3)
        content = [
            text[:at],
            text[:at] + bytes([rng.randrange(256)] * 3) + text[at:],
            rng.randbytes(at),
        ][how]
        content = content.replace(b'"cut": 0.5', b'"cut": NaN')
        return "POST", path, {"content": b"[" + content, "headers": headers}
    if kind == "json":
        content = rng.choice(
            [b"", b"null", b"[]", b'"x"', b"[" * 20_000, b"{" * 500, b'{"rows": NaN}', b"3"]
        )
        return "POST", path, {"content": content, "headers": headers}
    if kind == "type":
        other = rng.choice(
            [
                "text/plain",
                "",
                "application/xml",
                "multipart/form-data",
                "text/csv;x",
                "é".encode("latin-1"),
            ]
        )
        return (
            "POST",
            rng.choice(["/explain", "/feedback"]),
            {"content": b"{}", "headers": {"content-type": other}},
        )
    if kind == "path":
        method = rng.choice(["GET", "PUT", "PATCH", "DELETE", "POST"])
        where = rng.choice(
            [
                "/feedback/x",
                "/feedback/0",
                "/feedback/999999",
                "/predict/x",
                "/nothing",
                "/../etc/passwd",
                "/feedback/-3",
                "/data/",
                "/%00",
                "/feedback/1e9",
            ]
        )
        return method, where, {}
    if kind == "query":
        where = rng.choice(list(QUERIES))
        name = rng.choice(QUERIES[where])
        value = rng.choice(
            ["x", "-1", "1e400", "", "nan", "\0", "999999999999999999999", "é", "sea,snow"]
        )
        if (where, name, value) in {("/data/rows", "label", ""), ("/data/cuts", "label", "")}:
            value = "moon"
        if name in ("above", "below"):
            value = "x"
        if name == "rows":
            value = "x"
        return "GET", where, {"params": {name: value}}
    if kind == "csv":
        content = rng.choice(
            [
                b"",
                b"heat\n1\n",
                b"heat,height\n1\n",
                b"heat,height\nx,2\n",
                b"\xff\xfe",
                b"heat,heat\n1,2\n",
                b"heat,height\n",
                b'heat,height\n"1,2',
                b"heat,height\n1,\n",
                b"\0" * 50,
            ]
        )
        return "POST", "/predict", {"content": content, "headers": {"content-type": "text/csv"}}
    headers = {"content-type": "application/vnd.apache.arrow." + rng.choice(["stream", "file"])}
    head = rng.choice([b"", b"ARROW1\0\0", b"\xff\xff\xff\xff"])
    return (
        "POST",
        "/predict",
        {"content": head + rng.randbytes(rng.randrange(200)), "headers": headers},
    )


def _spoiled(rng, body):
    """The body with one value replaced, left out or added."""
    places = list(_places(body))
    parent, key = rng.choice(places)
    how = rng.randrange(3)
    strange = rng.choice(STRANGE)
    if (
        how == 0
        and isinstance(parent, dict)
        and key in ("rows", "corrections", "heat", "height", "labels", "features")
    ):
        if key == "labels" and "features" not in parent:
            parent[key] = 3  # they may be left out
        else:
            del parent[key]
    elif how == 1 and isinstance(parent, dict) and not {"heat", "height"} & set(parent):
        parent["strange"] = strange  # a row may have other columns
    else:
        parent[key] = _wrong(key, strange, rng)
    return body


def _wrong(key, strange, rng):
    """A value that cannot be meant at this place."""
    fits = {
        "scores": lambda v: isinstance(v, bool),
        "top": lambda v: v is None or (isinstance(v, int) and not isinstance(v, bool) and v >= 1),
        "cut": lambda v: (
            v is None
            or (isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e300)
        ),
        "heat": lambda v: isinstance(v, bool) or (isinstance(v, int | float) and abs(v) < 1e300),
        "height": lambda v: isinstance(v, bool) or (isinstance(v, int | float) and abs(v) < 1e300),
        "labels": lambda v: (
            v is None or v == [] or (isinstance(v, list) and set(map(str, v)) <= set(LABELS))
        ),
        "rows": lambda v: v in ([[1, 2]],),
        "features": lambda v: v == [1, 2],
        0: lambda v: v in ([1, 2], "sea"),
    }
    if fits.get(key, lambda _: False)(strange):
        return {"nothing": ["that", "fits"]}
    return strange


def _places(value):
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value, i
            yield from _places(value[i])
