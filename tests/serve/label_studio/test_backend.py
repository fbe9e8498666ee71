"""The backend protocol of Label Studio, with requests as it sends them."""

import pytest

from tests.serve.problems import LABELS, points, records

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

CONFIG = """<View>
  <Text name="weather" value="$report"/>
  <Choices name="signs" toName="weather" choice="multiple">
    <Choice value="sea"/><Choice value="snow"/><Choice value="sun"/>
  </Choices>
</View>"""
ROWS = records(points(6, seed=9)[0])


def task(i):
    return {"id": 100 + i, "data": {**ROWS[i], "report": "seen from the hill"}}


def event(action, id, labels, i=0, **more):
    result = [
        {
            "from_name": "signs",
            "to_name": "weather",
            "type": "choices",
            "value": {"choices": labels},
        }
    ]
    annotation = {"id": id, "result": result if labels else [], "was_cancelled": False, **more}
    return {
        "action": action,
        "annotation": annotation,
        "task": task(i),
        "project": {"id": 1, "label_config": CONFIG},
    }


def post(client, path, said):
    return client.post(f"/label-studio/{path}", json=said)


def test_setup_and_predict(client, service):
    assert client.get("/label-studio/health").json()["status"] == "UP"
    version = f"weather {service.version}"
    said = {"project": "1.1", "schema": CONFIG, "hostname": "http://x", "access_token": "t"}
    assert post(client, "setup", said).json() == {"model_version": version}
    said = {"tasks": [task(0), task(1)], "project": "1.1", "label_config": CONFIG, "params": {}}
    answer = post(client, "predict", said).json()
    assert answer["model_version"] == version
    sets = [
        one["result"][0]["value"]["choices"] if one["result"] else [] for one in answer["results"]
    ]
    assert sets == [row["labels"] for row in service.predict(ROWS[:2])["rows"]]
    (result,) = answer["results"][0]["result"]
    assert (result["from_name"], result["to_name"], result["type"]) == (
        "signs",
        "weather",
        "choices",
    )
    assert 0 <= answer["results"][0]["score"] <= 1


def test_annotations_are_learned_changed_and_taken_back(client, service):
    rows = len(service.now.rows)
    answer = post(client, "webhook", event("ANNOTATION_CREATED", 7, ["sea", "sun"]))
    assert answer.status_code == 201
    row = answer.json()["result"]["corrections"][0]["row"]
    assert service.labels_of(row) == ["sea", "sun"] and len(service.now.rows) == rows + 1
    post(client, "webhook", event("ANNOTATION_UPDATED", 7, ["snow"]))
    assert service.labels_of(row) == ["snow"] and len(service.now.rows) == rows + 1
    post(client, "webhook", event("ANNOTATION_UPDATED", 7, []))
    assert service.labels_of(row) == []
    version = service.version
    post(client, "webhook", event("ANNOTATION_CREATED", 8, ["sea"], 1, was_cancelled=True))
    post(client, "webhook", {"action": "PROJECT_UPDATED"})
    assert service.version == version
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 7}, {"id": 99}]}
    assert post(client, "webhook", gone).status_code == 201
    assert len(service.now.rows) == rows and not service.ledger.has(row)
    for labels in (["sea"], ["sun"]):  # after all
        post(client, "webhook", event("ANNOTATION_UPDATED", 7, labels))
        assert len(service.now.rows) == rows + 1
    post(client, "webhook", gone)
    assert len(service.now.rows) == rows


def test_a_task_that_was_changed_is_learned_anew(client, service):
    rows = len(service.now.rows)
    first = post(client, "webhook", event("ANNOTATION_CREATED", 21, ["sea"])).json()
    same = post(client, "webhook", event("ANNOTATION_UPDATED", 21, ["sun"])).json()
    row = first["result"]["corrections"][0]["row"]
    assert same["result"]["corrections"][0]["row"] == row
    for i in (1, 2):
        said = post(client, "webhook", event("ANNOTATION_UPDATED", 21, ["sea"], i)).json()
        row = said["result"]["corrections"][0]["row"]
        assert service.features_of(row) == ROWS[i] and len(service.now.rows) == rows + 1
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 21}]}
    post(client, "webhook", gone)
    assert len(service.now.rows) == rows


BAD = [
    ("setup", {"schema": "<View>"}, "not XML"),
    ("setup", {"schema": "<!DOCTYPE x><View/>"}, "plain XML"),
    ("setup", {"schema": "<View/>"}, 'choice="multiple"'),
    ("setup", {"schema": CONFIG.replace(' choice="multiple"', "")}, "several labels"),
    ("setup", [], "must be an object"),
    ("predict", {"label_config": CONFIG, "tasks": []}, "at least one task"),
    ("predict", {"label_config": CONFIG, "tasks": [{"data": {"heat": 1}}]}, "column 'height'"),
    ("predict", {"label_config": CONFIG, "tasks": ["x"]}, "must have data"),
    ("webhook", {}, "action must be the name of an event"),
    ("webhook", {"action": "ANNOTATION_CREATED"}, "must have 'annotations' or 'annotation'"),
    ("webhook", event("ANNOTATION_CREATED", 3, ["moon"]), "no label 'moon'"),
    ("webhook", event("ANNOTATION_CREATED", "x", ["sea"]), "must be an integer"),
    ("webhook", {"action": "ANNOTATIONS_DELETED"}, "must have 'annotations'"),
]


@pytest.mark.parametrize(("path", "said", "words"), BAD)
def test_what_cannot_be_used(client, service, path, said, words):
    version = service.version
    answer = post(client, path, said)
    assert answer.status_code == 422 and words in answer.json()["error"]
    assert service.version == version and LABELS
