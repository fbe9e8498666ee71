"""A figure that notebooks show once. Imports matplotlib: import it where it is used."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure outside of pyplot: without a window or global state, shown exactly once."""

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=100, facecolor="white", bbox_inches="tight")
        return stream.getvalue()
