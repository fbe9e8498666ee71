"""CML: a conditional random field over the labels."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, WeightedFit
from plurilabel._core.blocks import dense
from plurilabel._core.explanation.contributions import Given, Parts, added, linear_parts
from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.limits import check_size, one_blas_thread
from plurilabel.learners.adaptation._cml_likelihood import LabelSets, PenalisedLikelihood, psi

AUTO_ALL = 15  # most labels for which ``label_sets="auto"`` considers all sets
MOST_ALL = 20  # most labels for ``label_sets="all"``
SMALL = 2**28  # multiplications per evaluation below which one thread is fastest
# the scale of explanations: the marginal probability of a label sums over all sets of the others
GIVEN_OTHERS = "the log-odds of the label given the other labels predicted"


@dataclass(eq=False, repr=False)
class CML(WeightedFit, ProbabilisticClassifier):
    """Collective multi-label classifier: a conditional random field over the label set.

    All labels are predicted together, with a potential for each feature and label and one for
    each pair of labels::

        P(y | x) = exp(<W x + b, y> + sum_{j<k} I_jk y_j y_k) / Z(x)

    The parameters maximise the likelihood under a Gaussian prior. Likelihood, gradient, marginals
    and the most probable set are exact: Z(x) is summed over all label sets considered.
    ``predict`` returns the most probable set, ``predict_proba`` the marginals of the labels.

    Parameters
    ----------
    C : float, default=1.0
        Variance of the Gaussian prior (the paper's sigma squared), as ``C`` of
        :class:`sklearn.linear_model.LogisticRegression`, to which CML reduces for a single label.
        The intercepts have no prior.
    label_sets : {"auto", "all", "seen"}, default="auto"
        The label sets considered: ``"all"`` that the labels can form (up to 20 labels), or only
        those ``"seen"`` in training. ``"auto"`` is ``"all"`` for up to 15 labels, else ``"seen"``.
        Labels that all or no training instances have do not count and keep their value.
    tol : float, default=1e-5
        The solver stops when no component of the gradient of the mean loss is larger, each
        parameter being scaled by its curvature.
    max_iter : int, default=1000
        Maximum number of steps of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (q, d)
        Label-feature potentials, W.
    intercept_ : ndarray of shape (q,)
        b, the log-odds of each label for x = 0 if no other label is present.
    label_interaction_ : ndarray of shape (q, q)
        I, symmetric with a zero diagonal: the log-odds ratio of two labels, given the features and
        all other labels. Positive: they attract each other; negative: they exclude each other;
        zero: they are conditionally independent.
    n_label_sets_ : int
        Number of label sets considered.
    objective_ : float
        Penalised negative log-likelihood at the solution.
    n_iter_ : int

    Notes
    -----
    *Predictions.* The most probable set, which maximises subset accuracy, may differ from the
    labels with a marginal above 0.5, which minimise Hamming loss. For the latter, use
    ``ThresholdClassifier(CML(), "constant")``. With a 1-D y, each set has one label, and CML is
    multinomial logistic regression.

    *Potentials of pairs.* The papers give each pair four potentials, one for each of the states
    (1, 1), (1, 0), (0, 1), (0, 0). With intercepts without a prior, which the papers do not have,
    these are exactly I_jk / 4 times (1, -1, -1, 1) at the optimum, so that one parameter with
    prior variance 4 C is equivalent. The tests show this by optimising all four.

    *Cost.* Each step of the solver costs two products with X. For each instance, ``"all"`` takes
    about 2**(q/2) exponentials and 2**q multiplications inside a matrix product, ``"seen"`` one
    exponential per set. Features need no scaling for the solver, but the prior treats them alike.
    X stays sparse; Y and the marginals are dense. The solver keeps 25 vectors of all
    d q + q (q - 1) / 2 parameters; a fit that needs more than 4 GB is refused (see
    :doc:`/guides/large-label-spaces`).

    References
    ----------
    N. Ghamrawi, A. McCallum. Collective multi-label classification. CIKM 2005.

    M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning algorithms. IEEE TKDE 26(8), 2014.

    Examples
    --------
    Around zero degrees it may rain or snow, but never both, and rain makes wet:

    >>> from plurilabel import CML
    >>> degrees = [[-9.0], [-4.0], [-1.0], [0.0], [0.0], [1.0], [4.0], [9.0]]
    >>> rain_snow_wet = [[0, 1, 0], [0, 1, 0], [0, 1, 1], [0, 1, 0],
    ...                  [1, 0, 1], [1, 0, 1], [1, 0, 1], [0, 0, 0]]
    >>> learner = CML().fit(degrees, rain_snow_wet)
    >>> learner.predict([[-2.0], [3.0]])
    array([[0, 1, 0],
           [1, 0, 1]])
    >>> learner.label_interaction_.round(1)
    array([[ 0. , -2.2,  2. ],
           [-2.2,  0. , -1. ],
           [ 2. , -1. ,  0. ]])
    """

    # one memory order, so that data frames and arrays give the same sums
    _X_form: ClassVar[dict[str, Any]] = {"dtype": np.float64, "order": "C"}
    _fitted: ClassVar[Declared] = {
        "coef_": numbers("n_labels_", "n_features_in_"), "intercept_": numbers("n_labels_"),
        "label_interaction_": numbers("n_labels_", "n_labels_"),
        "_left": numbers(None, "n_labels_"), "_right": numbers(None, "n_labels_"),
    }  # fmt: skip

    _: KW_ONLY
    C: float = 1.0
    label_sets: Literal["auto", "all", "seen"] = "auto"
    tol: float = 1e-5
    max_iter: int = 1000

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        (n, q), d = Y.shape, X.shape[1]
        # 25 vectors of L-BFGS, and arrays (n, q) of marginals and gradients
        memory = 8.0 * (25 * (d * q + q * q / 2) + 4 * n * q)
        instead = "BinaryRelevance(LogisticRegression()) or ClassifierChain"
        check_size(self, f"{q:,} labels and {d:,} features", memory=memory, instead=instead)
        weights, Y = np.ones(n) if weights is None else weights, dense(Y)
        varying = int((Y.min(axis=0) != Y.max(axis=0)).sum())
        if self.label_sets == "all" and varying > MOST_ALL:
            raise ValueError(
                f"label_sets='all' is for up to {MOST_ALL} labels, got {varying}; use 'seen'"
            )
        few = varying <= AUTO_ALL if self.label_sets == "auto" else self.label_sets == "all"
        sets = LabelSets.all(Y) if few and not self.single_output_ else LabelSets.seen(Y)
        self._left, self._right, self.n_label_sets_ = sets.left, sets.right, len(sets)
        loss = PenalisedLikelihood(X, Y.astype(np.float64), weights, sets, self.C)
        options = {"gtol": self.tol, "maxiter": self.max_iter, "maxfun": 20 * self.max_iter}
        options["ftol"] = 4 * np.finfo(float).eps
        with one_blas_thread() if loss.work() < SMALL else nullcontext():
            found = minimize(loss, loss.start(), jac=True, method="L-BFGS-B", options=options)
        self.n_iter_ = int(found.nit)
        self.objective_ = float(found.fun * loss.n)
        steepest = float(np.abs(found.jac).max())
        # status 2, no step improves the loss, is fine if only rounding is left
        if found.status == 1 or (found.status == 2 and steepest > max(self.tol, 1e-6)):
            warnings.warn(
                f"CML stopped after {self.n_iter_} of max_iter={self.max_iter} steps with a "
                f"gradient of {steepest:.1e}, above tol={self.tol:g}. Increase max_iter, or "
                "decrease C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        W, self.intercept_, self.label_interaction_ = loss.potentials(found.x)
        self.coef_ = np.ascontiguousarray(W.T)

    def _unary(self, X: Any) -> tuple[LabelSets, NDArray[np.float64]]:
        """The label sets considered, and the unary scores W x + b (n, q)."""
        return LabelSets(self._left, self._right), X @ self.coef_.T + self.intercept_

    def _scores(self, X: Any) -> NDArray[np.float64]:
        sets, U = self._unary(X)
        return np.clip(sets.expectations(U, self.label_interaction_).marginals, 0.0, 1.0)

    def _parts(self, x: Any, given: Given) -> Parts:
        features = linear_parts(x, self.coef_, self.intercept_, given.names, GIVEN_OTHERS)
        present = np.flatnonzero(self._predict(x)[0])
        values = self.label_interaction_[present].astype(np.float64)  # (labels present, q)
        names = [f"label: {self.label_names_[l]}" for l in present]
        others = Parts(names, values, np.zeros(self.n_labels_), features.scales)
        return added([features, others], features.scales)

    def _predict(self, X: Any) -> NDArray[np.int8]:
        """The most probable label set of each instance."""
        sets, U = self._unary(X)
        return sets.best(U, self.label_interaction_)

    def log_likelihood(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """The log probability of a label set for each instance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : labels in the form that was passed to ``fit``

        Returns
        -------
        ndarray of shape (n,)
            log P(y | x); minus infinity for a set that is not among those considered.
        """
        check_is_fitted(self)
        X, Y = self._validate_more(X, y)
        Y = dense(Y).astype(np.float64)
        (sets, U), interaction = self._unary(X), self.label_interaction_
        score = (U * Y).sum(axis=1) + psi(Y, interaction)
        log_p = score - sets.expectations(U, interaction).log_Z
        return np.where(sets.contain(Y), log_p, -np.inf)
