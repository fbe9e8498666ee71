"""Arrow tables that unpack to more than they look like, and tables that are as they should be."""

import io
import struct
import tracemalloc

import numpy as np
import pytest

from plurilabel.serve import BadInput, Service
from tests.serve.problems import lazy, notes

pa = pytest.importorskip("pyarrow")

SIZE = 1 << 20
ROWS = 1000


def written(table, *, file=False, compression=None, times=1):
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(
        sink, table.schema, options=options
    ) as writer:
        for _ in range(times):
            writer.write_table(table)
    return sink.getvalue()


@pytest.fixture(scope="module")
def reader():
    return Service(lazy()).reader


@pytest.fixture(scope="module")
def texts():
    return Service(notes()[0]).reader


LONG = "x" * 10_000
MANY = "at most 1,000 rows"
LARGE = pa.table({"other": ["x" * (1 << 24)], "heat": [0.0], "height": [0.0]})
NOTHING = pa.FixedSizeListArray.from_arrays(pa.nulls(1 << 30), 1 << 18)
BOMBS = {
    "zstd": (written(pa.table({"heat": np.zeros(1 << 22)}), compression="zstd"), MANY),
    "a zstd text": (written(LARGE, compression="zstd"), "may unpack to"),
    "an lz4 file": (written(LARGE, compression="lz4", file=True), "may unpack to"),
    "nothing": (written(pa.table({"heat": pa.nulls(1 << 30)})), MANY),
    "nothing in a list": (written(pa.table({"heat": NOTHING})), MANY),
    "batches": (written(pa.table({"heat": np.zeros(400)}), times=3), MANY),
    "no rows": (written(pa.table({"heat": np.zeros(0)})), None),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_unpack(reader, name):
    content, words = BOMBS[name]
    assert len(content) < 100_000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(BadInput) as raised:
        reader.read_arrow(content, ROWS, SIZE)
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 2e6
    if words is not None:
        assert raised.value.status == 413
        assert words in str(raised.value)


def test_texts_that_are_named_in_every_row(texts):
    rows = {"length": [1.0] * 500, "place": ["sea"] * 500, "day": ["2024-05-17"] * 500}
    same = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), [LONG])
    with pytest.raises(BadInput, match="may unpack to 1,048,576 bytes, got 5,") as raised:
        texts.read_arrow(written(pa.table({"note": same, **rows})), ROWS, SIZE)
    assert raised.value.status == 413
    few = pa.DictionaryArray.from_arrays(pa.array([0, None] * 250, pa.int32()), ["a red dog"])
    read = texts.read_arrow(written(pa.table({"note": few, **rows})), ROWS, SIZE)
    assert read.X.shape[0] == 500


def test_one_buffer_for_many_columns(texts):
    note = pa.array([LONG] * 90)  # 900 kB, and its buffers once more as another column
    columns = {"note": note, "length": [1.0] * 90, "place": note, "day": ["2024-05-17"] * 90}
    with pytest.raises(BadInput, match="may unpack"):
        texts.read_arrow(written(pa.table(columns)), ROWS, SIZE)


HIDDEN = [
    pa.array([LONG] * 3, pa.string_view()),
    pa.array([b"x"] * 3, pa.binary_view()),
    pa.RunEndEncodedArray.from_arrays([3], [LONG]),
    pa.DictionaryArray.from_arrays([0, 0, 0], pa.array([[1]])),
]
if hasattr(pa, "uuid"):  # since pyarrow 18
    HIDDEN.append(pa.array([b"0" * 16] * 3, pa.uuid()))


@pytest.mark.parametrize("column", HIDDEN, ids=lambda column: str(column.type)[:20])
def test_types_that_hide_their_size(reader, column):
    table = pa.table({"heat": column, "height": [1.0] * 3})
    with pytest.raises(BadInput, match="column 'heat': the Arrow type .* is not accepted"):
        reader.read_arrow(written(table), ROWS, SIZE)
    other = pa.table({"heat": [1.0] * 3, "other": column, "height": [1.0] * 3})
    assert reader.read_arrow(written(other), ROWS, SIZE).X.shape == (3, 2)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("file", [False, True])
def test_good_tables(reader, compression, file):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    table = pa.table({"height": X[:, 1], "other": pa.nulls(300), "heat": X[:, 0]})
    content = written(table, file=file, compression=compression, times=2)
    read = reader.read_arrow(content, ROWS, SIZE)
    np.testing.assert_array_equal(np.asarray(read.X), np.vstack([X, X]))


def test_a_dictionary_in_parts(reader):
    schema = pa.schema({"heat": pa.dictionary(pa.int8(), pa.string()), "height": pa.float64()})
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for values in (["1"], ["1", "2"]):
            heat = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), values)
            writer.write(pa.record_batch([heat, [1.0]], schema=schema))
    with pytest.raises(BadInput, match="delta dictionary"):
        reader.read_arrow(sink.getvalue(), ROWS, SIZE)


def test_bytes_that_were_changed(reader, texts):
    """No error but an error in words, whatever byte is changed, and no memory for promises."""
    table = pa.table({"heat": [1.0, 2.0], "height": [3.0, 4.0], "other": ["a", None]})
    frame = notes()[1]
    typed = pa.Table.from_pandas(frame.drop(columns="tags").astype({"place": "category"}))
    rng = np.random.default_rng(0)
    for one, good in ((reader, table), (texts, typed)):
        for compression in (None, "zstd"):
            content = written(good, compression=compression)
            assert one.read_arrow(content, ROWS, SIZE).X.shape[0] == good.num_rows
            for at in rng.integers(0, len(content), 150).tolist():
                changed = bytearray(content)
                how = rng.integers(3)
                if how == 0:
                    changed[at] ^= 1 << int(rng.integers(8))
                elif how == 1:
                    changed[at : at + 8] = struct.pack("<q", int(rng.integers(-1, 1 << 50)))
                else:
                    del changed[at:]
                try:
                    one.read_arrow(bytes(changed), ROWS, SIZE)
                except BadInput as error:
                    assert str(error)  # noqa: PT017 - most are refused, some change a value
