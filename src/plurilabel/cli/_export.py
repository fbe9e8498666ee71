"""``plurilabel export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click import UsageError

from plurilabel._core.words import counted, file_size
from plurilabel.cli import _output as ui


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="[FILE.onnx]", required=False)
@click.option("--out", "-o", metavar="FILE.onnx", help="The same as FILE.onnx.")
@ui.force_option
def export(model: str, file: str | None, out: Any, force: bool) -> None:
    """Export a model as an ONNX graph, to run it without Python.

    The graph has an input for each column of the table, float64 for numbers and strings for all
    others, or X, a float64 matrix, if all columns are numbers. The outputs are scores and labels;
    names are in the metadata. Use `plurilabel fit --exportable` to choose only among parts that
    can be exported. Needs onnx: pip install 'plurilabel[onnx]'.

    \b
    Example:
      plurilabel export films.skops -o films.onnx
    """
    if (file is None) == (out is None):
        raise UsageError("expected one output file: FILE.onnx or -o FILE.onnx")
    out = Path(file or out)
    ui.check_output(out, model, suffixes=(".onnx",), option="FILE", force=force)
    ui.check_file(model)
    from plurilabel.models import load_model, to_onnx

    loaded = load_model(model)
    size = to_onnx(loaded, out).ByteSize()
    features = counted(len(loaded.feature_names), "feature")
    labels = counted(len(loaded.label_names), "label")
    ui.say(f"Wrote {out} ({features}, {labels}, {file_size(size)})")
