"""Our values for the small paper: by plain loops, and as reproduced."""

import pytest

from benchmarks.papers import runs
from tests.papers.toy import SMALL, make_paper, plain_values


@pytest.fixture(scope="package", autouse=True)
def small_digits():
    """The paper's digits are 300 rows, for speed."""
    with pytest.MonkeyPatch.context() as patch:
        load = runs.load
        patch.setattr(runs, "load", lambda name: SMALL if name == "digits" else load(name))
        yield


@pytest.fixture(scope="package")
def found():
    return plain_values()


@pytest.fixture(scope="package")
def result(small_digits, found, tmp_path_factory):
    return runs.reproduce_papers([make_paper(tmp_path_factory.mktemp("toy"), found)])
