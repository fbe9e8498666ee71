"""Trees taken apart: what each step of an instance's path through a tree adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plurilabel._core.explanation.contributions import SCORE, Floats, Parts


def path_parts(
    trees: Sequence[Any], tables: Sequence[Floats], x: Any, names: Sequence[str]
) -> Parts:
    """The mean over trees of the steps along the path of one row.

    An instance begins at the root with the root's value; each step from a node to a child adds the
    difference of their values to the feature that the node splits on. The sum is exactly the value
    of the leaf.

    ``trees`` are scikit-learn's ``Tree`` objects, ``tables`` (nodes, q) the values of their nodes,
    ``x`` (1, d) is in float32, as the trees compare it, and ``names`` are those of the features.

    References
    ----------
    A. Palczewska, J. Palczewski, R. M. Robinson, D. Neagu. Interpreting random forest
    classification models using a feature contribution method. Integration of reusable systems,
    2014.
    """
    features, steps = [], []
    base = np.zeros(tables[0].shape[1])
    for tree, table in zip(trees, tables):
        path = np.sort(tree.decision_path(x).indices)  # a child has a higher number than its node
        base += table[path[0]]
        features.append(tree.feature[path[:-1]])
        steps.append(np.diff(table[path], axis=0))
    used, place = np.unique(np.concatenate(features), return_inverse=True)
    values = np.zeros((len(used), len(base)))
    np.add.at(values, place.ravel(), np.concatenate(steps))
    n = len(trees)
    return Parts([str(names[j]) for j in used], values / n, base / n, (SCORE,) * len(base))
