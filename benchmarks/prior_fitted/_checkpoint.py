"""Checkpoints: a folder of arrays and one JSON file, which is replaced last."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.prior_fitted.learner._weights import SHIPPED, load_weights

SHARD = 14 * 2**20
"""Bytes of a file of arrays, about."""
ABOUT = "state.json"


def save_state(folder: Path, about: dict[str, Any], arrays: dict[str, Tensor]) -> None:
    """Write a state; the one before stays until the new one is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    shards: list[dict[str, Any]] = [{}]
    used = 0
    for name, tensor in arrays.items():
        array = tensor.detach().cpu().numpy()
        if used and used + array.nbytes > SHARD:
            shards.append({})
            used = 0
        shards[-1][name] = array
        used += array.nbytes
    digests = {}
    for i, shard in enumerate(shards):
        file = folder / f"state-{about['steps']}-{i}.npz"
        np.savez(file, **shard)
        digests[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    _replace(folder / ABOUT, json.dumps(about | {"files": digests}, indent=1).encode())
    for old in folder.glob("state-*.npz"):
        if old.name not in digests:
            old.unlink()


def load_state(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What :func:`save_state` wrote, checked by digest."""
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    arrays: dict[str, Tensor] = {}
    for name, digest in about.pop("files").items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ValueError(f"{folder / name} is not the file that {ABOUT} was written with")
        with np.load(folder / name, allow_pickle=False) as shard:
            arrays |= {key: torch.from_numpy(shard[key]) for key in shard.files}
    return about, arrays


def save_weights(file: Path, about: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """Write weights alone, in half precision, with what made them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: w.detach().half().cpu().numpy() for name, w in weights.items()}
    partial = file.with_name("partial-" + file.name)
    np.savez(partial, about=np.array(json.dumps(about)), **arrays)
    os.replace(partial, file)


def ship_weights(folder: Path, target: Path = SHIPPED) -> None:
    """Copy the weights of a training into the package, with their digest and how to repeat it."""
    weights = load_weights(folder / "weights.npz")
    plan, seconds = weights.about["plan"], weights.about["seconds"]
    state = json.loads((folder / ABOUT).read_text("utf-8"))
    options = {"--seconds": round(seconds), "--decay": round(seconds - state["seconds"])}
    options |= {f"--{name}": plan["size"][name] for name in ("width", "heads", "layers")}
    options |= {f"--{name}": plan[name] for name in ("seed", "scale", "steady", "landmarks")}
    said = " ".join(f"{name} {value}" for name, value in options.items())
    stages = " ".join(map(str, plan["stages"]))
    command = f"python -m benchmarks.prior_fitted train {said} --stages {stages} --checkpoint F"
    about = {"sha256": weights.digest, "command": command, **weights.about}
    _replace(target, (folder / "weights.npz").read_bytes())
    _replace(target.with_suffix(".json"), (json.dumps(about, indent=1) + "\n").encode())


def _replace(file: Path, content: bytes) -> None:
    partial = file.with_name("partial-" + file.name)
    partial.write_bytes(content)
    os.replace(partial, file)
