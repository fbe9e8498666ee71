"""Label trees and one-vs-all models compared with omikuji and napkinXC.

    python -m benchmarks extreme --peers /path/to/python --kept runs.jsonl [--page]
    python -m benchmarks extreme --sizes 20000,20000,1000 500000,100000,100000 --kept sizes.jsonl
    python -m benchmarks extreme --parts bibtex reuters-k500
    python -m benchmarks extreme --file 120
    python -m benchmarks extreme --loop bibtex delicious reuters-k500

Each model is trained on the published training part and predicts five labels for each test
instance, on two threads, in its own process. Stored runs are not repeated. ``--peers`` names a
Python with omikuji and napkinxc; ``--page`` prints the tables of the stored runs. ``--sizes``
trains one tree on generated data with these numbers of rows, features and labels, with five labels
and thirty features per row, and predicts 10,000 other rows; ``--plot`` plots the prediction times.

``--parts`` trains one tree on the rows in random order, at once, in two and in ten parts.
``--file`` saves a tree with that many million weights and maps it into the memory of a new
process. ``--loop`` also trains the models of ``OneVsAllLinear`` one by one with scikit-learn, on
rows of length 1, and prints how many of the predicted labels agree.

Times are processor seconds, summed over threads, without reading files: on a busy machine they are
more reliable than wall time.
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
LINEAR_AND_NEIGHBOURS = (
    "OneVsAllLinear(loss='logistic', C=3.0, n_jobs=2)",
    "LabelEmbedding(n_jobs=2, random_state=0)",
)
FOREST = "MLRandomForest(60, extra_trees=True, min_samples_leaf=5, n_jobs=2, random_state=0)"
LEARNERS = {
    "LabelTree": "LabelTree(n_jobs=2, random_state=0)",
    "LabelTree, squared hinge": (
        "LabelTree(loss='squared_hinge', C=1.0, n_jobs=2, random_state=0)"
    ),
    "LabelTree, squared hinge, C=0.5, propensities": (
        "LabelTree(loss='squared_hinge', C=0.5, propensities=True, n_jobs=2, random_state=0)"
    ),
    "LabelTree, C=4, 10 trees": "LabelTree(10, C=4.0, n_jobs=2, random_state=0)",
    "OneVsAllLinear": "OneVsAllLinear(n_jobs=2)",
    "OneVsAllLinear, C=0.3": "OneVsAllLinear(C=0.3, n_jobs=2)",
    "OneVsAllLinear, logistic, C=3": "OneVsAllLinear(loss='logistic', C=3.0, n_jobs=2)",
    "LabelEmbedding": "LabelEmbedding(n_jobs=2, random_state=0)",
    "LabelForest": "LabelForest(random_state=0)",
    "LabelTree, branching_factor=4, leaf_size=20, C=4": (
        "LabelTree(branching_factor=4, leaf_size=20, C=4.0, n_jobs=2, random_state=0)"
    ),
    "AutoClassifier, nDCG@5": "AutoClassifier('ndcg@5', random_state=0)",
    # means of probabilities
    "OneVsAllLinear, logistic, C=3, and LabelEmbedding": " + ".join(LINEAR_AND_NEIGHBOURS),
    "these two and MLRandomForest, extra trees": " + ".join((*LINEAR_AND_NEIGHBOURS, FOREST)),
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
    from plurilabel._core.data.dataset import Dataset

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
    from plurilabel.learners import make_learner

    learners = [make_learner(text) for text in LEARNERS[name].split(" + ")]
    clock = time.process_time
    start = clock()
    for learner in learners:
        learner.fit(X, Y)
    between = clock()
    if len(learners) == 1:
        top = in_order(learners[0].predict_top(X_test, k=5))
    else:  # the mean of their probabilities
        scores = sum(learner.predict_proba(X_test) for learner in learners)
        top = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    end = clock()
    return top, (between - start, end - between)


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
    from plurilabel import LabelTree, datasets, metrics

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


# rows that arrive in parts --------------------------------------------------------------------


def parts(data: str) -> None:
    """Precision after the first part and after all, as a line of a table for each loss."""
    from plurilabel import LabelTree, metrics

    X, X_test, Y, Y_test = load(data)
    order = np.random.default_rng(0).permutation(X.shape[0])
    for settings in ({}, {"loss": "squared_hinge", "C": 1.0}):
        cells = []
        for n_parts in (1, 2, 10):
            tree = LabelTree(1, random_state=0, **settings)
            for number, rows in enumerate(np.array_split(order, n_parts)):
                tree.partial_fit(X[rows], Y[rows])
                if number in (0, n_parts - 1):
                    top = tree.predict_top(X_test)
                    found = (metrics.precision_at_k(Y_test, top, k) for k in (1, 3, 5))
                    cells.append(", ".join(f"{100 * value:.1f}" for value in found))
        name = ", ".join([data, *(f"{key}={value}" for key, value in settings.items())])
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# a loop over the labels ---------------------------------------------------------------------

LOOPS = {
    "squared hinge": (
        "BinaryRelevance(LinearSVC(C=1.0, random_state=0))",
        "OneVsAllLinear(C=1.0)",
    ),
    "logistic": (
        "BinaryRelevance(LogisticRegression(C=1.0, solver='liblinear', random_state=0))",
        "OneVsAllLinear(loss='logistic', C=1.0)",
    ),
}


def loop(data: str) -> None:
    """Seconds of both, and how far they agree, as lines of a table."""
    from sklearn.preprocessing import normalize

    from plurilabel import metrics
    from plurilabel.learners import make_learner

    X, X_test, Y, Y_test = load(data)
    X, X_test, clock = normalize(X), normalize(X_test), time.process_time
    for loss, learners in LOOPS.items():
        sets, cells = [], []
        for text in learners:
            learner, start = make_learner(text), clock()
            learner.fit(X, Y)
            between = clock()
            sets.append(learner.predict(X_test))
            cells.append(f"{between - start:.1f} | {clock() - between:.2f}")
            cells.append(f"{100 * metrics.micro_f1(Y_test, sets[-1]):.1f}")
        both = sets[0].multiply(sets[1]).sum()
        either = sets[0].sum() + sets[1].sum() - both
        print(f"| {data}, {loss} | {' | '.join(cells)} | {100 * both / either:.1f} |", flush=True)


# a model file -------------------------------------------------------------------------------


def model_file(millions: int) -> None:
    """Save a tree with so many million weights, drawn at random, and map it in a new process."""
    import plurilabel
    from plurilabel import LabelTree, datasets

    data = datasets.make_sparse_multilabel(300, 100_000, 20_000, cardinality=5, random_state=0)
    tree = LabelTree(1, max_iter=1, random_state=0).fit(data.X, data.Y)
    first = LabelTree(1).fit(data.X[:9], data.Y[:9, :9])
    # three weights for each of a third as many rows, spread evenly over nodes and features
    each = millions * 10**6 // (3 * tree.reached_.size)
    nodes = np.arange(tree.reached_.size)[:, None]
    tree.keys_ = (nodes * 100_000 + np.linspace(0, 99_999, each, dtype=np.int64)).ravel()
    n, width = len(tree.keys_), tree.weights_.shape[1]
    pointers = np.append(np.arange(0, 3 * n + 1, 3), 3 * n).astype(np.int32)
    columns = np.arange(3 * n, dtype=np.int32) % (width - 1)
    weights = np.random.default_rng(0).standard_normal(3 * n, dtype=np.float32)
    tree.weights_ = sparse.csr_array((weights, columns, pointers), shape=(n + 1, width))
    tree.squares_ = np.ones(n, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path, before, start = Path(folder, "tree.skops"), peak(), time.process_time()
        plurilabel.save(tree, path)
        seconds, size = time.process_time() - start, path.stat().st_size / 1e9
        print(
            f"saved: {size:.2f} GB in {seconds:.1f} s, {peak() - before:.2f} GB more", flush=True
        )
        plurilabel.save(first, path.with_name("first.skops"))
        subprocess.run([sys.executable, __file__, "--mapped", str(path)], check=True)


def map_file(path: Path) -> None:
    import plurilabel
    from plurilabel import datasets

    data = datasets.make_sparse_multilabel(300, 100_000, 20_000, cardinality=5, random_state=0)
    plurilabel.load(path.with_name("first.skops"))  # what is imported is not counted
    before, start = peak(), time.process_time()
    tree = plurilabel.load(path, mmap_mode="r").estimator
    print(f"mapped: {time.process_time() - start:.1f} s, {peak() - before:.2f} GB more")
    start = time.process_time()
    tree.predict_top(data.X)
    print(f"300 rows: {time.process_time() - start:.2f} s, {peak() - before:.2f} GB more")


def peak() -> float:
    """The most memory of this process, in gigabytes; ru_maxrss would start from its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / 1e9


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
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--file", type=int, help="millions of weights in a model file")
    parser.add_argument("--mapped", type=Path, help="used inside")
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
    elif asked.file:
        model_file(asked.file)
    elif asked.mapped:
        map_file(asked.mapped)
    elif asked.parts:
        for data in asked.data or DATASETS[:3]:
            parts(data)
    elif asked.loop:
        for data in asked.data or DATASETS[:3]:
            loop(data)
    elif asked.plot:
        plot(read(asked.kept), asked.plot)
    elif asked.page:
        page(read(asked.kept))
    else:
        run_all(asked.kept, asked.peers, asked.data or list(DATASETS), asked.names or [])


if __name__ == "__main__":
    main()
