"""Our values for the small paper: by plain loops, and as reproduced."""

import pytest

from benchmarks.papers import runs
from plurilabel import datasets
from tests.papers.toy import SMALL, make_paper, plain_values


@pytest.fixture(scope="session", autouse=True)
def small_digits():
    """The paper's digits are 300 rows, for speed."""
    with pytest.MonkeyPatch.context() as patch:
        load = datasets.load
        patch.setattr(datasets, "load", lambda name: SMALL if name == "digits" else load(name))
        yield


@pytest.fixture(scope="session")
def found():
    return plain_values()


@pytest.fixture(scope="session")
def result(small_digits, found, tmp_path_factory):
    return runs.reproduce_papers([make_paper(tmp_path_factory.mktemp("toy"), found)])
