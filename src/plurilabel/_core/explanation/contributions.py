"""Explanations of scores: the shape that all of them share, and the arithmetic of parts.

An explanation of one instance divides the score of each label into a base and parts that add up,
one for each feature, word, neighbour, rule or previously predicted label. Learners implement one
hook for one row, ``_parts(x, given)``; without it, parts are found by occlusion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit

from plurilabel._core.compat import import_extra
from plurilabel._core.explanation.marks import MarkedText, Marker
from plurilabel._core.html import html_table
from plurilabel._core.words import display_width, filled

Floats = NDArray[np.float64]
# scales: what the parts of an explanation add up to
SCORE = "score"
LOG_ODDS = "log-odds"  # of the score, which is a probability
OCCLUSION = "change of the score when the part is replaced by its reference value"
OCCLUSION_LOG_ODDS = OCCLUSION.replace("score", "log-odds of the score")  # of a probability
LEFT_OUT = "change of the {} when the part is left out of the text"
SURELY = 1e-4  # probabilities closer to 0 or 1 count as this close: their log-odds have no end
MARKED = 3  # labels for which a notebook shows the text


class Given(NamedTuple):
    """Names and reference values of the features."""

    names: Sequence[str]
    reference: Floats | None = None

    def origin(self, d: int) -> Floats:
        """The reference of d inputs; those beyond the features, such as labels, have 0."""
        origin = np.zeros(d)
        if self.reference is not None:
            origin[: min(d, len(self.reference))] = self.reference[:d]
        return origin


def checked_given(names: Sequence[str], reference: Any, d: int) -> Given:
    """Names and reference of d features, checked for their number."""
    if len(names) != d:
        raise ValueError(f"feature_names must have {d} entries, one per feature, got {len(names)}")
    if reference is None:
        return Given(names)
    origin = np.asarray(reference, dtype=np.float64)
    if origin.shape != (d,):
        raise ValueError(f"reference must have shape ({d},), one per feature, got {origin.shape}")
    if not np.isfinite(origin).all():
        raise ValueError("reference must be finite, got NaN or infinity")
    return Given(names, origin)


class Explained:
    """Attributes shared by all explanations of one instance.

    Attributes
    ----------
    label_names : sequence of str
    scores : ndarray of shape (q,)
        Probabilities or decision values.
    base : ndarray of shape (q,)
        What each label begins with, before anything is known of the instance.
    part_names : sequence of str
        What the parts belong to: features, words, neighbours, rules, other labels.
    parts : ndarray of shape (s, q)
        What each adds for a label: it speaks for the label where it is positive.
    scales : tuple of str
        For each label, what base and parts add up to: ``"score"``, ``"log-odds"`` (of a score
        that is a probability), or a description of another quantity that decides the score.
    """

    label_names: Sequence[str]
    scores: Any
    base: Any
    parts: Any
    part_names: Any
    scales: Any

    @property
    def total(self) -> Floats:
        """Base and parts of each label, added up."""
        return self.base + self.parts.sum(axis=0)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """For each label, whether the parts add up to its score or the log-odds of it."""
        return np.array([scale in (SCORE, LOG_ODDS) for scale in self.scales], dtype=bool)

    def top(self, label: str | int, n: int = 5) -> list[tuple[str, float]]:
        """The parts that matter most for a label, strongest first; those of 0 are left out."""
        parts = self.parts[:, self._number(label)]
        order = np.argsort(-np.abs(parts), kind="stable")[:n]
        return [(str(self.part_names[i]), float(parts[i])) for i in order if parts[i] != 0]

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each part and a column for each label."""
        pd = import_extra("pandas", "to_frame", "table")
        index = pd.Index(list(self.part_names), name="part")
        return pd.DataFrame(self.parts, index=index, columns=list(self.label_names))

    def _number(self, label: str | int) -> int:
        names = list(self.label_names)
        if not isinstance(label, str):
            return range(len(names))[label]
        if label not in names:
            raise KeyError(f"no label {label!r}; there are {', '.join(names)}")
        return names.index(label)


@dataclass(frozen=True, eq=False)
class Contributions(Explained):
    """What speaks for and against each label of one instance.

    The attributes are those of :class:`Explained`, and ``text`` if the row is a text. Parts belong
    to features and, in chains and stacks, to ``"label: ..."``, or to training rows where a learner
    does not use single features; those that add nothing to any label are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance
    >>> X = pd.DataFrame({"sand": [5, 4, 1, 0], "snow": [0, 1, 2, 5]})
    >>> Y = pd.DataFrame({"beach": [1, 1, 0, 0], "winter": [0, 0, 0, 1]})
    >>> (why,) = BinaryRelevance(LogisticRegression()).fit(X, Y).explain(X[1:2])
    >>> print(why)
    label    score   base  what adds to it
    beach    0.820  -1.35  sand +3.27, snow -0.40
    winter   0.034  -2.59  sand -1.52, snow +0.76
    The parts add up to the log-odds of the score.
    >>> why["winter"]
    {'sand': -1.51..., 'snow': 0.75...}
    """

    label_names: Sequence[str]
    scores: Floats
    base: Floats
    part_names: tuple[str, ...]
    parts: Floats
    scales: tuple[str, ...]
    text: str | None = None

    def __getitem__(self, label: str | int) -> dict[str, float]:
        """The parts of one label, given by its name or number, the strongest first."""
        return dict(self.top(label, len(self.part_names)))

    def marked(self, label: str | int, text: str | None = None) -> MarkedText:
        """The text, with what each of its words adds to a label; notebooks show it in colours.

        Parameters
        ----------
        label : str or int
        text : str, default=None
            By default that of the row.
        """
        text = self.text if text is None else text
        if text is None:
            raise ValueError("text must be given: the row that was explained is not a single text")
        return Marker(self, text).marked(label)

    def _rows(self) -> Iterator[list[str]]:
        """Label, score, base and parts as text, the highest score first."""
        for j in np.argsort(-self.scores, kind="stable"):
            told = ", ".join(f"{name} {part:+.2f}" for name, part in self.top(int(j))) or "-"
            yield [str(self.label_names[j]), f"{self.scores[j]:.3f}", f"{self.base[j]:+.2f}", told]

    def __str__(self) -> str:
        width = max(len("label"), *(display_width(str(name)) for name in self.label_names))
        lines = [f"{'label':{width}}   score   base  what adds to it"]
        for label, score, base, told in self._rows():
            lines.append(f"{filled(label, width)}  {score:>6}  {base:>5}  {told}")
        return "\n".join([*lines, *map(_sentence, dict.fromkeys(self.scales))])

    def _repr_html_(self) -> str:
        head = ["label", "score", "base", "what adds to it"]
        note = " ".join(map(_sentence, dict.fromkeys(self.scales)))
        table = html_table(head, list(self._rows()), note=note, text=True)
        if self.text is None:
            return table
        first = np.argsort(-self.scores, kind="stable")[:MARKED]
        return table + "".join(self.marked(int(j))._repr_html_() for j in first)


class Explanations(list[Any]):
    """The explanations of several instances: a list that prints as they do, one after the other.

    Examples
    --------
    >>> from plurilabel import MLkNN
    >>> X, tags = [[0], [1], [2], [7], [8], [9]], [["sea"]] * 3 + [["sun"]] * 3
    >>> MLkNN(2).fit(X, tags).explain([[0], [9]])
    row 0
    label  score      odds  neighbours for (distance)
    sea    0.800         4  0 (0), 1 (1)
    sun    0.200      0.25  -
    <BLANKLINE>
    row 1
    label  score      odds  neighbours for (distance)
    sun    0.800         4  5 (0), 4 (1)
    sea    0.200      0.25  -
    """

    def __repr__(self) -> str:
        if len(self) == 1:
            return str(self[0])
        return "\n\n".join(f"row {i}\n{one}" for i, one in enumerate(self)) or "[]"

    def _repr_html_(self) -> str:
        parts = (f"<p>row {i}</p>{one._repr_html_()}" for i, one in enumerate(self))
        return "".join(parts) if len(self) != 1 else self[0]._repr_html_()


def _sentence(scale: str) -> str:
    if scale.startswith("change"):
        return f"Each part is the {scale}."
    words = {SCORE: "the score", LOG_ODDS: "the log-odds of the score"}
    return f"The parts add up to {words.get(scale, scale)}."


@dataclass(frozen=True, eq=False)
class Parts:
    """Base (q,) and parts (s, q) of one row, with the names of the parts and a scale per label."""

    names: list[str]
    values: Floats
    base: Floats
    scales: tuple[str, ...]

    def said_of(self, scores: Floats, label_names: Any) -> Contributions:
        """The explanation of these scores."""
        used = np.asarray(self.values.any(axis=1))
        names = tuple(name for name, some in zip(self.names, used) if some)
        labels = tuple(map(str, label_names))
        return Contributions(labels, scores, self.base, names, self.values[used], self.scales)

    def mapped(self, M: Any, scale: str | None = None) -> Parts:
        """Each new label a weighted sum of the old ones, by the columns of M (q, new)."""
        M = np.asarray(M, dtype=np.float64)
        scales = self.scales if scale is None else (scale,) * M.shape[1]
        return Parts(self.names, self.values @ M, self.base @ M, scales)

    def columns(self, labels: Any) -> Parts:
        """Some of the labels."""
        at = np.asarray(labels, dtype=np.intp)
        scales = tuple(self.scales[l] for l in at)
        return Parts(self.names, self.values[:, at], self.base[at], scales)

    def shifted(self, constant: Any) -> Parts:
        """A constant added to each label's base."""
        return replace(self, base=self.base + constant)

    def rescaled(self, scale: str) -> Parts:
        """The same numbers on another scale."""
        return replace(self, scales=(scale,) * len(self.base))

    def fixed(self, labels: Any, scores: Floats) -> Parts:
        """Labels whose score does not depend on the instance: all of it is base."""
        return Parts(
            self.names,
            np.where(labels, 0.0, self.values),
            np.where(labels, scores, self.base),
            tuple(SCORE if fix else scale for fix, scale in zip(labels, self.scales)),
        )

    def minus_cut(self, cut: Any) -> Parts:
        """Subtract a cut that is linear in the labels' values, such as ``LinearThreshold``."""
        if cut is None:
            return self
        values = self.values - (self.values @ cut.coef_)[:, np.newaxis]
        base = self.base - self.base @ cut.coef_ - cut.intercept_
        return replace(self, values=values, base=base)


def constant_parts(scores: Any) -> Parts:
    """Scores that depend on nothing."""
    scores = np.asarray(scores, dtype=np.float64)
    return Parts([], np.zeros((0, len(scores))), scores, (SCORE,) * len(scores))


def linear_parts(x: Any, coef: Any, intercept: Any, names: Sequence[str], scale: str) -> Parts:
    """Coefficient times feature, for one row x (1, d) and coefficients (q, d)."""
    at, values = stored(x)
    products = values[:, np.newaxis] * np.asarray(coef)[:, at].T
    base = np.broadcast_to(np.asarray(intercept, dtype=np.float64), products.shape[1:]).copy()
    return Parts([str(names[j]) for j in at], products, base, (scale,) * len(base))


def stored(x: Any) -> tuple[NDArray[np.intp], Floats]:
    """Columns and values of the non-zeros of one row, dense or CSR."""
    if sparse.issparse(x):
        row = sparse.csr_array(x)
        keep = row.data != 0
        return row.indices[keep].astype(np.intp), row.data[keep].astype(np.float64)
    at = np.flatnonzero(x[0])
    return at, np.asarray(x[0][at], dtype=np.float64)


def side_by_side(parts: Sequence[Parts]) -> Parts:
    """Concatenate the labels of several explanations."""
    places = _places(parts)
    widths = [len(part.base) for part in parts]
    values, end = np.zeros((len(places), sum(widths))), 0
    for part, width in zip(parts, widths):
        for name, row in zip(part.names, part.values):
            values[places[name], end : end + width] += row
        end += width
    base = np.concatenate([part.base for part in parts])
    scales = tuple(scale for part in parts for scale in part.scales)
    return Parts(list(places), values, base, scales)


def added(parts: Sequence[Parts], scales: tuple[str, ...]) -> Parts:
    """The sum of several explanations of the same labels."""
    places = _places(parts)
    values = np.zeros((len(places), len(scales)))
    for part in parts:
        for name, row in zip(part.names, part.values):
            values[places[name]] += row
    return Parts(list(places), values, np.sum([part.base for part in parts], axis=0), scales)


def scattered(part: Parts, labels: Any, weights: Any, q: int) -> Parts:
    """Place the labels of a part among q labels, each multiplied by its weight."""
    M = np.zeros((len(part.base), q))
    M[np.arange(len(part.base)), np.asarray(labels)] = weights
    scales = np.array([SCORE] * q, dtype=object)
    scales[np.asarray(labels)] = part.scales
    return replace(part.mapped(M), scales=tuple(scales))


def common_scale(scales: Sequence[str], otherwise: str) -> str:
    """``SCORE`` if all scales are that, else ``otherwise``."""
    return SCORE if set(scales) <= {SCORE} else otherwise


def _places(parts: Sequence[Parts]) -> dict[str, int]:
    names = dict.fromkeys(name for part in parts for name in part.names)
    return {name: i for i, name in enumerate(names)}


def occlusion(score: Callable[[Any], Any], x: Any, given: Given, method: str) -> Parts:
    """Changes of the scores when one feature at a time is replaced by its reference value."""

    def value(rows: Any) -> Floats:
        found = np.asarray(score(rows), dtype=np.float64)[0]
        # close to 0 and 1, probabilities themselves hardly change
        return log_odds(found, SURELY) if method == "predict_proba" else found

    # the base is the rest of the scores, so that base and parts add up
    origin = given.origin(x.shape[1])
    now = value(x)
    if sparse.issparse(x) and not origin.any():
        at = stored(x)[0]
    else:
        x = x.toarray() if sparse.issparse(x) else np.asarray(x)
        at = np.flatnonzero(x[0] != origin)
    values = np.empty((len(at), len(now)))
    for i, j in enumerate(at):  # one at a time: all copies of a wide row would be large
        other = x.tolil() if sparse.issparse(x) else x.copy()
        other[0, j] = origin[j]
        values[i] = now - value(sparse.csr_array(other) if sparse.issparse(x) else other)
    names = [str(given.names[j]) for j in at]
    scale = OCCLUSION_LOG_ODDS if method == "predict_proba" else OCCLUSION
    return Parts(names, values, now - values.sum(axis=0), (scale,) * len(now))


def log_odds(p: Any, least: float) -> Floats:
    """Log-odds of probabilities, none of them closer to 0 or 1 than ``least``."""
    return np.asarray(logit(np.clip(p, least, 1 - least)))
