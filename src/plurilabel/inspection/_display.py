"""Shared by the displays: axes, names that fit, colors, and checked input."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from plurilabel._core.base import check_labels, check_scores, column_names, names_or_default
from plurilabel._core.blocks import dense
from plurilabel._core.compat import import_extra, safe_indexing
from plurilabel._core.words import display_width, printable, shortened
from plurilabel.metrics import label_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:  # the displays import it from here, with or without matplotlib
    Axes = Any

Array = NDArray[Any]

# Okabe and Ito's colors, which can be distinguished with any color vision
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, ORANGE, GREEN, GRAY = *COLORS[:3], "#8b949e"
LONGEST = 28  # columns of a name next to an axis

_EAST_ASIAN = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC",
    "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Heiti SC",
    "Microsoft YaHei", "SimHei", "Yu Gothic", "MS Gothic", "Malgun Gothic", "Apple SD Gothic Neo",
    "IPAGothic", "Droid Sans Fallback", "Arial Unicode MS", "Unifont",
)  # fmt: skip


class Display:
    """Base class of the displays: ``plot`` draws in ``ax_``, matplotlib Axes of ``figure_``."""

    ax_: Any
    figure_: Any
    label_names: Sequence[str]

    def _begin(self, ax: Axes | None, size: tuple[float, float]) -> Axes:
        self.ax_ = axes(ax, size, type(self).__name__)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _highest(self, counts: Array, most: int) -> tuple[NDArray[np.intp], list[str], str]:
        """Labels with the highest counts or scores, their names, and a note on those not shown."""
        if most < 1:
            raise ValueError(f"max_labels must be at least 1, got {most}")
        shown, q = np.argsort(-counts, kind="stable")[:most], len(counts)
        note = "" if len(shown) == q else f"\n({len(shown)} most frequent of {q:,} labels)"
        return shown, [self.label_names[l] for l in shown], note


class PredictedDisplay(Display):
    """Base class of the displays of true and predicted labels."""

    from_predictions: ClassVar[Any]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any, **options: Any) -> Self:
        """Predict the labels of X and plot them against the true labels Y.

        ``estimator``: fitted, or a saved model; ``options``: of ``from_predictions``.
        """
        estimator, X, Y, names = opened(estimator, X, Y, options.pop("label_names", None))
        Z = estimator.predict(X)
        names = names_of(names, Y, Z.shape[1], estimator)
        display: Self = cls.from_predictions(Y, Z, label_names=names, **options)
        return display


def axes(ax: Axes | None, size: tuple[float, float], who: str) -> Axes:
    """The given axes, or new ones in a figure of this size in inches."""
    if ax is None:
        pyplot = import_extra("matplotlib.pyplot", who, "cli")
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def names_of(label_names: Any, Y: Any, q: int, estimator: Any = None) -> tuple[str, ...]:
    """Label names: as given, or from a data frame or fitted learner, or numbered."""
    names: Any = column_names(Y) if label_names is None else label_names
    if names is None and len(known := getattr(estimator, "label_names_", ())) == q:
        names = known
    return tuple(names_or_default(names, q))


def opened(estimator: Any, X: Any, Y: Any, label_names: Any) -> tuple[Any, Any, Any, Any]:
    """The estimator, its input, labels in its order, and label names, also of a saved model."""
    if hasattr(estimator, "label_sets"):
        known = estimator.label_names
        estimator, X = estimator.estimator, estimator.read(X).X
        label_names = known if label_names is None else label_names
    else:
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        known = getattr(last, "label_names_", None)
    return estimator, X, in_order(Y, known), label_names


def with_scores(estimator: Any, X: Any, Y: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """True labels in the order of the estimator, and scores; label names are put in options."""
    names = options.pop("label_names", None)
    estimator, X, Y, names = opened(estimator, X, Y, names)
    q = check_labels(Y, name="Y").shape[1]
    options["label_names"] = names_of(names, Y, q, estimator)
    return Y, label_scores(estimator, X, n_labels=q)


def scored(
    Y_true: Any, scores: Any, name: str, label: str | int | None, label_names: Any
) -> tuple[Array, Array, str]:
    """Labels and scores (n, q); or those of one label (n, 1), and its name."""
    Y = dense(check_labels(Y_true, name="Y_true"))
    S = dense(check_scores(in_order(scores, column_names(Y_true)), name=name))
    _check_shapes(Y, S, name)
    if label is None:
        return Y, S, ""
    names = names_of(label_names, Y_true, Y.shape[1])
    if not isinstance(label, str):
        l = range(len(names))[label]
    elif label in names:
        l = names.index(label)
    else:
        some = ", ".join(map(repr, names[:10]))
        raise ValueError(f"label must be one of {some}, got {label!r}")
    return Y[:, [l]], S[:, [l]], names[l]


def label_arrays(Y_true: Any, Y_pred: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True and predicted labels (n, q)."""
    Y_pred = in_order(Y_pred, column_names(Y_true))
    Y = dense(check_labels(Y_true, name="Y_true")).astype(bool)
    Z = dense(check_labels(Y_pred, name="Y_pred")).astype(bool)
    _check_shapes(Y, Z, "Y_pred")
    return Y, Z


def _check_shapes(Y: Array, other: Array, name: str) -> None:
    if Y.shape != other.shape:
        raise ValueError(f"Y_true has the shape {Y.shape}, but {name} has {other.shape}")


def in_order(given: Any, names: Any) -> Any:
    """A data frame with its columns in the order of these names, if it has the same ones."""
    own, wanted = column_names(given), None if names is None else [str(name) for name in names]
    if own is None or wanted is None or own == wanted or sorted(own) != sorted(wanted):
        return given
    return safe_indexing(given, [own.index(name) for name in wanted], axis=1)


def shown_names(names: Sequence[str]) -> list[str]:
    """Short names in which matplotlib finds no mathematics."""
    short = (_with_both_ends(printable(" ".join(name.split()))) for name in names)
    return [name.replace("$", r"\$") for name in short]


def _with_both_ends(name: str) -> str:
    """Cut the middle out of a long name: many names differ only at their end."""
    if display_width(name) <= LONGEST:
        return name
    end = name[-8:]
    while display_width(end) > 8:
        end = end[1:]
    return shortened(name, LONGEST - display_width(end)) + end


def name_ticks(axis: Any, names: Sequence[str], *, size: float = 8, **style: Any) -> None:
    """Label each row or column with its name."""
    shown = shown_names(names)
    axis.set_ticks(np.arange(len(shown)), shown, fontsize=size, fontfamily=_fonts(shown), **style)
    axis.set_tick_params(length=0)


def name_inches(names: Sequence[str], size: float = 8) -> float:
    """Approximate length of the longest name in inches."""
    return max(map(display_width, shown_names(names)), default=0) * size * 0.0086


def _fonts(names: Sequence[str]) -> list[str]:
    """The default font families, and those with East Asian letters if a name has any."""
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    usual = list(mpl.rcParams["font.family"])
    if not any(unicodedata.east_asian_width(letter) in "WF" for name in names for letter in name):
        return usual
    installed = {font.name for font in fontManager.ttflist}
    return [*usual, *(font for font in _EAST_ASIAN if font in installed)]


def heat(ax: Axes, values: Array, rows: Sequence[str], columns: Sequence[str], title: str) -> None:
    """Draw a matrix of shares as an image with names and a color bar; NaN is gray."""
    highest = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    ax.set_facecolor("#e6e9ec")
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=highest or 1.0, aspect="auto")
    name_ticks(ax.yaxis, rows)
    name_ticks(ax.xaxis, columns, rotation=90)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.01)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    ax.set_title(title, loc="left", fontsize=10)


def heat_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Figure size in inches at which the names of :func:`heat` do not overlap."""
    side = 0.17
    wide = max(len(columns) * side, 3.2) + name_inches(rows) + 1.2
    return wide, max(len(rows) * side, 2.0) + name_inches(columns) + 1.1
