"""A machine learning backend for Label Studio, without HTTP.

Label Studio requests predictions from a backend and notifies it of annotations.
:class:`LabelStudio` answers the JSON of these requests from a service. ``plurilabel serve`` and
:func:`plurilabel.serve.create_app` expose it under ``/label-studio``.

The project must allow several choices per task::

    <View>
      <Text name="note" value="$note"/>
      <Choices name="codes" toName="note" choice="multiple">
        <Choice value="cough"/> <Choice value="fever"/>
      </Choices>
    </View>

The data of a task are a row of the model's table, by column name. A choice matches a label of the
model by its value, alias or ``predicted_values``, if necessary ignoring case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.special import expit

from plurilabel._core.words import listed, shortened
from plurilabel.serve._answers import Ask
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Service

__all__ = ["LabelStudio"]

CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
_LONGEST = 200_000  # characters of a configuration


@dataclass(frozen=True)
class Tagging:
    """The choices of a labeling configuration.

    ``from_name`` and ``to_name`` are the names of the ``<Choices>`` tag and of the object it
    annotates, whose data have the key ``key``. ``choices`` are named as in annotations, each with
    its other names; there are none if the tasks provide the choices.
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


class LabelStudio:
    """A backend for Label Studio that predicts with a service and learns annotations.

    Invalid requests raise :class:`~plurilabel.serve.BadInput`.

    Parameters
    ----------
    service : Service

    Examples
    --------
    >>> from plurilabel import MLkNN
    >>> from plurilabel.models import Model
    >>> from plurilabel.serve import Service
    >>> from plurilabel.serve.label_studio import LabelStudio
    >>> learner = MLkNN(1).fit([[1.0], [2.0], [8.0]], [["small"], ["small", "red"], ["red"]])
    >>> service = Service(Model.of(learner, feature_names=["size"]), name="plants")
    >>> studio = LabelStudio(service)
    >>> config = '''<View><Text name="size" value="$size"/>
    ...   <Choices name="tags" toName="size" choice="multiple">
    ...     <Choice value="red"/><Choice value="small"/></Choices></View>'''
    >>> request = {"label_config": config, "tasks": [{"id": 7, "data": {"size": 2.5}}]}
    >>> studio.predict(request)["results"][0]["result"][0]["value"]
    {'choices': ['red', 'small']}
    """

    def __init__(self, service: Service) -> None:
        self.service, self.names = service, service.model.label_names

    def version(self, number: int | None = None) -> str:
        return f"{self.service.name} {self.service.version if number is None else number}"

    def health(self) -> dict[str, Any]:
        """Respond to ``GET /health``."""
        return {"status": "UP", "model_class": self.version()}

    def setup(self, request: Any) -> dict[str, Any]:
        """Respond to ``POST /setup``: check that the model fits the configuration of a project."""
        if config := _object(request, "the request").get("schema"):
            read_config(config, self.names)
        return {"model_version": self.version()}

    def predict(self, request: Any) -> dict[str, Any]:
        """Respond to ``POST /predict`` with the choices for each task.

        The score of a prediction is the mean probability that a label is right, to sort tasks by.
        """
        request = _object(request, "the request")
        tagging = read_config(request.get("label_config"), self.names)
        tasks, choice_of = request.get("tasks"), tagging.choice_of(self.names)
        if not isinstance(tasks, list) or not tasks:
            raise BadInput("tasks must be a list with at least one task")
        rows = [self._row(task, tagging, i) for i, task in enumerate(tasks)]
        answer = self.service.predict(rows, Ask(scores=self.service.method is not None))
        version, results = self.version(answer["version"]), []
        for one in answer["rows"]:
            # several labels may share a choice
            chosen = list(dict.fromkeys(choice_of[x] for x in one["labels"] if x in choice_of))
            about = {"from_name": tagging.from_name, "to_name": tagging.to_name, "type": "choices"}
            result = [{**about, "value": {"choices": chosen}}] if chosen else []
            score = self._confidence(one.get("scores", {}))
            results.append({"model_version": version, "result": result, "score": score})
        return {"results": results, "model_version": version}

    def _confidence(self, scores: Mapping[str, float | None]) -> float:
        p = np.array([scores.get(name) for name in self.names], dtype=float)  # None becomes NaN
        p = p if self.service.method == "predict_proba" else expit(p)
        return float(np.nan_to_num(np.maximum(p, 1 - p).mean()))

    def _row(self, task: Any, tagging: Tagging, i: int = 0) -> Any:
        """Convert a task to a row, which the service checks."""
        name = f"task {_object(task, f'task {i}').get('id', i)}"
        data = _object(task.get("data"), f"data of {name}")
        reader, key = self.service.reader, tagging.key or "text"
        if isinstance(inner := data.get(key), Mapping):  # a <Table>
            data = {**data, **inner}
        if reader.texts_only:
            return data.get(key)
        # the only column of a model may have another name in the project
        only = next(iter(reader.kinds))
        if len(reader.kinds) == 1 and only not in data and key in data:
            return {only: data[key]}
        return dict(data)

    def webhook(self, request: Any) -> dict[str, Any]:
        """Respond to ``POST /webhook``: learn created, updated and deleted annotations.

        An annotation that is deleted or then skipped is unlearned. Other events change nothing.
        """
        event = _object(request, "the request")
        action = event.get("action")
        if not isinstance(action, str):
            raise BadInput(f"action must be the name of an event, got {_shown(action)}")
        annotations, tagging = self._annotations(event, action)
        corrections, gone = [], list[int]()
        for annotation in annotations:
            row, key = self._latest(annotation)
            correction = self._correction(annotation, _task_of(annotation, event), tagging, row)
            corrections += [] if correction is None else [correction]
            if correction is not None and "features" in correction:
                correction["key"] = key
            if row is not None and (correction is None or "features" in correction):
                gone.append(row)
        done = self.service.correct(corrections) if corrections else {}
        for id in (id for row in gone for id in self.service.ledger.in_force(row)):
            self.service.undo(id)  # the latest first
        status = "ok" if annotations else "nothing to learn"
        return {"result": {"model_version": self.version(), **done}, "status": status}

    def _annotations(
        self, event: Mapping[str, Any], action: str
    ) -> tuple[list[Mapping[str, Any]], Tagging | None]:
        """The annotations to learn or, without choices, to remove."""
        if action not in (*CREATED, *DELETED):
            return [], None
        annotations = _listed(event, "annotations", "annotation", required=True)
        if action in DELETED:
            return annotations, None
        if action in CREATED[:2]:
            annotations = [one for one in annotations if not one.get("was_cancelled")]
        project = _object(event.get("project"), "project")
        return annotations, read_config(project.get("label_config"), self.names)

    def _correction(
        self, annotation: Mapping[str, Any], task: Any, tagging: Tagging | None, row: int | None
    ) -> dict[str, Any] | None:
        """The correction of a row, or of a new one; None if the annotation is removed."""
        if tagging is None or annotation.get("was_cancelled"):
            return None
        labels = _labels(annotation, tagging, self.names)
        features = None if task is None else self._row(task, tagging)
        if row is not None and (features is None or self._has(row, features)):
            return {"labels": labels, "row": row}
        return {"labels": labels, "features": features}

    def _latest(self, annotation: Mapping[str, Any]) -> tuple[int | None, str]:
        """The row that an annotation added last, if it exists, and the key of its next row."""
        if type(number := annotation.get("id")) is not int:
            raise BadInput(f"id of the annotation must be an integer, got {_shown(number)}")
        key = next_key = f"label-studio-{number}"
        ledger, row = self.service.ledger, -1
        for n in count(2):
            if next_key not in ledger.keys:
                break
            row = ledger.row_of(ledger.entries[ledger.keys[next_key]])
            next_key = f"{key}/{n}"
        return (row if ledger.has(row) else None), next_key

    def _has(self, row: int, features: Any) -> bool:
        """Whether a row still has the features of its task."""
        reader = self.service.reader
        before = self.service.ledger.features(row)
        return reader.key(before) == reader.key(reader.records([features])[0])


def read_config(config: Any, label_names: Collection[str] = ()) -> Tagging:
    """Find the choices in the XML of a labeling configuration.

    If there are several groups of choices, the first of those with the most labels is used.
    """
    root = _parsed_xml(config)
    one_label = len(label_names) == 1  # for which a single choice is enough
    groups = [
        _tagging(tag, root)
        for tag in root.iter("Choices")
        if one_label or tag.get("choice") == "multiple"
    ]
    if not groups:
        raise BadInput('the labeling configuration must have <Choices choice="multiple">')
    tagging = max(groups, key=lambda group: len(group.choice_of(label_names)))
    if label_names and not tagging.choice_of(label_names):
        choices = listed([repr(choice) for choice in tagging.choices], 5)
        labels = listed([repr(name) for name in label_names], 5)
        raise BadInput(f"none of the choices {choices} is a label of the model, {labels}")
    return tagging


def _parsed_xml(config: Any) -> ElementTree.Element:
    if not isinstance(config, str):
        raise BadInput(f"the labeling configuration must be a text, got {_shown(config)}")
    if len(config) > _LONGEST:
        raise BadInput(f"the labeling configuration must have at most {_LONGEST:,} characters")
    if "<!DOCTYPE" in config.upper() or "<!ENTITY" in config.upper():
        raise BadInput("the labeling configuration must be plain XML, without entities")
    try:
        return ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as error:
        raise BadInput(f"the labeling configuration is not XML: {error}") from None


def _tagging(tag: ElementTree.Element, root: ElementTree.Element) -> Tagging:
    for attribute in ("name", "toName"):
        if not tag.get(attribute):
            raise BadInput(f"<Choices> in the labeling configuration must have a {attribute}")
    to_name = tag.attrib["toName"].split(",")[0].strip()
    about = next((one for one in root.iter() if one.get("name") == to_name), None)
    value = "" if about is None else about.get("value", "")
    choices = {}
    for one in tag.iter("Choice"):
        alias, value_given = one.get("alias", ""), one.get("value", "")
        names = [alias, value_given, *one.get("predicted_values", "").split(",")]
        if name := alias or value_given:
            choices[name] = tuple(other.strip() for other in names if other.strip())
    return Tagging(tag.attrib["name"], to_name, value[1:] if value[:1] == "$" else None, choices)


def _labels(annotation: Mapping[str, Any], tagging: Tagging, names: Any) -> list[str]:
    """Labels chosen in an annotation, then choices that are not labels, to be rejected."""
    regions, chosen = annotation.get("result"), dict[str, None]()
    if not isinstance(regions, list):
        raise BadInput(f"result of an annotation must be a list, got {_shown(regions)}")
    for region in regions:
        if _object(region, "each result").get("from_name") != tagging.from_name:
            continue
        found = _object(region.get("value"), "value of a result").get("choices", [])
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise BadInput(f"choices must be a list of texts, got {_shown(found)}")
        chosen |= dict.fromkeys(found)
    # the first of several labels that share a choice
    label_of = {choice: name for name, choice in reversed(tagging.choice_of(names).items())}
    return [label_of.get(choice, choice) for choice in chosen]


def _task_of(annotation: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
    """The task of an annotation; None if the event does not contain it."""
    tasks, number = _listed(event, "tasks", "task"), annotation.get("task")
    return next((t for t in tasks if type(number) is not int or t.get("id") == number), None)


def _listed(
    event: Mapping[str, Any], *names: str, required: bool = False
) -> list[Mapping[str, Any]]:
    """One or several objects under the first of the names that is present."""
    for name in names:
        if (found := event.get(name)) is not None:
            return [_object(one, name) for one in (found if isinstance(found, list) else [found])]
    if required:
        raise BadInput(f"the event must have {' or '.join(map(repr, names))}")
    return []


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{what} must be an object, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return "nothing" if value is None else shortened(repr(value))
