"""Errors of a network's outputs, on torch tensors. Importing this file does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def pairwise_exponential_loss(
    scores: Tensor,
    targets: Tensor,
    *,
    weight: Tensor | None = None,
    indices: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""The error of BP-MLL: every label of an instance should score above every other one.

    With the labels Y of an instance, the others D, and its scores c,

    .. math:: E = \frac{1}{|Y| |D|} \sum_{k \in Y} \sum_{l \in D} \exp(-(c_k - c_l))
                = \frac{1}{|Y|} \sum_{k \in Y} e^{-c_k} \cdot
                  \frac{1}{|D|} \sum_{l \in D} e^{c_l}.

    The second form costs time linear in the number of labels. Scores may be large: they are
    shifted first, by an amount for each instance such that neither factor overflows; an E that
    the type of the scores cannot hold, above e^86 in single precision, is cut there. An instance
    with all labels or none has the error 0. The gradient is computed along with E; it cannot be
    differentiated again.

    Parameters
    ----------
    scores : float tensor of shape (n, q)
        Outputs of a network, best bounded by a tanh as in the paper: the error grows
        exponentially with c_l - c_k. Half precision is computed in single precision.
    targets : tensor of shape (n, q), or (n, m) with ``indices=True``
        1 for the labels of an instance, 0 for the others. With ``indices=True``: the numbers of
        its labels, filled up with -1. Targets with q columns then need not be built and moved to
        the device, which helps where labels are very many.
    weight : float tensor of shape (q,) or (n, q), optional
        Weights that are not negative: the means over Y and D become weighted means, and a pair
        counts by the product of its labels' weights. A label of weight 0 is left out; with shape
        (n, q), which ``indices=True`` does not take, that is a way to leave out unknown labels.
    indices : bool, default=False
    reduction : {"mean", "sum", "none"}, default="mean"
        Over the n instances, those with error 0 among them.

    Returns
    -------
    tensor
        A scalar, or of shape (n,) with ``reduction="none"``.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multilabel neural networks with applications to functional genomics
    and text categorization. IEEE TKDE 18(10), 2006; equation 3.

    Examples
    --------
    >>> import torch
    >>> from plurilabel.neural import pairwise_exponential_loss
    >>> scores = torch.tensor([[0.9, 0.1, -0.3]], requires_grad=True)
    >>> loss = pairwise_exponential_loss(scores, torch.tensor([[1, 0, 0]]))
    >>> loss.backward()
    >>> scores.grad
    tensor([[-0.3753,  0.2247,  0.1506]])
    >>> pairwise_exponential_loss(scores, torch.tensor([[0, -1]]), indices=True) == loss
    tensor(True)
    """
    from plurilabel.neural._pairwise import PairwiseExponential, mask_of

    _check(scores, targets, weight, indices, reduction)
    if scores.dtype.itemsize < 4:
        scores = scores.float()
    has = (mask_of(targets, scores.shape[1]) if indices else targets > 0).to(scores.dtype)
    return _reduced(PairwiseExponential.apply(scores, has, weight, False), reduction)


def bounded_pairwise_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """The mean of the same error for scores that a tanh bounds: nothing can overflow."""
    from plurilabel.neural._pairwise import PairwiseExponential

    return PairwiseExponential.apply(scores, targets.to(scores.dtype), None, True).mean()


def asymmetric_loss(
    scores: Tensor,
    targets: Tensor,
    *,
    gamma_pos: float = 0.0,
    gamma_neg: float = 4.0,
    clip: float = 0.05,
    reduction: str = "mean",
) -> Tensor:
    r"""A cross-entropy in which easy negatives count little.

    With :math:`p = 1 / (1 + e^{-c})` and :math:`p_m = \max(p - m, 0)`, the error of an instance
    is the sum of :math:`-(1 - p)^{\gamma_+} \log p` over its labels and of
    :math:`-p_m^{\gamma_-} \log(1 - p_m)` over the others. Most labels of most instances are
    absent; here those that a network already knows to be absent leave the gradient to the rest.

    Parameters
    ----------
    scores : float tensor of shape (n, q)
        Outputs of a network without a last activation.
    targets : tensor of shape (n, q)
        0 and 1.
    gamma_pos, gamma_neg : float, default=0 and 4
        How much less sure answers count; 0 and 0 with ``clip=0`` is the cross-entropy.
    clip : float, default=0.05
        The margin m: negatives of a smaller probability count nothing.
    reduction : {"mean", "sum", "none"}, default="mean"
        Over the instances; the error of an instance is a sum over its labels.

    Returns
    -------
    tensor
        A scalar, or of shape (n,) with ``reduction="none"``.

    References
    ----------
    T. Ridnik and others. Asymmetric loss for multi-label classification. ICCV 2021.

    Examples
    --------
    >>> import torch
    >>> from plurilabel.neural import asymmetric_loss
    >>> asymmetric_loss(torch.tensor([[2.0, -3.5]]), torch.tensor([[1, 0]]))
    tensor(0.1269)
    """
    _check(scores, targets, None, False, reduction)
    if scores.dtype.itemsize < 4:
        scores = scores.float()
    p = scores.sigmoid()
    p_m = (p - clip).clamp(min=0)
    own = (1 - p) ** gamma_pos * _softplus(-scores)  # -log p = log(1 + exp(-c))
    # without a margin p may round to 1, and log(1 - p) to minus infinity
    log_absent = (-p_m).log1p() if clip > 0 else -_softplus(scores)
    other = -(p_m**gamma_neg) * log_absent
    return _reduced(own.where(targets > 0, other).sum(1), reduction)


def cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean over the instances of the sum over the labels of -log P(what the target says)."""
    from torch.nn.functional import binary_cross_entropy_with_logits as of_logits

    return of_logits(scores, targets.to(scores.dtype), reduction="sum") / len(scores)


def squared_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """The error of BasicBP: squared distance to +1 for labels, -1 for the others."""
    from torch.nn.functional import mse_loss

    wanted = 2 * targets.to(scores.dtype) - 1
    return mse_loss(scores, wanted, reduction="sum") / len(scores)


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), stable."""
    return x.clamp(min=0) + x.abs().neg().exp().log1p()


def _reduced(errors: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return errors
    return errors.mean() if reduction == "mean" else errors.sum()


def _check(
    scores: Tensor, targets: Tensor, weight: Tensor | None, indices: bool, reduction: str
) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')
    if scores.ndim != 2:
        raise ValueError(
            f"scores must be a matrix (instances, labels), got the shape {tuple(scores.shape)}"
        )
    if indices:
        if targets.ndim != 2 or len(targets) != len(scores):
            raise ValueError(
                f"targets must be a matrix of label numbers with {len(scores)} rows, "
                f"got the shape {tuple(targets.shape)}"
            )
    elif targets.shape != scores.shape:
        raise ValueError(
            f"targets must have the shape of scores, {tuple(scores.shape)}, "
            f"got {tuple(targets.shape)}"
        )
    q = scores.shape[1]
    if weight is not None and weight.shape != (q,) and (indices or weight.shape != scores.shape):
        raise ValueError(
            f"weight must have one entry per label, {q}, got the shape {tuple(weight.shape)}"
        )
