"""Our version of the published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plurilabel.io import write_atomic
from plurilabel.metrics import get_measure
from plurilabel.papers._reproduction import Curves
from plurilabel.papers._text import measure_title

MARKS = ("o", "s", "^", "D")


def plot_curves(curves: Curves, path: str | Path | None = None) -> Any:
    """Draw measures against k, a panel for each; write the figure as SVG if a path is given.

    The same values give the same file.

    Returns
    -------
    matplotlib Figure
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib; try: pip install 'plurilabel[cli]'") from None
    shown = curves.figure
    n_rows = -(-len(shown.measures) // 3)
    figure = Figure(figsize=(9, 2.7 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, 3, squeeze=False).ravel()
    for panel in panels[len(shown.measures) :]:
        panel.set_visible(False)
    for panel, measure in zip(panels, shown.measures):
        for name, mark in zip(shown.curves, MARKS):
            panel.plot(shown.over, curves.of(name, measure), marker=mark, ms=4, lw=1.3, label=name)
        arrow = "higher" if get_measure(measure).greater_is_better else "lower"
        panel.set_title(f"{measure_title(measure)} ({arrow} is better)", fontsize=10)
        panel.set_xticks(shown.over[::2])
        panel.grid(alpha=0.3)
    for panel in panels[max(0, len(shown.measures) - 3) : len(shown.measures)]:
        panel.set_xlabel("K")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(shown.curves),
        frameon=False,
    )
    if path is not None:
        # no date, and names inside the file that do not change from run to run
        with matplotlib.rc_context({"svg.hashsalt": shown.name}), write_atomic(path) as stream:
            figure.savefig(stream, format="svg", metadata={"Date": None})
    return figure
