"""Reading ARFF: our reader beside liac-arff, and the memory it needs beside the result.

``python benchmarks/bench_arff.py``, with ``PLURILABEL_DATA`` naming the data folder and liac-arff
installed (``pip install plurilabel[bench]``).

Time is processor time, the best of some runs, ours and the peers' in turn. liac-arff reads sparse
rows in its two quick forms (LOD, COO) and hands over Python lists; "to CSR" makes X and Y of them,
which is what ours does. "bare limit" is what no reader in numpy can beat: unpack the file and let
``np.fromstring`` parse the numbers, unchecked.

Memory is what tracemalloc sees while the file is read (numpy's arrays, and the bytes of the file
that are held), against the bytes of the arrays in X and Y.
"""

from __future__ import annotations

import gzip
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel.datasets._arff import read_arff
from plurilabel.datasets._label_xml import read_label_xml

FILES = (
    "tmc2007-500/tmc2007-500-train.arff.gz",
    "delicious/delicious-train.arff.gz",
    "scene/scene-train.arff",
    "genbase/genbase-train.arff.gz",
)
TARGET = "at least 10 times faster, peak under 3 times the result"


def _bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _bare(path: Path) -> np.ndarray:
    rows = _bytes(path).split(b"@data", 1)[1]
    kind = float if b"." in rows else np.int64
    return np.fromstring(rows.translate(bytes.maketrans(b"{},\n", b"    ")), dtype=kind, sep=" ")


def _peers(path: Path) -> dict[str, Callable[[], Any]]:
    import arff

    def load(form: int) -> dict[str, Any]:
        return arff.loads(_bytes(path).decode(), return_type=form)

    if b"\n{" not in _bytes(path):
        return {"liac-arff": lambda: load(arff.DENSE)}
    return {
        "liac-arff LOD": lambda: load(arff.LOD),
        "liac-arff COO": lambda: load(arff.COO),
        "liac-arff COO to CSR": lambda: _matrices(load(arff.COO), path),
    }


def _matrices(loaded: dict[str, Any], path: Path) -> tuple[sparse.csr_array, sparse.csr_array]:
    values, rows, columns = loaded["data"]
    names, _ = read_label_xml(path.with_name(f"{path.parent.name}.xml"))
    chosen = set(names)
    label = np.array([name in chosen for name, _ in loaded["attributes"]])
    shape = max(rows) + 1, len(label)
    whole = sparse.csc_array((np.array(values, dtype=np.float64), (rows, columns)), shape=shape)
    return whole[:, ~label].tocsr(), whole[:, label].astype(np.int64).tocsr()


def _best(tasks: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for what, task in tasks.items():
            start = time.process_time()
            task()
            best[what] = min(best[what], time.process_time() - start)
    return best


def _size(matrix: Any) -> int:
    if sparse.issparse(matrix):
        return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    return matrix.nbytes


def _memory(task: Callable[[], Any]) -> tuple[int, int]:
    tracemalloc.start()
    data = task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, _size(data.X) + _size(data.Y)


def run(rounds: int = 5) -> list[dict[str, Any]]:
    folder = Path(os.environ["PLURILABEL_DATA"])
    rows = []
    for name in FILES:
        path = folder / name
        drop = ["protein"] if "genbase" in name else []

        def ours(path: Path = path, drop: list[str] = drop) -> Any:
            return read_arff(path, drop=drop)

        tasks = {"ours": ours, **_peers(path)}
        if not drop:  # genbase is in words
            tasks["bare limit"] = lambda path=path: _bare(path)
        best = _best(tasks, rounds)
        peak, size = _memory(ours)
        for what, seconds in best.items():
            if what == "ours":
                continue
            rows.append(
                {
                    "what": f"{path.name}, {what}",
                    "ours_s": best["ours"],
                    "peer_s": seconds,
                    "ratio": seconds / best["ours"],
                    "note": f"peak {peak / size:.2f} x the result of {size / 1e6:.1f} MB",
                }
            )
    return rows


def main() -> None:
    print(f"target: {TARGET} (tmc2007-500, delicious)")
    for row in run():
        print(
            f"{row['what']:45} ours {row['ours_s']:.3f} s, peer {row['peer_s']:.3f} s, "
            f"ratio {row['ratio']:.1f}, {row['note']}"
        )


if __name__ == "__main__":
    main()
