"""The pages of the site: their code runs and prints what they show, their links are sound."""

import csv
import doctest
import html
import re
import shlex
import shutil
import sys
import types
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from plurilabel import datasets
from plurilabel._core.roster import learners

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FIGURES = ROOT / "benchmarks" / "results" / "learners.csv"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {"_build", "gallery"} & set(path.relative_to(DOCS).parts)
)
HOSTS = {"scikit-learn.org", "pynndescent.readthedocs.io", "www.dask.org"}
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CHEAP = {
    "describe",
    "embed",
    "fuse",
    "fit",
    "predict",
    "evaluate",
    "export",
    "tune",
    "compare",
    "stream",
}


def blocks(page):
    """Kind and text of the fenced blocks of a page, in order."""
    return [(kind.strip(), text) for kind, text in FENCE.findall(page.read_text("utf-8"))]


def names(pages):
    return [str(page.relative_to(DOCS)) for page in pages]


RUN = [
    page
    for page in PAGES
    if {"python", "sh"} & {kind for kind, _ in blocks(page)}
    and page.name != "neural.md"  # tests/neural/test_docs.py runs it
]


@pytest.mark.parametrize("page", RUN, ids=names(RUN))
def test_code_runs(page, tmp_path, monkeypatch, request, quick_portfolio):
    text = page.read_text("utf-8")
    if re.search(r'load\("(?!digits")', text):
        request.getfixturevalue("data_folder")
    for library in ("torch", "keras", "river", "dask", "onnxruntime", "transformers"):
        uses = re.search(rf"^(>>> )?(import|from) {library}\b", text, flags=re.MULTILINE)
        if uses or (library == "torch" and "plurilabel.learners.neural" in text):
            pytest.importorskip(library)
    if re.search(r"StaticEncoder\(|LabelDescriptions\(|tfidf\+static", text):
        pytest.importorskip("wordllama")
    if "plurilabel.serve import" in text or "plurilabel.serve.labeling" in text:
        pytest.importorskip("fastapi")
    imported = " ".join(re.findall(r"^(?:>>> )?from plurilabel import (.*)$", text, re.MULTILINE))
    for name in learners().keys() & set(re.findall(r"\w+", imported)):
        if learners()[name].needs:
            pytest.importorskip(learners()[name].needs)
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    # a module, so that classes defined on a page can be pickled
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for kind, code in blocks(page):
        if kind == "python" and code.lstrip().startswith(">>>"):
            check_session(code, module, page.name)
        elif kind == "python":
            exec(compile(code, page.name, "exec"), module.__dict__)
        elif kind == "sh":
            run_commands(code)


def check_session(code, module, name):
    """A block of prompts and answers: every answer must come out."""
    test = doctest.DocTestParser().get_doctest(code, module.__dict__, name, name, 0)
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=told.append, clear_globs=False)
    module.__dict__.update(test.globs)  # the parser works on a copy
    assert not runner.failures, "".join(told)


def run_commands(code):
    """The commands of a shell block that take no more than seconds; others must at least exist."""
    from click.testing import CliRunner

    from plurilabel.cli._main import COMMANDS
    from plurilabel.cli._main import plurilabel as program

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] != "plurilabel":
            continue
        assert words[1] in COMMANDS
        if words[1] in CHEAP:
            result = CliRunner().invoke(program, words[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}"


def test_a_wrong_answer_is_found():
    with pytest.raises(AssertionError, match="Expected"):
        check_session(">>> 1 + 1\n3\n", types.ModuleType("page"), "x.md")


def test_external_links_are_known():
    for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for url in re.findall(r"https?://[^\s)>\"'`]+", page.read_text("utf-8")):
            if urlsplit(url).hostname == "localhost":
                continue
            assert urlsplit(url).scheme == "https", f"{page.name}: {url}"
            assert urlsplit(url).hostname in HOSTS, f"{page.name}: {url}"


def test_every_learner_has_a_page_and_figures():
    folder = DOCS / "learners"
    pages = {path.stem for path in folder.glob("*.md")} - {"index"}
    with open(FIGURES, newline="") as stream:
        measured = list(csv.DictReader(stream))
    assert learners().keys() == pages >= {row["learner"] for row in measured}
    for name in pages:
        facts = (folder / f"{name}.md").read_text("utf-8").split("---\n")[1]
        named = {line.partition(": ")[0] for line in facts.splitlines()}
        assert {"use", "fit", "predict", "scores", "paper"} <= named, name
        assert named <= {"use", "fit", "predict", "scores", "paper", "published", "reproduction"}


@pytest.mark.parametrize(
    ("learner", "dataset"), [("MLkNN", "yeast"), ("CML", "emotions"), ("RAkEL", "emotions")]
)
def test_measured_figures_come_out(learner, dataset, data_folder, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.pages import learners as measure_learners

    with open(FIGURES, newline="") as stream:
        rows = {(row["learner"], row["dataset"]): row for row in csv.DictReader(stream)}
    found = measure_learners.measure([learner], dataset, n_jobs=None)
    for measure in measure_learners.MEASURES:
        shown = float(rows[learner, dataset][measure])
        tolerance = 0.02 if measure == "coverage" else 0.002
        assert found.means(measure)[0, 0] == pytest.approx(shown, abs=tolerance), measure


def test_table_of_datasets(data_folder):
    shown = {}
    for line in (DOCS / "data.md").read_text("utf-8").splitlines():
        found = re.match(r"\| `([\w-]+)`.*?\| ([\d,]+) \| ([\d,]+) \| (\d+) \| ([\d.]+) \|", line)
        if found:
            shown[found[1]] = (*(int(n.replace(",", "")) for n in found.group(2, 3, 4)), found[5])
    others = {"image-bags", "image-600", "wq", "sjaffe"}
    others |= {name for name in datasets.dataset_names() if name.startswith(("goe", "brighter"))}
    assert shown.keys() == set(datasets.dataset_names()) - others
    for name in ("digits", "yeast", "flags", "foodtruck", "genbase", "medical"):
        data = datasets.load(name)
        cardinality = f"{data.Y.sum() / data.Y.shape[0]:.3f}"
        assert shown[name] == (*data.X.shape, data.Y.shape[1], cardinality), name


def test_every_guide_has_a_card_with_a_picture(monkeypatch):
    index = (DOCS / "guides" / "index.md").read_text("utf-8")
    shown = re.findall(
        r"^:link: (\S+)\n.*\n:img-top: \.\./_static/guides/(\S+)\.svg$", index, re.M
    )
    guides = {path.stem for path in (DOCS / "guides").glob("*.md")} - {"index"}
    assert {link for link, _ in shown} == guides and all(link == name for link, name in shown)
    monkeypatch.syspath_prepend(str(DOCS))
    import make_cards

    for name in guides:
        path = DOCS / "_static" / "guides" / f"{name}.svg"
        assert path.read_text("utf-8") == make_cards.drawn(name)


@pytest.mark.parametrize("word", ["BERT", "embeddings", "LLM", "Excel", "ONNX"])
def test_search_finds(word):
    """Pages of the guide, not only of the reference, have the words that readers search for."""
    found = [page for page in PAGES if re.search(rf"\b{word}\b", page.read_text("utf-8"))]
    assert {"guides", "docs"} & {page.parent.name for page in found}


def test_link_checker(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import check_links

    (tmp_path / "a.html").write_text('<h1 id="top"><a href="b.html#here">b</a><a href="#top">')
    (tmp_path / "b.html").write_text('<p id="here"><img src="a.png"><a href="a.html#gone">')
    assert check_links.broken(tmp_path) == ["b.html: a.png", "b.html: a.html#gone"]


def test_page_checker(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import check_pages

    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "a.html").write_text('<dl class="py class"><script src="//cdn.x/y.js">')
    (tmp_path / "api" / "b.html").write_text(
        '<table class="docutils summary"><dl class="py class">'
        '<a href="https://scikit-learn.org">a link is no load</a>'
        '<link href="https://fonts.x/z.css" rel="stylesheet">'
    )
    (tmp_path / "s.css").write_text('@import "https://x/t.css"; a { background: url(b.png) }')
    assert check_pages.from_elsewhere(tmp_path) == [
        "api/a.html: //cdn.x/y.js", "api/b.html: https://fonts.x/z.css", "s.css: https://x/t.css",
    ]  # fmt: skip
    assert check_pages.without_summary(tmp_path) == ["api/a.html"]


def test_page_checker_finds_wide_pages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import check_pages

    browser = next(filter(None, map(shutil.which, check_pages.BROWSERS)), None)
    if not browser:
        pytest.skip("no Chromium")
    for name, width in (("fits", 300), ("phone", 700), ("desk", 1500)):
        page = f'<!doctype html><style>* {{ margin: 0 }}</style><div style="width: {width}px">x'
        (tmp_path / f"{name}.html").write_text(page)
    assert check_pages.too_wide(tmp_path, browser) == [
        "desk.html: 1500 of 375", "phone.html: 700 of 375", "desk.html: 1500 of 1280",
    ]  # fmt: skip


REFERENCE = [
    path.parent.name
    for path in sorted((ROOT / "src" / "plurilabel").glob("[a-z]*/__init__.py"))
    if path.parent.name != "cli"
]


@pytest.mark.parametrize(
    "package", [*REFERENCE, "models.mlflow", "serve.label_studio", "serve.labeling"]
)
def test_reference_begins_with_a_summary(package, monkeypatch):
    pytest.importorskip("sphinx")
    for library in ("torch", "river", "dask", "fastapi"):
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import api_pages

    text = api_pages.page(package)
    shown = re.findall(r"^   \* - :(?:py:\w+|doc):`~?([^`]+)`\n     - (.+)$", text, re.M)
    found = {re.split(r"[ .]", name.partition(" <")[0])[-1]: told for name, told in shown}
    aliases = {"MULTILABEL_CHECKS"}  # a constant without an entry of its own
    assert found.keys() | aliases == set(api_pages.documented(package)) | aliases
    assert all(told[-1] in ".?" or "MEASURES" in name for name, told in found.items()), found


def test_formulas_have_all_their_characters():
    """The font that the site ships draws every formula, so that no system font is needed."""
    pytest.importorskip("latex2mathml")
    from fontTools.ttLib import TTFont  # comes with matplotlib
    from latex2mathml.converter import convert

    font = TTFont(DOCS / "_static" / "fonts" / "stix-two-math.woff")
    assert "MATH" in font
    assert (DOCS / "_static" / "fonts" / "stix-two-math.woff").stat().st_size < 120_000
    known = font.getBestCmap()
    formulas = 0
    for page in PAGES:
        text = FENCE.sub("", page.read_text("utf-8"))
        text = re.sub(r"`[^`]*`", "", text)
        for _, formula in re.findall(r"(\$\$?)(.+?)\1", text, flags=re.DOTALL):
            formulas += 1
            drawn = re.sub(r"<[^>]*>", "", convert(formula))
            missing = {c for c in html.unescape(drawn) if ord(c) not in known and not c.isspace()}
            assert not missing, f"{page.name}: {formula}"
    assert formulas > 200


def test_every_example_has_a_thumbnail_of_its_own(monkeypatch, tmp_path):
    pytest.importorskip("sphinx_gallery")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import figures

    examples = {path.stem: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    assert figures.PARTS.keys() == examples.keys()
    for name, text in examples.items():
        assert f'# sphinx_gallery_thumbnail_path = "gallery/thumbnails/{name}.png"' in text
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    left.text(0, 0, "words")
    right.plot([1, 2], linewidth=1)
    figures.save_part(figure, figures.Part(0, (1,), wider=2), tmp_path / "thumbnail.png")
    assert figure.axes == [right] and right.lines[0].get_linewidth() == 2
    height, width, _ = plt.imread(tmp_path / "thumbnail.png").shape
    assert width / height == pytest.approx(figures.SHAPE, rel=0.02)
    plt.close("all")
