"""River, where it is installed: its protocol, and its parts that learners are built from."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

HAS_RIVER = find_spec("river") is not None

if TYPE_CHECKING:

    class RiverClassifier:
        """River's base class of multi-label classifiers; an empty one without river."""
else:
    if HAS_RIVER:
        from river.base import MultiLabelClassifier as RiverClassifier
    else:

        class RiverClassifier:
            """River's base class of multi-label classifiers; an empty one without river."""


def import_river(module: str, user: str) -> Any:
    """A module of river, or an error that names the extra.

    Parameters
    ----------
    module : str
        Such as ``"drift"``.
    user : str
        What needs it.
    """
    try:
        return import_module(f"river.{module}")
    except ImportError:
        raise ImportError(
            f"{user} needs river: install it with `pip install 'plurilabel[streams]'`"
        ) from None
