"""Models that learn what people say, at once and in the background."""

from __future__ import annotations

import os
import shlex
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from plurilabel._core.blocks import dense
from plurilabel.models import Model, save_model, train
from plurilabel.serve import _answers as answers
from plurilabel.serve._row_reader import BadInput, one_line
from plurilabel.serve.labeling import _exchange as exchange
from plurilabel.serve.labeling._annotated import AnnotatedRows
from plurilabel.serve.labeling._curve import learning_curve
from plurilabel.serve.labeling._live import LiveModel, encoded_rows

FIRST_TRAINING = 25  # answers
GROWTH = 1.25  # the model is trained again when there are so many times the answers
CURVE_GROWTH = 1.1
BLOCK = 2000  # rows that are predicted at a time
MOST_CELLS = 2e7  # rows times labels of which the model's probabilities are kept
_ERRORS = (ValueError, TypeError, ArithmeticError, MemoryError, OSError)


@dataclass(frozen=True)
class Trained:
    """A model that was trained on the answers, and its probabilities for all rows."""

    model: Model
    answers: int  # rows it was trained on
    version: int
    rows: frozenset[int]
    labels: tuple[int, ...]  # ids, as the columns of P
    P: NDArray[np.float32]  # (n, q)


class ModeledRows(AnnotatedRows):
    """Annotated rows with a model that learns every answer at once, and one that is trained.

    The latter is trained in the background whenever there are enough more answers.
    """

    def __init__(
        self, data: Any, *, learner: str | None, quick: bool, background: bool, **rows: Any
    ) -> None:
        super().__init__(data, **rows)
        self.learner, self.quick, self.background = learner, quick, background
        self.X = encoded_rows(self.encoder, self.frame)
        self.live = LiveModel(self.X)
        self.trained: Trained | None = None
        self.working: str | None = None
        self.problem: str | None = None
        self._curve: tuple[int, Any] = (0, None)  # answers it was made of, and the curve
        self._worker: threading.Thread | None = None
        self._failed_at = self._wanted = 0  # answers of the last failure; version to train
        self.live.learn(self.state)

    def _learn(self) -> None:
        self.live.learn(self.state)
        self._start_work()

    def probabilities(self, rows: Any) -> NDArray[np.float64] | None:
        """Probabilities (n, q) of the labels of some rows; None with too few answers.

        The mean of the model that has learned every answer and of the trained one.
        """
        with self._lock:
            P, trained = self.live.probabilities(rows), self.trained
            if P is None or trained is None:
                return P
            place = {id: j for j, id in enumerate(trained.labels)}
            both = [j for j, id in enumerate(self.live.labels) if id in place]
            theirs = trained.P[rows][:, [place[self.live.labels[j]] for j in both]]
            P[:, both] = (P[:, both] + theirs) / 2
            return P

    def explain(self, row: int) -> dict[str, Any]:
        """What speaks for the labels of a row, by the trained model; words are marked."""
        self.features_of(row)  # which must exist
        if (trained := self.trained) is None:
            return {"labels": []}
        read = trained.model.read(self.frame.iloc[[row]])
        (why,) = trained.model.explanations(read.X)
        texts = {name: column[0] for name, column in trained.model.texts_in(read.X).items()}
        names = trained.model.label_names
        return answers.explained(why, names, None, 8, texts)

    def _start_work(self) -> None:
        """Train a model and draw the learning curve in the background, if it is time to."""
        if self._worker is not None or not self._is_due():
            return
        self._worker = threading.Thread(target=self._work, daemon=True)
        self._worker.start()

    def _is_due(self) -> bool:
        before = max(self.trained.answers if self.trained else 0, self._failed_at)
        grown = self.n_answered >= max(FIRST_TRAINING, GROWTH * before)
        due = self.background and grown and bool(self.kinds) and self._has_labels()
        wanted = self._wanted > (self.trained.version if self.trained else 0)
        return not self._closed and (due or wanted)

    def _work(self) -> None:
        while True:
            try:
                self.working = "drawing the learning curve"
                with self._lock:
                    found = self.live.held_out()
                self.learning_curve(found)
                self.working = f"training a model on {self.n_answered:,} answers"
                self.trained, self.problem = self._train_now(), None
            except _ERRORS as error:
                self.problem = f"the last training failed: {one_line(error)}"
                self._failed_at, self._wanted = self.n_answered, 0
            with self._lock:
                self.working = None
                if not self._is_due():
                    self._worker = None
                    return

    def learning_curve(self, found: Any) -> Any:
        """The learning curve of held-out rows; an earlier one if there are few more by now."""
        if found is None:
            return None
        rows, Y, _ = found
        if self._curve[0] == 0 or not 1 <= len(rows) / self._curve[0] < CURVE_GROWTH:
            self._curve = len(rows), learning_curve(self.X[rows], Y, self.seed)
        return self._curve[1]

    def _train_now(self) -> Trained:
        with self._lock:
            version, rows = self.version, frozenset(self.state.answered())
            ids = {name: id for id, name in self.state.names.items()}
            table = self.export("csv")
        model = self._fitted(table)
        n, q = self.state.n_rows, len(model.label_names)
        P = np.zeros((n, q), dtype=np.float32)
        read = model.read(self.frame)
        S = dense(model.scores(read.X)) if n * q <= MOST_CELLS else P
        P[:] = S if hasattr(model.estimator, "predict_proba") else expit(S)
        if read.unknown is not None:
            P[read.unknown] = 0
        labels = tuple(ids[name] for name in model.label_names)
        return Trained(model, len(rows), version, rows, labels, P)

    def _fitted(self, table: bytes, **options: Any) -> Model:
        """The model of ``plurilabel fit`` on an exported table."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{self.name}.csv")
            path.write_bytes(table)
            return train(path, self.label_column, **self.fit_options(), **options)

    def fit_options(self) -> dict[str, Any]:
        """Options of :func:`plurilabel.models.train` for the exported answers."""
        kinds = self.kinds.items()
        text, categorical = ([c for c, k in kinds if k == kind] for kind in ("text", "categories"))
        return {
            "features": [c for c, _ in kinds], "text": text or None,
            "categorical": categorical or None, "tag_sep": exchange.TAG_SEP,
            "learner": self.learner, "quick": self.quick,
        }  # fmt: skip

    def fit_command(self) -> str:
        """The command that trains the same model on the exported answers."""
        given = self.fit_options()
        words = ["plurilabel", "fit", f"{self.name}.csv", "--labels", self.label_column]
        for option in ("features", "text", "categorical"):
            words += [f"--{option}", ",".join(given[option])] if given[option] else []
        words += ["--tag-sep", exchange.TAG_SEP]
        words += ["--learner", self.learner] if self.learner else []
        words += ["--quick"] if self.quick else []
        return shlex.join([*words, "-o", f"{self.name}.skops"])

    def _has_labels(self) -> bool:
        return any(map(self.state.labels_of, self.state.answers))

    def _check_learning(self) -> None:
        if not self.kinds:
            problem = "there is no column to learn from: give embeddings of the images"
            raise BadInput(problem, status=409)
        if not self._has_labels():
            raise BadInput("there is nothing to learn from: no row has a label yet", status=409)

    def want_model(self) -> dict[str, Any]:
        """Train a model on all answers in the background, now."""
        with self._lock:
            self._check_learning()
            self._wanted = self.version
            self._start_work()
            return self.status()

    def train(self, **options: Any) -> Model:
        """Train a model on the answers so far, as ``plurilabel fit`` does on the exported rows.

        The options are those of :func:`plurilabel.models.train`.
        """
        self._check_learning()
        return self._fitted(self.export("csv"), **options)

    def save(self, path: str | os.PathLike[str], **options: Any) -> Model:
        """Train a model on the answers so far, and save it as a ``.skops`` file."""
        model = self.train(**options)
        save_model(model, path)
        return model

    def status(self) -> dict[str, Any]:
        """What open pages follow: the version, and the work in the background."""
        model = self.trained.version if self.trained else 0
        work = {"working": self.working, "problem": self.problem, "model_version": model}
        return {"version": self.version, "answered": self.n_answered, **work}

    def predictions(self, format: str = "csv") -> bytes:
        """All rows with their labels, given or suggested, and the probabilities."""
        content, before = bytearray(), None
        for start in range(0, self.state.n_rows, BLOCK):
            rows = np.arange(start, min(start + BLOCK, self.state.n_rows))
            found, cells = [], []
            with self._lock:  # not for long: others go on labeling
                state, P = self.state, self.probabilities(rows)
                names = [state.names[id] for id in self.live.labels]
                if P is None:
                    raise BadInput("there are too few answers for predictions", status=409)
                if before not in (None, names):
                    raise BadInput("the labels were changed meanwhile; try again", status=409)
                given = [state.labels_of(row) for row in rows.tolist()]
                told = [None if one is None else state.named(one) for one in given]
            for row, labels, one in zip(rows.tolist(), told, P.round(4).tolist()):
                suggested = [name for name, p in zip(names, one) if p > 0.5]
                found.append((self.features_of(row), suggested if labels is None else labels))
                scores = {f"score: {name}": p for name, p in zip(names, one)}
                cells.append({"answered": int(labels is not None), **scores})
            table = list(self.frame.columns), self.label_column, format
            head = b"" if before is None else exchange.written([], *table, cells[:1])
            content += exchange.written(found, *table, cells)[len(head) :]
            before = names
        return bytes(content)
