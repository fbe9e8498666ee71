"""Dates as numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.fitted import Declared, labels, values

# names of the numbers of a date; those on a circle have two
_CIRCLES = {"season": 365.2425, "weekday": 7.0, "hour": 24.0}


class DateEncoder(TransformerMixin, BaseEstimator):
    """Columns of dates as numbers: the year, and the season, weekday and hour on circles.

    The year is a decimal number, 2021.5 in the middle of 2021, for what changes over time. What
    comes again and again is a point on a circle, with a sine and a cosine, so that December is as
    close to January as to November: the season by the day of the year, the day of the week, and
    the hour with its minutes. On a circle, a linear model can tell any one weekday, and any run of
    months or hours, from all others. Circles on which all training rows have the same place, such
    as the hour of dates without a time, are left out. A missing date gives missing numbers.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Columns of the data frame that it was fitted on.
    n_features_in_ : int
    varies_ : ndarray of shape (n_features_in_, 3)
        For each column, whether the circles of season, weekday and hour are used, as 0 and 1.

    See Also
    --------
    table_encoder : Puts it before the dates of a table.

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
        """Find out which circles vary.

        Parameters
        ----------
        X : pandas data frame of columns of dates
        y : ignored
        """
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
        """Dates as numbers.

        Parameters
        ----------
        X : pandas data frame with the columns of the fit

        Returns
        -------
        ndarray of shape (n, numbers)
        """
        check_is_fitted(self)
        columns = []
        for name, varies in zip(self.feature_names_in_, self.varies_):
            places = _places(_days(X[name], name))
            columns.append(places["year"])
            for circle in _used(varies):
                angle = 2 * np.pi * places[circle] / _CIRCLES[circle]
                columns += [np.sin(angle), np.cos(angle)]
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Names of the numbers."""
        check_is_fitted(self)
        names = []
        for name, varies in zip(self.feature_names_in_, self.varies_):
            names.append(f"{name}_year")
            names += [
                f"{name}_{circle}_{way}" for circle in _used(varies) for way in ("sin", "cos")
            ]
        return np.array(names, dtype=object)


def date_numbers(date: datetime, *, with_hour: bool) -> dict[str, float]:
    """The numbers of one date, by the names that the encoder gives them after the column.

    Examples
    --------
    >>> found = date_numbers(datetime(2021, 7, 2), with_hour=False)
    >>> list(found), round(found["year"], 1)
    (['year', 'season_sin', 'season_cos', 'weekday_sin', 'weekday_cos'], 2021.5)
    """
    places = _places(np.array([date], dtype="datetime64[s]"))
    found = {"year": float(places["year"][0])}
    for circle, length in _CIRCLES.items():
        if circle != "hour" or with_hour:
            angle = 2 * np.pi * float(places[circle][0]) / length
            found |= {f"{circle}_sin": float(np.sin(angle)), f"{circle}_cos": float(np.cos(angle))}
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
