"""Pages of measured figures, made from the stored results when the site is built."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]


def write_pages(app: Sphinx) -> None:
    """Write the pages and their plots beside the other sources, where git ignores them."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.harness.page import write_page
    from benchmarks.papers.page import draw_figures

    write_page(
        json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text()), Path(app.srcdir)
    )
    draw_figures(app.srcdir)


def setup(app: Sphinx) -> dict[str, Any]:
    """Write them before anything is read."""
    app.connect("builder-inited", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
