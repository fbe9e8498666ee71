"""A network with a softmax output, trained on the Kullback-Leibler divergence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from plurilabel._core.compat import NotNegative
from plurilabel._core.fitted import Declared, lists_of_numbers, parameter
from plurilabel.graded._distribution_learner import DistributionLearner

Floats = NDArray[np.float64]
Layers = list[tuple[Floats, Floats]]

# each with its derivative, as a function of the activation
ACTIVATIONS: dict[str, Any] = {
    "tanh": (np.tanh, lambda h: 1 - h**2),
    "relu": (lambda z: np.maximum(z, 0), lambda h: (h > 0).astype(h.dtype)),
    "logistic": (expit, lambda h: h * (1 - h)),
}


@dataclass(eq=False, repr=False)
class DistributionNetwork(DistributionLearner):
    r"""A network whose softmax outputs are the degrees of the labels.

    It minimises the mean divergence between true and predicted distributions and a weight decay,

    .. math:: \frac{1}{n} \sum_i \sum_l d_{il} \ln \frac{d_{il}}{p_{il}}
              + \frac{\alpha}{2} \|W\|^2,

    by L-BFGS. Without hidden layers it is the maximum entropy model SA-BFGS of the paper.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=()
        Units of each hidden layer; ``()`` is the linear model.
    activation : {"tanh", "relu", "logistic"}, default="tanh"
        Activation of the hidden units.
    alpha : float, default=0.001
        Weight decay; biases are left out.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-4
        Training ends when no entry of the gradient is larger.
    random_state : int, RandomState instance or None, default=None
        Determines the initial weights of hidden layers; the linear model has one optimum.

    Attributes
    ----------
    coefs_, intercepts_ : lists of ndarrays
        Weights (inputs, outputs) and biases of each layer.
    loss_ : float
        The objective at the end.
    n_iter_ : int
        Number of iterations run.

    Notes
    -----
    Scale the features first, as for any network. Sparse X stays sparse. Backpropagation is written
    out here because scikit-learn's networks only take classes or squared errors.

    References
    ----------
    X. Geng. Label distribution learning. IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> from plurilabel import DistributionNetwork
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> D = [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.1, 0.8, 0.1]]
    >>> DistributionNetwork().fit(X, D).predict([[0.5], [2.5]]).round(1)
    array([[0.7, 0.2, 0.1],
           [0.2, 0.7, 0.1]])
    """

    _fitted: ClassVar[Declared] = {
        "activation_": parameter(),
        "coefs_": lists_of_numbers("n_layers", None, None),
        "intercepts_": lists_of_numbers("n_layers", None),
    }

    hidden_layer_sizes: Annotated[Sequence[int], "array-like"] = ()
    _: KW_ONLY
    activation: Literal["tanh", "relu", "logistic"] = "tanh"
    alpha: NotNegative = 0.001
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Any = None

    def _fit(self, X: Any, D: NDArray[np.float64]) -> None:
        self.activation_ = self.activation
        hidden = np.ravel(self.hidden_layer_sizes).tolist()
        if any(not isinstance(size, Integral) or size < 1 for size in hidden):
            raise ValueError(f"hidden_layer_sizes must be positive integers, got {hidden}")
        shapes = list(pairwise([X.shape[1], *hidden, D.shape[1]]))
        rng = check_random_state(self.random_state)
        start = []
        for inputs, outputs in shapes:  # Glorot and Bengio's bound
            bound = np.sqrt(6 / (inputs + outputs)) if len(shapes) > 1 else 0.0
            start += [rng.uniform(-bound, bound, inputs * outputs), np.zeros(outputs)]
        entropy = -float(np.sum(D * np.log(np.where(D > 0, D, 1.0)))) / len(D)
        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0}
        args, first = (shapes, X, D, entropy), np.concatenate(start)
        found = minimize(self._objective, first, args, "L-BFGS-B", jac=True, options=options)
        if not np.isfinite(found.fun):
            raise ValueError("the network's error is not finite: scale the features first")
        if not found.success:
            warnings.warn(
                f"training has not converged after {found.nit} iterations (max_iter="
                f"{self.max_iter}): scale the features, or allow more",
                ConvergenceWarning,
                stacklevel=3,
            )
        coefs, intercepts = zip(*_layers(found.x, shapes))
        self.coefs_, self.intercepts_ = ([a.copy() for a in part] for part in (coefs, intercepts))
        self.loss_, self.n_iter_ = float(found.fun), max(1, int(found.nit))

    def _distributions(self, X: Any) -> NDArray[np.float64]:
        layers = list(zip(self.coefs_, self.intercepts_))
        return softmax(self._forward(X, layers)[-1], axis=1)

    def _forward(self, X: Any, layers: Layers) -> list[Any]:
        """X, the activations of the hidden layers, and the last layer before the softmax."""
        g = ACTIVATIONS[self.activation_][0]
        values = [X]
        for depth, (W, b) in enumerate(layers, start=1):
            z = np.asarray(safe_sparse_dot(values[-1], W, dense_output=True)) + b
            values.append(z if depth == len(layers) else g(z))
        return values

    def _objective(
        self, flat: Floats, shapes: list[tuple[int, int]], X: Any, D: Floats, entropy: float
    ) -> tuple[float, Floats]:
        """The objective and its gradient, by backpropagation."""
        n, layers = len(D), _layers(flat, shapes)
        values = self._forward(X, layers)
        log_p = log_softmax(values[-1], axis=1)
        decay = sum(float(np.vdot(W, W)) for W, _ in layers)
        value = -float(np.vdot(D, log_p)) / n - entropy + self.alpha / 2 * decay
        slope = ACTIVATIONS[self.activation_][1]
        delta = (np.exp(log_p) - D) / n  # (n, q): derivative by the last layer
        gradient = []
        for depth in reversed(range(len(layers))):
            W, below = layers[depth][0], values[depth]
            dW = np.asarray(safe_sparse_dot(below.T, delta, dense_output=True)) + self.alpha * W
            gradient += [delta.sum(axis=0), dW.ravel()]
            if depth:
                delta = delta @ W.T * slope(below)
        return value, np.concatenate(gradient[::-1])


def _layers(flat: NDArray[np.float64], shapes: list[tuple[int, int]]) -> Layers:
    """Weights and biases of each layer, as views of one vector."""
    layers, at = [], 0
    for inputs, outputs in shapes:
        middle = at + inputs * outputs
        layers.append((flat[at:middle].reshape(inputs, outputs), flat[middle : middle + outputs]))
        at = middle + outputs
    return layers
