"""The error for Keras, on the torch backend."""

import os

import numpy as np
import pytest

from plurilabel.metrics import ranking_loss

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `torch` has it")
os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras", reason="Keras is not installed: the extra `keras` has it")

from plurilabel.learners import bp_mll_loss, pairwise_exponential_loss  # noqa: E402


def network(d, q):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((d,)),
            keras.layers.Dense(8, activation="tanh"),
            keras.layers.Dense(q, activation="tanh"),
        ]
    )
    model.compile(loss=bp_mll_loss, optimizer=keras.optimizers.Adam(0.01))
    return model


def test_value_and_gradient_are_those_of_the_torch_form():
    torch.manual_seed(0)
    Y = (torch.rand(40, 6) < 0.4).int()
    Y[0], Y[1] = 0, 1
    for scale, dtype in ((1.0, torch.float32), (30.0, torch.float32), (100.0, torch.float64)):
        scores = (scale * torch.rand(40, 6, dtype=dtype) + 1000).requires_grad_()
        theirs = scores.detach().clone().requires_grad_()
        found = bp_mll_loss(Y, scores)
        wanted = pairwise_exponential_loss(theirs, Y, reduction="none")
        rtol = 1e-6 if dtype == torch.float64 else 1e-5  # Keras takes some logarithms in float32
        torch.testing.assert_close(found, wanted, rtol=rtol, atol=0)
        assert (found[:2] == 0).all()
        found.sum().backward()
        wanted.sum().backward()
        torch.testing.assert_close(scores.grad, theirs.grad, rtol=10 * rtol, atol=1e-6)


# Keras hands torch's tensors to numpy in a way that numpy means to give up
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_model_learns_is_saved_and_read(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype("float32")
    Y = (X @ rng.normal(size=(5, 4)) > 0.3).astype("int8")
    model = network(5, 4)
    before = ranking_loss(Y, model.predict(X, verbose=0))
    history = model.fit(X, Y, epochs=15, batch_size=20, verbose=0).history["loss"]
    after = ranking_loss(Y, model.predict(X, verbose=0))
    assert after < 0.05 < before
    errors = pairwise_exponential_loss(
        torch.from_numpy(model.predict(X, verbose=0)), torch.from_numpy(Y)
    )
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(float(errors), rel=1e-4)
    assert history[-1] < history[0]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(
        tmp_path / "model.keras", custom_objects={"bp_mll_loss": bp_mll_loss}
    )
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert again.evaluate(X, Y, verbose=0) == pytest.approx(float(errors), rel=1e-4)
