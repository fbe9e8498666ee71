"""PackedWords: many words in one array of bytes."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np


class PackedWords:
    """Words in one array of bytes, as model files hold the vocabulary of a vectorizer.

    Examples
    --------
    >>> from plurilabel.text import PackedWords
    >>> packed = PackedWords(["red", "très bien"])
    >>> list(packed), packed.lengths.tolist()
    (['red', 'très bien'], [3, 10])
    """

    def __init__(self, words: Iterable[str]) -> None:
        coded = [word.encode("utf-8", "surrogatepass") for word in words]
        longest = max(map(len, coded), default=0)
        self.lengths = np.array(list(map(len, coded)), dtype=np.min_scalar_type(longest))
        self.letters = np.frombuffer(b"".join(coded), dtype=np.uint8)

    def __iter__(self) -> Iterator[str]:
        letters, ends = self.letters.tobytes(), np.cumsum(self.lengths, dtype=np.int64)
        if self.lengths.dtype.kind != "u" or ends[-1:].sum() != len(letters):
            raise ValueError("the lengths of the words do not add up to their letters")
        for start, end in pairwise([0, *ends.tolist()]):
            yield letters[start:end].decode("utf-8", "surrogatepass")
