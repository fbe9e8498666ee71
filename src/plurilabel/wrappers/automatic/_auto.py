"""AutoClassifier: the learners that suit the data, weighted for the measure that matters."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, validate_features
from plurilabel._core.blocks import dense, has_missing, naming_text
from plurilabel._core.compat import Interval, StrOptions
from plurilabel._core.explanation.contributions import checked_given, occlusion
from plurilabel._core.fitted import Declared, flag, number, numbers, values
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import counted
from plurilabel.io import column_kinds, table_encoder
from plurilabel.io.shared import imputer
from plurilabel.learners import learner_text, set_seeds
from plurilabel.metrics import get_measure, get_scorer
from plurilabel.model_selection import IterativeStratifiedKFold
from plurilabel.thresholds import (
    ConstantThreshold,
    ScoreCalibrator,
    ThresholdStrategy,
    get_strategy,
    strategy_names,
)
from plurilabel.wrappers.automatic._ensemble import (
    FORMS,
    Choice,
    Cut,
    affordable_entries,
    choose,
    cut_sets,
    estimate,
    mean_scores,
)
from plurilabel.wrappers.automatic._portfolio import (
    Candidate,
    candidates,
    for_known_labels,
    simplest,
)
from plurilabel.wrappers.automatic._trials import (
    NO_TIME,
    REFIT,
    Clock,
    Pool,
    Tried,
    answers,
    fit_one,
    report,
    told,
    try_all,
)

FEWEST = 30  # instances: with fewer, a comparison says nothing


class AutoClassifier(ProbabilisticClassifier):
    """The learners that suit the data, weighted for the measure that matters.

    A portfolio of learners is tried by cross-validation: neighbours, logistic regressions and
    chains of them, support vectors, forests, gradient boosting, networks, for each label and for
    whole label sets. From their out-of-fold scores a weighted mean is built by greedy selection:
    to the best few, the learner is added, again and again, with which the mean is best by the
    chosen measure. Then the cut that turns the mean into label sets is fitted to the measure,
    and the learners that have a weight are trained on all rows.

    Parameters
    ----------
    measure : str, default="micro_f1"
        The measure to optimise: a name from :func:`plurilabel.metrics.measure_names`, with a
        number in place of k. A ranking measure depends on scores only; label sets are then cut for
        the best micro F1.
    portfolio : {"full", "quick"} or list of classifiers, default="full"
        What is tried. ``"quick"`` is neighbours and logistic regression, which take seconds. A
        list holds classifiers, or pairs of a name and a classifier.
    threshold : str or ThresholdStrategy, default=None
        How the weighted mean becomes label sets: a name from
        :func:`plurilabel.thresholds.strategy_names`, or a strategy. By default what suits the
        measure best.
    time_limit : float, default=None
        Seconds for ``fit``. Learners that cost less are tried first; one for which there is not
        enough time, with what its folds may take and what the final fits need, is left out. The
        fit of a fold that has begun is finished. With a limit the result depends on the speed of
        the machine; without one it does not, and learners of which a single fit may take longer
        than 100 seconds are left out.
    max_models : int, default=None
        The largest number of learners in the result. With 1 it is small, and the best one is
        taken.
    cv : int, default=5
        Number of folds, stratified and shuffled.
    memory : str or path, default=None
        A folder in which out-of-fold scores are kept as soon as a learner has been tried. A
        later ``fit`` with the same data, folds and learners finds them there: one that was
        interrupted goes on, and one for another measure only selects.
    progress : callable, default=None
        Called before each learner with the number of those that are done, the number of all, the
        name of the learner, and the seconds since the beginning.
    random_state : int, RandomState or None, default=None
        For folds and learners.
    n_jobs : int, default=None
        Folds that are learned at the same time. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        The learners with a weight, trained on all rows.
    names_ : list of str
        What they are.
    weights_ : ndarray of shape (m, 3)
        Their weights, which sum to 1: of the scores as they are, of calibrated scores, and of the
        label sets of learners that decide on these as a whole.
    calibrators_ : list of ScoreCalibrator
        How the scores of each become calibrated.
    cut_ : ThresholdStrategy
        What turns the weighted mean into label sets.
    nonempty_ : bool
        Whether a label set that would be empty gets the label with the highest score.
    estimate_ : float
        The measure as it may be expected for new rows: weights and cut are selected anew without
        each fold in turn, and measured on that fold. NaN if nothing was compared.
    report_ : dict
        What was tried and chosen, as JSON can hold it; :meth:`summary` is a text of it.
    seconds_ : dict
        How long it took: ``"comparison"``, the final ``"fits"``, and in ``"folds"`` the mean over
        the folds for each learner by its name.
    encoder_ : transformer
        What fills missing values and encodes the columns of a table.
    label_names_ : ndarray of shape (q,)

    See Also
    --------
    plurilabel.evaluation.compare : Compares learners over datasets, with statistics.

    Notes
    -----
    Scores come to one scale by Platt's sigmoids, label by label, fitted to out-of-fold scores
    (:class:`~plurilabel.ScoreCalibrator`). Learners with probabilities take part
    uncalibrated, too.

    Missing values are filled with the median of their column. A data frame with columns that are
    not numbers is encoded by :func:`plurilabel.io.table_encoder`. Medians and categories come from
    all training rows, before the folds are made.

    Unknown labels (NaN, None, NA or :class:`~plurilabel.datasets.UnknownLabels`) are
    left out: learners learn from the known labels, or from those that ML-kNN fills in if they
    need all (:class:`~plurilabel.ImputedLabels`); weights, cuts and the estimate are those
    of the known labels. Rows without a known label are not used.

    With fewer than 30 rows nothing is compared: it is a forest, or logistic regression for sparse
    features.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes. Ensemble selection from libraries of
    models. ICML 2004.

    Examples
    --------
    >>> from plurilabel import AutoClassifier, datasets, metrics, model_selection
    >>> data = datasets.make_multilabel(300, 8, 4, noise=0.1, random_state=0)
    >>> X, X_test, Y, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> model = AutoClassifier(portfolio="quick", random_state=0).fit(X, Y)
    >>> print(model.summary())
    Tried 4 learners in 5 folds of 210 rows, ...:
      learner                     micro F1  weight
      logistic regression, C=...
    The weighted mean of 4: micro F1 0.7... expected on new rows (selected without each fold in \
turn, and measured on that fold).
    Label sets: the scores are cut where the expected F1 is highest.
    >>> round(metrics.micro_f1(Y_test, model.predict(X_test)), 1)
    0.8
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [str],
        "portfolio": [StrOptions({"full", "quick"}), list, tuple],
        "threshold": [None, StrOptions(set(strategy_names())), ThresholdStrategy],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "max_models": [None, Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "memory": [None, str, os.PathLike],
        "progress": [None, callable],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }
    _fitted: ClassVar[Declared] = {
        "names_": values("m"),
        "estimators_": values("m"),
        "calibrators_": values("m"),
        "decides_": values("m"),
        "weights_": numbers("m", len(FORMS)),
        "nonempty_": flag(),
        "estimate_": number(finite=False),
    }

    seconds_: dict[str, Any]

    def __init__(
        self,
        measure: str = "micro_f1",
        *,
        portfolio: Any = "full",
        threshold: Any = None,
        time_limit: float | None = None,
        max_models: int | None = None,
        cv: int = 5,
        memory: Any = None,
        progress: Callable[[int, int, str, float], object] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.measure = measure
        self.portfolio = portfolio
        self.threshold = threshold
        self.time_limit = time_limit
        self.max_models = max_models
        self.cv = cv
        self.memory = memory
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs

    # fit ----------------------------------------------------------------------------------

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        clock = Clock(self.time_limit)
        get_scorer(self.measure)  # raises if there is no such measure
        n, q = Y.shape
        instead = "a learner of sparse labels, such as MLkNN"
        memory = 20 * 8.0 * n * q  # of the scores of twenty learners
        check_size(self, f"{n:,} instances and {q:,} labels", memory=memory, instead=instead)
        A, B = self._encoded_known(X, Y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        tried = self._candidates(A, B, seed)
        if isinstance(B, UnknownLabels):
            tried = [replace(one, estimator=for_known_labels(one.estimator)) for one in tried]
        if len(B) < FEWEST:
            few = f"{counted(len(B), 'row')} {'is' if len(B) == 1 else 'are'} too few"
            found = self._uncompared(tried[:1], A, B, f"{few} to compare learners")
        else:
            found = self._compared(tried, A, B, seed, clock)
        members, chosen, self.estimators_ = found
        if isinstance(B, UnknownLabels):
            self.report_["unknown"] = B.n_unknown
        self.names_ = [one.name for one in members]
        self.decides_ = [one.decides for one in members]
        self.weights_, self.calibrators_ = chosen.weights, chosen.calibrators
        self.cut_, self.nonempty_ = chosen.cut.strategy, chosen.cut.nonempty

    def _candidates(self, X: Any, Y: Any, seed: int) -> list[Candidate]:
        if isinstance(self.portfolio, str):
            few = X.shape[0] < FEWEST
            return simplest(X, seed) if few else candidates(X, Y, self.portfolio, seed)
        return _given(self.portfolio, seed)

    def _compared(
        self, tried: list[Candidate], X: Any, Y: Any, seed: int, clock: Clock
    ) -> tuple[list[Candidate], Choice, list[Any]]:
        """The learners that are chosen by their out-of-fold scores, how, and fitted."""
        measure, n = get_measure(self.measure), len(Y)
        folds = IterativeStratifiedKFold(self.cv, shuffle=True, random_state=seed)
        splits = list(folds.split(np.empty(n), Y))
        fold_of = np.empty(n, dtype=np.intp)
        for k, (_, test) in enumerate(splits):
            fold_of[test] = k
        pool = Pool(X, Y, splits, self.memory, self.n_jobs)
        found = try_all(tried, pool, clock, self.progress)
        finished = [one for one in found if one.held is not None]
        if not finished:
            if all(one.why_not != NO_TIME for one in found):
                why = "; ".join(f"{one.candidate.name}: {one.why_not}" for one in found)
                raise ValueError(f"none of the learners can take the data: {why}")
            return self._uncompared(tried[:1], X, Y, "time was up before any was tried")
        held: list[Any] = [one.held for one in finished]
        options = self._selection(finished, Y, fold_of, seed, clock)
        chosen = choose(held, Y, measure, fold_of, **options)
        self.estimate_ = estimate(held, Y, measure, fold_of, **options)
        self.report_ = report(
            found, chosen, measure, rows=n, folds=len(splits), value=self.estimate_
        )
        used = np.flatnonzero(chosen.weights.any(axis=1))
        members = [finished[j].candidate for j in used]
        compared = clock.seconds()
        fitted = [fit_one(member.estimator, X, Y) for member in members]
        self.seconds_ = {
            "comparison": compared,
            "fits": clock.seconds() - compared,
            "folds": {one.candidate.name: one.seconds for one in finished},
        }
        return members, chosen.of(used), fitted

    def _selection(
        self, finished: list[Tried], Y: Any, fold_of: Any, seed: int, clock: Clock
    ) -> dict[str, Any]:
        """The options of ``choose``; with a time limit, it looks at as many scores as it can."""
        cut = self._asked_cut()
        options = {"max_models": self.max_models, "random_state": seed, "cut": cut}
        if clock.limit is None:
            return options
        fits = REFIT * sum(one.seconds for one in finished)
        first: Any = finished[0].held
        scores = first.scores if first.probabilities else expit(first.scores)
        options["entries"] = affordable_entries(
            scores, Y, get_measure(self.measure), fold_of, clock.left_for_selection(fits), cut
        )
        return options

    def _uncompared(
        self, members: list[Candidate], X: Any, Y: Any, why: str
    ) -> tuple[list[Candidate], Choice, list[Any]]:
        """One learner as it is; decision values are calibrated on the training rows."""
        started = monotonic()
        fitted = fit_one(members[0].estimator, X, Y)
        self.seconds_ = {"comparison": 0.0, "fits": monotonic() - started, "folds": {}}
        held = answers(fitted, X, Y.shape[1], decides=False)
        weights = np.array([[1.0, 0, 0] if held.probabilities else [0, 1.0, 0]])
        cut = self._asked_cut() or Cut(ConstantThreshold(0.5), False, "at 0.5")
        cut = cut.fitted(held.scores, Y)
        calibrator = ScoreCalibrator().fit(held.scores, Y)
        self.estimate_ = np.nan
        self.report_ = {
            "measure": self.measure, "rows": len(Y), "folds": 0, "estimate": None,
            "cut": cut.words, "why": why, "left_out": {},
            "tried": [{"name": members[0].name, "value": None, "weight": 1.0}],
        }  # fmt: skip
        return members, Choice(weights, [calibrator], cut, [np.nan]), [fitted]

    def _asked_cut(self) -> Cut | None:
        if self.threshold is None:
            return None
        named = isinstance(self.threshold, str)
        strategy = get_strategy(self.threshold) if named else self.threshold
        return Cut(strategy, False, f"by {learner_text(strategy)}, as asked")

    def refit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the chosen learners on other rows, without a new choice.

        Weights, calibration and cut stay as they are: after a model has been measured on rows
        that were held out, it can learn from all of them in the time of one fit of each learner.

        Parameters
        ----------
        X, y : as for ``fit``, with the same labels

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, Y = self._validate_X(X, reset=True), self._encode_more(y)
        check_consistent_length(X, Y)
        A, B = self._encoded_known(X, Y)
        members = self.estimators_
        if isinstance(B, UnknownLabels):
            members = [for_known_labels(member) for member in members]
        self.estimators_ = [fit_one(member, A, B) for member in members]
        return self

    def _encoded_known(self, X: Any, Y: LabelMatrix) -> tuple[Any, Any]:
        """Encode the rows that have a known label, with dense labels."""
        encoder = table_encoder(X, numbers=imputer()) if hasattr(X, "iloc") else imputer()
        self.encoder_ = encoder.fit(X)
        X = _encoded(self.encoder_, X)
        if not isinstance(Y, UnknownLabels):
            return X, dense(Y)
        filled, unknown = dense(Y.Y), dense(Y.unknown)
        some = np.flatnonzero(~unknown.all(axis=1))
        if not len(some):
            raise ValueError("y must have labels that are known, got none")
        return X[some], UnknownLabels(filled[some], unknown[some])

    # predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores_of_encoded(_encoded(self.encoder_, X))

    def _scores_of_encoded(self, A: Any) -> NDArray[np.float64]:
        parts = [
            answers(member, A, self.n_labels_, decides=bool(weights[-1]))
            for member, weights in zip(self.estimators_, self.weights_)
        ]
        return mean_scores(self.weights_, self.calibrators_, parts)

    def _predict(self, X: Any) -> Any:
        return cut_sets(self.cut_, self.nonempty_, self._scores(X))

    def explain(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> list[Any]:
        """Explain each label by occlusion of one feature at a time.

        Parameters
        ----------
        X : rows to explain, as ``predict`` takes them
        feature_names : sequence of str, default=None
        reference : array-like of shape (d,), default=None
            The values that stand for "nothing known". By default the medians of the training
            rows.

        Returns
        -------
        list of Contributions, one for each row of X
            The features of a table are those of ``encoder_``.
        """
        check_is_fitted(self)
        if not self._takes_table(X):
            medians = self.encoder_.statistics_ if reference is None else reference
            return super().explain(X, feature_names=feature_names, reference=medians)
        X = self._validate_predict(X)
        names = self.encoder_.get_feature_names_out() if feature_names is None else feature_names
        A = np.asarray(_encoded(self.encoder_, X))
        given = checked_given(list(names), reference, A.shape[1])
        scores = self._scores_of_encoded(A)
        parts = (occlusion(self._scores_of_encoded, A[i : i + 1], given) for i in range(len(A)))
        return [part.said_of(scores[i], self.label_names_) for i, part in enumerate(parts)]

    def summary(self) -> str:
        """Describe what was tried, what was chosen, and why."""
        check_is_fitted(self)
        return told(self.report_, self.seconds_["comparison"])

    # the door -----------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if _is_table(X) if reset else self._takes_table(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        X = validate_features(self, X, reset=reset, ensure_all_finite="allow-nan")
        # a data frame is stored by columns; sums in another order differ in the last bit
        return X if sparse.issparse(X) else np.ascontiguousarray(X)

    def _takes_table(self, X: Any) -> bool:
        return hasattr(X, "iloc") and isinstance(self.encoder_, ColumnTransformer)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_table(X: Any) -> bool:
    """Whether X is a data frame with columns that are not numbers."""
    return hasattr(X, "iloc") and any(dtype.kind not in "biuf" for dtype in X.dtypes)


def _encoded(encoder: Any, X: Any) -> Any:
    if not hasattr(X, "iloc"):
        return encoder.transform(X) if has_missing(X) else X
    kinds = column_kinds(encoder)
    with naming_text(X, [name for name, kind in kinds.items() if kind == "numbers"]):
        return encoder.transform(X)


def _given(portfolio: Sequence[Any], seed: int) -> list[Candidate]:
    """Learners that a user wants tried, under names that differ."""
    found: dict[str, Candidate] = {}
    for entry in portfolio:
        name, estimator = entry if isinstance(entry, tuple | list) else (None, entry)
        estimator = clone(estimator)
        set_seeds(estimator, seed)
        text = learner_text(estimator) if name is None else str(name)
        if text in found:
            raise ValueError(f"portfolio must have different names, got {text!r} twice")
        found[text] = Candidate(text, estimator, decides=True)
    if not found:
        raise ValueError("portfolio must hold at least one classifier, got none")
    return list(found.values())
