"""Summaries of the reference: every page ``api/<package>.md`` begins with a table of its names.

The names are those that the page documents: what follows ``:members:``, or all public names of the
package. Each comes with the first sentence of its docstring and a link.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

MODULE = re.compile(r"^\.\. (?:automodule|currentmodule):: (\S+)", flags=re.MULTILINE)
MEMBERS = re.compile(r"^ +:members:(.*)$", flags=re.MULTILINE)
EXCLUDED = re.compile(r"^ +:exclude-members:(.*)$", flags=re.MULTILINE)
SINGLE = re.compile(r"^\.\. (?:autoclass|autofunction|py:data):: (\S+)", flags=re.MULTILINE)
BLOCK = "```{eval-rst}"


def listed(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def documented(text: str) -> list[str]:
    """The names that a page documents, in the order of the page."""
    (module,) = MODULE.findall(text)
    names: list[str] = []
    for members in MEMBERS.findall(text):
        names += listed(members) or importlib.import_module(module).__all__
    left_out = {name for names in EXCLUDED.findall(text) for name in listed(names)}
    found = [name for name in [*names, *SINGLE.findall(text)] if name not in left_out]
    return list(dict.fromkeys(found))


def first_sentence(thing: Any) -> str:
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return re.split(r"(?<=[.?!])\s+(?=[A-Z:`])", " ".join(text.split()), maxsplit=1)[0]


def kind(thing: Any) -> str:
    """What a name stands for."""
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, Exception) else "class"
    return "function" if callable(thing) else "data"


ROLES = {"class": "class", "exception": "exc", "function": "func", "data": "data"}
TITLES = {"class": "Classes", "exception": "Errors", "function": "Functions", "data": "Constants"}


def data_sentence(text: str, name: str) -> str:
    """The first sentence of what the page itself says about a constant."""
    found = re.search(
        rf"^\.\. py:data:: {name}\n(?: +:.*\n)*\n((?: +\S.*\n)+)", text, re.MULTILINE
    )
    sentence = " ".join(found[1].split()) if found else ""
    return re.split(r"(?<=[.?!;])\s+(?=[A-Za-z])", sentence, maxsplit=1)[0].rstrip(";")


def table(text: str) -> str:
    """Tables of the classes, functions, errors and constants of a page."""
    module = importlib.import_module(MODULE.findall(text)[0])
    rows: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for name in documented(text):
        thing = getattr(module, name)
        what = kind(thing)
        told = data_sentence(text, name) if what == "data" else first_sentence(thing)
        if not told:  # an alias of a type: it has no entry of its own
            continue
        link = f":py:{ROLES[what]}:`~{module.__name__}.{name}`"
        rows[TITLES[what]] += [f"   * - {link}", f"     - {told}"]
    lines = [BLOCK]
    for title, entries in rows.items():
        if entries:
            lines += [".. list-table::", "   :class: summary", "   :header-rows: 1", ""]
            lines += [f"   * - {title}", "     -", *entries, ""]
    return "\n".join([*lines, "```"])


def summarise(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the table before what it summarises."""
    if docname.startswith("api/") and BLOCK in source[0]:
        source[0] = source[0].replace(BLOCK, f"{table(source[0])}\n\n{BLOCK}", 1)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at pages as they are read."""
    app.connect("source-read", summarise)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
