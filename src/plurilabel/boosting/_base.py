"""What the boosted learners share: the rounds, early stopping, stages, probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix, ScoringClassifier
from plurilabel.boosting._bins import Bins
from plurilabel.boosting._calibration import fit_slope
from plurilabel.boosting._conditions import Columns
from plurilabel.boosting._losses import Loss, PairLoss
from plurilabel.metrics import get_measure
from plurilabel.model_selection import IterativeStratifiedKFold, stratified_split

PROGRESS = 1e-9
"""A round that takes a smaller share off the bound than this is the end of boosting."""


class BoostedClassifier(ScoringClassifier):
    """A sum of weak rules, found one per round.

    Hooks: ``_grower(bins, columns, smoothing)`` makes a callable that turns the weights V (n, 2q)
    into the next rule, or None;
    ``_walk(columns)`` yields the scores after each rule of ``rules_``, which may still grow;
    ``_features_of(rule)`` says which features a rule used, and how much of its gain each brought.
    """

    _loss: ClassVar[type[Loss]] = PairLoss
    _cut_at_zero: ClassVar[bool] = True
    _extra_rounds: ClassVar[int] = 0  # before the first of n_estimators
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "rules": [StrOptions({"auto", "threshold", "presence"})],
        "max_bins": [Interval(Integral, 4, None, closed="left"), None],
        "smoothing": [Interval(Real, 0, None, closed="neither"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str],
        "calibration_folds": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    n_estimators: int
    rules: str
    max_bins: int | None
    smoothing: float | None
    validation_fraction: float | None
    n_iter_no_change: int
    scoring: str
    calibration_folds: int | None
    random_state: Any

    rules_: list[Any]

    @abstractmethod
    def _grower(self, bins: Bins, columns: Columns, smoothing: float) -> Any: ...

    @abstractmethod
    def _walk(self, columns: Columns) -> Iterator[NDArray[np.float64]]: ...

    @abstractmethod
    def _features_of(self, rule: Any) -> list[tuple[int, float]]: ...

    @abstractmethod
    def to_text(self, *, feature_names: Sequence[str] | None = None, max_labels: int = 5) -> str:
        """The rules in words."""

    # fit -----------------------------------------------------------------------------------

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        measure = get_measure(self.scoring)
        if self.validation_fraction is None:
            held = None
            self.validation_scores_ = np.empty(0)
            for _ in self._boost(X, Y):
                pass
        else:
            X, X_held, Y, Y_held = self._hold_out(X, Y)
            held = X_held, Y_held
            self._stop_early(self._boost(X, Y), X_held, Y_held, measure)
        self.n_estimators_ = max(0, len(self.rules_) - self._extra_rounds)
        self.feature_importances_ = self._importances()
        self._fit_link(X, Y, held)

    def _boost(self, X: Any, Y: LabelMatrix) -> Iterator[float]:
        """Add a rule per round to ``rules_``; yields the product of the Z_t so far."""
        self.rules_, self.bound_ = [], np.empty(0)
        loss = self._loss(Y)
        if loss.start() == 0:
            return
        columns = Columns(X)
        grow = self._grower(self._bins(X, Y.shape[1]), columns, self._epsilon(Y))
        walk = self._walk(columns)
        V, bound = loss.weights(np.zeros(Y.shape))
        for _ in range(self.n_estimators + self._extra_rounds):
            rule = grow(V)
            if rule is None:
                return
            self.rules_.append(rule)
            V, after = loss.weights(next(walk))
            if not after < bound * (1 - PROGRESS) and len(self.rules_) > 1:
                self.rules_.pop()
                return
            bound = after
            self.bound_ = np.append(self.bound_, bound)
            yield bound
            if bound == 0:  # the weights have vanished: everything is learned
                return

    def _hold_out(self, X: Any, Y: LabelMatrix) -> tuple[Any, Any, Any, Any]:
        n, fraction = X.shape[0], self.validation_fraction
        size = int(np.ceil(n * float(fraction or 0)))
        if size >= n:
            raise ValueError(
                f"validation_fraction={fraction} leaves no instance to learn from, "
                f"got n_samples={n}"
            )
        parts = stratified_split(X, Y, sizes=(n - size, size), random_state=self.random_state)
        return parts[0], parts[1], parts[2], parts[3]

    def _stop_early(self, losses: Iterator[float], X: Any, Y: LabelMatrix, measure: Any) -> None:
        """Boost until the held-out measure has not improved for a while; keep the best rules."""
        if measure.kind == "labels" and not self._cut_at_zero:
            raise ValueError(
                f"scoring must be a measure of rankings for {type(self).__name__}, whose cut is "
                f"fitted after boosting; got {self.scoring!r}"
            )
        sign = 1.0 if measure.greater_is_better else -1.0
        walk = self._walk(Columns(X))
        values: list[float] = []
        best = -np.inf
        kept = 0
        for _ in losses:
            f = next(walk)
            answer = f if measure.kind == "scores" else (f > 0).astype(np.int8)
            values.append(float(measure.function(Y, answer)))
            if sign * values[-1] > best or kept == 0:
                best, kept = sign * values[-1], len(values)
            elif len(values) - kept >= self.n_iter_no_change:
                break
        self.validation_scores_ = np.array(values)
        self.rules_ = self.rules_[:kept]
        self.bound_ = self.bound_[:kept]

    def _importances(self) -> NDArray[np.float64]:
        """Share of each feature in what the rounds took off the logarithm of the bound."""
        importances = np.zeros(self.n_features_in_)
        logs = np.log(np.maximum(np.append(1.0, self.bound_), np.finfo(float).tiny))
        for rule, drop in zip(self.rules_, -np.diff(logs)):
            used = self._features_of(rule)
            total = sum(gain for _, gain in used)
            for feature, gain in used:
                importances[feature] += drop * (gain / total if total > 0 else 1 / len(used))
        total = importances.sum()
        return importances / total if total > 0 else importances

    def _fit_link(self, X: Any, Y: LabelMatrix, held: tuple[Any, LabelMatrix] | None) -> None:
        """Fit the cut, and the slope where there are scores of instances not trained on."""
        self.slope_ = self._loss.link_slope
        if self.calibration_folds is not None:
            f = self._out_of_fold(X, Y)
            self._fit_cut(f, Y)
            self.slope_ = fit_slope(self._minus_cut(f), Y, self.slope_)
            return
        if not self._cut_at_zero:
            self._fit_cut(self._final(X), Y)
        if held is not None:
            self.slope_ = fit_slope(self._scores(held[0]), held[1], self.slope_)

    def _out_of_fold(self, X: Any, Y: LabelMatrix) -> NDArray[np.float64]:
        """Scores of each instance by as many rules, learned without its fold."""
        folds = int(self.calibration_folds or 0)
        if folds > X.shape[0]:
            raise ValueError(
                f"calibration_folds must be at most the {X.shape[0]} training instances, "
                f"got {folds}"
            )
        part = clone(self).set_params(
            n_estimators=max(1, self.n_estimators_),
            validation_fraction=None,
            calibration_folds=None,
        )
        f = np.zeros(Y.shape)
        splitter = IterativeStratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        for train, test in splitter.split(X, Y):
            f[test] = part.fit(X[train], Y[train])._final(X[test])
        return f

    def _fit_cut(self, f: NDArray[np.float64], Y: LabelMatrix) -> None:
        """Fit what is subtracted from f; AdaBoost.MH needs nothing."""

    def _minus_cut(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        return f

    def _bins(self, X: Any, q: int) -> Bins:
        presence = self.rules == "presence" or (self.rules == "auto" and sparse.issparse(X))
        return Bins(X, presence=presence, max_bins=self.max_bins, width=2 * q)

    def _epsilon(self, Y: LabelMatrix) -> float:
        return 1.0 / (Y.shape[0] * Y.shape[1]) if self.smoothing is None else self.smoothing

    # answers -------------------------------------------------------------------------------

    def _final(self, X: Any) -> NDArray[np.float64]:
        """The scores f after the last rule."""
        f = np.zeros((X.shape[0], self.n_labels_))
        for f in self._walk(Columns(X)):  # noqa: B007
            pass
        return f

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._minus_cut(self._final(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each label: the logistic function of ``slope_`` times the score.

        Returns
        -------
        ndarray of shape (n, q)
            Column l is P(label l | x). For a 1-D y the rows are scaled to sum to one.
        """
        check_is_fitted(self)
        proba = expit(self.slope_ * self._validated_scores(X))
        if not self.single_output_:
            return proba
        total = proba.sum(axis=1, keepdims=True)
        q = proba.shape[1]
        return np.where(total > 0, proba, 1.0) / np.where(total > 0, total, q)

    def staged_scores(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """The scores f (n, q) after each round, before any cut is subtracted.

        Yields
        ------
        ndarray of shape (n, q)
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        for f in self._walk(Columns(X)):
            yield f.copy()

    # the door ------------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _names(self, feature_names: Sequence[str] | None) -> list[str]:
        """Names of the features: given, seen in ``fit``, or made up."""
        d = self.n_features_in_
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(d)])
        if len(feature_names) != d:
            raise ValueError(
                f"feature_names must have {d} entries, one per feature, got {len(feature_names)}"
            )
        return [str(name) for name in feature_names]
