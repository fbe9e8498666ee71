"""A picture of a description: label frequencies beside their co-occurrence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from plurilabel._dataset import Dataset
from plurilabel._text import counted, shortened
from plurilabel.datasets._describe import Description, describe
from plurilabel.io import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_INK, _QUIET, _BAR = "#1f2933", "#7b8794", "#2f6da8"


def plot_description(
    data: Dataset | Description | Any,
    path: str | os.PathLike[str] | None = None,
    *,
    top: int = 30,
) -> Figure:
    """Draw how frequent the labels are and which of them occur together.

    Each label is a row. To the left, the number and share of the instances that have it; to the
    right, the share of those that have each other label too. Needs matplotlib
    (``pip install plurilabel[cli]``).

    Parameters
    ----------
    data : Dataset, Description, or 0/1 matrix of shape (n, q)
        Whatever :func:`describe` takes, or what it returned.
    path : path, optional
        File to write, in the format that its ending names: ``.png``, ``.svg`` or ``.pdf``.
    top : int, default=30
        The labels shown, from the most frequent on.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from plurilabel.datasets import load, plot_description
    >>> figure = plot_description(load("digits"), top=3)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['five or more', 'even', 'square']
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plot_description needs matplotlib: pip install plurilabel[cli]"
        ) from None
    description = data if isinstance(data, Description) else describe(data)
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    shown = np.argsort(-description.counts, kind="stable")[:top]
    shown = shown[description.counts[shown] > 0] if description.counts.any() else shown
    # matplotlib reads $...$ as mathematics
    names = [shortened(description.label_names[l].replace("$", r"\$"), 28) for l in shown]
    figure, bars, cells, scale = _layout(Figure(), names)
    title = f"{description.name}: " if description.name else ""
    title += (
        f"{counted(description.instances, 'instance')}, {counted(description.labels, 'label')}"
    )
    title += f", {description.cardinality:.2f} per instance"
    if len(shown) < description.labels:
        title += f" (the {len(shown)} most frequent shown)"
    figure.text(0.1 / figure.get_figwidth(), 1 - 0.1 / figure.get_figheight(), title,
                ha="left", va="top", color=_INK, fontsize=11)  # fmt: skip
    _draw_frequencies(bars, description, shown)
    image = _draw_cooccurrence(cells, description, shown)
    bar = figure.colorbar(image, cax=scale)
    bar.ax.yaxis.set_major_formatter(_percent(image.get_clim()[1]))
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=_QUIET)
    if path is not None:
        ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
        known = figure.canvas.get_supported_filetypes()
        if ending not in known:
            raise ValueError(f"path must end in .png, .svg or .pdf, got {os.fspath(path)!r}")
        with write_atomic(path) as stream:
            figure.savefig(stream, format=ending, dpi=150, facecolor="white", bbox_inches="tight")
    return figure


def _layout(figure: Figure, names: list[str]) -> tuple[Figure, Axes, Axes, Axes]:
    """Axes for bars, cells and colour scale, in inches, so that bars and cells share their rows.

    A Figure of its own, not pyplot: no window, no global state.
    """
    k = len(names)
    row = min(max(2.4 / k, 0.24), 0.4)
    name = 0.15 + 0.075 * max(map(len, names))  # 8-point letters are about 0.07 inches wide
    left, bar, gap, scale, right, top = name, 3.4, 0.25, 0.1, 0.55, 0.65
    bottom = max(name, 0.4)
    width = left + bar + gap + k * row + 0.12 + scale + right
    height = top + k * row + bottom
    width = max(width, 7.0)  # room for the title
    figure.set_size_inches(width, height)

    def axes(x: float, wide: float, y: float = bottom, high: float = k * row) -> Axes:
        return figure.add_axes((x / width, y / height, wide / width, high / height))

    bars = axes(left, bar)
    cells = axes(left + bar + gap, k * row)
    high = min(k * row, 2.4)
    colours = axes(left + bar + gap + k * row + 0.12, scale, bottom + k * row - high, high)
    at = np.arange(k)
    bars.set_yticks(at, names)
    cells.set_yticks([])
    cells.set_xticks(at, names, rotation=90)
    bars.set_title("instances with the label", loc="left", fontsize=9, color=_QUIET)
    cells.set_title("of these, also with", loc="left", fontsize=9, color=_QUIET)
    _quiet(bars, keep="left")
    _quiet(cells)
    return figure, bars, cells, colours


def _draw_frequencies(ax: Axes, description: Description, shown: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    counts = description.counts[shown]
    share = counts / description.instances
    at = np.arange(len(shown))
    ax.barh(at, share, height=0.72, color=_BAR)
    for y, x, count in zip(at, share, counts):
        ax.annotate(
            f"{count:,}", (x, y), (3, 0), textcoords="offset points",
            va="center", fontsize=7.5, color=_QUIET,
        )  # fmt: skip
    ax.set_ylim(len(shown) - 0.5, -0.5)
    highest = float(share.max()) or 1.0
    ax.set_xticks([x for x in MaxNLocator(5).tick_values(0, highest) if x <= 1])
    ax.set_xlim(0, highest * 1.2)  # room for the counts
    ax.xaxis.set_major_formatter(_percent(highest))
    ax.grid(axis="x", color="#e4e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def _draw_cooccurrence(ax: Axes, description: Description, shown: Any) -> AxesImage:
    together = description.cooccurrence[shown][:, shown].toarray().astype(np.float64)  # (k, k)
    share = together / np.maximum(description.counts[shown], 1)[:, None]
    np.fill_diagonal(share, np.nan)  # a label is always with itself: it would drown the rest
    highest = float(np.nanmax(share)) if len(shown) > 1 else 0.0
    ax.set_facecolor("#eceff1")
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=highest or 1, aspect="auto")
    between = np.arange(1, len(shown)) - 0.5
    ax.set_xticks(between, minor=True)
    ax.set_yticks(between, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    return image


def _percent(highest: float) -> Any:
    """Percentages, with a decimal where the whole scale is a few percent."""
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(xmax=1, decimals=0 if highest > 0.05 else 1 if highest > 0.005 else 2)


def _quiet(ax: Axes, keep: str = "") -> None:
    """No frame and no tick marks: what is left is the data."""
    for side, spine in ax.spines.items():
        spine.set_visible(side == keep)
        spine.set_color("#cbd2d9")
    ax.tick_params(length=0, labelsize=8, labelcolor=_INK)
