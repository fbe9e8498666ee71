"""The learners that are tried, by size and kind of the data, and what a fit of each may cost.

Costs are seconds on one core, roughly, fitted by eye to processor times on Emotions, Yeast, Image,
Scene, Medical, Slashdot, Reuters-K500, Bibtex, 20NG, Tmc2007-500 and texts. They decide in which
order learners are tried, and which are not tried at all; where there is a time limit, they are
corrected by the times of those that were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

from plurilabel._core.base import LabelMatrix
from plurilabel._core.data.bags import Bags
from plurilabel._core.unknown import known_part, takes_unknown_labels
from plurilabel.bags import MIMLNN, MIMLSVM, BagsToRows, MIMLkNN
from plurilabel.learners import learner_text, set_seeds
from plurilabel.learners.adaptation import MLRandomForest
from plurilabel.learners.boosting import MLGradientBoosting
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.learners.lazy import MLkNN
from plurilabel.learners.neural import BPMLL
from plurilabel.learners.transformation import BinaryRelevance, EnsembleOfChains, LabelPowerset
from plurilabel.wrappers._imputed import ImputedLabels

QUICK = 3.0  # seconds, for a portfolio that is to be quick
LARGE = 2e8  # bytes of a forest for label sets, or of one for wide features
WIDE = 5000  # sparse features, as words and their parts are
HALF = 0.5  # of the trees and chains of an ensemble: in the comparison more change little
FEW = 3000  # rows: with more, fewer variants of linear models are tried


@dataclass(frozen=True)
class Candidate:
    """An unfitted learner to be tried, and roughly what a fit and a large model may take."""

    name: str
    estimator: Any
    seconds: float = 0.0
    decides: bool = False  # on label sets as a whole: these are not its scores above a cut
    memory: float = 0.0  # bytes
    family: str = ""  # of variants, of which the best in the first folds goes on to the others
    path: bool = False  # whether variants begin at the weights of those before, along C
    share: float = 1.0  # of its trees, that are grown where it is only compared

    @property
    def in_folds(self) -> Any:
        """The learner to be compared, not fitted: of an ensemble, with a share of its members."""
        if self.share == 1:
            return self.estimator
        counts = {
            name: max(1, round(self.share * count))
            for name, count in self.estimator.get_params().items()
            if name.endswith("n_estimators")
        }
        return clone(self.estimator).set_params(**counts)


@dataclass(frozen=True)
class Size:
    """What the cost of a fit depends on."""

    n: int
    d: int
    q: int
    stored: float  # values of X
    sets: int  # distinct label sets
    sparse: bool  # whether X is

    @classmethod
    def of(cls, X: Any, Y: LabelMatrix) -> Size:
        n, q = Y.shape
        rows = sparse.csr_array(known_part(Y)[0])
        sets = {rows.indices[a:b].tobytes() for a, b in pairwise(rows.indptr.tolist())}
        stored = float(X.nnz if sparse.issparse(X) else X.size)
        return cls(n, X.shape[1], q, stored, len(sets), sparse.issparse(X))


def candidates(X: Any, Y: LabelMatrix, portfolio: str, seed: int) -> list[Candidate]:
    """Learners that suit the data, those that cost less first."""
    size = Size.of(X, Y)
    tried = _for_sparse(size, seed) if sparse.issparse(X) else _for_dense(size, seed)
    if portfolio == "quick":
        lazy = not (size.sparse and size.d > WIDE and size.n > FEW)  # a search may take longest
        quick = [one for one in tried if one.seconds <= QUICK and one.name in _QUICK and lazy]
        quick += [one for one in tried if one.path]
        if not size.sparse:  # all take next to nothing: there is no race
            quick = [replace(one, family="") for one in quick]
        return quick or [min(tried, key=lambda one: one.seconds)]
    return sorted(tried, key=lambda one: (not one.path, one.seconds))


def with_idf(tried: Sequence[Candidate]) -> list[Candidate]:
    """The same candidates, with TF-IDF in place of counts for those that scale matters to."""

    def weighted(one: Candidate) -> Candidate:
        learner = make_pipeline(TfidfTransformer(sublinear_tf=True), one.estimator)
        return replace(one, name=f"{one.name}, TF-IDF", estimator=learner, path=False)

    free = "forests", "gradient boosting", "networks"
    return [one if one.family.startswith(free) else weighted(one) for one in tried]


def bag_candidates(X: Bags, Y: LabelMatrix, portfolio: str, seed: int) -> list[Candidate]:
    """Learners of bags, and learners of rows that describe bags; costs are those of all rows."""
    rows = BagsToRows(random_state=seed)
    found = [
        replace(one, estimator=make_pipeline(clone(rows), one.estimator), path=False)
        for one in candidates(rows.fit_transform(X), Y, portfolio, seed)
    ]
    cost = 0.1 + 2e-9 * X.instances.shape[0] ** 2 * X.shape[1]
    learners = MIMLNN(random_state=seed), MIMLSVM(random_state=seed), MIMLkNN()
    own = [Candidate(type(one).__name__, one, cost, family="bags") for one in learners]
    return sorted([*found, *own], key=lambda one: one.seconds)


def simplest(X: Any, seed: int) -> list[Candidate]:
    """A learner for data that are too few to compare any."""
    if isinstance(X, Bags):
        forest = make_pipeline(BagsToRows(), MLRandomForest(random_state=seed))
        return [Candidate("random forest", forest)]
    if sparse.issparse(X):
        return [Candidate("logistic regression", OneVsAllLinear(loss="logistic", C=10.0))]
    return [Candidate("random forest", MLRandomForest(random_state=seed))]


def for_known_labels(learner: Any) -> Any:
    """The same learner for unknown labels, not fitted.

    One that needs all labels gets those that ML-kNN predicts in place of the unknown ones, from
    the features as it sees them.
    """
    if takes_unknown_labels(learner):
        return learner
    if isinstance(learner, Pipeline):
        *before, (name, last) = learner.steps
        return Pipeline([*before, (name, for_known_labels(last))])
    return ImputedLabels(learner)


# with wide features these take most of the time, and gain little or nothing
_NOT_WIDE = ("support vectors", "extra trees", "chains", "network", "BP-MLL")
_QUICK = (
    "ML-kNN", "ML-kNN, cosine", "logistic regression, C=0.1", "logistic regression, C=1",
    "logistic regression for label sets",
)  # fmt: skip


def _logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=300)


def _scaled(learner: Any) -> Any:
    return make_pipeline(StandardScaler(), learner)


def _units(learner: Any) -> Any:
    return make_pipeline(Normalizer(), learner)


def _for_dense(s: Size, seed: int) -> list[Candidate]:
    search, boosted = 0.02 + 1e-10 * s.n * s.stored, 1.0 + 2.5e-6 * s.stored * s.q**0.5
    kernel = 3e-10 * s.n * s.stored
    cosine = _scaled(MLkNN(min(20, s.n // 4), metric="cosine"))
    found = [
        Candidate("ML-kNN", _scaled(MLkNN(min(10, s.n // 4))), search, family="neighbours"),
        Candidate("ML-kNN, cosine", cosine, search, family="neighbours"),
    ]
    for C in (0.01, 0.1, 1.0):
        name, cost = f"logistic regression, C={C:g}", 9e-8 * s.stored * s.q * C**0.25
        learner = _scaled(BinaryRelevance(_logistic(C)))
        found.append(Candidate(name, learner, cost, family="logistic regression"))
    chains = EnsembleOfChains(_logistic(0.1), random_state=seed)
    squeezed = make_pipeline(MinMaxScaler(clip=True), BinaryRelevance(SVC(C=3)))
    by_set, cost = _scaled(LabelPowerset(SVC(C=5))), 2 * kernel + 1e-9 * s.n**2 * s.sets
    several = {
        "support vectors": _scaled(BinaryRelevance(SVC(C=1))),
        "support vectors on [0, 1]": squeezed,
    }
    return [
        *found,
        Candidate(
            "chains of logistic regressions", _scaled(chains), 4e-7 * s.stored * s.q,
            family="chains", share=HALF,
        ),
        *(
            Candidate(name, learner, kernel * s.q, family="support vectors")
            for name, learner in several.items()
        ),
        Candidate("support vectors for label sets", by_set, cost, True, family="label sets"),
        *_forests(s, seed),
        *_boosters(seed, boosted),
        *_others(s, seed),
    ]  # fmt: skip


def _for_sparse(s: Size, seed: int) -> list[Candidate]:
    search = 0.1 + 2.5e-10 * s.n * s.stored
    boosted = 0.7 + 5.5e-6 * s.n * s.q + 6e-7 * s.stored * s.q**0.5
    linear = s.q * (0.005 + 8e-8 * s.stored)
    logistic_costs = (3.0, 10.0, 30.0) if s.n <= FEW else (10.0,)
    kernel, by_label = 4e-9 * s.n * s.stored, _units(BinaryRelevance(SVC(C=3)))
    neighbours = MLkNN(min(10, s.n // 4), metric="cosine")
    chains = _units(EnsembleOfChains(_logistic(10.0), random_state=seed))
    logistic_sets = LabelPowerset(OneVsAllLinear(loss="logistic", C=30.0))
    kernel_sets, kernel_cost = _units(LabelPowerset(SVC(C=10))), 4e-9 * s.n**2 * s.sets
    sets_cost = 3e-8 * s.sets * (s.stored + 3 * (s.n + s.d))
    found = [
        *_linear(s, "linear support vectors", "squared_hinge", (0.1, 0.3, 1.0, 3.0)),
        *_linear(s, "logistic regression", "logistic", logistic_costs),
        Candidate("ML-kNN, cosine", neighbours, search, family="neighbours"),
        Candidate(
            "chains of logistic regressions", chains, 12 * linear, family="chains", share=HALF
        ),
        Candidate(
            "logistic regression for label sets", logistic_sets, sets_cost, True,
            family="label sets",
        ),
        Candidate("support vectors", by_label, kernel * s.q, family="support vectors"),
        Candidate(
            "support vectors for label sets", kernel_sets, 2 * kernel + kernel_cost, True,
            family="label sets",
        ),
        *_forests(s, seed),
        *_boosters(seed, boosted),
        *_others(s, seed),
    ]  # fmt: skip
    if s.d <= WIDE:
        return found
    return [one for one in found if one.memory <= LARGE and not one.name.startswith(_NOT_WIDE)]


def _linear(s: Size, name: str, loss: str, costs: Sequence[float]) -> list[Candidate]:
    """Linear models of all labels at once, along C; of these small weights are dropped."""
    cost = 0.01 + 1.5e-8 * s.stored * s.q
    return [
        Candidate(
            f"{name}, C={C:g}", OneVsAllLinear(loss=loss, C=C, prune=0.02), cost, family=name,
            path=True,
        )
        for C in costs
    ]  # fmt: skip


def _forests(s: Size, seed: int) -> list[Candidate]:
    # of words, few matter: more of them are tried at each split
    tried: Any = 0.2 if s.sparse else "sqrt"
    # seconds of one tree: for all labels, for label sets, for all labels in full, for one label
    if s.sparse:
        looked = s.n**1.55 * s.d**0.5
        costs = (
            looked * (6.6e-9 + 1.3e-10 * s.q), looked * (7.7e-9 + 5.5e-12 * s.sets),
            looked * (2e-9 + 3.5e-11 * s.q), 3e-7 * s.n**1.55 / (5 + s.q / 20),
        )  # fmt: skip
    else:
        looked = 1e-8 * s.n * s.d**0.5 * np.log2(s.n + 1)
        costs = looked * np.array([1.2 + s.q / 8, 1 + s.sets / 40, 2.4 + s.q / 4, 1.2])
    joint, of_sets, forest, single = map(float, costs)
    some = {"max_features": tried, "random_state": seed}
    extra = MLRandomForest(200, extra_trees=True, criterion="gini", **some)
    by_set = LabelPowerset(ExtraTreesClassifier(200, **some))
    by_label = BinaryRelevance(ExtraTreesClassifier(100, **some))
    random = MLRandomForest(200, criterion="gini", random_state=seed)
    # what the leaves hold: about as many as instances, each with a number for each label or set
    held, held_of_sets = 16.0 * s.n * s.q, 16.0 * 200 * s.n * s.sets
    found = [
        Candidate("extra trees", extra, 200 * joint, memory=200 * held, family="forests"),
        Candidate(
            "extra trees for label sets", by_set, 200 * of_sets, True, held_of_sets,
            family="forests of other targets",
        ),
        Candidate("random forest", random, 200 * forest, memory=150 * held, family="forests"),
        Candidate(
            "extra trees per label", by_label, 100 * s.q * (0.001 + single), memory=100 * held,
            family="forests of other targets",
        ),
    ]  # fmt: skip
    # without those whose model is larger than its part in the result is worth
    return [replace(one, share=HALF) for one in found if not (one.decides and one.memory > LARGE)]


def _boosters(seed: int, seconds: float) -> list[Candidate]:
    name, each = "gradient boosting", MLGradientBoosting(random_state=seed)
    joint = MLGradientBoosting(loss="joint", random_state=seed)
    return [
        Candidate(name, each, seconds, family=name),
        Candidate(f"{name} of label sets", joint, 1.2 * seconds, True, family=name),
    ]


def _others(s: Size, seed: int) -> list[Candidate]:
    scaler = StandardScaler(with_mean=not s.sparse)
    found = []
    if s.q > 1:
        network = MLPClassifier((200,), alpha=1.0, max_iter=60, random_state=seed)
        inputs = 1e-9 * 200 * s.stored + 1e-8 * s.n * s.d if s.sparse else 5e-8 * s.n * s.d
        cost = 60 * (inputs + 5e-8 * s.n * s.q)
        learner = make_pipeline(scaler, network)
        found.append(Candidate("network", learner, cost, family="networks"))
    if find_spec("torch") is not None and s.q > 1:
        network = BPMLL((128,), max_iter=50, random_state=seed)
        cost = 0.5 + 50 * s.n * (1e-5 + 4e-9 * s.d)
        found.append(Candidate("BP-MLL", network, cost, family="networks"))
    return found


def given(portfolio: Sequence[Any], seed: int) -> list[Candidate]:
    """Learners that a user wants tried, under names that differ."""
    found: dict[str, Candidate] = {}
    for entry in portfolio:
        name, estimator = entry if isinstance(entry, tuple | list) else (None, entry)
        estimator = clone(estimator)
        set_seeds(estimator, seed)
        text = learner_text(estimator) if name is None else str(name)
        if text in found:
            raise ValueError(f"portfolio must have different names, got {text!r} twice")
        found[text] = Candidate(text, estimator, decides=True)
    if not found:
        raise ValueError("portfolio must hold at least one classifier, got none")
    return list(found.values())
