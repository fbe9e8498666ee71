"""Does an installed wheel work with the core libraries alone? ``make wheel`` runs this."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path

import plurilabel
from plurilabel import MLkNN, ThresholdClassifier, datasets, metrics, model_selection


def main() -> None:
    """Learn, predict and measure; find what must be packed beside the code."""
    here = Path(plurilabel.__file__)
    assert "site-packages" in here.parts, f"this is {here}, not an installed wheel"
    assert files("plurilabel").joinpath("py.typed").is_file(), "py.typed is missing"
    assert files("plurilabel").joinpath("serve/page/page.html").is_file(), "the page is missing"
    assert plurilabel.__version__ == version("plurilabel")
    assert metadata("plurilabel")["License-Expression"] == "BSD-3-Clause"
    data = datasets.load("digits")
    X, X_test, Y, Y_test = model_selection.stratified_split(
        data.X, data.Y, sizes=(0.7, 0.3), random_state=0
    )
    learner = ThresholdClassifier(MLkNN(n_neighbors=7), "expected_f").fit(X, Y)
    assert metrics.f1(Y_test, learner.predict(X_test)) > 0.95
    for name in plurilabel.__all__:
        getattr(plurilabel, name)
    # the command line is an extra: without it, a sentence that says how to get it
    program = Path(sys.executable).with_name("plurilabel")
    said = subprocess.run([program, "--help"], capture_output=True, text=True)
    assert said.returncode == 1 and "pip install 'plurilabel[cli]'" in said.stderr, said
    print(f"plurilabel {plurilabel.__version__} works from its wheel")


if __name__ == "__main__":
    main()
