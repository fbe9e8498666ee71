"""A model that predicts, explains and learns corrections, without HTTP."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import safe_indexing, versions
from plurilabel._core.keys import key_or_none
from plurilabel._core.records import digest_of
from plurilabel._core.scores import score_method
from plurilabel.learners import learner_text
from plurilabel.models import Model, ModelRows, load_model
from plurilabel.serve import _answers as answers
from plurilabel.serve._answers import Ask, finite
from plurilabel.serve._corrections import Corrections
from plurilabel.serve._ledger import Ledger
from plurilabel.serve._row_reader import BadInput, RowReader, checked_labels, json_value
from plurilabel.serve._store import Store
from plurilabel.serve._training import Growing, Refitting, Trained, Training
from plurilabel.thresholds import PCut

_SCORES_AT_ONCE = 5_000_000  # rows times labels


class Service:
    """A model that predicts, explains, takes corrections and learns them.

    A learner that supports exact updates (:class:`~plurilabel.MLkNN` and the other lazy learners)
    has learned a correction before it is acknowledged. Other learners are refitted in the
    background, if the data are given, while the previous model keeps serving. Every response
    carries the version of the model: the number of the last correction that it has learned.

    A correction is acknowledged once it is on disk. A service that starts with the same model,
    data and store gives the same predictions, bit for bit.

    Parameters
    ----------
    model : Model or fitted estimator
    data : path, Dataset, data frame or (X, Y), default=None
        The training set of the model, in any form that
        :meth:`Model.read <plurilabel.models.Model.read>` accepts.
    store : path, default=":memory:"
        A file for the corrections. By default they are lost when the service is closed.
    name : str, default=None
        Name of the model.
    digest : str, default=None
        Identifies the model in the store; by default a hash of learner, labels and features.

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
        self.training = self._training()
        self.n_given = self.training.n_given  # training rows before any correction
        self.method: str | None = None
        with suppress(AttributeError, TypeError, ValueError):
            self.method = score_method(self.model.estimator)
        about = {"model": digest or _digest(self.model), "rows": str(self.n_given)}
        self.store = Store(store, about)
        self.corrections = Corrections(self.training, self.store, self.remarks)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Create a service from a ``.skops`` file; the options are the parameters of the class."""
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        options.setdefault("name", Path(path).stem)
        return cls(load_model(path), digest=digest, **options)

    @property
    def now(self) -> Trained:
        """The current model."""
        return self.corrections.now

    @property
    def ledger(self) -> Ledger:
        """All corrections so far."""
        return self.corrections.ledger

    @property
    def version(self) -> int:
        """Version of the current model."""
        return self.now.version

    @property
    def alone(self) -> bool:
        """Whether the rows of a request must be predicted without those of other requests."""
        strategy = getattr(self.model.estimator, "strategy_", None)
        return isinstance(strategy, PCut) and strategy.cuts_ is None

    def _training(self) -> Training:
        if Growing.can(self.model):
            self._check_same_rows()
            return Growing(self.model, self.reader)
        if self.data is not None and not getattr(self.model.learner, "single_output_", False):
            return Refitting(self.model, self.reader, self.data.X, self.data.Y)
        return Training(self.model, self.reader)

    def _read_data(self, data: Any) -> ModelRows:
        if isinstance(data, tuple):
            X, Y = data
            return ModelRows(self.model.read(X).X, Y, None, [])
        read = self.model.read(data, with_labels=True)
        self.remarks += read.remarks
        return read

    def _check_same_rows(self) -> None:
        """Ignore data that differ from the training set of the learner."""
        if self.data is None:
            return
        learner = self.model.learner
        X = self.model.encoded(self.data.X)
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        Y: Any = self.data.Y
        same = X.shape == learner.X_.shape and Y.shape == learner.Y_.shape
        if same:
            same = not (abs(X - learner.X_) > 1e-6 * (1 + abs(learner.X_).max())).sum()
        if not same:
            self.data = None
            self.remarks.append(
                "the data are not the training rows of the model, which are shown as stored in "
                "the model"
            )

    def card(self) -> dict[str, Any]:
        """The model card: learner, inputs, labels, corrections and measures."""
        now, ledger = self.now, self.ledger
        notes = json_value(self.model.notes)
        held_out = notes.get("held_out")
        measures = held_out.get("measures", {}) if isinstance(held_out, dict) else {}
        columns = [{"name": name, "kind": kind} for name, kind in self.reader.kinds.items()]
        corrections = [entry for entry in ledger.entries.values() if entry.undoes is None]
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
            "cut": self.now.model.threshold,
            "learns": self.training.how,
            "rows": len(now.rows),
            "rows_given": self.n_given,
            "corrections": {
                "stored": ledger.version,
                "in_force": sum(not ledger.undone(entry.id) for entry in corrections),
                "learned": now.version,
            },
            "measures": measures,
            "notes": notes,
            "saved_with": dict(self.model.versions),
            "runs_with": versions("fastapi", "uvicorn"),
            "remarks": list(self.remarks),
        }

    def example(self) -> Any:
        """An example row for /predict, from the training set if there is one."""
        if self.n_given and (given := self.features_of(0)) is not None:
            return given
        if self.reader.texts_only:
            return "some words"
        values = {"numbers": 1.0, "dates": "2024-05-17"}
        return {name: values.get(kind, "some words") for name, kind in self.reader.kinds.items()}

    def predict(self, rows: Any, ask: Ask | None = None) -> dict[str, Any]:
        """Predict the labels of JSON rows.

        Parameters
        ----------
        rows : list of dict, of lists of numbers, or of str
        ask : Ask, default=None
            Options; by default only the labels are returned.

        Returns
        -------
        dict
            ``version``, and in ``rows`` the ``labels`` of each row and its ``scores`` if wanted.
        """
        return _only(self.predict_many([(self.reader.quick_records(rows), ask or Ask())]))

    def predict_many(self, requests: Sequence[tuple[Any, Ask]]) -> list[Any]:
        """Predict several requests at once; return a response or an error for each.

        A request has checked JSON rows, or the rows read from a table.
        """
        results: list[Any] = [None] * len(requests)
        lists = [i for i, (rows, _) in enumerate(requests) if isinstance(rows, list)]
        together = [] if self.alone else lists
        together = [i for i in together if self.reader.independent(requests[i][0])]
        if len(together) > 1:
            with suppress(BadInput):  # of one request, which is found below
                for i, answer in zip(together, self._responses([requests[i] for i in together])):
                    results[i] = answer
        for i, request in enumerate(requests):
            if results[i] is None:
                try:
                    (results[i],) = self._responses([request])
                except BadInput as error:
                    results[i] = error
        return results

    def _responses(self, requests: Sequence[tuple[Any, Ask]]) -> list[Any]:
        """Predict requests together."""
        given = [rows for rows, _ in requests]
        sizes = [len(rows) if isinstance(rows, list) else rows.X.shape[0] for rows in given]
        asks = [ask for (_, ask), size in zip(requests, sizes) for _ in range(size)]
        rows = given[0]
        try:
            if isinstance(rows, list):
                rows = self.reader.read_records([*chain.from_iterable(given)])
            version, found = self._predicted(rows, asks)
        except BadInput:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise self.reader.blamed(error, rows) from None
        results, rest = [], iter(found)
        for size, remarks in zip(sizes, self.reader.remarks(rows, sizes)):
            more = {"remarks": remarks} if remarks else {}
            results.append({"version": version, "rows": [*islice(rest, size)], **more})
        return results

    def _predicted(self, rows: ModelRows, asks: Sequence[Ask]) -> tuple[int, list[Any]]:
        now = self.now
        found: list[Any] = []
        for block in row_blocks(len(asks), len(self.places), _SCORES_AT_ONCE):
            X, these = safe_indexing(rows.X, block), asks[block]
            unknown = np.zeros(len(these), bool) if rows.unknown is None else rows.unknown[block]
            found += self._predicted_block(now.model, X, these, unknown)
        return now.version, found

    def _predicted_block(
        self, model: Model, X: Any, asks: Sequence[Ask], unknown: NDArray[np.bool_]
    ) -> list[Any]:
        # a batch mixes requests with and without scores: compute each at most once
        S: Any = [None] * len(asks)
        sets: Any = S
        if any(ask.scored for ask in asks):
            if self.method is None:
                raise BadInput("the model has no scores: leave out scores, top and cut")
            S = model.scores(X)
        if any(ask.predicted for ask in asks):
            sets = model.label_sets(X)
        return [
            {"labels": [], "remark": "no known word: the model cannot predict this row"}
            if unknown[i]
            else answers.answered_row(ask, model.label_names, S[i], sets[i])
            for i, ask in enumerate(asks)
        ]

    def explain(self, rows: Any, *, labels: Sequence[str] | None = None, top: int = 8) -> Any:
        """Explain the scores of JSON rows.

        Parameters
        ----------
        rows : list of dict, of lists of numbers, or of str
        labels : list of str, default=None
            Labels to explain; by default all, the highest score first.
        top : int, default=8
            Number of features or words per label.

        Returns
        -------
        dict
            ``version``, and in ``rows`` the ``labels`` of each row with score, base and parts,
            and ``marks``, the positions and contributions of words in each column of text.
            Nearest-neighbor learners add the ``neighbors`` of the row, nearest first.
        """
        now = self.now
        wanted = None if labels is None else checked_labels(labels, self.places)
        read = self.reader.read_records(self.reader.records(rows))
        try:
            found = now.model.explanations(read.X)
        except (ValueError, TypeError, OverflowError) as error:
            raise self.reader.blamed(error, read) from None
        columns = now.model.texts_in(read.X)
        explained = [
            answers.explained(
                why, self.model.label_names, wanted, top,
                {name: column[i] for name, column in columns.items()},
            )
            for i, why in enumerate(found)
        ]  # fmt: skip
        if self.training.how == "exact" and found and hasattr(found[0], "neighbors"):
            shares = answers.shared_features(now, read.X, found)
            for one, why, shared in zip(explained, found, shares):
                rows_near = now.rows[why.neighbors].tolist()
                one["neighbors"] = [
                    {**self.row_card(row), "distance": finite(distance), "shares": names}
                    for row, distance, names in zip(rows_near, why.distances, shared)
                ]
        return {"version": now.version, "rows": explained}

    def features_of(self, row: int) -> Any:
        """A training row as JSON; None if only the learner has it, encoded."""
        if row >= self.n_given:
            return self.ledger.features(row)
        if self.data is not None:
            frame = None if self.data.frame is None else self.data.frame.iloc[[row]]
            return self.reader.json_rows(safe_indexing(self.data.X, [row]), frame)[0]
        # the steps of a pipeline before the learner cannot be inverted
        if not isinstance(self.training, Growing) or self.model.steps:
            return None
        return self.reader.json_rows(self.training.learner.X_[[row]])[0]

    def labels_of(self, row: int) -> list[str]:
        """Current labels of a training row."""
        return list(self.training.labels_of(self.ledger, row))

    def row_card(self, row: int) -> dict[str, Any]:
        """A training row with its features and labels."""
        return {
            "row": row,
            "features": self.features_of(row),
            "labels": self.labels_of(row),
            "corrected": self.ledger.labels(row) is not None,
        }

    def correct(self, corrections: Any) -> dict[str, Any]:
        """Store corrections on disk, and learn them.

        Parameters
        ----------
        corrections : list of dict
            Each with the correct ``labels``, by name, and either ``row``, the number of a
            training row, or ``features``, a new row. With an optional ``key`` chosen by the
            client, a correction can safely be sent again.

        Returns
        -------
        dict
            ``version`` of the current model, ``applied``: whether it has learned the
            corrections, and the ``id`` and ``row`` of each of the ``corrections``.
        """
        return _only(self.correct_many([corrections]))

    def undo(self, id: int) -> dict[str, Any]:
        """Undo the correction with an ``id`` of :meth:`correct`, which has the same result."""
        return _only(self.correct_many([id]))

    def correct_many(self, requests: Sequence[Any]) -> list[Any]:
        """Commit several requests at once: lists of corrections, or ids of those to undo."""
        return self.corrections.take(requests)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the model has learned all corrections; return whether it has."""
        return self.corrections.settle(timeout)

    def history(self, most: int = 200) -> list[dict[str, Any]]:
        """The corrections, latest first."""
        return self.corrections.history(most)

    def export(self, format: str = "csv", *, all_rows: bool = False) -> bytes:
        """Export the corrected rows as a dataset for ``plurilabel fit``.

        Parameters
        ----------
        format : {"csv", "jsonl"}
        all_rows : bool, default=False
            Whether to export all training rows, with their current labels.
        """
        ledger = self.ledger
        rows = [row for row in ledger.changed if ledger.labels(row) is not None]
        if all_rows:
            rows = ledger.rows()
        features = [self.features_of(row) for row in rows]
        if None in features:
            problem = "the training rows are not available: start the service with the data"
            raise BadInput(problem, status=409)
        labels = [(), *(self.labels_of(row) for row in rows)]
        cells = [answers.label_cells(self.model, names, format) for names in labels]
        nothing = 0 if self.model.sparse_features else None
        return answers.exported(list(self.reader.kinds), features, cells, format, nothing)

    def close(self) -> None:
        """Close the store."""
        self.corrections.close()


def _only(results: list[Any]) -> Any:
    """The response to a single request, or its error raised."""
    (result,) = results
    if isinstance(result, BadInput):
        raise result
    return result


def _digest(model: Model) -> str:
    # the same after a restart and with a later version; without a key it is known by its text
    learner = key_or_none(model.estimator, versions=False) or learner_text(model.estimator)
    return digest_of(learner, list(model.label_names), list(model.feature_names))
