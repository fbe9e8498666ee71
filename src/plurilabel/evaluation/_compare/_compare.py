"""Train and test every learner on every split of every dataset."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TypeAlias

import joblib

from plurilabel._core.compat import AtLeastOne, Interval, Natural, Positive, check_arguments
from plurilabel._core.records import locked, write_json
from plurilabel.evaluation._compare._plan import Cell, Place, cell_path, make_plan, read_plan
from plurilabel.evaluation._compare._pool import run_on, run_units
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._compare._shared_search import is_searching
from plurilabel.evaluation._compare._worker import Unit, run_here

try:
    from joblib.externals import cloudpickle
except ImportError:  # since joblib 1.6 it is a separate package
    import cloudpickle  # type: ignore[import-untyped]

_BACKWARDS = Interval(Integral, None, -1, closed="right")  # -1 is all processors
# called with the number of finished cells, their total, the last cell, and seconds left
Progress: TypeAlias = Callable[[int, int, Cell, float | None], Any]


def compare(
    datasets: Any,
    learners: Any,
    *,
    cv: Any = "holdout",
    repeats: AtLeastOne = 1,
    measures: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: AtLeastOne | Annotated[int, _BACKWARDS] | None = 1,
    random_state: Natural = 0,
    time_limit: Positive | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
    command: str | None = None,
    scheduler: Any = None,
    words: Any = None,
) -> Results:
    """Train and test every learner on every split of every dataset.

    Each combination of dataset, learner, repeat and fold is a cell. If a learner fails, hangs or
    crashes, its cell holds the error and the others continue. With ``out``, each finished cell is
    written to disk at once, and the same call resumes a comparison that was interrupted.

    Parameters
    ----------
    datasets : names, paths, Dataset objects, pairs (X, Y); one, a list, or a dict by name
        X may be a table or texts. Read a file with ``io.read(path, labels=..., encode=False)``, so
        that words, categories and medians are learned in each fold.
    learners : estimators or text for :func:`make_learner`; one, a list, or a dict by name
        Anything with ``fit`` and ``predict``. Scores come from ``predict_proba`` or
        ``decision_function``; without either, only measures of label sets are computed.
    cv : "holdout", int, splitter or pairs of row indices, default="holdout"
        "holdout" is the published split, or a stratified one of two thirds and one third. A number
        is one of stratified, shuffled folds: repeat r is
        ``IterativeStratifiedKFold(cv, shuffle=True, random_state=random_state + r)``. Groups
        (``Dataset.groups``) stay together, and rows in temporal order (``Dataset.ordered``) are
        tested by models trained on earlier rows.
    repeats : int, default=1
        Number of repetitions, each with other folds and seeds.
    measures : sequence of str, optional
        Names of measures; by default those without parameters and the @k measures for k = 1, 3, 5.
    out : path, optional
        Folder for ``plan.json`` and ``cells/``, used by one process at a time; by default results
        are kept in memory only. Needs filelock (``pip install 'plurilabel[compare]'``).
    n_jobs : int or None, default=1
        Number of worker processes; -1 for one per processor. None runs everything in this process,
        which saves a second or two, but then there is no time limit, and a learner that crashes
        takes this process with it.
    random_state : int, default=0
        Every ``random_state`` of a learner that is None is set to a seed derived from this number,
        the name of the dataset, the repeat and the fold.
    time_limit : float, optional
        Maximum seconds for a cell, in a worker process.
    retry : bool, default=False
        Whether to run cells again that failed, hung or crashed in an earlier call.
    fresh : bool, default=False
        Whether to run everything again. By default it is an error if the folder has the same cell
        for other data, parameters, rows, seeds, measures or versions.
    progress : callable, optional
        Called after each cell with the cells done, their total, the cell, and the seconds left.
    command : str, optional
        How to repeat the comparison, for its report; by default this call.
    scheduler : distributed.Client, optional
        Run the cells on the cluster of this client, one process per thread of its workers, instead
        of ``n_jobs`` processes here. The workers need the same version of plurilabel, and disk
        space for the data.
    words : transformer, default=None
        Turns a column of text into features, see :class:`~plurilabel.TableEncoder`.

    Notes
    -----
    Each learner uses one BLAS and OpenMP thread: results do not depend on ``n_jobs``.

    If the features carry little information, stratified folds are somewhat optimistic, because
    each test part has the label frequencies of its training part. For the performance to expect on
    new rows, pass scikit-learn's ``KFold(5, shuffle=True)``.

    Tables are encoded by :class:`~plurilabel.TableEncoder`, as in
    :func:`plurilabel.models.train`: the kinds of columns are determined from all rows, everything
    else is learned from the training rows. Learners that encode tables themselves, such as
    :class:`~plurilabel.AutoClassifier`, get them unchanged. Sparse labels of up to five million
    entries are passed as an array, since most scikit-learn classifiers accept nothing else.

    Lazy learners with the default index share their neighbor searches: one search among the
    training rows and one for the test rows of each split, for the largest k. The time of the first
    learner includes the search; ``search_seconds`` in the cells of the others is the time saved.

    ``predict_seconds`` is the time for labels and scores together; ``peak_mb`` is the largest
    resident size of the process during the cell, including Python and its libraries.

    Examples
    --------
    >>> from plurilabel import BRkNN, MLkNN, datasets
    >>> from plurilabel.evaluation import compare
    >>> data = datasets.make_multilabel(100, random_state=0)
    >>> results = compare(
    ...     {"toy": data}, [MLkNN(5), BRkNN(5)], cv=2, measures=["ranking_loss"], n_jobs=None)
    >>> results
    Results: 1 dataset, 2 learners, 4 cells
    >>> results.means("ranking_loss").round(3)
    array([[0.098, 0.135]])
    """
    check_arguments(compare, locals())
    options = {"repeats": repeats, "random_state": random_state}
    if time_limit is not None and n_jobs is None:
        raise ValueError("time_limit needs worker processes, got n_jobs=None")
    if scheduler is not None and not all(hasattr(scheduler, m) for m in ("submit", "scatter")):
        got = f"{type(scheduler).__name__}; create one with Client(address)"
        raise TypeError(f"scheduler must be a distributed.Client, got {got}")
    plan, places = make_plan(
        datasets, learners, cv=cv, measures=measures, command=command, words=words, **options
    )
    run = (n_jobs, time_limit, progress, scheduler)
    if out is None:
        return Results(plan, _run(places, {}, None, *run).values())
    folder = Path(out)
    with _opened(folder):
        kept = {place: place.kept(folder, retry=retry, fresh=fresh) for place in places}
        write_json(folder / "plan.json", plan)
        cells = {place: cell for place, cell in kept.items() if cell is not None}
        cells = _run(places, cells, folder, *run)
    return Results(plan, cells.values(), folder)


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """Lock the folder, and remove the temporary files of killed runs."""
    with locked(folder):
        read_plan(folder)  # raises an error if the folder belongs to something else
        for left in folder.glob(".work-*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in (*folder.glob(".*.tmp"), *folder.glob("cells/*/*/.*.tmp")):
            left.unlink(missing_ok=True)
        yield


def _run(
    places: list[Place], cells: dict[Place, Cell], out: Path | None, n_jobs: int | None,
    time_limit: float | None, progress: Progress | None, scheduler: Any,
) -> dict[Place, Cell]:  # fmt: skip
    """Run the missing cells, and write each to the folder when it is finished."""
    missing = [place for place in places if place not in cells]
    start, before = perf_counter(), len(cells)
    # the name tells other processes who is using the folder
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
                if progress is not None:
                    each = (perf_counter() - start) / (len(cells) - before)
                    progress(len(cells), len(places), cell, each * (len(places) - len(cells)))
    return cells


def _units(missing: list[Place], work: str | None) -> list[Unit]:
    """Group the learners that share the searches of a split; the others are units of their own."""
    # With a folder, the data are written to it, and read by each worker that needs them.
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
            try:  # classes and functions of a script or a notebook are pickled by value
                content = cloudpickle.dumps(place.learner)
            except Exception as error:
                name = place.known["learner"]
                problem = f"learners[{name!r}] must be picklable, got an error: {error}"
                raise TypeError(problem) from None
            pickled[learner] = content, is_searching(place.learner)
        content, searching = pickled[learner]
        group = (id(place.split), None if searching else learner)
        if group not in units:
            seed, measures = place.known["seed"], list(place.known["scores"])
            name = "{dataset} {learner} fold {fold}".format(**place.known)
            units[group] = Unit(sources[data], *place.split[2:], seed, measures, name, {})
        units[group].learners[number] = content
    return list(units.values())
