"""BP-MLL: backpropagation of a pairwise error for several labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, ScoringClassifier
from plurilabel._core.blocks import dense, stack_rows
from plurilabel._core.compat import (
    AtLeastOne,
    Fraction,
    NotNegative,
    Positive,
    StrOptions,
    import_extra,
)
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.fitted import Declared, count, lists_of_numbers, numbers
from plurilabel._core.unknown import cell_weights, known_part, stack_labels
from plurilabel.learners.neural import _training as training
from plurilabel.learners.neural._training import ACTIVATIONS
from plurilabel.model_selection import stratified_split
from plurilabel.thresholds import LinearThreshold

MOST_SCORES = 2**26  # that the threshold is fitted to: half a gigabyte of them
# activation of the last layer for each loss
LAST = {"bpmll": "tanh", "squared": "tanh", "cross-entropy": "identity", "asymmetric": "identity"}
STEPS = 256  # places between reference and instance at which an explanation asks for slopes
BY_GRADIENTS = f"the score, up to what integrated gradients in {STEPS} steps leave out"


def _gives_probabilities(learner: BPMLL) -> bool:
    if hasattr(learner, "coefs_"):
        return learner.trained_loss_ == "cross-entropy" and learner.threshold_ is None
    return learner.loss == "cross-entropy" and learner.threshold is None


@dataclass(eq=False, repr=False)
class BPMLL(ScoringClassifier):
    r"""BP-MLL: a neural network that ranks the labels of an instance above the others.

    A network with q outputs c is trained by backpropagation of the error

    .. math:: E = \sum_i \frac{1}{|Y_i| |D_i|} \sum_{k \in Y_i} \sum_{l \in D_i}
              \exp(-(c_{ik} - c_{il})),

    where D are the labels that an instance does not have: a smooth bound of the ranking loss,
    computed in time linear in q (:func:`pairwise_exponential_loss`). A threshold t(x), linear in
    the outputs, is then learned (:class:`~plurilabel.LinearThreshold`), and label l is predicted
    if c_l(x) > t(x). ``decision_function`` is c(x) - t(x), ``ranking_function`` is c(x).
    Parameters shared with :class:`sklearn.neural_network.MLPClassifier` have its names.

    Training needs torch (``pip install 'plurilabel[torch]'``). A trained network is a few arrays:
    it is saved, loaded and used for predictions without torch.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(100,)
        Units of each hidden layer; ``()`` is a linear model. The paper has one layer with a fifth
        as many units as features.
    loss : {"bpmll", "squared", "cross-entropy", "asymmetric"}, default="bpmll"
        The error above, with tanh outputs; the squared distance to +1 and -1, with tanh outputs
        (the paper's BasicBP); the cross-entropy of each label; or a cross-entropy in which easy
        negatives count little (:func:`asymmetric_loss`). The last two have linear outputs, the
        log-odds.
    activation : {"tanh", "relu", "logistic", "identity"}, default="tanh"
        Activation of the hidden units.
    solver : {"adam", "adamw", "sgd"} or callable, default="adam"
        The optimizer. A callable takes groups of parameters and ``lr`` and returns a torch
        optimizer: ``functools.partial(torch.optim.SGD, momentum=0.9)``.
    learning_rate_init : float, default=0.001
        The learning rate, which is constant.
    alpha : float or "auto", default="auto"
        Weight decay: alpha/2 times the sum of the squared weights, without biases, is added to the
        mean error (``"adamw"`` decouples it from the gradient). ``"auto"`` is 0.15 / q for
        ``loss="bpmll"``, a mean over pairs of labels, and 0.03 for the others, sums over labels.
    batch_size : int or "auto", default="auto"
        Instances per update; 1 in the paper. ``"auto"`` is n / 20, but between 8 and 128.
    max_iter : int, default=100
        Number of epochs: passes over the training instances.
    early_stopping : bool, default=False
        Hold out some instances, stop when the error on them has not decreased for
        ``n_iter_no_change`` epochs, and return to the weights with the lowest error.
    validation_fraction : float, default=0.1
        Fraction of the instances to hold out, stratified by label.
    n_iter_no_change : int, default=10
    threshold : {"linear"} or None, default="linear"
        The threshold t(x). None is t(x) = 0, for use inside a
        :class:`~plurilabel.ThresholdClassifier`; with ``loss="cross-entropy"`` there is then
        ``predict_proba``.
    label_weight : {"balanced"} or array-like of shape (q,), default=None
        Weight of each label in the error; for pairs as in :func:`pairwise_exponential_loss`. With
        "balanced", the instances with a label weigh as much together as those without it.
    warm_start : bool, default=False
        Whether ``fit`` continues from the weights of the previous ``fit``.
    callback : callable, default=None
        Called after each epoch with a dict of ``epoch``, ``loss``, ``seconds`` and, with early
        stopping, ``validation_loss``. Training ends if it returns True.
    device : str, default="auto"
        Where to train, by torch's names: "cpu", "cuda", "cuda:1". ``"auto"`` is a CUDA device if
        there is one, else the CPU.
    random_state : int, RandomState instance or None, default=None
        Determines the initial weights and the order of the instances. A seed gives the same
        network on the same CPU; on other devices results differ by rounding.

    Attributes
    ----------
    coefs_, intercepts_ : lists of ndarrays
        Weights (inputs, outputs) and biases of each layer, float32.
    scaler_ : StandardScaler
        Means and deviations of the features.
    activation_, trained_loss_ : str
        The ``activation`` and ``loss`` of the training.
    threshold_ : LinearThreshold or None
    loss_curve_, validation_curve_ : lists of float
        Mean error during each epoch, and on the held-out instances after it, with early stopping.
    n_iter_ : int
        Number of epochs run.
    label_counts_, n_unknown_, n_seen_ : ndarrays of shape (q,)
        Number of instances with each label, that do not know it, and of all instances.

    Notes
    -----
    Features are standardised. Their squares must be representable: values beyond 1e150 are an
    error, and a feature that varies by less than 1e-150 counts as constant. Sparse X is centred in
    the first layer; only a chunk of rows at a time is made dense. Training is in single precision,
    predictions are in the precision of X. The threshold needs a q x q matrix.

    A label that no instance had is never predicted, one that all had always is. Instances with all
    labels or none have no pairs and are used for the threshold only. With a single label and
    ``loss="bpmll"`` there are no pairs: its score is 0, and the more frequent answer is predicted.

    Labels may be unknown: pairs are formed among the labels that an instance knows, and the other
    losses are sums over them. Where the known labels are all present or all absent, they are
    compared with a score of 0. With soft labels p a pair counts ``p_k (1 - p_l)``, \|Y\| is the
    sum of the p, and the other losses are expected values.

    Departures from the paper: mini-batches and Adam, for speed; weight decay, without which a
    hundred epochs overfit. ``solver="sgd"``, ``batch_size=1``, ``alpha=0`` and
    ``learning_rate_init=0.05`` are the paper's procedure. Subclasses may override the steps of the
    training loop: ``_make_network``, ``_make_optimizer``, ``_loss`` and ``_step``.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multilabel neural networks with applications to functional genomics
    and text categorization. IEEE TKDE 18(10), 2006.

    Examples
    --------
    >>> from plurilabel import BPMLL, datasets, model_selection
    >>> from plurilabel.metrics import ranking_loss
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = BPMLL((40,), max_iter=30, random_state=0).fit(X_train, Y_train)
    >>> round(ranking_loss(Y_test, learner.decision_function(X_test)), 2)
    0.04
    """

    _learns_from_known = True
    _learns_from_soft = True
    _fitted: ClassVar[Declared] = {
        "coefs_": lists_of_numbers("n_layers", None, None),
        "intercepts_": lists_of_numbers("n_layers", None),
        "label_counts_": numbers("n_labels_"),
        "n_seen_": count(),
        "n_unknown_": numbers("n_labels_"),
    }

    _soft: bool = field(init=False)  # whether the latest labels are probabilities
    _recent: list[Any] = field(init=False)  # scores and labels of the latest rows

    hidden_layer_sizes: Annotated[Sequence[int], "array-like"] = (100,)
    _: KW_ONLY
    loss: Annotated[str, StrOptions(set(LAST))] = "bpmll"
    activation: Annotated[str, StrOptions(set(ACTIVATIONS))] = "tanh"
    solver: Annotated[Any, StrOptions({"adam", "adamw", "sgd"}), callable] = "adam"
    learning_rate_init: Positive = 1e-3
    alpha: Literal["auto"] | NotNegative = "auto"
    batch_size: Literal["auto"] | AtLeastOne = "auto"
    max_iter: int = 100
    early_stopping: bool = False
    validation_fraction: Fraction = 0.1
    n_iter_no_change: int = 10
    threshold: Literal["linear"] | None = "linear"
    label_weight: Annotated[Any, StrOptions({"balanced"}), "array-like", None] = None
    warm_start: bool = False
    callback: Annotated[Callable[[dict[str, Any]], Any], callable] | None = None
    device: str = "auto"
    random_state: Any = None

    def ranking_function(self, X: ArrayLike) -> NDArray[np.floating]:
        """The outputs c(x) of the network, (n, q), before the threshold is subtracted."""
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
        """Learn from further instances: one epoch over them, starting from the present weights.

        The means and deviations of the features are those of all instances so far. The threshold
        is fitted to the instances of this call and to the latest before it.

        Parameters
        ----------
        X, y : as in ``fit``
        classes : array of shape (n_classes,), optional
            For a 1-D y, at the first call: all classes that may occur.
        """
        if hasattr(self, "coefs_"):
            X, Y = self._validate_more(X, y)
            self._continue()
        else:
            X, Y = self._validate_fit(X, y, classes)
            self._start(X.shape[1])
        self._see(X, Y)
        self._train(X, Y, 1, keep_optimizer=True)
        self.threshold_ = None
        if self.threshold is not None:
            recent = [*self._recent, (self._outputs(X), Y)]
            f, Y = stack_rows([f for f, _ in recent]), stack_labels([Y for _, Y in recent])
            self.threshold_ = LinearThreshold().fit(f, Y)
            last = max(1000, 5 * self.n_labels_)
            self._recent = [(f[-last:], Y[-last:])]
        return self

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        if self.warm_start and hasattr(self, "coefs_"):
            self._continue()
        else:
            self._start(X.shape[1])
        sizes = (self.coefs_[0].shape[0], self.coefs_[-1].shape[1])
        if sizes != (X.shape[1], self.n_labels_):
            raise ValueError(
                f"with warm_start=True, X and y must have the {sizes[0]} features and {sizes[1]} "
                f"labels of the fit before, got {X.shape[1]} and {self.n_labels_}"
            )
        self._see(X, Y)
        held_out = self._hold_out(Y) if self.early_stopping else None
        self._train(X, Y, self.max_iter, held_out=held_out, keep_optimizer=self.warm_start)
        self.threshold_ = None
        if self.threshold is not None:
            n, most = X.shape[0], max(1, MOST_SCORES // self.n_labels_)
            rows = self._rng.permutation(n)[:most] if n > most else slice(None)
            self.threshold_ = LinearThreshold().fit(self._outputs(X[rows]), Y[rows])

    # training: the steps that a subclass may replace -----------------------------------------

    def _make_network(self, torch: Any) -> Any:
        """A module with the present weights; its parameters are read back in their order."""
        weights = self.coefs_, self.intercepts_
        last = LAST[self.loss]
        return training.as_module(torch, *weights, activation=self.activation, last=last)

    def _make_optimizer(self, torch: Any, network: Any) -> Any:
        """The optimizer; biases have no weight decay."""
        weights = [p for p in network.parameters() if p.ndim > 1]
        biases = [p for p in network.parameters() if p.ndim <= 1]
        decays = (weights, self._alpha()), (biases, 0.0)
        groups = [{"params": some, "weight_decay": decay} for some, decay in decays]
        if callable(self.solver):
            return self.solver(groups, lr=self.learning_rate_init)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
        return kind[self.solver](groups, lr=self.learning_rate_init, fused=True)

    def _loss(self, scores: Any, targets: Any, weight: Any = None) -> Any:
        """Error of a batch, a scalar tensor; unknown labels have the weight 0."""
        from plurilabel.learners.neural._losses import ERRORS, one_kind_loss

        error = ERRORS[self._error()](scores, targets, weight)
        return error + one_kind_loss(scores, targets, weight) if self._has_one_kind() else error

    def _error(self) -> str:
        """The name of the error: another for pairs of soft labels."""
        return "soft bpmll" if self.loss == "bpmll" and self._soft else self.loss

    def _has_one_kind(self) -> bool:
        """Whether there may be instances whose known labels form no pair."""
        return self.loss == "bpmll" and bool(self.n_unknown_.any())

    def _step(self, network: Any, optimizer: Any, x: Any, y: Any, *weight: Any) -> Any:
        """One update; returns the error before it. There is a weight only if some are not 1."""
        own = type(self)._loss is BPMLL._loss and hasattr(network, "backpropagate")
        if own:
            from plurilabel.learners.neural._losses import error_and_slope

            outputs, one_kind = network.outputs(x), self._has_one_kind()
            error, slope = error_and_slope(self._error(), outputs, y, *weight, one_kind=one_kind)
            network.backpropagate(slope)
        else:  # a subclass has another network or loss
            optimizer.zero_grad()
            error = self._loss(network(x), y, *weight)
            error.backward()
        if own and not callable(self.solver):
            network.update(optimizer)
        else:
            optimizer.step()
        return error.detach()

    # training: the loop ----------------------------------------------------------------------

    def _start(self, d: int) -> None:
        """Discard what was learned before, and draw new weights."""
        import_extra("torch", type(self).__name__, "torch")  # before the learner counts as fitted
        q = self.n_labels_
        self._rng = check_random_state(self.random_state)
        hidden = tuple(self.hidden_layer_sizes)
        if not all(isinstance(size, Integral) and size > 0 for size in hidden):
            layers = "positive integers, one per layer"
            raise ValueError(f"hidden_layer_sizes must be {layers}, got {hidden}")
        self.coefs_, self.intercepts_ = training.initial_weights((d, *hidden, q), self._rng)
        if self.loss == "bpmll" and q == 1:  # no pairs, no slope: nothing moves an output from 0
            self.coefs_[-1][:], self.intercepts_[-1][:] = 0, 0
        self.scaler_ = StandardScaler(with_mean=False)  # it computes the means all the same
        self.label_counts_, self.n_seen_ = np.zeros(q, dtype=np.int64), 0
        self.n_unknown_ = np.zeros(q, dtype=np.int64)
        self.loss_curve_: list[float] = []
        self.validation_curve_: list[float] = []
        self.n_iter_ = 0
        self._optimizer_state: dict[int, dict[str, Any]] = {}
        self._recent = []

    def _continue(self) -> None:
        """Copy what training changes in place, so that training that fails changes nothing."""
        self.scaler_ = deepcopy(self.scaler_)
        self.loss_curve_, self.validation_curve_ = [*self.loss_curve_], [*self.validation_curve_]
        if isinstance(self.random_state, Integral):  # else it is not the learner's own
            self._rng = deepcopy(self._rng)

    def _see(self, X: Any, Y: LabelMatrix) -> None:
        """Update the means and deviations of the features, and the label counts."""
        with np.errstate(over="ignore", invalid="ignore"):  # the error below names the feature
            self.scaler_.partial_fit(X)
        if len(wrong := np.flatnonzero(~np.isfinite(self.scaler_.var_))):
            raise ValueError(
                f"feature {wrong[0]} of X cannot be standardised: its values are so large that "
                "their variance overflows; divide it by a constant first"
            )
        Y, unknown = known_part(Y)
        self._soft = Y.dtype.kind == "f"
        self.label_counts_ = self.label_counts_ + np.asarray(Y.sum(axis=0))
        self.n_seen_ += X.shape[0]
        if unknown is not None:
            self.n_unknown_ = self.n_unknown_ + np.asarray(unknown.sum(axis=0, dtype=np.int64))

    def _train(
        self,
        X: Any,
        Y: LabelMatrix,
        epochs: int,
        *,
        held_out: NDArray[np.intp] | None = None,
        keep_optimizer: bool = False,
    ) -> None:
        torch = import_extra("torch", type(self).__name__, "torch")
        device = training.choose_device(torch, self.device)
        network = self._make_network(torch).to(device)
        optimizer = self._make_optimizer(torch, network)
        training.load_state(torch, optimizer, self._optimizer_state)
        Y, unknown = known_part(Y)
        weights = self._weights(Y, unknown)
        batches = training.Batches(torch, X, Y, self.scaler_, device, weights)
        rows = np.arange(X.shape[0])
        rows = rows if held_out is None else np.setdiff1d(rows, held_out)
        auto = min(max(8, len(rows) // 20), 128)
        size = auto if self.batch_size == "auto" else int(self.batch_size)

        def mean_error(rows: NDArray[np.intp], error: Callable[..., Any]) -> float:
            total = torch.zeros((), device=device)
            for x, *targets in batches(rows, size):
                total.add_(error(x, *targets), alpha=x.shape[0] / len(rows))
            return self._finite(total)

        step = partial(self._step, network, optimizer)
        best, best_epoch, started = np.inf, self.n_iter_, perf_counter()
        for _ in range(epochs):
            self.n_iter_ += 1
            self.loss_curve_.append(mean_error(self._rng.permutation(rows), step))
            record = {"epoch": self.n_iter_, "loss": self.loss_curve_[-1]}
            if held_out is not None:
                with torch.no_grad():
                    error = mean_error(held_out, lambda x, *of: self._loss(network(x), *of))
                self.validation_curve_.append(error)
                record["validation_loss"] = error
                if error < best:
                    best, best_epoch = error, self.n_iter_
                    self.coefs_, self.intercepts_ = training.from_module(network)
            record["seconds"] = perf_counter() - started
            if self.callback is not None and self.callback(record) is True:
                break
            if held_out is not None and self.n_iter_ - best_epoch >= self.n_iter_no_change:
                break
        if held_out is None:
            self.coefs_, self.intercepts_ = training.from_module(network)
        self.activation_, self.trained_loss_ = self.activation, self.loss
        self._optimizer_state = training.state_of(optimizer) if keep_optimizer else {}

    def _weights(self, Y: LabelMatrix, unknown: Any) -> Any:
        """Weights (n, q) of all labels, less 1 if they are sparse; None if all are 1."""
        if self.label_weight is None and unknown is None:
            return None
        if self.label_weight is None and sparse.issparse(unknown):
            return -unknown.astype(np.float32)
        weight = np.ones(Y.shape, dtype=np.float32)
        if self.label_weight is not None:
            weight *= cell_weights(self.label_weight, Y, unknown).astype(np.float32)
        return weight if unknown is None else weight * ~dense(unknown)

    def _finite(self, error: Any) -> float:
        """The error as a number; training that has diverged ends here."""
        value = float(error)
        if not np.isfinite(value):
            raise ValueError(
                f"the training error became {value} in epoch {self.n_iter_}: decrease "
                f"learning_rate_init, now {self.learning_rate_init}, or increase alpha, now "
                f"{self.alpha!r}"
            )
        return value

    def _alpha(self) -> float:
        if self.alpha != "auto":
            return float(self.alpha)
        # the pairwise error is a mean over pairs, the others are sums over labels
        return 0.15 / self.n_labels_ if self.loss == "bpmll" else 0.03

    def _hold_out(self, Y: LabelMatrix) -> NDArray[np.intp]:
        n = Y.shape[0]
        size = round(self.validation_fraction * n)
        if not 0 < size < n:
            raise ValueError(
                f"early_stopping=True needs instances to train on and to hold out, got {n} with "
                f"validation_fraction={self.validation_fraction}"
            )
        rows, sizes = np.arange(n), (n - size, size)
        return stratified_split(rows, Y, sizes=sizes, random_state=self._rng)[1]

    # predictions ---------------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.floating]:
        scores = self._outputs(X)
        if self.threshold_ is not None:
            scores -= self.threshold_.cuts(scores)[:, np.newaxis]
        never, always = self._constant()
        scores[:, never] = np.minimum(scores[:, never], -1.0)
        scores[:, always] = np.maximum(scores[:, always], 1.0)
        return scores

    def _constant(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Labels that no instance had that knows them, and those that all had."""
        never = self.label_counts_ == 0
        return never, (self.label_counts_ == self.n_seen_ - self.n_unknown_) & ~never

    def _outputs(self, X: Any) -> NDArray[np.floating]:
        """c(x) for the rows of X, which are standardised first; in the precision of X."""
        mean, scale, dtype = self.scaler_.mean_, self.scaler_.scale_, X.dtype
        (V, *W), (theta, *gamma) = self.coefs_, self.intercepts_
        with np.errstate(over="ignore", invalid="ignore"):  # the error below names the row
            if sparse.issparse(X):  # stays sparse: the first layer standardises
                V = V / scale[:, None]
                h = X @ V.astype(dtype) + (theta - mean @ V).astype(dtype)
            else:
                h = ((X - mean) / scale).astype(dtype, copy=False) @ V.astype(dtype) + theta
            for W_l, gamma_l in zip(W, gamma):
                h = ACTIVATIONS[self.activation_](h) @ W_l.astype(dtype) + gamma_l
            c = ACTIVATIONS[LAST[self.trained_loss_]](h)
        if len(wrong := np.flatnonzero(~np.isfinite(c).all(axis=1))):
            raise ValueError(
                f"the scores of row {wrong[0]} of X overflow in {np.dtype(dtype).name}: its "
                "values are too far from those of the training set"
            )
        return c

    def _parts(self, x: Any, given: Given) -> Parts:
        """Integrated gradients (Sundararajan et al., 2017) from the reference to x."""
        # The mean slope of the scores on the straight line from the reference, by default the
        # means of the training set, to x, times how far x is from there, feature by feature.
        row = dense(x)[0].astype(np.float64)
        origin = self.scaler_.mean_ if given.reference is None else given.reference
        share = (np.arange(STEPS) + 0.5) / STEPS
        mean, scale = self.scaler_.mean_, self.scaler_.scale_
        line = ((origin + share[:, np.newaxis] * (row - origin)) - mean) / scale
        layers, last = (self.coefs_, self.intercepts_), LAST[self.trained_loss_]
        slopes = training.mean_slopes(*layers, line, self.activation_, last)
        gradient = slopes / scale[:, np.newaxis]  # (d, q)
        values = (row - origin)[:, np.newaxis] * gradient
        base = self._outputs(origin[np.newaxis].astype(np.float64))[0].astype(np.float64)
        names = [str(name) for name in given.names]
        found = Parts(names, values, base, (BY_GRADIENTS,) * len(base)).minus_cut(self.threshold_)
        fixed = np.logical_or(*self._constant())
        return found.fixed(fixed, self._scores(x)[0].astype(np.float64))

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        X = super()._validate_X(X, reset=reset)
        # one memory layout: the same numbers must give the same result
        return X if sparse.issparse(X) else np.ascontiguousarray(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coefs_")
