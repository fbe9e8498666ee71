"""ARFF, the file format of WEKA, MULAN and MEKA."""

from __future__ import annotations

import difflib
import operator
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from plurilabel._dataset import Dataset
from plurilabel.io._arff._columns import Columns
from plurilabel.io._arff._header import Header, read_header
from plurilabel.io._arff._label_xml import LabelLine, parse_label_xml
from plurilabel.io._arff._rows import read_rows
from plurilabel.io._arff._write import write_arff
from plurilabel.io._files import FileFormatError, opened

__all__ = ["read_arff", "write_arff"]

_MEKA = re.compile(r"(?s)(.*?):\s*(-.*)")


def read_arff(
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | Sequence[str] | int | None = None,
    *,
    drop: Sequence[str] = (),
    missing_labels: Literal["error", "ignore"] = "error",
    name: str | None = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read a multi-label dataset from an ARFF file of MULAN or MEKA.

    Parameters
    ----------
    path : str or path
        Gzipped files are unpacked.
    labels : str or path, sequence of str, int, or None
        Which attributes are labels:

        - a path: MULAN's XML file with their names;
        - a sequence: their names;
        - a number, as in MEKA: the first n attributes, or the last n if it is negative;
        - None: an XML file beside the ARFF file says it (``yeast.xml`` for ``yeast.arff``,
          ``yeast-train.arff`` and ``yeast-test.arff``, gzipped or not), else ``-C n`` in the
          relation, as MEKA writes it.

        Names are looked up, so the order of the labels is that of the attributes in the file.
    drop : sequence of str
        Attributes to leave out, for instance identifiers. They count where ``labels`` is a number.
    missing_labels : {"error", "ignore"}
        Whether names in ``labels`` that the file does not have are an error, or left out of Y, as
        for rows whose labels are to be predicted.
    name : str, optional
        Name of the dataset; by default that of the relation, without MEKA's options.
    encoding : str
        How the file writes letters beyond ASCII.

    Returns
    -------
    Dataset
        X and Y are CSR if the rows of the file are sparse, else dense. ``label_parents`` is the
        hierarchy of the XML file, if it has one; ``train`` and ``test`` are the split that MEKA's
        ``-split-number`` makes.

    Raises
    ------
    FileFormatError
        With the file, the line, and what was expected there.
    ValueError
        If ``labels`` or ``drop`` do not fit the file.

    See Also
    --------
    write_arff : The way back.
    read_label_xml : Reads the labels only.

    Notes
    -----
    How attributes become columns:

    - A number stays as it is. ``?`` becomes NaN.
    - A nominal attribute with the values 0 and 1 becomes one column of that name. So does one with
      the values false and true, f and t, no and yes, or n and y, in either order and case: the
      column is 1 for true or yes.
    - Any other nominal attribute with two values becomes one column, 1 for the second value that
      is declared, and is called ``name=second``.
    - All other nominal attributes become one column for each value, called ``name=value``. A
      missing value is NaN in each of them.
    - Where all declared values are numbers, rows may write them in another way: ``1.0`` for 1.
    - A label must be a number 0 or 1, or a nominal attribute of no and yes in one of the forms
      above, and may not be missing.
    - Strings and dates do not become numbers: leave them out with ``drop``.

    A sparse row leaves out zeros. For a nominal attribute, what is left out is the value that is
    declared first.

    Where a filter of WEKA has changed the attributes after MEKA counted the labels, as the
    relation then tells, ``-C`` cannot be trusted, and the labels have to be named.

    The file is parsed in pieces: at its peak, reading needs about twice the memory of the result.

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
        if missing_labels == "ignore" and isinstance(labels, Sequence):
            parents = dict.fromkeys(set(names).intersection(labels))
        else:
            parents = _label_parents(path, header, names, labels)
        _check_known("drop", drop, names, path)
        if both := [attribute for attribute in drop if attribute in parents]:
            raise ValueError(f"drop must not name labels, got {both[0]!r}")
        columns = Columns(path, header.attributes, parents, set(drop))
        X, Y = read_rows(stream, path, header.lines, columns, encoding)
    title, options = _meka(header.relation)
    train, test = _split(options, X.shape[0], path)
    place: dict[str | None, int] = {label: l for l, label in enumerate(columns.label_names)}
    above = tuple(place.get(parents[label], -1) for label in columns.label_names)
    return Dataset(
        X,
        Y,
        tuple(columns.feature_names),
        tuple(columns.label_names),
        train,
        test,
        title if name is None else name,
        label_parents=above if max(above, default=-1) >= 0 else None,
    )


# which attributes are labels ------------------------------------------------------------------


def _label_parents(
    path: str | os.PathLike[str],
    header: Header,
    names: list[str],
    labels: str | os.PathLike[str] | Sequence[str] | int | None,
) -> dict[str, str | None]:
    """Names of the labels, each with the name of its parent."""
    if labels is None:
        labels = _xml_beside(path) or _count_in_relation(path, header)
    if isinstance(labels, str | os.PathLike):
        return _from_xml(labels, names, path)
    if isinstance(labels, Sequence) or np.ndim(labels) == 1:
        chosen = [str(label) for label in labels]  # type: ignore[union-attr]
        if not chosen:
            raise ValueError("labels must name at least one attribute, got none")
        _check_known("labels", chosen, names, path)
        return dict.fromkeys(chosen)
    count = _count(labels)
    if not 1 <= abs(count) <= len(names):
        raise ValueError(
            f"labels must be between 1 and the {len(names)} attributes of {os.fspath(path)} "
            f"(negative: counted from the end), got {count}"
        )
    return dict.fromkeys(names[:count] if count > 0 else names[count:])


def _count(labels: object) -> int:
    try:
        if isinstance(labels, bool):
            raise TypeError
        return operator.index(labels)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            "labels must be the path of an XML file, a sequence of names, a number or None, "
            f"got {labels!r}"
        ) from None


def _xml_beside(path: str | os.PathLike[str]) -> Path | None:
    path = Path(path)
    stem = re.sub(r"(?i)(\.arff)?(\.gz)?$", "", path.name, count=1)
    for candidate in (stem, re.sub(r"(?i)-(train|test)$", "", stem)):
        if (xml := path.with_name(f"{candidate}.xml")).is_file():
            return xml
    return None


def _count_in_relation(path: str | os.PathLike[str], header: Header) -> int:
    options = _meka(header.relation)[1]
    counts = re.findall(r"(?<!\S)-C\s+(-?\d+)", options)
    how = "pass labels= the path of an XML file, the names of the labels, or their number"
    if not counts:
        raise FileFormatError(
            path,
            None,
            "which attributes are labels? There is no XML file beside it, and no '-C n' in the "
            f"relation: {how}",
        )
    if len(counts) > 1 or re.search(r"filters\.\w+\.attribute\.", options):
        raise FileFormatError(
            path,
            None,
            "which attributes are labels? The relation says -C, but a filter of WEKA changed the "
            f"attributes after that: {how}",
        )
    count, w = int(counts[0]), len(header.attributes)
    if not 1 <= abs(count) <= w:
        problem = f"expected '-C n' in the relation with n from 1 to {w} attributes, got {count}"
        raise FileFormatError(path, None, problem)
    return count


def _from_xml(
    xml: str | os.PathLike[str], names: list[str], path: str | os.PathLike[str]
) -> dict[str, str | None]:
    known = set(names)
    lines: list[LabelLine] = parse_label_xml(xml)
    for label in lines:
        if label.name not in known:
            problem = (
                f"label {label.name!r} is not an attribute of {os.fspath(path)}"
                f"{_similar(label.name, names)}"
            )
            raise FileFormatError(xml, label.line, problem)
    return {label.name: None if label.parent < 0 else lines[label.parent].name for label in lines}


def _check_known(
    parameter: str, given: Sequence[str], names: list[str], path: str | os.PathLike[str]
) -> None:
    known = set(names)
    for name in given:
        if name not in known:
            raise ValueError(
                f"{parameter} must name attributes of {os.fspath(path)}, "
                f"got {name!r}{_similar(name, names)}"
            )
    if len(set(given)) < len(given):
        raise ValueError(f"{parameter} must name each attribute once, got {list(given)!r}")


def _similar(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


# what MEKA writes into the relation -----------------------------------------------------------


def _meka(relation: str) -> tuple[str, str]:
    """Name and options: ``'Slashdot: -C 22 -split-number 1891'``."""
    match = _MEKA.fullmatch(relation)
    return (match[1], match[2]) if match else (relation, "")


def _split(
    options: str, n: int, path: str | os.PathLike[str]
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    match = re.search(r"(?<!\S)-split-number\s+(\d+)", options)
    if match is None:
        return None, None
    size = int(match[1])
    if not 0 < size < n:
        warnings.warn(
            f"{os.fspath(path)}: the relation says -split-number {size}, but there are {n} rows; "
            "the dataset has no split",
            UserWarning,
            stacklevel=3,
        )
        return None, None
    return np.arange(size), np.arange(size, n)
