"""The critical-difference diagram of the report."""

from __future__ import annotations

from html import escape

import numpy as np

from plurilabel.report._svg import Figure, shortened, wrap
from plurilabel.stats import Nemenyi, cd_layout


def critical_difference(test: Nemenyi, title: str) -> Figure:
    """Average ranks; a bar joins learners that do not differ."""
    layout = cd_layout(test.average_ranks, test.critical_difference)
    names = [shortened(name, 28) for name in test.names]
    side = 30 + 7.4 * max(len(name) for name in names)
    across = max(260.0, 20.0 * (layout.high - layout.low))
    width = across + 2 * side
    top, first_name = 56, 56 + 14 + 9 * layout.rows + 20

    def px(rank: float) -> float:
        return side + (rank - layout.low) / (layout.high - layout.low) * across

    cd = test.critical_difference
    parts = [f'<path class="axis" d="M{px(layout.low):.1f} {top}H{px(layout.high):.1f}"/>']
    step = 1 if layout.high - layout.low <= 14 else 2
    for tick in range(layout.low, layout.high + 1, step):
        parts.append(f'<path class="axis" d="M{px(tick):.1f} {top}v-5"/>')
        parts.append(_text(px(tick), top - 9, str(tick), "middle", "tick"))
    span = min(px(layout.low + cd), width - 4)
    cut = "" if px(layout.low + cd) <= width - 4 else " (longer than the axis)"
    parts.append(f'<path class="axis" d="M{px(layout.low):.1f} 20v-4v8v-4H{span:.1f}v-4v8"/>')
    parts.append(_text(px(layout.low) + 6, 12, f"CD = {cd:.2f}{cut}", "start", "tick"))
    for first, last, row in layout.bars:
        y = top + 12 + 9 * row
        parts.append(f'<path class="clique" d="M{px(first) - 3:.1f} {y}H{px(last) + 3:.1f}"/>')
    for j, rank, row, where in layout.labels:
        y = first_name + 20 * row
        end, anchor, out = (
            (side - 16, "end", -5) if where == "left" else (width - side + 16, "start", 5)
        )
        parts.append(f'<path class="stem" d="M{px(rank):.1f} {top}V{y}H{end:.1f}"/>')
        parts.append(_text(end + out, y + 4, names[j], anchor))
    height = first_name + 20 * max(row for _, _, row, _ in layout.labels) + 12
    order = np.argsort(test.average_ranks, kind="stable")
    ranked = [f"{test.names[j]} {test.average_ranks[j]:.2f}" for j in order]
    says = f"Average ranks by {title}: {', '.join(ranked)}. Critical difference {cd:.2f}."
    return Figure(title, wrap(width, height, says, parts, f' style="width:{width:.0f}px"'))


def _text(px: float, py: float, text: str, anchor: str, style: str = "") -> str:
    return (
        f'<text class="{style}" x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
