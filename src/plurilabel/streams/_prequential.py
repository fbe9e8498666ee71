"""Test-then-train evaluation: every row is predicted before it is learned."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import re
import shutil
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from math import nan
from numbers import Integral, Real
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from plurilabel._core.blocks import is_missing
from plurilabel._core.compat import Interval, validate_parameter_constraints, versions
from plurilabel._core.keys import NoKey, key_of
from plurilabel._core.records import digest_of, locked, plain, write_atomic, write_json
from plurilabel._core.words import distinct_names
from plurilabel.learners import learner_text
from plurilabel.metrics import RunningMeasures, get_measure
from plurilabel.metrics.shared import check_measures
from plurilabel.streams import _stream_results as recorded
from plurilabel.streams._adapters import ArrayLearner, RegressorLearner
from plurilabel.streams._spec import make_stream_learners
from plurilabel.streams._stream import Row, Stream, as_stream
from plurilabel.streams._stream_results import StreamResults

Progress: TypeAlias = Callable[[StreamResults], Any]
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
CONSTRAINTS = {
    "window": [_AT_LEAST_ONE, None],
    "fading": [Interval(Real, 0, 1, closed="neither"), None],
    "every": [_AT_LEAST_ONE],
    "delay": [Interval(Integral, 0, None, closed="left")],
    "max_rows": [_AT_LEAST_ONE, None],
    "checkpoint": [_AT_LEAST_ONE],
}

DIFFERENCES = {
    "stream": "another stream",
    "drifts": "other drifts",
    "learners": "other learners",
    "protocol": "other measures or settings",
    "propensities": "other propensities",
    "versions": "another version of plurilabel",
}


def prequential(
    stream: Any,
    learners: Any,
    measures: Sequence[str] | str | None = None,
    *,
    window: int | None = 1000,
    fading: float | None = 0.995,
    every: int = 100,
    delay: int = 0,
    max_rows: int | None = None,
    propensities: Mapping[Hashable, float] | None = None,
    out: str | os.PathLike[str] | None = None,
    checkpoint: int = 10_000,
    fresh: bool = False,
    progress: Progress | None = None,
    command: str | None = None,
) -> StreamResults:
    """Evaluate learners on a stream: each row is predicted first and then learned.

    All learners process the stream together, in one pass. Unknown labels of a row (absent, None or
    NaN) are neither evaluated nor learned; new labels may appear at any time.

    Parameters
    ----------
    stream : Stream, Dataset, pair (X, Y), or iterable of pairs of dicts
    learners : learners or text for :func:`make_stream_learners`; one, a list, or a dict by name
        Anything with river's ``learn_one(x, y)`` and ``predict_one(x)``; they are copied. Scores
        come from ``predict_proba_one(x)``; without it, only measures of label sets are computed. A
        method ``labels_of(probabilities)``, if there is one, saves a second prediction. A
        scikit-learn classifier with ``partial_fit`` is wrapped in :class:`ArrayLearner`, a
        multi-target regressor of river in :class:`RegressorLearner`.
    measures : sequence of str, optional
        Names of measures; by default all that need no parameter, and the @k measures for k = 1, 3
        and 5.
    window, fading, propensities :
        As for :class:`~plurilabel.metrics.RunningMeasures`.
    every : int, default=100
        Number of rows between two readings of the measures; there is one more at the end.
    delay : int, default=0
        Number of rows after which the labels of a row arrive and it is learned. Predictions are
        evaluated immediately, so that curves and drifts are aligned.
    max_rows : int, optional
        Maximum number of rows to read.
    out : path, optional
        Folder for the results. The same call with the same folder continues an interrupted run.
        Needs filelock (``pip install 'plurilabel[compare]'``).
    checkpoint : int, default=10000
        Number of rows after which results and learners are written to ``out`` and the learners'
        sizes are determined, rounded up to a multiple of ``every``.
    fresh : bool, default=False
        Whether to start again; otherwise it is an error if the folder contains another run.
    progress : callable, optional
        Called with the results so far after each reading; see :class:`LivePlot`.
    command : str, optional
        The command that repeats the run, for the report.

    Notes
    -----
    To continue a run, the stream is read from the start; rows up to the last checkpoint are
    skipped, and some of them are verified. Results equal those of an uninterrupted run, except for
    times and sizes. If a learner cannot be pickled, the run starts again. The checkpoint is a
    pickle, which can execute code when loaded: only continue runs in folders that you trust. It is
    removed at the end of the stream.

    If a learner fails, the others continue without it.

    Examples
    --------
    >>> from plurilabel.streams import LabelShares, NoChange, RandomTreeStream, prequential
    >>> stream = RandomTreeStream(2000, drift_at=[1000])
    >>> results = prequential(
    ...     stream, [NoChange(), LabelShares()], ["hamming_loss", "f1"], window=500)
    >>> results
    StreamResults: 2 learners, 2,000 rows, 1 drift
    >>> {name: round(value, 2) for name, value in results.final("hamming_loss").items()}
    {'NoChange': 0.47, 'LabelShares': 0.39}
    """
    options = {
        "window": window, "fading": fading, "every": every, "delay": delay, "max_rows": max_rows,
        "checkpoint": checkpoint,
    }  # fmt: skip
    validate_parameter_constraints(CONSTRAINTS, options, caller_name="prequential")
    names = check_measures(measures)
    source = as_stream(stream)
    table = named_learners(learners)
    kept = {"window": window, "fading": fading, "propensities": propensities}
    runs = {name: _Run(one, RunningMeasures(names, **kept)) for name, one in table.items()}  # type: ignore[arg-type]
    plan = _plan(source, table, names, options, propensities, command)
    evaluation = _Evaluation(source, runs, plan, None if out is None else Path(out))
    with nullcontext() if evaluation.folder is None else locked(evaluation.folder, "run"):
        if evaluation.folder is not None and evaluation.resume(fresh=fresh):
            return StreamResults.open(evaluation.folder)
        return evaluation.run(progress)


def named_learners(learners: Any) -> dict[str, Any]:
    """Copies of the learners by name, each with ``learn_one``."""
    if isinstance(learners, str):
        table = make_stream_learners(learners)
    elif isinstance(learners, Mapping):
        table = {str(name): one for name, one in learners.items()}
    else:
        several = learners if isinstance(learners, list | tuple) else [learners]
        names = distinct_names(list(map(_short_name, several)), list(map(learner_text, several)))
        table = dict(zip(names, several))
    if not table:
        raise ValueError("there must be at least one learner, got none")
    return {name: _row_learner(name, one) for name, one in table.items()}


def _short_name(learner: Any) -> str:
    if isinstance(learner, str):
        return learner
    if isinstance(steps := getattr(learner, "steps", None), dict):  # a pipeline of river
        return " | ".join(map(str, steps))
    if isinstance(learner, ArrayLearner | RegressorLearner):
        learner = learner.estimator if isinstance(learner, ArrayLearner) else learner.regressor
    return type(learner).__name__


def _row_learner(name: str, given: Any) -> Any:
    """A copy of a learner, wrapped in an adapter unless it has river's interface."""
    if isinstance(given, str):
        (given,) = make_stream_learners(given).values()
    if isinstance(given, type):
        raise TypeError(f"learners must be instances such as {given.__name__}(), got the class")
    learner = copy.deepcopy(given)
    river, steps = sys.modules.get("river.base"), getattr(learner, "steps", None)
    last = [*steps.values()][-1] if isinstance(steps, dict) and steps else learner
    if river is not None and isinstance(last, river.MultiTargetRegressor):
        return RegressorLearner(learner)
    if hasattr(learner, "learn_one") and hasattr(learner, "predict_one"):
        return learner
    if hasattr(learner, "partial_fit") and hasattr(learner, "predict"):
        return ArrayLearner(learner)
    raise TypeError(
        f"learners[{name!r}] must have learn_one and predict_one, or partial_fit and predict; "
        f"got {type(learner).__name__}"
    )


def _plan(
    stream: Stream, learners: Mapping[str, Any], measures: Sequence[str],
    options: Mapping[str, Any], propensities: Any, command: str | None,
) -> dict[str, Any]:  # fmt: skip
    address = re.compile(r" at 0x[0-9a-fA-F]+")
    made_by = versions("river")
    plan = {
        "format": recorded.FORMAT,
        "what": "stream",
        "stream": plain(stream.made_of()),
        "name": stream.name,
        "drifts": [list(drift) for drift in stream.drifts],
        "learners": {name: address.sub("", learner_text(one)) for name, one in learners.items()},
        "protocol": {**plain(options), "measures": list(measures)},
        "propensities": plain(propensities),
    }
    keys = [_key(one) for one in learners.values()]
    more = {"versions": made_by, "command": command, "is_known": None not in keys}
    return {**plan, **more, "key": digest_of(plan, made_by["plurilabel"], keys)}


def _key(learner: Any) -> str | None:
    """Key of a learner's parameters and state; None if it has none."""
    try:
        return key_of(learner) + key_of(learner, fitted=True)
    except NoKey:
        return None


class _Run:
    """One learner, its running measures and its time."""

    def __init__(self, learner: Any, measures: RunningMeasures) -> None:
        self.learner, self.measures = learner, measures
        self.seconds, self.error = 0.0, ""
        kinds = {get_measure(name).kind for name in measures.measures}
        self.wants_labels = "labels" in kinds
        inner, methods = learner, ["predict_proba_one"]
        if isinstance(learner, ArrayLearner):
            inner, methods = learner.estimator, ["predict_proba", "decision_function"]
        self.wants_scores = "scores" in kinds and any(hasattr(inner, name) for name in methods)

    def test(self, x: dict[Hashable, Any], y: dict[Hashable, Any]) -> None:
        start = perf_counter()
        scores, probabilities = self._scores(x)
        labels = self._labels(x, probabilities) if self.wants_labels else None
        self.seconds += perf_counter() - start
        if self.wants_labels and not isinstance(labels, Mapping):
            raise TypeError(f"predict_one must return a dict of labels, got {labels!r}")
        if probabilities is not None:
            scores = {label: _present(p) for label, p in probabilities.items()}
        self.measures.update(y, scores, labels)

    def _scores(self, x: dict[Hashable, Any]) -> tuple[Any, Any]:
        """Scores, or probabilities to derive them from; the other is None."""
        if not self.wants_scores:
            return None, None
        if isinstance(self.learner, ArrayLearner):
            return self.learner.scores_one(x), None
        try:
            return None, self.learner.predict_proba_one(dict(x))
        except NotImplementedError:
            self.wants_scores = False
            return None, None

    def _labels(self, x: dict[Hashable, Any], probabilities: Any) -> Any:
        """Labels, derived from the probabilities if possible."""
        if probabilities is not None and hasattr(self.learner, "labels_of"):
            return self.learner.labels_of(probabilities)
        river = sys.modules.get("river.base")
        own = river and river.MultiLabelClassifier.predict_one  # the most probable labels
        if probabilities is not None and own and type(self.learner).predict_one is own:
            return {l: max(p, key=p.get) for l, p in probabilities.items() if p}
        return self.learner.predict_one(dict(x))

    def learn(self, x: dict[Hashable, Any], y: dict[Hashable, Any]) -> None:
        start = perf_counter()
        self.learner.learn_one(dict(x), dict(y))
        self.seconds += perf_counter() - start

    def size(self) -> float:
        """Size of the pickled learner in bytes; NaN if it cannot be pickled."""
        try:
            return float(len(pickle.dumps(self.learner)))
        except Exception:  # anything may be inside a learner that cannot be pickled
            return nan


def _present(probabilities: Any) -> float:
    """The probability of True; 0 if it is missing."""
    if not isinstance(probabilities, Mapping):
        raise TypeError(
            "predict_proba_one must return a dict from labels to probabilities such as "
            f"{{True: 0.7, False: 0.3}}, got {probabilities!r} for one"
        )
    return probabilities.get(True, 0.0)


class _Evaluation:
    """All learners, the rows whose labels are delayed, and the readings."""

    def __init__(
        self, stream: Stream, runs: dict[str, _Run], plan: dict[str, Any], folder: Path | None
    ) -> None:
        self.stream, self.runs, self.plan, self.folder = stream, runs, plan, folder
        self.protocol = plan["protocol"]
        self.kinds = recorded.kinds_of(self.protocol)
        every = self.protocol["every"]
        self.checkpoint = -(-self.protocol["checkpoint"] // every) * every
        self.row, self.digest, self.n_saved = 0, b"", 0  # n_saved: readings on disk
        self.waiting: deque[Row] = deque()
        measures = self.protocol["measures"]
        self.readings = recorded.empty_readings(self.runs, measures, self.kinds)

    def run(self, progress: Progress | None) -> StreamResults:
        every = self.protocol["every"]
        for x, y in self._rows():
            self._take(x, y)
            if self.row % every == 0:
                self._note(x, y)
                self._read(with_size=self.row % self.checkpoint == 0)
                if progress is not None:
                    progress(self._results())
                if self.row % self.checkpoint == 0 and self.folder is not None:
                    self._save(self.folder)
        if self.row == 0:
            raise ValueError("stream must have at least one row, got none")
        if self.row % every:
            self._read(with_size=True)
        elif self.row % self.checkpoint:  # the last reading has no sizes
            for name, run in self.runs.items():
                if not run.error:
                    self.readings["learners"][name]["bytes"][-1] = run.size()
        if self.folder is not None:
            if self.n_saved < len(self.readings["rows"]):
                self._save_readings(self.folder)
            end = {"rows": self.row, "errors": self._errors()}
            write_json(self.folder / "finished.json", end)
            (self.folder / "checkpoint.pickle").unlink(missing_ok=True)
        results = self._results(is_finished=True)
        if progress is not None:
            progress(results)
        return results

    def _rows(self) -> Iterator[Row]:
        """The remaining rows; the rows before must be those that were learned."""
        done, expected = self.row, self.digest
        self.row, self.digest = 0, b""
        most = self.protocol["max_rows"]
        for x, y in self.stream:
            if most is not None and self.row >= most:
                return
            self.row += 1
            if self.row > done:
                yield x, self._known(y)
                continue
            if self.row % self.protocol["every"] == 0:
                self._note(x, self._known(y))
            if self.row == done and self.digest != expected:
                break
        if self.row < done or (self.row == done and self.digest != expected):
            raise ValueError(
                f"the first {done:,} rows of the stream differ from those of the run in "
                f"{self.folder}; choose another folder, or fresh=True"
            )

    def _known(self, y: dict[Hashable, Any]) -> dict[Hashable, bool]:
        """Labels other than missing ones."""
        known = {label: value for label, value in y.items() if not is_missing(value)}
        for label, value in known.items():
            if value != 0 and value != 1:
                row = f"row {self.row} of the stream"
                raise ValueError(f"{row} must have labels 0 and 1, got {value!r} for {label!r}")
        return {label: bool(value) for label, value in known.items()}

    def _take(self, x: dict[Hashable, Any], y: dict[Hashable, Any]) -> None:
        """Test all learners on a row, then let them learn the row whose labels arrive."""
        self.waiting.append((x, y))
        arrived = self.waiting.popleft() if len(self.waiting) > self.protocol["delay"] else None
        for run in self.runs.values():
            if run.error:
                continue
            try:
                run.test(x, y)
                if arrived is not None and arrived[1]:
                    run.learn(*arrived)
            except Exception as error:
                text = " ".join(str(error).split())
                run.error = f"row {self.row}: {type(error).__name__}: {text}"

    def _note(self, x: dict[Hashable, Any], y: dict[Hashable, Any]) -> None:
        """Add a row to the digest of the rows so far."""
        text = repr((x, y)).encode(errors="surrogatepass")
        self.digest = hashlib.blake2b(self.digest + text, digest_size=16).digest()

    def _read(self, *, with_size: bool) -> None:
        nothing = dict.fromkeys(self.protocol["measures"], nan)
        self.readings["rows"].append(self.row)
        for name, run in self.runs.items():
            values: dict[Any, Any] = {} if run.error else run.measures.read()
            found = self.readings["learners"][name]
            for kind in self.kinds:
                for measure, value in values.get(kind, nothing).items():
                    found[kind][measure].append(value)
            found["seconds"].append(nan if run.error else run.seconds)
            found["bytes"].append(run.size() if with_size and not run.error else nan)

    def _results(self, *, is_finished: bool = False) -> StreamResults:
        end: dict[str, Any] = {"errors": self._errors(), "is_finished": is_finished}
        return StreamResults(self.plan, self.readings, folder=self.folder, **end)

    def _errors(self) -> dict[str, str]:
        return {name: run.error for name, run in self.runs.items() if run.error}

    # files ------------------------------------------------------------------------------------

    def _save(self, folder: Path) -> None:
        """Save the readings, then the state from which to continue."""
        state = (self.plan["key"], self.row, self.digest, self.waiting, self.runs)
        try:
            content = pickle.dumps(state)
        except Exception:  # anything may be inside a learner that cannot be pickled
            return
        self._save_readings(folder)
        with write_atomic(folder / "checkpoint.pickle") as stream:
            stream.write(content)

    def _save_readings(self, folder: Path) -> None:
        new = plain(recorded.as_lists(self.readings, self.n_saved))
        write_json(folder / "readings" / f"{self.row:012d}.json", new)
        self.n_saved = len(self.readings["rows"])

    def resume(self, *, fresh: bool) -> bool:
        """Return whether the run in the folder is finished; otherwise load its checkpoint."""
        folder = self.folder
        assert folder is not None
        plan = recorded.read_plan(folder)
        # learners that cannot be identified start again
        same = plan is not None and plan["key"] == self.plan["key"]
        if (fresh or (same and not self.plan["is_known"])) and plan is not None:
            shutil.rmtree(folder / "readings", ignore_errors=True)
            for name in ("finished.json", "checkpoint.pickle", "plan.json"):
                (folder / name).unlink(missing_ok=True)
            plan = None
        for left in (*folder.glob(".*.tmp"), *folder.glob("readings/.*.tmp")):
            left.unlink(missing_ok=True)
        if plan is None:
            write_json(folder / "plan.json", self.plan)
        elif plan["key"] != self.plan["key"]:
            words = (w for field, w in DIFFERENCES.items() if plan.get(field) != self.plan[field])
            raise ValueError(
                f"{folder} contains a run with {next(words, 'other learners')}; choose another "
                "folder, or replace it with fresh=True"
            )
        if (folder / "finished.json").exists():
            return True
        if (folder / "checkpoint.pickle").exists():
            state = pickle.loads((folder / "checkpoint.pickle").read_bytes())
            key, self.row, self.digest, self.waiting, self.runs = state
            if key != self.plan["key"]:
                raise ValueError(f"checkpoint.pickle in {folder} belongs to another run")
        for path in (folder / "readings").glob("[0-9]*.json"):
            if int(path.stem) > self.row:  # written just before the run was stopped
                path.unlink()
        self.readings, _ = recorded.read_parts(folder, self.plan)
        self.n_saved = len(self.readings["rows"])
        return False
