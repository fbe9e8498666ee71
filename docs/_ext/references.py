"""References in docstrings: short names inside the library, and scikit-learn's pages.

``:class:`MLkNN``` in any docstring means the one object of that name that is documented, wherever
it lives. ``:class:`sklearn.svm.SVC``` becomes a link made from the name, without asking the
network for an inventory.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

SKLEARN = "https://scikit-learn.org/stable/modules/generated/{}.html"


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """What Sphinx did not find, or None."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if target.startswith("sklearn.") and target.count(".") >= 2:
        return nodes.reference("", "", content, refuri=SKLEARN.format(target), internal=False)
    objects = env.domains["py"].objects  # type: ignore[attr-defined]
    tail = target.removeprefix("plurilabel.")
    found = {
        name: entry
        for name, entry in objects.items()
        if name == target or name.endswith("." + tail) or name.endswith("." + tail.split(".")[-1])
    }
    # of several the one whose path is written as in the text
    exact = {name: entry for name, entry in found.items() if name.endswith("." + tail)}
    for candidates in (exact, found):
        if len(candidates) == 1:
            (entry,) = candidates.values()
            return make_refnode(
                app.builder, node["refdoc"], entry.docname, entry.node_id, content, target
            )
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Be asked last."""
    app.connect("missing-reference", resolve, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
