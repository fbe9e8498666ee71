"""Public addresses: a class is known by the package that offers it, not by its private file.

A pickle, a model file or a finished comparison holds the module of each class in it. With
``plurilabel.lazy.MLkNN`` there instead of ``plurilabel.lazy._mlknn.MLkNN``, private files can be
moved without breaking what users have saved.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def publish(package: dict[str, Any]) -> None:
    """Set ``__module__`` of what a package has imported from private modules to the package.

    Parameters
    ----------
    package : dict
        The ``globals()`` of a package's ``__init__.py``, after its imports.
    """
    name = package["__name__"]
    for key, value in package.items():
        if not isinstance(value, type | FunctionType):
            continue
        ours = value.__module__.startswith("plurilabel.")  # an alias may stand for typing.Any
        if ours and (value.__module__.startswith(f"{name}._") or key in package["__all__"]):
            value.__module__ = name
