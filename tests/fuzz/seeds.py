"""Files as our own writers make them: what is mutated."""

import numpy as np
from scipy import sparse

from plurilabel import MLkNN, ThresholdClassifier
from plurilabel.learners import make_learner, set_seeds
from plurilabel.models import Model, save_model
from plurilabel.thresholds import strategy_names
from tests.models.learners import FORMS, fitted

RNG = np.random.default_rng(0)
X = (RNG.random((40, 5)) * (RNG.random((40, 5)) < 0.7)).round(3)
Y = (RNG.random((40, 4)) < 0.4).astype(int)
SPARSE = sparse.csr_array(X), sparse.csr_array(Y)

# one of each kind of what a model file can hold: which is all that `make test` has time for
FEW = {
    "MLkNN(3)": SPARSE,
    "BRkNN(3)": (X, Y),
    "IBLRML(3)": SPARSE,
    "DMLkNN(3)": SPARSE,
    "RAkEL(LogisticRegression(), labelset_size=2)": SPARSE,
    "PrunedSets(RidgeClassifier())": (X, Y),
    "BinaryRelevance(SVC())": (X, Y),
    "BinaryRelevance(SVC(probability=True))": SPARSE,
    "LabelPowerset(SVC())": SPARSE,
    "BinaryRelevance(KNeighborsClassifier())": (X, Y),
    "BinaryRelevance(KNeighborsClassifier(algorithm='kd_tree', leaf_size=5))": (X, Y),
    "BinaryRelevance(KNeighborsClassifier(weights='distance'))": SPARSE,
    "KNeighborsClassifier(algorithm='brute')": (X, Y[:, 0]),
    "KNeighborsClassifier(algorithm='ball_tree', leaf_size=5)": (X, Y),
    "MLDecisionTree()": (X, Y),
    "MLRandomForest(n_estimators=3)": SPARSE,
    "BinaryRelevance(GradientBoostingClassifier(n_estimators=2))": (X, Y),
    "LabelPowerset(GradientBoostingClassifier(n_estimators=2))": (X, Y),
    "BinaryRelevance(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2))": (X, Y),
    "ClassifierChain(SGDClassifier())": SPARSE,
    "AdaBoostMH(n_estimators=3)": (X, Y),
    "RankSVM()": (X, Y),
    "CML()": (X, Y),
}


def model_seeds(folder, *, all_learners=False):
    """Model files, and rows to ask them about."""
    np.save(folder / "rows.npy", X[:7] + 0.01)
    if all_learners:
        learners = [_small(text, *data) for text, data in FEW.items()]
        learners += [_small(text, *SPARSE if i % 2 else (X, Y)) for i, text in enumerate(FORMS)]
        learners += [_small(text, *(X, Y) if i % 2 else SPARSE) for i, text in enumerate(FORMS)]
        learners += [
            ThresholdClassifier(make_learner("BinaryRelevance"), strategy, cv=2).fit(*SPARSE)
            for strategy in strategy_names()
        ]
    else:
        learners = [fitted(text, *data) for text, data in FEW.items()]
    learners += [ThresholdClassifier(MLkNN(3), "seen_sets", cv=2).fit(*SPARSE)]
    for number, learner in enumerate(learners):
        path, q = folder / f"seed{number:03}.skops", getattr(learner, "n_labels_", 4)
        save_model(Model(learner, list("abcd")[:q], list("vwxyz")), path)


def _small(text, A, B):
    """A learner of a few rows, labels and trees, if it takes so few: its file is small."""
    learner = make_learner(text)
    set_seeds(learner, 0)
    many = (name for name in learner.get_params() if name.endswith("n_estimators"))
    learner.set_params(**dict.fromkeys(many, 2))
    try:
        return learner.fit(A[:20], B[:20, :2] if B.ndim == 2 else B[:20])
    except ValueError:
        return learner.fit(A, B)
