"""Formulas as MathML, which browsers draw themselves: no script, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

NAME = re.compile(r"(<mi>(?:exp|ln|log)</mi>)")
BAR = re.compile(r"<mo[^>]*>(&#x0007C;|&#x02016;)</mo>")


def mathml(formula: str, display: str) -> str:
    """A formula with bars close to what they enclose, and room around names and colons."""
    text = BAR.sub(
        r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', convert(formula, display=display)
    )
    text = NAME.sub(r'<mspace width="0.17em"/>\1', text)
    return text.replace("<mi>:</mi>", '<mo lspace="0.25em" rspace="0.25em">:</mo>')


def inline(self: Any, node: nodes.math) -> None:
    """A formula in a line of text."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """A formula of its own."""
    formula = mathml(node.astext(), "block")
    self.body.append(f'<div class="math-wrapper">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
