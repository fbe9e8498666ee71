"""MLDecisionTree: one tree for all labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch

from plurilabel._core.blocks import dense
from plurilabel._core.compat import constraints_of
from plurilabel._core.unknown import UnknownLabels
from plurilabel.learners.adaptation._tree_classifier import TreeClassifier, engine_labels


@dataclass(eq=False, repr=False)
class MLDecisionTree(TreeClassifier):
    """ML-DT: a decision tree whose splits serve all labels at once.

    The impurity of a node is the multi-label entropy, the sum over the labels of the entropy of
    having the label, ::

        MLEnt = sum_j -p_j log2 p_j - (1 - p_j) log2 (1 - p_j),

    where p_j is the frequency of label j in the node. The probability of a label is its frequency
    in the leaf of x; labels with a probability above 0.5 are predicted.

    Parameters
    ----------
    criterion : {"entropy", "gini"}, default="entropy"
        ``"gini"`` sums the labels' Gini impurities instead. It is faster: see the notes.
    splitter : {"best", "random"}, default="best"
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, \
max_leaf_nodes, min_impurity_decrease, random_state :
        As in :class:`sklearn.tree.DecisionTreeClassifier`, with its defaults.
    ccp_alpha : float, default=0.0
        Strength of minimal cost-complexity pruning; see :meth:`cost_complexity_pruning_path`.

    Attributes
    ----------
    estimator_ : sklearn.tree.DecisionTreeClassifier or DecisionTreeRegressor
        The tree, for ``sklearn.tree.plot_tree`` and similar functions.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the decrease of impurity; as the next two, computed on access.
    label_importances_ : ndarray of shape (q,)
        Share of each label in the decrease of impurity.
    label_feature_importances_ : ndarray of shape (q, d)
        Share of each label and feature: the decrease of the label's own impurity by splits on the
        feature. Sums to the two attributes above.
    constant_ : ndarray of shape (q,)
        The value of labels that all or no training instances have, NaN for the others.

    Notes
    -----
    The tree is grown by scikit-learn, which averages over the labels instead of summing. So
    ``min_impurity_decrease`` and ``ccp_alpha`` are in units of MLEnt / q for ``"entropy"``. For
    ``"gini"`` they are in units of the mean of p (1 - p), half the Gini impurity: that is the
    variance of a 0/1 label, so a regression tree makes the same splits, without logarithms (for
    times see :class:`MLRandomForest`).

    Labels may be unknown. Splits then always use ``"gini"``, with unknown labels set to the mean
    of the known ones. The frequencies in a node are those among the known labels, or those of its
    parent if none is known.

    Dense features may have missing values. Sparse X stays sparse. Y is made dense and takes 8 n q
    bytes; each node takes 16 q bytes (8 q for ``"gini"``).

    References
    ----------
    A. Clare, R. D. King. Knowledge discovery in multi-label phenotype data. PKDD 2001.

    Examples
    --------
    >>> from plurilabel import MLDecisionTree
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> Y = [[1, 1], [1, 0], [0, 1], [0, 0]]
    >>> tree = MLDecisionTree(random_state=0).fit(X, Y)
    >>> tree.predict([[0.2, 0.8]])
    array([[1, 1]])
    >>> tree.label_feature_importances_
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    _parameter_constraints = constraints_of(DecisionTreeClassifier, "splitter")

    _: KW_ONLY
    splitter: str = "best"

    def _engine(self, criterion: str) -> DecisionTreeClassifier | DecisionTreeRegressor:
        params = self.get_params(deep=False)
        if criterion == "entropy":
            return DecisionTreeClassifier(**params)
        return DecisionTreeRegressor(**{**params, "criterion": "squared_error"})

    def _trees(self) -> list[Any]:
        return [self.estimator_]

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Compute the values of ``ccp_alpha`` at which pruning removes further nodes.

        Parameters
        ----------
        X, y, sample_weight : as in ``fit``

        Returns
        -------
        Bunch with ``ccp_alphas`` and ``impurities``
            As returned by
            :meth:`sklearn.tree.DecisionTreeClassifier.cost_complexity_pruning_path`.
        """
        fresh = clone(self)
        X, Y = fresh._validate_fit(X, y)
        if isinstance(Y, UnknownLabels):
            raise ValueError("the pruning path needs all labels, but y has unknown labels")
        return fresh._engine(self.criterion).cost_complexity_pruning_path(
            X, engine_labels(dense(Y)), sample_weight
        )
