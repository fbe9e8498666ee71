"""How fast models learn from rows that are queried, and from rows in random order.

``python -m benchmarks active_learning [--repeats N] [--strategies NAME,...] [SET ...]``
simulates labeling with each strategy of ``plurilabel.labeling`` and writes
results/labeling-curves.csv, where rows of other sets and strategies are kept, and
labeling-ahead.csv. Labeling begins with
20 rows (spread over the data, or random ones for random order); then come batches of ten, two of
which are random audits, as on the labeling page. Test parts are the published ones, for medical a
random third; of goemotions, each repeat has 5,000 texts of the training part. Micro F1 is that at
the usual cut, one half, and at the cut that predicts as many labels as the random rows have.
Strategies ``modAL ...`` and ``skactiveml ...`` run where these libraries are installed.
"""

from __future__ import annotations

import argparse
import csv
from itertools import product

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks import RESULTS
from plurilabel import BinaryRelevance, MLkNN, datasets
from plurilabel.labeling import STRATEGIES, density, query, spread
from plurilabel.metrics import micro_f1

FIRST = 20  # answers
CURVES = RESULTS / "labeling-curves.csv"
CHOSEN_ON = ("scene", "emotions", "medical", "slashdot")
REPORTED = ("yeast", "goemotions")
LOOKS = (50, 100, 200)
BATCH, AUDITS = 10, 2
MEASURES = ("micro F1", "micro F1 at the cut")
COLUMNS = (
    "dataset", "learner", "strategy", "repeats",
    *(f"{measure}, {rows}" for measure in MEASURES for rows in LOOKS),
    "ahead at 200", "standard error", "ahead at 200 at the cut", "standard error at the cut",
)  # fmt: skip
LEARNERS = {
    "ML-kNN": lambda: MLkNN(10),
    "logistic": lambda: BinaryRelevance(LogisticRegression(solver="liblinear")),
}


def labeling(sets, strategies, repeats):
    kept = []
    if CURVES.exists():
        with CURVES.open(newline="") as file:
            kept = list(csv.DictReader(file))
    for name in sets:
        found = {}
        for seed in range(repeats):
            given = pool_and_test(name, seed)
            dens = density(given[0])
            for learner, make in LEARNERS.items():
                for strategy in dict.fromkeys(["random", *strategies]):
                    run = simulated(given, dens, strategy, make, seed)
                    if run is not None:
                        found.setdefault((learner, strategy), []).append(run)
        rows = []
        for (learner, strategy), runs in found.items():
            runs = np.array(runs)  # (repeats, looks, 2)
            better = runs[:, -1] - np.array(found[learner, "random"])[:, -1]
            error = better.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else [0, 0]
            figures = [
                *runs.mean(axis=0).T.ravel(),
                *np.ravel(list(zip(better.mean(axis=0), error))),
            ]
            cells = [name, learner, strategy, len(runs), *(f"{value:.3f}" for value in figures)]
            rows.append(dict(zip(COLUMNS, map(str, cells))))
            print(*cells, flush=True)
        new = {(row["dataset"], row["learner"], row["strategy"]) for row in rows}
        same = [r for r in kept if (r["dataset"], r["learner"], r["strategy"]) not in new]
        kept = same + rows
        with CURVES.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(kept, key=lambda r: (r["dataset"], r["learner"])))
        summary(kept)


def summary(rows):
    """How far each strategy is ahead of random order after 200 answers, for the guide."""
    ahead = {(r["dataset"], r["learner"], r["strategy"]): r for r in rows}
    names = [s for s in dict.fromkeys(r["strategy"] for r in rows) if s != "random"]
    with (RESULTS / "labeling-ahead.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "learner", "cut", "random order", *names])
        for name, learner, at in product((*REPORTED, *CHOSEN_ON), LEARNERS, ("", " at the cut")):
            if (name, learner, "random") in ahead:
                first = ahead[name, learner, "random"][f"micro F1{at}, 200"]
                told = [name, learner, "tuned" if at else "one half", first]
                for strategy in names:
                    row = ahead.get((name, learner, strategy))
                    value = row and f"{float(row[f'ahead at 200{at}']):+.3f}"
                    told.append(f"{value} ± {row[f'standard error{at}']}" if row else "-")
                writer.writerow(told)


def pool_and_test(name, seed):
    """Encoded rows and labels to label, and those of the test part."""
    rng, data = np.random.default_rng(seed), datasets.load(name)
    Y = np.asarray(data.Y.toarray() if sparse.issparse(data.Y) else data.Y)
    train, test = rng.permutation(data.train), data.test
    if name == "goemotions":
        texts, train = data.X.iloc[:, 0].to_numpy(), train[:5000]
        words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(texts[train])
        return words.transform(texts[train]), Y[train], words.transform(texts[test]), Y[test]
    if name == "medical":  # the published training part has 333 rows
        every = rng.permutation(len(Y))
        train, test = every[: len(Y) * 2 // 3], every[len(Y) * 2 // 3 :]
    X = data.X
    X = sparse.csr_array(X) if sparse.issparse(X) else StandardScaler().fit(X[train]).transform(X)
    return X[train], Y[train], X[test], Y[test]


def simulated(given, dens, strategy, make, seed):
    """Micro F1 at the looks, in both ways; None if the strategy cannot be used here."""
    X, Y, X_test, Y_test = given
    rng = np.random.RandomState(seed)
    n, order = X.shape[0], rng.permutation(X.shape[0])
    is_random = strategy == "random"
    known = list(order[:FIRST] if is_random else spread(X, FIRST, random_state=seed))
    audited, figures = list(known) if is_random else [], []
    while True:
        learner = make().fit(X[known], Y[known])
        if len(known) in LOOKS:
            S = learner.predict_proba(X_test)
            cut = np.quantile(S, 1 - Y[audited].mean())
            figures.append([micro_f1(Y_test, S > 0.5), micro_f1(Y_test, cut < S)])
        if len(known) >= max(LOOKS):
            return figures
        done = np.zeros(n, dtype=bool)
        done[known] = True
        drawn = list(order[~done[order]][: BATCH if is_random else AUDITS])
        done[drawn] = True
        rest, more = np.flatnonzero(~done), []
        if not is_random:
            P = np.clip(learner.predict_proba(X[rest]), 0, 1)
            chosen = chosen_rows(
                strategy, X, rest, P, Y[known].sum(axis=0), dens, done, learner, rng
            )
            if chosen is None:
                return None
            more = list(rest[chosen])
        audited += drawn
        known += drawn + more


def chosen_rows(strategy, X, rest, P, n_positive, dens, done, learner, rng):
    size = BATCH - AUDITS
    library, _, name = strategy.partition(" ")
    if library == "modAL":
        import modAL.multilabel

        return np.ravel(getattr(modAL.multilabel, name)(learner, X[rest], size)[0])
    if library == "skactiveml":  # its classifiers have one label a row: strategies without one
        import skactiveml.pool

        if sparse.issparse(X):
            return None
        y = np.where(done, 0.0, np.nan)
        asked = getattr(skactiveml.pool, name)(random_state=rng).query(X, y, batch_size=size)
        return np.searchsorted(rest, asked)
    return query(
        strategy, X[rest], P, n_positive=n_positive, densities=dens[rest], n=size, random_state=rng
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, *REPORTED])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    options = parser.parse_args()
    labeling(options.sets, options.strategies.split(","), options.repeats)


if __name__ == "__main__":
    main()
