"""Mutated files of every kind: a result, or an error in words, in little time and memory."""

import inspect
import os
import signal
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("dask", reason="blocks of files need dask")
pytest.importorskip("fastapi", reason="requests need fastapi")

from plurilabel import io
from plurilabel.io.shared import formats
from tests.fuzz import readers
from tests.fuzz.readers import KINDS, change, place_of, read, too_long

LONG = bool(os.environ.get("PLURILABEL_LONG_FUZZ"))
SECONDS = 10 if LONG else 0.6  # for each kind
MOST = 1500 if LONG else 60  # files of each kind: the same on every machine that gets so far
MEMORY = 200_000_000


def test_every_reader_is_among_them():
    """All formats, and all functions of ``plurilabel.io`` that read."""
    suffixes = {part for name in KINDS for part in readers.Path(name).suffixes}
    for form in formats().values():
        assert suffixes & {*form.suffixes}, form.name
    source = inspect.getsource(readers)
    for name in io.__all__:
        if name.startswith("read_"):
            assert f"io.{name}" in source, name


@pytest.mark.parametrize("name", KINDS)
def test_mutated_files_are_read_or_refused(tmp_path, name):
    kind = KINDS[name]
    content, path = kind.make(tmp_path), place_of(kind, tmp_path)
    path.write_bytes(kind.pack(content) if kind.pack else content)
    signal.signal(signal.SIGVTALRM, too_long)
    assert read(kind, path)
    outcomes, number = {True: 0, False: 0}, 0
    end = _clock() + SECONDS
    tracemalloc.start()
    try:
        while number < MOST and (_clock() < end or number < 20):
            number += 1
            changed = change(kind, content, number)
            path.write_bytes(changed)
            try:
                outcomes[read(kind, path)] += 1
                assert tracemalloc.get_traced_memory()[1] < MEMORY
            except BaseException as error:
                error.add_note(f"{name}, mutation {number}: {changed[:2000]!r}")
                raise
    finally:
        tracemalloc.stop()
    assert outcomes[False]


def _clock():
    return os.times().elapsed


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
LINES = st.lists(
    st.one_of(TEXTS, st.sampled_from(["@data", "@relation r", "@attribute a numeric", "1,2"])),
    max_size=6,
).map("\n".join)
BINARY = ("parquet", "gz", "npy", "mat", "db", "arrow", "stream/", "blocks", "request")


@pytest.mark.parametrize("name", [n for n in KINDS if not any(part in n for part in BINARY)])
@settings(
    max_examples=500 if LONG else 15,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=LINES)
def test_any_text_is_read_or_refused(tmp_path, name, text):
    path = place_of(KINDS[name], tmp_path)
    path.write_text(text, encoding="utf-8")
    signal.signal(signal.SIGVTALRM, too_long)
    read(KINDS[name], path)


def test_the_command_counts(capfd):
    """Few files of a kind, in a process of their own."""
    assert not readers.main(20, 3, "a.xml")
    *_, last = capfd.readouterr().out.splitlines()
    assert last.startswith("20 files of 1 kinds in ") and last.endswith(", 0 failures")
