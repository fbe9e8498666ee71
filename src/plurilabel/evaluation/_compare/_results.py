"""The results of a comparison: cells, and tables made from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import import_extra
from plurilabel._core.html import html_table
from plurilabel._core.names import ALIASES
from plurilabel._core.words import counted, shortened
from plurilabel.evaluation._compare._plan import Cell, cell_path, read_cell, read_plan
from plurilabel.metrics import get_measure

# accepted like measures by `Results.means` and the like
COSTS = ("fit_seconds", "predict_seconds", "search_seconds", "peak_mb")
_SHOWN = 8  # measures in a notebook


class Results:
    """The cells of a comparison, one for each dataset, learner, repeat and fold.

    Returned by :func:`compare`; :meth:`open` reads them from a folder, even during a run.

    Parameters
    ----------
    plan : mapping
        With ``protocol``, ``datasets``, ``learners``, ``versions`` and ``command``.
    cells : iterable of mapping
        Cells that are not in the plan are ignored: more may have been compared in the folder.
    folder : path, optional

    Attributes
    ----------
    plan, folder :
        As given.
    cells : list of dict
        Sorted by dataset, repeat, fold and learner. ``status`` is "ok", "error", "timeout" or
        "crashed", ``error`` the reason, and ``scores`` has the measures.
    datasets, learners, measures : tuple of str
        Names, in the order of the plan.

    Examples
    --------
    >>> from plurilabel.evaluation import Results
    >>> plan = {"protocol": {"measures": ["f1"]}, "datasets": {"toy": {}},
    ...         "learners": {"MLkNN": {}, "BRkNN": {}}}
    >>> cells = [
    ...     {"dataset": "toy", "learner": learner, "repeat": 0, "fold": fold, "status": "ok",
    ...      "scores": {"f1": f1}}
    ...     for learner, values in {"MLkNN": (0.5, 0.7), "BRkNN": (0.4, 0.6)}.items()
    ...     for fold, f1 in enumerate(values)
    ... ]
    >>> results = Results(plan, cells)
    >>> results
    Results: 1 dataset, 2 learners, 4 cells
    >>> results.means("f1")
    array([[0.6, 0.5]])
    """

    def __init__(
        self,
        plan: Mapping[str, Any],
        cells: Iterable[Mapping[str, Any]],
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.plan = dict(plan)
        self.folder = None if folder is None else Path(folder)
        self.datasets: tuple[str, ...] = tuple(plan["datasets"])
        self.learners: tuple[str, ...] = tuple(plan["learners"])
        self.measures: tuple[str, ...] = tuple(plan["protocol"]["measures"])
        self.cells: list[Cell] = sorted(
            (dict(cell) for cell in cells if self._is_planned(cell)), key=self._place
        )

    def _is_planned(self, cell: Mapping[str, Any]) -> bool:
        if cell["dataset"] not in self.datasets or cell["learner"] not in self.learners:
            return False
        splits = self.plan["datasets"][cell["dataset"]].get("splits")
        return splits is None or f"{cell['repeat']}-{cell['fold']}" in splits

    def _place(self, cell: Mapping[str, Any]) -> tuple[int, int, int, int]:
        dataset = self.datasets.index(cell["dataset"])
        return dataset, cell["repeat"], cell["fold"], self.learners.index(cell["learner"])

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a comparison, finished or not, from the folder given to :func:`compare`."""
        plan = read_plan(folder)
        if plan is None:
            raise FileNotFoundError(f"{folder} holds no comparison: plan.json is missing")
        cells: list[Cell | None] = []
        for dataset, learner in product(plan["datasets"], plan["learners"]):
            place = {"dataset": dataset, "learner": learner, "repeat": 0, "fold": 0}
            cells += map(read_cell, cell_path(folder, place).parent.glob("*-*.json"))
        return cls(plan, [cell for cell in cells if cell is not None], folder)

    def __repr__(self) -> str:
        counts = ((self.datasets, "dataset"), (self.learners, "learner"), (self.cells, "cell"))
        shown = ", ".join(counted(len(what), noun) for what, noun in counts)
        failed = len(self.failures())
        return f"Results: {shown}" + (f", {failed} of them failed" if failed else "")

    def _repr_html_(self) -> str:
        """Means with the best in bold: several measures of one dataset, or one per table."""
        known = self.measures[:_SHOWN]
        if len(self.datasets) == 1:
            means = np.array([self.means(m)[0] for m in known]).T  # (learners, measures)
            best = np.array([self.best(m)[0] for m in known]).T
            tables = {self.datasets[0]: (list(known), means, best)}
        else:
            heads = [shortened(name, 24) for name in self.datasets]
            tables = {m: (heads, self.means(m).T, self.best(m).T) for m in known[:3]}
        parts = []
        for title, (heads, values, bold) in tables.items():
            rows = [
                [name, *("–" if np.isnan(value) else f"{value:.4f}" for value in row)]
                for name, row in zip(self.learners, values)
            ]
            parts.append(html_table(["learner", *heads], rows, title=title, bold=bold))
        return "".join(parts) + html_table([], [[repr(self)]])

    def failures(self) -> list[Cell]:
        """The cells that are not "ok"."""
        return [cell for cell in self.cells if cell["status"] != "ok"]

    def frame(self) -> Any:
        """All cells as a pandas data frame, one row each; NaN where a measure is undefined.

        The columns are ``dataset, learner, repeat, fold, status, error``, the measures, times in
        seconds, ``peak_mb``, and ``n_train, n_test, seed``.
        """
        pd = import_extra("pandas", "frame", "table")
        first = ("dataset", "learner", "repeat", "fold", "status", "error")
        numbers = (*self.measures, *COSTS)
        columns: dict[str, Any] = {
            name: [_value(one, name) if name in numbers else one.get(name) for one in self.cells]
            for name in (*first, *numbers, "n_train", "n_test", "seed")
        }
        return pd.DataFrame(columns).astype(dict.fromkeys(numbers, float))

    def scores(self, measure: str) -> NDArray[np.float64]:
        """A measure in every cell.

        Parameters
        ----------
        measure : str
            One of ``measures``; or "fit_seconds", "predict_seconds", "search_seconds", "peak_mb".

        Returns
        -------
        ndarray of shape (datasets, learners, splits)
            Splits are sorted by repeat and fold. NaN: missing, failed or undefined.
        """
        measure = ALIASES.get(measure, measure)
        if measure not in (known := (*self.measures, *COSTS)):
            raise ValueError(f"measure must be one of {', '.join(known)}, got {measure!r}")
        splits = {
            name: sorted({(c["repeat"], c["fold"]) for c in self.cells if c["dataset"] == name})
            for name in self.datasets
        }
        most = max((len(of_one) for of_one in splits.values()), default=0)
        table = np.full((len(self.datasets), len(self.learners), most), np.nan)
        for cell in self.cells:
            i, j = self.datasets.index(cell["dataset"]), self.learners.index(cell["learner"])
            split = splits[cell["dataset"]].index((cell["repeat"], cell["fold"]))
            table[i, j, split] = _value(cell, measure)
        return table

    def means(self, measure: str) -> NDArray[np.float64]:
        """Mean of a measure over the cells that define it, (datasets, learners); NaN if none."""
        return mean_over_splits(self.scores(measure))

    def deviations(self, measure: str) -> NDArray[np.float64]:
        """Standard deviation (with n - 1) of a measure over repeats and folds.

        Of shape (datasets, learners); NaN where fewer than two cells define the measure.
        """
        return deviation_over_splits(self.scores(measure))

    def best(self, measure: str) -> NDArray[np.bool_]:
        """Whether each learner is the best on each dataset, (datasets, learners).

        Only learners with a value on every split are compared, and only if there are several.
        """
        defined = ~np.isnan(self.scores(measure))  # (datasets, learners, splits)
        counts, splits = defined.sum(axis=2), defined.any(axis=1).sum(axis=1)
        complete = (counts > 0) & (counts == splits[:, None])
        sign = 1 if get_measure(measure).greater_is_better else -1
        means = np.where(complete, sign * self.means(measure), -np.inf)
        several = complete.sum(axis=1, keepdims=True) > 1
        best: NDArray[np.bool_] = complete & (means == means.max(axis=1, keepdims=True)) & several
        return best

    def absent(self) -> NDArray[np.str_]:
        """Text for each dataset and learner without a value: not run, failed, or a dash."""
        words = np.full((len(self.datasets), len(self.learners)), "not run")
        for cell in self.cells:
            i, _, _, j = self._place(cell)
            if cell["status"] != "ok":
                words[i, j] = "failed"
            elif words[i, j] == "not run":
                words[i, j] = "–"
        return words

    def seconds(self) -> NDArray[np.float64]:
        """Mean seconds per split, including shared searches, (datasets, learners).

        NaN where no cell is "ok".
        """
        searches = np.nan_to_num(self.means("search_seconds"))
        return self.means("fit_seconds") + self.means("predict_seconds") + searches


def _value(cell: Mapping[str, Any], measure: str) -> float:
    if cell["status"] != "ok":
        return np.nan
    value = cell.get(measure) if measure in COSTS else cell["scores"].get(measure)
    return np.nan if value is None else float(value)


def mean_over_splits(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the last axis, ignoring NaN; NaN where there is nothing else."""
    return divided(np.nansum(scores, axis=-1), (~np.isnan(scores)).sum(axis=-1))


def deviation_over_splits(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation (with n - 1) over the last axis; NaN for fewer than two values."""
    squares = np.nansum((scores - mean_over_splits(scores)[..., None]) ** 2, axis=-1)
    return np.sqrt(divided(squares, (~np.isnan(scores)).sum(axis=-1) - 1))


def divided(total: NDArray[np.float64], count: NDArray[Any]) -> NDArray[np.float64]:
    """Quotients; NaN where the count is not positive."""
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
