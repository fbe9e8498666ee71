"""Words and characters are counted in a graph as scikit-learn counts them."""

import sys

import numpy as np
import pytest

pytest.importorskip("onnx", reason="graphs are written with onnx")
pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")

import onnxruntime
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union

from plurilabel import MLkNN
from plurilabel.models import to_onnx
from plurilabel.models.onnx._steps import transformed
from plurilabel.models.onnx._text import stripped
from plurilabel.models.onnx._to_onnx import OPSETS, Graph

# letters, digits, marks and blanks of many kinds; cases that have no other case, or two
CHARACTERS = [*"abcdeABCDE  \n\té_1²ÄÖüßñı中文😀.,-'", "\u0301", "\xa0", "\u3000", "\x85", "\x1c"]
HARD = [
    "",
    " ",
    "a",
    "  \n ",
    "I",
    "ΟΔΟΣ ΣΑΣ Οδός",
    "x" * 300,
    "ab " * 200,
    "\ufeffab",
    "ab\x00cd",
]


def texts(n, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(CHARACTERS, size=rng.integers(0, 60))) for _ in range(n)] + HARD


def run(graph, value, rows, kind):
    """What a graph computes for texts."""
    helper = graph.onnx.helper
    graph.nodes.append(helper.make_node("Identity", [value.name], ["answer"]))
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "test",
            list(graph.inputs.values()),
            [helper.make_tensor_value_info("answer", kind, None)],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid(*one) for one in OPSETS.items()],
        ir_version=8,
    )
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    return session.run(None, {"X": np.array(rows, dtype=object)})[0]


def counted(step, rows):
    graph = Graph()
    return run(graph, transformed(graph, step, graph.x), rows, graph.onnx.TensorProto.DOUBLE)


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(),
        CountVectorizer(),
        TfidfVectorizer(ngram_range=(1, 3)),
        TfidfVectorizer(ngram_range=(2, 2), norm="l1"),
        TfidfVectorizer(sublinear_tf=True, norm=None),
        TfidfVectorizer(lowercase=False, use_idf=False, smooth_idf=False),
        TfidfVectorizer(ngram_range=(1, 2), stop_words=["ab", "cd", "cb"]),
        TfidfVectorizer(vocabulary=["ab", "οδός", "οδος", "σας"]),
        CountVectorizer(binary=True, token_pattern=r"(?u)\b\w+\b", stop_words="english"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), lowercase=False, max_features=99),
        CountVectorizer(analyzer="char_wb", ngram_range=(6, 7)),  # longer than most words
        make_pipeline(CountVectorizer(), TfidfTransformer()),
        make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5))),
    ],
    ids=lambda step: repr(step)[:60],
)
def test_counts_are_the_same_bit_by_bit(step):
    rows = texts(80, seed=1)
    expected = step.fit(texts(120, seed=0)).transform(rows).toarray()
    np.testing.assert_array_equal(counted(step, rows), expected)
    np.testing.assert_array_equal(counted(step, rows[-1:]), expected[-1:])
    np.testing.assert_array_equal(counted(step, ["", ""]), 0 * expected[:2])


def test_every_character():
    """What is a letter, a blank or a capital is that for Python, and for no other library."""
    rare = {"İ"}  # its lower case is two characters
    every = [c for c in map(chr, range(sys.maxunicode + 1)) if c not in rare]
    every = [c for c in every if c.isprintable() or c.isspace()]  # known to this Python
    rows = [f"ab{c}cd" for c in every]
    step = CountVectorizer().fit(["ab cd abscd"])  # a character that is no letter ends a word
    np.testing.assert_array_equal(counted(step, rows), step.transform(rows).toarray())
    capitals = [f"ab{c}cd" for c in every if c.lower() != c]
    step = CountVectorizer().fit(capitals)
    np.testing.assert_array_equal(counted(step, capitals), step.transform(capitals).toarray())
    graph = Graph()
    value = stripped(graph, graph.given("X", "categories"))
    found = run(graph, value, [f"{c}a b{c}" for c in every], graph.onnx.TensorProto.STRING)
    assert [text for text, c in zip(found, every) if text != f"{c}a b{c}".strip()] == []


def test_two_capitals():
    step = CountVectorizer().fit(["i̇stanbul stanbul ankara", "οδός νόμος σοφία"])
    rows = ["İSTANBUL Ankara", "istanbul", "ΟΔΌΣ ΝΌΜΟΣ ΣΟΦΊΑ", "ΝΌΜΟΣ, ΣΟΦΊΑ."]
    np.testing.assert_array_equal(counted(step, rows), step.transform(rows).toarray())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_pattern": r"\S+"}, r"usual token_pattern, got '\\\\S\+'"),
        ({"strip_accents": "unicode"}, "cannot be exported with strip_accents"),
        ({"tokenizer": str.split, "token_pattern": None}, "cannot be exported with tokenizer"),
        ({"analyzer": "char"}, "analyzer='word' or with 'char_wb'"),
        ({"analyzer": "char_wb"}, "at least 2 characters"),
    ],
)
def test_what_cannot_be_exported(options, message):
    model = make_pipeline(TfidfVectorizer(**options), MLkNN(1))
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(["ab cd", "cd ef", "gh ij"], [[0, 1], [1, 0], [1, 1]]))
