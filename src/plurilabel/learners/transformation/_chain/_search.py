"""Search through a chain: which label sets are probable, P(y | x) = prod_j P(y_j | x, y_<j)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel.learners.transformation._models import binary_scores, with_columns

Found: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.float64]]
"""The most probable label sets (n, q) and the marginals (n, q), in the order of the chain."""


def beam_search(models: list[Any], X: Any, width: int) -> Found:
    """The most probable label sets by beam search; exact if width is 2^q.

    At each label every kept beginning of a set is continued with and without it, and the
    ``width`` most probable beginnings are kept. The marginals are those of the kept sets.
    """
    n = X.shape[0]
    sets = np.zeros((n, 1, 0), dtype=bool)  # (n, b, labels so far)
    log_p = np.zeros((n, 1))
    for model in models:
        p = _conditional(model, X, sets)
        with np.errstate(divide="ignore"):
            both = np.concatenate([log_p + np.log1p(-p), log_p + np.log(p)], axis=1)  # (n, 2b)
        best = np.argsort(-both, axis=1, kind="stable")[:, :width]
        b = sets.shape[1]
        kept = np.take_along_axis(sets, (best % b)[:, :, np.newaxis], axis=1)
        sets = np.concatenate([kept, (best >= b)[:, :, np.newaxis]], axis=2)
        log_p = np.take_along_axis(both, best, axis=1)
    share = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    marginals = np.einsum("nb,nbq->nq", share, sets.astype(np.float64))
    return sets[:, 0], np.minimum(marginals, 1.0)  # the shares add up to one only up to rounding


def sample_sets(models: list[Any], X: Any, uniforms: NDArray[np.float64]) -> Found:
    """Label sets drawn along the chain.

    ``uniforms`` (samples, q) decides the draws of every instance alike, so that an instance's
    answer does not depend on the others. A marginal is the mean of the conditional probabilities
    that its label had in the samples, which varies less than the share of samples with it.
    """
    n, samples = X.shape[0], len(uniforms)
    sets = np.zeros((n, samples, 0), dtype=bool)
    log_p = np.zeros((n, samples))
    marginals = np.empty((n, len(models)))
    for j, model in enumerate(models):
        p = _conditional(model, X, sets)
        drawn = uniforms[:, j] < p
        log_p += np.log(np.where(drawn, p, 1 - p))
        marginals[:, j] = p.mean(axis=1)
        sets = np.concatenate([sets, drawn[:, :, np.newaxis]], axis=2)
    return sets[np.arange(n), log_p.argmax(axis=1)], marginals


def _conditional(model: Any, X: Any, sets: NDArray[np.bool_]) -> NDArray[np.float64]:
    """P(next label | x, beginning) for each beginning of a set (n, b, j); shape (n, b)."""
    n, b, j = sets.shape
    repeated = X[np.repeat(np.arange(n), b)] if b > 1 else X
    inputs = with_columns(repeated, sets.reshape(n * b, j)) if j else repeated
    p = binary_scores(model, inputs, "predict_proba").reshape(n, b)
    return np.clip(p.astype(np.float64), 0.0, 1.0)
