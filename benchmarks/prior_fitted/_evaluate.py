"""Answers for real tables, averaged over permutations and transforms, and how good they are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.prior_fitted._checkpoint import load_weights
from benchmarks.prior_fitted._network import GROUP, Network, Size, view_cells

MOST_FEATURES = 300
MOST_ROWS = 4000
MOST_TOKENS_OF_A_COLUMN = 2**16 - 1
"""Rows of a pass: kernels of attention have a grid of this size."""
CHOSEN_ON = ("flags", "emotions", "yeast")
"""Tables that may guide the choice of the prior; the others are only reported."""
REPORTED = ("foodtruck", "scene", "image")


def load_network(file: Path, device: str | torch.device) -> Network:
    """A network ready to answer, in half precision on a GPU."""
    about, weights = load_weights(file)
    network = Network(Size(**about["plan"]["size"]))
    network.load_state_dict(weights)
    if torch.device(device).type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        network.bfloat16()
    return network.to(device).eval().requires_grad_(False)


@torch.no_grad()
def answer(
    network: Network,
    X: np.ndarray,
    Y: np.ndarray,
    T: np.ndarray,
    *,
    passes: int = 8,
    seed: int = 0,
    most_cells: int = 400_000,
) -> np.ndarray:
    """Probabilities of the labels of the rows ``T``, where ``X`` are known to have ``Y``.

    Every pass has its own order of the features, names of the columns and, beyond the limits,
    choice of features and rows; every second one replaces values by normal scores of their ranks.
    """
    device = next(network.parameters()).device
    known = torch.tensor(X, dtype=torch.float32, device=device)
    labels = torch.tensor(Y, dtype=torch.float32, device=device)
    asked = torch.tensor(T, dtype=torch.float32, device=device)
    varies = (known.nan_to_num(0.0) != known[:1].nan_to_num(0.0)).any(0)
    known, asked = known[:, varies], asked[:, varies]
    total = torch.zeros(len(asked), labels.shape[1], device=device)
    for number in range(passes):
        dice = np.random.default_rng([seed, number])
        rows = torch.from_numpy(dice.permutation(len(known))[:MOST_ROWS]).to(device)
        columns = _columns(known, labels, dice)
        some, queries, Yk = known[rows][:, columns], asked[:, columns], labels[rows]
        if number % 2:
            some, queries = _normal_scores(some, some), _normal_scores(some, queries)
        width = -(-len(columns) // GROUP) + labels.shape[1]
        names = torch.from_numpy(dice.standard_normal((1, width, network.size.name_width)))
        block = max(1, min(most_cells // width, MOST_TOKENS_OF_A_COLUMN) - len(some))
        for start in range(0, len(asked), block):
            part = slice(start, start + block)
            cells = view_cells(torch.cat([some, queries[part]])[None], len(some))
            total[part] += network(cells, Yk[None], names.float().to(device))[0].sigmoid()
    return (total / passes).cpu().numpy()


def _columns(X: Tensor, Y: Tensor, dice: np.random.Generator) -> Tensor:
    """The features of a pass: the most relevant ones, in random order."""
    order = torch.from_numpy(dice.permutation(X.shape[1])).to(X.device)
    if X.shape[1] <= MOST_FEATURES:
        return order
    X, Y = ((a - a.nanmean(0)).nan_to_num(0.0) for a in (X, Y))
    norms = X.norm(dim=0)[:, None] * Y.norm(dim=0) + 1e-12
    relevance = ((X.T @ Y) / norms).abs().amax(1)
    return order[relevance[order].topk(MOST_FEATURES).indices.sort().values]


def _normal_scores(known: Tensor, X: Tensor) -> Tensor:
    """Values of the normal distribution with the ranks that ``X`` has among ``known``."""
    ordered = torch.where(known.isnan(), torch.inf, known).T.sort(-1).values.contiguous()
    count = (~known.isnan()).sum(0)[:, None]
    values = X.T.contiguous()
    below = torch.searchsorted(ordered, values)
    upto = torch.minimum(torch.searchsorted(ordered, values, right=True), count)
    share = (below + upto + 1) / (2 * count + 2)
    scores = torch.special.ndtri(share.clamp(0.001, 0.999).double()).float()
    return torch.where(X.isnan(), torch.nan, scores.T)


def measures(Y: np.ndarray, P: np.ndarray) -> dict[str, float]:
    """Average precision as in :func:`plurilabel.metrics.average_precision`, and two others."""
    some = Y.sum(1) > 0
    Yr, Pr = Y[some] == 1, P[some]
    above = Pr[:, None, :] >= Pr[:, :, None]  # (rows, label, labels ranked as high or higher)
    precision = (above & Yr[:, None, :]).sum(2) / above.sum(2)
    chosen = P > 0.5
    return {
        "average_precision": float(((precision * Yr).sum(1) / Yr.sum(1)).mean()),
        "hamming_loss": float((chosen != (Y == 1)).mean()),
        "micro_f1": float(2 * (chosen & (Y == 1)).sum() / max(1, chosen.sum() + (Y == 1).sum())),
    }


def evaluate(
    network: Network, files: Iterable[Path], *, passes: int, seed: int, holdouts: int = 0
) -> list[dict[str, object]]:
    """Measures on every table, averaged over its folds, printed as they are found."""
    lines: list[dict[str, object]] = []
    for file in files:
        with np.load(file, allow_pickle=False) as stored:
            X, Y, fold = stored["X"], stored["Y"], stored["fold"]
        found, start = [], time.perf_counter()
        folds = range(holdouts or int(fold.max()) + 1)
        for k in folds:
            train, test = fold != k, fold == k
            P = answer(network, X[train], Y[train], X[test], passes=passes, seed=seed)
            found.append(measures(Y[test], P))
        seconds = (time.perf_counter() - start) / len(folds)
        mean = {key: round(float(np.mean([f[key] for f in found])), 4) for key in found[0]}
        line = {"data": file.stem, "rows": len(X), "features": X.shape[1], "labels": Y.shape[1]}
        line |= mean | {"seconds_per_fold": round(seconds, 3)}
        line["folds"] = [round(f["average_precision"], 4) for f in found]
        lines.append(line)
        print(json.dumps(line), flush=True)
    average = np.mean([line["average_precision"] for line in lines])  # type: ignore[misc]
    print(json.dumps({"mean_average_precision": round(float(average), 4), "passes": passes}))
    return lines


def export(folder: Path, names: Iterable[str] = CHOSEN_ON + REPORTED, *, seed: int = 0) -> None:
    """Write tables as arrays, with five fixed folds each."""
    from plurilabel import datasets
    from plurilabel.model_selection import IterativeStratifiedKFold

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        data = datasets.load(name)
        fold = np.empty(len(data.X), dtype=np.int8)
        splitter = IterativeStratifiedKFold(5, shuffle=True, random_state=seed)
        for k, (_, test) in enumerate(splitter.split(data.X, data.Y)):
            fold[test] = k
        X, Y = np.asarray(data.X, dtype=np.float32), np.asarray(data.Y, dtype=np.int8)
        np.savez_compressed(folder / f"{name}.npz", X=X, Y=Y, fold=fold)
