"""The weights of the learners, by greedy selection, and the cut that makes label sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.metrics import Measure, macro_f1
from plurilabel.thresholds import (
    ConstantThreshold,
    ExpectedF,
    GlobalThreshold,
    MetaLabeler,
    ScoreCalibrator,
    SCut,
    SeenSets,
    ThresholdStrategy,
    never_empty,
)

Array = NDArray[Any]
Room = Callable[[set[int]], bool]

FORMS = ("scores", "calibrated", "sets")
SURE = 0.95  # what a label set says of its labels, as a probability
FIRST = 4  # learners that the greedy selection begins with
STEPS = 25  # the most that it takes, with those
PATIENCE = 4  # steps without a gain after which it ends
MOST_FORMS = 14  # the best by themselves, from which is selected
MOST_ENTRIES = 300_000  # scores that one look at a measure may take
FEWEST_ENTRIES = 20_000  # the same, where time is short
LOOKS = 15  # at the measure, with each form, that one choice takes, roughly
GAIN = 1e-9
WORTH = 3e-4  # of the measure: what a learner must add to the mean, or it is left out again
LEEWAY = 0.002  # of micro F1: what a cut may lose for a better macro F1


# how scores become label sets -----------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A strategy, whether it never predicts an empty set, and a description."""

    strategy: ThresholdStrategy
    nonempty: bool
    words: str

    def fitted(self, scores: Array, Y: Any) -> Cut:
        """The same, learned from these scores and labels."""
        Y = _suited(self.strategy, scores, Y)
        return Cut(clone(self.strategy).fit(scores, Y), self.nonempty, self.words)

    def sets_inside(self, scores: Array, Y: Any) -> Array:
        """Label sets of the scores that the cut is learned from; nothing is checked."""
        strategy = copy(self.strategy)
        strategy._fit(scores, _suited(strategy, scores, Y))
        sets = strategy._sets(scores)
        if self.nonempty:
            empty = ~sets.any(axis=1)
            sets[empty, scores[empty].argmax(axis=1)] = True
        return sets.astype(np.int8)

    def sets(self, scores: Array) -> Array:
        """Label sets of these scores."""
        return cut_sets(self.strategy, self.nonempty, scores)


def _suited(strategy: ThresholdStrategy, scores: Array, Y: Any) -> Any:
    """Labels as a strategy can use them.

    Strategies that learn whole label sets get scores above 0.5 in place of unknown labels, since
    few rows may be completely known.
    """
    if isinstance(Y, UnknownLabels) and isinstance(strategy, SeenSets | MetaLabeler):
        return np.where(Y.unknown, scores > 0.5, Y.Y)
    return Y


def cut_sets(strategy: ThresholdStrategy, nonempty: bool, scores: Array) -> Array:
    """Label sets (n, q) by a fitted strategy, never empty if ``nonempty``."""
    sets = strategy.predict(scores)
    return np.asarray(never_empty(sets, scores) if nonempty else sets)


def cuts_for(measure: Measure, *, labelled: bool) -> list[Cut]:
    """The cuts that may be best for a measure; the first also guides the choice of learners.

    ``labelled`` says whether every instance has a label: then cuts that never leave one without
    are tried, too. For rankings it is one cut for all labels, the best for micro F1.
    """
    name = measure.name
    found = _CUTS.get(name)
    if found is None and measure.kind == "labels":
        macro = name.startswith("macro_")
        found = (_each(name.removeprefix("macro_")), _one(name)) if macro else (_one(name),)
    cuts = [Cut(strategy, False, words) for strategy, words in found or (_one("micro_f1"),)]
    if not labelled or name in _AT_HALF:
        return cuts
    return cuts + [
        Cut(cut.strategy, True, f"{cut.words}, at least one label per row")
        for cut in cuts
        if not isinstance(cut.strategy, ExpectedF | SeenSets)
    ]


def _one(measure: str) -> tuple[ThresholdStrategy, str]:
    return GlobalThreshold(measure), "scores above one threshold for all labels"


def _each(measure: str, shrink: float = 1) -> tuple[ThresholdStrategy, str]:
    return SCut(measure, shrink=shrink), "scores above a threshold for each label"


_HALF = (ConstantThreshold(0.5), "scores above 0.5")
_EXPECTED = (ExpectedF(), "the set with the highest expected F1")
_SEEN = (SeenSets(lift=0.25), "the most probable set seen in training")
_AT_HALF = ("hamming_loss", "micro_accuracy", "macro_accuracy")
_CUTS: dict[str, tuple[tuple[ThresholdStrategy, str], ...]] = {
    **dict.fromkeys(_AT_HALF, (_HALF,)),
    "subset_accuracy": (_SEEN, (SeenSets(), _SEEN[1]), _HALF),
    **dict.fromkeys(("f1", "f_beta"), (_EXPECTED, _one("f1"))),
    "accuracy": (_one("accuracy"), _EXPECTED, _SEEN),
    "micro_f_beta": (_one("micro_f1"), _EXPECTED),
    "micro_f1": (_one("micro_f1"), _EXPECTED, _each("f1", 100), _each("f1", 30)),
    **dict.fromkeys(("macro_f1", "macro_f_beta"), (_each("f1"), _one("macro_f1"))),
}
"""The cuts that may be best for a measure, with their descriptions; others are made by rule."""


# which learners, with which weights -----------------------------------------------------------


@dataclass
class HeldOut:
    """The predictions of a learner for instances that it was not trained on."""

    scores: Array  # (n, q)
    probabilities: bool  # whether the scores are
    sets: Array | None = None  # (n, q), of a learner that decides on label sets as a whole

    def __getitem__(self, rows: Any) -> HeldOut:
        sets = None if self.sets is None else self.sets[rows]
        return HeldOut(self.scores[rows], self.probabilities, sets)


@dataclass
class Choice:
    """Which of m learners, with which weights, and the cut."""

    weights: Array  # (m, 3), of the forms of each learner; they sum to 1
    calibrators: list[ScoreCalibrator]
    cut: Cut
    best_forms: list[int]  # of each learner by itself

    def of(self, used: Array) -> Choice:
        """The same for these learners alone: the others have no weight."""
        calibrators = [self.calibrators[j] for j in used]
        return Choice(self.weights[used], calibrators, self.cut, self.best_forms)

    def scores(self, members: Sequence[HeldOut]) -> Array:
        """The weighted mean."""
        return mean_scores(self.weights, self.calibrators, members)


def mean_scores(
    weights: Array, calibrators: Sequence[ScoreCalibrator], members: Sequence[HeldOut]
) -> Array:
    """The mean of the members' predictions with these weights (m, 3)."""
    total: Any = 0.0
    for row, calibrator, member in zip(weights, calibrators, members):
        for form, weight in zip(FORMS, row):
            if weight > 0:
                total = total + weight * in_form(member, form, calibrator)
    return np.clip(total, 0.0, 1.0)


def calibrated(scores: Array, Y: Any) -> ScoreCalibrator:
    """A fitted map from scores to probabilities: Platt's sigmoids, one that rare labels share."""
    return ScoreCalibrator("sigmoid").fit(scores, Y)


def forms_of(member: HeldOut) -> tuple[int, ...]:
    """The forms, by number, that a member has."""
    has = (member.probabilities, True, member.sets is not None)
    return tuple(i for i, form in enumerate(has) if form)


def in_form(member: HeldOut, form: str, calibrator: ScoreCalibrator) -> Array:
    """The predictions of a member as probabilities."""
    if form == "scores":
        return np.clip(member.scores, 0.0, 1.0)
    if form == "sets" and member.sets is not None:
        return np.where(member.sets > 0, SURE, 1 - SURE)
    return calibrator.transform(member.scores)


def choose(
    members: Sequence[HeldOut],
    Y: Any,
    measure: Measure,
    folds: Array,
    *,
    room: Room | None = None,
    random_state: int = 0,
    cut: Cut | None = None,
    entries: int = MOST_ENTRIES,
    calibrators: list[ScoreCalibrator] | None = None,
    until: float = np.inf,
) -> Choice:
    """Weights by greedy selection with replacement (Caruana et al.), then the best cut.

    Cuts that suit the measure, or the one given, are compared across ``folds`` (n,). If Y has
    more than ``entries`` labels, the measure is evaluated on a sample of the rows. Calibrators
    that are given have been fitted. ``room(taken)`` says whether these learners, by number, may be
    taken together. No learner is added after ``until``, by ``perf_counter``.
    """
    cuts = cuts_for(measure, labelled=_labelled(Y)) if cut is None else [cut]
    if calibrators is None:
        calibrators = [calibrated(member.scores, Y) for member in members]
    rows = _sample(Y, random_state, entries)
    value_of = value_function(measure, cuts[0], Y[rows])
    forms = [  # (learner, form, scores), each learner in the forms that it has
        (j, i, in_form(member[rows], FORMS[i], calibrators[j]))
        for j, member in enumerate(members)
        for i in forms_of(member)
    ]
    alone = [value_of(scores) for _, _, scores in forms]
    order = np.argsort([-value for value in alone], kind="stable")
    by_member = {forms[i][0]: forms[i][1] for i in order[::-1]}
    chosen = [forms[i] for i in order[:MOST_FORMS]]
    weights = np.zeros((len(members), len(FORMS)))
    for (j, form, _), count in zip(chosen, greedy(chosen, value_of, room, until)):
        weights[j, form] = count
    weights /= weights.sum()
    only = np.zeros_like(weights)
    only[chosen[0][:2]] = 1.0  # the best by itself
    cuts = cuts if measure.kind == "labels" else cuts[:1]
    # where time is short, cuts are compared by some of the rows, too
    seen = rows if entries < MOST_ENTRIES else slice(None)
    found = []
    for option in [weights] if (weights == only).all() else [weights, only]:
        mean = mean_scores(option, calibrators, members)
        value, cut = _best_cut(cuts, mean[seen], Y[seen], measure, folds[seen])
        found.append((value, option, cut, mean))
    # no mean that is behind the best learner, by cuts that have not seen the rows
    _, weights, cut, mean = max(found, key=lambda one: one[0])
    best_forms = [by_member[j] for j in range(len(members))]
    return Choice(weights, calibrators, cut.fitted(mean, Y), best_forms)


def _labelled(Y: Any) -> bool:
    """Whether every instance has a label, or may have one."""
    filled, unknown = known_part(Y)
    has = filled.any(axis=1) if unknown is None else filled.any(axis=1) | unknown.any(axis=1)
    return bool(has.all())


def _sample(Y: Any, seed: int, entries: int) -> Any:
    n, q = Y.shape
    if n * q <= entries:
        return slice(None)
    some = max(200, entries // q)
    return np.sort(np.random.default_rng(seed).choice(n, size=min(n, some), replace=False))


@dataclass(frozen=True)
class Cost:
    """Seconds of a look at the measure, and of the comparison of all cuts."""

    look: float
    cuts: float

    @classmethod
    def of(
        cls, scores: Array, Y: Any, measure: Measure, folds: Array, cut: Cut | None, entries: int
    ) -> Cost:
        """Measure with the scores of a learner, of which so many are looked at."""
        cuts = cuts_for(measure, labelled=_labelled(Y)) if cut is None else [cut]
        rows = _sample(Y, 0, entries)
        seen, known, started = scores[rows], Y[rows], perf_counter()
        value_function(measure, cuts[0], known)(seen)
        looked = perf_counter() - started
        if measure.kind == "labels":
            for one in 2 * cuts:  # for each fold, of the mean and of the best learner
                measure.function(known, one.fitted(seen, known).sets(seen))
        tried = perf_counter() - started - looked
        return cls(looked, len(np.unique(folds)) * tried)


def entries_for(seconds: float, many: float, few: float) -> int:
    """Scores for one look, so that a choice that takes ``few`` to ``many`` seconds is in time."""
    share = 1.0 if many <= few else (seconds - few) / (many - few)
    share = float(np.clip(share, 0.0, 1.0))
    return int(FEWEST_ENTRIES + share * (MOST_ENTRIES - FEWEST_ENTRIES))


def signed(measure: Measure, value: float) -> float:
    """A value of which more is better; one that is not defined is worse than any."""
    if np.isnan(value):
        return -np.inf
    return value if measure.greater_is_better else -value


def value_function(measure: Measure, cut: Cut, Y: Any) -> Callable[[Array], float]:
    """The measure of scores, or of the label sets of a cut learned from the same scores."""

    def value(scores: Array) -> float:
        answer = scores if measure.kind == "scores" else cut.sets_inside(scores, Y)
        return signed(measure, measure.function(Y, answer))

    return value


def greedy(
    forms: Sequence[tuple[int, int, Array]],
    value_of: Callable[[Array], float],
    room: Room | None = None,
    until: float = np.inf,
) -> list[int]:
    """How often each form, best first, is taken: the best few, then one more at a time.

    With the best few at the start, what is selected depends less on chance.
    """
    room = room or (lambda _: True)
    counts = _best_few(forms, room)
    taken = {j for (j, _, _), count in zip(forms, counts) if count}
    total: Any = sum((scores for (_, _, scores), count in zip(forms, counts) if count), 0.0)
    size = sum(counts)
    best, best_counts, since = value_of(total / size), list(counts), 0
    while size < STEPS and since < PATIENCE and len(forms) > 1 and perf_counter() < until:
        allowed = {j for j in {j for j, _, _ in forms} if j in taken or room(taken | {j})}
        values = [
            value_of((total + scores) / (size + 1)) if j in allowed else -np.inf
            for j, _, scores in forms
        ]
        i = int(np.argmax(values))
        counts[i], size = counts[i] + 1, size + 1
        total = total + forms[i][2]
        taken.add(forms[i][0])
        since += 1
        if values[i] > best + GAIN:
            best, best_counts, since = values[i], list(counts), 0
    return _thinned(forms, best_counts, value_of, best)


def _thinned(
    forms: Sequence[tuple[int, int, Array]],
    counts: list[int],
    value_of: Callable[[Array], float],
    best: float,
) -> list[int]:
    """The same without forms that change next to nothing, those taken least often first."""
    for i in sorted((i for i, count in enumerate(counts) if count), key=lambda i: (counts[i], -i)):
        fewer = [0 if j == i else count for j, count in enumerate(counts)]
        # a sum, since differences of probabilities may be negative in the last bit
        rest: Any = sum(count * form[2] for form, count in zip(forms, fewer) if count)
        if any(fewer) and value_of(rest / sum(fewer)) > best - WORTH:
            counts = fewer
    return counts


def _best_few(forms: Sequence[tuple[int, int, Array]], room: Room) -> list[int]:
    """1 for the best form of each of the first few learners, 0 for the others."""
    taken: set[int] = set()
    counts = []
    for j, _, _ in forms:
        is_next = j not in taken and len(taken) < FIRST
        counts.append(int(is_next and (not taken or room(taken | {j}))))
        if counts[-1]:
            taken.add(j)
    return counts


def _best_cut(
    cuts: Sequence[Cut], scores: Array, Y: Any, measure: Measure, folds: Array
) -> tuple[float, Cut]:
    """The cut that is best for rows that it was not learned from, and the measure there.

    For micro F1, of cuts that are nearly as good, the one with the highest macro F1.
    """
    if measure.kind == "scores":
        return signed(measure, measure.function(Y, scores)), cuts[0]
    if folds.min() == folds.max():
        folds = np.arange(len(Y)) % 2
    values, others = [], []
    for cut in cuts:
        sets = np.zeros(Y.shape, dtype=np.int64)
        for k in np.unique(folds):
            inside = folds == k
            sets[inside] = cut.fitted(scores[~inside], Y[~inside]).sets(scores[inside])
        values.append(signed(measure, measure.function(Y, sets)))
        others.append(macro_f1(Y, sets) if measure.name == "micro_f1" else 0.0)
    best = max(values)
    good = [i for i, value in enumerate(values) if value >= best - LEEWAY * any(others)]
    chosen = max(good, key=lambda i: (others[i], values[i], -i))
    return best, cuts[chosen]


def estimate(
    members: Sequence[HeldOut],
    Y: Any,
    measure: Measure,
    folds: Array,
    rows: Array | None = None,
    *,
    nested: Sequence[HeldOut] | None = None,
    goes_on: Callable[[float], bool] | None = None,
    **options: Any,
) -> tuple[float, list[float]]:
    """The measure of choices, each made without the fold that it is measured on.

    Also that of each learner by itself, whose form and cut are learned without the fold, too.
    ``rows`` (n,) are the rows that the predictions are for, if some have several. ``nested``
    predictions, from which is chosen if they are given, are those for all rows but the first
    fold's, then for all but the second's, and so on, by learners that have not seen that fold.
    ``goes_on(seconds)`` says whether there is time for one more fold, which takes so long.
    """
    rows = np.arange(len(folds)) if rows is None else rows
    kind = np.float64 if measure.kind == "scores" else np.int8
    answers = np.zeros((len(members) + 1, *Y.shape), kind)  # of each learner, and of the whole
    seen, started, first = np.zeros(len(folds), dtype=bool), perf_counter(), 0
    for done, k in enumerate(np.unique(folds), 1):
        inside = np.flatnonzero(folds == k)
        rest = np.flatnonzero(~np.isin(rows, rows[inside]))
        there, here = ([member[part] for member in members] for part in (rest, inside))
        if nested is not None:
            there = [member[first : first + len(rest)] for member in nested]
            first += len(rest)
        chosen = choose(there, Y[rest], measure, folds[rest], **options)
        for j in range(len(members)):
            form, calibrator = FORMS[chosen.best_forms[j]], chosen.calibrators[j]
            scores, cut = in_form(here[j], form, calibrator), chosen.cut
            if measure.kind != "scores":
                cut = cut.fitted(in_form(there[j], form, calibrator), Y[rest])
            answers[j, inside] = scores if measure.kind == "scores" else cut.sets(scores)
        scores = chosen.scores(here)
        answers[-1, inside] = scores if measure.kind == "scores" else chosen.cut.sets(scores)
        seen[inside] = True
        if goes_on is not None and not goes_on((perf_counter() - started) / done):
            break
    *alone, value = (float(measure.function(Y[seen], answer[seen])) for answer in answers)
    return value, alone
