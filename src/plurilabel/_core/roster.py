"""The roster: every learner, and what the rest of the library has to know of it.

Estimator checks, command line, model files, documentation, benchmarks and papers read it; nobody
else keeps a list of learners. Every estimator is ``plurilabel.Name``, wherever its file is: its
``__module__`` says so, and so do saved models, so that files can move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any


@dataclass(frozen=True)
class Learner:
    """One entry of the roster.

    Attributes
    ----------
    checked : mapping of str to mapping of str to str
        The forms that the estimator checks are run on, as
        :func:`plurilabel.learners.make_learner` takes them, each with the checks that it must
        fail and the reason.
    needs : str, default=""
        The library that fitting needs beside the core ones.
    unsaved : str, default=""
        Why a model file cannot hold it.
    name, package : str
        Filled in by :func:`learners`.
    """

    checked: Mapping[str, Mapping[str, str]]
    needs: str = ""
    unsaved: str = ""
    name: str = field(default="", kw_only=True)
    package: str = field(default="", kw_only=True)

    def find(self) -> Any:
        """The class."""
        return find_estimator(self.name)


_STREAM = (
    {"check_estimator_tags_renamed": "river's base class has a `_more_tags` of its own"}
    if find_spec("river")
    else {}
)
_EXACTLY_0_OR_1 = {
    "check_classifiers_multilabel_output_format_predict_proba": "the check wants probabilities "
    "strictly between 0 and 1; label frequencies in leaves may be exactly 0 or 1"
}
_OTHER_BOOTSTRAPS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "bootstrap samples differ when instances are repeated instead of weighted, as in "
    "scikit-learn's forests",
)
_WITHIN_TOLERANCE = dict.fromkeys(
    _OTHER_BOOTSTRAPS,
    "the solver ends at a duality gap of tol, by another way if instances are repeated; with "
    "tol=1e-9 the scores agree to three digits (tests/test_sample_weight.py)",
)
_NOT_THE_CUT = {
    "check_cut": "predict gives the most probable label set, which need not be the set of the "
    "labels whose marginal probability is above 0.5"
}
_OTHER_SAMPLES = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "other instances are drawn or held out when they are repeated instead of weighted",
)
_T_CRITERION = {
    "check_cut": "by the T-criterion a bag without a positive score has its best label",
}
_RIVER = "it holds objects of river, which model files do not trust"
_ORDERED = {**_STREAM, "check_row_order": "rows are learned in their order, and may drift"}
_SURE = {
    "check_classifiers_multilabel_output_format_predict_proba": "the check wants probabilities "
    "strictly between 0 and 1; where all neighbours agree, they are not",
}
_SINGLE = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "rows of length 1 are in single precision",
)
ROSTER = {
    "learners.lazy": {
        "MLkNN": Learner({"MLkNN(n_neighbors=5)": {}}),
        "MLkNNCV": Learner({"MLkNNCV(n_neighbors=range(1, 6), smoothing=(0.5, 1.0))": {}}),
        "DWMLkNN": Learner(
            {
                "DWMLkNN(n_neighbors=5)": {},
                "DWMLkNN(n_neighbors=4, reading='figure', blend=0.3)": {},
            }
        ),
        "MLWkNN": Learner({"MLWkNN(n_neighbors=5)": {}}),
        "BRkNN": Learner({"BRkNN(n_neighbors=5)": {}}),
        "MrkNN": Learner({"MrkNN(n_neighbors=5)": _SURE}),
        "DMLkNN": Learner({"DMLkNN(n_neighbors=5)": {}}),
        "IBLRML": Learner(
            {"IBLRML(n_neighbors=5)": {}, "IBLRML(n_neighbors=5, own_features=True)": {}}
        ),
    },
    "learners.transformation": {
        "BinaryRelevance": Learner(
            {
                "BinaryRelevance(LogisticRegression(C=10))": {},
                "BinaryRelevance(RidgeClassifier(), n_jobs=2)": {},
            }
        ),
        "ClassifierChain": Learner(
            {
                "ClassifierChain(LogisticRegression())": {},
                "ClassifierChain(RidgeClassifier(), order='random', cv=3)": {},
            }
        ),
        "EnsembleOfChains": Learner(
            {"EnsembleOfChains(RidgeClassifier(), n_estimators=3, n_jobs=2)": {}}
        ),
        "LabelPowerset": Learner({"LabelPowerset(RidgeClassifier())": {}}),
        "PrunedSets": Learner({"PrunedSets(RidgeClassifier())": {}}),
        "EnsembleOfPrunedSets": Learner(
            {"EnsembleOfPrunedSets(RidgeClassifier(), n_estimators=3, voting='soft')": {}}
        ),
        "RAkEL": Learner({"RAkEL(RidgeClassifier(), k=2, voting='soft')": {}}),
        "CalibratedLabelRanking": Learner({"CalibratedLabelRanking(RidgeClassifier())": {}}),
        "StackedRelevance": Learner(
            {
                "StackedRelevance(RidgeClassifier(), cv=3)": {},
                "StackedRelevance(LogisticRegression(), cv=3, drop_negatives='band')": {},
            }
        ),
        "OutputCodes": Learner({"OutputCodes(RidgeClassifier())": {}}),
        "HOMER": Learner({"HOMER(LabelPowerset(RidgeClassifier()), n_children=2)": {}}),
    },
    "learners.adaptation": {
        "MLDecisionTree": Learner(
            {
                "MLDecisionTree()": _EXACTLY_0_OR_1,
                "MLDecisionTree(criterion='gini', max_depth=5)": _EXACTLY_0_OR_1,
            }
        ),
        "MLRandomForest": Learner(
            {
                "MLRandomForest(n_estimators=10)": _EXACTLY_0_OR_1 | _OTHER_BOOTSTRAPS,
                "MLRandomForest(10, criterion='entropy', extra_trees=True, n_jobs=2)": (
                    _EXACTLY_0_OR_1
                ),
                "MLRandomForest(n_estimators=5, splits='label')": _EXACTLY_0_OR_1
                | _OTHER_BOOTSTRAPS,
            }
        ),
        "RankSVM": Learner({"RankSVM(tol=1e-4)": _WITHIN_TOLERANCE}),
        "INSDIF": Learner({"INSDIF()": {}, "INSDIF(n_medoids=10)": {}}),
        "CML": Learner({"CML()": _NOT_THE_CUT, "CML(label_sets='seen')": _NOT_THE_CUT}),
    },
    "learners.boosting": {
        "AdaBoostMH": Learner(
            {
                "AdaBoostMH(n_estimators=20)": {},
                "AdaBoostMH(n_estimators=8, weak='tree', max_depth=2)": {},
                "AdaBoostMH(n_estimators=20, algorithm='discrete')": {},
                "AdaBoostMH(n_estimators=20, algorithm='abstain')": {},
                "AdaBoostMH(n_estimators=20, validation_fraction=0.2, calibration_folds=3, "
                "random_state=0)": dict.fromkeys(
                    (
                        "check_sample_weight_equivalence_on_dense_data",
                        "check_sample_weight_equivalence_on_sparse_data",
                    ),
                    "what is held out, and the folds, are drawn by row number: repeated instances "
                    "are drawn one by one",
                ),
            }
        ),
        "AdaBoostMR": Learner(
            {
                "AdaBoostMR(n_estimators=20)": {},
                "AdaBoostMR(n_estimators=20, algorithm='discrete')": {},
            }
        ),
        "ADTBoostMH": Learner({"ADTBoostMH(n_estimators=8)": {}}),
        "MLGradientBoosting": Learner(
            {
                "MLGradientBoosting(n_estimators=20)": {},
                "MLGradientBoosting(n_estimators=30, weak='rule', heads=1, max_features=None)": {},
                "MLGradientBoosting(n_estimators=20, loss='joint', heads=2)": {},
                "MLGradientBoosting(n_estimators=20, loss='hinge', subsample=0.7, "
                "random_state=0)": _OTHER_SAMPLES,
                "MLGradientBoosting(n_estimators=20, loss='squared', validation_fraction=0.2, "
                "random_state=0)": _OTHER_SAMPLES,
            }
        ),
    },
    "learners.neural": {
        "BPMLL": Learner(
            {
                "BPMLL((8,), max_iter=12, learning_rate_init=0.05)": {},
                "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='squared')": {},
                "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='cross-entropy', "
                "threshold=None)": {},
                "BPMLL((8,), max_iter=12, learning_rate_init=0.05, loss='asymmetric', "
                "activation='relu')": {},
            },
            needs="torch",
        ),
    },
    "learners.mixtures": {
        "LabelSetMixture": Learner(
            {"LabelSetMixture()": {}, "LabelSetMixture(search='exact', set_prior='labels')": {}}
        ),
        "PMM1": Learner({"PMM1()": {}, "PMM1(set_prior='sets', search='seen')": {}}),
        "PMM2": Learner({"PMM2()": {}}),
    },
    "learners.rules": {
        "MMAC": Learner(
            {"MMAC()": {}, "MMAC(n_bins=12, min_support=2, max_length=1, voting='all')": {}}
        ),
    },
    "bags": {
        "MIMLkNN": Learner({"MIMLkNN(n_neighbors=5, n_citers=5)": {}}),
        "MIMLSVM": Learner(
            {
                "MIMLSVM(random_state=0)": _T_CRITERION,
                "MIMLSVM(distance='average', t_criterion=False, random_state=0)": {},
            }
        ),
        "MIMLNN": Learner({"MIMLNN(random_state=0)": {}}),
        "MIMLBoost": Learner({"MIMLBoost(n_estimators=5, random_state=0)": {}}),
    },
    "streams": {
        "WindowMLkNN": Learner(
            {
                "WindowMLkNN(n_neighbors=5)": _STREAM,
                "WindowMLkNN(n_neighbors=3, window_size=40, metric='cosine')": _STREAM,
            }
        ),
        "MLSAMPkNN": Learner({"MLSAMPkNN()": _ORDERED | _SURE}),
        "NeighborSubspaceEnsemble": Learner(
            {"NeighborSubspaceEnsemble(5)": _STREAM | _SURE}, needs="river", unsaved=_RIVER
        ),
        "StreamBinaryRelevance": Learner(
            {"StreamBinaryRelevance()": _ORDERED}, needs="river", unsaved=_RIVER
        ),
        "StreamClassifierChain": Learner(
            {"StreamClassifierChain()": _ORDERED}, needs="river", unsaved=_RIVER
        ),
        "StreamPrunedSets": Learner(
            {"StreamPrunedSets()": _ORDERED}, needs="river", unsaved=_RIVER
        ),
        "MLHoeffdingTree": Learner(
            {
                "MLHoeffdingTree()": _ORDERED,
                "MLHoeffdingTree('mlknn', n_neighbors=3, leaf_size=40)": _ORDERED,
            },
            needs="river",
            unsaved=_RIVER,
        ),
    },
    "learners.extreme": {
        "LabelEmbedding": Learner({"LabelEmbedding(n_neighbors=5, random_state=0)": _SURE}),
        "LabelTree": Learner(
            {
                "LabelTree(normalize=False, tol=1e-9, max_iter=100, random_state=0)": {},
                "LabelTree(2, loss='squared_hinge', max_leaf=2, random_state=0)": _SINGLE,
            }
        ),
        "OneVsAllLinear": Learner(
            {
                "OneVsAllLinear(normalize=False, tol=1e-9, max_iter=100)": {},
                "OneVsAllLinear(loss='logistic', tol=1e-4)": _SINGLE,
            }
        ),
    },
    "wrappers": {
        "CalibratedClassifier": Learner(
            {
                "CalibratedClassifier(MLkNN(n_neighbors=5), cv=3)": {
                    "check_row_order": "folds are filled in the order of the rows",
                },
                "CalibratedClassifier(BinaryRelevance(RidgeClassifier()), 'isotonic', cv=3)": {
                    "check_classifiers_multilabel_output_format_predict_proba": (
                        "the check wants probabilities strictly between 0 and 1; the steps of "
                        "isotonic regression may be 0 or 1"
                    ),
                },
            }
        ),
        "ImputedLabels": Learner(
            {
                "ImputedLabels(BinaryRelevance(LogisticRegression()))": {},
                "ImputedLabels(BinaryRelevance(LinearSVC()))": {},
            }
        ),
        "PositiveUnlabeled": Learner(
            {
                "PositiveUnlabeled(BinaryRelevance(LogisticRegression()), cv=3)": {
                    "check_classifiers_multilabel_output_format_predict_proba": (
                        "the check wants probabilities strictly between 0 and 1; the quotient of "
                        "two estimates is clipped at 1"
                    ),
                },
            }
        ),
        "ResampledClassifier": Learner(
            {
                "ResampledClassifier(MLkNN(n_neighbors=5), MLROS(random_state=0))": {},
                "ResampledClassifier(BinaryRelevance(LogisticRegression()), REMEDIAL())": {
                    "check_constant_labels": (
                        "REMEDIAL takes a label that all rows have away from the copies"
                    ),
                },
            }
        ),
        "AutoClassifier": Learner(
            {
                "AutoClassifier('hamming_loss', cv=2, "
                "portfolio=(MLkNN(3), BinaryRelevance(RidgeClassifier())))": {},
            }
        ),
    },
}


_BASES = {
    "_core.base": "MultiLabelClassifier ProbabilisticClassifier ScoringClassifier",
    "bags": "BagClassifier",
    "graded": "DistributionLearner GradedClassifier Reduction",
    "learners.lazy": "LazyClassifier",
    "learners.mixtures": "WordMixture",
    "learners.transformation": "TransformationClassifier",
    "streams": "StreamClassifier",
    "thresholds": "ThresholdStrategy",
    "wrappers": "Resampler",
}
_OTHERS = {
    "bags": "BagsToRows OnInstances",
    "distributed": "DaskIndex DaskLazyClassifier",
    "graded": "AAkNN CombinedReduction DistributionNetwork GradedMLkNN HorizontalReduction "
    "VerticalReduction",
    "io": "DateEncoder",
    "neighbors": "ApproximateIndex ExactIndex",
    "thresholds": "CardinalityThreshold ConstantThreshold ExpectedF FalseDiscoveryControl "
    "GlobalThreshold LabelCoverage LinearThreshold MCut MetaLabeler PCut RCut RiskControl SCut "
    "ScoreCalibrator SeenSets",
    "wrappers": "HierarchicalClassifier LPROS LPRUS MLROS MLRUS MLSMOTE MLTL MLeNN REMEDIAL "
    "ThresholdClassifier",
}
"""Estimators that are not on the roster, by package: thresholds, indices, resamplers, and learners
whose targets are not 0/1 matrices."""


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: package for package, names in table.items() for name in names.split()}


BASES = _by_name(_BASES)
"""The package of each base class."""


@cache
def learners() -> dict[str, Learner]:
    """All learners by the name of their class, package by package."""
    return {
        name: Learner(entry.checked, entry.needs, entry.unsaved, name=name, package=package)
        for package, entries in ROSTER.items()
        for name, entry in entries.items()
    }


@cache
def estimators() -> dict[str, str]:
    """The package of every public estimator, by the name of its class."""
    found = {name: entry.package for name, entry in learners().items()}
    return found | _by_name(_OTHERS) | BASES


def find_estimator(name: str) -> Any:
    """The class of a public estimator; only its own package is imported."""
    return getattr(import_module(f"plurilabel.{estimators()[name]}"), name)


def publish(package: dict[str, Any]) -> None:
    """Give what a package offers its public address.

    Parameters
    ----------
    package : dict
        The ``globals()`` of a package's ``__init__.py``, after its imports. Estimators become
        ``plurilabel.Name``, other classes and functions ``plurilabel.package.name``.
    """
    home = ".".join(package["__name__"].split(".")[:2])
    for name in package["__all__"]:
        value = package.get(name)  # None: loaded when it is used
        if isinstance(value, type | FunctionType) and value.__module__.startswith("plurilabel."):
            value.__module__ = "plurilabel" if name in estimators() else home
