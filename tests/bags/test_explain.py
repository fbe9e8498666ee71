"""Explanations: shares by loops, and the right instance is found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from plurilabel import MIMLNN, MIMLSVM, BagsToRows, BinaryRelevance, MIMLBoost, MIMLkNN
from plurilabel.bags import Bags, explain_bags
from tests.bags.problems import concept_bags

LEARNERS = [
    MIMLkNN(5, n_citers=5),
    MIMLSVM(distance="average", random_state=0),
    MIMLNN(distance="average", random_state=0),
    MIMLBoost(random_state=0),
    make_pipeline(BagsToRows(), BinaryRelevance(LogisticRegression())),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_the_instance_near_the_concept_is_found(learner):
    X, Y = concept_bags(0, n=150)
    learner.fit(X, Y)
    noise, (a, b) = np.zeros(4), 4 * np.eye(2, 4)
    bag = Bags([[noise, a, -0.5 + noise, b]])
    found = learner.explain(bag) if hasattr(learner, "explain") else explain_bags(learner, bag)
    why = found[0]
    assert (why.best(0), why.best(1)) == (1, 3)


def test_shares_are_what_is_lost():
    X, Y = concept_bags(1)
    learner = MIMLNN(random_state=0).fit(X, Y)
    new = X[:6]
    found = learner.explain(new)
    scores = learner.decision_function(new)
    for bag, score, why in zip(new, scores, found):
        assert_allclose(why.scores, score)
        for j in range(len(bag)):
            alone = learner.decision_function(Bags([bag[j : j + 1]]))[0]
            assert_allclose(why.alone[j], alone, atol=1e-8)
            rest = np.delete(bag, j, axis=0)
            left = learner.decision_function(Bags([rest]))[0] if len(rest) else 0 * score
            assert_allclose(why.shares[j], score - left, atol=1e-8)


def test_names_and_text():
    import pandas as pd

    X, Y = concept_bags(2)
    names = ["sand", "sea", "sky"]
    learner = MIMLkNN(3, n_citers=3).fit(X, pd.DataFrame(Y, columns=names))
    why = learner.explain(X[:1])[0]
    assert why.label_names == tuple(names)
    assert_allclose(why["sea"], why.shares[:, 1])
    assert why["sky"].shape == (len(X[0]),)
    text = str(why)
    assert text.splitlines()[0].startswith("label")
    assert all(name in text for name in names)
    with pytest.raises(KeyError, match="no label 'tree'; there are sand, sea, sky"):
        why["tree"]
