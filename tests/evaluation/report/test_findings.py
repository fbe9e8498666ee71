"""Sentences of the report."""

from plurilabel.evaluation._report._findings import Findings, headline, how_tested
from tests.evaluation.report.example_results import example_results


def test_headlines():
    few = example_results(2, 3, 2, measures=["f1", "hamming_loss"])
    said = headline(Findings(few))
    assert said.startswith("On data0, ") and " On data1, " in said
    assert "is best in all 2 headline measures" in said or "is best in F1" in said
    many = example_results(5, 3, 2, measures=["f1", "hamming_loss"])
    assert headline(Findings(many)) == (
        "By average rank over 5 datasets, MLkNN(n_neighbors=5) is best in all 2 headline measures."
    )
    assert "With 2 folds, only large differences are significant" in " ".join(
        how_tested(Findings(many))
    )


def test_a_lone_survivor_is_not_the_best():
    many = example_results(5, 3, 2, measures=["f1", "hamming_loss"])
    for cell in many.cells:
        last = cell["learner"] == many.learners[-1]
        if cell["dataset"] == "data0" or (cell["dataset"] == "data1" and not last):
            cell.update(status="error", error="ValueError: no", scores={})
    findings = Findings(many)
    assert headline(findings) == (
        "By average rank over 5 datasets, no two learners have results in every fold, so none is "
        "the best."
    )
    assert "0 folds" not in " ".join(how_tested(findings))
