"""Rows of a model: whether it has seen them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from plurilabel.models import guarantee, train
from plurilabel.models._model_rows import MOST_MARKS, row_marks, share_seen


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_share_of_rows_that_were_seen(form):
    rng = np.random.default_rng(0)
    X, new = (rng.normal(size=(3000, 5)).round(2) for _ in range(2))
    marks = row_marks(form(X))
    assert len(marks) == MOST_MARKS and max(marks) < 2**53
    assert share_seen(form(X[1000:1900]), marks) == 1
    assert share_seen(form(new), marks) == 0
    half = share_seen(form(np.vstack([X[:600], new[:600]])), marks)
    assert half == pytest.approx(0.5, abs=0.1)


def test_rows_of_texts_and_vectors_have_marks():
    texts = ["one", "two", "three"]
    assert share_seen(texts[:2], row_marks(texts)) == 1
    frame = pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]], "t": ["a", None]})
    assert share_seen(frame[1:], row_marks(frame)) == 1
    assert share_seen(frame.assign(t="b"), row_marks(frame)) == 0


def test_a_part_of_the_training_rows_is_no_new_data(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=90), "tags": ["x", "y", "x;y"] * 30})
    rows.to_csv(tmp_path / "all.csv", index=False)
    rows[:40].to_csv(tmp_path / "part.csv", index=False)
    model = train(tmp_path / "all.csv", "tags", learner="MLkNN", holdout=0)
    with pytest.raises(ValueError, match="trained on these rows"):
        guarantee(model, tmp_path / "part.csv")
