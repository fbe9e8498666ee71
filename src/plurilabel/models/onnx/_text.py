"""Converters of texts, which count words and characters as scikit-learn does.

ONNX only compares whole strings, and its ``StringNormalizer`` lowercases by the locale of the
machine. So texts are split into characters, each character is mapped to a number for its lower
case, and words and n-grams are identified by 64-bit hashes of these numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from plurilabel.models.onnx._to_onnx import Graph, Value

BASE, LENGTH = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03  # odd numbers without a pattern
LETTER = r"[\p{L}\p{N}_]"  # what \w is in Python
# The lower case of the capital I with a dot is an i and a mark, which ends a word.
LOWER = r"(?:[^\P{L}\x{130}]|[\p{N}_])"
PATTERNS = {
    (r"(?u)\b\w\w+\b", False): rf"{LETTER}{{2,}}",
    (r"(?u)\b\w\w+\b", True): rf"{LOWER}+\x{{130}}|{LOWER}{{2,}}",
    (r"(?u)\b\w+\b", False): rf"{LETTER}+",
    (r"(?u)\b\w+\b", True): rf"{LOWER}*\x{{130}}|{LOWER}+",
}
FILLED = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"  # not whitespace in Python
SMALL = 256  # logarithms of counts below this are in a table


def counted_terms(graph: Graph, step: Any, texts: Value) -> Value:
    """The output (n, terms) of a CountVectorizer or a TfidfVectorizer for texts (n,)."""
    name = type(step).__name__
    for parameter in ("preprocessor", "tokenizer", "strip_accents"):
        if getattr(step, parameter) is not None:
            raise ValueError(f"{name} cannot be exported with {parameter}")
    terms = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    if step.analyzer == "word":
        counts = _of_words(graph, step, terms, texts)
    elif step.analyzer == "char_wb" and min(map(len, terms)) > 1:
        counts = _of_characters(graph, step, terms, texts)
    else:
        raise ValueError(
            f"{name} can be exported with analyzer='word' or with 'char_wb' and n-grams of at "
            f"least 2 characters, got {step.analyzer!r} and ngram_range={step.ngram_range}"
        )
    if step.binary:
        counts = graph("Min", counts, np.float64(1))
    return weighted(graph, step._tfidf, counts) if isinstance(step, TfidfVectorizer) else counts


def weighted(graph: Graph, step: TfidfTransformer, counts: Value) -> Value:
    if step.sublinear_tf:
        # small counts by a table: the last bit of a logarithm depends on the library
        table = np.array([0.0, *(np.log(np.arange(1.0, SMALL)) + 1)])
        few = graph("Min", counts, SMALL - 1.0).cast(np.int64)
        many = graph("Log", graph("Max", counts, 1.0)) + 1.0
        is_small = counts < float(SMALL)
        counts = graph("Where", is_small, graph("Gather", table, few), many)
    if step.use_idf:
        counts = counts * np.asarray(step.idf_, dtype=np.float64)[np.newaxis]
    return counts if step.norm is None else unit_length(graph, step.norm, counts)


def unit_length(graph: Graph, norm: str, x: Value) -> Value:
    """Normalize rows; rows of zeros stay as they are."""
    if norm == "max":
        length = abs(x).largest()
    else:
        sizes = abs(x) if norm == "l1" else x * x
        # in the order of the features, as scikit-learn for sparse rows: trees see the last bit
        length = graph("CumSum", sizes, 1).part(-1)
        length = graph("Sqrt", length) if norm == "l2" else length
    zero = length.equals(0.0)
    return x / graph("Where", zero, 1.0, length)


def stripped(graph: Graph, texts: Value) -> Value:
    """Texts (n,) without whitespace at both ends."""
    return graph("Gather", tokens(graph, texts, f"{FILLED}(?s:.*{FILLED})?", [""]), 0, axis=1)


def tokens(graph: Graph, texts: Value, pattern: str, then: Sequence[str]) -> Value:
    """Matches of a pattern, padded to the longest row, followed by the strings ``then``."""
    (found,) = graph.node(
        "Tokenizer", texts, outputs=1, domain="com.microsoft",
        mark=0, mincharnum=1, pad_value=then[0], tokenexp=pattern,
    )  # fmt: skip
    return graph.concat([found, _repeated(graph, np.array([then], dtype=object), found)])


def _repeated(graph: Graph, row: Any, like: Value) -> Value:
    """An array (1, m), repeated for the rows of another one."""
    shape = graph("Concat", like.size(0), np.array([row.shape[1]]), axis=0)
    return graph("Expand", row, shape)


def _codes(texts: str) -> NDArray[np.uint64]:
    """A pseudo-random number for each character (SplitMix64)."""
    z = np.frombuffer(texts.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    z = (z + np.uint64(1)) * np.uint64(BASE)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _powers(size: int) -> NDArray[np.uint64]:
    return np.cumprod([np.uint64(1), *[np.uint64(BASE)] * (size - 1)], dtype=np.uint64)


def _hashes(terms: Iterable[str], powers: NDArray[np.uint64]) -> list[int]:
    return [int((_codes(term) * powers[: len(term)]).sum().astype(np.int64)) for term in terms]


def _coded(graph: Graph, characters: Value, known: set[str], lower: bool, blank: int) -> Value:
    """Numbers of characters in lower case; ``blank`` is that of whitespace and of padding."""
    alphabet = {c: c for c in sorted(known)}
    if lower:
        alphabet |= {c: low for c, low in _lowercase().items() if low in known}
        alphabet["Σ"] = "Σ"  # whose lower case depends on its place in a word
    codes = _codes("".join(alphabet.values())).astype(np.int64)
    table = dict(zip(alphabet, codes.tolist())) | {"": blank}
    if blank:
        table |= {c: blank for c in map(chr, range(0x3001)) if c.isspace()}
    return graph.node(
        "LabelEncoder", characters, outputs=1, domain="ai.onnx.ml",
        keys_strings=list(table), values_int64s=list(table.values()), default_int64=LENGTH >> 1,
    )[0]  # fmt: skip


@cache
def _lowercase() -> dict[str, str]:
    """Characters that lowercasing changes, with the first character of the result."""
    every = map(chr, range(sys.maxunicode + 1))
    return {c: low[0] for c in every if (low := c.lower()) != c}


def _taken_apart(graph: Graph, texts: Value) -> Value:
    (found,) = graph.node(
        "Tokenizer", texts, outputs=1, domain="com.microsoft",
        mark=0, mincharnum=1, pad_value="", separators=[""],
    )  # fmt: skip
    return found


def _counts(graph: Graph, found: Value, grams: Sequence[Sequence[int]]) -> Value:
    """Count each n-gram of numbers in each row."""
    lengths = np.array([len(gram) for gram in grams])
    order = np.argsort(lengths, kind="stable")
    starts = [int(lengths[lengths < n].sum()) for n in range(1, lengths.max() + 1)]
    (counts,) = graph.node(
        "TfIdfVectorizer", found, outputs=1, mode="TF", max_skip_count=0,
        min_gram_length=int(lengths.min()), max_gram_length=int(lengths.max()),
        ngram_counts=starts, ngram_indexes=order.tolist(),
        pool_int64s=[number for j in order for number in grams[j]],
    )  # fmt: skip
    return counts.cast(np.float64)


def _of_words(graph: Graph, step: Any, terms: list[str], texts: Value) -> Value:
    pattern = PATTERNS.get((step.token_pattern, step.lowercase))
    if pattern is None:
        raise ValueError(
            f"{type(step).__name__} needs the usual token_pattern, got {step.token_pattern!r}"
        )
    words = sorted({word for term in terms for word in term.split(" ")})
    stop = sorted(step.get_stop_words() or ())
    longest = max(map(len, [*words, *stop]))
    powers = _powers(longest + 1)
    found = tokens(graph, texts, pattern, [" "])
    # each distinct word is split once
    flat = graph("Reshape", found, np.array([-1]))
    distinct, _, number = graph.node("Unique", flat, outputs=3, sorted=1)
    characters = _taken_apart(graph, distinct)
    codes = _coded(graph, characters, set("".join([*words, *stop])), step.lowercase, 0)
    codes = codes.part(0, longest + 1)
    codes = _with_last_sigma(graph, codes, 0) if step.lowercase else codes
    places = graph("Slice", powers.astype(np.int64), np.array([0]), codes.size(1))
    # a cumulative sum, since ReduceSum of onnxruntime rounds large integers
    hashes = graph("Gather", graph("CumSum", codes * places, 1), -1, axis=1)
    hashed = graph("Reshape", graph("Gather", hashes, number), graph("Shape", found))
    if stop:
        among = np.array(_hashes(stop, powers))[np.newaxis]
        same = graph("Unsqueeze", hashes, np.array([1])).equals(among)
        same = graph("ReduceMax", same.cast(np.int32), axes=[1], keepdims=0)
        dropped = graph("Reshape", graph("Gather", same, number), graph("Shape", found))
        hashed = _moved_up(graph, hashed, dropped.cast(bool))
    of = dict(zip(words, _hashes(words, powers)))
    return _counts(graph, hashed, [[of[word] for word in term.split(" ")] for term in terms])


def _with_last_sigma(graph: Graph, codes: Value, end: int) -> Value:
    """Lowercase capital sigmas: ς at the end of a word, otherwise σ."""
    inner, last, capital = _codes("σςΣ").astype(np.int64)
    is_capital = codes.equals(capital)
    next_ones, first = codes.part(1), codes.columns([0])
    at_end = graph.concat([next_ones, first - first]).equals(end)
    return graph("Where", is_capital, graph("Where", at_end, last, inner), codes)


def _moved_up(graph: Graph, values: Value, dropped: Value) -> Value:
    """Rows of numbers without the dropped ones, padded with zeros."""
    last, key = values.size(1), dropped.cast(np.int32)  # the sort is stable
    order = graph.node("TopK", key, last, outputs=2, axis=1, largest=0, sorted=1)[1]
    kept = graph("Where", dropped, 0, values)
    return graph("GatherElements", kept, order, axis=1)


def _of_characters(graph: Graph, step: Any, terms: list[str], texts: Value) -> Value:
    """N-grams inside words, which are padded with a blank on each side.

    No term has a blank inside, so that all n-grams of a text with single blanks can be looked up.
    """
    blank = int(_codes(" ").astype(np.int64)[0])
    lengths = sorted({len(term) for term in terms})
    most = lengths[-1]
    powers = _powers(most)
    codes = _coded(graph, _taken_apart(graph, texts), set("".join(terms)), step.lowercase, blank)
    side = _repeated(graph, np.array([[blank]]), codes)
    codes = graph.concat([side, codes, side])
    is_blank = codes.equals(blank)
    before = is_blank.part(0, -1)
    first = (side * 0).cast(bool)
    codes = _moved_up(graph, codes, is_blank & graph.concat([first, before]))
    codes = _with_last_sigma(graph, codes, blank) if step.lowercase else codes
    codes = graph.concat([codes, _repeated(graph, np.zeros((1, most), dtype=np.int64), codes)])
    total, grams = None, []
    for k, power in enumerate(powers.astype(np.int64)):
        part = codes.part(k, k - most) * power
        total = part if total is None else total + part
        if k + 1 in lengths:  # so that no n-gram with zeros at its end equals a shorter one
            grams.append(total + (k + 1) * (LENGTH >> 4))
    length = np.array([len(term) * (LENGTH >> 4) for term in terms])
    hashes = (np.array(_hashes(terms, powers)) + length)[:, np.newaxis].tolist()
    return _counts(graph, graph.concat(grams), hashes)
