"""Base classes of ensembles of transformations: samples, members, votes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Part, rows_of_params
from plurilabel._core.explanation.contributions import Given, Parts, added, common_scale, scattered
from plurilabel._core.fitted import Declared, parameter, values
from plurilabel.learners.transformation._base_models import draw_seeds, in_parallel
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier

# the scale of explanations where members explain something other than the scores they vote with
MEAN_OF_MEMBERS = "the mean over the models of what each weighs"


class VotingClassifier(TransformationClassifier):
    """Base class of learners whose members vote with label sets ("hard") or scores ("soft")."""

    _fitted: ClassVar[Declared] = {"voting_": parameter()}

    voting: str
    n_jobs: int | None
    estimators_: list[TransformationClassifier]

    def _score_method(self) -> str:
        voting = getattr(self, "voting_", self.voting)
        return "predict_proba" if voting == "hard" else super()._score_method()

    def _votes(self, X: Any) -> list[NDArray[Any]]:
        def vote(member: TransformationClassifier) -> NDArray[Any]:
            return member._predict(X) if self.voting_ == "hard" else member._scores(X)

        return in_parallel(vote, zip(self.estimators_), n_jobs=self.n_jobs)

    def _mean_parts(self, x: Any, given: Given, labelsets: list[NDArray[np.intp]]) -> Parts:
        """The mean of the explanations of each label, over the members that score it."""
        q = self.n_labels_
        votes = np.bincount(np.concatenate(labelsets), minlength=q)
        placed = [
            scattered(member._parts(x, given), labels, 1.0 / votes[labels], q)
            for member, labels in zip(self.estimators_, labelsets)
        ]
        scales = [MEAN_OF_MEMBERS] * q
        if self.voting_ == "soft":
            every = zip(*(part.scales for part in placed))
            scales = [common_scale(scales, MEAN_OF_MEMBERS) for scales in every]
        return added(placed, tuple(scales))


@dataclass(eq=False, repr=False)
class EnsembleClassifier(VotingClassifier):
    """Base class of means over learners that are each trained on a sample of the instances.

    Hook: ``_member(seed)`` returns an unfitted learner.
    """

    _fitted: ClassVar[Declared] = {"estimators_": values("n_models")}

    estimator: Any
    _: KW_ONLY
    n_estimators: int = 10
    max_samples: Part = 0.67
    bootstrap: bool = False
    voting: Literal["hard", "soft"] = "soft"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @abstractmethod
    def _member(self, seed: int) -> TransformationClassifier: ...

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.voting_ = self.voting
        n, size = X.shape[0], max(1, round(self.max_samples * X.shape[0]))

        def fit(seed: int) -> TransformationClassifier:
            rng = np.random.RandomState(seed)
            rows = rng.randint(n, size=size) if self.bootstrap else rng.permutation(n)[:size]
            rows.sort()  # a full sample is then the training set itself
            (inner,) = draw_seeds(rng, 1)
            part = rows_of_params(X, params, rows)
            return self._member(inner)._fit_inside(X[rows], Y[rows], self, **part)

        seeds = zip(draw_seeds(check_random_state(self.random_state), self.n_estimators))
        self.estimators_ = in_parallel(fit, seeds, n_jobs=self.n_jobs, verbose=self.verbose)

    def _parts(self, x: Any, given: Given) -> Parts:
        every = np.arange(self.n_labels_)
        return self._mean_parts(x, given, [every] * len(self.estimators_))

    def _scores(self, X: Any) -> NDArray[np.floating]:
        return np.mean(self._votes(X), axis=0, dtype=np.float64)
