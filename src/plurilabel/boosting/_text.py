"""Rules and trees in words, and as a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plurilabel.boosting._adtree import ADTRule
from plurilabel.boosting._weak import WeakRule


def scores_text(values: NDArray[np.float64], labels: Sequence[str], most: int) -> str:
    """The labels with the largest scores, positive or negative: ``sport +1.3, politics -0.7``."""
    if not values.any():
        return "no opinion"
    largest = np.argsort(-np.abs(values), kind="stable")[:most]
    rest = len(values) - len(largest)
    shown = ", ".join(f"{labels[l]} {values[l]:+.2g}" for l in largest)
    return f"{shown}, {rest} more" if rest else shown


def rule_text(
    rule: WeakRule, number: int, names: Sequence[str], labels: Sequence[str], most: int
) -> str:
    """A weak rule: a line for each leaf that has an opinion."""
    at = {split.node: s for s, split in enumerate(rule.splits)}

    def leaves(node: int, path: list[str]) -> Iterator[str]:
        if node not in at:
            if rule.values[node].any():
                where = " and ".join(path) if path else "always"
                yield f"{where}: {scores_text(rule.values[node], labels, most)}"
            return
        s = at[node]
        condition = rule.splits[s].condition
        yield from leaves(2 * s + 1, [*path, condition.text(names)])
        yield from leaves(2 * s + 2, [*path, condition.text(names, holds=False)])

    lines = list(leaves(0, [])) or ["always: no opinion"]
    head = f"{number}. "
    return "\n".join((head if i == 0 else " " * len(head)) + line for i, line in enumerate(lines))


def tree_text(
    rules: Sequence[ADTRule], names: Sequence[str], labels: Sequence[str], most: int
) -> str:
    """An alternating decision tree: every line that applies adds its scores."""

    def below(node: int, indent: str) -> Iterator[str]:
        for t, rule in enumerate(rules):
            if rule.condition is None or rule.precondition != node:
                continue
            for child, holds, values in ((2 * t - 1, True, rule.yes), (2 * t, False, rule.no)):
                mark = f"({t})" if holds else " " * len(f"({t})")
                what = rule.condition.text(names, holds)
                yield f"{indent}{mark} {what}: {scores_text(values, labels, most)}"
                yield from below(child, indent + "|   ")

    return "\n".join([f"always: {scores_text(rules[0].yes, labels, most)}", *below(0, "|   ")])


def tree_dot(
    rules: Sequence[ADTRule], names: Sequence[str], labels: Sequence[str], most: int
) -> str:
    """An alternating decision tree in the language of Graphviz."""

    def prediction(node: int, values: NDArray[np.float64]) -> str:
        words = scores_text(values, labels, most).split(", ")
        return f'  p{node} [shape=ellipse, label="{_quoted(words)}"];'

    lines = ["digraph ADTree {", prediction(0, rules[0].yes)]
    for t, rule in enumerate(rules):
        if rule.condition is None:
            continue
        lines += [
            f'  s{t} [shape=box, label="{t}: {_quoted([rule.condition.text(names)])}"];',
            f"  p{rule.precondition} -> s{t} [style=dashed];",
            prediction(2 * t - 1, rule.yes),
            prediction(2 * t, rule.no),
            f'  s{t} -> p{2 * t - 1} [label="yes"];',
            f'  s{t} -> p{2 * t} [label="no"];',
        ]
    return "\n".join([*lines, "}"])


def _quoted(lines: Sequence[str]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return "\\n".join(escaped)
