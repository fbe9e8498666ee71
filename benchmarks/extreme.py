"""Label trees and one-vs-all models beside omikuji and napkinXC.

    python -m benchmarks.extreme --peers /path/to/python --kept runs.jsonl [--page]
    python -m benchmarks.extreme --sizes 20000,20000,1000 500000,100000,100000 --kept sizes.jsonl

Each contestant is trained on the published training part and asked for five labels of each test
instance, on two threads, in a process of its own. Runs that are kept are not repeated. ``--peers``
names a Python with omikuji and napkinxc; ``--page`` prints the tables of the runs that are kept.
``--sizes`` trains one tree on generated data of these numbers of rows, features and labels, with
five labels and thirty features to a row, and asks it about 10,000 other rows; ``--plot`` draws
what the predictions of these runs took.

Seconds are those of the processor, summed over threads, without reading files: on a busy machine
they say more than the clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

DATASETS = ("bibtex", "delicious", "reuters-k500", "generated")
LEARNERS = {
    "LabelTree": "LabelTree(n_jobs=2, random_state=0)",
    "LabelTree, squared hinge": (
        "LabelTree(loss='squared_hinge', C=1.0, n_jobs=2, random_state=0)"
    ),
    "LabelTree, squared hinge, C=0.5, propensity": (
        "LabelTree(loss='squared_hinge', C=0.5, propensity=True, n_jobs=2, random_state=0)"
    ),
    "LabelTree, C=4, 10 trees": "LabelTree(10, C=4.0, n_jobs=2, random_state=0)",
    "OneVsAllLinear": "OneVsAllLinear(n_jobs=2)",
    "OneVsAllLinear, C=0.3": "OneVsAllLinear(C=0.3, n_jobs=2)",
    "OneVsAllLinear, logistic, C=3": "OneVsAllLinear(loss='logistic', C=3.0, n_jobs=2)",
    "LabelEmbedding": "LabelEmbedding(n_jobs=2, random_state=0)",
}
PEERS = ("omikuji", "omikuji, logistic", "napkinXC, PLT", "napkinXC, one-vs-all")
PARTS = ("X", "X_test", "Y", "Y_test")


def load(name: str) -> list[Any]:
    """``X, X_test, Y, Y_test``, all CSR."""
    from plurilabel import datasets

    if name == "generated":
        data = datasets.make_sparse_multilabel(
            22_000, 20_000, 5_000, cardinality=4, noise=0.1, random_state=0
        )
        parts: Any = data.X[:20_000], data.X[20_000:], data.Y[:20_000], data.Y[20_000:]
    else:
        parts = datasets.load(name).holdout()
    return [sparse.csr_array(part, dtype=np.float64) for part in parts]


def store(folder: Path, name: str) -> None:
    """The parts as files that every contestant can read."""
    from plurilabel import io
    from plurilabel._dataset import Dataset

    parts = load(name)
    for part, matrix in zip(PARTS, parts):
        sparse.save_npz(folder / f"{part}.npz", matrix)
    io.write_xmc(folder / "train.txt", Dataset(parts[0], parts[2]))


# one contestant ------------------------------------------------------------------------------


def one(name: str, folder: Path) -> dict[str, Any]:
    """Train and ask, here; the labels go to a file."""
    parts = [sparse.load_npz(folder / f"{part}.npz") for part in PARTS[:3]]
    run = omikuji if "omikuji" in name else napkinxc if "napkinXC" in name else ours
    top, seconds = run(name, folder, *parts)
    np.save(folder / "top.npy", top)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"fit": seconds[0], "predict": seconds[1], "gb": peak}


def ours(name: str, _folder: Path, X: Any, X_test: Any, Y: Any) -> tuple[Any, Any]:
    from plurilabel.compare import make_learner

    learner, clock = make_learner(LEARNERS[name]), time.process_time
    start = clock()
    learner.fit(X, Y)
    between = clock()
    top = learner.predict_top(X_test, k=5)
    end = clock()
    return in_order(top), (between - start, end - between)


def in_order(top: Any) -> Any:
    """The stored labels of each row, the best first."""
    rows = []
    for a, b in zip(top.indptr[:-1], top.indptr[1:]):
        rows.append(top.indices[a:b][np.argsort(-top.data[a:b], kind="stable")])
    return padded(rows)


def padded(rows: list[Any]) -> Any:
    return np.array([(*row[:5], *[-1] * (5 - len(row[:5]))) for row in rows], dtype=np.int64)


def omikuji(name: str, folder: Path, _X: Any, X_test: Any, _Y: Any) -> tuple[Any, Any]:
    import omikuji as peer

    settings, clock = peer.Model.default_hyper_param(), time.process_time
    settings.linear_loss_type = int("logistic" in name)
    start = clock()
    model = peer.Model.train_on_data(str(folder / "train.txt"), settings, 2)
    between = clock()
    model.init_prediction_thread_pool(2)
    pairs = [
        list(zip(X_test.indices[a:b].tolist(), X_test.data[a:b].tolist()))
        for a, b in zip(X_test.indptr[:-1], X_test.indptr[1:])
    ]
    asked = clock()
    rows = [[label for label, _ in model.predict(row, top_k=5)] for row in pairs]
    return padded(rows), (between - start, clock() - asked)


def napkinxc(name: str, folder: Path, X: Any, X_test: Any, Y: Any) -> tuple[Any, Any]:
    from napkinxc.models import BR, PLT

    X, X_test = sparse.csr_matrix(X), sparse.csr_matrix(X_test)
    sets = [Y.indices[a:b].tolist() for a, b in zip(Y.indptr[:-1], Y.indptr[1:])]
    clock = time.process_time
    model = (PLT if "PLT" in name else BR)(str(folder / "model"), threads=2)
    start = clock()
    model.fit(X, sets)
    between = clock()
    rows = model.predict(X_test, top_k=5)
    return padded(rows), (between - start, clock() - between)


# generated data of given sizes -------------------------------------------------------------


def one_size(n: int, d: int, q: int) -> dict[str, Any]:
    """Train one tree, and ask, here."""
    from plurilabel import datasets, metrics
    from plurilabel.extreme import LabelTree

    new, clock = 10_000, time.process_time
    data = datasets.make_sparse_multilabel(n + new, d, q, cardinality=5, random_state=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    X, Y, start, wall = data.X[:n], data.Y[:n], clock(), time.perf_counter()
    tree = LabelTree(1, n_jobs=2, random_state=0).fit(X, Y)
    between, walled = clock(), time.perf_counter()
    top = tree.predict_top(data.X[n:], k=5)
    end, asked = clock(), time.perf_counter()
    tree.predict_top(data.X[n : n + 1], k=5)
    return {
        "sizes": [n, d, q],
        "fit": between - start,
        "fit clock": walled - wall,
        "predict": end - between,
        "predict clock": asked - walled,
        "one row": clock() - end,
        "data gb": before,
        "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "weights": int(tree.weights_.nnz),
        "p@1": metrics.precision_at_k(data.Y[n:], top, 1),
    }


def run_sizes(kept: Path, sizes: list[str]) -> None:
    done = [run["sizes"] for run in read(kept)]
    for text in sizes:
        if [int(number) for number in text.split(",")] in done:
            continue
        command = [sys.executable, __file__, "--one-size", text]
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode:
            print(text, finished.stderr.strip().splitlines()[-1], file=sys.stderr)
            continue
        with kept.open("a") as file:
            file.write(finished.stdout.strip().splitlines()[-1] + "\n")
        print(finished.stdout.strip(), flush=True)


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """Seconds for 10,000 rows by the number of labels, where all else is equal."""
    import matplotlib.pyplot as plt

    sizes = sorted((run["sizes"][2], run["predict"]) for run in runs)
    labels, seconds = zip(*sizes)
    fig, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    ax.plot(labels, seconds, "o-")
    ax.set(xscale="log", xlabel="labels", ylabel="seconds for 10,000 rows", ylim=(0, None))
    ax.grid(alpha=0.3)
    fig.savefig(path, dpi=110)


# all of them ---------------------------------------------------------------------------------


def figures(folder: Path) -> dict[str, float]:
    """Measures of the labels that a contestant left."""
    from plurilabel import metrics

    Y, Y_test = (sparse.load_npz(folder / f"{part}.npz") for part in PARTS[2:])
    top = np.load(folder / "top.npy")
    row, place = np.nonzero(top >= 0)
    scores = sparse.csr_array(((5.0 - place), (row, top[row, place])), shape=Y_test.shape)
    p = metrics.propensities(Y)
    found = {f"p@{k}": metrics.precision_at_k(Y_test, scores, k) for k in (1, 3, 5)}
    for k in (1, 3, 5):
        found[f"psp@{k}"] = metrics.psp_at_k(Y_test, scores, k, propensities=p)
    # tail labels apart: the rarer ones that together have a fifth of the training labels
    times = np.asarray(Y.sum(axis=0)).ravel()
    rare_first = np.argsort(times, kind="stable")
    tail = np.zeros(len(times), dtype=bool)
    tail[rare_first[np.cumsum(times[rare_first]) <= times.sum() / 5]] = True
    hit = np.asarray((scores > 0).multiply(Y_test).sum(axis=0)).ravel()
    found["tail recall@5"] = hit[tail].sum() / np.asarray(Y_test.sum(axis=0)).ravel()[tail].sum()
    return found


def run_all(kept: Path, peers: str | None, only: list[str], names: list[str]) -> None:
    done = {(run["data"], run["name"]) for run in read(kept)}
    names = names or [*LEARNERS, *(PEERS if peers else ())]
    for data in only:
        wanted = [name for name in names if (data, name) not in done]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            store(Path(folder), data)
            for name in wanted:
                python = peers if name in PEERS else sys.executable
                start = time.perf_counter()
                command = [str(python), __file__, "--one", name, "--folder", folder]
                finished = subprocess.run(command, capture_output=True, text=True)
                if finished.returncode:
                    print(name, finished.stderr.strip().splitlines()[-1], file=sys.stderr)
                    continue
                run = json.loads(finished.stdout.strip().splitlines()[-1])
                run |= {"data": data, "name": name, "clock": time.perf_counter() - start}
                run |= figures(Path(folder))
                with kept.open("a") as file:
                    file.write(json.dumps(run) + "\n")
                print(json.dumps(run), flush=True)


def read(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def page(runs: list[dict[str, Any]]) -> None:
    """The tables."""
    names = [*LEARNERS, *PEERS]
    for data in DATASETS:
        here = [run for run in runs if run["data"] == data]
        here.sort(key=lambda run: names.index(run["name"]))
        if not here:
            continue
        print(f"\n## {data}\n")
        print(
            "| | P@1 | P@3 | P@5 | PSP@1 | PSP@3 | PSP@5 | tail recall@5 | fit, s | predict, s |"
        )
        print("| --- |" + " ---: |" * 9)
        for run in here:
            keys = [f"{m}@{k}" for m in ("p", "psp") for k in (1, 3, 5)] + ["tail recall@5"]
            cells = [f"{100 * run[key]:.1f}" for key in keys]
            cells += [f"{run['fit']:.1f}", f"{run['predict']:.2f}"]
            print(f"| {run['name']} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="a Python with omikuji and napkinxc")
    parser.add_argument("--names", nargs="*", help="contestants; all unless given")
    parser.add_argument("--kept", type=Path, default=Path("extreme.jsonl"))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--sizes", nargs="*", help="rows,features,labels")
    parser.add_argument("--one-size", help="used inside")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--one", help="used inside")
    parser.add_argument("--folder", type=Path, help="used inside")
    parser.add_argument("data", nargs="*")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one, asked.folder)))
    elif asked.one_size:
        print(json.dumps(one_size(*map(int, asked.one_size.split(",")))))
    elif asked.sizes:
        run_sizes(asked.kept, asked.sizes)
    elif asked.plot:
        plot(read(asked.kept), asked.plot)
    elif asked.page:
        page(read(asked.kept))
    else:
        run_all(asked.kept, asked.peers, asked.data or list(DATASETS), asked.names or [])


if __name__ == "__main__":
    main()
