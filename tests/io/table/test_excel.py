"""Excel files, and tables in several files."""

import sys

import numpy as np
import pandas as pd
import pytest

from plurilabel import io
from plurilabel.io import FileFormatError, read_table
from plurilabel.models import load_model, save_model, train

ROWS = pd.DataFrame(
    {
        "length": [90.5, 71.0, np.nan, 143.0],
        "seen": pd.to_datetime(["2024-01-02", "2024-03-04", "2024-05-06", "2024-07-08"]),
        "tags": ["a;b", "a", "", "b"],
    }
)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "films.xlsx"
    with pd.ExcelWriter(path) as writer:
        ROWS.to_excel(writer, index=False, sheet_name="films")
        ROWS[:2].to_excel(writer, index=False, sheet_name="new ones")
    return path


def test_a_sheet_is_read_as_the_same_table_in_csv(book, tmp_path):
    ROWS.to_csv(tmp_path / "films.csv", index=False)
    one = io.read(book, labels="tags", sheet="films")
    other = io.read(tmp_path / "films.csv", labels="tags")
    assert one.feature_names == other.feature_names and one.label_names == other.label_names
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.Y.toarray(), other.Y.toarray())


def test_sheets_are_named(book, tmp_path):
    with pytest.raises(FileFormatError, match="has the sheets 'films' and 'new ones': choose"):
        io.read(book, labels="tags")
    with pytest.raises(FileFormatError, match="no sheet 'x', only 'films' and 'new ones'"):
        io.read(book, labels="tags", sheet="x")
    ROWS.to_csv(tmp_path / "films.csv", index=False)
    with pytest.raises(ValueError, match="sheet= is for Excel files"):
        io.read(tmp_path / "films.csv", labels="tags", sheet="films")


def test_errors_name_the_line_of_the_sheet(tmp_path):
    ROWS.assign(length=["1", "2", "long", "3"]).to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(FileFormatError, match="line 4: column 'length': expected a number"):
        io.read(tmp_path / "a.xlsx", labels="tags")
    (tmp_path / "b.xlsx").write_bytes(b"PK\3\4 not a workbook")
    with pytest.raises(FileFormatError, match="expected an Excel file"):
        io.read(tmp_path / "b.xlsx", labels="tags")
    (tmp_path / "c.xls").touch()
    with pytest.raises(ValueError, match=r"save it as \.xlsx or \.csv"):
        io.read(tmp_path / "c.xls", labels="tags")


def test_what_is_missing_is_told(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"save it as CSV\) needs openpyxl: pip install 'pluri"):
        io.read(book, labels="tags", sheet="films")


@pytest.fixture
def parts(tmp_path):
    """Three files, one with its columns in another order."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["u", "v"])
    frame["tags"] = np.where(frame["u"] > 0, "up", "down")
    folder = tmp_path / "rows"
    folder.mkdir()
    frame[:10].to_csv(folder / "a.csv", index=False)
    frame[10:20][["tags", "v", "u"]].to_parquet(folder / "b.parquet", index=False)
    frame[20:].to_csv(folder / "c.csv", index=False)
    (folder / "_SUCCESS").touch()
    frame.to_csv(tmp_path / "whole.csv", index=False)
    return folder


def test_parts_are_the_whole(parts):
    whole = io.read(parts.parent / "whole.csv", labels="tags")
    several = sorted(parts.glob("[abc]*"))
    for source in (parts, str(parts), f"{parts}/[abc]*", several):
        found = read_table(source, labels="tags")
        assert found.name == "rows"
        np.testing.assert_array_equal(found.X, whole.X)
        np.testing.assert_array_equal(found.Y.toarray(), whole.Y.toarray())
    model = train(several, "tags", learner="MLkNN(n_neighbors=3)")
    save_model(model, parts.parent / "m.skops")
    again = load_model(parts.parent / "m.skops")
    assert again.predict(parts) == again.predict(parts.parent / "whole.csv")


def test_errors_name_the_part(parts):
    lines = (parts / "c.csv").read_text().splitlines()
    (parts / "c.csv").write_text("\n".join([*lines[:3], "x,1,up", *lines[3:]]))
    with pytest.raises(FileFormatError, match=r"c\.csv, line 4: column 'u': expected a number"):
        io.read(parts, labels="tags")
    pd.DataFrame({"u": [1], "tags": ["up"]}).to_csv(parts / "c.csv", index=False)
    with pytest.raises(FileFormatError, match=r"c\.csv: expected the columns of .*but 'v'"):
        io.read(parts, labels="tags")
    with pytest.raises(FileNotFoundError, match=r"no file is named like .*nix\*\.csv"):
        io.read(f"{parts}/nix*.csv", labels="tags")
    empty = parts.parent / "empty"
    empty.mkdir()
    with pytest.raises(FileFormatError, match="expected tables in the folder, got none"):
        io.read(empty, labels="tags")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["x", "x", "tags"], "line 1: expected each column name once, got 'x' twice"),
        (["x", "", "tags"], "column 2 has no name"),
        (["", "", "tags"], "line 1: expected each column name once, got '' twice"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_names_of_columns_follow_the_rule_of_csv(tmp_path, names, problem, suffix):
    path, rows = tmp_path / f"t.{suffix}", pd.DataFrame([names, [1, 2, "a"], [3, 4, "b"]])
    write = rows.to_csv if suffix == "csv" else rows.to_excel
    write(path, header=False, index=False)
    with pytest.raises(ValueError, match=problem):
        read_table(path, labels="tags")


def test_a_column_without_a_name_can_be_dropped_and_text_stays_text(tmp_path):
    rows = pd.DataFrame([["", 7, "tags"], [1, "007", "a"], [2, "008", "b"]])
    rows.to_excel(tmp_path / "t.xlsx", header=False, index=False)
    data = read_table(tmp_path / "t.xlsx", labels="tags", drop=[""], categorical=["7"])
    assert data.feature_names == ("7_007", "7_008")
