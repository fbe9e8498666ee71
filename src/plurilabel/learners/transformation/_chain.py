"""Classifier chains: each model sees the labels before its own."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state

from plurilabel._core.base import CUTS, LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import AtLeastOne, StrOptions, rows_of_params
from plurilabel._core.explanation.contributions import Given, Parts, side_by_side
from plurilabel._core.fitted import Declared, numbers, one_of, parameter, places, values
from plurilabel._core.unknown import UnknownLabels
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier
from plurilabel.model_selection.shared import splits_by

MOST_LABELS = 15  # for an exact search through 2^q label sets
AT_ONCE = 2**22  # numbers in the copies of a block of rows during a search
# the scale of explanations where the score is a probability over many label sets
GIVEN_BEFORE = "the log-odds, or the score, of the label given those predicted before it"
METHODS = {"predict", "predict_proba", "predict_log_proba", "decision_function"}
# parameters that chains and ensembles of chains share
ChainMethod: TypeAlias = Annotated[Any, StrOptions(METHODS), list, tuple]


@dataclass(eq=False, repr=False)
class ClassifierChain(TransformationClassifier):
    """Binary models in a chain: each sees X and the labels before its own.

    With the labels in the order t(1), ..., t(q), model j learns label t(j) from
    [x, y_t(1), ..., y_t(j-1)]; for prediction, the earlier labels are those predicted. If the
    base estimator has ``predict_proba``, the chain models the joint distribution,
    P(y | x) = prod_j P(y_t(j) | x, y_t(1), ..., y_t(j-1)), and can be searched better than
    greedily.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``; the inference methods other than
        "greedy" need ``predict_proba``.
    order : None, "random" or sequence of int, default=None
        ``order[j]`` is the j-th label of the chain; None is the order of the columns. Outputs
        always have the column order of y.
    cv : int, cross-validation splitter, iterable or None, default=None
        What models see of earlier labels during training. None: the true labels. Otherwise the
        output of ``chain_method`` of models trained on other folds (nested stacking).
    chain_method : str or list of str, default="predict"
        What a model passes on to later models: "predict" (its label), "predict_proba",
        "predict_log_proba" or "decision_function". From a list, the first method that the base
        estimator has.
    inference : {"greedy", "exact", "beam", "monte-carlo"}, default="greedy"
        "greedy": one label after the other. "exact": all 2^q label sets, for up to 15 labels.
        "beam": follow the ``beam_width`` most probable prefixes of label sets.
        "monte-carlo": draw ``n_samples`` label sets. All but "greedy" need ``cv=None`` and
        ``chain_method="predict"``.
    decision : {"joint", "marginal"}, default="joint"
        What to predict unless inference is "greedy". "joint": the most probable label set
        found, best for subset accuracy. "marginal": the labels with a probability above 0.5,
        best for Hamming loss.
    beam_width : int, default=15
    n_samples : int, default=100
    random_state : int, RandomState instance or None, default=None
        For ``order="random"`` and the draws of "monte-carlo".
    n_jobs : int, default=None
        Number of folds of ``cv`` to run in parallel.
    verbose : int, default=0
        Whether to print a line per label.

    Attributes
    ----------
    estimators_ : list of q fitted clones of ``estimator``, in the order of the chain
        A label that all or no training instances have gets a ``DummyClassifier``.
    order_ : ndarray of shape (q,)
    chain_method_, inference_ : str
        The ``chain_method`` that was used, and the ``inference`` of ``fit``.

    See Also
    --------
    EnsembleOfChains : Many random orders.
    sklearn.multioutput.ClassifierChain : The same greedy predictions, for labels that vary.

    Notes
    -----
    ``predict_proba`` is P(label | x, labels predicted before it) for "greedy", and the marginal
    P(label | x) otherwise: exact, over the sets in the beam, or estimated. With
    ``decision="joint"`` the predicted set may differ from the labels with probabilities above 0.5.

    "beam" with width 1 predicts as "greedy" does. Cost for n instances: n q base predictions for
    "greedy", up to n q ``beam_width``, n q ``n_samples``, or n (2^q - 1).

    Labels may be unknown: each is learned from the instances where it is known; elsewhere, later
    models see its own model's prediction.

    If ``cv`` is a number, folds are stratified unless a label is too rare. "predict_log_proba"
    passes on finite numbers only.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label
    classification. Machine Learning 85(3), 2011. K. Dembczyński, W. Cheng, E. Hüllermeier.
    Bayes optimal multilabel classification via probabilistic classifier chains. ICML 2010.
    A. Kumar, S. Vembu, A. Menon, C. Elkan. Beam search algorithms for multilabel learning.
    Machine Learning 92, 2013. R. Senge, J. J. del Coz, E. Hüllermeier. Rectifying classifier
    chains for multi-label classification. LWA 2013.

    Examples
    --------
    The first label is the *or* of two features, the second their exclusive or. A linear model
    learns the latter only if it also sees the first label:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance, ClassifierChain
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> Y = [[0, 0], [1, 1], [1, 1], [1, 0]] * 10
    >>> base = LogisticRegression(C=100)
    >>> BinaryRelevance(base).fit(X, Y).score(X, Y)
    0.5
    >>> ClassifierChain(base).fit(X, Y).score(X, Y)
    1.0
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "order_": places("n_labels_", below="n_labels_"),
        "estimators_": values("n_labels_"),
        "chain_method_": one_of("predict", "predict_log_proba", *CUTS),
        "inference_": parameter(),
        "decision_": parameter(),
        "beam_width_": parameter(),
        "uniforms_": numbers(None, "n_labels_", optional=True),
    }

    estimator: Any
    _: KW_ONLY
    order: Annotated[Any, None, StrOptions({"random"}), "array-like"] = None
    cv: Annotated[Any, "cv_object"] = None
    chain_method: ChainMethod = "predict"
    inference: Literal["greedy", "exact", "beam", "monte-carlo"] = "greedy"
    decision: Literal["joint", "marginal"] = "joint"
    beam_width: AtLeastOne = 15
    n_samples: AtLeastOne = 100
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fit(self, X: Any, Y: LabelMatrix, groups: Any = None, **params: Any) -> None:
        q = Y.shape[1]
        rng = check_random_state(self.random_state)
        self.chain_method_ = _first_method(self.estimator, self.chain_method)
        self._check_inference(q)
        self.inference_, self.decision_ = self.inference, self.decision
        self.beam_width_ = self.beam_width
        self.order_ = _check_order(self.order, q, rng)
        self.uniforms_: Any = None
        if self.inference == "monte-carlo":
            self.uniforms_ = rng.uniform(size=(self.n_samples, q))
        inputs = GrowingInput(X, q)
        self.estimators_ = []
        gaps = Y if isinstance(Y, UnknownLabels) else None
        Y = Y if gaps is None else gaps.Y
        for j, y in enumerate(base.columns(Y[:, self.order_])):
            start = time.perf_counter()
            seen = inputs.matrix()
            known = None if gaps is None else gaps.known_rows(self.order_[j])
            self.estimators_.append(base.fit_binary(self.estimator, seen, y, params, known))
            if self.verbose:
                what = f"({j + 1} of {q}) {self.label_names_[self.order_[j]]}"
                seconds = time.perf_counter() - start
                print(f"[{type(self).__name__}] {what}, total={seconds:6.1f}s", flush=True)
            if j + 1 < q:
                inputs.append(self._seen_later(seen, y, params, known, groups))

    def _seen_later(
        self, seen: Any, y: NDArray[Any], params: base.Params, known: Any, groups: Any
    ) -> NDArray[Any]:
        """The column of the last label for later models; predicted where unknown."""
        if known is None or known.all():
            return y if self.cv is None else self._out_of_fold(seen, y, params, groups)
        there, told = np.flatnonzero(known), y.astype(np.float64)
        scores = base.binary_scores(self.estimators_[-1], seen[~known], self._asked())
        told[~known] = self._passed_on(scores)
        if self.cv is not None and len(there):
            some = rows_of_params(seen, params, there)
            grouped = None if groups is None else np.asarray(groups)[there]
            told[there] = self._out_of_fold(seen[there], y[there], some, grouped)
        return told

    def _out_of_fold(self, seen: Any, y: Any, params: base.Params, groups: Any) -> NDArray[Any]:
        """The column for later models, from models trained on other folds."""
        cv = self.cv if groups is not None else _folds(self.cv, y)
        splits: Any = splits_by(cv, seen, y, groups)
        how = splits, self._asked(), params, self.n_jobs
        scores = base.out_of_fold(self.estimator, seen, y[:, np.newaxis], *how)
        return self._passed_on(scores.ravel())

    def _scores(self, X: Any) -> NDArray[np.floating]:
        if self.inference_ != "greedy":
            return self._search(X)[1]
        method, asked = self._score_method(), self._asked()
        q = len(self.estimators_)
        inputs = GrowingInput(X, q)
        scores = np.empty((X.shape[0], q))
        for j, model in enumerate(self.estimators_):
            seen = inputs.matrix()
            scores[:, j] = base.binary_scores(model, seen, method)
            if j + 1 < q:
                same = asked == method
                told = scores[:, j] if same else base.binary_scores(model, seen, asked)
                inputs.append(self._passed_on(told))
        return scores.take(np.argsort(self.order_), axis=1)

    def _parts(self, x: Any, given: Given) -> Parts:
        greedy = self.inference_ == "greedy"
        method, asked, q = self._score_method(), self._asked(), len(self.estimators_)
        # explain a search along the label set it found
        chosen = None if greedy else self._predict(x)[0, self.order_]
        inputs, found = GrowingInput(x, q), []
        names = [str(name) for name in given.names]
        for j, model in enumerate(self.estimators_):
            seen = inputs.matrix()
            found.append(base.explain_binary(model, seen, method, given._replace(names=names)))
            names.append(f"label: {self.label_names_[self.order_[j]]}")
            if j + 1 < q:
                if chosen is None:
                    inputs.append(self._passed_on(base.binary_scores(model, seen, asked)))
                else:
                    inputs.append(chosen[[j]])
        parts = side_by_side(found).columns(np.argsort(self.order_))
        return parts if greedy else parts.rescaled(GIVEN_BEFORE)

    def _asked(self) -> str:
        """The method whose output :meth:`_passed_on` converts."""
        asked = {"predict": self._score_method(), "predict_log_proba": "predict_proba"}
        return asked.get(self.chain_method_, self.chain_method_)

    def _passed_on(self, scores: NDArray[np.floating]) -> NDArray[Any]:
        """What later models see of a label with these scores."""
        if self.chain_method_ == "predict":
            return scores > CUTS[self._asked()]
        if self.chain_method_ == "predict_log_proba":
            return np.log(np.maximum(scores, np.finfo(np.float32).tiny))
        return scores

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        if self.inference_ == "greedy" or self.decision_ == "marginal":
            return super()._predict(X)
        return self._search(X)[0]

    def _search(self, X: Any) -> tuple[Any, ...]:
        """The most probable sets and the marginals (n, q) that the search finds."""
        q, found = len(self.estimators_), []
        draws = self.inference_ == "monte-carlo"
        width = 2**q if self.inference_ == "exact" else self.beam_width_
        search: Any = partial(beam_search, width=width)
        if draws:
            width, search = len(self.uniforms_), partial(sample_sets, uniforms=self.uniforms_)
        # in blocks: the candidate sets of all instances would not fit into memory
        for rows in row_blocks(X.shape[0], width * (X.shape[1] + q), AT_ONCE):
            found.append(search(self.estimators_, X[rows]))
        back = np.argsort(self.order_)
        return tuple(np.vstack(parts).take(back, axis=1) for parts in zip(*found))

    def _check_inference(self, q: int) -> None:
        if self.inference == "greedy":
            return
        what = f"inference={self.inference!r}"
        if self._score_method() != "predict_proba":
            name = type(self.estimator).__name__
            raise ValueError(f"{what} needs an estimator with predict_proba, got {name}")
        if self.cv is not None or self.chain_method_ != "predict":
            raise ValueError(
                f"{what} needs chain_method='predict' and cv=None, "
                f"got {self.chain_method_!r} and {self.cv!r}"
            )
        if self.inference == "exact" and q > MOST_LABELS:
            raise ValueError(
                f"{what} tries all 2**q label sets and takes at most {MOST_LABELS} labels, got "
                f"{q}; 'beam' and 'monte-carlo' take any number"
            )


class GrowingInput:
    """X that grows by one column at a time; a dense X is copied only once."""

    def __init__(self, X: Any, room: int):
        self.width = X.shape[1]
        if sparse.issparse(X):
            self._matrix = X
        else:
            self._matrix = np.empty((X.shape[0], X.shape[1] + room), dtype=X.dtype)
            self._matrix[:, : X.shape[1]] = X

    def matrix(self) -> Any:
        """X and the columns so far."""
        return self._matrix if sparse.issparse(self._matrix) else self._matrix[:, : self.width]

    def append(self, column: NDArray[Any]) -> None:
        if sparse.issparse(self._matrix):
            self._matrix = base.with_columns(self._matrix, column[:, np.newaxis])
        else:
            self._matrix[:, self.width] = column
        self.width += 1


def _first_method(estimator: Any, methods: Any) -> str:
    for method in [methods] if isinstance(methods, str) else methods:
        if method == "predict" or hasattr(estimator, method):  # labels come from the scores
            return str(method)
    raise ValueError(
        f"chain_method must name a method of the estimator, "
        f"but {type(estimator).__name__} has no {methods}"
    )


def _check_order(order: Any, q: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    if order is None:
        return np.arange(q)
    if isinstance(order, str):
        return rng.permutation(q)
    checked = np.asarray(order)
    if checked.shape != (q,) or not np.array_equal(np.sort(checked), np.arange(q)):
        raise ValueError(f"invalid order: must be each label from 0 to {q - 1} once, got {order}")
    return checked.astype(np.intp)


def _folds(cv: Any, y: NDArray[np.int64]) -> Any:
    """Folds for one label; those of a number are stratified unless the label is too rare."""
    if not isinstance(cv, Integral):
        return cv
    k = max(2, min(int(cv), len(y)))
    return KFold(k) if np.bincount(y, minlength=2).min() < k else check_cv(k, y, classifier=True)


# the most probable label sets (n, q) and the marginals (n, q), in the order of the chain
Found: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.float64]]


def beam_search(models: list[Any], X: Any, width: int) -> Found:
    """The most probable label sets by beam search; exact if width is 2^q."""
    # Each label extends every kept prefix with and without itself, and the ``width`` most probable
    # prefixes are kept. The marginals are those of the kept sets.
    n = X.shape[0]
    sets = np.zeros((n, 1, 0), dtype=bool)  # (n, b, labels so far)
    log_p = np.zeros((n, 1))
    for model in models:
        p = _conditional(model, X, sets)
        with np.errstate(divide="ignore"):
            both = np.concatenate([log_p + np.log1p(-p), log_p + np.log(p)], axis=1)  # (n, 2b)
        best = np.argsort(-both, axis=1, kind="stable")[:, :width]
        b = sets.shape[1]
        kept = np.take_along_axis(sets, (best % b)[:, :, np.newaxis], axis=1)
        sets = np.concatenate([kept, (best >= b)[:, :, np.newaxis]], axis=2)
        log_p = np.take_along_axis(both, best, axis=1)
    share = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    marginals = np.einsum("nb,nbq->nq", share, sets.astype(np.float64))
    return sets[:, 0], np.minimum(marginals, 1.0)  # shares may sum to slightly more than one


def sample_sets(models: list[Any], X: Any, uniforms: NDArray[np.float64]) -> Found:
    """Label sets drawn along the chain."""
    # All instances use the same ``uniforms`` (samples, q), so that the result of one does not
    # depend on the others. A marginal is the mean conditional probability of its label over the
    # samples, which varies less than the share of samples with the label.
    n, samples = X.shape[0], len(uniforms)
    sets = np.zeros((n, samples, 0), dtype=bool)
    log_p = np.zeros((n, samples))
    marginals = np.empty((n, len(models)))
    for j, model in enumerate(models):
        p = _conditional(model, X, sets)
        drawn = uniforms[:, j] < p
        log_p += np.log(np.where(drawn, p, 1 - p))
        marginals[:, j] = p.mean(axis=1)
        sets = np.concatenate([sets, drawn[:, :, np.newaxis]], axis=2)
    return sets[np.arange(n), log_p.argmax(axis=1)], marginals


def _conditional(model: Any, X: Any, sets: NDArray[np.bool_]) -> NDArray[np.float64]:
    """P(next label | x, prefix) for each prefix of a set (n, b, j); shape (n, b)."""
    n, b, j = sets.shape
    repeated = X[np.repeat(np.arange(n), b)] if b > 1 else X
    inputs = base.with_columns(repeated, sets.reshape(n * b, j)) if j else repeated
    p = base.binary_scores(model, inputs, "predict_proba").reshape(n, b)
    return np.clip(p.astype(np.float64), 0.0, 1.0)
