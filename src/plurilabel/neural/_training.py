"""The training loop, as a few steps that a subclass may replace."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from plurilabel.base import LabelMatrix, ScoringClassifier
from plurilabel.neural._batches import Batches
from plurilabel.neural._losses import (
    asymmetric_loss,
    bounded_pairwise_loss,
    cross_entropy,
    squared_loss,
)
from plurilabel.neural._network import (
    as_module,
    check_hidden_layers,
    from_module,
    initial_weights,
)
from plurilabel.neural._torch import choose_device, import_torch

LOSSES: dict[str, tuple[Callable[..., Any], str]] = {
    "bpmll": (bounded_pairwise_loss, "tanh"),
    "squared": (squared_loss, "tanh"),
    "cross-entropy": (cross_entropy, "identity"),
    "asymmetric": (asymmetric_loss, "identity"),
}
"""Error of a batch, and the activation of the last layer that goes with it."""


class TrainedNetwork(ScoringClassifier):
    """A network with its weights as arrays, and how they are trained.

    The steps that a subclass may replace: ``_make_network``, ``_make_optimizer``, ``_loss``
    and ``_step``. All that is kept from a training are arrays; torch is needed to train only.
    """

    hidden_layer_sizes: Any
    loss: str
    activation: str
    optimizer: Any
    learning_rate: float
    alpha: Any
    batch_size: Any
    patience: int
    callback: Callable[[dict[str, Any]], Any] | None
    device: str
    random_state: Any

    # steps ---------------------------------------------------------------------------------

    def _make_network(self, torch: Any) -> Any:
        """A module with the present weights; its parameters are read back in their order."""
        return as_module(
            torch, self.coefs_, self.intercepts_, activation=self.activation, last=self._last
        )

    def _make_optimizer(self, torch: Any, network: Any) -> Any:
        """The optimizer; biases are not drawn to zero."""
        weights = [p for p in network.parameters() if p.ndim > 1]
        biases = [p for p in network.parameters() if p.ndim <= 1]
        groups = [
            {"params": weights, "weight_decay": self._alpha()},
            {"params": biases, "weight_decay": 0.0},
        ]
        if callable(self.optimizer):
            return self.optimizer(groups, lr=self.learning_rate)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
        return kind[self.optimizer](groups, lr=self.learning_rate, fused=True)

    def _alpha(self) -> float:
        if self.alpha != "auto":
            return float(self.alpha)
        # the pairwise error is a mean over pairs, the others are sums over labels
        return 0.15 / self.n_labels_ if self.loss == "bpmll" else 0.03

    def _loss(self, scores: Any, targets: Any) -> Any:
        """Error of a batch, a scalar tensor."""
        return LOSSES[self.loss][0](scores, targets)

    def _step(self, network: Any, optimizer: Any, x: Any, y: Any) -> Any:
        """One update of the weights; the error of the batch before it."""
        optimizer.zero_grad()
        error = self._loss(network(x), y)
        error.backward()
        optimizer.step()
        return error.detach()

    # the loop ------------------------------------------------------------------------------

    @property
    def _last(self) -> str:
        return LOSSES[self.loss][1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coefs_")

    def _start(self, d: int, q: int) -> None:
        """Forget all, and draw new weights."""
        import_torch(type(self).__name__)  # before anything looks trained
        self._rng = check_random_state(self.random_state)
        sizes = (d, *check_hidden_layers(self.hidden_layer_sizes), q)
        self.coefs_, self.intercepts_ = initial_weights(sizes, self._rng)
        self.scaler_ = StandardScaler(with_mean=False)  # it keeps the means all the same
        self.label_counts_, self.n_seen_ = np.zeros(q, dtype=np.int64), 0
        self.loss_curve_: list[float] = []
        self.validation_curve_: list[float] = []
        self.n_epochs_ = 0
        self._optimizer_state: dict[int, dict[str, Any]] = {}
        self._recent: list[tuple[Any, LabelMatrix]] = []  # scores and labels of the latest rows

    def _see(self, X: Any, Y: LabelMatrix) -> None:
        """Take the rows into the means and deviations of the features and the label counts."""
        self.scaler_.partial_fit(X)
        self.label_counts_ = self.label_counts_ + np.asarray(Y.sum(axis=0, dtype=np.int64))
        self.n_seen_ += X.shape[0]

    def _train(
        self,
        X: Any,
        Y: LabelMatrix,
        epochs: int,
        *,
        held_out: NDArray[np.intp] | None = None,
        keep_optimizer: bool = False,
    ) -> None:
        torch = import_torch(type(self).__name__)
        device = choose_device(torch, self.device)
        network = self._make_network(torch).to(device)
        optimizer = self._make_optimizer(torch, network)
        if self._optimizer_state:
            load_state(torch, optimizer, self._optimizer_state)
        batches = Batches(
            torch, X, Y, mean=self.scaler_.mean_, scale=self.scaler_.scale_, device=device
        )
        rows = np.arange(X.shape[0])
        if held_out is not None:
            rows = np.setdiff1d(rows, held_out)
        size = self.batch_size
        if size == "auto":
            size = min(max(8, len(rows) // 20), 128)
        best, best_epoch, started = np.inf, self.n_epochs_, perf_counter()
        for _ in range(epochs):
            error = torch.zeros((), device=device)
            for x, y in batches(self._rng.permutation(rows), size):
                error.add_(self._step(network, optimizer, x, y), alpha=len(x) / len(rows))
            self.n_epochs_ += 1
            self.loss_curve_.append(self._finite(error))
            record = {"epoch": self.n_epochs_, "loss": self.loss_curve_[-1]}
            if held_out is not None:
                with torch.no_grad():
                    error.zero_()
                    for x, y in batches(held_out, size):
                        error.add_(self._loss(network(x), y), alpha=len(x) / len(held_out))
                self.validation_curve_.append(self._finite(error))
                record["validation_loss"] = self.validation_curve_[-1]
                if self.validation_curve_[-1] < best:
                    best, best_epoch = self.validation_curve_[-1], self.n_epochs_
                    self.coefs_, self.intercepts_ = from_module(network)
            record["seconds"] = perf_counter() - started
            enough = self.callback is not None and self.callback(record) is True
            patient = held_out is None or self.n_epochs_ - best_epoch < self.patience
            if enough or not patient:
                break
        if held_out is None:
            self.coefs_, self.intercepts_ = from_module(network)
        self._optimizer_state = state_of(optimizer) if keep_optimizer else {}

    def _finite(self, error: Any) -> float:
        """The error as a number; training that has gone astray ends here."""
        value = float(error)
        if not np.isfinite(value):
            raise ValueError(
                f"the training error became {value} in epoch {self.n_epochs_}: lower "
                f"learning_rate, {self.learning_rate} now, or raise alpha, {self.alpha!r} now"
            )
        return value


def state_of(optimizer: Any) -> dict[int, dict[str, Any]]:
    """What an optimizer remembers of each parameter, without torch's types."""
    state = optimizer.state_dict()["state"]
    return {
        number: {
            key: value.cpu().numpy().copy() if hasattr(value, "cpu") else value
            for key, value in memory.items()
        }
        for number, memory in state.items()
    }


def load_state(torch: Any, optimizer: Any, state: dict[int, dict[str, Any]]) -> None:
    """Give an optimizer back what ``state_of`` kept."""
    tensors = {
        number: {
            key: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
            for key, value in memory.items()
        }
        for number, memory in state.items()
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": tensors})
