"""From the values of rows to the columns of X and Y."""

import numpy as np

from plurilabel.io._arff_columns import as_number, truth_order
from tests.io.arff_twin import assert_is_twin, read

HEADER = """% a comment
@RELATION 'many things: -C 2' %50

@Attribute\tsunny {0,1}   % the first label
@attribute 'it\\'s, "here"' {no, YES}
@attribute "size \\"in\\" m"\tReal
@attribute colour { red,'dark green' ,"b,l\\"ue", 10% }
@attribute sex {F,M}
@attribute count INTEGER % how many
@DATA
"""


def test_quotes_comments_blanks_and_cases():
    text = HEADER + (
        "% nothing yet\n\n"
        "1, no , 2.5,red,M,1\r\n"
        "\t0,'YES',-.5e1,'dark green',\"F\",'2' % a comment\n"
        "   % another\n"
        '0,no,?,"b,l\\"ue",?,0\n'
        "1,YES,+7.,10%,M,1"
    )
    data = read(text)
    assert data.name == "many things"
    assert data.label_names == ("sunny", 'it\'s, "here"')
    assert data.feature_names == (
        'size "in" m', "colour=red", "colour=dark green", 'colour=b,l"ue', "colour=10%", "sex=M",
        "count",
    )  # fmt: skip
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(
        data.X,
        [
            [2.5, 1, 0, 0, 0, 1, 1],
            [-5, 0, 1, 0, 0, 0, 2],
            [np.nan, 0, 0, 1, 0, np.nan, 0],
            [7, 0, 0, 0, 1, 1, 1],
        ],
    )
    assert_is_twin(data, text, data.label_names)


def test_sparse_rows_leave_out_zero_and_the_first_value():
    text = HEADER + (
        "{0 1, 2 2.5 , 3 'dark green'}\n"
        "{}\n"
        "{ 5 ?,4 M,1 YES,3 ? } % in any order\n"
        "{3 red,1 no,2 0}\n"
    )
    data = read(text)
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 0], [0, 1], [0, 0]])
    nan = np.nan
    np.testing.assert_array_equal(
        data.X.toarray(),
        [
            [2.5, 0, 1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0, 0],
            [0, nan, nan, nan, nan, 1, nan],
            [0, 1, 0, 0, 0, 0, 0],
        ],
    )
    assert_is_twin(data, text, data.label_names)
    for matrix in (data.X, data.Y):
        assert matrix.has_canonical_format and matrix.data.all()
        assert matrix.indices.dtype == np.int32


def test_yes_is_one_whatever_is_declared_first():
    head = "@attribute y {1,0}\n@attribute a {TRUE,FALSE}\n@attribute b {n,y}\n"
    head += "@attribute c {2,1}\n@data\n"
    data = read(head + "1,TRUE,y,2\n0,FALSE,n,1\n", 1)
    assert data.feature_names == ("a", "b", "c=1")
    np.testing.assert_array_equal(data.X, [[1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(data.Y, [[1], [0]])
    # left out of a sparse row: the value that is declared first
    data = read(head + "{}\n{0 0,1 FALSE,2 y,3 1}\n", 1)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [0]])


def test_labels_that_never_or_always_apply():
    head = "@attribute never {0}\n@attribute always {1}\n@attribute number numeric\n@data\n"
    np.testing.assert_array_equal(read(head + "0,1,1\n0,1,0\n", 3).Y, [[0, 1, 1], [0, 1, 0]])
    data = read(head + "{2 1}\n{}\n", 3)
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1, 1], [0, 1, 0]])
    assert data.X.shape == (2, 0)


def test_numbers_and_truth():
    assert as_number("-1.5e3") == -1500.0 and np.isnan(as_number("?"))
    found = [truth_order(words) for words in (("0", "1"), ("YES", "NO"), ("red", "blue"))]
    assert found == [True, False, None]
