"""One table through the network: its cells as the network reads them, and numpy in torch's place.

What the network computes is described in ``_network.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, logit, ndtri

from benchmarks.prior_fitted.learner._weights import (
    GROUP,
    LARGEST,
    USUAL_ROWS,
    Weights,
    load_weights,
)
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import import_extra
from plurilabel.learners.neural._training import choose_device

Floats = NDArray[np.floating]
Answer = Callable[[Floats, Floats, Floats, Floats], Floats]
"""Logits of the queried rows, by cells, known labels, what regressions say and names."""

AT_ONCE = 2**23
"""Numbers that are made at once, about."""


# cells ---------------------------------------------------------------------------------------


def double_ranks(known: Floats, X: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Twice the mid-rank that each value of X has among the known ones, -1 where it is missing.

    Second, how many known ones there are in each column.
    """
    count = np.count_nonzero(~np.isnan(known), axis=0)
    ranks = np.empty(X.shape, dtype=np.int64)
    for j, ordered in enumerate(np.sort(known, axis=0).T):  # missing values last
        ordered = ordered[: count[j]].copy()
        for side in ("left", "right"):
            found = np.searchsorted(ordered, X[:, j], side=side)
            ranks[:, j] = found if side == "left" else ranks[:, j] + found
    ranks[np.isnan(X)] = -1
    return ranks, count


def standardized(known: Floats, X: Floats, most: float = LARGEST) -> Floats:
    """X by the means and deviations of the known rows, clipped; 0 where missing or constant."""
    X, known = (np.asarray(A, dtype=np.float64) for A in (X, known))
    # divided by a power of two near the largest value, so that no square is out of range
    largest = np.abs(np.nan_to_num(known)).max(axis=0)
    exponents = -np.frexp(largest)[1]
    with np.errstate(over="ignore"):
        X, known = np.ldexp(X, exponents), np.ldexp(known, exponents)
    there = ~np.isnan(known)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, known, 0.0).sum(axis=0) / count
    centred = np.where(there, known - mean, 0.0)
    spread = np.abs(centred).max(axis=0)
    spread[spread <= 1e-14] = np.inf  # constant, up to rounding of the mean
    scale = np.sqrt(((centred / spread) ** 2).sum(axis=0) / count)
    with np.errstate(invalid="ignore", over="ignore"):
        z = (X - mean) / spread / np.where(scale > 0, scale, 1.0)
    return np.clip(np.nan_to_num(z), -most, most)


def view_features(known: Floats, asked: Floats, *, normal: bool = False) -> Floats:
    """What the network reads of each value, shape (rows, features, 3).

    The known rows come first, and they alone define scales and ranks. With ``normal``, values are
    replaced by normal scores of their ranks.
    """
    X = np.concatenate([known, asked])
    ranks, count = double_ranks(known, X)
    there = ranks >= 0
    if normal:
        share = (ranks + 1) / (2 * count + 2)
        X = np.where(there, ndtri(np.clip(share, 0.001, 0.999)), np.nan)
    share = ranks / (2 * np.maximum(count, 1))
    places = np.where(there, (2 * share - 1) * math.sqrt(3), 0.0)
    return np.stack([standardized(X[: len(known)], X), places, there], axis=-1)


def group_features(views: Floats) -> Floats:
    """Groups of features, shape (rows, groups, 3 * GROUP)."""
    views = np.pad(views, [(0, 0), (0, -views.shape[1] % GROUP), (0, 0)])
    return views.reshape(len(views), -1, GROUP * views.shape[-1])


# the network ---------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def answerer(path: Any, digest: str, device: str, kind: str) -> tuple[Answer, int]:
    """What answers for a table, by torch if it is installed; and the width of names."""
    weights = load_weights(path)
    if weights.digest != digest:
        raise ValueError(
            "the learner was fitted for other weights of the network than those that are here "
            f"(SHA-256 {digest[:12]}..., here {weights.digest[:12]}...): fit it again"
        )
    try:
        torch = import_extra("torch", f"device={device!r}", "torch")
    except ImportError:
        if device not in ("auto", "cpu"):
            raise
        return _by_numpy(weights, kind), weights.size.name_width
    return _by_torch(torch, weights, device, kind), weights.size.name_width


def _by_torch(torch: Any, weights: Weights, device: str, kind: str) -> Answer:
    from benchmarks.prior_fitted.learner._network import Network

    place, dtype = choose_device(torch, device), getattr(torch, kind)
    network = Network(weights.size)
    network.load_state_dict({name: torch.tensor(w) for name, w in weights.arrays.items()})
    network = network.to(place, dtype).eval().requires_grad_(False)

    def answer(*table: Floats) -> Floats:
        with torch.inference_mode():
            tensors = (torch.as_tensor(part, dtype=dtype, device=place)[None] for part in table)
            return network(*tensors)[0].cpu().numpy()

    return answer


def _by_numpy(weights: Weights, kind: str) -> Answer:
    W = {name: array.astype(kind) for name, array in weights.arrays.items()}

    def answer(cells: Floats, Y: Floats, answers: Floats, names: Floats) -> Floats:
        q = Y.shape[1]
        known = ~np.isnan(Y)
        base = logit((np.nansum(Y, axis=0) + 0.5) / (known.sum(axis=0) + 1))
        told = np.concatenate([_view_labels(Y, known, base, *cells.shape[:2]), answers], axis=-1)
        cells, names = cells.astype(kind), names.astype(kind)
        x = np.concatenate(
            [
                _two_layers(W, "cells", cells) + names[:-q] @ W["cell_names.weight"].T,
                _two_layers(W, "labels", told.astype(kind))
                + names[-q:] @ W["label_names.weight"].T,
            ],
            axis=1,
        )  # fmt: skip
        for number in range(weights.size.layers):
            _block(W, f"blocks.{number}.", weights.size.heads, x, len(Y))
        x = _normalized(x[len(Y) :, -q:])
        return _two_layers(W, "head", x)[..., 0] + base

    return answer


def _view_labels(Y: Floats, known: Floats, base: Floats, n: int, groups: int) -> Floats:
    """Label cells (n, q, 6): value, standardized, known or not, frequency, size of the table."""
    frequency = expit(base)
    told = np.zeros((n, Y.shape[1], 6))
    standard = (Y - frequency) / np.sqrt(frequency * (1 - frequency))
    views = [Y * 2 - 1, standard.clip(-LARGEST, LARGEST), known]
    told[: len(Y), :, :3] = np.where(known[..., None], np.stack(views, axis=-1), 0.0)
    told[..., 3] = base / 3
    told[..., 4], told[..., 5] = math.log(len(Y) / USUAL_ROWS) / 3, math.log(groups / 8) / 3
    return told


def _block(W: dict[str, Any], name: str, heads: int, x: Floats, m: int) -> None:
    """Attention among columns, attention to the known rows, and a small network, in place."""
    n, c, width = x.shape
    head = (heads, width // heads)

    def product(y: Floats, weight: str) -> Floats:
        return y @ W[f"{name}{weight}.weight"].T

    usual = 1 / math.sqrt(head[1])
    for rows in row_blocks(n, 4 * c * width + heads * c * c, AT_ONCE):
        y = product(_normalized(x[rows]), "columns").reshape(-1, c, 3, *head)
        query, key, value = y.transpose(2, 0, 3, 1, 4)  # (rows, heads, columns, ...)
        y = _attend(query, key, value, usual)
        x[rows] += product(y.transpose(0, 2, 1, 3).reshape(-1, c, width), "columns_out")
    sharp = math.log(m + 1) / math.log(USUAL_ROWS) * usual
    for j in range(c):
        y = _normalized(x[:, j])
        key, value = product(y[:m], "rows_known").reshape(m, 2, *head).transpose(1, 2, 0, 3)
        for rows in row_blocks(n, heads * m, AT_ONCE):
            query = product(y[rows], "rows").reshape(-1, *head).transpose(1, 0, 2)
            found = _attend(query, key, value, sharp).transpose(1, 0, 2).reshape(-1, width)
            x[rows, j] += product(found, "rows_out")
    for rows in row_blocks(n, 8 * c * width, AT_ONCE):
        x[rows] += product(_gelu(product(_normalized(x[rows]), "up")), "down")


def _attend(query: Floats, key: Floats, value: Floats, scale: float) -> Floats:
    """Means of the values (..., m, width), weighted by how well their keys fit each query."""
    fit = (query * query.dtype.type(scale)) @ key.swapaxes(-1, -2)
    fit -= fit.max(axis=-1, keepdims=True)
    np.exp(fit, out=fit)
    return (fit @ value) / fit.sum(axis=-1, keepdims=True)


def _two_layers(W: dict[str, Any], name: str, x: Floats) -> Floats:
    x = _gelu(x @ W[f"{name}.0.weight"].T + W[f"{name}.0.bias"])
    return x @ W[f"{name}.2.weight"].T + W[f"{name}.2.bias"]


def _normalized(x: Floats) -> Floats:
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))


def _gelu(x: Floats) -> Floats:
    return x * (1 + erf(x * x.dtype.type(math.sqrt(0.5)))) * x.dtype.type(0.5)
