"""Figures of the gallery: cut to what they show, and thumbnails of their own.

A whole figure shrunk to a thumbnail is grey: its text cannot be read and its lines are thin. A
thumbnail therefore shows one part of a figure, without the small text and with heavier lines.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.transforms import Bbox
from sphinx_gallery.scrapers import matplotlib_scraper


class Part(NamedTuple):
    """What a thumbnail shows."""

    figure: int  # of the example, from 0
    axes: tuple[int, ...] = (0,)
    texts: float | None = 0  # font size inside the axes; 0 leaves texts out, None as they are
    keep: tuple[str, ...] = ()  # the texts that stay, all if empty
    wider: float = 1.0  # lines and points


PARTS = {
    "plot_critical_difference": Part(0, texts=None, wider=1.5),
    "plot_decision_regions": Part(1),
    "plot_k_sweep": Part(0, (1,), wider=2),
    "plot_label_interaction": Part(0, (1,), texts=12),
    "plot_likelihoods": Part(0, (0, 2), wider=2),
    "plot_scores_and_cuts": Part(0, wider=1.5),
    "plot_threshold_curves": Part(0, wider=2),
    "plot_transformations": Part(
        0, texts=22, keep=("binary relevance", "ensemble of chains", "chain"), wider=3
    ),
    "plot_where_it_errs": Part(0, wider=1.5),
    "plot_why_this_label": Part(
        0, tuple(7 * row + column for row in range(3) for column in range(4))
    ),
}
SHAPE = 360 / 250


def tight(block: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Save all open figures without margins, and the thumbnail if it is of one of them."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    before = len(block_vars["image_path_iterator"])
    text = matplotlib_scraper(block, block_vars, gallery_conf, bbox_inches="tight")
    name = Path(block_vars["src_file"]).stem
    part = PARTS.get(name)
    if part is not None and 0 <= part.figure - before < len(figures):
        folder = Path(gallery_conf["src_dir"], "gallery", "thumbnails")
        folder.mkdir(parents=True, exist_ok=True)
        save_part(figures[part.figure - before], part, folder / f"{name}.png")
    if not text.strip():
        return text
    # a box that scrolls on narrow screens
    return f"\n.. container:: figure-box\n\n{textwrap.indent(text, '   ')}\n"


def save_part(figure: Any, part: Part, path: Path) -> None:
    """Write a part of a figure in the shape of a thumbnail."""
    figure.set_layout_engine("none")
    shown = [figure.axes[i] for i in part.axes]
    for ax in figure.axes:
        if ax not in shown:
            ax.remove()
    for ax in shown:
        ax.set(title="", xlabel="", ylabel="", xticklabels=[], yticklabels=[])
        ax.set_title("", loc="left")
        ax.tick_params(length=0)
        if ax.get_legend():
            ax.get_legend().remove()
        for line in ax.lines:
            line.set_linewidth(part.wider * line.get_linewidth())
            line.set_markersize(part.wider * line.get_markersize())
        for words in list(ax.texts):
            if part.texts == 0 or (part.keep and words.get_text() not in part.keep):
                words.remove()
            elif part.texts:
                words.set_fontsize(part.texts)
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in shown]
    box = Bbox.union(boxes).transformed(figure.dpi_scale_trans.inverted()).padded(0.08)
    # as wide or as high as the thumbnail's shape asks for
    width, height = max(box.width, SHAPE * box.height), max(box.height, box.width / SHAPE)
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    frame = Bbox.from_bounds(x - width / 2, y - height / 2, width, height)
    figure.savefig(path, bbox_inches=frame, dpi=720 / width, facecolor="white")
