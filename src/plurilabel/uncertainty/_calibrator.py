"""ScoreCalibrator: scores to probabilities, label by label."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from plurilabel._blocks import dense
from plurilabel._compat import Interval, StrOptions, validate_parameter_constraints
from plurilabel._fitted import Declared, count, flag, lists_of_numbers, numbers, parameter
from plurilabel.base import AllOrNothing
from plurilabel.thresholds import Scores, check_dense_scores, check_scores_and_labels

Array = NDArray[np.float64]

METHODS = ("sigmoid", "isotonic", "beta", "temperature")
EDGE = 1e-6  # probabilities closer to 0 or 1 have the log odds of this one


class ScoreCalibrator(AllOrNothing, BaseEstimator):
    """Turn the scores of a classifier into probabilities, learned from scores and true labels.

    The map of each label is increasing: the order of the instances by a label's score does not
    change, but scores may become equal.

    Parameters
    ----------
    method : {"sigmoid", "beta", "temperature", "isotonic"}, default="sigmoid"
        With z the log odds of a score p that is a probability, or the score itself where scores
        are not probabilities:

        ``"sigmoid"``
            expit(a z + b), a >= 0 (Platt).
        ``"beta"``
            expit(a log p - b log(1 - p) + c), a >= 0, b >= 0 (Kull et al.), where p = expit(z).
        ``"temperature"``
            expit(z / T): the labels predicted at 0.5 do not change (Guo et al.).
        ``"isotonic"``
            the increasing step function with the least squared error (Zadrozny and Elkan). Needs
            many instances per label; its steps make scores equal.
    min_count : int, default=10
        Labels with fewer positive or fewer negative instances than this are rare and share one
        map, learned from their scores together. At 0 each label has its own; at more than the
        number of instances, all share one.

    Attributes
    ----------
    probabilities_ : bool
        Whether the scores given to ``fit`` were probabilities: all between 0 and 1.
    map_of_label_ : ndarray of shape (q,)
        Which of the maps belongs to each label.
    maps_ : list of ndarray
        Parameters of each map: (a, b), (a, b, c), (1 / T,), or the two rows of the isotonic
        function, where it bends and its values there. A label that no instance or every
        instance has gets a constant, 1 / (n + 2) or (n + 1) / (n + 2), as a map of one number in
        two rows.

    Notes
    -----
    The parametric maps are fitted by maximum likelihood to Platt's targets, (n1 + 1) / (n1 + 2)
    and 1 / (n0 + 2) in place of 1 and 0: perfectly separated labels keep finite parameters. If
    the best slope is negative it is set to 0, and in beta calibration the other parameters are
    fitted again, as Kull et al. do.

    References
    ----------
    J. Platt. Probabilistic outputs for support vector machines. 1999.
    B. Zadrozny, C. Elkan. Transforming classifier scores into accurate multiclass probability
    estimates. KDD 2002.
    M. Kull, T. Silva Filho, P. Flach. Beta calibration. AISTATS 2017.
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger. On calibration of modern neural networks. ICML 2017.

    Examples
    --------
    Of the instances scored 0.9, only two of three have the label:

    >>> from plurilabel.uncertainty import ScoreCalibrator
    >>> scores = [[0.9], [0.9], [0.9], [0.1], [0.1], [0.1]]
    >>> Y = [[1], [1], [0], [0], [0], [1]]
    >>> ScoreCalibrator("isotonic", min_count=0).fit(scores, Y).transform([[0.9], [0.1]]).round(2)
    array([[0.67],
           [0.33]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions(set(METHODS))],
        "min_count": [Interval(Integral, 0, None, closed="left")],
    }
    _fitted: ClassVar[Declared] = {
        "n_labels_": count(),
        "method_": parameter(),
        "probabilities_": flag(),
        "map_of_label_": numbers("n_labels_"),
        "maps_": lists_of_numbers(None, None, None),
    }

    def __init__(self, method: str = "sigmoid", *, min_count: int = 10):
        self.method = method
        self.min_count = min_count

    def fit(self, scores: ArrayLike, Y: ArrayLike) -> Self:
        """Learn the maps from scores and true labels.

        Parameters
        ----------
        scores : array-like of shape (n, q)
            Scores of instances that the scoring model was not trained on.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame

        Returns
        -------
        self
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        S, Y = check_scores_and_labels(scores, Y)
        self._fit(S, Y, probabilities=bool(S.min() >= 0 and S.max() <= 1))
        return self

    def _fit(self, S: Scores, Y: Any, *, probabilities: bool) -> None:
        n, q = S.shape
        present = Y.sum(axis=0, dtype=np.int64)
        fewer = np.minimum(present, n - present)
        self.n_labels_, self.method_, self.probabilities_ = q, self.method, probabilities
        by_label = Y.tocsc() if hasattr(Y, "tocsc") else Y

        maps: list[Array] = []
        of_label = np.zeros(q, dtype=np.int64)

        def add(labels: Any, map_: Array) -> None:
            of_label[labels] = len(maps)
            maps.append(map_)

        for never, labels in ((True, present == 0), (False, present == n)):
            if labels.any():
                constant = 1 / (n + 2) if never else (n + 1) / (n + 2)
                add(labels, np.array([[0.0], [constant]]))
        rare = np.flatnonzero((fewer > 0) & (fewer < self.min_count))
        groups = [rare] if len(rare) else []
        groups += [np.array([j]) for j in np.flatnonzero((fewer > 0) & (fewer >= self.min_count))]
        for labels in groups:
            z = self._log_odds(S[:, labels]).ravel()
            y = dense(by_label[:, labels]).ravel()
            add(labels, _FIT[self.method](z, y))
        self.map_of_label_, self.maps_ = of_label, maps

    def transform(self, scores: ArrayLike) -> Array:
        """Probabilities of scores.

        Parameters
        ----------
        scores : array-like of shape (n, q)

        Returns
        -------
        ndarray of shape (n, q)
        """
        check_is_fitted(self)
        S = check_dense_scores(scores)
        if S.shape[1] != self.n_labels_:
            raise ValueError(
                f"scores must have {self.n_labels_} columns, one per label as in fit, "
                f"got {S.shape[1]}"
            )
        Z = self._log_odds(S)
        P = np.empty(S.shape)
        for j, of in enumerate(self.map_of_label_):
            map_ = self.maps_[int(of)]
            apply = _constant if map_.shape == (2, 1) else _APPLY[self.method_]
            P[:, j] = apply(Z[:, j], map_)
        return P

    def _log_odds(self, S: Scores) -> Array:
        Z = S.astype(np.float64)
        return logit(np.clip(Z, EDGE, 1 - EDGE)) if self.probabilities_ else Z


# maps: of log odds z (n,) and labels y (n,), the parameters; of z and parameters, probabilities


def _platt_targets(y: NDArray[Any]) -> Array:
    n1 = int(y.sum())
    return np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (len(y) - n1 + 2))


def _fit_sigmoid(z: Array, y: NDArray[Any]) -> Array:
    ones = np.ones_like(z)
    return _increasing(np.column_stack([z, ones]), _platt_targets(y), slopes=1)[None, :]


def _fit_temperature(z: Array, y: NDArray[Any]) -> Array:
    return _increasing(z[:, None], _platt_targets(y), slopes=1)[None, :]


def _fit_beta(z: Array, y: NDArray[Any]) -> Array:
    features = np.column_stack([*_log_both(z), np.ones_like(z)])
    return _increasing(features, _platt_targets(y), slopes=2)[None, :]


def _log_both(z: Array) -> tuple[Array, Array]:
    """Log p and -log(1 - p), where p = expit(z)."""
    return -np.logaddexp(0, -z), np.logaddexp(0, z)


def _fit_isotonic(z: Array, y: NDArray[Any]) -> Array:
    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(z, y)
    at, values = steps.X_thresholds_, steps.y_thresholds_
    if len(at) == 1:  # the scores are all equal; one number would be a constant label
        at, values = np.repeat(at, 2), np.repeat(values, 2)
    return np.array([at, values])


def _apply_sigmoid(z: Array, map_: Array) -> Array:
    a, b = map_[0]
    return expit(a * z + b)


def _apply_temperature(z: Array, map_: Array) -> Array:
    return expit(map_[0, 0] * z)


def _apply_beta(z: Array, map_: Array) -> Array:
    a, b, c = map_[0]
    low, high = _log_both(z)
    return expit(a * low + b * high + c)


def _apply_isotonic(z: Array, map_: Array) -> Array:
    return np.clip(np.interp(z, *map_), 0, 1)


def _constant(z: Array, map_: Array) -> Array:
    return np.full(len(z), map_[1, 0])


_FIT = {
    "sigmoid": _fit_sigmoid,
    "isotonic": _fit_isotonic,
    "beta": _fit_beta,
    "temperature": _fit_temperature,
}
_APPLY = {
    "sigmoid": _apply_sigmoid,
    "isotonic": _apply_isotonic,
    "beta": _apply_beta,
    "temperature": _apply_temperature,
}


def _increasing(features: Array, targets: Array, *, slopes: int) -> Array:
    """Logistic regression whose first ``slopes`` coefficients are not negative."""
    used = np.arange(features.shape[1])
    while True:
        w = np.zeros(features.shape[1])
        if len(used):
            w[used] = _logistic(features[:, used], targets)
        negative = np.flatnonzero(w[:slopes] < 0)
        if not len(negative):
            return w
        # one at a time, the most negative first: without it the other may be positive
        used = used[used != negative[w[negative].argmin()]]


def _logistic(features: Array, targets: Array) -> Array:
    """Maximum likelihood by Newton's method with halved steps; targets are probabilities."""
    # columns of similar size: scores may be of any, but for those too small to divide by
    scale = np.abs(features).max(axis=0)
    scale = np.where(scale > 1e-300, scale, 1)
    F = features / scale
    w = np.zeros(F.shape[1])
    loss = _log_loss(F @ w, targets)
    for _ in range(100):
        p = expit(F @ w)
        gradient = F.T @ (p - targets)
        hessian = (F * (p * (1 - p))[:, None]).T @ F
        # a column may be constant, or a multiple of another
        hessian[np.diag_indices_from(hessian)] += 1e-9 * len(F)
        step = np.linalg.solve(hessian, gradient)
        for _ in range(40):
            new = _log_loss(F @ (w - step), targets)
            if new <= loss:
                break
            step /= 2
        else:
            break
        w, gain, loss = w - step, loss - new, new
        if gain <= 1e-14 * max(loss, 1):
            break
    return w / scale


def _log_loss(z: Array, targets: Array) -> float:
    return float((np.logaddexp(0, z) - targets * z).sum())
