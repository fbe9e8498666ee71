"""Measures of predicted label sets, and the counts that they are made of.

Y is the true set of an instance and Z the predicted one. Measures are means over instances, or
made of the confusion counts of each label: ``macro_*`` is the mean over labels, ``micro_*`` the
measure of the counts of all labels together, so that frequent labels have more weight.

- An instance without true labels is left out of accuracy, precision, recall and F, as it is of all
  measures of rankings. It counts in Hamming loss and subset accuracy, which compare all labels. If
  no instance is left, the result is NaN.
- An instance with true labels but no predicted ones has precision 0, as in the papers.
- Every label counts in macro means, so that the means of different learners are over the same
  labels: **a ratio 0/0 is 0**, as in scikit-learn with ``zero_division=0``. A label that is never
  predicted has precision 0; one that never occurs has recall 0 and F 0.

True labels may be soft: probabilities between 0 and 1. Means over instances then are expected
values for independent labels, the expected numerator over the expected denominator; macro and
micro measures are those of the expected counts. See :func:`plurilabel.metrics.evaluate`.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from plurilabel._core.base import column_names
from plurilabel._core.data.hierarchy import Hierarchy
from plurilabel._core.labels import is_tags, tag_matrix
from plurilabel.metrics._counts import (
    COUNT_MEASURES,
    SetCounts,
    f_beta_of_counts,
    value_of_sets,
)
from plurilabel.metrics._inputs import Terms, check_beta, check_predicted, ratio
from plurilabel.metrics._registry import measure

__all__ = [
    "COUNT_MEASURES", "accuracy", "f1", "f_beta", "hamming_loss", "hierarchical_f_beta",
    "hierarchical_precision", "hierarchical_recall", "macro_accuracy", "macro_f1", "macro_f_beta",
    "macro_precision", "macro_recall", "micro_accuracy", "micro_f1", "micro_f_beta",
    "micro_precision", "micro_recall", "precision", "recall", "subset_accuracy",
]  # fmt: skip


def _f_beta(counts: SetCounts, beta: float = 1.0) -> Terms:
    b2 = check_beta(beta) ** 2
    return ratio((1 + b2) * counts.both, b2 * counts.true + counts.pred), counts.labelled


@measure("labels", lambda c: (ratio(c.wrong, c.known), c.some_known), loss=True)
def hamming_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of label decisions that are wrong; 0 is best.

    ``mean |Y xor Z| / q``, equal to scikit-learn's ``hamming_loss``. Always defined.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Examples
    --------
    >>> from plurilabel.metrics import hamming_loss
    >>> hamming_loss([[1, 0, 1, 0], [0, 1, 0, 0]], [[1, 1, 0, 0], [0, 1, 0, 0]])
    0.25
    """
    return value_of_sets(hamming_loss, Y_true, Y_pred)


@measure("labels", lambda c: ((c.wrong == 0) * c.some_known, c.some_known))
def subset_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of instances whose label set is predicted exactly; 1 is best.

    Always defined. Equal to scikit-learn's ``accuracy_score`` on label matrices. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import subset_accuracy
    >>> subset_accuracy([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return value_of_sets(subset_accuracy, Y_true, Y_pred)


@measure("labels", lambda c: (ratio(c.both, c.true + c.pred - c.both), c.labelled))
def accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean Jaccard similarity of the true and the predicted set; 1 is best.

    ``mean |Y and Z| / |Y or Z|``. An instance without true labels is left out; apart from that,
    equal to scikit-learn's ``jaccard_score(average="samples")``, which counts it as 0. NaN if no
    instance has a label. Parameters as in :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import accuracy
    >>> accuracy([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.75
    """
    return value_of_sets(accuracy, Y_true, Y_pred)


@measure("labels", lambda c: (ratio(c.both, c.pred), c.labelled))
def precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean share of the predicted labels that are true; 1 is best.

    ``mean |Y and Z| / |Z|``. An instance with true labels and none predicted counts as 0, as in
    the published tables. One without true labels is left out; apart from that, equal to
    scikit-learn's ``precision_score(average="samples", zero_division=0)``. NaN if no instance has
    a label. Parameters as in :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import precision
    >>> precision([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.75
    >>> precision([[1, 0, 1], [0, 1, 0]], [[0, 0, 0], [0, 1, 0]])  # nothing predicted: 0
    0.5
    """
    return value_of_sets(precision, Y_true, Y_pred)


@measure("labels", lambda c: (ratio(c.both, c.true), c.labelled))
def recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean share of the true labels that are predicted; 1 is best.

    ``mean |Y and Z| / |Y|``. An instance without true labels is left out, as in scikit-learn's
    ``recall_score(average="samples", zero_division=np.nan)``. NaN if no instance has a label.
    Parameters as in :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import recall
    >>> recall([[1, 0, 1], [0, 0, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return value_of_sets(recall, Y_true, Y_pred)


@measure("labels", _f_beta)
def f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """Mean F-beta of the instances; 1 is best.

    ``mean (1 + beta^2) |Y and Z| / (beta^2 |Y| + |Z|)``: the F of each instance, then the mean, as
    is usual today and as in scikit-learn's ``fbeta_score(average="samples")``. The review of Zhang
    and Zhou (2014) takes the F of the mean :func:`precision` and the mean :func:`recall` instead,
    which in general is a different number. An instance without true labels is left out;
    scikit-learn counts it as 0 if labels are predicted. NaN if no instance has a label.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Examples
    --------
    >>> from plurilabel.metrics import f_beta
    >>> f_beta([[1, 1, 1, 1], [0, 1, 0, 0]], [[1, 1, 0, 0], [0, 1, 0, 0]], beta=2)
    0.77...
    """
    return value_of_sets(f_beta, Y_true, Y_pred, beta=beta)


@measure("labels", _f_beta)
def f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean F1 of the instances, :func:`f_beta` with ``beta=1``; 1 is best.

    Parameters as in :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import f1
    >>> f1([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.75
    """
    return value_of_sets(f1, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["accuracy"], average="macro")
def macro_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of the share of correct decisions; 1 is best.

    Equal to :func:`micro_accuracy` and to ``1 - hamming_loss``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_accuracy
    >>> macro_accuracy([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return value_of_sets(macro_accuracy, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["precision"], average="macro")
def macro_precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of tp / (tp + fp); 1 is best.

    Equal to scikit-learn's ``precision_score(average="macro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_precision
    >>> macro_precision([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.5
    """
    return value_of_sets(macro_precision, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["recall"], average="macro")
def macro_recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of tp / (tp + fn); 1 is best.

    Equal to scikit-learn's ``recall_score(average="macro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_recall
    >>> macro_recall([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return value_of_sets(macro_recall, Y_true, Y_pred)


@measure("labels", f_beta_of_counts, average="macro")
def macro_f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """Mean over labels of F-beta; 1 is best.

    Equal to scikit-learn's ``fbeta_score(average="macro", zero_division=0)``. Parameters as in
    :func:`f_beta`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_f_beta
    >>> macro_f_beta([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]], beta=0.5)
    0.51...
    """
    return value_of_sets(macro_f_beta, Y_true, Y_pred, beta=beta)


@measure("labels", COUNT_MEASURES["f1"], average="macro")
def macro_f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of F1; 1 is best.

    Equal to scikit-learn's ``f1_score(average="macro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_f1
    >>> macro_f1([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.55...
    """
    return value_of_sets(macro_f1, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["accuracy"], average="micro")
def micro_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of correct decisions over all labels; 1 is best.

    Equal to :func:`macro_accuracy` and to ``1 - hamming_loss``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_accuracy
    >>> micro_accuracy([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return value_of_sets(micro_accuracy, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["precision"], average="micro")
def micro_precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of all predicted labels that are true; 1 is best.

    Equal to scikit-learn's ``precision_score(average="micro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_precision
    >>> micro_precision([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return value_of_sets(micro_precision, Y_true, Y_pred)


@measure("labels", COUNT_MEASURES["recall"], average="micro")
def micro_recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of all true labels that are predicted; 1 is best.

    Equal to scikit-learn's ``recall_score(average="micro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_recall
    >>> micro_recall([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return value_of_sets(micro_recall, Y_true, Y_pred)


@measure("labels", f_beta_of_counts, average="micro")
def micro_f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """F-beta of the counts of all labels together; 1 is best.

    Equal to scikit-learn's ``fbeta_score(average="micro", zero_division=0)``. Parameters as in
    :func:`f_beta`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_f_beta
    >>> micro_f_beta([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]], beta=0.5)
    0.75
    """
    return value_of_sets(micro_f_beta, Y_true, Y_pred, beta=beta)


@measure("labels", COUNT_MEASURES["f1"], average="micro")
def micro_f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 of the counts of all labels together; 1 is best.

    Equal to scikit-learn's ``f1_score(average="micro", zero_division=0)``. Parameters as in
    :func:`hamming_loss`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_f1
    >>> micro_f1([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return value_of_sets(micro_f1, Y_true, Y_pred)


def hierarchical_precision(
    Y_true: ArrayLike, Y_pred: ArrayLike, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """Share of the predicted labels, with those above them, that are true; 1 is best.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames
    hierarchy : Hierarchy, default=None
        None: that of the column names of a data frame, with ``/`` between their parts.
    average : {"micro", "instances"}, default="micro"
        "micro", as in the paper: over all pairs of instance and label. "instances": the mean over
        instances, those without labels left out.

    References
    ----------
    S. Kiritchenko, S. Matwin, A. F. Famili. Functional annotation of genes using hierarchical
    text categorization. BioLINK SIG 2005.

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_precision
    >>> tree = Hierarchy(["sports", "sports/football", "sports/tennis"])
    >>> hierarchical_precision([[0, 1, 0]], [[0, 0, 1]], tree)  # sports is right
    0.5
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_precision(Y, Z) if average == "micro" else precision(Y, Z)


def hierarchical_recall(
    Y_true: ArrayLike, Y_pred: ArrayLike, hierarchy: Any = None, *, average: str = "micro"
) -> float:
    """Share of the true labels, with those above them, that are predicted; 1 is best.

    Parameters as in :func:`hierarchical_precision`.

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_recall
    >>> tree = Hierarchy(["sports", "sports/football", "sports/football/women"])
    >>> hierarchical_recall([[0, 0, 1]], [[1, 0, 0]], tree)
    0.33...
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_recall(Y, Z) if average == "micro" else recall(Y, Z)


def hierarchical_f_beta(
    Y_true: ArrayLike,
    Y_pred: ArrayLike,
    hierarchy: Any = None,
    *,
    beta: float = 1.0,
    average: str = "micro",
) -> float:
    """F-beta of hierarchical precision and recall; 1 is best.

    Parameters
    ----------
    Y_true, Y_pred, hierarchy, average : as in :func:`hierarchical_precision`
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Examples
    --------
    >>> from plurilabel.datasets import Hierarchy
    >>> from plurilabel.metrics import hierarchical_f_beta
    >>> tree = Hierarchy(["sports", "sports/football", "sports/football/women"])
    >>> hierarchical_f_beta([[0, 0, 1]], [[1, 0, 0]], tree)
    0.5
    """
    Y, Z = _closed(Y_true, Y_pred, hierarchy, average)
    return micro_f_beta(Y, Z, beta) if average == "micro" else f_beta(Y, Z, beta)


def _closed(Y_true: Any, Y_pred: Any, hierarchy: Any, average: str) -> tuple[Any, Any]:
    if average not in ("micro", "instances"):
        raise ValueError(f"average must be 'micro' or 'instances', got {average!r}")
    if hierarchy is None:
        names = column_names(Y_true) or column_names(Y_pred)
        if names is None:
            raise ValueError("hierarchy must be given unless Y_true is a data frame with names")
        hierarchy = Hierarchy(names)
    elif not isinstance(hierarchy, Hierarchy):
        got = type(hierarchy).__name__
        raise ValueError(f"hierarchy must be a Hierarchy(label_names, parents), got {got}")
    if is_tags(Y_true):
        names = hierarchy.label_names
        Y_true, Y_pred = tag_matrix(Y_true, names)[0], tag_matrix(Y_pred, names)[0]
    Y, Z = check_predicted(Y_true, Y_pred)
    return hierarchy.close(Y), hierarchy.close(Z)
