"""Label Studio's protocol for machine learning backends, as functions without HTTP.

Label Studio asks a backend for predictions and tells it of annotations. A server passes the JSON
of its requests on to these functions and answers with what they return:

=============  ===================  ====================
request        function             answer
=============  ===================  ====================
GET /health    :func:`health`       status 200
POST /setup    :func:`setup`        status 200
POST /predict  :func:`predict`      status 200
POST /webhook  :func:`corrections`  status 201, anything
=============  ===================  ====================

A ``ValueError`` says in a sentence what is wrong with a request: status 400.

The project tags each task with any number of choices::

    <View>
      <Text name="note" value="$note"/>
      <Choices name="codes" toName="note" choice="multiple">
        <Choice value="cough"/> <Choice value="fever"/>
      </Choices>
    </View>

The data of a task are a row of the model's table, by column name. Choices are the labels of the
model: by value or alias, by ``predicted_values``, or whatever their case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from plurilabel._core.scores import score_method
from plurilabel._core.words import listed, shortened
from plurilabel.models import Model

__all__ = [
    "Correction",
    "Tagging",
    "confidence",
    "corrections",
    "health",
    "predict",
    "read_config",
    "setup",
    "task_rows",
]

CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


@dataclass(frozen=True)
class Tagging:
    """What a labeling configuration says about the choices.

    Attributes
    ----------
    from_name, to_name : str
        Names of the tag of the choices, and of the object that they are about.
    key : str or None
        Where the data of a task have that object.
    choices : mapping of str to tuple of str
        The choices, as annotations name them, each with further names that it goes by. None at all
        if they are in the tasks.
    """

    from_name: str
    to_name: str
    key: str | None
    choices: Mapping[str, tuple[str, ...]]

    def choice_of(self, label_names: Iterable[str]) -> dict[str, str]:
        """The choice for each label of a model that has one.

        Parameters
        ----------
        label_names : iterable of str

        Returns
        -------
        dict of str to str
            In the order of the labels. Empty if the choices have nothing to do with the labels.
        """
        names = list(label_names)
        if not self.choices:
            return {name: name for name in names}
        exact = {known: choice for choice, others in self.choices.items() for known in others}
        exact |= {choice: choice for choice in self.choices}
        folded = {known.casefold(): choice for known, choice in reversed(exact.items())}
        found = {name: exact.get(name, folded.get(name.casefold())) for name in names}
        return {name: choice for name, choice in found.items() if choice is not None}

    def results(
        self,
        label_sets: Sequence[Iterable[str]],
        label_names: Sequence[str],
        *,
        version: str,
        sure: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        """Predictions as Label Studio takes them.

        Parameters
        ----------
        label_sets : sequence of iterables of str
            The labels of each task; those without a choice are left out.
        label_names : sequence of str
            All labels of the model.
        version : str
            Version of the model.
        sure : sequence of float, default=None
            How sure each prediction is, from 0 to 1: tasks can be sorted by it.

        Returns
        -------
        dict
            The answer to ``/predict``.
        """
        choice_of, results = self.choice_of(label_names), []
        for i, labels in enumerate(label_sets):
            # several labels may have one choice: each once, in the order of the labels
            chosen = list(dict.fromkeys(choice_of[name] for name in labels if name in choice_of))
            about = {"from_name": self.from_name, "to_name": self.to_name, "type": "choices"}
            prediction: dict[str, Any] = {
                "model_version": version,
                "result": [{**about, "value": {"choices": chosen}}] if chosen else [],
            }
            if sure is not None:
                prediction["score"] = float(sure[i])
            results.append(prediction)
        return {"results": results, "model_version": version}


@dataclass(frozen=True)
class Correction:
    """What an annotation says about a row.

    Attributes
    ----------
    key : str
        Name of the annotation. What comes later under the same key replaces what came before.
    labels : tuple of str or None
        The right labels, in the model's order; None if the annotation is gone.
    row : mapping, str or None
        The row as the model takes it: by column, or a text. None if the event does not have it.
    task : int or None
        Number of the task.
    unknown : tuple of str
        Choices that are not labels of the model.
    unasked : tuple of str
        Labels of the model without a choice: the annotation says nothing about them.
    """

    key: str
    labels: tuple[str, ...] | None
    row: Any = None
    task: int | None = None
    unknown: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


def health(version: str) -> dict[str, Any]:
    """The answer to ``/health``.

    Parameters
    ----------
    version : str
        Version of the model.

    Examples
    --------
    >>> from plurilabel.serve import label_studio
    >>> label_studio.health("3")
    {'status': 'UP', 'model_class': 'plurilabel', 'model_version': '3'}
    """
    return {"status": "UP", "model_class": "plurilabel", "model_version": version}


def setup(request: Any, model: Model, version: str) -> dict[str, Any]:
    """The answer to ``/setup``, by which Label Studio tries a backend for a project.

    Parameters
    ----------
    request : mapping
        Its ``schema`` is the labeling configuration; a project without one is accepted.
    model : Model
    version : str
        Version of the model.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the configuration has no choices for several tags, or none that is a label.
    """
    config = _mapping(request, "the request").get("schema")
    if config:
        _checked(read_config(config), model)
    return {"model_version": version}


def predict(
    request: Any, model: Model, version: str, *, columns: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The answer to ``/predict``.

    Parameters
    ----------
    request : mapping
        With ``tasks`` and ``label_config``.
    model : Model
    version : str
        Version of the model.
    columns : mapping of str to str, default=None
        By column of the model: what the data of the tasks call it.

    Returns
    -------
    dict

    Examples
    --------
    >>> from plurilabel import MLDecisionTree
    >>> from plurilabel.serve import label_studio
    >>> from plurilabel.models import Model
    >>> tree = MLDecisionTree().fit([[1.0], [2.0], [8.0]], [["small"], ["small", "red"], ["red"]])
    >>> model = Model.of(tree, feature_names=["size"])
    >>> config = '''<View><Text name="size" value="$size"/>
    ...   <Choices name="tags" toName="size" choice="multiple">
    ...     <Choice value="red"/><Choice value="small"/></Choices></View>'''
    >>> request = {"label_config": config, "tasks": [{"id": 7, "data": {"size": 2.5}}]}
    >>> answer = label_studio.predict(request, model, "1")
    >>> answer["results"][0]["result"][0]["value"]
    {'choices': ['red', 'small']}
    """
    request = _mapping(request, "the request")
    tagging = _checked(read_config(request.get("label_config")), model)
    rows = task_rows(request.get("tasks"), tagging, model, columns=columns)
    if not rows:
        return tagging.results([], model.label_names, version=version)
    method = score_method(model.estimator)
    scores = getattr(model, method)(rows).to_numpy()
    sure = confidence(scores, probabilities=method == "predict_proba")
    sets = model.predict(rows)
    return tagging.results(sets, model.label_names, version=version, sure=sure.tolist())


def corrections(
    request: Any, model: Model, *, columns: Mapping[str, str] | None = None
) -> list[Correction]:
    """What an event that is sent to ``/webhook`` says about rows.

    Created and updated annotations give the right labels of a row, deleted ones take them back,
    and so does an annotation that was skipped after all. Other events say nothing.

    Parameters
    ----------
    request : mapping
        With ``action``, and whatever Label Studio sends for that action.
    model : Model
    columns : mapping of str to str, default=None
        As in :func:`predict`.

    Returns
    -------
    list of Correction

    Examples
    --------
    >>> from plurilabel import MLDecisionTree
    >>> from plurilabel.serve import label_studio
    >>> from plurilabel.models import Model
    >>> model = Model.of(MLDecisionTree().fit([[1.0], [2.0]], [["small"], ["red"]]))
    >>> event = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}]}
    >>> (gone,) = label_studio.corrections({**event, "project": {"id": 2}}, model)
    >>> gone.key, gone.labels
    ('label-studio/2/17', None)
    """
    request = _mapping(request, "the request")
    action = request.get("action")
    if not isinstance(action, str):
        raise ValueError(f"action must be the name of an event, got {_shown(action)}")
    if action not in (*CREATED, *DELETED):
        return []
    project = _mapping(request.get("project"), "project")
    if action in DELETED:
        gone = _listed(request, "annotations", "annotation")
        return [Correction(_key(project, annotation), None) for annotation in gone]
    tagging = _checked(read_config(project.get("label_config")), model)
    tasks = _listed(request, "tasks", "task", needed=False)
    choice_of = tagging.choice_of(model.label_names)
    unasked = tuple(name for name in model.label_names if name not in choice_of)
    found = []
    for annotation in _listed(request, "annotations", "annotation"):
        key, number = _key(project, annotation), annotation.get("task")
        number = number if type(number) is int else None
        if annotation.get("was_cancelled"):
            found += [Correction(key, None)] if action == "ANNOTATION_UPDATED" else []
            continue
        about = [task for task in tasks if task.get("id") == number][:1]
        rows = task_rows(about, tagging, model, columns=columns)
        labels, unknown = _labels(annotation, tagging.from_name, choice_of)
        row = rows[0] if rows else None
        found.append(Correction(key, labels, row, number, unknown, unasked))
    return found


def read_config(config: Any) -> Tagging:
    """The choices in a labeling configuration: the first that take several tags.

    Parameters
    ----------
    config : str
        XML, as Label Studio has it.

    Returns
    -------
    Tagging

    Raises
    ------
    ValueError
        If it is not XML, or has no ``<Choices choice="multiple">``.

    Examples
    --------
    >>> from plurilabel.serve import label_studio
    >>> tagging = label_studio.read_config('''<View><Text name="t" value="$body"/>
    ...   <Choices name="tags" toName="t" choice="multiple">
    ...     <Choice value="Sea" predicted_values="sea, ocean"/></Choices></View>''')
    >>> tagging.key, tagging.choice_of(["ocean", "sun"])
    ('body', {'ocean': 'Sea'})
    """
    if not isinstance(config, str):
        raise ValueError(f"the labeling configuration must be a text, got {_shown(config)}")
    if "<!DOCTYPE" in config.upper() or "<!ENTITY" in config.upper():
        raise ValueError("the labeling configuration must not declare entities")
    try:
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"the labeling configuration is not XML: {error}") from None
    groups = [tag for tag in root.iter("Choices") if tag.get("choice") == "multiple"]
    if not groups:
        raise ValueError(
            'the labeling configuration must have <Choices choice="multiple">, whose choices are '
            "the labels"
        )
    tag = groups[0]
    for attribute in ("name", "toName"):
        if not tag.get(attribute):
            raise ValueError(f"<Choices> in the labeling configuration must have a {attribute}")
    to_name = tag.attrib["toName"].split(",")[0].strip()
    about = next((one for one in root.iter() if one.get("name") == to_name), None)
    value = "" if about is None else about.get("value", "")
    return Tagging(
        tag.attrib["name"],
        to_name,
        value[1:] if value.startswith("$") else None,
        dict(_choice(one) for one in tag.iter("Choice") if one.get("value") or one.get("alias")),
    )


def _choice(tag: ElementTree.Element) -> tuple[str, tuple[str, ...]]:
    """A choice as annotations name it, and what else it goes by."""
    value, alias = tag.get("value", ""), tag.get("alias", "")
    others = [alias, value, *tag.get("predicted_values", "").split(",")]
    return alias or value, tuple(name.strip() for name in others if name.strip())


def task_rows(
    tasks: Any,
    tagging: Tagging,
    model: Model,
    *,
    columns: Mapping[str, str] | None = None,
) -> list[Any]:
    """The rows of tasks, as the model takes them.

    Parameters
    ----------
    tasks : sequence of mappings
        Each with ``data``: a column for each key, or all of them as an object under the key that
        the choices are about.
    tagging : Tagging
    model : Model
    columns : mapping of str to str, default=None
        By column of the model: what the data of the tasks call it.

    Returns
    -------
    list of dicts by column, or of texts for a model of texts

    Raises
    ------
    ValueError
        If a task lacks a column, which is named.
    """
    if not isinstance(tasks, Sequence) or isinstance(tasks, str | bytes):
        raise ValueError(f"tasks must be a list, got {_shown(tasks)}")
    return [_row(task, i, tagging, model, columns or {}) for i, task in enumerate(tasks)]


def _row(
    task: Any, i: int, tagging: Tagging, model: Model, columns: Mapping[str, str]
) -> dict[str, Any] | str:
    name = f"task {task['id'] if isinstance(task, Mapping) and 'id' in task else i}"
    data = _mapping(_mapping(task, name).get("data"), f"data of {name}")
    inner = data.get(tagging.key) if tagging.key is not None else None
    if not len(model.feature_names):
        if not isinstance(inner, str):
            raise ValueError(f"{name} must have a text as {tagging.key!r}, got {_shown(inner)}")
        return inner
    data = {**data, **inner} if isinstance(inner, Mapping) else data
    wanted = {str(column): columns.get(column, column) for column in model.feature_names}
    if missing := [key for key in wanted.values() if key not in data]:
        raise ValueError(
            f"{name} lacks {listed([repr(key) for key in missing], 3)}, which the model takes; "
            f"its data have {listed([repr(key) for key in data], 5) or 'nothing'}"
        )
    return {column: _cell(data[key], f"{name}, {key!r}") for column, key in wanted.items()}


def _cell(value: Any, where: str) -> Any:
    """A value that a column can hold."""
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{where} must be a number or a text, got {_shown(value)}")
    if type(value) is int and abs(value) > float(np.finfo(np.float64).max):
        raise ValueError(f"{where} is too large")
    return value


def confidence(scores: NDArray[Any], *, probabilities: bool) -> NDArray[np.float64]:
    """How sure a model is of each row: the mean probability that a label is right as predicted.

    Parameters
    ----------
    scores : ndarray of shape (n, q)
        NaN where the model can say nothing: such rows have 0.
    probabilities : bool
        Whether the scores are probabilities; else their logistic function takes the place.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.serve.label_studio import confidence
    >>> confidence(np.array([[0.9, 0.2], [0.5, 0.5]]), probabilities=True)
    array([0.85, 0.5 ])
    """
    p = scores if probabilities else expit(scores)
    return np.nan_to_num(np.maximum(p, 1 - p).mean(axis=1))


def _checked(tagging: Tagging, model: Model) -> Tagging:
    """An error if the choices have nothing to do with the labels."""
    if tagging.choice_of(model.label_names):
        return tagging
    choices = listed([repr(choice) for choice in tagging.choices], 5)
    labels = listed([repr(name) for name in model.label_names], 5)
    raise ValueError(f"none of the choices {choices} is a label of the model, {labels}")


def _labels(
    annotation: Mapping[str, Any], from_name: str, choice_of: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels that an annotation has chosen, and choices that are not labels."""
    regions = annotation.get("result")
    if not isinstance(regions, list):
        raise ValueError(f"result of an annotation must be a list, got {_shown(regions)}")
    chosen: dict[str, None] = {}
    for region in regions:
        if _mapping(region, "each result").get("from_name") != from_name:
            continue
        names = _mapping(region.get("value"), "value of a result").get("choices", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"choices must be a list of texts, got {_shown(names)}")
        chosen |= dict.fromkeys(names)
    # of several labels with one choice the first
    label_of = {choice: name for name, choice in reversed(choice_of.items())}
    right = {label_of[choice] for choice in chosen if choice in label_of}
    labels = tuple(name for name in choice_of if name in right)
    return labels, tuple(choice for choice in chosen if choice not in label_of)


def _key(project: Mapping[str, Any], annotation: Mapping[str, Any]) -> str:
    for what, value in (("project", project.get("id")), ("annotation", annotation.get("id"))):
        if type(value) is not int:
            raise ValueError(f"id of the {what} must be an integer, got {_shown(value)}")
    return f"label-studio/{project['id']}/{annotation['id']}"


def _listed(
    request: Mapping[str, Any], *names: str, needed: bool = True
) -> list[Mapping[str, Any]]:
    """One object or several, under the first of these names that is there."""
    for name in names:
        if (found := request.get(name)) is not None:
            several = found if isinstance(found, list) else [found]
            return [_mapping(one, name) for one in several]
    if needed:
        raise ValueError(f"the event must have {' or '.join(map(repr, names))}")
    return []


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be an object, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return "nothing" if value is None else shortened(repr(value))
