"""Plot of a description: label frequencies next to their co-occurrence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from plurilabel._core.compat import import_extra
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import write_atomic
from plurilabel._core.words import counted, display_width, shortened
from plurilabel.datasets._describe import Description, describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _QUIET, _BAR = "#1f2933", "#7b8794", "#2f6da8"


def plot_description(
    data: Dataset | Description | Any, path: str | os.PathLike[str] | None = None, *, top: int = 30
) -> Figure:
    """Plot how frequent the labels are and which of them occur together.

    Each label is a row: on the left the number and share of the instances that have it, on the
    right the share of those that also have each other label. Needs matplotlib
    (``pip install 'plurilabel[cli]'``).

    Parameters
    ----------
    data : Dataset, Description, or 0/1 matrix of shape (n, q)
        Input or output of :func:`describe`.
    path : path, optional
        File to write, in the format of its suffix: ``.png``, ``.svg`` or ``.pdf``.
    top : int, default=30
        Number of labels to show, the most frequent ones.

    Examples
    --------
    >>> from plurilabel.datasets import load, plot_description
    >>> figure = plot_description(load("digits"), top=3)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['five or more', 'even', 'multiple of three']
    """
    engine = import_extra("matplotlib.layout_engine", "plot_description", "cli")
    from plurilabel._core.figure import NotebookFigure

    description = data if isinstance(data, Description) else describe(data)
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    shown = np.argsort(-description.counts, kind="stable")[:top]
    shown = shown[description.counts[shown] > 0] if description.counts.any() else shown
    # matplotlib reads $...$ as mathematics
    names = [shortened(description.label_names[l], 28).replace("$", r"\$") for l in shown]
    k, longest = len(names), 0.075 * max(map(display_width, names))  # inches, at 8 points
    side = k * min(max(2.4 / k, 0.24), 0.4)
    size = max(longest + side + 4.5, 7), longest + side + 0.8
    figure = NotebookFigure(size, layout=engine.ConstrainedLayoutEngine(h_pad=0.12))
    bars, cells = figure.subplots(1, 2, width_ratios=(3.4, side))
    title = f"{description.name}: " if description.name else ""
    title += f"{counted(description.instances, 'instance')}, "
    title += f"{counted(description.labels, 'label')}, {description.cardinality:.2f} per instance"
    if k < description.labels:
        title += f" (the {k} most frequent shown)"
    figure.suptitle(title, x=0.01, ha="left", color=_INK, fontsize=11)
    _draw_frequencies(bars, description, shown, names)
    image = _draw_cooccurrence(cells, description, shown, names)
    bar = figure.colorbar(image, ax=cells, aspect=24, shrink=min(2.4 / side, 1), anchor=(0, 1))
    bar.ax.yaxis.set_major_formatter(_percent(image.get_clim()[1]))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=_QUIET)
    if path is not None:
        ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
        if ending not in figure.canvas.get_supported_filetypes():
            raise ValueError(f"path must end in .png, .svg or .pdf, got {os.fspath(path)!r}")
        with write_atomic(path) as stream:
            figure.savefig(stream, format=ending, dpi=150, facecolor="white", bbox_inches="tight")
    return figure


def _draw_frequencies(ax: Axes, description: Description, shown: Any, names: list[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    counts, at = description.counts[shown], np.arange(len(shown))
    share = counts / description.instances
    highest = float(share.max()) or 1.0
    bars = ax.barh(at, share, height=0.72, color=_BAR)
    ax.bar_label(bars, [f"{count:,}" for count in counts], padding=3, fontsize=7.5, color=_QUIET)
    ax.set_yticks(at, names)
    ax.set_xticks([x for x in MaxNLocator(5).tick_values(0, highest) if x <= 1])
    # room for the counts
    ax.set(xlim=(0, highest * 1.2), ylim=(len(shown) - 0.5, -0.5), axisbelow=True)
    ax.xaxis.set_major_formatter(_percent(highest))
    ax.grid(axis="x", color="#e4e7eb", linewidth=0.8)
    _quiet(ax, "instances with the label")
    ax.spines["left"].set(visible=True, color="#cbd2d9")


def _draw_cooccurrence(ax: Axes, description: Description, shown: Any, names: list[str]) -> Any:
    together = description.cooccurrence[shown][:, shown].toarray().astype(np.float64)  # (k, k)
    share = together / np.maximum(description.counts[shown], 1)[:, None]
    np.fill_diagonal(share, np.nan)  # always 1, far above the rest
    highest = float(np.nanmax(share)) if len(shown) > 1 else 0.0
    ax.set_facecolor("#eceff1")
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=highest or 1, aspect="auto")
    ax.set_xticks(np.arange(len(shown)), names, rotation=90)
    ax.set_yticks([])
    between = np.arange(1, len(shown)) - 0.5
    ax.set_xticks(between, minor=True)
    ax.set_yticks(between, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    _quiet(ax, "that also have")
    return image


def _percent(highest: float) -> Any:
    """Percentages, with decimals if the whole scale is a few percent."""
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(xmax=1, decimals=0 if highest > 0.05 else 1 if highest > 0.005 else 2)


def _quiet(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=9, color=_QUIET)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=8, labelcolor=_INK)
