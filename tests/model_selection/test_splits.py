"""``cv`` and ``groups`` of every estimator that splits its rows."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import plurilabel
from plurilabel import BinaryRelevance, CalibratedClassifier, StackedRelevance, ThresholdClassifier
from plurilabel._core.roster import estimators
from plurilabel.model_selection.shared import groups_for, held_out_rows, splits_by

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(12), 5)
X = RNG.normal(size=(60, 3))
X[:, 2] = GROUPS
Y = (X[:, :2] + 0.5 * RNG.normal(size=(60, 2)) > 0).astype(int)


class Noting(LogisticRegression):
    """A classifier that notes the groups of the rows that it learns from."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        Noting.seen.append(set(np.asarray(X)[:, 2].tolist()))
        return super().fit(X, y, sample_weight)


def with_cv():
    """An estimator of each class of the library that has a parameter ``cv``."""
    special = {"AutoClassifier": {"portfolio": [("a", BinaryRelevance(Noting()))]}}
    found = {}
    for name in estimators():
        made = getattr(plurilabel, name, None)
        if made is None or not hasattr(made, "_get_param_names") or name.startswith("Stream"):
            continue
        if "cv" in made._get_param_names():
            inner = Noting() if "Chain" in name or "Stacked" in name else BinaryRelevance(Noting())
            found[name] = made(**special.get(name, {"estimator": inner}))
    if "ThresholdClassifier" in found:
        found["ThresholdClassifier"].set_params(strategy="scut")
    if "EnsembleOfChains" in found:
        found["EnsembleOfChains"].set_params(max_samples=1.0, n_estimators=2)
    found.pop("LabelDescriptions")  # which has no folds without texts
    return found


FOUND = with_cv()


def test_the_roster_is_looked_through():
    assert set(FOUND) >= {
        "AutoClassifier", "CalibratedClassifier", "ClassifierChain", "EnsembleOfChains",
        "PositiveUnlabeled", "StackedRelevance", "ThresholdClassifier",
    }  # fmt: skip


PAIRS = list(GroupKFold(3).split(X, Y, GROUPS))
CASES = [
    (name, cv)
    for name in FOUND
    for cv in ("3", "None", "GroupKFold", "PAIRS")
    # chains and stacking have no folds with None, and the samples of an ensemble other row numbers
    if not (cv == "None" and ("Chain" in name or name == "StackedRelevance"))
    and not (cv == "PAIRS" and name == "EnsembleOfChains")
]


@pytest.mark.parametrize("routing", [False, True], ids=["plain", "routed"])
@pytest.mark.parametrize(("name", "cv"), CASES)
def test_no_split_separates_a_group(name, cv, routing):
    cv = {"3": 3, "None": None, "GroupKFold": GroupKFold(3), "PAIRS": PAIRS}[cv]
    model = sklearn.clone(FOUND[name]).set_params(cv=cv)
    Noting.seen.clear()
    with sklearn.config_context(enable_metadata_routing=routing):
        model.fit(X, Y, groups=GROUPS)
    parts = [seen for seen in Noting.seen if len(seen) < 12]
    # a group that was separated would be in all training parts but those that test on it
    folds = 5 if cv is None else 3
    count = sum(sum(g in part for part in parts) for g in range(12))
    share = (folds - 1) / folds
    if name == "AutoClassifier" and cv is None:  # 5 folds, and 10 pairs of them for its estimate
        share = (5 * 4 / 5 + 10 * 3 / 5) / 15
    assert parts and count == pytest.approx(len(parts) * 12 * share)


@pytest.mark.parametrize("name", FOUND)
def test_a_split_that_separates_a_group_is_refused(name):
    model = sklearn.clone(FOUND[name]).set_params(cv=[(np.arange(31), np.arange(31, 60))])
    with pytest.raises(
        ValueError, match=r"keep the rows of a group together|n_splits|exactly once"
    ):
        model.fit(X, Y, groups=GROUPS)


def test_groups_reach_the_estimators_inside():
    inner = StackedRelevance(Noting(), cv=2)
    outer = ThresholdClassifier(make_pipeline(StandardScaler(), inner), "scut", cv=3)
    assert list(groups_for(outer.estimator, GROUPS)) == ["stackedrelevance__groups"]
    assert groups_for(GaussianNB(), GROUPS) == {} == groups_for(inner, None)
    outer.fit(X, Y, groups=GROUPS)
    nested = CalibratedClassifier(StackedRelevance(Noting(), cv=2), cv=3)
    Noting.seen.clear()
    nested.fit(X, Y, groups=GROUPS)
    # 12 groups, 8 in a fold, and half of these, or of 12, in those inside
    assert {len(seen) for seen in Noting.seen} == {12, 6, 8, 4}


def test_splits():
    by_pairs = splits_by([(np.arange(40), np.arange(40, 60))], X, Y)
    assert_array_equal(by_pairs[0][1], np.arange(40, 60))
    by_masks = splits_by([(np.arange(60) < 40, np.arange(60) >= 40)], X, Y)
    assert_array_equal(by_masks[0][0], np.arange(40))
    plain = splits_by(4, X, Y, stratify=False, random_state=1)
    expected = KFold(4, shuffle=True, random_state=1).split(X)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(plain, expected, strict=True))
    one, other = (
        splits_by(4, X, labels, GROUPS, stratify=False, random_state=1) for labels in (Y, 1 - Y)
    )
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))
    for cv, message in [
        (61, "at most n_samples=60"),
        (1, "at least 2 folds, got 1"),
        ([(np.arange(3), [])], "leave rows to train and test, got 3, 0 in split 0"),
        ([(np.arange(3), [60])], "must contain indices of the 60 rows, got others in split 0"),
        ([], "at least one split"),
    ]:
        with pytest.raises(ValueError, match=message):
            splits_by(cv, X, Y)
    with pytest.raises(ValueError, match="at most the number of groups, 12, got 13"):
        splits_by(13, X, Y, GROUPS)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_held_out_rows(groups):
    train, test = held_out_rows(60, 0.25, groups, random_state=0)
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
    assert len(test) == 15
    if groups is not None:
        assert not np.isin(groups[test], groups[train]).any()
    assert not np.array_equal(held_out_rows(60, 0.25, groups, random_state=1)[1], test)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("patient", r"one group for each row, got shape \(\)"),
        (np.zeros((4, 2)), r"one group for each row, got shape \(4, 2\)"),
        (np.array(["a", 1, "a", 1], dtype=object), "groups must be of one type, got int and str"),
    ],
)
def test_invalid_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        splits_by(2, np.zeros((4, 1)), np.zeros((4, 1)), groups)


def test_folds_and_held_out_rows():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert [test.tolist() for _, test in splits_by(2, Y, Y)] == [[0, 2], [1, 3]]
    grouped = splits_by(2, Y, Y, groups=["a", "a", "b", "b"])
    assert [test.tolist() for _, test in grouped] == [[0, 1], [2, 3]]
    rows = held_out_rows(5, 0.4, ordered=True, random_state=0)
    assert [part.tolist() for part in rows] == [[0, 1, 2], [3, 4]]
