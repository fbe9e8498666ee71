"""Every learner on every split of every dataset."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from numbers import Integral, Real
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, TypeAlias

import joblib

from plurilabel._core.compat import Interval, validate_parameter_constraints
from plurilabel._core.records import locked, write_json
from plurilabel.evaluation._compare._plan import Cell, Place, cell_path, make_plan, read_plan
from plurilabel.evaluation._compare._pool import run_on, run_units
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._compare._shared_search import is_searching
from plurilabel.evaluation._compare._worker import Unit, run_here

try:
    from joblib.externals import cloudpickle
except ImportError:  # since 1.6 joblib brings it as a package of its own
    import cloudpickle  # type: ignore[import-untyped]

CONSTRAINTS = {
    "repeats": [Interval(Integral, 1, None, closed="left")],
    "random_state": [Interval(Integral, 0, None, closed="left")],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
}

# called with the number of finished cells, their total, the last one, and seconds left
Progress: TypeAlias = Callable[[int, int, Cell, float | None], Any]


def compare(
    datasets: Any,
    learners: Any,
    *,
    cv: Any = "holdout",
    repeats: int = 1,
    measures: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    time_limit: float | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
    command: str | None = None,
    scheduler: Any = None,
    words: Any = None,
) -> Results:
    """Train and test every learner on every split of every dataset.

    Each dataset, learner, repeat and fold is a cell. A finished cell is written to ``out`` at
    once, complete or not at all. However a comparison was stopped, the same call with the same
    folder continues it, with the same results. If a learner fails, hangs or crashes, its cell
    says so, and the others continue.

    Parameters
    ----------
    datasets : names, paths, Dataset objects, pairs (X, Y); one, a list, or a dict by name
        X may be a table or texts. Read a file with ``io.read(path, labels=..., encode=False)``, so
        that words, categories and medians are learned in each fold.
    learners : estimators or text for :func:`make_learner`; one, a list, or a dict by name
        Anything with ``fit`` and ``predict``. Scores come from ``predict_proba``, else from
        ``decision_function``; a learner with neither gets the measures of label sets only.
    cv : "holdout", int, splitter or pairs of row numbers, default="holdout"
        "holdout" is the published split or, if there is none, a stratified one of two thirds and
        one third. A number means stratified folds, shuffled: repeat r is
        ``IterativeStratifiedKFold(cv, shuffle=True, random_state=random_state + r)``. Rows of one
        group (``Dataset.groups``) stay together, and rows in the order of time
        (``Dataset.ordered``) are tested by models that learned from earlier ones.
    repeats : int, default=1
        Number of repetitions, each with other folds and seeds.
    measures : sequence of str, optional
        Names of measures; by default all that need no setting, and those at 1, 3
        and 5.
    out : path, optional
        Folder for ``plan.json`` and ``cells/``, used by one process at a time; by default results
        are kept in memory only. Needs filelock (``pip install 'plurilabel[compare]'``).
    n_jobs : int or None, default=1
        Number of worker processes; -1 for one per processor. None runs everything in this process
        and saves the start of a worker, a second or two; but then nothing can be stopped at a
        time limit, and a learner that crashes takes this process with it.
    random_state : int, default=0
        Every ``random_state`` inside a learner that is None gets a seed derived from this, the
        dataset's name, the repeat and the fold.
    time_limit : float, optional
        Seconds that a cell may take in a worker process.
    retry : bool, default=False
        Whether to run cells again that failed, hung or crashed in an earlier call.
    fresh : bool, default=False
        Whether to run everything again. Otherwise it is an error if the folder has a cell of the
        same place with other data, parameters, rows, seeds, measures or version.
    progress : callable, optional
        Called after each cell with the number of finished cells, their total, the cell, and an
        estimate of the seconds left (None as long as there is no basis for one).
    command : str, optional
        How to repeat the comparison, for its report; by default this call.
    scheduler : distributed.Client, optional
        Run the cells on the cluster of this client instead of ``n_jobs`` processes here, one
        process in each thread of its workers. Cells of lazy learners on one split run together
        and are written together. The workers need the same version of plurilabel, and disk space
        for the data.
    words : transformer, default=None
        What turns a column of text into features, see :class:`~plurilabel.TableEncoder`.

    Returns
    -------
    Results

    Notes
    -----
    Each learner uses one thread of BLAS and OpenMP, so that results do not depend on ``n_jobs``,
    and times can be compared.

    Stratified folds are fair between learners. Where features say little, the figures themselves
    are somewhat too good: each test part has the label frequencies of its training part, as new
    rows have not. For a figure to expect on new rows, pass scikit-learn's ``KFold(5,
    shuffle=True)``.

    Before each learner a table is encoded by :class:`~plurilabel.TableEncoder`, as in
    :func:`plurilabel.models.train`: kinds of columns are those that all rows show, everything else
    is learned from the training rows. Learners that encode tables themselves get them as they
    are: :class:`~plurilabel.AutoClassifier` and pipelines with scikit-learn's encoders.

    Sparse labels with at most five million entries are passed to learners as an array, since most
    classifiers of scikit-learn accept nothing else.

    Lazy learners with the default index share their neighbour searches: on each split, one among
    the training rows and one for the test rows, for the largest k of all. The first learner pays;
    ``search_seconds`` in the others' cells is the time that they were spared.

    ``predict_seconds`` is the time for labels and scores together; ``peak_mb`` is the largest
    resident size of the process during the cell, including Python and its libraries.

    Examples
    --------
    >>> from plurilabel import BRkNN, MLkNN, datasets
    >>> from plurilabel.evaluation import compare
    >>> data = datasets.make_multilabel(100, random_state=0)
    >>> results = compare({"toy": data}, [MLkNN(5), BRkNN(5)], cv=2, measures=["ranking_loss"])
    >>> results
    Results: 1 dataset, 2 learners, 4 cells
    >>> results.means("ranking_loss").round(3)
    array([[0.098, 0.135]])
    """
    options = {"repeats": repeats, "random_state": random_state}
    how = (time_limit, progress, scheduler)
    limits = {"n_jobs": n_jobs, "time_limit": time_limit}
    validate_parameter_constraints(CONSTRAINTS, {**options, **limits}, caller_name="compare")
    if time_limit is not None and n_jobs is None:
        raise ValueError("time_limit needs worker processes, got n_jobs=None")
    if scheduler is not None and not all(hasattr(scheduler, m) for m in ("submit", "scatter")):
        got = f"{type(scheduler).__name__}: Client(address) makes one"
        raise TypeError(f"scheduler must be a distributed.Client, got {got}")
    plan, places = make_plan(
        datasets, learners, cv=cv, measures=measures, command=command, words=words, **options
    )
    if out is None:
        return Results(plan, _run(places, {}, None, n_jobs, *how).values())
    folder = Path(out)
    with _opened(folder):
        kept = {place: place.kept(folder, retry=retry, fresh=fresh) for place in places}
        write_json(folder / "plan.json", plan)
        cells = {place: cell for place, cell in kept.items() if cell is not None}
        cells = _run(places, cells, folder, n_jobs, *how)
    return Results(plan, cells.values(), folder)


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """Lock the folder, and remove the temporary files of a killed run."""
    with locked(folder):
        read_plan(folder)  # an error if this is a folder of something else
        for left in folder.glob(".work-*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in (*folder.glob(".*.tmp"), *folder.glob("cells/*/*/.*.tmp")):
            left.unlink(missing_ok=True)
        yield


def _run(
    places: list[Place],
    cells: dict[Place, Cell],
    out: Path | None,
    n_jobs: int | None,
    time_limit: float | None,
    progress: Progress | None,
    scheduler: Any = None,
) -> dict[Place, Cell]:
    """Run the cells that are missing, and write each to the folder when it is finished."""
    missing = [place for place in places if place not in cells]
    if scheduler is not None:
        n_jobs = max(1, sum(scheduler.nthreads().values()))
    estimate = _Estimate(cells.values(), missing, n_jobs)
    # the name tells others, who find the folder locked, which process is using it
    prefix = f".work-{os.getpid()}-" if out else "plurilabel-"
    with tempfile.TemporaryDirectory("", prefix, out, ignore_cleanup_errors=True) as work:
        units = _units(missing, None if n_jobs is None or scheduler is not None else work)
        if scheduler is not None:
            finished = run_on(scheduler, units, time_limit)
        elif n_jobs is None:
            finished = run_here(units)
        else:
            finished = run_units(Path(work), units, joblib.effective_n_jobs(n_jobs), time_limit)
        with closing(finished):
            for number, found in finished:
                cell = cells[missing[number]] = {**missing[number].known, **found}
                if out is not None:
                    write_json(cell_path(out, cell), cell)
                left = estimate.seconds_left(cell)
                if progress is not None:
                    progress(len(cells), len(places), cell, left)
    return cells


def _units(missing: list[Place], work: str | None) -> list[Unit]:
    """Learners that search neighbours on one split go together, to search once; others alone.

    With a folder, data lie in it: each worker reads them when it needs them.
    """
    sources: dict[int, Any] = {}
    pickled: dict[int, tuple[bytes, bool]] = {}
    units: dict[Any, Unit] = {}
    for number, place in enumerate(missing):
        data, learner = id(place.data), id(place.learner)
        if data not in sources:
            sources[data] = (place.data.X, place.data.Y)
            if work is not None:
                (sources[data],) = joblib.dump(sources[data], os.path.join(work, f"data{number}"))
        if learner not in pickled:
            pickled[learner] = _pickled(place), is_searching(place.learner)
        content, searching = pickled[learner]
        group = (id(place.split), None if searching else learner)
        if group not in units:
            seed, measures = place.known["seed"], list(place.known["scores"])
            units[group] = Unit(sources[data], *place.split[2:], seed, measures, {})
        units[group].learners[number] = content
    return list(units.values())


def _pickled(place: Place) -> bytes:
    # by value where a class or function stands in the script that is run, or in a notebook
    try:
        return cloudpickle.dumps(place.learner)
    except Exception as error:
        raise TypeError(
            f"learners[{place.known['learner']!r}] must be such that it can be sent to another "
            f"process, but it cannot be pickled: {error}"
        ) from None


class _Estimate:
    """Estimate of the remaining time.

    A cell takes as long as others of its dataset and learner, or else the mean of all. Time beside
    that of the learners (starts of workers, measures, time limits) is spread over the cells.
    """

    def __init__(self, kept: Iterable[Cell], missing: list[Place], n_jobs: int | None) -> None:
        self.processes = joblib.effective_n_jobs(n_jobs)
        self.start, self.ran, self.ran_seconds = 0.0, 0, 0.0
        self.left = Counter((one.known["dataset"], one.known["learner"]) for one in missing)
        self.costs: dict[tuple[str, str], list[float]] = {}
        for cell in kept:
            self._note(cell)

    def _note(self, cell: Cell) -> float:
        if cell["status"] != "ok":
            return 0.0
        seconds = cell["fit_seconds"] + cell["predict_seconds"]
        self.costs.setdefault((cell["dataset"], cell["learner"]), []).append(seconds)
        return seconds

    def seconds_left(self, cell: Cell) -> float | None:
        """Add a finished cell; None as long as there is no basis for an estimate."""
        self.left[cell["dataset"], cell["learner"]] -= 1
        self.ran += 1
        self.ran_seconds += self._note(cell)
        if self.ran == 1:  # the start of the first worker does not count
            self.start = perf_counter() - self.ran_seconds
        if not self.costs:
            return None
        means = {key: fmean(costs) for key, costs in self.costs.items()}
        usual = fmean(means.values())
        passed = (perf_counter() - self.start) * self.processes
        beside = max(0.0, passed - self.ran_seconds) / self.ran
        work = sum(n * (means.get(key, usual) + beside) for key, n in self.left.items())
        return work / self.processes
