"""Pages that programs write are part of the site once they are there.

``reproduction?`` on a line of its own, in a table of contents, is ``reproduction`` if that page
exists and nothing if not, so that the site can be built before the programs have run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINE = re.compile(r"^([\w/-]+)\?\n", flags=re.MULTILINE)


def keep(app: Sphinx, docname: str, source: list[str]) -> None:
    """Keep the lines whose pages exist."""
    folder = Path(app.srcdir, docname).parent

    def line(found: re.Match[str]) -> str:
        return f"{found[1]}\n" if (folder / f"{found[1]}.md").exists() else ""

    if LINE.search(source[0]):
        app.env.optional_pages = {*getattr(app.env, "optional_pages", ()), docname}  # type: ignore
    source[0] = LINE.sub(line, source[0])


def again(_app: Sphinx, env: Any, *_sets: set[str]) -> list[str]:
    """Read these pages in every build: what they list may have come or gone."""
    return sorted(getattr(env, "optional_pages", set()) & env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at pages as they are read."""
    app.connect("source-read", keep)
    app.connect("env-get-outdated", again)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
