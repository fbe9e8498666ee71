"""Mutated files of every format: a result, or one of our own errors, in little time and memory."""

import os
import signal
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel import io
from plurilabel._core.records import write_json
from plurilabel.datasets import Dataset
from plurilabel.evaluation import Results
from plurilabel.evaluation._compare._plan import read_cell
from tests.fuzz.mutate import mutated

pytest.importorskip("pyarrow", reason="tables need pyarrow")

LONG = bool(os.environ.get("PLURILABEL_LONG_FUZZ"))
SECONDS = 15 if LONG else 3.0  # for each format
MOST = 1500 if LONG else 400  # mutations of each file: the same on every machine that gets so far
MEMORY = 200_000_000

X = np.array([[0, 1.5, -2e-3], [3, 0, np.nan], [0.1, 5e300, 0]])
Y = np.array([[1, 0], [0, 1], [1, 1]])
NAMES = ("size", "it's 5% off", "weight"), ("red", "sea & sun")
DENSE = Dataset(X, Y, *NAMES, name="toy")
SPARSE = Dataset(sparse.csr_array(np.nan_to_num(X)), sparse.csr_array(Y), *NAMES, name="toy")
NOMINAL = b"""@relation 'toy: -C 2 -split-number 2' % a comment
@attribute red {0,1}
@attribute 'sea & sun' {no,yes}
@attribute size numeric
@attribute colour {red,'light blue',10%} % another
@attribute level {1,2,5}
@data
1,no,?,'light blue',5
0,yes,1e3,red,1.0 % and one more
"""


def seed(folder, name, write, *args, **options):
    path = folder / name
    write(path, *args, **options)
    return path.read_bytes()


def cell():
    known = {"format": 1, "key": "k", "dataset": "toy", "learner": "MLkNN", "repeat": 0, "fold": 0}
    return known | {"status": "ok", "scores": {"f1": 0.5}, "fit_seconds": 0.1, "warnings": []}


def plan():
    data = {"toy": {"n": 3, "d": 3, "q": 2, "splits": ["0-0"], "split": "holdout"}}
    learners = {"MLkNN": {"class": "plurilabel.MLkNN", "repr": "MLkNN()", "parameters": {}}}
    protocol = {"cv": "holdout", "repeats": 1, "random_state": 0, "measures": ["f1"]}
    return {"format": 1, "protocol": protocol, "learners": learners, "datasets": data,
            "command": "", "versions": {}}  # fmt: skip


READERS = {
    "a.arff": (lambda f: seed(f, "a.arff", io.write_arff, DENSE), io.read_arff),
    "sparse.arff": (lambda f: seed(f, "b.arff", io.write_arff, SPARSE), io.read_arff),
    "nominal.arff": (lambda _: NOMINAL, io.read_arff),
    "a.arff.gz": (lambda f: seed(f, "c.arff.gz", io.write_arff, DENSE), io.read_arff),
    "a.xml": (lambda f: seed(f, "a.xml", io.write_label_xml, ["a", "b"], [-1, 0]),
              io.read_label_xml),
    "a.svm": (lambda f: seed(f, "a.svm", io.write_libsvm, SPARSE), io.read_libsvm),
    "a.txt": (lambda f: seed(f, "a.txt", io.write_xmc, SPARSE), io.read_xmc),
    "a.csv": (lambda f: seed(f, "a.csv", io.write_table, DENSE),
              lambda path: io.read_table(path, labels=list(NAMES[1]))),
    "tags.csv": (lambda f: seed(f, "t.csv", io.write_table, DENSE, tags="tags"),
                 lambda path: io.read_table(path, labels="tags")),
    "a.tsv": (lambda f: seed(f, "a.tsv", io.write_table, DENSE),
              lambda path: io.read_table(path, labels=list(NAMES[1]))),
    "a.jsonl": (lambda f: seed(f, "a.jsonl", io.write_table, DENSE, tags="tags"),
                lambda path: io.read_table(path, labels="tags")),
    "a.parquet": (lambda f: seed(f, "a.parquet", io.write_table, DENSE, tags="tags"),
                  lambda path: io.read_table(path, labels="tags")),
    "cell.json": (lambda f: seed(f, "cell.json", write_json, cell()), read_cell),
    "plan.json": (lambda f: seed(f, "plan.json", write_json, plan()),
                  lambda path: repr(Results.open(path.parent))),
}  # fmt: skip


class TooLong(BaseException):
    """Not an Exception: nothing may take it for a broken file."""


def too_long(*_):
    raise TooLong


def read(reader, path):
    """Whether the file was read; anything but an error that names it is raised."""
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)  # of the processor's time: others may be busy
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader(path) is not None
    except (ValueError, FileNotFoundError) as error:
        told = str(error)
        # an error about what was asked for names the parameter
        assert str(path.parent) in told or told.startswith(
            ("labels ", "two columns ", "column ")
        ), told
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused(tmp_path, name):
    make, reader = READERS[name]
    content = make(tmp_path)
    path = tmp_path / "fuzz" / name
    path.parent.mkdir()
    path.write_bytes(content)
    assert read(reader, path)
    signal.signal(signal.SIGVTALRM, too_long)
    outcomes, number = {True: 0, False: 0}, 0
    end = _clock() + SECONDS
    tracemalloc.start()
    try:
        while _clock() < end and number < MOST:
            number += 1
            changed = mutated(np.random.default_rng([11, number]), content)
            path.write_bytes(changed)
            try:
                outcomes[read(reader, path)] += 1
                assert tracemalloc.get_traced_memory()[1] < MEMORY
            except BaseException as error:
                error.add_note(f"{name}, mutation {number}: {changed[:2000]!r}")
                raise
    finally:
        tracemalloc.stop()
    assert number > 20
    assert outcomes[False]


def _clock():
    return os.times().elapsed


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
LINES = st.lists(
    st.one_of(TEXTS, st.sampled_from(["@data", "@relation r", "@attribute a numeric", "1,2"])),
    max_size=6,
).map("\n".join)


@pytest.mark.parametrize("name", [n for n in READERS if "parquet" not in n and "gz" not in n])
@settings(
    max_examples=500 if LONG else 40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=LINES)
def test_any_text_is_read_or_refused(tmp_path, name, text):
    path = Path(tmp_path, name)
    path.write_text(text, encoding="utf-8")
    signal.signal(signal.SIGVTALRM, too_long)
    read(READERS[name][1], path)
