"""The displays: their figures by loops, their names, and that nothing overlaps."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from plurilabel import BinaryRelevance, MLkNN, ThresholdClassifier, metrics
from plurilabel.inspection import (
    CooccurrenceDisplay,
    InstanceScoresDisplay,
    LabelConfusionDisplay,
    LabelScoresDisplay,
    MembersDisplay,
    PrecisionRecallThresholdDisplay,
    ReliabilityDisplay,
    explain,
)
from plurilabel.models import Model

pyplot = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = (X[:, :3] + RNG.normal(scale=0.7, size=(80, 3)) > 0.3).astype(int)
Z = (X[:, :3] > 0.3).astype(int)
P = RNG.random((80, 3)).round(2)
NAMES = ("sea", "sun", "sand")


@pytest.fixture(scope="module")
def learner():
    pd = pytest.importorskip("pandas")
    return MLkNN(5).fit(X, pd.DataFrame(Y, columns=NAMES))


def ticks(display, axis="y"):
    return [text.get_text() for text in getattr(display.ax_, f"get_{axis}ticklabels")()]


# what they show, by loops ---------------------------------------------------------------------


def test_scores_of_each_label():
    display = LabelScoresDisplay.from_predictions(Y, Z, measures=["recall", "jaccard"])
    for l in range(3):
        tp = sum(y and z for y, z in zip(Y[:, l], Z[:, l]))
        either = sum(y or z for y, z in zip(Y[:, l], Z[:, l]))
        assert display.values["recall"][l] == pytest.approx(tp / Y[:, l].sum())
        assert display.values["jaccard"][l] == pytest.approx(tp / either)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    assert ticks(display) == [f"label{l}" for l in order]
    counts = [text.get_text() for text in display.ax_.texts]
    assert counts == [str(Y[:, l].sum()) for l in order]


def test_confusion_between_labels():
    display = LabelConfusionDisplay.from_predictions(Y, Z)
    expected = np.zeros((3, 4), dtype=int)
    for y, z in zip(Y, Z):
        wrong = [b for b in range(3) if z[b] and not y[b]]
        for a in np.flatnonzero(y):
            if z[a]:
                expected[a, a] += 1
            else:
                for b in wrong or [3]:
                    expected[a, b] += 1
    np.testing.assert_array_equal(display.counts, expected)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    share = expected[order][:, [*order, 3]] / Y.sum(axis=0)[order][:, None]
    np.testing.assert_allclose(display.share_, share)
    assert ticks(display, "x")[-1] == "(nothing instead)"


def test_labels_together():
    display = CooccurrenceDisplay.from_predictions(sparse.csr_array(Y), label_names=NAMES)
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            share = np.mean([row[b] for row in Y if row[a]])
            assert i == j or display.share_[i, j] == pytest.approx(share)
    assert ticks(display) == ticks(display, "x") == [NAMES[l] for l in order]


@pytest.mark.parametrize("label", [None, "sun", 1])
def test_reliability(label):
    display = ReliabilityDisplay.from_predictions(Y, P, label=label, n_bins=4, label_names=NAMES)
    columns = range(3) if label is None else [1]
    bins = {}
    for i in range(80):
        for l in columns:
            bins.setdefault(min(int(P[i, l] * 4), 3), []).append((P[i, l], Y[i, l]))
    for place, b in enumerate(sorted(bins)):
        p, y = np.mean(bins[b], axis=0)
        assert display.predicted[place] == pytest.approx(p)
        assert display.observed[place] == pytest.approx(y)
        assert display.counts[place] == len(bins[b])
    gaps = [len(b) * abs(np.subtract(*np.mean(b, axis=0))) for b in bins.values()]
    assert display.expected_error == pytest.approx(sum(gaps) / sum(map(len, bins.values())))


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_precision_and_recall_over_cuts(average):
    display = PrecisionRecallThresholdDisplay.from_predictions(Y, P, average=average)
    np.testing.assert_array_equal(display.cuts, np.unique(P))
    for cut, *found in zip(display.cuts, display.precision, display.recall, display.f1):
        measured = metrics.evaluate(Y, labels=cut < P)
        expected = [measured[f"{average}_{name}"] for name in ("precision", "recall", "f1")]
        assert found == pytest.approx(expected)
    best = max(display.f1)
    assert display.best_cut == max(c for c, f in zip(display.cuts, display.f1) if f == best)


def test_one_label_over_cuts():
    display = PrecisionRecallThresholdDisplay.from_predictions(
        Y, P, label="sand", label_names=NAMES
    )
    table = metrics.per_label(Y, labels=display.cuts[7] < P)
    assert display.recall[7] == pytest.approx(table["recall"][2])
    assert display.ax_.get_title(loc="left") == "sand"


def test_scores_of_one_instance(learner):
    display = InstanceScoresDisplay.from_estimator(learner, X[:1], Y[:1])
    scores = learner.predict_proba(X[:1])[0]
    order = np.argsort(-scores, kind="stable")
    assert ticks(display) == [NAMES[l] for l in order]
    widths = sorted((bar.get_y(), bar.get_width()) for bar in display.ax_.patches)
    assert [w for _, w in widths] == pytest.approx(scores[order])
    np.testing.assert_array_equal(display.predicted, scores > 0.5)
    np.testing.assert_array_equal(display.true, Y[0] == 1)
    cut = ThresholdClassifier(learner, "rcut", cv="prefit").fit(X, Y)
    assert InstanceScoresDisplay.from_estimator(cut, X[:1]).cut is None


# both ways -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "display", [LabelScoresDisplay, LabelConfusionDisplay, ReliabilityDisplay,
                PrecisionRecallThresholdDisplay]
)  # fmt: skip
def test_from_estimator_is_from_predictions(learner, display):
    by_labels = display in (LabelScoresDisplay, LabelConfusionDisplay)
    answers = learner.predict(X) if by_labels else learner.predict_proba(X)
    first = display.from_estimator(learner, X, Y)
    second = display.from_predictions(Y, answers, label_names=NAMES)
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(second, name))
    if by_labels:
        assert sorted(ticks(first)) == sorted(NAMES) == sorted(ticks(second))


def test_it_works_for_scikit_learns_own_and_for_decision_values():
    knn = KNeighborsClassifier(3).fit(X, Y)  # a list of probabilities
    assert ReliabilityDisplay.from_estimator(knn, X, Y).counts.sum() == Y.size
    assert CooccurrenceDisplay.from_estimator(knn, X).share_.shape == (3, 3)
    ridge = BinaryRelevance(RidgeClassifier()).fit(X, Y)
    assert PrecisionRecallThresholdDisplay.from_estimator(ridge, X, Y).default_cut == 0
    with pytest.raises(ValueError, match="must have predict_proba, got BinaryRelevance"):
        ReliabilityDisplay.from_estimator(ridge, X, Y)


def test_labels_are_compared_by_name():
    pd = pytest.importorskip("pandas")
    right, other = pd.DataFrame(Y, columns=NAMES), list(NAMES[::-1])
    found = pd.DataFrame(Z, columns=NAMES)[other]
    shown = LabelConfusionDisplay.from_predictions(right, found)
    np.testing.assert_array_equal(
        shown.counts, LabelConfusionDisplay.from_predictions(Y, Z).counts
    )
    scores = pd.DataFrame(P, columns=NAMES)[other]
    for display in (ReliabilityDisplay, PrecisionRecallThresholdDisplay):
        wanted = vars(display.from_predictions(Y, P, label=0))
        got = vars(display.from_predictions(right, scores, label="sea"))
        arrays = [name for name, value in wanted.items() if isinstance(value, np.ndarray)]
        assert arrays
        for name in arrays:
            np.testing.assert_array_equal(got[name], wanted[name])
    one = InstanceScoresDisplay.from_predictions(scores[:1], right[:1], found[:1])
    assert list(one.label_names) == other
    np.testing.assert_array_equal(one.true, Y[0, ::-1])


def test_models_from_files_are_shown_like_what_is_in_them():
    pd = pytest.importorskip("pandas")
    right = pd.DataFrame(Y, columns=NAMES)
    learner = MLkNN(5).fit(X, right)
    model, turned = Model.of(learner), right[list(NAMES[::-1])]
    wanted = LabelConfusionDisplay.from_predictions(Y, learner.predict(X))
    for estimator in (learner, model):
        shown = LabelConfusionDisplay.from_estimator(estimator, X, turned)
        assert tuple(shown.label_names) == NAMES
        np.testing.assert_array_equal(shown.counts, wanted.counts)
    for display in (LabelScoresDisplay, ReliabilityDisplay, PrecisionRecallThresholdDisplay):
        display.from_estimator(model, X, right)
    assert CooccurrenceDisplay.from_estimator(model, X).label_names == NAMES
    assert InstanceScoresDisplay.from_estimator(model, X[:1], right[:1]).label_names == NAMES
    assert [str(one) for one in explain(model, X[:2])] == [
        str(one) for one in model.explain(X[:2])
    ]


def test_given_axes_are_used_and_new_ones_belong_to_pyplot():
    figure, axes = pyplot.subplots(1, 2)
    display = ReliabilityDisplay.from_predictions(Y, P, ax=axes[1])
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert len(pyplot.get_fignums()) == 1
    ReliabilityDisplay.from_predictions(Y, P)
    assert len(pyplot.get_fignums()) == 2  # a notebook shows each of them once


# names -----------------------------------------------------------------------------------------

LONG = [
    ["the quick brown fox jumps over the lazy dog, chapter {}", "海边的日落和沙滩上的脚印以及{}",
     "l{} $x_1$", "a_{}\x1b[31m"][j % 4].format(j)
    for j in range(174)
]  # fmt: skip
MANY = (np.random.default_rng(1).random((300, 174)) < 0.1).astype(int)
WRONG = (np.random.default_rng(2).random((300, 174)) < 0.1).astype(int)


def drawn(axis):
    """The tick labels that are in view."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def overlaps(texts, renderer):
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
    return [
        (a, b)
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1
    ]


@pytest.mark.filterwarnings("ignore:Glyph")  # no font with these letters may be installed
@pytest.mark.parametrize("most", [5, 60])
@pytest.mark.parametrize(
    "draw",
    [
        lambda **o: LabelScoresDisplay.from_predictions(MANY, WRONG, **o),
        lambda **o: LabelConfusionDisplay.from_predictions(MANY, WRONG, **o),
        lambda **o: CooccurrenceDisplay.from_predictions(MANY, **o),
        lambda **o: InstanceScoresDisplay.from_predictions(
            np.linspace(-1, 1, 174), MANY[0], cut=0, **o
        ),
    ],
    ids=["scores", "confusion", "cooccurrence", "instance"],
)
def test_many_long_names_do_not_overlap(draw, most):
    display = draw(label_names=LONG, max_labels=most)
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    names = [*drawn(ax.yaxis), *drawn(ax.xaxis)]
    assert not overlaps(names, renderer)
    wide, high = figure.canvas.get_width_height()
    texts = [*names, ax.xaxis.label, ax._left_title, *ax.texts]
    if legend := ax.get_legend():
        texts.append(legend)
    for text in texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= wide + 1 and box.y1 <= high + 1
    names = ticks(display)
    assert len(names) == most and len(set(names)) == most  # names that differ at their end
    assert not any("\x1b" in name for name in names)


# bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LabelScoresDisplay.from_predictions(Y, Z[:, :2]), "shape"),
        (lambda: LabelScoresDisplay.from_predictions(Y, Z, measures=["auc"]), "one to three of"),
        (lambda: LabelScoresDisplay.from_predictions(Y, Z, max_labels=0), "at least 1, got 0"),
        (lambda: LabelScoresDisplay.from_predictions(Y, Z, label_names=["a"]), "3 entries"),
        (lambda: LabelScoresDisplay.from_predictions(Y, P), "only 0 and 1"),
        (
            lambda: ReliabilityDisplay.from_predictions(Y, 3 * P),
            "from 0 to 1, got 0.03 to 3",
        ),
        (lambda: ReliabilityDisplay.from_predictions(Y, P[:9]), "shape"),
        (lambda: ReliabilityDisplay.from_predictions(Y, P, n_bins=1), "at least 2"),
        (lambda: ReliabilityDisplay.from_predictions(Y, P, label="x"), "must be one of 'label0'"),
        (
            lambda: PrecisionRecallThresholdDisplay.from_predictions(Y, P, average="none"),
            "'micro' or",
        ),
        (lambda: PrecisionRecallThresholdDisplay.from_predictions(Y, P * np.nan), "NaN"),
        (lambda: InstanceScoresDisplay.from_predictions(P), "those of one instance"),
        (lambda: InstanceScoresDisplay.from_predictions(P[0], Y[0, :2]), "the 3 labels of one"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_never_and_always_there_and_a_single_row():
    Y, Z = np.array([[1, 0, 1]]), np.array([[0, 0, 1]])
    assert LabelScoresDisplay.from_predictions(Y, Z).values["f1"].tolist() == [0, 0, 1]
    assert LabelConfusionDisplay.from_predictions(Y, Z).counts[0].tolist() == [0, 0, 0, 1]
    assert np.isnan(CooccurrenceDisplay.from_predictions(Y[:, :1]).share_).all()
    assert PrecisionRecallThresholdDisplay.from_predictions(Y, Z).best_cut == 0
    assert ReliabilityDisplay.from_predictions(Y, Z).observed.tolist() == [0.5, 1]


def test_members_show_values_weights_and_the_estimate():
    tried = [
        {"name": "a", "value": 0.5, "weight": 0.0},
        {"name": "b", "value": 0.7, "weight": 0.75},
        {"name": "c", "value": None, "weight": 0.25},
    ]
    report = {"measure": "micro_f1", "estimate": 0.72, "tried": tried}
    drawn = MembersDisplay(report).plot()
    assert [tick.get_text() for tick in drawn.ax_.get_yticklabels()] == ["b", "c", "a"]
    dots, line = drawn.ax_.lines
    np.testing.assert_array_equal(dots.get_xdata(), [0.7, np.nan, 0.5])
    assert line.get_xdata()[0] == 0.72
    (weights,) = [ax for ax in drawn.figure_.axes if ax is not drawn.ax_]
    assert [bar.get_width() for bar in weights.patches] == [0.75, 0.25, 0.0]
    with pytest.raises(TypeError, match="must be a fitted AutoClassifier, got MLkNN"):
        MembersDisplay.from_estimator(MLkNN())
