"""Bags in MATLAB files, as the authors of the MIML learners publish them."""

from __future__ import annotations

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Dataset
from plurilabel.io._files import AnyPath, FileFormatError, plain_name


def read_mat_bags(path: AnyPath, *, bags: str = "bags", targets: str = "targets") -> Dataset:
    """Read bags of instances and their labels from a MATLAB file (up to version 7).

    Parameters
    ----------
    path : str or path
    bags : str, default="bags"
        The variable with a cell for each bag, a matrix (instances, features).
    targets : str, default="targets"
        The variable with a matrix (labels, bags), 1 where a bag has a label, else -1 or 0.

    Returns
    -------
    Dataset
        X is a :class:`~plurilabel.bags.Bags`. If the file has a variable ``class_name`` with as
        many cells as labels, these are the names of the labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from plurilabel.io import read_mat_bags
    >>> cells = np.empty((2, 1), dtype=object)
    >>> cells[:, 0] = [np.zeros((3, 4)), np.ones((1, 4))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.mat")
    ...     savemat(path, {"bags": cells, "targets": np.array([[1, -1], [-1, 1], [1, 1]])})
    ...     data = read_mat_bags(path)
    >>> data, data.X
    (Dataset 'photos': 2 instances, 4 features, 3 labels,
     Bags: 2 bags, 4 instances, 4 features)
    """
    try:
        content = loadmat(path)
    except (MatReadError, NotImplementedError, TypeError, ValueError) as error:
        problem = f"expected a MATLAB file up to version 7, got: {error}"
        raise FileFormatError(path, None, problem) from None
    for name in (bags, targets):
        if name not in content:
            known = [key for key in content if not key.startswith("__")]
            raise FileFormatError(path, None, f"expected a variable {name!r}, got {known}")
    cells, T = content[bags], np.asarray(content[targets])
    if cells.dtype != object:
        raise FileFormatError(path, None, f"expected cells in {bags!r}, got {cells.dtype}")
    try:
        X = Bags(list(cells.ravel()))
    except ValueError as error:
        raise FileFormatError(path, None, f"in {bags!r}: {error}") from None
    if T.ndim != 2 or T.shape[1] != len(X) or not np.isin(T, (-1, 0, 1)).all():
        problem = f"expected a matrix (labels, {len(X)} bags) of 1 and -1 or 0 in {targets!r}"
        raise FileFormatError(path, None, f"{problem}, got the shape {T.shape}")
    names = [str(np.squeeze(name)) for name in np.ravel(content.get("class_name", []))]
    names = names if len(names) == len(T) else []
    return Dataset(X, (T.T > 0).astype(np.int64), label_names=names, name=plain_name(path))
