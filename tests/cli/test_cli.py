"""The command line as a user meets it."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import plurilabel
from plurilabel.cli._main import plurilabel as command


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text("length,year,tags\n90,1998,comedy;love\n143,2001,war\n71,1936,comedy\n")
    return path


def run(*arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments])


def test_describe_a_standard_dataset():
    result = run("describe", "digits", "--top", 2)
    assert result.exit_code == 0
    assert "instances                  1797" in result.output and "LCard" in result.output


def test_describe_a_table_as_json_with_a_plot(films, tmp_path):
    result = run("describe", films, "--labels", "tags", "--json")
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert found["instances"] == 3 and found["labels"] == 3
    result = run("describe", films, "--labels", "tags", "--plot", tmp_path / "f.png")
    assert result.exit_code == 0 and "f.png" in result.output
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_label_columns_and_counts(tmp_path):
    (tmp_path / "a.csv").write_text("x,sun,sea\n1,0,1\n2,1,1\n")
    result = run("describe", tmp_path / "a.csv", "--labels", "sun,sea")
    assert result.exit_code == 0 and "labels                        2" in result.output
    (tmp_path / "a.arff").write_text(
        "@relation r\n@attribute x numeric\n@attribute sun {0,1}\n@data\n1.5,1\n2,0\n"
    )
    assert run("describe", tmp_path / "a.arff", "--labels", "-1").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "nowhere.csv"], "there is no file nowhere.csv"),
        (["describe", "nofolder/nowhere"], "there is no file nofolder/nowhere"),
        (["describe", "nowhere"], "'nowhere' is neither a file nor a standard dataset; there are"),
        (["describe", "{films}", "--labels", "genre"], "genre"),
        (["describe", "digits", "--labels", "a"], "needs no --labels"),
    ],
)
def test_errors_are_one_sentence(arguments, message, films):
    result = run(*(a.format(films=films) for a in arguments))
    assert result.exit_code == 1
    assert result.output.startswith("Error: ") and message in result.output
    assert result.output.count("\n") == 1 and "Traceback" not in result.output


@pytest.mark.parametrize(("labels", "got"), [([], ""), (["--labels", "3"], "; got the number 3")])
def test_a_table_needs_labels(films, labels, got):
    result = run("describe", films, *labels)
    assert result.exit_code == 2
    message = f"--labels must name the label columns of {films} or its tag column{got}"
    assert result.output == f"Error: {message}\n"


def test_a_plot_that_cannot_be_written_is_refused_at_once(films, tmp_path):
    for plot, message in (
        ("a.xyz", "--plot must name a file that ends in .png, .svg or .pdf, got "),
        ("no/a.png", "does not exist"),
    ):
        result = run("describe", films, "--labels", "tags", "--plot", tmp_path / plot)
        assert result.exit_code == 2 and message in result.output
        assert result.output.startswith("Error: --plot") and result.output.count("\n") == 1
    assert run("describe", films, "--labels", "tags", "--top", "-1").exit_code == 2


def test_version_and_help():
    assert plurilabel.__version__ in run("--version").output
    for page in (run("--help"), run("describe", "-h"), run("demo", "--help")):
        assert page.exit_code == 0 and "Usage:" in page.output


def test_missing_libraries_are_named():
    code = (
        "import sys; sys.modules['click'] = None\n"
        "from plurilabel.cli import main\nsys.argv = ['plurilabel']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "click is missing; try: pip install 'plurilabel[cli]'" in done.stderr
