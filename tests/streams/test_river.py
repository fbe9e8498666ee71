"""Learners and datasets of river, as they are."""

import numpy as np
import pytest

from plurilabel.streams import LabelShares, RandomTreeStream, StreamResults, prequential

river = pytest.importorskip("river")
from river import (  # noqa: E402
    linear_model,
    metrics,
    multioutput,
    preprocessing,
    tree,
)

STREAM = RandomTreeStream(300, 4, 3, drift="none", noise=0.0, random_state=1)


def learners():
    return {
        "chain": preprocessing.StandardScaler()
        | multioutput.ClassifierChain(linear_model.LogisticRegression()),
        "probabilistic": multioutput.ProbabilisticClassifierChain(
            linear_model.LogisticRegression()
        ),
        "trees": multioutput.ClassifierChain(
            tree.HoeffdingTreeClassifier(grace_period=20, delta=0.1)
        ),
        "shares": LabelShares(),
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    found = prequential(
        STREAM, learners(), ["hamming_loss", "micro_f1", "one_error"], window=100, out=folder
    )
    assert StreamResults.open(folder).final("micro_f1") == found.final("micro_f1")
    return found


def test_no_learner_fails(results):
    assert results.errors == {}
    for name in results.learners:
        assert np.isfinite(results.curve("hamming_loss", name)).all(), name


def test_measures_agree_with_those_of_river(results):
    metric = metrics.multioutput.MicroAverage(metrics.F1())
    model = learners()["chain"]
    for x, y in STREAM:
        predicted = model.predict_one(x)
        # river leaves out labels that are not predicted; here they count as absent
        metric.update(y, {label: predicted.get(label, False) for label in y})
        model.learn_one(x, y)
    assert results.final("micro_f1")["chain"] == pytest.approx(metric.get())


def test_labels_of_probabilities_are_those_of_predict_one():
    class Asked(multioutput.ClassifierChain):
        def predict_one(self, x, **kwargs):
            return super().predict_one(x, **kwargs)

    base = linear_model.LogisticRegression()
    found = prequential(
        STREAM, {"a": multioutput.ClassifierChain(base), "b": Asked(base)}, ["f1", "one_error"]
    )
    assert found.final("f1")["a"] == found.final("f1")["b"]


def test_datasets_of_river_are_streams():
    found = prequential(river.datasets.synth.Logical(n_tiles=1), LabelShares(), "f1", max_rows=50)
    assert found.n_rows == 4
