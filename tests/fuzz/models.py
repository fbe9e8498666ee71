"""Mutated model files, loaded and asked in processes with limits of memory and time.

``python -m tests.fuzz.models 100000`` does so for as many files, from the models of all learners,
and prints what became of them. Each number is a file, the same whenever it is made:
``--start 1234`` with 1 does that file again, and ``--keep FOLDER`` keeps what failed.
"""

import argparse
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse

from plurilabel.models import ModelFileError, load_model
from tests.fuzz.mutate import mutated_model, pick
from tests.fuzz.seeds import model_seeds

MEMORY = 1 << 28  # bytes beyond what the libraries take themselves; the files are small
SECONDS = 10
CHUNK = 500  # files for a process, unless one ends it
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # threads do not survive a fork


def run(folder, start, stop, *, keep=None, shown=None):
    """Counts of what became of so many files, and the numbers of those that failed, with why.

    Files are loaded in forked processes, one after the other. What ends a process is put down to
    the file that it was at.
    """
    folder = Path(folder)
    rows, honest = np.load(folder / "rows.npy"), sorted(folder.glob("seed*.skops"))
    # What is imported is not counted, nor what BLAS takes: it would ask for it without end.
    for path in honest:
        assert _outcome(path, rows) == "answered", path
    seeds = [path.read_bytes() for path in honest]
    outcomes, failed, number = Counter(), {}, start
    while number < stop:
        most = min(number + CHUNK, stop)
        done, died = _forked(folder, seeds, rows, number, most)
        for each, outcome in done:
            outcomes[outcome] += 1
            if outcome.startswith("FAILED"):
                failed[each] = outcome
        number = done[-1][0] + 1 if done else number
        if died:
            outcomes["FAILED: process ended"] += 1
            failed[number] = died
            number += 1
        if shown:
            print(number, dict(outcomes), failed or "", file=shown, flush=True)
    for each in failed if keep else ():
        Path(keep, f"{each}.skops").write_bytes(mutation(seeds, each))
    return outcomes, failed


def mutation(seeds, number):
    rng = np.random.default_rng([7, number])
    # small ones more often, since they take less time
    return mutated_model(rng, min(pick(rng, seeds), pick(rng, seeds), key=len))


def _forked(folder, seeds, rows, start, stop):
    """What became of the files that a process got through, and what ended it."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            _work(folder, seeds, rows, start, stop, write)
            os._exit(0)
        except BaseException as error:  # of the harness itself
            os.write(2, repr(error).encode())
            os._exit(3)
    os.close(write)
    with os.fdopen(read) as stream:
        lines = [line.rstrip("\n").split("\t") for line in stream]
    _, status = os.waitpid(child, 0)
    done = [(int(number), outcome) for number, outcome in lines]
    code = os.waitstatus_to_exitcode(status)
    return done, f"FAILED: ended by {code}" if code else None


def _work(folder, seeds, rows, start, stop, write):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    # seconds of this process alone, however busy the machine is
    signal.signal(signal.SIGPROF, lambda *_: (_ for _ in ()).throw(TimeoutError("too long")))
    path = folder / f"mutated{os.getpid()}.skops"
    for number in range(start, stop):
        path.write_bytes(mutation(seeds, number))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        faulthandler.dump_traceback_later(12 * SECONDS, exit=True)  # where no signal is heard
        outcome = _outcome(path, rows)
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.write(write, f"{number}\t{outcome}\n".encode())
    faulthandler.cancel_dump_traceback_later()
    path.unlink()


def _outcome(path, rows):
    """What becomes of a file; "FAILED" if the loader must not let it come to that."""
    try:
        estimator = load_model(path).estimator
    except ModelFileError as error:
        return "FAILED: memory for loading" if "MemoryError" in str(error) else "refused"
    except BaseException as error:
        return f"FAILED: {type(error).__name__} from loading"
    X = sparse.csr_array(rows) if getattr(estimator, "sparse_output_", False) else rows
    try:
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(estimator, method):
                getattr(estimator, method)(X)
    except (TimeoutError, MemoryError) as error:
        return f"FAILED: {type(error).__name__} from predicting"
    except Exception:  # wrong numbers, found by Python itself
        return "error"
    return "answered"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--keep", help="an existing folder for files that failed")
    given = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, "-m", "tests.fuzz.models", *sys.argv[1:]])
    warnings.simplefilter("ignore")
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        model_seeds(Path(folder), all_learners=True)
        began = time.perf_counter()
        stop = given.start + given.files
        counts, failed = run(folder, given.start, stop, keep=given.keep, shown=sys.stderr)
        seconds = time.perf_counter() - began
    print(f"{given.files} files in {seconds:.0f} s: {dict(counts)}")
    for number, why in failed.items():
        print(number, why)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
