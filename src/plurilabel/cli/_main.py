"""The commands. Each is imported when it runs, so that ``--help`` is there at once."""

from __future__ import annotations

import click

from plurilabel import __version__
from plurilabel.cli._group import Friendly

_HERE = "plurilabel.cli"
COMMANDS = {
    "describe": (f"{_HERE}._describe:describe", "Show what is in a dataset."),
    "fit": (
        f"{_HERE}._fit:fit",
        "Learn a model, report how good it is, and save it.",
    ),
    "predict": (f"{_HERE}._predict:predict", "Predict the labels of new rows with a model."),
    "evaluate": (f"{_HERE}._evaluate:evaluate", "Measure a model on rows with known labels."),
    "export": (
        f"{_HERE}._export:export",
        "Write a model as an ONNX graph, for programs without Python.",
    ),
    "tune": (
        f"{_HERE}._fit:tune",
        "Search for the best parameters and save the model.",
    ),
    "compare": (f"{_HERE}._compare:compare", "Compare learners on datasets."),
    "stream": (
        f"{_HERE}._stream:stream",
        "Test learners on each row of a stream, then let them learn it.",
    ),
    "reproduce": (
        f"{_HERE}._reproduce:reproduce",
        "Run the published tables of the papers again.",
    ),
    "serve": (
        f"{_HERE}._serve:serve",
        "Answer over HTTP, with a page on which to look, ask why and correct.",
    ),
    "demo": (f"{_HERE}._demo:demo", "Compare the learners on the embedded data."),
}


@click.group(
    cls=Friendly,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 99},
)
@click.version_option(__version__, prog_name="plurilabel")
def plurilabel() -> None:
    """Multi-label learning, true to the papers and native to scikit-learn.

    \b
    plurilabel fit films.csv --labels tags -o films.skops
    plurilabel predict films.skops new.csv
    plurilabel COMMAND --help tells more, with examples.
    """
