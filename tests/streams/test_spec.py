import pytest

from plurilabel.streams import make_stream_learners


def test_names_of_ours_of_scikit_learn_and_values():
    found = make_stream_learners(
        "NoChange(), LabelShares(fading=0.5), knn=ArrayLearner(MLkNN(n_neighbors=3), first=20)"
    )
    assert list(found) == ["NoChange()", "LabelShares(fading=0.5)", "knn"]
    assert found["knn"].estimator.n_neighbors == 3 and found["knn"].first == 20
    assert type(make_stream_learners("MLkNN")["MLkNN"]).__name__ == "MLkNN"


def test_names_of_river():
    pytest.importorskip("river")
    text = (
        "chain = river.preprocessing.StandardScaler() | "
        "river.multioutput.ClassifierChain(river.linear_model.LogisticRegression(), order=['b'])"
    )
    chain = make_stream_learners(text)["chain"]
    assert list(chain.steps) == ["StandardScaler", "ClassifierChain"]
    assert chain["ClassifierChain"].order == ["b"]
    with pytest.raises(ValueError, match="there is no river.tree.Oak"):
        make_stream_learners("river.tree.Oak()")
    with pytest.raises(ValueError, match="there is no river.nothing.Oak"):
        make_stream_learners("river.nothing.Oak()")
    with pytest.raises(ValueError, match="there is no river.stream.iter_csv"):
        make_stream_learners("river.stream.iter_csv('/etc/passwd')")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one learner"),
        ("**{}", "is not a learner"),
        ("NoChange(", "is not a learner"),
        ("NoChange) + (1", "is not a learner"),
        ("NoChange, NoChange", "named twice"),
        ("LabelShares(k=3)", "has no parameter 'k'; it has fading"),
        ("LabelShares(1, 2)", "cannot be made"),
        ("LabelShares(fading=f'{1}')", "not allowed"),
        ("__import__('os').system('true')", "not allowed|unknown"),
        ("Nothing()", "unknown learner"),
    ],
)
def test_bad_text(text, words):
    with pytest.raises(ValueError, match=words):
        make_stream_learners(text)
