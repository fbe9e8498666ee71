"""HOMER, walked down node by node."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel.transformation import HOMER
from tests.transformation import twins
from tests.transformation.data import BASE, made


@pytest.mark.parametrize("clustering", ["co-occurrence", "random"])
def test_homer_goes_down_the_predicted_children(clustering):
    X, Y = made(150, 4, 9)
    Y[:, 8] = 0
    learner = HOMER(BASE, n_children=2, clustering=clustering, random_state=0).fit(X, Y)

    def walk(node, x, among):
        labels, children = learner.node_labels_[node], learner.node_children_[node]
        if not children:
            return {int(labels[0]): np.inf}
        rows = [i for i in among if Y[i, labels].any() or node == 0]
        found = {}
        for child in children:
            if rows:
                y = [int(Y[i, learner.node_labels_[child]].any()) for i in rows]
                p = twins.p_yes(twins.train(BASE, X[rows], y), x)
            else:
                p = 0.0
            found |= {l: min(p, below) for l, below in walk(child, x, rows).items()}
        return found

    queries = X[:6] + 0.2
    wanted = [walk(0, x, range(150)) for x in queries]
    wanted = np.array([[row[l] for l in range(9)] for row in wanted])
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-7)
    assert_array_equal(learner.predict(queries), wanted > 0.5)
    assert learner.predict(X).any()
