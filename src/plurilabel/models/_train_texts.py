"""Training on a large CSV file of texts: read in blocks, and encoded on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from plurilabel import io
from plurilabel._core.blocks import stack_rows
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import digest_of
from plurilabel._core.words import counted
from plurilabel.distributed.shared import CsvBlock, csv_blocks, tag_matrix
from plurilabel.learners.extreme import LabelTree, OneVsAllLinear
from plurilabel.learners.neural import MLFastText
from plurilabel.model_selection.shared import held_out_rows
from plurilabel.models._model import Model
from plurilabel.models._model_rows import MOST_MARKS, row_marks
from plurilabel.models._train import Training
from plurilabel.models._train_data import label_notes
from plurilabel.models._train_search import fitted
from plurilabel.wrappers import ThresholdClassifier

ROWS = 50_000  # of a block
MOST_MODELS = 5000  # labels with a linear model each
MOST_LINEAR = 3e8  # rows times labels with these models, which are the most accurate
MOST_HELD_OUT = 20_000  # rows
MOST_HELD_OUT_CELLS = 2e7  # rows times labels
MAPPED = {"data": np.float32, "indices": np.int32}  # of X, on disk
FEWEST_ROWS = 5  # that have a word: others are left out
OPTIONS = {"features", "drop", "tag_sep", "text", "categorical"}  # that go with blocks
USUAL = ("use_idf", "smooth_idf", "max_df", "max_features", "vocabulary", "input")


def text_blocks(
    data: Any, labels: Any, options: Any, words: Any, rows: Any
) -> tuple[list[CsvBlock], Dataset] | None:
    """The blocks of a CSV file of texts and tags, and the first as data; None for other files."""
    given = {name: value for name, value in options.items() if value is not None}
    if not isinstance(labels, str) or any(one is not None for one in rows):
        return None
    if not set(given) <= OPTIONS or not (words is None or _counts_words(words)):
        return None
    blocks = csv_blocks(os.fspath(data), ROWS)
    first = io.read_table(
        blocks[0].read(list(blocks[0].columns)), labels=labels, encode=False, **given
    )
    return (blocks, first) if set(first.kinds.values()) == {"text"} else None


def _counts_words(words: Any) -> bool:
    """Whether a transformer of texts only has to know how many rows have each word."""
    if type(words) is not TfidfVectorizer or not isinstance(words.min_df, int):
        return False
    usual = TfidfVectorizer()
    return all(getattr(words, name) == getattr(usual, name) for name in USUAL)


class TextTraining(Training):
    """A run of :func:`~plurilabel.models.train` on texts that need not fit into memory.

    One pass over the file counts tags, and the rows that have each word; another writes TF-IDF
    features to a temporary folder, as memory maps. Memory holds a block of rows, the vocabulary,
    the labels, and what the learner needs. Features are those of all rows at once.
    """

    def run(self, *args: Any) -> Model:
        """Train, with a temporary folder for the features."""
        self.blocks: list[CsvBlock]
        self.first: Dataset
        self.blocks, self.first = self.found
        self.cuts = False
        with TemporaryDirectory(prefix="plurilabel-") as folder:
            self.folder = Path(folder)
            return super().run(*args)

    def read(self, data: Any, labels: Any) -> None:
        """Count words and tags, encode all rows, and describe them."""
        kinds = self.first.kinds
        self.columns, self.texts, self.path = labels, list(kinds), os.fspath(data)
        self.is_table, self.is_sparse = False, True
        if self.words is None:
            self.words = TfidfVectorizer(min_df=FEWEST_ROWS)
        self.features = io.TableEncoder(
            words=self.words, kinds=dict(kinds), written=dict(self.first.written)
        ).fit(self.first.X)
        self._count(self.reading.get("tag_sep"))
        X, Y = self._encoded()
        name = Path(data).stem
        about: Any = {"label_names": tuple(self.tags), "tag_sep": self.tag_sep, "name": name}
        self.data = replace(self.first, X=X, Y=Y, feature_names=(), **about)
        sizes = f"{counted(X.shape[0], 'row')}, {counted(X.shape[1], 'word')}"
        each = f"{Y.sum() / X.shape[0]:.2f} per row"
        self.tell("note", f"{name}: {sizes}, {counted(Y.shape[1], 'label')}, {each}")
        for note in label_notes(self.data, labels):
            self.tell("note", f"Note: {note}")

    def _frames(self, doing: str) -> Iterator[tuple[int, Any]]:
        """The blocks as data frames, each with the number of its first row."""
        columns, at, began = [*self.texts, self.columns], 0, monotonic()
        with self.step(f"{doing} of {self.path}"):
            for i, block in enumerate(self.blocks):
                self.tick(i, len(self.blocks), f"block {i + 1}", monotonic() - began)
                yield at, block.read(columns)
                at += block.n_rows

    def _count(self, tag_sep: str | None) -> None:
        """Find the tags, and how many rows have each word; set vocabulary and weights."""
        rows: dict[str, Counter[str]] = {name: Counter() for name in self.texts}
        tags, separators = set[str](), set[str]()
        marks: list[int] = []
        analyze, n = self.words.build_analyzer(), sum(block.n_rows for block in self.blocks)
        for start, frame in self._frames("Counting the words"):
            typed = self.features.typed(frame)
            for name, counts in rows.items():
                for text in typed[name]:
                    counts.update(set(analyze(text)))
            _, found, sep = tag_matrix(frame, self.columns, tag_sep, None, start)
            tags.update(found)
            separators.update([sep] if sep else [])
            marks = sorted({*marks, *row_marks(typed)})[:MOST_MARKS]
        if len(separators) > 1:
            got = " and ".join(map(repr, sorted(separators)))
            problem = f"column {self.columns!r} must have one separator between tags, got {got}"
            raise ValueError(f"{problem}; choose one with tag_sep=")
        if not tags:
            raise ValueError(f"column {self.columns!r} must hold tags, got only empty cells")
        self.tags, self.tag_sep, self.seen = sorted(tags), next(iter(separators), None), marks
        parts, at = self.features.transformer_, 0
        for i, (part, words, name) in enumerate(parts.transformers_):
            kept = sorted(word for word, count in rows[name].items() if count >= words.min_df)
            if not kept:
                raise ValueError(f"no word of {name!r} occurs in {words.min_df} rows")
            having = np.array([rows[name][word] for word in kept])
            # as if it had been fitted on all rows
            words = clone(words).set_params(vocabulary=kept).fit(self.first.X[name])
            words.idf_ = np.log((1 + n) / (1 + having)) + 1
            parts.transformers_[i] = part, words.set_params(vocabulary=None), name
            parts.output_indices_[part] = slice(at, at := at + len(kept))

    def _encoded(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """X, mapped from files, and Y, with the held-out rows at the end."""
        n, q = sum(block.n_rows for block in self.blocks), len(self.tags)
        out = np.zeros(n, dtype=bool)
        share = min(self.share(n), MOST_HELD_OUT / n, MOST_HELD_OUT_CELLS / (n * q))
        if share:
            rows = held_out_rows(n, share, None, ordered=False, random_state=self.random_state)
            out[rows[1]] = True
        self.n_train, lengths, Y, last = int(n - out.sum()), [[0]], [], []
        with ExitStack() as stack:
            files = [stack.enter_context((self.folder / name).open("wb")) for name in MAPPED]

            def write(X: Any, Y_part: Any) -> None:
                for file, (name, dtype) in zip(files, MAPPED.items()):
                    getattr(X, name).astype(dtype).tofile(file)
                lengths.append(np.diff(X.indptr))
                Y.append(Y_part.astype(np.int8))

            for start, frame in self._frames("Encoding the texts"):
                X = self.features.transform(frame)
                labels = tag_matrix(frame, self.columns, self.tag_sep, self.tags, start)[0]
                test = out[start : start + len(frame)]
                write(X[~test], labels[~test])
                last.append((X[test], labels[test]))
            for part in last:
                write(*part)
        values = {
            name: np.memmap(self.folder / name, type_, "r") for name, type_ in MAPPED.items()
        }
        parts = (values["data"], values["indices"], np.cumsum(np.concatenate(lengths)))
        return sparse.csr_array(parts, shape=(n, X.shape[1])), stack_rows(Y)

    def split(self) -> None:
        """Hold out the last rows, which were chosen at random; none of the others is copied."""
        X: Any = self.data.X
        m = self.n_train
        end = X.indptr[m]
        parts = (X.data[:end], X.indices[:end], X.indptr[: m + 1])
        self.X, self.Y = sparse.csr_array(parts, shape=(m, X.shape[1])), self.data.Y[:m]
        if m < X.shape[0]:
            self.test = np.arange(m, X.shape[0])
            self.how = f"{counted(len(self.test), 'row')} (chosen at random)"

    def prepare_automatic(self, measure: str) -> str:
        """Take the learner for many rows; its cut is learned from half of the held-out ones."""
        del measure
        self.cuts = self.threshold is None and self.test is not None
        said = self.prepare(self._learner(*self.Y.shape))
        return "global, from half of the held-out rows" if self.cuts else said

    def _learner(self, n: int, q: int) -> Any:
        """The learner for so many texts that none are compared."""
        if q > MOST_MODELS:
            return LabelTree(random_state=self.random_state)
        if n * q <= MOST_LINEAR or self.exportable:
            return OneVsAllLinear()
        return MLFastText(min(300, max(100, q // 3)), random_state=self.random_state)

    def _measure(self) -> None:
        if self.cuts:
            some, self.test = np.array_split(self.test, 2)
            cut = ThresholdClassifier(self.estimator, "global", cv="prefit")
            self.estimator = cut.fit(self.data.X[some], self.data.Y[some])
            self.how = f"{counted(len(self.test), 'row')} (chosen at random)"
        super()._measure()

    def _refit(self, X: Any, Y: Any) -> None:
        if not self.cuts:
            super()._refit(X, Y)
            return
        learner = fitted(clone(self.estimator.estimator_), X, Y, None)
        self.estimator.estimator = self.estimator.estimator_ = learner

    def digest(self) -> str:
        """Digest of the file's name and size: it is not read again."""
        return digest_of("texts", os.path.basename(self.path), os.path.getsize(self.path))

    def marks(self) -> list[int]:
        """The smallest hashes of rows."""
        return self.seen

    def model(self, digest: str, *, sep: str | None = None) -> Model:
        """The model, with the encoder of texts in front."""
        self.estimator = make_pipeline(self.features, self.estimator)
        return super().model(digest, sep=sep)
