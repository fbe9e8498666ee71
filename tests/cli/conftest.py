"""Small data, and the commands as a function."""

import numpy as np
import pandas as pd
import pytest

from plurilabel.cli._main import plurilabel as command
from tests.cli.runner import runner


class Ran:
    """What a command left: exit status, stdout and stderr."""

    def __init__(self, result):
        self.status = result.exit_code
        self.out, self.err = result.stdout, result.stderr
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception


@pytest.fixture(scope="session")
def run():
    def run(*arguments, stdin=None):
        return Ran(runner().invoke(command, [str(a) for a in arguments], input=stdin))

    return run


@pytest.fixture(autouse=True)
def few_learners(quick_portfolio):
    """What is tried by default takes minutes."""


@pytest.fixture(scope="session")
def mails_frame():
    """Mails whose topics show in their words, and a little in numbers and categories."""
    rng = np.random.default_rng(0)
    topics = {
        "sport": ["ball", "goal", "team"],
        "money": ["bank", "stock", "price"],
        "food": ["bread", "cheese", "soup"],
    }
    rows = []
    for i in range(60):
        tags = sorted(rng.choice(list(topics), rng.integers(1, 3), replace=False))
        words = [word for tag in tags for word in rng.choice(topics[tag], 3)]
        rows.append(
            {
                "id": f"m{i:03d}",
                "body": " ".join([*words, "and", "the"]),
                "length": None if i % 10 == 3 else len(words) + rng.random(),
                "from": "shop" if "food" in tags else rng.choice(["bank", "club"]),
                "topics": "; ".join(tags),
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture
def mails(tmp_path, mails_frame):
    path = tmp_path / "mails.csv"
    mails_frame.to_csv(path, index=False)
    return path
