"""Files are written whole or not at all; gzip is seen through."""

import gzip
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from plurilabel._core.records import write_atomic
from plurilabel.io import FileFormatError
from plurilabel.io.shared import opened


def read_bytes(path):
    with opened(path) as stream:
        return stream.read()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), write_atomic(path) as stream:
        stream.write(b"new, but")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["data.txt"]


def test_the_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "data.txt"
    with write_atomic(path) as stream:
        stream.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_gzip_by_name_and_the_same_bytes_each_time(tmp_path):
    contents = []
    for name in ("a.txt.gz", "b.txt.gz"):
        with write_atomic(tmp_path / name) as stream:
            stream.write(b"text" * 100)
        contents.append((tmp_path / name).read_bytes())
        assert read_bytes(tmp_path / name) == b"text" * 100
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]) == b"text" * 100


def test_packed_content_is_recognised_whatever_the_name(tmp_path):
    (tmp_path / "plain.arff").write_bytes(gzip.compress(b"text"))
    assert read_bytes(tmp_path / "plain.arff") == b"text"


def test_a_cut_off_gzip_file_is_named(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"text" * 1000)[:-10])
    with pytest.raises(FileFormatError, match="cut.gz: the gzip file is broken"):
        read_bytes(path)


def test_the_error_survives_pickling():
    error = pickle.loads(pickle.dumps(FileFormatError("data.csv", 3, "expected a number")))
    assert str(error) == "data.csv, line 3: expected a number"
    assert (error.path, error.line) == ("data.csv", 3)


def test_permissions_are_right_in_every_thread(tmp_path):
    """Asking for the umask would set it, for all threads, to 0 for a moment."""
    from concurrent.futures import ThreadPoolExecutor

    def write(number):
        with write_atomic(tmp_path / f"{number}.txt") as stream:
            stream.write(b"x")
        Path(tmp_path, f"{number}.plain").write_bytes(b"x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_temporary_files_of_killed_processes_are_swept(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from plurilabel._core.records import write_atomic\n"
        "with write_atomic(sys.argv[1]) as stream:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    (left,) = tmp_path.iterdir()
    alive = left.with_name(left.name.replace(left.name.split("-")[-2], str(os.getpid())))
    alive.touch()  # that of a process which still writes
    (tmp_path / ".b.txt.tmp").touch()
    with write_atomic(path) as stream:
        stream.write(b"x")
    assert sorted(tmp_path.iterdir()) == sorted([alive, tmp_path / ".b.txt.tmp", path])
