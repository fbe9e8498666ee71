"""The base class of AdaBoost learners: early stopping, probabilities, staged scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    LabelMatrix,
    ScoringClassifier,
    WeightedFit,
    default_feature_names,
)
from plurilabel._core.blocks import dense
from plurilabel._core.compat import AtLeastTwo, Fraction, Interval, Positive
from plurilabel._core.explanation.contributions import SCORE, Given, Parts, added, checked_given
from plurilabel._core.fitted import Declared, flag, number, numbers, values
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.learners.boosting._bins import Bins
from plurilabel.learners.boosting._rules import Columns, Floats, Weights
from plurilabel.metrics import get_measure
from plurilabel.model_selection import IterativeStratifiedKFold, stratified_split

Rounds = Iterator[tuple[Any, float]]
MOSTLY_ZERO = 0.9  # fraction of zeros from which features are treated as words
PROGRESS = 1e-9  # boosting ends when a round reduces the bound by a smaller fraction


@dataclass(eq=False, repr=False)
class BoostedClassifier(WeightedFit, ScoringClassifier):
    """Base class of learners that sum rules, one per round.

    Hooks: ``_rounds(X, Y, weights)`` is the algorithm of the paper and yields each rule with the
    product of the Z so far; ``_walk(columns)`` yields the scores after each rule of ``rules_``.
    Learners whose scores have no natural cut also override ``_fit_cut`` and ``_minus_cut``.
    """

    _learns_from_known = True
    _X_form: ClassVar[dict[str, Any]] = {"ensure_all_finite": "allow-nan"}
    _measure: ClassVar[str] = "hamming_loss"  # that ``bound_`` bounds
    _slope: ClassVar[float] = 2.0  # P(label) = sigmoid(slope * f) where the loss is minimal
    _cut_at_zero: ClassVar[bool] = True
    _extra_rounds: ClassVar[int] = 0  # before the first of n_estimators
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_bins": [Interval(Integral, 4, None, closed="left"), None],
        "scoring": [str, None],
    }
    _fitted: ClassVar[Declared] = {
        "rules_": values(None), "presence_": flag(), "bound_": numbers(None, finite=False),
        "validation_scores_": numbers(None, finite=False),
        "feature_importances_": numbers("n_features_in_"), "slope_": number(),
    }  # fmt: skip

    n_estimators: int = 50
    _: KW_ONLY
    rules: Literal["auto", "threshold", "presence"] = "auto"
    max_bins: int | None = None
    smoothing: Positive | None = None
    validation_fraction: Fraction | None = None
    n_iter_no_change: int = 10
    scoring: str | None = None
    calibration_folds: AtLeastTwo | None = None
    random_state: Any = None

    rules_: list[Any] = field(init=False)

    @abstractmethod
    def _rounds(self, X: Any, Y: LabelMatrix, weights: Weights) -> Rounds: ...

    def _walk(self, columns: Columns) -> Iterator[Floats]:
        f = np.zeros((columns.n, self.n_labels_))
        for rule in self.rules_:
            rule.add_to(f, columns)
            yield f

    def _parts(self, x: Any, given: Given) -> Parts:
        said = [Parts([], np.zeros((0, self.n_labels_)), np.zeros(self.n_labels_), ())]
        columns, reached = Columns(x), list[bool]()
        for rule in self.rules_:
            for features, scores in rule.said_to(columns, reached):
                if not features:  # a rule without conditions
                    said[0] = said[0].shifted(scores)
                    continue
                values = np.tile(scores / len(features), (len(features), 1))
                names = [str(given.names[j]) for j in features]
                said.append(Parts(names, values, np.zeros(self.n_labels_), ()))
        return self._parts_minus_cut(added(said, (SCORE,) * self.n_labels_))

    def _parts_minus_cut(self, parts: Parts) -> Parts:
        return parts

    def _fit_cut(self, f: Floats, Y: LabelMatrix, weights: Floats | None) -> None:
        """Fit the cut that is subtracted from f."""

    def _minus_cut(self, f: Floats) -> Floats:
        return f

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        if isinstance(Y, UnknownLabels):
            rows = np.flatnonzero(rows_that_know(Y.unknown, len(Y)))
            X, Y = X[rows], Y[rows]
            weights = None if weights is None else weights[rows]
        (n, d), q = X.shape, Y.shape[1]
        # by value, however X is stored
        rare = np.count_nonzero(X.data if sparse.issparse(X) else X) <= (1 - MOSTLY_ZERO) * n * d
        self.presence_ = self.rules == "presence" or (self.rules == "auto" and bool(rare))
        sizes = f"{n:,} instances and {q:,} labels"
        instead = "BinaryRelevance, or HOMER around this learner"
        check_size(self, sizes, memory=self._bytes() * n * q, instead=instead)
        measure = get_measure(self.scoring or self._measure)
        held: Any = None
        if self.validation_fraction is not None:
            split = hold_out(known_part(Y)[0], self.validation_fraction, self.random_state)
            parts = [(X[of], Y[of], None if weights is None else weights[of]) for of in split]
            (X, Y, weights), held = parts
            if measure.kind == "labels" and not self._cut_at_zero:
                raise ValueError(
                    f"scoring must be a measure of rankings for {type(self).__name__}, whose cut "
                    f"is fitted after boosting; got {self.scoring!r}"
                )
        self._boost(X, Y, weights, held, measure)
        self.n_estimators_ = max(0, len(self.rules_) - self._extra_rounds)
        self.feature_importances_ = self._importances()
        self._fit_link(X, Y, weights, held)

    def _boost(self, X: Any, Y: LabelMatrix, weights: Any, held: Any, measure: Any) -> None:
        """Collect rules until a round no longer helps.

        With a held-out part, stop when its measure has not improved for ``n_iter_no_change``
        rounds, and keep the rules up to the best round.
        """
        self.rules_, bounds = [], [1.0]
        check = None if held is None else _HeldOut(self, held, measure)
        for rule, bound in self._rounds(X, Y, weights):
            if self.rules_ and not bound < bounds[-1] * (1 - PROGRESS):
                break
            self.rules_.append(rule)
            bounds.append(bound)
            # a bound of 0 leaves nothing to learn
            if (check is not None and check.stops()) or bound == 0:
                break
        if check is not None:
            del self.rules_[check.kept :]
        self.bound_ = np.array(bounds[1 : len(self.rules_) + 1])
        self.validation_scores_ = np.array([] if check is None else check.values)

    def _bytes(self) -> float:
        """Bytes of a round for each weight (n, q), measured."""
        return 52.0

    def _importances(self) -> Floats:
        """Share of each feature in the decrease of the logarithm of the bound."""
        importances = np.zeros(self.n_features_in_)
        logs = np.log(np.maximum(np.append(1.0, self.bound_), np.finfo(float).tiny))
        for rule, drop in zip(self.rules_, -np.diff(logs)):
            used = rule.features()
            total = sum(gain for _, gain in used)
            for feature, gain in used:
                importances[feature] += drop * (gain / total if total > 0 else 1 / len(used))
        total = importances.sum()
        return importances / total if total > 0 else importances

    def _fit_link(self, X: Any, Y: LabelMatrix, weights: Any, held: Any) -> None:
        """Fit the cut and, if there are scores of held-out instances, the slope."""
        self.slope_ = self._slope
        if self.calibration_folds is not None:
            f = self._out_of_fold(X, Y, weights, self.calibration_folds)
            self._fit_cut(f, Y, weights)
            self.slope_ = fit_slope(self._minus_cut(f), Y, self._slope, weights)
            return
        if not self._cut_at_zero:
            self._fit_cut(self._final(X), Y, weights)
        if held is not None:
            self.slope_ = fit_slope(self._scores(held[0]), held[1], self._slope, held[2])

    def _out_of_fold(self, X: Any, Y: LabelMatrix, weights: Any, folds: int) -> Floats:
        """Scores of each instance by rules learned without its fold."""
        if folds > (n := X.shape[0]):
            most = f"the {n} training instances"
            raise ValueError(f"calibration_folds must be at most {most}, got {folds}")
        part = clone(self).set_params(
            n_estimators=max(1, self.n_estimators_),
            validation_fraction=None,
            calibration_folds=None,
            rules="presence" if self.presence_ else "threshold",
        )
        f = np.zeros(Y.shape)
        splitter = IterativeStratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        for train, test in splitter.split(X, Y):
            w = None if weights is None else weights[train]
            f[test] = part.fit(X[train], Y[train], w)._final(X[test])
        return f

    def _bins(self, X: Any, q: int) -> Bins:
        return Bins(X, presence=self.presence_, max_bins=self.max_bins, width=2 * q)

    def _epsilon(self, shape: tuple[int, ...], weights: Weights, unknown: Any = None) -> float:
        if self.smoothing is not None:
            return self.smoothing
        n = shape[0] if weights is None else float(weights.sum())
        if unknown is None:
            return 1.0 / (n * shape[1])
        by_row = (~unknown).sum(axis=1)
        known = by_row.sum() if weights is None else weights @ by_row
        return 1.0 / max(float(known), 1.0)

    def _final(self, X: Any) -> Floats:
        """The scores f after the last rule."""
        # the walk yields the same array after each rule
        return [np.zeros((X.shape[0], self.n_labels_)), *self._walk(Columns(X))][-1]

    def _scores(self, X: Any) -> Floats:
        return self._minus_cut(self._final(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each label: the logistic function of ``slope_`` times the score.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x). For a 1-D y the rows are scaled to sum to one.
        """
        scores = self._validated_scores(X)
        return self._proba(expit(self.slope_ * scores))

    def staged_scores(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the scores f (n, q) after each round, before any cut is subtracted."""
        for f in self._walk(Columns(self._validate_predict(X))):
            yield f.copy()


class _HeldOut:
    """The measure of a held-out part after each round."""

    def __init__(self, learner: BoostedClassifier, held: Any, measure: Any):
        X, self.Y, _ = held
        self.measure, self.patience = measure, learner.n_iter_no_change
        self.staged = learner._walk(Columns(X))  # follows ``rules_`` as it grows
        self.values: list[float] = []
        self.best, self.kept = -np.inf, 0

    def stops(self) -> bool:
        """Evaluate the rules so far; return whether the last ones have not helped."""
        f = next(self.staged)
        answer = f if self.measure.kind == "scores" else (f > 0).astype(np.int8)
        value = float(self.measure.function(self.Y, answer))
        self.values.append(value)
        goodness = value if self.measure.greater_is_better else -value
        if goodness > self.best or self.kept == 0:
            self.best, self.kept = goodness, len(self.values)
        return len(self.values) - self.kept >= self.patience


def rows_that_know(unknown: Any, n: int) -> NDArray[np.bool_]:
    """Whether any label of each of n instances is known; all True if none of them is."""
    if unknown is None:
        return np.ones(n, dtype=bool)
    some = np.asarray(unknown.sum(axis=1, dtype=np.int64)).ravel() < unknown.shape[1]
    return some if some.any() else ~some


def hold_out(Y: LabelMatrix, fraction: float, seed: Any) -> list[NDArray[np.intp]]:
    """The rows to learn from, and those to hold out."""
    n, size = Y.shape[0], int(np.ceil(Y.shape[0] * fraction))
    if size >= n:
        raise ValueError(
            f"validation_fraction={fraction} leaves no instance to learn from, got n_samples={n}"
        )
    return stratified_split(np.arange(n), Y, sizes=(n - size, size), random_state=seed)[:2]


def fitted_names(learner: Any, feature_names: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Feature names (given, seen in ``fit``, or x0, x1, ...) and label names."""
    check_is_fitted(learner)
    d = learner.n_features_in_
    if feature_names is None:
        feature_names = getattr(learner, "feature_names_in_", default_feature_names(d))
    names = [str(name) for name in checked_given(feature_names, None, d).names]
    return names, list(learner.label_names_)


def fit_slope(f: Floats, Y: LabelMatrix, start: float, weights: Floats | None = None) -> float:
    """The a > 0 for which sigmoid(a f) makes the labels most likely.

    One slope for all labels and no intercept: neither the ranking of the labels nor the cut at
    zero changes. The search is within a factor of 100 of ``start``, which is returned if no score,
    or every score, is wrong.
    """
    Y, unknown = known_part(Y)
    margin = np.where(dense(Y).astype(bool), f, -f)
    right = margin > 0
    if unknown is not None:
        margin[dense(unknown)] = 0.0  # the same likelihood for any slope
        right = right[~dense(unknown)]
    if not margin.any() or right.all() or not right.any():
        return start  # the likelihood has no maximum

    def negative_log_likelihood(log_slope: float) -> float:
        losses = np.logaddexp(0.0, -np.exp(log_slope) * margin)
        return float(np.average(losses.mean(axis=1), weights=weights))

    bounds = np.log(start) - np.log(100), np.log(start) + np.log(100)
    found = minimize_scalar(negative_log_likelihood, bounds=bounds, method="bounded")
    return float(np.exp(found.x))
