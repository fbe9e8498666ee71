"""Draw pictures for the home page: two images, their labels, and why.

    python docs/make_picture.py

A card is 345 pixels wide, so that it can be read on a phone: ``why-1-light.svg`` and its three
sisters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from plurilabel import MLkNN, datasets, model_selection

OUT = Path(__file__).parent / "_static"
WIDTH, HEIGHT = 3.45, 2.75  # inches of 100 pixels


class Theme(NamedTuple):
    """Colours of a card."""

    ink: str
    faint: str
    bar: str
    same: str
    other: str
    images: str


THEMES = {
    "light": Theme("#222222", "#c4c9ce", "#1b6ca8", "#2a9d78", "#e07a2f", "Greys"),
    "dark": Theme("#dddddd", "#555b61", "#5aaae6", "#4cc29b", "#f2a15f", "gray"),
}


def explained() -> tuple[Any, Any, Any, list[Any]]:
    """Two test images, the training images, and the explanations of the two."""
    data = datasets.load("digits")
    Y = pd.DataFrame(data.Y, columns=data.label_names)
    X, X_test, Y, _ = model_selection.stratified_split(data.X, Y, sizes=(0.7, 0.3), random_state=0)
    learner = MLkNN(n_neighbors=5).fit(X, Y)
    unsure = np.argsort(np.abs(learner.predict_proba(X_test) - 0.5).min(axis=1))
    chosen = [0, unsure[2]]
    return data.label_names, X_test[chosen], X, list(learner.explain(X_test[chosen]))


def card(figure: Any, left: float, theme: Theme, names: Any, x: Any, X: Any, why: Any) -> None:
    """One image, its labels and its neighbours; ``left`` in inches."""
    across, down = figure.get_size_inches()

    def axes(x0: float, y0: float, width: float, height: float) -> Any:
        box = ((left + x0) / across, y0 / down, width / across, height / down)
        return figure.add_axes(box, facecolor="none")

    def write(y: float, text: str, **style: Any) -> None:
        place = ((left + 0.05) / across, y / down)
        figure.text(*place, text, color=theme.ink, fontsize=9, va="center", **style)

    def show(ax: Any, pixels: Any, colour: str) -> None:
        ax.imshow(pixels.reshape(8, 8), cmap=theme.images)
        ax.set(xticks=[], yticks=[])
        for side in ax.spines.values():
            side.set(color=colour, linewidth=2)

    predicted = why.posterior > 0.5
    found = [name for name, has in zip(names, predicted) if has]
    write(2.62, ", ".join(found), weight="bold")
    show(axes(0.05, 1.45, 0.95, 0.95), x, theme.ink)
    bars = axes(2.38, 1.02, 1.0, 1.45)
    rows = range(len(names))
    bars.barh(rows, np.ones(len(names)), 0.62, color=theme.faint, alpha=0.35)
    bars.barh(rows, why.posterior, 0.62, color=np.where(predicted, theme.bar, theme.faint))
    bars.axvline(0.5, color=theme.ink, linewidth=0.8, linestyle=":")
    bars.set_yticks(rows, names, fontsize=8.5, color=theme.ink)
    bars.set(xlim=(0, 1), xticks=[], ylim=(len(names) - 0.5, -0.5))
    bars.tick_params(length=0)
    bars.set_frame_on(False)
    write(0.83, "because of these training images:")
    for n, neighbor in enumerate(why.neighbors):
        same = (why.labels[n] == predicted).all()
        ax = axes(0.05 + 0.69 * n, 0.06, 0.58, 0.58)
        show(ax, X[neighbor], theme.same if same else theme.other)


def main() -> None:
    names, images, X, whys = explained()
    with plt.rc_context({"svg.hashsalt": "plurilabel", "font.family": "DejaVu Sans"}):
        for title, theme in THEMES.items():
            for i, (x, why) in enumerate(zip(images, whys), 1):
                figure = plt.figure(figsize=(WIDTH, HEIGHT), dpi=100)
                card(figure, 0, theme, names, x, X, why)
                path = OUT / f"why-{i}-{title}.svg"
                figure.savefig(path, transparent=True, metadata={"Date": None})
    for path in sorted(OUT.glob("why*")):
        print(f"Wrote {path.name}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
