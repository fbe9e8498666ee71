"""Digests of content: the same values give the same digest, wherever they lie in memory."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from scipy import sparse


def digest_of(*values: Any) -> str:
    """Digest of arrays, sparse matrices, data frames, and what JSON can hold.

    Unlike ``joblib.hash`` it depends on neither memory layout nor versions of libraries, so that
    it can be kept in files.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.compare import digest_of
    >>> digest_of(np.eye(2)) == digest_of(np.asfortranarray(np.eye(2)))
    True
    >>> digest_of(np.eye(2)) == digest_of(np.eye(2, dtype=np.float32))
    False
    """
    total = hashlib.blake2b(digest_size=16)
    for value in values:
        _add(total, value)
    return total.hexdigest()


def _add(total: Any, value: Any) -> None:
    if sparse.issparse(value):
        rows = value.tocsr()
        total.update(f"csr {rows.shape}".encode())
        for part in (rows.data, rows.indices, rows.indptr):
            _add(total, part)
    elif hasattr(value, "iloc"):
        from pandas.util import hash_pandas_object

        total.update(f"frame {[str(name) for name in value.columns]}".encode())
        _add(total, hash_pandas_object(value, index=False).to_numpy())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        total.update(f"array {value.dtype} {value.shape}".encode())
        total.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    elif isinstance(value, np.ndarray):
        total.update(f"objects {value.shape} {value.tolist()!r}".encode())
    else:
        total.update(json.dumps(value, sort_keys=True).encode())
