"""``plurilabel calibrate`` and ``plurilabel guarantee``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core.words import file_size
from plurilabel.cli import _output as ui
from plurilabel.cli._data import rows_options
from plurilabel.cli._predict import load_rows

if TYPE_CHECKING:
    from plurilabel.models import Model

# as in plurilabel.models, whose import takes a second
METHODS = ("sigmoid", "beta", "temperature", "isotonic", "auto")
KINDS = ("recall", "subset", "misses", "labels", "discoveries")


refining_command = ui.together(
    click.argument("model", metavar="MODEL"),
    click.argument("data", metavar="NAME|FILE"),
    ui.file_option(
        "-o", "--out", required=True, metavar="MODEL.skops", help="File to save the new model to."
    ),
    rows_options,
    ui.force_option,
)


@click.command()
@click.option(
    "--method", type=click.Choice(METHODS), default="sigmoid",
    help="Calibration method; auto takes the best by log loss.",
)  # fmt: skip
@refining_command
def calibrate(model: str, data: str, out: Path, force: bool, method: str, **reading: Any) -> None:
    """Calibrate the predicted probabilities.

    FILE has rows with known labels that the model was not trained on. The new model predicts the
    labels with a probability above 0.5 instead of its previous threshold.

    \b
    Example:
      plurilabel calibrate films.skops checked.csv -o calibrated.skops
    """
    _refine(model, data, out, force, reading, "calibrate", method=method)


@click.command()
@click.option(
    "--kind", type=click.Choice(KINDS), default="recall",
    help="The risk to keep below --alpha: missed labels of a row (recall), rows with a missed "
    "label (subset), missed labels among all (misses), missed rows of each label (labels), or "
    "wrong labels among the predicted ones (discoveries).",
)  # fmt: skip
@click.option("--alpha", type=ui.FRACTION, default=0.1, help="The largest acceptable risk.")
@click.option(
    "--delta", type=ui.FRACTION,
    help="Probability that the guarantee fails. By default 0.1 for discoveries, while recall, "
    "subset and misses hold only on average. Not for labels.",
)  # fmt: skip
@refining_command
def guarantee(
    model: str, data: str, out: Path, force: bool, kind: str, alpha: float, delta: float | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Add a guarantee to the label sets of a model.

    FILE has rows with known labels that the model was not trained on. The guarantee holds for new
    rows from the same distribution. The new model cannot be exported to ONNX.

    \b
    Examples:
      plurilabel guarantee films.skops checked.csv --alpha 0.05 -o safe.skops
      plurilabel guarantee films.skops checked.csv --kind discoveries -o safe.skops
    """
    options = {"kind": kind, "alpha": alpha, "delta": delta}
    refined = _refine(model, data, out, force, reading, "guarantee", **options)
    ui.say(f"Guarantee: {refined.notes['guarantee']['words']}")


def _refine(
    model: str, data: str, out: Path, force: bool, reading: Any, function: str, **options: Any
) -> Model:
    """Load a model and rows, call a function of ``plurilabel.models``, and save the result."""
    ui.check_output(out, model, data, force=force)
    loaded, rows = load_rows(model, data, with_labels=True, **reading)
    from plurilabel import models

    refined: Model = getattr(models, function)(loaded, rows, **options)
    models.save_model(refined, out)
    ui.say(f"Wrote {out} ({refined.notes['refined']}, {file_size(out.stat().st_size)})")
    return refined
