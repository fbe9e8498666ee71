"""Dates as numbers."""

import math
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import DateEncoder
from plurilabel.io import table_encoder


def slow(date):
    """Year, season, weekday and hour of a date, from the definitions."""
    start, end = datetime(date.year, 1, 1), datetime(date.year + 1, 1, 1)
    since = (date - start).total_seconds() / 86400
    hour = date.hour + date.minute / 60 + date.second / 3600
    numbers = [date.year + since / (end - start).days]
    for place, length in ((int(since), 365.2425), (date.weekday(), 7), (hour, 24)):
        angle = 2 * math.pi * place / length
        numbers += [math.sin(angle), math.cos(angle)]
    return numbers


@given(st.lists(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_numbers_of_dates(dates):
    dates = [date.replace(microsecond=0) for date in dates]
    # two more, so that every circle varies
    dates += [datetime(2020, 1, 1), datetime(2021, 6, 4, 7)]
    frame = pd.DataFrame({"when": np.array(dates, dtype="datetime64[s]")})
    np.testing.assert_allclose(
        DateEncoder().fit(frame).transform(frame), [slow(date) for date in dates], atol=1e-9
    )


def test_circles_that_do_not_vary_are_left_out():
    days = pd.to_datetime(["2021-01-01", "2021-01-08", None])
    times = pd.to_datetime(["1900-01-01 08:00", "1900-01-01 09:30", "1900-01-01 10:00"])
    frame = pd.DataFrame({"day": days, "time": times})
    encoder = DateEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == [
        "day_year", "day_season_sin", "day_season_cos", "time_year", "time_hour_sin",
        "time_hour_cos",
    ]  # fmt: skip
    Z = encoder.transform(frame)
    assert np.isnan(Z[2, :3]).all() and not np.isnan(Z[:2]).any() and not np.isnan(Z[2, 3:]).any()
    none = pd.DataFrame({"day": pd.to_datetime([None, None])})
    assert np.isnan(DateEncoder().fit(none).transform(none)).all()


def test_zones_are_left_out():
    plain = pd.DataFrame({"a": pd.to_datetime(["2021-01-01 08:00", "2021-01-01 20:00"])})
    zoned = plain.assign(a=plain["a"].dt.tz_localize("Europe/Berlin"))
    encoder = DateEncoder().fit(plain)
    np.testing.assert_array_equal(encoder.transform(zoned), encoder.transform(plain))
    with pytest.raises(ValueError, match="column 'a' must hold dates, got int64"):
        encoder.transform(pd.DataFrame({"a": [1]}))


def test_weekdays_can_be_told_by_a_linear_model():
    days = pd.date_range("2021-01-01", periods=70)
    Z = DateEncoder().fit_transform(pd.DataFrame({"d": days}))[:, 3:5]
    for weekday in range(7):
        of, others = Z[days.day_of_week == weekday], Z[days.day_of_week != weekday]
        direction = of[0]
        assert (of @ direction).min() > (others @ direction).max()


def test_dates_in_a_table_encoder():
    frame = pd.DataFrame({"d": pd.to_datetime(["2021-01-01", "2022-07-01"]), "x": [1.0, 2.0]})
    encoder = table_encoder(frame).fit(frame)
    assert encoder.kinds_ == {"d": "dates", "x": "numbers"}
    assert encoder.get_feature_names_out()[:2].tolist() == ["x", "d_year"]
