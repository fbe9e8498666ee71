"""Writing ARFF so that reading gives the same data back, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse as sp

from plurilabel._core.base import LabelMatrix, check_labels
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.data.dataset import Dataset, Matrix
from plurilabel._core.records import write_atomic
from plurilabel._core.unknown import known_part
from plurilabel.io._arff._header import quote
from plurilabel.io._arff._label_xml import write_label_xml
from plurilabel.io._files import AnyPath


def write_arff(
    path: AnyPath,
    dataset: Dataset,
    *,
    labels_xml: AnyPath | None = None,
    sparse: bool | None = None,
) -> None:
    """Write a dataset as ARFF, for MEKA, or with an XML file of the labels for MULAN.

    :func:`read_arff` reads the same dataset back, exactly: numbers are written with all the digits
    they need. The labels are the first attributes. The file appears whole or not at all, and is
    gzipped if its name ends in ``.gz``.

    Parameters
    ----------
    path : str or path
    dataset : Dataset
        All features are written as numbers. NaN is written as ``?``, in labels too: they are
        not known. The citation becomes a comment. A split
        is kept (``-split-number``) if the training rows come first, then the test rows.
    labels_xml : str or path, optional
        Where to write MULAN's XML file with the labels and their hierarchy. If omitted, the
        relation says how many attributes are labels (``-C``), as MEKA expects.
    sparse : bool, optional
        Whether rows hold only nonzero values; by default if X is sparse.

    Raises
    ------
    ValueError
        If an ARFF file cannot hold the dataset: no rows, bags of instances, two columns of the
        same name, another split, a hierarchy without ``labels_xml``, a name with MEKA's mark for
        options (``: -``). Nothing is written in that case.

    See Also
    --------
    read_arff : Reads ARFF files.
    write_label_xml : Writes only the XML file of the labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from plurilabel.datasets import Dataset
    >>> from plurilabel.io import write_arff
    >>> data = Dataset(np.array([[0.5, 2], [np.nan, 0]]), np.array([[1], [0]]),
    ...                ("size", "age (years)"), ("red",), name="toy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.arff")
    ...     write_arff(path, data)
    ...     print(path.read_text())
    @relation 'toy: -C 1'
    <BLANKLINE>
    @attribute red {0,1}
    @attribute size numeric
    @attribute 'age (years)' numeric
    <BLANKLINE>
    @data
    1,0.5,2
    0,?,0
    """
    X, Y = _check_matrices(dataset)
    relation = _relation(dataset, with_count=labels_xml is None)
    _check_names(dataset)
    as_sparse = sp.issparse(X) if sparse is None else sparse
    if labels_xml is not None:
        write_label_xml(labels_xml, dataset.label_names, dataset.label_parents)
    with write_atomic(path) as stream:
        comment = "".join(f"% {line}\n" for line in dataset.citation.splitlines())
        header = [f"{comment}@relation {quote(relation)}\n\n"]
        header += [f"@attribute {quote(name)} {{0,1}}\n" for name in dataset.label_names]
        header += [f"@attribute {quote(name)} numeric\n" for name in dataset.feature_names]
        stream.write("".join([*header, "\n@data\n"]).encode("utf-8"))
        for text in (_sparse_rows if as_sparse else _dense_rows)(X, Y):
            stream.write(text.encode("ascii"))


def _check_matrices(dataset: Dataset) -> tuple[Matrix, LabelMatrix]:
    filled, unknown = known_part(dataset.Y)
    X, Y = dataset.X, check_labels(filled, name="dataset.Y")
    if unknown is not None:  # written as NaN in features is: ?
        Y = Y.astype(np.float64)
        if sp.issparse(Y):
            Y = Y + sp.csr_array(unknown).astype(np.float64) * np.nan
        else:
            Y[dense(unknown)] = np.nan
    if dataset.has_bags:
        raise ValueError("dataset.X must be a matrix (n, d), got bags of instances")
    if X.shape[0] == 0 or Y.shape[1] == 0:
        raise ValueError(
            f"dataset must have rows and labels, got {X.shape[0]} rows and {Y.shape[1]} labels"
        )
    if sp.issparse(X):
        return sp.csr_array(X).astype(np.float64), Y
    return np.asarray(X, dtype=np.float64), Y


def _check_names(dataset: Dataset) -> None:
    seen: set[str] = set()
    for name in (*dataset.label_names, *dataset.feature_names):
        if name in seen:
            raise ValueError(
                f"dataset must have different names for all its labels and features, "
                f"got {name!r} twice"
            )
        seen.add(name)
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise ValueError(f"{name!r} has a character that UTF-8 cannot hold")


def _relation(dataset: Dataset, with_count: bool) -> str:
    """Name of the relation, with MEKA's options where there are any."""
    n, q = dataset.Y.shape
    if re.search(r":\s*-", dataset.name):
        raise ValueError(
            f"dataset.name must not hold ': -', MEKA's mark for options, got {dataset.name!r}"
        )
    if with_count and dataset.label_parents is not None:
        raise ValueError(
            "dataset has a label hierarchy (label_parents), which only XML holds: pass "
            "labels_xml=, or remove it with dataclasses.replace(dataset, label_parents=None)"
        )
    options = f" -C {q}" if with_count else ""
    if dataset.train is not None or dataset.test is not None:
        train = np.arange(0) if dataset.train is None else dataset.train
        test = np.arange(0) if dataset.test is None else dataset.test
        rows = np.concatenate([train, test])
        if not (len(train) and len(test) and np.array_equal(rows, np.arange(n))):
            raise ValueError(
                "dataset has a split (train, test) other than first rows and last rows, which "
                "ARFF cannot hold: remove it with "
                "dataclasses.replace(dataset, train=None, test=None)"
            )
        options += f" -split-number {len(train)}"
    return f"{dataset.name}:{options}" if options else dataset.name


def _dense_rows(X: Matrix, Y: LabelMatrix) -> Iterator[str]:
    for rows in row_blocks(X.shape[0], width=1, at_once=1000):
        both = np.hstack([dense(Y[rows]), dense(X[rows])])
        yield _short("".join(f"{','.join(map(repr, row))}\n" for row in both.tolist()))


def _sparse_rows(X: Matrix, Y: LabelMatrix) -> Iterator[str]:
    for rows in row_blocks(X.shape[0], width=1, at_once=1000):
        both = sp.hstack([sp.csr_array(Y[rows]), sp.csr_array(X[rows])], format="csr")
        both.sum_duplicates()
        both.eliminate_zeros()
        pairs = [f"{j} {value!r}" for j, value in zip(both.indices.tolist(), both.data.tolist())]
        ends = pairwise(both.indptr.tolist())
        yield _short("".join(f"{{{','.join(pairs[i:j])}}}\n" for i, j in ends))


def _short(text: str) -> str:
    """Whole numbers without ``.0``, and NaN and infinity in ARFF's words."""
    for end in ",}\n":
        text = text.replace(f".0{end}", end)
    return text.replace("nan", "?").replace("inf", "Infinity")
