"""TableEncoder: raw tables and texts as numbers, inside a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing, default_feature_names
from plurilabel._core.compat import HasMethods, StrOptions, check_params
from plurilabel._core.fitted import Declared, values
from plurilabel._core.names import no_column
from plurilabel._core.words import listed
from plurilabel.io._table._encoder import column_transformer, imputer, is_dense
from plurilabel.io._table._frame import Frame, open_frame, table_module
from plurilabel.io._table._kinds import Typed, typed_frame, typed_like

Names: TypeAlias = Annotated[str | Sequence[str], str, list, tuple] | None  # of columns
KINDS = ("numbers", "dates", "categories", "text")
TEXT = "text"
"""The column of texts that come without a table."""


@dataclass(eq=False, repr=False)
class TableEncoder(AllOrNothing, TransformerMixin, BaseEstimator):
    """Encode the columns of a table, or texts, as numbers.

    The kind of each column is detected: numbers, dates, categories, text, or lists of numbers.
    Columns that identify rows are left out. Everything is learned from the rows given to
    ``fit``, so that in a pipeline each fold has its own words, categories and medians.

    Parameters
    ----------
    text : str or sequence of str, default=None
        Columns to treat as text.
    categorical : str or sequence of str, default=None
        Columns to treat as categories, such as codes written as numbers.
    drop : str or sequence of str, default=None
        Columns to leave out.
    numbers : transformer or "passthrough", default=None
        Transforms numbers, including those derived from dates. By default, missing values are
        replaced by the median, and numbers are scaled to [0, 1] if there is text, too.
    words : transformer, default=None
        Encodes text, such as :class:`StaticEncoder` or the result of
        :func:`plurilabel.io.word_features`; each column gets a copy. By default a
        :class:`~sklearn.feature_extraction.text.TfidfVectorizer`.
    kinds : dict of str to {"numbers", "dates", "categories", "text"}, default=None
        The columns to use and their kinds, instead of detecting them; set by :meth:`decided`.
    written : dict of str to str, default=None
        Unusual notation of columns in ``kinds``: "decimal comma", "day first" or "month first".

    Attributes
    ----------
    kinds_ : dict of str to str
        The kind of each column used; lists of numbers become columns ``name[j]``.
    left_out_ : dict of str to str
        Columns that identify rows, each with the reason.
    written_ : dict of str to str
    transformer_ : ColumnTransformer
        The fitted encoders of scikit-learn, and :class:`DateEncoder` for dates.
    feature_names_in_ : ndarray of str
        The columns that are used.

    Notes
    -----
    The features are numbers, dates, categories and words, in this order. They are sparse if there
    is text, unless ``words`` is an encoder of :mod:`plurilabel.text`.

    Categories are one-hot encoded as ``country_fr`` and so on, with a column for missing values if
    there are any in training; unknown values become zeros. At most 255 values have their own
    column, the most frequent ones, and the others share one. The values of a column of pandas'
    categorical type are those it declares. Text is encoded by TF-IDF, and missing text is empty.
    If there are text and other columns, feature names start with the kind (``numbers__length``,
    ``text__red``), and with several text columns, also with the column (``text title__red``).

    A column is text if most of its values have several words and they are long or very diverse. A
    column identifies rows if more than half of its values are distinct single words, or if it is
    named like an identifier (``id``) and numbers the rows. See :func:`read_table` for the notation
    of numbers and dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel import TableEncoder
    >>> films = pd.DataFrame({"length": [90.0, None, 71], "country": ["fr", "us", "uk"]})
    >>> encoder = TableEncoder().fit(films)
    >>> encoder.kinds_
    {'length': 'numbers', 'country': 'categories'}
    >>> encoder.get_feature_names_out().tolist()
    ['length', 'country_fr', 'country_uk', 'country_us']
    >>> encoder.transform(pd.DataFrame({"country": ["us", "it"], "length": ["100", ""]}))
    array([[100. ,   0. ,   0. ,   1. ],
           [ 80.5,   0. ,   0. ,   0. ]])

    Texts need no table:

    >>> TableEncoder().fit(["a red day", "a blue night"]).get_feature_names_out().tolist()
    ['blue', 'day', 'night', 'red']
    """

    _fitted: ClassVar[Declared] = {"feature_names_in_": values("n_features_in_")}

    _: KW_ONLY
    text: Names = None
    categorical: Names = None
    drop: Names = None
    numbers: Annotated[
        Any, StrOptions({"passthrough"}), HasMethods(["fit", "transform"]), None
    ] = None
    words: Annotated[Any, HasMethods(["fit", "transform"])] | None = None
    kinds: Annotated[Mapping[str, str], Mapping] | None = None
    written: Annotated[Mapping[str, str], Mapping] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Detect the kinds of the columns and learn their encoding.

        Parameters
        ----------
        X : data frame, array of shape (n, d), or sequence of n texts
        y : ignored
        """
        typed = self.typed_rows(X)
        self._prepare(typed).fit(typed.frame)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:  # noqa: ARG002
        """Fit, and encode the same rows."""
        typed = self.typed_rows(X)
        return self._matrix(self._prepare(typed).fit_transform(typed.frame))

    def transform(self, X: Any) -> Any:
        """Encode the rows of a table, or texts.

        Parameters
        ----------
        X : data frame with the columns of ``fit``, in any order and among others; or texts
        """
        check_is_fitted(self)
        table = as_table(X, list(self.feature_names_in_))
        with table.located():
            return self._matrix(self.transformer_.transform(self.typed(table.frame)))

    def typed(self, frame: Any) -> Any:
        """Convert the columns of a frame to the kinds and the notation of ``fit``."""
        return typed_like(frame, self.kinds_, self.written_)

    def decided(self, X: Any) -> Self:
        """An unfitted copy with the kinds of columns of these rows.

        Different folds might otherwise disagree, for instance on a column with few categories.
        """
        typed = self.typed_rows(X)
        same: Self = clone(self).set_params(kinds=typed.kinds, written=typed.written)
        same.left_out_ = typed.left_out
        return same

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Names of the features."""
        check_is_fitted(self)
        try:
            return np.asarray(self.transformer_.get_feature_names_out(), dtype=object)
        except ValueError as error:
            problem = f"two columns would give the same feature: rename one ({error})"
            raise ValueError(problem) from None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transformer_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def typed_rows(self, X: Any) -> Typed:
        """The typed columns to learn from."""
        check_params(self)
        table = as_table(X)
        with table.located():
            if self.kinds is not None:
                written = dict(self.written or {})
                frame = typed_like(table.frame, self.kinds, written)
                return Typed(frame, dict(self.kinds), written, getattr(self, "left_out_", {}))
            columns = [str(name) for name in table.frame.columns]
            text, categorical, drop = (
                _names(columns, parameter, getattr(self, parameter))
                for parameter in ("text", "categorical", "drop")
            )
            text = columns if is_texts(X) or getattr(X, "attrs", {}).get(TEXT) else text
            used = [name for name in columns if name not in drop]
            return typed_frame(table.frame, used, text, categorical, commas=table.commas)

    def _prepare(self, typed: Typed) -> ColumnTransformer:
        """Store the columns and return their unfitted transformer."""
        self.kinds_, self.written_, self.left_out_ = typed.kinds, typed.written, typed.left_out
        self.feature_names_in_ = np.array(list(typed.kinds), dtype=object)
        self.n_features_in_ = len(typed.kinds)
        numbers, has_text = self.numbers, TEXT in typed.kinds.values()
        if self.words is not None and not has_text:
            raise ValueError("words is for columns of text, got none; name them with text=[...]")
        if numbers is None:
            numbers = make_pipeline(imputer(), MinMaxScaler()) if has_text else imputer()
        self.transformer_ = column_transformer(typed.frame, typed.kinds, numbers, self.words)
        return self.transformer_

    def _matrix(self, encoded: Any) -> Any:
        if TEXT in self.kinds_.values() and not is_dense(self.words):
            return sparse.csr_array(encoded)
        return np.ascontiguousarray(encoded)  # sums in another order differ in the last bit


def table_encoder(frame: Any, **options: Any) -> TableEncoder:
    """Make an encoder for the columns of a table, for use in a pipeline.

    Parameters
    ----------
    frame : data frame or sequence of texts
        Rows from which the kinds of the columns are detected.
    **options : dict
        Parameters of :class:`~plurilabel.TableEncoder`: ``text``, ``categorical``, ``drop``,
        ``numbers`` and ``words``.

    Returns
    -------
    TableEncoder, not fitted
        With the detected kinds, so that all folds agree on them.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import table_encoder
    >>> films = pd.DataFrame({"length": [90.0, 143, 71], "country": ["fr", "us", "uk"]})
    >>> table_encoder(films).kinds
    {'length': 'numbers', 'country': 'categories'}
    >>> table_encoder(films, drop="length").fit(films).get_feature_names_out().tolist()
    ['country_fr', 'country_uk', 'country_us']
    """
    return TableEncoder(**options).decided(frame)


def kinds_text(kinds: Mapping[str, str]) -> str:
    """The kinds of columns in a line, such as "2 of numbers and 1 of text"."""
    counts = Counter(kinds.values())
    return listed([f"{counts[kind]:,} of {kind}" for kind in KINDS if counts[kind]])


def unseen_categories(encoder: TableEncoder, frame: Any) -> dict[str, list[str]]:
    """Values of typed columns that a fitted encoder does not know, in order of appearance."""
    found = {
        name: [value for value in frame[name].dropna().unique() if value not in known]
        for name, known in _categories(encoder)
    }
    return {name: values for name, values in found.items() if values}


def without_known_words(encoder: TableEncoder, frame: Any) -> NDArray[np.bool_] | None:
    """Which typed rows have no word that a fitted encoder knows; None without columns of text."""
    found = [
        np.diff(sparse.csr_array(part.transform(frame[column])).indptr) == 0
        for _, part, column in encoder.transformer_.transformers_
        if isinstance(column, str) and hasattr(part, "transform")
    ]
    return np.logical_and.reduce(found) if found else None


def _categories(encoder: TableEncoder) -> Iterator[tuple[str, set[str]]]:
    """Columns of categories, each with the values it had in training."""
    for _, part, columns in encoder.transformer_.transformers_:
        part = part[-1] if isinstance(part, Pipeline) else part
        if hasattr(part, "categories_"):
            yield from ((name, set(known)) for name, known in zip(columns, part.categories_))


def is_texts(X: Any) -> bool:
    """Whether X is a sequence of texts: a list, an array or a column of strings."""
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__"):
        return False
    if hasattr(X, "dtype") and getattr(X.dtype, "kind", "O") not in "OUT":
        return False
    cells = list(X[:100]) if not hasattr(X, "iloc") else X.iloc[:100].tolist()
    return any(isinstance(cell, str) for cell in cells) and all(
        isinstance(cell, str) or cell is None or cell != cell for cell in cells
    )


def as_table(X: Any, names: Sequence[str] = ()) -> Frame:
    """Rows as a frame: a table, texts as its one column, or an array of numbers."""
    if hasattr(X, "columns"):
        return open_frame(X)
    pandas = table_module("pandas")
    if is_texts(X):
        name = names[0] if len(names) == 1 else str(getattr(X, "name", None) or TEXT)
        frame = pandas.DataFrame({name: pandas.Series(list(X), dtype=object)})
        frame.attrs[TEXT] = True  # so that few different texts are not taken for categories
        return Frame(frame)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must be a table or sequence of texts, got {array.ndim} dimension(s)")
    wide = array.shape[1]
    columns = list(names) if len(names) == wide else list(default_feature_names(wide))
    return Frame(pandas.DataFrame(array, columns=columns))


def _names(columns: Sequence[str], parameter: str, given: Any) -> list[str]:
    """The columns that a parameter names, which must be there."""
    names = [given] if isinstance(given, str) else list(given or ())
    if missing := [name for name in names if name not in columns]:
        raise ValueError(no_column(parameter, missing[0], columns))
    return names
