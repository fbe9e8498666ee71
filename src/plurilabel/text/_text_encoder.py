"""TextEncoder: what all encoders of text have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing
from plurilabel._core.compat import check_params
from plurilabel._core.fitted import Declared, count, numbers
from plurilabel._core.words import is_unicode

PROBES = (
    "The quick brown fox jumps over the lazy dog, 0123456789 times!",
    "Grüße aus München; привет из Москвы; 北京欢迎你; ¿qué tal?",
)  # their vectors tell one model from another


class TextEncoder(AllOrNothing, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the encoders of text; an encoder writes ``_vectors(texts)``.

    A fitted encoder holds no more than the vectors of two fixed texts, ``probes_``. The model
    itself is loaded where it is needed, once in each process, and must give the same vectors
    there. Model files and pickles stay small, and never answer with another model.
    """

    _fitted: ClassVar[Declared] = {
        "n_features_out_": count(),
        "probes_": numbers(len(PROBES), "n_features_out_"),
    }

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Load the model; nothing is learned from the texts.

        Parameters
        ----------
        X : sequence of n texts
        y : ignored
        """
        check_params(self)
        as_texts(X)
        self.probes_ = self._probes()
        self.n_features_out_ = self.probes_.shape[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Encode texts.

        Parameters
        ----------
        X : sequence of n texts
            A missing text, None or NaN, is empty.

        Returns
        -------
        ndarray of shape (n, n_features_out_), float32
            The vector of a text without any token is zero.
        """
        check_is_fitted(self)
        texts = as_texts(X)
        self.check_model()
        vectors = self._vectors(texts)
        if vectors.shape[1] != self.n_features_out_:
            sizes = f"{self.n_features_out_} dimensions, as in fit, got {vectors.shape[1]}"
            raise ValueError(f"vectors of {self!r} must have {sizes}")
        return vectors

    def check_model(self) -> None:
        """Raise a ValueError if the model of this machine is not the one of ``fit``."""
        found = self._probes()
        if found.shape != self.probes_.shape or not np.allclose(found, self.probes_, atol=1e-3):
            raise ValueError(
                f"{self!r} was fitted with another model than the one found here: it has "
                f"{found.shape[1]} dimensions, not {self.n_features_out_}, or other vectors"
            )

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def _probes(self) -> NDArray[np.float32]:
        """Vectors of the fixed texts."""
        return self._vectors(list(PROBES))

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "probes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.input_tags.allow_nan = True
        tags.requires_fit = True
        return tags


def as_texts(X: Any) -> list[str]:
    """A sequence of texts as a list, with "" for missing ones.

    Examples
    --------
    >>> as_texts(["a red day", None])
    ['a red day', '']
    >>> as_texts("a red day")
    Traceback (most recent call last):
    ...
    ValueError: X must be a sequence of texts, got a single text
    """
    if isinstance(X, str | bytes):
        raise ValueError("X must be a sequence of texts, got a single text")
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:  # a frame or an array of one column
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__") or isinstance(X, dict):
        raise ValueError(f"X must be a sequence of texts, got {_described(X)}")
    cells = X.tolist() if hasattr(X, "tolist") else list(X)
    for i, cell in enumerate(cells):
        if not isinstance(cell, str):
            if not _is_missing(cell):
                raise ValueError(f"X must hold texts, got {_described(cell)} in row {i}")
            cells[i] = ""
        elif not is_unicode(cell):  # a lone surrogate, which tokenizers do not take
            cells[i] = cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not cells:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return cells


def _is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN or the NA of pandas, which is neither equal nor unequal."""
    return cell is None or str(cell) == "<NA>" or (isinstance(cell, float) and cell != cell)


def _described(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"{type(value).__name__} of shape {shape}" if shape else type(value).__name__


def unit_rows(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Rows divided by their length; rows of zeros stay."""
    # in double precision, in which squares of single numbers neither vanish nor overflow
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    scaled = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.ascontiguousarray(scaled, dtype=np.float32)
