"""Mutated files of every kind that is read.

``python -m tests.fuzz.readers FILES [SEED [KIND ...]]`` splits the files among the kinds. Each
kind is read in a process of its own, with limits of time and memory; one that dies is started
again after the file at which it died. The counts are printed at the end, and the exit status says
whether every file was read, or refused in words.
"""

import faulthandler
import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.io import savemat

from plurilabel import io
from plurilabel._core.records import write_json
from plurilabel.datasets import Dataset
from plurilabel.datasets._load import _read_mat
from plurilabel.evaluation import Results
from plurilabel.evaluation._compare._plan import read_cell
from plurilabel.serve import BadInput, Service, label_studio
from plurilabel.serve._http import parsed_json
from plurilabel.serve._store import Entry, Store
from plurilabel.streams import StreamResults, TableStream
from tests.fuzz.mutate import mutated

SECONDS = 10  # of the processor, for one file: others may be busy
MEMORY = 1 << 30  # bytes beyond what the libraries take themselves; the files are small

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
BAGS = b"""@relation bags
@attribute id {b1,b2}
@attribute bag relational
  @attribute x numeric
  @attribute y numeric
@end bag
@attribute red {0,1}
@data
b1,"1,2\\n3,4.5",1
b2,"5,6",0
"""
PEOPLE = """sep=;
price;share;when;at;place;note;v;tags
1.234,50 \u20ac;5%;03/04/2021;12:30;sea;a red dog;[1, 2];a,b
-2,5;12,5 %;13/04/2021;1:05 pm;;the cat;[3 4];b
(3,5);0%;2021-04-03;;wood;dog and cat;;
"""
FURTHER = {"price": "numbers", "when": "dates", "place": "categories", "note": "text"}
WRITTEN = {"price": "decimal comma", "when": "day first"}
CONFIG = """<View><Text name="note" value="$note"/><Choices name="codes" toName="note"
 choice="multiple"><Choice value="cat" alias="c"/><Choice value="dog"/></Choices></View>"""


class Kind(NamedTuple):
    """A kind of file."""

    name: str
    make: object  # from a folder to the bytes of an honest file
    read: object  # from a path; what it returns tells whether anything was read
    pack: object = None  # from mutated bytes to those of the file
    named: bool = True  # whether errors name the file; a request has none


# honest files -----------------------------------------------------------------------------------


def written(write, name, *args, **options):
    def make(folder):
        path = folder / name
        write(path, *args, **options)
        return path.read_bytes()

    return make


def known(content):
    return lambda _: content if isinstance(content, bytes) else content.encode()


def cell():
    known = {"format": 1, "key": "k", "dataset": "toy", "learner": "MLkNN", "repeat": 0, "fold": 0}
    return known | {"status": "ok", "scores": {"f1": 0.5}, "fit_seconds": 0.1, "warnings": []}


def plan():
    data = {"toy": {"n": 3, "d": 3, "q": 2, "splits": ["0-0"], "split": "holdout"}}
    learners = {"MLkNN": {"class": "plurilabel.MLkNN", "repr": "MLkNN()", "parameters": {}}}
    protocol = {"cv": "holdout", "repeats": 1, "random_state": 0, "measures": ["f1"]}
    return {"format": 1, "protocol": protocol, "learners": learners, "datasets": data,
            "command": "", "versions": {}}  # fmt: skip


def stream_plan(folder):
    from plurilabel.streams import LabelShares, prequential

    path = folder / "rows.csv"
    path.write_text("x,red\n" + "1,1\n2,0\n" * 10)
    prequential(
        TableStream(path, labels=["red"]), {"s": LabelShares()}, out=folder / "run", every=10
    )
    return (folder / "run" / "plan.json").read_bytes()


def readings(folder):
    stream_plan(folder)
    return next(iter(sorted((folder / "run" / "readings").iterdir()))).read_bytes()


def mat(folder, **options):
    cells = np.empty((2, 1), dtype=object)
    cells[:, 0] = [np.arange(6.0).reshape(3, 2), np.ones((1, 2))]
    names = np.empty((3, 1), dtype=object)
    names[:, 0] = ["land", "water", "caf\u00e9"]
    targets = np.array([[1, -1], [-1, 1], [1, 1]], dtype=np.int8)
    content = {"bags": cells, "targets": targets, "class_name": names}
    content |= {"features": np.ones((2, 3)), "raw_data": np.eye(2)}
    savemat(folder / "a.mat", content, **options)
    return (folder / "a.mat").read_bytes()


def packed_mat(content):
    """The variables of a MATLAB file, each compressed, whatever is left of them."""
    out, at = content[:128], 128
    while at < len(content):
        size = struct.unpack_from("<II", content, at)[1] if at + 8 <= len(content) else 0
        part = zlib.compress(content[at : at + 8 + size])
        out, at = out + struct.pack("<II", 15, len(part)) + part, at + 8 + size
    return out


def arrays(folder):
    np.save(folder / "e.npy", np.arange(6.0).reshape(3, 2))
    return (folder / "e.npy").read_bytes()


def table(folder, name, how):
    """A table of lists, dates, decimals and text, by pyarrow."""
    import pandas as pd

    frame = pd.DataFrame({
        "length": [1.5, None, 3], "place": ["sea", None, "wood"], "n": [1, 2, 3],
        "note": ["a red dog", "the cat", "dog and cat"], "v": [[1.0, 2], [3, 4], [5, 6]],
        "day": pd.to_datetime(["2021-04-03", None, "2021-07-01"]), "tags": [["a"], ["a", "b"], []],
    })  # fmt: skip
    how(frame, folder / name)
    return (folder / name).read_bytes()


def as_arrow(frame, path, form="stream"):
    import pyarrow as pa

    content = pa.Table.from_pandas(frame, preserve_index=False)
    writer = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    with writer(str(path), content.schema) as stream:
        stream.write_table(content)


@cache
def service():
    from tests.serve.problems import notes

    return Service(notes()[0])


def row_json():
    rows = [{"note": "a dog", "length": 1.5, "place": "sea", "day": "2024-01-17"}] * 2
    return json.dumps({"rows": rows, "scores": True, "top": 2}).encode()


def event():
    said = {
        "from_name": "codes",
        "to_name": "note",
        "type": "choices",
        "value": {"choices": ["cat"]},
    }
    task = {"id": 3, "data": {"note": "a dog", "length": 1, "place": "sea", "day": "2024-01-17"}}
    return json.dumps({
        "action": "ANNOTATION_CREATED", "project": {"id": 1, "label_config": CONFIG}, "task": task,
        "annotation": {"id": 7, "result": [said], "was_cancelled": False, "task": 3},
    }).encode()  # fmt: skip


def tasks():
    data = {"note": "a dog", "length": 1, "place": "sea", "day": "2024-01-17"}
    return json.dumps({"tasks": [{"id": 3, "data": data}] * 2, "label_config": CONFIG}).encode()


def corrections(folder):
    store = Store(folder / "seed.db", {"model": "m"})
    rows = {"features": {"x": 1}, "labels": ("sea",)}
    store.append([Entry(i, row=i, **rows) for i in range(1, 5)])
    store.close()
    return (folder / "seed.db").read_bytes()


# how they are read ------------------------------------------------------------------------------


def body(use):
    """A reader of requests: what a server would do with the bytes."""
    return lambda path: use(path.read_bytes()) or True


def answered(content):
    sent = parsed_json(content)
    if not isinstance(sent, dict) or "rows" not in sent:
        raise BadInput("the body must have 'rows'")
    records = service().reader.quick_records(sent["rows"])
    return service().predict(records)


@cache
def backend():
    return label_studio.LabelStudio(service())


def store_entries(path):
    for left in path.parent.glob("*.db-*"):
        left.unlink()
    store = Store(path, {"model": "m"})
    try:
        return store.entries() is not None
    finally:
        store.close()


def streamed(path, **options):
    return sum(1 for _ in TableStream(path, **options)) > 0


def in_blocks(path, **options):
    from plurilabel.distributed import read as read_blocks

    data = read_blocks(path, rows=2, **options)
    return [part.compute(scheduler="sync") for part in (data.X, data.Y)]


def run_of(path):
    """A run on a stream, of which this is the plan or the readings."""
    folder = path.parent
    if path.name != "plan.json":
        (folder / "readings").mkdir(exist_ok=True)
        path.replace(folder / "readings" / "000000000010.json")
        seed = folder.parent.parent / "run" / "plan.json"
        (folder / "plan.json").write_bytes(seed.read_bytes())
    found = StreamResults.open(folder)
    return repr(found), [found.curve(m, l, k) for m in found.measures for l in found.learners
                         for k in found.kinds]  # fmt: skip


LABELS = list(NAMES[1])
as_labels = partial(io.read_table, labels=LABELS)
as_tags = partial(io.read_table, labels="tags")
as_people = partial(as_tags, text="note")
as_further = partial(io.read_further, kinds=FURTHER, written=WRITTEN, labels="tags",
                     label_names=["a", "b"])  # fmt: skip
JSON_ROWS = json.dumps([{"x": 1, "c": "\u00e9", "tags": ["a"]}, {"x": None, "tags": ["b"]}])
JSON_COLUMNS = json.dumps({"x": {"0": 1, "1": 2}, "tags": {"0": ["a"], "1": ["a", "b"]}})
WITH_VECTORS = "x,tags\n1,a\n2,b\n3,a\n"


def vectors(path):
    rows = path.with_name("rows.csv")
    rows.write_text(WITH_VECTORS)
    return as_tags(rows, embeddings=path)


ALL = [
    Kind("a.arff", written(io.write_arff, "a.arff", DENSE), io.read_arff),
    Kind("sparse.arff", written(io.write_arff, "b.arff", SPARSE), io.read_arff),
    Kind("nominal.arff", known(NOMINAL), io.read_arff),
    Kind("bags.arff", known(BAGS), partial(io.read_arff, labels=["red"])),
    Kind("a.arff.gz", written(io.write_arff, "c.arff.gz", DENSE), io.read_arff),
    Kind("packed.arff.gz", known(NOMINAL), io.read_arff, gzip.compress),
    Kind("a.xml", written(io.write_label_xml, "a.xml", ["a", "b"], [-1, 0]), io.read_label_xml),
    Kind("a.svm", written(io.write_libsvm, "a.svm", SPARSE), io.read_libsvm),
    Kind("packed.svm.gz", written(io.write_libsvm, "b.svm", SPARSE), io.read_libsvm,
         gzip.compress),
    Kind("a.txt", written(io.write_xmc, "a.txt", SPARSE), io.read_xmc),
    Kind("blocks.txt", written(io.write_xmc, "b.txt", SPARSE), in_blocks),
    Kind("a.csv", written(io.write_table, "a.csv", DENSE), as_labels),
    Kind("tags.csv", written(io.write_table, "t.csv", DENSE, tags="tags"), as_tags),
    Kind("people.csv", known(PEOPLE), as_people),
    Kind("utf16.csv", known(PEOPLE), as_people,
         lambda text: text.decode("utf-8", "replace").encode("utf-16")),
    Kind("further.csv", known(PEOPLE), as_further),
    Kind("blocks.csv", written(io.write_table, "u.csv", SPARSE),
         partial(in_blocks, labels=LABELS)),
    Kind("stream.csv", written(io.write_table, "s.csv", SPARSE), partial(streamed, labels=LABELS)),
    Kind("a.tsv", written(io.write_table, "a.tsv", DENSE), as_labels),
    Kind("a.jsonl", written(io.write_table, "a.jsonl", DENSE, tags="tags"), as_tags),
    Kind("stream.jsonl", written(io.write_table, "s.jsonl", DENSE, tags="tags"),
         partial(streamed, labels="tags")),
    Kind("rows.json", known(JSON_ROWS), as_tags),
    Kind("columns.json", known(JSON_COLUMNS), as_tags),
    Kind("a.parquet", written(io.write_table, "a.parquet", DENSE, tags="tags"), as_tags),
    Kind("kinds.parquet", lambda folder: table(folder, "k.parquet", lambda frame, path:
         frame.to_parquet(path)), as_people),
    Kind("kinds.xlsx", lambda folder: table(folder, "k.xlsx", lambda frame, path:
         frame.drop(columns="v").assign(tags=["a", "a;b", ""]).to_excel(path, index=False)),
         as_people),
    Kind("blocks.parquet", written(io.write_table, "b.parquet", SPARSE, tags="tags"),
         partial(in_blocks, labels="tags")),
    Kind("e.npy", arrays, vectors),
    Kind("a.mat", mat, io.read_mat_bags),
    Kind("packed.mat", mat, io.read_mat_bags, packed_mat),
    Kind("published.mat", mat, partial(_read_mat, kind="grades")),
    Kind("cell.json", written(write_json, "cell.json", cell()), read_cell),
    Kind("plan.json", written(write_json, "plan.json", plan()),
         lambda path: repr(Results.open(path.parent))),
    Kind("stream/plan.json", stream_plan, run_of),
    Kind("stream/readings.json", readings, run_of),
    Kind("corrections.db", corrections, store_entries),
    Kind("request.json", known(row_json()), body(answered), named=False),
    Kind("request.csv", known("note,length,place,day\na dog,1.5,sea,2024-01-17\n"),
         body(lambda content: service().reader.read_csv(content, 100)), named=False),
    Kind("request.arrow", lambda folder: table(folder, "r.arrow", as_arrow),
         body(lambda content: service().reader.read_arrow(content, 100)), named=False),
    Kind("request.arrow-file", lambda folder: table(folder, "f.arrow", partial(as_arrow,
         form="file")), body(lambda content: service().reader.read_arrow(content, 100)),
         named=False),
    Kind("studio.xml", known(CONFIG), body(lambda content:
         label_studio.read_config(content.decode("utf-8", "surrogateescape"))), named=False),
    Kind("studio-tasks.json", known(tasks()), body(lambda content:
         backend().predict(parsed_json(content))), named=False),
    Kind("studio-event.json", known(event()), body(lambda content:
         backend().webhook(parsed_json(content))), named=False),
]  # fmt: skip
KINDS = {kind.name: kind for kind in ALL}


# one file ---------------------------------------------------------------------------------------


class TooLong(BaseException):
    """Not an Exception: nothing may take it for a broken file."""


def too_long(*_):
    raise TooLong


def place_of(kind, folder):
    """Where the files of a kind are written."""
    path = Path(folder, "fuzz", *Path(kind.name).parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def change(kind, content, number, seed=11):
    """The mutated file of this number."""
    content = mutated(np.random.default_rng([seed, number]), content)
    return kind.pack(content) if kind.pack else content


def read(kind, path):
    """Whether the file was read; anything but an error in words that names it is raised."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _used(kind.read(path))
    except (ValueError, FileNotFoundError) as error:
        _check_words(error, kind, path)
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


ASKED = ("labels ", "two columns ", "column ", "features ", "label column", "there is no ",
         "text ", "the table lacks ", "the table must have ")  # fmt: skip


def _check_words(error, kind, path):
    """An error names the file, or the parameter if it is about what was asked for."""
    # that of a codec or a parser is one that nobody has put into words
    assert not isinstance(error, UnicodeError | json.JSONDecodeError), repr(error)
    told = str(error)
    assert not kind.named or str(path.parent) in told or told.startswith(ASKED), told


def _used(found):
    """What was read can be shown and saved: its names are text that UTF-8 holds."""
    if isinstance(found, Dataset):
        names = [*found.label_names[:50], *found.feature_names[:50]]
        repr(found).encode(), "".join(map(str, names)).encode()
    return found is not None


# all files --------------------------------------------------------------------------------------


def child(folder, name, seed, start, stop):
    """Read the files of a kind from one number to another; each number is printed before."""
    import resource

    faulthandler.enable()
    np.seterr(all="ignore")
    signal.signal(signal.SIGVTALRM, too_long)
    kind, folder = KINDS[name], Path(folder)
    content, path = kind.make(folder), place_of(kind, folder)
    path.write_bytes(kind.pack(content) if kind.pack else content)
    assert read(kind, path), "the honest file is refused"
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    outcomes = Counter()
    for number in range(start, stop):
        path.write_bytes(change(kind, content, number, seed))
        print(number, flush=True)
        faulthandler.dump_traceback_later(6 * SECONDS, exit=True)  # where no signal is heard
        try:
            outcomes["read" if read(kind, path) else "refused"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            outcomes["failed"] += 1
            words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print("failed", number, words, flush=True)
    faulthandler.cancel_dump_traceback_later()
    print("done", json.dumps(outcomes), flush=True)


def all_of_a_kind(name, seed, files):
    """Counts of what came of the files of a kind, and the failures in words."""
    outcomes, failures, start = Counter(), [], 0
    one = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
           "ARROW_DEFAULT_MEMORY_POOL": "system"}  # fmt: skip
    while start < files:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "tests.fuzz.readers", "--child", folder, name]
            command += [str(seed), str(start), str(files)]
            done = subprocess.run(command, capture_output=True, text=True, env=one, check=False)
        lines = done.stdout.splitlines()
        failures += [f"{name} {line}" for line in lines if line.startswith("failed")]
        if lines and lines[-1].startswith("done"):
            outcomes += Counter(json.loads(lines[-1].removeprefix("done")))
            break
        numbers = [int(line) for line in lines if line.isdigit()]
        if not numbers:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        wrong = sum(line.startswith("failed") for line in lines)
        outcomes += Counter({"failed": wrong, "not counted": len(numbers) - 1 - wrong, "died": 1})
        failures.append(f"{name} died {numbers[-1]} {done.returncode} {done.stderr[-600:]}")
        start = numbers[-1] + 1
    return outcomes, failures


def main(files, seed=11, *names):
    names, total, failures, begin = names or tuple(KINDS), Counter(), [], time.time()
    for place, name in enumerate(names):
        share = files * (place + 1) // len(names) - files * place // len(names)
        start = time.time()
        outcomes, wrong = all_of_a_kind(name, seed, share)
        total, failures = total + outcomes, failures + wrong
        print(f"{name:22} {dict(outcomes)} {time.time() - start:.0f} s", flush=True)
        print(*wrong[:20], sep="\n", end="\n" if wrong else "", flush=True)
    said = f"{sum(total.values()):,} files of {len(names)} kinds in {time.time() - begin:,.0f} s"
    print(f"{said}: {dict(total)}, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:7]))
    else:
        sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:3]), *sys.argv[3:]))
