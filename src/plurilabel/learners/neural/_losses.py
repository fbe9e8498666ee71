"""Errors of a network's outputs, on torch tensors; loaded when one of its names is used."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, mse_loss

INF = float("inf")


def pairwise_exponential_loss(
    scores: Tensor,
    targets: Tensor,
    *,
    weight: Tensor | None = None,
    indices: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""The error of BP-MLL: every label of an instance should score above every other label.

    It is equation 3 of the paper of :class:`~plurilabel.BPMLL`. With the labels Y of an instance,
    the other labels D, and its scores c,

    .. math:: E = \frac{1}{|Y| |D|} \sum_{k \in Y} \sum_{l \in D} \exp(-(c_k - c_l))
                = \frac{1}{|Y|} \sum_{k \in Y} e^{-c_k} \cdot
                  \frac{1}{|D|} \sum_{l \in D} e^{c_l}.

    The second form takes time linear in the number of labels. Scores may be large: the scores of
    each instance are shifted first so that neither factor overflows; an E that the type of the
    scores cannot hold, above e^86 in single precision, is clipped. An instance with all labels or
    none has the error 0. The gradient is computed along with E; it cannot be differentiated
    again.

    Parameters
    ----------
    scores : float tensor of shape (n, q)
        Outputs of a network, preferably bounded by a tanh as in the paper: the error grows
        exponentially with c_l - c_k. Half precision is computed in single precision.
    targets : tensor of shape (n, q), or (n, m) with ``indices=True``
        1 for the labels of an instance, 0 for the others. With ``indices=True``: the numbers of
        its labels, padded with -1. Then targets with q columns need not be built and moved to the
        device, which helps with very many labels.
    weight : float tensor of shape (q,) or (n, q), optional
        Non-negative weights: the means over Y and D become weighted means, and a pair counts by
        the product of its labels' weights. A label of weight 0 is left out; with shape (n, q),
        which ``indices=True`` does not accept, this is a way to leave out unknown labels.
    indices : bool, default=False
    reduction : {"mean", "sum", "none"}, default="mean"
        Over all n instances, including those with error 0.

    Returns
    -------
    tensor
        A scalar, or of shape (n,) with ``reduction="none"``.

    Examples
    --------
    >>> import torch
    >>> from plurilabel.learners import pairwise_exponential_loss
    >>> scores = torch.tensor([[0.9, 0.1, -0.3]], requires_grad=True)
    >>> loss = pairwise_exponential_loss(scores, torch.tensor([[1, 0, 0]]))
    >>> loss.backward()
    >>> scores.grad
    tensor([[-0.3753,  0.2247,  0.1506]])
    >>> pairwise_exponential_loss(scores, torch.tensor([[0, -1]]), indices=True) == loss
    tensor(True)
    """
    scores = _checked(scores, targets, weight, indices, reduction)
    has = (_mask_of(targets, scores.shape[1]) if indices else targets > 0).to(scores.dtype)
    return _reduced(PairwiseExponential.apply(scores, has, weight, False), reduction)


class BPMLLLoss(torch.nn.Module):
    """The pairwise error of BP-MLL, for any torch network.

    Linear in the number of labels; see :func:`pairwise_exponential_loss` for the definition and
    for the form of the targets.

    Parameters
    ----------
    weight : float tensor of shape (q,), optional
        Weights of the labels. A buffer: it moves to the device with the module.
    indices : bool, default=False
        Whether targets are padded label numbers (n, m) rather than 0/1 (n, q).
    reduction : {"mean", "sum", "none"}, default="mean"

    Examples
    --------
    >>> import torch
    >>> from plurilabel.learners import BPMLLLoss
    >>> network = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh())
    >>> loss = BPMLLLoss()(network(torch.zeros(2, 5)), torch.tensor([[1, 0, 1], [0, 1, 0]]))
    >>> loss.backward()
    >>> network[0].bias.grad.shape
    torch.Size([3])
    """

    __module__ = "plurilabel.learners"
    weight: Tensor | None

    def __init__(
        self, *, weight: Tensor | None = None, indices: bool = False, reduction: str = "mean"
    ):
        super().__init__()
        self.register_buffer("weight", weight)
        self.indices, self.reduction = indices, reduction

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The error of scores (n, q) for these targets."""
        return pairwise_exponential_loss(
            scores, targets, weight=self.weight, indices=self.indices, reduction=self.reduction
        )

    def extra_repr(self) -> str:
        return f"indices={self.indices}, reduction={self.reduction!r}"


class PairwiseExponential(torch.autograd.Function):
    """E of each row and dE/dc, from scores c (n, q) and the row's labels, 0 and 1 as floats.

    With weights P of the labels and N of the others, zero elsewhere,

        own = sum P e^{-c} / sum P,  other = sum N e^{c} / sum N,  E = own * other,
        dE/dc = own N e^{c} / sum N - other P e^{-c} / sum P.

    One exponential for each score, where automatic differentiation of log-sum-exps takes four.
    E stays the same if all scores of a row move by s: halfway between the lowest label and the
    highest other label, neither factor can overflow unless E does, and then both are clipped.
    """

    @staticmethod
    def forward(ctx: Any, c: Tensor, has: Tensor, weight: Tensor | None, bounded: bool) -> Tensor:
        P, N = has, 1 - has
        sign = N - P  # of the exponent
        if weight is not None:
            P, N = P * weight, N * weight
        # what a row without pairs is divided by does not matter, if it is not zero
        p = P.sum(1, keepdim=True).clamp_(min=1e-30)
        n = N.sum(1, keepdim=True).clamp_(min=1e-30)
        if bounded:
            z = c * sign
        else:
            z = (c - _halfway(c, P, N)).mul_(sign)  # -inf throughout in rows without pairs
            if weight is not None:
                z.masked_fill_(weight <= 0, -INF)
            z.clamp_(max=43.0 if z.dtype.itemsize == 4 else 354.0)  # E would not be finite
        e = z.exp_()
        Pe, Ne = P * e, N.mul_(e)
        own, other = Pe.sum(1, keepdim=True).div_(p), Ne.sum(1, keepdim=True).div_(n)
        error = (own * other).squeeze(1)
        ctx.save_for_backward(Ne.mul_(own.div_(n)).addcmul_(Pe, other.div_(p), value=-1))
        return error

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "the pairwise exponential loss can be differentiated once: create_graph=True "
                "asks for more"
            )
        (gradient,) = ctx.saved_tensors
        return gradient * grad.unsqueeze(1), None, None, None


def _halfway(c: Tensor, P: Tensor, N: Tensor) -> Tensor:
    """Between the lowest label of a row and the highest of the others; infinite without pairs."""
    low = c.masked_fill(P <= 0, INF).amin(1, keepdim=True)
    high = c.masked_fill(N <= 0, -INF).amax(1, keepdim=True)
    return low / 2 + high / 2


def _mask_of(indices: Tensor, q: int) -> Tensor:
    """A mask (n, q) of label numbers (n, m) that are padded with -1."""
    mask = torch.zeros(len(indices), q, dtype=torch.bool, device=indices.device)
    if indices.shape[1] == 0:
        return mask
    # a padded place repeats the highest label of its row: it must point somewhere
    highest = indices.amax(1, keepdim=True)
    numbers = indices.where(indices >= 0, highest.clamp(min=0)).long()
    return mask.scatter_(1, numbers, (highest >= 0).expand_as(numbers))


def asymmetric_loss(
    scores: Tensor,
    targets: Tensor,
    *,
    gamma_pos: float = 0.0,
    gamma_neg: float = 4.0,
    clip: float = 0.05,
    weight: Tensor | None = None,
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
        0 and 1, or probabilities between them: the error is then the expected one.
    gamma_pos, gamma_neg : float, default=0 and 4
        How much less confident answers count; 0 and 0 with ``clip=0`` is the cross-entropy.
    clip : float, default=0.05
        The margin m: negatives with a smaller probability do not count.
    weight : float tensor of shape (q,) or (n, q), optional
        Weight of each label in the sum; 0 leaves out unknown labels.
    reduction : {"mean", "sum", "none"}, default="mean"
        Over the instances; the error of an instance is a sum over its labels.

    Returns
    -------
    tensor
        A scalar, or of shape (n,) with ``reduction="none"``.

    References
    ----------
    T. Ridnik, E. Ben-Baruch, N. Zamir, A. Noy, I. Friedman, M. Protter, L. Zelnik-Manor.
    Asymmetric loss for multi-label classification. ICCV 2021.

    Examples
    --------
    >>> import torch
    >>> from plurilabel.learners import asymmetric_loss
    >>> asymmetric_loss(torch.tensor([[2.0, -3.5]]), torch.tensor([[1, 0]]))
    tensor(0.1269)
    """
    scores = _checked(scores, targets, weight, False, reduction)
    p = scores.sigmoid()
    p_m = (p - clip).clamp(min=0)
    own = -((1 - p) ** gamma_pos) * logsigmoid(scores)
    # without a margin p may round to 1, and log(1 - p) to minus infinity
    log_absent = (-p_m).log1p() if clip > 0 else logsigmoid(-scores)
    other = -(p_m**gamma_neg) * log_absent
    each = own.where(targets > 0, other)
    if targets.is_floating_point():  # soft labels are a mixture
        mixed = (targets > 0) & (targets < 1)
        each = (targets * own + (1 - targets) * other).where(mixed, each)
    return _reduced((each if weight is None else each * weight).sum(1), reduction)


def _reduced(errors: Tensor, reduction: str) -> Tensor:
    return errors if reduction == "none" else getattr(errors, reduction)()


def _checked(
    scores: Tensor, targets: Tensor, weight: Tensor | None, indices: bool, reduction: str
) -> Tensor:
    """The scores, in single precision at least."""
    shape = tuple(scores.shape)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')
    if scores.ndim != 2:
        raise ValueError(f"scores must be a matrix (instances, labels), got the shape {shape}")
    (n, q), found = shape, tuple(targets.shape)
    if indices and (len(found), *found[:1]) != (2, n):
        wanted = f"a matrix of label numbers with {n} rows"
        raise ValueError(f"targets must be {wanted}, got the shape {found}")
    if not indices and found != shape:
        raise ValueError(f"targets must have the shape of scores, {shape}, got {found}")
    if weight is not None and weight.shape != (q,) and (indices or weight.shape != shape):
        found = tuple(weight.shape)
        raise ValueError(f"weight must have one entry per label, {q}, got the shape {found}")
    return scores if scores.dtype.itemsize >= 4 else scores.float()


# what BPMLL trains with; weights are (n, q), 0 where a label is unknown ------------------------


def bounded_pairwise_loss(scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The mean pairwise error for scores that a tanh bounds: nothing can overflow."""
    return PairwiseExponential.apply(scores, targets.to(scores.dtype), weight, True).mean()


def soft_pairwise_loss(scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The same for probabilities: a pair counts as p_k (1 - p_l), the probability of its order."""
    P, N = targets.to(scores.dtype), 1 - targets.to(scores.dtype)
    if weight is not None:
        P, N = P * weight, N * weight
    own = (P * (-scores).exp()).sum(1) / P.sum(1).clamp(min=1e-30)
    other = (N * scores.exp()).sum(1) / N.sum(1).clamp(min=1e-30)
    return (own * other).mean()


def one_kind_loss(scores: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """The error of instances whose known labels form no pair: against a score of 0."""
    targets = targets.to(scores.dtype)
    sign, total = 1 - 2 * targets, weight.sum(1)
    own = (weight * targets).sum(1)
    alone = (weight <= 0).any(1) & ((own <= 0) | (own >= total))
    error = (weight * (sign * scores).exp()).sum(1) / total.clamp(min=1e-30)
    return (error * alone).mean()


def cross_entropy(scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean over the instances of the sum over the labels of -log P(target)."""
    targets = targets.to(scores.dtype)
    total = binary_cross_entropy_with_logits(scores, targets, weight, reduction="sum")
    return total / len(scores)


def squared_loss(scores: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """The error of BasicBP: squared distance to +1 for labels, -1 for the others."""
    signs = 2 * targets.to(scores.dtype) - 1
    if weight is None:
        return mse_loss(scores, signs, reduction="sum") / len(scores)
    return (weight * (scores - signs) ** 2).sum() / len(scores)


ERRORS = {
    "bpmll": bounded_pairwise_loss,
    "soft bpmll": soft_pairwise_loss,
    "squared": squared_loss,
    "cross-entropy": cross_entropy,
    "asymmetric": lambda scores, targets, weight=None: asymmetric_loss(
        scores, targets, weight=weight
    ),
}
"""The error of a batch for each ``loss`` of BPMLL, and for that of pairs if labels are soft."""


class _Kept:
    """Takes what a function of autograd keeps for its backward pass."""

    def save_for_backward(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors


def error_and_slope(
    loss: str,
    scores: Tensor,
    targets: Tensor,
    weight: Tensor | None = None,
    *,
    one_kind: bool = False,
) -> tuple[Tensor, Tensor]:
    """The error of a batch, with that of one kind if so, and its slope at the scores."""
    if loss != "bpmll":
        error, slope = _by_autograd(ERRORS[loss], scores, targets, weight)
    else:
        kept = _Kept()
        errors = PairwiseExponential.forward(kept, scores, targets.to(scores.dtype), weight, True)
        (slope,) = kept.saved_tensors
        error, slope = errors.mean(), slope.mul_(1 / scores.shape[0])
    if one_kind:
        more, steeper = _by_autograd(one_kind_loss, scores, targets, weight)
        error, slope = error + more, slope + steeper
    return error, slope


def _by_autograd(function: Any, scores: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    scores = scores.detach().requires_grad_()
    error = function(scores, *others)
    return error.detach(), torch.autograd.grad(error, scores)[0]


for _function in (pairwise_exponential_loss, asymmetric_loss):
    _function.__module__ = "plurilabel.learners"  # loaded after the package is published
