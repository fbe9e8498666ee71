"""Classifier chains: each model sees the labels before its own."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.transformation._base import ESTIMATOR, PARALLEL, TransformationClassifier
from plurilabel.transformation._chain_search import Found, beam_search, row_blocks, sample_sets
from plurilabel.transformation._inputs import GrowingInput
from plurilabel.transformation._models import (
    Params,
    binary_scores,
    columns,
    cut_of,
    fit_binary,
)
from plurilabel.transformation._out_of_fold import binary_splits, out_of_fold_binary

MOST_LABELS = 15
"""With more labels the exact search, through 2^q sets, is refused."""


class ClassifierChain(TransformationClassifier):
    """Binary models in a chain: each sees X and the labels that come before its own.

    With the labels in the order t(1), ..., t(q), model j learns label t(j) from
    [x, y_t(1), ..., y_t(j-1)]. In prediction the earlier labels are those predicted. If the
    base estimator gives probabilities, the chain is a model of the joint distribution,
    P(y | x) = prod_j P(y_t(j) | x, y_t(1), ..., y_t(j-1)), which can be searched better than by
    taking one label after the other.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``; the inference methods other than
        "greedy", and ``chain_input="probabilities"``, need ``predict_proba``.
    order : None, "random" or sequence of int, default=None
        ``order[j]`` is the label that comes j-th; None is the order of the columns. The output
        has its columns in the order of y, always.
    chain_input : {"labels", "probabilities", "cross-validated"}, default="labels"
        What a model sees of the labels before its own. "labels": the true ones in training, the
        predicted ones afterwards. "probabilities": the true ones in training, their
        probabilities afterwards. "cross-validated": predicted labels in both, those in training
        from models trained on other folds (nested stacking).
    inference : {"greedy", "exact", "beam", "monte-carlo"}, default="greedy"
        "greedy": one label after the other. "exact": all 2^q label sets, for up to 15 labels.
        "beam": the ``beam_width`` most probable beginnings of label sets are followed.
        "monte-carlo": ``n_samples`` label sets are drawn. All but "greedy" need
        ``chain_input="labels"``.
    decide : {"joint", "marginal"}, default="joint"
        What is predicted, unless inference is "greedy". "joint": the most probable label set
        found, best for subset accuracy. "marginal": the labels with a probability above 0.5,
        best for Hamming loss.
    beam_width : int, default=15
    n_samples : int, default=100
    cv : int, cross-validation splitter or iterable, default=5
        Folds of ``chain_input="cross-validated"``.
    random_state : int, RandomState instance or None, default=None
        For ``order="random"`` and the draws of "monte-carlo".
    n_jobs : int, default=None
        Folds of "cross-validated" that are done at the same time; the rest goes step by step.
    verbose : int, default=0
        Whether each label is announced.

    Attributes
    ----------
    models_ : list of q fitted clones of ``estimator``, in the order of the chain
    order_ : ndarray of shape (q,)
    label_names_ : ndarray of shape (q,)

    See Also
    --------
    EnsembleOfChains : Many random orders.
    sklearn.multioutput.ClassifierChain : The same predictions under "labels" and
        "cross-validated" with "greedy".

    Notes
    -----
    ``predict_proba`` is P(label | x, labels predicted before it) for "greedy", and the marginal
    P(label | x) else: exact, of the sets in the beam, or estimated. With ``decide="joint"`` the
    set predicted need not be the labels with probabilities above 0.5.

    "beam" with width 1 predicts as "greedy" does. Cost for n instances: n q base predictions for
    "greedy", up to n q ``beam_width``, n q ``n_samples``, or n (2^q - 1).

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
    The second label is the first, turned round at 0.5; a line through x cannot tell, but the
    chain can:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel.transformation import BinaryRelevance, ClassifierChain
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> Y = [[0, 0], [1, 1], [1, 1], [1, 0]] * 10
    >>> base = LogisticRegression(C=100)
    >>> BinaryRelevance(base).fit(X, Y).score(X, Y)
    0.5
    >>> ClassifierChain(base).fit(X, Y).score(X, Y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ESTIMATOR,
        **PARALLEL,
        "order": [None, StrOptions({"random"}), "array-like"],
        "chain_input": [StrOptions({"labels", "probabilities", "cross-validated"})],
        "inference": [StrOptions({"greedy", "exact", "beam", "monte-carlo"})],
        "decide": [StrOptions({"joint", "marginal"})],
        "beam_width": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        order: Any = None,
        chain_input: str = "labels",
        inference: str = "greedy",
        decide: str = "joint",
        beam_width: int = 15,
        n_samples: int = 100,
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.order = order
        self.chain_input = chain_input
        self.inference = inference
        self.decide = decide
        self.beam_width = beam_width
        self.n_samples = n_samples
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        rng = check_random_state(self.random_state)
        self._check_inference(Y.shape[1])
        self.order_ = _check_order(self.order, Y.shape[1], rng)
        if self.inference == "monte-carlo":
            self.uniforms_ = rng.uniform(size=(self.n_samples, Y.shape[1]))
        inputs = GrowingInput(X, Y.shape[1])
        self.models_ = []
        for j, y in enumerate(columns(Y[:, self.order_])):
            if self.verbose:
                name = self.label_names_[self.order_[j]]
                print(f"[{type(self).__name__}] {j + 1} of {Y.shape[1]}: {name}", flush=True)
            seen = inputs.matrix()
            self.models_.append(fit_binary(self.estimator, seen, y, params))
            if j + 1 < Y.shape[1]:
                inputs.append(self._training_input(seen, y, params))

    def _training_input(self, seen: Any, y: NDArray[np.int64], params: Params) -> NDArray[Any]:
        """What the later models see of this label in training."""
        if self.chain_input != "cross-validated":
            return y
        method = self._score_method()
        splits = binary_splits(self.cv, seen, y)
        scores = out_of_fold_binary(
            self.estimator, seen, y, splits, method, params, n_jobs=self.n_jobs
        )
        return scores > cut_of(method)

    def _scores(self, X: Any) -> NDArray[np.floating]:
        if self.inference != "greedy":
            return self._search(X, lambda found: found.marginals)
        method = self._score_method()
        inputs = GrowingInput(X, len(self.models_))
        scores = np.empty((X.shape[0], len(self.models_)))
        for j, model in enumerate(self.models_):
            scores[:, j] = binary_scores(model, inputs.matrix(), method)
            pass_on = self.chain_input == "probabilities"
            inputs.append(scores[:, j] if pass_on else scores[:, j] > cut_of(method))
        return self._in_label_order(scores)

    def _predict(self, X: Any) -> NDArray[np.bool_]:
        if self.inference == "greedy" or self.decide == "marginal":
            return super()._predict(X)
        return self._search(X, Found.modes)

    def _search(self, X: Any, answer: Callable[[Found], NDArray[Any]]) -> NDArray[Any]:
        """What the search finds, block by block: all sets of all instances would not fit."""
        q = len(self.models_)
        copies = {"exact": 2 ** min(q, MOST_LABELS), "beam": self.beam_width}.get(
            self.inference, self.n_samples
        )
        answers = []
        for rows in row_blocks(X, copies, X.shape[1] + q):
            if self.inference == "monte-carlo":
                found = sample_sets(self.models_, X[rows], self.uniforms_)
            else:
                found = beam_search(self.models_, X[rows], copies)
            answers.append(answer(found))
        return self._in_label_order(np.vstack(answers))

    def _in_label_order(self, columns_of_chain: NDArray[Any]) -> NDArray[Any]:
        result = np.empty_like(columns_of_chain)
        result[:, self.order_] = columns_of_chain
        return result

    def _check_inference(self, q: int) -> None:
        needs = {
            f"inference={self.inference!r}": self.inference != "greedy",
            "chain_input='probabilities'": self.chain_input == "probabilities",
        }
        for what, is_so in needs.items():
            if is_so and self._score_method() != "predict_proba":
                raise ValueError(
                    f"{what} needs an estimator with predict_proba, "
                    f"got {type(self.estimator).__name__}"
                )
        if self.inference != "greedy" and self.chain_input != "labels":
            raise ValueError(
                f"inference={self.inference!r} needs chain_input='labels', "
                f"got {self.chain_input!r}"
            )
        if self.inference == "exact" and q > MOST_LABELS:
            raise ValueError(
                f"inference='exact' looks at all 2**q label sets and takes at most {MOST_LABELS} "
                f"labels, got {q}; 'beam' and 'monte-carlo' take any number"
            )


def _check_order(order: Any, q: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    if order is None:
        return np.arange(q)
    if isinstance(order, str):
        return rng.permutation(q)
    checked = np.asarray(order)
    if checked.shape != (q,) or not np.array_equal(np.sort(checked), np.arange(q)):
        raise ValueError(
            f"order must have each of the labels 0 to {q - 1} once, got {np.asarray(order)}"
        )
    return checked.astype(np.intp)
