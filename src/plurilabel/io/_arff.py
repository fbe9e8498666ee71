"""ARFF, the file format of WEKA, MULAN and MEKA."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from plurilabel._core.base import LabelMatrix, check_labels
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.data.dataset import Dataset, Matrix
from plurilabel._core.records import write_atomic
from plurilabel._core.unknown import known_part
from plurilabel._core.words import check_unicode, first_repeated, similar
from plurilabel.io._arff_columns import Columns
from plurilabel.io._arff_header import quote, read_header
from plurilabel.io._arff_rows import only_one, read_bags, read_rows
from plurilabel.io._clus import read_classes
from plurilabel.io._files import AnyPath, FileFormatError, Format, opened
from plurilabel.io._label_xml import parse_label_xml, write_label_xml

_DIGITS = 18  # of a number that is read; those with more are too large in any case
_MEKA = re.compile(r"(?s)(.*?):\s*(-.*)")


def read_arff(
    path: AnyPath,
    labels: AnyPath | Sequence[str] | int | None = None,
    *,
    require_labels: bool = True,
    drop: Sequence[str] = (),
    name: str | None = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read a multi-label dataset from an ARFF file of MULAN, MEKA or CLUS.

    Parameters
    ----------
    path : str or path
        Gzipped files are unpacked.
    labels : str or path, sequence of str, int, or None
        Which attributes are labels:

        - a path: those named in MULAN's XML file;
        - a sequence of names; the order of the file is kept;
        - a number, as in MEKA: the first n attributes, or the last n if negative;
        - None: those of an XML file next to the ARFF file (``yeast.xml`` for ``yeast.arff`` and
          ``yeast-train.arff``), else MEKA's ``-C n`` in the relation. In CLUS files, the classes
          of the hierarchical attribute.
    require_labels : bool, default=True
        Whether the file must have all labels named in ``labels`` or the XML file. If False,
        missing labels are skipped, as is useful for rows to be predicted.
    drop : sequence of str
        Attributes to leave out, such as identifiers. A number in ``labels`` counts them.
    name : str, optional
        Name of the dataset; by default that of the relation, without MEKA's options.
    encoding : str, default="utf-8"

    Returns
    -------
    Dataset
        X and Y are CSR if the rows of the file are sparse, else dense. ``label_parents`` is the
        hierarchy of the XML file, if any; ``train`` and ``test`` are the split given by MEKA's
        ``-split-number``. For a file of bags, X is a :class:`~plurilabel.bags.Bags`. For a CLUS
        file, Y is CSR and contains the ancestors of each class.

    Notes
    -----
    How attributes become columns:

    - Numbers are kept. ``?`` becomes NaN.
    - A nominal attribute with the values 0 and 1, false and true, f and t, no and yes, or n and
      y, in either order and case, becomes one column of that name, 1 for true or yes.
    - Any other nominal attribute with two values becomes one column ``name=second``, 1 for the
      value declared second.
    - All other nominal attributes become one column ``name=value`` for each value. A missing
      value is NaN in all of them.
    - A label must be a number 0 or 1, or a nominal attribute that means no and yes as above.
      ``?`` is an unknown label: Y then has floats with NaN, or is
      :class:`~plurilabel.datasets.UnknownLabels` if the rows of the file are sparse.
    - Strings and dates are not supported: leave them out with ``drop``.
    - A hierarchical attribute of CLUS, ``class hierarchical a,a/b``, holds the classes of a row,
      joined by ``@``. The declared classes are paths in a tree or, if any starts with ``root/``,
      edges ``parent/child`` of a graph; rows then name the child alone.
    - A relational attribute holds bags of instances, as written by the MIML library. One other
      attribute, the name of the bag, is ignored.

    Sparse rows omit zeros. For a nominal attribute, an omitted value is the one declared first.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from plurilabel.io import read_arff
    >>> text = '''@relation 'fruit: -C 2'
    ... @attribute sweet {0,1}
    ... @attribute round {0,1}
    ... @attribute weight numeric
    ... @attribute colour {red,green,yellow}
    ... @data
    ... 1,1,150,red
    ... 1,0,120,yellow
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "fruit.arff")
    ...     _ = path.write_text(text)
    ...     data = read_arff(path)
    >>> data
    Dataset 'fruit': 2 instances, 4 features, 2 labels
    >>> data.feature_names
    ('weight', 'colour=red', 'colour=green', 'colour=yellow')
    >>> data.X
    array([[150.,   1.,   0.,   0.],
           [120.,   0.,   0.,   1.]])
    >>> data.Y
    array([[1, 1],
           [1, 0]])
    """
    if isinstance(drop, str):
        raise TypeError(f"drop must be a sequence of names, got the string {drop!r}")
    with opened(path) as stream:
        header = read_header(stream, path, encoding)
        names = [attribute.name for attribute in header.attributes]
        _check_known("drop", drop, names, path)
        title, options = _meka(header.relation)
        title = title if name is None else name
        if classes := only_one("hierarchical", header, path):
            if labels is not None and require_labels:
                raise ValueError(
                    f"labels must be None for {os.fspath(path)}, whose attribute {classes.name!r} "
                    "holds them"
                )
            return replace(read_classes(stream, path, header, classes, drop, encoding), name=title)
        parents = _label_parents(path, names, labels, header.relation, require_labels)
        if both := [attribute for attribute in drop if attribute in parents]:
            raise ValueError(f"drop must not name labels, got {both[0]!r}")
        if bag := only_one("relational", header, path):
            own, unused = set(parents), set(drop)
            bags, Y, found = read_bags(stream, path, header, bag, own, unused, encoding)
            return Dataset(bags, Y, bags.feature_names or (), found, name=title)
        columns = Columns(path, header.attributes, parents, set(drop))
        X, Y = read_rows(stream, path, header.lines, columns, encoding)
    train, test = _split(options, X.shape[0], path)
    names = columns.label_names
    place: dict[str | None, int] = {label: l for l, label in enumerate(names)}
    above = tuple(place.get(parents[label], -1) for label in names)
    tree = above if max(above, default=-1) >= 0 else None
    return Dataset(X, Y, columns.feature_names, names, train, test, title, label_parents=tree)


# which attributes are labels ------------------------------------------------------------------


def _label_parents(
    path: AnyPath, names: list[str], labels: AnyPath | Sequence[str] | int | None, relation: str,
    required: bool,
) -> dict[str, str | None]:  # fmt: skip
    """Names of the labels, each with the name of its parent."""
    if labels is None:
        labels = _xml_beside(path) or _count_in_relation(path, relation, len(names))
    if isinstance(labels, str | os.PathLike):
        return _labels_in_xml(path, names, labels, required)
    if isinstance(labels, Sequence) or np.ndim(labels) == 1:
        chosen = [str(label) for label in labels]  # type: ignore[union-attr]
        if not required:
            chosen = [label for label in chosen if label in set(names)]
        elif not chosen:
            raise ValueError("labels must name at least one attribute, got none")
        _check_known("labels", chosen, names, path)
        return dict.fromkeys(chosen)
    if isinstance(labels, bool) or not isinstance(labels, Integral):
        raise TypeError(
            "labels must be the path of an XML file, a sequence of names, a number or None, "
            f"got {labels!r}"
        )
    n = int(labels)
    if not 1 <= abs(n) <= len(names):
        raise ValueError(
            f"labels must be between 1 and the {len(names)} attributes of {os.fspath(path)} "
            f"(negative: counted from the end), got {n}"
        )
    return dict.fromkeys(names[:n] if n > 0 else names[n:])


def _labels_in_xml(
    path: AnyPath, names: list[str], xml: AnyPath, required: bool
) -> dict[str, str | None]:
    lines, known = parse_label_xml(xml), set(names)
    for label in lines if required else ():
        if label.name not in known:
            problem = f"label {label.name!r} is not an attribute of {os.fspath(path)}"
            raise FileFormatError(xml, label.line, problem + _similar(label.name, names))
    return {
        label.name: None if label.parent < 0 else lines[label.parent].name
        for label in lines
        if label.name in known
    }


def _xml_beside(path: AnyPath) -> Path | None:
    path = Path(path)
    stem = re.sub(r"(?i)(\.arff)?(\.gz)?$", "", path.name, count=1)
    for candidate in (stem, re.sub(r"(?i)-(train|test)$", "", stem)):
        if (xml := path.with_name(f"{candidate}.xml")).is_file():
            return xml
    return None


def _count_in_relation(path: AnyPath, relation: str, w: int) -> int:
    options = _meka(relation)[1]
    counts = re.findall(r"(?<!\S)-C\s+(-?\d+)", options)
    why = ""
    if not counts:
        why = "There is no XML file next to it, and no '-C n' in the relation"
    elif len(counts) > 1 or re.search(r"filters\.\w+\.attribute\.", options):
        why = "The relation has -C, but a WEKA filter changed the attributes afterwards"
    if why:
        how = "pass labels= the path of an XML file, the names of the labels, or their number"
        raise FileFormatError(path, None, f"which attributes are labels? {why}: {how}")
    count = int(counts[0][:_DIGITS])
    if not 1 <= abs(count) <= w:
        problem = f"expected '-C n' in the relation with n from 1 to {w} attributes, got {count}"
        raise FileFormatError(path, None, problem)
    return count


def _check_known(parameter: str, given: Sequence[str], names: list[str], path: AnyPath) -> None:
    known = set(names)
    for name in given:
        if name not in known:
            got = f"{name!r}{_similar(name, names)}"
            raise ValueError(f"{parameter} must name attributes of {os.fspath(path)}, got {got}")
    if len(set(given)) < len(given):
        raise ValueError(f"{parameter} must name each attribute once, got {list(given)!r}")


def _similar(name: str, names: list[str]) -> str:
    close = similar(name, names)
    return "" if close is None else f"; did you mean {close!r}?"


def _meka(relation: str) -> tuple[str, str]:
    """Name and options: ``'Slashdot: -C 22 -split-number 1891'``."""
    match = _MEKA.fullmatch(relation)
    return (match[1], match[2]) if match else (relation, "")


def _split(
    options: str, n: int, path: AnyPath
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    match = re.search(r"(?<!\S)-split-number\s+(\d+)", options)
    if match is None:
        return None, None
    size = int(match[1][:_DIGITS])
    if 0 < size < n:
        return np.arange(size), np.arange(size, n)
    warnings.warn(
        f"{os.fspath(path)}: the relation says -split-number {size}, but there are {n} rows; "
        "the dataset has no split",
        UserWarning,
        stacklevel=3,
    )
    return None, None


def write_arff(
    path: AnyPath,
    dataset: Dataset,
    *,
    labels_xml: AnyPath | None = None,
    sparse: bool | None = None,
) -> None:
    """Write a dataset as ARFF, for MEKA, or with an XML file of the labels for MULAN.

    :func:`read_arff` reads exactly the same dataset. The file is written atomically, and gzipped
    if its name ends in ``.gz``. Bags are not supported, and a hierarchy needs ``labels_xml``.

    Parameters
    ----------
    path : str or path
    dataset : Dataset
        All features are written as numbers; NaN and unknown labels are written as ``?``. The
        citation becomes a comment. A split is kept (``-split-number``) if the training rows come
        before the test rows.
    labels_xml : str or path, optional
        Where to write MULAN's XML file with the labels and their hierarchy. By default, the
        relation tells how many attributes are labels (``-C``), as in MEKA.
    sparse : bool, optional
        Whether to write sparse rows; by default if X is sparse.

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
    if (twice := first_repeated([*dataset.label_names, *dataset.feature_names])) is not None:
        problem = "dataset must have different names for all its labels and features"
        raise ValueError(f"{problem}, got {twice!r} twice")
    check_unicode([dataset.name, dataset.citation], "name and citation of a dataset")
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
    if unknown is not None:
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


def _relation(dataset: Dataset, with_count: bool) -> str:
    """Name of the relation, with MEKA's options where there are any."""
    if re.search(r":\s*-", dataset.name):
        raise ValueError(
            f"dataset.name must not hold ': -', MEKA's mark for options, got {dataset.name!r}"
        )
    if with_count and dataset.label_parents is not None:
        raise ValueError(
            "dataset has a label hierarchy (label_parents), which only XML holds: pass "
            "labels_xml=, or remove it with dataclasses.replace(dataset, label_parents=None)"
        )
    options = f" -C {dataset.Y.shape[1]}" if with_count else ""
    if dataset.train is not None or dataset.test is not None:
        train, test = (() if part is None else part for part in (dataset.train, dataset.test))
        in_order = np.array_equal(np.concatenate([train, test]), np.arange(dataset.Y.shape[0]))
        if not (len(train) and len(test) and in_order):
            raise ValueError(
                "dataset has a split (train, test) other than first rows and last rows, which "
                "ARFF cannot hold: remove it with dataclasses.replace(dataset, train=None, "
                "test=None)"
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
    """Write integers without ``.0``, and NaN and infinity as ARFF has them."""
    for end in ",}\n":
        text = text.replace(f".0{end}", end)
    return text.replace("nan", "?").replace("inf", "Infinity")


FORMATS = (
    Format(
        "arff",
        (".arff",),
        read_arff,
        further=lambda path, _, label_names: read_arff(path, label_names, require_labels=False),
    ),
)
