"""Generate data with dense features: each label is a region of the feature space."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._core.base import NumberedNames
from plurilabel._core.compat import (
    AtLeastOne,
    Interval,
    Natural,
    NotNegative,
    Positive,
    check_arguments,
)
from plurilabel._core.data.dataset import Dataset

_ROWS_TO_SCALE_ON = 5000  # enough to match the cardinality to about 1 %
_HALVINGS = 30
_CLOSE_ENOUGH = 1e-3


def make_multilabel(
    n_samples: AtLeastOne = 100,
    n_features: AtLeastOne = 10,
    n_labels: AtLeastOne = 5,
    *,
    shape: Literal["spheres", "cubes"] = "spheres",
    n_irrelevant: Natural = 0,
    n_redundant: Natural = 0,
    cardinality: Positive = 2.0,
    dependence: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.0,
    imbalance: NotNegative = 0.5,
    noise: Annotated[float, Interval(Real, 0, 0.5, closed="left")] = 0.0,
    allow_empty: bool = False,
    random_state: Any = None,
) -> Dataset:
    """Generate dense data in which each label is a ball or a cube in the feature space.

    As in Mldatagen, each label is a random region inside the domain, the unit ball or the cube
    [-1, 1]^d. Instances are drawn uniformly from the regions, more from those of frequent labels,
    and have all labels whose regions contain them.

    Parameters
    ----------
    n_samples, n_features, n_labels : int, default=100, 10, 5
        Sizes. The irrelevant and redundant features are among the ``n_features``.
    shape : {"spheres", "cubes"}, default="spheres"
        Shape of the regions.
    n_irrelevant, n_redundant : int, default=0
        Features of pure noise, uniform in [-1, 1]; copies of random relevant features.
    cardinality : float, default=2.0
        Mean number of labels per instance, noise included. All regions are scaled to meet it.
    dependence : float in [0, 1), default=0.0
        How far regions are moved towards the center of a random group of labels, so that the
        labels of a group occur together.
    imbalance : float, default=0.5
        The region of the r-th label has r**-imbalance times the volume and the instances of that
        of the first. With 0 all labels are equally frequent.
    noise : float in [0, 0.5), default=0.0
        Probability that a label of an instance is flipped, present to absent or back.
    allow_empty : bool, default=False
        Whether to draw instances from the whole domain, including the space outside all regions.
        Otherwise every instance has a label: if noise removes the last one, it keeps the label of
        its region.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data every time.

    Returns
    -------
    Dataset
        With relevant, irrelevant and redundant features, in this order.

    Notes
    -----
    Mldatagen draws radii between two bounds; here they follow from ``imbalance`` and
    ``cardinality``.

    References
    ----------
    J. T. Tomás, N. Spolaôr, E. A. Cherman, M. C. Monard. A framework to generate synthetic
    multi-label datasets. Electronic Notes in Theoretical Computer Science 302, 2014.

    Examples
    --------
    >>> from plurilabel.datasets import describe, make_multilabel
    >>> data = make_multilabel(200, 4, 3, n_irrelevant=1, cardinality=1.5, random_state=0)
    >>> data
    Dataset 'spheres': 200 instances, 4 features, 3 labels
    >>> data.feature_names
    ('relevant0', 'relevant1', 'relevant2', 'irrelevant0')
    >>> describe(data).cardinality
    1.5
    """
    check_arguments(make_multilabel, locals())
    n, q, d = n_samples, n_labels, n_features - n_irrelevant - n_redundant
    if d < 1:
        raise ValueError(
            f"n_irrelevant + n_redundant must be smaller than the {n_features} features "
            f"of n_features, got {n_irrelevant + n_redundant}"
        )
    rng = generator(random_state)
    draw, inside = (_in_ball, _inside_balls) if shape == "spheres" else (_in_cube, _inside_cubes)

    popularity = zipf(q, imbalance)
    size = (popularity / popularity[0]) ** (1 / d) / 2  # radii whose volumes follow the popularity
    group = label_groups(q, cardinality, rng)
    direction = (1 - dependence) * draw(rng, q, d)
    direction += dependence * draw(rng, int(group.max()) + 1, d)[group]
    owner = np.full(n, -1) if allow_empty else rng.choice(q, size=n, p=popularity)
    offset = draw(rng, n, d)  # where an instance lies in its region, or in the domain
    flip = rng.random((n, q)) < noise

    def place(scale: float, rows: slice) -> tuple[NDArray[Any], NDArray[Any]]:
        """Instances and labels with regions from points (scale 0) to the whole domain (1)."""
        radius = np.where(scale < 0.5, 2 * scale * size, size + (2 * scale - 1) * (1 - size))
        center = (1 - radius)[:, None] * direction  # the region stays inside the domain
        points, mine = offset[rows], owner[rows]
        if not allow_empty:
            points = center[mine] + radius[mine, None] * points
        labels = inside(points, center, radius)
        if allow_empty:
            return points, labels ^ flip[rows]
        at = np.arange(len(points))
        labels[at, mine] = True  # despite rounding at the boundary
        labels ^= flip[rows]
        labels[at, mine] |= ~labels.any(axis=1)
        return points, labels

    some = slice(0, _ROWS_TO_SCALE_ON)
    scale = _scale_for(cardinality, lambda s: float(place(s, some)[1].sum(axis=1).mean()))
    points, labels = place(scale, slice(None))
    copied = rng.integers(d, size=n_redundant)
    X = np.hstack([points, rng.uniform(-1, 1, (n, n_irrelevant)), points[:, copied]])
    kinds = (("relevant", d), ("irrelevant", n_irrelevant), ("redundant", n_redundant))
    names = [name for kind, count in kinds for name in NumberedNames(kind, count)]
    return Dataset(X, labels.astype(np.int64), names, name=shape)


def _scale_for(cardinality: float, mean_size: Callable[[float], float]) -> float:
    """The scale at which label sets have the given mean size, by bisection."""
    low, high = 0.0, 1.0
    least, most = mean_size(low), mean_size(high)
    if not least <= cardinality <= most:
        raise ValueError(
            f"cardinality must lie between {least:.3g} and {most:.3g} with these "
            f"labels, noise and allow_empty, got {cardinality}"
        )
    if cardinality == most:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        size = mean_size(middle)
        if abs(size - cardinality) <= _CLOSE_ENOUGH * cardinality:
            return middle
        low, high = (middle, high) if size < cardinality else (low, middle)
    return low


def _in_ball(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    """Uniform in the unit ball: a random direction, and a radius whose d-th power is uniform."""
    x = rng.standard_normal((n, d))
    x *= (rng.random(n) ** (1 / d) / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]
    return x


def _in_cube(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    return rng.uniform(-1, 1, (n, d))


def _inside_balls(points: Any, center: Any, radius: Any) -> NDArray[np.bool_]:
    # |x - c|^2 <= r^2, with one matrix product
    reach = radius**2 - (center**2).sum(axis=1)  # (q,)
    return (points**2).sum(axis=1)[:, None] - 2 * points @ center.T <= reach


def _inside_cubes(points: Any, center: Any, radius: Any) -> NDArray[np.bool_]:
    return np.column_stack([(abs(points - c) <= r).all(axis=1) for c, r in zip(center, radius)])


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from any ``random_state`` that scikit-learn accepts."""
    seed = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)


def zipf(n: int, exponent: float) -> NDArray[np.float64]:
    """Probabilities proportional to rank**-exponent."""
    weight = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return weight / weight.sum()


def label_groups(q: int, cardinality: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Random groups of labels of equal sizes, about two label sets each."""
    groups = int(min(q, max(2, round(q / (2 * cardinality + 2)))))
    return rng.permutation(q) % groups
