"""LabelDescriptions: a prior from the names of labels, which fades as data come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    LabelMatrix,
    MultiLabelClassifier,
    ProbabilisticClassifier,
    default_label_names,
)
from plurilabel._core.blocks import dense
from plurilabel._core.compat import HasMethods, check_params
from plurilabel._core.fitted import Declared, count, number, numbers
from plurilabel._core.unknown import known_part
from plurilabel.io.shared import is_texts
from plurilabel.text import StaticEncoder
from plurilabel.wrappers._wrapper import HeldOut, OutOfFoldWrapper, named

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)  # of a standard deviation of similarity
COUNTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # positives at which half of the weight is left
ZERO_SHOT = 2.0  # the weight without rows: about one label is predicted for each text
MOST_PAIRS = 500_000  # of rows and labels that the choice looks at


@dataclass(eq=False, repr=False)
class LabelDescriptions(ProbabilisticClassifier, OutOfFoldWrapper):
    """A classifier of texts that also knows what its labels are called.

    Names or sentences that describe the labels are encoded in the same way as the texts. How close
    a text is to the description of a label is added to the log-odds of a classifier, with a weight
    that fades as the label gets more training texts. How much it weighs, and how fast it fades, is
    learned from out-of-fold scores of the classifier. Without any labelled texts, predictions are
    based on similarity alone (zero-shot).

    Parameters
    ----------
    estimator : classifier
        Takes the rows of ``fit``: a pipeline that begins with :func:`plurilabel.io.word_features`.
    descriptions : sequence of str, or mapping of str to str, default=None
        A name or sentence for each label, in order or by name. By default the names.
    encoder : encoder of :mod:`plurilabel.text`, default=None
        What compares texts and descriptions; :class:`StaticEncoder` by default.
    text : str, default=None
        Column of text, if the rows are a data frame with several columns.
    cv, response_method, n_jobs :
        As in :class:`CalibratedClassifier`.

    Attributes
    ----------
    estimator_ : fitted classifier, or None after ``fit(X, None)``
    label_vectors_ : ndarray of shape (q, d), or None if X holds no texts
    mean_, deviation_ : ndarray of shape (q,)
        Of the similarities of the training texts with each label.
    weights_ : ndarray of shape (q,)
        What a standard deviation of similarity adds to the log-odds of each label.
    slope_, intercept_ : float
        What turns the log-odds or decision values of the classifier into calibrated log-odds.
    n_texts_ : int
        Number of labelled training texts.
    label_names_ : ndarray of shape (q,)

    Notes
    -----
    The log-odds of label l are :math:`a t_l + b + w \\frac{k}{m_l + k} s_l`, where t is the
    log-odds or decision value of the classifier, m the number of training texts with the label,
    and s the cosine of text and description, standardised over the training texts. The line (a, b)
    is a logistic regression of all labels on t, out of fold. The weight of s is the mean over 6
    values of w from 0 to 2 and 6 of k from 1 to 300, each pair counted by the likelihood of the
    out-of-fold labels. If X holds no texts, w is 0.

    A probability p of the classifier counts as (np + ½) / (n + 1), where n is the number of
    training texts: similarity can then make up for a label that the classifier has never seen.

    With ``fit(X, None)`` the texts are only used to standardise similarities; w is 2, and the
    log-odds of a label that is as similar as usual are those of 1 / (q + 1).

    Examples
    --------
    >>> from plurilabel import LabelDescriptions
    >>> texts = ["my cat had kittens", "the shares fell", "a dog barks", "interest rates"]
    >>> model = LabelDescriptions(descriptions={"pets": "animals", "money": "finance, money"})
    >>> model.fit(texts, None).predict(["a kitten", "the bank's profit"])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, *OutOfFoldWrapper._parameter_constraints["estimator"]],
    }
    _fitted: ClassVar[Declared] = {
        "label_vectors_": numbers("n_labels_", None, optional=True), "mean_": numbers("n_labels_"),
        "deviation_": numbers("n_labels_"), "weights_": numbers("n_labels_"), "n_texts_": count(),
        "slope_": number(), "intercept_": number(),
    }  # fmt: skip
    _explained = "what the classifier says without descriptions"

    estimator: Any = None
    descriptions: Annotated[Any, list, tuple, np.ndarray, Mapping] | None = None
    _: KW_ONLY
    encoder: Annotated[Any, HasMethods(["fit", "transform"])] | None = None
    text: Annotated[str, str] | None = None

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Fit the classifier, and choose what the descriptions weigh.

        Parameters
        ----------
        X : n texts, or rows of whatever ``estimator`` accepts
        y : 0/1 matrix of shape (n, q), or None
            None if no labels are known: the descriptions are all there is.
        groups, **params : as in :class:`CalibratedClassifier`
        """
        if y is not None:
            if self.estimator is None:
                raise ValueError("estimator must be a classifier to learn from y, got None")
            return super().fit(X, y, groups=groups, **params)
        check_params(self)
        if self.descriptions is None or self._texts(X) is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "only texts with descriptions of the labels do without"
            )
        given = self.descriptions
        names = list(given) if isinstance(given, Mapping) else list(map(str, given))
        self._encode(named(np.zeros((1, len(names)), dtype=np.int8), names))
        self.label_names_ = np.asarray(names, dtype=object)
        self.estimator_, self.response_method_ = None, "predict_proba"
        self.slope_, self.intercept_, self.n_texts_ = 1.0, 0.0, 0
        if not np.any(self._compare(X)):
            raise ValueError("X must hold texts that differ, to compare their similarities with "
                             "the labels if y is None")  # fmt: skip
        self.weights_ = np.full(len(names), ZERO_SHOT)
        return self

    def of_columns(self, encoder: Any, texts: Sequence[str], names: Sequence[str]) -> Self:
        """A copy, not fitted, whose classifier gets the rows of a table from an encoder."""
        self.label_names_ = np.asarray(names, dtype=object)
        text = texts[0] if len(texts) == 1 else self.text
        same = clone(self).set_params(descriptions=self._described(), text=text)
        if encoder is not None and same.estimator is not None:
            same.estimator = make_pipeline(encoder, same.estimator)
        return same

    def _learn(self, X: Any, Y: LabelMatrix, held_out: HeldOut) -> None:
        self.slope_, self.intercept_, self.n_texts_ = 1.0, 0.0, Y.shape[0]
        similar = self._compare(X)
        self.weights_ = np.zeros(self.n_labels_)
        if similar is None:
            return
        counts = np.asarray(known_part(Y)[0].sum(axis=0), dtype=np.float64).ravel()
        scores, Y, rows = held_out()
        # the same rows every time: the first ones of the folds, which are random themselves
        most = max(1, MOST_PAIRS // self.n_labels_)
        filled, unknown = known_part(Y[:most])
        known = np.ones(filled.shape, bool) if unknown is None else ~dense(unknown)
        truth = dense(filled)[known] == 1
        odds = self._log_odds(scores[:most])[known]
        if len(np.unique(truth)) == 2:
            # else similarity would seem to help where the classifier is merely not sure enough
            line = LogisticRegression(C=1e6).fit(odds.reshape(-1, 1), truth)
            self.slope_ = max(float(line.coef_[0, 0]), 0.0)
            self.intercept_ = float(line.intercept_[0])
        odds, near = self.slope_ * odds + self.intercept_, similar[rows[:most]]
        weights = [w * k / (counts + k) for w, k in product(WEIGHTS, COUNTS)]
        signs = np.where(truth, 1, -1)
        fits = [log_expit(signs * (odds + (near * one)[known])).sum() for one in weights]
        self.weights_ = np.average(weights, axis=0, weights=softmax(fits))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if self.estimator_ is None:
            odds: Any = logit(1 / (self.n_labels_ + 1))
        else:
            odds = self._log_odds(self._estimator_scores(X))
            odds = self.slope_ * odds + self.intercept_
        if self.weights_.any():
            odds = odds + self.weights_ * self._similarities(X)
        return expit(odds)

    def _log_odds(self, scores: Any) -> NDArray[np.float64]:
        """Log-odds or decision values of the classifier."""
        if self.response_method_ != "predict_proba":
            return np.clip(scores, -30, 30)
        n = self.n_texts_  # too few to be certain of labels that all or none of them have
        return logit((n * np.clip(scores, 0, 1) + 0.5) / (n + 1))

    def __sklearn_tags__(self) -> Any:
        if self.estimator is not None:
            return super().__sklearn_tags__()
        tags = MultiLabelClassifier.__sklearn_tags__(self)
        tags.input_tags.string = True
        return tags

    def _compare(self, X: Any) -> NDArray[np.float64] | None:
        """Encode the descriptions; returns the standardised similarities of the training texts."""
        self.label_vectors_: Any = None
        self.mean_, self.deviation_ = np.zeros(self.n_labels_), np.ones(self.n_labels_)
        texts = self._texts(X)
        if texts is None:
            return None
        encoder = StaticEncoder() if self.encoder is None else clone(self.encoder)
        self.encoder_ = encoder.fit(texts)
        self.label_vectors_ = normalize(
            np.asarray(encoder.transform(self._described()), np.float64)
        )
        raw = self._similarities(X)
        self.mean_, spread = raw.mean(axis=0), raw.std(axis=0)
        self.deviation_ = np.where(spread > 1e-6, spread, 1.0)  # equal ones are only centred
        return (raw - self.mean_) / self.deviation_

    def _similarities(self, X: Any) -> NDArray[np.float64]:
        vectors = normalize(np.asarray(self.encoder_.transform(self._texts(X)), np.float64))
        return (vectors @ self.label_vectors_.T - self.mean_) / self.deviation_

    def _described(self) -> list[str]:
        """The description of each label, in the order of the labels."""
        names, given = [str(name) for name in self.label_names_], self.descriptions
        if isinstance(given, Mapping):
            if missing := [name for name in names if name not in given]:
                raise ValueError(f"descriptions must have every label, got none of {missing[0]!r}")
            return [str(given[name]) for name in names]
        found = names if given is None else [str(one) for one in given]
        if len(found) != (q := len(names)):
            raise ValueError(f"descriptions must be one for each of {q} labels, got {len(found)}")
        if given is None and names == default_label_names(len(names)):
            raise ValueError("descriptions must be given: the labels of y have no names")
        return found

    def _texts(self, X: Any) -> Any:
        """The texts among the rows; None if there are none."""
        if hasattr(X, "columns"):
            names = [self.text] if self.text is not None else list(X.columns)
            found = [name for name in names if is_texts(X[name])]
            if len(found) > 1:
                raise ValueError(f"text must name one of the columns of text, {found}, got None")
            return X[found[0]] if found else None
        return X if is_texts(X) else None
