"""The k that MLkNNCV chooses, and its effect: the table of its page.

Run it from the repository root, with PLURILABEL_DATA set.
"""

from plurilabel import MLkNN, MLkNNCV, datasets
from plurilabel.metrics import average_precision

DATA = (
    "emotions", "flags", "yeast", "scene", "image", "medical", "genbase", "slashdot",
    "reuters-k500",
)  # fmt: skip
WAYS = {
    "entry, Hamming loss": MLkNNCV(leave_out="entry", scoring="hamming_loss"),
    "exact, Hamming loss": MLkNNCV(scoring="hamming_loss"),
    "exact, average precision (default)": MLkNNCV(),
    "*k* = 10": MLkNN(),
}

print("| |", *(f"{way} |" for way in WAYS))
print("| --- " * (len(WAYS) + 1) + "|")
for name in DATA:
    X, X_test, Y, Y_test = datasets.load(name).holdout()
    cells = []
    for learner in WAYS.values():
        scores = learner.fit(X, Y).predict_proba(X_test)
        value = f"{average_precision(Y_test, scores):.3f}".lstrip("0")
        several = isinstance(learner, MLkNNCV)
        cells.append(f"{learner.n_neighbors_}, {value} |" if several else f"{value} |")
    print(f"| {name} |", *cells)
