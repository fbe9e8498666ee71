"""Error-correcting codes over labels: more bits than labels, and the nearest code word."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.base import CUTS, LabelMatrix, check_labels
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import AtLeastOne, AtLeastTwo, StrOptions, rows_of_params
from plurilabel._core.explanation.contributions import SCORE, Given, Parts
from plurilabel._core.fitted import Declared, count, labels, numbers, parameter, values
from plurilabel.learners.transformation import _base_models as base
from plurilabel.learners.transformation import _label_powerset as powerset
from plurilabel.learners.transformation._transformation_classifier import TransformationClassifier

ENTRIES = 2**24  # scores of bits, and of label sets, in memory at once: 128 MB
MOST_LABELS = 15  # for a search through all 2^q label sets
# the scale of explanations where bits are cut or clipped before decoding
OF_BITS = "what the models of the bits weigh, added up by the code"


@dataclass(eq=False, repr=False)
class OutputCodes(TransformationClassifier):
    """Learn a redundant code of the label set, and correct the errors in its bits.

    A label set y, a row of q bits, is encoded as y G mod 2 with a 0/1 matrix G (q, m), and a
    binary model learns each of the m bits. The label set whose code word fits the models'
    predictions best is predicted.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``.
    code : {"random", "repetition"} or 0/1 array of shape (q, m), default="random"
        "random": the labels themselves, then bits that are each the parity of ``weight`` random
        labels. "repetition": each label several times. Or the matrix G.
    n_bits : int, default=None
        Number of bits m, at least q; None for 3 q. "repetition" rounds up to a multiple of q.
    weight : int, default=3
        Number of labels in a parity bit of the random code; all labels if there are fewer.
    label_sets : {"seen", "all"}, default="seen"
        The candidates: the label sets of the training set, or all, for up to 15 labels, or for
        any number if no bit combines labels.
    decoding : {"soft", "hard"}, default="soft"
        "soft": a bit counts by its log-odds or decision value. "hard": by its sign, so that the
        nearest code word in Hamming distance wins.
    random_state : int, RandomState instance or None, default=None
        For the code, the samples, and every ``random_state`` of the base estimator.
    n_jobs, verbose :
        As in :class:`BinaryRelevance`, for bits.

    Attributes
    ----------
    code_ : ndarray of shape (q, m)
        The matrix G.
    estimators_ : list of m fitted models
    n_samples_fit_ : int
        Number of training instances, or their total weight.
    sets_ : csr_array of shape (c, q), or None
        The candidates; None if each label is decoded by itself.

    Notes
    -----
    The fit of a set is the sum over bits of the model's score, positive for 1, times +1 or -1 for
    the bit of the code word. ``decision_function`` of a label is the best fit of a set with it
    less the best fit of a set without it, which is positive for the labels of the best set. If
    several sets fit best, only labels that they all have are predicted.

    A bit that occurs again in the code is learned from a bootstrap sample, because the same data
    would give the same model. Log-odds are clipped at log(2 n + 1), so that no single bit decides
    alone.

    References
    ----------
    C.-S. Ferng, H.-T. Lin. Multi-label classification with error-correcting codes. ACML 2011.
    Their repetition code learned by k-labelsets is :class:`RAkEL`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import OutputCodes, datasets, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X / 16, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = OutputCodes(LogisticRegression(max_iter=500), random_state=0)
    >>> learner.fit(X_train, Y_train).code_.shape
    (7, 21)
    >>> round(learner.score(X_test, Y_test), 1)
    0.9
    """

    _fitted: ClassVar[Declared] = {
        "code_": numbers("n_labels_", "n_models"),
        "estimators_": values("n_models"),
        "sets_": labels(None, "n_labels_", optional=True),
        "n_samples_fit_": count(),
        "decoding_": parameter(),
    }

    estimator: Any
    _: KW_ONLY
    code: Annotated[Any, StrOptions({"random", "repetition"}), "array-like"] = "random"
    n_bits: AtLeastOne | None = None
    weight: AtLeastTwo = 3
    label_sets: Literal["seen", "all"] = "seen"
    decoding: Literal["soft", "hard"] = "soft"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        n, q = Y.shape
        rng = check_random_state(self.random_state)
        self.code_ = self._make_code(q, rng)
        self.sets_ = self._candidates(Y)
        self.n_samples_fit_, self.decoding_ = base.counted_instances(X, params), self.decoding
        first = set(np.unique(self.code_, axis=1, return_index=True)[1].tolist())

        def fit(bit: int, seed: int) -> Any:
            # int8 may overflow, which keeps the parity
            y = (np.asarray(Y @ self.code_[:, bit]).ravel() % 2).astype(np.int64)
            model = base.seeded(self.estimator, seed)
            if bit in first:
                return base.fit_binary(model, X, y, params)
            rows = np.sort(np.random.RandomState(seed).randint(n, size=n))
            return base.fit_binary(model, X[rows], y[rows], rows_of_params(X, params, rows))

        jobs = enumerate(base.draw_seeds(rng, self.code_.shape[1]))
        self.estimators_ = base.in_parallel(fit, jobs, n_jobs=self.n_jobs, verbose=self.verbose)

    def _make_code(self, q: int, rng: np.random.RandomState) -> NDArray[np.int8]:
        if not isinstance(self.code, str):
            G = check_labels(self.code, name="code")
            if G.shape[0] != q:
                got = f"got shape {G.shape}"
                raise ValueError(f"code must have a row for each of the {q} labels, {got}")
            if len(unused := np.flatnonzero(~G.any(axis=1))):
                wanted = "each label in at least one bit"
                raise ValueError(f"code must have {wanted}, but {unused[0]} is in none")
            return dense(G)
        m = 3 * q if self.n_bits is None else self.n_bits
        if m < q:
            raise ValueError(f"n_bits must be at least the number of labels, {q}, got {m}")
        if self.code == "repetition":
            return np.tile(np.eye(q, dtype=np.int8), -(-m // q))
        parities = np.zeros((q, m - q), dtype=np.int8)
        for bit in range(m - q):
            parities[rng.permutation(q)[: self.weight], bit] = 1
        return np.hstack([np.eye(q, dtype=np.int8), parities])

    def _candidates(self, Y: LabelMatrix) -> sparse.csr_array | None:
        q = Y.shape[1]
        if self.label_sets == "seen":
            return powerset.distinct_sets(Y)[0]
        if (self.code_.sum(axis=0) == 1).all():
            return None
        if q > MOST_LABELS:
            raise ValueError(
                f"label_sets='all' tries all 2**q label sets and takes at most {MOST_LABELS} "
                f"labels if bits combine labels, got {q}"
            )
        return sparse.csr_array((np.arange(2**q)[:, None] >> np.arange(q) & 1).astype(np.int8))

    def _score_method(self) -> str:
        return "decision_function"

    def _scores(self, X: Any) -> NDArray[np.floating]:
        if self.sets_ is None:
            return 2 * self._bit_scores(X) @ self.code_.T
        c, m = self.sets_.shape[0], self.code_.shape[1]
        scores = np.empty((X.shape[0], self.n_labels_))
        for rows in row_blocks(X.shape[0], c + m, ENTRIES):
            bits = self._bit_scores(X[rows])  # (n, m), positive for 1
            fit = np.empty((len(bits), c))
            for some in row_blocks(c, m, ENTRIES):
                words = np.asarray(self.sets_[some] @ self.code_) % 2
                fit[:, some] = bits @ (2.0 * words.T - 1.0)
            scores[rows] = powerset.set_margins(fit, self.sets_, self.n_samples_fit_)
        return scores

    def _parts(self, x: Any, given: Given) -> Parts:
        found = base.explain_each(self.estimators_, x, self._base_method(), given)  # of the bits
        bits, scores = self._bit_scores(x)[0], self._scores(x)[0]
        # the parts of a model do not sum to a bit that was cut or clipped
        exact = np.allclose(found.base + found.values.sum(axis=0), bits)
        scale = SCORE if exact else OF_BITS
        if self.sets_ is None:
            return found.mapped(2.0 * self.code_.T, scale)
        words = np.asarray(self.sets_ @ self.code_) % 2
        signs = 2.0 * words.T - 1.0  # (m, c)
        fit, sets = found.mapped(signs, SCORE), self.sets_.toarray()
        return powerset.best_set_parts(fit, bits @ signs, sets, scores, scale)

    def _bit_scores(self, X: Any) -> NDArray[np.floating]:
        method = self._base_method()
        scores = base.score_each(self.estimators_, X, method, n_jobs=self.n_jobs)
        if self.decoding_ == "hard":
            return np.where(scores > CUTS[method], 1.0, -1.0)
        if method == "decision_function":
            return scores
        least = 1 / (2 * self.n_samples_fit_ + 2)
        p = np.clip(scores, least, 1 - least)
        return np.log(p / (1 - p))
