"""ScoreCalibrator: scores to probabilities, label by label."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Natural, StrOptions, check_params
from plurilabel._core.fitted import Declared, count, flag, lists_of_numbers, numbers, parameter
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds._strategy import Scores, check_dense_scores, check_scores_and_labels

Array = NDArray[np.float64]
METHODS = ("sigmoid", "isotonic", "beta", "temperature")
FOLDS = 5  # for "auto"
EDGE = 1e-6  # probabilities closer to 0 or 1 have the log odds of this one


@dataclass(eq=False, repr=False)
class ScoreCalibrator(AllOrNothing, BaseEstimator):
    """Turn the scores of a classifier into probabilities, learned from scores and true labels.

    The map of each label is increasing: the order of the instances by a label's score does not
    change, but scores may become equal.

    Parameters
    ----------
    method : {"sigmoid", "beta", "temperature", "isotonic", "auto"}, default="sigmoid"
        With z the log odds of a probability p, or a score that is not a probability:

        ``"sigmoid"``
            expit(a z + b), a >= 0 (Platt).
        ``"beta"``
            expit(a log p - b log(1 - p) + c), a >= 0, b >= 0 (Kull et al.), where p = expit(z).
        ``"temperature"``
            expit(z / T): the labels predicted at 0.5 do not change (Guo et al.).
        ``"isotonic"``
            the increasing step function with the least squared error (Zadrozny and Elkan). Needs
            many instances per label.
        ``"auto"``
            the one with the smallest log loss in five folds, the same for all labels; or none, if
            the scores are probabilities with a smaller loss.
    min_count : int, default=10
        Labels with fewer positive or fewer negative instances share one map, learned from their
        scores together. At 0 each label has its own.

    Attributes
    ----------
    method_ : str
        The method, or the choice of "auto": "identity" if scores stay as they are.
    losses_ : dict of str to float
        The mean log loss of each method in the folds; only with "auto".
    probabilities_ : bool
        Whether all scores given to ``fit`` were between 0 and 1.
    map_of_label_ : ndarray of shape (q,)
        Index of the map of each label.
    maps_ : list of ndarray
        Parameters of each map: (a, b), (a, b, c), (1 / T,), or the two rows of the isotonic
        function, where it bends and its values there. A label that no instance or every instance
        has gets a constant, 1 / (n + 2) or (n + 1) / (n + 2), as a map of one number in two rows.

    Notes
    -----
    The parametric maps are fitted by maximum likelihood to Platt's targets, (n1 + 1) / (n1 + 2)
    and 1 / (n0 + 2) in place of 1 and 0, so that parameters stay finite. A negative slope is set
    to 0, and in beta calibration the other parameters are fitted again, as by Kull et al.

    References
    ----------
    J. Platt. Probabilistic outputs for support vector machines. 1999. B. Zadrozny, C. Elkan.
    Transforming classifier scores into accurate multiclass probability estimates. KDD 2002. M.
    Kull, T. Silva Filho, P. Flach. Beta calibration. AISTATS 2017. C. Guo, G. Pleiss, Y. Sun, K.
    Weinberger. On calibration of modern neural networks. ICML 2017.

    Examples
    --------
    Only two of the three instances scored 0.9 have the label:

    >>> from plurilabel import ScoreCalibrator
    >>> scores = [[0.9], [0.9], [0.9], [0.1], [0.1], [0.1]]
    >>> Y = [[1], [1], [0], [0], [0], [1]]
    >>> ScoreCalibrator("isotonic", min_count=0).fit(scores, Y).transform([[0.9], [0.1]]).round(2)
    array([[0.67],
           [0.33]])
    """

    _fitted: ClassVar[Declared] = {
        "n_labels_": count(),
        "method_": parameter(),
        "probabilities_": flag(),
        "map_of_label_": numbers("n_labels_"),
        "maps_": lists_of_numbers(None, None, None),
    }

    method: Annotated[str, StrOptions({*METHODS, "auto"})] = "sigmoid"
    _: KW_ONLY
    min_count: Natural = 10

    def fit(self, scores: ArrayLike, Y: ArrayLike) -> Self:
        """Learn the maps from scores and true labels.

        Parameters
        ----------
        scores : array-like of shape (n, q)
            Scores of instances that the scoring model was not trained on.
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
            Unknown labels (NaN, None, NA, UnknownLabels) are ignored. Soft labels, between 0 and
            1, are targets as they are.
        """
        check_params(self)
        filled, unknown = known_part(Y)
        S, Y = check_scores_and_labels(scores, filled)
        if unknown is not None:
            Y = UnknownLabels(Y, unknown)
        self._fit(S, Y, probabilities=bool(S.min() >= 0 and S.max() <= 1))
        return self

    def _fit(self, S: Scores, Y: Any, *, probabilities: bool) -> None:
        self.n_labels_, self.probabilities_ = S.shape[1], probabilities
        self.method_ = self.method
        if self.method == "auto":
            self.losses_ = self._losses(S, Y)
            self.method_ = min(self.losses_, key=lambda name: self.losses_[name])
        elif hasattr(self, "losses_"):
            del self.losses_
        self._fit_maps(S, Y)

    def _losses(self, S: Scores, Y: Any) -> dict[str, float]:
        """The mean log loss of each method, out of folds of the rows."""
        candidates = [*METHODS, "identity"] if self.probabilities_ else [*METHODS]
        filled, unknown = known_part(Y)
        known = ~dense(unknown) if unknown is not None else np.ones(S.shape, dtype=bool)
        y = dense(filled)
        loss = dict.fromkeys(candidates, 0.0)
        folds = min(FOLDS, len(S))
        for train, test in IterativeStratifiedKFold(folds).split(S, filled) if folds > 1 else ():
            for name in candidates:
                part = ScoreCalibrator(name, min_count=self.min_count)
                part.n_labels_, part.probabilities_ = self.n_labels_, self.probabilities_
                part.method_ = name
                part._fit_maps(S[train], Y[train])
                p = np.clip(part.transform(S[test]), EDGE, 1 - EDGE)
                each = -(y[test] * np.log(p) + (1 - y[test]) * np.log1p(-p))
                loss[name] += float(each[known[test]].sum())
        return {name: value / max(int(known.sum()), 1) for name, value in loss.items()}

    def _fit_maps(self, S: Scores, Y: Any) -> None:
        (rows, q), some_unknown = S.shape, isinstance(Y, UnknownLabels)
        filled, unknown = known_part(Y)
        present = np.asarray(filled.sum(axis=0)).ravel()
        n = np.full(q, rows)  # instances that know each label
        if some_unknown:
            n = rows - np.asarray(unknown.sum(axis=0, dtype=np.int64)).ravel()
        fewer = np.minimum(present, n - present)
        by_label = filled.tocsc() if hasattr(filled, "tocsc") else filled

        maps: list[Array] = []
        owners: list[Any] = []  # the labels that share each map
        for never, labels in ((True, present == 0), (False, (present == n) & (n > 0))):
            for size in np.unique(n[labels]):
                constant = 1 / (size + 2) if never else (size + 1) / (size + 2)
                maps.append(np.array([[0.0], [constant]]))
                owners.append(labels & (n == size))
        rare = np.flatnonzero((fewer > 0) & (fewer < self.min_count))
        groups = [rare] if len(rare) else []
        groups += [np.array([j]) for j in np.flatnonzero((fewer > 0) & (fewer >= self.min_count))]
        for labels in groups:
            z = self._log_odds(S[:, labels]).ravel()
            y = dense(by_label[:, labels]).ravel()
            if some_unknown:
                known = np.column_stack([Y.known_rows(label) for label in labels]).ravel()
                z, y = z[known], y[known]
            maps.append(_fit_map(self.method_, z, y))
            owners.append(labels)
        self.maps_, self.map_of_label_ = maps, np.zeros(q, dtype=np.int64)
        for i, labels in enumerate(owners):
            self.map_of_label_[labels] = i

    def transform(self, scores: ArrayLike) -> Array:
        """Probabilities (n, q) of scores (n, q)."""
        check_is_fitted(self)
        Z = self._log_odds(check_dense_scores(scores, self.n_labels_))
        P = np.empty(Z.shape)
        for j, of in enumerate(self.map_of_label_):
            P[:, j] = _apply_map(self.method_, Z[:, j], self.maps_[int(of)])
        return P

    def _log_odds(self, S: Scores) -> Array:
        Z = S.astype(np.float64)
        return logit(np.clip(Z, EDGE, 1 - EDGE)) if self.probabilities_ else Z


def _features(method: str, z: Array) -> tuple[Any, ...]:
    """Features of a logistic map: slopes first, then the constant, which temperatures lack."""
    if method == "beta":
        return -np.logaddexp(0, -z), np.logaddexp(0, z), 1.0  # log p and -log(1 - p)
    return (z, 1.0) if method == "sigmoid" else (z,)


def _fit_map(method: str, z: Array, y: NDArray[Any]) -> Array:
    """Parameters of the map from log odds z (n,) and labels y (n,)."""
    if method == "identity":
        return np.ones((1, 1))  # expit(z): the temperature 1
    if method == "isotonic":
        steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(z, y)
        at, values = steps.X_thresholds_, steps.y_thresholds_
        # the scores may all be equal; one number would be a constant label
        return np.repeat([at, values], 2 if len(at) == 1 else 1, axis=1)
    z = _within_reach(z, 0.0 if method == "temperature" else np.median(z))
    features = np.column_stack(np.broadcast_arrays(*_features(method, z)))
    n1 = y.sum()
    platt_targets = y * (n1 + 1) / (n1 + 2) + (1 - y) / (len(y) - n1 + 2)
    return _increasing(features, platt_targets, slopes=2 if method == "beta" else 1)[None, :]


def _apply_map(method: str, z: Array, map_: Array) -> Array:
    """Probabilities of log odds z (n,)."""
    if map_.shape == (2, 1):  # a constant label
        return np.full(len(z), map_[1, 0])
    if method == "isotonic":
        return np.clip(np.interp(z, *map_), 0, 1)
    return expit(sum(w * feature for w, feature in zip(map_[0], _features(method, z))))


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


def _within_reach(z: Array, centre: Any) -> Array:
    """Scores, but a few that are a thousand times farther from the centre than most: at the limit.

    They say no more than one at the limit, and would decide the size of all steps.
    """
    far = np.abs(z - centre)
    scale = np.median(far)
    scale = scale if scale > 1e-300 else far.max()
    return np.clip(z, centre - 1e3 * scale, centre + 1e3 * scale)


def _logistic(features: Array, targets: Array) -> Array:
    """Maximum likelihood by Newton's method with halved steps; targets are probabilities."""
    # columns of similar size around zero: scores may be of any
    constant = np.ptp(features, axis=0) == 0
    centre = np.where(constant | (not constant.any()), 0, np.median(features, axis=0))
    low, high = np.quantile(np.abs(features - centre), [0.5, 1], axis=0)
    scale = np.maximum(low, high / 1e3)
    scale = np.where(scale > 1e-300, scale, 1)
    F = (features - centre) / scale
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
    w = w / scale
    # the constant column takes back what the others were moved by
    w[np.flatnonzero(constant)[:1]] -= w @ centre
    return w


def _log_loss(z: Array, targets: Array) -> float:
    return float((np.logaddexp(0, z) - targets * z).sum())
