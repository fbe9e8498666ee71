"""Explain any fitted classifier: learners of this library, pipelines, and scikit-learn's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import column_names, default_feature_names, default_label_names
from plurilabel._core.blocks import dense, refuse_dates
from plurilabel._core.explanation.contributions import (
    Contributions,
    Explanations,
    checked_given,
)
from plurilabel._core.explanation.marks import texts_of
from plurilabel._core.explanation.models import names_after, output_parts
from plurilabel._core.scores import label_scores, score_method


def explain(
    estimator: Any, X: Any, *, feature_names: Sequence[str] | None = None, reference: Any = None
) -> list[Any]:
    """Explain what speaks for and against each label, for any fitted classifier.

    Parameters
    ----------
    estimator : fitted classifier
        A learner of this library, a pipeline that ends in one, a multi-label classifier of
        scikit-learn's, or a :class:`plurilabel.models.Model`.
    X : n rows of whatever ``estimator`` takes
        Explaining takes longer than predicting: pass the rows in question.
    feature_names : sequence of str, default=None
        Names of the features that the last step of a pipeline sees. By default those that its
        steps make of the names in X.
    reference : array-like of shape (d,), default=None
        For models that cannot be decomposed: values that stand for "nothing known", such as the
        means of the training set. The default, 0, suits standardised features and counts.

    Returns
    -------
    list of explanations, one for each row of X
        :class:`Contributions`, or a class of the learner's own that has the same attributes, such
        as the neighbours of ``plurilabel.learners.Explanation``. ``print`` shows one, or all.

    See Also
    --------
    plurilabel.MultiLabelClassifier.explain : The same as a method of every learner.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from plurilabel import BinaryRelevance
    >>> from plurilabel.inspection import explain
    >>> texts = ["a late goal", "the goal of the vote", "vote for the bill", "rain and wind"]
    >>> Y = [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> model = make_pipeline(CountVectorizer(), BinaryRelevance(MultinomialNB())).fit(texts, Y)
    >>> (why,) = explain(model, ["vote for the goal"])
    >>> why.top("label0", 2)
    [('goal', 1.09...), ('for', -0.69...)]
    """
    if isinstance(estimator, Pipeline):
        found, texts = _explain_pipeline(estimator, X, feature_names, reference), texts_of(X)
        if texts is None:
            return Explanations(found)
        return Explanations(
            replace(one, text=text) if isinstance(one, Contributions) else one
            for one, text in zip(found, texts)
        )
    if hasattr(estimator, "explain"):
        found = estimator.explain(X, feature_names=feature_names, reference=reference)
        return Explanations(found)
    check_is_fitted(estimator)
    names: Any = feature_names if feature_names is not None else column_names(X)
    refuse_dates(X, "X")
    checked = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    checked = sparse.csr_array(checked) if sparse.issparse(checked) else checked
    n, d = checked.shape
    given = checked_given(default_feature_names(d) if names is None else names, reference, d)
    scores = np.asarray(label_scores(estimator, checked), dtype=np.float64)
    labels, method = default_label_names(scores.shape[1]), score_method(estimator)
    return Explanations(
        output_parts(estimator, checked[i : i + 1], method, given).said_of(scores[i], labels)
        for i in range(n)
    )


def _explain_pipeline(
    estimator: Pipeline, X: Any, feature_names: Sequence[str] | None, reference: Any
) -> list[Any]:
    """The explanations of the last step, of the features that it sees."""
    steps, seen = estimator[:-1], X
    if len(steps):
        seen = steps.transform(X)
        if reference is not None:
            reference = dense(steps.transform(_as_row(reference, X)))[0]
        if feature_names is None and hasattr(seen, "shape"):
            made = names_after(steps, seen.shape[1], column_names(X))
            feature_names = column_names(seen) or made
    return explain(estimator[-1], seen, feature_names=feature_names, reference=reference)


def _as_row(reference: Any, X: Any) -> Any:
    """The reference as the one row of a matrix; of a data frame if X is one."""
    if hasattr(reference, "columns") or not hasattr(X, "columns"):
        return reference if hasattr(reference, "columns") else np.atleast_2d(np.asarray(reference))
    return type(X)(dict(zip(X.columns, ([value] for value in np.asarray(reference).ravel()))))
