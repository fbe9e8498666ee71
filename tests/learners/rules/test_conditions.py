"""Bits of rows."""

import numpy as np

from plurilabel.learners.rules._conditions import pack, unpack


def test_packed_and_unpacked():
    bits = pack(np.array([[1, 0], [1, 1]]))
    assert (bits.dtype, bits.tolist()) == (np.uint64, [[3], [2]])
    assert unpack(bits, 2).astype(int).tolist() == [[1, 0], [1, 1]]
