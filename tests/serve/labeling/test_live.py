"""The model that learns every answer."""

import numpy as np
import pytest

from plurilabel import MLkNN
from plurilabel.serve.labeling import LabelProject
from tests.serve.labeling.problems import WORDS, answer_all, notes


@pytest.mark.parametrize("only", [["note", "size"], ["size"]])
def test_it_is_the_model_fitted_on_all_answers(only):
    frame, sets = notes(60)
    project = LabelProject(frame[only], labels=list(WORDS), background=False)
    answer_all(project, sets, 30)
    first = project.state.answered()[3]
    project.say("ann", "answer", {"rows": [first], "labels": ["sun"]})  # changed
    project.say("ann", "undo", {"id": project.version - 4})
    project.say("ann", "remove", {"label": "sea"})
    answer_all(project, [[x for x in s if x != "sea"] for s in sets], 3)
    rows = project.state.answered()
    names = list(project.state.names.values())
    Y = np.array([[int(name in project.labels_of(row)) for name in names] for row in rows])
    twin = MLkNN(min(10, len(rows) // 4)).fit(project.X[rows], Y)
    np.testing.assert_allclose(
        project.live.probabilities([0, 7, 50]), twin.predict_proba(project.X[[0, 7, 50]])
    )
    at = [project.live.rows.index(row) for row in rows]
    scores = project.live.held_out()[2][at]
    np.testing.assert_allclose(scores, twin.training_scores())
    project.close()


def test_nothing_is_suggested_before_a_few_answers():
    frame, sets = notes(20)
    project = LabelProject(frame, labels=list(WORDS), background=False)
    answer_all(project, sets, 4)
    assert project.next("ann")["scores"] == {} and project.probabilities([0]) is None
    answer_all(project, sets, 1)
    assert set(project.next("ann")["scores"]) == set(WORDS)
    project.close()


def test_rows_without_anything_to_learn_from():
    import pandas as pd

    frame = pd.DataFrame({"picture": [f"p{i}.png" for i in range(30)]})
    project = LabelProject(frame, labels=["a", "b"])
    assert project.images == ["picture"] and not project.kinds
    for i in range(28):
        project.say(
            "ann", "answer", {"rows": [project.next("ann")["row"]], "labels": ["a"][: i % 2]}
        )
    assert project.working is None and project.similar(3)
    with pytest.raises(ValueError, match="no column to learn from"):
        project.train()
    project.close()
