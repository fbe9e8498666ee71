"""What a log amounts to, against a slow twin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel.serve import BadInput
from plurilabel.serve._ledger import Ledger
from plurilabel.serve._store import Store

N = 3


class Twin:
    """The training set as a list, changed step by step."""

    def __init__(self):
        self.rows = [(row, None) for row in range(N)]  # number, labels if they were given
        self.said = {row: [] for row in range(N)}

    def apply(self, entry, target=None):
        if entry.undoes is None:
            row = N + entry.id if entry.row is None else entry.row
            self.said.setdefault(row, []).append((entry.id, entry.labels))
        else:
            row = next(r for r, said in self.said.items() if entry.undoes in dict(said))
            self.said[row] = [(i, labels) for i, labels in self.said[row] if i != entry.undoes]
        self.rows = [(r, labels) for r, labels in self.rows if r != row]
        if self.said[row]:
            self.rows.append((row, self.said[row][-1][1]))
        elif row < N:
            self.rows.append((row, None))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("row"), st.integers(0, 9), st.sampled_from(["a", "b"])),
        st.tuples(st.just("new"), st.just(0), st.sampled_from(["a", "b"])),
        st.tuples(st.just("undo"), st.integers(1, 8), st.just("")),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_rows_and_labels_are_those_of_the_twin(steps):
    ledger, twin = Ledger(N), Twin()
    for kind, number, label in steps:
        id = ledger.version + 1
        entry = {
            "row": lambda: Store.new(id, row=number, labels=[label]),  # noqa: B023
            "new": lambda: Store.new(id, features={}, labels=[label]),  # noqa: B023
            "undo": lambda: Store.new(id, undoes=number),  # noqa: B023
        }[kind]()
        before = ledger.copy()
        try:
            ledger.add(entry)
        except BadInput:
            assert ledger == before
            continue
        twin.apply(entry)
    stay = [row for row in range(N) if row not in ledger.changed]
    assert [*stay, *ledger.changed] == [row for row, _ in twin.rows]
    assert [ledger.labels(row) for row, _ in twin.rows] == [labels for _, labels in twin.rows]
    assert all(ledger.has(row) for row, _ in twin.rows)


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (Store.new(3, row=9, labels=[]), 404),
        (Store.new(3, row=-1, labels=[]), 404),
        (Store.new(3, undoes=7), 404),
        (Store.new(3, undoes=1), 409),  # its row has been corrected since
    ],
)
def test_what_makes_no_sense_is_refused(entry, status):
    ledger = Ledger(N)
    row = ledger.add(Store.new(1, features={}, labels=["a"]))
    ledger.add(Store.new(2, row=row, labels=["b"]))
    with pytest.raises(BadInput) as caught:
        ledger.add(entry)
    assert caught.value.status == status and ledger.version == 2


def test_undone_twice():
    ledger = Ledger(N)
    ledger.add(Store.new(1, row=0, labels=["a"]))
    ledger.add(Store.new(2, undoes=1))
    with pytest.raises(BadInput, match="undone already"):
        ledger.add(Store.new(3, undoes=1))
    with pytest.raises(BadInput, match="no correction 2"):  # undoing is not a correction
        ledger.add(Store.new(3, undoes=2))
