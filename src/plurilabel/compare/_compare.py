"""Every learner on every split of every dataset."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from plurilabel.compare._cell import empty_cell
from plurilabel.compare._cell_files import Cell, write_json
from plurilabel.compare._data import named_datasets
from plurilabel.compare._learners import named_learners
from plurilabel.compare._lock import locked
from plurilabel.compare._plan import Place, check_measures, make_plan
from plurilabel.compare._pool import Pool, Unit
from plurilabel.compare._progress import Estimate, Progress
from plurilabel.compare._results import Results, read_plan
from plurilabel.datasets import Dataset

try:
    from joblib.externals import cloudpickle
except ImportError:  # since 1.6 joblib brings it as a package of its own
    import cloudpickle  # type: ignore[import-untyped]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a write, which do not say where it went."""


def compare(
    datasets: Any,
    learners: Any,
    *,
    cv: Any = "holdout",
    repeats: int = 1,
    measures: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    time_limit: float | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
    command: str | None = None,
) -> Results:
    """Train and test every learner on every split of every dataset.

    Each dataset, learner, repeat and fold is a cell. A finished cell is written to ``out`` at
    once, whole or not at all. The same call with the same folder goes on where it was stopped,
    however it was stopped, and the results are the same as without the stop. A learner that
    fails, hangs or crashes leaves that in its cell; the others go on.

    Parameters
    ----------
    datasets : names, paths, Dataset objects, pairs (X, Y); one, a list, or a dict by name
    learners : estimators or text for :func:`make_learner`; one, a list, or a dict by name
        Anything with ``fit`` and ``predict``. Scores come from ``predict_proba``, else from
        ``decision_function``; a learner with neither gets the measures of label sets only.
    cv : "holdout", int or splitter, default="holdout"
        "holdout" is the published split; where there is none, a stratified one of two thirds and
        one third. A number means so many stratified folds, shuffled: repeat r is
        ``IterativeStratifiedKFold(cv, shuffle=True, random_state=random_state + r)``.
    repeats : int, default=1
        How often all of it is done, each time with other folds and seeds.
    measures : sequence of str, optional
        Names of measures; by default all that need no setting, and those at 1, 3 and 5.
    out : path, optional
        Folder for ``plan.json`` and ``cells/``. Without it, results are in memory only.
    n_jobs : int, default=1
        Number of worker processes; -1 for one per processor. All cells of one split run in one
        of them, one after another.
    random_state : int, default=0
        Every ``random_state`` inside a learner that is None gets a seed that is derived from
        this, the dataset's name, the repeat and the fold.
    time_limit : float, optional
        Seconds that a cell may take.
    retry : bool, default=False
        Run cells again that failed, hung or crashed in an earlier call; else they are kept.
    fresh : bool, default=False
        Run everything again. Otherwise a cell in the folder that has the same place, but was made
        of other data, parameters, rows, seeds or measures, or by another version, is an error.
    progress : callable, optional
        Called after each cell with the number of finished cells, their total, the cell, and an
        estimate of the seconds left (None while there is no ground for one).
    command : str, optional
        How to repeat the comparison, for its report; by default this call.

    Returns
    -------
    Results

    Notes
    -----
    Workers are processes of their own and use one thread of BLAS and OpenMP each, so that results
    do not depend on ``n_jobs``, and times compare.

    Sparse labels reach a learner as an array where a part has no more than five million entries,
    since most classifiers of scikit-learn take nothing else.

    Lazy learners with the usual index share their neighbour searches: on each split, one search
    among the training rows and one for the test rows, for the largest k that anyone asks for.
    The first learner pays; ``search_seconds`` in the others' cells is what they were spared.

    ``predict_seconds`` is the time of labels and scores together. ``peak_mb`` is the largest
    resident size of the worker while it ran the cell, Python and its libraries included.

    Examples
    --------
    >>> from plurilabel import BRkNN, MLkNN, datasets
    >>> from plurilabel.compare import compare
    >>> data = datasets.make_multilabel(100, random_state=0)
    >>> results = compare({"toy": data}, [MLkNN(5), BRkNN(5)], cv=2, measures=["ranking_loss"])
    >>> results
    Results: 1 dataset, 2 learners, 4 cells
    >>> results.means("ranking_loss").round(3)
    array([[0.098, 0.135]])
    """
    repeats = _whole("repeats", repeats, 1)
    random_state = _whole("random_state", random_state, 0)
    if not _whole("n_jobs", n_jobs, -1):
        raise ValueError("n_jobs must be a number of processes, or -1 for all cores, got 0")
    if time_limit is not None and not (isinstance(time_limit, int | float) and time_limit > 0):
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit!r}")
    table = named_learners(learners)
    pickled = {name: _pickled(name, learner) for name, learner in table.items()}
    data = named_datasets(datasets)
    names = check_measures(measures)
    plan, places = make_plan(
        data,
        table,
        cv=cv,
        repeats=repeats,
        measures=names,
        random_state=random_state,
        command=command or _call(data, table, cv, repeats, measures and names, random_state),
    )
    folder = None if out is None else Path(out)
    with nullcontext() if folder is None else _opened(folder):
        kept = {} if folder is None else _kept(folder, places, retry, fresh)
        if folder is not None:
            write_json(folder / "plan.json", plan)
        report = Estimate(places, kept, progress, joblib.effective_n_jobs(n_jobs))
        missing = [place for place in places if id(place) not in kept]
        cells = _run(data, pickled, missing, names, folder, n_jobs, time_limit)
        with closing(cells):
            for place, cell in cells:
                if folder is not None:
                    write_json(place.path(folder), cell)
                kept[id(place)] = cell
                report(place, cell)
    return Results(plan, kept.values(), folder)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number from {least}, got {value!r}")
    return int(value)


def _pickled(name: str, learner: Any) -> bytes:
    # by value where a class or function stands in the script that is run, or in a notebook
    try:
        return cloudpickle.dumps(learner)
    except Exception as error:
        raise TypeError(
            f"learners[{name!r}] must be such that it can be sent to another process, "
            f"but it cannot be pickled: {error}"
        ) from None


def _call(
    data: dict[str, Dataset], learners: dict[str, Any], cv: Any, repeats: int, measures: Any,
    random_state: int,
) -> str:  # fmt: skip
    options = f"cv={cv!r}, repeats={repeats}, random_state={random_state}"
    if measures is not None:
        options += f", measures={measures!r}"
    shown = ", ".join(f"{name!r}: {' '.join(repr(one).split())}" for name, one in learners.items())
    return f"compare.compare({list(data)!r}, {{{shown}}}, {options})"


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """The folder, ours alone, rid of what a killed run left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        read_plan(folder)  # an error where this is a folder of something else
        for left in folder.glob(".work-*"):
            shutil.rmtree(left, ignore_errors=True)
        try:
            yield
        except OSError as error:
            if error.errno not in NO_ROOM or error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, os.fspath(folder)) from error


def _kept(folder: Path, places: list[Place], retry: bool, fresh: bool) -> dict[int, Cell]:
    kept = {}
    for place in places:
        cell = place.kept(folder, retry=retry, fresh=fresh)
        if cell is not None:
            kept[id(place)] = cell
    return kept


def _run(
    data: dict[str, Dataset],
    pickled: dict[str, bytes],
    missing: list[Place],
    measures: list[str],
    out: Path | None,
    n_jobs: int,
    time_limit: float | None,
) -> Generator[tuple[Place, Cell], None, None]:
    """Run cells, and give them as they come."""
    if not missing:
        return
    work = Path(tempfile.mkdtemp(prefix=".work-" if out else "plurilabel-", dir=out))
    try:
        units, where = _write_job(work, data, pickled, missing, measures)
        pool = Pool(work, joblib.effective_n_jobs(n_jobs), time_limit)
        with closing(pool.run(units)) as outcomes:
            for outcome in outcomes:
                place = where[outcome.unit.split, outcome.learner]
                yield place, {**place.known, **empty_cell(measures), **outcome.cell}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_job(
    work: Path,
    data: dict[str, Dataset],
    pickled: dict[str, bytes],
    missing: list[Place],
    measures: list[str],
) -> tuple[list[Unit], dict[tuple[int, int], Place]]:
    """Put into the folder what workers need; return their units, and the place of each cell."""
    write_json(work / "job.json", {"path": sys.path, "measures": measures})
    numbers = {name: number for number, name in enumerate(pickled)}
    for name, number in numbers.items():
        (work / f"learner{number}").write_bytes(pickled[name])
    for number, (name, one) in enumerate(data.items()):
        if any(place.dataset == name for place in missing):
            joblib.dump((one.X, one.Y), work / f"data{number}")
    together: dict[tuple[str, int, int], list[Place]] = {}
    for place in missing:
        split = (place.dataset, place.split.repeat, place.split.fold)
        together.setdefault(split, []).append(place)
    units: list[Unit] = []
    where: dict[tuple[int, int], Place] = {}
    for number, group in enumerate(together.values()):
        first = group[0]
        joblib.dump((first.split.train, first.split.test), work / f"split{number}")
        runs = tuple(numbers[place.learner] for place in group)
        units.append(Unit(list(data).index(first.dataset), number, first.known["seed"], runs))
        where |= {(number, numbers[place.learner]): place for place in group}
    return units, where
