"""Save, log and load models with MLflow, as skops files with a signature.

Needs MLflow: ``pip install 'plurilabel[mlflow]'``; ``mlflow-skinny`` is enough.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from plurilabel import models
from plurilabel._core.base import default_feature_names
from plurilabel._core.compat import import_extra, versions
from plurilabel._core.scores import score_method
from plurilabel.models._model import Model

__all__ = ["load_model", "log_model", "log_run", "save_model"]

FILE = "model.skops"
TEXT = "text"  # the column of a model that takes texts
OUTPUTS = ("labels", "scores")
TYPES = {"numbers": "double", "categories": "string", "text": "string", "dates": "datetime"}


def save_model(model: Model | Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a model to a folder in the format of MLflow.

    Parameters
    ----------
    model : Model, or fitted estimator, pipeline or search
    path : str or path
        A new or empty folder.
    **options : dict
        Options of ``mlflow.pyfunc.save_model``, such as ``metadata``. By default, signature and
        input example are derived from the model; requirements are the installed versions.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import plurilabel.models.mlflow
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 8.0]})
    >>> tree = plurilabel.MLDecisionTree().fit(frame, [["small"], ["small", "red"], ["red"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plurilabel.models.mlflow.save_model(tree, folder)
    ...     model = plurilabel.models.mlflow.load_model(folder)
    >>> model.predict([{"size": 2.5}])
    [('red', 'small')]
    """
    pyfunc = _mlflow("mlflow.pyfunc")
    with tempfile.TemporaryDirectory() as folder:
        pyfunc.save_model(path=os.fspath(path), **_parts(model, folder), **_given(model, options))


def log_model(model: Model | Any, name: str, **options: Any) -> Any:
    """Log a model as an artifact of the current run, which is started if necessary.

    Parameters
    ----------
    model : Model, or fitted estimator, pipeline or search
    name : str
        Name of the logged model.
    **options : dict
        Options of ``mlflow.pyfunc.log_model``, such as ``tags``; see :func:`save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` can be passed to :func:`load_model` and ``mlflow models serve``.

    Notes
    -----
    ``mlflow.pyfunc.load_model(uri).predict(rows)`` returns a data frame of 0 and 1 with the labels
    as columns, or scores with ``params={"output": "scores"}``. MLflow does not convert 64-bit
    integers to floats: pass columns of floats.
    """
    pyfunc = _mlflow("mlflow.pyfunc")
    with tempfile.TemporaryDirectory() as folder:
        return pyfunc.log_model(name=name, **_parts(model, folder), **_given(model, options))


def log_run(model: Model, experiment: str | None = None, *, name: str = "model") -> str:
    """Log a trained model, its options and measures as a run.

    Parameters
    ----------
    model : Model
        Trained by :func:`~plurilabel.models.train` or ``plurilabel fit``. Its options are logged
        as parameters, and the measures on held-out rows as metrics, such as ``precision_at_3``.
    experiment : str, default=None
        Created if necessary; by default the current experiment.
    name : str, default="model"
        Name of the logged model.

    Returns
    -------
    str
        The id of the run.
    """
    mlflow = _mlflow("mlflow")
    if experiment is not None:
        mlflow.set_experiment(experiment)
    notes = model.notes
    params = {key: notes[key] for key in ("learner", "seed", "train_rows") if key in notes}
    params |= notes.get("options", {})
    measures = notes.get("held_out", {}).get("measures", {})
    with mlflow.start_run() as run:
        mlflow.log_params({k: str(v)[:500] for k, v in params.items()})
        values = {k.replace("@", "_at_"): v for k, v in measures.items() if np.isfinite(v)}
        mlflow.log_metrics(values)
        log_model(model, name)
        return str(run.info.run_id)


def load_model(uri: str | os.PathLike[str]) -> Model:
    """Load a model from a folder, or a model URI of MLflow: ``runs:/...``, ``models:/...``.

    The file is checked by :func:`plurilabel.models.load_model`; nothing else is imported or run.
    """
    folder = Path(uri)
    if not folder.is_dir():
        download = _mlflow("mlflow.artifacts").download_artifacts
        folder = Path(download(artifact_uri=os.fspath(uri)))
    file = folder / "data" / FILE  # where MLflow puts it
    if not file.is_file():
        raise models.ModelFileError(f"{os.fspath(uri)} is not a plurilabel model (no data/{FILE})")
    return models.load_model(file)


class _Served:
    """The model for ``mlflow.pyfunc``."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Labels or scores of rows, as a data frame."""
        import pandas as pd

        output = (params or {}).get("output", "labels")
        if output not in OUTPUTS:
            raise ValueError(f"output must be {' or '.join(map(repr, OUTPUTS))}, got {output!r}")
        index = getattr(data, "index", None)
        if not len(self.model.feature_names):
            data = data.iloc[:, 0] if hasattr(data, "iloc") and data.ndim == 2 else data
        elif _by_position(self.model):
            data = np.asarray(data)
        names = self.model.label_names
        if output == "scores":
            scores = getattr(self.model, score_method(self.model.estimator))(data)
            return scores if index is None else scores.set_axis(index)
        sets = [set(labels) for labels in self.model.predict(data)]
        rows = [[int(name in labels) for name in names] for labels in sets]
        return pd.DataFrame(rows, columns=list(names), index=index, dtype=np.int64)

    def get_raw_model(self) -> Model:
        return self.model


def _load_pyfunc(path: str) -> _Served:
    return _Served(models.load_model(path))


def _parts(model: Model | Any, folder: str) -> dict[str, Any]:
    """Save the file of a model; return its path and loader."""
    data = os.path.join(folder, FILE)
    models.save_model(model, data)
    return {"loader_module": __name__, "data_path": data}


def _given(model: Model | Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options for MLflow, with defaults from the model."""
    model = model if isinstance(model, Model) else Model.of(model)
    pins = {name: version for name, version in versions("skops").items() if name != "python"}
    defaults = {
        "signature": _signature(model),
        "input_example": _example(model),
        "pip_requirements": [
            f"{'plurilabel[cli]' if name == 'plurilabel' else name}=={version}"
            for name, version in pins.items()
        ],
    }
    return {**defaults, **options}


def _by_position(model: Model) -> bool:
    return tuple(model.feature_names) == default_feature_names(len(model.feature_names))


def _kinds(model: Model) -> dict[str, str]:
    return model.kinds if len(model.feature_names) else {TEXT: "text"}


def _signature(model: Model) -> Any:
    models, types = _mlflow("mlflow.models"), _mlflow("mlflow.types")
    if len(model.feature_names) and _by_position(model):
        d = len(model.feature_names)
        inputs = types.Schema([types.TensorSpec(np.dtype(np.float64), (-1, d))])
    else:
        columns = [types.ColSpec(TYPES[kind], name) for name, kind in _kinds(model).items()]
        inputs = types.Schema(columns)
    outputs = types.Schema([types.ColSpec("long", name) for name in model.label_names])
    choice = types.ParamSchema([types.ParamSpec("output", "string", "labels")])
    return models.ModelSignature(inputs=inputs, outputs=outputs, params=choice)


def _example(model: Model) -> Any:
    """An example row; its numbers are not from the training rows."""
    import pandas as pd

    if len(model.feature_names) and _by_position(model):
        return np.zeros((1, len(model.feature_names)))
    blank = {"numbers": 0.0, "dates": pd.Timestamp("2000-01-01")}
    row = {name: blank.get(kind, "") for name, kind in _kinds(model).items()}
    return pd.DataFrame([{**row, **_known_values(model)}])


def _known_values(model: Model) -> dict[str, str]:
    """Known categories and words, by column."""
    if not len(model.feature_names):
        first = model.estimator[0] if isinstance(model.estimator, Pipeline) else None
        return {TEXT: _words(first)}
    known = {}
    encoder = model.encoder
    for _, part, columns in () if encoder is None else encoder.transformer_.transformers_:
        last = part[-1] if isinstance(part, Pipeline) else part
        if isinstance(columns, str):
            known[columns] = _words(last)
        elif hasattr(last, "categories_"):
            known |= {name: values[0] for name, values in zip(columns, last.categories_)}
    return known


def _words(vectorizer: Any) -> str:
    return " ".join(list(getattr(vectorizer, "vocabulary_", ()))[:3])


def _mlflow(module: str) -> Any:
    return import_extra(module, "plurilabel.models.mlflow", "mlflow")
