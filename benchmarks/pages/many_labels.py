"""Every learner on 5,000 labels: does it finish, in what time and memory, or does it refuse?

    python -m benchmarks many_labels [--seconds 600] [--gigabytes 10] [learner ...]

19,700 sparse rows, 20,000 features, 5,000 labels, generated. Each learner is fitted and predicts
500 rows in its own process, with limits on memory and processor time. Prints a Markdown table with
one row per learner.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

from plurilabel import datasets
from plurilabel._core.roster import learners
from plurilabel.learners import make_learner

ROWS, FEATURES, LABELS, NEW = 19_700, 20_000, 5_000, 500
BASE = "LinearSVC()"
OTHER = {
    "HOMER": "HOMER(BinaryRelevance(LinearSVC()), random_state=0)",
    "RAkEL, disjoint": "RAkEL(LinearSVC(), overlapping=False, random_state=0)",
    "StackedRelevance, of labels": "StackedRelevance(LinearSVC(), stack_method='predict')",
}


AROUND = {"transformation": BASE, "wrappers": "MLkNN()"}
"""What is inside learners that need another, by family."""


def texts() -> dict[str, str]:
    found = {}
    for name, entry in learners().items():
        if not entry.needs or find_spec(entry.needs):
            found[name] = (
                f"{name}({AROUND.get(entry.family, '') if name != 'AutoClassifier' else ''})"
            )
    return found | OTHER


def one(text: str, gigabytes: float, seconds: float) -> dict[str, object]:
    """Fit and ask, here."""
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 1e9),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds),) * 2)
    data = datasets.make_sparse_multilabel(
        ROWS + NEW, FEATURES, LABELS, cardinality=4, random_state=0
    )
    before, start = peak_gb(), time.process_time()
    try:
        learner = make_learner(text).fit(data.X[:ROWS], data.Y[:ROWS])
        learner.predict(data.X[ROWS:])
    except (ValueError, MemoryError) as error:
        return {"answer": f"{type(error).__name__}: {error}"}
    return {"seconds": time.process_time() - start, "gb": peak_gb() - before}


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def line(name: str, text: str, gigabytes: float, seconds: float) -> str:
    command = [sys.executable, "-m", "benchmarks.pages.many_labels", "--one", text]
    command += ["--gigabytes", str(gigabytes), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"| {name} | not within {seconds:.0f} s | |"
    if done.returncode:
        return f"| {name} | {done.stderr.strip().splitlines()[-1]} | |"
    found = json.loads(done.stdout)
    if "answer" in found:
        return f"| {name} | {found['answer']} | |"
    return f"| {name} | {found['seconds']:.0f} s | {found['gb']:.1f} GB |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--one", help="used inside")
    parser.add_argument("learner", nargs="*")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one, asked.gigabytes, asked.seconds)))
        return
    every = texts()
    for name in asked.learner or every:
        print(line(name, every[name], asked.gigabytes, asked.seconds), flush=True)


if __name__ == "__main__":
    main()
