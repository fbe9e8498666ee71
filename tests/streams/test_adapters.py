import pytest

from plurilabel.streams import RandomTreeStream, RegressorLearner, prequential

pytest.importorskip("river")
from river import linear_model, multioutput, preprocessing, tree


def test_a_label_is_a_target_above_one_half():
    learner, alone = RegressorLearner(tree.ISOUPTreeRegressor()), tree.ISOUPTreeRegressor()
    assert learner.predict_one({"a": 1.0}) == {} == learner.predict_proba_one({"a": 1.0})
    for i in range(100):
        learner.learn_one({"a": i % 9}, {"low": i % 9 < 4, "all": True})
        alone.learn_one({"a": i % 9}, {"low": float(i % 9 < 4), "all": 1.0})
    value = alone.predict_one({"a": 3})["low"]
    assert learner.predict_one({"a": 3}) == {"low": value > 0.5, "all": True}
    assert learner.predict_proba_one({"a": 3})["low"][True] == min(max(value, 0), 1)


def test_missing_and_new_labels():
    learner = RegressorLearner(tree.ISOUPTreeRegressor())
    for i in range(300):
        y = {"low": i % 9 < 4, "other": None if i % 3 else False}
        learner.learn_one({"a": i % 9}, {**y, **({"new": True} if i > 50 else {})})
    assert learner.predict_one({"a": 2}) == {"low": True, "other": False, "new": True}


def test_regressors_are_contestants_as_they_are():
    chain = multioutput.RegressorChain(linear_model.LinearRegression())
    learners = [tree.ISOUPTreeRegressor(), preprocessing.StandardScaler() | chain]
    stream = RandomTreeStream(300, 4, 3, drift="none", noise=0.0, random_state=1)
    found = prequential(stream, learners, ["micro_f1", "one_error"])
    assert found.errors == {}
    names = ["ISOUPTreeRegressor", "StandardScaler | RegressorChain"]
    assert list(found.final("micro_f1")) == names
    assert min(found.final("micro_f1").values()) > 0.2


def test_what_is_no_regressor():
    with pytest.raises(TypeError, match="must have learn_one, as river's do; got float"):
        RegressorLearner(1.0)
