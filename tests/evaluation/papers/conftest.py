"""Our values for the small paper: by plain loops, and as reproduced."""

import pytest

from plurilabel.evaluation._papers._reproduce import reproduce_papers
from tests.evaluation.papers.toy import make_paper, plain_values


@pytest.fixture(scope="session")
def found():
    return plain_values()


@pytest.fixture(scope="session")
def result(found, tmp_path_factory):
    return reproduce_papers([make_paper(tmp_path_factory.mktemp("toy"), found)])
