"""What is in a multi-label dataset: sizes, label frequencies, imbalance, co-occurrence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.datasets._describe_text import summary_text

Vector: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """What :func:`describe` found. ``print`` shows it; all figures are attributes.

    It holds the distinct label sets and how often each occurs, from which everything follows.
    With n instances, q labels, Y_i the label set of instance i and c_l the number of instances
    with label l:

    Attributes
    ----------
    name : str
    instances : int
        n.
    features : int or None
        None if the features are not known.
    label_names : tuple of str
    labels : int
        q.
    counts : ndarray of shape (q,)
        c_l.
    cardinality : float
        LCard, mean size of Y_i.
    density : float
        LDen, LCard / q.
    diversity : int
        LDiv, number of distinct label sets; the empty one counts if it occurs.
    normalized_diversity : float
        PLDiv, LDiv / n.
    single_label, no_label : int
        Instances with exactly one label, with none.
    label_sets : csr_array of shape (LDiv, q)
        The distinct label sets, the most frequent first.
    set_counts : ndarray of shape (LDiv,)
        How often each occurs.
    irlbl : ndarray of shape (q,)
        IRLbl(l) = max_k c_k / c_l; infinite for a label that is never present.
    mean_ir, cvir : float
        Mean of IRLbl, and its standard deviation (with q - 1) divided by the mean, both over the
        labels that are present. (mldr counts absent labels as IRLbl 0.) NaN where undefined.
    scumble : float
        Mean over the instances of ``1 - G_i / A_i``, where G_i and A_i are the geometric and the
        arithmetic mean of IRLbl(l) over the labels in Y_i; 0 for an instance without labels.
    label_scumble : ndarray of shape (q,)
        The same mean over the instances with label l; NaN for a label that is never present.
    cooccurrence : csr_array of shape (q, q)
        Instances that have both labels; the diagonal holds c_l. Computed on first use.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 2015
    (IRLbl, MeanIR, CVIR).

    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Dealing with difficult minority labels
    in imbalanced multilabel data sets. Neurocomputing 326, 2019 (SCUMBLE).

    M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning algorithms. IEEE TKDE 26(8), 2014
    (LCard, LDen, LDiv, PLDiv).

    Examples
    --------
    >>> from plurilabel.datasets import describe
    >>> describe([[1, 0], [1, 1], [1, 0]])
    Description: 3 instances, 2 labels, cardinality 1.333, 2 distinct label sets
    """

    name: str
    instances: int
    features: int | None
    label_names: tuple[str, ...]
    label_sets: sparse.csr_array
    set_counts: NDArray[np.int64]

    def __repr__(self) -> str:
        title = f"Description of {self.name!r}" if self.name else "Description"
        return (
            f"{title}: {self.instances} instances, {self.labels} labels, "
            f"cardinality {self.cardinality:.3f}, {self.diversity} distinct label sets"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self, top: int = 10) -> str:
        """The figures as a table for a terminal, with the ``top`` labels, sets and pairs."""
        return summary_text(self, top)

    @property
    def labels(self) -> int:
        return len(self.label_names)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return self._total(self.set_counts)

    @cached_property
    def cardinality(self) -> float:
        return float(self.counts.sum() / self.instances)

    @property
    def density(self) -> float:
        return self.cardinality / self.labels

    @property
    def diversity(self) -> int:
        return len(self.set_counts)

    @property
    def normalized_diversity(self) -> float:
        return self.diversity / self.instances

    @property
    def single_label(self) -> int:
        return int(self.set_counts[self._set_sizes == 1].sum())

    @property
    def no_label(self) -> int:
        return int(self.set_counts[self._set_sizes == 0].sum())

    @cached_property
    def irlbl(self) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.counts > 0, self.counts.max() / self.counts, np.inf)

    @property
    def mean_ir(self) -> float:
        present = self.irlbl[self.counts > 0]
        return float(present.mean()) if len(present) else np.nan

    @property
    def cvir(self) -> float:
        present = self.irlbl[self.counts > 0]
        return float(present.std(ddof=1) / present.mean()) if len(present) > 1 else np.nan

    @property
    def scumble(self) -> float:
        return float(self._set_scumble @ self.set_counts / self.instances)

    @cached_property
    def label_scumble(self) -> Vector:
        with np.errstate(invalid="ignore"):
            return self._total(self._set_scumble * self.set_counts) / self.counts

    @cached_property
    def cooccurrence(self) -> sparse.csr_array:
        S = self.label_sets.astype(np.int64)
        weighted = S.copy()
        weighted.data *= np.repeat(self.set_counts, self._set_sizes)
        together = (S.T.tocsr() @ weighted).tocsr()
        together.sort_indices()
        return together

    def never_present(self) -> list[str]:
        """Names of the labels that no instance has."""
        return [self.label_names[l] for l in np.flatnonzero(self.counts == 0)]

    def label_table(self) -> list[dict[str, Any]]:
        """One row per label: ``label, count, share, irlbl, scumble``; None where undefined."""
        return [
            {
                "label": label,
                "count": int(count),
                "share": float(count / self.instances),
                "irlbl": float(ir) if count else None,
                "scumble": float(scumble) if count else None,
            }
            for label, count, ir, scumble in zip(
                self.label_names, self.counts, self.irlbl, self.label_scumble
            )
        ]

    def common_sets(self, top: int = 10) -> list[dict[str, Any]]:
        """The most frequent label sets: ``labels, count, share``."""
        S = self.label_sets[:top]
        return [
            {
                "labels": [self.label_names[l] for l in S.indices[start:end]],
                "count": int(count),
                "share": float(count / self.instances),
            }
            for start, end, count in zip(S.indptr, S.indptr[1:], self.set_counts)
        ]

    def common_pairs(self, top: int = 10) -> list[dict[str, Any]]:
        """The pairs of labels most often together: ``labels, count, share, lift``.

        Lift is the count divided by the one expected of independent labels, ``c_a c_b / n``.
        """
        pairs = sparse.triu(self.cooccurrence, k=1, format="coo")
        a, b, count = pairs.row, pairs.col, pairs.data
        if 0 < top < len(count):  # sort only what can be among the first
            frequent = count >= np.partition(count, len(count) - top)[len(count) - top]
            a, b, count = a[frequent], b[frequent], count[frequent]
        order = np.lexsort((b, a, -count))[:top]
        a, b, count = a[order], b[order], count[order]
        lift = count / self.counts[a] / self.counts[b] * self.instances
        return [
            {
                "labels": [self.label_names[a[i]], self.label_names[b[i]]],
                "count": int(count[i]),
                "share": float(count[i] / self.instances),
                "lift": float(lift[i]),
            }
            for i in range(len(count))
        ]

    def to_dict(self, top: int = 50) -> dict[str, Any]:
        """All figures as JSON takes them, with the ``top`` sets and pairs; None for undefined."""
        figures: dict[str, Any] = {
            key: getattr(self, key)
            for key in (
                "name", "instances", "features", "labels", "cardinality", "density", "diversity",
                "normalized_diversity", "single_label", "no_label", "mean_ir", "cvir", "scumble",
            )
        }  # fmt: skip
        figures = {key: None if value != value else value for key, value in figures.items()}
        return figures | {
            "label_table": self.label_table(),
            "common_sets": self.common_sets(top),
            "common_pairs": self.common_pairs(top),
            "never_present": self.never_present(),
        }

    @cached_property
    def _set_sizes(self) -> NDArray[np.int64]:
        return np.diff(self.label_sets.indptr).astype(np.int64)

    @cached_property
    def _set_scumble(self) -> Vector:
        """1 - geometric / arithmetic mean of IRLbl over each distinct set: Atkinson's index."""
        S, size = self.label_sets.astype(np.float64), np.maximum(self._set_sizes, 1)
        ir = np.where(self.counts > 0, self.irlbl, 1.0)
        geometric = np.exp(S @ np.log(ir) / size)
        arithmetic = np.maximum(S @ ir / size, 1.0)  # IRLbl is at least 1; an empty set has none
        # one label, or none, has no spread, whatever exp and log leave in the last digit
        return np.where(self._set_sizes > 1, np.maximum(1 - geometric / arithmetic, 0), 0)

    def _total(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Sum of the weights of the sets that hold each label, (q,)."""
        spread = np.repeat(weights, self._set_sizes)
        total = np.bincount(self.label_sets.indices, weights=spread, minlength=self.labels)
        return total.astype(weights.dtype)
