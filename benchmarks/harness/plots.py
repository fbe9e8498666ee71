"""Plots that can be read on a light and on a dark page: no background, colours of middle tone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness.measure import Row

INK = "#808080"
COLOURS = (
    "#3b82c4", "#d9730d", "#2f9e6e", "#b4569c", "#8a7fd0", "#c0504d", "#7a8b2a", "#3aa0a8",
    "#a0764b", "#c9993a", "#6d8fb0", "#cf7f9b",
)  # fmt: skip
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plurilabel",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.markersize": 5,
}


class Point(NamedTuple):
    """One ratio: the other's time over ours."""

    what: str
    peer: str
    kind: str
    step: str
    ratio: float
    low: float
    high: float


def points_of(rows: Sequence[Row]) -> Iterator[Point]:
    for row in rows:
        steps = {step: row[step] for step in ("fit", "predict") if step in row}
        for step, found in (steps or {"": row}).items():
            if found.get("ratio") is not None:
                figures = (found[key] for key in ("ratio", "low", "high"))
                yield Point(row["what"], row["peer"], row["kind"], step, *figures)


def ratio_plot(rows: Sequence[Row], path: Path) -> bool:
    """Every ratio of a group on one scale, ours at 1; whether there was anything to draw."""
    points = list(points_of(rows))
    if not points:
        return False
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(point.what for point in points))
    peers = list(dict.fromkeys((p.kind == "limit", _short(p.peer)) for p in points))
    colours = {peer: COLOURS[i % len(COLOURS)] for i, (_, peer) in enumerate(sorted(peers))}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8, 1.1 + 0.42 * len(names)))
        for row, name in enumerate(names):
            here = [point for point in points if point.what == name]
            for i, point in enumerate(here):
                y = row + 0.6 * ((i + 0.5) / len(here) - 0.5)
                colour = colours[_short(point.peer)]
                axes.plot([point.low, point.high], [y, y], color=colour, linewidth=1.2)
                axes.plot(
                    point.ratio,
                    y,
                    marker="D" if point.kind == "limit" else "o",
                    color=colour,
                    linestyle="none",
                    markerfacecolor="none" if point.step == "predict" else colour,
                )
        axes.axvline(1, color=INK, linewidth=1)
        axes.set(xscale="log", ylim=(len(names) - 0.4, -0.6))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g}")
        axes.set_xlabel("time of the other / time of plurilabel")
        axes.set_yticks(range(len(names)), [_wrapped(name) for name in names], fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        _legend(axes, points, colours)
        _save(figure, path)
    return True


def _legend(axes: Any, points: list[Point], colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    limits = {_short(point.peer) for point in points if point.kind == "limit"}
    handles = [
        Line2D([], [], color=colour, marker="D" if peer in limits else "o", linestyle="none",
               label=f"limit: {peer}" if peer in limits else peer)
        for peer, colour in colours.items()
    ]  # fmt: skip
    if any(point.step == "predict" for point in points):
        for label, fill in (("fit (filled)", INK), ("predict (hollow)", "none")):
            handles.append(Line2D([], [], color=INK, marker="o", linestyle="none",
                                  markerfacecolor=fill, label=label))  # fmt: skip
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.35, 1.0), fontsize=8, ncols=3
    )


def growth_plot(rows: Sequence[Row], path: Path) -> bool:
    """Seconds of a fit over n, d, q and k, a line for each learner, a row for each family."""
    rows = [row for row in rows if row["step"] == "fit"]
    if not rows:
        return False
    import matplotlib.pyplot as plt

    families = list(dict.fromkeys(row["family"] for row in rows))
    axis_names = list(dict.fromkeys(row["axis"] for row in rows))
    with plt.rc_context(STYLE):
        # the last column is for the names
        figure, grid = plt.subplots(len(families), len(axis_names) + 1, squeeze=False,
                                    sharey="row", figsize=(10, 2.3 * len(families)),
                                    layout="constrained")  # fmt: skip
        for panels, family in zip(grid, families):
            names = list(dict.fromkeys(r["what"] for r in rows if r["family"] == family))
            colours = dict(zip(names, COLOURS))
            for panel, axis in zip(panels, axis_names):
                here = [r for r in rows if r["axis"] == axis and r["family"] == family]
                _growth_panel(panel, axis, here, colours)
            panels[0].set_ylabel(f"{family}\nfit, CPU seconds")
            panels[-1].axis("off")
            panels[-1].legend(handles=panels[0].get_lines(), fontsize=8, loc="center left")
        _save(figure, path)
    return True


def _growth_panel(panel: Any, axis: str, rows: Sequence[Row], colours: dict[str, str]) -> None:
    if not rows:
        panel.set_visible(False)
        return
    for row in rows:
        panel.plot(row["sizes"], row["seconds"], ".-", color=colours[row["what"]],
                   label=row["what"])  # fmt: skip
    panel.set(xscale="log", yscale="log", xlabel=axis)
    panel.minorticks_off()
    sizes = max((row["sizes"] for row in rows), key=len)
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=7)
    panel.grid(True)


def share_plot(rows: Sequence[Row], path: Path) -> bool:
    """The share of the call that a learner cannot do without, a bar for each learner."""
    if not rows:
        return False
    import matplotlib.pyplot as plt

    data = list(dict.fromkeys(row["data"] for row in rows))
    names = list(dict.fromkeys(row["what"] for row in rows))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8, 1 + 0.3 * len(names)))
        for i, name in enumerate(data):
            here = {row["what"]: row for row in rows if row["data"] == name}
            height = 0.8 / len(data)
            places = [names.index(what) + height * (i + 0.5) - 0.4 for what in here]
            axes.barh(places, [row["ratio"] for row in here.values()], height * 0.9,
                      color=COLOURS[i], label=name)  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(0, 1))
        axes.set_xlabel("share of fit and predict inside the call")
        axes.grid(axis="x")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, fontsize=8)
        _save(figure, path)
    return True


def _short(peer: str) -> str:
    return peer.partition(",")[0] if peer.startswith("scikit-learn") else peer


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(name, 46))


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=True, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
