"""A model that answers, explains and learns corrections: everything but HTTP."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from plurilabel._core.base import CUTS
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import safe_indexing, versions
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.scores import score_method
from plurilabel.learners import learner_text
from plurilabel.models import Model, ModelRows, load_model
from plurilabel.serve._corrections import Corrections
from plurilabel.serve._export import exported
from plurilabel.serve._ledger import Ledger
from plurilabel.serve._rows import BadInput, RowReader, checked_labels, plain_value, row_key
from plurilabel.serve._store import Store
from plurilabel.serve._training import Growing, Keeping, Refitting, Trained, Training
from plurilabel.serve._why import explained, finite, shared_features
from plurilabel.thresholds import PCut

_SCORES_AT_ONCE = 5_000_000  # rows times labels


@dataclass(frozen=True)
class Ask:
    """What is wanted about each row.

    Attributes
    ----------
    scores : bool
        Whether scores are wanted beside the labels.
    top : int or None
        Only this many labels, those with the highest scores.
    cut : float or None
        Labels with a score above it, instead of those that the model predicts.
    """

    scores: bool = False
    top: int | None = None
    cut: float | None = None


class Service:
    """A model in use: it predicts, explains, takes corrections and learns them.

    A learner that grows and forgets exactly (:class:`~plurilabel.MLkNN` and the other lazy ones)
    has learned a correction before it is acknowledged. Any other is fitted again in the
    background, if the data are given, while the model from before answers. Every answer has the
    version of the model that gave it: the number of the last correction that it has learned.

    A correction is acknowledged when it is on disk. A service that starts with the same model,
    data and store gives the same answers, bit for bit.

    Parameters
    ----------
    model : Model or fitted estimator
    data : path, Dataset, data frame or (X, Y), default=None
        The rows that the model was learned from, with their labels, as
        :meth:`Model.read <plurilabel.models.Model.read>` takes them.
    pool : path, Dataset or data frame, default=None
        Rows without labels, to be labelled by someone who looks at the page.
    store : path, default=":memory:"
        A file for the corrections. By default they are gone when the service is.
    name : str, default=None
        What the model is called.

    Examples
    --------
    >>> from plurilabel import MLkNN
    >>> from plurilabel.serve import Service
    >>> X, Y = [[0.0], [0.2], [5.0], [5.2]], [["sea"], ["sea"], ["sun"], ["sun"]]
    >>> service = Service(MLkNN(1).fit(X, Y))
    >>> service.predict([{"x0": 0.1}])
    {'version': 0, 'rows': [{'labels': ['sea']}]}
    >>> service.correct([{"features": {"x0": 0.1}, "labels": ["sun"]}])
    {'version': 1, 'applied': True, 'corrections': [{'id': 1, 'row': 5}]}
    >>> service.predict([{"x0": 0.1}])
    {'version': 1, 'rows': [{'labels': ['sun']}]}
    >>> service.undo(1)["version"]
    2
    >>> service.predict([{"x0": 0.1}])["rows"]
    [{'labels': ['sea']}]
    >>> service.close()
    """

    def __init__(
        self,
        model: Model | Any,
        *,
        data: Any = None,
        pool: Any = None,
        store: str | os.PathLike[str] = ":memory:",
        name: str | None = None,
        digest: str | None = None,
    ) -> None:
        self.model = model if isinstance(model, Model) else Model.of(model)
        self.name = name or repr(self.model).removeprefix("Model: ").partition(",")[0]
        self.reader = RowReader(self.model)
        self.remarks: list[str] = []
        self.places = {name: j for j, name in enumerate(self.model.label_names)}
        self.data = None if data is None else self._read_data(data)
        self.pool = [] if pool is None else self._read_pool(pool)
        self.training = self._training()
        self.method = _score_method(self.model.estimator)
        self.asked: dict[str, Any] = {}  # rows that were asked about, the latest last
        about = {"model": digest or digest_of_model(self.model), "rows": str(self.n_given)}
        self.corrections = Corrections(self.training, Store(store, about), self.remarks)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """A service of a model file.

        Parameters
        ----------
        path : str or path
            A ``.skops`` file.
        **options : dict
            As for the class.
        """
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        options.setdefault("name", Path(path).stem)
        return cls(load_model(path), digest=digest, **options)

    # what there is ------------------------------------------------------------------------------

    @property
    def n_given(self) -> int:
        """Rows of the training set before any correction."""
        return self.training.n_given

    @property
    def now(self) -> Trained:
        """The model that answers now."""
        return self.corrections.now

    @property
    def ledger(self) -> Ledger:
        """All corrections so far."""
        return self.corrections.ledger

    @property
    def store(self) -> Store:
        """Where they are kept."""
        return self.corrections.store

    @property
    def version(self) -> int:
        """Version of the model that answers now."""
        return self.now.version

    @property
    def cut(self) -> float:
        """The score above which the learner predicts a label, if nobody has set another."""
        cut = getattr(getattr(self.now.model.estimator, "strategy_", None), "cut_", None)
        return float(cut) if isinstance(cut, float) else CUTS.get(self.method or "", 0.5)

    @property
    def alone(self) -> bool:
        """Whether rows of different requests must not be answered together."""
        strategy = getattr(self.model.estimator, "strategy_", None)
        return isinstance(strategy, PCut) and strategy.cuts_ is None

    def _training(self) -> Training:
        if Growing.can(self.model):
            training = Growing(self.model, self.reader)
            self._check_same_rows(training)
            return training
        if self.data is not None and not getattr(self.model.learner, "single_output_", False):
            X, Y = self.data.X, self.data.Y
            return Refitting(self.model, self.reader, _as_dataset(X, Y))
        return Keeping(self.model, self.reader)

    def _read_data(self, data: Any) -> ModelRows:
        if isinstance(data, tuple):
            X, Y = data
            return ModelRows(self.model.read(X).X, Y, None, [])
        read = self.model.read(data, with_labels=True)
        self.remarks += read.remarks
        return read

    def _read_pool(self, pool: Any) -> list[Any]:
        read = self.model.read(pool)
        return self.reader.json_rows(read)

    def _check_same_rows(self, training: Growing) -> None:
        """Leave out data that are not what the learner has learned."""
        if self.data is None:
            return
        learner = training.learner
        X = self.model.encoded(self.data.X)
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        Y: Any = self.data.Y
        same = X.shape == learner.X_.shape and Y.shape == learner.Y_.shape
        if same:
            same = not (abs(X - learner.X_) > 1e-6 * (1 + abs(learner.X_).max())).sum()
        if not same:
            self.data = None
            self.remarks.append(
                "the data are not the rows that the model was learned from: rows are shown as "
                "the model has kept them"
            )

    def card(self) -> dict[str, Any]:
        """What the model is, for a reader."""
        now, ledger = self.now, self.ledger
        notes = _plain(self.model.notes)
        held_out = notes.get("held_out")
        measures = held_out.get("measures", {}) if isinstance(held_out, dict) else {}
        columns = [{"name": name, "kind": kind} for name, kind in self.reader.kinds.items()]
        return {
            "name": self.name,
            "version": now.version,
            "learner": learner_text(now.model.estimator),
            "kind": type(now.model.learner).__name__,
            "labels": list(self.model.label_names),
            "columns": columns,
            "texts": self.reader.texts_only,
            "sparse": self.model.sparse_features,
            "scores": self.method,
            "cut": self.cut,
            "learns": self.training.how,
            "rows": len(now.rows),
            "rows_given": self.n_given,
            "pool": len(self.pool),
            "corrections": {
                "stored": ledger.version,
                "in_force": sum(
                    e.undoes is None and not ledger.undone(e.id) for e in ledger.entries.values()
                ),
                "learned": now.version,
            },
            "measures": measures,
            "notes": notes,
            "saved_with": dict(self.model.versions),
            "runs_with": versions("fastapi", "uvicorn"),
            "remarks": list(self.remarks),
        }

    def example(self) -> Any:
        """A row as /predict takes it, from the training set if there is one."""
        if self.n_given:
            row = self.features_of(0)
            if row is not None:
                return row
        if self.pool:
            return self.pool[0]
        if self.reader.texts_only:
            return "some words"
        values = {"numbers": 1.0, "dates": "2024-05-17"}
        return {name: values.get(kind, "some words") for name, kind in self.reader.kinds.items()}

    # answers ------------------------------------------------------------------------------------

    def predict(self, rows: Any, ask: Ask | None = None) -> dict[str, Any]:
        """Answers about rows of JSON.

        Parameters
        ----------
        rows : list of dict, of lists of numbers, or of str
        ask : Ask, default=None
            What is wanted; by default the labels alone.

        Returns
        -------
        dict
            ``version``, and in ``rows`` for each row its ``labels`` and what else was wanted.
        """
        (answer,) = self.predict_many([(self.reader.quick_records(rows), ask or Ask())])
        if isinstance(answer, BadInput):
            raise answer
        return answer

    def predict_many(self, requests: Sequence[tuple[Any, Ask]]) -> list[Any]:
        """Answers to several requests at once; for each an answer, or the error that it gets.

        A request is checked rows of JSON, or rows that a table was read as.
        """
        together = [
            i for i, (records, _) in enumerate(requests) if self._goes_with_others(records)
        ]
        results: list[Any] = [None] * len(requests)
        if len(together) > 1 and not self.alone:
            given = [requests[i] for i in together]
            with suppress(ValueError, TypeError, OverflowError):  # one of them is to blame
                for i, answer in zip(together, self._predict_together(given)):
                    results[i] = answer
        for i, (records, ask) in enumerate(requests):
            if results[i] is None:
                results[i] = self._predict_one(records, ask)
        return results

    def _goes_with_others(self, records: Any) -> bool:
        return isinstance(records, list) and self.reader.independent(records)

    def _predict_together(self, requests: Sequence[tuple[Any, Ask]]) -> list[Any]:
        rows = self.reader.read_records([row for records, _ in requests for row in records])
        version, found = self._answers(rows, [ask for records, ask in requests for _ in records])
        sizes = [len(records) for records, _ in requests]
        results, end = [], 0
        for size, remarks in zip(sizes, self.reader.remarks(rows, sizes)):
            results.append(_answer(version, found[end : end + size], remarks))
            end += size
        return results

    def _predict_one(self, records: Any, ask: Ask) -> Any:
        rows = None
        try:
            n = len(records) if isinstance(records, list) else records.X.shape[0]
            rows = self.reader.read_records(records) if isinstance(records, list) else records
            version, found = self._answers(rows, [ask] * n)
            return _answer(version, found, self.reader.remarks(rows, [n])[0])
        except BadInput as error:
            return error
        except (ValueError, TypeError, OverflowError) as error:
            return self.explained_error(error, rows)

    def explained_error(self, error: Exception, rows: ModelRows | None) -> BadInput:
        """An error of a learner, in terms of rows and columns where that is possible."""
        if rows is not None and (named := self.reader.blamed(error, rows)) is not None:
            return named
        return BadInput(" ".join(str(error).split())[:500])

    def _answers(self, rows: ModelRows, asks: Sequence[Ask]) -> tuple[int, list[Any]]:
        now = self.now
        found: list[Any] = []
        n, q = len(asks), len(self.places)
        for block in row_blocks(n, q, _SCORES_AT_ONCE):
            X, these = safe_indexing(rows.X, block), asks[block]
            unknown = None if rows.unknown is None else rows.unknown[block]
            found += self._block(now.model, X, these, unknown)
        return now.version, found

    def _block(self, model: Model, X: Any, asks: Sequence[Ask], unknown: Any) -> list[Any]:
        names = model.label_names
        S = sets = None
        if any(ask.scores or ask.top is not None or ask.cut is not None for ask in asks):
            if self.method is None:
                raise BadInput("the model has no scores: leave out scores, top and cut")
            S = model.scores(X)
        if any(ask.top is None and ask.cut is None for ask in asks):
            sets = model.label_sets(X)
        found = []
        for i, ask in enumerate(asks):
            if unknown is not None and unknown[i]:
                found.append({"labels": [], "remark": "no known word: the model can say nothing"})
                continue
            answer: dict[str, Any] = {}
            best = None
            if ask.top is not None and S is not None:
                best = np.argsort(-S[i], kind="stable")[: ask.top]
            if ask.cut is not None and S is not None:
                among = np.arange(len(names)) if best is None else best
                answer["labels"] = [names[j] for j in among[S[i][among] > ask.cut].tolist()]
            elif best is not None:
                answer["labels"] = [names[j] for j in best]
            elif sets is not None:
                answer["labels"] = list(sets[i])
            if ask.scores and S is not None:
                at = range(len(names)) if best is None else best
                answer["scores"] = {names[j]: finite(S[i, j]) for j in at}
            found.append(answer)
        return found

    def remember(self, records: Sequence[Any], most: int = 500) -> None:
        """Keep rows that were asked about, for the queue of rows to label."""
        for record in records:
            key = row_key(record)
            self.asked.pop(key, None)
            self.asked[key] = record
        while len(self.asked) > most:
            with suppress(StopIteration, KeyError):  # another thread may have been here
                self.asked.pop(next(iter(self.asked)))

    # why ----------------------------------------------------------------------------------------

    def explain(self, rows: Any, *, labels: Sequence[str] | None = None, top: int = 8) -> Any:
        """What speaks for and against the labels of rows of JSON.

        Parameters
        ----------
        rows : list of dict, of lists of numbers, or of str
        labels : list of str, default=None
            Only about these; by default about all, the highest score first.
        top : int, default=8
            How many features or words of each label.

        Returns
        -------
        dict
            ``version``, and in ``rows`` for each row its ``labels`` with score, base and parts;
            for learners that ask neighbours also these, nearest first.
        """
        now = self.now
        wanted = None if labels is None else checked_labels(labels, self.places)
        read = self.reader.read_records(self.reader.records(rows))
        try:
            found = now.model.explanations(read.X)
        except BadInput:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise self.explained_error(error, read) from None
        told = [explained(why, self.model.label_names, wanted, top) for why in found]
        if self.training.how == "exact" and found and hasattr(found[0], "neighbors"):
            for one, why, shared in zip(told, found, shared_features(now, read.X, found)):
                rows_near = now.rows[why.neighbors].tolist()
                one["neighbors"] = [
                    {**self.row_card(row), "distance": finite(distance), "shares": names}
                    for row, distance, names in zip(rows_near, why.distances, shared)
                ]
        return {"version": now.version, "rows": told}

    # rows ---------------------------------------------------------------------------------------

    def features_of(self, row: int) -> Any:
        """A row of the training set as JSON; None if only the learner has it, in its own terms."""
        if row >= self.n_given:
            return self.ledger.features(row)
        if self.data is None:
            # what a pipeline does before the learner cannot be undone
            if not isinstance(self.training, Growing) or _has_steps(self.model):
                return None
            x: Any = self.training.learner.X_[[row]]
        elif self.data.frame is not None:
            names = [name for name in self.reader.kinds if name in self.data.frame.columns]
            values = self.data.frame[names].iloc[row].tolist()
            return {name: plain_value(value) for name, value in zip(names, values)}
        else:
            x = safe_indexing(self.data.X, [row])
        if self.reader.texts_only:
            return str(next(iter(x)))
        if hasattr(x, "iloc"):
            x = x.to_numpy()
        pairs = zip(self.reader.names, map(plain_value, dense(x).ravel().tolist()))
        return {name: v for name, v in pairs if v or not self.model.sparse_features}

    def labels_of(self, row: int) -> list[str]:
        """Labels of a row of the training set now."""
        return list(self.training.labels_of(self.ledger, row))

    def row_card(self, row: int) -> dict[str, Any]:
        """A row of the training set, for a reader."""
        return {
            "row": row,
            "features": self.features_of(row),
            "labels": self.labels_of(row),
            "corrected": self.ledger.labels(row) is not None,
        }

    # corrections --------------------------------------------------------------------------------

    def correct(self, corrections: Any) -> dict[str, Any]:
        """Take corrections; when this returns, they are on disk.

        Parameters
        ----------
        corrections : list of dict
            Each with the right ``labels``, by name, and either ``row``, the number of a row of
            the training set, or ``features``, a new row. A ``key`` of the client's own makes it
            safe to send a correction again.

        Returns
        -------
        dict
            ``version`` of the model that answers now, ``applied``: whether it has learned the
            corrections, and the ``id`` and ``row`` of each of the ``corrections``.
        """
        (done,) = self.correct_many([corrections])
        if isinstance(done, BadInput):
            raise done
        return done

    def undo(self, id: int) -> dict[str, Any]:
        """Take a correction back.

        Parameters
        ----------
        id : int
            As :meth:`correct` has returned it.

        Returns
        -------
        dict
            As that of :meth:`correct`.
        """
        (done,) = self.correct_many([id])
        if isinstance(done, BadInput):
            raise done
        return done

    def correct_many(self, requests: Sequence[Any]) -> list[Any]:
        """Several requests in one commit: lists of corrections, or numbers of those to undo."""
        return self.corrections.take(requests)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the model has learned all corrections; whether it has."""
        return self.corrections.settle(timeout)

    def history(self, most: int = 200) -> list[dict[str, Any]]:
        """The corrections, latest first."""
        return self.corrections.history(most)

    # out ----------------------------------------------------------------------------------------

    def export(self, format: str = "csv", *, all_rows: bool = False) -> bytes:
        """The corrected rows as a dataset, which ``plurilabel fit`` reads.

        Parameters
        ----------
        format : {"csv", "jsonl"}
        all_rows : bool, default=False
            All rows of the training set, with the labels that hold now.
        """
        ledger = self.ledger
        rows = [row for row in ledger.changed if all_rows or ledger.labels(row) is not None]
        if all_rows:
            rows = [r for r in range(self.n_given) if r not in ledger.changed] + rows
        features = [self.features_of(row) for row in rows]
        if any(one is None for one in features):
            raise BadInput(
                "the rows of the training set are not at hand as they were given: start the "
                "service with the data",
                status=409,
            )
        labels = [self.labels_of(row) for row in rows]
        return exported(self.model, list(self.reader.kinds), features, labels, format)

    def close(self) -> None:
        """Close the store; nothing is lost."""
        self.corrections.close()


def _answer(version: int, rows: list[Any], remarks: list[str]) -> dict[str, Any]:
    answer = {"version": version, "rows": rows}
    return {**answer, "remarks": remarks} if remarks else answer


def digest_of_model(model: Model) -> str:
    """What tells one model from another: of the scores' parts that a log depends on."""
    told = json.dumps(
        [learner_text(model.estimator), list(model.label_names), list(model.feature_names)]
    )
    return hashlib.sha256(told.encode()).hexdigest()


def _as_dataset(X: Any, Y: Any) -> Any:
    """Rows and labels with the two attributes that are needed of a dataset."""
    return Dataset(X, Y) if not hasattr(X, "iloc") and hasattr(X, "shape") else _Pair(X, Y)


@dataclass(frozen=True)
class _Pair:
    X: Any
    Y: Any


def _has_steps(model: Model) -> bool:
    """Whether something is done to rows before the learner sees them."""
    estimator = getattr(model.estimator, "best_estimator_", model.estimator)
    return hasattr(getattr(estimator, "estimator_", estimator), "steps")


def _score_method(estimator: Any) -> str | None:
    try:
        return score_method(estimator)
    except (AttributeError, TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Notes as JSON has them: what is not a number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return plain_value(value)
