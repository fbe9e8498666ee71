"""The cells of a comparison: which there are, what determines each, and their files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from scipy import sparse

from plurilabel._core import records
from plurilabel._core.compat import versions
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.keys import key_or_none
from plurilabel._core.records import class_name, digest_of, plain, read_json
from plurilabel.datasets import describe
from plurilabel.evaluation._compare import _inputs
from plurilabel.evaluation._compare._inputs import Split
from plurilabel.learners import learner_text
from plurilabel.metrics.shared import check_measures

FORMAT = 1  # of plans and cells; increased by changes that old readers cannot read

Cell: TypeAlias = dict[str, Any]


def make_plan(
    datasets: Any, learners: Any, *, cv: Any = "holdout", repeats: int = 1,
    measures: Sequence[str] | None = None, random_state: int = 0, command: str | None = None,
    words: Any = None,
) -> tuple[dict[str, Any], list[Place]]:  # fmt: skip
    """The content of ``plan.json``, and the cells in the order in which they run."""
    table, by_name = _inputs.named_learners(learners), _inputs.named_datasets(datasets)
    names, made_by = check_measures(measures), versions("joblib", "torch")
    what, keys = {}, {name: key_or_none(one) for name, one in table.items()}
    for name, one in table.items():
        given = plain(one.get_params(deep=False)) if hasattr(one, "get_params") else {}
        what[name] = {"class": class_name(one), "repr": learner_text(one), "parameters": given}
    protocol = {"cv": cv, "repeats": repeats, "random_state": random_state}
    if command is None:
        options = protocol if measures is None else {**protocol, "measures": names}
        shown = ", ".join(f"{name!r}: {about['repr']}" for name, about in what.items())
        given = " ".join(", ".join(f"{key}={value!r}" for key, value in options.items()).split())
        command = f"evaluation.compare({list(by_name)!r}, {{{shown}}}, {given})"
    plan: dict[str, Any] = {
        "format": FORMAT,
        "protocol": {**plain(protocol), "measures": names},
        "datasets": {},
        "learners": what,
        "command": command,
        "versions": made_by,
    }
    places = []
    encoders = {name: _inputs.encoder_of(data, words) for name, data in by_name.items()}
    if words is not None and all(one is None or one.words is None for one in encoders.values()):
        raise ValueError("words is for columns of text, got none; name them with text=[...]")
    for name, data in by_name.items():
        description, splits = _inputs.splits_of(data, name, cv, repeats, random_state)
        about = plan["datasets"][name] = {
            **_described(data),
            "split": description,
            "digest": digest_of(data.X, data.Y),
            "splits": [f"{split.repeat}-{split.fold}" for split in splits],
        }
        encoder = encoders[name]
        ready = {learner: _inputs.encoding(one, encoder) for learner, one in table.items()}
        for split in splits:
            made_of = {
                "data": about["digest"],
                "rows": digest_of(split.train, split.test),
                "measures": names,
                **{name: made_by[name] for name in ("plurilabel", "scikit-learn")},
                **({} if encoder is None else {"encoder": key_or_none(encoder)}),
            }
            seed = derived_seed(random_state, name, split.repeat, split.fold)
            for learner, one in ready.items():
                parts = {k: what[learner][k] for k in ("class", "parameters")} | {"seed": seed}
                known = {
                    "format": FORMAT,
                    "key": digest_of([FORMAT, made_of, parts, keys[learner]]),
                    "dataset": name,
                    "learner": learner,
                    "repeat": split.repeat,
                    "fold": split.fold,
                    "n_train": len(split.train),
                    "n_test": len(split.test),
                    **parts,
                    "made_of": made_of,
                    "versions": made_by,
                    **empty_cell(names),
                }
                places.append(Place(data, one, split, known, keys[learner] is not None))
    return plan, places


def empty_cell(measures: Sequence[str]) -> Cell:
    """The fields of a cell that a successful run fills."""
    costs = ("fit_seconds", "predict_seconds", "search_seconds", "peak_mb")
    more = ("best_params", "per_label", "calibration_error", "traceback")
    return {"scores": dict.fromkeys(measures), **dict.fromkeys(costs + more), "warnings": []}


def _described(data: Dataset) -> dict[str, Any]:
    found = describe(data)
    figures = ("cardinality", "density", "diversity", "mean_ir", "scumble")
    about = {
        **{"n": found.instances, "d": found.features, "q": found.labels},
        **{name: getattr(found, name) for name in figures},
        "sparse": bool(sparse.issparse(data.X)),
        **{"citation": data.citation, "label_names": data.label_names},
        "label_counts": found.counts,
    }
    return plain(about | ({"not_known": found.unknown} if found.unknown else {}))


def derived_seed(random_state: int, dataset: str, repeat: int, fold: int) -> int:
    """A seed for one split that does not depend on anything else."""
    text = f"{random_state}/{dataset}/{repeat}/{fold}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) >> 1


@dataclass(frozen=True, eq=False)
class Place:
    """A cell to run: data, learner, split, and the fields known in advance."""

    data: Dataset
    learner: Any
    split: Split
    known: Cell
    has_key: bool  # whether the learner can be identified by its content

    def kept(self, folder: Path, *, retry: bool, fresh: bool) -> Cell | None:
        """The cell in the folder, if it is complete and should not be run again."""
        # A cell made from something else is an error: keeping it would be wrong, and replacing it
        # would lose results. Learners without a key, such as those with a lambda, always run.
        path = cell_path(folder, self.known)
        if fresh:
            path.unlink(missing_ok=True)
        cell = read_cell(path)
        if cell is None or not self.has_key:
            return None
        if cell["key"] != self.known["key"]:
            raise ValueError(
                f"{folder} holds a cell of {self.known['learner']} on {self.known['dataset']} "
                f"that was made with {self._difference(cell)}; choose another folder, or "
                "replace it with fresh=True"
            )
        return None if retry and cell["status"] != "ok" else cell

    def _difference(self, cell: Cell) -> str:
        old, new = ({**c, **(c.get("made_of") or {})} for c in (cell, self.known))
        differences = {
            "class": f"another class ({old.get('class')}, now {new['class']})",
            "parameters": f"other parameters ({old.get('parameters')}, now {new['parameters']})",
            "seed": f"another random_state ({old.get('seed')}, now {new['seed']})",
            "data": "other data of that name",
            "rows": "another split into training and test rows",
            "measures": "other measures",
            "plurilabel": "another version of plurilabel",
            "scikit-learn": "another version of scikit-learn",
        }
        found = (words for field, words in differences.items() if old.get(field) != new[field])
        return next(found, "parameters or packages that differ where they are not shown in full")


def safe_name(name: str) -> str:
    """A file name: plain names are unchanged, others are shortened, cleaned and made unique."""
    clean = re.sub(r"[^A-Za-z0-9._+=-]", "_", name)[:60]
    # names of devices are reserved on Windows, with any suffix
    device = re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", clean)
    if clean == name and not clean.startswith(".") and not clean.endswith(".") and not device:
        return clean
    return f"{clean.lstrip('.')}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def cell_path(folder: str | os.PathLike[str], cell: Mapping[str, Any]) -> Path:
    place = Path(folder, "cells", safe_name(cell["dataset"]), safe_name(cell["learner"]))
    return place / f"{cell['repeat']}-{cell['fold']}.json"


def read_cell(path: Path) -> Cell | None:
    """The cell in a file; None if the file is missing or incomplete."""
    cell = read_json(path)
    if not isinstance(cell, dict) or cell.get("format") != FORMAT:
        return None
    types = dict.fromkeys(("key", "dataset", "learner", "status"), str)
    types |= {"repeat": int, "fold": int, "scores": dict}  # type: ignore[dict-item]
    return cell if all(type(cell.get(name)) is kind for name, kind in types.items()) else None


def read_plan(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The plan in a folder; None if it is missing or incomplete."""
    types = dict.fromkeys(("protocol", "learners", "datasets"), dict)
    plan = records.read_plan(folder, "comparison", FORMAT, types)
    if plan is None:
        return None
    measures = plan["protocol"].get("measures")
    if not isinstance(measures, list) or not all(isinstance(name, str) for name in measures):
        raise ValueError(f"plan.json in {folder} is broken: it lists no measures")
    if not all(isinstance(about, dict) for about in plan["datasets"].values()):
        raise ValueError(f"plan.json in {folder} is broken: a dataset is not described")
    return plan
