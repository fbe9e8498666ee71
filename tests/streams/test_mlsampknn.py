"""MLSAMPkNN against a twin by loops; punishment; bad parameters."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import MLSAMPkNN, NeighborSubspaceEnsemble
from plurilabel.learners import make_learner
from plurilabel.streams._learners._mlsampknn import goodness


class Twin:
    """One member by loops: lists of rows, charges and tallies."""

    def __init__(self, ks, sizes, penalty, fading, cosine):
        self.ks, self.sizes, self.penalty, self.fading = ks, sizes, penalty, fading
        self.cosine = cosine
        self.memory = []  # [time, x, y, charge]
        self.time = 0
        self.tallies = {}  # (window, k, label) -> [tp, fp, fn]
        self.best = {}
        self.gains = dict.fromkeys((0.5, 0.4, 0.3, 0.2), 0.0)

    def far(self, a, b):
        if not self.cosine:
            return sum((u - v) ** 2 for u, v in zip(a, b))
        lengths = np.sqrt(sum(u * u for u in a) * sum(v * v for v in b))
        return 1 - sum(u * v for u, v in zip(a, b)) / lengths

    def voters(self, x, size):
        whole = size == self.sizes[0]  # the longest window has all rows that were not forgotten
        rows = [row for row in self.memory if whole or row[0] >= self.time - size]
        return sorted(rows, key=lambda row: (self.far(x, row[1]), -row[0]))

    def share(self, x, w, k, l):
        near = self.voters(x, self.sizes[w])[:k]
        return sum(row[2][l] for row in near) / max(len(near), 1)

    def preferred(self, l):
        return self.best.get(l, (0, self.ks[0]))

    def score(self, x, q):
        cut = max(self.gains, key=self.gains.get)
        shares = [self.share(x, *self.preferred(l), l) for l in range(q)]
        return [0.5 + (s - cut) / (1 - cut) / 2 if s > cut else s / cut / 2 for s in shares]

    def learn(self, x, y):
        q = len(y)
        if self.memory:
            self.judge(x, y, q)
        if len(self.memory) == self.sizes[0]:
            self.memory.remove(min(self.memory, key=lambda row: row[0]))
        self.memory.append([self.time, x, y, 0.0])
        self.time += 1

    def judge(self, x, y, q):
        shares = [self.share(x, *self.preferred(l), l) for l in range(q)]
        for cut in self.gains:
            said = [s > cut for s in shares]
            both = sum(said) + sum(y)
            f1 = 2 * sum(a and b for a, b in zip(said, y)) / both if both else 1.0
            right = (f1 + (said == [v == 1 for v in y])) / 2
            self.gains[cut] += (1 - self.fading) * (right - self.gains[cut])
        configs = [(w, k) for w in range(len(self.sizes)) for k in self.ks]
        said = {(w, k, l): self.share(x, w, k, l) > 0.5 for w, k in configs for l in range(q)}
        self.punish(x, y, shares)
        for key, answer in said.items():
            tally = self.tallies.setdefault(key, [0.0, 0.0, 0.0])
            truth = y[key[2]] == 1
            for j, is_so in enumerate((answer and truth, answer and not truth)):
                tally[j] = self.fading * tally[j] + is_so
            tally[2] = self.fading * tally[2] + (truth and not answer)
        for l in range(q):
            self.best[l] = max(configs, key=lambda c: self.f1(*c, l, q))

    def f1(self, w, k, l, q):
        tp, fp, fn = self.tallies[w, k, l]
        total = np.sum([self.tallies[w, k, j] for j in range(q)], axis=0)
        overall = 2 * total[0] / max(2 * total[0] + total[1] + total[2], 1e-9)
        return round((2 * tp + 5 * overall) / (2 * tp + fp + fn + 5), 12)

    def punish(self, x, y, shares):
        if len(self.memory) <= self.sizes[-1]:
            return
        changes = {}
        for l, share in enumerate(shares):
            wrong = (share > 0.5) != (y[l] == 1)
            if not wrong and y[l] == 0:
                continue
            window = self.preferred(l)[0]
            for row in self.voters(x, self.sizes[window])[: self.ks[-1]]:
                change = -1 if row[2][l] == y[l] else int(wrong)
                key = window, row[0]
                changes[key] = changes.get(key, 0) + change
        for (_, time), change in sorted(changes.items()):
            row = next(row for row in self.memory if row[0] == time)
            row[3] = max(row[3] + self.penalty * change / len(y), 0)
        self.memory = [row for row in self.memory if row[3] < 1]


@pytest.mark.parametrize("members", [1, 4])
def test_sparse_rows_are_as_near_as_dense_ones(members, monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((150, 100)) < 0.05) * rng.integers(1, 4, (150, 100)).astype(float)
    Y = (X[:, :3] > 0).astype(int)
    make = MLSAMPkNN if members == 1 else partial(NeighborSubspaceEnsemble, 4, random_state=0)
    thin = make(window_size=60).fit(X, Y)
    monkeypatch.setattr("plurilabel.streams._learners._window.FEW", 1000)
    plain = make(window_size=60).fit(X, Y)
    assert thin.core_.is_sparse and not plain.core_.is_sparse
    assert_array_equal(thin.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_equals_its_twin(penalty, metric):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3)) + 1
    Y = (X > [1.0, 1.3, 2.0]).astype(int)
    Y[rng.random(Y.shape) < 0.1] = 0
    Y[70:] = 1 - Y[70:]
    learner = MLSAMPkNN((1, 3), window_size=40, min_window=10, penalty=penalty, metric=metric)
    twin = Twin([1, 3], [40, 20, 10], penalty, 0.99, metric == "cosine")
    forgotten = False
    for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist())):
        if i:
            found = learner.predict_proba([x])[0]
            assert_allclose(found, twin.score(x, 3), atol=1e-12, err_msg=str(i))
        learner.partial_fit([x], [y])
        twin.learn(x, y)
        alive = learner.core_.alive[0, : learner.core_.n]
        assert sorted(learner.core_.born[: len(alive)][alive]) == [row[0] for row in twin.memory]
        forgotten |= len(twin.memory) < min(i + 1, 40)
    assert forgotten == (penalty > 0)


def test_prediction_does_not_depend_on_what_comes_later():
    """Asking changes nothing, however often."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), (rng.random((60, 2)) < 0.4).astype(int)
    asked, silent = MLSAMPkNN(), MLSAMPkNN()
    for x, y in zip(X, Y):
        asked.partial_fit([x], [y])
        silent.partial_fit([x], [y])
        for _ in range(2):
            asked.predict([x])
    assert (asked.predict_proba(X) == silent.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"min_window": 60, "window_size": 50},
            "min_window must be at most window_size=50, got 60",
        ),
        ({"n_neighbors": (0, 3)}, "n_neighbors must be positive integers"),
        ({"n_neighbors": ()}, "n_neighbors must be positive integers"),
        ({"n_neighbors": 2000}, "n_neighbors must be at most window_size=1000, got 2000"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MLSAMPkNN(**parameters).learn_one({"a": 1}, {"l": True})


@pytest.mark.parametrize("name", ["MLSAMPkNN()", "NeighborSubspaceEnsemble(3, random_state=0)"])
def test_as_good_far_from_the_origin(name):
    if "Ensemble" in name:
        pytest.importorskip("river")
    rng = np.random.default_rng(0)
    X = rng.integers(-128, 129, size=(300, 12)) / 64
    X[:, 3:] /= 8
    Y = (X[:, :3] > 0).astype(int)
    scores = [
        make_learner(name).fit(X[:200] + origin, Y[:200]).predict_proba(X[200:] + origin)
        for origin in (0.0, 2.0**30)
    ]
    assert ((scores[0] > 0.5) == Y[200:]).mean() > 0.8
    assert_array_equal(*scores)


def test_goodness_of_neighbours():
    true, known = np.array([True, True, False]), np.ones(3, dtype=bool)
    found = goodness(np.array([[True, True, False], [True, False, True]]), true, known)
    assert found.tolist() == [1.0, 0.25]
