"""The log on disk."""

import sqlite3
from contextlib import closing

import pytest

from plurilabel.serve import Store, StoreError


def test_entries_come_back_as_they_were(tmp_path):
    store = Store(tmp_path / "log.db", {"model": "m"})
    row = {"heat": 0.1 + 0.2, "place": "Ærø", "none": None}
    entries = [
        Store.new(1, row=4, labels=["sea"], key="k1"),
        Store.new(2, features=row, labels=[]),
        Store.new(3, undoes=1),
    ]
    store.append(entries[:1])
    store.append(entries[1:])
    assert store.entries() == entries
    store.close()
    again = Store(tmp_path / "log.db", {"model": "m"})
    assert again.entries() == entries
    again.close()


def test_an_entry_is_on_disk_when_append_returns(tmp_path):
    store = Store(tmp_path / "log.db", {})
    modes = [
        store._db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous")
    ]
    assert modes == ["wal", 2]  # FULL
    store.append([Store.new(1, row=0, labels=[])])
    # a copy of the files, as a crash would leave them, has it
    for name in ("log.db", "log.db-wal"):
        (tmp_path / f"copy-{name}").write_bytes((tmp_path / name).read_bytes())
    copy = sqlite3.connect(tmp_path / "copy-log.db")
    assert copy.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    copy.close()
    store.close()


def test_all_of_a_batch_or_none(tmp_path):
    store = Store(tmp_path / "log.db", {})
    store.append([Store.new(1, row=0, labels=[], key="same")])
    with pytest.raises(sqlite3.IntegrityError):
        store.append([Store.new(2, row=1, labels=[]), Store.new(3, row=2, labels=[], key="same")])
    assert [entry.id for entry in store.entries()] == [1]
    store.close()


def test_files_that_do_not_belong_are_refused(tmp_path):
    path = tmp_path / "log.db"
    Store(path, {"model": "m"}).close()
    with pytest.raises(StoreError, match="corrections of another model: 'm', not 'other'"):
        Store(path, {"model": "other"})
    text = tmp_path / "text.db"
    text.write_text("this is not a database, but long enough to look at " * 10)
    with pytest.raises(StoreError, match="cannot be used for corrections: file is not a database"):
        Store(text, {})
    with pytest.raises(StoreError, match=r"feedback.db cannot be opened: the folder .*gone"):
        Store(tmp_path / "gone" / "feedback.db", {})


def test_one_process_at_a_time(tmp_path):
    store = Store(tmp_path / "log.db", {})
    with pytest.raises(StoreError, match="in use by another process"):
        Store(tmp_path / "log.db", {})
    store.close()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.db"
    store = Store(path, {"model": "m"})
    store.append([store.new(1, row=7, labels=["sea"])])
    store.close()
    content = path.read_bytes()
    for changed in (content.replace(b'["sea"]', b'["sea"}'), content[:8192] + b"\xff" * 4096):
        path.write_bytes(changed)
        problem = r"a\.db (is damaged|cannot be used)"
        with (
            pytest.raises(StoreError, match=problem),
            closing(Store(path, {"model": "m"})) as store,
        ):
            store.entries()
