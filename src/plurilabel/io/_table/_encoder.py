"""From typed columns to numbers: scikit-learn's own encoders, chosen by the kind of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from plurilabel.io._table._date_encoder import DateEncoder

MOST_SUBWORDS = 100_000  # in a column: the most frequent
MANY_COLUMNS = 1000  # whose names scikit-learn would look up one by one; a slice it does not


def table_encoder(
    frame: Any,
    *,
    text: str | Sequence[str] | None = None,
    numbers: Any = "passthrough",
    words: Any = None,
) -> ColumnTransformer:
    """An encoder for the columns of a table, to put before a learner in a pipeline.

    Fitted with the learner, it takes categories, words and their weights from the training rows
    of each fold only. What it holds are scikit-learn's own encoders, and for dates
    :class:`DateEncoder`; the type of a column tells its kind, as in what :func:`read_table`
    returns with ``encode=False``.

    Parameters
    ----------
    frame : pandas data frame
        Looked at for the names and types of its columns, and for declared categories.
    text : str or sequence of str, default=None
        A column of text, for word features, or several.
    numbers : transformer or "passthrough", default="passthrough"
        What is done to the numbers, and to those of dates, such as
        :class:`~sklearn.impute.SimpleImputer`.
    words : transformer, default=None
        What turns a column of text into features; each column gets a copy. By default
        :class:`~sklearn.feature_extraction.text.TfidfVectorizer`, with its n-grams, stop words
        and frequencies. With ``analyzer="char_wb"`` it takes parts of words, and in a
        :class:`~sklearn.pipeline.FeatureUnion` both.

    Returns
    -------
    ColumnTransformer, not fitted
        Numbers come first, then dates, then categories, then words, each in the order of the
        columns. The result is dense, or sparse with ``text``.

    See Also
    --------
    read_table : Reads a table as typed columns.

    Notes
    -----
    A column of categories becomes one 0/1 column for each value, ``country_fr`` and so on, with
    one more for missing values if training rows have any. A value that is new after training
    becomes zeros in all of them. That is why no column is dropped where there are two values: a
    new value would look like the first of them. A column of pandas' categorical type has the
    values that it declares, whether they occur or not. Words become their TF-IDF; if there are
    other columns too, names begin with the kind: ``numbers__length``, ``text__red``; of several
    columns of text, with the column: ``text title__red``.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import table_encoder
    >>> films = pd.DataFrame({"length": [90.0, 143, 71], "country": ["fr", "us", "uk"]})
    >>> encoder = table_encoder(films).fit(films)
    >>> encoder.get_feature_names_out().tolist()
    ['length', 'country_fr', 'country_uk', 'country_us']
    >>> encoder.transform(pd.DataFrame({"country": ["us", "it"], "length": [100.0, 88]}))
    array([[100.,   0.,   0.,   1.],
           [ 88.,   0.,   0.,   0.]])
    """
    texts = [text] if isinstance(text, str) else list(text or ())
    columns: dict[str, list[str]] = {"numbers": [], "dates": [], "categories": [], "declared": []}
    for name, dtype in frame.dtypes.items():
        if name not in texts:
            other = "declared" if hasattr(dtype, "categories") else "categories"
            kind = {"M": "dates"}.get(dtype.kind, other)
            columns["numbers" if dtype.kind in "biuf" else kind].append(name)
    # beside words, thousands of columns mostly of zeros
    options = {"handle_unknown": "ignore", "sparse_output": bool(texts)}
    values = [
        [*frame[name].cat.categories, *([np.nan] if frame[name].isna().any() else [])]
        for name in columns["declared"]
    ]
    plain = isinstance(numbers, str)
    encoders = {
        "numbers": numbers,
        "dates": DateEncoder() if plain else make_pipeline(DateEncoder(), clone(numbers)),
        "categories": OneHotEncoder(**options),
        "declared": OneHotEncoder(categories=values, **options),
    }
    parts: list[Any] = [(kind, encoders[kind], names) for kind, names in columns.items() if names]
    numbered = list(frame.columns)[: len(columns["numbers"])]
    if len(numbered) > MANY_COLUMNS and numbered == columns["numbers"]:
        parts[0] = ("numbers", numbers, slice(numbered[0], numbered[-1]))
    vectorizer = TfidfVectorizer() if words is None else words
    parts += [(part, clone(vectorizer), name) for part, name in zip(_text_parts(texts), texts)]
    return ColumnTransformer(
        parts, sparse_threshold=1.0, verbose_feature_names_out=bool(texts) and len(parts) > 1
    )


def _text_parts(texts: list[str]) -> list[str]:
    """Names for the encoders of columns of text: scikit-learn takes none with two underscores."""
    if len(texts) == 1:
        return ["text"]
    names = [f"text {name.replace('__', '_')}" for name in texts]
    if len(set(names)) == len(names) and not any(name.endswith("_") for name in names):
        return names
    return [f"text {j}" for j in range(len(texts))]


def column_kinds(encoder: ColumnTransformer) -> dict[str, str]:
    """Kinds of the columns that a fitted encoder takes, by their names.

    Parameters
    ----------
    encoder : ColumnTransformer
        Fitted on a data frame.

    Returns
    -------
    dict of str to str
        "categories" for columns of an encoder with ``categories_``, "dates" for those of a
        :class:`DateEncoder`, "text" for a column that was given by its name alone, as a
        vectorizer takes it, "numbers" for all others.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import column_kinds, table_encoder
    >>> frame = pd.DataFrame({"year": [1998.0, 2001], "plot": ["a red day", "blue night"]})
    >>> column_kinds(table_encoder(frame, text="plot").fit(frame))
    {'year': 'numbers', 'plot': 'text'}
    """
    kinds = dict.fromkeys(map(str, encoder.feature_names_in_), "numbers")
    kinds |= {name: "categories" for name, _ in _categories(encoder)}
    for _, part, columns in encoder.transformers_:
        first = part[0] if isinstance(part, Pipeline) else part
        if isinstance(columns, str):
            kinds[columns] = "text"
        elif isinstance(first, DateEncoder):
            kinds |= dict.fromkeys(columns, "dates")
    return kinds


def unseen_categories(encoder: ColumnTransformer, frame: Any) -> dict[str, list[str]]:
    """Values of a frame that a fitted encoder does not know, by column, in order of appearance.

    Parameters
    ----------
    encoder : ColumnTransformer
        Fitted on a data frame.
    frame : pandas data frame

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import table_encoder, unseen_categories
    >>> films = pd.DataFrame({"country": ["fr", "us", "uk"]})
    >>> unseen_categories(table_encoder(films).fit(films), pd.DataFrame({"country": ["it", "us"]}))
    {'country': ['it']}
    """
    found = {
        name: [value for value in frame[name].dropna().unique() if value not in known]
        for name, known in _categories(encoder)
    }
    return {name: values for name, values in found.items() if values}


def without_known_words(encoder: ColumnTransformer, frame: Any) -> NDArray[np.bool_] | None:
    """Rows in whose columns of text there is no word that a fitted encoder knows.

    Parameters
    ----------
    encoder : ColumnTransformer
        Fitted on a data frame.
    frame : pandas data frame

    Returns
    -------
    ndarray of bool of shape (n,), or None
        None for an encoder without columns of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import table_encoder, without_known_words
    >>> notes = pd.DataFrame({"note": ["cough, fever", "a rash"]})
    >>> encoder = table_encoder(notes, text="note").fit(notes)
    >>> without_known_words(encoder, pd.DataFrame({"note": ["fever", "un mal de tête"]}))
    array([False,  True])
    """
    found = [
        np.diff(sparse.csr_array(part.transform(frame[column])).indptr) == 0
        for _, part, column in encoder.transformers_
        if isinstance(column, str) and hasattr(part, "transform")
    ]
    return np.logical_and.reduce(found) if found else None


def _categories(encoder: ColumnTransformer) -> Iterator[tuple[str, set[str]]]:
    """Columns of categories, each with the values it had in training."""
    for _, part, columns in encoder.transformers_:
        part = part[-1] if isinstance(part, Pipeline) else part
        if hasattr(part, "categories_"):
            yield from ((name, set(known)) for name, known in zip(columns, part.categories_))


def imputer() -> SimpleImputer:
    """What fills missing values: the median; 0 where a column has no value at all.

    Examples
    --------
    >>> from plurilabel.io.shared import imputer
    >>> imputer().fit_transform([[1.0, None], [None, None], [5.0, None]])
    array([[1., 0.],
           [3., 0.],
           [5., 0.]])
    """
    return SimpleImputer(strategy="median", keep_empty_features=True)


def uncentred(learner: Any) -> bool:
    """Set ``with_mean=False`` in all scalers, for sparse features; returns whether any changed.

    Examples
    --------
    >>> from plurilabel.io.shared import uncentred
    >>> from plurilabel.learners import make_learner
    >>> learner = make_learner("StandardScaler | MLkNN")
    >>> uncentred(learner), learner[0]
    (True, StandardScaler(with_mean=False))
    """
    scalers = [part for part in learner.get_params().values() if isinstance(part, StandardScaler)]
    centred = [scaler for scaler in scalers if scaler.with_mean]
    for scaler in centred:
        scaler.with_mean = False
    return bool(centred)


def word_features(
    *,
    ngrams: int = 1,
    stop_words: str | Sequence[str] | None = None,
    min_count: int = 1,
    subwords: bool = False,
) -> Any:
    """Make a transformer of texts, for ``words`` of :func:`table_encoder`.

    Parameters
    ----------
    ngrams : int, default=1
        Sequences of up to so many words are features, too.
    stop_words : "english" or sequence of str, default=None
        Words to ignore; "english" stands for scikit-learn's list.
    min_count : int, default=1
        Words that occur in fewer rows are ignored.
    subwords : bool, default=False
        Whether parts of words, of 3 to 5 letters, are features, too.

    Returns
    -------
    TfidfVectorizer, or FeatureUnion of two with ``subwords``

    Examples
    --------
    >>> from plurilabel.io import word_features
    >>> words = word_features(ngrams=2, stop_words=["the"])
    >>> words.fit(["the red car"]).get_feature_names_out().tolist()
    ['car', 'red', 'red car']
    """
    stop: Any = stop_words
    if stop is not None and stop != "english":
        stop = [word.lower() for word in stop]
    words = TfidfVectorizer(ngram_range=(1, ngrams), stop_words=stop, min_df=min_count)
    if not subwords:
        return words
    parts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), min_df=min_count, max_features=MOST_SUBWORDS
    )
    return make_union(words, parts)
