"""Small bags with something to learn."""

import numpy as np

from plurilabel.bags import Bags


def random_bags(seed, n=20, d=3, largest=5):
    """Bags of different sizes, in general position."""
    random = np.random.default_rng(seed)
    return Bags([random.normal(size=(random.integers(1, largest + 1), d)) for _ in range(n)])


def concept_bags(seed, n=60, d=4):
    """Three labels; a bag has a label if one of its instances is near the label's point."""
    random = np.random.default_rng(seed)
    points = 4 * np.eye(3, d)
    Y = random.integers(0, 2, size=(n, 3))
    bags = []
    for row in Y:
        noise = random.normal(size=(random.integers(1, 4), d))
        bags.append(
            np.vstack([noise, points[row == 1] + 0.5 * random.normal(size=(row.sum(), d))])
        )
    return Bags(bags), Y
