"""The base class of learners of bags, and explanations by the instances of a bag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from plurilabel._core.base import LabelMatrix, MultiLabelClassifier, default_label_names
from plurilabel._core.blocks import dense
from plurilabel._core.data.bags import Bags, as_bags, is_bags
from plurilabel._core.explanation.contributions import Explained, Given
from plurilabel._core.html import html_table
from plurilabel._core.words import display_width, filled
from plurilabel.metrics import label_scores


def validated_bags(estimator: Any, X: Any, *, reset: bool) -> Bags | None:
    """X as bags, with the number of features checked; None if X does not consist of bags."""
    if not is_bags(X):
        return None
    bags = X if isinstance(X, Bags) else Bags(X)
    if len(bags) == 0:
        who = type(estimator).__name__
        raise ValueError(f"Found 0 bags (0 sample(s)) while a minimum of 1 is required by {who}.")
    if reset:
        validate_data(estimator, bags, reset=True, skip_check_array=True)
        if bags.feature_names is not None:
            estimator.feature_names_in_ = np.array(bags.feature_names, dtype=object)
        return bags
    if bags.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {bags.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    names, given = getattr(estimator, "feature_names_in_", None), bags.feature_names
    if names is not None and given is not None and list(names) != list(given):
        raise ValueError(
            f"X must have the columns of fit, in order: {', '.join(names)}, got {', '.join(given)}"
        )
    return bags


class BagClassifier(MultiLabelClassifier):
    """Base class of learners of bags.

    X is a :class:`Bags`, or anything that makes one: a list of matrices or an array of shape
    (n, m, d). The rows of a matrix (n, d) are bags of one instance. Hooks get :class:`Bags`.
    """

    def _validate_X(self, X: Any, *, reset: bool) -> Bags:
        bags = validated_bags(self, X, reset=reset)
        if bags is None:
            bags = Bags.from_rows(super()._validate_X(X, reset=reset))
        return bags

    def _explain(self, X: Bags, _: Given) -> list[BagExplanation]:
        """Explain each bag by its instances, which are left out as wholes."""
        return explain_bags(self, X)


def as_targets(Y: LabelMatrix) -> NDArray[np.float64]:
    """Labels as -1 and 1, (n, q)."""
    return 2.0 * dense(Y) - 1


def with_constants(scores: NDArray[np.float64], constant: NDArray[np.float64]) -> Any:
    """Set the scores of constant labels: 1 if every training bag has it, -1 if none does."""
    known = constant != 0
    scores[:, known] = constant[known]
    return scores


def constants_of(Y: LabelMatrix) -> NDArray[np.float64]:
    """For each label 1 if all bags have it, -1 if none has, else 0."""
    n_l = np.asarray(Y.sum(axis=0, dtype=np.int64)).ravel()
    return np.where(n_l == 0, -1.0, np.where(n_l == Y.shape[0], 1.0, 0.0))


LOST = "what the score loses without each instance"


@dataclass(frozen=True, eq=False)
class BagExplanation(Explained):
    """The scores of one bag, and the contributions of its instances.

    Attributes
    ----------
    scores : array of shape (q,)
        Of the bag.
    shares : array of shape (m, q)
        What each instance adds: the score of the bag minus that of the bag without it, or all if
        it is alone. For :class:`MIMLBoost`, the terms of the mean that is its score.
    alone : array of shape (m, q)
        The score of each instance as a bag of its own.
    label_names : tuple of str
    scales : tuple of str
        What the shares are, for each label: parts of the score, or what is lost without them.
    """

    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    alone: NDArray[np.float64]
    label_names: tuple[str, ...]
    scales: tuple[str, ...]

    @property
    def base(self) -> NDArray[np.float64]:
        """Zeros, since a bag begins with nothing."""
        return np.zeros(len(self.label_names))

    @property
    def parts(self) -> NDArray[np.float64]:
        """The same as ``shares``."""
        return self.shares

    @property
    def part_names(self) -> tuple[str, ...]:
        """The instances of the bag, by their numbers."""
        return tuple(f"instance {i}" for i in range(len(self.shares)))

    def __getitem__(self, label: str | int) -> NDArray[np.float64]:
        """The shares of the instances in one label, given by its name or number."""
        return self.shares[:, self._number(label)]

    def best(self, label: str | int) -> int:
        """The instance that adds most to the score of a label."""
        return int(self.shares[:, self._number(label)].argmax())

    def __str__(self) -> str:
        width = max(5, *map(display_width, self.label_names))
        head = f"{'label':{width}}   score  instances that speak for it (share)"
        lines = [f"{filled(label, width)}  {score}  {told}" for label, score, told in self._rows()]
        return "\n".join([head, *lines])

    def _rows(self) -> Iterator[list[str]]:
        """Label, score and instances as text, the highest score first."""
        for j in np.argsort(-self.scores, kind="stable"):
            shares = self.shares[:, j]
            order = np.argsort(-shares, kind="stable")[:3]
            told = ", ".join(f"{i} ({shares[i]:+.3f})" for i in order if shares[i] > 0)
            yield [self.label_names[j], f"{self.scores[j]:+.3f}", told or "-"]

    def _repr_html_(self) -> str:
        head = ["label", "score", "instances that speak for it (share)"]
        return html_table(head, list(self._rows()), text=True)


def explain_bags(estimator: Any, X: Any) -> list[BagExplanation]:
    """Explain the labels of bags by leaving out one instance at a time.

    Parameters
    ----------
    estimator : fitted classifier of bags
        One of this package, or a pipeline such as ``make_pipeline(BagsToRows(), MLkNN())``.
    X : bags

    Examples
    --------
    >>> from plurilabel.bags import Bags, explain_bags
    >>> from plurilabel import MIMLkNN
    >>> sand, sea, sky = [0.0, 0.0], [9.0, 0.0], [0.0, 9.0]
    >>> bags = Bags([[sand, sea], [sea], [sky, sand], [sky], [sea, sky], [sand]])
    >>> Y = [[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0]]
    >>> learner = MIMLkNN(n_neighbors=2, n_citers=2).fit(bags, Y)
    >>> why = explain_bags(learner, Bags([[sand, sea]]))[0]
    >>> why.best(0), why.best(1)
    (0, 1)
    """
    bags = as_bags(X)
    scores, alone = _scores(estimator, bags), _scores(estimator, Bags.from_rows(bags.instances))
    shares = alone.copy()
    at = np.flatnonzero(bags.sizes[bags.owner] > 1)
    if at.size:
        # each instance of a larger bag is left out once
        starts, ends = bags.offsets[bags.owner[at]], bags.offsets[bags.owner[at] + 1]
        kept = [np.r_[start:j, j + 1 : end] for start, j, end in zip(starts, at, ends)]
        offsets = np.concatenate(([0], np.cumsum(ends - starts - 1)))
        rest = Bags(bags.instances[np.concatenate(kept)], offsets)
        shares[at] = scores[bags.owner[at]] - _scores(estimator, rest)
    return explanations(bags, scores, shares, alone, estimator, LOST)


def explanations(
    bags: Bags, scores: Any, shares: Any, alone: Any, estimator: Any, scale: str
) -> list[BagExplanation]:
    """One for each bag, from what was found for all instances (N, q)."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    names = getattr(last, "label_names_", None)
    names = tuple(default_label_names(scores.shape[1]) if names is None else names)
    scales = (scale,) * len(names)
    return [
        BagExplanation(scores[i], shares[rows], alone[rows], names, scales)
        for i, rows in enumerate(starmap(slice, pairwise(bags.offsets)))
    ]


def _scores(estimator: Any, bags: Any) -> NDArray[np.float64]:
    return np.asarray(label_scores(estimator, bags), dtype=np.float64)
