"""AutoClassifier: learners chosen for the data and weighted for a measure."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from time import monotonic
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import has_missing
from plurilabel._core.compat import AtLeastOne, HasMethods, Positive, StrOptions, safe_indexing
from plurilabel._core.data.bags import Bags
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import counted, file_size
from plurilabel.io import TableEncoder
from plurilabel.learners import learner_text
from plurilabel.metrics import get_measure, get_scorer
from plurilabel.model_selection.shared import Split, group_numbers
from plurilabel.thresholds import (
    ConstantThreshold,
    ThresholdStrategy,
    get_strategy,
    strategy_names,
)
from plurilabel.wrappers.automatic._copies import warn_of_copies
from plurilabel.wrappers.automatic._ensemble import Choice, Cut, calibrated, cuts_for
from plurilabel.wrappers.automatic._large import (
    MANY_ROWS,
    TESTED,
    TOP,
    SparseSelection,
    affordable,
    has_many_labels,
    large_candidates,
    sampled,
)
from plurilabel.wrappers.automatic._members import MeanOfLearners
from plurilabel.wrappers.automatic._pool import Pool, answers, fit_one, splits_for
from plurilabel.wrappers.automatic._portfolio import (
    Candidate,
    bag_candidates,
    candidates,
    for_known_labels,
    given,
    simplest,
    with_idf,
)
from plurilabel.wrappers.automatic._report import report
from plurilabel.wrappers.automatic._selection import Selection, choose_and_fit, nest
from plurilabel.wrappers.automatic._trials import NO_TIME, Clock, Limits, Trials, Tried, none_left
from plurilabel.wrappers.automatic._words import Encoded, choose_words, has_short_texts, idf_helps

FEWEST = 30  # rows: with fewer, a comparison says nothing
ENOUGH = 5000  # rows: with more, one split is enough for a quick comparison


@dataclass(eq=False, repr=False)
class AutoClassifier(MeanOfLearners):
    """Choose learners for the data, and weight them for a measure.

    A portfolio of learners is cross-validated: nearest neighbors, logistic regressions and chains
    of them, support vector machines, forests, gradient boosting and neural networks, for each
    label and for whole label sets. A weighted mean is built from their out-of-fold scores by
    greedy selection, a threshold is fitted to the measure, and the learners with a weight are
    refitted on all rows. Learners that cannot win are dropped after the first fold. If a single
    learner is better than the mean, it is used alone.

    Parameters
    ----------
    measure : str, default="micro_f1"
        The measure to optimize: a name in :func:`plurilabel.metrics.measure_names`, with a number
        in place of k. For a ranking measure, label sets are those with the best micro F1.
    portfolio : {"full", "quick"} or list of classifiers, default="full"
        The learners to try. ``"quick"`` has nearest neighbors and linear models, which take
        seconds. A list holds classifiers, or pairs of a name and a classifier; none of these is
        dropped early.
    threshold : str or ThresholdStrategy, default=None
        How scores become label sets: a name in :func:`plurilabel.thresholds.strategy_names`, or a
        strategy. By default the one that is best for the measure.
    leave_out : callable, default=None
        Called with every unfitted learner and text transformer, which is not tried if the result
        is true. With :func:`plurilabel.models.not_exportable`, the result can be exported.
    time_limit : float, default=None
        Seconds for ``fit``. Cheap learners are tried first, and a learner is skipped if its folds,
        the selection and the final fits may exceed the limit. Fits are not interrupted. If time is
        short, the selection uses some of the rows and the estimate some of the folds. The result
        then depends on the speed of the machine. Without a limit it does not; learners whose fit
        may take longer than 40 seconds are skipped.
    max_models : int, default=None
        Maximum number of learners in the result.
    max_bytes, max_latency : float, default=None
        Maximum size of the chosen learners, pickled, and maximum time in seconds that they take
        together to score one row. Both are measured after the final fits; if a limit is exceeded,
        the selection is repeated. With ``max_latency`` the result depends on the machine.
    cv : int, cross-validation splitter, iterable of splits, or None, default=None
        An int is the number of random folds, of whole groups if ``fit`` gets ``groups``. None
        means 5 folds, or 3 from 1,000 rows on. Rows in no test part, such as the first ones of
        :class:`~sklearn.model_selection.TimeSeriesSplit`, are only used for training.
    encoder : transformer, default=None
        Encodes tables and texts; by default a :class:`~plurilabel.TableEncoder`.
    memory : str or path, default=None
        Folder in which out-of-fold scores are cached. A later ``fit`` with the same data, folds,
        learners and versions reuses them, also for another measure. Sparse scores and those of
        learners with an unnamed function, such as a lambda, are not cached.
    progress : callable, default=None
        Called before each learner with the number of finished learners, the number of all, the
        name of the learner, and the seconds since the start.
    random_state : int, RandomState or None, default=None
        Seed of folds and learners.
    n_jobs : int, default=None
        Number of folds to fit in parallel. The result does not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        The m learners with a weight, fitted on all rows.
    names_ : list of str
        Their names.
    weights_ : ndarray of shape (m, 3)
        Their weights, which sum to 1: for raw scores, for calibrated scores, and for the label
        sets of learners that predict whole sets.
    calibrators_ : list of ScoreCalibrator
        Calibrators of their scores.
    cut_ : ThresholdStrategy
        Turns the weighted mean into label sets.
    nonempty_ : bool
        Whether the label with the highest score is predicted where the set would be empty.
    estimate_ : float
        Expected value of the measure on new rows: weights and threshold are selected without each
        fold in turn and measured on it. NaN if no learners were compared or time was up.
    report_ : dict
        What was tried and chosen, serializable as JSON. :meth:`summary` returns it as text.
    seconds_ : dict
        Duration of the ``"comparison"`` and of the final ``"fits"``, and in ``"folds"`` the mean
        over folds for each learner.
    top_ : int or None
        Number of labels that each learner scores per row if there are very many; None for all.
    encoder_ : transformer
        The fitted encoder or imputer.
    label_names_ : ndarray of shape (q,)

    See Also
    --------
    plurilabel.evaluation.compare : Compare learners over datasets, with statistics.

    Notes
    -----
    *Scores* are calibrated by Platt's sigmoids, label by label, on out-of-fold scores
    (:class:`~plurilabel.ScoreCalibrator`). Probabilities are used uncalibrated, too.

    *Tables.* Missing values are replaced by the median of the column; data frames with columns
    that are not numeric, and texts, are encoded by :class:`~plurilabel.TableEncoder`. The kinds of
    columns are inferred from all rows; medians, categories and words come from the training rows
    of each fold. For a named portfolio without given ``words``, texts become TF-IDF of words and
    pairs of words; parts of words and static vectors are added if they gain 0.002 in the first
    folds. Sparse counts become TF-IDF for linear learners and neighbors if that gains as much.

    *Unknown labels* (NaN, None, NA or :class:`~plurilabel.datasets.UnknownLabels`) are ignored by
    learners, measures and thresholds. Learners that need all labels get those that ML-kNN predicts
    (:class:`~plurilabel.ImputedLabels`). Rows without a known label are not used.

    *Race.* In the first folds with 50 test rows, the best variant of each learner goes on, such as
    one of several values of C. A learner that is behind the best one by a one-sided paired t-test
    at 5% over ten blocks of rows goes on only if a fifth of it improves the mean of the others.
    Dense "quick" learners do not race. Forests and chains are compared with half of their members.
    Learners that fail are left out; ``report_`` says why.

    *Estimate.* It is pessimistic where more rows would help, because learners are fitted on fewer
    rows: for 100 rows, 5 folds and the quick portfolio, a Hamming loss of 0.185 instead of 0.176.
    With at most 200 rows, 4 or 5 folds, and learners that take a second altogether, it is that of
    a nested cross-validation, and ``report_["estimate_nested"]`` is True. Otherwise the learners
    have seen the fold that is left out, which changes an estimate from 300 rows by about 0.003.

    *Very many labels.* From 200 labels on, if rows times labels exceed 2 million, there are
    label trees, extra trees by projected labels, one linear model per label, fastText, and nearest
    neighbors in the space of the features or of embedded labels. Each scores the 50 best labels of
    a row, and scores stay sparse. Learners are compared on one split with at most 20,000 training
    and 5,000 test rows. Weights and one threshold are selected on all test rows; the estimate is
    that of selections on one half, measured on the other. With more than 100,000 rows and fewer
    labels, every fold has a sample of as many rows. The final fits use all rows.

    With fewer than 30 rows nothing is compared: the learner is a forest, or logistic regression
    for sparse features.

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
    Weighted mean of 4 learners: micro F1 0.7... expected on new rows (measured on each fold, \
selected on the others).
    Label sets: scores above a threshold for each label.
    >>> round(metrics.micro_f1(Y_test, model.predict(X_test)), 1)
    0.8
    """

    _learns_from_known = True
    _learns_from_soft = True
    measure: Annotated[str, str] = "micro_f1"
    _: KW_ONLY
    portfolio: Annotated[Any, StrOptions({"full", "quick"}), list, tuple] = "full"
    threshold: Annotated[Any, StrOptions(set(strategy_names())), ThresholdStrategy] | None = None
    leave_out: Annotated[Callable[[Any], object], callable] | None = None
    time_limit: Positive | None = None
    max_models: AtLeastOne | None = None
    max_bytes: Positive | None = None
    max_latency: Positive | None = None
    cv: Annotated[Any, "cv_object"] = None
    encoder: Annotated[Any, HasMethods(["fit", "transform"])] | None = None
    memory: Annotated[Any, str, os.PathLike] | None = None
    progress: Annotated[Callable[[int, int, str, float], object], callable] | None = None
    random_state: Any = None
    n_jobs: int | None = None

    # fit ----------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Try learners, weight them, and train those that have a weight on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), data frame, sequence of n texts, or Bags
            For :class:`~plurilabel.bags.Bags`, learners of bags and learners of rows that describe
            the bags (:class:`~plurilabel.bags.BagsToRows`) are tried.
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            NaN, None and NA are unknown labels. Numbers between 0 and 1 are probabilities;
            measures are then expected values.
        groups : array-like of shape (n,), default=None
            Rows of one group, such as those of one patient, stay together in every split, also
            inside the learners. If most rows are nearly equal to others and no groups are given, a
            warning says that the estimate is too good.

        Returns
        -------
        self
        """
        self._fit(*self._validate_fit(X, y), groups)
        return self

    def _fit(self, X: Any, Y: LabelMatrix, groups: Any = None) -> None:
        clock = Clock(self.time_limit)
        get_scorer(self.measure)  # raises if there is no such measure
        n, q = Y.shape
        are_bags = isinstance(X, Bags)
        is_plain = not (are_bags or isinstance(Y, UnknownLabels) or Y.dtype.kind == "f")
        self.top_ = TOP if is_plain and n >= FEWEST and has_many_labels(n, q) else None
        scored = 3 * TESTED if n > MANY_ROWS else n
        if self.top_ is None:  # the dense scores of twenty learners
            sizes, memory = f"{n:,} instances and {q:,} labels", 20 * 8.0 * scored * q
            check_size(self, sizes, memory=memory, instead="labels that are all known, 0 or 1")
        B, some = self._labels(Y)
        if groups is not None:
            groups = group_numbers(groups)
            check_consistent_length(X, groups)
        inside = None if groups is None else groups[some]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        are_few = len(some) < FEWEST
        raw, encoder = X if len(some) == n else safe_indexing(X, some), self._new_encoder(X)
        one = len(some) >= ENOUGH and not has_short_texts(encoder, raw)
        splits = [] if are_few else self._splits(X, Y, some, groups, seed, one)
        measure = get_measure(self.measure)
        guide = measure, self._asked_cut() or cuts_for(measure, labelled=False)[0]
        encoder, encoded, words = self._with_words(encoder, raw, B, splits, clock, guide)
        A = self._fit_encoder(encoder, X)
        A = A if len(some) == n else A[some]
        tried = self._candidates(A, B, seed)
        compares = bool(splits) and isinstance(self.portfolio, str) and self.top_ is None
        if compares and idf_helps(A, B, splits, *guide):
            tried = with_idf(tried)
        if splits and (n > MANY_ROWS or self.top_):
            tried = affordable(tried, len(splits[0][0]) / n, clock.limit)
        if isinstance(B, UnknownLabels):
            tried = [replace(one, estimator=for_known_labels(one.estimator)) for one in tried]
        if are_few:
            few = f"{counted(len(some), 'row')} {'is' if len(some) == 1 else 'are'} too few"
            one_each, why = list(map(Tried, tried)), f"{few} to compare learners"
            found = self._uncompared(one_each, A, B, why, inside)
        else:
            has_folds = self.cv is None or isinstance(self.cv, Integral)
            if groups is None and not are_bags and has_folds:
                warn_of_copies(A, seed)
            is_table = self.encoder is not None or hasattr(X, "iloc")
            learns = is_table or (not are_bags and has_missing(X))
            by_folds = {"encoder": encoder, "raw": raw, "encoded": encoded} if learns else {}
            folder = None if self.top_ else self.memory
            pool = Pool(A, B, splits, folder, self.n_jobs, inside, top=self.top_, **by_folds)
            found = self._compared(tried, pool, seed, clock)
        self._decide_by(*found)
        self.report_ |= _facts(B, encoder, words)

    def _decide_by(self, members: list[Candidate], chosen: Choice, fitted: list[Any]) -> None:
        """Keep the chosen learners, and how they decide together."""
        self.estimators_ = fitted
        self.names_ = [one.name for one in members]
        self.decides_ = [one.decides for one in members]
        self.weights_, self.calibrators_ = chosen.weights, chosen.calibrators
        self.cut_, self.nonempty_ = chosen.cut.strategy, chosen.cut.nonempty

    def _splits(
        self, X: Any, Y: Any, some: Any, groups: Any, seed: int, one_is_enough: bool
    ) -> list[Split]:
        """Splits for the comparison: fewer, or of a sample of the rows, for large data."""
        has_many = self.top_ is not None
        splits = splits_for(self.cv or 5 if has_many else self.cv, X, Y, some, groups, seed)
        is_quick = self.cv is None and self.portfolio == "quick"
        if has_many or (is_quick and one_is_enough):
            splits = splits[:1]
        return sampled(splits, seed) if has_many or len(some) > MANY_ROWS else splits

    def _with_words(
        self, encoder: Any, X: Any, Y: Any, splits: list[Split], clock: Clock,
        guide: tuple[Any, Cut],
    ) -> tuple[Any, Encoded, str]:  # fmt: skip
        """The encoder with features of texts that suit them, unless it has some already."""
        is_table = isinstance(encoder, TableEncoder) and isinstance(self.portfolio, str)
        if not is_table or not splits or encoder.words or "text" not in encoder.kinds.values():
            return encoder, {}, ""
        return choose_words(encoder, X, Y, splits, *guide, clock.limit, self.leave_out)

    def _candidates(self, X: Any, Y: Any, seed: int) -> list[Candidate]:
        if isinstance(self.portfolio, str):
            if self.top_ is not None:
                found = large_candidates(X, Y, self.portfolio, seed)
            elif X.shape[0] < FEWEST:
                found = simplest(X, seed)
            elif isinstance(X, Bags):
                found = bag_candidates(X, Y, self.portfolio, seed)
            else:
                found = candidates(X, Y, self.portfolio, seed)
        else:
            found = given(self.portfolio, seed)
        if self.leave_out is None:
            return found
        kept = [one for one in found if not self.leave_out(one.estimator)]
        if not kept:
            raise ValueError(f"leave_out must leave a learner to try, got none of {len(found)}")
        return kept

    def _compared(
        self,
        tried: list[Candidate],
        pool: Pool,
        seed: int,
        clock: Clock,
    ) -> tuple[list[Candidate], Choice, list[Any]]:
        """The learners that are chosen by their out-of-fold scores, how, and fitted."""
        measure, Y, splits = get_measure(self.measure), pool.Y, pool.splits
        tested = np.concatenate([test for _, test in splits])
        fold_of = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        if len(splits) == 1:  # of one test part, each half is measured without it
            fold_of = 2 * np.arange(len(tested)) // len(tested)
        selection: Any
        if self.top_ is None:
            given = Y, tested, measure, fold_of, clock, self._asked_cut(), self._limits()
            selection = Selection(*given, random_state=seed)
        else:
            selection = self._sparse_selection(Y[tested])
        trials = Trials(pool, clock, selection, self.progress, self.max_models)
        found = trials.run(tried)
        if all(one.held is None for one in found):
            why = "time was up before any was tried"
            return self._uncompared(found, pool.X, Y, why, pool.groups)
        chosen, used = choose_and_fit(selection, found, pool, clock)
        rest = [one for one in found if not one.why_not]
        is_nested = nest(selection, rest, pool, clock)
        self.estimate_, by = selection.estimate(rest)
        n = Y.shape[0]
        self.report_ = report(
            found, chosen, measure, rows=n, folds=len(splits), value=self.estimate_
        )
        size, latency = (sum(part) for part in zip(*(one.costs for one in used)))
        if size:
            self.report_["size"] = f"{file_size(size)}, {1000 * latency:.1f} ms for a row"
        if self.top_ is not None or n > MANY_ROWS:
            self.report_["sample"] = [len(rows) for rows in splits[0]]
        self.report_.update(estimate_folds=by, estimate_nested=is_nested)
        self.seconds_ = {
            "comparison": clock.seconds() - pool.fit_seconds,
            "fits": pool.fit_seconds,
            "folds": {one.candidate.name: one.seconds for one in found if one.held is not None},
        }
        return [one.candidate for one in used], chosen, [one.fitted for one in used]

    def _uncompared(
        self, tried: list[Tried], X: Any, Y: Any, why: str, groups: Any
    ) -> tuple[list[Candidate], Choice, list[Any]]:
        """The first learner that can take the data, as it is.

        Decision values are calibrated on the training rows.
        """
        started = monotonic()
        for one in tried:
            if one.why_not not in ("", NO_TIME):
                continue
            try:
                one.fitted = fit_one(one.candidate.estimator, X, Y, groups)
                rows = slice(None if self.top_ is None else TESTED)
                one.held = answers(one.fitted, X[rows], Y.shape[1], decides=False, top=self.top_)
                break
            except Exception as error:  # whatever a learner raises
                one.fails(error)
        else:
            raise none_left(tried) from next((one.error for one in tried if one.error), None)
        self.seconds_ = {"comparison": 0.0, "fits": monotonic() - started, "folds": {}}
        if self.top_ is None:
            weights = np.array([[1.0, 0, 0] if one.held.probabilities else [0, 1.0, 0]])
            cut = self._asked_cut() or Cut(ConstantThreshold(0.5), False, "scores above 0.5")
            cut, calibrator = cut.fitted(one.held.scores, Y), calibrated(one.held.scores, Y)
            chosen = Choice(weights, [calibrator], cut, [0])
        else:
            selection = self._sparse_selection(Y[rows])
            selection.calibrate(one)
            chosen = selection.choose([one])
        self.estimate_ = np.nan
        self.report_ = {
            "measure": self.measure, "rows": Y.shape[0], "folds": 0, "estimate": None,
            "cut": chosen.cut.words, "why": why,
            "left_out": {other.candidate.name: other.why_not for other in tried if other.error},
            "tried": [{"name": one.candidate.name, "value": None, "weight": 1.0}],
        }  # fmt: skip
        return [one.candidate], chosen, [one.fitted]

    def _sparse_selection(self, Y: Any) -> SparseSelection:
        asked = self._asked_cut()
        if asked is not None and not isinstance(asked.strategy, ConstantThreshold):
            raise ValueError(
                f"threshold must be None or 'constant' with sparse scores of {Y.shape[1]:,} "
                f"labels, got {self.threshold!r}"
            )
        return SparseSelection(Y, get_measure(self.measure), asked, self._limits())

    def _limits(self) -> Limits:
        return Limits(self.max_models, self.max_bytes, self.max_latency)

    def _asked_cut(self) -> Cut | None:
        if self.threshold is None:
            return None
        named = isinstance(self.threshold, str)
        strategy = get_strategy(self.threshold) if named else self.threshold
        return Cut(strategy, False, f"{learner_text(strategy)}, as requested")


def _facts(Y: Any, encoder: Any, words: str) -> dict[str, Any]:
    """What the report says about the data."""
    facts: dict[str, Any] = {"words": words} if words else {}
    if isinstance(Y, UnknownLabels):
        facts["unknown"] = Y.n_unknown
    if isinstance(encoder, TableEncoder):
        facts |= {"columns": encoder.kinds, "columns_left_out": encoder.left_out_}
    return facts
