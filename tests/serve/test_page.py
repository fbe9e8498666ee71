"""The page in a real browser: wide and narrow, light and dark, by mouse and by keyboard."""

import json
import time

import pytest

from plurilabel import RCut, ThresholdClassifier
from plurilabel.models import Model
from tests.serve.problems import LABELS, linear, notes, points, records

pytest.importorskip("fastapi")
playwright = pytest.importorskip("playwright.sync_api")

from plurilabel.serve import Service, running  # noqa: E402

ROW = {"note": "a red dog", "length": 3.5, "place": "town", "day": "2024-03-17"}
CSV = "note,length,place,day\na red dog,3.5,town,2024-03-17\nblue cat,7,sea,2024-05-17\n"

# what WCAG asks of text, names of what can be used, and whether anything sticks out
MEASURE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba(getComputedStyle(document.body).backgroundColor);
  };
  const light = (colour) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const seen = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  const all = (what) => [...document.querySelectorAll(what)].filter(seen);
  const faint = [], nameless = [];
  for (const e of all("p, td, th, li, a, h1, h2, h3, dt, dd, label, button, span, b, output")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.push(`${e.tagName} ${e.className} ${e.textContent} ${contrast}`);
  }
  for (const e of all("button, a, input, select, textarea, [role=img], [role=region]")) {
    const label = e.labels && e.labels[0]?.textContent;
    const name = e.getAttribute("aria-label") || e.textContent.trim() || label?.trim();
    if (!name) nameless.push(e.outerHTML.slice(0, 80));
  }
  const out = (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll");
  return {
    wide: document.documentElement.scrollWidth, room: innerWidth, faint, nameless,
    outside: all("article, .panel, table, .near li").filter(out).length,
    dark: light(behind(document.body)) < 0.1,
  };
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    model, table = notes()
    table.to_csv(folder / "notes.csv", index=False)
    return Service(model, data=folder / "notes.csv", name="notes")


@pytest.fixture(scope="module")
def address(service):
    with running(service) as address:
        yield address


@pytest.fixture
def visit(browser, address):
    """Opens a view; what went wrong there is an error at the end."""
    contexts, problems = [], []

    def visit(view="ask", width=1280, colours="light", base=address, hash=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=colours, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda said: problems.append(said.text) if said.type == "error" else None
        )
        page.on(
            "request",
            lambda request: (
                request.url.startswith((base, "data:")) or problems.append(request.url)
            ),
        )
        page.goto(f"{base}/#{hash or view}")
        page.wait_for_selector(f"body[data-view={view}]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [p for p in problems if "status of 422" not in p] == []


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (375, "dark")])
def test_every_view_is_sound(visit, width, colours):
    page = visit("ask", width, colours)
    page.fill("#rows", CSV)
    page.click("button >> text=Predict")
    page.click("#answers article >> text=Why?")
    page.wait_for_selector(".near li")
    for view in ("ask", "browse", "pairs", "model"):
        page.click(f".views a[href='#{view}']")
        page.wait_for_selector(f"body[data-view={view}]")
        assert page.locator(f"section#{view} h2").first.is_visible()
        found = page.evaluate(MEASURE)
        assert found["wide"] <= found["room"] == width, view
        assert found["faint"] == found["nameless"] == [], view
        assert found["outside"] == 0, view
        assert found["dark"] == (colours == "dark")
    assert page.title() == "Model – notes"


def test_ask_what_if_why_correct_and_undo(visit, service):
    before = service.version
    page = visit("ask", 375, "light")
    page.fill("#rows", CSV.replace("3.5", "long"))
    page.click("button >> text=Predict")
    error = page.locator("#ask-error")
    playwright.expect(error).to_contain_text("'length'")
    playwright.expect(error).to_contain_text("expected a number, got 'long'")
    page.fill("#rows", CSV)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # on the button
    cards = page.locator("#answers article")
    playwright.expect(cards).to_have_count(2)
    switches = cards.nth(0).get_by_role("switch")
    playwright.expect(switches).to_have_count(2)
    # everything is above a threshold of 0, nothing above 1; the prediction stays
    ticked = cards.nth(0).locator("[aria-checked=true]")
    before_slider, figures = ticked.count(), page.locator(".figures-now").inner_text()
    what_if = cards.nth(0).locator(".what-if")
    playwright.expect(what_if).to_have_count(0)
    slider = page.get_by_role("slider", name="Preview")
    slider.focus()
    page.keyboard.press("Home")
    playwright.expect(what_if).to_have_text("Above 0.00: cat, dog")
    playwright.expect(page.locator(".figures-now")).to_contain_text("Recall1.00")
    page.keyboard.press("End")
    playwright.expect(what_if).to_have_text("Above 1.00: no label")
    assert ticked.count() == before_slider
    page.click("text=Reset")
    playwright.expect(page.locator(".figures-now")).to_have_text(figures.replace("\n", ""))
    playwright.expect(what_if).to_have_count(0)
    cards.nth(0).get_by_role("button", name="Why?").click()
    near = cards.nth(0).locator(".near > li")
    playwright.expect(near).to_have_count(3)
    playwright.expect(near.first).to_contain_text("text: red, text: dog")
    cards.nth(0).get_by_role("switch", name="cat").click()
    playwright.expect(page.locator("#version")).to_have_text(f"version {before + 1}")
    playwright.expect(cards.nth(0).locator(".note.done")).to_have_text("corrected")
    playwright.expect(cards.nth(0).locator(".delta").first).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator("#version")).to_have_text(f"version {before + 2}")
    assert service.now.model.learner.Y_.shape[0] == 18


def test_labels_ticked_and_sent_are_those_of_predict(visit):
    X, Y = points(90)
    strategy = RCut(2)
    model = ThresholdClassifier(linear(), strategy).fit(X, Y)
    rows = records(X[:20])
    predicted = model.predict(X[:20])
    # not the labels above 0.5
    assert (predicted != (model.predict_proba(X[:20]) > 0.5)).any()
    sent = []
    with running(Service(Model.of(model))) as address:
        page = visit("ask", base=address)
        page.on(
            "request",
            lambda request: "feedback" in request.url and sent.append(request.post_data_json),
        )
        page.fill("#rows", json.dumps(rows))
        page.click("button >> text=Predict")
        cards = page.locator("#answers article")
        playwright.expect(cards).to_have_count(20)
        page.get_by_role("slider", name="Preview").focus()
        page.keyboard.press("Home")
        playwright.expect(page.locator(".what-if")).to_have_count(20)
        for i in range(20):
            ticked = cards.nth(i).locator("[aria-checked=true]").all()
            names = {switch.get_attribute("data-label") for switch in ticked}
            assert names == {name for name, has in zip(LABELS, predicted[i]) if has}
        cards.nth(3).get_by_role("switch", name="snow").click()
        playwright.expect(page.locator("#toast")).to_contain_text("Saved")
    wanted = predicted[3].copy()
    wanted[LABELS.index("snow")] ^= 1
    (correction,) = sent[0]["corrections"]
    assert correction["labels"] == [name for name, has in zip(LABELS, wanted) if has]


def test_browse_filter_and_correct(visit, service):
    page = visit("browse")
    found = page.locator("#found")
    playwright.expect(found).to_contain_text("18 rows")
    page.locator("[name=label]").select_option("dog")
    page.locator("[name=having]").select_option("with")
    playwright.expect(found).to_contain_text("9 rows")
    page.get_by_label("Search").fill("some dog")
    playwright.expect(found).to_contain_text("3 rows")
    card = page.locator("#rows-found article").first
    dog = card.get_by_role("switch", name="dog")
    playwright.expect(dog).to_have_attribute("aria-checked", "true")
    dog.focus()
    page.keyboard.press("Space")
    playwright.expect(dog).to_have_attribute("aria-checked", "false")
    playwright.expect(page.locator("#toast")).to_contain_text("Learned")
    row = int(card.locator("header b").inner_text().split()[1])
    assert service.labels_of(row) == []
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator("#toast")).to_contain_text("Undone")
    assert service.labels_of(row) == ["dog"]


def test_the_token_comes_with_the_address(visit):
    model, _ = notes()
    with running(Service(model), token="s3cret") as address:
        page = visit("ask", base=address, hash="token=s3cret")
        assert page.url == f"{address}/"
        playwright.expect(page.locator("#name")).not_to_have_text("…")


def test_a_slow_curve_does_not_hold_up_the_page(visit, monkeypatch):
    from plurilabel.serve._insight import Insight

    def slow(self, label=None):
        time.sleep(2)
        return cuts(self, label)

    cuts = Insight.cuts
    monkeypatch.setattr(Insight, "cuts", slow)
    model, _ = notes()
    with running(Service(model)) as address:
        page = visit("ask", base=address)
        assert page.locator(".figures-now").count() == 0
        playwright.expect(page.locator("#cut-panel")).to_contain_text("Computing precision")
        page.fill("#rows", CSV)
        page.click("button >> text=Predict")
        playwright.expect(page.locator("#answers article")).to_have_count(2)
        with page.expect_download() as saved:
            page.click("text=Save the predictions")
        lines = saved.value.path().read_text().splitlines()
        assert lines[0] == '"note","length","place","day","labels","score: cat","score: dog"'
        assert len(lines) == 3 and lines[1].startswith('"a red dog","3.5","town","2024-03-17"')
        playwright.expect(page.locator(".figures-now")).to_contain_text("Precision")


def test_open_pages_follow_corrections_of_others(visit, service):
    page = visit("model")
    before = service.version
    done = service.correct([{"row": 2, "labels": ["dog"]}])
    playwright.expect(page.locator("#version")).to_have_text(f"version {before + 1}")
    playwright.expect(page.locator("#history")).to_contain_text("dog")
    service.undo(done["corrections"][0]["id"])
