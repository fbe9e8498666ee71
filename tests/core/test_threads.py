"""The limit on BLAS threads is lifted again, whoever comes and goes at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from plurilabel import IBLRML, MLkNN
from plurilabel._core.limits import one_blas_thread


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def set_blas_threads(n):
    """From a thread of its own: newer threadpoolctl lets only the thread that set it change it."""
    setter = threading.Thread(target=threadpool_limits, args=(n,), kwargs={"user_api": "blas"})
    setter.start()
    setter.join()
    assert blas_threads() == {n}


@pytest.fixture
def two():
    """BLAS with two threads, on any machine."""
    before = max(blas_threads())
    set_blas_threads(2)
    yield
    set_blas_threads(before)


def test_a_thread_that_comes_second_does_not_keep_the_limit(two):
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first():
        with one_blas_thread():
            first_is_in.set()
            assert second_is_in.wait(10)
        first_is_out.set()

    def second():
        assert first_is_in.wait(10)
        with one_blas_thread() as usual:
            inside = blas_threads()
            second_is_in.set()
            assert first_is_out.wait(10)
            return usual, inside

    with ThreadPoolExecutor(2) as pool:
        left, stayed = pool.submit(first), pool.submit(second)
        left.result()
        usual, inside = stayed.result()
    assert usual >= 2
    assert inside == {1}
    assert blas_threads() == {2}


def test_an_error_inside_lifts_the_limit_too(two):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 / 0
    assert blas_threads() == {2}


@pytest.mark.parametrize("learner", [MLkNN(5), IBLRML(5)])
def test_learners_in_many_threads(learner, two):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 20)), (rng.random((200, 5)) < 0.3).astype(int)
    expected = learner.fit(X, Y).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: learner.predict_proba(X), range(40)):
            np.testing.assert_array_equal(scores, expected)
        list(pool.map(lambda _: type(learner)(5).fit(X, Y), range(8)))
    assert blas_threads() == {2}
