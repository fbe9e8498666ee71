"""The training of the network fitted to a prior: tables, invariances, checkpoints, answers."""

import itertools
import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")

from benchmarks.prior_fitted import _prior, _train  # noqa: E402
from benchmarks.prior_fitted.__main__ import main  # noqa: E402
from benchmarks.prior_fitted._batches import Shape, make_batch, shapes  # noqa: E402
from benchmarks.prior_fitted._cells import group_features, view_features  # noqa: E402
from benchmarks.prior_fitted._checkpoint import load_state, ship_weights  # noqa: E402
from benchmarks.prior_fitted._dice import Dice  # noqa: E402
from benchmarks.prior_fitted._regressions import regress  # noqa: E402
from benchmarks.prior_fitted.learner._network import Network  # noqa: E402
from benchmarks.prior_fitted.learner._weights import (  # noqa: E402
    GROUP,
    Size,
    load_weights,
)
from plurilabel import metrics  # noqa: E402

SMALL = Size(width=16, heads=2, layers=2, name_width=8)


@pytest.fixture(scope="module")
def network():
    """A network with random weights, in the head too."""
    torch.manual_seed(0)
    found = Network(SMALL).requires_grad_(False)
    torch.nn.init.normal_(found.head[-1].weight)
    return found


@pytest.fixture
def table():
    """Cells, known labels and names of two tables: 12 rows, 8 known, 8 features, 3 labels."""
    torch.manual_seed(1)
    X, Y = torch.randn(2, 12, 8), (torch.rand(2, 8, 3) < 0.5).float()
    return X, Y, torch.randn(2, 2 + 3, SMALL.name_width)


def read(X, Y, names):
    """What the network reads: the known rows come first."""
    views = view_features(X, Y.shape[1])
    return group_features(views), Y, regress(views, Y), names


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are slower on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---- the prior ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", _prior.SCORES)
@pytest.mark.parametrize(("n", "d", "q"), [(30, 3, 2), (90, 21, 7)])
def test_tables_of_the_prior_are_finite_and_have_both_values_of_most_labels(scores, n, d, q):
    frequencies = []
    for seed in range(12):
        X, Y = _prior.draw(Dice("cpu", seed), 2, n, d, q, scores=scores)
        assert X.shape == (2, n, d) and Y.shape == (2, n, q)
        assert X.isfinite().all()
        assert set(Y.unique().tolist()) <= {0.0, 1.0}
        frequencies += Y.mean(1).flatten().tolist()
    # drawn at random where labels are flipped, which moves them a little
    assert min(frequencies) >= 0 and max(frequencies) <= _prior.MOST_FREQUENT + 0.1
    assert np.mean(np.array(frequencies) > 0) > 0.98
    assert 0.05 < np.mean(frequencies) < 0.5


@pytest.mark.parametrize("features", _prior.FEATURES)
def test_features_of_every_kind_vary(features):
    X, hidden = features(Dice("cpu", 3), 2, 60, 7)
    assert X.shape == (2, 60, 7) and len(hidden[0]) == 60
    assert (X.std(1) > 0).float().mean() > 0.8


@pytest.mark.parametrize("marginal", _prior.MARGINALS)
def test_marginals_keep_the_shape_and_are_finite(marginal):
    dice = Dice("cpu", 5)
    X = marginal(dice, dice.normal(2, 50, 7) * 3)
    assert X.shape == (2, 50, 7) and X.isfinite().all()


def test_labels_of_the_prior_can_be_learned():
    from sklearn.ensemble import RandomForestClassifier

    above = []
    for seed, scores in enumerate(_prior.SCORES):
        X, Y = _prior.draw(Dice("cpu", 40, seed), 1, 400, 10, 3, scores=scores)
        X, Y = X[0].numpy(), Y[0].numpy().astype(int)
        forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0).fit(
            X[:300], Y[:300]
        )
        P = np.column_stack([p[:, -1] for p in forest.predict_proba(X[300:])])
        above.append(metrics.evaluate(Y[300:], P)["macro_auc"])
    assert np.nanmean(above) > 0.65


def test_only_known_rows_lose_labels():
    dice = Dice("cpu", 0)
    seen = [_prior.hide(dice, torch.ones(1, 20, 4), torch.ones(1, 20, 3), 15) for _ in range(80)]
    assert {known.shape for _, known in seen} == {(1, 15, 3)}
    assert any(X.isnan().any() for X, _ in seen)
    assert any(known.isnan().any() for _, known in seen)
    assert not all(X.isnan().any() for X, _ in seen)


def test_a_batch_is_a_function_of_its_seed():
    shape = Shape(3, 40, 25, 5, 2)
    one, same, other = (
        make_batch(Dice("cpu", 1, k), shape, SMALL, torch.float32) for k in (2, 2, 3)
    )
    for a, b in zip(one.tensors(), same.tensors()):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    assert not torch.equal(one.names, other.names)


def test_shapes_are_within_the_limits_of_the_kernels():
    for shape in itertools.chain(*shapes()):
        assert shape.tables * shape.rows < 2**16  # blocks of a grid
        assert 0 < shape.known < shape.rows
    rows, features, labels = (
        {getattr(shape, name) for shape in itertools.chain(*shapes())}
        for name in ("rows", "features", "labels")
    )
    assert min(rows) <= 32 and max(rows) == 4000
    assert min(features) == 3 and max(features) == 300
    assert min(labels) == 2 and max(labels) == 60


# ---- the network -------------------------------------------------------------------------------


def test_missing_values_and_scales_of_cells():
    X = torch.tensor(
        [[1.0, 10.0, 5.0], [3.0, torch.nan, 5.0], [torch.nan, 30.0, 5.0], [3.0, 1e30, 5.0]]
    )
    cells = group_features(view_features(X[None], 3))[0].view(4, GROUP, 3)
    assert cells.isfinite().all()
    z, rank, there = cells.unbind(-1)
    np.testing.assert_allclose(z[:, 0], [-1, 1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(rank[:, 0], np.sqrt(3) * np.array([-0.5, 0.5, 0, 0.5]), atol=1e-6)
    assert z[3, 1] == 8 and z[1, 1] == rank[1, 1] == 0
    assert not z[:, 2].any() and not rank[:, 2].any()  # a constant says nothing
    np.testing.assert_array_equal(there, [[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]])


def test_order_of_rows_does_not_matter(network, table):
    X, Y, names = table
    logits = network(*read(X, Y, names))
    known, asked = torch.randperm(8), 8 + torch.randperm(4)
    moved = network(*read(X[:, torch.cat([known, asked])], Y[:, known], names))
    torch.testing.assert_close(moved, logits[:, asked - 8], rtol=1e-4, atol=1e-4)


def test_order_of_columns_does_not_matter_if_names_move_along(network, table):
    X, Y, names = table
    logits = network(*read(X, Y, names))
    labels = torch.tensor([2, 0, 1])
    swapped = torch.cat([X[:, :, 4:], X[:, :, :4]], 2)
    moved = network(*read(swapped, Y[:, :, labels], names[:, [1, 0, *(2 + labels)]]))
    torch.testing.assert_close(moved, logits[:, :, labels], rtol=1e-4, atol=1e-4)


def test_queried_rows_do_not_see_one_another(network, table):
    X, Y, names = table
    alone = network(*read(X[:, :9], Y, names))
    torch.testing.assert_close(network(*read(X, Y, names))[:, :1], alone, rtol=1e-4, atol=1e-4)


def test_tables_do_not_see_one_another(network, table):
    X, Y, names = table
    alone = network(*read(X[:1], Y[:1], names[:1]))
    both = network(*read(X, Y, names))
    torch.testing.assert_close(both[:1], alone, rtol=1e-4, atol=1e-4)


def test_unknown_labels_are_ignored_and_known_ones_are_not(network, table):
    X, Y, names = table
    hidden = Y.clone()
    hidden[0, 3, 1] = torch.nan
    logits = network(*read(X, hidden, names))
    assert logits.isfinite().all()
    assert not torch.allclose(logits[0], network(*read(X, Y, names))[0], atol=1e-4)
    everything = network(*read(X, torch.full_like(Y, torch.nan), names))
    assert everything.isfinite().all()


def test_a_column_without_values_is_none(table):
    X, _, _ = table
    X[:, :, 7] = torch.nan
    both = (group_features(view_features(A, 8)) for A in (X, X[:, :, :7]))
    torch.testing.assert_close(*both)


def test_the_last_block_computes_what_is_read(network):
    torch.manual_seed(2)
    x = torch.randn(2, 12, 5, SMALL.width)
    block = network.blocks[-1]
    torch.testing.assert_close(block(x, 8, answers=3), block(x, 8)[:, 8:, -3:])


def test_a_new_network_answers_with_frequencies(table):
    X, Y, names = table
    logits = Network(SMALL)(*read(X, Y, names))
    expected = (Y.sum(1, keepdim=True) + 0.5) / 9
    torch.testing.assert_close(logits.sigmoid(), expected.expand_as(logits))


# ---- training ----------------------------------------------------------------------------------


class Ticks:
    """A clock that goes on by a second with each look at it."""

    def __init__(self):
        self.now = -1.0

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def quick(monkeypatch):
    """Few and small shapes."""
    few = [[Shape(4, 24, 16, 5, 2), Shape(2, 30, 20, 8, 3)], [Shape(2, 40, 30, 9, 3)], [], []]
    monkeypatch.setattr(_train, "shapes", lambda _scale: [list(sizes) for sizes in few])
    monkeypatch.setattr(_train, "VALIDATION", (Shape(2, 24, 16, 5, 2),))


def plan(**options):
    return _train.Plan(SMALL, **{"stages": (4.0, 100.0, 200.0), "steady": 6.0} | options)


def test_a_resumed_training_is_the_same_bit_for_bit(quick, tmp_path):
    whole = _train.Trainer(plan(), clock=Ticks())
    whole.run(9)
    first = _train.Trainer(plan(), clock=Ticks())
    first.run(5, folder=tmp_path)
    second = _train.Trainer.resume(tmp_path, clock=Ticks())
    second.run(5, folder=tmp_path)
    assert second.optimizer.steps == whole.optimizer.steps == 8
    assert second.seconds == whole.seconds and second.tables == whole.tables
    for (name, a), b in zip(second.optimizer.state().items(), whole.optimizer.state().values()):
        assert torch.equal(a, b), name


def test_decay_leaves_the_state_before_it(quick, tmp_path):
    trainer = _train.Trainer(plan(), clock=Ticks())
    trainer.run(10, decay=4, folder=tmp_path, every=1)
    about, arrays = load_state(tmp_path)
    assert about["steps"] == 6 and about["seconds"] == 7
    rates = [line["rate"] for line in trainer.history]
    assert rates[-1] < rates[-2] < rates[-3] < rates[-4]
    _, weights, _, stored = load_weights(tmp_path / "weights.npz")
    assert stored["steps"] == 9 and stored["plan"]["seed"] == 0
    name = "blocks.0.up.weight"
    assert not np.array_equal(arrays[f"average/{name}"].numpy(), weights[name])
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["steps"] for line in lines][-1] == 9


def test_a_decay_over_two_runs_keeps_the_state_within_it(quick, tmp_path):
    trainer = _train.Trainer(plan(), clock=Ticks())
    trainer.run(8, decay=8, ends=14, folder=tmp_path, every=1)
    about, _ = load_state(tmp_path)
    assert about["steps"] == trainer.optimizer.steps == 7
    later = _train.Trainer.resume(tmp_path, clock=Ticks())
    later.run(7, decay=8, ends=14, folder=tmp_path, every=1)
    rates = [line["rate"] / later.plan.rate(line["seconds"], line["steps"] - 1)
             for line in trainer.history[-1:] + later.history]  # fmt: skip
    assert np.all(np.diff(rates) <= 1e-3) and rates[-1] < 0.3


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_attention_among_columns_by_the_kernel_is_that_of_torch():
    program = """
import torch
from benchmarks.prior_fitted._kernels import attend_columns
from benchmarks.prior_fitted.learner._network import attend_columns as usual
x = torch.randn(3, 21, 3, 2, 16, generator=torch.manual_seed(0), requires_grad=True)
for attend in (usual, attend_columns):
    y = attend(x)
    (gradient,) = torch.autograd.grad((y * torch.arange(32)).sin().sum(), x)
    print(y.double().sum().item(), gradient.double().abs().sum().item(), y[2, 20, 31].item())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    usual, kernel = (np.array(line.split(), dtype=float) for line in done.stdout.splitlines())
    np.testing.assert_allclose(kernel, usual, rtol=1e-4)


def test_shipped_weights_have_their_digest_and_command(quick, tmp_path):
    _train.Trainer(plan(), clock=Ticks()).run(10, decay=4, folder=tmp_path)
    ship_weights(tmp_path, tmp_path / "package.npz")
    about = json.loads((tmp_path / "package.json").read_text())
    assert about["sha256"] == load_weights(tmp_path / "package.npz").digest
    assert "--seconds 9 --decay 2 --width 16" in about["command"] and about["prior"]


def test_a_training_begins_with_kept_weights(quick, tmp_path):
    _train.Trainer(plan(), clock=Ticks()).run(3, folder=tmp_path)
    trainer, kept = _train.Trainer(plan(), clock=Ticks()), load_weights(tmp_path / "weights.npz")
    trainer.optimizer.begin_with(kept.arrays)
    for name, one in trainer.network.named_parameters():
        np.testing.assert_array_equal(one.detach().float().numpy(), kept.arrays[name])


def test_a_damaged_state_is_refused(quick, tmp_path):
    trainer = _train.Trainer(plan(), clock=Ticks())
    trainer.run(3, folder=tmp_path)
    file = next(tmp_path.glob("state-*.npz"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="not the file that state.json was written with"):
        _train.Trainer.resume(tmp_path)


def test_a_shape_that_fails_is_left_out(quick, capsys, monkeypatch):
    trainer = _train.Trainer(plan(), clock=Ticks())
    bad = trainer.shapes[0][0]
    work = trainer.steps._backward

    def fail(batch):
        if batch.targets.shape[0] == bad.tables:
            raise torch.OutOfMemoryError("too large")
        work(batch)

    monkeypatch.setattr(trainer.steps, "_backward", fail)
    trainer.run(12)
    assert bad not in trainer.shapes[0]
    assert "left out: 4 x (24 rows" in capsys.readouterr().err
    assert trainer.tables > 0


def test_loss_falls(quick, monkeypatch):
    def easy(dice, *dimensions, scores=None):
        return _prior.draw_easy(dice, *dimensions)

    monkeypatch.setattr("benchmarks.prior_fitted._batches.draw", easy)
    monkeypatch.setattr(_train, "shapes", lambda _scale: [[Shape(8, 24, 16, 4, 2)], [], [], []])
    monkeypatch.setattr(_train, "VALIDATION", (Shape(8, 24, 16, 4, 2),))
    monkeypatch.setattr(_train, "WARM_UP", 20)
    trainer = _train.Trainer(plan(average=0.9, steady=1e9, stages=(1e9,) * 3), clock=Ticks())
    trainer.run(120, every=59)
    saved = [line["saved"] for line in trainer.history]
    assert saved[-1] > saved[0] > 0.05


# ---- answers -----------------------------------------------------------------------------------


def test_commands_from_training_to_figures(quick, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    Y = (X[:, :3] > 0).astype(np.int8)
    np.savez(tmp_path / "made.npz", X=X, Y=Y, fold=np.arange(40) % 2)
    size = ["--width", "16", "--heads", "2", "--layers", "1", "--device", "cpu"]
    main(["train", "--seconds", "0.3", "--checkpoint", str(tmp_path / "one"), *size])
    resumed = ["--resume", str(tmp_path / "one"), "--checkpoint", str(tmp_path / "two")]
    main(["train", "--seconds", "0.3", "--decay", "0.1", *resumed, "--device", "cpu"])
    assert load_weights(tmp_path / "two" / "weights.npz").size.width == 16
    main(
        ["evaluate", "--checkpoint", str(tmp_path / "two"), "--data", str(tmp_path / "made.npz"),
         "--passes", "2", "--device", "cpu", "--output", str(tmp_path / "figures.json")]
    )  # fmt: skip
    (line,) = json.loads((tmp_path / "figures.json").read_text())
    assert 0 < line["average_precision"] <= 1 and len(line["folds"]) == 2
    assert "mean_average_precision" in capsys.readouterr().out
    main(["evaluate", "--data", str(tmp_path / "made.npz")])
    line = json.loads(capsys.readouterr().out)
    assert len(line["regressions"]) == 5 and line["data"] == "made"
    assert min(line["regressions"]) > 0.7 and line["mean_of_them"] > 0.8
    main(["profile", "--seconds", "0", "--then", "0.2", *size])
    assert "saved" in capsys.readouterr().out
