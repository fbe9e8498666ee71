"""The measures by name."""

import pickle

import pytest

from plurilabel.metrics import get_measure, measure_names


def test_families_say_what_a_measure_looks_at():
    for name in measure_names():
        measure = get_measure(name.replace("@k", "@3"))
        averaged = "label" if name.startswith(("macro_", "micro_")) else "instance"
        expected = "rankings" if measure.kind == "scores" else f"label sets, by {averaged}"
        assert measure.family == expected, name
    assert get_measure("macro_auc").family == get_measure("ndcg@k").family == "rankings"
    assert measure_names("labels")[:7] == [
        name for name in measure_names() if get_measure(name).family == "label sets, by instance"
    ]


def test_titles():
    titles = {
        "hamming_loss": "Hamming loss",
        "one_error": "one-error",
        "coverage_normalized": "normalized coverage",
        "macro_f_beta": "macro F-beta",
        "micro_auc": "micro AUC",
        "ps_ndcg@3": "ps nDCG@3",
    }
    assert {name: get_measure(name).title for name in titles} == titles


def test_measures_can_be_pickled():
    again = pickle.loads(pickle.dumps(get_measure("ndcg@2")))
    assert (again.name, again.family) == ("ndcg@2", "rankings")
    assert again.function([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.4, 0.3]]) == 1


@pytest.mark.parametrize("name", ["nonsense", "precision@", "precision@0", "f1@3", "precision@x"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match="name must be one of hamming_loss"):
        get_measure(name)
