"""Model files: skops archives, never pickles, which are audited before they are loaded."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, BinaryIO, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import default_feature_names
from plurilabel._core.compat import import_extra, versions
from plurilabel._core.records import json_bytes, write_atomic
from plurilabel._core.roster import learners
from plurilabel._core.words import shortened
from plurilabel.distributed import DaskLazyClassifier
from plurilabel.models import _audit
from plurilabel.models._large import mapped, with_large, without_large, write
from plurilabel.models._model import Model
from plurilabel.models._params import make_safe, without_array_libraries
from plurilabel.models._sound import CHECKED, check_sound, parts_of, unchecked
from plurilabel.text import PackedWords
from plurilabel.text.shared import TextEncoder

FORMAT = 1
LONGEST_WORD = 150  # all entries of an array of words take the space of the longest
MANY_NAMES = 1000
_ABOUT = "plurilabel.json"


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or contains types that are not trusted."""


def save_model(
    model: Model | Any, path: str | os.PathLike[str], *, compress: bool | int = False
) -> None:
    """Save a model as a skops file; also ``plurilabel.save``.

    The file is written atomically. ``skops.io.load`` can load the estimator in it, too. What
    the estimator does not store, such as label names and how to read tables, is in the member
    ``plurilabel.json``. Needs skops: ``pip install plurilabel[cli]``.

    Parameters
    ----------
    model : Model or fitted estimator
        An estimator is converted by :meth:`Model.of`.
    path : str or path
        Must end in ``.skops``.
    compress : bool or int from 0 to 9, default=False
        Compression level; True is 3. A compressed file cannot be memory-mapped by ``load``. Models
        that would shrink below 1/20 of their size are not compressed: ``load`` rejects them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import plurilabel
    >>> data = plurilabel.datasets.load("digits", as_frame=True)
    >>> learner = plurilabel.MLkNN(7).fit(data.X[:500], data.Y[:500])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "digits.skops")
    ...     plurilabel.save(learner, path)
    ...     model = plurilabel.load(path)
    >>> model.predict(data.X[500:502])
    [('square', 'five or more', 'has a loop'), ('even', 'prime')]
    """
    sio = _skops()
    if isinstance(model, str | os.PathLike) or not isinstance(path, str | os.PathLike):
        got = f"{type(model).__name__} and {type(path).__name__}"
        raise TypeError(f"expected a model and then a path, save(model, path), got {got}")
    path = os.fspath(path)
    if not path.lower().endswith(".skops"):
        raise ValueError(f"a model file must end in .skops, got {path!r}")
    if not isinstance(compress, int) or not 0 <= compress <= 9:
        raise ValueError(f"compress must be True, False or from 0 to 9, got {compress!r}")
    model = _checked_model(model)
    content, arrays = _dumped(sio, model.estimator)
    about = {_ABOUT: json_bytes(_about(model)).decode()}
    with write_atomic(path) as stream:
        size = write(stream, content, arrays, about, 3 if compress is True else int(compress))
        if compress and _audit.is_bomb(stream.tell(), size):
            stream.seek(0)
            stream.truncate()
            write(stream, content, arrays, about, 0)


def _dumped(sio: Any, estimator: Any) -> tuple[bytes, list[Any]]:
    """Dump an estimator without its large arrays; raise an error if it could not be loaded."""
    with _words_as_arrays(estimator):
        try:
            small, arrays = without_large(estimator)
            content: bytes = sio.dumps(small)
        except TypeError as error:  # skops does not support all objects: not those of river
            name = type(estimator).__name__
            raise ValueError(f"this {name} cannot be saved: {error}") from None
    if strange := _untrusted(sio.get_untrusted_types(data=content)):
        raise ValueError(
            f"{strange[0]} cannot be saved, since it could not be loaded: only types of "
            "plurilabel, scikit-learn, scipy and numpy are trusted"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        why_not = _audit.refused_built(json.loads(archive.read("schema.json")))
    if why_not:
        raise ValueError(f"this model cannot be saved: {why_not}")
    return content, arrays


def _checked_model(model: Model | Any) -> Model:
    """Convert to a model, and check that it can be saved."""
    if isinstance(model, DaskLazyClassifier):
        raise TypeError(
            "save a DaskLazyClassifier in blocks with plurilabel.models.save_parts(learner, "
            "folder), or use save(learner.gather(), path)"
        )
    if not isinstance(model, Model):
        model = Model.of(model)
    check_is_fitted(model.estimator)
    for part in parts_of(model.estimator):
        entry = learners().get(type(part).__name__) if isinstance(part, BaseEstimator) else None
        if entry and entry.unsaved:
            raise ValueError(f"{entry.name} cannot be saved: {entry.unsaved}")
    check_sound(model.estimator)
    return model


def load_model(path: str | os.PathLike[str], *, mmap_mode: Literal["r"] | None = None) -> Model:
    """Load a model saved by :func:`~plurilabel.models.save_model`; also ``plurilabel.load``.

    Files from untrusted sources cannot run code or exhaust memory. Before anything is built, all
    types in the file are checked against a list of trusted ones (those of plurilabel, and the
    usual ones of numpy, scipy and scikit-learn), and all sizes are checked; a compressed file that
    unpacks to more than twenty times its size is rejected. Then the fitted attributes are checked:
    those of plurilabel's learners against the declarations of their classes, and the sparse
    matrices, trees, neighbors, encoders and support vectors of scikit-learn for indices out of
    bounds. Estimators that cannot be checked, such as those of ``sklearn.cluster``, are rejected
    here and by :func:`save_model`. A manipulated file can still give wrong predictions, or errors.

    Parameters
    ----------
    path : str or path
    mmap_mode : {"r"}, default=None
        With "r", large arrays of plurilabel's learners are memory-mapped read-only, and shared by
        the processes that load the file. All checks are made, which reads the file once. The file
        must not be compressed, and nothing may write to it while the model is in use; ``save``
        does not, but replaces it.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, is too new, or contains a type that is not trusted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import plurilabel
    >>> data = plurilabel.datasets.make_sparse_multilabel(500, 300, 100, random_state=0)
    >>> tree = plurilabel.LabelTree(1, random_state=0).fit(data.X, data.Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tree.skops")
    ...     plurilabel.save(tree, path)
    ...     model = plurilabel.load(path, mmap_mode="r")
    ...     (model.estimator.predict_top(data.X[:9]) != tree.predict_top(data.X[:9])).nnz
    0
    """
    sio = _skops()
    path = os.fspath(path)
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}")
    made_by: dict[str, str] = {}
    try:
        about, content, arrays = _audited(path, mapping=mmap_mode is not None)
        made_by = about["versions"]
        named = sio.get_untrusted_types(data=content)
        if strange := _untrusted(named):
            raise ModelFileError(
                f"{path} is rejected: it contains {strange[0]}, {_why_strange(strange, made_by)}"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # only the types in the file: skops searches the list for each object
            estimator = sio.loads(content, trusted=named)
        with_large(estimator, arrays)
        _words_from_arrays(estimator)
        for part in parts_of(estimator):
            make_safe(part)
        check_sound(estimator)
        for part in parts_of(estimator):
            if isinstance(part, TextEncoder) and hasattr(part, "probes_"):
                part.check_model()
        model = _model(about, estimator)
    except (ModelFileError, OSError):
        raise
    except zipfile.BadZipFile:
        raise ModelFileError(
            f"{path} is not a model file, or is damaged; expected a file of `plurilabel fit`"
        ) from None
    except Exception as error:  # a file from elsewhere may cause any error
        text = " ".join(str(error).split())[:200]
        why = f"the file is damaged ({type(error).__name__}{': ' + text if text else ''})"
        if others := _other_versions(made_by):
            why = f"it was saved with {others}; install those versions, or refit the model"
        raise ModelFileError(f"{path} cannot be loaded: {why}") from None
    for w in caught:
        if not issubclass(w.category, InconsistentVersionWarning):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if private := unchecked(model.estimator):
        warnings.warn(
            f"{path} contains a {private.rpartition('.')[2]}, whose arrays can be checked for "
            f"scikit-learn up to {CHECKED[-1]}, older than the installed version: use the model "
            "only if you trust its source",
            stacklevel=2,
        )
    if others := _other_versions(made_by):
        warnings.warn(
            f"{path} was saved with {others}; predictions may differ, refit the model to be sure",
            stacklevel=2,
        )
    return model


def _skops() -> Any:
    with without_array_libraries():
        return import_extra("skops.io", "a model file", "cli")


def _untrusted(names: list[str]) -> list[str]:
    """Types that neither skops trusts by default nor this library."""
    return [name for name in names if name not in _audit.trusted_types()]


def _about(model: Model) -> dict[str, Any]:
    about = {part.name: getattr(model, part.name) for part in fields(model)[1:]}
    names = list(model.feature_names)
    plain = tuple(names) == default_feature_names(len(names))
    about |= {"label_names": list(model.label_names), "feature_names": None if plain else names}
    return {**about, "n_features": len(names), "versions": versions("skops"), "format": FORMAT}


def _model(about: dict[str, Any], estimator: Any) -> Model:
    about = {name: value for name, value in about.items() if name != "format"}
    if not hasattr(estimator, "predict"):
        raise ValueError(f"expected a classifier, got {type(estimator).__name__}")
    for name, is_right in _IN_ABOUT.items():
        if not is_right(about[name]):
            raise ValueError(f"{name} cannot be {shortened(repr(about[name]))}")
    d, names = about.pop("n_features"), about["feature_names"]
    about["feature_names"] = default_feature_names(d) if names is None else tuple(names)
    about["label_names"] = tuple(about["label_names"])
    for what, size, attribute in (
        ("features", len(about["feature_names"]), "n_features_in_"),
        ("labels", len(about["label_names"]), "n_labels_"),
    ):
        if (known := getattr(estimator, attribute, size)) != size:
            raise ValueError(f"{size} names of {what} for an estimator with {known}")
    return Model(estimator, **about)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_IN_ABOUT: dict[str, Callable[[Any], bool]] = {
    "label_names": _are_texts,
    "feature_names": lambda names: names is None or _are_texts(names),
    "n_features": lambda size: type(size) is int and 0 <= size < 2**31,
    "labels": lambda labels: labels is None or isinstance(labels, str) or _are_texts(labels),
    "tag_sep": lambda sep: sep is None or (isinstance(sep, str) and sep != ""),
    "sep": lambda sep: sep is None or (isinstance(sep, str) and len(sep) == 1),
    "sparse_features": lambda value: isinstance(value, bool),
    "notes": lambda notes: isinstance(notes, dict),
    "versions": lambda made_by: isinstance(made_by, dict) and _are_texts([*made_by.values()]),
}
"""Checks of the entries of plurilabel.json."""


def _learned_words(estimator: Any) -> list[CountVectorizer]:
    vectorizers = [part for part in parts_of(estimator) if isinstance(part, CountVectorizer)]
    return [part for part in vectorizers if not getattr(part, "fixed_vocabulary_", True)]


@contextmanager
def _words_as_arrays(estimator: Any) -> Iterator[None]:
    """Pack learned vocabularies while an estimator is saved.

    skops takes 600 bytes and 50 microseconds per entry of a dict: for 200,000 words 126 MB, 9
    seconds to save and 10 to load, instead of 2 MB and a second. A vectorizer with the words as
    its parameter builds the dict itself, so that skops alone can load the file, too. In arrays of
    strings, as many names of features and labels become, each takes the space of the longest.
    """
    swapped: list[tuple[Any, Any]] = []
    renamed = []
    for part, name, names in _names_in(estimator):
        if len(names) >= MANY_NAMES and all(map(_fits, names)):
            renamed.append((part, name, names))
            setattr(part, name, np.array(names.tolist()))
    for part in _learned_words(estimator):
        words = sorted(part.vocabulary_, key=part.vocabulary_.__getitem__)
        swapped.append((part, part.__dict__.pop("vocabulary_")))
        part.vocabulary = PackedWords(words)
    try:
        yield
    finally:
        for part, vocabulary in swapped:
            part.vocabulary, part.vocabulary_ = None, vocabulary
        for part, name, names in renamed:
            setattr(part, name, names)


def _names_in(estimator: Any) -> list[tuple[Any, str, Any]]:
    return [
        (part, name, vars(part)[name])
        for part in parts_of(estimator)
        for name in ("label_names_", "feature_names_in_")
        if isinstance(part, BaseEstimator) and isinstance(vars(part).get(name), np.ndarray)
    ]


def _fits(name: Any) -> bool:
    # numpy drops trailing null characters
    return isinstance(name, str) and len(name) < LONGEST_WORD and not name.endswith("\0")


def _words_from_arrays(estimator: Any) -> None:
    """Undo :func:`_words_as_arrays`, so that a clone learns its own words."""
    for part in _learned_words(estimator):
        if part.vocabulary is not None:
            part.vocabulary_ = {str(word): j for j, word in enumerate(part.vocabulary)}
            part.vocabulary = None
    for part, name, names in _names_in(estimator):
        if names.dtype.kind == "U":
            setattr(part, name, names.astype(object))


def _audited(path: str, *, mapping: bool) -> tuple[dict[str, Any], bytes, list[Any]]:
    """plurilabel.json, the content of the file, and the arrays that it has marks for."""
    with open(path, "rb") as stream:
        if mapping:
            about = _read_about(path, stream, mapping=True)
            return about, *mapped(stream)
        content = stream.read()  # once: what is audited is what is loaded
    if content[:1] == b"P":
        content = _audit.unpacked(content)
    return _read_about(path, io.BytesIO(content)), content, []


def _read_about(path: str, stream: BinaryIO, *, mapping: bool = False) -> dict[str, Any]:
    if stream.read(1) == b"\x80":
        raise ModelFileError(
            f"{path} is a pickle, which can run arbitrary code; plurilabel only loads .skops "
            "files, as written by `plurilabel fit`"
        )
    if mapping and _audit.is_packed(stream):
        raise ModelFileError(
            f"{path} is compressed and cannot be mapped: load it without mmap_mode, or save it "
            "uncompressed"
        )
    if why_not := _audit.refused(stream):
        raise ModelFileError(f"{path} is rejected: {why_not}")
    with zipfile.ZipFile(stream) as archive:
        if _ABOUT not in archive.namelist():
            raise ModelFileError(f"{path} is not a model of plurilabel: it has no {_ABOUT}")
        about = json.loads(archive.read(_ABOUT))
    if not isinstance(about, dict) or not _IN_ABOUT["versions"](about.get("versions")):
        raise ModelFileError(f"{path} is damaged: {_ABOUT} is invalid")
    saved, found = str(about["versions"].get("plurilabel")), about.get("format")
    if found != FORMAT:
        raise ModelFileError(
            f"{path} was saved by plurilabel {saved} in format {found}, but this version reads "
            f"format {FORMAT}: install that version, or refit the model"
        )
    return about


def _other_versions(saved: dict[str, str]) -> str:
    """Versions of scikit-learn and plurilabel that differ in their first two numbers."""
    now = versions("skops")
    others = [
        f"{name} {saved[name]} (now {now[name]})"
        for name in ("plurilabel", "scikit-learn")
        if name in saved and saved[name].split(".")[:2] != now[name].split(".")[:2]
    ]
    return " and ".join(others)


def _why_strange(names: list[str], saved: dict[str, str]) -> str:
    others = _other_versions(saved)
    if others and all(name.startswith(("plurilabel.", "sklearn.")) for name in names):
        return f"which is unknown here, and was saved with {others}; refit the model"
    return "which no model of plurilabel needs and which could be harmful"
