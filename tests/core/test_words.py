"""Words for people, each by an example."""

import pytest

from plurilabel._core.words import (
    aligned,
    capital,
    counted,
    display_width,
    distinct_names,
    duration,
    file_size,
    filled,
    first_repeated,
    is_unicode,
    listed,
    no_formula,
    printable,
    shortened,
    similar,
    unique_name,
)

EXAMPLES = [
    (no_formula("=A1"), "'=A1"),
    (no_formula("-1.5"), "-1.5"),
    (no_formula(2), 2),
    (counted(1, "dataset"), "1 dataset"),
    (counted(2417, "row"), "2,417 rows"),
    (listed(["a", "b", "c"]), "a, b and c"),
    (listed(["a", "b", "c", "d"], most=2), "a, b and 2 more"),
    (display_width("sea"), 3),
    (display_width("海边"), 4),
    (display_width("e\u0301tude"), 5),
    (filled("海边", 6), "海边  "),
    (filled("sea", 6, right=True), "   sea"),
    (aligned([["label", "count"], ["海边", "7"]]), ["label  count", "海边       7"]),
    (shortened("a long name", 7), "a long…"),
    (shortened("海边的日落", 7), "海边的…"),
    (is_unicode("sea"), True),
    (is_unicode("\ud800"), False),
    (first_repeated(["a", "b", "a"]), "a"),
    (similar("lenght", ["width", "length"]), "length"),
    (printable("a \x1b[31mred\x1b[0m name"), r"a \x1b[31mred\x1b[0m name"),
    (capital("macro AUC"), "Macro AUC"),
    (capital("nDCG@3"), "nDCG@3"),
    (duration(0.4), "0.4 s"),
    (duration(75), "1 min 15 s"),
    (duration(7300), "2 h 1 min"),
    (file_size(512), "512 bytes"),
    (file_size(2_345_678), "2.3 MB"),
    (unique_name("MLkNN", ["BRkNN"]), "MLkNN"),
    (unique_name("data", {"data", "data-2"}, "{}-{}"), "data-3"),
    (
        distinct_names(["MLkNN", "MLkNN", "BRkNN"], ["MLkNN(5)", "MLkNN(7)", "BRkNN(5)"]),
        ["MLkNN(5)", "MLkNN(7)", "BRkNN"],
    ),
]


@pytest.mark.parametrize(("found", "expected"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_words(found, expected):
    assert found == expected
