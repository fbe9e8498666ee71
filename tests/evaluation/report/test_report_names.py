"""Long, unbreakable and East Asian names in the report: nothing overlaps, no table widens."""

import json

import pytest

from plurilabel.evaluation import write_report
from plurilabel.evaluation._report._report import breakable
from tests.evaluation.report.example_results import LEARNERS as MANY
from tests.evaluation.report.example_results import example_results
from tests.evaluation.report.test_report_browser import browser, look  # noqa: F401

LEARNERS = [
    "MLkNN(n_neighbors=5)", "MLkNN(n_neighbors=12)", "海边的日落和沙滩上的脚印学习器", "RAkEL",
    "EnsembleOfClassifierChains(base=LogisticRegression)", "HOMER", "다중레이블학습기",
]  # fmt: skip
SHORT = [f"data{i}" for i in range(6)]
LONG = [f"{'averyveryverylongname' * 4}{i}" for i in range(4)] + ["海" * 40, "a-b c " * 20]
LATE = """<script>
function measure() {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const overlaps = [];
  for (const svg of all("svg")) {
    const texts = all("text", svg).map((e) => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([name, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top + 3 < b.bottom - 3
          && b.top + 3 < a.bottom - 3) overlaps.push([name, other]);
    }));
    const box = svg.getBoundingClientRect();
    for (const [name, a] of texts)
      if (a.left < box.left - 2 || a.right > box.right + 2) overlaps.push([name, "edge"]);
  }
  for (const e of all("thead th"))
    if (e.scrollWidth > e.clientWidth + 1) overlaps.push([e.textContent, "next head"]);
  return {
    overlaps, scrollWidth: document.documentElement.scrollWidth, width: innerWidth,
    heads: Math.max(...all("thead th").map((e) => e.getBoundingClientRect().width)),
    tables: all("table").map((e) => e.getBoundingClientRect().width),
  };
}
addEventListener("load", () => {
  let found;
  try { found = measure(); } catch (error) { found = {problems: [String(error.stack)]}; }
  parent.postMessage(JSON.stringify(found), "*");
});
</script>"""


def measured(browser, folder, names, width, learners=LEARNERS, spread=0.01):  # noqa: F811
    """What the browser finds on the page of a comparison of datasets with these names."""
    results = example_results(6, folds=2, labels=40, names=learners, spread=spread)
    text = json.dumps([results.plan, results.cells], ensure_ascii=False)
    for short, name in zip(SHORT, names):
        text = text.replace(f'"{short}"', json.dumps(name, ensure_ascii=False))
    plan, cells = json.loads(text)
    folder.mkdir()
    page = write_report(type(results)(plan, cells), folder, formats=["html"])["html"]
    html = page.read_text(encoding="utf-8").replace("</body>", f"{LATE}</body>", 1)
    (folder / "measured.html").write_text(html, encoding="utf-8")
    return look(browser, folder, width, "light", folder / "profile")


def test_long_names_of_datasets_do_not_widen_tables(browser, tmp_path):  # noqa: F811
    short = measured(browser, tmp_path / "short", SHORT, 1280)
    long = measured(browser, tmp_path / "long", LONG, 1280)
    for found in (short, long):
        assert found["overlaps"] == []
        assert found["scrollWidth"] <= found["width"]
    assert long["heads"] <= short["heads"] + 1
    # of the table of datasets the first column holds their names, up to 20 rem
    for a, b in zip(short["tables"], long["tables"]):
        assert b <= a + 320


@pytest.mark.parametrize(
    ("learners", "spread"),
    [(LEARNERS, 0.01), ([f"M{i}" for i in range(25)], 0.05), (MANY, 0.01)],
    ids=["east asian", "capitals", "many"],
)
def test_names_in_plots_do_not_overlap_on_a_phone(browser, tmp_path, learners, spread):  # noqa: F811
    found = measured(browser, tmp_path / "page", SHORT, 360, learners, spread)
    assert found["overlaps"] == []
    assert found["scrollWidth"] <= found["width"]


def test_where_names_may_break():
    found = [breakable(name).split("\u200b") for name in ("MLkNN(n=5)", "ClassifierChain")]
    assert found == [["MLkNN(", "n=5)"], ["Classifier", "Chain"]]
    assert breakable("a" * 20).split("\u200b") == ["a" * 12, "a" * 8]
