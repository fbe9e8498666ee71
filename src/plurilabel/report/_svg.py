"""Small charts as SVG. Colours are classes, so the page's style gives them, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

import numpy as np
from numpy.typing import ArrayLike

SERIES = 7
"""Learners with a colour of their own; the others are grey."""


@dataclass(frozen=True)
class Figure:
    """A plot, what it says, and the learners in it with their classes."""

    title: str
    svg: str
    caption: str = ""
    legend: tuple[tuple[str, str], ...] = ()


class Chart:
    """Axes with marks on them; data coordinates in, SVG out.

    Parameters
    ----------
    x, y : (float, float)
        Ends of the axes.
    x_label, y_label : str
    says : str
        What a reader who cannot see the chart should know.
    log_x : bool, default=False
    """

    width, height = 420, 280
    left, right, top, bottom = 44, 12, 30, 42

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str,
        y_label: str,
        says: str,
        log_x: bool = False,
    ) -> None:
        self.log_x = log_x
        self.x0, self.x1 = _apart(*((log10(x[0]), log10(x[1])) if log_x else x))
        self.y0, self.y1 = _apart(*y)
        self.says = says
        self.parts: list[str] = []
        self._axes(x_label, y_label)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data lies."""
        x = log10(x) if self.log_x else x
        across = (x - self.x0) / (self.x1 - self.x0)
        up = (y - self.y0) / (self.y1 - self.y0)
        return (
            self.left + across * (self.width - self.left - self.right),
            self.height - self.bottom - up * (self.height - self.top - self.bottom),
        )

    def line(self, xs: ArrayLike, ys: ArrayLike, style: str) -> None:
        """A line through the points; broken where a value is missing."""
        path, down = [], False
        for x, y in zip(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)):
            if not (isfinite(x) and isfinite(y)):
                down = False
                continue
            px, py = self.at(x, y)
            path.append(f"{'L' if down else 'M'}{px:.1f} {py:.1f}")
            down = True
        if path:
            self.parts.append(f'<path class="line {style}" d="{"".join(path)}"/>')

    def dots(
        self, xs: Iterable[float], ys: Iterable[float], style: str, titles: Iterable[str]
    ) -> None:
        """Marks with a text each that shows under the pointer."""
        for x, y, title in zip(xs, ys, titles):
            if isfinite(x) and isfinite(y):
                px, py = self.at(x, y)
                self.parts.append(
                    f'<circle class="dot {style}" cx="{px:.1f}" cy="{py:.1f}" r="4">'
                    f"<title>{escape(title)}</title></circle>"
                )

    def cloud(self, xs: ArrayLike, ys: ArrayLike, style: str) -> None:
        """Many small points in one path: a line of no length has a round cap."""
        points = [
            self.at(x, y)
            for x, y in zip(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float))
            if isfinite(x) and isfinite(y)
        ]
        if points:
            path = "".join(f"M{px:.0f} {py:.0f}h0" for px, py in points)
            self.parts.append(f'<path class="cloud {style}" d="{path}"/>')

    def names(self, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
        """Names beside points, the first ones first; one that finds no free place is left out."""
        dots = [self.at(*point) for point in points]
        taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in dots]
        for (px, py), name in zip(dots, names):
            wide = 6.6 * len(name)
            places = (
                (px + 8, py + 4, "start"), (px - 8, py + 4, "end"),
                (px, py - 9, "middle"), (px, py + 17, "middle"),
                (px - 5, py - 9, "start"), (px - 5, py + 17, "start"),
                (px + 5, py - 9, "end"), (px + 5, py + 17, "end"),
            )  # fmt: skip
            for tx, ty, anchor in places:
                start = tx - {"start": 0.0, "end": wide, "middle": wide / 2}[anchor]
                box = (start, ty - 10, start + wide, ty + 3)
                inside = box[0] >= self.left and box[2] <= self.width and box[1] >= 0
                if inside and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    self.text(tx, ty, name, anchor)
                    break

    def text(
        self, px: float, py: float, text: str, anchor: str = "start", style: str = ""
    ) -> None:
        """Text at a place of the drawing, not of the data."""
        self.parts.append(
            f'<text class="{style}" x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def svg(self) -> str:
        return wrap(self.width, self.height, self.says, self.parts)

    def _axes(self, x_label: str, y_label: str) -> None:
        floor_ = self.height - self.bottom
        for tick, text in ticks(self.y0, self.y1):
            py = self.at(10**self.x0 if self.log_x else self.x0, tick)[1]
            self.parts.append(
                f'<path class="grid" d="M{self.left} {py:.1f}H{self.width - self.right}"/>'
            )
            self.text(self.left - 7, py + 4, text, "end", "tick")
        for tick, text in log_ticks(self.x0, self.x1) if self.log_x else ticks(self.x0, self.x1):
            px = self.at(10**tick if self.log_x else tick, self.y0)[0]
            self.parts.append(f'<path class="axis" d="M{px:.1f} {floor_}v4"/>')
            self.text(px, floor_ + 17, text, "middle", "tick")
        self.parts.append(
            f'<path class="axis" d="M{self.left} {floor_}H{self.width - self.right}"/>'
        )
        middle = (self.left + self.width - self.right) / 2
        self.text(middle, self.height - 8, x_label, "middle", "label")
        self.text(2, 13, y_label, "start", "label")


def wrap(width: float, height: float, says: str, parts: Sequence[str], extra: str = "") -> str:
    """Parts of a drawing as one SVG element."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(says)}"{extra}>'
        f"{''.join(parts)}</svg>"
    )


def shortened(name: str, most: int) -> str:
    """A name of no more letters than there is room for."""
    return name if len(name) <= most else name[: most - 1] + "…"


def series(place: int) -> str:
    """Class of the learner in this place of the order."""
    return f"s{place}" if place < SERIES else "other"


def ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Round numbers within an interval, and how to write them.

    Examples
    --------
    >>> [text for _, text in ticks(0.13, 0.58)]
    ['0.2', '0.3', '0.4', '0.5']
    """
    rough = (high - low) / about
    power = 10 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    digits = max(0, -floor(log10(step) + 1e-9) + (step / power == 2.5))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.{digits}f}") for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten between two exponents, with 2 and 5 where these are few.

    Examples
    --------
    >>> [text for _, text in log_ticks(-2, 2)]
    ['0.01', '0.1', '1', '10', '100']
    """
    several = high - low >= 2
    steps = (1,) if several else (1, 2, 5) if high - low >= 0.6 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    every = ceil((high - low) / 7) if several else 1
    found = [
        (e + log10(m), f"{m * 10.0**e:g}")
        for e in range(floor(low), ceil(high) + 1, every)
        for m in steps
    ]
    return [(tick, text) for tick, text in found if low - 1e-9 <= tick <= high + 1e-9]


def padded(values: ArrayLike, pad: float = 0.06) -> tuple[float, float]:
    """Smallest and largest finite value, with some room."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if len(known) == 0:
        return 0.0, 1.0
    room = pad * (known.max() - known.min() or abs(known.max()) or 1.0)
    return float(known.min() - room), float(known.max() + room)


def _apart(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high - low > 1e-12 else (low - 0.5, high + 0.5)


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
