"""Rank-SVM: the learner, the pairwise hinge with its dual set, kernels, and the solver."""
