"""Learners for very many labels: linear models, sparse throughout."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.extreme._label_tree import LabelTree

__all__ = ["LabelTree"]

ROSTER = {
    "LabelTree": Learner(
        {
            "LabelTree(normalize=False, tol=1e-9, max_iter=100, random_state=0)": {},
            "LabelTree(2, loss='squared_hinge', max_leaf=2, random_state=0)": dict.fromkeys(
                (
                    "check_sample_weight_equivalence_on_dense_data",
                    "check_sample_weight_equivalence_on_sparse_data",
                ),
                "rows of length 1 are in single precision",
            ),
        }
    ),
}

publish(globals())
