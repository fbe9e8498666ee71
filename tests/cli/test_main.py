"""What all commands share."""

import errno
import json
import os
import subprocess
import sys
import warnings
from inspect import signature
from types import SimpleNamespace

import click
import numpy as np
import pytest

from plurilabel.cli import _main
from plurilabel.cli._data import TABLES, data_options, find, label_option, reader_options
from plurilabel.cli._main import Friendly
from plurilabel.cli._output import UsageError, arrow, console, print_json, print_table
from plurilabel.io.shared import formats


def failing(error):
    group = Friendly("group")

    @group.command()
    def command():
        raise error

    return group


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("no\n  such\nthing"), 1, "Error: no such thing\n"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), 1,
         "Error: there is no file a.csv\n"),
        (ImportError("needs x"), 1, "Error: needs x\n"),
        (MemoryError(), 1, "Error: not enough memory; try fewer rows or labels\n"),
        (MemoryError("Unable to allocate 9 TiB"), 1,
         "Error: not enough memory (Unable to allocate 9 TiB); try fewer rows or labels\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "Error: No space left on device\n"),
        (ValueError("labels names a column 'a'"), 1, "Error: --labels names a column 'a'\n"),
        (RecursionError(), 1, "Error: the input is nested too deeply\n"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (UsageError("that cannot be, use sep="), 2, "Error: that cannot be, use --sep\n"),
        (ValueError("drop=['a b'], features=[...] or text='a b'; is sep= right?"), 1,
         "Error: --drop 'a b', --features or --text 'a b'; is --sep right?\n"),
        (ValueError("say which with tag_sep=; labels=['a']"), 1,
         "Error: say which with --tag-sep; --labels 'a,'\n"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence(error, status, message, capsys):
    with pytest.raises(SystemExit) as caught:
        failing(error).main(["command"])
    assert caught.value.code == status
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", message)


def test_errors_of_ours_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError("a bug")).main(["command"])


def test_a_reader_who_has_seen_enough(capsys):
    with pytest.raises(SystemExit) as caught:
        failing(BrokenPipeError(errno.EPIPE, "Broken pipe")).main(["command"])
    assert caught.value.code == 1 and capsys.readouterr().err == ""


def test_warnings_are_one_line_each_once(capsys):
    group = Friendly("group")

    @group.command()
    def command():
        for _ in range(3):
            warnings.warn("did not\n  converge", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit):
            group.main(["command"])
    assert capsys.readouterr().err == "Warning: did not converge\n"


@pytest.mark.parametrize(
    ("text", "labels"),
    [(None, None), ("tags", "tags"), ("a, b", ["a", "b"]), ("a,", ["a"]), ("7", 7), ("-7", -7)],
)
def test_label_option(text, labels):
    assert label_option(text) == labels


def test_find_reads_files_and_standard_datasets(tmp_path):
    (tmp_path / "a.csv").write_text("id;x;y;t\np;1;2;u,v\nq;3;4;u\n")
    data = find(str(tmp_path / "a.csv"), labels="t", drop="id", features="y,x", sep=";")
    assert data.feature_names == ("y", "x") and data.label_names == ("u", "v")
    (tmp_path / "b.csv").write_text(",x,t\n0,1,u\n1,2,v\n")
    assert find(str(tmp_path / "b.csv"), labels="t", drop="").feature_names == ("x",)
    (tmp_path / "a.arff").write_text(
        "@relation r\n@attribute id string\n@attribute x numeric\n@attribute l {0,1}\n"
        "@data\np,1,1\n"
    )
    assert find(str(tmp_path / "a.arff"), labels="l,", drop="id").feature_names == ("x",)
    assert find("digits").name == "digits"
    for options in ({"labels": "a"}, {"drop": "a"}, {"sep": ";"}):
        with pytest.raises(ValueError, match="needs no --labels or other options"):
            find("digits", **options)
    with pytest.raises(
        ValueError, match="--text is for tables such as CSV and Parquet, but .*arff"
    ):
        find(str(tmp_path / "a.arff"), labels="-1", text="id")
    with pytest.raises(UsageError, match="must name the label columns of"):
        find(str(tmp_path))


def test_data_options_are_those_of_the_reader():
    @click.command()
    @data_options
    def command(**reading):
        pass

    names = {parameter.name for parameter in command.params}
    assert names == set(signature(reader_options).parameters) - {"data", "others"}


def test_json_has_no_nan(capsys):
    print_json(
        {"a": np.float64("nan"), "b": [np.int64(3), float("inf")], "c": np.array([1.5]), 4: "ü"}
    )
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [3, None], "c": [1.5], "4": "ü"}


def test_tables_are_plain_and_whole_in_a_pipe(capsys):
    long = "x" * 300
    print_table(["name", "value"], [[long, "1.0"], ["[red]é", "22.0"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"{long}    1.0" and lines[2].startswith("[red]é ") and len(lines) == 3
    assert lines[2].endswith("   22.0") and "\x1b" not in "".join(lines)
    assert console().width >= 1000


def test_arrows_are_letters_that_can_be_written(monkeypatch):
    for encoding, arrows in (("utf-8", "↑↓"), ("cp1252", "+-"), (None, "+-")):
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(encoding=encoding))
        assert arrow("f1") + arrow("hamming_loss") == arrows


# the list of commands ------------------------------------------------------------------------


@pytest.mark.parametrize("name", _main.COMMANDS)
def test_each_command_has_help_with_an_example(run, name):
    done = run(name, "--help")
    assert done.status == 0
    _, words = _main.COMMANDS[name]
    flat = " ".join(done.out.split())
    assert words in flat  # the list says what the command says
    assert f"plurilabel {name}" in flat


def test_help_imports_nothing_but_the_list():
    """So that it is there at once; the top of the package is somebody else's."""
    code = (
        "import sys\nimport plurilabel\nbefore = set(sys.modules)\n"
        "sys.argv = ['plurilabel', '--help']\n"
        "from plurilabel.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        "new = {m for m in set(sys.modules) - before if m.startswith('plurilabel')}\n"
        "print(status, sorted(new), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}
    )
    assert (
        done.stderr == "0 ['plurilabel._core.words', 'plurilabel._core.writable', "
        "'plurilabel.cli', 'plurilabel.cli._main', 'plurilabel.cli._output']\n"
    )
    for name in _main.COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_names_that_are_not_imported_are_those_of_the_library():
    from plurilabel.cli import _fit
    from plurilabel.thresholds import strategy_names

    assert list(_fit.STRATEGIES) == strategy_names()


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--help"],
        ["fit", "nowhere.csv", "--labels", "a", "-o", "m.skops"],
        ["predict", "nowhere.skops", "new.csv"],
        ["compare", "nowhere.csv"],
        ["compare", "digits", "--learners", "MLkNNN"],
        ["fit", "digits", "-o", "m.skops", "--learner", "MLkNNN"],
        ["fit", "digits", "-o", "m.skops", "--measure", "f1_nano"],
        ["stream", "nowhere.csv", "--labels", "a"],
        ["serve", "nowhere.skops"],
    ],
)
def test_help_and_missing_files_import_no_numerics(words):
    """They take a tenth of a second then, and not two."""
    code = (
        f"import sys\nsys.argv = ['plurilabel', *{words}]\n"
        "from plurilabel.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n"
        "    sys.exit(int('numpy' in sys.modules or 'sklearn' in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_commands(run):
    done = run("predcit")
    assert done.status == 2 and "No such command 'predcit'" in done.err


def test_columns_that_a_csv_file_lacks_are_found_without_numerics(tmp_path):
    (tmp_path / "a.csv").write_text('sep=;\n"a;b";text;tags\n1;x;y\n')
    code = (
        "import sys\nfrom plurilabel.cli._data import reader_options\n"
        "reader_options(sys.argv[1], labels='tags', text='text', features='a;b')\n"
        "try:\n    reader_options(sys.argv[1], labels='tag')\n"
        "except ValueError as error:\n    print(error)\n"
        "sys.exit(int('numpy' in sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.csv")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "labels names a column 'tag', which the table does not have; did you mean 'tags'?\n"
    )


def test_suffixes_of_tables_are_those_of_the_readers():
    tables = [format for format in formats().values() if format.frame is not None]
    assert sorted(TABLES) == sorted(suffix for table in tables for suffix in table.suffixes)
