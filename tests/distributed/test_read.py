"""Files as collections hold what the readers of whole files find."""

import gzip

import numpy as np
import pytest
from scipy import sparse

from plurilabel import io
from plurilabel.datasets import Dataset
from plurilabel.distributed import read
from plurilabel.io import FileFormatError

pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
N = 57


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["whole"] = rng.integers(9, size=N)
    frame["sea"], frame["sun"] = rng.integers(2, size=(2, N))
    frame["tags"] = [";".join(sorted(set(rng.choice(list("xyz"), i % 4)))) for i in range(N)]
    frame["title"] = "words"
    frame.loc[3, "b"] = np.nan
    return frame


def plain(array):
    assert not np.isnan(np.sum(array.shape))
    answer = array.compute()
    assert answer.shape == array.shape
    return answer.toarray() if sparse.issparse(answer) else answer


def parquet(folder, table, n_files=3, group=8):
    parts = np.array_split(np.arange(len(table)), n_files)
    for i, rows in enumerate(parts):
        table.iloc[rows].to_parquet(folder / f"part{i}.parquet", row_group_size=group)
    return str(folder / "*.parquet")


@pytest.mark.parametrize("rows", [1, 20, 1000])
def test_parquet(tmp_path, table, rows):
    data = read(parquet(tmp_path, table), labels=["sun", "sea"], drop=["title", "tags"], rows=rows)
    assert data.feature_names == ("a", "b", "c", "whole") and data.label_names == ("sun", "sea")
    np.testing.assert_array_equal(plain(data.X), table[list(data.feature_names)].to_numpy())
    np.testing.assert_array_equal(plain(data.Y), table[["sun", "sea"]].to_numpy())
    # row groups of 8, put together where they fit, never over the end of a file
    assert data.X.chunks[0] == {1: (8, 8, 3) * 3, 20: (19,) * 3, 1000: (19,) * 3}[rows]


@pytest.mark.parametrize("at_once", [1, 7, 100, 1 << 20])
def test_csv(tmp_path, table, monkeypatch, at_once):
    monkeypatch.setattr("plurilabel.distributed._csv_blocks.READ_AT_ONCE", at_once)
    # line breaks in quotes, blank lines, and ends of lines as on Windows
    table.assign(title='two\r\n"lines"').to_csv(tmp_path / "rows.csv", index=False)
    text = (tmp_path / "rows.csv").read_bytes().replace(b"\n", b"\r\n").replace(b"\r\r", b"\r")
    (tmp_path / "rows.csv").write_bytes(text.rstrip(b"\r\n") + b"\n\r\n\n")
    data = read(tmp_path / "rows.csv", labels="tags", features=["a", "b", "whole"], rows=10)
    assert data.X.chunks[0] == (10, 10, 10, 10, 10, 7)
    np.testing.assert_allclose(plain(data.X), table[["a", "b", "whole"]].to_numpy())
    whole = io.read_table(tmp_path / "rows.csv", labels="tags", features=["a", "b", "whole"])
    assert data.label_names == whole.label_names and data.tag_sep == whole.tag_sep == ";"
    np.testing.assert_array_equal(plain(data.Y), whole.Y.toarray())


def test_tags_in_blocks(tmp_path, table):
    path = parquet(tmp_path, table, n_files=2)
    features = ["a", "c"]
    found = read(path, labels="tags", features=features)
    assert found.label_names == ("x", "y", "z")
    assert sparse.issparse(found.Y.blocks[0].compute())
    given = read(path, labels="tags", features=features, label_names=["z", "x", "y", "new"])
    np.testing.assert_array_equal(plain(given.Y)[:, [1, 2, 0]], plain(found.Y))
    lists = table.assign(tags=[text.split(";") if text else [] for text in table.tags])
    (tmp_path / "lists").mkdir()
    other = read(parquet(tmp_path / "lists", lists), labels="tags", features=features)
    np.testing.assert_array_equal(plain(other.Y), plain(found.Y))
    table.assign(tags=table.tags.str.replace(";", "|")).to_parquet(tmp_path / "part1.parquet")
    with pytest.raises(ValueError, match="one separator between tags, got ';' and '|'"):
        read(path, labels="tags", features=features)


def test_csv_cells_are_read_as_in_whole_files(tmp_path):
    lines = ["size,tags"] + [f"{i},NA;None" for i in range(1200)] + ["1.5,EU", ",null", "n/a,1"]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    data, whole = read(path, labels="tags", rows=500), io.read_table(path, labels="tags")
    assert data.label_names == whole.label_names == ("1", "EU", "NA", "None", "null")
    np.testing.assert_array_equal(plain(data.X), whole.X)
    np.testing.assert_array_equal(plain(data.Y), whole.Y.toarray())
    path.write_text("\n".join([*lines, "oops,EU"]))
    with pytest.raises(ValueError, match="'size' must hold numbers, got 'oops' in row 1203"):
        read(path, labels="tags").X.compute()
    path.write_text("size,sun\n1,0\n2,yes\n")
    with pytest.raises(ValueError, match="'sun' must hold numbers, got 'yes' in row 1"):
        read(path, labels=["sun"]).Y.compute()
    for text, message in (
        ("a,sun\n1,0\n1,0,3\n", "line 2: the 2 rows .* Expected 2 columns, got 3: 1,0,3"),
        ("a,sun\n1,0\n1\n", "line 2: the 2 rows .* Expected 2 columns, got 1"),
        ('a,sun\n1,"0\n', "a quoted cell has no end"),
        ("", "an empty file"),
        ("a,a,sun\n1,2,0\n", "got 'a' twice"),
        ("a,sun\n\xe9,0\n", "line 2: expected text in UTF-8, got the byte 0xe9"),
    ):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(FileFormatError, match=message):
            read(path, labels=["sun"]).X.compute()


@pytest.mark.parametrize("rows", [1, 3, 7, 20, 100])
@pytest.mark.parametrize("end", ["\n", "", "\n\n \n"])
def test_xmc(tmp_path, rows, end):
    X = sparse.random_array((20, 30), density=0.1, random_state=0, format="csr")
    Y = (rng.random((20, 6)) < 0.3).astype(int)
    Y[-1, 0] = 1  # a line that is not blank
    io.write_xmc(tmp_path / "rows.txt", Dataset(X, Y))
    text = (tmp_path / "rows.txt").read_text().rstrip("\n") + end
    (tmp_path / "rows.txt").write_text(text)
    data = read(tmp_path / "rows.txt", rows=rows)
    np.testing.assert_array_equal(plain(data.X), X.toarray())
    np.testing.assert_array_equal(plain(data.Y), Y)
    assert max(data.X.chunks[0]) == min(rows, 20)


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    X, Y = rng.normal(size=(20, 3)), rng.integers(2, size=(20, 2))
    group = zarr.open_group(str(tmp_path / "rows.zarr"), mode="w")
    for name, array in (("X", X), ("Y", Y)):
        group.create_array(name, shape=array.shape, chunks=(7, 2), dtype=array.dtype)[:] = array
    data = read(tmp_path / "rows.zarr")
    np.testing.assert_array_equal(plain(data.X), X)
    np.testing.assert_array_equal(plain(data.Y), Y)
    zarr.open_group(str(tmp_path / "none.zarr"), mode="w")
    with pytest.raises(ValueError, match="a group with the arrays X and Y"):
        read(tmp_path / "none.zarr")


def test_broken_files(tmp_path, table):
    def written(name, text):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    with pytest.raises(FileFormatError, match=r"expected 3 rows .* got 2"):
        read(written("few.txt", "3 2 2\n0 0:1\n1 1:1\n"))
    with pytest.raises(FileFormatError, match=r"line 3: expected no more than 1 rows"):
        read(written("many.txt", "1 2 2\n0 0:1\n1 1:1\n"))
    with pytest.raises(FileFormatError, match=r"line 3: expected feature numbers below 2"):
        read(written("wide.txt", "2 2 2\n0 0:1\n1 2:1\n"), rows=1).X.compute()
    with pytest.raises(FileFormatError, match="unpack it first"):
        read(written("packed.txt", gzip.compress(b"1 2 2\n0 0:1\n")))
    with pytest.raises(FileFormatError, match="at least one row"):
        read(written("empty.txt", "0 2 2\n"))
    with pytest.raises(FileFormatError, match="expected a Parquet file"):
        read(written("no.parquet", "words"), labels="a")
    bad = table.assign(sun=2.0)
    path = parquet(tmp_path, bad, n_files=1, group=20)
    options = {"labels": ["sea", "sun"], "features": ["a"]}
    (tmp_path / "no.parquet").unlink()
    with pytest.raises(ValueError, match="'sun' must hold only 0 and 1, got 2 in row 20"):
        read(path, rows=20, **options).Y.blocks[1].compute()
    table.drop(columns="c").to_parquet(tmp_path / "part9.parquet")
    with pytest.raises(ValueError, match="must have the columns of .*; 'c' is different"):
        read(path, **options)


def test_bad_requests(tmp_path, table):
    path = parquet(tmp_path, table, n_files=1)
    (tmp_path / "x.txt").write_text("1 2 2\n0 0:1\n")
    for options, message in (
        ({}, "labels must name"),
        ({"labels": ["sky"]}, "no column 'sky'; there are 'a'|a"),
        ({"labels": ["sun"]}, "columns of numbers, but 'tags' and 'title' are not"),
        ({"labels": ["sun"], "features": []}, "at least one column"),
        ({"labels": ["sun"], "rows": 0}, "rows must be an integer of at least 1"),
        ({"labels": ["sun"], "rows": 1.5}, "rows must be an integer of at least 1"),
        ({"labels": ["sun", "sun"], "features": ["a"]}, "got 'sun' twice"),
        ({"labels": ["sun"], "features": ["a", "sun"]}, "got 'sun' twice"),
    ):
        with pytest.raises(ValueError, match=message):
            read(path, **options)
    with pytest.raises(ValueError, match="are for tables"):
        read(tmp_path / "x.txt", labels="tags")
    with pytest.raises(ValueError, match="files of one kind, got parquet and xmc"):
        read([path, tmp_path / "x.txt"], labels="tags")
    with pytest.raises(FileNotFoundError, match="no file is named"):
        read(tmp_path / "*.csv", labels="tags")
    with pytest.raises(ValueError, match="cannot be read in blocks"):
        read(__file__)
    with pytest.raises(ValueError, match="got none"):
        read([])
