"""One road: Python, files, the command line and the service give the same answer, bit for bit."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("skops", reason="model files need skops")
pytest.importorskip("fastapi", reason="the service needs it")

from sklearn.model_selection import KFold, cross_val_predict

from plurilabel import AutoClassifier
from plurilabel.cli._main import plurilabel as command
from plurilabel.models import Model, load_model, save_model, train
from plurilabel.serve import Ask, Service

WORDS = np.array(["a ball", "some bread", "the bank"])
LABELS = ["food", "money", "sport"]
DOORS = ("python", "python file", "frame", "csv", "parquet", "command line", "service")


def table(n=90):
    """Text, numbers with gaps, categories, dates and identifiers; labels by words and price."""
    rng = np.random.default_rng(0)
    has = rng.random((n, 3)) < [0.5, 0.4, 0.3]
    filler = ["red", "house", "tree", "day", "night", "of", "in"]
    frame = pd.DataFrame(
        {
            "id": range(n),
            "key": [f"k{i:04d}" for i in range(n)],
            "body": [" ".join([*rng.choice(filler, 6), *WORDS[row]]) for row in has],
            "price": np.where(has[:, 0], 5.0, 1.0) + rng.normal(size=n).round(3),
            "land": rng.choice(["de", "fr", "us"], n),
            "sent": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        }
    )
    frame.loc[[3, 50], "price"] = np.nan
    Y = pd.DataFrame(has[:, [1, 2, 0]].astype(int), columns=LABELS)
    return frame, Y


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Probabilities and label sets by door, of the same rows."""
    folder = tmp_path_factory.mktemp("doors")
    frame, Y = table()
    new = frame[::2].reset_index(drop=True)
    tags = [";".join(Y.columns[row == 1]) for row in Y.to_numpy()]
    full = frame.assign(tags=tags)
    full.to_csv(folder / "t.csv", index=False)
    full.to_parquet(folder / "t.parquet")
    new.to_csv(folder / "new.csv", index=False)
    auto = AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(frame, Y)
    save_model(folder / "auto.skops", auto)
    options = {"quick": True, "holdout": 0}
    saved = folder / "m.skops"
    command(
        ["fit", str(folder / "t.csv"), "--labels", "tags", "--quick", "--holdout", "0", "-q", "-o",
         str(saved)],
        standalone_mode=False,
    )  # fmt: skip
    models = {
        "python": Model.of(auto),
        "python file": load_model(folder / "auto.skops"),
        "frame": train(frame, Y, **options),
        "csv": train(folder / "t.csv", "tags", **options),
        "parquet": train(folder / "t.parquet", "tags", **options),
        "command line": load_model(saved),
    }
    found = {
        door: (model.predict_proba(new).to_numpy(), model.predict(new))
        for door, model in models.items()
    }
    assert [list(labels) for labels in found["python"][1]] == [
        [name for name, on in zip(LABELS, row) if on] for row in auto.predict(new)
    ]
    np.testing.assert_array_equal(found["python"][0], auto.predict_proba(new))
    by_file = load_model(saved).predict_proba(folder / "new.csv").to_numpy()
    np.testing.assert_array_equal(by_file, found["command line"][0])
    service = Service(load_model(saved))
    rows = new.assign(sent=new["sent"].dt.strftime("%Y-%m-%d")).astype(object)
    records = rows.where(rows.notna(), None).to_dict("records")
    rows = service.predict(records, Ask(scores=True))["rows"]
    scores = np.array([[row["scores"][name] for name in LABELS] for row in rows])
    found["service"] = scores, [tuple(row["labels"]) for row in rows]
    return found


@pytest.mark.parametrize(("one", "other"), list(combinations(DOORS, 2)))
def test_two_doors(answers, one, other):
    np.testing.assert_array_equal(answers[one][0], answers[other][0])
    assert answers[one][1] == answers[other][1]


def test_the_encoder_learns_in_every_fold():
    """A word that only rows of one fold have is unknown to the model that scores them."""
    frame, Y = table()
    texts = frame["body"].tolist()
    texts[0] = "unheard"
    seen = []

    class Spy(AutoClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            names = self.encoder_.get_feature_names_out()
            seen.append(any(name.endswith("unheard") for name in names))
            return self

    model = Spy(portfolio="quick", cv=2, random_state=0)
    cross_val_predict(model, np.array(texts, dtype=object), Y.to_numpy(), cv=KFold(3))
    assert sorted(seen) == [False, True, True]


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_texts_and_tags(form):
    frame, Y = table()
    texts = form(frame["body"].tolist())
    tags = [[name for name, has in zip(LABELS, row) if has] for row in Y.to_numpy()]
    expected = AutoClassifier(portfolio="quick", random_state=0).fit(frame[["body"]], Y)
    for y in (tags, list(map(set, tags)), Y.astype(bool)):
        model = AutoClassifier(portfolio="quick", random_state=0).fit(texts, y)
        assert model.label_names_.tolist() == LABELS
        scores = model.predict_proba(texts)
        np.testing.assert_array_equal(scores, expected.predict_proba(frame))
    assert Model.of(model).predict(["a ball"]) == [("sport",)]
