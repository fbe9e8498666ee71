"""Small HTML tables for notebooks, in the colors of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0;color:inherit"
# gray that shows on white and on black; no other color, so that any theme will do
_CELL = "padding:.15em .7em;color:inherit;background:transparent;border-bottom:1px solid #8884"
_FIRST = f"{_CELL};text-align:left;min-width:8em;max-width:24em;overflow-wrap:anywhere"
_OTHER = f"{_CELL};text-align:right"


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", note: str = "",
    bold: Any = None, text: bool = False,
) -> str:  # fmt: skip
    """A table for a notebook: the first column to the left, the others to the right."""
    # The head may be empty, the rows hold plain text. ``title`` and ``note`` are above and below;
    # ``bold`` marks cells after the first; with ``text`` the last column is aligned left.
    last = len(rows[0]) - 1 if rows else len(head) - 1
    styles = [_FIRST if j == 0 or (text and j == last) else _OTHER for j in range(last + 1)]
    body = "".join(
        _row("td", row, styles, None if bold is None else bold[i]) for i, row in enumerate(rows)
    )
    parts = [
        f"<div>{escape(title)}</div>" if title else "",
        f'<table style="{_TABLE}">',
        f"<thead>{_row('th', head, styles)}</thead>" if head else "",
        f"<tbody>{body}</tbody></table>",
        f'<div style="opacity:.75">{escape(note)}</div>' if note else "",
    ]
    return f'<div style="max-width:100%;overflow-x:auto">{"".join(parts)}</div>'


def _row(tag: str, cells: Sequence[str], styles: Sequence[str], bold: Any = None) -> str:
    if bold is not None:
        weights = ["", *(";font-weight:700" if strong else "" for strong in bold)]
        styles = [style + weight for style, weight in zip(styles, weights)]
    inside = [
        f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in zip(cells, styles)
    ]
    return f"<tr>{''.join(inside)}</tr>"
