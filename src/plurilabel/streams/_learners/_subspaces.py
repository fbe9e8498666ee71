"""An adaptive ensemble of nearest neighbors in random subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.fitted import Declared, count, values
from plurilabel.streams._adwin import ADWIN
from plurilabel.streams._learners._mlsampknn import FEW, MLSAMPkNN, SelfAdjusting
from plurilabel.streams._stream_classifier import Floats


class Watched(SelfAdjusting):
    """Members with skills, each monitored by a drift detector."""

    _fitted: ClassVar[Declared] = {"watches": values("members"), "n_drifts": count()}

    def __init__(self, *settings: Any, detector: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.detector = detector
        self.watches = [detector.clone() for _ in self.masks]
        self.n_drifts = 0

    def _learned(self, right: Floats) -> None:
        self.watches = deepcopy(self.watches)  # the old ones are restored if learning fails
        for m, (value, before) in enumerate(zip(right, self.skill.copy())):
            self.watches[m].update(1.0 - value)
            if self.watches[m].drift_detected and value < before:
                self._renew(m)
        self.skill = self.fading * self.skill + (1 - self.fading) * right

    def _renew(self, m: int) -> None:
        """Draw a new subspace for a member, and forget all but its last rows."""
        self.n_drifts += 1
        self.watches[m] = self.detector.clone()
        self.shares[m] = self.rng.uniform(0.5, 1.0)
        d = self.d_
        self.masks[m] = (self.rng.random(d) < self.shares[m]) | (d < FEW)
        mask = self.masks[m][self.stored] if self.is_sparse else self.masks[m]
        self.norms[:, m] = (self.points * self.points * mask).sum(axis=1)
        self.alive[m, self.born < self.seen - self.sizes[-1]] = False
        self.charges[m] = 0
        self.tallies[:, m] = 0


@dataclass(eq=False, repr=False)
class NeighborSubspaceEnsemble(MLSAMPkNN):
    """Adaptive ensemble of self-adjusting nearest neighbors in random subspaces.

    Each member is an :class:`MLSAMPkNN` on random features and rows (online bagging). Votes are
    weighted by skill, the recent mean of subset accuracy and example F1. When a drift detector
    finds that the errors of a member have risen, the member draws new features and keeps only its
    last rows.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of members.
    n_neighbors, window_size, min_window, penalty, fading, metric : as in :class:`MLSAMPkNN`
    drift_detector : river drift detector, default=None
        None for :class:`plurilabel.streams.ADWIN`; :class:`river.drift.NoDrift` for none. A
        learner with one of river's cannot be saved to a model file.
    random_state : int or None, default=None
        Seed for features and rows.

    Attributes
    ----------
    core_ : object
        The members, which share one memory: ``core_.masks`` has their features, ``core_.skill``
        their weights, and ``core_.n_drifts`` is the number of drifts found.

    Notes
    -----
    Like AESAKNNS, it has random subspaces of features, online bagging, self-adjusting windows and
    ADWIN. In AESAKNNS, a warning trains a second ensemble in the background, and subspaces have a
    fixed size; here a member uses half to all of the features (all, if there are fewer than ten),
    and is renewed in place.

    References
    ----------
    G. Alberghini, S. Barbon Junior, A. Cano. Adaptive ensemble of self-adjusting nearest neighbor
    subspaces for multi-label drifting data streams. Neurocomputing 481, 2022.

    Examples
    --------
    >>> from plurilabel import NeighborSubspaceEnsemble
    >>> learner = NeighborSubspaceEnsemble(5, random_state=0)
    >>> for i in range(300):
    ...     x = {"a": i % 10, "b": i % 3}
    ...     learner.learn_one(x, {"low": i % 10 < 5, "late": i >= 150})
    >>> learner.predict_one({"a": 8, "b": 1})
    {'low': False, 'late': True}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "random_state": [None, Integral],
    }

    n_estimators: int = 10
    _: KW_ONLY
    n_neighbors: int | Sequence[int] = (1, 3, 5, 7)
    drift_detector: Any = None
    random_state: int | None = None

    def _new_core(self) -> Watched:
        detector = ADWIN() if self.drift_detector is None else self.drift_detector
        rng = np.random.default_rng(self.random_state)
        return Watched(*self._settings(), members=self.n_estimators, rng=rng, detector=detector)
