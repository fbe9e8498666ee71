"""A fitted estimator, with everything needed to read new data for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel import metrics
from plurilabel._core.base import CUTS, default_feature_names, names_or_default
from plurilabel._core.blocks import dense, naming_text, row_blocks
from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.explanation.contributions import Contributions, Explanations
from plurilabel._core.explanation.explain import explain
from plurilabel._core.html import html_table
from plurilabel._core.scores import scores_or_none
from plurilabel._core.words import counted, shortened
from plurilabel.evaluation import write_model_report
from plurilabel.io import TableEncoder
from plurilabel.models._layers import AROUND, around, inside, layers, renamed
from plurilabel.models._model_rows import ModelRows, read_rows, row_texts, rows_digest, share_seen
from plurilabel.thresholds import ThresholdStrategy, never_empty

_CELLS_AT_ONCE, _ROWS_AT_ONCE = 5_000_000, 10_000  # rows times labels or features, and rows


def _if_scores_by(method: str) -> Any:
    """Make a method available if the estimator has it."""
    return available_if(lambda model: hasattr(model.estimator, method))


@dataclass(frozen=True, repr=False)
class Model:
    """A fitted estimator, the names of its labels, and how to read data for it.

    :meth:`predict` returns label names, :meth:`predict_proba` a data frame with the labels as
    columns. The command line and the service use the same object.

    Parameters
    ----------
    estimator : fitted classifier
        A table model begins with a :class:`~plurilabel.TableEncoder`.
    label_names : sequence of str
    feature_names : sequence of str
        Features, or columns of the table.
    labels : str or list of str, default=None
        For a table model: the column of tags, or the label columns.
    tag_sep : str, default=None
        Separator of the tags in a cell.
    sep : str, default=None
        Column separator of CSV files.
    sparse_features : bool, default=False
        Whether an estimator without an encoder was fitted on sparse rows.
    notes : dict, default={}
        Further information that can be written as JSON.
    versions : dict, default={}
        Versions of the libraries with which the model was saved.

    See Also
    --------
    save_model, load_model : Save and load models; also ``plurilabel.save`` and
        ``plurilabel.load``.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from plurilabel import MLDecisionTree, io
    >>> from plurilabel.models import Model
    >>> notes = pd.DataFrame(
    ...     {"note": ["a cough", "cough, fever", "a rash"], "codes": ["c", "c;f", "r"]})
    >>> data = io.read_table(notes, labels="codes", text="note", encode=False)
    >>> pipeline = make_pipeline(io.table_encoder(data.X, text="note"), MLDecisionTree())
    >>> model = Model(pipeline.fit(data.X, data.Y), data.label_names, data.X.columns, "codes")
    >>> new = pd.DataFrame({"id": [7, 8], "note": ["high fever, a cough", "a rash"]})
    >>> model.predict(new)
    [('c', 'f'), ('r',)]
    >>> model.predict_proba(new)
         c    f    r
    0  1.0  1.0  0.0
    1  0.0  0.0  1.0

    Any fitted estimator can be converted:

    >>> tree = MLDecisionTree().fit([[0.0], [1.0]], [["sun"], ["sea", "sun"]])
    >>> Model.of(tree)
    Model: MLDecisionTree, 1 feature, 2 labels
    >>> Model.of(tree).predict([[0.9]])
    [('sea', 'sun')]
    """

    estimator: Any
    label_names: Sequence[str]
    feature_names: Sequence[str]
    labels: str | list[str] | None = None
    tag_sep: str | None = None
    sep: str | None = None
    sparse_features: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        estimator: Any,
        *,
        label_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Convert a fitted estimator to a model.

        Parameters
        ----------
        estimator : fitted classifier, pipeline or search
            For a search, the best estimator is used.
        label_names : sequence of str, default=None
            By default the names seen in ``fit``, for learners of this library that were fitted
            on a data frame of labels or on tags.
        feature_names : sequence of str, default=None
            By default the columns seen in ``fit``, or ``x0, x1, ...``; none for a pipeline that
            begins with a vectorizer and takes texts.
        """
        check_is_fitted(estimator)
        estimator = getattr(estimator, "best_estimator_", estimator)
        names = label_names
        layered = (getattr(part, "label_names_", None) for part in layers(estimator))
        known = next((found for found in layered if found is not None), None)
        if names is None and known is None:
            raise ValueError(
                f"label_names must be given, since {type(estimator).__name__} does not store them"
            )
        if known is not None:
            names = names_or_default(known if names is None else names, len(known))
        features: Any = feature_names
        if features is None:
            width = getattr(estimator, "n_features_in_", 0)
            features = getattr(estimator, "feature_names_in_", default_feature_names(width))
        return cls(estimator, tuple(map(str, names or ())), tuple(map(str, features)))

    def __repr__(self) -> str:
        learner = type(self.learner)
        taken = counted(len(self.feature_names), "feature") if len(self.feature_names) else "texts"
        saved = f", saved with plurilabel {v}" if (v := self.versions.get("plurilabel")) else ""
        labels = counted(len(self.label_names), "label")
        return f"Model: {learner.__name__}, {taken}, {labels}{saved}"

    def _repr_html_(self) -> str:
        rows = [["learner", shortened(repr(self), 100)]]
        rows += [["labels", shortened(", ".join(self.label_names[:20]), 100)]]
        if len(self.feature_names):
            rows += [["features", shortened(", ".join(self.feature_names[:20]), 100)]]
        rows += [[name, version] for name, version in self.versions.items()]
        return html_table([], rows, text=True)

    # answers ------------------------------------------------------------------------------------

    def predict(self, rows: Any) -> list[tuple[str, ...]]:
        """Predict label sets by name.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset
            As for :meth:`read`: columns of a frame may be in any order; others are ignored.

        Returns
        -------
        list of tuple of str
            The labels of each row, in the order of ``label_names``. If a model has only columns of
            text, texts without a known word get no labels, and a warning is issued.
        """
        read = self._read(rows)
        found = [labels for block in self._blocks(read.X) for labels in self.label_sets(block)]
        if read.unknown is not None:  # texts without a known word
            found = [() if nothing else labels for labels, nothing in zip(found, read.unknown)]
        return found

    @_if_scores_by("predict_proba")
    def predict_proba(self, rows: Any) -> Any:
        """Predict label probabilities.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset

        Returns
        -------
        pandas data frame of shape (n, q)
            Labels as columns, and the index of the rows. If a model has only columns of text,
            texts without a known word get NaN.
        """
        return self._scores_frame(rows)

    @_if_scores_by("decision_function")
    def decision_function(self, rows: Any) -> Any:
        """Label scores that are not probabilities, as :meth:`predict_proba` returns them."""
        return self._scores_frame(rows)

    def explain(
        self, rows: Any, *, feature_names: Sequence[str] | None = None, reference: Any = None
    ) -> list[Any]:
        """Explain the scores of each row.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset
        feature_names, reference
            As for :func:`plurilabel.inspection.explain`.

        Returns
        -------
        list
            One explanation per row, with the label names of the model; they can be printed.
        """
        X = self._read(rows).X
        return self.explanations(X, feature_names=feature_names, reference=reference)

    def explanations(self, X: Any, **options: Any) -> list[Any]:
        """Explain rows from :meth:`read`, with the options of :meth:`explain`."""
        named = renamed(self.estimator, self.label_names)
        with self._naming_text(X):
            found = explain(getattr(named, "best_estimator_", named), X, **options)
        texts = self.texts_in(X)
        (words,) = texts.values() if len(texts) == 1 else [[None] * len(found)]
        return Explanations(
            replace(one, label_names=self.label_names, text=one.text if text is None else text)
            if isinstance(one, Contributions)
            else one
            for one, text in zip(found, words)
        )

    def texts_in(self, X: Any) -> dict[str, list[str]]:
        """Columns of text, by name, of rows that :meth:`read` has read."""
        names = self._columns("text") if hasattr(X, "iloc") else []
        return {name: X[name].fillna("").tolist() for name in names}

    def label_sets(self, X: Any) -> list[tuple[str, ...]]:
        """Predict the label sets of rows that :meth:`read` has read."""
        with self._naming_text(X):
            Z = self.estimator.predict(X)
        if np.ndim(Z) == 1 and not sparse.issparse(Z):
            if len(self.label_names) != 1:  # one class each
                return [(str(label),) for label in Z.tolist()]
            Z = Z.reshape(-1, 1)
        Z, names = sparse.csr_array(Z), self.label_names
        Z.eliminate_zeros()
        Z.sort_indices()
        found = [names[j] for j in Z.indices.tolist()]
        return [tuple(found[i:j]) for i, j in zip(Z.indptr[:-1], Z.indptr[1:])]

    def scores(self, X: Any) -> NDArray[Any]:
        """Scores (n, q) of rows that :meth:`read` has read."""
        q = len(self.label_names)
        with self._naming_text(X):
            S = dense(metrics.label_scores(self.estimator, X, n_labels=q))
        if S.shape[1] == 1 and q == 2:  # two classes: positive for the second
            S = np.hstack([-S, S])
        if S.shape[1] != q:
            raise ValueError(f"the model has {q} label names, but {S.shape[1]} columns of scores")
        return S

    @property
    def threshold(self) -> float | None:
        """The score above which labels are predicted.

        None if there is no single threshold: with one per label, with a strategy that predicts
        whole label sets, or if each row gets at least one label.
        """
        strategy, nonempty = self._strategy()
        if strategy is not None:
            cut = getattr(strategy, "cut_", None)
            return cut if isinstance(cut, float) and not nonempty else None
        methods = (method for method in CUTS if hasattr(self.estimator, method))
        return CUTS.get(next(methods, ""))

    def labels_of(self, scores: Any) -> Any:
        """Labels (n, q) that the threshold strategy predicts from scores; None without one."""
        strategy, nonempty = self._strategy()
        if strategy is None:
            return None
        labels = strategy.predict(scores)
        return never_empty(labels, scores) if nonempty else labels

    def _strategy(self) -> tuple[ThresholdStrategy | None, bool]:
        """The fitted threshold strategy, if any, and whether each row gets at least one label."""
        for part in layers(self.estimator):
            for name in ("strategy_", "cut_"):  # of ThresholdClassifier and AutoClassifier
                if isinstance(found := getattr(part, name, None), ThresholdStrategy):
                    return found, part.nonempty_
        return None, False

    def _naming_text(self, X: Any) -> AbstractContextManager[None]:
        """Name the column in errors about text among numbers: user's frames are not typed."""
        return naming_text(X, self._columns("numbers") or None)

    def trained_on(self, rows: ModelRows) -> bool:
        """Whether the model was trained on more than half of these rows.

        The rows must have been read with labels by :meth:`read`.
        """
        about = self.notes.get("data", {})
        same = about.get("digest") == rows_digest(rows.X, rows.Y)
        if not same and share_seen(rows.X, about.get("marks", ())) <= 0.5:
            return False
        return self.notes.get("learned_rows") != "train" or rows.test is None

    def _scores_frame(self, rows: Any) -> Any:
        import pandas as pd

        read = self._read(rows)
        S = np.vstack([self.scores(block) for block in self._blocks(read.X)])
        if read.unknown is not None:
            S[read.unknown] = np.nan
        index = None if read.frame is None else read.frame.index
        return pd.DataFrame(S, index=index, columns=list(self.label_names))

    def _read(self, rows: Any) -> ModelRows:
        """Read rows to predict, and issue remarks as warnings."""
        read = self.read(rows)
        for remark in read.remarks:
            warnings.warn(remark, stacklevel=4)
        return read

    def _blocks(self, X: Any) -> Iterator[Any]:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n == 0:
            raise ValueError("there must be at least one row, got none")
        for rows in row_blocks(n, 1, self.rows_at_once):
            yield safe_indexing(X, rows)

    @property
    def rows_at_once(self) -> int:
        """Number of rows that are predicted together.

        Sums may be rounded differently in a block of another size. All answers therefore come
        from blocks of this size, whether rows are in memory, in files or on a cluster.
        """
        by_labels = _CELLS_AT_ONCE // max(len(self.label_names), 1)
        # features may be sparse: many of them do not make blocks tiny
        by_features = max(1000, _CELLS_AT_ONCE // max(len(self.feature_names), 1))
        return max(1, min(_ROWS_AT_ONCE, by_labels, by_features))

    def evaluate(
        self,
        rows: ModelRows,
        *,
        per_label: bool = False,
        report: str | os.PathLike[str] | None = None,
    ) -> tuple[metrics.Evaluation, dict[str, Any] | None]:
        """Evaluate the model on rows that :meth:`read` has read with labels.

        Parameters
        ----------
        rows : ModelRows
            Only the published test part is used if there is one.
        per_label : bool, default=False
            Whether to return the counts and measures of each label as well.
        report : path, default=None
            HTML file to write: see :func:`plurilabel.evaluation.write_model_report`.

        Returns
        -------
        measures : Evaluation
        table : dict of str to list, or None
            As :func:`plurilabel.metrics.per_label` returns it.
        """
        tested = slice(None) if rows.test is None else rows.test
        X, Y = safe_indexing(rows.X, tested), safe_indexing(rows.Y, tested)
        scores = scores_or_none(self.estimator, X, Y.shape[1])
        labels = self.estimator.predict(X)
        table = metrics.per_label(Y, scores, labels, self.label_names) if per_label else None
        if report is not None:
            names, shown = self.label_names, row_texts(X, self._columns("text"))
            title = f"Evaluation of {type(self.learner).__name__}"
            about: Any = {"title": title, "label_names": names, "instances": shown}
            write_model_report(report, Y, scores, labels, rows=rows.test, **about)
        return metrics.evaluate(Y, scores, labels), table

    # rows ---------------------------------------------------------------------------------------

    def read(
        self,
        source: str | os.PathLike[str] | Dataset | Any,
        *,
        with_labels: bool = False,
        sep: str | None = None,
        embeddings: str | os.PathLike[str] | Any = None,
        empty_labels: Literal["unknown", "absent"] | None = None,
        soft: bool = False,
        sheet: str | None = None,
    ) -> ModelRows:
        """Read rows for the estimator.

        Parameters
        ----------
        source : path, Dataset, data frame, list of records, array or sparse matrix
            Files may have any format of :func:`plurilabel.io.read`. Columns are matched by name,
            and others are ignored; arrays, LIBSVM and extreme classification files have no names
            and are read in order. A model of texts takes a list or a column of texts.
        with_labels : bool, default=False
            Whether to read the true labels, which may otherwise be missing.
        sep : str, default=None
            Column separator of a CSV file; by default that of the training file, or detected.
        embeddings : path or ndarray, default=None
            Precomputed vectors of the rows, for a model that was trained with such.
        empty_labels : {"unknown", "absent"}, default=None
            Meaning of an empty cell in a label column, as for :func:`plurilabel.io.read_table`.
        soft : bool, default=False
            Whether labels may be probabilities, as for :func:`plurilabel.io.read_table`.
        sheet : str, default=None
            Name of the sheet of an Excel file.
        """
        options = {"sep": sep, "empty_labels": empty_labels, "soft": soft, "sheet": sheet}
        return read_rows(self, source, with_labels=with_labels, embeddings=embeddings, **options)

    @property
    def encoder(self) -> TableEncoder | None:
        """The fitted encoder of a table model; None for other models."""
        part = self.estimator
        while part is not None and not isinstance(part, TableEncoder):
            if isinstance(part, Pipeline):
                part = part[0]
            else:
                part = inside(part) or getattr(part, "encoder_", None)
        return part

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column (numbers, categories, dates or text), by name."""
        if self.encoder is not None:
            return dict(self.encoder.kinds_)
        return dict.fromkeys(map(str, self.feature_names), "numbers")

    def _columns(self, kind: str) -> list[str]:
        """Columns of a kind, of a table model."""
        kinds = {} if self.encoder is None else self.kinds
        return [name for name, other in kinds.items() if other == kind]

    @property
    def learner(self) -> Any:
        """The learner inside pipelines, thresholds and searches."""
        return next(part for part in layers(self.estimator) if not isinstance(part, AROUND))

    def encoded(self, X: Any) -> Any:
        """Transform rows that :meth:`read` has read to the input of the learner."""
        for step in self.steps:
            X = step.transform(X)
        return X

    @property
    def steps(self) -> list[Any]:
        """The fitted transformers before the learner, the first one first."""
        found = []
        for part in layers(self.estimator):
            if isinstance(part, Pipeline) and len(part) > 1:
                found.append(part[:-1])
            elif not isinstance(part, AROUND):
                return [*found, part.encoder_] if hasattr(part, "encoder_") else found
        return found

    def with_learner(self, learner: Any) -> Self:
        """A copy of the model with another fitted learner."""
        return replace(self, estimator=around(self.estimator, learner))
