"""Labels of tables that are not labels."""

import pandas as pd
import pytest

from plurilabel import io


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
def test_fractions_are_refused_with_the_ways_out(tmp_path, write):
    frame = pd.DataFrame({"x": [1.0, 2.0], "risk": [0.1, 0.9], "both": [0, 1]})
    path = tmp_path / ("t.csv" if write == "to_csv" else "t.parquet")
    getattr(frame, write)(path, index=False)
    for labels, got in (("risk", "expected tags"), (["both", "risk"], "expected a label 0 or 1")):
        with pytest.raises(ValueError, match=f"'risk'.*: {got}.* got 0.1; fractions are"):
            io.read(path, labels=labels)


def test_a_column_of_many_numbers_is_no_column_of_tags():
    sizes = pd.DataFrame({"x": range(150), "size": [f"{7 * i}.0" for i in range(150)]})
    with pytest.raises(ValueError, match="expected tags, got 150 different numbers"):
        io.read_table(sizes, labels="size")
    assert io.read_table(sizes, labels="size", tag_sep=";").Y.shape == (150, 150)
    assert io.read_table(sizes[:100], labels="size").Y.shape == (100, 100)
    sizes["size"] = [[i, i + 1] for i in range(150)]
    assert io.read_table(sizes, labels="size").Y.shape == (150, 151)


def test_numbers_that_are_names_stay_tags():
    for tags in (["1", "2"], ["3.1;2.7", "3.1"], ["0.5 l", "1"]):
        frame = pd.DataFrame({"x": [1.0, 2.0], "tags": tags})
        assert io.read_table(frame, labels="tags").Y.shape[0] == 2
