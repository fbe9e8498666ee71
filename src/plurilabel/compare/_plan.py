"""What is to be done: the cells of a comparison, and what is known of each beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurilabel._compat import versions
from plurilabel.compare._cell_files import FORMAT, Cell, cell_path, read_cell
from plurilabel.compare._data import Split, described_data, splits_of
from plurilabel.compare._digest import digest_of
from plurilabel.compare._learners import described
from plurilabel.datasets import Dataset
from plurilabel.metrics import get_measure, measure_names


@dataclass(frozen=True)
class Place:
    """One cell to be: where it belongs, and what it is made of."""

    dataset: str
    learner: str
    split: Split
    known: Cell
    """The fields that do not depend on how it goes, ``key`` among them."""

    def path(self, folder: Path) -> Path:
        """Its file."""
        return cell_path(folder, self.dataset, self.learner, self.split.repeat, self.split.fold)

    def kept(self, folder: Path, *, retry: bool, fresh: bool) -> Cell | None:
        """The cell that is there already, if it is whole and wanted.

        A cell of the same name that was made of something else is an error: to keep it would be
        wrong, and to replace it would lose what someone has waited for.
        """
        path = self.path(folder)
        if fresh:
            path.unlink(missing_ok=True)
        cell = read_cell(path)
        if cell is None:
            return None
        if cell["key"] != self.known["key"]:
            raise ValueError(
                f"{folder} holds a cell of {self.learner} on {self.dataset} that was made with "
                f"{self._difference(cell)}; choose another folder, or ask for "
                "a fresh start to replace it"
            )
        return None if retry and cell["status"] != "ok" else cell

    def _difference(self, cell: Cell) -> str:
        for field, words in (
            ("class", "another class"),
            ("parameters", "other parameters"),
            ("seed", "another random_state"),
        ):
            if cell.get(field) != self.known[field]:
                return f"{words} ({cell.get(field)}, now {self.known[field]})"
        for field, words in (
            ("data", "other data of that name"),
            ("rows", "another split into training and test rows"),
            ("measures", "other measures"),
            ("plurilabel", "another version of plurilabel"),
        ):
            if (cell.get("made_of") or {}).get(field) != self.known["made_of"][field]:
                return words
        return "something else"


def check_measures(measures: Sequence[str] | str | None) -> list[str]:
    """Check names of measures; by default, name all that need no further setting.

    Parameters
    ----------
    measures : sequence of str, str or None

    Returns
    -------
    list of str
        Each name once. Unknown ones are a ValueError, and so is ``"precision@k"`` without a
        number for k.

    Examples
    --------
    >>> from plurilabel.compare import check_measures
    >>> check_measures(["f1", "precision@3"])
    ['f1', 'precision@3']
    >>> len(check_measures(None))
    31
    """
    if measures is None:
        usual = [name for name in measure_names() if "@" not in name and "f_beta" not in name]
        return usual + [
            f"{name}@{k}" for name in ("precision", "recall", "ndcg") for k in (1, 3, 5)
        ]
    names = [measures] if isinstance(measures, str) else list(measures)
    if not names:
        raise ValueError("measures must name at least one measure, got none")
    for name in names:
        if get_measure(name).name.endswith("@k"):
            raise ValueError(f"measures must have a number for k, such as precision@3, got {name}")
    return list(dict.fromkeys(names))


def make_plan(
    datasets: dict[str, Dataset],
    learners: dict[str, Any],
    *,
    cv: Any,
    repeats: int,
    measures: list[str],
    random_state: int,
    command: str,
) -> tuple[dict[str, Any], list[Place]]:
    """The plan as it is written down, and the cells in the order in which they run."""
    made_by = versions("joblib", "torch")
    what = {name: described(learner) for name, learner in learners.items()}
    plan: dict[str, Any] = {
        "format": FORMAT,
        "protocol": {
            "cv": cv if isinstance(cv, str | int) else " ".join(repr(cv).split()),
            "repeats": repeats,
            "random_state": random_state,
            "measures": measures,
        },
        "datasets": {},
        "learners": what,
        "command": command,
        "versions": made_by,
    }
    places = []
    for name, data in datasets.items():
        digest = digest_of(data.X, data.Y)
        words, splits = splits_of(data, name, cv, repeats, random_state)
        plan["datasets"][name] = {
            **described_data(data, digest, words),
            "splits": [f"{split.repeat}-{split.fold}" for split in splits],
        }
        for split in splits:
            seed = derived_seed(random_state, name, split.repeat, split.fold)
            made_of = {
                "data": digest,
                "rows": digest_of(split.train, split.test),
                "measures": measures,
                "plurilabel": made_by["plurilabel"],
            }
            for learner, about in what.items():
                parts = {k: about[k] for k in ("class", "parameters")} | {"seed": seed}
                known = {
                    "format": FORMAT,
                    "key": digest_of([FORMAT, made_of, parts]),
                    "dataset": name,
                    "learner": learner,
                    "repeat": split.repeat,
                    "fold": split.fold,
                    "n_train": len(split.train),
                    "n_test": len(split.test),
                    **parts,
                    "made_of": made_of,
                    "versions": made_by,
                }
                places.append(Place(name, learner, split, known))
    return plan, places


def derived_seed(random_state: int, dataset: str, repeat: int, fold: int) -> int:
    """A seed for one split, the same wherever and whenever it runs."""
    text = f"{random_state}/{dataset}/{repeat}/{fold}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) >> 1
