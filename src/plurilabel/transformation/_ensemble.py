"""What ensembles of transformations share: samples, members, votes."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.transformation._base import ESTIMATOR, PARALLEL, TransformationClassifier
from plurilabel.transformation._models import (
    Params,
    draw_seeds,
    in_parallel,
    rows_of_params,
)

ENSEMBLE: dict[str, list[Any]] = {
    **ESTIMATOR,
    **PARALLEL,
    "sample": [Interval(Real, 0, 1, closed="right"), StrOptions({"bootstrap"})],
    "voting": [StrOptions({"soft", "hard"})],
    "random_state": ["random_state"],
}
"""Parameters of all ensembles."""


class EnsembleClassifier(TransformationClassifier):
    """The mean over learners that are each trained on a sample of the instances.

    Hook: ``_member(seed)`` gives a learner that has not been fitted.
    """

    sample: float | str
    voting: str
    random_state: Any
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def _member(self, seed: int) -> TransformationClassifier: ...

    def _fit_members(self, n_members: int, X: Any, Y: LabelMatrix, params: Params) -> list[Any]:
        n = X.shape[0]

        def fit(seed: int) -> TransformationClassifier:
            rng = np.random.RandomState(seed)
            rows = _draw_rows(self.sample, n, rng)
            (inner,) = draw_seeds(rng, 1)
            part = rows_of_params(params, rows, n)
            return self._member(inner)._fit_inside(X[rows], Y[rows], **part)

        seeds = draw_seeds(check_random_state(self.random_state), n_members)
        return in_parallel(
            fit, ((seed,) for seed in seeds), n_jobs=self.n_jobs, verbose=self.verbose
        )

    @property
    @abstractmethod
    def _members(self) -> list[Any]: ...

    def _score_method(self) -> str:
        return "predict_proba" if self.voting == "hard" else super()._score_method()

    def _scores(self, X: Any) -> NDArray[np.floating]:
        def vote(member: TransformationClassifier) -> NDArray[Any]:
            return member._predict(X) if self.voting == "hard" else member._scores(X)

        votes = in_parallel(vote, ((member,) for member in self._members), n_jobs=self.n_jobs)
        total = np.zeros((X.shape[0], self.n_labels_))
        for one in votes:
            total += one
        return total / len(votes)


def _draw_rows(sample: float | str, n: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Row numbers in their order, so that a full sample is the training set itself."""
    if isinstance(sample, str):
        return np.sort(rng.randint(n, size=n))
    return np.sort(rng.permutation(n)[: max(1, round(sample * n))])
