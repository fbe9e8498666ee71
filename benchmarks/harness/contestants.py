"""Who meets whom: one task, several packages, the same parameters.

This file is read in the environments of the peers, where plurilabel is not installed: every
import stands inside the function that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

K = 10
MULTILEARN = ("scikit-multilearn", "scikit-multilearn-ng")
CANNOT_FORK = ("pynndescent",)
NEEDS_DENSE_LABELS = ("scikit-learn", "scikit-learn, MultiOutputClassifier")


def linear() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="liblinear", random_state=0)


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=8, random_state=0)


# neighbours ----------------------------------------------------------------------------------


def our_mlknn() -> Any:
    from plurilabel import MLkNN

    return MLkNN(K)


def our_brknn() -> Any:
    from plurilabel import BRkNN

    return BRkNN(K)


def knn_of_scikit_learn() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(K)


def mlknn_of_multilearn() -> Any:
    from skmultilearn.adapt import MLkNN

    return MLkNN(k=K)


def brknn_of_multilearn() -> Any:
    from skmultilearn.adapt import BRkNNaClassifier

    return BRkNNaClassifier(k=K)


def let_positional(build: Callable[[], Any]) -> Callable[[], Any]:
    """scikit-multilearn 0.2.0 writes ``NearestNeighbors(k)``, an error since scikit-learn 1.0."""

    def changed() -> Any:
        from sklearn.neighbors import NearestNeighbors
        from skmultilearn.adapt import brknn, mlknn

        for module in (mlknn, brknn):
            module.NearestNeighbors = lambda k: NearestNeighbors(n_neighbors=k)
        return build()

    return changed


class Search:
    """A search as a contestant: fit is the graph of the training points, predict the queries'."""

    def fit(self, X: Any, Y: Any) -> Search:  # noqa: ARG002
        self.index = self.build(X)
        self.graph = self.neighbors_of_training()
        return self

    def build(self, X: Any) -> Any:
        raise NotImplementedError

    def neighbors_of_training(self) -> Any:
        return self.index.kneighbors(n_neighbors=K)[1]

    def predict(self, X: Any) -> Any:
        return self.index.kneighbors(X, n_neighbors=K)[1]


def our_search() -> Any:
    from plurilabel import ExactIndex

    class Ours(Search):
        def build(self, X: Any) -> Any:
            return ExactIndex().fit(X)

    return Ours()


def search_without_graph() -> Any:
    """The limit of BRkNN, which learns nothing from the training graph."""
    from plurilabel import ExactIndex

    class Queries(Search):
        def build(self, X: Any) -> Any:
            return ExactIndex().fit(X)

        def neighbors_of_training(self) -> None:
            return None

    return Queries()


def search_of_scikit_learn() -> Any:
    from sklearn.neighbors import NearestNeighbors

    class Theirs(Search):
        def build(self, X: Any) -> Any:
            return NearestNeighbors().fit(X)

    return Theirs()


def search_of_faiss() -> Any:
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(1)

    class Flat(Search):
        def build(self, X: Any) -> Any:
            self.X = np.ascontiguousarray(X, dtype=np.float32)
            index = faiss.IndexFlatL2(X.shape[1])
            index.add(self.X)
            return index

        def neighbors_of_training(self) -> Any:
            return self.index.search(self.X, K + 1)[1][:, 1:]

        def predict(self, X: Any) -> Any:
            return self.index.search(np.ascontiguousarray(X, dtype=np.float32), K)[1]

    return Flat()


def search_of_pynndescent() -> Any:
    from pynndescent import NNDescent

    class Descent(Search):
        def build(self, X: Any) -> Any:
            index = NNDescent(X, n_neighbors=3 * K, random_state=0, n_jobs=1)
            index.prepare()
            return index

        def neighbors_of_training(self) -> Any:
            return self.index.neighbor_graph[0][:, 1 : K + 1]

        def predict(self, X: Any) -> Any:
            return self.index.query(X, k=K)[0]

    return Descent()


# transformations -----------------------------------------------------------------------------


def ours(name: str, base: Callable[[], Any], **parameters: Any) -> Callable[[], Any]:
    def build() -> Any:
        import plurilabel

        return getattr(plurilabel, name)(base(), **parameters)

    return build


def of_multilearn(module: str, name: str, base: Callable[[], Any], **more: Any) -> Any:
    def build() -> Any:
        import importlib

        kind = getattr(importlib.import_module(f"skmultilearn.{module}"), name)
        return kind(base(), **more)

    return build


def one_vs_rest() -> Any:
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(linear())


def multi_output() -> Any:
    from sklearn.multioutput import MultiOutputClassifier

    return MultiOutputClassifier(linear())


def chain_of_scikit_learn() -> Any:
    from sklearn.multioutput import ClassifierChain

    return ClassifierChain(linear())


class BareFits:
    """The base estimator fitted for each label in a plain loop, and one product to ask them."""

    def fit(self, X: Any, Y: Any) -> BareFits:
        self.models = [linear().fit(X, y) for y in Y.T]
        return self

    def predict(self, X: Any) -> Any:
        import numpy as np

        weights = np.vstack([m.coef_ for m in self.models])
        return (X @ weights.T + [m.intercept_[0] for m in self.models] > 0).astype(int)


# trees, boosting, networks -------------------------------------------------------------------


def our_tree() -> Any:
    from plurilabel import MLDecisionTree

    return MLDecisionTree(max_depth=8, random_state=0)


def tree_of_scikit_learn() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=8, criterion="entropy", random_state=0)


def our_forest() -> Any:
    from plurilabel import MLRandomForest

    return MLRandomForest(10, criterion="entropy", random_state=0)


def forest_of_scikit_learn() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, criterion="entropy", random_state=0)


def our_boosting() -> Any:
    from plurilabel import AdaBoostMH

    return AdaBoostMH(10)


def boosting_of_scikit_learn() -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(AdaBoostClassifier(n_estimators=10))


def our_network() -> Any:
    from plurilabel import BPMLL

    return BPMLL((50,), max_iter=20, batch_size=100, random_state=0)


def network_of_scikit_learn() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((50,), activation="tanh", max_iter=20, batch_size=100, random_state=0)


def _multilearn(build: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    return dict.fromkeys(MULTILEARN, build)


TASKS: dict[str, dict[str, Callable[[], Any]]] = {
    "ML-kNN": {
        "plurilabel": our_mlknn,
        "scikit-multilearn": let_positional(mlknn_of_multilearn),
        "scikit-multilearn-ng": mlknn_of_multilearn,
        "limit: bare search": our_search,
    },
    "BRkNN": {
        "plurilabel": our_brknn,
        "scikit-learn": knn_of_scikit_learn,
        "scikit-multilearn": let_positional(brknn_of_multilearn),
        "scikit-multilearn-ng": brknn_of_multilearn,
        "limit: bare search": search_without_graph,
    },
    "binary relevance": {
        "plurilabel": ours("BinaryRelevance", linear),
        "scikit-learn": one_vs_rest,
        "scikit-learn, MultiOutputClassifier": multi_output,
        **_multilearn(of_multilearn("problem_transform", "BinaryRelevance", linear)),
        "limit: bare fits, product": BareFits,
    },
    "classifier chain": {
        "plurilabel": ours("ClassifierChain", linear),
        "scikit-learn": chain_of_scikit_learn,
        **_multilearn(of_multilearn("problem_transform", "ClassifierChain", linear)),
    },
    "label powerset": {
        "plurilabel": ours("LabelPowerset", tree),
        **_multilearn(of_multilearn("problem_transform", "LabelPowerset", tree)),
    },
    "RAkEL, disjoint": {
        "plurilabel": ours("RAkEL", tree, labelset_size=3, overlapping=False, random_state=0),
        **_multilearn(of_multilearn("ensemble", "RakelD", tree, labelset_size=3)),
    },
    "decision tree": {"plurilabel": our_tree, "scikit-learn": tree_of_scikit_learn},
    "forest of 10": {"plurilabel": our_forest, "scikit-learn": forest_of_scikit_learn},
    "boosting, 10 stumps": {
        "plurilabel": our_boosting,
        "scikit-learn": boosting_of_scikit_learn,
    },
    "network, 20 epochs": {"plurilabel": our_network, "scikit-learn": network_of_scikit_learn},
    "search": {
        "plurilabel": our_search,
        "scikit-learn": search_of_scikit_learn,
        "faiss": search_of_faiss,
        "pynndescent": search_of_pynndescent,
    },
    "as shipped": {"scikit-multilearn": mlknn_of_multilearn},
}
