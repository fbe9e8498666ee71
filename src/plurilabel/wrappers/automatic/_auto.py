"""AutoClassifier: the learners that suit the data, weighted for the measure that matters."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import has_missing
from plurilabel._core.compat import HasMethods, Interval, StrOptions, safe_indexing
from plurilabel._core.fitted import Declared, flag, number, numbers, values
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import counted
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
from plurilabel.wrappers.automatic._ensemble import (
    FORMS,
    Choice,
    Cut,
    calibrated,
    cut_sets,
    cuts_for,
    mean_scores,
)
from plurilabel.wrappers.automatic._pool import Pool, answers, fit_one, splits_for
from plurilabel.wrappers.automatic._portfolio import (
    Candidate,
    candidates,
    for_known_labels,
    given,
    simplest,
)
from plurilabel.wrappers.automatic._report import report, told
from plurilabel.wrappers.automatic._selection import Selection, choose_and_fit, nest
from plurilabel.wrappers.automatic._tables import TableClassifier, known_rows
from plurilabel.wrappers.automatic._trials import NO_TIME, Clock, Trials, Tried, none_left
from plurilabel.wrappers.automatic._words import Encoded, choose_words, has_short_texts

FEWEST = 30  # rows: with fewer, a comparison says nothing
ENOUGH = 5000  # rows: with more, one split is enough for a quick comparison


class AutoClassifier(TableClassifier):
    """The learners that suit the data, weighted for the measure that matters.

    A portfolio of learners is tried by cross-validation: neighbours, logistic regressions and
    chains of them, support vectors, forests, gradient boosting, networks, for each label and for
    whole label sets. From their out-of-fold scores a weighted mean is built by greedy selection:
    to the best few, the learner is added, again and again, with which the mean is best by the
    chosen measure. Then the cut that turns the mean into label sets is fitted to the measure,
    and the learners that have a weight are trained on all rows. Learners that cannot win are
    dropped after the first fold, and if a learner by itself is better than the mean, it is taken.

    Parameters
    ----------
    measure : str, default="micro_f1"
        The measure to optimise: a name from :func:`plurilabel.metrics.measure_names`, with a
        number in place of k. A ranking measure depends on scores only; label sets are then cut for
        the best micro F1.
    portfolio : {"full", "quick"} or list of classifiers, default="full"
        What is tried. ``"quick"`` is neighbours and linear models, which take seconds. A list
        holds classifiers, or pairs of a name and a classifier; all of these are tried in all
        folds.
    threshold : str or ThresholdStrategy, default=None
        How the weighted mean becomes label sets: a name from
        :func:`plurilabel.thresholds.strategy_names`, or a strategy. By default what suits the
        measure best.
    leave_out : callable, default=None
        Called with each learner and each transformer of texts, not fitted: it is not tried if
        that returns something true, such as the reason. With
        :func:`plurilabel.models.not_exportable`, what is fitted can be exported.
    time_limit : float, default=None
        Seconds for ``fit``. Learners that cost less are tried first; one for which there is not
        enough time, with what its folds may take and what the choice and the final fits need, is
        left out. The fit of a fold that has begun is finished. Where time is short, the choice
        looks at some of the rows, and the estimate at some of the folds. With a limit the result
        depends on the speed of the machine; without one it does not, and learners of which a
        single fit may take longer than 40 seconds are left out.
    max_models : int, default=None
        The largest number of learners in the result. With 1 it is small, and the best one is
        taken.
    cv : int, cross-validation splitter, iterable of splits, or None, default=None
        How rows are held out. An int is a number of random folds, of whole groups if ``fit`` gets
        any; None stands for 5, or 3 from 1,000 rows on. Rows that are in no test part, such as
        the first ones of :class:`~sklearn.model_selection.TimeSeriesSplit`, are only learned from.
    encoder : transformer, default=None
        What turns a table or texts into numbers; by default a :class:`~plurilabel.TableEncoder`.
        Give one with other parameters to overrule it column by column.
    memory : str or path, default=None
        A folder in which out-of-fold scores are kept as soon as a learner has been tried. A
        later ``fit`` with the same data, folds, learners and versions finds them there: one that
        was interrupted goes on, and one for another measure only selects. Scores of learners that
        hold a function without a name, such as a lambda, are not kept.
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
        each fold in turn, and measured on that fold. NaN if nothing was compared, or if there was
        no time for it.
    report_ : dict
        What was tried and chosen, as JSON can hold it; :meth:`summary` is a text of it.
        ``"dropped"`` has the learners that did not go on after the first fold, ``"words"`` the
        features of texts.
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
    (:class:`~plurilabel.ScoreCalibrator`). Learners with probabilities take part uncalibrated,
    too. Missing values are filled with the median of their column. A data frame with columns that
    are not numbers, and texts, are encoded by :class:`~plurilabel.TableEncoder`. The kinds of
    columns are those that all rows show; medians, categories and words come from the training
    rows of each fold. ``plurilabel fit`` and :func:`plurilabel.models.train` use the same encoder.
    For a named portfolio, its ``words`` are chosen if they are not given: TF-IDF of words and
    pairs of words, with parts of words and static vectors beside them if these gain 0.002 in the
    first folds.

    Unknown labels (NaN, None, NA or :class:`~plurilabel.datasets.UnknownLabels`) are
    left out: learners learn from the known labels, or from those that ML-kNN fills in if they
    need all (:class:`~plurilabel.ImputedLabels`); weights, cuts and the estimate are those
    of the known labels. Rows without a known label are not used.

    With at most 200 rows, 4 or 5 folds, and a list of learners or quick ones (by rough costs, a
    second for one fit of each), the estimate is that of an outer cross-validation: weights and cut
    for a fold are selected by the scores of learners that have seen neither it nor the fold of the
    row that they score, which takes a fit for each pair of folds. ``report_["estimate_nested"]``
    says so. Otherwise these learners have seen the fold that is left out, which changes an
    estimate from 300 rows by about 0.003.

    Either way, the learners of the estimate have seen fewer rows than those of the result, so it
    is too bad where more rows would help: with 100 rows, 5 folds and the quick portfolio, a
    Hamming loss of 0.185 in place of 0.176. With 10 folds, not nested, it is 0.189.

    In the first folds, as many as have 50 rows, learners race: of variants, such as those of one
    learner with several values of C, the best goes on. One that is behind the best of all, by a
    one-sided paired t-test at 5% over ten blocks of rows, goes on only if the mean of those that
    are not behind is better with a fifth of it. There is no race of dense "quick" learners.

    A learner that fails, in a fold or in its last fit, is left out; ``report_`` has the reason.

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
    _learns_from_soft = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [str],
        "portfolio": [StrOptions({"full", "quick"}), list, tuple],
        "threshold": [None, StrOptions(set(strategy_names())), ThresholdStrategy],
        "leave_out": [None, callable],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "max_models": [None, Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "encoder": [None, HasMethods(["fit", "transform"])],
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
        leave_out: Callable[[Any], object] | None = None,
        time_limit: float | None = None,
        max_models: int | None = None,
        cv: Any = None,
        encoder: Any = None,
        memory: Any = None,
        progress: Callable[[int, int, str, float], object] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.measure = measure
        self.portfolio = portfolio
        self.threshold = threshold
        self.leave_out = leave_out
        self.time_limit = time_limit
        self.max_models = max_models
        self.cv = cv
        self.encoder = encoder
        self.memory = memory
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs

    # fit ----------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Try learners, weight them, and train those that have a weight on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), data frame, or sequence of n texts
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            NaN, None and NA are unknown labels. Numbers between 0 and 1 are probabilities;
            measures are then expected values.
        groups : array-like of shape (n,), default=None
            Rows of one group, such as those of one patient, stay together in every split, here
            and in the learners. Without them, rows that are nearly equal to others make the
            estimate too good, of which a warning tells.

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
        instead = "a learner of sparse labels, such as MLkNN"
        memory = 20 * 8.0 * n * q  # of the scores of twenty learners
        check_size(self, f"{n:,} instances and {q:,} labels", memory=memory, instead=instead)
        B, some = known_rows(Y)
        if groups is not None:
            groups = group_numbers(groups)
            check_consistent_length(X, groups)
        inside = None if groups is None else groups[some]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        are_few = len(B) < FEWEST
        splits = [] if are_few else splits_for(self.cv, X, Y, some, groups, seed)
        raw, encoder = safe_indexing(X, some), self._new_encoder(X)
        is_quick = self.cv is None and self.portfolio == "quick"
        if is_quick and len(B) >= ENOUGH and not has_short_texts(encoder, raw):
            splits = splits[:1]
        encoder, encoded, words = self._with_words(encoder, raw, B, splits, clock)
        A = self._fit_encoder(encoder, X)[some]
        tried = self._candidates(A, B, seed)
        if isinstance(B, UnknownLabels):
            tried = [replace(one, estimator=for_known_labels(one.estimator)) for one in tried]
        if are_few:
            few = f"{counted(len(B), 'row')} {'is' if len(B) == 1 else 'are'} too few"
            one_each, why = list(map(Tried, tried)), f"{few} to compare learners"
            found = self._uncompared(one_each, A, B, why, inside)
        else:
            if groups is None and (self.cv is None or isinstance(self.cv, Integral)):
                warn_of_copies(A, seed)
            learns = self.encoder is not None or hasattr(X, "iloc") or has_missing(X)
            by_folds = {"encoder": encoder, "raw": raw, "encoded": encoded} if learns else {}
            pool = Pool(A, B, splits, self.memory, self.n_jobs, inside, **by_folds)
            found = self._compared(tried, pool, seed, clock)
        members, chosen, self.estimators_ = found
        if isinstance(B, UnknownLabels):
            self.report_["unknown"] = B.n_unknown
        if isinstance(encoder, TableEncoder):
            self.report_ |= {"columns": encoder.kinds, "columns_left_out": encoder.left_out_}
        if words:
            self.report_["words"] = words
        self.names_ = [one.name for one in members]
        self.decides_ = [one.decides for one in members]
        self.weights_, self.calibrators_ = chosen.weights, chosen.calibrators
        self.cut_, self.nonempty_ = chosen.cut.strategy, chosen.cut.nonempty

    def _with_words(
        self, encoder: Any, X: Any, Y: Any, splits: list[Split], clock: Clock
    ) -> tuple[Any, Encoded, str]:
        """The encoder with features of texts that suit them, unless it has some already."""
        is_table = isinstance(encoder, TableEncoder) and isinstance(self.portfolio, str)
        if not is_table or not splits or encoder.words or "text" not in encoder.kinds.values():
            return encoder, {}, ""
        measure = get_measure(self.measure)
        cut = self._asked_cut() or cuts_for(measure, labelled=False)[0]
        options = clock.limit, self.leave_out
        return choose_words(encoder, X, Y, splits, measure, cut, *options)

    def _candidates(self, X: Any, Y: Any, seed: int) -> list[Candidate]:
        if isinstance(self.portfolio, str):
            few = X.shape[0] < FEWEST
            found = simplest(X, seed) if few else candidates(X, Y, self.portfolio, seed)
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
        options = {"max_models": self.max_models, "random_state": seed}
        selection = Selection(Y, tested, measure, fold_of, clock, self._asked_cut(), **options)
        trials = Trials(pool, clock, selection, self.progress, self.max_models)
        found = trials.run(tried)
        if all(one.held is None for one in found):
            why = "time was up before any was tried"
            return self._uncompared(found, pool.X, Y, why, pool.groups)
        chosen, used = choose_and_fit(selection, found, pool, clock)
        rest = [one for one in found if not one.why_not]
        is_nested = nest(selection, rest, pool, clock)
        self.estimate_, by = selection.estimate(rest)
        self.report_ = report(
            found, chosen, measure, rows=len(Y), folds=len(splits), value=self.estimate_
        )
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
                held = answers(one.fitted, X, Y.shape[1], decides=False)
                break
            except Exception as error:  # whatever a learner raises
                one.fails(error)
        else:
            raise none_left(tried) from next((one.error for one in tried if one.error), None)
        self.seconds_ = {"comparison": 0.0, "fits": monotonic() - started, "folds": {}}
        weights = np.array([[1.0, 0, 0] if held.probabilities else [0, 1.0, 0]])
        cut = self._asked_cut() or Cut(ConstantThreshold(0.5), False, "at 0.5")
        cut = cut.fitted(held.scores, Y)
        calibrator = calibrated(held.scores, Y)
        self.estimate_ = np.nan
        self.report_ = {
            "measure": self.measure, "rows": len(Y), "folds": 0, "estimate": None,
            "cut": cut.words, "why": why,
            "left_out": {other.candidate.name: other.why_not for other in tried if other.error},
            "tried": [{"name": one.candidate.name, "value": None, "weight": 1.0}],
        }  # fmt: skip
        return [one.candidate], Choice(weights, [calibrator], cut, [0]), [one.fitted]

    def _asked_cut(self) -> Cut | None:
        if self.threshold is None:
            return None
        named = isinstance(self.threshold, str)
        strategy = get_strategy(self.threshold) if named else self.threshold
        return Cut(strategy, False, f"by {learner_text(strategy)}, as asked")

    def refit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Train the chosen learners on other rows, without a new choice.

        Weights, calibration and cut stay as they are: after a model has been measured on rows
        that were held out, it can learn from all of them in the time of one fit of each learner.
        A learner that fails is left out; the weights of the others grow.

        Parameters
        ----------
        X, y, groups : as for ``fit``, with the same labels

        Returns
        -------
        self
        """
        check_is_fitted(self)
        before = self.__dict__.copy()
        try:
            self._refit(X, y, groups)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _refit(self, X: Any, y: Any, groups: Any) -> None:
        X, Y = self._validate_X(X, reset=True), self._encode_more(y)
        check_consistent_length(X, Y)
        B, some = known_rows(Y)
        A = self._fit_encoder(self.encoder_, X)[some]
        inside = None if groups is None else group_numbers(groups)[some]
        tried = list(map(Tried, map(Candidate, self.names_, self.estimators_)))
        for one in tried:
            member = one.candidate.estimator
            try:
                if isinstance(B, UnknownLabels):
                    member = for_known_labels(member)
                one.fitted = fit_one(member, A, B, inside)
            except Exception as error:  # whatever a learner raises
                one.fails(error)
        self._keep([j for j, one in enumerate(tried) if one.fitted is not None], tried)

    def _keep(self, kept: list[int], tried: list[Tried]) -> None:
        """Take the learners that were fitted again; those that failed lose their weight."""
        if not kept:
            raise none_left(tried) from tried[0].error
        self.estimators_ = [tried[j].fitted for j in kept]
        failed = {one.candidate.name: one.why_not for one in tried if one.why_not}
        if not failed:
            return
        for name in ("names_", "decides_", "calibrators_"):
            setattr(self, name, [getattr(self, name)[j] for j in kept])
        total = self.weights_[kept].sum()
        self.weights_ = self.weights_[kept] / total
        rest = [one for one in self.report_["tried"] if one["name"] not in failed]
        self.report_ = {
            **self.report_,
            "tried": [{**one, "weight": one["weight"] / total} for one in rest],
            "left_out": {**self.report_["left_out"], **failed},
        }

    # predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores_of_encoded(self._encoded(X))

    def _scores_of_encoded(self, A: Any) -> NDArray[np.float64]:
        parts = [
            answers(member, A, self.n_labels_, decides=bool(weights[-1]))
            for member, weights in zip(self.estimators_, self.weights_)
        ]
        return mean_scores(self.weights_, self.calibrators_, parts)

    def _predict(self, X: Any) -> Any:
        return cut_sets(self.cut_, self.nonempty_, self._scores(X))

    def summary(self) -> str:
        """Describe what was tried, what was chosen, and why."""
        check_is_fitted(self)
        return told(self.report_, self.seconds_["comparison"])
