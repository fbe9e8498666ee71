"""Explain any fitted classifier: learners of this library, pipelines, and scikit-learn's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import column_names, default_feature_names, default_label_names
from plurilabel._core.blocks import dense, refuse_dates
from plurilabel._core.explanation.contributions import (
    LEFT_OUT,
    SURELY,
    Contributions,
    Explanations,
    Parts,
    checked_given,
    log_odds,
)
from plurilabel._core.explanation.marks import WORD, lower, texts_of
from plurilabel._core.explanation.models import names_after, output_parts
from plurilabel._core.scores import label_scores, score_method

MOST_WORDS = 200  # of a text that are left out one at a time
MOST_LETTERS = 5_000_000  # of all these texts, but for the first ten words


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
    if (said := left_out(estimator, X, feature_names)) is not None:
        return said
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


def left_out(estimator: Any, X: Any, feature_names: Any = None) -> Explanations | None:
    """What each word adds where texts become vectors, of which no number has a meaning.

    Texts are scored without one of their words at a time. None for other rows and estimators, and
    if there are names for the numbers.
    """
    inside, texts = list(_inside(estimator)), texts_of(X)
    vectors = any(hasattr(one, "probes_") for one in inside)
    if feature_names is not None or not vectors or any(hasattr(one, "index_") for one in inside):
        return None
    kinds: dict[str, str] = next((one.kinds_ for one in inside if hasattr(one, "kinds_")), {})
    columns = [""] if texts is not None else [name for name in kinds if kinds[name] == "text"]
    cells = {name: X[name].tolist() if name else texts for name in columns}
    found = (_without_words(estimator, X, i, cells) for i in range(len(X)))
    return Explanations(found) if columns else None


def _without_words(estimator: Any, X: Any, i: int, texts: dict[str, Any]) -> Contributions:
    """Changes of the scores of a row without one of the words in its columns of text."""
    letters = sum(len(column[i]) for column in texts.values())
    each = ((name, *one) for name, column in texts.items() for one in _each_without(column[i]))
    words = list(islice(each, min(MOST_WORDS, max(10, MOST_LETTERS // max(1, letters)))))
    rows: Any = None
    for name, column in texts.items():
        cells = [column[i], *(rest if name == other else column[i] for other, _, rest in words)]
        if not hasattr(X, "columns"):
            rows = cells
        else:
            rows = X.iloc[np.full(len(cells), i)] if rows is None else rows
            rows = rows.assign(**{name or X.columns[0]: cells})
    scores, scale = np.asarray(label_scores(estimator, rows), dtype=np.float64), "score"
    values = scores
    if score_method(estimator) == "predict_proba":
        values, scale = log_odds(scores, SURELY), "log-odds of the score"
    parts, scales = values[0] - values[1:], (LEFT_OUT.format(scale),) * scores.shape[1]
    base = values[0] - parts.sum(axis=0)  # the rest, so that base and parts add up
    of_column = {name: f"{name if len(texts) > 1 else 'text'}: " if name else "" for name in texts}
    said = [of_column[name] + word for name, word, _ in words]
    named = (one.label_names_ for one in _inside(estimator) if hasattr(one, "label_names_"))
    names = next(named, default_label_names(scores.shape[1]))
    why = Parts(said, parts, base, scales).said_of(scores[0], names)
    return replace(why, text=texts[""][i] if "" in texts else None)


def _each_without(text: str) -> Iterator[tuple[str, str]]:
    """Each word, in small letters, and the text without it."""
    places: dict[str, list[tuple[int, int]]] = {}
    for found in WORD.finditer(lower(text)):
        places.setdefault(found[0], []).append(found.span())
    for word, spans in places.items():
        starts, ends = zip(*spans)
        yield word, "".join(text[a:b] for a, b in zip((0, *ends), (*starts, len(text))))


def _inside(part: Any) -> Iterator[Any]:
    """A fitted estimator and what it is made of."""
    yield part
    inner = [getattr(part, name, None) for name in ("estimator_", "encoder_", "transformer_")]
    for name in ("steps", "transformer_list", "transformers_"):
        inner += [step[1] for step in getattr(part, name, ())]
    for one in inner:
        yield from () if one is None or isinstance(one, str) else _inside(one)


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
