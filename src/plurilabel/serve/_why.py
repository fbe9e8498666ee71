"""Explanations as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from plurilabel._core.blocks import dense
from plurilabel.models import Model
from plurilabel.serve._training import Trained

_MOST_SHARED = 12
_SPARSE = 0.5  # share of the features that two rows may have in common, to be worth naming


def explained(
    why: Any, label_names: Sequence[str], wanted: Sequence[str] | None, top: int
) -> dict[str, Any]:
    """The labels of one row with what adds to each, the highest score first."""
    scores = np.asarray(why.scores, dtype=np.float64)
    order = np.argsort(-scores, kind="stable").tolist()
    if wanted is not None:
        places = {name: j for j, name in enumerate(label_names)}
        order = [places[name] for name in wanted]
    return {
        "labels": [
            {
                "label": str(label_names[j]),
                "score": finite(scores[j]),
                "base": finite(why.base[j]),
                "adds_up_to": str(why.scales[j]),
                "parts": [
                    {"part": name, "adds": finite(value)} for name, value in why.top(j, top)
                ],
            }
            for j in order
        ]
    }


def shared_features(now: Trained, X: Any, found: Sequence[Any]) -> list[list[list[str]]]:
    """For each row and each of its neighbours, the features that both have: not 0 in either.

    Nothing where rows are dense: they would have everything in common.
    """
    names = _feature_names(now.model)
    points, learned = now.model.encoded(X), now.model.learner.X_
    # beside words, numbers and dates have little to say by not being 0
    telling = np.array([not name.startswith(("numbers__", "dates__")) for name in names or ()])
    telling = telling if names is not None else np.ones(1, dtype=bool)
    shared = []
    for i, why in enumerate(found):
        x = dense(points[[i]] if not hasattr(points, "iloc") else points.iloc[[i]]).ravel()
        near = dense(learned[why.neighbors])  # (k, d)
        common = np.minimum(np.abs(x), np.abs(near)) * (np.sign(x) == np.sign(near)) * telling
        best = np.argsort(-common, axis=1, kind="stable")[:, :_MOST_SHARED]
        few = (common > 0).mean(axis=1) < _SPARSE if names is not None else [False] * len(near)
        shared.append(
            [
                [names[j] for j in row.tolist() if common[k, j] > 0] if few[k] and names else []
                for k, row in enumerate(best)
            ]
        )
    return shared


def _feature_names(model: Model) -> list[str] | None:
    """Names of the features that the learner sees; None if they are not known."""
    estimator = getattr(model.estimator, "best_estimator_", model.estimator)
    estimator = getattr(estimator, "estimator_", estimator)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        with suppress(ValueError, AttributeError, NotImplementedError):
            return [str(name) for name in estimator[:-1].get_feature_names_out()]
        return None
    return [str(name) for name in model.feature_names]


def finite(value: Any) -> float | None:
    """A number as JSON has it."""
    number = float(value)
    return number if np.isfinite(number) else None
