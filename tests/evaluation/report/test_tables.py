"""The marks of the tables follow their definition."""

import numpy as np
import pytest
from scipy import stats

from plurilabel.evaluation._report._findings import Findings, how_tested
from plurilabel.metrics import get_measure
from tests.evaluation.report.example_results import LEARNERS, example_results


@pytest.mark.parametrize("seed", range(4))
def test_marks_follow_the_definition(seed):
    results = example_results(2, 5, 6, 4, seed=seed, spread=0.02, measures=["f1", "ranking_loss"])
    for cell in results.cells:
        if cell["learner"] == LEARNERS[4] and cell["fold"] == 1:
            cell.update(status="error", scores={})
    findings = Findings(results)
    for measure, table in findings.tables.items():
        greater = get_measure(measure).greater_is_better
        for i, dataset in enumerate(results.datasets):
            folds = {
                name: [
                    cell["scores"][measure]
                    for cell in results.cells
                    if (cell["dataset"], cell["learner"]) == (dataset, name)
                    and cell["status"] == "ok"
                ]
                for name in results.learners
            }
            whole = {name: np.array(v) for name, v in folds.items() if len(v) == 6}
            best = (max if greater else min)(whole, key=lambda name: whole[name].mean())
            assert [results.learners[j] for j in np.flatnonzero(table.best[i])] == [best]
            p = {}
            for name in whole:
                if name != best:
                    d = whole[best] - whole[name]
                    t = d.mean() / np.sqrt((1 / 6 + 200 / 400) * d.var(ddof=1))
                    p[name] = 2 * stats.t.sf(abs(t), 5)
            worse = set()
            for step, name in enumerate(sorted(p, key=p.get)):
                if p[name] * (len(p) - step) > 0.05:
                    break
                worse.add(name)
            close = {results.learners[j] for j in np.flatnonzero(table.close[i])}
            assert close == set(p) - worse


def test_repeats_of_a_published_split_are_not_tested():
    results = example_results(1, 3, 5)
    assert Findings(results).tables["f1"].close.any() or Findings(results).tested.all()
    results.plan["datasets"]["data0"]["split"] = "published, 400 training and 200 test instances"
    findings = Findings(results)
    assert not findings.tested.any()
    assert not findings.tables["f1"].close.any()
    assert "differences are not tested" in " ".join(how_tested(findings))


def test_equal_learners_are_both_best():
    results = example_results(1, 3, 2, measures=["f1"])
    twin = {c["fold"]: c["scores"] for c in results.cells if c["learner"] == LEARNERS[0]}
    for cell in results.cells:
        if cell["learner"] == LEARNERS[1]:
            cell["scores"] = twin[cell["fold"]]
    table = Findings(results).tables["f1"]
    assert table.best[0].tolist() == [True, True, False]
    assert table.ranks[0].tolist() == [1.5, 1.5, 3]
