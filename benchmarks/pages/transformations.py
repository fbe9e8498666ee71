"""All problem transformations, all measures, on four standard hold-outs.

Writes one Markdown table per dataset. Needs the datasets (PLURILABEL_DATA or a network):

    python -m benchmarks transformations --write docs/transformation_results.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

from scipy import sparse

from plurilabel import datasets
from plurilabel.evaluation import Results, compare
from plurilabel.metrics import get_measure

BASES = {
    "logistic regression": "LogisticRegression(max_iter=2000)",
    "linear SVM": "LinearSVC(random_state=0)",
}
CASES = ("emotions", "scene", "yeast", "medical", "medical, linear SVM")
MEASURES = (
    "subset_accuracy", "hamming_loss", "accuracy", "precision", "recall", "f1",
    "macro_precision", "macro_recall", "macro_f1", "micro_precision", "micro_recall", "micro_f1",
    "one_error", "coverage", "ranking_loss", "average_precision", "macro_auc", "micro_auc",
)  # fmt: skip
LEARNERS = {
    "BinaryRelevance": "BinaryRelevance({base})",
    "BinaryRelevance, T-criterion": "BinaryRelevance({base}, nonempty=True)",
    "StackedRelevance": "StackedRelevance({base})",
    "StackedRelevance, cv=None": "StackedRelevance({base}, cv=None)",
    "CalibratedLabelRanking": "CalibratedLabelRanking({base})",
    "CalibratedLabelRanking, soft": "CalibratedLabelRanking({base}, voting='soft')",
    "ClassifierChain": "ClassifierChain({base})",
    "ClassifierChain, cross-validated": "ClassifierChain({base}, cv=5)",
    "ClassifierChain, beam": "ClassifierChain({base}, inference='beam')",
    "ClassifierChain, Monte Carlo, marginal": "ClassifierChain({base}, inference='monte-carlo', "
    "decision='marginal', random_state=0)",
    "EnsembleOfChains": "EnsembleOfChains({base}, random_state=0)",
    "EnsembleOfChains, all instances": "EnsembleOfChains({base}, max_samples=1.0, random_state=0)",
    "EnsembleOfChains, hard": "EnsembleOfChains({base}, voting='hard', random_state=0)",
    "LabelPowerset": "LabelPowerset({base})",
    "LabelPowerset, marginal": "LabelPowerset({base}, decision='marginal')",
    "PrunedSets": "PrunedSets({base})",
    "EnsembleOfPrunedSets": "EnsembleOfPrunedSets({base}, random_state=0)",
    "EnsembleOfPrunedSets, soft": "EnsembleOfPrunedSets({base}, voting='soft', random_state=0)",
    "RAkEL": "RAkEL({base}, random_state=0)",
    "RAkEL, soft": "RAkEL({base}, voting='soft', random_state=0)",
    "RAkEL, disjoint": "RAkEL({base}, overlapping=False, random_state=0)",
    "RAkEL, disjoint by co-occurrence": "RAkEL({base}, overlapping=False, "
    "label_sets='co-occurrence', random_state=0)",
    "OutputCodes, random": "OutputCodes({base}, random_state=0)",
    "OutputCodes, repetition": "OutputCodes({base}, code='repetition', label_sets='all', "
    "random_state=0)",
    "HOMER": "HOMER({base}, random_state=0)",
    "ClassifierChain, exact": "ClassifierChain({base}, inference='exact')",
}
"""By the names of the tables' rows, as ``make_learner`` takes them."""

NEED_PROBABILITIES = (
    "CalibratedLabelRanking, soft",
    "ClassifierChain, beam",
    "ClassifierChain, Monte Carlo, marginal",
    "ClassifierChain, exact",
)


def measure(case: str, *, n_jobs: int | None = 1) -> Results:
    """All transformations on one dataset, around one base."""
    name, _, base = case.partition(", ")
    data = datasets.load(name)
    scaler = "" if sparse.issparse(data.X) else "StandardScaler() | "
    texts = {
        title: scaler + text.format(base=BASES[base or "logistic regression"])
        for title, text in LEARNERS.items()
        if not (title in NEED_PROBABILITIES and base == "linear SVM")
        and not (title == "ClassifierChain, exact" and data.Y.shape[1] > 6)
    }
    return compare({name: data}, texts, measures=MEASURES, n_jobs=n_jobs)


def markdown(case: str, results: Results) -> str:
    """The table of one dataset; the best value of each measure is bold."""
    means = {m: results.means(m)[0].round(4) for m in MEASURES}
    best = {m: v.max() if get_measure(m).greater_is_better else v.min() for m, v in means.items()}
    lines = [f"## {case}", "", "| learner | " + " | ".join((*MEASURES, "seconds")) + " |"]
    lines.append("| --- |" + " ---: |" * (len(MEASURES) + 1))
    for j, (title, seconds) in enumerate(zip(results.learners, results.seconds()[0])):
        values = {m: f"{means[m][j]:.4f}" for m in MEASURES}
        cells = [f"**{values[m]}**" if means[m][j] == best[m] else values[m] for m in MEASURES]
        lines.append(f"| {title} | " + " | ".join(cells) + f" | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


HEAD = """# Problem transformations compared

All learners of `plurilabel.learners.transformation` on the standard hold-outs, with
`LogisticRegression(max_iter=2000)` as the base estimator (medical also with `LinearSVC()`, for
learners that need no probabilities), features standardised on the training part (medical: 0/1 as
they are), the learners' defaults otherwise, `random_state=0`. Coverage counts from 0, ties count
against the learner. Bold: best of the column. Made by `python -m benchmarks transformations`.

In short: chains and RAkEL predict more label sets exactly than binary relevance, on all four.
The mean of an ensemble of chains ranks better than one chain; with logistic regression on medical
only if the chains see all instances (samples of 67% of its 333 may miss rare labels; this was not
tested separately), and with the linear SVM not by coverage. Votes of few models ("hard") rank
badly: they tie. Searching the chain (beam) finds more exact sets than following it greedily;
marginals are better for Hamming loss, but not on medical.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--write", type=Path, help="file for the tables")
    options = parser.parse_args()
    text = HEAD + "\n".join(markdown(case, measure(case)) for case in options.cases)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
