"""Dataset: what every reader, loader and generator returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import NumberedNames
from plurilabel._core.blocks import dense
from plurilabel._core.compat import import_extra, safe_indexing
from plurilabel._core.data.bags import Bags
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.html import html_table
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import check_unicode, shortened

Matrix: TypeAlias = NDArray[Any] | sparse.csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Instances, their labels, and the names of both.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, d)
        Features as numbers, float64; NaN where a value is missing. For bags of instances:
        a :class:`~plurilabel.bags.Bags`, or an array (n, instances, d). For a table that is not
        encoded yet: a data frame.
    Y : ndarray or csr_array of shape (n, q)
        0/1 labels, int64; sparse where the source is. If some are unknown, float64 with NaN,
        or :class:`~plurilabel.datasets.UnknownLabels` of a sparse source. For
        :mod:`plurilabel.graded`: grades, or degrees that sum to one. A data frame after
        :meth:`as_frame`.
    feature_names, label_names : sequence of str
        One per column; by default ``x0, x1, ...`` and ``label0, label1, ...``. Any sequence will
        do, and is kept as a tuple.
    train, test : ndarray of int, or None
        Row numbers of the published split, if there is one.
    name, citation : str
    label_parents : tuple, or None
        For labels in a hierarchy: the column of each label's parent, -1 for a root, or a tuple of
        columns if there are several; see ``hierarchy``.
    tag_sep : str or None
        For labels that were tags in one cell of a table: what separated them.
    written : mapping of str to str
        For a table: how the numbers or dates of a column are written, where that is not the
        usual way: "decimal comma", "day first" or "month first".
    kinds : mapping of str to str
        For a table that is not encoded yet: "numbers", "dates", "categories" or "text" for each
        column of X.
    left_out : mapping of str to str
        For a table: columns that identify its rows and are not in X, each with what shows it.
    groups : array of shape (n,), or None
        Rows of one group belong together: splits never separate them.
    ordered : bool
        Whether the rows are in the order of time: splits test on later rows than they learn from.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(2), np.array([[1, 0, 1], [0, 0, 1]]), name="toy")
    >>> data
    Dataset 'toy': 2 instances, 2 features, 3 labels
    >>> data.label_names
    ('label0', 'label1', 'label2')
    """

    X: Matrix
    Y: Matrix
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    train: NDArray[np.intp] | None = None
    test: NDArray[np.intp] | None = None
    name: str = ""
    citation: str = ""
    label_parents: tuple[int | tuple[int, ...], ...] | None = None
    tag_sep: str | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    groups: NDArray[Any] | None = None
    ordered: bool = False

    def __post_init__(self) -> None:
        n, d, q = self.X.shape[0], self.X.shape[-1], self.Y.shape[1]
        if self.Y.shape[0] != n:
            raise ValueError(f"X has {n} rows, but Y has {self.Y.shape[0]}")
        for what, size, stem in (("feature_names", d, "x"), ("label_names", q, "label")):
            names = getattr(self, what)
            if not isinstance(names, tuple | NumberedNames):
                names = tuple(map(str, names))
            names = names or NumberedNames(stem, size)
            object.__setattr__(self, what, names)
            if not isinstance(names, NumberedNames):
                check_unicode(map(str, names), what)
            if len(names) != size:
                raise ValueError(f"{what} has {len(names)} entries for {size} columns")
        if self.groups is not None and len(self.groups) != n:
            raise ValueError(f"groups has {len(self.groups)} entries for {n} rows")
        if self.groups is not None and self.ordered:
            raise ValueError("groups and an order in time cannot be kept at once: choose one")
        if self.label_parents is not None and len(self.label_parents) != q:
            raise ValueError(f"label_parents has {len(self.label_parents)} entries for {q} labels")

    @property
    def has_bags(self) -> bool:
        """Whether X consists of bags of instances."""
        return isinstance(self.X, Bags) or self.X.ndim != 2

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy of the labels, if there is one."""
        if self.label_parents is None:
            return None
        above = [one if isinstance(one, tuple) else (one,) for one in self.label_parents]
        edges = [(l, parent) for l, parents in enumerate(above) for parent in parents]
        known = np.array(edges, dtype=np.intp).reshape(-1, 2)
        return Hierarchy.from_edges(self.label_names, known[known[:, 1] >= 0])

    def __repr__(self) -> str:
        title = f"Dataset {self.name!r}" if self.name else "Dataset"
        n, d, q = self.X.shape[0], self.X.shape[-1], self.Y.shape[1]
        sizes = [
            f"{size} {what}{'s' * (size != 1)}"
            for size, what in ((n, "instance"), (d, "feature"), (q, "label"))
        ]
        split = ""
        if self.train is not None and self.test is not None:
            split = f" (split {len(self.train)}/{len(self.test)})"
        return f"{title}: {', '.join(sizes)}{split}"

    def _repr_html_(self) -> str:
        n, d, q = self.X.shape[0], self.X.shape[-1], self.Y.shape[1]
        labels, unknown = known_part(self.Y)
        total = float(np.asarray(labels.sum(axis=0)).sum())
        rows = [
            ["instances", f"{n:,}", ""],
            ["features", f"{d:,}", shortened(", ".join(self.feature_names[:8]), 80)],
            ["labels", f"{q:,}", shortened(", ".join(self.label_names[:8]), 80)],
            ["labels per instance", f"{total / max(n, 1):.2f}", ""],
        ]
        if unknown is not None:
            rows.append(["labels not known", f"{int(unknown.sum()):,}", f"of {n * q:,}"])
        if self.train is not None and self.test is not None:
            rows.append(["published split", f"{len(self.train):,} / {len(self.test):,}", ""])
        return html_table([], rows, title=self.name, note=self.citation, text=True)

    def holdout(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """``X_train, X_test, Y_train, Y_test`` of the published split."""
        if self.train is None or self.test is None:
            raise ValueError(
                f"{self.name or 'this dataset'} has no published split; "
                "use model_selection.stratified_split or cross-validation"
            )
        X_train, X_test = (safe_indexing(self.X, rows) for rows in (self.train, self.test))
        Y_train, Y_test = (safe_indexing(self.Y, rows) for rows in (self.train, self.test))
        return X_train, X_test, Y_train, Y_test

    def as_frame(self) -> Dataset:
        """The same with X and Y as data frames, whose columns have the names.

        Learners keep the names of a frame: ``feature_names_in_``, ``label_names_``. Needs pandas:
        ``pip install plurilabel[table]``.

        Returns
        -------
        Dataset
            Sparse features become sparse columns, which learners read as a sparse matrix; labels
            are dense.

        Examples
        --------
        >>> import numpy as np
        >>> Y = np.array([[1, 0], [1, 1]])
        >>> data = Dataset(np.eye(2), Y, label_names=["sea", "sun"]).as_frame()
        >>> data.Y
           sea  sun
        0    1    0
        1    1    1
        """
        pd = import_extra("pandas", "as_frame", "table")
        if self.has_bags:
            raise ValueError(f"{self.name or 'this dataset'} has bags, which are not a table")

        def framed(M: Any, names: Sequence[str]) -> Any:
            if hasattr(M, "columns"):
                return M
            if sparse.issparse(M):
                return pd.DataFrame.sparse.from_spmatrix(M, columns=list(names))
            return pd.DataFrame(M, columns=list(names))

        Y: Any = self.Y
        if isinstance(Y, UnknownLabels):
            Y = Y.toarray()
        elif not hasattr(Y, "columns"):
            Y = dense(Y)
        return replace(self, X=framed(self.X, self.feature_names), Y=framed(Y, self.label_names))
