"""DML-kNN with more neighbours than a byte can hold twice."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import DMLkNN, MLkNN


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [127, 128, 255, 256])
def test_counts_of_many_neighbours_do_not_wrap_around(k, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = (X[:, :1] + rng.normal(size=(300, 4)) > [-2, -1, 0, 1]).astype(np.int8)
    # of this width the other labels are ignored, and the scores are those of ML-kNN
    ours = DMLkNN(k, width=k).fit(X, form(Y)).predict_proba(X[:20])
    np.testing.assert_allclose(ours, MLkNN(k).fit(X, Y).predict_proba(X[:20]), rtol=1e-12)
