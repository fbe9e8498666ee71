"""LabelForest: extremely randomised trees that see the labels through random projections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import AtLeastOne, Part
from plurilabel._core.fitted import Declared, labels, values
from plurilabel.learners.extreme._sparse_scores_classifier import SparseScoresClassifier

ENTRIES = 2**22  # training instances in the leaves of a block of rows, roughly
MOST_DENSE = 2**26  # values of sparse features up to which trees get a dense copy


@dataclass(eq=False, repr=False)
class LabelForest(SparseScoresClassifier):
    """A forest for very many labels, whose trees split by random projections of the label sets.

    Each extremely randomised tree is grown to predict a few random combinations of the labels, so
    that its cost does not grow with their number. The score of a label is the mean over the trees
    of its frequency among the training instances in the leaf of x.

    Parameters
    ----------
    n_estimators : int, default=100
    n_components : int, default=5
        Combinations of the labels that a tree is grown for, with coefficients 1 and -1.
    max_features : float, default=0.1
        Share of the features that are tried at each split.
    min_samples_leaf : int, default=2
        Training instances in a leaf, at least.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
    leaves_ : list of ndarray of shape (n,)
        The leaf of each training instance, by tree.
    Y_ : csr_array of shape (n, q)
        The training labels.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    Combinations differ between trees, so that few are enough. Sparse X with up to 67 million
    values, zeros included, is made dense, since trees are several times faster then.

    References
    ----------
    A. Joly, P. Geurts, L. Wehenkel. Random forests with random projections of the output space for
    high dimensional multi-label classification. ECML PKDD 2014.

    Examples
    --------
    >>> from plurilabel import LabelForest, datasets, metrics
    >>> data = datasets.make_sparse_multilabel(1000, 500, 200, random_state=0)
    >>> learner = LabelForest(random_state=0).fit(data.X[:800], data.Y[:800])
    >>> top = learner.predict_top(data.X[800:], k=5)
    >>> round(metrics.precision_at_k(data.Y[800:], top, 1), 1)
    0.9
    """

    _fitted: ClassVar[Declared] = {
        "estimators_": values("t"), "leaves_": values("t"), "Y_": labels("n", "n_labels_"),
    }  # fmt: skip

    n_estimators: int = 100
    _: KW_ONLY
    n_components: AtLeastOne = 5
    max_features: Part = 0.1
    min_samples_leaf: AtLeastOne = 2
    random_state: Any = None

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.Y_ = sparse.csr_array(Y, copy=True)
        Y, X = self.Y_.astype(np.float64), _for_trees(X)
        rng = check_random_state(self.random_state)
        self.estimators_, self.leaves_ = [], []
        for _ in range(self.n_estimators):
            # whole numbers, whose sums do not depend on the order of the rows
            Z = Y @ rng.choice([-1.0, 1.0], (Y.shape[1], self.n_components))  # (n, n_components)
            tree = ExtraTreeRegressor(
                max_features=self.max_features,
                min_samples_leaf=self.min_samples_leaf,
                random_state=rng.randint(2**31 - 1),
            ).fit(X, Z)
            self.estimators_.append(tree)
            self.leaves_.append(tree.apply(X).astype(np.int32))

    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]:
        n, Y = self.Y_.shape[0], self.Y_.astype(np.float64)
        shares = []  # of the training instances in each leaf, (leaves, n), by tree
        for leaves in self.leaves_:
            held = np.bincount(leaves)
            weights = 1 / (len(self.leaves_) * held[leaves])
            shares.append(sparse.csr_array((weights, (leaves, np.arange(n))), (len(held), n)))
        size, found = sum(share.nnz / len(share.indptr) for share in shares), []
        for rows in row_blocks(X.shape[0], max(1, int(size)), ENTRIES):
            A: Any = _for_trees(X[rows])
            near = sum(share[tree.apply(A)] for tree, share in zip(self.estimators_, shares))
            scores = sparse.csr_array(near @ Y)
            scores.data = np.minimum(scores.data, 1)  # sums may exceed 1 in the last bit
            found.append(then(scores))
        return found


def _for_trees(X: Any) -> Any:
    """Features in single precision, as trees take them; dense if that is not large."""
    with np.errstate(over="ignore"):  # infinite values are refused by the trees
        if sparse.issparse(X) and X.shape[0] * X.shape[1] > MOST_DENSE:
            return sparse.csr_matrix(X, dtype=np.float32)
        return np.ascontiguousarray(dense(X), dtype=np.float32)
