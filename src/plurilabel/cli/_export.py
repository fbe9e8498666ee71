"""``plurilabel export``."""

from __future__ import annotations

from pathlib import Path

import click

from plurilabel._core.words import counted, file_size
from plurilabel.cli._output import check_file, check_output, force_option, say


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("out", metavar="FILE.onnx", type=click.Path(path_type=Path))
@force_option
def export(model: str, out: Path, force: bool) -> None:
    """Write a model as an ONNX graph, for programs without Python.

    The graph takes X, a float64 matrix with the model's columns in their order, and gives scores
    and labels, the cut included; names are in its metadata. Columns must be numbers. Needs onnx:
    pip install 'plurilabel[onnx]'.

    \b
    Example:
      plurilabel export films.skops films.onnx
    """
    check_output(out, model, suffixes=(".onnx",), option="FILE", force=force)
    check_file(model)
    from plurilabel.models import load_model, to_onnx

    loaded = load_model(model)
    size = to_onnx(loaded, out).ByteSize()
    features = counted(len(loaded.feature_names), "feature")
    labels = counted(len(loaded.label_names), "label")
    say(f"Wrote {out} ({features}, {labels}, {file_size(size)})")
