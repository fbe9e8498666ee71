"""HierarchicalNetwork: a neural network whose predictions respect a hierarchy of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix, MultiLabelClassifier
from plurilabel._core.compat import Interval, import_extra
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.fitted import Declared, places
from plurilabel.learners.neural._bpmll import BPMLL
from plurilabel.learners.neural._training import choose_device


@dataclass(eq=False, repr=False)
class HierarchicalNetwork(BPMLL):
    r"""A neural network whose scores respect a hierarchy of labels, in training as in prediction.

    The network has an output h for each label. The score of a label is the highest output among
    the label and those below it, so that no label ever scores above its parents:

    .. math:: s_l = \max_{d \in D_l} h_d,

    where D_l are l and the labels below it. The network is trained through this maximum (the max
    constraint loss of C-HMCNN): the error is the cross-entropy of

    .. math:: z_l = \max_{d \in D_l,\ y_d = y_l} h_d,

    If a label is absent, so are all labels below it, and z_l = s_l. If it is present, only the
    outputs of present labels count. The network can thus leave a label to those below it.

    Training needs torch (``pip install 'plurilabel[torch]'``); predictions do not.

    Parameters
    ----------
    parents : Hierarchy, mapping, pairs or data frame, default=None
        A hierarchy, such as that of a :class:`~plurilabel.datasets.Dataset`; or the parent of each
        label, or a list of several, by name or number; see :class:`Hierarchy`. None: taken from
        the names of the labels, ``sports/football`` is below ``sports``; without such names the
        labels have no hierarchy.
    sep : str, default="/"
        Separator of the parts of a name, if ``parents`` is None.
    hidden_layer_sizes : sequence of int, default=(500, 500)
        Units of each hidden layer.
    activation : {"relu", "tanh", "logistic", "identity"}, default="relu"
        Activation of the hidden units.
    dropout : float, default=0.7
        Share of the hidden units dropped at random in each update.
    alpha : float or "auto", default="auto"
        Weight decay. ``"auto"`` is 1e-5 q, the paper's for an error that is a sum over labels.
    batch_size : int or "auto", default="auto"
        Instances per update; 4 in the paper. ``"auto"`` is n / 20, but between 8 and 128.
    solver, learning_rate_init, max_iter, early_stopping, validation_fraction, n_iter_no_change :
        As in :class:`BPMLL`.
    warm_start, callback, device :
        As in :class:`BPMLL`.
    random_state : int, RandomState instance or None, default=None
        Determines the initial weights, the order of the instances, and dropout.

    Attributes
    ----------
    edges_ : ndarray of shape (m, 2)
        The numbers of child and parent; none if the labels have no hierarchy.
    coefs_, intercepts_, scaler_, loss_curve_, validation_curve_, n_iter_, label_counts_ :
        As in :class:`BPMLL`.

    Notes
    -----
    Label sets are completed in training: an instance that has a label has all labels above it.
    Scores are log-odds, and ``predict_proba`` is available. Missing features need an imputer. The
    maximum is computed level by level, in time linear in the edges of the hierarchy.

    Departure from the paper: larger batches and a larger learning rate. The guide
    :doc:`/guides/hierarchies` has the results on its datasets.

    References
    ----------
    E. Giunchiglia, T. Lukasiewicz. Coherent hierarchical multi-label classification networks.
    NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plurilabel import HierarchicalNetwork
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> Y = pd.DataFrame({"animal": X[:, 0] > 0, "animal/cat": X.min(axis=1) > 0}).astype(int)
    >>> network = HierarchicalNetwork(
    ...     hidden_layer_sizes=(20,), dropout=0.2, max_iter=30, random_state=0).fit(X, Y)
    >>> P = network.predict_proba(X)
    >>> bool((P[:, 1] <= P[:, 0]).all())
    True
    >>> network.predict([[2.0, 2.0], [2.0, -2.0]])
    array([[1, 1],
           [1, 0]])
    """

    # no parameters here: scores are log-odds, which are cut at 0
    loss: ClassVar[str] = "cross-entropy"  # type: ignore[misc]
    threshold: ClassVar[None] = None  # type: ignore[misc]
    label_weight: ClassVar[None] = None  # type: ignore[misc]
    _learns_from_known = False
    _learns_from_soft = False  # the maximum is over labels that are present
    _fitted: ClassVar[Declared] = {"edges_": places("m", 2, below="n_labels_")}

    parents: Annotated[Any, Hierarchy, Mapping, "array-like", None] = None
    _: KW_ONLY
    sep: Annotated[str, str] = "/"
    hidden_layer_sizes: Sequence[int] = (500, 500)
    activation: str = "relu"
    dropout: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.7

    @property
    def hierarchy_(self) -> Hierarchy:
        """The labels and what is above them."""
        return Hierarchy.from_edges(self.label_names_, self.edges_)

    def _start(self, d: int) -> None:
        super()._start(d)
        if self.parents is not None and self.single_output_:
            raise ValueError("y must be a label matrix, got a 1-D y with one class per instance")
        names = [str(name) for name in self.label_names_]
        if self.parents is None and (self.single_output_ or not any(self.sep in n for n in names)):
            self.edges_ = np.zeros((0, 2), dtype=np.intp)
        else:
            self.edges_ = Hierarchy.of(names, self.parents, sep=self.sep).edges

    def _see(self, X: Any, Y: LabelMatrix) -> None:
        super()._see(X, self.hierarchy_.close(Y))

    def _train(self, X: Any, Y: LabelMatrix, epochs: int, **params: Any) -> None:
        torch = import_extra("torch", type(self).__name__, "torch")
        device = choose_device(torch, self.device)
        hierarchy = self.hierarchy_
        self._levels = [
            [torch.from_numpy(ends.copy()).to(device) for ends in edges.T]
            for edges in reversed(hierarchy.levels)
        ]
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(int(self._rng.randint(2**31 - 1)))  # of dropout
            super()._train(X, hierarchy.close(Y).astype(np.int8), epochs, **params)
        del self._levels

    def _make_network(self, torch: Any) -> Any:
        network = super()._make_network(torch)
        if not self.dropout:
            return network

        class Dropout(torch.nn.Dropout):
            """Active in training only, when gradients are taken."""

            def forward(self, x: Any) -> Any:
                return super().forward(x) if torch.is_grad_enabled() else x

        layers = []
        for layer in network:
            layers.append(layer)
            if not isinstance(layer, torch.nn.Linear):
                layers.append(Dropout(self.dropout))
        return torch.nn.Sequential(*layers)

    def _loss(self, scores: Any, targets: Any, weight: Any = None) -> Any:
        from plurilabel.learners.neural._losses import cross_entropy

        return cross_entropy(max_below(scores, self._levels, targets), targets, weight)

    def _alpha(self) -> float:
        return 1e-5 * self.n_labels_ if self.alpha == "auto" else float(self.alpha)

    def _outputs(self, X: Any) -> NDArray[np.floating]:
        scores = super()._outputs(X)
        return self.hierarchy_.consistent(scores, "max").astype(scores.dtype, copy=False)

    def _parts(self, x: Any, given: Given) -> Parts:
        return MultiLabelClassifier._parts(self, x, given)  # the maximum has no slope everywhere


def max_below(outputs: Any, levels: Any, targets: Any) -> Any:
    """For each label the highest output among itself and the labels below it with its target."""
    # ``levels`` are the children and parents of each level, as tensors, the lowest level first.
    # One integer for (output, label): the bits of a float as an integer of the same order, then
    # the label. The highest tells whose output it is, and only that output gets the gradient. A
    # label with the target of one above it shares it with all labels in between.
    import torch

    bits = outputs.detach().float().view(torch.int32)
    key = torch.where(bits < 0, bits ^ (2**31 - 1), bits).long() << 31
    key += torch.arange(key.shape[1], device=key.device)
    for child, parent in levels:
        other = targets[:, child] != targets[:, parent]
        below = key[:, child].masked_fill_(other, -(2**63))
        key.scatter_reduce_(1, parent.expand_as(below), below, "amax")
    return outputs.gather(1, key & (2**31 - 1))
