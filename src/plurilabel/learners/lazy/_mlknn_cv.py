"""ML-kNN that chooses its own parameters by leave-one-out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.fitted import Declared, number, numbers
from plurilabel._core.unknown import UnknownLabels
from plurilabel.learners.lazy._lazy_classifier import LazyClassifier
from plurilabel.learners.lazy._leave_one_out import leave_one_out, partly_leave_one_out
from plurilabel.learners.lazy._mlknn import MLkNN
from plurilabel.learners.lazy._neighbor_labels import Floats, Rows, enough_known
from plurilabel.metrics import Measure, get_measure


@dataclass(eq=False, repr=False)
class MLkNNCV(MLkNN):
    """ML-kNN with the number of neighbours and the smoothing chosen by leave-one-out.

    The neighbour graph is searched once, for the largest k; smaller k and leave-one-out use its
    first columns: instances that had the left-out one as a neighbour take their next one instead.

    Parameters
    ----------
    n_neighbors : sequence of int, default=1 to 30
        Values of k to try.
    smoothing : sequence of float, default=(1.0,)
        Values of s to try.
    scoring : str, default=None
        A measure of :mod:`plurilabel.metrics`. None is ``"average_precision"``, or
        ``"hamming_loss"`` for a single label. Ties go to the smaller k, then to the first
        smoothing.
    leave_out : {"instance", "entry"}, default="instance"
        What is left out for the prediction of a training instance. "instance": all of it, so that
        the scores are exactly those of a separate fit for each instance. "entry": only its own
        entry in the prior and in the frequency arrays; it stays a neighbour of others. That is
        faster, but the choice may be much worse.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`.

    Attributes
    ----------
    n_neighbors_, smoothing_ : int, float
        The chosen values.
    cv_values_ : ndarray of shape (len(n_neighbors), len(smoothing))
        The measure for each pair of values.
    prior_, likelihood_, table_ :
        As in :class:`MLkNN` with the chosen values.
    graph_ : tuple of ndarrays
        As in :class:`MLkNN`, with as many columns as the largest k needs.

    Notes
    -----
    Leave-one-out uses dense matrices (n, q), also for sparse labels. Labels may be unknown, as in
    :class:`MLkNN`. As many neighbours are searched without an instance as with all of them.

    Examples
    --------
    >>> from plurilabel import MLkNNCV, datasets
    >>> data = datasets.load("digits")
    >>> learner = MLkNNCV(n_neighbors=range(1, 11)).fit(data.X, data.Y)
    >>> learner.n_neighbors_
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": ["array-like"],
        "smoothing": ["array-like"],
        "scoring": [str, None],
    }
    _fitted: ClassVar[Declared] = {
        "smoothing_": number(),
        "cv_values_": numbers(None, None, finite=False),
    }

    n_neighbors: Sequence[int] = tuple(range(1, 31))  # type: ignore[assignment]
    _: KW_ONLY
    smoothing: Sequence[float] = (1.0,)  # type: ignore[assignment]
    scoring: str | None = None
    leave_out: Literal["instance", "entry"] = "instance"

    def _n_searched(self) -> int:
        given = self.fitted_params_
        return max(given["n_neighbors"]) + (given["leave_out"] == "instance")

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        _check_values("n_neighbors", self.n_neighbors, Integral, 1)
        _check_values("smoothing", self.smoothing, Real, 0)
        super()._fit(X, Y)

    def _dense_bytes(self) -> float:
        if self.unknown_ is not None:
            return 150.0
        entry = self.fitted_params_["leave_out"] == "entry"
        from_tables = self._measure().name == "hamming_loss" and entry
        return 6.0 if from_tables else 18.0  # labels and events; scores

    def _check_size(self, n: int) -> None:
        given = self.fitted_params_
        if 2 <= n <= self._n_searched() and given["leave_out"] == "instance":
            raise ValueError(
                f"n_neighbors must be smaller than the {n} training instances less the one that "
                f"is left out, got {max(given['n_neighbors'])}"
            )
        super()._check_size(n)

    def _measure(self) -> Measure:
        usual = "hamming_loss" if self.n_labels_ == 1 else "average_precision"
        return get_measure(self.fitted_params_["scoring"] or usual)

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        self._judge(neighbors)
        self.n_neighbors_, self.smoothing_ = self._best()
        self.n_searched_ = enough_known(self.n_neighbors_, self.unknown_)
        searched = self.n_searched_ or self.n_neighbors_
        self.counts_ = self._labels.tally(distances[:, :searched], neighbors[:, :searched])
        self._estimate(self.smoothing_)

    def _judge(self, neighbors: Rows) -> None:
        """The measure of the leave-one-out predictions for each pair of values."""
        given, measure, Y = self.fitted_params_, self._measure(), dense(self.Y_)
        ks, smoothings = np.array(given["n_neighbors"]), list(given["smoothing"])
        cut = None if measure.kind == "scores" else self._cut
        self.cv_values_ = np.empty((len(ks), len(smoothings)))
        left = self._leave_one_out(neighbors, Y, set(ks.tolist()))
        if self.unknown_ is not None:  # measures leave unknown labels out
            Y = UnknownLabels(Y, dense(self.unknown_)).toarray()
        for k, left_out in left:
            for column, s in enumerate(smoothings):
                if measure.name == "hamming_loss" and hasattr(left_out, "hamming_loss"):
                    value = left_out.hamming_loss(s, self._cut)
                else:
                    value = measure.function(Y, left_out.scores(s, cut))
                self.cv_values_[ks == k, column] = value

    def _leave_one_out(self, neighbors: Rows, Y: Any, ks: set[int]) -> Iterator[tuple[int, Any]]:
        replace = self.fitted_params_["leave_out"] == "instance"
        if self.unknown_ is not None or Y.dtype.kind == "f":
            unknown = None if self.unknown_ is None else dense(self.unknown_)
            reach = {k: enough_known(k, unknown) or k for k in ks}
            return partly_leave_one_out(neighbors, Y, unknown, reach, replace=replace)
        if (device := getattr(self.index_, "device_", "cpu")) != "cpu":
            from plurilabel.learners.lazy import _gpu  # torch is there

            return _gpu.leave_one_out(neighbors, Y, ks, replace=replace, device=device)
        return leave_one_out(neighbors, Y, ks, replace=replace)

    def _best(self) -> tuple[int, float]:
        """The values of the best measure: among equal ones the smallest k, then the first s."""
        ks, smoothings = (np.array(self.fitted_params_[k]) for k in ("n_neighbors", "smoothing"))
        loss = -self.cv_values_ if self._measure().greater_is_better else self.cv_values_
        by_k = np.argsort(ks, kind="stable")
        best = np.argmin(np.where(np.isnan(loss), np.inf, loss)[by_k])
        row, column = np.divmod(best, len(smoothings))
        return int(ks[by_k[row]]), float(smoothings[column])

    _relearn = LazyClassifier._relearn  # judge all values again: the choice may change


def _check_values(name: str, values: Sequence[Any], kind: Any, least: float) -> None:
    values = list(values)
    if not values or not all(isinstance(v, kind) and v >= least for v in values):
        raise ValueError(f"{name} must be a sequence of numbers from {least} on, got {values}")
