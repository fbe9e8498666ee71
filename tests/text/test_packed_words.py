"""Packed words come back as they were."""

import numpy as np
import pytest

from plurilabel.text import PackedWords


@pytest.mark.parametrize(
    "words",
    [[], [""], ["a", "", "b\0", "\0"], ["été", "\U0001f642 x", "\udc80"], ["x" * 70_000, "y"]],
)
def test_words_come_back(words):
    packed = PackedWords(iter(words))
    assert list(packed) == words
    assert packed.letters.nbytes == sum(
        len(word.encode("utf-8", "surrogatepass")) for word in words
    )


@pytest.mark.parametrize(
    ("lengths", "letters"),
    [([3], b"redx"), ([3], b"re"), ([], b"r"), ([5, -2], b"red"), ([1.5, 1.5], b"red")],
)
def test_lengths_that_do_not_add_up(lengths, letters):
    packed = PackedWords(["red"])
    packed.letters = np.frombuffer(letters, dtype=np.uint8)
    packed.lengths = np.array(lengths)
    if packed.lengths.dtype == int and (packed.lengths >= 0).all():
        packed.lengths = packed.lengths.astype(np.uint8)
    with pytest.raises(ValueError, match="do not add up to their letters"):
        list(packed)
