"""Model files hold learners of grades and of label distributions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from plurilabel import AAkNN, CombinedReduction, DistributionNetwork, GradedMLkNN
from plurilabel.models import Model, load_model, save_model

pytest.importorskip("skops")


@pytest.mark.parametrize(
    "learner",
    [CombinedReduction(LogisticRegression()), GradedMLkNN(3), AAkNN(2), DistributionNetwork()],
    ids=lambda learner: type(learner).__name__,
)
def test_save_and_load(learner, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    if isinstance(learner, CombinedReduction | GradedMLkNN):
        kind = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
        y = pd.DataFrame(rng.choice(kind.categories, (30, 2)), columns=["a", "b"]).astype(kind)
    else:
        y = pd.DataFrame(rng.dirichlet([1, 1], 30), columns=["a", "b"])
    learner.fit(X, y)
    save_model(Model(learner, learner.label_names_, ["x", "y", "z"]), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert_array_equal(loaded.predict(X), learner.predict(X))
