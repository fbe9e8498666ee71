"""A trained model, refined on further rows: calibrated, or with a guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from plurilabel._core.compat import safe_indexing
from plurilabel._core.words import counted
from plurilabel.models._model import Model
from plurilabel.models._model_rows import ModelRows
from plurilabel.thresholds import FalseDiscoveryControl, LabelCoverage, RiskControl
from plurilabel.wrappers import CalibratedClassifier, ThresholdClassifier

GUARANTEES = {
    "recall": "at most {alpha:.0%} of a row's labels are missed, on average over rows",
    "subset": "no label is missed in {good:.0%} of the rows",
    "misses": "at most {alpha:.0%} of all labels are missed, on average over rows",
    "labels": "each label is found in {good:.0%} of the rows that have it",
    "discoveries": "at most {alpha:.0%} of the predicted labels are wrong, on average over rows",
}
"""What can be guaranteed, in words."""


def calibrate(model: Model, rows: Any, *, method: str = "sigmoid") -> Model:
    """Calibrate the probabilities of a model on rows that it has not seen.

    The model stays as it is; the result has :class:`~plurilabel.CalibratedClassifier` around its
    estimator, and predicts the labels with a probability above 0.5.

    Parameters
    ----------
    model : Model
        Without a guarantee, which the new cut would break: calibrate first, then guarantee.
    rows : what :meth:`Model.read` takes, with labels; or ModelRows
        Of a dataset with a published split, the test part.
    method : {"sigmoid", "beta", "temperature", "isotonic", "auto"}, default="sigmoid"
        As in :class:`~plurilabel.CalibratedClassifier`.

    Returns
    -------
    Model

    Examples
    --------
    >>> from plurilabel import MLkNN, datasets
    >>> from plurilabel.models import Model, calibrate
    >>> data = datasets.load("digits", as_frame=True)
    >>> model = Model.of(MLkNN(3).fit(data.X[:500], data.Y[:500]))
    >>> rows = data.X[500:900].assign(**data.Y[500:900])
    >>> calibrate(model, rows)
    Model: CalibratedClassifier, 64 features, 7 labels
    """
    if "guarantee" in _checked(model).notes:
        raise ValueError(
            "model must have no guarantee, since calibration would break it: calibrate first, "
            f"then guarantee; got one of {model.notes['guarantee']['kind']!r}"
        )
    wrapper = CalibratedClassifier(model.estimator, method, cv="prefit")
    return _refined(model, rows, wrapper, {"calibrated": method, "threshold": None})


def guarantee(
    model: Model,
    rows: Any,
    kind: str = "recall",
    *,
    alpha: float = 0.1,
    delta: float | None = None,
) -> Model:
    """Let a model predict label sets with a guarantee, learned from rows that it has not seen.

    The scores stay as they are. The guarantee is for new rows that are like the given ones.

    Parameters
    ----------
    model : Model
    rows : what :meth:`Model.read` takes, with labels; or ModelRows
    kind : {"recall", "subset", "misses", "labels", "discoveries"}, default="recall"
        The first three are the risks of :class:`~plurilabel.RiskControl`; "labels" is
        :class:`~plurilabel.LabelCoverage`, "discoveries"
        :class:`~plurilabel.FalseDiscoveryControl`.
    alpha : float, default=0.1
        The highest risk.
    delta : float, default=None
        The probability that the risk is higher nevertheless. By default 0.1 for "discoveries",
        while the first three control the mean risk only. Not for "labels".

    Returns
    -------
    Model

    Examples
    --------
    >>> from plurilabel import MLkNN, datasets
    >>> from plurilabel.models import Model, guarantee
    >>> data = datasets.load("digits", as_frame=True)
    >>> model = Model.of(MLkNN(3).fit(data.X[:500], data.Y[:500]))
    >>> rows = data.X[500:900].assign(**data.Y[500:900])
    >>> guarantee(model, rows, "subset", alpha=0.2).notes["guarantee"]["words"]
    'no label is missed in 80% of the rows'
    """
    if kind not in GUARANTEES:
        raise ValueError(f"kind must be one of {', '.join(GUARANTEES)}, got {kind!r}")
    strategy: Any
    if kind == "labels":
        if delta is not None:
            raise ValueError(f"delta must be None for kind='labels', got {delta!r}")
        strategy = LabelCoverage(alpha)
    elif kind == "discoveries":
        delta = 0.1 if delta is None else delta
        strategy = FalseDiscoveryControl(alpha, delta=delta)
    else:
        strategy = RiskControl(alpha, risk=kind, delta=delta)
    wrapper = ThresholdClassifier(_checked(model).estimator, strategy, cv="prefit")
    words = GUARANTEES[kind].format(alpha=alpha, good=1 - alpha)
    if delta is not None:
        words += f"; that fails with a probability of at most {delta:.0%}"
    about = {"kind": kind, "alpha": alpha, "words": words}
    return _refined(model, rows, wrapper, {"guarantee": about, "threshold": kind})


def _checked(model: Any) -> Model:
    if not isinstance(model, Model):
        raise TypeError(
            f"model must be a Model, got {type(model).__name__}; Model.of(estimator) makes one"
        )
    return model


def _refined(model: Model, rows: Any, wrapper: Any, notes: dict[str, Any]) -> Model:
    """The model with a wrapper around its estimator, fitted on rows that it has not seen."""
    read = rows if isinstance(rows, ModelRows) else model.read(rows, with_labels=True)
    if model.trained_on(read):
        raise ValueError(
            "the model was trained on these very rows; give it rows that it has not seen"
        )
    X, Y = read.X, cast(Any, read.Y)
    if read.test is not None:
        X, Y = safe_indexing(X, read.test), safe_indexing(Y, read.test)
    wrapper.fit(X, Y)
    how = f"{type(wrapper).__name__} on {counted(int(Y.shape[0]), 'row')}"
    return replace(model, estimator=wrapper, notes={**model.notes, **notes, "refined": how})
