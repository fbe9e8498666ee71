"""MIMLNN: distances to medoid bags, then a linear layer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from plurilabel._core.base import LabelMatrix, ScoringClassifier
from plurilabel._core.compat import AtLeastOne, Fraction, NotNegative
from plurilabel._core.data.bags import Bags
from plurilabel._core.fitted import Declared, numbers, parameter, values
from plurilabel._core.least_squares import least_squares
from plurilabel.bags._bag_classifier import BagClassifier, as_targets, constants_of, with_constants
from plurilabel.bags._hausdorff import fit_medoids, hausdorff_distances


@dataclass(eq=False, repr=False)
class MIMLNN(BagClassifier, ScoringClassifier):
    """Describe bags by their distances to some bags; a linear layer maps these to all labels.

    As in :class:`MIMLSVM`, the training bags are clustered by k-medoids, and a bag is described by
    its distances z to the medoids. The weights of the layer minimise
    ``|Z W - T|^2 + alpha |W|^2``, where T has 1 for the labels of a bag and -1 for the others.

    Parameters
    ----------
    n_medoids : float or int, default=0.4
        Medoids, as a share of the training bags or as a number.
    distance : {"max", "average", "min"}, default="max"
        See :func:`hausdorff_distances`. The paper has "max"; "average" is better on its images.
    alpha : float, default=1.0
        Strength of the penalty, for distances whose mean is 1.
    random_state : int, RandomState instance or None, default=None
        For the first medoids.
    n_jobs : int, default=None
        Threads for the distances. The result does not depend on it.

    Attributes
    ----------
    medoids_ : Bags
    coef_ : ndarray of shape (k, q)
        The weights, of distances as they are.

    Notes
    -----
    The authors' program uses a penalty of 1 for any units. Here distances are first divided by
    their mean, so that ``alpha`` does not depend on units.

    ``fit`` keeps the distances of all pairs of training bags in memory.

    References
    ----------
    Z.-H. Zhou, M.-L. Zhang, S.-J. Huang, Y.-F. Li. Multi-instance multi-label learning.
    Artificial Intelligence 176(1), 2012.

    Examples
    --------
    >>> from plurilabel.bags import Bags
    >>> from plurilabel import MIMLNN
    >>> bags = Bags([[[0.0], [0.1]], [[0.2]], [[5.0], [0.1]], [[5.1]], [[4.9], [5.2]], [[0.0]]])
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 0]]
    >>> learner = MIMLNN(n_medoids=3, alpha=0.1, random_state=0).fit(bags, Y)
    >>> learner.predict([[[0.1]], [[5.0], [5.1]]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted: ClassVar[Declared] = {
        "medoids_": values("m"),
        "distance_": parameter(),
        "coef_": numbers("m", "n_labels_"),
        "constant_": numbers("n_labels_"),
    }

    n_medoids: Fraction | AtLeastOne = 0.4
    _: KW_ONLY
    distance: Literal["max", "average", "min"] = "max"
    alpha: NotNegative = 1.0
    random_state: Any = None
    n_jobs: int | None = None

    def _fit(self, X: Bags, Y: LabelMatrix) -> None:
        self.distance_ = self.distance
        self.medoids_, Z = fit_medoids(X, self)
        T = as_targets(Y)
        self.constant_ = constants_of(Y)
        unit = Z.mean() or 1.0
        Z = Z / unit
        if self.alpha > 0:
            G = Z.T @ Z
            G.flat[:: len(G) + 1] += self.alpha
            W = linalg.solve(G, Z.T @ T, assume_a="pos")
        else:
            W = least_squares(Z, T)
        with np.errstate(over="ignore"):
            self.coef_ = W / unit
        if not np.isfinite(self.coef_).all():
            raise ValueError(
                f"X must hold bags farther apart, got mean distance {unit:g}: scale the features"
            )

    def _scores(self, X: Bags) -> NDArray[np.float64]:
        Z = hausdorff_distances(X, self.medoids_, self.distance_, n_jobs=self.n_jobs)
        return with_constants(Z @ self.coef_, self.constant_)
