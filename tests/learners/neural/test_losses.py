"""The errors against their definitions, pair by pair."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `torch` has it")

import plurilabel.learners.neural  # noqa: E402
from plurilabel.learners import asymmetric_loss, pairwise_exponential_loss  # noqa: E402
from plurilabel.learners.neural._losses import bounded_pairwise_loss, cross_entropy, squared_loss  # noqa: E402

BPMLLLoss = plurilabel.learners.BPMLLLoss


def over_all_pairs(scores, Y, weight=None):
    """Equation 3 of the paper, as it stands there; pairs weigh w_k w_l."""
    weight = torch.ones_like(scores) if weight is None else weight.expand_as(scores)
    errors = []
    for c, y, w in zip(scores, Y, weight):
        labels = [k for k in range(len(y)) if y[k] and w[k] > 0]
        others = [l for l in range(len(y)) if not y[l] and w[l] > 0]
        error, total = c.sum() * 0, 0.0
        for k in labels:
            for l in others:
                error = error + w[k] * w[l] * torch.exp(-(c[k] - c[l]))
                total += float(w[k] * w[l])
        errors.append(error / total if total else error)
    return torch.stack(errors)


def value_and_gradient(loss, scores):
    c = scores.clone().requires_grad_()
    values = loss(c)
    (values * torch.arange(1, len(c) + 1)).sum().backward()  # rows must not be mixed up
    return values.detach(), c.grad


@st.composite
def batches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    Y = torch.from_numpy(rng.random((n, q)) < draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])))
    scores = torch.from_numpy(rng.normal(size=(n, q)) * draw(st.sampled_from([0.1, 1.0, 8.0])))
    shape = draw(st.sampled_from([None, (q,), (n, q)]))
    weight = None
    if shape is not None:
        weight = torch.from_numpy(rng.choice([0.0, 0.3, 1.0, 2.0], size=shape))
    return scores, Y.to(draw(st.sampled_from([torch.int8, torch.float64, torch.bool]))), weight


@settings(max_examples=40)
@given(batches())
def test_value_and_gradient_are_those_of_all_pairs(batch):
    scores, Y, weight = batch
    wanted = value_and_gradient(lambda c: over_all_pairs(c, Y, weight), scores)
    found = value_and_gradient(
        lambda c: pairwise_exponential_loss(c, Y, weight=weight, reduction="none"), scores
    )
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    if weight is None:  # the form without shifts, for scores that a tanh bounds
        found = value_and_gradient(lambda c: bounded_pairwise_loss(c.tanh(), Y), scores)
        wanted = value_and_gradient(lambda c: over_all_pairs(c.tanh(), Y).mean(), scores)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(batches(), st.integers(0, 2))
def test_label_numbers_say_the_same_as_a_matrix(batch, spare):
    scores, Y, weight = batch
    if weight is not None and weight.ndim == 2:
        weight = weight[0]
    sets = [torch.nonzero(y).ravel().tolist() for y in Y]
    m = max(map(len, sets)) + spare
    numbers = torch.full((len(Y), m), -1)
    for row, labels in zip(numbers, sets):
        row[torch.randperm(m)[: len(labels)]] = torch.tensor(labels, dtype=torch.int64)
    for reduction in ("none", "sum", "mean"):
        kind = {"weight": weight, "reduction": reduction}
        found = pairwise_exponential_loss(scores, numbers, indices=True, **kind)
        torch.testing.assert_close(found, pairwise_exponential_loss(scores, Y, **kind))


def test_torch_agrees_with_the_gradient():
    torch.manual_seed(0)
    scores = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    Y = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0]])
    for reduction in ("none", "sum", "mean"):
        assert torch.autograd.gradcheck(
            lambda c, r=reduction: pairwise_exponential_loss(c, Y, reduction=r), scores
        )


def test_full_and_empty_label_sets_add_nothing():
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.5, 0.0]], requires_grad=True)
    Y = torch.tensor([[0, 0], [1, 1], [1, 0]])
    loss = pairwise_exponential_loss(scores, Y)
    torch.testing.assert_close(loss, torch.tensor(np.exp(-0.5) / 3, dtype=torch.float32))
    loss.backward()
    assert (scores.grad[:2] == 0).all() and (scores.grad[2] != 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_scores(dtype):
    torch.manual_seed(0)
    Y = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    near = torch.randint(-20, 20, (4, 4)).to(dtype) / 4  # exact beside the shift
    wanted = value_and_gradient(lambda c: pairwise_exponential_loss(c, Y, reduction="none"), near)
    for shift in (5000.0, -5000.0):
        found = value_and_gradient(
            lambda c: pairwise_exponential_loss(c, Y, reduction="none"), near + shift
        )
        torch.testing.assert_close(found, wanted)
    # far apart in the wrong order: no infinity, no NaN, and the gradient points the right way
    errors, gradient = value_and_gradient(
        lambda c: pairwise_exponential_loss(c, Y, reduction="none"), near * 1e6
    )
    assert torch.isfinite(errors).all() and torch.isfinite(gradient).all()
    assert errors[:2].max() > 1e30
    assert (gradient[:2][Y[:2] == 1] <= 0).all() and (gradient[:2][Y[:2] == 0] >= 0).all()
    # a NaN of the network is not hidden
    near[0, 0] = torch.nan
    assert pairwise_exponential_loss(near, Y).isnan()


def test_half_precision_is_computed_in_single():
    scores = torch.tensor([[-6.0, 6.0]], dtype=torch.float16, requires_grad=True)
    loss = pairwise_exponential_loss(scores, torch.tensor([[1, 0]]))
    torch.testing.assert_close(loss, torch.tensor(np.exp(12.0), dtype=torch.float32))
    small = torch.tensor([[0.5, 0.25]], dtype=torch.bfloat16, requires_grad=True)
    pairwise_exponential_loss(small, torch.tensor([[1, 0]])).backward()
    assert small.grad.dtype == torch.bfloat16 and small.grad[0, 0] < 0


def test_second_derivatives_are_refused():
    c = torch.randn(2, 3, requires_grad=True)
    loss = pairwise_exponential_loss(c, torch.tensor([[1, 0, 0], [0, 1, 1]]))
    with pytest.raises(RuntimeError, match="can be differentiated once"):
        torch.autograd.grad(loss, c, create_graph=True)


def test_module():
    torch.manual_seed(0)
    scores, weight = torch.randn(4, 5), torch.tensor([1.0, 2.0, 0.0, 1.0, 0.5])
    Y = (torch.rand(4, 5) < 0.5).float()
    module = BPMLLLoss(weight=weight, reduction="sum")
    wanted = pairwise_exponential_loss(scores, Y, weight=weight, reduction="sum")
    assert module(scores, Y) == wanted
    assert module.double().weight.dtype == torch.float64  # it goes where the module goes
    assert repr(module) == "BPMLLLoss(indices=False, reduction='sum')"
    assert BPMLLLoss(indices=True)(scores, torch.tensor([[0], [1], [-1], [4]])) > 0


@pytest.mark.parametrize(
    ("scores", "targets", "kind", "message"),
    [
        ((3, 4), (3, 5), {}, r"targets must have the shape of scores, \(3, 4\), got \(3, 5\)"),
        ((4,), (4,), {}, r"scores must be a matrix .* \(4,\)"),
        ((3, 4), (2, 2), {"indices": True}, r"label numbers with 3 rows, got the shape \(2, 2\)"),
        ((3, 4), (3, 4), {"reduction": "max"}, "reduction must be .* got 'max'"),
        ((3, 4), (3, 4), {"weight": torch.ones(3)}, r"one entry per label, 4, .* \(3,\)"),
        ((3, 4), (3, 2), {"weight": torch.ones(3, 4), "indices": True}, "one entry per label"),
    ],
)
def test_wrong_shapes_are_named(scores, targets, kind, message):
    with pytest.raises(ValueError, match=message):
        pairwise_exponential_loss(torch.zeros(scores), torch.zeros(targets).long(), **kind)


# the other errors ------------------------------------------------------------------------------


def asymmetric_definition(c, y, gamma_pos, gamma_neg, m):
    p = 1 / (1 + np.exp(-c))
    if y:
        return -((1 - p) ** gamma_pos) * np.log(p)
    p_m = max(p - m, 0.0)
    return -(p_m**gamma_neg) * np.log(1 - p_m)


@pytest.mark.parametrize("gammas", [(0.0, 4.0, 0.05), (1.0, 2.0, 0.0), (0.0, 0.0, 0.2)])
def test_asymmetric_loss_is_its_definition(gammas):
    rng = np.random.default_rng(0)
    c, Y = 3 * rng.normal(size=(6, 4)), rng.random((6, 4)) < 0.5
    wanted = [
        sum(asymmetric_definition(*cy, *gammas) for cy in zip(row, y)) for row, y in zip(c, Y)
    ]
    kind = dict(zip(("gamma_pos", "gamma_neg", "clip"), gammas))
    scores, targets = torch.from_numpy(c), torch.from_numpy(Y)
    found = asymmetric_loss(scores, targets, reduction="none", **kind)
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64))
    assert torch.autograd.gradcheck(
        lambda s: asymmetric_loss(s, targets, **kind), scores.requires_grad_()
    )


def test_asymmetric_loss_without_asymmetry_is_the_cross_entropy():
    torch.manual_seed(0)
    scores = 100 * torch.randn(6, 4)
    Y = (torch.rand(6, 4) < 0.5).float()
    plain = {"gamma_pos": 0, "gamma_neg": 0, "clip": 0}
    wanted = torch.nn.BCEWithLogitsLoss(reduction="sum")(scores, Y)
    torch.testing.assert_close(asymmetric_loss(scores, Y, reduction="sum", **plain), wanted)
    torch.testing.assert_close(cross_entropy(scores, Y.bool()), wanted / 6)
    for clip in (0.0, 0.05):
        c = scores.clone().requires_grad_()
        asymmetric_loss(c, Y, clip=clip).backward()
        assert torch.isfinite(c.grad).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gammas", [(0.0, 4.0, 0.05), (1.0, 2.0, 0.0), (0.0, 0.0, 0.0)])
def test_slope_of_the_asymmetric_loss(gammas, dtype):
    """Also at 0, which random scores do not meet, and where exponentials are 0 or infinite."""
    gamma_pos, gamma_neg, m = gammas

    def errors(c):
        p, q = np.exp(-np.logaddexp(0, -c)), np.exp(-np.logaddexp(0, c))
        p_m = np.maximum(p - m, 0)
        log_absent = np.log1p(-p_m) if m else -np.logaddexp(0, c)
        return np.stack([q**gamma_pos * np.logaddexp(0, -c), -(p_m**gamma_neg) * log_absent], 1)

    c, h = np.array([0.0, -0.0, 1e-6, -1e-6, 50.0, -50.0, 800.0, -800.0]), 1e-5
    scores = torch.tensor(np.column_stack([c, c]), dtype=dtype, requires_grad=True)
    targets = torch.tensor([[1, 0]]).expand(len(c), 2)
    kind = dict(zip(("gamma_pos", "gamma_neg", "clip"), gammas))
    found = asymmetric_loss(scores, targets, reduction="none", **kind)
    found.sum().backward()
    assert_allclose(found.detach(), errors(c).sum(axis=1), rtol=1e-6)
    wanted = (errors(c + h) - errors(c - h)) / (2 * h)
    assert_allclose(scores.grad, wanted, rtol=1e-6, atol=1e-7)


def test_squared_loss_of_basic_bp():
    scores, Y = torch.tensor([[0.5, -1.0], [1.0, 0.25]]), torch.tensor([[1, 0], [0, 1]])
    wanted = ((0.5 - 1) ** 2 + 0 + (1 + 1) ** 2 + (0.25 - 1) ** 2) / 2
    assert squared_loss(scores, Y.to(torch.int8)) == wanted


@pytest.mark.parametrize("name", ["BPMLLLoss", "asymmetric_loss", "pairwise_exponential_loss"])
def test_examples(name):
    """They are loaded on demand, so that doctest does not find them in the package."""
    runner = doctest.DocTestRunner()
    found = doctest.DocTestFinder().find(getattr(plurilabel.learners.neural, name), name)
    (test,) = (t for t in found if t.examples)
    runner.run(test)
    assert runner.summarize(verbose=False) == (0, len(test.examples))
