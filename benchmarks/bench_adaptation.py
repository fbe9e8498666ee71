"""Trees and forests beside the scikit-learn forest underneath; CML beside plain enumeration."""

from time import process_time
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from plurilabel import datasets
from plurilabel.adaptation import CML, MLRandomForest
from plurilabel.adaptation._cml_sets import LabelSets


def data(n, d, q, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    Y = X @ rng.normal(size=(d, q)) + 3 * rng.normal(size=(n, q)) > 6
    return X, Y.astype(np.int8)


def cpu(work):
    """CPU seconds: other programs on the machine count less than by the clock."""
    start = process_time()
    work()
    return process_time() - start


def in_turn(ours, peer, repeat):
    """Medians of both, and of their ratios, measured in turn."""
    pairs = np.array([(cpu(ours), cpu(peer)) for _ in range(repeat)])
    a, b = np.median(pairs, axis=0)
    return float(a), float(b), float(np.median(pairs[:, 0] / pairs[:, 1]))


def row(what, measured, note=""):
    ours, peer, ratio = measured
    return {"what": what, "ours_s": ours, "peer_s": peer, "ratio": ratio, "note": note}


def fit_and_engine(learner, engine, X, Y):
    """The fit, the part of it that scikit-learn's fit takes, and their ratio.

    Two fits after each other differ by a tenth on a busy machine; these are one.
    """
    inside = []
    fit = engine.fit

    def timed(self, *args, **kwargs):
        inside.append(cpu(lambda: fit(self, *args, **kwargs)))
        return self

    with mock.patch.object(engine, "fit", timed):
        total = cpu(lambda: learner.fit(X, Y))
    return total, inside[0], total / inside[0]


def forest(n, d, q, trees, *, extra=False, repeat=5):
    X, Y = data(n, d, q)
    new, _ = data(5 * n, d, q, seed=1)
    ours = MLRandomForest(trees, extra_trees=extra, random_state=0)
    kind = ExtraTreesClassifier if extra else RandomForestClassifier
    peer = kind(trees, criterion="entropy", random_state=0).fit(X, Y)
    name = f"{'extra trees' if extra else 'forest'} n={n} d={d} q={q}"
    for form, labels in (("dense", Y), ("sparse", sparse.csr_array(Y))):
        measured = fit_and_engine(ours, kind, X, labels)
        yield row(f"{name}: fit, {form} Y / scikit-learn's part of it", measured, "bar: 1.05")
    measured = in_turn(lambda: ours.predict_proba(new), lambda: peer.predict_proba(new), repeat)
    yield row(f"{name}: predict_proba of {5 * n} rows / scikit-learn", measured, "bar: 1.05")


def by_gini(n, d, q, trees):
    X, Y = data(n, d, q)
    gini, entropy = (MLRandomForest(trees, criterion=c) for c in ("gini", "entropy"))
    measured = in_turn(lambda: gini.fit(X, Y), lambda: entropy.fit(X, Y), 1)
    return row(f"forest n={n} d={d} q={q}: fit by gini / by entropy", measured)


def sums_over_sets(n, q):
    """The factorised sum over all label sets, beside every set for every instance."""
    rng = np.random.default_rng(0)
    U, Y = rng.normal(size=(n, q)), rng.integers(0, 2, size=(100, q))
    interaction = rng.normal(size=(q, q))
    interaction = np.triu(interaction, 1) + np.triu(interaction, 1).T
    sets = LabelSets.all(Y)
    table = (np.arange(2**q)[:, None] >> np.arange(q) & 1).astype(float)

    def plain():
        F = U @ table.T + 0.5 * ((table @ interaction) * table).sum(axis=1)
        P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
        return P @ table, (table.T * P.sum(axis=0)) @ table

    measured = in_turn(lambda: sets.expectations(U, interaction), plain, 3)
    return row(f"CML: one sum over 2**{q} sets, n={n} / plain enumeration", measured)


def collective(name, label_sets):
    """CML on a hold-out beside as many logistic regressions."""
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    Y, Y_test = (y.toarray() if hasattr(y, "toarray") else np.asarray(y) for y in (Y, Y_test))
    learner = CML(label_sets=label_sets)
    predicted = np.tile(Y[0], (len(Y_test), 1))

    def relevance():
        for l in np.flatnonzero(Y.min(axis=0) != Y.max(axis=0)):
            model = LogisticRegression(max_iter=20_000).fit(X, Y[:, l])
            predicted[:, l] = model.predict(X_test)

    measured = in_turn(lambda: learner.fit(X, Y), relevance, 1)
    ours, peer = ((p == Y_test).all(axis=1).mean() for p in (learner.predict(X_test), predicted))
    return row(f"CML ({label_sets}, {learner.n_label_sets_} sets) on {name}: fit / regressions",
               measured, f"subset accuracy {ours:.4f} / {peer:.4f}")  # fmt: skip


def run():
    with threadpool_limits(1):
        rows = [
            *forest(1_500, 103, 14, 20),
            *forest(1_500, 103, 14, 20, extra=True),
            *forest(1_000, 30, 100, 5, repeat=3),
            by_gini(1_000, 30, 100, 5),
            sums_over_sets(500, 14),
        ]
        try:
            datasets.load("emotions")
        except (OSError, ValueError) as error:
            missing = row("CML on real data", (np.nan, np.nan, np.nan), f"left out: {error}")
            return [*rows, missing]
        for name in ("emotions", "scene", "yeast"):
            rows += [collective(name, "all"), collective(name, "seen")]
        return [*rows, collective("medical", "seen")]


def main():
    for r in run():
        print(
            f"{r['what']:75}  {r['ours_s']:8.3f} s  {r['peer_s']:8.3f} s  {r['ratio']:7.3f}  "
            f"{r['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
