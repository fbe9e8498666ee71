"""Measures on label sets, averaged over instances.

Y is the true set of an instance and Z the predicted one. Two rules apply throughout:

- An instance without true labels is left out of accuracy, precision, recall and F, as it is of
  all measures on rankings. It counts in Hamming loss and subset accuracy, which compare all
  labels.
- An instance with true labels but no predicted ones has precision 0, as in the papers.

If no instance is left, the result is NaN.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from plurilabel.metrics._counts import counts_of
from plurilabel.metrics._inputs import mean_of_defined


def hamming_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of label decisions that are wrong; 0 is best.

    ``mean |Y xor Z| / q``. Always defined. Equal to scikit-learn's ``hamming_loss``, and to
    ``1 - macro_accuracy`` and ``1 - micro_accuracy``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import hamming_loss
    >>> hamming_loss([[1, 0, 1, 0], [0, 1, 0, 0]], [[1, 1, 0, 0], [0, 1, 0, 0]])
    0.25
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).hamming_loss())


def subset_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of instances whose label set is predicted exactly; 1 is best.

    Always defined. Equal to scikit-learn's ``accuracy_score`` on label matrices.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import subset_accuracy
    >>> subset_accuracy([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).subset_accuracy())


def accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean Jaccard similarity of the true and the predicted set; 1 is best.

    ``mean |Y and Z| / |Y or Z|``. An instance without true labels is left out; apart from
    that, equal to scikit-learn's ``jaccard_score(average="samples")``, which counts it as 0.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float
        NaN if no instance has a label.

    Examples
    --------
    >>> from plurilabel.metrics import accuracy
    >>> accuracy([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.75
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).accuracy())


def precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean share of the predicted labels that are true; 1 is best.

    ``mean |Y and Z| / |Z|``. An instance with true labels and none predicted counts as 0, as in
    the published tables. One without true labels is left out; apart from that, equal to
    scikit-learn's ``precision_score(average="samples", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float
        NaN if no instance has a label.

    Examples
    --------
    >>> from plurilabel.metrics import precision
    >>> precision([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.75
    >>> precision([[1, 0, 1], [0, 1, 0]], [[0, 0, 0], [0, 1, 0]])  # nothing predicted: 0
    0.5
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).precision())


def recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean share of the true labels that are predicted; 1 is best.

    ``mean |Y and Z| / |Y|``. An instance without true labels is left out, as in scikit-learn's
    ``recall_score(average="samples", zero_division=np.nan)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float
        NaN if no instance has a label.

    Examples
    --------
    >>> from plurilabel.metrics import recall
    >>> recall([[1, 0, 1], [0, 0, 0]], [[1, 1, 0], [0, 1, 0]])
    0.5
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).recall())


def f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """Mean F-beta of the instances; 1 is best.

    ``mean (1 + beta^2) |Y and Z| / (beta^2 |Y| + |Z|)``: the F of each instance, then the mean,
    as is usual today and as in scikit-learn's ``fbeta_score(average="samples")``. The review of
    Zhang and Zhou (2014) takes the F of the mean :func:`precision` and the mean :func:`recall`
    instead, which in general is a different number. An instance without true labels is left
    out; scikit-learn counts it as 0 if labels are predicted.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Returns
    -------
    float
        NaN if no instance has a label.

    Examples
    --------
    >>> from plurilabel.metrics import f_beta
    >>> f_beta([[1, 1, 1, 1], [0, 1, 0, 0]], [[1, 1, 0, 0], [0, 1, 0, 0]], beta=2)
    0.77...
    """
    return mean_of_defined(*counts_of(Y_true, Y_pred).f_beta(beta))


def f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean F1 of the instances; 1 is best. :func:`f_beta` with ``beta=1``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float
        NaN if no instance has a label.

    Examples
    --------
    >>> from plurilabel.metrics import f1
    >>> f1([[1, 0, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]])
    0.75
    """
    return f_beta(Y_true, Y_pred)
