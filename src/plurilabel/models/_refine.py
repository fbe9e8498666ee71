"""Calibrate a trained model, or add a guarantee, on further rows."""

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


def calibrate(model: Model, rows: Any, *, method: str = "sigmoid") -> Model:
    """Calibrate the probabilities of a model on rows that it was not trained on.

    The result wraps the estimator in a :class:`~plurilabel.CalibratedClassifier`, and predicts the
    labels with a probability above 0.5. The model itself is not changed.

    Parameters
    ----------
    model : Model
        Without a guarantee, which calibration would break: calibrate first.
    rows : any source of :meth:`Model.read` with labels, or ModelRows
        If a dataset has a published split, the test part is used.
    method : {"sigmoid", "beta", "temperature", "isotonic", "auto"}, default="sigmoid"
        As in :class:`~plurilabel.CalibratedClassifier`.

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
            f"the model has a guarantee ({model.notes['guarantee']['kind']!r}), which calibration "
            "would break: calibrate first"
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
    """Add a guarantee to the label sets of a model, from rows that it was not trained on.

    The scores do not change. The guarantee holds for new rows from the same distribution.

    Parameters
    ----------
    model : Model
    rows : any source of :meth:`Model.read` with labels, or ModelRows
    kind : {"recall", "subset", "misses", "labels", "discoveries"}, default="recall"
        The first three are the risks of :class:`~plurilabel.RiskControl`; "labels" is
        :class:`~plurilabel.LabelCoverage`, "discoveries"
        :class:`~plurilabel.FalseDiscoveryControl`.
    alpha : float, default=0.1
        The largest acceptable risk.
    delta : float, default=None
        Probability that the risk is larger. By default 0.1 for "discoveries", while the first
        three control only the mean risk. Not for "labels".

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
        words += f", with a probability of at least {1 - delta:.0%}"
    about = {"kind": kind, "alpha": alpha, "words": words}
    return _refined(model, rows, wrapper, {"guarantee": about, "threshold": kind})


def _checked(model: Any) -> Model:
    if not isinstance(model, Model):
        raise TypeError(f"model must be a Model, got {type(model).__name__}; use Model.of")
    return model


def _refined(model: Model, rows: Any, wrapper: Any, notes: dict[str, Any]) -> Model:
    """Wrap the estimator of a model in a wrapper fitted on new rows."""
    read = rows if isinstance(rows, ModelRows) else model.read(rows, with_labels=True)
    if model.trained_on(read):
        raise ValueError("the model was trained on these rows; use other rows")
    X, Y = read.X, cast(Any, read.Y)
    if read.test is not None:
        X, Y = safe_indexing(X, read.test), safe_indexing(Y, read.test)
    wrapper.fit(X, Y)
    how = f"{type(wrapper).__name__} on {counted(int(Y.shape[0]), 'row')}"
    return replace(model, estimator=wrapper, notes={**model.notes, **notes, "refined": how})
