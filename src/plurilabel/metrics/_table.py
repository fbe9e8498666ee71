"""Results as text and as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for first, *others in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


def data_frame(columns: Mapping[str, Any], index: Sequence[str], index_name: str) -> Any:
    """A pandas data frame, or an error that says how to get pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install plurilabel[table]") from None
    return pd.DataFrame(columns, index=pd.Index(index, name=index_name))
