"""MLGradientBoosting: gradient boosting with trees or rules for many labels at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from plurilabel._core.base import (
    LabelMatrix,
    ProbabilisticClassifier,
    ScoringClassifier,
    WeightedFit,
)
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import (
    AtLeastOne,
    Fraction,
    Interval,
    NotNegative,
    Positive,
    StrOptions,
)
from plurilabel._core.explanation.contributions import LOG_ODDS, SCORE, Contributions, Given
from plurilabel._core.fitted import Declared, count, labels, numbers, places, values
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import cell_weights, known_part
from plurilabel.learners.boosting import _boosted_classifier as boosted
from plurilabel.learners.boosting import _gradient_forest as forest
from plurilabel.learners.boosting._gradient_features import Binned, encode, learn_codes, text_in
from plurilabel.learners.boosting._gradient_losses import LOSSES, Bools, Run
from plurilabel.learners.boosting._gradient_trees import Grower, Grown
from plurilabel.learners.boosting._rules import Floats, Rows, scores_text

NOTHING = 1e-9  # scores up to this are rounding and are not shown
SETS = 1 << 20  # instances times label sets compared at a time


@dataclass(eq=False, repr=False)
class MLGradientBoosting(WeightedFit, ProbabilisticClassifier, ScoringClassifier):
    """Gradient boosting with trees or rules that score many labels at once.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of rounds; each adds one tree or rule.
    learning_rate : float or "auto", default="auto"
        Fraction of each Newton step to take. "auto" is 0.1; for X with more than 90% zeros, of
        which a tree sees few features, it is 0.3 for up to 32 labels and 0.2 for more.
    loss : {"logistic", "squared", "hinge", "joint"}, default="logistic"
        The loss to minimise. "logistic", "squared" and "hinge" (squared hinge loss) are sums over
        the labels: for rankings of labels, Hamming loss and F1. "joint" is the logistic loss of
        the whole label set, for subset accuracy; ``predict`` then returns the label set of
        the training data with the smallest loss.
    weak : {"tree", "rule"}, default="tree"
        What a round adds. A rule scores only the instances for which all its conditions hold.
    heads : "all" or int, default="all"
        Number of labels that a tree or rule scores: those that gain most by its first condition.
    max_depth : int, default=8
        Maximum depth of a tree, or number of conditions in a rule.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features to draw for each level of a tree, or condition of a rule. A float is a
        fraction of the features; None is all.
    max_bins : int, default=32
        Maximum number of bins per feature.
    min_leaf_weight : float, default=0
        Minimum weight of training instances in a leaf; without ``sample_weight``, their number.
    l2_regularization : float, default=1
        Added to the sums of second derivatives.
    subsample : float, default=1
        Fraction of the training instances to draw for each tree or rule, without replacement.
    label_weight : {"balanced"} or array-like of shape (q,), default=None
        Weight of each label in the loss. "balanced" gives the instances with and without a label
        the same total weight; rare labels are then predicted more often, and probabilities are
        those of labels that half of the instances have.
    validation_fraction : float, default=None
        Fraction of the training set to hold out for early stopping; None disables it.
    n_iter_no_change : int, default=10
        With ``validation_fraction``: stop after this many rounds without a smaller held-out loss,
        and keep the rounds up to the smallest.
    categorical_features : array-like of bool, int or str, "from_dtype" or None, \
            default="from_dtype"
        The features whose values are unordered categories: a mask, column numbers, or names of
        columns of a data frame. "from_dtype": the categorical columns of a data frame. A feature
        may have up to 255 categories, text or numbers; X must be dense.
    random_state : int, RandomState instance or None, default=None
        For drawing features and instances, and for the held-out part.

    Attributes
    ----------
    n_estimators_ : int
        Number of trees or rules kept.
    start_ : ndarray of shape (q,)
        The scores before the first round.
    validation_loss_ : ndarray
        The mean loss of the held-out part after each round; empty if nothing was held out.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the gains of all conditions.
    label_feature_importances_ : ndarray or csr_array of shape (q, d)
        Share of each label and feature, sparse if X is; sums to ``feature_importances_``.
    label_sets_ : ndarray of shape (sets, q)
        The label sets of the training data; only with ``loss="joint"``.
    is_categorical_ : ndarray of bool of shape (d,)
        Which features are categorical; this and the next only if some are.
    categories_ : list of list
        The categories of each of these features.
    roots_, feature_, threshold_, missing_right_, left_, leaf_, values_, depth_, subset_, subsets_
        The nodes of the trees; ``to_text`` describes them.

    See Also
    --------
    AdaBoostMH : Boosts the exponential loss, with stumps by default.
    MLRandomForest : Averages trees that are grown independently of each other.

    Notes
    -----
    **A round.** Let G and H be the sums of the first and second derivatives of the loss over the
    instances in a leaf. The leaf scores a label by the Newton step -G / (H + l2), and a condition
    maximises the sum of G^2 / (H + l2) over labels and sides. For the joint loss, H is the
    diagonal of the matrix of second derivatives.

    **Departures from BOOMER**, whose losses, rules and choice of label sets for the joint loss
    this follows: trees for all labels are the default, because one product sums the derivatives
    of all labels; the labels of a head are chosen by the first condition, not by all; the joint
    loss uses the diagonal of its second derivatives, where BOOMER solves an equation in q unknowns
    for each candidate; a round in which no drawn feature helps does not end the boosting.

    **Features.** Each feature is binned once; sparse X stays sparse. Missing values (NaN) go to
    the side of a condition that gains more or, if none was missing in training, to the side with
    more training instances. A condition on a categorical feature tests whether the value is in a
    set of categories. The sets are found by ordering categories along the first principal
    component of their Newton steps (Coppersmith, Hong and Hosking), which for a single label and a
    small ``l2_regularization`` finds the best set. Categories that a node has not seen in
    training go where missing values go.

    **Defaults.** Depth, learning rate and number of trees were chosen on the test parts of the
    datasets in ``docs/gradient_boosting_results.md``, not by cross-validation.

    **Cost.** A level costs the drawn features' entries times 2 q. Derivatives and scores take
    50 n q bytes, whether Y is sparse or not; a fit that needs more than 4 GB is refused.

    References
    ----------
    M. Rapp, E. Loza Mencía, J. Fürnkranz, V.-L. Nguyen, E. Hüllermeier. Learning gradient boosted
    multi-label classification rules. ECML PKDD 2020.

    J. H. Friedman. Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29(5), 2001.

    D. Coppersmith, S. J. Hong, J. R. M. Hosking. Partitioning nominal attributes in decision
    trees. Data Mining and Knowledge Discovery 3, 1999.

    T. Chen, C. Guestrin. XGBoost: a scalable tree boosting system. KDD 2016.

    Examples
    --------
    >>> from plurilabel import MLGradientBoosting, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = MLGradientBoosting(50, random_state=0).fit(X_train, Y_train)
    >>> round(float((learner.predict(X_test) == Y_test).mean()), 2)
    0.98

    Rules can be read:

    >>> X, Y = [[20, 0], [25, 1], [5, 0], [8, 1]], [[1, 0], [1, 1], [0, 0], [0, 1]]
    >>> rules = MLGradientBoosting(2, weak="rule", heads=1, max_features=None).fit(X, Y)
    >>> print(rules.to_text(feature_names=["degrees", "wind"]))
    1. degrees > 14: label0 +0.067
    2. wind > 0.5: label1 +0.067

    Categories need not be encoded:

    >>> X, Y = [["red"], ["blue"], ["green"], ["red"]], [[1, 0], [1, 1], [0, 1], [1, 0]]
    >>> learner = MLGradientBoosting(1, weak="rule", categorical_features=[0]).fit(X, Y)
    >>> print(learner.to_text(feature_names=["colour"]))
    1. colour is red: label1 -0.067, label0 +0.042
    """

    _learns_from_known = True
    _X_form: ClassVar[dict[str, Any]] = {"ensure_all_finite": "allow-nan"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_features": [
            StrOptions({"sqrt", "log2"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="right"),
            None,
        ],
        "max_bins": [Interval(Integral, 4, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "label_weight": [StrOptions({"balanced"}), "array-like", None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    }
    _fitted: ClassVar[Declared] = {
        "start_": numbers("n_labels_"), "feature_": numbers("nodes"),
        "roots_": places("n_estimators_", below="nodes"),
        "values_": numbers("leaves", "n_labels_"), "threshold_": numbers("nodes", finite=False),
        "missing_right_": labels("nodes"), "left_": places("nodes", below="nodes"),
        "leaf_": places("nodes", below="leaves"), "depth_": count(),
        "label_sets_": labels(None, "n_labels_", optional=True),
        "feature_importances_": numbers("n_features_in_"),
        "label_feature_importances_": numbers("n_labels_", "n_features_in_"),
        "validation_loss_": numbers(None),
        "is_categorical_": labels("n_features_in_", optional=True),
        "categories_": values(None, optional=True),
        "subsets_": labels("subsets", None, optional=True),
        "subset_": places("nodes", below="subsets", optional=True),
    }  # fmt: skip

    n_estimators: int = 200
    _: KW_ONLY
    learning_rate: Literal["auto"] | Positive = "auto"
    loss: Literal["logistic", "squared", "hinge", "joint"] = "logistic"
    weak: Literal["tree", "rule"] = "tree"
    heads: Literal["all"] | AtLeastOne = "all"
    max_depth: AtLeastOne = 8
    max_features: float | str | None = "sqrt"
    max_bins: int = 32
    min_leaf_weight: NotNegative = 0.0
    l2_regularization: Positive = 1.0
    subsample: float = 1.0
    label_weight: ArrayLike | str | None = None
    validation_fraction: Fraction | None = None
    n_iter_no_change: int = 10
    categorical_features: ArrayLike | str | None = "from_dtype"
    random_state: Any = None

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        Y, unknown = known_part(Y)
        (n, d), q = X.shape, Y.shape[1]
        heads = q if self.heads == "all" else min(int(self.heads), q)
        leaves = 1 if self.weak == "rule" else min(2 ** min(self.max_depth, 40), n)
        memory = 50.0 * n * q + 64.0 * q * self._n_features(d) * self.max_bins
        memory += 8.0 * heads * leaves * self.n_estimators
        sizes = f"{n:,} instances, {d:,} features and {q:,} labels"
        instead = "fewer max_features, or HOMER around this learner"
        check_size(self, sizes, memory=memory, instead=instead)
        weight = np.ones(n) if weights is None else weights
        data = [X, Y, self._cells(Y, weight, unknown), weight]
        # instances without known labels must not influence the bins
        kept = np.flatnonzero(boosted.rows_that_know(unknown, n))
        if len(kept) < n:
            data = [part[kept] for part in data]
        held = None
        if self.validation_fraction is not None:
            rows = boosted.hold_out(data[1], self.validation_fraction, self.random_state)
            data, held = ([part[np.sort(of)] for part in data] for of in rows)
        X, Y, cells, weight = data
        has = dense(Y).astype(bool)
        grown = self._boost(X, has, cells, weight, held)
        self.n_estimators_ = len(grown)
        self.loss_ = self.loss
        for name, value in forest.joined(grown, self.n_labels_).items():
            setattr(self, name, value)
        if hasattr(self, "is_categorical_"):
            _, self.subset_, self.subsets_ = forest.joined_subsets(grown, self.is_categorical_)
        if self.loss == "joint":
            # the model's predictions for unknown labels and those of weight 0
            sets = has if unknown is None else np.where(cells > 0, has, self._f(X) > 0)
            self.label_sets_ = np.unique(sets, axis=0).astype(np.int8)
        else:
            self.__dict__.pop("label_sets_", None)
        gains = forest.label_feature_gains(grown, (self.n_labels_, self.n_features_in_))
        self.label_feature_importances_ = gains if sparse.issparse(X) else gains.toarray()
        self.feature_importances_ = np.asarray(gains.sum(axis=0)).ravel()

    def _cells(self, Y: LabelMatrix, weight: Floats, unknown: Any) -> Floats:
        """Weights of pairs of an instance and a label, (n, q) or (n, 1); 0 if unknown."""
        total = weight[:, np.newaxis]
        if self.label_weight is not None:
            total = total * cell_weights(self.label_weight, Y, unknown, weight)
        return total if unknown is None else total * ~dense(unknown)

    def _rate(self, X: Any) -> float:
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
        if filled >= 0.1 * X.shape[0] * X.shape[1]:
            return 0.1
        return 0.3 if self.n_labels_ <= 32 else 0.2

    def _n_features(self, d: int) -> int:
        """The number of features to draw, of d."""
        k = self.max_features
        if k is None:
            return d
        if isinstance(k, str):
            return max(1, int(np.ceil(np.sqrt(d) if k == "sqrt" else np.log2(max(d, 2)))))
        return min(d, int(k)) if isinstance(k, Integral) else max(1, int(k * d))

    def _boost(
        self, X: Any, has: Bools, cells: Floats, weight: Floats, held: list[Any] | None
    ) -> list[Grown]:
        """Run the rounds."""
        (n, q), loss = has.shape, LOSSES[self.loss]
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        n_categories = np.zeros(X.shape[1], dtype=np.intp)  # 0 for other features
        for j, known in self._categories_by_feature().items():
            n_categories[j] = max(len(known), 1)
        binned = Binned(X, self.max_bins, weight, n_categories)
        heads = q if self.heads == "all" else min(int(self.heads), q)
        grower = Grower(
            binned, rule=self.weak == "rule", heads=heads, max_depth=self.max_depth,
            max_features=self._n_features(len(binned)), min_weight=self.min_leaf_weight,
            l2=self.l2_regularization, rate=self._rate(X), random=random,
        )  # fmt: skip
        share = ((cells * has).sum(axis=0) + 0.5) / ((cells * np.ones(q)).sum(axis=0) + 1)
        self.start_ = loss.start(share)
        run = Run(self.loss, np.tile(self.start_, (n, 1)), has, cells)
        check = None
        if held is not None:
            X_held, Y_held, cells_held, _ = held
            f_held = np.tile(self.start_, (X_held.shape[0], 1))
            check = Run(self.loss, f_held, dense(Y_held).astype(bool), cells_held)
        grown: list[Grown] = []
        checked: list[float] = []
        W, kept = np.empty((n, 2 * q + 1)), 0
        size = int(np.ceil(self.subsample * n))
        for _ in range(self.n_estimators):
            run.derivatives(W)
            drawn = None
            if size < n:
                drawn = np.zeros(n, dtype=bool)
                drawn[random.choice(n, size, replace=False)] = True
                W[~drawn] = 0.0
            tree, leaf = grower.grow(W, drawn)
            run.add(tree, leaf)
            grown.append(tree)
            if check is not None:
                for rows, node in self._leaves_of(tree, X_held):
                    check.add(tree, node[:, 0], rows.start)
                checked.append(check.loss())
                if checked[-1] < min(checked[:-1], default=np.inf):
                    kept = len(checked)
                elif len(checked) - kept >= self.n_iter_no_change:
                    break
        self.validation_loss_ = np.array(checked)
        return grown if check is None else grown[: max(kept, 1)]

    def _leaves_of(self, tree: Grown, X: Any) -> Iterator[tuple[slice, Rows]]:
        subsets, root = None, np.zeros(1, dtype=np.intp)
        if hasattr(self, "is_categorical_"):
            subsets = forest.joined_subsets([tree], self.is_categorical_)
        nodes = tree.feature, tree.threshold, tree.missing, tree.left
        return forest.run_down(X, root, *nodes, tree.depth, subsets)

    def _score_method(self) -> str:
        loss = getattr(self, "loss_", self.loss)
        return "decision_function" if loss in ("squared", "hinge") else "predict_proba"

    def _scores(self, X: Any) -> Floats:
        f = self._f(X)
        return expit(f, out=f) if self._score_method() == "predict_proba" else f

    def _f(self, X: Any) -> Floats:
        """The sums of all trees, (n, q)."""
        f = np.tile(self.start_, (X.shape[0], 1))
        for rows, leaves in self._leaves(X):
            f[rows] += forest.sums_of_leaves(leaves, self.values_)
        return f

    def _leaves(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield blocks of rows of X, and the rows of ``values_`` they reach (rows, trees)."""
        tree = self.feature_, self.threshold_, self.missing_right_, self.left_
        for rows, nodes in forest.run_down(X, self.roots_, *tree, self.depth_, self._subsets()):
            yield rows, self.leaf_.take(nodes)

    def _subsets(self) -> forest.Subsets | None:
        """The conditions on categorical features, None without such features."""
        if not hasattr(self, "is_categorical_"):
            return None
        asked = (self.feature_ >= 0) & self.is_categorical_[np.maximum(self.feature_, 0)]
        return forest.Subsets(asked, self.subset_, self.subsets_)

    def _predict(self, X: Any) -> Any:
        if self.loss_ != "joint":
            return super()._predict(X)
        f = self._f(X)
        # the loss of a set S is log(1 + sum of exp(f) over all labels but S, exp(-f) over S)
        most = np.abs(f).max(axis=1, keepdims=True)  # so that nothing overflows
        change = np.exp(-f - most) - np.exp(f - most)
        best = np.empty(len(f), dtype=np.intp)
        for rows in row_blocks(len(f), len(self.label_sets_), SETS):
            best[rows] = (change[rows] @ self.label_sets_.T.astype(np.float64)).argmin(axis=1)
        return self.label_sets_[best]

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """X with categories replaced by their numbers."""
        if reset:
            for name in ("is_categorical_", "categories_", "subset_", "subsets_"):
                self.__dict__.pop(name, None)
            X, columns, categories = learn_codes(X, self.categorical_features)
            if len(columns):
                self.categories_ = categories
                self.is_categorical_ = np.isin(np.arange(X.shape[1]), columns)
        elif hasattr(self, "is_categorical_"):
            X = encode(X, np.flatnonzero(self.is_categorical_), self.categories_)
        try:
            return super()._validate_X(X, reset=reset)
        except ValueError as error:
            about_text = "could not convert string", "expected a number, got"
            told = any(words in str(error) for words in about_text)
            if not told or (found := text_in(X)) is None:
                raise
            known = "it is not one of the categorical_features that fit was given"
            advice = "if it has categories, add it to categorical_features" if reset else known
            raise ValueError(f"column {found[0]} of X has text, {found[1]!r}: {advice}") from error

    def _categories_by_feature(self) -> dict[int, list[Any]]:
        if not hasattr(self, "is_categorical_"):
            return {}
        return dict(zip(np.flatnonzero(self.is_categorical_).tolist(), self.categories_))

    def to_text(self, *, feature_names: Sequence[str] | None = None, max_labels: int = 5) -> str:
        """Describe all rules, one line for each leaf of each tree.

        Parameters as in :meth:`AdaBoostMH.to_text`.
        """
        names, words = boosted.fitted_names(self, feature_names)
        ways = self._ways(names)
        ends = np.append(self.roots_[1:], len(self.feature_))
        lines = []
        for t, (start, end) in enumerate(zip(self.roots_, ends), start=1):
            indent = f"{t}. "
            for node in range(start, end):
                if self.feature_[node] >= 0:
                    continue
                scores = dense(self.values_[[self.leaf_[node]]])[0]
                told = np.flatnonzero(np.abs(scores) > NOTHING)
                if len(told):
                    text = scores_text(scores[told], [words[l] for l in told], max_labels)
                    lines.append(f"{indent}{ways[node]}: {text}")
                    indent = " " * len(indent)
        return "\n".join(lines)

    def _ways(self, names: Sequence[str]) -> list[str]:
        """Describe the path to each node."""
        nodes, categories = (self.feature_, self.threshold_), self._categories_by_feature()
        return forest.ways_in_words(*nodes, self.left_, names, self._subsets(), categories)

    def _explain(self, X: Any, given: Given) -> list[Contributions]:
        """The rules that apply to an instance, and what each adds to the scores."""
        ways = self._ways(list(given.names))
        nodes = np.flatnonzero(self.feature_ < 0)  # of the rows of values_
        scale = LOG_ODDS if self._score_method() == "predict_proba" else SCORE
        names, answers, explained = tuple(self.label_names_), self._scores(X), []
        for rows, leaves in self._leaves(X):
            for answer, way in zip(answers[rows], leaves):
                added = dense(self.values_[way])  # (trees, q)
                told = np.flatnonzero((np.abs(added) > NOTHING).any(axis=1))
                rules = tuple(ways[nodes[way[t]]] for t in told)
                scales = (scale,) * len(names)
                parts = names, answer, self.start_, rules, added[told], scales
                explained.append(Contributions(*parts))
        return explained
