"""What every reader, loader and generator returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._bags import Bags
from plurilabel.base import NumberedNames, default_feature_names, default_label_names

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
        0/1 labels, int64; sparse where the source is. For :mod:`plurilabel.graded`: grades, or
        degrees that sum to one.
    feature_names, label_names : sequence of str
        One per column; by default ``x0, x1, ...`` and ``label0, label1, ...``. Any sequence will
        do, and is kept as a tuple.
    train, test : ndarray of int, or None
        Row numbers of the published split, if there is one.
    name, citation : str
    label_parents : tuple of int, or None
        For labels in a hierarchy: the column of each label's parent, -1 for a root.
    tag_sep : str or None
        For labels that were tags in one cell of a table: what separated them.
    written : mapping of str to str
        For a table: how the numbers or dates of a column are written, where that is not the
        usual way: "decimal comma", "day first" or "month first".

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
    label_parents: tuple[int, ...] | None = None
    tag_sep: str | None = None
    written: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, d, q = self.X.shape[0], self.X.shape[-1], self.Y.shape[1]
        if self.Y.shape[0] != n:
            raise ValueError(f"X has {n} rows, but Y has {self.Y.shape[0]}")
        for what, size, default in (
            ("feature_names", d, default_feature_names),
            ("label_names", q, default_label_names),
        ):
            names = getattr(self, what)
            if not isinstance(names, tuple | NumberedNames):
                names = tuple(map(str, names))
            names = names or default(size)
            object.__setattr__(self, what, names)
            if len(names) != size:
                raise ValueError(f"{what} has {len(names)} entries for {size} columns")
        if self.label_parents is not None and len(self.label_parents) != q:
            raise ValueError(f"label_parents has {len(self.label_parents)} entries for {q} labels")

    @property
    def has_bags(self) -> bool:
        """Whether X consists of bags of instances."""
        return isinstance(self.X, Bags) or self.X.ndim != 2

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

    def holdout(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """``X_train, X_test, Y_train, Y_test`` of the published split."""
        if self.train is None or self.test is None:
            raise ValueError(
                f"{self.name or 'this dataset'} has no published split; "
                "use model_selection.stratified_split or cross-validation"
            )
        return self.X[self.train], self.X[self.test], self.Y[self.train], self.Y[self.test]
