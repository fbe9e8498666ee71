"""Pieces of the page: tables, figures, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from plurilabel.report._svg import Figure


def table(
    first: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    caption: str,
    *,
    sortable: bool = False,
    style: str = "",
    texts: Sequence[str] = (),
) -> str:
    """A table in a box of its own that scrolls.

    Cells and caption are HTML, names are text. Columns named in ``texts`` start at the left.
    """
    heads = "".join(
        f"<th scope=col{' class=text' if name in texts else ''}>{_breakable(name)}</th>"
        for name in [first, *columns]
    )
    lines = "".join(
        f'<tr><th scope=row class=name title="{escape(name)}">{escape(name)}</th>'
        f"{''.join(cells)}</tr>"
        for name, cells in rows
    )
    kinds = f"{style} sortable" if sortable else style
    return (
        f'<div class="scroll" tabindex="0"><table class="{kinds.strip()}">'
        f"<caption><span>{caption}</span></caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def figure(drawing: Figure, *, wide: bool = False, titled: bool = True) -> str:
    """A plot with its title, legend and caption."""
    legend = "".join(f'<li class="{style}">{escape(name)}</li>' for style, name in drawing.legend)
    svg = f'<div class="scroll" tabindex="0">{drawing.svg}</div>' if wide else drawing.svg
    return (
        f"<figure{' class=wide' if wide else ''}>"
        + (f"<h4>{escape(drawing.title)}</h4>" if titled else "")
        + svg
        + (f'<ul class="legend">{legend}</ul>' if legend else "")
        + (f"<figcaption>{escape(drawing.caption)}</figcaption>" if drawing.caption else "")
        + "</figure>"
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of plain text; nothing for no text."""
    return f"<p{f' class={style}' if style else ''}>{escape(text)}</p>" if text else ""


def _breakable(name: str) -> str:
    """A head that may break where code has a joint, and keeps its arrow."""
    text = re.sub(r"([(_,/])(?=\w)", "\\1\u200b", name)
    return escape(re.sub(r" (?=[↑↓]$)", "\u00a0", text))


def number(value: float, figures: int) -> str:
    """A number with so many figures, without an exponent."""
    if not np.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    digits = max(0, figures - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{digits}f}"
