"""The log on disk."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from plurilabel.serve import Service, StoreError
from plurilabel.serve._store import Store
from tests.serve.problems import lazy, points, records

ROW = records(points(1)[0])[0]


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
    with pytest.raises(StoreError, match=r"log.db cannot be written, .* UNIQUE constraint failed"):
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


def corrected(path, n=3):
    """A store with corrections, closed."""
    service = Service(lazy(), store=path)
    service.correct([{"features": ROW, "labels": ["sea"], "key": str(i)} for i in range(n)])
    service.undo(1)
    service.close()


def altered(path, statement):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM entries WHERE id = 2", "correction 2 is missing"),
        ("UPDATE entries SET id = 9 WHERE id = 4", "correction 4 is missing"),
        ("UPDATE entries SET labels = '[\"moon\"]' WHERE id = 3", "3 .*no label 'moon'"),
        ("UPDATE entries SET labels = NULL WHERE id = 3", "correction 3 .*list of names"),
        ("UPDATE entries SET labels = '[\"sea' WHERE id = 3", "correction 3: Unterminated"),
        ("UPDATE entries SET labels = '7' WHERE id = 3", "correction 3: 'int' object"),
        ("UPDATE entries SET labels = '[[]]' WHERE id = 3", "correction 3 .*list of names"),
        ("UPDATE entries SET features = '{}' WHERE id = 2", "correction 2 .*column 'heat'"),
        ("UPDATE entries SET features = 'x' WHERE id = 2", "correction 2: Expecting value"),
        ("UPDATE entries SET features = NULL WHERE id = 2", "correction 2 .*got null"),
        ("UPDATE entries SET row = 999 WHERE id = 3", "correction 3 .*no row 999"),
        ("UPDATE entries SET undoes = 7 WHERE id = 4", "correction 4 .*no correction 7"),
    ],
)
def test_altered_files_are_refused_in_words(tmp_path, statement, words):
    corrected(tmp_path / "log.db")
    altered(tmp_path / "log.db", statement)
    with pytest.raises(StoreError, match=f"log.db is damaged: .*{words}"):
        Service(lazy(), store=tmp_path / "log.db")
    os.rename(tmp_path / "log.db", tmp_path / "moved.db")  # nobody holds it


def test_bytes_of_a_file_that_were_overwritten(tmp_path):
    path = tmp_path / "log.db"
    corrected(path, 300)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 4096):
        path.write_bytes(whole[:at] + b"\xa7" * 2048 + whole[at + 2048 :])
        try:
            Service(lazy(), store=path).close()
        except StoreError as error:
            refused += str(path) in str(error)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"log.db"):
        Service(lazy(), store=path)
    assert refused > 5


def removed(path):
    path.unlink()


def replaced(path):
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    os.replace(copy, path)


def truncated(path):
    os.truncate(path, 0)


def overwritten(path):
    with path.open("r+b") as file:
        file.write(b"\0" * 100)


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("damage", [removed, replaced, truncated, overwritten])
def test_a_file_that_was_taken_away_is_noticed(tmp_path, damage, suffix):
    service = Service(lazy(), store=tmp_path / "log.db")
    service.correct([{"features": ROW, "labels": ["sea"]}])
    path = tmp_path / f"log.db{suffix}"
    os.utime(path, ns=(0, path.stat().st_mtime_ns))  # reading is no change
    service.correct([{"row": 0, "labels": []}])
    damage(path)
    what = "removed" if damage is removed else "changed by another program"
    for _ in range(2):
        with pytest.raises(StoreError, match=f"log.db{suffix} was {what} while") as raised:
            service.correct([{"row": 1, "labels": []}])
        assert raised.value.status == 503
        assert service.ledger.version == service.version == 2
    assert len(service.export("jsonl").splitlines()) == 2  # what it knows can be saved
    service.close()


def test_a_full_file_is_told_and_goes_on_later(tmp_path):
    service = Service(lazy(), store=tmp_path / "log.db")
    service.correct([{"row": 0, "labels": []}])
    service.store._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreError, match=r"log.db cannot .*: the disk is full") as raised:
        service.correct([{"row": i, "labels": ["sea"] * 3} for i in range(60)] * 9)
    assert raised.value.status == 507
    assert service.ledger.version == service.version == 1
    service.store._db.execute("PRAGMA max_page_count = 100000")
    service.correct([{"row": 1, "labels": []}])
    service.close()
    assert [e.row for e in Store(tmp_path / "log.db", {}).entries()] == [0, 1]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_at_any_point(small_disk):
    path, filler = small_disk / "log.db", small_disk / "filler"
    service = Service(lazy(), store=path)
    acknowledged, refused = {}, []
    for kilobytes in range(0, 80, 4):
        service.correct([{"features": ROW, "labels": [], "key": f"{kilobytes} before"}])
        free = shutil.disk_usage(small_disk).free
        filler.write_bytes(b"x" * max(0, free - kilobytes * 1024))
        key = f"{kilobytes} {'x' * 190}"
        sent = [{"features": ROW, "labels": ["sea"], "key": f"{key} {i}"} for i in range(9)] * 5
        try:
            done = service.correct(sent)
        except StoreError as error:
            refused.append((error.status, str(path) in str(error)))
        else:
            acknowledged |= {f"{key} {i}": done["corrections"][i]["id"] for i in range(9)}
        filler.unlink()
        done = service.correct([{"features": ROW, "labels": ["sun"], "key": f"{kilobytes} after"}])
        acknowledged[f"{kilobytes} after"] = done["corrections"][0]["id"]
    assert set(refused) == {(507, True)}
    service.close()
    again = Service(lazy(), store=path)
    there = [entry.key for entry in again.ledger.entries.values()]
    assert len(there) == len(set(there)) and set(acknowledged) <= set(there)
    assert {key: again.ledger.keys[key] for key in acknowledged} == acknowledged
    again.close()


def test_how_much_is_kept(tmp_path):
    store = Store(tmp_path / "log.db", {}, most=2000)
    store.append([Store.new(1, features={"x": "y" * 500}, labels=[])])
    large = Store.new(2, features={"x": "y" * 1000}, labels=[])
    with pytest.raises(StoreError, match=r"log.db would hold more than 2,000 bytes") as raised:
        store.append([large])
    assert raised.value.status == 507
    store.close()
    store = Store(tmp_path / "log.db", {}, most=2000)
    assert len(store.entries()) == 1
    with pytest.raises(StoreError, match="2,000 bytes"):
        store.append([large])
    store.append([Store.new(2, undoes=1)])
    store.close()
