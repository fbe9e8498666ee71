"""Mutated model files, loaded and asked in a process of its own: ``FOLDER START STOP``.

Each number is a file, the same whenever it is made. The number is printed before its file is
loaded, so that whoever started the process knows at which it died.
"""

import faulthandler
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse

from plurilabel.models import ModelFileError, load_model
from tests.fuzz.mutate import mutated_model, pick

MEMORY = 1 << 28  # bytes beyond what the libraries take themselves; the files are small
SECONDS = 10


def main(folder, start, stop):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows, honest = np.load(Path(folder, "rows.npy")), sorted(Path(folder).glob("seed*.skops"))
    # What is imported is not counted, nor what BLAS takes: it would ask for it without end.
    assert {_outcome(path, rows) for path in honest} == {"answered"}
    seeds, outcomes = [path.read_bytes() for path in honest], Counter()
    path = Path(folder, f"mutated{start}.skops")
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("too long")))
    for number in range(start, stop):
        rng = np.random.default_rng([7, number])
        path.write_bytes(mutated_model(rng, pick(rng, seeds)))
        print(number, flush=True)
        signal.alarm(SECONDS)
        faulthandler.dump_traceback_later(3 * SECONDS, exit=True)  # where no signal is heard
        outcomes[_outcome(path, rows)] += 1
        signal.alarm(0)
    faulthandler.cancel_dump_traceback_later()
    print("done", dict(outcomes), flush=True)


def _outcome(path, rows):
    """What comes of it; what the loader must not let through is raised."""
    try:
        estimator = load_model(path).estimator
    except ModelFileError:
        return "refused"
    X = sparse.csr_array(rows) if getattr(estimator, "sparse_output_", False) else rows
    try:
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(estimator, method):
                getattr(estimator, method)(X)
    except (TimeoutError, MemoryError):
        raise
    except Exception as error:  # wrong numbers, found by Python itself
        return type(error).__name__
    return "answered"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
