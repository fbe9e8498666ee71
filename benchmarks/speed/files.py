"""Reading files: ARFF compared with liac-arff, XMC with scikit-learn's reader for such lines.

liac-arff returns Python lists; "to CSR" converts them to X and Y, which is what our reader
returns. ``np.fromstring`` gets the unpacked text with all punctuation replaced by spaces, and
checks nothing. The limits are reading and unpacking the file, and one pass over its bytes.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.harness.data import has_real_data
from benchmarks.harness.measure import Row, added_mb, beside, left_out, megabytes
from plurilabel.datasets import make_sparse_multilabel
from plurilabel.io import read_arff, read_label_xml, read_xmc, write_xmc

FILES = (
    "yeast/yeast-train.arff",
    "bibtex/bibtex-train.arff.gz",
    "delicious/delicious-train.arff.gz",
    "tmc2007-500/tmc2007-500-train.arff.gz",
)


def run(quick: bool = False) -> list[Row]:
    rows = xmc(2_000 if quick else 50_000)
    if not has_real_data():
        return [*rows, left_out("ARFF", "liac-arff", "PLURILABEL_DATA names no folder")]
    folder = Path(os.environ["PLURILABEL_DATA"])
    for name in FILES[: 1 if quick else None]:
        for path in (folder / name, (folder / name).with_suffix("")):
            if path.exists():
                rows += arff(path)
    return rows


def arff(path: Path) -> list[Row]:
    peers, labels = {}, labels_of(path)
    content = unpacked(path)
    if importlib.util.find_spec("arff") is not None:
        peers = liac_arff(path, labels)

    def ours() -> Any:
        return read_arff(path)

    def parse() -> Any:
        numbers = (
            unpacked(path).split(b"@data", 1)[-1].translate(bytes.maketrans(b"{},\n", b"    "))
        )
        return np.fromstring(numbers, dtype=float, sep=" ")

    data = ours()
    size, memory = megabytes(data.X, data.Y), added_mb(ours)
    return beside(
        path.name,
        ours,
        {**peers, "np.fromstring, unchecked": parse},
        limits={
            "read and unpack": lambda: unpacked(path),
            "one pass over the bytes": lambda: np.frombuffer(content, np.uint8).sum(),
        },
        note=f"ours adds {memory:.0f} MB for a result of {size:.0f} MB",
    )


def labels_of(path: Path) -> set[str]:
    names, _ = read_label_xml(path.with_name(f"{path.parent.name}.xml"))
    return set(names)


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def liac_arff(path: Path, labels: set[str]) -> dict[str, Callable[[], Any]]:
    import arff

    def load(form: int) -> dict[str, Any]:
        return arff.loads(unpacked(path).decode(), return_type=form)

    if b"\n{" not in unpacked(path):
        return {"liac-arff to arrays": lambda: np.array(load(arff.DENSE)["data"], dtype=object)}

    def matrices() -> tuple[Any, Any]:
        loaded = load(arff.COO)
        values, rows, columns = loaded["data"]
        label = np.array([name in labels for name, _ in loaded["attributes"]])
        numbers = np.array(values, dtype=np.float64)
        whole = sparse.csc_array((numbers, (rows, columns)), shape=(max(rows) + 1, len(label)))
        return whole[:, ~label].tocsr(), whole[:, label].astype(np.int64).tocsr()

    return {"liac-arff, lists": lambda: load(arff.LOD), "liac-arff to CSR": matrices}


def xmc(n: int) -> list[Row]:
    data = make_sparse_multilabel(n, 20_000, 2_000, nnz_per_row=50, cardinality=5, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path, bare = Path(folder, "data.txt"), Path(folder, "data.svm")
        write_xmc(path, data)
        bare.write_bytes(path.read_bytes().partition(b"\n")[2])
        size, memory = megabytes(data.X, data.Y), added_mb(lambda: read_xmc(path))
        return beside(
            f"XMC, {n:,} rows of 50 numbers",
            lambda: read_xmc(path),
            {"scikit-learn, load_svmlight_file":
             lambda: load_svmlight_file(bare, multilabel=True)},
            limits={"one pass over the bytes":
                    lambda: np.frombuffer(path.read_bytes(), np.uint8).sum()},
            note=f"ours adds {memory:.0f} MB for a result of {size:.0f} MB",
        )  # fmt: skip
