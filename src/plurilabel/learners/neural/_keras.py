"""The error of BP-MLL for Keras 3."""

from __future__ import annotations

from typing import Any


def bp_mll_loss(y_true: Any, y_pred: Any) -> Any:
    """The pairwise error of BP-MLL for Keras, on any of its backends.

    Pass it as ``model.compile(loss=bp_mll_loss, ...)``; the last layer should be a
    ``Dense(q, activation="tanh")``. Keras takes the mean over the batch. A saved model is loaded
    with ``keras.saving.load_model(path, custom_objects={"bp_mll_loss": bp_mll_loss})``.

    Parameters
    ----------
    y_true : tensor of shape (n, q)
        1 for the labels of an instance, 0 for the others.
    y_pred : tensor of shape (n, q)
        Scores.

    Returns
    -------
    tensor of shape (n,)
        For each instance the mean of exp(-(c_k - c_l)) over its labels k and the others l, as
        :func:`pairwise_exponential_loss` defines it; 0 for an instance with all labels or none.
    """
    try:
        from keras import backend, ops
    except ImportError as error:
        raise ImportError(
            "plurilabel.learners.bp_mll_loss needs Keras and one of its backends: "
            "pip install 'plurilabel[keras]', and set KERAS_BACKEND to the backend you have"
        ) from error
    scores = ops.convert_to_tensor(y_pred)
    if backend.standardize_dtype(scores.dtype) not in ("float32", "float64"):
        scores = ops.cast(scores, "float32")
    # a shift of all scores of a row does not change the error, but preserves precision
    scores = scores - ops.stop_gradient(ops.mean(scores, axis=1, keepdims=True))
    has = ops.cast(ops.convert_to_tensor(y_true) > 0, scores.dtype)

    def log_mean_exp(signed: Any, chosen: Any) -> Any:
        """Log mean exp of the chosen entries of each row; very small where there are none."""
        count = ops.sum(chosen, axis=1)
        sums = ops.logsumexp(ops.where(chosen > 0, signed, -1e37), axis=1)
        return sums - ops.log(ops.maximum(count, 1.0))

    return ops.exp(log_mean_exp(-scores, has) + log_mean_exp(scores, 1 - has))
