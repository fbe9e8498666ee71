"""ARFF, the file format of WEKA, MULAN and MEKA."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path

import numpy as np

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.words import similar
from plurilabel.io._arff._columns import Columns
from plurilabel.io._arff._header import read_header
from plurilabel.io._arff._label_xml import parse_label_xml
from plurilabel.io._arff._relational import read_bags, relational
from plurilabel.io._arff._rows import read_rows
from plurilabel.io._files import AnyPath, FileFormatError, opened

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
        - None: those of an XML file beside the ARFF file (``yeast.xml`` for ``yeast.arff``,
          ``yeast-train.arff`` and ``yeast-test.arff``, gzipped or not), else those given by
          ``-C n`` in the relation, as MEKA writes it.

        Labels are always in the order of the attributes in the file.
    require_labels : bool, default=True
        Whether all labels that are named, in ``labels`` or in the XML file, must be in the file.
        If not, those that are missing are skipped, and Y may have no columns at all: for new rows
        whose labels are still to be predicted.
    drop : sequence of str
        Attributes to leave out, for instance identifiers. They count where ``labels`` is a number.
    name : str, optional
        Name of the dataset; by default that of the relation, without MEKA's options.
    encoding : str
        Encoding of the file.

    Returns
    -------
    Dataset
        X and Y are CSR if the rows of the file are sparse, else dense. ``label_parents`` is the
        hierarchy of the XML file, if it has one; ``train`` and ``test`` are the split that MEKA's
        ``-split-number`` makes. For a file of bags, X is a :class:`~plurilabel.bags.Bags`.

    Raises
    ------
    FileFormatError
        With the file, the line, and what was expected there.
    ValueError
        If ``labels`` or ``drop`` do not match the file.

    See Also
    --------
    write_arff : Writes ARFF files.
    read_label_xml : Reads only the XML file of the labels.

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
    - Where all declared values are numbers, rows may write them differently: ``1.0`` for 1.
    - A label must be a number 0 or 1, or a nominal attribute of no and yes in one of the forms
      above. ``?`` is a label that is not known: Y then has floats with NaN, or is
      :class:`~plurilabel.datasets.UnknownLabels` if the rows of the file are sparse.
    - Strings and dates are not converted: leave them out with ``drop``.
    - A relational attribute holds bags of instances, as the MIML library writes them: X consists
      of the bags, with the attributes that are declared inside. One further attribute, which
      names the bags, is left out.

    A sparse row omits zeros. For a nominal attribute, an omitted value is the one declared first.

    If a WEKA filter has changed the attributes after MEKA counted the labels, which the relation
    records, ``-C`` is not reliable and the labels have to be named.

    The file is parsed in chunks: reading needs at most about twice the memory of the result.

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
        parents = _label_parents(path, names, labels, header.relation, require_labels)
        _check_known("drop", drop, names, path)
        if both := [attribute for attribute in drop if attribute in parents]:
            raise ValueError(f"drop must not name labels, got {both[0]!r}")
        if bag := relational(header, path):
            others = [n for n in names if n != bag.name and n not in parents and n not in drop]
            if len(others) > 1:
                raise ValueError(
                    f"{os.fspath(path)} must have only the bag {bag.name!r}, labels and one "
                    f"attribute that names the bags, got {others}; leave some out with drop"
                )
            bags, Y, labelled = read_bags(stream, path, header, bag, set(parents), encoding)
            title = _meka(header.relation)[0] if name is None else name
            return Dataset(bags, Y, bags.feature_names or (), labelled, name=title)
        columns = Columns(path, header.attributes, parents, set(drop))
        X, Y = read_rows(stream, path, header.lines, columns, encoding)
    title, options = _meka(header.relation)
    train, test = _split(options, X.shape[0], path)
    place: dict[str | None, int] = {label: l for l, label in enumerate(columns.label_names)}
    above = tuple(place.get(parents[label], -1) for label in columns.label_names)
    return Dataset(
        X,
        Y,
        columns.feature_names,
        columns.label_names,
        train,
        test,
        title if name is None else name,
        label_parents=above if max(above, default=-1) >= 0 else None,
    )


# which attributes are labels ------------------------------------------------------------------


def _label_parents(
    path: AnyPath,
    names: list[str],
    labels: AnyPath | Sequence[str] | int | None,
    relation: str,
    required: bool,
) -> dict[str, str | None]:
    """Names of the labels, each with the name of its parent."""
    if labels is None:
        labels = _xml_beside(path) or _count_in_relation(path, relation, len(names))
    known = set(names)
    if isinstance(labels, str | os.PathLike):
        lines = parse_label_xml(labels)
        for label in lines if required else ():
            if label.name not in known:
                problem = f"label {label.name!r} is not an attribute of {os.fspath(path)}"
                problem += _similar(label.name, names)
                raise FileFormatError(labels, label.line, problem)
        return {
            label.name: None if label.parent < 0 else lines[label.parent].name
            for label in lines
            if label.name in known
        }
    if isinstance(labels, Sequence) or np.ndim(labels) == 1:
        chosen = [str(label) for label in labels]  # type: ignore[union-attr]
        if not required:
            chosen = [label for label in chosen if label in known]
        elif not chosen:
            raise ValueError("labels must name at least one attribute, got none")
        _check_known("labels", chosen, names, path)
        return dict.fromkeys(chosen)
    if isinstance(labels, bool) or not isinstance(labels, Integral):
        raise TypeError(
            "labels must be the path of an XML file, a sequence of names, a number or None, "
            f"got {labels!r}"
        )
    if not 1 <= abs(labels) <= len(names):
        raise ValueError(
            f"labels must be between 1 and the {len(names)} attributes of {os.fspath(path)} "
            f"(negative: counted from the end), got {labels}"
        )
    return dict.fromkeys(names[:labels] if labels > 0 else names[labels:])


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
        why = "There is no XML file beside it, and no '-C n' in the relation"
    elif len(counts) > 1 or re.search(r"filters\.\w+\.attribute\.", options):
        why = "The relation has -C, but a WEKA filter changed the attributes after that"
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
            raise ValueError(
                f"{parameter} must name attributes of {os.fspath(path)}, "
                f"got {name!r}{_similar(name, names)}"
            )
    if len(set(given)) < len(given):
        raise ValueError(f"{parameter} must name each attribute once, got {list(given)!r}")


def _similar(name: str, names: list[str]) -> str:
    close = similar(name, names)
    return "" if close is None else f"; did you mean {close!r}?"


# MEKA's options in the relation -----------------------------------------------------------


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
