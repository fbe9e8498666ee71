"""Records in files."""

import numpy as np

from plurilabel._core.records import digest_of, json_bytes, locked, plain, write_atomic


def test_write_atomic(tmp_path):
    with write_atomic(tmp_path / "notes.txt") as stream:
        stream.write(b"some text")
    assert (tmp_path / "notes.txt").read_text() == "some text"


def test_json_escapes_what_utf8_cannot_hold():
    assert json_bytes(["é", "\udcff"]) == '["é", "\\udcff"]'.encode()


def test_plain():
    given = {"k": np.int64(7), "loss": float("nan"), "grid": np.array([0.5, 1.0])}
    assert plain(given) == {"k": 7, "loss": None, "grid": [0.5, 1.0]}


def test_digests_depend_on_values_and_types_but_not_on_memory():
    assert digest_of(np.eye(2)) == digest_of(np.asfortranarray(np.eye(2)))
    assert digest_of(np.eye(2)) != digest_of(np.eye(2, dtype=np.float32))


def test_locked_folder(tmp_path):
    with locked(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()
