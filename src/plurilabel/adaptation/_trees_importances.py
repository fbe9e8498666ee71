"""How much of the decrease of impurity each feature brought to each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import entr


def impurity_decrease(
    tree: Any, frequencies: NDArray[np.float64], criterion: str
) -> NDArray[np.float64]:
    """Decrease of each label's own impurity by the splits on each feature, (q, d).

    A split of a node adds w H - w_left H_left - w_right H_right, where w is the weight of the
    instances in a node and H the label's impurity there.
    """
    p = frequencies
    impurity = entr(p) + entr(1 - p) if criterion == "entropy" else 2 * p * (1 - p)
    weighted = tree.weighted_n_node_samples[:, None] * impurity  # (nodes, q)
    inner = np.flatnonzero(tree.children_left != -1)
    left, right = tree.children_left[inner], tree.children_right[inner]
    decrease = weighted[inner] - weighted[left] - weighted[right]
    split_on = sparse.csr_array(
        (np.ones(len(inner)), tree.feature[inner], np.arange(len(inner) + 1)),
        shape=(len(inner), tree.n_features),
    )
    return np.asarray((split_on.T @ decrease).T)
