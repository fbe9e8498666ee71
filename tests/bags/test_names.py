"""Features of bags keep their names."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler

from plurilabel import BagsToRows, MIMLkNN, OnInstances
from plurilabel.bags import Bags


def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    return made.assign(bag=np.repeat(np.arange(20), 3))


def test_another_order_of_the_features_is_refused():
    data = frame()
    Y = np.random.default_rng(1).integers(0, 2, (20, 2))
    bags, other = (Bags.from_frame(data[[*order, "bag"]], "bag") for order in ("abc", "cab"))
    for learner in (MIMLkNN(3, n_citers=3), BagsToRows(), OnInstances(MinMaxScaler())):
        learner.fit(bags, Y)
        assert list(learner.feature_names_in_) == ["a", "b", "c"]
        ask = learner.predict if hasattr(learner, "predict") else learner.transform
        ask(bags)
        ask(Bags(bags.instances, bags.offsets))  # without names
        with pytest.raises(ValueError, match="in order: a, b, c, got c, a, b"):
            ask(other)


def test_frames_of_other_columns_make_no_bags():
    data = frame().drop(columns="bag")
    with pytest.raises(ValueError, match=r"bag 1 has the columns \['c', 'a', 'b'\], but bag 0"):
        Bags([data[:3], data[["c", "a", "b"]][3:6]])


def test_a_failed_fit_changes_nothing():
    bags = Bags.from_frame(frame(), "bag")
    rows = BagsToRows("medoids", random_state=0).fit(bags)
    before = rows.transform(bags)
    with pytest.raises(ValueError, match="n_medoids"):
        rows.set_params(n_medoids=100).fit(Bags(bags.instances[:, :2], bags.offsets))
    np.testing.assert_array_equal(rows.set_params(n_medoids=0.2).transform(bags), before)
