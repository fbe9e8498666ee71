"""What fills missing values, wherever nothing else was asked for."""

from __future__ import annotations

from sklearn.impute import SimpleImputer


def imputer() -> SimpleImputer:
    """What fills missing values: the median; 0 where a column has no value at all.

    Examples
    --------
    >>> from plurilabel.compare import imputer
    >>> imputer().fit_transform([[1.0, None], [None, None], [5.0, None]])
    array([[1., 0.],
           [3., 0.],
           [5., 0.]])
    """
    return SimpleImputer(strategy="median", keep_empty_features=True)
