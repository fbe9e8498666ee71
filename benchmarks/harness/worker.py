"""A process in one package's environment that fits and predicts when told to, and times itself.

Commands come as JSON lines on standard input, answers go out the same way. Each run happens in a
forked child: nothing is left over from the run before, its peak memory is its own, and loading
libraries is not timed. (Compiled code with threads of its own does not survive a fork; such a
package runs in this process itself.) Only numpy and scipy are needed here besides the package.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.contestants import CANNOT_FORK, MULTILEARN, NEEDS_DENSE_LABELS, TASKS
from benchmarks.harness.measure import forget_peak, in_child, status_mb


def load(path: str) -> dict[str, Any]:
    """X, Y and X_test; sparse ones were stored in parts."""
    stored = np.load(path)
    data = {}
    for name in ("X", "Y", "X_test"):
        if name in stored:
            data[name] = stored[name]
        else:
            parts = tuple(stored[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            data[name] = sparse.csr_array(parts, shape=tuple(stored[f"{name}_shape"]))
    return data


def as_the_package_likes(data: dict[str, Any], package: str) -> tuple[Any, Any, Any]:
    X, Y, X_test = data["X"], data["Y"], data["X_test"]
    if package in MULTILEARN:  # knows sparse matrices, not sparse arrays
        X, X_test = (sparse.csr_matrix(M) if sparse.issparse(M) else M for M in (X, X_test))
        Y = sparse.csr_matrix(Y.astype(np.int64))
    elif package.startswith(("limit", *NEEDS_DENSE_LABELS)) and sparse.issparse(Y):
        Y = Y.toarray()
    return X, Y, X_test


def scores_of(learner: Any, X: Any, q: int) -> Any:
    """Scores as (n, q), from whatever form the package has; None if there are none."""
    for method in ("predict_proba", "decision_function"):
        if not hasattr(learner, method):
            continue
        try:
            output = getattr(learner, method)(X)
        except (TypeError, AttributeError):  # promised by a base class, not kept
            continue
        if isinstance(output, list):  # one (n, classes) for each label
            columns = [
                part[:, -1] if part.shape[1] == 2 else np.full(len(part), float(classes[0]))
                for part, classes in zip(output, learner.classes_)
            ]
            return np.column_stack(columns)
        output = output.toarray() if sparse.issparse(output) else np.asarray(output)
        return output if output.shape == (X.shape[0], q) else None
    return None


def compete(command: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Fit and predict once; save what came out if a file is named."""
    package = command["package"]
    X, Y, X_test = as_the_package_likes(data, package)
    learner = TASKS[command["task"]][package]()
    forget_peak()
    before, start = status_mb("VmRSS"), time.process_time()
    learner.fit(X, Y)
    fitted = time.process_time()
    labels = learner.predict(X_test)
    asked = time.process_time()
    found = {
        "fit_s": fitted - start,
        "predict_s": asked - fitted,
        "added_mb": status_mb("VmHWM") - before,
        "peak_mb": status_mb("VmHWM"),
    }
    if command.get("save"):
        labels = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
        answers = {"labels": labels.astype(np.int32)}
        scores = scores_of(learner, X_test, Y.shape[1])
        if scores is not None:
            answers["scores"] = scores
        if getattr(learner, "graph", None) is not None:
            answers["graph"] = np.asarray(learner.graph, dtype=np.int64)
        np.savez(command["save"], **answers)
    return found


def warm_up(command: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Load what loads late and compile what is compiled late, on a few rows."""
    # what is compiled depends on the size, too
    n = data["X"].shape[0] if command["package"] in CANNOT_FORK else 200
    few = {"X": data["X"][:n], "Y": data["Y"][:n], "X_test": data["X_test"][:20]}
    try:
        compete({**command, "save": None}, few)
    except Exception as error:  # the run itself will say what is wrong
        return {"error": f"{type(error).__name__}: {error}"}
    return {}


def main() -> None:
    # answers go to a copy of standard output; what libraries print goes to standard error
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    data: dict[str, Any] = {}
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "load":
            data, found = load(command["path"]), {}
        elif command["do"] == "warm up":
            found = warm_up(command, data)
        elif command["do"] == "versions":
            found = versions(command["packages"])
        elif command["package"] in CANNOT_FORK:
            try:
                found = compete(command, data)
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
        else:
            found = in_child(lambda command=command, data=data: compete(command, data))
            found = found.get("value", found)
        print(json.dumps(found), file=answers, flush=True)


def versions(packages: list[str]) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
