"""The stopping rule: exact error by enumeration of all permutations, and known results."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import hypergeom

from plurilabel.labeling import recall_bound


def session(order, y, seed_rows, audit_share):
    """Answers of one labeler: audits in a given order, and the best other row in between."""
    shown, audit = [], []
    left, waiting = list(order), list(seed_rows)
    while left:
        random = not waiting or len(shown) % audit_share == 0
        # the queue depends on what was found: after a positive answer it takes the next row
        row = left[0] if random else waiting.pop(0)
        if row in shown:
            left = [r for r in left if r != row]
            continue
        shown.append(row)
        audit.append(random)
        left.remove(row)
        if y[row] and row + 1 < len(y) and row + 1 not in shown:
            waiting.insert(0, row + 1)
    return np.array(shown), np.array(audit)


@pytest.mark.parametrize("K", range(7))
def test_the_error_over_all_permutations_is_at_most_that_allowed(K):
    """The exact probability that a bound is ever wrong, at every look, with an adaptive queue."""
    n, confidence, wrong, total = 6, 0.7, 0, 0
    y = (np.arange(n) < K).astype(float)
    bound_of = cache(
        lambda shown, audit: recall_bound([[v] for v in shown], audit, n, confidence=confidence)
    )  # few of the sessions differ
    for order in permutations(range(n)):
        shown, audit = session(order, y, [2], 3)
        Y, audit, total = y[shown], audit.tolist(), total + 1
        for t in range(1, n + 1):
            bound = bound_of(tuple(Y[:t].tolist()), tuple(audit[:t]))
            if Y[:t].sum() < bound.recall[0] * K - 1e-9 or bound.at_most[0] < K:
                wrong += 1
                break
    assert wrong / total <= 1 - confidence


@pytest.mark.parametrize(("n", "m", "x"), [(300, 100, 7), (900, 400, 6), (900, 400, 40)])
def test_audits_alone_cost_little_more_than_the_exact_bound_of_one_look(n, m, x):
    """At a single look, k is excluded exactly if P(at most x of m positive | k) <= 5%."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(m) < x)
    exact = max(k for k in range(n) if hypergeom(n, k, m).cdf(x) > 0.05)
    bound = recall_bound(y[:, None], np.ones(m, dtype=bool), n, target=0.5)
    assert exact <= bound.at_most[0] <= 1.45 * exact + 4


def test_answers_of_the_queue_count_as_found():
    Y, audit = np.zeros((260, 2)), np.ones(260, dtype=bool)
    Y[:60, 0], audit[:60] = 1, False
    Y[10, 1] = 1
    bound = recall_bound(Y, audit, 500)
    assert bound.found.tolist() == [60, 1]
    assert bound.recall[0] > 0.9 > bound.recall[1]
    assert (bound.jointly <= bound.recall).all()
    assert bound.jointly[1] < bound.overall < bound.jointly[0]
    assert not bound.may_stop
    everything = recall_bound(np.vstack([Y, np.zeros((240, 2))]), np.ones(500), 500)
    assert everything.may_stop and everything.overall == 1


def test_labels_without_an_answer_may_all_be_positive():
    Y = np.zeros((200, 1))
    Y[:40], Y[40:60] = 1, np.nan
    audit = np.arange(200) >= 60
    holes = recall_bound(Y, audit, 300)
    without = recall_bound(Y[~np.isnan(Y[:, 0])], audit[~np.isnan(Y[:, 0])], 280)
    assert holes.at_most == without.at_most + 20
    audit[:] = True  # those before the unknown rows do not count
    assert recall_bound(Y, audit, 300).at_most == holes.at_most


def test_labels_added_later_have_audits_of_their_own():
    rng = np.random.default_rng(0)
    y = rng.random((200, 2)) < 0.2
    each = recall_bound(y, np.ones(200), 400, since=[0, 90])
    audit = np.arange(200) >= 90
    late = recall_bound(y[:, 1:], audit, 400)
    assert each.at_most.tolist() == [
        *recall_bound(y[:, :1], np.ones(200), 400).at_most, *late.at_most
    ]  # fmt: skip
    assert each.found[1] == late.found == y[:, 1].sum()


def test_one_row_and_none():
    none = recall_bound(np.zeros((0, 2)), np.zeros(0), 5)
    assert none.recall.tolist() == [0, 0] and none.at_most.tolist() == [5, 5]
    one = recall_bound([[1]], [True], 1)
    assert one.recall == 1 and one.may_stop
    assert recall_bound([[0]], [True], 1).may_stop  # there is nothing to be found
    assert recall_bound(np.zeros((3, 0)), [1, 1, 1], 9).may_stop


def test_a_model_may_find_rows_too():
    """Predictions that miss nothing: fewer answers than rows of the label are enough."""
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.3
    guess = y | (rng.random(20_000) < 0.1)
    audit = np.arange(600) >= 50
    alone = recall_bound(y[:600, None], audit, 20_000)
    found = recall_bound(y[:600, None], audit, 20_000, predicted=guess[:600, None], since=50)
    assert alone.recall < 0.05
    assert found.recall > 0.95 and found.may_stop
    assert found.found <= y.sum() <= found.at_most + y.sum()


def test_bounds_with_a_model_hold():
    """The exact error over all permutations, for a model that finds two of three rows."""
    n, confidence, wrong, total = 6, 0.7, 0, 0
    y, guess = np.array([1, 1, 1, 0, 0, 0]), np.array([1, 0, 1, 0, 0, 1])

    @cache
    def recall(shown, guessed):
        Y, Z = (np.array(values)[:, None] for values in (shown, guessed))
        bound = recall_bound(Y, np.ones(len(Y)), n, predicted=Z, confidence=confidence)
        return bound.recall[0]

    for order in map(list, permutations(range(n))):
        total += 1
        for t in range(1, n + 1):
            found = y[order[:t]].sum() + (y & guess)[order[t:]].sum()
            if recall(tuple(y[order[:t]]), tuple(guess[order[:t]])) > found / 3 + 1e-12:
                wrong += 1
                break
    assert wrong / total <= 1 - confidence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": [[2.0]]}, "Y must be a matrix"),
        ({"audit": [True, False]}, "audit must be 1 truth values"),
        ({"n_rows": 0}, "n_rows must be an integer of at least 1, got 0"),
        ({"target": 1.0}, "target must lie strictly between 0 and 1, got 1.0"),
        ({"confidence": 95}, "confidence must lie strictly between 0 and 1, got 95"),
        ({"since": [0, 1]}, "since must be from 0 to the 1 answered rows, got"),
        ({"since": 2}, "since must be from 0 to the 1 answered rows, got 2"),
        ({"predicted": [1]}, r"predicted must have the shape \(1, 1\) of Y, got \(1,\)"),
    ],
)
def test_errors(change, message):
    given = {"Y": [[1.0]], "audit": [True], "n_rows": 3} | change
    with pytest.raises(ValueError, match=message):
        recall_bound(**given)


def test_n_rows_below_the_answers():
    with pytest.raises(ValueError, match="n_rows must be at least the 3 answered rows, got 2"):
        recall_bound(np.zeros((3, 1)), np.ones(3), 2)


def slow_bound(y, audit, n, target, alpha):
    """At most how many rows have a label: every k is tested, as the theorem says."""
    rejected = set()
    for k in range(n + 1):
        ratios, found, left = np.ones(3), 0, n
        for positive, drawn in zip(y, audit):
            if drawn and found < k <= found + left:
                p = (k - found) / left
                fewer = np.array([target * k, (1 + target) / 2 * k, k - 1])
                q = np.clip((fewer - found) / left, 0, p)
                if positive:
                    ratios *= q / p
                else:
                    ratios *= (1 - q) / (1 - p) if p < 1 else np.inf
            found, left = found + positive, left - 1
            if ratios @ (0.6, 0.3, 0.1) >= 1 / alpha or k > found + left:
                rejected.add(k)
    return max(sum(y), *(k for k in range(n + 1) if k not in rejected), 0)


def test_the_bound_is_that_of_the_theorem():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 60))
        y, f = rng.random(n) < rng.random(), rng.choice([0.2, 0.5, 1.0])
        queue, draws = (
            list(np.argsort(rng.normal(scale=0.5, size=n) - y)),
            list(rng.permutation(n)),
        )
        shown, audit = [], []
        for _ in range(rng.integers(1, n + 1)):
            audit.append(bool(rng.random() < f))
            shown.append(next(r for r in (draws if audit[-1] else queue) if r not in shown))
        target, alpha = rng.choice([0.5, 0.9, 0.99]), rng.choice([0.5, 0.05, 0.001])
        Y = sparse.csr_array(y[shown, None].astype(float))
        bound = recall_bound(Y, audit, n, target=target, confidence=1 - alpha)
        slow = slow_bound(y[shown].astype(int).tolist(), audit, n, target, alpha)
        assert bound.at_most.tolist() == [slow]
