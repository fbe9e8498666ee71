"""Label Studio's side of the service: tasks as rows, annotations as corrections.

Label Studio asks a machine learning backend under one address: ``setup`` with the labelling
configuration of a project, ``predict`` with tasks, ``webhook`` with what annotators have done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._service import Ask, Service

_LONGEST = 200_000  # letters of a configuration
_TAKES = 'a <Choices choice="multiple"> in the labelling configuration'


class Choices(NamedTuple):
    """The part of a labelling configuration that the model fills in.

    Attributes
    ----------
    name, to_name : str
        Names of the choices and of what they are about.
    variable : str or None
        Where a task has it: ``text`` of ``value="$text"``.
    """

    name: str
    to_name: str
    variable: str | None


def choices_of(config: Any, label_names: Any) -> Choices:
    """The choices of a configuration that have the labels of the model."""
    if not isinstance(config, str) or len(config) > _LONGEST or "<!" in config:
        raise BadInput("the labelling configuration must be plain XML")
    try:
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise BadInput(f"the labelling configuration is not XML: {error}") from None
    known, found = set(label_names), []
    for tag in root.iter("Choices"):
        values = {choice.get("alias") or choice.get("value") for choice in tag.iter("Choice")}
        found.append((len(values & known), tag))
    best = max(found, key=lambda pair: pair[0], default=(0, None))[1]
    if best is None or not best.get("name") or not best.get("toName"):
        raise BadInput(f"the model needs {_TAKES}")
    if len(known) > 1 and best.get("choice") != "multiple":
        raise BadInput(f"the model gives several labels and needs {_TAKES}")
    about = next((tag for tag in root.iter() if tag.get("name") == best.get("toName")), None)
    value = "" if about is None else about.get("value", "")
    variable = value.removeprefix("$") if value.startswith("$") else None
    return Choices(str(best.get("name")), str(best.get("toName")), variable)


class LabelStudio:
    """Answers of a service in the words of Label Studio.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    def version(self) -> str:
        """The version of the model, as text."""
        return f"{self.service.name} {self.service.version}"

    def setup(self, said: Any) -> dict[str, Any]:
        """Whether the model fits the configuration of a project."""
        choices_of(_object(said).get("schema"), self.service.model.label_names)
        return {"model_version": self.version()}

    def predict(self, said: Any) -> dict[str, Any]:
        """Labels of tasks."""
        said = _object(said)
        choices = choices_of(said.get("label_config"), self.service.model.label_names)
        tasks = said.get("tasks")
        if not isinstance(tasks, list) or not tasks:
            raise BadInput("tasks must be a list with at least one task")
        rows = [self._row(task, choices, i) for i, task in enumerate(tasks)]
        answer = self.service.predict(rows, Ask(scores=self.service.method is not None))
        version = f"{self.service.name} {answer['version']}"
        return {
            "results": [self._result(row, choices, version) for row in answer["rows"]],
            "model_version": version,
        }

    def _row(self, task: Any, choices: Choices, i: int) -> Any:
        data = task.get("data") if isinstance(task, Mapping) else None
        if not isinstance(data, Mapping):
            raise BadInput("a task must have data", row=i)
        reader = self.service.reader
        if reader.texts_only:
            return data.get(choices.variable or "text")
        # a model of one column of text takes it under the name that the project has for it
        only = next(iter(reader.kinds))
        if len(reader.kinds) == 1 and only not in data and choices.variable in data:
            return {only: data[choices.variable]}
        return dict(data)

    def _result(self, row: Mapping[str, Any], choices: Choices, version: str) -> dict[str, Any]:
        scores = [
            s for name in row["labels"] if (s := row.get("scores", {}).get(name)) is not None
        ]
        result = {
            "from_name": choices.name,
            "to_name": choices.to_name,
            "type": "choices",
            "value": {"choices": row["labels"]},
        }
        return {
            "result": [result] if row["labels"] else [],
            "score": min(scores, default=0.0),
            "model_version": version,
        }

    def webhook(self, said: Any) -> dict[str, Any]:
        """Learn from what annotators have done; other events change nothing."""
        said = _object(said)
        action = said.get("action")
        if action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
            return self._annotated(said)
        if action == "ANNOTATIONS_DELETED":
            return self._deleted(said)
        if not isinstance(action, str):
            raise BadInput("a webhook must have an action")
        return {"result": {"model_version": self.version()}, "status": "nothing to learn"}

    def _annotated(self, said: Mapping[str, Any]) -> dict[str, Any]:
        annotation, task, project = (
            _object(said.get(name), name) for name in ("annotation", "task", "project")
        )
        choices = choices_of(project.get("label_config"), self.service.model.label_names)
        key = _key(annotation)
        if annotation.get("was_cancelled"):
            return {
                "result": {"model_version": self.version()},
                "status": "skipped by the annotator",
            }
        results = annotation.get("result")
        if not isinstance(results, list):
            raise BadInput("an annotation must have a result")
        labels: list[Any] = []
        for one in results:
            if isinstance(one, Mapping) and one.get("from_name") == choices.name:
                value = one.get("value")
                chosen = value.get("choices") if isinstance(value, Mapping) else None
                labels += chosen if isinstance(chosen, list) else [None]
        correction = {"labels": labels, **self._place(key, task, choices)}
        done = self.service.correct([correction])
        return {"result": {"model_version": self.version(), **done}, "status": "ok"}

    def _place(self, key: str, task: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
        """The row that an annotation has added before, or a new one."""
        ledger = self.service.ledger
        if key in ledger.keys:
            row = ledger.row_of(ledger.entries[ledger.keys[key]])
            if ledger.has(row):
                return {"row": row}
            return {"features": self._row(task, choices, 0)}
        return {"features": self._row(task, choices, 0), "key": key}

    def _deleted(self, said: Mapping[str, Any]) -> dict[str, Any]:
        annotations = said.get("annotations")
        if not isinstance(annotations, list):
            raise BadInput("annotations must be a list")
        for key in [_key(_object(one, "annotation")) for one in annotations]:
            ledger = self.service.ledger
            if key not in ledger.keys:
                continue
            row = ledger.row_of(ledger.entries[ledger.keys[key]])
            for id in ledger.in_force(row):  # the latest first
                self.service.undo(id)
        return {"result": {"model_version": self.version()}, "status": "ok"}


def _key(annotation: Mapping[str, Any]) -> str:
    id = annotation.get("id")
    if not isinstance(id, int) or isinstance(id, bool) or abs(id) > 2**63:
        raise BadInput("an annotation must have an id, a whole number")
    return f"label-studio-{id}"


def _object(said: Any, name: str = "the body") -> Mapping[str, Any]:
    if not isinstance(said, Mapping):
        raise BadInput(f"{name} must be an object")
    return said
