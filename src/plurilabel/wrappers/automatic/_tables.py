"""A classifier of tables, texts, bags, and numbers with missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.utils.validation import check_is_fitted, validate_data

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, validate_features
from plurilabel._core.blocks import dense, has_missing
from plurilabel._core.data.bags import Bags
from plurilabel._core.explanation.contributions import (
    Explanations,
    Given,
    Parts,
    checked_given,
    occlusion,
)
from plurilabel._core.explanation.explain import left_out
from plurilabel._core.explanation.models import names_after
from plurilabel._core.unknown import UnknownLabels
from plurilabel.bags import explain_bags
from plurilabel.bags.shared import validated_bags
from plurilabel.io import TableEncoder
from plurilabel.io.shared import as_table, imputer, is_texts, needs_encoding

LARGEST = 1e150  # of values: squares of larger ones overflow


class TableClassifier(ProbabilisticClassifier):
    """A classifier whose hooks get encoded rows; ``encoder`` is a parameter, or None.

    Its hooks are ``_scores_of_encoded(A)`` and ``_parts_of_encoded(a, given)``.
    """

    encoder: Any
    encoder_: Any  # None for bags

    def _new_encoder(self, X: Any) -> Any:
        """An encoder, not fitted; that of a table has the kinds of columns that all rows show."""
        encoder = self.encoder
        if isinstance(X, Bags):
            return None
        if encoder is None:
            encoder = TableEncoder() if hasattr(X, "iloc") else imputer()
        return encoder.decided(X) if isinstance(encoder, TableEncoder) else clone(encoder)

    def _fit_encoder(self, encoder: Any, X: Any) -> Any:
        """Encoded rows; a fitted copy of the encoder is kept. Bags are not encoded."""
        if isinstance(X, Bags):
            self.encoder_ = None
            return X
        self.encoder_ = clone(encoder)
        if not isinstance(encoder, TableEncoder):
            self.encoder_.fit(X)
            return self._encoded(X)
        self.encoder_.left_out_ = encoder.left_out_
        encoded = self.encoder_.fit_transform(X)
        self.feature_names_in_ = self.encoder_.feature_names_in_
        self.n_features_in_ = len(self.feature_names_in_)
        return encoded

    def _encoded(self, X: Any) -> Any:
        """Encoded rows; an imputer has nothing to do where no value is missing."""
        if isinstance(X, Bags):
            return X
        fills = isinstance(self.encoder_, SimpleImputer) and self.encoder is None
        return X if fills and not has_missing(X) else self.encoder_.transform(X)

    def explain(
        self,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        reference: ArrayLike | None = None,
    ) -> list[Any]:
        """Explain each label by the parts of the chosen learners, on the scale of log-odds.

        Learners that can be decomposed are, and the others are explained by occlusion of one
        feature at a time; each counts with its weight.

        Parameters
        ----------
        X : rows to explain, as ``predict`` takes them
        feature_names : sequence of str, default=None
        reference : array-like of shape (d,), default=None
            The values that stand for "nothing known". By default the medians of the training
            rows.

        Returns
        -------
        list of Contributions, one for each row of X
            The features of a table are those of ``encoder_``.
        """
        check_is_fitted(self)
        if isinstance(X, Bags):
            return explain_bags(self, X)
        if not self._takes_table(X):
            medians = self.encoder_.statistics_ if reference is None else reference
            return super().explain(X, feature_names=feature_names, reference=medians)
        if (said := left_out(self, X, feature_names)) is not None:
            return said
        A = self._encoded(self._validate_predict(X))
        names = feature_names
        if names is None:
            names = names_after(self.encoder_, A.shape[1], None)
        given = checked_given(list(names), reference, A.shape[1])
        scores = self._scores_of_encoded(A)
        return Explanations(
            self._parts_of_encoded(A[i : i + 1], given).said_of(scores[i], self.label_names_)
            for i in range(len(scores))
        )

    def _parts(self, x: Any, given: Given) -> Parts:
        return self._parts_of_encoded(self._encoded(x), given)

    def _parts_of_encoded(self, a: Any, given: Given) -> Parts:
        """Base and parts of the scores of one encoded row."""
        return occlusion(self._scores_of_encoded, a, given, "predict_proba")

    # the door -----------------------------------------------------------------------------

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if isinstance(X, str | bytes):
            raise ValueError("X must be a sequence of texts, got a single text")
        if isinstance(X, Bags) and reset and self.encoder is not None:
            raise ValueError("encoder must be None for bags, which are not encoded")
        if not reset and (self.encoder_ is None) != isinstance(X, Bags):
            kind = "Bags" if self.encoder_ is None else "rows"
            raise ValueError(f"X must be {kind}, as in fit, got {type(X).__name__}")
        if isinstance(X, Bags):
            return validated_bags(self, X, reset=reset)
        if is_texts(X):
            X = as_table(X, () if reset else self.feature_names_in_).frame
        elif hasattr(X, "columns") and not hasattr(X, "iloc"):
            X = as_table(X).frame
        if not reset and self._takes_table(X):
            return X  # the encoder finds its columns, in any order
        if reset and (needs_encoding(X) or self.encoder is not None):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        X = validate_features(self, X, reset=reset, ensure_all_finite="allow-nan")
        values = X.data if sparse.issparse(X) else X
        if reset and (size := float(np.fmax.reduce(abs(values), axis=None, initial=0))) > LARGEST:
            raise ValueError(f"X must hold values up to {LARGEST:g}, got {size:g}: scale them")
        if not sparse.issparse(X):
            # a data frame is stored by columns; sums in another order differ in the last bit
            return np.ascontiguousarray(X)
        if not X.data.all():  # TF-IDF takes the logarithm of all stored counts
            X = X.copy()
            X.eliminate_zeros()
        return X

    def _takes_table(self, X: Any) -> bool:
        return isinstance(self.encoder_, TableEncoder) and (hasattr(X, "iloc") or is_texts(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def known_rows(Y: LabelMatrix) -> tuple[Any, NDArray[np.intp]]:
    """Dense labels of the rows that have a known one, and which rows these are."""
    if not isinstance(Y, UnknownLabels):
        return dense(Y), np.arange(Y.shape[0])
    filled, unknown = dense(Y.Y), dense(Y.unknown)
    some = np.flatnonzero(~unknown.all(axis=1))
    if not len(some):
        raise ValueError("y must have labels that are known, got none")
    return UnknownLabels(filled[some], unknown[some]), some
