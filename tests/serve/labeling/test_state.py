"""The replay of what people said."""

import numpy as np
import pytest

from plurilabel.labeling import recall_bound
from plurilabel.serve import BadInput
from plurilabel.serve.labeling._figures import shown_rows
from plurilabel.serve.labeling._state import Event, State


class Told:
    """A state that is told events, as a project is."""

    def __init__(self, n=10):
        self.events, self.n = [], n

    def say(self, kind, person="ann", **said):
        event = Event(len(self.events) + 1, "2024-01-01", person, kind, said)
        State.replayed(self.n, [*self.events, event])  # an error leaves no event
        self.events.append(event)
        return event.id

    @property
    def now(self):
        return State.replayed(self.n, self.events)

    def labels(self, row):
        state = self.now
        given = state.labels_of(row)
        return None if given is None else state.named(given)


@pytest.fixture
def told():
    told = Told()
    for name in ("sea", "sun", "sky"):
        told.say("label", name=name)
    return told


def test_answers_follow_labels(told):
    told.say("answer", rows=[3], labels=["sea", "sky"])
    told.say("answer", rows=[4], labels=["sun"])
    told.say("rename", label="sea", name="ocean")
    assert told.labels(3) == ["ocean", "sky"]
    told.say("merge", labels=["sky", "sun"], into="weather")
    assert told.labels(3) == ["ocean", "weather"] and told.labels(4) == ["weather"]
    assert list(told.now.names.values()) == ["ocean", "weather"]
    told.say("remove", label="ocean")
    assert told.labels(3) == ["weather"]
    merge = told.events[-2].id
    told.say("undo", id=merge + 1)  # the removal
    told.say("undo", id=merge)
    assert told.labels(3) == ["ocean", "sky"] and told.labels(4) == ["sun"]


def test_rows_of_a_split_label_are_asked_again(told):
    told.say("answer", rows=[0, 1], labels=["sea", "sun"])
    told.say("answer", rows=[2], labels=["sun"])
    told.say("split", label="sea", into=["north sea", "dead sea"])
    assert list(told.now.again) == [0, 1] and told.labels(0) is None and told.labels(2) == ["sun"]
    assert told.now.answered() == [2]
    told.say("answer", rows=[0], labels=["dead sea", "sun"])
    assert list(told.now.again) == [1] and told.labels(0) == ["sun", "dead sea"]


def test_most_people_decide_and_the_latest_answer_breaks_ties(told):
    told.say("answer", "ann", rows=[5], labels=["sea"])
    told.say("answer", "bob", rows=[5], labels=["sun"])
    assert told.labels(5) == ["sun"] and told.now.in_conflict(5)
    told.say("answer", "eve", rows=[5], labels=["sea", "sky"])
    assert told.labels(5) == ["sea"]
    told.say("answer", "ann", rows=[5], labels=["sky"], final=True)
    assert told.labels(5) == ["sky"] and not told.now.in_conflict(5)


def test_a_label_says_nothing_about_earlier_answers(told):
    told.say("answer", rows=[5], labels=["sea"])
    born = told.say("label", name="late")
    state = told.now
    assert state.born[state.id_of("late")] == born and state.born[state.id_of("sea")] == 0
    told.say("merge", labels=["late", "sea"], into="sea")
    assert told.now.born[told.now.id_of("sea")] == born


def test_remarks(told):
    told.say("flag", rows=[1])
    told.say("comment", "bob", rows=[1], text=" why? ")
    told.say("skip", "bob", rows=[2])
    state = told.now
    assert state.flags == {1: "ann"} and state.comments[1][0]["text"] == "why?"
    assert state.skips == {2: {"bob"}}
    told.say("flag", rows=[1], on=False)
    told.say("answer", rows=[2], labels=[])
    assert not told.now.flags and not told.now.skips and told.labels(2) == []


@pytest.mark.parametrize(
    ("kind", "said", "problem"),
    [
        ("answer", {"rows": [3], "labels": ["see"]}, "no label 'see'; did you mean 'sea'"),
        ("answer", {"rows": [10], "labels": []}, "there is no row 10"),
        ("answer", {"rows": [True], "labels": []}, "row numbers"),
        ("answer", {"rows": [], "labels": []}, "row numbers"),
        ("answer", {"rows": [1], "labels": "sea"}, "list of names"),
        ("answer", {"rows": [1], "labels": [], "seconds": -1}, "seconds"),
        ("answer", {"rows": [1], "labels": [], "more": 1}, "unknown field 'more'"),
        ("label", {"name": "  "}, "needs a name"),
        ("label", {"name": "sea"}, "already"),
        ("label", {"name": "a;b"}, "';'"),
        ("label", {"name": "x" * 201}, "200"),
        ("label", {"name": "\ud800"}, "Unicode"),
        ("rename", {"label": "sea", "name": "sun"}, "already"),
        ("merge", {"labels": ["sea"], "into": "x"}, "at least two"),
        ("split", {"label": "sea", "into": ["x"]}, "at least two"),
        ("comment", {"rows": [1], "text": ""}, "needs a text"),
        ("dance", {}, "unknown kind 'dance'"),
    ],
)
def test_mistakes_change_nothing(told, kind, said, problem):
    before = told.now
    with pytest.raises(BadInput, match=problem):
        told.say(kind, **said)
    assert told.now == before


def test_parts_of_a_split_have_names_of_their_own(told):
    with pytest.raises(BadInput, match="at least two names"):
        told.say("split", label="sea", into=["bay", " bay"])
    told.say("split", label="sea", into=["bay", "gulf", "bay "])
    assert list(told.now.names.values()) == ["sun", "sky", "bay", "gulf"]


def test_a_draw_counts_though_its_answer_is_undone(told):
    draw = told.say("answer", rows=[7], labels=["sea"], audit=7)
    told.say("answer", rows=[8], labels=["sea"])
    told.say("undo", id=draw)
    assert told.now.shown == {7: True, 8: False} and told.now.answered() == [8]
    told.say("answer", rows=[7], labels=[])
    assert told.now.shown == {7: True, 8: False} and told.labels(7) == []


def test_a_skipped_row_with_an_answer_is_not_counted(told):
    told.say("answer", rows=[1], labels=[])
    told.say("skip", person="bob", rows=[1, 2])
    assert told.now.skipped() == [2]


def test_bounds_hold_while_rows_of_a_label_are_asked_again():
    """Audits whose rows are asked again are the positive ones: the others prove nothing."""
    told = Told(400)  # every other row is at the sea, all of these at a bay
    told.say("label", name="sea")
    for row in range(300):
        told.say("answer", rows=[row], labels=["sea"][row % 2 :], audit=row)
    told.say("split", label="sea", into=["bay", "gulf"])
    shown = shown_rows(told.now)
    assert recall_bound(**shown).at_most.tolist() == [250, 250]
    rest = np.isfinite(shown["Y"][:, 0])  # as if the pool had no other rows
    assert recall_bound(shown["Y"][rest], np.ones(150), 250).at_most[0] + 150 < 200
    for row in range(0, 300, 2):
        told.say("answer", rows=[row], labels=["bay"])
    bay, gulf = recall_bound(**shown_rows(told.now)).at_most
    assert 200 <= bay < 230 and gulf < 30


def test_audits_from_before_a_label_do_not_count_for_it():
    told = Told(200)
    told.say("label", name="sea")
    for row in range(80):
        told.say("answer", rows=[row], labels=[], audit=row)
    told.say("label", name="late")  # on every other row
    for row in range(1, 80, 2):
        told.say("answer", rows=[row], labels=[])
    assert shown_rows(told.now)["since"].tolist() == [0, 80]
    assert recall_bound(**shown_rows(told.now)).at_most[1] == 160
    for row in range(0, 80, 2):
        told.say("answer", rows=[row], labels=["late"])
    for row in range(80, 140):
        told.say("answer", rows=[row], labels=["late"][row % 2 :], audit=row)
    assert 100 <= recall_bound(**shown_rows(told.now)).at_most[1] < 130
