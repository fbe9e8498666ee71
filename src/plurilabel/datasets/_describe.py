"""Statistics of a multi-label dataset: sizes, label frequencies, imbalance, co-occurrence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import column_names, names_or_default
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.html import html_table
from plurilabel._core.labels import distinct_label_sets
from plurilabel._core.soft import soft_or_hard
from plurilabel._core.unknown import known_part
from plurilabel._core.words import aligned, display_width, shortened

Vector: TypeAlias = NDArray[np.float64]
MOST_LABELS = 20_000_000  # their statistics take some gigabytes


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """Result of :func:`describe`; ``print`` shows a summary.

    With n instances, q labels, Y_i the label set of instance i and c_l the number of instances
    with label l:

    Attributes
    ----------
    name : str
    instances, labels : int
        n and q.
    features : int or None
        None if X is not given.
    label_names : sequence of str
    counts : ndarray of shape (q,)
        c_l.
    cardinality : float
        LCard, mean size of Y_i.
    density : float
        LDen, LCard / q.
    diversity : int
        LDiv, number of distinct label sets, including the empty one if it occurs.
    normalized_diversity : float
        PLDiv, LDiv / n.
    single_label, no_label : int
        Number of instances with exactly one label, and with none.
    label_sets : csr_array of shape (LDiv, q)
        The distinct label sets, the most frequent first.
    set_counts : ndarray of shape (LDiv,)
        How often each occurs.
    irlbl : ndarray of shape (q,)
        IRLbl(l) = max_k c_k / c_l; infinite for a label that never occurs.
    mean_ir, cvir : float
        Mean of IRLbl, and its standard deviation (with q - 1) divided by the mean, both over the
        labels that occur; NaN if undefined. (mldr counts the others as IRLbl 0.)
    scumble : float
        Mean over the instances of ``1 - G_i / A_i``, where G_i and A_i are the geometric and the
        arithmetic mean of IRLbl(l) over the labels in Y_i; 0 for an instance without labels.
    label_scumble : ndarray of shape (q,)
        The same mean over the instances with label l; NaN for a label that never occurs.
    unknown : int
        Number of unknown labels, which count as absent.
    soft : int
        Number of labels between 0 and 1, which count as present above 0.5.
    cooccurrence : csr_array of shape (q, q)
        Number of instances with both labels, c_l on the diagonal. Computed when first used.

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
    labels: int
    label_names: Sequence[str]
    label_sets: sparse.csr_array
    set_counts: NDArray[np.int64]
    unknown: int
    soft: int
    counts: NDArray[np.int64]
    cardinality: float
    density: float
    diversity: int
    normalized_diversity: float
    single_label: int
    no_label: int
    irlbl: Vector
    mean_ir: float
    cvir: float
    scumble: float
    label_scumble: Vector

    def __repr__(self) -> str:
        title = f"Description of {self.name!r}" if self.name else "Description"
        return (
            f"{title}: {self.instances} instances, {self.labels} labels, "
            f"cardinality {self.cardinality:.3f}, {self.diversity} distinct label sets"
        )

    def __str__(self) -> str:
        return self.summary()

    def _figures(self) -> list[tuple[str, str, str]]:
        """Names, values and notes of the summary."""
        n = self.instances
        figures = (
            ("instances", n, ""),
            ("features", self.features, ""),
            ("labels", self.labels, ""),
            ("unknown labels", self.unknown or None,
             f"{self.unknown / (n * self.labels):.1%} of all; counted as absent"),
            ("soft labels", self.soft or None,
             f"{self.soft / (n * self.labels):.1%} of all; counted as present above 0.5"),
            ("cardinality (LCard)", self.cardinality, "labels per instance"),
            ("density (LDen)", self.density, ""),
            ("distinct sets (LDiv)", self.diversity,
             f"{self.normalized_diversity:.1%} of the instances (PLDiv)"),
            ("with a single label", self.single_label, f"{self.single_label / n:.1%}"),
            ("without a label", self.no_label, f"{self.no_label / n:.1%}"),
            ("imbalance (MeanIR)", self.mean_ir, "1 = all labels equally frequent"),
            ("its variation (CVIR)", self.cvir, ""),
            ("concurrence (SCUMBLE)", self.scumble,
             "0 = frequent and rare labels never co-occur"),
        )  # fmt: skip

        def text(value: float) -> str:
            return str(value) if isinstance(value, int) else f"{value:.3f}".replace("nan", "-")

        return [(what, text(value), note) for what, value, note in figures if value is not None]

    def summary(self, top: int = 10) -> str:
        """The statistics as text, with the ``top`` labels, label sets and pairs of labels."""
        shown = self._figures()
        width = max(9, *(len(value) for _, value, _ in shown))
        lines = [self.name, "=" * display_width(self.name)] if self.name else []
        lines += [f"{what:<22}{value:>{width}}  {note}".rstrip() for what, value, note in shown]
        for table in self._blocks(top):
            # the columns of the three tables line up unless something is long
            lines += ["", *aligned(table, least=(20, 5, 5, 5))]
        if never := self.never_present():
            rest = f" and {len(never) - top} more" if len(never) > top else ""
            lines += ["", f"never present ({len(never)}): {', '.join(never[:top])}{rest}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [html_table([], self._figures(), title=self.name, text=True)]
        parts += [html_table(head, rows) for head, *rows in self._blocks(10)]
        return "".join(parts)

    def _blocks(self, top: int) -> Iterator[list[list[str]]]:
        """Tables of the most frequent labels, label sets and pairs, each with its header."""
        labels = [
            self._row([l], self.counts[l], IRLbl=self.irlbl[l])
            for l in np.argsort(-self.counts, kind="stable")[:top]
            if self.counts[l]
        ]
        blocks = {"labels": labels, "sets": self.common_sets(top), "pairs": self.common_pairs(top)}
        for what, rows in blocks.items():
            table = []
            for row in rows:
                names, count, share, *more = row.values()
                name = shortened(" + ".join(names) or "(no label)")
                table.append([name, f"{count}", f"{share:.1%}", *(f"{v:.2f}" for v in more)])
            if rows:
                yield [[f"most frequent {what}", *list(rows[0])[1:]], *table]

    @cached_property
    def cooccurrence(self) -> sparse.csr_array:
        S = self.label_sets.astype(np.int64)
        weighted = S.copy()
        weighted.data *= np.repeat(self.set_counts, np.diff(S.indptr))
        together = (S.T.tocsr() @ weighted).tocsr()
        together.sort_indices()
        return together

    def never_present(self) -> list[str]:
        """Names of the labels that never occur."""
        return [self.label_names[l] for l in np.flatnonzero(self.counts == 0).tolist()]

    def label_table(self) -> list[dict[str, Any]]:
        """One row per label: ``label, count, share, irlbl, scumble``; None where undefined."""
        figures = zip(self.label_names, self.counts, self.irlbl, self.label_scumble)
        return [
            {
                "label": label,
                "count": int(count),
                "share": float(count / self.instances),
                "irlbl": float(ir) if count else None,
                "scumble": float(scumble) if count else None,
            }
            for label, count, ir, scumble in figures
        ]

    def common_sets(self, top: int = 10) -> list[dict[str, Any]]:
        """The most frequent label sets, with ``labels, count, share``."""
        S = self.label_sets[:top]
        sets = [S.indices[start:end] for start, end in pairwise(S.indptr)]
        return [self._row(labels, count) for labels, count in zip(sets, self.set_counts)]

    def common_pairs(self, top: int = 10) -> list[dict[str, Any]]:
        """The most frequent pairs of labels, with ``labels, count, share, lift``.

        Lift is the count divided by that expected for independent labels, ``c_a c_b / n``.
        """
        pairs = sparse.triu(self.cooccurrence, k=1, format="coo")
        a, b, count = pairs.row, pairs.col, pairs.data
        if 0 < top < len(count):  # only sort candidates for the top
            frequent = count >= np.partition(count, len(count) - top)[len(count) - top]
            a, b, count = a[frequent], b[frequent], count[frequent]
        order = np.lexsort((b, a, -count))[:top]
        a, b, count = a[order], b[order], count[order]
        lift = (count / self.counts[a] / self.counts[b] * self.instances).tolist()
        return [self._row(pair, n, lift=x) for *pair, n, x in zip(a, b, count, lift)]

    def _row(self, labels: Any, count: Any, **more: float) -> dict[str, Any]:
        names = [self.label_names[l] for l in labels]
        share = float(count / self.instances)
        return {"labels": names, "count": int(count), "share": share, **more}

    def to_dict(self, top: int = 50) -> dict[str, Any]:
        """All statistics for JSON, with the ``top`` sets and pairs; None where undefined."""
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


def describe(
    Y: Any, *, X: Any = None, label_names: Sequence[str] | None = None, name: str = ""
) -> Description:
    """Compute the statistics of a multi-label dataset.

    Sparse labels stay sparse: a million rows by ten thousand labels take a few seconds.

    Parameters
    ----------
    Y : Dataset, or 0/1 matrix of shape (n, q), dense, sparse or a data frame
        The dataset, or its labels. Soft labels, between 0 and 1, are cut at 0.5.
    X : array-like, sparse matrix or data frame of shape (n, d), optional
        The features, to report their number; not with a Dataset, which has its own.
    label_names : sequence of str, optional
        By default those of the Dataset or data frame, or ``label0, label1, ...``.
    name : str, optional
        Title of the summary; by default that of the Dataset.

    Examples
    --------
    >>> from plurilabel.datasets import describe
    >>> Y = [[1, 0, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0]]
    >>> found = describe(Y, label_names=["sun", "sea", "sand"], name="holidays")
    >>> print(found)
    holidays
    ========
    instances                     4
    labels                        3
    cardinality (LCard)       1.500  labels per instance
    density (LDen)            0.500
    distinct sets (LDiv)          4  100.0% of the instances (PLDiv)
    with a single label           1  25.0%
    without a label               1  25.0%
    imbalance (MeanIR)        1.833  1 = all labels equally frequent
    its variation (CVIR)      0.568
    concurrence (SCUMBLE)     0.030  0 = frequent and rare labels never co-occur
    <BLANKLINE>
    most frequent labels  count  share  IRLbl
    sun                       3  75.0%   1.00
    sand                      2  50.0%   1.50
    sea                       1  25.0%   3.00
    <BLANKLINE>
    most frequent sets    count  share
    sun + sand                1  25.0%
    sun                       1  25.0%
    sun + sea + sand          1  25.0%
    (no label)                1  25.0%
    <BLANKLINE>
    most frequent pairs   count  share   lift
    sun + sand                2  50.0%   1.33
    sun + sea                 1  25.0%   1.33
    sea + sand                1  25.0%   2.00
    >>> found.mean_ir
    1.8333333333333333
    >>> found.label_table()[1]["label"]
    'sea'
    """
    names: Sequence[str] | None = column_names(Y)
    if isinstance(Y, Dataset):
        if X is not None:
            raise ValueError("X must not be given with a Dataset, which has its own")
        X, Y, names, name = Y.X, Y.Y, Y.label_names, name or Y.name
    known, unknown = known_part(Y)
    labels, soft = soft_or_hard(known), 0
    if labels.dtype.kind == "f":
        values = labels.data if sparse.issparse(labels) else labels
        soft = int(((values > 0) & (values < 1)).sum())
        labels = (labels > 0.5).astype(np.int8)
    n, q = labels.shape
    if n == 0 or q == 0:
        raise ValueError(f"Y must have at least one row and one label, got shape {(n, q)}")
    if q > MOST_LABELS:
        raise ValueError(f"Y must have at most {MOST_LABELS:,} labels to be described, got {q:,}")
    label_sets, set_counts = distinct_label_sets(sparse.csr_array(labels))
    return Description(
        name=name,
        instances=n,
        features=None if X is None else _n_features(X, n),
        labels=q,
        label_names=names_or_default(names if label_names is None else label_names, q),
        label_sets=label_sets,
        set_counts=set_counts,
        unknown=0 if unknown is None else int(unknown.sum()),
        soft=soft,
        **_statistics(label_sets, set_counts, n),
    )


def _statistics(S: sparse.csr_array, set_counts: NDArray[np.int64], n: int) -> dict[str, Any]:
    """The statistics of n instances with the label sets S, (sets, q)."""
    sizes, q = np.diff(S.indptr).astype(np.int64), S.shape[1]

    def total(weights: NDArray[Any]) -> NDArray[Any]:
        """Sum of the weights of the sets with each label, (q,)."""
        spread = np.repeat(weights, sizes)
        return np.bincount(S.indices, weights=spread, minlength=q).astype(weights.dtype)

    counts = total(set_counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        irlbl = np.where(counts > 0, counts.max() / counts, np.inf)
    present = irlbl[counts > 0]
    scumble = set_scumble(S, np.where(counts > 0, irlbl, 1.0))
    cardinality = float(counts.sum() / n)
    with np.errstate(invalid="ignore"):
        label_scumble = total(scumble * set_counts) / counts
    return {
        "counts": counts,
        "cardinality": cardinality,
        "density": cardinality / q,
        "diversity": len(sizes),
        "normalized_diversity": len(sizes) / n,
        "single_label": int(set_counts[sizes == 1].sum()),
        "no_label": int(set_counts[sizes == 0].sum()),
        "irlbl": irlbl,
        "mean_ir": float(present.mean()) if len(present) else np.nan,
        "cvir": float(present.std(ddof=1) / present.mean()) if len(present) > 1 else np.nan,
        "scumble": float(scumble @ set_counts / n),
        "label_scumble": label_scumble,
    }


def set_scumble(S: sparse.csr_array, ir: Vector) -> Vector:
    """1 - geometric / arithmetic mean of the IRLbl in each label set; 0 for at most one label."""
    sizes, S = np.diff(S.indptr), S.astype(np.float64)
    geometric = np.exp(S @ np.log(ir) / np.maximum(sizes, 1))
    arithmetic = np.maximum(S @ ir / np.maximum(sizes, 1), 1.0)  # an empty set has none
    return np.where(sizes > 1, np.maximum(1 - geometric / arithmetic, 0), 0)


def _n_features(X: Any, n: int) -> int:
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) < 2 or shape[0] != n:
        raise ValueError(f"X must have {n} rows like Y, got shape {tuple(shape)}")
    return int(shape[-1])
