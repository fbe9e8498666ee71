"""A rule: what must hold, and the labels that then follow, ranked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabelRule:
    """A condition and the labels that follow from it.

    Attributes
    ----------
    items : tuple of int
        The items of the condition, by their numbers.
    labels : tuple of int
        The labels, the one with the highest support first.
    supports : tuple of int
        The training instances that have the condition and each label.
    confidences : tuple of float
        The part of the instances with the condition that have each label.
    """

    items: tuple[int, ...]
    labels: tuple[int, ...]
    supports: tuple[int, ...]
    confidences: tuple[float, ...]
