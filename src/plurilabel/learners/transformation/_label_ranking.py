"""Calibrated label ranking: pairs of labels, and a virtual label as the threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import CUTS, LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import rows_of_params
from plurilabel._core.explanation.contributions import SCORE, Given, Parts, added, constant_parts
from plurilabel._core.fitted import Declared, parameter, places, values
from plurilabel._core.limits import check_size
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier

# scales of explanations where the score counts votes, which no single feature changes
SOFT_VOTES = "the votes, if each model divided its own by its probabilities"
SUM_OF_MARGINS = "the margins of all models about the label"


@dataclass(eq=False, repr=False)
class CalibratedLabelRanking(TransformationClassifier):
    """A model for each pair of labels votes for one of them; a virtual label makes the cut.

    The model of labels j < k is trained on the instances that have exactly one of them. The
    virtual label V ranks between the labels that an instance has and those it lacks, so that its
    q models are those of binary relevance. Each model casts one vote; the labels with more votes
    than V are predicted.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``.
    voting : {"hard", "soft"}, default="hard"
        "hard", as in the paper: a model votes for one label. "soft": it divides its vote by its
        probabilities; needs ``predict_proba``.
    quick : bool, default=True
        Whether ``predict`` with hard votes evaluates only the pairs that can still change the
        prediction; see the notes.
    n_jobs, verbose :
        As in :class:`BinaryRelevance`, for models.

    Attributes
    ----------
    estimators_ : list of q (q - 1) / 2 fitted models
        The models of the pairs. None for two labels that always occur together: each gets half a
        vote.
    pairs_ : ndarray of shape (q (q - 1) / 2, 2)
        The labels j < k of each pair.
    relevance_estimators_ : list of q fitted models
        The models of each label against the virtual one.
    voting_ : str
        The ``voting`` of ``fit``.

    Notes
    -----
    There are q (q + 1) / 2 models; more than 100,000, that is 447 labels or more, are refused
    (see :doc:`/guides/large-label-spaces`).

    ``decision_function`` is the number of votes of a label less those of V, so that the cut is 0;
    :meth:`votes` returns the votes themselves. A label with as many votes as V is not predicted,
    as in the review.

    Quick voting follows Loza Mencía et al.: labels meet the opponents that have lost least, and
    a label is settled as soon as its losses reach those of V. There are three differences: all
    models of V are evaluated first; a label is also settled once it can no longer lose as much as
    V; and all instances are evaluated together, each open label meeting one opponent, then two,
    four and so on, so that a model scores many instances at a time.

    This pays off for slow models: kernel SVMs on scene and medical take 0.54 and 0.39 of the time
    of a full vote, linear models 1.3 and 1.9 times as long. Use ``quick=False`` for the latter.

    References
    ----------
    J. Fürnkranz, E. Hüllermeier, E. Loza Mencía, K. Brinker. Multilabel classification via
    calibrated label ranking. Machine Learning 73(2), 2008. E. Loza Mencía, S.-H. Park,
    J. Fürnkranz. Efficient voting prediction for pairwise multilabel classification.
    Neurocomputing 73, 2010.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import CalibratedLabelRanking, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = CalibratedLabelRanking(LogisticRegression(max_iter=500))
    >>> learner.fit(X_train, Y_train).votes(X_test[:2])  # the last column is V's
    array([[3., 6., 0., 2., 7., 3., 2., 5.],
           [2., 7., 1., 6., 4., 3., 0., 5.]])
    >>> learner.predict(X_test[:2])
    array([[0, 1, 0, 0, 1, 0, 0],
           [0, 1, 0, 1, 0, 0, 0]])
    >>> learner.count_asked(X_test[:2])  # of 28 models
    array([18, 18])
    """

    _fitted: ClassVar[Declared] = {
        "relevance_estimators_": values("n_labels_"),
        "pairs_": places("n_pairs", 2, below="n_labels_"),
        "estimators_": values("n_pairs"),
        "voting_": parameter(),
        "quick_": parameter(),
    }

    estimator: Any
    _: KW_ONLY
    voting: Literal["hard", "soft"] = "hard"
    quick: bool = True
    n_jobs: int | None = None
    verbose: int = 0

    def votes(self, X: ArrayLike) -> NDArray[np.float64]:
        """Votes of each label and, last, of the virtual label, shape (n, q + 1)."""
        return self._votes(self._validate_predict(X))

    def count_asked(self, X: ArrayLike) -> NDArray[np.int64]:
        """Number of the q (q + 1) / 2 models that quick voting evaluates for each instance."""
        return self.n_labels_ + self._quick(self._validate_predict(X))[1]

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.voting_, self.quick_ = self.voting, self.quick
        if self.voting_ == "soft" and self._base_method() != "predict_proba":
            name = type(self.estimator).__name__
            raise ValueError(f"voting='soft' needs an estimator with predict_proba, got {name}")
        q = Y.shape[1]
        instead = "HOMER around it, which ranks few labels at a time, or BinaryRelevance"
        check_size(self, f"{q:,} labels", models=q * (q + 1) // 2, instead=instead)
        jobs = self.n_jobs
        members = np.split((csc := sparse.csc_array(Y)).indices, csc.indptr[1:-1])

        def fit(j: int, k: int) -> Any:
            rows = np.setxor1d(members[j], members[k], assume_unique=True)
            if len(rows) == 0:
                return None
            y = np.isin(rows, members[j], assume_unique=True).astype(np.int64)
            return base.fit_binary(self.estimator, X[rows], y, rows_of_params(X, params, rows))

        self.relevance_estimators_ = base.fit_each(self.estimator, X, Y, params, n_jobs=jobs)
        self.pairs_ = np.column_stack(np.triu_indices(Y.shape[1], k=1))
        pairs = self.pairs_.tolist()
        self.estimators_ = base.in_parallel(fit, pairs, n_jobs=jobs, verbose=self.verbose)

    def _score_method(self) -> str:
        return "decision_function"

    def _scores(self, X: Any) -> NDArray[np.floating]:
        votes = self._votes(X)
        return votes[:, :-1] - votes[:, -1:]

    def _parts(self, x: Any, given: Given) -> Parts:
        q, method = self.n_labels_, self._base_method()
        relevance = base.explain_each(self.relevance_estimators_, x, method, given)
        # A model divides its vote between two labels, or between a label and V, whose votes count
        # against all labels. A margin speaks for one label and against the other.
        pairs = [
            None if m is None else base.explain_binary(m, x, method, given)
            for m in self.estimators_
        ]
        scales = {*relevance.scales, *(pair.scales[0] for pair in pairs if pair is not None)}
        shares = scales <= {SCORE} and method == "predict_proba"
        each = np.eye(q) + np.ones((q, q)) if shares else np.eye(q)
        found = [relevance.mapped(each).shifted(-float(q) if shares else 0.0)]
        for (j, k), pair in zip(self.pairs_, pairs):
            first, second = np.eye(q)[[j, k]]
            if pair is not None:
                found.append(pair.mapped([first - second]).shifted(float(shares) * second))
            elif shares:
                found.append(constant_parts(0.5 * (first + second)))
        exact = shares and self.voting_ == "soft"
        scale = SCORE if exact else SOFT_VOTES if shares else SUM_OF_MARGINS
        return added(found, (scale,) * q)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        if self.quick_ and self.voting_ == "hard":
            return self._quick(X)[0]
        return super()._predict(X)

    def _votes(self, X: Any) -> NDArray[np.float64]:
        relevance = self._relevance_votes(X)
        zeta = np.column_stack([relevance, (1 - relevance).sum(axis=1)])
        jobs = ((model, X) for model in self.estimators_)
        shares = base.in_parallel(self._pair_vote, jobs, n_jobs=self.n_jobs)
        for (j, k), share in zip(self.pairs_, shares):
            zeta[:, j] += share
            zeta[:, k] += 1 - share
        return zeta

    def _quick(self, X: Any) -> SetsAsked:
        number = np.zeros((self.n_labels_, self.n_labels_), dtype=np.intp)
        number[tuple(self.pairs_.T)] = np.arange(len(self.pairs_))

        def ask(j: int, k: int, rows: NDArray[np.intp]) -> NDArray[np.float64]:
            return self._pair_vote(self.estimators_[number[j, k]], X[rows])

        return quick_sets(self._relevance_votes(X), ask)

    def _relevance_votes(self, X: Any) -> NDArray[np.float64]:
        models, method = self.relevance_estimators_, self._base_method()
        return self._as_votes(base.score_each(models, X, method, n_jobs=self.n_jobs))

    def _pair_vote(self, model: Any, X: Any) -> NDArray[np.float64]:
        """The share of the vote for the first label of the pair."""
        if model is None:
            return np.full(X.shape[0], 0.5)
        return self._as_votes(base.binary_scores(model, X, self._base_method()))

    def _as_votes(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        votes = scores if self.voting_ == "soft" else scores > CUTS[self._base_method()]
        return votes.astype(np.float64)


# ``ask(j, k, rows)``: the share of the vote, 0 to 1, for label j against label k > j
Ask = Callable[[int, int, NDArray[np.intp]], NDArray[np.float64]]
SetsAsked = tuple[NDArray[np.bool_], NDArray[np.int64]]


def quick_sets(votes: NDArray[np.float64], ask: Ask, *, at_once: int = 2**22) -> SetsAsked:
    """Labels (n, q) with more votes than the virtual label, and pairs evaluated (n,)."""
    # ``votes`` (n, q) are those of each label against the virtual one. Blocks of instances have
    # about ``at_once`` pairs, q^2 per instance.
    n, q = votes.shape
    sets, asked = np.zeros((n, q), dtype=bool), np.zeros(n, dtype=np.int64)
    for rows in row_blocks(n, q * q, at_once):
        sets[rows], asked[rows] = _block(votes[rows], ask, rows.start)
    return sets, asked


def _block(votes: NDArray[np.float64], ask: Ask, start: int) -> SetsAsked:
    n, q = votes.shape
    lost = 1.0 - votes  # (n, q), votes that each label has lost so far
    limit = votes.sum(axis=1, keepdims=True)  # all that the virtual label has lost
    known = np.broadcast_to(np.eye(q, dtype=bool), (n, q, q)).copy()
    many = 1
    while True:
        # A label is predicted if it loses less than the virtual one: it is settled when it has
        # lost as much already, or can no longer do so.
        open_ = (lost < limit) & (lost + q - known.sum(axis=2) >= limit)
        if not open_.any():
            return lost < limit, (known.sum(axis=(1, 2)) - q) // 2
        i, l = np.nonzero(open_)
        # Each open label meets the opponents that have lost least, the most likely to beat it:
        # one in the first round, then twice as many each round.
        rivals = np.where(known[i, l], np.inf, lost[i])
        opponent = np.argsort(rivals, axis=1, kind="stable")[:, :many]
        new = np.isfinite(np.take_along_axis(rivals, opponent, axis=1))
        i, l = (np.broadcast_to(a[:, np.newaxis], opponent.shape)[new] for a in (i, l))
        opponent, many = opponent[new], 2 * many
        j, k = np.minimum(l, opponent), np.maximum(l, opponent)
        known[i, j, k] = known[i, k, j] = True
        meetings = np.unique((j * q + k) * n + i)  # grouped by pair, each meeting once
        pairs, rows = np.divmod(meetings, n)
        groups = np.split(rows, np.flatnonzero(np.diff(pairs)) + 1)
        for pair, group in zip(np.unique(pairs), groups):
            j_, k_ = divmod(int(pair), q)
            share = ask(j_, k_, start + group)
            lost[group, j_] += 1.0 - share
            lost[group, k_] += share
