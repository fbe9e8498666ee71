"""BP-MLL: an epoch compared with a bare torch loop, training with scikit-learn's network.

The loop is the obvious one: the same network, cross-entropy and Adam, with and without torch's
fused Adam. The fastest epoch of each turn counts. ``MLPClassifier`` has the same sizes, batches
and epochs, and cross-entropy. ``python -m benchmarks.speed.neural`` also trains on the published
splits and prints the table for Yeast.
"""

import importlib.util
from time import perf_counter, process_time

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness.measure import Row, alone, beside, left_out, row
from plurilabel import BPMLL, datasets, metrics

MEASURES = ("hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision")


def bare_epochs(X, Y, hidden, size, epochs, **adam):
    """Seconds of each epoch of what one writes first: the same network, cross-entropy, Adam."""
    import torch

    X, Y = torch.from_numpy(X), torch.from_numpy(Y).float()
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, Y.shape[1])
    )
    optimizer = torch.optim.Adam(network.parameters(), weight_decay=1e-3, **adam)
    loss = torch.nn.BCEWithLogitsLoss()
    times = []
    for _ in range(epochs):
        start = process_time()
        for rows in torch.randperm(len(X)).split(size):
            optimizer.zero_grad()
            loss(network(X[rows]), Y[rows]).backward()
            optimizer.step()
        times.append(process_time() - start)
    return times


def our_epochs(X, Y, hidden, size, epochs):
    times = [process_time()]
    BPMLL(
        (hidden,),
        batch_size=size,
        max_iter=epochs,
        threshold=None,
        device="cpu",
        callback=lambda _: times.append(process_time()),
    ).fit(X, Y)
    return np.diff(times)[1:]


def epochs_beside_torch(repeats=3, epochs=8, quick=False):
    """One thread, processor time, the fastest of all epochs: others may use the machine."""
    import torch

    shapes = [(2400, 103, 14, 20, 128), (2400, 103, 14, 20, 32), (4000, 500, 983, 100, 128),
              (4000, 1836, 159, 100, 128)]  # fmt: skip
    shapes = shapes[:1] if quick else shapes
    before, rows = torch.get_num_threads(), []
    torch.set_num_threads(1)
    for n, d, q, hidden, size in shapes:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)).astype(np.float32)
        Y = (rng.random((n, q)) < 4 / q).astype(np.int8)
        ours, plain, fused = [], [], []
        for _ in range(repeats):
            ours.append(min(our_epochs(X, Y, hidden, size, epochs)))
            plain.append(min(bare_epochs(X, Y, hidden, size, epochs)))
            fused.append(min(bare_epochs(X, Y, hidden, size, epochs, fused=True)))
        what = f"epoch, {n} x {d}, {hidden} units, {q} labels, batches of {size}"
        rows.append(row(what, "bare loop of torch", ours, plain))
        rows.append(row(what, "bare loop of torch, fused Adam", ours, fused))
    torch.set_num_threads(before)
    return rows


def beside_scikit_learn(repeats=9, quick=False):
    """All of ``fit``, with Yeast's sizes and one thread; 15 epochs, processor time."""
    import torch
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2417, 103))
    Y = (rng.random((2417, 14)) < 0.3).astype(np.int8)
    before, rows = torch.get_num_threads(), []
    torch.set_num_threads(1)
    for hidden, size in [(20, 128), (50, 100), (100, 32)][: 1 if quick else None]:
        same = {"hidden_layer_sizes": (hidden,), "batch_size": size, "max_iter": 15}
        peer = MLPClassifier(activation="tanh", n_iter_no_change=15, random_state=0, **same)
        learner = BPMLL(device="cpu", threshold=None, random_state=0, **same)
        for one in (peer, learner):
            one.fit(X[:200], Y[:200])  # what torch loads late is not counted
        what = f"fit, 2417 x 103, {hidden} units, 14 labels, batches of {size}"
        fits = {"scikit-learn": lambda peer=peer: peer.fit(X, Y)}
        rows += beside(what, lambda learner=learner: learner.fit(X, Y), fits, turns=repeats)
    torch.set_num_threads(before)
    return rows


def hold_outs(names=("bibtex", "delicious")):
    """Training and answers on the published splits; nothing to compare with."""
    rows = []
    for name in names:
        X_train, X_test, Y_train, Y_test = datasets.load(name).holdout()
        start = perf_counter()
        learner = BPMLL(random_state=0).fit(X_train, Y_train)
        seconds = perf_counter() - start
        scores, labels = learner.decision_function(X_test), learner.predict(X_test)
        found = metrics.evaluate(Y_test, scores=scores, labels=labels)
        note = ", ".join(f"{key} {found[key]:.4f}" for key in (*MEASURES, "micro_f1"))
        rows.append(alone(f"{name}, fit, 100 epochs", seconds, note))
    return rows


def yeast():
    """Ten folds, 20 hidden units, 100 epochs: the set-up of the 2006 paper."""
    data = datasets.load("yeast")
    rows = []
    for parameters in (
        {"loss": "bpmll"},
        {"loss": "squared", "alpha": 0.15 / 14},
        {"loss": "squared", "alpha": 0.1},
        {"loss": "cross-entropy"},
        {"loss": "asymmetric"},
    ):
        found, start = [], process_time()
        for train, test in KFold(10, shuffle=True, random_state=0).split(data.X):
            learner = BPMLL((20,), random_state=0, **parameters).fit(data.X[train], data.Y[train])
            scores, labels = learner.decision_function(data.X[test]), learner.predict(data.X[test])
            values = metrics.evaluate(data.Y[test], scores=scores, labels=labels)
            found.append([values[name] for name in MEASURES])
        note = ", ".join(
            f"{name} {mean:.4f}±{deviation:.4f}"
            for name, mean, deviation in zip(MEASURES, np.mean(found, 0), np.std(found, 0, ddof=1))
        )
        what = "yeast, ten folds, " + ", ".join(f"{k}={v}" for k, v in parameters.items())
        rows.append(alone(what, process_time() - start, note))
    return rows


def run(quick: bool = False) -> list[Row]:
    if importlib.util.find_spec("torch") is None:
        return [left_out("BPMLL", "bare loop of torch", "torch is not installed")]
    return epochs_beside_torch(quick=quick) + beside_scikit_learn(quick=quick)


def main() -> None:
    for entry in run() + hold_outs() + yeast():
        ratio = f"{entry['peer']} {entry['ratio']:.2f}" if "ratio" in entry else ""
        print(f"{entry['what']:62} {entry['ours_s']:8.3f} s  {ratio}  {entry['note']}", flush=True)


if __name__ == "__main__":
    main()
