"""The report in a real browser: wide and narrow, light and dark."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

from plurilabel.evaluation import write_report
from tests.evaluation.report.example_results import example_results

# The page measures itself and tells the page around it, whose text the browser prints. It lies in
# a frame because windows are never narrower than some 500 pixels.
EARLY = """<script>
const problems = [];
addEventListener("error", (event) => problems.push(String(event.message || event.target)), true);
console.error = (...words) => problems.push(words.join(" "));
</script>"""
LATE = """<script>
function measure() {
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
    return [255, 255, 255, 255];
  };
  const light = (colour) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const contrast = (element, ink) => {
    const [a, b] = [light(rgba(ink)), light(behind(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  for (const part of document.querySelectorAll("details")) part.open = true;
  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 20 && box.height > 10;
  };
  const all = (what) => [...document.querySelectorAll(what)];
  const texts = all("p, td, th, caption, li, a, h1, h2, h3, h4, dt, dd, figcaption, summary, pre");
  const table = all("table.sortable")[0];
  const rows = () => [...table.tBodies[0].rows];
  const column = () => rows().map((row) => parseFloat(row.cells[1].textContent));
  const before = column();
  const button = table.tHead.rows[0].cells[1].querySelector("button");
  button.click();
  const up = column();
  button.click();
  return {
    width: innerWidth,
    scrollWidth: document.documentElement.scrollWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    page: light(behind(document.body)),
    tables: all("table").length,
    drawings: all("svg").length,
    hidden: all("table, svg").filter((e) => !seen(e)).length,
    sticking_out: all(".scroll, figure, p, pre, dl, details").filter(
      (e) => e.getBoundingClientRect().right > innerWidth + 1).length,
    worst: Math.min(...texts.map((e) => contrast(e, getComputedStyle(e).color))),
    worst_drawn: Math.min(...all("svg text").map((e) => contrast(e, getComputedStyle(e).fill))),
    faintest: Math.min(...all("svg .line").map((e) => contrast(e, getComputedStyle(e).stroke))),
    smallest: Math.min(...all("svg text").map((e) => e.getBoundingClientRect().height)),
    requests: performance.getEntriesByType("resource").length,
    sorted: [before, up, column(), table.tHead.rows[0].cells[1].getAttribute("aria-sort")],
    problems,
  };
}
addEventListener("load", () => {
  let found;
  try { found = measure(); } catch (error) { found = {problems: [String(error.stack)]}; }
  parent.postMessage(JSON.stringify(found), "*");
});
</script>"""
AROUND = """<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<pre id="measured"></pre>
<script>
addEventListener("message", (event) => {
  document.getElementById("measured").textContent = event.data;
});
</script>
<iframe src="measured.html" style="width: WIDTHpx; height: 900px; border: 0"></iframe>"""

COLOURS = {"light": "preferredColorScheme=1", "dark": "preferredColorScheme=0"}


@pytest.fixture(scope="module")
def browser():
    """A Chromium; the tests are skipped where there is none, unless one is required."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found:
        return found
    if os.environ.get("PLURILABEL_REQUIRE_BROWSER"):
        pytest.fail(f"PLURILABEL_REQUIRE_BROWSER is set, but there is none of {', '.join(names)}")
    pytest.skip("no Chromium: the report is not opened in a browser")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with everything in it, and the script that measures it."""
    folder = tmp_path_factory.mktemp("report")
    results = example_results(5, 9, 2, 40)
    for cell in results.cells:
        if cell["learner"] == "RAkEL" and cell["dataset"] == "data1":
            cell.update(status="timeout", error="took longer than 5 s " * 12, scores={})
    text = write_report(results, folder, formats=["html"])["html"].read_text(encoding="utf-8")
    text = text.replace("<head>", f"<head>{EARLY}", 1).replace("</body>", f"{LATE}</body>", 1)
    (folder / "measured.html").write_text(text, encoding="utf-8")
    return folder


def look(browser, folder, width, colours, profile):
    around = folder / f"{width}.html"
    around.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
    command = [
        browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", f"--user-data-dir={profile}", "--window-size=1400,1000",
        f"--blink-settings={COLOURS[colours]}", "--virtual-time-budget=5000", "--dump-dom",
        around.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="measured">(.+?)</pre>', done.stdout, flags=re.S)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_report_in_the_browser(browser, page, width, colours, tmp_path):
    found = look(browser, page, width, colours, tmp_path / "profile")
    assert found["problems"] == []
    assert found["requests"] == 0
    assert found["width"] == width
    assert found["dark"] == (colours == "dark")
    assert (found["page"] < 0.05) == found["dark"]
    # the page does not scroll sideways: wide tables do so in boxes of their own
    assert found["scrollWidth"] <= found["width"]
    assert found["sticking_out"] == 0
    assert found["tables"] > 10
    assert found["drawings"] == 8 + 5 * 2  # diagrams, and two charts of each dataset
    assert found["hidden"] == 0
    # what WCAG asks of text, and of lines that carry meaning
    assert found["worst"] >= 4.5
    assert found["worst_drawn"] >= 4.5
    assert found["faintest"] >= 3
    assert found["smallest"] >= 9
    before, up, down, state = found["sorted"]
    assert state == "descending"
    numbers = sorted(value for value in before if value is not None)
    assert [value for value in up if value is not None] == numbers
    assert [value for value in down if value is not None] == numbers[::-1]
    assert up[len(numbers) :] == [None] * (len(up) - len(numbers))  # what is no number stays last
