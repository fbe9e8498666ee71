"""Predictions in blocks: the same files as from memory, byte for byte."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("skops", reason="model files need skops")

import plurilabel
from plurilabel import BinaryRelevance, models
from plurilabel.distributed.shared import in_order
from plurilabel.models import evaluate_files, write_predictions

# scikit-learn sets warning filters for each call, and threads see those of each other
pytestmark = pytest.mark.filterwarnings("ignore:.*sklearn.utils.parallel.delayed.*:UserWarning")

ROWS = "plurilabel.models._model._ROWS_AT_ONCE"
rng = np.random.default_rng(0)
N = 203
OLD = np.lib.NumpyVersion(np.__version__) < "2.1.0"  # the oldest versions that are tested


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["x", "y", "z"], N)
    frame["note"] = rng.choice(["red hat, tall", "blue\nshoe", 'a "green" coat', ""], N)
    frame["key"] = [f"{i:04d}" for i in range(N)]  # numbers in some blocks, text in others
    frame.loc[150, "key"] = "x1"
    frame["count"] = pd.array(np.arange(N), dtype="Int64")
    frame.loc[170, "count"] = pd.NA
    frame["mostly"] = np.where(np.arange(N) > 100, "text", None)
    Y = frame[["a", "b"]].to_numpy() + 0.3 * rng.normal(size=(N, 2)) > 0
    frame["tags"] = [";".join(np.array(["p", "q"])[row]) for row in Y]
    frame.loc[3, "a"] = np.nan
    return frame


@pytest.fixture(scope="module")
def model(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.skops"
    learner = BinaryRelevance(LogisticRegression())
    options = {"features": list("abc") + ["kind", "note"], "text": "note", "holdout": 0}
    plurilabel.save(models.train(table[:150], "tags", learner=learner, **options), path)
    return path


def written(path, table, kind):
    new = table.copy()
    new.loc[[60, 190], "kind"] = ["new", "newer"]
    if kind == "parquet":
        new.to_parquet(path, row_group_size=50)
    else:
        new.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


@pytest.mark.parametrize("scheduler", [None, "threads"])
@pytest.mark.parametrize(
    ("kind", "out"),
    [("csv", "csv"), ("csv", "parquet"), ("tsv", "jsonl"), ("parquet", "csv"),
     ("parquet", "parquet")],
)  # fmt: skip
def test_files_are_equal_byte_for_byte(table, model, tmp_path, monkeypatch, kind, out, scheduler):
    if scheduler:
        pytest.importorskip("dask.array")
    if OLD and (kind, out) == ("parquet", "csv"):
        pytest.skip("integers with gaps are kept as 1.0 from memory with the oldest versions")
    source = written(tmp_path / f"new.{kind}", table, kind)
    options = {"scores": True, "keep": ["key", "count", "mostly", "tags"]}
    before = write_predictions(model, source, tmp_path / f"whole.{out}", **options)
    monkeypatch.setattr(ROWS, 23)
    after = write_predictions(
        model, source, tmp_path / f"blocks.{out}", scheduler=scheduler, **options
    )
    assert after == before and before.rows == N
    assert before.remarks[0].endswith("encoded as zeros: 'new' and 'newer'")
    if out != "parquet":
        whole, blocks = (tmp_path / f"{name}.{out}" for name in ("whole", "blocks"))
        assert blocks.read_bytes() == whole.read_bytes()
    else:
        whole, blocks = (pd.read_parquet(tmp_path / f"{n}.{out}") for n in ("whole", "blocks"))
        pd.testing.assert_frame_equal(blocks, whole)


def test_blocks_go_on_over_files(table, model, tmp_path, monkeypatch):
    source = written(tmp_path / "new.csv", table, "csv")
    whole = pd.read_csv(source, dtype={"key": str})
    parts = [tmp_path / f"part{i}.csv" for i in range(3)]
    for path, (a, b) in zip(parts, [(0, 60), (60, 61), (61, N)]):
        whole[a:b].to_csv(path, index=False)
    # with the oldest versions, scores in blocks differ in the last bits; the cause is not known
    digits = 12 if OLD else 17
    write_predictions(model, source, tmp_path / "whole.csv", scores=True, digits=digits)
    for at_once in (65_536, 23):
        monkeypatch.setattr(ROWS, at_once)
        write_predictions(model, parts, tmp_path / "parts.csv", scores=True, digits=digits)
        assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    parts[1].write_text("a,b,kind,note\n1,2,x,y\n")
    with pytest.raises(ValueError, match=r"part1.csv: expected the columns of .*part0.csv, but"):
        write_predictions(model, parts, tmp_path / "parts.csv")


def test_errors_name_the_place(table, model, tmp_path, monkeypatch):
    monkeypatch.setattr(ROWS, 23)
    wrong = table.astype({"b": object})
    wrong.loc[100, "b"] = "many"
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    line = next(
        i for i, text in enumerate((tmp_path / "wrong.csv").read_text().split("\n"), 1)
        if ",many," in text
    )  # fmt: skip
    with pytest.raises(ValueError, match=rf"wrong.csv, line {line}: column 'b': expected a num"):
        write_predictions(model, tmp_path / "wrong.csv", tmp_path / "out.csv")
    wrong.assign(b=wrong["b"].astype(str)).to_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(ValueError, match="column 'b', row 101: expected a number, got 'many'"):
        write_predictions(model, tmp_path / "wrong.parquet", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1" + bytes(40))
    with pytest.raises(ValueError, match=r"broken.parquet: expected a Parquet file"):
        write_predictions(model, tmp_path / "broken.parquet", tmp_path / "out.csv")
    # a quote in a cell without quotes: the ends of rows cannot be told in the middle of the file
    table[["a", "b", "c", "kind"]].assign(note='5"').to_csv(
        tmp_path / "quote.csv", index=False, quoting=3
    )
    write_predictions(model, tmp_path / "quote.csv", tmp_path / "out.csv")
    monkeypatch.setattr("plurilabel.models._predictions.SMALL", 0)
    with pytest.raises(ValueError, match="contain quotes must be in quotes"):
        write_predictions(model, tmp_path / "quote.csv", tmp_path / "out.csv")


def test_packed_files_are_read_as_a_whole(table, model, tmp_path, monkeypatch):
    source = written(tmp_path / "new.csv", table, "csv")
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    monkeypatch.setattr(ROWS, 23)
    for path in (source, packed):
        write_predictions(model, path, path.with_suffix(".out.csv"))
    found = tmp_path / "new.csv.out.csv"
    assert found.read_bytes() == (tmp_path / "new.out.csv").read_bytes()
    pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="must be CSV or Parquet files that are not gzipped"):
        write_predictions(model, packed, tmp_path / "out.csv", scheduler="threads")


def test_measures_in_blocks(table, model, tmp_path, monkeypatch):
    pytest.importorskip("dask.array")
    source = written(tmp_path / "new.csv", table, "csv")
    loaded = plurilabel.load(model)
    expected, _ = loaded.evaluate(loaded.read(source, with_labels=True))
    monkeypatch.setattr(ROWS, 23)
    for scheduler in (None, "threads"):
        found, about = evaluate_files(model, source, scheduler=scheduler)
        assert about.rows == N and "newer" in about.remarks[0]
        assert dict(found) == pytest.approx(
            {name: value for name, value in expected.items() if name in found}, abs=1e-12
        )
        assert "micro_f1" in found and "macro_auc" not in found


def test_memory_is_that_of_a_block(model, table, tmp_path, monkeypatch):
    """Of the Python objects and arrays, not of the libraries: ten times the rows, one block."""
    import tracemalloc

    monkeypatch.setattr(ROWS, 500)
    peaks = []
    for times in (10, 100):
        pd.concat([table] * times).to_parquet(tmp_path / "new.parquet", row_group_size=2000)
        tracemalloc.start()
        write_predictions(model, tmp_path / "new.parquet", tmp_path / "out.csv")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


@pytest.mark.parametrize("at_once", [5, 1 << 20])
def test_blank_lines_and_stray_quotes(table, model, tmp_path, monkeypatch, at_once):
    pytest.importorskip("dask.array")
    monkeypatch.setattr("plurilabel.distributed._csv_blocks.READ_AT_ONCE", at_once)
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows = table[:30].assign(note="a hat")
    lines = rows.to_csv(index=False).splitlines()
    lines[9:9] = ["", "  ", "\t", "\r"]
    path.write_text("\n".join(lines))
    write_predictions(model, path, out, keep=["key"])
    monkeypatch.setattr(ROWS, 7)
    write_predictions(model, path, tmp_path / "blocks.csv", keep=["key"], scheduler="threads")
    assert (tmp_path / "blocks.csv").read_bytes() == out.read_bytes()
    # inches: such quotes do not quote, so where rows end cannot be told from their number
    path.write_text(rows.to_csv(index=False).replace("a hat", '5" hat'))
    assert write_predictions(model, path, out).rows == 30
    with pytest.raises(plurilabel.io.FileFormatError, match="contain quotes must be in quotes"):
        write_predictions(model, path, out, scheduler="threads")


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "first line with names"), ("a,b\n", "has no rows"), ('a,b\n"1', "has no end")],
)
def test_a_scheduler_does_not_hide_what_is_wrong(model, tmp_path, content, problem):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=problem):
        write_predictions(model, path, tmp_path / "out.csv", scheduler="threads")
    assert not (tmp_path / "out.csv").exists()


def test_threads_leave_warnings_alone(monkeypatch):
    pytest.importorskip("dask.array")
    told, before = [], list(warnings.filters)
    monkeypatch.setattr("warnings.showwarning", lambda message, *_: told.append(str(message)))

    def warned(_, job):
        for text in ("sklearn.utils.parallel.delayed", "kept"):
            warnings.showwarning(UserWarning(f"{text} {job}"), UserWarning, "", 1)
        warnings.resetwarnings()  # as scikit-learn does
        return job

    assert list(in_order(warned, None, range(3), "threads", "warn")) == [0, 1, 2]
    assert sorted(told) == ["kept 0", "kept 1", "kept 2"] and warnings.filters == before
