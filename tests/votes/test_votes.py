"""Votes: every way to make them, and agreement against loops written from the definitions."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel.votes import Votes


def some_votes(seed=0, n=30, q=3, s=4, abstain=0.3, soft=False):
    rng = np.random.default_rng(seed)
    V = rng.random((s, n, q)) if soft else rng.integers(0, 2, (s, n, q)).astype(float)
    V[rng.random(V.shape) < abstain] = np.nan
    return V, Votes.from_matrices({f"s{i}": M for i, M in enumerate(V)})


def test_all_ways_give_the_same_votes():
    names = ["fear", "joy"]
    sets = {
        "ann": [{"joy"}, None, ["fear", "joy"]],
        "bob": [set(), ("fear",), {"joy": 1, "fear": 0}],
    }
    votes = Votes.from_sets(sets)
    ann = [[0, 1], [np.nan, np.nan], [1, 1]]
    bob = [[0, 0], [1, 0], [0, 1]]
    made = [
        Votes.from_matrices({"ann": ann, "bob": pd.DataFrame(bob)}, label_names=names),
        Votes.from_wide(
            [0, 0, 1, 1, 2, 2], names * 3, {"ann": np.ravel(ann), "bob": np.ravel(bob).tolist()}
        ),
        Votes.from_long(
            [0, 0, 1, 1, 2, 2] * 2, names * 6, ["ann"] * 6 + ["bob"] * 6,
            [0, 1, None, np.nan, 1, 1, 0, 0, 1, 0, 0, 1],
        ),
        Votes.from_functions(
            {"ann": lambda i: sets["ann"][i], "bob": lambda i: sets["bob"][i]}, range(3)
        ),
    ]  # fmt: skip
    for other in made:
        assert (other.label_names, other.source_names) == (votes.label_names, votes.source_names)
        for s in votes.source_names:
            assert_array_equal(other.matrix(s), votes.matrix(s))
    assert len(votes) == 10 and votes.shape == (3, 2)
    assert_array_equal(votes.to_frame()["value"], votes.values)


def test_counts_and_subsets():
    V, votes = some_votes()
    yes, total = votes.counts()
    assert_array_equal(total, (~np.isnan(V)).sum(axis=0))
    assert_array_equal(yes, np.nansum(V, axis=0))
    rest = votes.without("s1", "s2")
    assert rest.source_names == ("s0", "s3")
    assert_array_equal(rest.matrix("s3"), V[3])
    assert_array_equal(votes.take([4, 2]).matrix("s1"), V[1][[4, 2]])
    mask = np.arange(30) < 3
    assert_array_equal(votes.take(mask).matrix("s1"), V[1][:3])


def test_a_source_that_votes_twice_counts_once():
    votes = Votes.from_long([1, 1, 1], ["a"] * 3, ["x", "x", "y"], [1, 0, 1])
    assert_array_equal(votes.shares(), [[0.75]])


def alpha_twin(V):
    """Krippendorff's alpha of (sources, units), from all pairs; squared differences."""
    units = [v[~np.isnan(v)] for v in V.T]
    units = [u for u in units if len(u) > 1]
    n = sum(map(len, units))
    if not n:
        return np.nan
    inside = sum(
        2 * sum((a - b) ** 2 for a, b in combinations(u, 2)) / (len(u) - 1) for u in units
    )
    every = np.concatenate(units)
    between = 2 * sum((a - b) ** 2 for a, b in combinations(every, 2)) / (n - 1)
    return 1 - inside / between if between else np.nan


@pytest.mark.parametrize("soft", [False, True])
def test_alpha(soft):
    V, votes = some_votes(soft=soft)
    table = votes.agreement()
    assert_allclose(table["alpha"], [alpha_twin(V[:, :, j]) for j in range(3)])
    assert_allclose(table["yes"], np.nanmean(V, axis=(0, 1)))
    same = Votes.from_sets({"x": [{"a"}, {"b"}], "y": [{"a"}, {"b"}]})
    assert_allclose(same.agreement()["alpha"], 1)
    assert np.isnan(Votes.from_sets({"x": [{"a"}, {"b"}]}).agreement()["alpha"]).all()


def masi(A, B):
    if A == B:
        return 0.0
    m = 2 / 3 if A <= B or B <= A else 1 / 3 if A & B else 0
    return 1 - len(A & B) / len(A | B) * m


def test_alpha_of_sets():
    V, votes = some_votes(3, abstain=0.05)
    sets = [
        [frozenset(np.flatnonzero(v)) for v in V[:, i] if not np.isnan(v).any()] for i in range(30)
    ]
    sets = [row for row in sets if len(row) > 1]
    every = [one for row in sets for one in row]
    inside = sum(2 * sum(masi(*p) for p in combinations(row, 2)) / (len(row) - 1) for row in sets)
    between = 2 * sum(masi(*p) for p in combinations(every, 2)) / (len(every) - 1)
    assert votes.set_agreement() == pytest.approx(1 - inside / between)
    assert np.isnan(Votes.from_sets({"x": [{"a"}]}).set_agreement())


def test_sources_are_ranked():
    V, votes = some_votes(5)
    table = votes.source_table()
    for name, found, coverage in zip(table.label_names, table["agreement"], table["coverage"]):
        s = int(name[1:])
        near = []
        for i, j in np.argwhere(~np.isnan(V[s])):
            others = np.delete(V[:, i, j], s)
            if not np.isnan(others).all():
                near.append(1 - abs(V[s, i, j] - np.nanmean(others)))
        assert found == pytest.approx(np.mean(near))
        assert coverage == pytest.approx((~np.isnan(V[s])).mean())
    assert (np.diff(table["agreement"]) <= 0).all()
    assert repr(table).startswith("source")


def one_vote(row=0, label=0, source=0, value=1):
    names = {"row_names": [7], "label_names": ["a"], "source_names": ["s"]}
    return Votes([row], [label], [source], [value], **names)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Votes.from_matrices({"a": [[2.0]]}),
            "2.0 of source 'a' on label .* row 0; grade",
        ),
        (lambda: Votes.from_matrices({"a": [["x"]]}), "numbers from 0 to 1, got text"),
        (lambda: Votes.from_matrices({"a": [[1]], "b": [[1, 0]]}), "one shape"),
        (lambda: Votes.from_matrices({}), "one shape"),
        (lambda: Votes.from_matrices({"a": [1, 0]}), r"one shape .* got \[\(2,\)\]"),
        (lambda: Votes.from_sets({"a": [{"x"}], "b": []}), "as many answers"),
        (lambda: Votes.from_sets({"a": ["joy"]}), "got 'joy'"),
        (lambda: Votes.from_sets({"a": [{"x"}]}, label_names=["y"]), "'a', row 0: .* has no 'x'"),
        (lambda: Votes.from_sets({"a": [None]}), "at least one label"),
        (lambda: Votes.from_long([1], ["a", "b"], ["x"], [1]), "one length"),
        (lambda: some_votes()[1].matrix("nobody"), "source must be one of"),
        (lambda: one_vote(row=5), "rows must be 1 numbers from 0 to 0, got .5"),
        (lambda: one_vote(source=-1), "sources must be 1 numbers from 0 to 0"),
        (lambda: one_vote(label=[0]), "labels must be 1 numbers from 0 to 0"),
        (lambda: Votes.from_matrices({"a": [[1], [0]]}, row_names=["x"]), "row_names must have 2"),
        (lambda: Votes.from_long(1, ["a"], ["s"], [1]), "rows must be a sequence .* got 1"),
        (lambda: Votes.from_long([1], "a", ["s"], [1]), "labels must be a sequence .* got 'a'"),
        (lambda: Votes.from_long([[1]], ["a"], ["s"], [1]), "rows must be a sequence of names"),
        (lambda: Votes.from_long([1], ["a"], ["s"], [[1]]), "columns of one length"),
        (lambda: Votes.from_sets({"a": [[["x"]]]}), "labels must be a sequence of names"),
        (lambda: Votes.from_sets({"a": [{"x": "much"}]}), "numbers from 0 to 1, got text"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_function_is_a_source():
    def f(row):
        return {"a"} if row["text"] == "x" else None

    frame = pd.DataFrame({"text": ["x", "y", "x"], "n": [1, 2, 3]}, index=[5, 6, 7])
    votes = Votes.from_functions([partial(f)], frame, label_names=["a", "b"])
    assert votes.source_names == ("f",)
    assert_array_equal(votes.matrix("f"), [[1, 0], [np.nan, np.nan], [1, 0]])
    for functions in ([f, f], [lambda _: {"a"}, lambda _: {"b"}]):
        with pytest.raises(ValueError, match="functions must have distinct names"):
            Votes.from_functions(functions, frame)
    once = Votes.from_functions({"f": f, "g": f}, ({"text": t} for t in "xy"))  # a generator
    assert_array_equal(once.matrix("f"), once.matrix("g"))


def test_data_frames_are_matched_by_name():
    ann = pd.DataFrame([[1, 0], [0, 0]], columns=["joy", "fear"])
    bob = ann[["fear", "joy"]]
    plain = [[1, 0], [0, 0]]
    votes = Votes.from_matrices({"eve": plain, "ann": ann, "bob": bob})
    assert votes.label_names == ("joy", "fear")
    assert_array_equal(votes.shares(), plain)
    turned = Votes.from_matrices({"ann": ann}, label_names=["fear", "joy"])
    assert_array_equal(turned.matrix("ann"), bob)
    with pytest.raises(
        ValueError, match=r"matrices\['bob'\] must have the columns \['joy', 'fear"
    ):
        Votes.from_matrices({"ann": ann, "bob": bob.set_axis(["fear", "sea"], axis=1)})
    with pytest.raises(ValueError, match="matrices must have the same index"):
        Votes.from_matrices({"ann": ann, "bob": bob[::-1]})


def test_rows_may_be_repeated():
    V, votes = some_votes()
    rows = [7, 2, 7, -1, 2]
    found = votes.take(rows)
    assert found.row_names == (7, 2, 7, 29, 2)
    for s in range(4):
        assert_array_equal(found.matrix(f"s{s}"), V[s][rows])
    assert votes.take([]).shape == (0, 3) and votes.take(4).shape == (1, 3)
    for wrong in ([99], [True, False], [0.5]):
        with pytest.raises(IndexError, match="rows must be numbers or a mask of the 30 rows"):
            votes.take(wrong)


def test_missing_names_are_refused():
    for place, what in enumerate(("rows", "labels", "sources")):
        for none in (None, np.nan, pd.NA):
            table = [[1, 2, 3], ["a", "b", "a"], ["s", "s", "t"], [1, 0, None]]
            table[place][1] = none
            with pytest.raises(ValueError, match=f"{what} must not be missing, got .* in row 1"):
                Votes.from_long(*table)
    with pytest.raises(ValueError, match="labels must not be missing, got None in row 1"):
        Votes.from_sets({"s": [["joy", None]]})


def test_votes_cannot_be_changed():
    _, votes = some_votes()
    for array in (votes.values, votes.rows, votes.labels, votes.sources):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_names_may_be_numbers():
    votes = Votes.from_sets({"a": [{1}, {2: 0.5}]}, label_names=[1, 2], row_names=[7, 9])
    assert votes.label_names == ("1", "2") and votes.row_names == (7, 9)
    assert_array_equal(votes.matrix("a"), [[1, 0], [np.nan, 0.5]])
