"""BP-MLL: back-propagation of a pairwise error for several labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.model_selection import stratified_split
from plurilabel.neural._network import outputs
from plurilabel.neural._training import LOSSES, TrainedNetwork
from plurilabel.thresholds import LinearCut

MOST_SCORES = 2**26
"""Scores that the threshold is learned from at most: half a gigabyte of them."""


def _gives_probabilities(learner: BPMLL) -> bool:
    return learner.loss == "cross-entropy" and learner.threshold is None


class BPMLL(TrainedNetwork):
    r"""BP-MLL: a neural network that ranks the labels of an instance above the others.

    A network with q outputs c is trained by back-propagation of the error

    .. math:: E = \sum_i \frac{1}{|Y_i| |D_i|} \sum_{k \in Y_i} \sum_{l \in D_i}
              \exp(-(c_{ik} - c_{il})),

    where D are the labels that an instance does not have: a smooth bound of the ranking loss,
    computed in time linear in q (:func:`pairwise_exponential_loss`). Then a threshold t(x), linear
    in the outputs, is learned (:class:`~plurilabel.thresholds.LinearCut`), and l is predicted
    where c_l(x) > t(x). ``decision_function`` is c(x) - t(x), which ranks as c does;
    ``ranking_scores`` is c(x). Three other errors can be chosen.

    Training needs torch (``pip install 'plurilabel[torch]'``). A trained network is a few arrays:
    it is stored, read and asked without torch.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(100,)
        Units of each hidden layer; ``()`` is a linear model. The paper has one layer with a fifth
        as many units as there are features.
    loss : {"bpmll", "squared", "cross-entropy", "asymmetric"}, default="bpmll"
        The error above, with tanh outputs; the squared distance to +1 and -1, with tanh outputs
        (the paper's BasicBP); the cross-entropy of each label; or that with easy negatives left
        out (:func:`asymmetric_loss`). The last two have linear outputs, the log-odds of a label.
    activation : {"tanh", "relu", "logistic", "identity"}, default="tanh"
        Of the hidden units.
    optimizer : {"adam", "adamw", "sgd"} or callable, default="adam"
        A callable takes groups of parameters and ``lr`` and returns an optimizer of torch:
        ``functools.partial(torch.optim.SGD, momentum=0.9)``.
    learning_rate : float, default=0.001
    alpha : float or "auto", default="auto"
        Weight decay: alpha/2 times the sum of the squared weights, biases apart, is added to the
        mean error (with ``"adamw"`` the weights shrink apart from the gradient). ``"auto"`` is
        0.15 / q for ``loss="bpmll"``, which is a mean over pairs of labels, and 0.03 for the
        others, which are sums over labels.
    batch_size : int or "auto", default="auto"
        Instances per update; 1 is the paper's. ``"auto"`` is n / 20, but between 8 and 128.
    max_epochs : int, default=100
        Passes over the training instances.
    early_stopping : bool, default=False
        Hold out some instances, stop when the error on them has not fallen for ``patience``
        epochs, and go back to the weights with the lowest.
    validation_fraction : float, default=0.1
        Share of the instances held out, with every label as even as can be.
    patience : int, default=10
    threshold : {"stacked"} or None, default="stacked"
        None leaves t(x) = 0, for use inside a
        :class:`~plurilabel.thresholds.ThresholdClassifier` with another strategy. With
        ``loss="cross-entropy"`` there is then ``predict_proba``.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights of the last ``fit``.
    callback : callable, default=None
        Called after each epoch with a dict of ``epoch``, ``loss``, ``seconds``, and
        ``validation_loss`` with early stopping. Training ends if it returns True.
    device : str, default="auto"
        Where to train, in torch's words: "cpu", "cuda", "cuda:1". ``"auto"`` is a CUDA device if
        there is one, else the CPU.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights and of the order of the instances. The same seed gives the same
        network on the same CPU; on other devices it gives the same start, and differences by
        rounding.

    Attributes
    ----------
    coefs_, intercepts_ : lists of ndarrays
        Weights (inputs, outputs) and biases of each layer, float32.
    scaler_ : StandardScaler
        Means and deviations of the features.
    threshold_ : LinearCut
        The fitted threshold function, if there is one.
    loss_curve_ : list of float
        Mean error of the instances in each epoch, while it ran.
    validation_curve_ : list of float
        Error on the instances held out after each epoch; empty without early stopping.
    n_epochs_ : int
    label_counts_, n_seen_ : ndarray of shape (q,), int
        How many instances had each label, and how many there were.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Features are standardised. Sparse X is centred too, in the first layer, and is never made
    dense but for a chunk of rows at a time. Training is in single precision; answers come in the
    precision of X. A label that no instance had is never predicted, one that all had always is.
    Instances with all labels or none have no pairs and take part in the threshold only; a single
    label has none at all, and the more frequent answer is predicted.

    Cost: one epoch takes about as long as a plain loop of torch with the cross-entropy. Bibtex
    (159 labels) trains in 13 seconds and delicious (983) in 23 on two cores, 100 epochs each; the
    threshold needs a square matrix of the number of labels.

    Departures from the paper: mini-batches and Adam, for speed; weight decay, without which a
    hundred epochs overfit. With ``optimizer="sgd"``, ``batch_size=1``, ``alpha=0`` and
    ``learning_rate=0.05`` it is the paper's procedure, step by step.

    Yeast, ten folds, one layer of 20 units (a fifth of the features), 100 epochs. Hamming loss,
    one-error, coverage, ranking loss, average precision:

    ===========================  =====  =====  =====  =====  =====
    published, BP-MLL            0.206  0.233  6.421  0.171  0.756
    loss="bpmll"                 0.204  0.226  6.325  0.167  0.763
    loss="squared", same alpha   0.209  0.249  6.556  0.179  0.753
    loss="squared", alpha=0.1    0.197  0.219  6.335  0.166  0.769
    loss="cross-entropy"         0.200  0.223  6.281  0.165  0.768
    loss="asymmetric"            0.199  0.224  6.311  0.166  0.767
    ===========================  =====  =====  =====  =====  =====

    So the pairwise error is ahead of the squared one, as published, where both networks are
    regularised alike; with a weight decay of its own the squared error draws level.

    A subclass may replace the steps of the training loop: ``_make_network``,
    ``_make_optimizer``, ``_loss`` and ``_step``.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multilabel neural networks with applications to functional genomics
    and text categorization. IEEE TKDE 18(10), 2006.

    Examples
    --------
    >>> from plurilabel import datasets, model_selection
    >>> from plurilabel.metrics import ranking_loss
    >>> from plurilabel.neural import BPMLL
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = BPMLL((40,), max_epochs=30, random_state=0).fit(X_train, Y_train)
    >>> round(ranking_loss(Y_test, learner.decision_function(X_test)), 2)
    0.04
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like"],
        "loss": [StrOptions(set(LOSSES))],
        "activation": [StrOptions({"identity", "logistic", "tanh", "relu"})],
        "optimizer": [StrOptions({"adam", "adamw", "sgd"}), callable],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "threshold": [StrOptions({"stacked"}), None],
        "warm_start": ["boolean"],
        "callback": [callable, None],
        "device": [str],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (100,),
        *,
        loss: str = "bpmll",
        activation: str = "tanh",
        optimizer: str | Callable[..., Any] = "adam",
        learning_rate: float = 1e-3,
        alpha: float | str = "auto",
        batch_size: int | str = "auto",
        max_epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        threshold: str | None = "stacked",
        warm_start: bool = False,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        device: str = "auto",
        random_state: Any = None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.loss = loss
        self.activation = activation
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.threshold = threshold
        self.warm_start = warm_start
        self.callback = callback
        self.device = device
        self.random_state = random_state

    def ranking_scores(self, X: ArrayLike) -> NDArray[np.floating]:
        """f(x), the outputs of the network before the threshold is taken away.

        Returns
        -------
        ndarray of shape (n, q)
        """
        check_is_fitted(self)
        return self._outputs(self._validate_X(X, reset=False))

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Probability of each label; with ``loss="cross-entropy"`` and ``threshold=None`` only.

        Returns
        -------
        ndarray of shape (n, q)
            For a 1-D y: given that exactly one label holds, so that the rows sum to one.
        """
        scores = self._validated_scores(X)
        return softmax(scores, axis=1) if self.single_output_ else expit(scores)

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn from further instances: one epoch over them, from where the network stands.

        The means and deviations of the features are those of all instances so far. The threshold
        is fitted to the instances of this call and to the latest before it.

        Parameters
        ----------
        X, y : as in ``fit``
        classes : array of shape (n_classes,), optional
            For a 1-D y, at the first call: all classes that may occur.

        Returns
        -------
        self
        """
        if hasattr(self, "coefs_"):
            X, Y = self._validate_more(X, y)
        else:
            X, Y = self._validate_fit(X, y, classes)
            self._start(X.shape[1], self.n_labels_)
        self._see(X, Y)
        self._train(X, Y, 1, keep_optimizer=True)
        if self.threshold is not None:
            recent = [*self._recent, (self._outputs(X), Y)]
            f, Y = np.vstack([f for f, _ in recent]), _stack([y for _, y in recent])
            self.threshold_ = LinearCut().fit(f, Y)
            last = max(1000, 5 * self.n_labels_)
            self._recent = [(f[-last:], Y[-last:])]
        return self

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        if not (self.warm_start and hasattr(self, "coefs_")):
            self._start(X.shape[1], self.n_labels_)
        sizes = (self.coefs_[0].shape[0], self.coefs_[-1].shape[1])
        if sizes != (X.shape[1], self.n_labels_):
            raise ValueError(
                f"with warm_start=True, X and y must have the {sizes[0]} features and {sizes[1]} "
                f"labels of the fit before, got {X.shape[1]} and {self.n_labels_}"
            )
        self._see(X, Y)
        held_out = self._hold_out(Y) if self.early_stopping else None
        self._train(X, Y, self.max_epochs, held_out=held_out, keep_optimizer=self.warm_start)
        if self.threshold is not None:
            n, most = X.shape[0], max(1, MOST_SCORES // self.n_labels_)
            rows = self._rng.permutation(n)[:most] if n > most else slice(None)
            self.threshold_ = LinearCut().fit(self._outputs(X[rows]), Y[rows])

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        X = super()._validate_X(X, reset=reset)
        # one memory layout: the same numbers must give the same result
        return X if sparse.issparse(X) else np.ascontiguousarray(X)

    def _hold_out(self, Y: LabelMatrix) -> NDArray[np.intp]:
        n = Y.shape[0]
        size = round(self.validation_fraction * n)
        if not 0 < size < n:
            raise ValueError(
                f"early_stopping=True needs instances to train on and to hold out, got {n} with "
                f"validation_fraction={self.validation_fraction}"
            )
        sizes = (n - size, size)
        return stratified_split(np.arange(n), Y, sizes=sizes, random_state=self._rng)[1]

    def _scores(self, X: Any) -> NDArray[np.floating]:
        scores = self._outputs(X)
        if self.threshold is not None:
            scores -= self.threshold_.cuts(scores)[:, np.newaxis]
        never, always = self.label_counts_ == 0, self.label_counts_ == self.n_seen_
        scores[:, never] = np.minimum(scores[:, never], -1.0)
        scores[:, always] = np.maximum(scores[:, always], 1.0)
        return scores

    def _outputs(self, X: Any) -> NDArray[np.floating]:
        return outputs(
            X,
            self.coefs_,
            self.intercepts_,
            activation=self.activation,
            last=self._last,
            mean=self.scaler_.mean_,
            scale=self.scaler_.scale_,
        )


def _stack(parts: list[Any]) -> LabelMatrix:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.vstack(parts)
