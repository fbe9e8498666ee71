"""The environments of the peers, and the workers that live in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from benchmarks.harness.threads import ONE_THREAD

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = {
    "ng": ("scikit-multilearn-ng==0.0.8",),
    "skmultilearn": ("scikit-multilearn==0.2.0", "scikit-learn"),
    "search": ("faiss-cpu", "pynndescent"),
}
HOME = {
    "scikit-multilearn-ng": "ng",
    "scikit-multilearn": "skmultilearn",
    "faiss": "search",
    "pynndescent": "search",
}
"""Where a package lives; those not named here live where this program runs."""


def python_of(environment: str | None) -> Path:
    if environment is None:
        return Path(sys.executable)
    return ROOT / f".venv-bench-{environment}" / "bin" / "python"


def ensure(environment: str) -> str | None:
    """Make an environment if it is missing; what went wrong, or None."""
    python = python_of(environment)
    ready = python.parent.parent / ".ready"
    wanted = "\n".join(ENVIRONMENTS[environment])
    if ready.exists() and ready.read_text() == wanted:
        return None
    for command in (
        [sys.executable, "-m", "venv", python.parent.parent],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         *ENVIRONMENTS[environment]],
    ):  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    ready.write_text(wanted)
    return None


class Worker:
    """A process of one environment; see ``_worker.py``."""

    def __init__(self, environment: str | None = None):
        self._process = subprocess.Popen(
            [python_of(environment), "-m", "benchmarks.harness.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": _path(environment)},
        )

    def tell(self, **command: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answer will say so
            print(json.dumps(command), file=self._process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": "the worker died"}

    def ask(self, **command: Any) -> dict[str, Any]:
        self.tell(**command)
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _path(environment: str | None) -> str:
    """Our own workers find the modules that this process finds; the peers' only this folder."""
    if environment is not None:
        return str(ROOT)
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


@contextmanager
def workers(packages: tuple[str, ...]) -> Iterator[dict[str, Worker | str]]:
    """For each package its worker, or the reason why there is none; one for each environment."""
    with ExitStack() as stack:
        by_home: dict[str | None, Worker | str] = {}
        for home in dict.fromkeys(HOME.get(package) for package in packages):
            problem = None if home is None else ensure(home)
            by_home[home] = problem or stack.enter_context(Worker(home))
        yield {package: by_home[HOME.get(package)] for package in packages}


def store(path: Path, X: Any, Y: Any, X_test: Any) -> None:
    """Write data so that any version of numpy and scipy can read it."""
    arrays: dict[str, Any] = {}
    for name, matrix in (("X", X), ("Y", Y), ("X_test", X_test)):
        if sparse.issparse(matrix):
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}_{part}"] = getattr(matrix, part)
            arrays[f"{name}_shape"] = np.array(matrix.shape)
        else:
            arrays[name] = matrix
    np.savez(path, **arrays)


def versions_of_peers() -> dict[str, dict[str, str]]:
    """What is installed in each environment."""
    asked = ["scikit-multilearn", "scikit-multilearn-ng", "scikit-learn", "numpy", "scipy",
             "faiss-cpu", "pynndescent"]  # fmt: skip
    found = {}
    for environment in ENVIRONMENTS:
        problem = ensure(environment)
        if problem:
            found[environment] = {"error": problem}
            continue
        with Worker(environment) as worker:
            found[environment] = worker.ask(do="versions", packages=asked)
    return found
