"""MMAC: association rules, learned again on the instances that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import (
    LabelMatrix,
    ScoringClassifier,
    check_labels,
    check_scores,
    default_feature_names,
)
from plurilabel._core.blocks import csr_of_rows, dense, row_blocks
from plurilabel._core.compat import AtLeastOne, AtLeastTwo, Fraction, Share
from plurilabel._core.explanation.contributions import SCORE, Given, Parts
from plurilabel._core.fitted import Declared, labels, numbers, parameter
from plurilabel._core.words import listed
from plurilabel.learners.rules._conditions import Bits, Items, mine, pack, unpack


@dataclass(frozen=True)
class LabelRule:
    """A condition and the labels that follow from it.

    Attributes
    ----------
    items : tuple of int
        The items of the condition, by their numbers.
    labels : tuple of int
        The labels, the one with the highest support first.
    supports : tuple of int
        The training instances that have the condition and each label.
    confidences : tuple of float
        The part of the instances with the condition that have each label.
    """

    items: tuple[int, ...]
    labels: tuple[int, ...]
    supports: tuple[int, ...]
    confidences: tuple[float, ...]


BLOCK = 2**24  # instances times rules that are looked at together


@dataclass(eq=False, repr=False)
class MMAC(ScoringClassifier):
    """Multi-class, multi-label associative classification: a ranked list of rules.

    A rule is a condition, such as "cough is present and fever is present", with the labels that
    training instances with the condition have often enough (``min_support``) and surely enough
    (``min_confidence``). The rules are ranked by confidence, then support, then shortness. A rule
    is kept if it gives a correct label to an instance that no earlier rule covers. Then rules are
    learned again from the instances that are left, until no more are found, and rules with the
    same condition are merged. ``predict`` returns the labels of the first rule that matches.

    Parameters
    ----------
    min_support : float or int, default=0.02
        Training instances that must have the condition and the label: a part of all, or a number.
    min_confidence : float, default=0.5
        The part of the instances with the condition that must have the label.
    max_length : int, default=2
        The most items of a condition.
    max_bins : int, default=4
        A feature with more values than this is cut at quantiles into this many intervals, which
        are its items; for other features each training value is an item. If at least half of the
        values of a feature are 0, 0 is not an item; if there is only one other value, the item
        is that the feature is not 0, as for words.
    voting : {"first", "all"}, default="first"
        The labels of the first rule that matches, as in the paper, or of all rules that match.

    Attributes
    ----------
    rules_ : list of LabelRule
        The first to be tried first.
    default_ : ndarray of shape (q,)
        The label set if no rule matches: the most frequent one among the training instances
        without a matching rule, or among all.
    n_rounds_ : int
        Number of times that rules were learned.
    frequencies_ : ndarray of shape (q,)
        Frequencies of the labels.

    Notes
    -----
    *Reading of the paper.* The paper assumes one class per training instance. Here a condition
    has all labels that pass both thresholds at once, and a rule covers an instance that has any
    of them. With one label per condition and round, rules hardly ever have two labels: F1 on the
    hold-out of Emotions is then .41 instead of .47.

    *min_support.* F1 by 3-fold cross-validation on the training parts, with 0.005, 0.01, 0.02 and
    0.05: Medical .666, .679, .683, .532; Emotions .487, .489, .493, .463.

    *Scores.* The score of a predicted label is its confidence in the rule; of a label that only
    later rules have, its confidence less 1; of others, their frequency less 2. Constant labels
    are always or never predicted and are not part of rules.

    *Cost.* Each round processes every condition with enough support: instances / 64 words per
    condition and label. Dense features with many intervals have many such conditions.

    References
    ----------
    F. Thabtah, P. Cowling, Y. Peng. MMAC: a new multi-class, multi-label associative
    classification approach. ICDM 2004.

    Examples
    --------
    >>> from plurilabel import MMAC
    >>> cough_fever_rash = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]]
    >>> chest_flu_skin = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 1]]
    >>> learner = MMAC(min_support=2).fit(cough_fever_rash, chest_flu_skin)
    >>> print(learner.to_text(feature_names=["cough", "fever", "rash"]))
    If cough is present, then label0 (3 of 3) and label1 (2 of 3).
    If rash is present, then label2 (3 of 3).
    Otherwise label2.
    >>> learner.predict([[1, 1, 0], [0, 0, 1]])
    array([[1, 1, 0],
           [0, 0, 1]])
    """

    _X_form: ClassVar[dict[str, Any]] = {"dtype": np.float64}
    _fitted: ClassVar[Declared] = {
        "voting_": parameter(),
        "frequencies_": numbers("n_labels_"),
        "default_": labels("n_labels_"),
        "_items": numbers("m", 4, finite=False),
        "_conditions": labels("r", "m"),
        "_supports": numbers("r", "n_labels_"),
        "_confidences": numbers("r", "n_labels_"),
    }

    _: KW_ONLY
    min_support: Fraction | AtLeastOne = 0.02
    min_confidence: Share = 0.5
    max_length: AtLeastOne = 2
    max_bins: AtLeastTwo = 4
    voting: Literal["first", "all"] = "first"

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        Y = dense(Y)
        n = len(Y)
        self.voting_ = self.voting
        self.frequencies_ = Y.mean(axis=0)
        # labels without a choice take no part: their columns are empty
        varies = (self.frequencies_ > 0) & (self.frequencies_ < 1)
        labels = pack(Y * varies)
        items = Items.of(X, self.max_bins)
        self._items = items.table()
        bits = items.bits(X)
        least = self.min_support if self.min_support >= 1 else np.ceil(self.min_support * n)
        left = pack(np.ones((n, 1)))[0]  # instances that no rule has served
        taken: dict[tuple[int, ...], set[int]] = {}
        self.n_rounds_ = 0
        while left.any():
            self.n_rounds_ += 1
            limits = max(int(least), 1), self.min_confidence, self.max_length
            rules = mine(bits, items.feature, labels, left, *limits)
            before = left.copy()
            for rule in sorted(rules, key=lambda rule: rule.rank()):
                right = np.bitwise_or.reduce(labels[list(rule.labels)], axis=0)
                served = _both(bits, rule.condition) & right & left
                if served.any():
                    left &= ~served
                    taken.setdefault(rule.condition, set()).update(rule.labels)
                    if not left.any():
                        break
            if (left == before).all():
                break
        self._keep(taken, bits, labels)
        unmatched = ~self._matches(bits, n).any(axis=1)
        sets, times = np.unique(Y[unmatched] if unmatched.any() else Y, axis=0, return_counts=True)
        self.default_ = sets[times.argmax()]

    def _keep(self, taken: dict[tuple[int, ...], set[int]], bits: Bits, labels: Bits) -> None:
        """The rules in the order of their rank, with their figures on all training instances."""
        rules = []
        for condition, given in taken.items():
            inside, which = _both(bits, condition), sorted(given)
            supports = np.bitwise_count(inside & labels[which]).sum(axis=1, dtype=np.int64)
            confidences = supports / int(np.bitwise_count(inside).sum())
            rank = (-confidences.max(), -supports.max(), len(condition), condition)
            rules.append((rank, which, supports, confidences))
        rules.sort(key=lambda rule: rule[0])
        conditions, columns = [rank[-1] for rank, *_ in rules], [which for _, which, *_ in rules]
        m, q = len(self._items), self.n_labels_
        self._conditions = _csr([np.ones(len(c), np.int8) for c in conditions], conditions, m)
        self._supports = _csr([supports for *_, supports, _ in rules], columns, q)
        self._confidences = _csr([confidences for *_, confidences in rules], columns, q)

    @property
    def rules_(self) -> list[LabelRule]:
        """The rules, the first to be tried first."""
        check_is_fitted(self)
        found = []
        for r in range(self._conditions.shape[0]):
            support, confidence = self._supports[[r]], self._confidences[[r]]
            order = np.argsort(-support.data, kind="stable")
            items = tuple(self._conditions[[r]].indices.tolist())
            parts = support.indices[order], support.data[order], confidence.data[order]
            found.append(LabelRule(items, *(tuple(part.tolist()) for part in parts)))
        return found

    def to_text(self, *, feature_names: Sequence[str] | None = None) -> str:
        """The rules as sentences, one per line, and the labels if no rule matches.

        Parameters
        ----------
        feature_names : sequence of str, default=None
            Those of the data frame given to ``fit``, or ``x0, x1, ...``.
        """
        rules, d = self.rules_, self.n_features_in_
        names: Any = feature_names
        if names is None:
            names = getattr(self, "feature_names_in_", default_feature_names(d))
        if len(names) != d:
            raise ValueError(f"feature_names must have {d} entries, got {len(names)}")
        lines = []
        for rule, when in zip(rules, self._texts(names)):
            then = [
                f"{self.label_names_[l]} ({s} of {round(s / c)})"
                for l, s, c in zip(rule.labels, rule.supports, rule.confidences)
            ]
            lines.append(f"If {when}, then {listed(then)}.")
        default = [str(self.label_names_[l]) for l in np.flatnonzero(self.default_)]
        return "\n".join([*lines, f"Otherwise {listed(default) if default else 'no label'}."])

    def _texts(self, names: Sequence[str]) -> list[str]:
        items = Items.from_table(self._items)
        return [" and ".join(items.text(i, names) for i in rule.items) for rule in self.rules_]

    def _matches(self, bits: Bits, n: int) -> NDArray[np.bool_]:
        """Which instances have the condition of which rule (n, R)."""
        if not self._conditions.shape[0]:
            return np.zeros((n, 0), dtype=bool)
        ends = self._conditions.indptr
        parts = [_both(bits, self._conditions.indices[a:b]) for a, b in pairwise(ends)]
        return unpack(np.array(parts), n)

    def _matched(self, X: Any) -> Any:
        """Blocks of rows, which rules each matches, and the first of them, -1 for none."""
        items = Items.from_table(self._items)
        for rows in row_blocks(X.shape[0], max(self._conditions.shape[0], len(items)), BLOCK):
            part = X[rows]
            matches = self._matches(items.bits(part), part.shape[0])
            some = matches.any(axis=1)
            first = np.full(len(matches), -1)
            if some.any():
                first[some] = matches[some].argmax(axis=1)
            yield rows, matches, first

    def _scores(self, X: Any) -> NDArray[np.float64]:
        confidences = self._confidences.toarray()  # (R, q)
        scores = np.empty((X.shape[0], self.n_labels_))
        for rows, matches, first in self._matched(X):
            best = np.zeros((len(first), self.n_labels_))
            for r in range(len(confidences)):
                has = matches[:, r]
                best[has] = np.maximum(best[has], confidences[r])
            own = best if self.voting_ == "all" else np.zeros_like(best)
            if len(confidences) and self.voting_ == "first":
                own[first >= 0] = confidences[first[first >= 0]]
            own[first < 0] = self.default_ * self.frequencies_
            others = np.where(best > 0, best - 1, self.frequencies_ - 2)
            scores[rows] = np.where(own > 0, own, others)
        scores[:, self.frequencies_ == 1] = 1.0
        return scores

    def _parts(self, x: Any, given: Given) -> Parts:
        """The rule that decides about each label, by its confidence."""
        q, scores = self.n_labels_, self._scores(x)[0]
        ((_, matches, first),) = self._matched(x)
        rules = np.flatnonzero(matches[0])
        found = self._confidences[rules].toarray() if len(rules) else np.zeros((0, q))
        values = np.zeros(found.shape)
        for l in np.flatnonzero(found.any(axis=0)) if first[0] >= 0 else ():
            own = self.voting == "first" and found[0, l] > 0
            at = 0 if own else int(found[:, l].argmax())
            values[at, l] = found[at, l]
        texts = self._texts(given.names)
        names = [texts[r] for r in rules]
        found_parts = Parts(names, values, scores - values.sum(axis=0), (SCORE,) * q)
        return found_parts.fixed(self.frequencies_ == 1, scores)

    def label_weights(self, X: ArrayLike) -> NDArray[np.float64]:
        """The weight of each label in the first rule that matches: its part of the supports.

        The measures of the paper take them: :func:`top_label`, :func:`any_label` and
        :func:`label_weight`.

        Returns
        -------
        ndarray of shape (n, q)
            Rows sum to one; the labels of ``default_`` have equal weights where no rule matches,
            and a row is 0 where that is the empty set.
        """
        checked = self._validate_predict(X)
        supports = self._supports.toarray().astype(np.float64)
        weights = np.empty((checked.shape[0], self.n_labels_))
        for rows, _, first in self._matched(checked):
            found = np.tile(self.default_.astype(np.float64), (len(first), 1))
            if len(supports):
                found[first >= 0] = supports[first[first >= 0]]
            total = found.sum(axis=1, keepdims=True)
            weights[rows] = found / np.where(total > 0, total, 1.0)
        return weights


def _both(bits: Bits, condition: Any) -> Bits:
    """The instances that have all items of a condition."""
    return np.bitwise_and.reduce(bits[np.asarray(condition)], axis=0)


def _csr(values: list[Any], columns: list[Any], width: int) -> sparse.csr_array:
    """A matrix from the entries of its rows and their columns."""
    if not columns:
        return sparse.csr_array((0, width))
    data, flat = np.concatenate(values), np.concatenate(columns).astype(np.intp)
    return csr_of_rows(data, flat, [len(row) for row in columns], width)


def top_label(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """Share of the instances whose label with the highest weight is correct.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q)
    weights : array-like of shape (n, q)
        Not negative, such as :meth:`MMAC.label_weights` gives. Between equals the first label
        counts; a row without weights is wrong.

    Examples
    --------
    >>> top_label([[1, 0], [0, 1]], [[0.6, 0.4], [0.7, 0.3]])
    0.5
    """
    Y, W = _checked(Y_true, weights)
    first = W.argmax(axis=1)
    row = np.arange(len(Y))
    return float((Y[row, first] & (W[row, first] > 0)).mean())


def any_label(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """Share of the instances for which any label with a weight is correct.

    Parameters as in :func:`top_label`.

    Examples
    --------
    >>> any_label([[1, 0], [0, 1]], [[0.6, 0.4], [0.7, 0.3]])
    1.0
    """
    Y, W = _checked(Y_true, weights)
    return float((Y & (W > 0)).any(axis=1).mean())


def label_weight(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """Mean share of an instance's weights that is on correct labels.

    Parameters
    ----------
    Y_true, weights : as in :func:`top_label`
        Rows of weights are scaled to sum to one; a row without weights counts 0.

    Examples
    --------
    >>> label_weight([[1, 0], [0, 1]], [[0.5, 0.5], [0.75, 0.25]])
    0.375
    """
    Y, W = _checked(Y_true, weights)
    most = W.max(axis=1, keepdims=True)
    parts = W / np.where(most > 0, most, 1.0)  # the sum of huge weights would be infinite
    return float(((Y * parts).sum(axis=1) / np.maximum(parts.sum(axis=1), 1.0)).mean())


def _checked(Y_true: Any, weights: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    Y = dense(check_labels(Y_true, name="Y_true")).astype(bool)
    W = dense(check_scores(weights, name="weights"))
    if Y.shape != W.shape:
        raise ValueError(f"weights must have the shape of Y_true, {Y.shape}, got {W.shape}")
    if (W < 0).any():
        raise ValueError(f"weights must not be negative, got {W.min():g}")
    return Y, W
