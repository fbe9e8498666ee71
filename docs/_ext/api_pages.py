"""The reference: a page ``api/<package>.md`` for every public package, made from its docstrings.

A page has the package's docstring, a table of its public names with their first sentences, and
their documentation. Estimators are documented under their address, ``plurilabel.Name``; learners
have pages of their own, and are only listed. ``api/index.md`` is the map of the library.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from plurilabel._core.roster import FAMILIES, estimators, learners

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from house_map import SRC, floors, map_table

SUBMODULES = ("models.mlflow", "serve.label_studio", "serve.labeling")
"""Public modules inside a package, with pages of their own."""

TITLES = {"class": "Classes", "exc": "Errors", "func": "Functions", "data": "Constants"}


def documented(package: str) -> list[str]:
    """The public names of a package; with the learners, those of families and base classes."""
    module = import_module(f"plurilabel.{package}")
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    if package == "learners":
        homes = {*FAMILIES, "_core.base"} - {"bags", "streams", "wrappers"}
        names += [name for name, home in estimators().items() if home in homes]
    return sorted(names, key=str.lower)


def role(thing: Any) -> str:
    """The role of a reference to a thing."""
    if inspect.isclass(thing):
        return "exc" if issubclass(thing, Exception) else "class"
    return "func" if inspect.isroutine(thing) else "data"


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    start = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s+(?=[A-Z:`])", start, maxsplit=1)[0]


def constant_doc(package: str, name: str) -> str:
    """The string below the assignment of a constant, somewhere in its package."""
    for path in sorted(SRC.joinpath(*package.split(".")).rglob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        for statement, text in pairwise(body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            if getattr(targets[0], "id", None) == name and isinstance(text, ast.Expr):
                return inspect.cleandoc(ast.literal_eval(text.value))
    return ""


def page(package: str) -> str:
    """The page of a package."""
    module = import_module(f"plurilabel.{package}")
    rows: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    details: list[str] = []
    for name in documented(package):
        if name in learners():
            entry = learners()[name].find()
            told = first_sentence(inspect.getdoc(entry) or "")
            rows["Classes"] += [f"   * - :doc:`{name} </learners/{name}>`", f"     - {told}"]
            continue
        home = "plurilabel" if name in estimators() else f"plurilabel.{package}"
        thing = getattr(import_module(home), name)
        kind = role(thing)
        text = constant_doc(package, name) if kind == "data" else inspect.getdoc(thing) or ""
        if not text:  # an alias of a type
            continue
        rows[TITLES[kind]] += [
            f"   * - :py:{kind}:`~{home}.{name}`",
            f"     - {first_sentence(text)}",
        ]
        details += [*entry_of(kind, home, name, text), ""]
    lines = [f"# plurilabel.{package}", "", "```{eval-rst}", f".. module:: plurilabel.{package}"]
    lines += ["", inspect.getdoc(module) or "", ""]
    for title, entries in rows.items():
        if entries:
            lines += [".. list-table::", "   :class: summary", "   :header-rows: 1", ""]
            lines += [f"   * - {title}", "     -", *entries, ""]
    return "\n".join([*lines, *details, "```", ""])


def entry_of(kind: str, home: str, name: str, text: str) -> list[str]:
    """The documentation of one name."""
    if kind == "data":
        body = [f"   {line}".rstrip() for line in text.splitlines()]
        return [f".. py:data:: {name}", f"   :module: {home}", "", *body]
    directive = {"class": "autoclass", "exc": "autoexception", "func": "autofunction"}[kind]
    members = [] if kind == "func" else ["   :members:"]
    # some displays have from_estimator from a base class, and a project most of its methods
    if name.endswith(("Display", "LabelProject")):
        members.append("   :inherited-members:")
    return [f".. {directive}:: {home}.{name}", *members]


def index() -> str:
    """The map of the library, with the table of contents."""
    pages = [name for floor in reversed(floors()) for name in floor if not name.startswith("_")]
    return "\n".join(
        [
            "# Reference",
            "",
            "Every estimator is `plurilabel.Name`; functions live in the package of their",
            "subject. Learners have [pages of their own](../learners/index.md), and so has the",
            "[command line](../commands.md). A package uses those on its own floor and below.",
            "",
            map_table(link="[`{0}`]({0}.md)"),
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *[name for name in pages if name != "cli"],
            *SUBMODULES,
            "```",
            "",
        ]
    )


def write_pages(app: Sphinx) -> None:
    """Write the pages where git ignores them; what has not changed is not touched."""
    folder = Path(app.srcdir, "api")
    folder.mkdir(exist_ok=True)
    public = [name for floor in floors() for name in floor if not name.startswith("_")]
    public = [*public, *SUBMODULES]
    texts = {name: page(name) for name in public if name != "cli"} | {"index": index()}
    for old in folder.glob("*.md"):
        if old.stem not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def put_map(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the map of the library in place of its marker."""
    if docname == "contributing/house":
        source[0] = source[0].replace("<!-- map -->", map_table())


def setup(app: Sphinx) -> dict[str, Any]:
    """Write them before anything is read."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", put_map)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
