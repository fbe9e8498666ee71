"""A project: rows that people label, and the models that learn from them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel import labeling
from plurilabel._core.words import counted
from plurilabel.inspection import find_label_issues
from plurilabel.neighbors import ExactIndex
from plurilabel.serve._answers import holds
from plurilabel.serve._row_reader import BadInput
from plurilabel.serve.labeling import _figures as figures
from plurilabel.serve.labeling._annotated import checked_name
from plurilabel.serve.labeling._curve import drawn
from plurilabel.serve.labeling._modeled import ModeledRows

AUDITS = 5  # one row in so many is drawn at random
SHARED = 10  # one row in so many is one that another person has answered
SPREAD = 100  # rows to begin with
POOL = 4000  # rows, drawn at random, whose density is known
CANDIDATES = 2000  # rows among which the next one is chosen
LEASE = 600.0  # seconds for which a row is kept for a person
SIMILAR = 12
LISTS = (
    "answered", "conflicts", "flagged", "commented", "skipped", "uncertain", "doubtful", "before",
)  # fmt: skip


class LabelProject(ModeledRows):
    """Rows to label, what people have said about them, and models that suggest labels.

    All that people say is on disk before it is acknowledged, in a log that is only appended to;
    a project that is opened again with the same data is in the same state. A nearest-neighbor
    model learns every answer at once; :func:`plurilabel.models.train` trains better ones in the
    background.

    Parameters
    ----------
    data : path, data frame, Dataset or sequence of texts
        The rows. Columns of paths or addresses of images are shown as images; to learn from
        them, give ``embeddings``.
    labels : sequence of str, default=()
        Labels to begin with; more can be added.
    store : path, default=":memory:"
        SQLite file for all that is said. By default it is lost when the project is closed.
    name : str, default=None
        By default that of the file.
    text, categorical, drop : str or sequence of str, default=None
        Columns of text, of categories, and to leave out, as for :class:`~plurilabel.TableEncoder`.
    learner : str, default=None
        Learner of the models in the background; by default an automatic choice.
    quick : bool, default=True
        As for :func:`plurilabel.models.train`.
    background : bool, default=True
        Whether to train models in the background.
    random_state : int, default=0
        Seed of the random draws of a new project; stored with the answers.
    **reading : dict
        ``sep``, ``decimal``, ``sheet``, ``format`` and ``embeddings``, as for
        :func:`plurilabel.io.read_table`.

    Examples
    --------
    >>> from plurilabel.serve.labeling import LabelProject
    >>> texts = ["a red dog", "the blue sea", "red sun", "dogs at sea"]
    >>> project = LabelProject(texts, labels=["animal", "water"], background=False)
    >>> row = project.next("ann")["row"]
    >>> project.say("ann", "answer", {"rows": [row], "labels": ["animal"]})["answered"]
    1
    >>> project.say("ann", "rename", {"label": "water", "name": "sea"})["version"]
    4
    >>> project.labels_of(row)
    ['animal']
    >>> project.close()
    """

    def __init__(
        self,
        data: Any,
        *,
        labels: Sequence[str] = (),
        store: str | os.PathLike[str] = ":memory:",
        name: str | None = None,
        text: str | Sequence[str] | None = None,
        categorical: str | Sequence[str] | None = None,
        drop: str | Sequence[str] | None = None,
        learner: str | None = None,
        quick: bool = True,
        background: bool = True,
        random_state: int = 0,
        **reading: Any,
    ) -> None:
        super().__init__(
            data, store=store, name=name, text=text, categorical=categorical, drop=drop,
            learner=learner, quick=quick, background=background, random_state=random_state,
            **reading,
        )  # fmt: skip
        rng = np.random.default_rng(self.seed)
        n = self.state.n_rows
        self.draws, self._turns = rng.permutation(n), rng.permutation(n)
        for label in labels:
            if label not in self.state.names.values():
                self.say("", "label", {"name": label})
        self._start_work()

    def next(self, person: str, *, but: int | None = None) -> dict[str, Any]:
        """The next row for a person, with suggestions; it is kept for them for ten minutes.

        Rows that others have answered, and random ones, are mixed in: the former tell how much
        people agree, and the latter how many rows with a label are still to be found.
        """
        person = checked_name(person)
        if but is not None:
            self.features_of(but)  # which must exist
        with self._lock:
            until = monotonic() - LEASE
            self._leases = {r: lease for r, lease in self._leases.items() if lease[1] > until}
            mine = [r for r, lease in self._leases.items() if lease[0] == person and r != but]
            if mine:
                return self.card_of(mine[0], person)
            row, audit = self._drawn(person, but)
            if row is None:
                return {"row": None, "version": self.version}
            self._leases[row] = person, monotonic(), audit
            return self.card_of(row, person)

    def _drawn(self, person: str, but: int | None) -> tuple[int | None, bool]:
        state, n = self.state, self.state.n_rows
        for row in state.again:
            if row not in self._leases and row != but:
                return row, False
        mine = sum(person in given for given in state.answers.values())
        if mine % SHARED == SHARED - 1:
            for row, given in state.answers.items():
                asked = given.keys() | state.skips.get(row, set())
                if person not in asked and len(given) == 1 and row != but:
                    return row, False
        free = np.ones(n, dtype=bool)
        free[[*state.answers, *self._leases, *([] if but is None else [but])]] = False
        skipped = np.zeros(n, dtype=bool)
        skipped[list(state.skips)] = True
        if not free.any():
            return None, False
        if not (free & ~skipped).any():  # nothing is left but skipped rows
            return int(np.flatnonzero(free)[0]), False
        free &= ~skipped
        if (len(state.answers) + len(self._leases)) % AUDITS == AUDITS - 1:
            return int(self.draws[free[self.draws]][0]), True
        if self.live.learner is None:
            begin = self._beginning[free[self._beginning]]
            return int(begin[0] if len(begin) else self._turns[free[self._turns]][0]), False
        pool, densities = self._turns[:POOL], None
        if (rows := pool[free[pool]][:CANDIDATES]).size:
            densities = self._densities[rows]
        else:
            rows = self._turns[free[self._turns]][:CANDIDATES]
        P = self.probabilities(rows)
        (best,) = labeling.query("mix", self.X[rows], P, densities=densities, n=1)
        return int(rows[best]), False

    @cached_property
    def _densities(self) -> NDArray[np.float64]:
        """Density of the rows of the pool, among them; computed once."""
        found, pool = np.ones(self.state.n_rows), self._turns[:POOL]
        found[pool] = labeling.density(self.X[pool])
        return found

    @cached_property
    def _beginning(self) -> NDArray[np.intp]:
        return labeling.spread(self.X, SPREAD, random_state=self.seed)

    def card_of(self, row: int, person: str = "") -> dict[str, Any]:
        """A row with its answers, remarks and suggestions."""
        features = self.features_of(row)
        with self._lock:
            state, P = self.state, self.probabilities([row])
            scores: dict[str, float] = {}
            if P is not None:
                names = [state.names[id] for id in self.live.labels]
                scores = dict(zip(names, P[0].round(4).tolist()))
            given = state.answers.get(row, {})
            mine, labels = given.get(person), [name for name, p in scores.items() if p > 0.5]
            if mine is not None or row in state.again:
                last = mine or next(iter(given.values()))
                labels = state.named(last.labels)
            return {
                "row": row, "version": self.version, "features": features, "scores": scores,
                "labels": labels, "answered": mine is not None, "again": row in state.again,
                "audit": self._leases.get(row, ("", 0.0, False))[2],
                "answers": {p: state.named(a.labels) for p, a in given.items()},
                "agreed": self.labels_of(row) if given else None, "flagged": row in state.flags,
                "comments": state.comments.get(row, []), "conflict": state.in_conflict(row),
            }  # fmt: skip

    def similar(self, row: int) -> list[dict[str, Any]]:
        """Rows without an answer that are most similar to a row, nearest first."""
        self.features_of(row)
        with self._lock:
            free = np.ones(self.state.n_rows, dtype=bool)
            free[[*self.state.answers, *self._leases, row]] = False
            rows = np.flatnonzero(free[self._turns])
            rows = self._turns[rows][: 5 * CANDIDATES]
        if not len(rows):
            return []
        index = ExactIndex().fit(self.X[rows])
        far, near = index.kneighbors(self.X[[row]], n_neighbors=min(SIMILAR, len(rows)))
        found = zip(far[0].tolist(), rows[near[0]].tolist())
        return [{"row": r, "distance": d, "features": self.features_of(r)} for d, r in found]

    def card(self) -> dict[str, Any]:
        """What the page shows at all times: labels, people and counts."""
        with self._lock:
            state, trained = self.state, self.trained
            sets = [state.labels_of(row) or frozenset() for row in state.answered()]
            counts = Counter(label for labels in sets for label in labels)
            people = Counter(person for given in state.answers.values() for person in given)
            kinds = dict.fromkeys(self.frame.columns, "other") | self.kinds
            kinds |= dict.fromkeys(self.images, "image")
            labels = [
                {"name": name, "description": state.about[id], "rows": counts[id],
                 "used": state.used.get(id, 0), "late": state.born[id] > 0}
                for id, name in state.names.items()
            ]  # fmt: skip
            return {
                "name": self.name, "rows": state.n_rows, "labels": labels,
                "columns": [{"name": c, "kind": k} for c, k in kinds.items()],
                "together": figures.together(state.names, sets, counts),
                "people": dict(people.most_common()),
                "conflicts": sum(map(state.in_conflict, state.answers)),
                "again": len(state.again), "skipped": len(state.skipped()),
                "flagged": len(state.flags), "commented": len(state.comments),
                "suggests": self.live.learner is not None, "command": self.fit_command(),
                "model": trained and {"answers": trained.answers, "version": trained.version},
                **self.status(),
            }  # fmt: skip

    def listing(
        self, which: str, *, label: str | None = None, find: str = "", start: int = 0,
        most: int = 20,
    ) -> dict[str, Any]:  # fmt: skip
        """Rows to look at again, a page of them.

        Parameters
        ----------
        which : str
            "answered", "conflicts", "flagged", "commented", "skipped"; "uncertain": rows without
            an answer of which the model is least certain; "doubtful": answers that are probably
            wrong; "before": rows answered before ``label`` existed, the most probable first.
        label : str, default=None
            Only rows with this label.
        find : str, default=""
            Only rows with these words.
        start, most : int, default=0 and 20
        """
        with self._lock:
            state, why = self.state, dict[int, list[Any]]()
            id = state.id_of(label) if label else None
            if which == "uncertain":
                rows = self._uncertain()
            elif which == "doubtful":
                rows, why = self._doubtful()
            elif which == "before":
                if id is None:
                    raise BadInput("label must be given to list the rows answered before it")
                rows = self._before(id)
            elif which in LISTS[:5]:
                rows = {
                    "answered": state.answered()[::-1], "flagged": list(state.flags),
                    "conflicts": [row for row in state.answers if state.in_conflict(row)],
                    "commented": list(state.comments), "skipped": state.skipped(),
                }[which]  # fmt: skip
            else:
                raise BadInput(f"which must be one of {', '.join(LISTS)}")
            if id is not None and which != "before":
                rows = [row for row in rows if id in (state.labels_of(row) or ())]
            if find:
                rows = [row for row in rows if holds(self.features_of(row), find)]
            page = rows[start : start + most]
            shown = [{**self.card_of(row), "why": why.get(row, [])} for row in page]
            return {"version": self.version, "total": len(rows), "rows": shown}

    def _uncertain(self) -> list[int]:
        rows = np.setdiff1d(self._turns[: 5 * CANDIDATES], list(self.state.answers))
        P = self.probabilities(rows) if len(rows) else None
        return (
            [] if P is None else rows[np.argsort(-labeling.uncertainty(P), kind="stable")].tolist()
        )

    def _doubtful(self) -> tuple[list[int], dict[int, list[Any]]]:
        why = dict[int, list[Any]]()
        if (found := self.live.held_out()) is not None:
            rows, Y, P = found
            issues = find_label_issues(Y, P)
            hits = ((P > 0.5) & (Y == 1)).sum(axis=0)
            # doubts of a model are of use where it agrees with most answers of that kind
            trusted = 2 * hits > np.array([(P > 0.5).sum(axis=0), Y.sum(axis=0)])
            for i, j, has in zip(issues.rows, issues.labels, issues.given):
                if not trusted[int(has), j]:
                    continue
                name = self.state.names[self.live.labels[j]]
                why.setdefault(int(rows[i]), []).append([name, "wrong" if has else "missing"])
        return list(why), why

    def _before(self, id: int) -> list[int]:
        born, answered = self.state.born[id], self.state.answers.items()
        rows = [row for row, given in answered if all(a.event < born for a in given.values())]
        P = self.probabilities(rows) if rows else None
        if P is None:
            return rows
        return [rows[i] for i in np.argsort(-P[:, self.live.labels.index(id)], kind="stable")]

    def quality(self) -> dict[str, Any]:
        """Figures of each label, confusions and agreement; no row is scored by its own answer."""
        with self._lock:
            found, names = self.live.held_out(), [self.state.names[i] for i in self.live.labels]
            table: dict[str, Any] = {"version": self.version, "labels": [], "confusions": []}
            table["agreement"] = figures.agreement(self.state)
            table["drift"] = figures.drift(self.state, self.trained)
        return table if found is None else table | figures.quality(*found[1:], names)

    def progress(self) -> dict[str, Any]:
        """The learning curve, what another hour would bring, and whether one may stop."""
        with self._lock:
            state, found, n = self.state, self.live.held_out(), self.n_answered
            given = [a.seconds for one in state.answers.values() for a in one.values()]
            progress: dict[str, Any] = {"version": self.version, "answered": n}
            shown, names = figures.shown_rows(state), list(state.names.values())
        progress |= {"rows": state.n_rows, "stop": None}
        if shown["Y"].size:
            progress["stop"] = figures.stopping(labeling.recall_bound(**shown), names)
        seconds = [one for one in given if one is not None]
        progress["seconds"] = pace = float(np.median(seconds)) if seconds else None
        if (curve := self.learning_curve(found)) is not None:
            progress["curve"] = drawn(curve, n, state.n_rows, pace)
        return progress

    def __repr__(self) -> str:
        rows, labels = counted(self.state.n_rows, "row"), counted(len(self.state.names), "label")
        return f"LabelProject({rows}, {labels}, {counted(self.n_answered, 'answer')})"
