"""Label Studio's protocol: payloads as it sends them, and broken ones."""

import contextlib
import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

pytest.importorskip("pandas", reason="rows by column name are data frames")

from plurilabel import BinaryRelevance, MLDecisionTree, MLkNN
from plurilabel.models import Model
from plurilabel.serve import BadInput, Service, label_studio
from plurilabel.serve.label_studio import LabelStudio
from tests.serve.problems import points, records

CONFIG = """<View>
  <Header value="What is in the film?"/>
  <Text name="plot" value="$plot" granularity="word"/>
  <Choices name="genres" toName="plot" choice="multiple" showInLine="true">
    <Choice value="Comedy"/>
    <Choice value="War film" alias="war"/>
    <Choice value="Romance" predicted_values="love, affection" background="red"/>
    <Choice value="Western"/>
  </Choices>
  <Choices name="seen" toName="plot"><Choice value="yes"/><Choice value="no"/></Choices>
</View><!-- {"data": {"plot": "soldiers"}} -->"""

PROJECT = {
    "id": 2,
    "title": "Films",
    "label_config": CONFIG,
    "enable_empty_annotation": True,
    "maximum_annotations": 1,
    "model_version": "",
    "created_at": "2024-08-17T13:49:34.326416Z",
}
TASK = {
    "id": 19,
    "data": {"plot": "a clown loves a nurse"},
    "meta": {},
    "created_at": "2024-08-17T13:51:02.590839Z",
    "is_labeled": True,
    "project": 2,
    "file_upload": 46,
}
ANNOTATION = {
    "id": 17,
    "result": [
        {
            "value": {"choices": ["Romance", "Comedy"]},
            "id": "WArqkkifYE",
            "from_name": "genres",
            "to_name": "plot",
            "type": "choices",
            "origin": "manual",
        },
        {
            "value": {"choices": ["yes"]},
            "id": "b0wKkdnnRc",
            "from_name": "seen",
            "to_name": "plot",
            "type": "choices",
        },
    ],
    "was_cancelled": False,
    "ground_truth": False,
    "lead_time": 37.13,
    "prediction": {},
    "task": 19,
    "completed_by": 1,
}
CREATED = {
    "action": "ANNOTATION_CREATED",
    "annotation": ANNOTATION,
    "task": TASK,
    "project": PROJECT,
}


@pytest.fixture(scope="module")
def films():
    """A backend with a model of texts, one of whose labels has no choice."""
    plots = ["a couple laughs", "soldiers at the front", "a clown laughs", "a nurse loves him"]
    tags = [["comedy", "love"], ["war", "old"], ["comedy"], ["love", "war"]]
    learner = make_pipeline(TfidfVectorizer(), MLkNN(1)).fit(plots, tags)
    return LabelStudio(Service(learner, name="films"))


@pytest.fixture
def plants():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [8.0, 0.0], [9.0, 1.0]])
    tree = MLDecisionTree().fit(X, [["small"], ["small", "red"], [], ["red"]])
    return LabelStudio(Service(Model.of(tree, feature_names=["size", "hue"]), name="plants"))


def config(choices, key="note"):
    inside = "".join(f'<Choice value="{choice}"/>' for choice in choices)
    return (
        f'<View><Table name="row" value="${key}"/><Choices name="tags" toName="row" '
        f'choice="multiple">{inside}</Choices></View>'
    )


def test_config():
    tagging = label_studio.read_config(CONFIG)
    assert (tagging.from_name, tagging.to_name, tagging.key) == ("genres", "plot", "plot")
    assert list(tagging.choices) == ["Comedy", "war", "Romance", "Western"]
    assert tagging.choice_of(["love", "old", "war", "comedy", "War film", "affection"]) == {
        "love": "Romance",
        "war": "war",
        "comedy": "Comedy",
        "War film": "war",
        "affection": "Romance",
    }


def test_choices_that_come_with_the_tasks():
    tagging = label_studio.read_config(
        '<View><Image name="i" value="$url"/>'
        '<Choices name="c" toName="i" choice="multiple" value="$options"/></View>'
    )
    assert tagging.choice_of(["a", "b"]) == {"a": "a", "b": "b"}


def test_a_name_is_better_than_its_case():
    tagging = label_studio.read_config(config(["Sea", "sea"]))
    assert tagging.choice_of(["sea", "SEA"]) == {"sea": "sea", "SEA": "Sea"}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (None, "must be a text, got nothing"),
        ("<View>", "not XML"),
        ("<View></View>", 'choice="multiple"'),
        ('<View><Choices name="c" toName="t"/></View>', 'choice="multiple"'),
        ('<View><Choices choice="multiple" toName="t"/></View>', "must have a name"),
        ('<View><Choices choice="multiple" name="t"/></View>', "must have a toName"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "without entities"),
        ("<View>\x00</View>", "not XML"),
    ],
)
def test_broken_config(broken, message):
    with pytest.raises(BadInput, match=message):
        label_studio.read_config(broken)


def test_setup(films):
    request = {
        "project": "2.1629208174",
        "schema": CONFIG,
        "hostname": "http://localhost:8080",
        "access_token": "e1c3",
        "extra_params": None,
    }
    version = {"model_version": films.version()}
    assert films.setup(request) == films.setup({**request, "schema": ""}) == version
    assert films.health() == {"status": "UP", "model_class": films.version()}
    with pytest.raises(BadInput, match="none of the choices 'a' and 'b' is a label"):
        films.setup({**request, "schema": config("ab")})


def test_predictions_for_texts(films):
    request = {
        "tasks": [TASK, {"id": 20, "data": {"plot": "soldiers at the front"}}],
        "model_version": "6",
        "project": "2.1629208174",
        "label_config": CONFIG,
        "params": {"login": None, "password": None, "context": None},
    }
    answer = films.predict(request)
    json.dumps(answer)
    assert answer["model_version"] == films.version()
    texts, model = [task["data"]["plot"] for task in request["tasks"]], films.service.now.model
    scores = model.predict_proba(texts).to_numpy()
    names = {"comedy": "Comedy", "war": "war", "love": "Romance"}
    for one, labels, p in zip(answer["results"], model.predict(texts), scores):
        (region,) = one["result"]
        assert region == {
            "from_name": "genres",
            "to_name": "plot",
            "type": "choices",
            "value": {"choices": [names[label] for label in labels if label in names]},
        }
        assert one["model_version"] == films.version()
        assert one["score"] == pytest.approx(np.mean([max(x, 1 - x) for x in p]))


def test_predictions_for_columns(plants):
    tasks = [
        {"id": 1, "data": {"size": 1.5, "hue": 0.0, "photo": "/data/1.png"}},
        {"id": 2, "data": {"note": {"size": 9, "hue": 1}}},  # as <Table> has it
        {"id": 3, "data": {"size": 8.0, "hue": 0}},
    ]
    request = {"tasks": tasks, "label_config": config(["small", "red"])}
    answer = plants.predict(request)
    found = [[r["value"]["choices"] for r in one["result"]] for one in answer["results"]]
    assert found == [[["small"]], [["red"]], []]  # nothing is chosen where there is no label
    for wrong in ({"z": 1}, [1], 10**400):
        tasks[0]["data"]["size"] = wrong
        with pytest.raises(BadInput, match="row 0, column 'size'"):
            plants.predict({**request, "tasks": tasks})


def test_scores_that_are_not_probabilities():
    learner = BinaryRelevance(RidgeClassifier()).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    model = Model.of(learner, label_names=["a", "b"], feature_names=["x"])
    request = {"tasks": [{"id": 1, "data": {"x": 0.2}}], "label_config": config("ab")}
    (one,) = LabelStudio(Service(model)).predict(request)["results"]
    assert 0.5 < one["score"] < 1


def test_the_only_column_may_have_another_name():
    learner = MLDecisionTree().fit([[0.0], [1.0]], [["a"], ["b"]])
    studio = LabelStudio(Service(Model.of(learner, feature_names=["x"])))
    request = {"tasks": [{"data": {"note": 1.0}}], "label_config": config("ab")}
    assert studio.predict(request)["results"][0]["result"][0]["value"] == {"choices": ["b"]}


def learned(studio, event):
    """Features and labels of the rows that an event has added or changed."""
    done = studio.webhook(event)["result"].get("corrections", [])
    cards = [studio.service.row_card(one["row"]) for one in done]
    return [(card["features"], card["labels"]) for card in cards]


def test_annotations_are_learned_changed_and_taken_back(films):
    service, rows = films.service, len(films.service.now.rows)
    updated = copy.deepcopy({**CREATED, "action": "ANNOTATION_UPDATED"})
    text, annotation = TASK["data"]["plot"], updated["annotation"]
    assert learned(films, CREATED) == [(text, ["comedy", "love"])]
    annotation["result"][0]["value"]["choices"] = ["war"]
    assert learned(films, updated) == [(text, ["war"])]
    annotation["result"] = []  # no tag at all is an answer
    assert learned(films, updated) == [(text, [])]
    no_task = {key: value for key, value in CREATED.items() if key != "task"}
    assert learned(films, {**no_task, "action": "ANNOTATION_UPDATED"})[0][1] == ["comedy", "love"]
    assert len(service.now.rows) == rows + 1
    skipped = copy.deepcopy(CREATED)
    skipped["annotation"] |= {"was_cancelled": True, "id": 30}
    annotation["was_cancelled"] = True  # skipped after all
    version = service.version
    assert films.webhook(skipped)["status"] == "nothing to learn" and service.version == version
    assert learned(films, updated) == [] and len(service.now.rows) == rows
    for gone in (
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}, {"id": 18}]},
        {"action": "ANNOTATION_DELETED", "annotation": {"id": 17}},
    ):
        for _ in range(2):  # learned again after all
            learned(films, {**CREATED, "action": "ANNOTATION_UPDATED"})
            assert len(service.now.rows) == rows + 1
        assert films.webhook(gone)["status"] == "ok" and len(service.now.rows) == rows


def test_several_at_once(films):
    second = {**copy.deepcopy(ANNOTATION), "id": 18, "task": 20}
    event = {
        "action": "ANNOTATIONS_CREATED",
        "annotation": [second, {**ANNOTATION, "id": 19}],
        "task": [TASK, {**TASK, "id": 20, "data": {"plot": "soldiers"}}],
        "project": PROJECT,
    }
    assert [text for text, _ in learned(films, event)] == ["soldiers", "a clown loves a nurse"]


def test_a_task_that_was_changed_is_learned_anew(films):
    rows = len(films.service.now.rows)
    event = copy.deepcopy(CREATED)
    event["annotation"]["id"] = 21
    first = films.webhook(event)["result"]["corrections"][0]["row"]
    event["action"] = "ANNOTATION_UPDATED"
    assert films.webhook(event)["result"]["corrections"][0]["row"] == first
    for plot in ("a nurse", "a clown"):
        event["task"]["data"]["plot"] = plot
        assert learned(films, event)[0][0] == plot
        assert len(films.service.now.rows) == rows + 1


@pytest.mark.parametrize("action", ["TASKS_CREATED", "PROJECT_UPDATED", "START_TRAINING"])
def test_other_events_say_nothing(action, films):
    assert films.webhook({"action": action})["status"] == "nothing to learn"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": None}, "action must be the name of an event, got nothing"),
        ({"project": 2}, "project must be an object, got 2"),
        ({"project": {"id": "2"}}, "labeling configuration must be a text"),
        ({"annotation": None}, "must have 'annotations' or 'annotation'"),
        ({"annotation": {**ANNOTATION, "id": None}}, "id of the annotation must be an integer"),
        ({"annotation": {**ANNOTATION, "result": {}}}, "result of an annotation must be a list"),
        ({"task": {"id": 19, "data": {"plot": 4}}}, "expected a text, got the number 4"),
        ({"task": {"id": 19}}, "data of task 19 must be an object, got nothing"),
    ],
)
def test_broken_events(change, message, films):
    version = films.service.version
    with pytest.raises(BadInput, match=message):
        films.webhook({**CREATED, **change})
    with pytest.raises(BadInput, match="the request must be an object"):
        films.webhook([CREATED])
    assert films.service.version == version


def test_a_choice_that_is_not_a_label_is_rejected(films):
    event = copy.deepcopy(CREATED)
    event["annotation"]["result"][0]["value"]["choices"] = ["Western", "war"]
    with pytest.raises(BadInput, match="no label 'Western'"):
        films.webhook(event)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(value, path=()):
    """Paths to all parts of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


@settings(max_examples=100)
@given(data=st.data(), new=json_values)
def test_anything_else_is_bad_input(data, new, films):
    request = copy.deepcopy({**CREATED, "tasks": [TASK], "label_config": CONFIG, "schema": CONFIG})
    *way, last = data.draw(st.sampled_from(list(places(request))[1:]))
    part = request
    for key in way:
        part = part[key]
    part[last] = new
    for ask in (films.webhook, films.setup, films.predict):
        with contextlib.suppress(BadInput):
            ask(request)


def test_over_http(client, service):
    def post(path, sent):
        return client.post(f"/label-studio/{path}", json=sent)

    signs = CONFIG.replace("Comedy", "sea").replace("Western", "sun")
    tasks = [{"id": i, "data": row} for i, row in enumerate(records(points(2, seed=9)[0]))]
    assert client.get("/label-studio/health").json()["status"] == "UP"
    version = f"weather {service.version}"
    assert post("setup", {"schema": signs}).json() == {"model_version": version}
    answer = post("predict", {"tasks": tasks, "label_config": signs}).json()
    sets = [
        one["result"][0]["value"]["choices"] if one["result"] else [] for one in answer["results"]
    ]
    found = service.predict([task["data"] for task in tasks])["rows"]
    assert sets == [[name for name in row["labels"] if name != "snow"] for row in found]
    result = [{**ANNOTATION["result"][0], "value": {"choices": ["sea", "sun"]}}]
    event = {**CREATED, "annotation": {**ANNOTATION, "task": 0, "result": result}}
    event |= {"task": tasks[0], "project": {"id": 1, "label_config": signs}}
    answer = post("webhook", event)
    assert answer.status_code == 201
    assert service.labels_of(answer.json()["result"]["corrections"][0]["row"]) == ["sea", "sun"]


@pytest.mark.parametrize(
    ("path", "sent", "words"),
    [
        ("setup", {"schema": "<View>"}, "not XML"),
        ("setup", [], "must be an object"),
        ("predict", {"label_config": config(["sea"]), "tasks": []}, "at least one task"),
        (
            "predict",
            {"label_config": config(["sea"]), "tasks": [{"data": {"heat": 1}}]},
            "column 'height'",
        ),
        ("predict", {"label_config": config(["sea"]), "tasks": ["x"]}, "task 0 must be an object"),
        ("webhook", {}, "action must be the name of an event"),
    ],
)
def test_what_is_rejected_over_http(client, service, path, sent, words):
    version = service.version
    answer = client.post(f"/label-studio/{path}", json=sent)
    assert answer.status_code == 422 and words in answer.json()["error"]
    assert service.version == version
