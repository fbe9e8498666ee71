"""Scores of any classifier."""

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from plurilabel._core.scores import score_matrix, score_method


def test_method_and_matrix():
    assert score_method(OneVsRestClassifier(LinearSVC())) == "decision_function"
    lists = [np.array([[0.1, 0.9]]), np.array([[1.0]])]
    assert score_matrix(lists, classes=[[0, 1], [0]]).tolist() == [[0.9, 0.0]]
