"""Filling and scaling features that are in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from plurilabel.distributed._blocks import blocks_of, import_dask, in_a_tree


def filling_and_scaling(X: Any, *, scale: bool) -> list[Any]:
    """An imputer with the column means and, if wanted, a scaler, as if fitted on all blocks."""
    dask = import_dask("train")
    moments = dask.delayed(_moments)
    blocks = blocks_of(X)
    parts = [moments(part, start) for part, start in zip(blocks.parts, blocks.starts)]
    count, mean, squares = in_a_tree(dask.delayed(_merged), parts).compute()
    fill = SimpleImputer(keep_empty_features=True).fit(mean[None, :])
    if not scale:
        return [fill]
    scaler = StandardScaler()
    # missing values are filled with the mean: they add rows, but no squares
    scaler.mean_, scaler.var_ = mean, squares / np.maximum(X.shape[0], 1)
    # a constant column is not scaled by what rounding leaves of its variance
    n, eps = X.shape[0], np.finfo(np.float64).eps
    constant = scaler.var_ <= n * eps * scaler.var_ + (n * mean * eps) ** 2
    scaler.scale_ = np.sqrt(np.where(constant, 1.0, scaler.var_))
    scaler.n_samples_seen_, scaler.n_features_in_ = int(count.max()), len(mean)
    return [fill, scaler]


def transform_blocks(X: Any, steps: list[Any]) -> Any:
    """Apply fitted transformers to each block of a Dask array."""
    if not steps:
        return X
    return X.map_blocks(_transformed, steps, dtype=np.float64, meta=np.empty((0, X.shape[1])))


# tasks ----------------------------------------------------------------------------------------


def _transformed(block: Any, steps: list[Any]) -> Any:
    for step in steps:
        block = step.transform(block)
    return block


def _moments(block: Any, start: int) -> tuple[Any, Any, Any]:
    """Count, mean and sum of squared deviations of the values of each column."""
    if (infinite := np.argwhere(np.isinf(block))).size:
        i, j = infinite[0]
        raise ValueError(
            f"features must be finite, got {block[i, j]} in row {start + i}, feature {j}"
        )
    known = ~np.isnan(block)
    count = known.sum(axis=0)
    mean = np.where(known, block, 0).sum(axis=0) / np.maximum(count, 1)
    return count, mean, (np.where(known, block - mean, 0) ** 2).sum(axis=0)


def _merged(some: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Moments of all rows, from those of parts (Chan, Golub and LeVeque)."""
    count, mean, squares = some[0]
    for m, other, more in some[1:]:
        total = np.maximum(count + m, 1)
        apart = other - mean
        squares = squares + more + apart**2 * (count * m / total)
        mean = mean + apart * (m / total)
        count = count + m
    return count, mean, squares
