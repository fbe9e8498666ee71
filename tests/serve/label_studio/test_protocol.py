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
from plurilabel.serve import label_studio

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
    """A model of texts, one of whose labels has no choice."""
    plots = ["a couple laughs", "soldiers at the front", "a clown laughs", "a nurse loves him"]
    tags = [["comedy", "love"], ["war", "old"], ["comedy"], ["love", "war"]]
    learner = MLDecisionTree(random_state=0)
    return Model.of(make_pipeline(TfidfVectorizer(), learner).fit(plots, tags))


@pytest.fixture(scope="module")
def plants():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [8.0, 0.0], [9.0, 1.0]])
    tree = MLDecisionTree().fit(X, [["small"], ["small", "red"], [], ["red"]])
    return Model.of(tree, feature_names=["size", "hue"])


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
        ('<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "must not declare entities"),
        ("<View>\x00</View>", "not XML"),
    ],
)
def test_broken_config(broken, message):
    with pytest.raises(ValueError, match=message):
        label_studio.read_config(broken)


def test_setup(films):
    request = {
        "project": "2.1629208174",
        "schema": CONFIG,
        "hostname": "http://localhost:8080",
        "access_token": "e1c3",
        "extra_params": None,
    }
    assert label_studio.setup(request, films, "7") == {"model_version": "7"}
    assert label_studio.setup({**request, "schema": ""}, films, "7") == {"model_version": "7"}
    with pytest.raises(ValueError, match="none of the choices 'a' and 'b' is a label"):
        label_studio.setup({**request, "schema": config("ab")}, films, "7")


def test_predictions_for_texts(films):
    request = {
        "tasks": [TASK, {"id": 20, "data": {"plot": "soldiers at the front"}}],
        "model_version": "6",
        "project": "2.1629208174",
        "label_config": CONFIG,
        "params": {"login": None, "password": None, "context": None},
    }
    answer = label_studio.predict(request, films, "7")
    json.dumps(answer)
    assert answer["model_version"] == "7"
    texts = [task["data"]["plot"] for task in request["tasks"]]
    scores = films.predict_proba(texts).to_numpy()
    names = {"comedy": "Comedy", "war": "war", "love": "Romance"}
    for one, labels, p in zip(answer["results"], films.predict(texts), scores):
        (region,) = one["result"]
        assert region == {
            "from_name": "genres",
            "to_name": "plot",
            "type": "choices",
            "value": {"choices": [names[label] for label in labels if label in names]},
        }
        assert one["model_version"] == "7"
        assert one["score"] == pytest.approx(np.mean([max(x, 1 - x) for x in p]))


def test_predictions_for_columns(plants):
    tasks = [
        {"id": 1, "data": {"size": 1.5, "hue": 0.0, "photo": "/data/1.png"}},
        {"id": 2, "data": {"note": {"size": 9, "hue": 1}}},  # as <Table> has it
        {"id": 3, "data": {"size": 8.0, "hue": 0}},
    ]
    request = {"tasks": tasks, "label_config": config(["small", "red"])}
    answer = label_studio.predict(request, plants, "1")
    found = [[r["value"]["choices"] for r in one["result"]] for one in answer["results"]]
    assert found == [[["small"]], [["red"]], []]  # nothing is chosen where there is no label
    renamed = [{"data": {"cm": task["data"].get("size", 9), "hue": 0}} for task in tasks]
    request = {**request, "tasks": renamed}
    with pytest.raises(ValueError, match="task 0 lacks 'size', .* its data have 'cm' and 'hue'"):
        label_studio.predict(request, plants, "1")
    assert label_studio.predict(request, plants, "1", columns={"size": "cm"})["results"]
    for wrong in ({"z": 1}, [1], 10**400):
        tasks[0]["data"]["size"] = wrong
        with pytest.raises(ValueError, match="task 1, 'size'"):
            label_studio.predict({**request, "tasks": tasks}, plants, "1")
    assert label_studio.predict({**request, "tasks": []}, plants, "1")["results"] == []


def test_scores_that_are_not_probabilities(plants):
    learner = BinaryRelevance(RidgeClassifier()).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    model = Model.of(learner, label_names=["a", "b"], feature_names=["x"])
    request = {"tasks": [{"id": 1, "data": {"x": 0.2}}], "label_config": config("ab")}
    (one,) = label_studio.predict(request, model, "1")["results"]
    assert 0.5 < one["score"] < 1
    assert label_studio.confidence(np.full((1, 2), np.nan), probabilities=True) == 0


def test_created(films):
    (correction,) = label_studio.corrections(CREATED, films)
    assert correction == label_studio.Correction(
        key="label-studio/2/17",
        labels=("comedy", "love"),  # in the model's order
        row="a clown loves a nurse",
        task=19,
        unasked=("old",),
    )


def test_a_correction_is_learned(films):
    """What comes back from an event goes into ``partial_fit`` as it is."""
    (correction,) = label_studio.corrections(CREATED, films)
    texts, tags = ["some sea", "some sun"], [["comedy"], ["love"]]
    words = TfidfVectorizer().fit([*texts, correction.row])
    learner = MLkNN(1).fit(words.transform(texts), tags)
    learner.partial_fit(words.transform([correction.row]), [correction.labels])
    assert learner.Y_.shape == (3, 2)


def test_updated_skipped_and_deleted(films):
    updated = copy.deepcopy({**CREATED, "action": "ANNOTATION_UPDATED"})
    updated["annotation"]["result"][0]["value"]["choices"] = ["Western", "war", "Horror"]
    (correction,) = label_studio.corrections(updated, films)
    assert correction.key == "label-studio/2/17"
    assert (correction.labels, correction.unknown) == (("war",), ("Western", "Horror"))
    updated["annotation"]["result"] = []  # no tag at all is an answer
    assert label_studio.corrections(updated, films)[0].labels == ()
    updated["annotation"]["was_cancelled"] = True  # skipped after all
    assert label_studio.corrections(updated, films)[0].labels is None
    assert label_studio.corrections({**updated, "action": "ANNOTATION_CREATED"}, films) == []
    for gone in (
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}, {"id": 18}]},
        {"action": "ANNOTATION_DELETED", "annotation": {"id": 17}},
    ):
        found = label_studio.corrections({**gone, "project": PROJECT}, films)
        assert found[0] == label_studio.Correction("label-studio/2/17", None)
        assert len(found) == len(gone.get("annotations", [1]))


def test_several_at_once(films):
    second = {**copy.deepcopy(ANNOTATION), "id": 18, "task": 20}
    event = {
        "action": "ANNOTATIONS_CREATED",
        "annotation": [second, ANNOTATION],
        "task": [TASK, {**TASK, "id": 20, "data": {"plot": "soldiers"}}],
        "project": PROJECT,
    }
    found = label_studio.corrections(event, films)
    assert [one.row for one in found] == ["soldiers", "a clown loves a nurse"]


def test_events_without_the_task(films):
    event = {key: value for key, value in CREATED.items() if key != "task"}
    (correction,) = label_studio.corrections(event, films)
    assert (correction.row, correction.task) == (None, 19)
    assert correction.labels == ("comedy", "love")


@pytest.mark.parametrize("action", ["TASKS_CREATED", "PROJECT_UPDATED", "START_TRAINING"])
def test_other_events_say_nothing(action, films):
    assert label_studio.corrections({"action": action}, films) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": None}, "action must be the name of an event, got nothing"),
        ({"project": 2}, "project must be an object, got 2"),
        ({"project": {"id": "2"}}, "labeling configuration must be a text"),
        ({"project": {**PROJECT, "id": "2"}}, "id of the project must be an integer, got '2'"),
        ({"annotation": None}, "must have 'annotations' or 'annotation'"),
        ({"annotation": {**ANNOTATION, "id": None}}, "id of the annotation"),
        ({"annotation": {**ANNOTATION, "result": {}}}, "result of an annotation must be a list"),
        ({"task": {"id": 19, "data": {"plot": 4}}}, "task 19 must have a text as 'plot', got 4"),
        ({"task": {"id": 19}}, "data of task 19 must be an object, got nothing"),
    ],
)
def test_broken_events(change, message, films):
    with pytest.raises(ValueError, match=message):
        label_studio.corrections({**CREATED, **change}, films)
    with pytest.raises(ValueError, match="the request must be an object"):
        label_studio.corrections([CREATED], films)


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


@settings(max_examples=150)
@given(data=st.data(), new=json_values)
def test_anything_else_is_a_value_error(data, new, films):
    request = copy.deepcopy({**CREATED, "tasks": [TASK], "label_config": CONFIG, "schema": CONFIG})
    *way, last = data.draw(st.sampled_from(list(places(request))[1:]))
    part = request
    for key in way:
        part = part[key]
    part[last] = new
    for ask in (
        lambda: label_studio.corrections(request, films),
        lambda: label_studio.setup(request, films, "1"),
        lambda: label_studio.task_rows(request["tasks"], label_studio.read_config(CONFIG), films),
    ):
        with contextlib.suppress(ValueError):
            ask()
