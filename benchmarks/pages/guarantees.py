"""Label sets with a guarantee: does it hold, and how large are the sets compared with MAPIE's?

Writes docs/conformal_results.md. Needs the datasets (PLURILABEL_DATA or a network), and the Python
of an environment with MAPIE:

    python -m benchmarks guarantees --peer mapie/bin/python --write docs/conformal_results.md
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from plurilabel import (
    FalseDiscoveryControl,
    LabelCoverage,
    MLkNN,
    RiskControl,
    datasets,
    model_selection,
)
from plurilabel._core.blocks import dense

CASES = ("yeast", "scene")
SPLITS, ROWS, ALPHA, DELTA = 1000, 500, 0.1, 0.1


def losses(Y: Any, sets: Any) -> dict[str, float]:
    """Mean losses of label sets."""
    missed = (Y & ~sets).sum(axis=1)
    wrong = (sets & ~Y).sum(axis=1) / np.maximum(1, sets.sum(axis=1))
    sizes, some = Y.sum(axis=1), Y.any(axis=1)
    return {
        "recall": float((missed[some] / sizes[some]).mean()),
        "subset": float((missed > 0).mean()),
        "misses": float(missed.mean() / Y.shape[1]),
        "discovery": float(wrong.mean()),
        "size": float(sets.sum(axis=1).mean()),
    }


def measure(name: str, peer: Path) -> list[list[str]]:
    """Rows of the table of one dataset."""
    data = datasets.load(name)
    X, X_rest, Y, Y_rest = model_selection.stratified_split(
        data.X, dense(data.Y), sizes=(0.3, 0.7), random_state=0
    )
    some = Y_rest.any(axis=1)  # MAPIE refuses the others
    S, Y_rest = MLkNN().fit(X, Y).predict_proba(X_rest)[some], Y_rest[some] == 1
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(len(S)) for _ in range(SPLITS)])
    calibration, test = orders[:, :ROWS], orders[:, ROWS:]
    theirs = ask(peer, S, Y_rest, calibration)

    rows = []
    for title, control, key in (
        ("recall", RiskControl(ALPHA), "recall"),
        ("all labels", RiskControl(ALPHA, risk="subset"), "subset"),
        ("misses", RiskControl(ALPHA / 4, risk="misses"), "misses"),
        ("false discoveries", FalseDiscoveryControl(ALPHA, delta=DELTA), "discovery"),
    ):
        found, seconds = [], []
        for chosen, others in zip(calibration, test):
            start = time.perf_counter()
            control.fit(S[chosen], Y_rest[chosen])
            seconds.append(time.perf_counter() - start)
            found.append(losses(Y_rest[others], S[others] > control.cut_))
        rows.append(line(name, title, control.alpha, "plurilabel", found, key, seconds))
        if key != "recall":
            continue
        cuts = theirs["cuts"]
        ours = np.mean([each["size"] for each in found[: len(cuts)]])
        found = [losses(Y_rest[others], S[others] > cut) for others, cut in zip(test, cuts)]
        rows.append(line(name, title, control.alpha, "MAPIE", found, key, theirs["seconds"]))
        ratio = np.median(theirs["seconds"]) / np.median(seconds)
        rows[-1][-1] += f" ({ratio:.0f} times)"
        rows[-1][-2] += f" (plurilabel {ours:.3f})"
    covered = np.zeros(S.shape[1])
    for chosen, others in zip(calibration, test):
        sets = LabelCoverage(ALPHA).fit(S[chosen], Y_rest[chosen]).predict(S[others])
        present = Y_rest[others]
        covered += 1 - (present & (sets == 1)).sum(axis=0) / present.sum(axis=0)
    covered /= SPLITS
    worst = f"{covered.min():.4f} to {covered.max():.4f}"
    rows.append([name, "each label", f"{ALPHA}", "plurilabel", worst, "", "", ""])
    return rows


def line(
    name: str, title: str, alpha: float, who: str, found: Any, key: str, seconds: Any
) -> list[str]:
    """One row: the mean loss, how often it was above alpha, the size of the sets, the time."""
    values = np.array([each[key] for each in found])
    size = np.mean([each["size"] for each in found])
    error = values.std() / np.sqrt(len(values))
    return [
        name, title, f"{alpha:g}", who, f"{values.mean():.4f} ± {error:.4f}",
        f"{(values > alpha).mean():.3f}", f"{size:.3f}", ms(seconds),
    ]  # fmt: skip


def ms(seconds: Any) -> str:
    return f"{1000 * np.median(seconds):.2f}"


def ask(peer: Path, S: Any, Y: Any, calibration: Any) -> Any:
    """The cuts of MAPIE, from its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "scores.npz"), Path(folder, "cuts.npz")
        np.savez(given, scores=S, Y=Y.astype(int), calibration=calibration, level=1 - ALPHA)
        program = Path(__file__).with_name("guarantees_peer.py")
        subprocess.run([peer, "-W", "ignore", program, given, answer], check=True)
        return dict(np.load(answer))


HEAD = """# Guarantees measured

1,000 random splits of two datasets: ML-kNN is trained once on 30% of the rows; of the others 500
calibrate, the rest tests. `loss` is the mean over the splits with its standard error: for all
promises but false discoveries it has to be at most `level`. `above` is the share of splits with a
loss above the level: for false discoveries it has to be at most 0.1. For recall, smaller sets are
better at the same level; for false discoveries, larger ones. Milliseconds are medians of one
calibration. MAPIE 1.6 calibrates recall on the first 40 splits, with the size of
plurilabel's sets on the same splits beside its own; rows without labels, which it refuses, are
left out. Made by `python -m benchmarks guarantees`.

MAPIE computes the loss of each row at each of its 100 cuts in a loop of Python, which is where its
time goes. Its control of precision is not compared: it counts an empty set as wholly wrong, where
the false discovery rate counts it as 0, so that the two promise different things.

ML-kNN has few distinct scores. Labels with equal scores are kept or dropped together, which is why
the losses stay somewhat below the level.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, help="python that has MAPIE")
    parser.add_argument("--write", type=Path, help="file for the table")
    options = parser.parse_args()
    warnings.simplefilter("error")
    titles = ("dataset", "promise", "level", "by", "loss", "above", "mean set size", "ms")
    lines = ["| " + " | ".join(titles) + " |", "| --- | --- | ---: | --- |" + " ---: |" * 4]
    for name in CASES:
        lines += ["| " + " | ".join(row) + " |" for row in measure(name, options.peer)]
    text = HEAD + "\n".join(lines) + "\n"
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
