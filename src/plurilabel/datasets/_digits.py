"""Scikit-learn's digits, labelled by properties of the digit: data that is always there."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits as sklearn_digits

from plurilabel._dataset import Dataset

# The loops are those of the usual handwritten forms; an open 4 has none.
PROPERTIES: dict[str, tuple[int, ...]] = {
    "even": (0, 2, 4, 6, 8),
    "prime": (2, 3, 5, 7),
    "square": (0, 1, 4, 9),
    "multiple of three": (0, 3, 6, 9),
    "five or more": (5, 6, 7, 8, 9),
    "has a loop": (0, 6, 8, 9),
    "straight lines only": (1, 4, 7),
}

CITATION = (
    "E. Alpaydin, C. Kaynak. Optical recognition of handwritten digits. UCI Machine Learning "
    "Repository, 1998 (as bundled with scikit-learn; labels derived from the digit)."
)


def digits() -> Dataset:
    """1,797 images of handwritten digits (8 x 8 pixels), seven labels."""
    bunch = sklearn_digits()
    Y = np.stack([np.isin(bunch.target, which) for which in PROPERTIES.values()], axis=1)
    return Dataset(
        X=bunch.data,
        Y=Y.astype(np.int64),
        feature_names=tuple(bunch.feature_names),
        label_names=tuple(PROPERTIES),
        name="digits",
        citation=CITATION,
    )
