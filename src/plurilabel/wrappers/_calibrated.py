"""CalibratedClassifier: probabilities from the scores of any classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.compat import Natural
from plurilabel.thresholds import ScoreCalibrator
from plurilabel.wrappers._wrapper import HeldOut, OutOfFoldWrapper


@dataclass(eq=False, repr=False)
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

    _explained = "what the classifier says before calibration"

    method: Literal["sigmoid", "beta", "temperature", "isotonic", "auto"] = "sigmoid"
    _: KW_ONLY
    min_count: Natural = 10

    def _learn(self, X: Any, Y: LabelMatrix, held_out: HeldOut) -> None:  # noqa: ARG002
        calibrator = ScoreCalibrator(self.method, min_count=self.min_count)
        scores, Y, _ = held_out()
        # decision values are not probabilities even where all lie between 0 and 1
        calibrator._fit(scores, Y, probabilities=self.response_method_ == "predict_proba")
        self.calibrator_ = calibrator

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self.calibrator_.transform(self._estimator_scores(X))
