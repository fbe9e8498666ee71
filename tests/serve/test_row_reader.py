"""Rows of a request: packed where they are nothing but numbers, looked at where not."""

import datetime
import io
import math
from array import array

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from plurilabel import MLkNN
from plurilabel.io import read_table, table_encoder
from plurilabel.models import Model
from plurilabel.serve import Ask, BadInput, Service
from tests.serve.problems import lazy, notes, records

USUAL = [
    [{"heat": 1.5, "height": -2}],
    [{"height": 0.1, "heat": 1e-320, "other": "left out"}, {"heat": True, "height": 2**70 + 1}],
    [[1, 2.5]],
]
UNUSUAL = [
    [{"heat": None, "height": 1}],
    [{"heat": 1, "height": 2}, {"heat": 1e299, "height": 9e299}],
]
BAD = [
    [{"heat": "1", "height": 1}],
    [{"heat": 1}],
    [{"heat": 1, "height": 10**400}],
    [{"heat": 1, "height": math.inf}],
    [{"heat": math.inf, "height": -math.inf}],
    [{"heat": 1, "height": math.nan}],
    [[1, 2, 3]],
    [{"heat": [1], "height": 1}],
    ["12"],
    [None],
    [],
    "12",
    7,
]


@pytest.fixture(scope="module")
def service():
    return Service(lazy())


@pytest.fixture(scope="module")
def reader(service):
    return service.reader


def slowly(records):
    """The numbers one by one, as a matrix."""
    rows = [[row["heat"], row["height"]] for row in records]
    return np.array([[math.nan if v is None else float(v) for v in row] for row in rows])


@pytest.mark.parametrize("rows", USUAL + UNUSUAL)
def test_packed_rows_are_the_same_numbers(reader, rows):
    quick = reader.quick_records(rows)
    assert all(isinstance(row, array) for row in quick) == (rows in USUAL)
    expected = slowly(reader.records(rows)).tobytes()
    mixed = [*reader.records(rows), *quick]
    for given, times in ((quick, 1), (mixed, 2)):
        assert np.asarray(reader.read_records(given).X).tobytes() == expected * times


@pytest.mark.parametrize("rows", BAD, ids=str)
def test_bad_rows_get_the_same_error(reader, rows):
    with pytest.raises(BadInput) as quick:
        reader.quick_records(rows)
    with pytest.raises(BadInput) as slow:
        reader.records(rows)
    assert str(quick.value) == str(slow.value)
    assert (quick.value.row, quick.value.column) == (slow.value.row, slow.value.column)


HUGE = "X must hold values up to 1e+150 in magnitude, so that distances are finite, got 1e+308"


def arrow(**columns):
    import pyarrow as pa

    names, arrays = zip(*columns.items())
    # a second column of the same name cannot be a keyword
    table, sink = pa.table(list(arrays), [name.rstrip("_") for name in names]), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def refusal(service, rows):
    (answer,) = service.predict_many([(rows, Ask())])
    assert isinstance(answer, BadInput)
    return str(answer), answer.row, answer.column


@pytest.mark.parametrize(
    ("value", "problem"),
    [("inf", "the number is infinite or too large"), ("1e400", None), ("-1e308", HUGE)],
)
def test_numbers_that_no_learner_takes_are_named(service, value, problem):
    problem = problem or "the number is infinite or too large"
    expected = (f"row 1, column 'height': {problem}", 1, "height")
    table = f"heat,height\n1,2\n3,{value}\n".encode()
    assert refusal(service, service.reader.read_csv(table, 10)) == expected
    pytest.importorskip("pyarrow")
    table = arrow(heat=[1.0, 3.0], height=[2.0, float(value)])
    assert refusal(service, service.reader.read_arrow(table, 10)) == expected
    if problem == HUGE:
        rows = service.reader.quick_records([[1, 2], [3, -1e308]])
        assert refusal(service, rows) == expected
        with pytest.raises(BadInput, match=r"row 1, column 'height': the model cannot learn"):
            features = [{"heat": 1, "height": x} for x in (1, 1e308)]
            service.correct([{"features": one, "labels": ["sea"]} for one in features])


def test_a_huge_number_beside_a_gap(service):
    rows = service.reader.records([[None, 1e308], [1, 2]])
    assert refusal(service, rows)[1:] == (0, "heat")


@pytest.mark.parametrize(
    ("column", "got"),
    [
        (["1", "a"], "the text 'a'"),
        ([None, [2.0]], "a list"),
        ([None, {"a": 1}], "an object"),
        ([None, datetime.date(2024, 5, 17)], "the date 2024-05-17"),
        ([None, datetime.datetime(2024, 5, 17, 8)], "the date 2024-05-17T08:00:00"),
        ([None, datetime.timedelta(1)], "a duration"),
        ([b"1", b"a"], "bytes"),
    ],
    ids=str,
)
def test_cells_of_arrow_that_are_not_numbers_are_named(reader, column, got):
    pytest.importorskip("pyarrow")
    with pytest.raises(BadInput) as raised:
        reader.read_arrow(arrow(heat=column, height=[1.0, 2.0]), 10)
    assert str(raised.value) == f"row 1, column 'heat': expected a number, got {got}"


def test_columns_of_arrow(reader):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(BadInput, match=r"^column 'heat': the table has the column 2 times$"):
        reader.read_arrow(arrow(heat=[1.0], heat_=[1.0], height=[2.0]), 10)
    table = arrow(heat=["1.5", None], other=[[1], [2]], other_=[1, 2], height=[True, False])
    X = np.asarray(reader.read_arrow(table, 10).X, dtype=float)
    np.testing.assert_array_equal(X, [[1.5, 1], [math.nan, 0]])
    days = pa.array([None], pa.timestamp("s"))
    with pytest.raises(BadInput, match="^column 'heat': expected numbers, got dates or durations"):
        reader.read_arrow(arrow(heat=days, height=[1.0]), 10)


def test_corrections_that_cannot_be_stored_or_learned(service):
    with pytest.raises(BadInput, match="^row 0: key is not valid Unicode$"):
        service.correct([{"row": 0, "labels": [], "key": "\ud800"}])
    model, table = notes()
    row = {**records(table.drop(columns="tags"))[0], "length": "inf"}
    with pytest.raises(BadInput, match=r"^row 0, column 'length': .* number is infinite"):
        Service(model).correct([{"features": row, "labels": ["dog"]}])


def test_text_in_a_column_of_numbers_is_named():
    """A pipeline of the user's own: its imputer would speak of a median strategy."""
    frame = pd.DataFrame({"x": [0.5, 1, 2, 3], "c": list("abab"), "l": [1, 0, 1, 0]})
    X = read_table(frame, labels=["l"], encode=False).X
    before = table_encoder(X, numbers=SimpleImputer(strategy="median"))
    service = Service(Model.of(make_pipeline(before, MLkNN(1)).fit(X, frame[["l"]])))
    with pytest.raises(BadInput, match="column 'x', row 1: expected a number, got 'oops'"):
        service.predict([{"x": 1, "c": "a"}, {"x": "oops", "c": "b"}])
    service.close()
