"""Small tables to label, and what their rows truly have."""

import numpy as np
import pandas as pd

WORDS = {
    "sea": "waves boat beach salt tide ship",
    "sun": "heat bright noon summer burn shine",
    "animal/dog": "bark leash puppy tail fetch bone",
}
COMMON = ["the", "a", "we", "saw", "with", "then", "today", "very", "some", "near", "old", "new"]


def notes(n=60, seed=0, labels=WORDS):
    """A table of texts and numbers, and the label sets of its rows."""
    rng = np.random.default_rng(seed)
    sets = [[name for name in labels if rng.random() < 0.4] for _ in range(n)]
    texts = []
    for names in sets:
        words = [
            *rng.choice(COMMON, 6),
            *(w for x in names for w in rng.choice(labels[x].split(), 3)),
        ]
        texts.append(" ".join(rng.permutation(words)))
    return pd.DataFrame({"note": texts, "size": rng.normal(size=n).round(3)}), sets


def many_labels(q=60):
    return {f"topic {j:02d}": " ".join(f"w{j}x{i}" for i in range(5)) for j in range(q)}


def answer_all(project, sets, n, person="ann"):
    """Answer the next n rows truly."""
    for _ in range(n):
        row = project.next(person)["row"]
        project.say(person, "answer", {"rows": [row], "labels": sets[row], "seconds": 4})
