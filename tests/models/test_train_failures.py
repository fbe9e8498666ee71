"""``models.train`` where the last fit, on all rows, fails."""

import numpy as np
import pytest

from plurilabel import MLkNN
from plurilabel.datasets import make_multilabel
from plurilabel.models import train
from plurilabel.wrappers.automatic import _members

DATA = make_multilabel(80, 5, 3, noise=0.1, random_state=0)
X, Y = DATA.X, np.asarray(DATA.Y)


class Picky(MLkNN):
    """Neighbours that do not take all rows."""

    def fit(self, X, y):
        if len(X) == 80:
            raise RuntimeError("too\nmany")
        return super().fit(X, y)


def test_the_model_that_was_measured_is_kept():
    told = []
    model = train(X, Y, learner=Picky(3), progress=told.append, random_state=0)
    notes = [event.text for event in told if event.kind == "note"]
    assert "Not refitted on all rows: RuntimeError: too many" in notes
    assert model.notes["learned_rows"] == "train"
    part = train(X, Y, learner=MLkNN(3), refit=False, random_state=0)
    np.testing.assert_array_equal(model.predict_proba(X), part.predict_proba(X))


@pytest.mark.parametrize("all_fail", [False, True])
def test_of_the_automatic_learners_those_that_fail_are_left_out(
    quick_portfolio, monkeypatch, all_fail
):
    failed = []

    def fit_one(estimator, X, Y, *more, of=_members.fit_one):
        if len(Y) == 80 and (all_fail or not failed):
            failed.append(estimator)
            raise KeyError("column")
        return of(estimator, X, Y, *more)

    monkeypatch.setattr(_members, "fit_one", fit_one)
    told = []
    model = train(X, Y, progress=told.append, random_state=0)
    notes = [event.text for event in told if event.kind == "note"]
    if all_fail:
        part = train(X, Y, refit=False, random_state=0)
        assert model.notes["learned_rows"] == "train"
        assert any("Not refitted on all rows: ValueError: none" in one for one in notes)
        np.testing.assert_array_equal(model.predict_proba(X), part.predict_proba(X))
    else:
        ((name, why),) = model.notes["report"]["left_out"].items()
        assert why == "it failed: KeyError: 'column'" and f"Left out: {name}, {why}" in notes
        assert model.notes["learned_rows"] == "all"


@pytest.mark.parametrize(
    ("place", "options", "problem"),
    [
        ("taken/r.html", {}, "report cannot be written to .*taken.r.html: Not a directory"),
        ("", {}, "report cannot be written to .*: it is a folder"),
        ("r.html", {"holdout": 0}, "needs held-out rows: holdout must be above 0, got 0"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_first(tmp_path, place, options, problem):
    (tmp_path / "taken").touch()
    events, data = [], make_multilabel(30, 3, 2, random_state=0)
    with pytest.raises(ValueError, match=problem):
        train(data, learner=MLkNN(2), report=tmp_path / place, progress=events.append, **options)
    assert not events


def test_too_few_rows_for_a_report(tmp_path):
    events, data = [], make_multilabel(8, 3, 2, random_state=0)
    page = tmp_path / "new" / "r.html"
    train(data, learner=MLkNN(2), report=page, progress=events.append)
    assert "Note: no report is written: no rows held out, since there are only 8" in map(
        str, events
    )
    train(make_multilabel(30, 3, 2, random_state=0), learner=MLkNN(2), report=page)
    assert page.exists()
