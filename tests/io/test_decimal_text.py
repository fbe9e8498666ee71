"""Numbers parsed as arrays are equal to ``float``, bit for bit."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from plurilabel.io._sparse_lines import DecimalText


def parsed(words):
    """The words as an array parser sees them: cut at blanks and points."""
    text = (" ".join(words) + " ").encode()
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero((letters == ord(" ")) | (letters == ord(".")))
    last = np.flatnonzero(letters[ends] == ord(" "))
    return DecimalText(text).numbers(
        ends,
        np.diff(ends, prepend=-1) - 1,
        last,
        (last > 0) & (letters[ends[last - 1]] == ord(".")),
        np.flatnonzero(
            (letters != ord(" ")) & (letters != ord(".")) & ~np.char.isdigit(letters.view("S1"))
        ),
    )


digits = st.text("0123456789", max_size=20)
decimals = st.builds("{}{}{}{}".format, st.sampled_from(["", "", "-", "+"]), digits,
                     st.sampled_from(["", "."]), digits)  # fmt: skip
words = st.one_of(
    decimals,
    st.floats().map(repr),
    st.builds("{}e{}".format, decimals, st.integers(-400, 400)),
    st.text("0123456789.+-enaif", min_size=1, max_size=6).filter(lambda word: word.count(".") < 2),
).filter(bool)


@given(st.lists(words, min_size=1, max_size=30))
@example(["-", "1"])
@example(["1", "."])
@example(["0.25"] * 600 + ["1e5"])  # few that are for Python to read
@example(["1e5", "-nan", "5."])  # many
def test_every_number_is_that_of_python(given):
    try:
        expected = np.array([float(word) for word in given])
    except ValueError:
        assert parsed(given) is None
    else:
        got = parsed(given)
        assert np.array_equal(np.isnan(got), np.isnan(expected))
        there = ~np.isnan(expected)
        assert got[there].tobytes() == expected[there].tobytes()


def test_decimals_near_the_limit_of_exactness():
    """Around 2^53 and 16 digits the fast way must either be right or say that it is not."""
    texts = [f"{2**53 + k}" for k in range(-3, 4)] + [f"{2**53 + k}"[:-9] + ".5" for k in range(3)]
    texts += ["9007199.254740993", "9007199.2547409", "0.1234567890123456", "0.12345678901234567"]
    texts += ["1234567890123456.7", "12345678.12345678", "0.3", "4.35", "2.675", "1e", "0.1"]
    text = "\n".join([*texts, ""]).encode()
    ends = np.cumsum([len(t) + 1 for t in texts]) - 1
    point = np.array(["." in t for t in texts])
    fraction = np.array([len(t.partition(".")[2]) for t in texts])
    whole = np.array([len(t.partition(".")[0]) for t in texts])
    values, exact = DecimalText(text).decimals(ends, whole, fraction, point)
    exact[texts.index("1e")] = False  # the caller's part: digits only
    assert exact.sum() > 10
    assert not exact[texts.index("9007199254740993")]
    for value, sure, number in zip(values, exact, texts):
        assert not sure or value == float(number)
