"""Checks of a model file from an untrusted source, before anything in it is built.

They cover the types in the file, the memory that it would take, and the sizes of its arrays.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, BinaryIO

import numpy as np

from plurilabel._core.roster import estimators

# In addition to what skops trusts by default, attributes of the usual classifiers. Classes only: a
# file must not name functions.
_OTHERS = {
    "builtins": "range",
    "numpy": "dtype",
    "plurilabel": "DateEncoder TableEncoder",
    "plurilabel.bags": "Bags",
    "plurilabel.datasets": "Hierarchy UnknownLabels",
    "plurilabel.learners": "Condition DecisionNode LabelRule Vote WeakRule WordShares",
    "plurilabel.metrics": "Measure Scorer",
    "plurilabel.model_selection": "IterativeStratifiedGroupKFold IterativeStratifiedKFold "
    "IterativeStratifiedShuffleSplit RepeatedIterativeStratifiedKFold",
    "plurilabel.neighbors": "Formula",
    "plurilabel.streams": "ADWIN CountingWindow SelfAdjusting Watched",
    "plurilabel.text": "PackedWords",
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn._loss.link": "Interval LogitLink MultinomialLogit",
    "sklearn._loss.loss": "HalfBinomialLoss HalfMultinomialLoss",
    "sklearn.compose._column_transformer": "_RemainderColsList",  # before scikit-learn 1.7
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.metrics._dist_metrics": "EuclideanDistance64",
    "sklearn.model_selection._split": "GroupKFold GroupShuffleSplit KFold ShuffleSplit "
    "TimeSeriesSplit",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
}


@cache
def trusted_types() -> frozenset[str]:
    """Names of all types that a model file may contain: our estimators and their attributes."""
    ours = (f"plurilabel.{name}" for name, home in estimators().items() if home != "_core.base")
    others = (f"{home}.{name}" for home, names in _OTHERS.items() for name in names.split())
    return frozenset([*ours, *others])


def _is_plain(name: str) -> bool:
    """Whether skops trusts a type of Python or numpy by default."""
    return name.startswith(("builtins.", "numpy.")) and name not in trusted_types()


def _one_of(*names: str) -> Callable[[str], bool]:
    return lambda name: name in names


_BUILT: dict[str, Callable[[str], bool]] = {
    "BytesNode": _one_of("builtins.bytes"),
    "ConstructorFromReduceNode": _one_of("builtins.range"),
    "DTypeNode": _one_of("numpy.dtype"),
    "DictNode": _one_of("builtins.dict", "collections.OrderedDict"),
    "FunctionNode": lambda name: (
        name.startswith(("numpy.", "scipy.")) and name not in trusted_types()
    ),
    "JsonNode": lambda _name: True,
    "ListNode": _one_of("builtins.list"),
    "LossNode": lambda name: name.startswith(
        # older versions of scikit-learn write the second, which skops maps to its module
        ("sklearn._loss.", "_loss.CyHalf", "sklearn.linear_model._sgd_fast.")
    ),
    "MaskedArrayNode": lambda name: name.startswith("numpy.ma."),
    "NdArrayNode": _is_plain,
    "ObjectNode": lambda name: not name.startswith(("builtins.", "numpy.")),
    "RandomGeneratorNode": _one_of("numpy.random._generator.Generator"),
    "RandomStateNode": _one_of("numpy.random.mtrand.RandomState"),
    "SetNode": _one_of("builtins.set"),
    "SliceNode": _one_of("builtins.slice"),
    "SparseMatrixNode": lambda name: name.startswith("scipy.sparse."),
    "TreeNode": _one_of("sklearn.tree._tree.Tree"),
    "TupleNode": _one_of("builtins.tuple"),
    "TypeNode": _is_plain,
}
"""Types that each of skops' nodes may build.

skops itself lets any node build any trusted type: an array node would call the constructor of an
estimator with its content, and a sparse matrix could be built from nothing but a large shape.
"""


def refused_built(schema: Any) -> str | None:
    """Reason not to build the objects that a schema describes; None if there is none."""
    return next(filter(None, map(_refused_node, written(schema))), None)


def _refused_node(node: dict[str, Any]) -> str | None:
    builder = node.get("__loader__")
    if builder is None:
        return None
    name = f"{node.get('__module__')}.{node.get('__class__')}"
    if builder not in _BUILT or not _BUILT[builder](name):
        return f"it contains {name} as a {builder}, which no model of plurilabel does"
    if builder == "RandomGeneratorNode":
        # numpy allocates a pool of any size, and fills it in quadratic time
        size = node["content"]["seed_seq"]["content"]["pool_size"]
        if size["__loader__"] != "JsonNode" or size["content"] != "4":
            return "a random generator in it has a pool size other than 4"
    return None


def stored(content: bytes) -> bytes:
    """The content of a model file, with all members uncompressed.

    skops stores arrays uncompressed, but each sparse matrix as a compressed archive of its own.
    Without compression, the size of a file determines how much memory it takes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as packed, zipfile.ZipFile(buffer, "w") as plain:
        for name in packed.namelist():
            member = packed.read(name)
            plain.writestr(name, stored(member) if member.startswith(b"PK") else member)
    return buffer.getvalue()


MOST_PACKED = 20  # largest ratio of the unpacked to the packed size of a file
LITTLE = 2**26  # bytes that any file may unpack to


def is_bomb(packed: int, unpacked: int) -> bool:
    """Whether a file unpacks to too many times its size."""
    return unpacked > max(LITTLE, MOST_PACKED * packed)


def is_packed(stream: BinaryIO) -> bool:
    """Whether anything in an archive is compressed."""
    with zipfile.ZipFile(stream) as archive:
        return _has_packed(archive)


def _has_packed(archive: zipfile.ZipFile) -> bool:
    return any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist())


def unpacked(content: bytes) -> bytes:
    """Decompress a model file, if it is compressed.

    Sizes are checked before anything is unpacked, and no member yields more than it declares.
    """
    if not is_packed(io.BytesIO(content)):
        return content
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if is_bomb(len(content), sum(entry.file_size for entry in entries)):
            raise ValueError(f"it unpacks to more than {MOST_PACKED} times its size")
        with zipfile.ZipFile(buffer, "w") as plain:
            for entry in entries:
                with archive.open(entry) as member:
                    plain.writestr(entry.filename, member.read(entry.file_size))
    return buffer.getvalue()


def refused(stream: BinaryIO) -> str | None:
    """Reason not to load a model file; None if there is none.

    skops reads a member again for each object that names it. If each is named once, the file, its
    members and the arrays built from them are in memory together: three times the file.
    """
    size = stream.seek(0, io.SEEK_END)
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if _holds_more(archive, size):
            return "it is partly compressed"
        sizes = {entry.filename: entry.file_size for entry in entries}
        if len(sizes) < len(entries):
            return "it has two members of the same name"
        shapes = {}
        for entry in entries:
            with archive.open(entry) as member:
                start = member.read(6)
                member.seek(0)
                if start.startswith(b"PK") and _holds_packed(member, entry.file_size):
                    return "it contains compressed sparse matrices"
                is_array = start == b"\x93NUMPY"
                shape = _checked_shape(member, entry.file_size) if is_array else None
                shapes[entry.filename] = shape
        if "schema.json" not in sizes:
            return None
        schema = json.loads(archive.read("schema.json"))
    return _refused_schema(schema, shapes, sizes, size)


def _refused_schema(
    schema: Any, shapes: dict[str, Any], sizes: dict[str, int], size: int
) -> str | None:
    """Reason not to build the objects of a file; None if there is none."""
    if _has_scalar_array(schema, shapes):
        return "it has trees and a 0-dimensional array, which crashes trees"
    nodes = list(_nodes(schema))
    if why_not := refused_built(schema):
        return why_not
    if not all(_tree_is_whole(node, shapes) for node in written(schema)):
        return "a tree in it has arrays of invalid shapes"
    named = {(node.get("__id__") or id(node), node["file"]) for node in nodes if "file" in node}
    read = sum(sizes.get(name, 0) for _, name in named)
    if read > size:
        return f"it refers to the same arrays repeatedly, {read / 1e9:,.1f} GB in total"
    return None


def _holds_more(archive: zipfile.ZipFile, size: int) -> bool:
    """Whether an archive of this size is compressed, or declares more bytes than it has."""
    return _has_packed(archive) or sum(entry.file_size for entry in archive.infolist()) > size


def _holds_packed(stream: Any, size: int) -> bool:
    """Whether a sparse matrix, an archive itself, is compressed."""
    with zipfile.ZipFile(stream) as inner:
        if _holds_more(inner, size):
            return True
        for entry in inner.infolist():
            with inner.open(entry) as part:
                _checked_shape(part, entry.file_size)
    return False


def _has_scalar_array(schema: Any, shapes: dict[str, Any]) -> bool:
    """Whether a file with trees has a 0-dimensional array, anywhere.

    scikit-learn's trees crash if they are built from one. Scalars of numpy are stored in the same
    way, but are not arrays once they are loaded.
    """
    nodes = list(written(schema))
    if not any(node.get("__loader__") == "TreeNode" for node in nodes):
        return False
    for node in nodes:
        if node.get("__loader__") == "MaskedArrayNode":
            node = node["content"]["data"]
            if node["__class__"] != "ndarray":
                return True
        is_array = node.get("__class__") == "ndarray" and isinstance(node.get("file"), str)
        if is_array and shapes[node["file"]] == ():
            return True
    return False


def written(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a schema, including repeated ones."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield node
            todo += node.values()
        elif isinstance(node, list):
            todo += node


def _checked_shape(stream: Any, size: int) -> tuple[int, ...]:
    """The shape of an array, whose header must match the number of bytes."""
    shape, _, dtype = header_of(stream)
    # any number of values of size 0 would fit
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ValueError(f"an array of {dtype}")
    if math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError(f"an array of {shape} {dtype} in {size} bytes")
    return shape


def header_of(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type in the header of an array."""
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
        version, np.lib.format.read_array_header_2_0
    )
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(stream)
    return header


def _tree_is_whole(node: dict[str, Any], shapes: dict[str, Any]) -> bool:
    """Whether the arrays of a scikit-learn tree have the right number of dimensions.

    It reads the length of its nodes, and the numbers of classes, before it checks their shape.
    """
    if node.get("__loader__") != "TreeNode":
        return True
    _, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    n_nodes, n_values = (shapes[state[name]["file"]] for name in ("nodes", "values"))
    return (
        shapes[n_classes["file"]] == (json.loads(n_outputs["content"]),)
        and len(n_nodes) == 1
        and len(n_values) == 3
    )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a schema, each once.

    A repeated object is written out again with the same id, which skops ignores. If it could
    differ, a short file could describe objects that exceed the memory.
    """
    seen: dict[Any, Any] = {}
    for node in written(schema):
        number = node.get("__id__")
        if not isinstance(number, int | str | None):
            raise ValueError(f"an object has the id {number!r}")
        if number is None or number not in seen:
            seen[number] = node
            yield node
        elif not _are_alike(seen[number], node):
            raise ValueError(f"two objects have the id {number}")


def _are_alike(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two nodes differ only in ids.

    Ids of their parts may differ, too, since some are created on writing, and so may the files of
    sparse matrices and bytes; parts are checked by themselves.
    """
    anew = first.get("__loader__") in ("SparseMatrixNode", "BytesNode")
    if not anew and first.get("file") != second.get("file"):
        return False
    todo = [(first, second)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            todo += [(a[key], b[key]) for key in a if key not in ("__id__", "file")]
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            todo += zip(a, b)
        elif a != b:
            return False
    return True
