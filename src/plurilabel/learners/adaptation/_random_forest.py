"""MLRandomForest: forests of multi-label trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import check_sample_weight, constraints_of
from plurilabel._core.explanation.contributions import Given, Parts, constant_parts, side_by_side
from plurilabel._core.fitted import Declared, values
from plurilabel._core.unknown import UnknownLabels, cell_weights, known_part
from plurilabel.learners.adaptation._tree_classifier import TreeClassifier


@dataclass(eq=False, repr=False)
class MLRandomForest(TreeClassifier):
    """A random forest whose trees serve all labels at once.

    Each tree is an :class:`MLDecisionTree` grown on a bootstrap sample, with a random choice of
    features at each split. The probability of a label is the mean over the trees of its frequency
    in the leaf of x. Forests of such trees (predictive clustering trees, RF-PCT) were the best
    method in the comparison of Madjarov et al.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees, per label with ``splits="label"``.
    splits : {"joint", "label"}, default="joint"
        ``"joint"``: splits serve all labels at once. ``"label"``: each label has its own forest.
    extra_trees : bool, default=False
        Whether to also draw the cut points at random (extremely randomised trees).
    bootstrap : bool or "auto", default="auto"
        Whether to grow each tree on a bootstrap sample. ``"auto"``: yes, except for extra trees.
    max_samples : int, float or None, default=None
        Size of the bootstrap samples; None is n.
    oob_score : bool, default=False
        Whether to compute out-of-bag probabilities of the training instances.
    criterion : {"gini", "entropy"}, default="gini"
        As in :class:`MLDecisionTree`; see below.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features to consider at each split.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes, \
min_impurity_decrease, ccp_alpha, random_state :
        As in :class:`sklearn.ensemble.RandomForestClassifier`, with its defaults.
    label_weight : {"balanced"}, default=None
        "balanced" gives the instances with and without a label the same total weight in the leaves
        and in ``label_feature_importances_``; splits do not change. Rare labels are then predicted
        more often, and probabilities are those of labels that half of the instances have.
    n_jobs : int, default=None
        Number of threads for growing trees and for prediction. The result does not depend on it.

    Attributes
    ----------
    estimator_ : forest of scikit-learn
        A regressor with ``criterion="gini"``, a classifier with ``"entropy"``;
        ``estimator_.estimators_`` are its trees. Only with ``splits="joint"``.
    estimators_ : list of MLRandomForest
        The forest of each label, None for constant labels. Only with ``splits="label"``.
    oob_decision_ : ndarray of shape (n, q)
        Out-of-bag probabilities, if ``oob_score``: unbiased scores of the training instances, to
        which a threshold strategy can be fitted. NaN, with a warning, for an instance that is in
        the sample of every tree.
    oob_score_ : float
        Subset accuracy of the out-of-bag predictions.
    feature_importances_, label_importances_, label_feature_importances_, constant_
        As in :class:`MLDecisionTree`, averaged over the trees.

    Notes
    -----
    As in :class:`MLDecisionTree`, dense features may have missing values, sparse X stays sparse,
    Y is made dense, and labels may be unknown. ``predict_proba`` takes half the time of
    scikit-learn's for 14 labels, and a quarter for 200.

    *Defaults.* ``"entropy"`` is the criterion of the review, ``"gini"`` that of RF-PCT. Gini was
    better on ten datasets (see :doc:`the learner's page </learners/MLRandomForest>`); with 100
    labels, entropy took 8 to 16 times as long.

    References
    ----------
    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Ensembles of multi-objective decision trees. ECML
    2007.

    G. Madjarov, D. Kocev, D. Gjorgjevikj, S. Džeroski. An extensive experimental comparison of
    methods for multi-label learning. Pattern Recognition 45(9), 2012.

    P. Geurts, D. Ernst, L. Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.

    Examples
    --------
    >>> from plurilabel import CardinalityThreshold, MLRandomForest, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> forest = MLRandomForest(50, oob_score=True, random_state=0).fit(X_train, Y_train)
    >>> round(float((forest.predict(X_test) == Y_test).mean()), 2)
    0.98
    >>> cut = CardinalityThreshold().fit(forest.oob_decision_, Y_train)
    >>> cut.predict(forest.predict_proba(X_test)).shape == Y_test.shape
    True
    """

    _parameter_constraints = constraints_of(
        ensemble.RandomForestClassifier, "n_estimators", "max_samples", "n_jobs"
    )
    _fitted: ClassVar[Declared] = {"estimators_": values("n_labels_", optional=True)}

    estimators_: list[Any] | None = field(init=False)

    n_estimators: int = 100
    _: KW_ONLY
    splits: Literal["joint", "label"] = "joint"
    extra_trees: bool = False
    bootstrap: bool | Literal["auto"] = "auto"
    max_samples: float | None = None
    oob_score: bool = False
    criterion: Literal["entropy", "gini"] = "gini"
    max_features: float | str | None = "sqrt"
    label_weight: Literal["balanced"] | None = None
    n_jobs: int | None = None  # type: ignore[misc]

    def _bootstrap(self) -> bool:
        return not self.extra_trees if self.bootstrap == "auto" else bool(self.bootstrap)

    def _engine(self, criterion: str) -> Any:
        params = self.get_params(deep=False)
        # scikit-learn's own out-of-bag scores fail for constant labels
        for name in ("splits", "extra_trees", "oob_score", "criterion", "label_weight"):
            del params[name]
        params["bootstrap"] = self._bootstrap()
        kind = "ExtraTrees" if self.extra_trees else "RandomForest"
        if criterion == "entropy":
            return getattr(ensemble, f"{kind}Classifier")(criterion="entropy", **params)
        return getattr(ensemble, f"{kind}Regressor")(criterion="squared_error", **params)

    def _trees(self) -> list[Any]:
        return self.estimator_.estimators_

    def _fit(self, X: Any, Y: LabelMatrix, sample_weight: Any = None) -> None:
        if self.oob_score and not self._bootstrap():
            raise ValueError(
                "oob_score=True needs bootstrap samples, got "
                f"bootstrap={self.bootstrap!r} with extra_trees={self.extra_trees}"
            )
        self.estimator_ = self.estimators_ = None
        if self.splits == "joint":
            super()._fit(X, Y, sample_weight)
            if self.label_weight is not None:
                self._balance(Y, sample_weight)
        else:
            self._check_memory(*Y.shape)
            self._fit_each(X, Y, sample_weight)
        if self.oob_score:
            partial = isinstance(Y, UnknownLabels)
            self._set_out_of_bag(X, Y.toarray() if partial else dense(Y))

    def _balance(self, Y: LabelMatrix, sample_weight: Any) -> None:
        """Set the frequencies in the nodes to those of balanced labels."""
        Y, unknown = known_part(Y)
        has = dense(Y).astype(bool)
        cells = cell_weights("balanced", has, unknown, sample_weight)
        # the weight of all instances that have a label, and of all that lack it; 1 if none do
        own, other = (np.where(which, cells, 0).max(axis=0) for which in (has, ~has))
        own, other = (np.where(weight > 0, weight, 1.0) for weight in (own, other))
        for tree in self._trees():
            share = tree.tree_.value[:, :, -1]
            total = own * share + other * (1 - share)
            balanced = own * share / total
            if tree.tree_.value.shape[2] == 2:
                tree.tree_.value[:, :, 0] = 1 - balanced
            tree.tree_.value[:, :, -1] = balanced

    def _fit_each(self, X: Any, Y: LabelMatrix, sample_weight: Any) -> None:
        """Fit a forest for each label that varies, to the instances where it is known."""
        partial = isinstance(Y, UnknownLabels)
        known = ~dense(Y.unknown) if partial else np.ones(Y.shape, dtype=bool)
        y = dense(Y.Y if partial else Y)
        have = y.sum(axis=0, where=known)
        self.constant_ = np.where(have == 0, 0.0, np.where(have == known.sum(axis=0), 1.0, np.nan))
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_labels_)
        self.estimators_ = [None] * self.n_labels_
        for l in np.flatnonzero(np.isnan(self.constant_)):
            rows = slice(None) if known[:, l].all() else np.flatnonzero(known[:, l])
            own = {"splits": "joint", "oob_score": False, "random_state": int(seeds[l])}
            forest = clone(self).set_params(**own)
            w = None if weights is None else weights[rows]
            self.estimators_[l] = forest.fit(X[rows], y[rows, l, None], sample_weight=w)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        if self.estimators_ is None:
            return super()._scores(X)
        return self._columns(lambda forest: forest._scores(X)[:, 0], X.shape[0])

    def _columns(self, of: Callable[[Any], Any], size: int) -> NDArray[np.float64]:
        """The result of a function of each label's forest (size, q); else the constant value."""
        found = np.tile(self.constant_, (size, 1))
        for l, forest in enumerate(self.estimators_ or []):
            if forest is not None:
                found[:, l] = of(forest)
        return found

    def _parts(self, x: Any, given: Given) -> Parts:
        if self.estimators_ is None:
            return super()._parts(x, given)
        pairs = zip(self.estimators_, self.constant_)
        return side_by_side([f._parts(x, given) if f else constant_parts([c]) for f, c in pairs])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity, shape (d,)."""
        check_is_fitted(self)
        if self.estimators_ is None:
            return super().feature_importances_
        return self.label_feature_importances_.sum(axis=0)

    @property
    def label_feature_importances_(self) -> NDArray[np.float64]:
        """Share of each label and feature in the decrease of impurity, shape (q, d)."""
        check_is_fitted(self)
        if self.estimators_ is None:
            return super().label_feature_importances_
        shares = self._columns(lambda forest: forest.feature_importances_, self.n_features_in_).T
        shares[~np.isnan(self.constant_)] = 0.0
        return shares / max(shares.sum(), 1.0)

    def _samples(self, n: int) -> Iterator[NDArray[np.int64]]:
        for seen in self.estimator_.estimators_samples_:
            yield np.bincount(seen, minlength=n)

    def _set_out_of_bag(self, X: Any, Y: NDArray[Any]) -> None:
        if self.estimators_ is None:
            self.oob_decision_ = self._out_of_bag(X)
        else:
            self.oob_decision_ = np.tile(self.constant_, (X.shape[0], 1))
            for l, forest in enumerate(self.estimators_):
                if forest is not None:
                    unknown = np.isnan(Y[:, l])
                    rows, others = np.flatnonzero(~unknown), np.flatnonzero(unknown)
                    self.oob_decision_[rows, l] = forest._out_of_bag(X[rows])[:, 0]
                    if len(others):  # no tree has seen these
                        self.oob_decision_[others, l] = forest._scores(X[others])[:, 0]
        known = ~np.isnan(self.oob_decision_).any(axis=1)
        if not known.all():
            warnings.warn(
                f"{np.sum(~known)} of {X.shape[0]} training instances are in the sample of every "
                "tree and have no out-of-bag scores. Increase n_estimators.",
                UserWarning,
                stacklevel=5,
            )
        given = (self.oob_decision_[known] > self._cut) == Y[known]
        right = (given | np.isnan(Y[known])).all(axis=1)  # unknown labels count as right
        self.oob_score_ = float(right.mean()) if known.any() else float("nan")

    def _out_of_bag(self, X: Any) -> NDArray[np.float64]:
        """Mean over the trees whose samples lack a row, (n, q); NaN if there is none."""
        n, trees = X.shape[0], self._trees()
        unseen = [np.flatnonzero(seen == 0) for seen in self._samples(n)]
        leaves = Parallel(self.n_jobs, require="sharedmem")(
            delayed(tree.apply)(X[rows], check_input=False) for tree, rows in zip(trees, unseen)
        )
        total, count = np.zeros((n, self.n_labels_)), np.zeros(n, dtype=np.int64)
        for tree, rows, found in zip(trees, unseen, leaves):
            total[rows] += self._frequencies(tree.tree_)[found]
            count[rows] += 1
        with np.errstate(invalid="ignore"):
            return total / count[:, None]
