"""The page to label with, in a real browser: by keyboard, by two people, wide and narrow."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.serve.labeling.problems import WORDS, answer_all, many_labels, notes
from tests.serve.labeling.test_routes import ROOT
from tests.serve.test_page import MEASURE

pytest.importorskip("fastapi")
playwright = pytest.importorskip("playwright.sync_api")

from plurilabel.serve import running  # noqa: E402
from plurilabel.serve.labeling import LabelProject  # noqa: E402

expect = playwright.expect


@pytest.fixture
def visit(browser):
    """Opens the page as a person; what went wrong there is an error at the end."""
    contexts, problems = [], []

    def visit(address, person="ann", view="label", width=1280, colours="light", touch=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=colours, has_touch=touch,
            is_mobile=touch, reduced_motion="reduce",
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{address}/#{view}")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Control+A")
        page.keyboard.type(person)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"body[data-view={view}]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


def row_of(page):
    page.wait_for_function("() => !state.busy && state.row && document.querySelector('#search')")
    return page.evaluate("state.row.row")


class Hands:
    """Labels rows by keyboard, and counts the keys."""

    def __init__(self, page, sets):
        self.page, self.sets, self.keys, self.rows = page, sets, 0, 0

    def press(self, key):
        self.page.keyboard.press(key)
        self.keys += 1

    def label(self, row):
        """The fewest keys: digits, or letters until the label comes first."""
        wanted = set(self.sets[row])
        order, chosen = self.page.evaluate("[state.order, [...state.chosen]]")
        for name in sorted(wanted ^ set(chosen)):
            if name in order[:10]:
                self.press(str((1 + order.index(name)) % 10))
                continue
            for length, letter in enumerate(name, 1):
                self.press(letter)
                if self.page.evaluate("(text) => matches(text)[0]", name[:length]) == name:
                    break
            self.press("Enter")
            self.page.wait_for_function("(name) => state.chosen.has(name)", arg=name)
        assert set(self.page.evaluate("[...state.chosen]")) == wanted

    def answer(self):
        row = row_of(self.page)
        self.label(row)
        self.press("Enter")
        self.rows += 1
        self.page.wait_for_function("(row) => !state.busy && state.row?.row !== row", arg=row)
        return row


def test_cold_start_by_keyboard(visit):
    frame, sets = notes(40)
    project = LabelProject(frame, background=False)
    with running(project) as address:
        page = visit(address, "  Ann  Lee ")
        assert project.card()["labels"] == []
        first = row_of(page)
        page.keyboard.type("sea")
        page.keyboard.press("Enter")  # adds the label, and chooses it
        expect(page.locator("#chosen")).to_have_text("sea")
        page.keyboard.press("Enter")
        expect(page.locator("#version")).to_have_text("1 of 40 rows answered")
        assert project.labels_of(first) == ["sea"] and project.card()["people"] == {"Ann Lee": 1}
        expect(page.locator("#toast")).to_contain_text(f"Saved for row {first + 1}: sea.")
        page.keyboard.press("Control+z")
        expect(page.locator("#version")).to_have_text("0 of 40 rows answered")
        assert row_of(page) == first and project.state.answered() == []
        for name in ("sun", "animal/dog"):
            project.say("bob", "label", {"name": name})  # appears on the open page
        expect(page.get_by_role("switch", name="animal/dog")).to_be_visible()
        hands = Hands(page, sets)
        rows = [hands.answer() for _ in range(8)]
        assert project.state.answered() == rows
        for row in rows:
            assert project.labels_of(row) == [name for name in WORDS if name in sets[row]]
        assert page.evaluate("Object.keys(state.row.scores).length") == 3
        now = row_of(page)
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("(row) => state.row.row === row", arg=rows[-1])
        expect(page.locator("#card")).to_contain_text("answered by you")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("(row) => state.row.row === row", arg=rows[-2])
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_function("(row) => !state.busy && state.row.row === row", arg=now)
        assert ("sea" in project.labels_of(rows[-2])) != ("sea" in sets[rows[-2]])
        page.keyboard.press("!")
        expect(page.locator("#toast")).to_contain_text("Flagged")
        page.keyboard.press(":")
        page.keyboard.type("Is this the sea?")
        page.keyboard.press("Enter")
        expect(page.locator(".comment")).to_contain_text("Ann Lee: Is this the sea?")
        row_of(page)
        page.keyboard.press("+")
        page.wait_for_selector(".near-row")
        page.keyboard.press("Space")  # all of them
        expect(page.locator("#accept")).to_have_text("Accept for 13 rows")
        page.locator("#search").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#version")).to_have_text("21 of 40 rows answered")
        skipped = row_of(page)
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(row) => !state.busy && state.row.row !== row", arg=skipped)
        assert list(project.state.skips) == [skipped] and list(project.state.flags) == [now]


def test_two_people_at_once(visit):
    frame, sets = notes(60)
    project = LabelProject(frame, labels=list(WORDS), background=False)
    with running(project) as address:
        ann, bob = visit(address, "ann"), visit(address, "bob", width=390, touch=True)
        hands = Hands(ann, sets), Hands(bob, sets)
        for _ in range(5):
            assert row_of(ann) != row_of(bob)
            for one in hands:
                one.answer()
        accept, toast = (bob.locator(name).bounding_box() for name in ("#accept", "#toast"))
        assert toast["y"] + toast["height"] < accept["y"]  # the message covers no button
        for page in (ann, bob):  # each sees what the other does
            expect(page.locator("#version")).to_have_text("10 of 60 rows answered")
        row = project.state.answered()[0]
        project.say("bob", "answer", {"rows": [row], "labels": ["sea", "sun"]})
        project.say("ann", "answer", {"rows": [row], "labels": ["sea"]})
        ann.click("text=1 conflict")
        card = ann.locator("#rows-found article")
        expect(card).to_have_count(1)
        expect(card).to_contain_text("ann: sea")
        expect(card).to_contain_text("bob: sea, sun")
        card.get_by_role("button", name="use this answer").nth(1).click()
        expect(ann.locator("#found")).to_have_text("No rows found.")
        assert set(project.labels_of(row)) == {"sea", "sun"}


@pytest.mark.parametrize(
    ("width", "colours", "n_labels"), [(1280, "light", 3), (375, "dark", 500)]
)
def test_every_view_is_sound(visit, width, colours, n_labels):
    labels = WORDS if n_labels == 3 else many_labels(n_labels)
    frame, sets = notes(60, labels=labels if n_labels == 3 else dict(list(labels.items())[:5]))
    project = LabelProject(frame, labels=list(labels), background=False)
    answer_all(project, sets, 25)
    project.say("bob", "comment", {"rows": [3], "text": "long" * 40})
    with running(project) as address:
        page = visit(address, width=width, colours=colours, touch=width < 500)
        for view in ("label", "review", "labels", "progress", "files"):
            page.goto(f"{address}/#{view}")
            page.wait_for_selector(f"body[data-view={view}]")
            found = page.evaluate(MEASURE)
            assert found["wide"] <= found["room"] == width, view
            assert found["faint"] == found["nameless"] == [], view
            assert found["outside"] == 0 and found["dark"] == (colours == "dark"), view
        if n_labels == 500:
            page.goto(f"{address}/#label")
            page.wait_for_selector("body[data-view=label] #search")
            assert page.locator("#choices li").count() <= 14
            page.fill("#search", "c 499")
            expect(page.locator("#choices .name").first).to_have_text("topic 499")
            page.locator("#choices button").first.click()
            expect(page.locator("#chosen")).to_contain_text("topic 499")
            page.click("#all")
            assert page.locator("#choices li").count() == 500


def test_labels_are_managed_on_the_page(visit):
    frame, sets = notes(30)
    project = LabelProject(frame, labels=list(WORDS), background=False)
    answer_all(project, sets, 20)
    with running(project) as address:
        page = visit(address, view="labels")

        def edit(what, label, **fields):
            page.get_by_role("button", name=f"{what} {label}", exact=True).click()
            for name, value in fields.items():
                field = page.locator(f"dialog [name={name}]")
                if name == "other":
                    field.select_option(value)
                else:
                    field.fill(value)
            page.click("dialog button.main")

        edit("rename", "sea", name="sun")
        expect(page.locator("dialog .error")).to_have_text("there is a label 'sun' already")
        page.fill("dialog [name=name]", "ocean")
        page.click("dialog button.main")
        expect(page.locator("#table")).to_contain_text("ocean")
        edit("describe", "ocean", description="salt water")
        expect(page.locator("#table")).to_contain_text("salt water")
        edit("merge", "sun", other="ocean", into="holiday")
        expect(page.locator("#table")).not_to_contain_text("ocean")
        edit("split", "holiday", into="beach, hills")
        expect(page.locator("#table")).to_contain_text("hills")
        assert list(project.state.names.values()) == ["animal/dog", "beach", "hills"]
        page.fill("#add [name=name]", "food")
        page.keyboard.press("Enter")
        expect(page.locator("#table")).to_contain_text("food")
        edit("remove", "food")
        expect(page.locator("#table")).not_to_contain_text("food")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#table")).to_contain_text("food")
        page.click(".views a[href='#label']")
        expect(page.locator("#card")).to_contain_text("a label was split")
        page.click(".views a[href='#files']")
        with page.expect_download() as saved:
            page.click("text=JSON lines")
        assert saved.value.path().read_bytes() == project.export("jsonl")


def test_four_keys_a_row_with_sixty_labels(visit):
    labels = many_labels(60)
    frame, sets = notes(400, labels=labels)
    sets = [names[:3] for names in sets]
    frame["note"] = [
        " ".join(word for name in names for word in labels[name].split()[:4]) for names in sets
    ]
    project = LabelProject(frame, labels=list(labels), background=False)
    answer_all(project, sets, 240)
    with running(project) as address:
        hands = Hands(visit(address), sets)
        for _ in range(20):
            hands.answer()
    assert hands.keys / hands.rows <= 4


_CHILD = """
import sys
from plurilabel.serve import run
from plurilabel.serve.labeling import LabelProject
from tests.serve.labeling.problems import notes
project = LabelProject(notes(400)[0], store=sys.argv[1])
run(project, port=int(sys.argv[2]), ready=lambda address: print(address, flush=True))
"""


@pytest.mark.skipif(
    not os.environ.get("PLURILABEL_LONG_FUZZ"), reason="takes a minute; PLURILABEL_LONG_FUZZ"
)
def test_two_hundred_rows_with_a_kill_in_between(visit, tmp_path):
    sets, port = notes(400)[1], "0"

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(tmp_path / "log.db"), port],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    child = start()
    try:
        address = child.stdout.readline().strip()
        port = address.rpartition(":")[2]
        page = visit(address)
        for name in WORDS:
            page.keyboard.type(name)
            page.keyboard.press("Enter")
            page.wait_for_function("(name) => state.chosen.has(name)", arg=name)
        hands = Hands(page, sets)
        rows = [hands.answer() for _ in range(100)]
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        row = row_of(page)
        page.keyboard.press("Enter")
        expect(page.locator("#toast")).to_contain_text("does not respond")
        child = start()
        child.stdout.readline()
        rows += [hands.answer() for _ in range(100)]
        assert row in rows
    finally:
        child.kill()
        child.communicate()
    time.sleep(0.1)
    project = LabelProject(notes(400)[0], store=tmp_path / "log.db", background=False)
    assert set(project.state.answered()) == set(rows) and len(rows) == 200
    for row in rows:
        assert set(project.labels_of(row)) == set(sets[row])
    project.close()


def test_odd_names_are_shown_whole_and_as_text(visit, tmp_path):
    """Markup is text, nothing is cut or too wide, and Tab adds a label though others match."""
    labels = [f"a long group of labels/its label number {i}" for i in range(12)]
    table = f"pic,note\n{'a' * 5000}.png,<img src=x onerror=window.hit=1>\nb.png,=1+1\n"
    (tmp_path / "t.csv").write_text(table)
    markup = "<img src=x onerror=window.hit=1>"
    project = LabelProject(tmp_path / "t.csv", labels=[markup, *labels], background=False)
    with running(project) as address:
        page = visit(address, width=375, touch=True)
        for view in ("review", "labels"):
            project.say("", "flag", {"rows": [0, 1]})
            page.goto(f"{address}/#{view}")
            page.wait_for_selector(f"body[data-view={view}]")
            if view == "review":
                page.select_option("[name=which]", "flagged")
                expect(page.locator("#rows-found article")).to_have_count(2)
                expect(page.locator("#rows-found img").first).to_have_attribute(
                    "alt", re.compile("cannot be shown")
                )
            assert page.evaluate("document.documentElement.scrollWidth") == 375, view
        cut = "[...document.querySelectorAll('th')].filter((e) => e.scrollWidth > e.clientWidth)"
        assert page.evaluate(f"[window.hit ?? 0, {cut}.length]") == [0, 0]
        page = visit(address)
        row_of(page)
        page.keyboard.type("group")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#chosen")).to_have_text("group")
        project.say("bob", "skip", {"rows": [0, 1]})
        project.next("bob"), project.next("bob", but=project.next("bob")["row"])
        page.evaluate("next()")
        expect(page.locator("#card h2")).to_contain_text("remaining rows were skipped")
        assert page.evaluate("window.hit ?? 0") == 0
