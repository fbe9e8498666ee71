"""A figure that a notebook shows once. Imports matplotlib: import it where it is used."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure of its own, not pyplot's: no window, no global state.

    Without ``%matplotlib inline`` a notebook would print its name. With it there is still one
    picture, since pyplot does not know this figure.
    """

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=100, facecolor="white", bbox_inches="tight")
        return stream.getvalue()
