"""A fitted estimator together with what it takes to read new data for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel import io
from plurilabel._core.base import default_feature_names, names_or_default
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Dataset, Matrix
from plurilabel._core.explanation.contributions import Contributions
from plurilabel._core.explanation.explain import explain
from plurilabel._core.html import html_table
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import counted, listed, shortened
from plurilabel.io.shared import formats, unseen_categories, without_known_words
from plurilabel.metrics import label_scores
from plurilabel.models._layers import AROUND, around, inside, kept, layers, renamed

_SCORES_AT_ONCE = 5_000_000  # rows times labels


class ModelRows(NamedTuple):
    """Rows that were read for a model.

    Attributes
    ----------
    X : ndarray, csr_array or pandas data frame of n rows
        What the estimator takes.
    Y : ndarray or csr_array of shape (n, q), or None
        None unless they were asked for.
    frame : pandas data frame or None
        The table from which they come, for a table.
    remarks : list of str
        What a user should know about these rows.
    test : ndarray of int or None
        The rows of the published test part, for a standard dataset that has one.
    unknown : ndarray of bool of shape (n,), or None
        For a model of nothing but text: rows without a word that it knows, about which it can
        say nothing.
    """

    X: Any
    Y: Matrix | None
    frame: Any
    remarks: list[str]
    test: Any = None
    unknown: NDArray[np.bool_] | None = None


def _if_scores_by(method: str) -> Any:
    """Decorator: the method exists if the estimator has it."""
    return available_if(lambda model: hasattr(model.estimator, method))


@dataclass(frozen=True, repr=False)
class Model:
    """A fitted estimator, the names of its labels, and how data are read for it.

    It answers in words: :meth:`predict` gives the names of the labels, :meth:`predict_proba` a
    data frame with the labels as columns. The command line uses the same object.

    Parameters
    ----------
    estimator : fitted classifier
        For a model of tables, one whose first step is a
        :class:`~sklearn.compose.ColumnTransformer` fitted on a data frame, such as
        :func:`plurilabel.io.table_encoder` makes.
    label_names : sequence of str
    feature_names : sequence of str
        The columns that the estimator takes: features, or the columns of a typed table.
    labels : str or list of str, default=None
        For a model of a table: the column of tags, or the label columns.
    tag_sep : str, default=None
        What separates the tags of a cell.
    sep : str, default=None
        What separates the columns of a CSV file.
    sparse_features : bool, default=False
        Whether an estimator of arrays takes sparse rows; they are turned into what it takes.
    notes : dict, default={}
        Anything else that is worth keeping, as JSON takes it.
    versions : dict, default={}
        Versions with which a model was saved.
    written : mapping of str to str, default={}
        How the numbers and dates of a table are written, as its dataset says.

    See Also
    --------
    save_model, load_model : To and from files: ``plurilabel.save`` and ``plurilabel.load``.

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

    Any other fitted estimator becomes a model, too:

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
    written: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        estimator: Any,
        *,
        label_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """A model of any fitted estimator.

        Parameters
        ----------
        estimator : fitted classifier, pipeline or search
            Of a search, the best estimator is kept.
        label_names : sequence of str, default=None
            By default those that a learner of this library has kept: fit it on a data frame of
            labels or on tags, or give the names here.
        feature_names : sequence of str, default=None
            By default the columns that it was fitted on, or ``x0, x1, ...``. None at all if it
            takes texts, as a pipeline does that begins with a vectorizer.

        Returns
        -------
        Model
        """
        check_is_fitted(estimator)
        estimator = getattr(estimator, "best_estimator_", estimator)
        names, known = label_names, list(kept(estimator, "label_names_"))
        if names is None and not known:
            raise ValueError(
                f"label_names must be given, since {type(estimator).__name__} does not keep them"
            )
        if known:
            names = names_or_default(known[0] if names is None else names, len(known[0]))
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
            Whatever :meth:`read` takes. A frame may have its columns in any order, and others.

        Returns
        -------
        list of tuple of str
            For each row the names of its labels, in the order of ``label_names``. A model that
            reads nothing but text has none for a text without a known word, and warns of it.
        """
        read = self._read(rows)
        found = [labels for block in self._blocks(read.X) for labels in self.label_sets(block)]
        if read.unknown is not None:  # texts without a known word
            found = [() if nothing else labels for labels, nothing in zip(found, read.unknown)]
        return found

    @_if_scores_by("predict_proba")
    def predict_proba(self, rows: Any) -> Any:
        """Probability of each label, for estimators that have it.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset

        Returns
        -------
        pandas data frame of shape (n, q)
            The labels are its columns; the index is that of the rows. NaN for a text without a
            known word, where there is nothing but text.
        """
        return self._scores_frame(rows)

    @_if_scores_by("decision_function")
    def decision_function(self, rows: Any) -> Any:
        """Score of each label, for estimators whose scores are not probabilities.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset

        Returns
        -------
        pandas data frame of shape (n, q)
            As that of :meth:`predict_proba`.
        """
        return self._scores_frame(rows)

    def explain(
        self,
        rows: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: Any = None,
    ) -> list[Any]:
        """What speaks for and against the labels of each row.

        Parameters
        ----------
        rows : data frame, list of records, array, path or Dataset
        feature_names, reference
            As those of :func:`plurilabel.inspection.explain`.

        Returns
        -------
        list
            What ``explain`` of the learner inside returns, with the model's label names;
            ``print`` shows an entry.
        """
        X = self._read(rows).X
        return self.explanations(X, feature_names=feature_names, reference=reference)

    def explanations(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: Any = None,
    ) -> list[Any]:
        """What :meth:`explain` returns, of rows that :meth:`read` has read."""
        named = renamed(self.estimator, self.label_names)
        found = explain(
            getattr(named, "best_estimator_", named),
            X,
            feature_names=feature_names,
            reference=reference,
        )
        return [
            replace(one, label_names=self.label_names) if isinstance(one, Contributions) else one
            for one in found
        ]

    def label_sets(self, X: Any) -> list[tuple[str, ...]]:
        """Label sets by name of rows that :meth:`read` has read."""
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
        S = dense(label_scores(self.estimator, X, n_labels=q))
        if S.shape[1] == 1 and q == 2:  # two classes: positive for the second
            S = np.hstack([-S, S])
        if S.shape[1] != q:
            raise ValueError(f"the model names {q} labels, but there are scores of {S.shape[1]}")
        return S

    def _scores_frame(self, rows: Any) -> Any:
        import pandas as pd

        read = self._read(rows)
        S = np.vstack([self.scores(block) for block in self._blocks(read.X)])
        if read.unknown is not None:
            S[read.unknown] = np.nan
        index = None if read.frame is None else read.frame.index
        return pd.DataFrame(S, index=index, columns=list(self.label_names))

    def _read(self, rows: Any) -> ModelRows:
        """Rows to answer about; what is odd about them is a warning."""
        read = self.read(rows)
        for remark in read.remarks:
            warnings.warn(remark, stacklevel=4)
        return read

    def _blocks(self, X: Any) -> Iterator[Any]:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n == 0:
            raise ValueError("there must be at least one row, got none")
        for rows in row_blocks(n, len(self.label_names), _SCORES_AT_ONCE):
            yield safe_indexing(X, rows)

    # rows ---------------------------------------------------------------------------------------

    def read(
        self,
        source: str | os.PathLike[str] | Dataset | Any,
        *,
        with_labels: bool = False,
        sep: str | None = None,
        embeddings: str | os.PathLike[str] | Any = None,
        empty_labels: Literal["unknown", "absent"] | None = None,
    ) -> ModelRows:
        """Read rows as the estimator takes them.

        Parameters
        ----------
        source : path, Dataset, data frame, list of records, array or sparse matrix
            A file in any format that :func:`plurilabel.io.read` knows. Its columns are found by
            name, whatever their order; others are left out. Those of arrays and of LIBSVM and
            extreme classification files have no names and are taken in their order. A model of
            texts takes a list or a column of them.
        with_labels : bool, default=False
            Whether the true labels are there and wanted. Without it they may be missing.
        sep : str, default=None
            What separates the columns of a CSV file; by default what was given for the first
            file, or what the file shows.
        embeddings : path or ndarray, default=None
            Ready-made vectors of the rows of a table, if the model was learned with such.
        empty_labels : {"unknown", "absent"}, default=None
            What an empty cell of a label column means, as for :func:`plurilabel.io.read_table`.

        Returns
        -------
        ModelRows
        """
        if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
            source = _records(source)
        if not with_labels and (given := self._as_given(source)) is not None:
            return given
        data, by_position = self._dataset(source)
        encoder, frame, test = self.encoder, None, None
        kinds = dict.fromkeys(self.feature_names, "numbers")
        if encoder is not None:
            kinds = io.column_kinds(encoder)
        if data is None:
            table = io.read_further(
                source,
                kinds,
                labels=self.labels if isinstance(self.labels, str) else None,
                label_names=self.label_names if with_labels else None,
                sep=sep or self.sep,
                tag_sep=self.tag_sep,
                written=self.written,
                embeddings=embeddings,
                empty_labels=empty_labels,
            )
            X, frame = table.X if encoder else table.X.to_numpy(), table.frame
            Y, names = table.Y, tuple(table.label_names)
        elif embeddings is not None:
            raise ValueError("embeddings are for the rows of a table")
        else:
            Y, names, test = data.Y, tuple(data.label_names), data.test
            X = self._features(data, by_position) if encoder is None else _typed(data, kinds)
        if encoder is None:
            # dense or sparse as in training, which was of the same width
            X = sparse.csr_array(X) if self.sparse_features else dense(X)
        unseen = {} if encoder is None else unseen_categories(encoder, X)
        remarks = [
            f"column {column!r} has values that were not seen in training and are encoded as "
            f"zeros: {_quoted(values)}"
            for column, values in unseen.items()
        ]
        unknown, remark = _unknown(encoder, X, kinds)
        remarks += remark
        if not with_labels:
            return ModelRows(X, None, frame, remarks, test, unknown)
        Y, strange = self._labels(Y, names, by_position)
        if strange:
            remarks.append(f"labels that the model does not know are left out: {_quoted(strange)}")
        return ModelRows(X, Y, frame, remarks, test, unknown)

    @property
    def encoder(self) -> ColumnTransformer | None:
        """The fitted encoder with which a model of tables begins; None for a model of arrays."""
        part = self.estimator
        while part is not None and not isinstance(part, ColumnTransformer):
            part = part[0] if isinstance(part, Pipeline) else inside(part)
        return part if hasattr(part, "feature_names_in_") else None

    @property
    def learner(self) -> Any:
        """The learner inside the pipelines, cuts and searches around it."""
        return next(part for part in layers(self.estimator) if not isinstance(part, AROUND))

    def encoded(self, X: Any) -> Any:
        """Rows that :meth:`read` has read, as the learner inside takes them."""
        for part in layers(self.estimator):
            if isinstance(part, Pipeline) and len(part) > 1:
                X = part[:-1].transform(X)
            elif not isinstance(part, AROUND):
                break
        return X

    def with_learner(self, learner: Any) -> Self:
        """The same model around another fitted learner; this one stays as it is."""
        return replace(self, estimator=around(self.estimator, learner))

    def _as_given(self, source: Any) -> ModelRows | None:
        """Rows in memory that the estimator takes as they are; None for what has to be read."""
        if not len(self.feature_names):  # texts, or whatever its first step takes
            if hasattr(source, "columns") or isinstance(source, str | os.PathLike | Dataset):
                raise ValueError(
                    "the model takes a column of texts, not a table: give it frame[column]"
                )
            frame = source.to_frame("text") if hasattr(source, "to_frame") else None
            return ModelRows(source, None, frame, [])
        if isinstance(source, str | os.PathLike | Dataset):
            return None
        names = [str(name) for name in getattr(self.estimator, "feature_names_in_", ())]
        if hasattr(source, "columns"):
            # typed as in training if that was a table; a user's own frame is as it was in fit
            if self.labels is not None or not names:
                return None
            source = source if hasattr(source, "iloc") else source.to_pandas()
            if missing := [name for name in names if name not in set(source.columns)]:
                raise ValueError(
                    f"the rows lack {len(missing)} of the model's {len(names)} columns: "
                    f"{_quoted(missing)}"
                )
            return ModelRows(source[names], None, source, [])
        X = source if sparse.issparse(source) or isinstance(source, Bags) else np.asarray(source)
        d = len(self.feature_names)
        if len(X.shape) < 2 or X.shape[-1] != d:
            raise ValueError(
                f"the rows must have the model's {counted(d, 'feature')}, got an array of shape "
                f"{X.shape}"
            )
        if names and not isinstance(X, Bags):
            import pandas as pd

            X = pd.DataFrame(dense(X), columns=names)
        return ModelRows(X, None, None, [])

    def _dataset(self, source: Any) -> tuple[Dataset | None, bool]:
        """What is not a table, and whether its columns have no names."""
        if isinstance(source, Dataset):
            return source, False
        is_path = isinstance(source, str | os.PathLike)
        format = formats().get(io.file_format(source) or "") if is_path else None
        if format is None or format.further is None:
            return None, False
        data = format.further(source, len(self.feature_names), list(self.label_names))
        return data, not format.has_names

    def _features(self, data: Dataset, by_position: bool) -> Matrix:
        names, d = tuple(self.feature_names), len(self.feature_names)
        if by_position and names == default_feature_names(d):
            if data.X.shape[1] != d:
                raise ValueError(
                    f"the rows must have the model's {d} features, got {data.X.shape[1]}"
                )
            return data.X
        if missing := sorted(set(names).difference(data.feature_names)):
            raise ValueError(
                f"the rows lack {len(missing)} of the model's {d} features: {_quoted(missing)}"
            )
        return _columns_by_name(data.X, data.feature_names, names)

    def _labels(self, Y: Any, names: Sequence[str], by_position: bool) -> tuple[Matrix, list[str]]:
        """Columns of Y in the model's order, zeros for absent ones; and names of the others."""
        q = len(self.label_names)
        if by_position:
            if Y.shape[1] != q:
                raise ValueError(f"the rows must have the model's {q} labels, got {Y.shape[1]}")
            return Y, []
        if not names:
            raise ValueError(f"the rows must have the true labels, {_quoted(self.label_names)}")
        strange = [name for name in names if name not in set(self.label_names)]
        if len(strange) == len(names):
            raise ValueError(
                f"none of the labels {_quoted(names)} is one of the model's, "
                f"{_quoted(self.label_names)}"
            )
        return _columns_by_name(Y, names, self.label_names), strange


def _records(rows: Sequence[Mapping[str, Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(list(rows))


def _unknown(
    encoder: ColumnTransformer | None, X: Any, kinds: dict[str, str]
) -> tuple[NDArray[np.bool_] | None, list[str]]:
    """Rows without a known word, if there is nothing but text; and a remark about such rows."""
    rows = None if encoder is None else without_known_words(encoder, X)
    if rows is None:
        return None, []
    columns = [name for name, kind in kinds.items() if kind == "text"]
    alone = len(columns) == len(kinds)
    places = np.flatnonzero(rows)
    if not len(places):
        return (rows if alone else None), []
    which = ", ".join(f"{place + 1:,}" for place in places[:5]) + ", ..." * (len(places) > 5)
    what = f"{counted(len(places), 'row')} ({which}) {'has' if len(places) == 1 else 'have'}"
    then = "the model can say nothing about them" if alone else "only the other columns speak"
    return (rows if alone else None), [f"{what} no known word in {_quoted(columns)}: {then}"]


def _typed(data: Dataset, kinds: dict[str, str]) -> Any:
    """Rows of a dataset for a model of tables."""
    import pandas as pd

    frame = pd.DataFrame(dense(data.X), columns=list(data.feature_names))
    return io.read_further(frame, kinds).X


def _columns_by_name(M: Any, names: Sequence[str], wanted: Sequence[str]) -> Any:
    """The columns of M that are wanted, zeros for those that it does not have."""
    if tuple(names) == tuple(wanted):
        return M
    place = {name: j for j, name in enumerate(names)}
    found = [(j, place[name]) for j, name in enumerate(wanted) if name in place]
    into, out_of = np.array(found, dtype=np.intp).reshape(-1, 2).T
    if isinstance(M, UnknownLabels):
        return UnknownLabels(*(_columns_by_name(part, names, wanted) for part in (M.Y, M.unknown)))
    if sparse.issparse(M):
        ones = np.ones(len(into), dtype=M.dtype)
        choose = sparse.csr_array((ones, (out_of, into)), shape=(len(names), len(wanted)))
        return sparse.csr_array(M @ choose)
    result = np.zeros((M.shape[0], len(wanted)), dtype=M.dtype)
    result[:, into] = M[:, out_of]
    return result


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names], 5)
