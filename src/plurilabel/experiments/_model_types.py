"""The types that may stand in a model file, beside those that skops trusts by itself.

skops knows the plain ones of Python, numpy, scipy and scikit-learn. These are ours, and the few
of scikit-learn and scipy that the usual classifiers keep. Classes only: no function may be named
in a file.
"""

from __future__ import annotations

_OURS = {
    "adaptation": (
        "_cml.CML",
        "_cml_sets.LabelSets",
        "_ranksvm.RankSVM",
        "_trees_decision.MLDecisionTree",
        "_trees_forest.MLRandomForest",
    ),
    "boosting": (
        "_adaboost_mh.AdaBoostMH",
        "_adaboost_mr.AdaBoostMR",
        "_adtboost_mh.ADTBoostMH",
        "_adtree.ADTRule",
        "_conditions.Condition",
        "_weak.Split",
        "_weak.WeakRule",
    ),
    "datasets": (
        "_holdout.IterativeStratifiedShuffleSplit",
        "_split.IterativeStratifiedGroupKFold",
        "_split.IterativeStratifiedKFold",
        "_split.RepeatedIterativeStratifiedKFold",
    ),
    "lazy": (
        "_brknn.BRkNN",
        "_dmlknn.DMLkNN",
        "_dwmlknn.DWMLkNN",
        "_iblr.IBLRML",
        "_mlknn.MLkNN",
        "_mlknn_cv.MLkNNCV",
        "_mlwknn.MLWkNN",
    ),
    "metrics": ("_scorers._Scorer",),
    "neighbors": (
        "_canonical.Formula",
        "_engines.AllPairs",
        "_engines.Blocks",
        "_engines.Brute",
        "_engines.Tree",
        "_engines.WholeBlocks",
        "_exact.ExactIndex",
        "_operand.Operand",
        "_operand.Rounded",
        "_operand.Whole",
    ),
    "neural": ("_bpmll.BPMLL",),
    "thresholds": (
        "_cardinality.CardinalityCut",
        "_classifier.ThresholdClassifier",
        "_constant.ConstantCut",
        "_expected_f.ExpectedF",
        "_global.GlobalCut",
        "_linear.LinearCut",
        "_mcut.MCut",
        "_metalabeler.MetaLabeler",
        "_pcut.PCut",
        "_rcut.RCut",
        "_scut.SCut",
        "_seen_sets.SeenSets",
    ),
    "transformation": (
        "_chain.ClassifierChain",
        "_ensemble_of_chains.EnsembleOfChains",
        "_ensemble_of_pruned_sets.EnsembleOfPrunedSets",
        "_homer.HOMER",
        "_homer.Node",
        "_label_ranking.CalibratedLabelRanking",
        "_label_sets.LabelSetModel",
        "_output_codes.OutputCodes",
        "_powerset.LabelPowerset",
        "_pruned_sets.PrunedSets",
        "_rakel.RAkEL",
        "_relevance.BinaryRelevance",
        "_stacking.StackedRelevance",
        "_together.Always",
        "_together.Together",
    ),
}
_OTHERS = (
    "numpy.dtype",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)

TRUSTED_TYPES = frozenset(
    [f"plurilabel.{package}.{name}" for package, names in _OURS.items() for name in names]
    + list(_OTHERS)
)
