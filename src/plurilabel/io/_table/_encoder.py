"""Encode typed columns as numbers, with scikit-learn's encoders for each kind of column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.fitted import Declared, labels, values
from plurilabel.text import make_encoder
from plurilabel.text.shared import TextEncoder

MOST_CATEGORIES = 255  # of a column with a feature of their own: the most frequent
MOST_SUBWORDS = 100_000  # in a column: the most frequent
BESIDE = "tfidf+"  # before the name of an encoder: words are features, too
MANY_COLUMNS = 1000  # whose names scikit-learn would look up one by one; a slice it does not


def column_transformer(
    frame: Any, kinds: Mapping[str, str], numbers: Any, words: Any
) -> ColumnTransformer:
    """The encoders of typed columns: numbers first, then dates, categories and words."""
    texts = [name for name, kind in kinds.items() if kind == "text"]
    columns: dict[str, list[str]] = {"numbers": [], "dates": [], "categories": [], "declared": []}
    for name, kind in kinds.items():
        if kind != "text":
            columns["declared" if hasattr(frame[name], "cat") else kind].append(name)
    # with words, there are thousands of columns, mostly of zeros
    options: dict[str, Any] = {"sparse_output": bool(texts) and not is_dense(words)}
    declared = [
        [*frame[name].cat.categories, *([np.nan] if frame[name].isna().any() else [])]
        for name in columns["declared"]
    ]
    dates: Any = DateEncoder()
    encoders = {
        "numbers": numbers,
        "dates": dates if isinstance(numbers, str) else make_pipeline(dates, clone(numbers)),
        "categories": OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES + 1, **options
        ),
        "declared": OneHotEncoder(categories=declared, handle_unknown="ignore", **options),
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


def is_dense(words: Any) -> bool:
    """Whether a transformer of texts makes dense vectors instead of word counts."""
    return isinstance(words, TextEncoder)


def _text_parts(texts: list[str]) -> list[str]:
    """Names for the encoders of text columns; scikit-learn rejects double underscores."""
    if len(texts) == 1:
        return ["text"]
    names = [f"text {name.replace('__', '_')}" for name in texts]
    if len(set(names)) == len(names) and not any(name.endswith("_") for name in names):
        return names
    return [f"text {j}" for j in range(len(texts))]


def imputer() -> SimpleImputer:
    """Impute missing values by the median, or by 0 in columns without any value."""
    return SimpleImputer(strategy="median", keep_empty_features=True)


def uncentred(learner: Any) -> bool:
    """Set ``with_mean=False`` in all scalers, for sparse features; return whether any changed."""
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
    encoder: str | TextEncoder | None = None,
    sublinear: bool = False,
) -> Any:
    """Make a transformer of texts, for the parameter ``words`` of :func:`table_encoder`.

    Parameters
    ----------
    ngrams : int, default=1
        Maximum length of the sequences of words that are features.
    stop_words : "english" or sequence of str, default=None
        Words to ignore; "english" stands for scikit-learn's list.
    min_count : int, default=1
        Words in fewer rows are ignored.
    subwords : bool, default=False
        Whether to add parts of words, of 3 to 5 letters.
    encoder : str or encoder of :mod:`plurilabel.text`, default=None
        Encodes texts as vectors instead of words: an encoder, or a name for
        :func:`plurilabel.text.make_encoder`. With the prefix ``"tfidf+"``, words are features,
        too; the other parameters are only for words.
    sublinear : bool, default=False
        Whether to replace a term frequency k by 1 + log k.

    Returns
    -------
    TfidfVectorizer, an encoder, or FeatureUnion of several

    Examples
    --------
    >>> from plurilabel.io import word_features
    >>> words = word_features(ngrams=2, stop_words=["the"])
    >>> words.fit(["the red car"]).get_feature_names_out().tolist()
    ['car', 'red', 'red car']
    >>> word_features(encoder="tfidf+static").transformer_list
    [('words', TfidfVectorizer()), ('vectors', StaticEncoder())]
    """
    beside = isinstance(encoder, str) and encoder.startswith(BESIDE)
    if isinstance(encoder, str):
        encoder = make_encoder(encoder.removeprefix(BESIDE))
    if encoder is not None and not beside:
        if (ngrams, stop_words, min_count, subwords, sublinear) != (1, None, 1, False, False):
            raise ValueError("ngrams, stop_words, min_count and subwords are for words; use "
                             "them with encoder='tfidf+...'")  # fmt: skip
        return encoder
    stop: Any = stop_words
    if stop is not None and stop != "english":
        stop = [word.lower() for word in stop]
    options: dict[str, Any] = {"min_df": min_count, "sublinear_tf": sublinear}
    words = TfidfVectorizer(ngram_range=(1, ngrams), stop_words=stop, **options)
    parts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), max_features=MOST_SUBWORDS, **options
    )
    every = [("words", words)]
    every += [("parts", parts)] * subwords + [("vectors", encoder)] * beside
    return FeatureUnion(every) if len(every) > 1 else words


# names of the numbers of a date; those on a circle have two
_CIRCLES = {"season": 365.2425, "weekday": 7.0, "hour": 24.0}


class DateEncoder(TransformerMixin, BaseEstimator):
    """Encode dates as numbers: the year, and the season, weekday and hour on circles.

    The year is a decimal number, such as 2021.5 in the middle of 2021. Season (day of the year),
    weekday and hour are encoded by a sine and a cosine, so that December is as close to January as
    to November, and a linear model can separate any weekday or range of months or hours from the
    others. Circles that do not vary in training, such as the hour of dates without a time, are
    left out. A missing date gives missing numbers.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Columns of the data frame that it was fitted on.
    n_features_in_ : int
    varies_ : ndarray of shape (n_features_in_, 3)
        For each column, whether season, weekday and hour are used, as 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel import DateEncoder
    >>> films = pd.DataFrame({"shown": pd.to_datetime(["2021-01-01", "2021-07-02"])})
    >>> encoder = DateEncoder().fit(films)
    >>> encoder.get_feature_names_out().tolist()
    ['shown_year', 'shown_season_sin', 'shown_season_cos']
    >>> encoder.transform(films).round(1).tolist()
    [[2021.0, 0.0, 1.0], [2021.5, 0.0, -1.0]]
    """

    _fitted: ClassVar[Declared] = {
        "feature_names_in_": values("n_features_in_"),
        "varies_": labels("n_features_in_", len(_CIRCLES)),
    }

    def fit(self, X: Any, y: Any = None) -> DateEncoder:  # noqa: ARG002
        """Determine which circles vary in a data frame of dates."""
        varies = np.zeros((X.shape[1], len(_CIRCLES)), dtype=np.int8)
        for j, name in enumerate(X.columns):
            places = _places(_days(X[name], name))
            for k, circle in enumerate(_CIRCLES):
                known = places[circle][~np.isnan(places[circle])]
                varies[j, k] = len(known) > 0 and known.min() < known.max()
        self.feature_names_in_ = np.array(list(map(str, X.columns)), dtype=object)
        self.n_features_in_, self.varies_ = X.shape[1], varies
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a data frame with the columns of ``fit``, as an array of shape (n, numbers)."""
        check_is_fitted(self)
        columns: list[Any] = []
        for name, varies in zip(self.feature_names_in_, self.varies_):
            columns += _numbers(_places(_days(X[name], name)), _used(varies)).values()
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Names of the numbers."""
        check_is_fitted(self)
        names = []
        for name, varies in zip(self.feature_names_in_, self.varies_):
            names.append(f"{name}_year")
            names += [f"{name}_{cycle}_{way}" for cycle in _used(varies) for way in ("sin", "cos")]
        return np.array(names, dtype=object)


def date_numbers(date: datetime, *, with_hour: bool) -> dict[str, float]:
    """The numbers of one date, by the suffixes of the encoder's feature names."""
    places = _places(np.array([date], dtype="datetime64[s]"))
    circles = [circle for circle in _CIRCLES if circle != "hour" or with_hour]
    return {name: float(numbers[0]) for name, numbers in _numbers(places, circles).items()}


def _numbers(places: Any, circles: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The years of dates, and a sine and a cosine for each circle."""
    found = {"year": places["year"]}
    for circle in circles:
        angle = 2 * np.pi * places[circle] / _CIRCLES[circle]
        found |= {f"{circle}_sin": np.sin(angle), f"{circle}_cos": np.cos(angle)}
    return found


def _used(varies: Any) -> list[str]:
    return [circle for circle, used in zip(_CIRCLES, varies) if used]


def _days(series: Any, name: str) -> Any:
    """A column as dates to the second."""
    if series.dtype.kind != "M":
        raise ValueError(f"column {name!r} must hold dates, got {series.dtype}")
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_localize(None)
    return series.to_numpy().astype("datetime64[s]")


def _places(dates: Any) -> dict[str, NDArray[np.float64]]:
    """The year, and the place on each circle; NaN where a date is missing."""
    missing = np.isnat(dates)
    day, year = dates.astype("datetime64[D]"), dates.astype("datetime64[Y]")
    since = (dates - year.astype("datetime64[s]")).astype(np.float64) / 86_400  # days in the year
    length = ((year + 1).astype("datetime64[D]") - year.astype("datetime64[D]")).astype(float)
    places = {
        "year": year.astype(np.float64) + 1970 + since / length,
        "season": np.floor(since),
        # 1 January 1970 was a Thursday
        "weekday": np.mod(day.astype(np.float64) + 3, 7),
        "hour": (dates - day.astype("datetime64[s]")).astype(np.float64) / 3600,
    }
    for place in places.values():
        place[missing] = np.nan
    return places
