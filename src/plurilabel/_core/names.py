"""Names of learners, measures and columns as users write them, and errors for unknown ones.

The names are read from the sources, as :func:`~plurilabel._core.roster.find_estimator` does:
importing scikit-learn takes a second, which an error should not cost.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from plurilabel._core.roster import FAMILIES, PACKAGES
from plurilabel._core.words import similar

SKLEARN = {
    "decomposition": "PCA TruncatedSVD",
    "dummy": "DummyClassifier",
    "ensemble": "ExtraTreesClassifier GradientBoostingClassifier HistGradientBoostingClassifier "
    "RandomForestClassifier",
    "feature_extraction.text": "TfidfTransformer",
    "feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
    "impute": "KNNImputer SimpleImputer",
    "linear_model": "LogisticRegression Perceptron RidgeClassifier SGDClassifier",
    "multiclass": "OneVsRestClassifier",
    "multioutput": "MultiOutputClassifier",
    "naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "neighbors": "KNeighborsClassifier",
    "neural_network": "MLPClassifier",
    "preprocessing": "Binarizer KBinsDiscretizer MaxAbsScaler MinMaxScaler Normalizer "
    "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "svm": "SVC LinearSVC",
    "tree": "DecisionTreeClassifier ExtraTreeClassifier",
}
"""Estimators of scikit-learn that may be named, by module."""

ONE_LABEL = (
    "GradientBoostingClassifier", "HistGradientBoostingClassifier", "LogisticRegression",
    "Perceptron", "SGDClassifier", "BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB",
    "SVC", "LinearSVC",
)  # fmt: skip
"""Those that learn a single label only."""

ALIASES = {
    **{
        f"{name}_{average}": f"{average}_{name}"
        for name in ("accuracy", "precision", "recall", "f1")
        for average in ("micro", "macro")
    },
    **{f"{name}_samples": name for name in ("precision", "recall", "f1")},
    "jaccard_samples": "accuracy",
    "roc_auc": "macro_auc",
    "roc_auc_macro": "macro_auc",
    "roc_auc_micro": "micro_auc",
    "label_ranking_average_precision": "average_precision",
    "label_ranking_loss": "ranking_loss",
}
"""scikit-learn's names of measures, and ours."""


# a name may be anything that is not part of a learner: "ML-kNN, k = 7" needs no quotes
_NAMED = re.compile(r"(?P<name>[^='\"(\[{|]*[^='\"(\[{|\s])\s*=(?P<learner>[^=].*)", re.DOTALL)


def _sources(pattern: str, packages: Sequence[str] = FAMILIES) -> list[str]:
    """What a pattern finds in the ``__init__.py`` of packages."""
    root = Path(__file__).parents[1]
    files = (root.joinpath(*name.split("."), "__init__.py") for name in packages)
    texts = (file.read_text("utf-8") for file in files if file.is_file())
    return [found for text in texts for found in re.findall(pattern, text, re.MULTILINE)]


def no_learner(name: str) -> str:
    """The message for a learner that does not exist."""
    ours = [*_sources(r'^    "([A-Z]\w*)": '), "ThresholdClassifier"]
    parts = _sources(r'^    "([A-Z]\w*)",', ("thresholds", "neighbors", "wrappers"))
    folded = {one.lower(): one for one in [*ours, *parts, *" ".join(SKLEARN.values()).split()]}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    hint = f"there are {', '.join(sorted(ours, key=str.lower))}, and scikit-learn's usual ones"
    return f"unknown learner {name!r}; " + (f"did you mean {folded[near[0]]}?" if near else hint)


def parsed(text: str) -> ast.expr:
    """A learner's text as a tree."""
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth > 30:
            raise ValueError("the learner is nested too deeply: more than 30 brackets are open")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(
            f"{text!r} is not a learner: {why}; write it like MLkNN(n_neighbors=7)"
        ) from None


def check_labels_learned(node: ast.expr) -> None:
    """Raise an error for a learner of one label only."""
    last = node
    while isinstance(last, ast.BinOp):
        last = last.right
    named = last.func if isinstance(last, ast.Call) else last
    if isinstance(named, ast.Name) and named.id in ONE_LABEL:
        before = ast.unparse(node)[: -len(ast.unparse(last))]
        instead = f"{before}BinaryRelevance({ast.unparse(last)})"
        raise ValueError(f"{named.id} learns one label only; for several, write {instead}")


def refuse_one_label(learner: Any) -> None:
    """Raise an error for a classifier of scikit-learn's that learns one label only."""
    last = learner[-1] if type(learner).__name__ == "Pipeline" else learner
    if type(last).__name__ in ONE_LABEL and type(last).__module__.startswith("sklearn."):
        name = type(last).__name__
        raise ValueError(f"{name} learns one label only; for several, BinaryRelevance({name}())")


def check_learner(text: str) -> None:
    """Raise the errors of ``make_learner`` that its text alone shows."""
    node = parsed(text)
    check_labels_learned(node)
    known = {*_sources(r"\w+", PACKAGES), *" ".join(SKLEARN.values()).split(), "range"}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in known and part.id[0] != "_":
            raise ValueError(no_learner(part.id))


def separated(text: str) -> list[tuple[str, str]]:
    """Names and texts of learners between commas that are outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += 0 if quote else (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part.strip() for part in parts]
    found = [(_NAMED.fullmatch(part), part) for part in parts if part is not parts[-1] or part]
    return [(m["name"], m["learner"]) if m else ("", part) for m, part in found]


@cache
def measure_names() -> tuple[str, ...]:
    """The names of all measures, those at k as ``"precision@k"`` and so on."""
    files = sorted(Path(__file__).parents[1].joinpath("metrics").glob("_*.py"))
    pattern = re.compile(r"^@measure\(.*?^def (\w+)", re.MULTILINE | re.DOTALL)
    found = (name for file in files for name in pattern.findall(file.read_text("utf-8")))
    return tuple(name.replace("_at_k", "@k") for name in found)


def check_measure(name: str, known: Sequence[str] | None = None) -> str:
    """The name of a measure as it is known here, or an error that suggests one."""
    known, name = known or measure_names(), ALIASES.get(name, name)
    base, at, k = name.partition("@")
    if name in known or (at and f"{base}@k" in known and k.isdecimal() and int(k) > 0):
        return name
    close = similar(name, [*known, *ALIASES])
    hint = "" if close is None else f"; did you mean {close}?"
    there = f"{', '.join(known)} (a number in place of k)"
    raise ValueError(f"name must be one of {there}, got {name!r}{hint}")


def no_column(parameter: str, column: str, columns: Sequence[str]) -> str:
    """The message for a column that a table does not have."""
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    instead = f"which the table does not have; its {len(columns)} columns are {shown}"
    if len(columns) == 1:
        instead = f"but the table has only one, {columns[0]!r}; is sep= right?"
    elif (close := similar(column, list(columns))) is not None:
        instead = f"which the table does not have; did you mean {close!r}?"
    return f"{parameter} names a column {column!r}, {instead}"
