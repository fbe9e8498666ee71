"""Results: tables of cells, and the folder they are read from."""

import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plurilabel._core.records import write_json
from plurilabel.evaluation import Results, write_report
from plurilabel.evaluation._compare._plan import cell_path
from tests.evaluation.compare.toys import DATASETS, LEARNERS, a_cell, a_plan

places = st.tuples(
    st.sampled_from(DATASETS), st.sampled_from(LEARNERS), st.integers(0, 1), st.integers(0, 2)
)


values = st.tuples(
    st.none() | st.floats(0, 1, width=16), st.sampled_from(["ok", "ok", "ok", "error"])
)


@given(st.dictionaries(places, values, max_size=12))
def test_means_and_deviations(content):
    results = Results(a_plan(), [a_cell(*place, *value) for place, value in content.items()])
    means, deviations = results.means("f1"), results.deviations("f1")
    for i, dataset in enumerate(DATASETS):
        for j, learner in enumerate(LEARNERS):
            known = [
                f1
                for (d, l, _, _), (f1, status) in content.items()
                if d == dataset and l == learner and status == "ok" and f1 is not None
            ]
            if known:
                assert means[i, j] == pytest.approx(statistics.mean(known))
            else:
                assert math.isnan(means[i, j])
            if len(known) > 1:
                # as near as rounding lets two values that may be equal come
                assert deviations[i, j] == pytest.approx(statistics.stdev(known), abs=1e-12)
            else:
                assert math.isnan(deviations[i, j])


def test_scores_align_the_splits_of_a_dataset():
    cells = [
        a_cell("yeast", "MLkNN", 0, 1, 0.25),
        a_cell("yeast", "RAkEL(labelset_size=3)", 0, 0, 0.5),
        a_cell("yeast", "RAkEL(labelset_size=3)", 0, 1, 0.75),
        a_cell("scene", "MLkNN", 0, 0, 0.125),
    ]
    scores = Results(a_plan(), cells).scores("f1")
    nan = np.nan
    np.testing.assert_array_equal(
        scores,
        [[[0.125, nan], [nan, nan], [nan, nan]], [[nan, 0.25], [0.5, 0.75], [nan, nan]]],
    )


def test_best():
    cells = [
        a_cell("scene", "MLkNN", 0, 0, 0.5),
        a_cell("scene", "RAkEL(labelset_size=3)", 0, 0, 0.25),
        a_cell("scene", "slow/one", 0, 0, 0.5),
        # the best of all has not all splits
        a_cell("yeast", "MLkNN", 0, 0, 0.9),
        a_cell("yeast", "RAkEL(labelset_size=3)", 0, 0, 0.5),
        a_cell("yeast", "RAkEL(labelset_size=3)", 0, 1, 0.5),
        a_cell("yeast", "slow/one", 0, 0, 0.25),
        a_cell("yeast", "slow/one", 0, 1, 0.5),
    ]
    best = Results(a_plan(), cells).best("f1")
    assert best.tolist() == [[True, False, True], [False, True, False]]
    # one alone has nobody to be better than, and nobody is best where nothing is defined
    assert not Results(a_plan(), cells[:1]).best("f1").any()
    assert not Results(a_plan(), cells).best("hamming_loss").any()
    for cell in cells:
        cell["scores"]["hamming_loss"] = cell["scores"]["f1"]
    least = Results(a_plan(), cells).best("hamming_loss")
    assert least.tolist() == [[False, True, False], [False, False, True]]


def test_costs_are_taken_like_measures_and_unknown_ones_are_named():
    results = Results(a_plan(), [a_cell("yeast", "MLkNN", 0, 0, 0.5)])
    assert results.means("fit_seconds")[1, 0] == 0.5
    with pytest.raises(ValueError, match="measure must be one of f1, hamming_loss.*got 'F1'"):
        results.means("F1")


def test_order_repr_and_failures():
    cells = [
        a_cell("yeast", "RAkEL(labelset_size=3)", 0, 0, None, "timeout"),
        a_cell("yeast", "MLkNN", 0, 0, 0.5),
        a_cell("scene", "MLkNN", 0, 1, 0.5),
        a_cell("scene", "RAkEL(labelset_size=3)", 0, 0, 0.5),
        a_cell("elsewhere", "MLkNN", 0, 0, 0.5),
    ]
    results = Results(a_plan(), cells)
    assert [(c["dataset"], c["fold"], c["learner"]) for c in results.cells] == [
        ("scene", 0, "RAkEL(labelset_size=3)"),
        ("scene", 1, "MLkNN"),
        ("yeast", 0, "MLkNN"),
        ("yeast", 0, "RAkEL(labelset_size=3)"),
    ]
    assert repr(results) == "Results: 2 datasets, 3 learners, 4 cells, 1 of them failed"
    assert [c["learner"] for c in results.failures()] == ["RAkEL(labelset_size=3)"]


def test_frame():
    cells = [a_cell("yeast", "MLkNN", 0, 0, 0.5), a_cell("yeast", "MLkNN", 0, 1, 0.9, "error")]
    frame = Results(a_plan(), cells).frame()
    assert frame["learner"].tolist() == ["MLkNN", "MLkNN"]
    assert frame["f1"].tolist()[0] == 0.5 and math.isnan(frame["f1"][1])
    assert frame["hamming_loss"].isna().all() and frame["hamming_loss"].dtype == float
    assert frame["status"].tolist() == ["ok", "error"] and frame["error"][1] == "it broke"
    assert frame["n_train"].tolist() == [8, 8]


def test_open_reads_what_was_written_and_passes_over_broken_files(tmp_path):
    cells = [
        a_cell(d, l, 0, fold, 1 / (3 + fold))
        for d in DATASETS
        for l in LEARNERS
        for fold in (0, 1)
    ]
    write_json(tmp_path / "plan.json", a_plan())
    for cell in cells:
        write_json(cell_path(tmp_path, cell), cell)
    results = Results.open(tmp_path)
    assert results.cells == Results(a_plan(), cells).cells and results.folder == tmp_path
    # half a file, nothing in it, another format, no cell
    for fold, content in enumerate(["{", "", '{"format": 2}', "[1]"]):
        cell_path(tmp_path, a_cell("yeast", "MLkNN", 0, fold, 0.5)).write_text(content)
    assert len(Results.open(tmp_path).cells) == len(cells) - 2


def test_open_says_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no comparison"):
        Results.open(tmp_path)
    (tmp_path / "plan.json").write_text('{"name": "something else"}')
    with pytest.raises(ValueError, match="not that of a comparison"):
        Results.open(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps({**a_plan(), "format": 99}))
    with pytest.raises(ValueError, match="in format 99, but this version.*reads format 1"):
        Results.open(tmp_path)


def test_report_needs_a_folder():
    with pytest.raises(ValueError, match="folder must be given"):
        write_report(Results(a_plan(), []))
