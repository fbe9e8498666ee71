"""Seeds inside learners; what they search is in test_shared_index.py."""

from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import MLRandomForest
from plurilabel.evaluation._compare._cells import derived_seed
from plurilabel.learners import set_seeds


def test_seeds_go_where_none_is_set():
    learner = GridSearchCV(
        make_pipeline(StandardScaler(), MLRandomForest()),
        {"mlrandomforest": [MLRandomForest(5), MLRandomForest(5, random_state=3)]},
        cv=KFold(2, shuffle=True),
    )
    set_seeds(learner, 11)
    assert learner.estimator[-1].random_state == 11 and learner.cv.random_state == 11
    assert [one.random_state for one in learner.param_grid["mlrandomforest"]] == [11, 3]
    seeds = {derived_seed(*place) for place in [(0, "a", 0, 0), (1, "a", 0, 0), (0, "b", 0, 0),
                                                (0, "a", 1, 0), (0, "a", 0, 1)]}  # fmt: skip
    assert len(seeds) == 5 and all(0 <= seed < 2**31 for seed in seeds)
