"""Decimal numbers at given places of a text, parsed as arrays. Exact: equal to ``float``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_DIGITS = 16
_TENS = 10 ** np.arange(19, dtype=np.uint64)
_LAST_BYTES = np.array([(256**k - 1) << (64 - 8 * k) for k in range(9)], dtype=np.uint64)


class DecimalText:
    """A text of which runs of digits, and numbers, are asked by their places."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        padded = bytes(8) + text
        # entry i holds the eight bytes that end before byte i, the first of them lowest
        self._windows: NDArray[np.uint64] = np.ndarray(
            len(text) + 1, dtype="<u8", buffer=padded, strides=(1,)
        )

    def holds(self, places: NDArray[Any], byte: bytes) -> NDArray[np.bool_]:
        """Whether this byte stands at each place."""
        return np.frombuffer(self._text, dtype=np.uint8)[places] == byte[0]

    def integers(self, ends: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.uint64]:
        """Values of runs of up to 16 digits, each given by its end and its length."""
        numbers = self._eight_digits(ends, np.minimum(lengths, 8))
        long = np.flatnonzero(lengths > 8)
        if len(long):
            rest = np.minimum(lengths[long] - 8, 8)
            numbers[long] += self._eight_digits(ends[long] - 8, rest) * _TENS[8]
        return numbers

    def _eight_digits(self, ends: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.uint64]:
        """Up to eight digits in one word: neighbours are joined to pairs, fours, and the whole."""
        word = self._windows[ends]
        word &= _LAST_BYTES[lengths]
        for mask, factor, shift in (
            (0x0F0F0F0F0F0F0F0F, 10 << 8 | 1, 8),
            (0x00FF00FF00FF00FF, 100 << 16 | 1, 16),
            (0x0000FFFF0000FFFF, 10_000 << 32 | 1, 32),
        ):
            word &= np.uint64(mask)
            word *= np.uint64(factor)
            word >>= np.uint64(shift)
        return word

    def decimals(
        self,
        ends: NDArray[Any],
        whole: NDArray[Any],
        fraction: NDArray[Any],
        has_point: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of ``whole.fraction`` digits, given by their lengths; and which are exact.

        All digits together make an integer m, and the value is m / 10^fraction. Where m and the
        power of ten are doubles without rounding, the division rounds once, as ``float`` does.
        """
        gap = ends - fraction - has_point
        m = self.integers(gap, whole) * _TENS[np.minimum(fraction, MOST_DIGITS)]
        m += self.integers(ends, fraction)
        exact = (whole + fraction <= 18) & (whole <= MOST_DIGITS) & (fraction <= MOST_DIGITS)
        exact &= m <= np.uint64(2**53)
        return m / _TENS[np.minimum(fraction, MOST_DIGITS)].astype(np.float64), exact

    def floats(self, starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float64] | None:
        """Values of any numbers, by NumPy's parser; None if one of them is no number."""
        words = self._joined(starts, ends)
        with warnings.catch_warnings():
            # NumPy stops at a word that is no number: older ones warn, newer ones raise
            warnings.simplefilter("error", DeprecationWarning)
            try:
                numbers = np.fromstring(words, sep=" ")
            except (DeprecationWarning, ValueError):
                return None
        return numbers if len(numbers) == len(starts) else None

    def _joined(self, starts: NDArray[Any], ends: NDArray[Any]) -> bytes:
        """The words at these places, with blanks between them."""
        text = self._text
        if len(starts) < len(text) // 256:
            return b" ".join([text[i:j] for i, j in zip(starts.tolist(), ends.tolist())])
        step = np.zeros(len(text) + 1, dtype=np.int8)
        step[starts] = 1
        step[ends + 1] = -1  # with the separator, which is a blank or the end of a line
        inside = np.cumsum(step[:-1], dtype=np.int8).view(bool)
        return np.frombuffer(text, dtype=np.uint8)[inside].tobytes()
