"""Cells that are read row by row, beside the reader of whole tables."""

import numpy as np
import pytest

from plurilabel.io import read_table
from plurilabel.io.shared import CellReader


def read(column, *cells, **options):
    reader = CellReader(**options)
    return [dict(reader.features(column, cell)) for cell in cells]


def test_as_the_reader_of_tables(tmp_path):
    """Row by row, the same numbers as with the whole column at hand."""
    prices = ["1.234,50 €", "0,5 €", "-3 €", "", "1 000,0 €"]
    sent = ["13/04/2021 10:30", "03/04/2021 23:00", "01/12/2020 00:15", "", "02/02/2022 12:00"]
    kinds = ["red", "blue", "red", "?", "blue"]
    path = tmp_path / "t.csv"
    rows = zip(prices, sent, kinds, "10101")
    path.write_text("price;sent;kind;l\n" + "".join(";".join(row) + "\n" for row in rows))
    table = read_table(path, labels=["l"])
    expected = dict(zip(table.feature_names, np.asarray(table.X).T))
    reader = CellReader()
    for i, (price, date) in enumerate(zip(prices, sent)):
        found = dict(reader.features("price", price)) | dict(reader.features("sent", date))
        for name, value in found.items():
            assert value == pytest.approx(expected[name][i], abs=1e-12), name
        assert len(found) == (8 if price else 0)


def test_a_cell_that_may_be_either():
    assert read("a", "1,234", "1,5", decimal=",") == [{"a": 1.234}, {"a": 1.5}]
    assert read("a", "1,234", "2.5") == [{"a": 1234.0}, {"a": 2.5}]
    assert read("a", "1,5", "1,234") == [{"a": 1.5}, {"a": 1.234}]
    with pytest.raises(ValueError, match=r"got '1,234' before and now '1,5'; set decimal=','"):
        read("a", "1,234", "1,5")
    with pytest.raises(ValueError, match=r"got '1,5' before and now '1\.5'$"):
        read("a", "1,5", "1.5")
    assert read("a", "3", "12 %", "(3)", "$5") == [{"a": 3}, {"a": 12}, {"a": -3}, {"a": 5}]


def test_dates_whose_order_is_open():
    (first,) = read("d", "03/04/2021", day_first=True)
    assert read("d", "13/04/2021", "03/04/2021")[1] == first
    assert read("d", "03.04.2021") == [first]
    with pytest.raises(ValueError, match="order is clear, got '03/04/2021'; set day_first=True"):
        read("d", "03/04/2021")
    with pytest.raises(ValueError, match="in one order, got '13/04/2021' before"):
        read("d", "13/04/2021", "04/13/2021")
    with pytest.raises(ValueError, match="must have dates, the month first, got '13/04/2021'"):
        read("d", "13/04/2021", day_first=False)
    assert "d_hour_sin" not in first
    assert "d_hour_sin" in read("d", "2021-04-03 10:00")[0]


def test_columns_do_not_mix():
    reader = CellReader()
    assert dict(reader.features("a", "1,5")) == {"a": 1.5}
    assert dict(reader.features("b", "1.5")) == {"b": 1.5}


def test_identifiers():
    reader = CellReader()
    for i in range(300):
        for name, cell in {"id": i, "name": f"n{i}", "kind": "ab"[i % 2], "a": i % 7}.items():
            list(reader.features(name, cell if name == "a" else str(cell)))
        assert reader.identifiers == ([] if i < 9 else ["id"] if i < 255 else ["id", "name"])


def test_words_have_length_one():
    from sklearn.feature_extraction.text import CountVectorizer

    reader = CellReader(words=[CountVectorizer(stop_words=["the"]).build_analyzer()])
    found = dict(reader.text_features("t", "The red ball, the RED sea"))
    assert list(found) == ["t=red", "t=ball", "t=sea"]
    assert found["t=red"] == 2 * found["t=sea"] and sum(v * v for v in found.values()) == (
        pytest.approx(1)
    )
    assert dict(reader.text_features("t", None)) == {} == dict(reader.text_features("t", "the"))


def test_bad_cells():
    with pytest.raises(ValueError, match="decimal must be '.' or ',', got ';'"):
        CellReader(decimal=";")
    with pytest.raises(ValueError, match="a must be a finite number"):
        read("a", "inf")
    with pytest.raises(ValueError, match="a must be a number, a text or a list"):
        read("a", {"b": 1})
    assert read("a", None, "NA", float("nan"), " ") == [{}] * 4
