"""Label Studio's JSON: configurations, tasks, predictions and annotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from plurilabel._core.scores import score_method
from plurilabel._core.words import listed, shortened
from plurilabel.models import Model

CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
_LONGEST = 200_000  # characters of a configuration


@dataclass(frozen=True)
class Tagging:
    """The choices of a labeling configuration.

    Attributes
    ----------
    from_name, to_name : str
        Names of the ``<Choices>`` tag and of the object it annotates.
    key : str or None
        Key of that object in the data of a task.
    choices : mapping of str to tuple of str
        The choices, as named in annotations, each with its other names. Empty if the tasks
        provide the choices.
    """

    from_name: str
    to_name: str
    key: str | None
    choices: Mapping[str, tuple[str, ...]]

    def choice_of(self, label_names: Iterable[str]) -> dict[str, str]:
        """Choice by label, for the labels of a model that have one."""
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
        """Format the labels of tasks as the response to ``/predict``.

        Labels without a choice are left out. ``sure`` is the confidence of each prediction, from
        0 to 1, by which tasks can be sorted.
        """
        choice_of, results = self.choice_of(label_names), []
        for i, labels in enumerate(label_sets):
            # several labels may share a choice
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
    """An annotation as a correction of a row.

    Attributes
    ----------
    key : str
        Identifies the annotation. A later correction with the same key replaces an earlier one.
    labels : tuple of str or None
        The correct labels, in the order of the model; None if the annotation was deleted.
    row : mapping, str or None
        The row, by column or as a text; None if the event does not contain it.
    task : int or None
        Id of the task.
    unknown : tuple of str
        Choices that are not labels of the model.
    unasked : tuple of str
        Labels of the model without a choice: their values are unknown.
    """

    key: str
    labels: tuple[str, ...] | None
    row: Any = None
    task: int | None = None
    unknown: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


def health(version: str) -> dict[str, Any]:
    """Return the response to ``/health``.

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
    """Return the response to ``/setup``, which checks a backend for a project.

    Parameters
    ----------
    request : mapping
        Its ``schema`` is the labeling configuration; a project without one is accepted.
    model : Model
    version : str
        Version of the model.
    """
    config = as_mapping(request, "the request").get("schema")
    if config:
        read_config(config, model.label_names)
    return {"model_version": version}


def predict(
    request: Any, model: Model, version: str, *, columns: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the response to ``/predict``.

    Parameters
    ----------
    request : mapping
        With ``tasks`` and ``label_config``.
    model : Model
    version : str
        Version of the model.
    columns : mapping of str to str, default=None
        Keys in the data of the tasks, by column of the model, where they differ.

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
    request = as_mapping(request, "the request")
    tagging = read_config(request.get("label_config"), model.label_names)
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
    """Convert an event sent to ``/webhook`` to corrections.

    Created and updated annotations give the correct labels of a row. Deleted annotations, and
    updated ones that are now skipped, take the labels back. Other events give no corrections.

    Parameters
    ----------
    request : mapping
        With ``action``, and the fields that Label Studio sends for that action.
    model : Model
    columns : mapping of str to str, default=None
        As in :func:`predict`.

    Returns
    -------
    list of Correction

    Examples
    --------
    >>> from plurilabel import MLDecisionTree
    >>> from plurilabel.models import Model
    >>> from plurilabel.serve import label_studio
    >>> model = Model.of(MLDecisionTree().fit([[1.0], [2.0]], [["small"], ["red"]]))
    >>> event = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}]}
    >>> (gone,) = label_studio.corrections({**event, "project": {"id": 2}}, model)
    >>> gone.key, gone.labels
    ('label-studio/2/17', None)
    """
    to_row = partial(_strict_row, model=model, columns=columns or {})
    return annotated_rows(request, model, to_row)


def annotated_rows(
    request: Any, model: Model, row_of: Callable[[Any, Tagging], Any]
) -> list[Correction]:
    """Convert an event to corrections, with a function that converts a task to a row."""
    request = as_mapping(request, "the request")
    action = request.get("action")
    if not isinstance(action, str):
        raise ValueError(f"action must be the name of an event, got {_shown(action)}")
    if action not in (*CREATED, *DELETED):
        return []
    annotations = _listed(request, "annotations", "annotation")
    project = as_mapping(request.get("project"), "project")
    if action in DELETED:
        return [Correction(_key(project, one), None) for one in annotations]
    tagging = read_config(project.get("label_config"), model.label_names)
    tasks = _listed(request, "tasks", "task", required=False)
    choice_of = tagging.choice_of(model.label_names)
    unasked = tuple(name for name in model.label_names if name not in choice_of)
    found = []
    for annotation in annotations:
        key, number = _key(project, annotation), annotation.get("task")
        number = number if type(number) is int else None
        if annotation.get("was_cancelled"):
            found += [Correction(key, None)] if action == "ANNOTATION_UPDATED" else []
            continue
        task = next((task for task in tasks if number in (None, task.get("id"))), None)
        labels, unknown = _labels(annotation, tagging.from_name, choice_of)
        row = None if task is None else row_of(task, tagging)
        found.append(Correction(key, labels, row, number, unknown, unasked))
    return found


def read_config(config: Any, label_names: Collection[str] = ()) -> Tagging:
    """Find the choices in a labeling configuration.

    Parameters
    ----------
    config : str
        XML of a labeling configuration.
    label_names : collection of str, default=()
        Labels of the model. If there are several groups of choices, the first of those with the
        most labels is used.

    Returns
    -------
    Tagging

    Examples
    --------
    >>> from plurilabel.serve import label_studio
    >>> tagging = label_studio.read_config('''<View><Text name="t" value="$body"/>
    ...   <Choices name="tags" toName="t" choice="multiple">
    ...     <Choice value="Sea" predicted_values="sea, ocean"/></Choices></View>''')
    >>> tagging.key, tagging.choice_of(["ocean", "sun"])
    ('body', {'ocean': 'Sea'})
    """
    root = _parsed_xml(config)
    one_label = len(label_names) == 1  # for which a single choice is enough
    groups = [
        _tagging(tag, root)
        for tag in root.iter("Choices")
        if one_label or tag.get("choice") == "multiple"
    ]
    if not groups:
        raise ValueError(
            'the labeling configuration must have <Choices choice="multiple">, since a task can '
            "have several labels"
        )
    tagging = max(groups, key=lambda group: len(group.choice_of(label_names)))
    if label_names and not tagging.choice_of(label_names):
        choices = listed([repr(choice) for choice in tagging.choices], 5)
        labels = listed([repr(name) for name in label_names], 5)
        raise ValueError(f"none of the choices {choices} is a label of the model, {labels}")
    return tagging


def _parsed_xml(config: Any) -> ElementTree.Element:
    if not isinstance(config, str):
        raise ValueError(f"the labeling configuration must be a text, got {_shown(config)}")
    if len(config) > _LONGEST:
        raise ValueError(f"the labeling configuration must have at most {_LONGEST:,} characters")
    if "<!DOCTYPE" in config.upper() or "<!ENTITY" in config.upper():
        raise ValueError(
            "the labeling configuration must be plain XML and must not declare entities"
        )
    try:
        return ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"the labeling configuration is not XML: {error}") from None


def _tagging(tag: ElementTree.Element, root: ElementTree.Element) -> Tagging:
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
    """The name of a choice in annotations, and all its names."""
    value, alias = tag.get("value", ""), tag.get("alias", "")
    others = [alias, value, *tag.get("predicted_values", "").split(",")]
    return alias or value, tuple(name.strip() for name in others if name.strip())


def task_rows(
    tasks: Any, tagging: Tagging, model: Model, *, columns: Mapping[str, str] | None = None
) -> list[Any]:
    """Convert tasks to rows of the model.

    Parameters
    ----------
    tasks : sequence of mappings
        Each with ``data``: the columns by name, or an object of them under the key of the
        annotated object.
    tagging : Tagging
    model : Model
    columns : mapping of str to str, default=None
        Keys in the data of the tasks, by column of the model, where they differ.

    Returns
    -------
    list of dicts by column, or of texts for a model of texts
    """
    if not isinstance(tasks, Sequence) or isinstance(tasks, str | bytes):
        raise ValueError(f"tasks must be a list, got {_shown(tasks)}")
    to_row = partial(_strict_row, model=model, columns=columns or {})
    return [to_row(task, tagging, i) for i, task in enumerate(tasks)]


def task_data(task: Any, i: int, tagging: Tagging) -> tuple[str, dict[str, Any]]:
    """Name and data of a task; an annotated object of columns is merged into the data."""
    if not isinstance(task, Mapping):
        raise ValueError(f"task {i} must have data, got {_shown(task)}")
    name = f"task {task.get('id', i)}"
    data = as_mapping(task.get("data"), f"data of {name}")
    inner = data.get(tagging.key or "")
    return name, {**data, **inner} if isinstance(inner, Mapping) else dict(data)


def _strict_row(
    task: Any, tagging: Tagging, i: int = 0, *, model: Model, columns: Mapping[str, str]
) -> dict[str, Any] | str:
    """Convert a task to a row with all columns of the model."""
    name, data = task_data(task, i, tagging)
    if not len(model.feature_names):
        text = data.get(tagging.key or "")
        if not isinstance(text, str):
            raise ValueError(f"{name} must have a text as {tagging.key!r}, got {_shown(text)}")
        return text
    wanted = {str(column): columns.get(column, column) for column in model.feature_names}
    if missing := [key for key in wanted.values() if key not in data]:
        raise ValueError(
            f"{name} lacks {listed([repr(key) for key in missing], 3)}, which the model takes; "
            f"its data have {listed([repr(key) for key in data], 5) or 'nothing'}"
        )
    return {column: _cell(data[key], f"{name}, {key!r}") for column, key in wanted.items()}


def _cell(value: Any, where: str) -> Any:
    """Check a value of a column."""
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{where} must be a number or a text, got {_shown(value)}")
    if type(value) is int and abs(value) > float(np.finfo(np.float64).max):
        raise ValueError(f"{where} is too large")
    return value


def confidence(scores: NDArray[Any], *, probabilities: bool) -> NDArray[np.float64]:
    """Confidence of a model in each row: the mean probability that a label is predicted correctly.

    Parameters
    ----------
    scores : ndarray of shape (n, q)
        Rows with NaN have a confidence of 0.
    probabilities : bool
        Whether the scores are probabilities; otherwise the logistic function is applied.

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


def _labels(
    annotation: Mapping[str, Any], from_name: str, choice_of: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels chosen in an annotation, and choices that are not labels."""
    regions = annotation.get("result")
    if not isinstance(regions, list):
        raise ValueError(f"result of an annotation must be a list, got {_shown(regions)}")
    chosen: dict[str, None] = {}
    for region in regions:
        if as_mapping(region, "each result").get("from_name") != from_name:
            continue
        names = as_mapping(region.get("value"), "value of a result").get("choices", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"choices must be a list of texts, got {_shown(names)}")
        chosen |= dict.fromkeys(names)
    # the first of several labels that share a choice
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
    request: Mapping[str, Any], *names: str, required: bool = True
) -> list[Mapping[str, Any]]:
    """One or several objects under the first of the names that is present."""
    for name in names:
        if (found := request.get(name)) is not None:
            several = found if isinstance(found, list) else [found]
            return [as_mapping(one, name) for one in several]
    if required:
        raise ValueError(f"the event must have {' or '.join(map(repr, names))}")
    return []


def as_mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Check that a value is an object of JSON."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be an object, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return "nothing" if value is None else shortened(repr(value))
