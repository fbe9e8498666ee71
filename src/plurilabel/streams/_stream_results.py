"""Results of a run on a stream: curves over time, summaries, plots and files."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from math import nan
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core import records
from plurilabel._core.compat import import_extra
from plurilabel._core.names import ALIASES
from plurilabel._core.records import read_json
from plurilabel._core.words import counted
from plurilabel.metrics import get_measure
from plurilabel.streams._stream import Drift

FORMAT = 1  # of a run on disk; increased by incompatible changes
KINDS = ("overall", "window", "fading")
# ``rows``, and for each learner the measures of each kind, seconds and bytes at these rows
Readings: TypeAlias = dict[str, Any]


@dataclass(eq=False, repr=False)
class StreamResults:
    """Curves over time of every learner and measure.

    Returned by :func:`prequential`; :meth:`open` reads them from a folder, even during the run.

    Attributes
    ----------
    plan : dict
        The stream, the learners and the protocol.
    learners, measures, kinds : tuple of str
        ``kinds`` are "overall" and, if computed, "window" and "fading".
    rows : ndarray of int
        Numbers of rows after which the measures were recorded.
    drifts : tuple of Drift
    errors : dict of str to str
        Learners that failed, with the row and the reason; their curves end there.
    is_finished : bool
        Whether the whole stream was read.
    folder : Path or None

    Examples
    --------
    >>> from plurilabel.streams import NoChange, prequential
    >>> rows = [({}, {"a": True}), ({}, {"a": True}), ({}, {"a": False}), ({}, {"a": False})]
    >>> results = prequential(rows, NoChange(), ["hamming_loss"], every=1, window=2)
    >>> results
    StreamResults: 1 learner, 4 rows
    >>> results.curve("hamming_loss", "NoChange")
    array([1. , 0.5, 0.5, 0.5])
    >>> results.final("hamming_loss")
    {'NoChange': 0.5}
    """

    plan: dict[str, Any]
    readings: Readings
    _: KW_ONLY
    errors: dict[str, str] = field(default_factory=dict)
    is_finished: bool = False
    folder: Path | None = None

    def __post_init__(self) -> None:
        self.learners: tuple[str, ...] = tuple(self.plan["learners"])
        self.measures: tuple[str, ...] = tuple(self.plan["protocol"]["measures"])
        self.kinds = tuple(kinds_of(self.plan["protocol"]))
        self.drifts = tuple(Drift(*drift) for drift in self.plan["drifts"])

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a run that :func:`prequential` left in a folder, finished or not."""
        folder = Path(folder)
        plan = read_plan(folder)
        if plan is None:
            raise FileNotFoundError(f"{folder} holds no run on a stream: there is no plan.json")
        readings, end = read_parts(folder, plan)
        errors = end.get("errors") or {}
        return cls(plan, readings, errors=errors, is_finished=bool(end), folder=folder)

    def __repr__(self) -> str:
        parts = [counted(len(self.learners), "learner"), counted(self.n_rows, "row")]
        if self.drifts:
            parts.append(counted(len(self.drifts), "drift"))
        if self.errors:
            parts.append(f"{counted(len(self.errors), 'learner')} failed")
        return f"StreamResults: {', '.join(parts)}"

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of rows after which the measures were recorded."""
        return np.array(self.readings["rows"], dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows read from the stream."""
        return self.readings["rows"][-1] if self.readings["rows"] else 0

    def curve(self, measure: str, learner: str, kind: str = "window") -> NDArray[np.float64]:
        """A measure over time.

        Parameters
        ----------
        measure : str
            One of ``measures``, or "seconds" or "bytes": the time of the learner so far, or its
            pickled size, which is known only for some rows.
        learner : str
            One of ``learners``.
        kind : {"window", "fading", "overall"}, default="window"

        Returns
        -------
        ndarray of shape (readings,)
            One value for each of ``rows``, NaN where there is none.
        """
        self._check("learner", learner, self.learners)
        found, measure = self.readings["learners"][learner], ALIASES.get(measure, measure)
        if measure in ("seconds", "bytes"):
            return np.array(found[measure], dtype=np.float64)
        self._check("measure", measure, self.measures)
        self._check("kind", kind, self.kinds)
        return np.array(found[kind][measure], dtype=np.float64)

    @staticmethod
    def _check(name: str, value: str, known: tuple[str, ...]) -> None:
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")

    def final(self, measure: str, kind: str = "overall") -> dict[str, float]:
        """Final value of a measure by learner, by default over all rows; NaN if it failed."""
        curves = {name: self.curve(measure, name, kind) for name in self.learners}
        return {name: float(curve[-1]) if len(curve) else np.nan for name, curve in curves.items()}

    def mean(self, measure: str, kind: str = "fading") -> dict[str, float]:
        """Mean of a curve by learner, as in papers; NaN if it failed."""
        curves = {name: _finite(self.curve(measure, name, kind)) for name in self.learners}
        return {
            name: float(curve.mean()) if len(curve) and name not in self.errors else np.nan
            for name, curve in curves.items()
        }

    def speed(self) -> dict[str, float]:
        """Rows per second by learner, for prediction and learning together."""
        found = dict.fromkeys(self.learners, np.nan)
        for name in self.learners:
            seconds = self.curve("seconds", name)
            for last in np.flatnonzero(np.nan_to_num(seconds) > 0)[-1:]:
                found[name] = float(self.rows[last] / seconds[last])
        return found

    def size(self) -> dict[str, float]:
        """Bytes of each pickled learner at the end; NaN if it cannot be pickled."""
        curves = {name: _finite(self.curve("bytes", name)) for name in self.learners}
        return {name: float(curve[-1]) if len(curve) else np.nan for name, curve in curves.items()}

    def recoveries(
        self, measure: str, learner: str, *, tolerance: float = 0.02, kind: str = "window"
    ) -> list[int | None]:
        """Number of rows after each drift until the measure has recovered.

        After a drift, the curve is followed from its worst value until it is within the tolerance
        of its last value before the drift. Choose a short window, since a window contains rows
        before the drift for its whole length.

        Parameters
        ----------
        measure, learner, kind : str
            As in :meth:`curve`.
        tolerance : float, default=0.02

        Returns
        -------
        list of int or None
            For each drift: 0 if the measure stayed within the tolerance, None if it did not
            recover before the next drift, or if nothing was recorded in between.
        """
        sign = 1 if get_measure(measure).greater_is_better else -1
        curve, rows = sign * self.curve(measure, learner, kind), self.rows
        ends = [drift.row for drift in self.drifts[1:]] + [self.n_rows]
        found: list[int | None] = []
        for drift, end in zip(self.drifts, ends):
            before = np.flatnonzero((rows <= drift.row) & np.isfinite(curve))
            after = np.flatnonzero((rows > drift.row) & (rows <= end) & np.isfinite(curve))
            rest: int | None = None
            if len(before) and len(after):
                least, worst = curve[before[-1]] - tolerance, int(np.argmin(curve[after]))
                back = [i for i in after[worst:] if curve[i] >= least]
                is_left = curve[after[worst]] < least
                rest = (int(rows[back[0]]) - drift.row if back else None) if is_left else 0
            found.append(rest)
        return found

    def frame(self) -> Any:
        """All values as a pandas data frame, with a row per learner, kind and number of rows."""
        pd = import_extra("pandas", "frame", "table")
        parts = []
        for name, kind in product(self.learners, self.kinds):
            columns = (*self.measures, "seconds", "bytes")
            curves = {column: self.curve(column, name, kind) for column in columns}
            parts.append(pd.DataFrame({"row": self.rows, "learner": name, "kind": kind, **curves}))
        return pd.concat(parts, ignore_index=True)

    def plot(self, measure: str, kind: str = "window", ax: Any = None) -> Any:
        """Plot the curves of all learners and the drifts; return the matplotlib axes.

        Parameters
        ----------
        measure, kind : str
            As in :meth:`curve`.
        ax : matplotlib axes, optional
            Axes of a new figure by default.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
        for i, name in enumerate(self.learners):
            ax.plot(self.rows, self.curve(measure, name, kind), f"C{i % 10}", label=name)
        for drift in self.drifts:
            if drift.row <= self.n_rows and drift.kind != "moving":
                ax.axvline(drift.row, color="0.6", linestyle="--", linewidth=1)
                ax.axvspan(drift.row, drift.row + drift.width, color="0.9", zorder=0)
        ax.set(xlabel="rows", ylabel=f"{get_measure(measure).title} ({kind})")
        ax.legend(loc="best", frameon=False)
        return ax


def _finite(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    return curve[np.isfinite(curve)]


@dataclass(eq=False)
class LivePlot:
    """Plot the curves during a run, as its ``progress`` callback.

    Parameters
    ----------
    measure, kind, ax :
        As in :meth:`StreamResults.plot`.
    every : int, default=10
        Number of calls between two updates.

    Examples
    --------
    >>> from plurilabel.streams import LabelShares, LivePlot, RandomTreeStream, prequential
    >>> live = LivePlot("hamming_loss")
    >>> results = prequential(
    ...     RandomTreeStream(2000), LabelShares(), ["hamming_loss"], progress=live)
    >>> [line.get_label() for line in live.ax.get_lines()][:1]
    ['LabelShares']
    """

    measure: str = "f1"
    kind: str = "window"
    every: int = 10
    ax: Any = None
    _calls: int = field(default=0, init=False, repr=False)

    def __call__(self, results: StreamResults) -> None:
        self._calls += 1
        if self._calls % self.every and not results.is_finished:
            return
        if self.ax is not None:
            self.ax.clear()
        self.ax = results.plot(self.measure, self.kind, ax=self.ax)
        self.ax.figure.canvas.draw_idle()
        self.ax.figure.canvas.flush_events()  # updates a window on the screen


def kinds_of(protocol: Mapping[str, Any]) -> list[str]:
    return [kind for kind in KINDS if kind == "overall" or protocol[kind] is not None]


def empty_readings(learners: Any, measures: Any, kinds: Any) -> Readings:
    """Empty readings; arrays take an eighth of the memory of lists."""
    return {
        "rows": array("q"),
        "learners": {
            name: {kind: {measure: array("d") for measure in measures} for kind in kinds}
            | {"seconds": array("d"), "bytes": array("d")}
            for name in learners
        },
    }


def extend(readings: Any, more: Any) -> None:
    """Append readings from a file."""
    if isinstance(readings, array):
        readings.extend(nan if entry is None else entry for entry in more)
    else:
        for key, value in readings.items():
            extend(value, more[key])


def as_lists(readings: Any, start: int) -> Any:
    """Readings from an index on, for a file."""
    if isinstance(readings, array):
        return readings[start:].tolist()
    return {key: as_lists(value, start) for key, value in readings.items()}


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Read the plan in a folder; None if there is none, an error if it is of another kind."""
    types = {"key": str, "learners": dict, "protocol": dict, "drifts": list, "versions": dict}
    plan = records.read_plan(folder, "stream", FORMAT, types)
    try:
        if plan is not None:  # all that is made of it
            protocol = plan["protocol"]
            empty_readings(plan["learners"], protocol["measures"], kinds_of(protocol))
            [Drift(*drift) for drift in plan["drifts"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"plan.json in {folder} is broken: {error!r}") from None
    return plan


def read_parts(folder: Path, plan: Mapping[str, Any]) -> tuple[Readings, dict[str, Any]]:
    """All readings in a folder, and the final record of a finished run."""
    protocol = plan["protocol"]
    readings = empty_readings(plan["learners"], protocol["measures"], kinds_of(protocol))
    for path in sorted((folder / "readings").glob("[0-9]*.json")):
        try:
            extend(readings, read_json(path))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise ValueError(
                f"{path} is broken; replace it with fresh=True, or use another folder"
            ) from None
    end = read_json(folder / "finished.json")
    return readings, end if isinstance(end, dict) else {}
