"""Changes to files, from careless to cunning; each is a function of a random generator alone."""

import io
import json
import re
import zipfile
from functools import cache

import numpy as np

EXTREMES = (
    b"0", b"-1", b"1e999", b"-0.0", b"nan", b"2147483647", b"2147483648", b"18446744073709551616",
    b"1" + b"0" * 400, b"1e400", b"?", b"", b"'", b'"', b"{", b"}", b",", b"\n", b"\r", b"\0",
    b"\xff", b"%", b"\\", b" " * 50, b"\xef\xbb\xbf", b"\x1b[31m",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 60, 255, 2**31 - 1, -(2**31), 2**31, 2**40, 2**63 - 1, -(2**63))


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


# any file -------------------------------------------------------------------------------------


def mutated(rng, content):
    """A few changes to bytes and words of a file."""
    for _ in range(rng.geometric(0.5)):
        content = pick(rng, _CHANGES)(rng, content) if content else pick(rng, EXTREMES)
    return content


def _cut(rng, content):
    a, b = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:a] + content[b:] if rng.random() < 0.5 else content[:b]


def _flip(rng, content):
    changed = bytearray(content)
    for at in rng.integers(len(changed), size=1 + rng.geometric(0.4)).tolist():
        changed[at] = int(rng.integers(256))
    return bytes(changed)


def _insert(rng, content):
    at = int(rng.integers(len(content) + 1))
    return content[:at] + pick(rng, EXTREMES) + content[at:]


def _repeat(rng, content):
    a, b = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:a] + content[a : a + min(b - a, 200)] * int(rng.integers(2, 5)) + content[a:]


def _word(rng, content):
    words = list(re.finditer(rb"[^\s,;:{}\[\]]+", content))
    if not words:
        return _flip(rng, content)
    word = pick(rng, words)
    other = pick(rng, words)[0] if rng.random() < 0.3 else pick(rng, EXTREMES)
    return content[: word.start()] + other + content[word.end() :]


def _line(rng, content):
    lines = content.splitlines(keepends=True)
    a, b = rng.integers(len(lines), size=2).tolist()
    lines[a], lines[b] = lines[b], lines[a] * int(rng.integers(3))
    return b"".join(lines)


def _binary(rng, content):
    """A number where a format of bytes may have a size or a place."""
    width = pick(rng, (1, 2, 4, 8))
    at = int(rng.integers(len(content) + 1))
    at -= at % width if rng.random() < 0.7 else 0
    value = pick(rng, NUMBERS) % 256**width
    order = "little" if rng.random() < 0.8 else "big"
    return content[:at] + value.to_bytes(width, order) + content[at + width :]


_CHANGES = (_cut, _flip, _insert, _repeat, _word, _line, _binary)


# model files ----------------------------------------------------------------------------------


@cache
def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def mutated_model(rng, content):
    """A model file with one or a few of its members changed, and its checksums right."""
    if rng.random() < 0.02:
        return mutated(rng, content)
    members = dict(_members(content))
    arrays = [name for name in members if name.endswith((".npy", ".npz"))]
    for _ in range(rng.geometric(0.7)):
        if arrays and rng.random() < 0.6:
            name = pick(rng, arrays)
            change = _array_member if name.endswith(".npy") else _sparse_member
            try:
                members[name] = change(rng, members[name])
            except Exception:  # what an earlier change left is no array, in any of many ways
                members[name] = _flip(rng, members[name])
        elif arrays and rng.random() < 0.2:
            members[pick(rng, arrays)] = members[pick(rng, arrays)]
        elif rng.random() < 0.1:
            members["plurilabel.json"] = mutated(rng, members["plurilabel.json"])
        else:
            members["schema.json"] = _schema(rng, members["schema.json"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return buffer.getvalue()


def _array(rng, array):
    """An array with other numbers, of another type or shape."""
    array, kind = np.array(array), int(rng.integers(8))
    if kind <= 3 and array.size and array.dtype.kind in "iuf":
        values = [*NUMBERS, array.size, np.nan, np.inf, 1e300]
        for _ in range(rng.geometric(0.5)):
            with np.errstate(all="ignore"):
                value = np.array(pick(rng, values), dtype=np.float64).astype(array.dtype)
            array.flat[int(rng.integers(array.size))] = value
    elif kind == 3 and array.size and array.dtype.names:
        field = array[pick(rng, array.dtype.names)]
        field.flat[int(rng.integers(field.size))] = pick(rng, NUMBERS[:6])
    elif kind == 4:
        types = ("i1", "<i4", "<i8", "<u8", ">f8", "<f4", "<f8", "<f2", "<U3", "c16", "?", "M8[s]")
        array = np.resize(array.view() if array.dtype.names is None else 0, array.shape)
        with np.errstate(all="ignore"):
            array = array.astype(pick(rng, types), casting="unsafe")
    elif kind == 5 and array.ndim:
        array = array[: int(rng.integers(len(array) + 1))]
    elif kind == 6:
        array = np.concatenate([np.atleast_1d(array)] * 2)
    else:
        array = pick(rng, (array.T, array.ravel(), array[None], array.reshape(-1, 1)))
    return array


def _array_member(rng, member):
    if rng.random() < 0.1:
        return _flip(rng, member)
    buffer = io.BytesIO()
    array = _array(rng, np.lib.format.read_array(io.BytesIO(member), allow_pickle=False))
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _sparse_member(rng, member):
    if not member.startswith(b"PK"):  # another member was put in its place
        return _array_member(rng, member)
    with np.load(io.BytesIO(member), allow_pickle=False) as parts:
        parts = {name: parts[name] for name in parts}
    name = pick(rng, list(parts))
    if name == "format":
        parts[name] = np.array(pick(rng, (b"csr", b"csc", b"coo", b"bsr", b"dia", b"lil")))
    elif name == "shape" and rng.random() < 0.5:
        parts[name] = np.array([pick(rng, NUMBERS[:9]), parts[name][1]])
    else:
        try:
            parts[name] = _array(rng, parts[name])
        except (ValueError, TypeError):
            del parts[name]
    buffer = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.02 else np.savez)(buffer, **parts)
    return buffer.getvalue()


# what stands where something else is expected: other types, other sizes, other options
VALUES = (
    *NUMBERS, 3, 4, 5, 0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), None, True, False,
    10**30, "", "csr", "precomputed", "brute", "auto", "filename", "../folder", "3", "nan",
    "(a+)+$", "\0", "é" * 50, [], [1], [[]], {}, {"a": 1}, ["a"], [1, "a", None], [0] * 99,
)  # fmt: skip


def _schema(rng, text):
    """The text that describes the objects, with one of them changed."""
    schema, nodes, places = json.loads(text), [], []
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            nodes.append(node)
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                todo.append(value)
    try:
        pick(rng, _IN_SCHEMA)(rng, nodes, places)
        return json.dumps(schema).encode()
    except (ValueError, RecursionError):  # it names itself, or there is nothing to change
        return text


def _any_value(rng, nodes, _places):
    pick(rng, _plain(nodes))["content"] = json.dumps(pick(rng, VALUES))


def _any_entry(rng, _nodes, places):
    node, key = pick(rng, places)
    node[key] = pick(rng, VALUES)


def _no_entry(rng, _nodes, places):
    node, key = pick(rng, places)
    del node[key]


def _other_object(rng, nodes, _places):  # the same object twice, under its number or its own
    node, other = pick(rng, nodes), pick(rng, nodes)
    kept = node.get("__id__")
    node.clear()
    node.update(other, **({} if rng.random() < 0.5 else {"__id__": kept}))


def _swapped(rng, _nodes, places):
    (node, key), (other, there) = pick(rng, places), pick(rng, places)
    node[key], other[there] = other[there], node[key]


def _other_type(rng, nodes, _places):
    node, other = (pick(rng, _with(nodes, "__class__")) for _ in range(2))
    node["__class__"], node["__module__"] = other["__class__"], other.get("__module__")


def _other_builder(rng, nodes, _places):
    node, other = (pick(rng, _with(nodes, "__loader__")) for _ in range(2))
    node["__loader__"] = other["__loader__"]


def _other_file(rng, nodes, _places):
    node, other = (pick(rng, _with(nodes, "file")) for _ in range(2))
    node["file"], other["file"] = other["file"], node["file"]


def _other_value(rng, nodes, _places):
    pick(rng, _plain(nodes))["content"] = pick(rng, _plain(nodes)).get("content")


def _other_key(rng, nodes, _places):  # an attribute under another name
    node = pick(rng, [each for each in nodes if "key_types" in each])
    content = node["content"]
    key, other = (pick(rng, list(content)) for _ in range(2))
    content[other if rng.random() < 0.5 else f"{key}_"] = content.pop(key)


def _longer(rng, nodes, _places):
    content = pick(rng, [n["content"] for n in nodes if isinstance(n.get("content"), list)])
    content *= int(rng.integers(2, 5))


def _with(nodes, key):
    return [node for node in nodes if key in node] or [{key: None}]


def _plain(nodes):
    return [node for node in nodes if node.get("__loader__") == "JsonNode"] or [{}]


_IN_SCHEMA = (
    _any_value, _any_value, _any_value, _any_entry, _no_entry, _other_object, _swapped,
    _other_type, _other_builder, _other_file, _other_value, _other_key, _longer,
)  # fmt: skip
