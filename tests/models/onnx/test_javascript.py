"""An exported model in Node and in a browser, by the example in examples/javascript."""

import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="graphs are written with onnx")
pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")

from plurilabel import AutoClassifier
from plurilabel.models import to_onnx
from tests.models.onnx.test_portfolio import LEARNERS, table

EXAMPLE = Path(__file__).parents[3] / "examples" / "javascript"
PACKAGES = EXAMPLE / "node_modules"

pytestmark = [
    pytest.mark.skipif(
        not (PACKAGES / "onnxruntime-web").is_dir(),
        reason="no onnxruntime-web: run `npm install` in examples/javascript",
    )
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example with a model, as someone would put it on a server."""
    folder = tmp_path_factory.mktemp("javascript")
    for name in ("index.html", "predict.mjs", "package.json"):
        shutil.copy(EXAMPLE / name, folder)
    (folder / "node_modules").symlink_to(PACKAGES)
    frame, Y = table(150)
    model = AutoClassifier(portfolio=LEARNERS, cv=2, random_state=0).fit(frame, Y)
    to_onnx(model, folder / "model.onnx")
    new = table(100, seed=1)[0]
    rows = json.loads(new.to_json(orient="records", date_format="iso", double_precision=15))
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    new["vector"] = [row["vector"] for row in rows]  # as JSON has them
    new["price"] = [np.nan if row["price"] is None else row["price"] for row in rows]
    return folder, model, new


def compare(said, model, new):
    names, sets = model.label_names_, model.predict(new)
    expected = [[names[j] for j in np.flatnonzero(row)] for row in sets]
    assert [one["labels"] for one in said] == expected
    scores = [[one["scores"][name] for name in names] for one in said]
    np.testing.assert_allclose(scores, model.predict_proba(new), rtol=0, atol=1e-5)


def test_node(folder):
    path, model, new = folder
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node")
    done = subprocess.run(
        [node, "predict.mjs", "model.onnx", "rows.json"],
        cwd=path, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120,
    )  # fmt: skip
    compare(json.loads(done.stdout), model, new)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_browser(folder):
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = next((path for name in names if (path := shutil.which(name))), None)
    if chromium is None:
        if os.environ.get("PLURILABEL_REQUIRE_BROWSER"):
            pytest.fail("PLURILABEL_REQUIRE_BROWSER is set, but there is no Chromium")
        pytest.skip("no Chromium: the model is not run in a browser")
    path, model, new = folder
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=os.fspath(path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with playwright.sync_playwright() as run:
            browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page, problems = browser.new_page(), []
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.wait_for_selector("#ask:enabled", timeout=60_000)
            rows = (path / "rows.json").read_text(encoding="utf-8")
            compare(page.evaluate("rows => window.ask(JSON.parse(rows))", rows), model, new)
            page.fill("#rows", json.dumps(json.loads(rows)[:3]))
            page.click("#ask")
            page.wait_for_selector("#answers li")
            shown = page.locator("#answers li").all_inner_texts()
            sets = [", ".join(model.label_names_[row == 1]) for row in model.predict(new[:3])]
            assert shown == [one or "no label" for one in sets]
            assert problems == []
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
