import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel.metrics import RunningMeasures, evaluate, get_measure, measure_names

PLAIN = [name for name in measure_names() if "@" not in name]
AT_K = ["precision@1", "recall@2", "ndcg@3", "precision@3"]
WORTH = ["psp@2", "ps_ndcg@3"]
AREAS = [name for name in PLAIN if get_measure(name).terms is None]
NAMES = "abcdef"
PROPENSITIES = dict(zip(NAMES, (0.9, 0.2, 0.5, 0.3, 1.0, 0.7)))


def rows_of(n, q, seed, share=0.4):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < share).astype(int)
    S = np.round(0.5 * Y + rng.random((n, q)), 1) / 1.5  # with ties
    return Y, S, (S > 0.5).astype(int)


def fed(running, Y, S, Z, known=None):
    names = NAMES[: Y.shape[1]]
    for i in range(len(Y)):
        truth = dict(zip(names, Y[i].tolist()))
        if known is not None:
            truth = {l: y if k else None for (l, y), k in zip(truth.items(), known[i])}
        running.update(truth, dict(zip(names, S[i])), dict(zip(names, Z[i])))
    return running


def direct(name, Y, S, Z):
    """The measure as its function computes it from matrices."""
    measure = get_measure(name)
    more = {}
    if name.startswith("ps"):
        more = {"propensities": [PROPENSITIES[l] for l in NAMES[: Y.shape[1]]]}
    return measure.function(Y, Z if measure.kind == "labels" else S, **more)


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 5, 300, 700])
def test_window_and_overall_are_those_of_the_rows(n, share):
    Y, S, Z = rows_of(n, 4, seed=n, share=share)
    running = RunningMeasures(
        PLAIN + AT_K + WORTH, window=40, fading=None, propensities=PROPENSITIES
    )
    found = fed(running, Y, S, Z).read()
    assert found.keys() == {"overall", "window"}
    for name in running.measures:
        expected = direct(name, Y[-40:], S[-40:], Z[-40:])
        assert found["window"][name] == pytest.approx(expected, nan_ok=True, abs=1e-12), name
        expected = direct(name, Y, S, Z)
        rounded = 0.01 if name in AREAS else 1e-12
        assert found["overall"][name] == pytest.approx(expected, nan_ok=True, abs=rounded), name


def slow(name, Y, S, Z, known, weights):
    """A measure with weights and missing labels, row by row and label by label."""
    if name in AREAS:
        area = slow_auc if name.endswith("auc") else slow_precision
        return area(name, Y, S, known, weights)
    mean, _, rest = name.partition("_")
    if mean in ("macro", "micro"):
        counts = np.zeros((2, 2, Y.shape[1]))
        for i, j in zip(*np.nonzero(known)):
            counts[Y[i, j], Z[i, j], j] += weights[i]
        counts = counts[:, :, known.any(axis=0)]
        if not counts.size:
            return np.nan
        if mean == "micro":
            counts = counts.sum(axis=2, keepdims=True)
        values = []
        for (tn, fp), (fn, tp) in np.moveaxis(counts, 2, 0):
            top, bottom = {
                "accuracy": (tp + tn, tp + tn + fp + fn),
                "precision": (tp, tp + fp),
                "recall": (tp, tp + fn),
            }.get(rest, (2 * tp, 2 * tp + fp + fn))
            values.append(top / bottom if bottom else 0.0)
        return np.mean(values)
    total = weight = 0.0
    for y, s, z, k, w in zip(Y, S, Z, known, weights):
        at = int(name.partition("@")[2] or 1)
        if k.sum() < at:
            continue
        value = direct(name, y[None, k], s[None, k], z[None, k])
        if np.isfinite(value):
            total, weight = total + w * value, weight + w
    return total / weight if weight else np.nan


def slow_auc(name, Y, S, known, weights):
    won = np.zeros(Y.shape[1])
    pairs = np.zeros(Y.shape[1])
    entries = list(zip(*np.nonzero(known)))
    for i, j in entries:
        for k, l in entries:
            if Y[i, j] and not Y[k, l] and (name == "micro_auc" or j == l):
                pairs[j] += weights[i] * weights[k]
                half = (S[i, j] > S[k, l]) + (S[i, j] == S[k, l]) / 2
                won[j] += weights[i] * weights[k] * half
    if name == "micro_auc":
        won, pairs = won.sum(keepdims=True), pairs.sum(keepdims=True)
    auc = won[pairs > 0] / pairs[pairs > 0]
    return auc.mean() if len(auc) else np.nan


def slow_precision(name, Y, S, known, weights):
    """Average precision with weights: precision at the score of each positive."""
    areas, positives = [], []
    labels = [known[:, [j]] * (np.arange(Y.shape[1]) == j) for j in range(Y.shape[1])]
    for of in [known] if name.startswith("micro") else labels:
        y, s = Y[of == 1], S[of == 1]
        w = np.broadcast_to(weights[:, None], Y.shape)[of == 1]
        found = [(w * y)[s >= t].sum() / w[s >= t].sum() for t in s[y == 1]]
        if found:
            areas.append(np.average(found, weights=w[y == 1]))
            positives.append(w[y == 1].sum() if name.startswith("weighted") else 1.0)
    return np.average(areas, weights=positives) if areas else np.nan


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 5), st.sampled_from([0.3, 0.8]))
def test_missing_labels_and_fading(seed, n, q, share_known):
    Y, S, Z = rows_of(n, q, seed)
    known = np.random.default_rng(seed).random((n, q)) < share_known
    names = PLAIN + AT_K
    found = fed(RunningMeasures(names, window=7, fading=0.8), Y, S, Z, known).read()
    rows = np.flatnonzero(known.any(axis=1))  # a row in which nothing is known is no row
    Y, S, Z, known = Y[rows], S[rows], Z[rows], known[rows]
    n = len(rows)
    for name in names:
        last = slice(max(0, n - 7), n)
        expected = slow(name, Y[last], S[last], Z[last], known[last], np.ones(min(n, 7)))
        assert found["window"][name] == pytest.approx(expected, nan_ok=True), name
        rounded = 0.05 if name in AREAS else 1e-9
        expected = slow(name, Y, S, Z, known, 0.8 ** np.arange(n - 1, -1, -1))
        assert found["fading"][name] == pytest.approx(expected, nan_ok=True, abs=rounded), name


def test_reading_more_often_changes_nothing():
    Y, S, Z = rows_of(150, 3, seed=1)
    often, once = (RunningMeasures(PLAIN, window=50, fading=0.9) for _ in range(2))
    for i in range(150):
        fed(often, Y[i : i + 1], S[i : i + 1], Z[i : i + 1]).read()
    once = fed(once, Y, S, Z).read()
    for kind, values in often.read().items():
        assert values == pytest.approx(once[kind], abs=1e-12)


def test_new_labels_count_from_their_first_row():
    running = RunningMeasures(["macro_recall", "hamming_loss", "macro_auc"], window=10)
    running.update({"a": True}, {"a": 0.9}, {"a": True})
    running.update({"a": True, "new": True}, {"a": 0.8}, {"a": True})
    running.update({"new": False, "a": False}, {"new": 0.3, "a": 0.1}, {})
    assert running.labels == ["a", "new"]
    window = running.read()["window"]
    assert window["macro_recall"] == 0.5
    assert window["hamming_loss"] == pytest.approx(0.5 / 3)
    assert window["macro_auc"] == 0.5  # 1 for a, 0 for the new one: 0 without a score


def test_rows_without_scores_or_labels_are_left_out_of_their_measures():
    running = RunningMeasures(["f1", "macro_f1", "one_error", "macro_auc"])
    running.update({"a": 1, "b": 0}, scores={"a": 0.9, "b": 0.1})
    running.update({"a": 0, "b": 0}, scores={"a": 0.2, "b": 0.1})
    found = running.read()["window"]
    assert np.isnan(found["f1"]) and np.isnan(found["macro_f1"])
    assert found["one_error"] == 0.0 and found["macro_auc"] == 1.0
    running.update({"a": 1, "b": 0}, labels={"a": True})
    found = running.read()["window"]
    assert found["f1"] == 1.0 and found["one_error"] == 0.0


def test_nothing_yet():
    found = RunningMeasures(PLAIN).read()
    assert all(np.isnan(value) for values in found.values() for value in values.values())
    running = RunningMeasures(["f1"])
    running.update({"a": None, "b": float("nan")}, {}, {})
    running.update({}, {}, {})
    assert running.n_rows == 0


def test_state_can_be_kept():
    Y, S, Z = rows_of(400, 5, seed=3)
    whole = fed(RunningMeasures(PLAIN, window=30), Y, S, Z)
    half = fed(RunningMeasures(PLAIN, window=30), Y[:150], S[:150], Z[:150])
    again = fed(pickle.loads(pickle.dumps(half)), Y[150:], S[150:], Z[150:])
    assert again.read() == whole.read()


def test_binned_areas_order_any_scores():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (400, 2))
    S = 20 * rng.standard_normal((400, 2)) + 10 * Y
    running = fed(RunningMeasures(AREAS), Y, S, Y)
    expected = evaluate(Y, S)
    for name in AREAS:
        assert running.read()["overall"][name] == pytest.approx(expected[name], abs=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": []}, "at least one"),
        ({"measures": ["precision@k"]}, "number for k"),
        ({"measures": ["psp@1"]}, "propensities"),
        ({"measures": ["nonsense"]}, "one of"),
        ({"measures": ["f1"], "window": 0}, "window must be"),
        ({"measures": ["f1"], "fading": 1.0}, "fading must"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        RunningMeasures(**options)


def test_a_window_that_is_too_large_is_refused():
    running = RunningMeasures(["f1"], window=10**10)
    running.update({"a": 1}, {}, {"a": 1})
    with pytest.raises(ValueError, match="the window would need about .* for 10,000,000,000 rows"):
        running.read()


def test_bad_rows():
    running = RunningMeasures(["f1", "one_error"])
    with pytest.raises(ValueError, match="y_true must be 0 or 1, got 2 for 'a'"):
        running.update({"a": 2}, {}, {})
    with pytest.raises(ValueError, match="labels must be 0 or 1, got None"):
        running.update({"a": 1}, {}, {"a": None})
    with pytest.raises(ValueError, match="scores must be finite, got nan for 'a'"):
        running.update({"a": 1}, {"a": float("nan")}, {})
    assert running.n_rows == 0 and running.labels == []
