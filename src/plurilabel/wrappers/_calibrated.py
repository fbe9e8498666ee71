"""CalibratedClassifier: probabilities from the scores of any classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel.thresholds import ScoreCalibrator
from plurilabel.wrappers._wrapper import HeldOut, OutOfFoldWrapper


class CalibratedClassifier(ProbabilisticClassifier, OutOfFoldWrapper):
    """Calibrated probabilities from the scores of any classifier.

    The classifier is trained on all data. How its scores become probabilities is learned from
    out-of-fold scores: clones of the classifier, each trained on a part of the data, score the
    rest (:class:`ScoreCalibrator`).

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``: a learner of this library, or one of
        scikit-learn that accepts label matrices.
    method : {"sigmoid", "beta", "temperature", "isotonic", "auto"}, default="sigmoid"
        The kind of map; see :class:`ScoreCalibrator`.
    min_count : int, default=10
        Labels with fewer positive or fewer negative instances share one map.
    cv, response_method, n_jobs :
        As in :class:`ThresholdClassifier`.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all data.
    calibrator_ : ScoreCalibrator
        The maps of its scores.
    classes_, label_names_, n_labels_
        As for all learners; ``n_features_in_``, ``feature_names_in_`` if ``estimator_`` has them.

    See Also
    --------
    plurilabel.metrics.expected_calibration_error : How far probabilities are from frequencies.
    sklearn.calibration.CalibratedClassifierCV : The same for a single label.

    Examples
    --------
    The vote of three neighbours is not a probability:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from plurilabel import CalibratedClassifier, datasets, model_selection
    >>> from plurilabel.metrics import expected_calibration_error, label_scores
    >>> data = datasets.make_multilabel(600, 10, 5, noise=0.1, random_state=0)
    >>> X, X_test, Y, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.6, 0.4), random_state=0)
    >>> votes = label_scores(KNeighborsClassifier(3).fit(X, Y), X_test)
    >>> model = CalibratedClassifier(KNeighborsClassifier(3)).fit(X, Y)
    >>> round(expected_calibration_error(Y_test, votes), 2)
    0.13
    >>> round(expected_calibration_error(Y_test, model.predict_proba(X_test)), 2)
    0.04
    """

    method: str
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutOfFoldWrapper._parameter_constraints,
        **ScoreCalibrator._parameter_constraints,
    }
    _explained = "what the classifier says before calibration"

    def __init__(
        self,
        estimator: Any,
        method: str = "sigmoid",
        *,
        min_count: int = 10,
        cv: Any = 5,
        response_method: str = "auto",
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.method = method
        self.min_count = min_count
        self.cv = cv
        self.response_method = response_method
        self.n_jobs = n_jobs

    def _learn(self, X: Any, Y: LabelMatrix, held_out: HeldOut) -> None:  # noqa: ARG002
        calibrator = ScoreCalibrator(self.method, min_count=self.min_count)
        scores, Y, _ = held_out()
        # decision values are not probabilities even where all lie between 0 and 1
        calibrator._fit(scores, Y, probabilities=self.response_method_ == "predict_proba")
        self.calibrator_ = calibrator

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self.calibrator_.transform(self._estimator_scores(X))
