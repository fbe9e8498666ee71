"""A small invented paper, on some of the digits."""

from dataclasses import replace
from functools import cache

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.papers.paper import read_paper
from plurilabel import DWMLkNN, MLkNN, datasets, metrics

KS = (3, 5, 8)
_ALL = datasets.load("digits")
SMALL = replace(_ALL, X=_ALL.X[:300], Y=_ALL.Y[:300])


@cache
def plain_values():
    """Measures on the digits by learner and k, (folds,) each: three folds, written out."""
    data, table = SMALL, {}
    for kind in (MLkNN, DWMLkNN):
        for k in KS:
            folds = []
            for train, test in KFold(3, shuffle=True, random_state=0).split(data.X):
                learner = kind(k).fit(data.X[train], data.Y[train])
                scores, labels = learner.predict_proba(data.X[test]), learner.predict(data.X[test])
                folds.append(metrics.evaluate(data.Y[test], scores, labels))
            table[kind.__name__, k] = {
                name: np.array([fold[name] for fold in folds]) for name in ("f1", "one_error")
            }
    return table


PAPER = """
name = "Toy | paper"
citation = "A. Author. On *stars* and $money$."
about = "Nothing_much."
[protocols.folds]
dataset = "digits"
split = 3
text = "Three folds."
[[table]]
name = "table 1"
title = "The | table"
protocol = "folds"
measures = ["f1", "one_error"]
decimals = 3
notes = ["A note with a | in it."]
tolerance = {{ f1 = 0.001, deviations = 2, reason = "So." }}
{rows}
[[table]]
name = "data"
title = "The data"
protocol = "folds"
measures = ["instances", "labels"]
decimals = 1
tolerance = {{ instances = 0, labels = 0, reason = "So." }}
[[table.row]]
name = "digits"
published = {{ instances = 300, labels = 7 }}
[[table.row]]
name = "no labels"
label_set = []
published = {{ instances = 0 }}
[[table]]
name = "ours"
title = "Nothing published"
protocol = "folds"
measures = ["f1", "one_error"]
decimals = 4
tolerance = {{ f1 = 0.001, reason = "So." }}
[[table.row]]
name = "A"
learner = "MLkNN(n_neighbors=5)"
recorded = {{ f1 = {recorded} }}
[[table.row]]
name = "B"
learner = "MLkNN(n_neighbors=8)"
[[figure]]
name = "figure 1"
title = "Curves"
protocol = "folds"
measures = ["f1", "one_error"]
over = [3, 5, 8]
curves = {{ "ML" = "MLkNN(n_neighbors={{k}})", "DW" = "DWMLkNN(n_neighbors={{k}})" }}
[[figure.statement]]
text = "one wins"
measure = "f1"
winner = "{winner}"
loser = "{loser}"
"""


BAD = """
[[table.row]]
name = "wrong"
learner = "MLkNN(n_neighbors=5)"
published = { f1 = 0.2 }
"""


KNOWN = BAD + 'differs.f1 = { ours = %r, why = "Look | here." }\n'


SKIPPED = """
[[table.row]]
name = "skipped"
learner = "MLkNN(n_neighbors=5)"
needs = "no_such_library"
published = { f1 = 0.2 }
"""


FAILED = """
[[table.row]]
name = "failed"
learner = "MLkNN(n_neighbors=5000)"
published = { f1 = 0.2 }
"""


def make_paper(folder, found, extra="", swap=False, shift=0.0):
    means = [found["MLkNN", k] for k in KS]
    best = min(m["one_error"].mean() for m in means)
    f1 = {
        kind: np.mean([found[kind, k]["f1"].mean() for k in KS]) for kind in ("MLkNN", "DWMLkNN")
    }
    rows = f"""
[[table.row]]
name = "k = 5"
learner = "MLkNN(n_neighbors=5)"
published = {{ f1 = {found["MLkNN", 5]["f1"].mean() + 0.0009}, one_error = 0.9 }}
claim = "no worse"
[[table.row]]
name = "mean"
learner = "MLkNN(n_neighbors={{k}})"
over = [3, 5, 8]
published = {{ f1 = {f1["MLkNN"]} }}
[[table.row]]
name = "best"
learner = "MLkNN(n_neighbors={{k}})"
over = [3, 5, 8]
combine = "best"
published = {{ one_error = {best} }}
{extra}"""
    names = {"MLkNN": "ML", "DWMLkNN": "DW"}
    winner, loser = (names[kind] for kind in sorted(f1, key=f1.get, reverse=not swap))
    file = folder / "toy.toml"
    file.write_text(
        PAPER.format(
            rows=rows, winner=winner, loser=loser, recorded=found["MLkNN", 5]["f1"].mean() + shift
        )
    )
    return read_paper(file)


def cell(result, row, measure, part="table 1"):
    keys = ("table", "row", "measure")
    (one,) = (r for r in result.rows if tuple(r[key] for key in keys) == (part, row, measure))
    return one
