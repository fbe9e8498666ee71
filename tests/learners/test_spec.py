"""Learners written as text."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from plurilabel import BinaryRelevance, MLkNN, MLkNNCV, RAkEL, SCut, ThresholdClassifier, datasets
from plurilabel.learners import find_class, learner_names, make_learner, make_learners
from plurilabel.learners._spec import SKLEARN

DEFAULT_BASE = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("MLkNN", MLkNN()),
        ("MLkNN()", MLkNN()),
        ("  MLkNN(7)\n", MLkNN(7)),
        ("MLkNN(n_neighbors=7, smoothing=0.5)", MLkNN(7, smoothing=0.5)),
        ("MLkNN(metric='cosine', n_jobs=-1)", MLkNN(metric="cosine", n_jobs=-1)),
        ("MLkNNCV(n_neighbors=[1, 3], smoothing=(0.5, 1))", MLkNNCV([1, 3], smoothing=(0.5, 1))),
        ("MLkNNCV(range(1, 9, 2))", MLkNNCV(range(1, 9, 2))),
        ("StandardScaler | MLkNN(7)", make_pipeline(StandardScaler(), MLkNN(7))),
        (
            "StandardScaler() | MaxAbsScaler() | MLkNN()",
            make_pipeline(StandardScaler(), MaxAbsScaler(), MLkNN()),
        ),
        (
            "BinaryRelevance(LogisticRegression(C=1e-3, class_weight={0: 1, 1: 5}))",
            BinaryRelevance(LogisticRegression(C=1e-3, class_weight={0: 1, 1: 5})),
        ),
        ("RAkEL(labelset_size=2)", RAkEL(DEFAULT_BASE, labelset_size=2)),
        ("BinaryRelevance", BinaryRelevance(DEFAULT_BASE)),
        (
            "ThresholdClassifier(StandardScaler | MLkNN, strategy='scut')",
            ThresholdClassifier(make_pipeline(StandardScaler(), MLkNN()), strategy="scut"),
        ),
        ("ThresholdClassifier(MLkNN, SCut)", ThresholdClassifier(MLkNN(), SCut())),
        ("DecisionTreeClassifier(max_depth=None)", DecisionTreeClassifier(max_depth=None)),
    ],
)
def test_what_text_stands_for(text, same):
    assert repr(make_learner(text)) == repr(same)


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("MLkNN(n_neighbors=[5, 7])", {"n_neighbors": [5, 7]}),
        (
            "StandardScaler(with_mean=[True, False]) | MLkNN(n_neighbors=[5], smoothing=[1, 2])",
            {
                "standardscaler__with_mean": [True, False],
                "mlknn__n_neighbors": [5],
                "mlknn__smoothing": [1, 2],
            },
        ),
        (
            "RAkEL(DecisionTreeClassifier(max_depth=[2, None]), labelset_size=3)",
            {"estimator__max_depth": [2, None]},
        ),
        (
            "BinaryRelevance(StandardScaler | LogisticRegression(C=[1, 10]))",
            {"estimator__logisticregression__C": [1, 10]},
        ),
    ],
)
def test_lists_are_candidates(text, grid):
    search = make_learner(text, measure="ranking_loss", cv=4)
    assert isinstance(search, GridSearchCV) and search.param_grid == grid
    assert search.cv.n_splits == 4 and "ranking_loss" in repr(search.scoring)
    set_to_all = {name: values[-1] for name, values in grid.items()}
    clone(search.estimator).set_params(**set_to_all)  # every name in the grid is a parameter


def test_candidates_may_be_learners():
    search = make_learner("BinaryRelevance([LogisticRegression, DecisionTreeClassifier()])")
    assert [type(one).__name__ for one in search.param_grid["estimator"]] == [
        "LogisticRegression",
        "DecisionTreeClassifier",
    ]


def test_a_search_finds_what_a_loop_finds():
    data = datasets.make_multilabel(90, random_state=0)
    search = make_learner("MLkNN(n_neighbors=[1, 15])", measure="one_error")
    search.cv.random_state = 0
    search.fit(data.X, data.Y)
    losses = {}
    for k in (1, 15):
        losses[k] = [
            np.mean(
                [
                    data.Y[i, p.argmax()] == 0
                    for i, p in zip(
                        test,
                        MLkNN(k).fit(data.X[train], data.Y[train]).predict_proba(data.X[test]),
                    )
                ]
            )
            for train, test in search.cv.split(data.X, data.Y)
        ]
    best = min(losses, key=lambda k: np.mean(losses[k]))
    assert search.best_params_ == {"n_neighbors": best}
    assert -search.best_score_ == pytest.approx(np.mean(losses[best]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MLKNN", "unknown learner 'MLKNN'; did you mean MLkNN"),
        ("Logisticregression()", "did you mean LogisticRegression"),
        ("xyzzy", "unknown learner 'xyzzy'; there are .*MLkNN.*scikit-learn's usual ones"),
        ("MLkNN(k=7)", "MLkNN has no parameter 'k'; it has n_neighbors, smoothing"),
        ("MLkNN(1, 2, 3)", "MLkNN cannot be called like that: too many positional"),
        ("MLkNN(7, n_neighbors=7)", "multiple values for argument 'n_neighbors'"),
        ("MLkNN(**{'n_neighbors': 7})", "MLkNN has no parameter None"),
        ("MLkNN(*[7])", "is not allowed here"),
        ("MLkNN(", "is not a learner: .*never closed; write it like MLkNN"),
        ("", "'' is not a learner"),
        ("7", "'7' is not allowed here"),
        ("MLkNN(n_neighbors=3 + 4)", r"'3 \+ 4' is not allowed here"),
        ("StandardScaler", r"predicts nothing; end it in a learner: StandardScaler \| MLkNN"),
        ("MLkNN | StandardScaler", "MLkNN is not a transformer: nothing can follow it"),
        ("SCut()", r"SCut\(\) is not a learner, only part of one"),
        ("ThresholdClassifier(strategy='scut')", "ThresholdClassifier needs estimator"),
        ("MLkNN(n_neighbors=[])", "n_neighbors of MLkNN must list one or more candidates"),
        ("MLkNN(n_neighbors=[range(1, 'a')])", "range takes one to three whole numbers"),
        ("MLkNN, RAkEL", "is not allowed here"),
        ("(lambda: 1)()", "is not allowed here"),
        ("__import__('os').system('true')", "is not allowed here"),
        ("MLkNN(metric=__import__('os'))", "unknown learner '__import__'"),
        ("MLkNN(metric=os.system)", "'os.system' is not allowed here"),
        ("MLkNN(metric=[x for x in (1, 2)])", "is not allowed here"),
        ("MLkNN(metric=f'{1}')", "is not allowed here"),
        ("MLkNN(metric=b'x')", "is not allowed here"),
        ("MLkNN(metric=...)", "is not allowed here"),
        ("MLkNN(" * 90 + ")" * 90, "nested too deeply: more than 30"),
        ("eval('1')", "unknown learner 'eval'"),
        ("partition_labels()", "unknown learner 'partition_labels'"),
    ],
)
def test_errors_say_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        make_learner(text)


def test_several():
    found = make_learners("MLkNN(7), StandardScaler | MLkNN, forest=MLRandomForest")
    assert list(found) == ["MLkNN(7)", "StandardScaler | MLkNN", "forest"]
    assert isinstance(found["StandardScaler | MLkNN"], Pipeline)
    found = make_learners(
        "ML-kNN = MLkNN(7), k=BRkNN, b=MLkNN(metric='a,(=b'), é 2 =MLkNN(n_jobs=1),"
    )
    assert list(found) == ["ML-kNN", "k", "b", "é 2"] and found["b"].metric == "a,(=b"
    for text, message in [
        ("MLkNN, MLkNN", "the learner MLkNN is named twice"),
        ("a=MLkNN, a=RAkEL", "the learner a is named twice"),
        ("", "at least one learner"),
        ("MLkNN,, RAkEL", "'' is not a learner"),
        ("MLkNN)(, RAkEL", r"'MLkNN\)\(' is not a learner: unmatched"),
        ("MLkNN, RAkEL(", r"'RAkEL\(' is not a learner: '\(' was never closed"),
        ("a==MLkNN", "is not allowed here"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_learners(text)


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_be_named(name):
    inside = {
        **dict.fromkeys(("CalibratedClassifier", "ThresholdClassifier"), "MLkNN"),
        **dict.fromkeys(("ImputedLabels", "PositiveUnlabeled"), "MLkNN"),
        "ResampledClassifier": "MLkNN, MLROS(0.5)",
    }
    learner = make_learner(f"{name}({inside[name]})" if name in inside else name)
    assert type(learner).__name__ == name


def test_every_name_of_scikit_learn_is_there():
    for module, names in SKLEARN.items():
        for name in names.split():
            assert find_class(name).__module__.startswith(f"sklearn.{module.partition('.')[0]}")
