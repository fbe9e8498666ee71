"""Reproduced values and verdicts, on a small invented paper and on real data."""

import numpy as np
import pytest

from benchmarks.papers import reproduce
from benchmarks.papers.runs import reproduce_papers
from plurilabel import DWMLkNN, datasets, metrics
from tests.papers.toy import BAD, FAILED, KNOWN, KS, SKIPPED, SMALL, cell, make_paper


def test_values_are_those_of_plain_loops(result, found):
    assert result.holds and not result.failures
    one = cell(result, "k = 5", "f1")
    # one search for all k gives what a search for each gives, to the bit
    assert one["ours"] == np.mean(found["MLkNN", 5]["f1"])
    assert one["deviation"] == np.std(found["MLkNN", 5]["f1"], ddof=1)
    assert one["verdict"] == "holds" and one["difference"] == pytest.approx(-0.0009)
    assert cell(result, "k = 5", "one_error")["verdict"] == "better"
    means = [found["MLkNN", k] for k in KS]
    assert cell(result, "mean", "f1")["ours"] == pytest.approx(
        np.mean([m["f1"].mean() for m in means]), abs=1e-15
    )
    best = min(means, key=lambda m: m["one_error"].mean())["one_error"]
    one = cell(result, "best", "one_error")
    assert one["ours"] == best.mean()
    assert one["tolerance"] == pytest.approx(2 * best.std(ddof=1))  # two fold deviations
    assert cell(result, "best", "f1")["verdict"] == "ours only"


def test_facts_and_statements(result):
    assert cell(result, "digits", "labels", "data")["ours"] == 7
    none = int((SMALL.Y.sum(axis=1) == 0).sum())
    assert cell(result, "no labels", "instances", "data")["ours"] == none == 0
    assert cell(result, "one wins", "f1", "figure 1")["verdict"] == "holds"


@pytest.mark.parametrize(
    ("extra", "row", "verdict", "holds", "reason"),
    [
        (BAD, "wrong", "differs", False, ""),
        (SKIPPED, "skipped", "skipped", True, "needs plurilabel[no_such_library]"),
        (FAILED, "failed", "failed", False, "n_neighbors must be smaller"),
    ],
    ids=["wrong", "skipped", "failed"],
)
def test_rows_that_do_not_hold(found, tmp_path, extra, row, verdict, holds, reason):
    result = reproduce_papers([make_paper(tmp_path, found, extra)], "1")
    one = cell(result, row, "f1")
    assert one["verdict"] == verdict and reason in one["reason"]
    assert result.holds == holds
    assert cell(result, "k = 5", "f1")["verdict"] == "holds"  # the others go on


@pytest.mark.parametrize(("shift", "holds"), [(0.0, True), (0.01, False)])
def test_known_differences_must_be_what_is_known(found, tmp_path, shift, holds):
    extra = KNOWN % float(found["MLkNN", 5]["f1"].mean() + shift)
    result = reproduce_papers([make_paper(tmp_path, found, extra)], "table 1")
    one = cell(result, "wrong", "f1")
    assert one["verdict"] == "differs" and "Look | here." in one["reason"]
    assert result.holds == holds


def test_a_statement_that_is_wrong(found, tmp_path):
    result = reproduce_papers([make_paper(tmp_path, found, swap=True)], "figure-1")
    assert [c.verdict for c in result.cells] == ["differs"] and not result.holds


def test_an_unknown_table_names_those_that_are_there(found, tmp_path):
    with pytest.raises(
        ValueError, match="toy has no '7'; there are table 1, data, ours, figure 1"
    ):
        reproduce_papers([make_paper(tmp_path, found)], "7")


def test_a_worker_process_gives_the_same_results(result, found, tmp_path):
    seen = []
    worker = reproduce_papers(
        [make_paper(tmp_path, found)], n_jobs=1, progress=lambda *step: seen.append(step)
    )
    assert str(worker) == str(result)
    assert [c.ours for c in worker.cells] == [c.ours for c in result.cells]
    cells = 3 * 2 * len(KS)  # folds, kinds of learner, k
    assert [(done, total) for done, total, *_ in seen] == [(i + 1, cells) for i in range(cells)]


def test_figure_statements_from_the_real_files(data_folder):
    result = reproduce("dw-ml-knn", "figure 4")
    assert result.holds
    curves = result.curves["dw-ml-knn", "figure 4"]
    data = datasets.load("emotions")
    X, X_test, Y, Y_test = data.holdout()
    recall = metrics.recall(Y_test, DWMLkNN(15).fit(X, Y).predict(X_test))
    assert curves.of("DW-ML-kNN", "recall")[-1] == pytest.approx(recall)
