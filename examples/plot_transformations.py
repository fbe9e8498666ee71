"""
Transformations compared
========================

One base classifier, and thirteen ways to turn it into a multi-label learner. Some predict more
label sets exactly, some rank the labels better.
"""

# %%
# Digits tagged by their properties; only the right half of the image is used, with noise. The base
# classifier is logistic regression; every learner has its default parameters.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    HOMER,
    BinaryRelevance,
    CalibratedLabelRanking,
    ClassifierChain,
    EnsembleOfChains,
    EnsembleOfPrunedSets,
    LabelPowerset,
    OutputCodes,
    PrunedSets,
    RAkEL,
    StackedRelevance,
    datasets,
    metrics,
    model_selection,
)

data = datasets.load("digits")
half = data.X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = StandardScaler().fit_transform(
    half + np.random.default_rng(0).normal(scale=4, size=half.shape)
)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    X, data.Y, sizes=(0.5, 0.5), random_state=0
)
base = LogisticRegression(max_iter=500)
learners = {
    "binary relevance": BinaryRelevance(base),
    "stacked": StackedRelevance(base),
    "chain": ClassifierChain(base),
    "chain, beam": ClassifierChain(base, inference="beam"),
    "ensemble of chains": EnsembleOfChains(base, random_state=0),
    "powerset": LabelPowerset(base),
    "pruned sets": PrunedSets(base),
    "ensemble of pruned sets": EnsembleOfPrunedSets(base, random_state=0),
    "RAkEL": RAkEL(base, random_state=0),
    "RAkEL, soft": RAkEL(base, voting="soft", random_state=0),
    "label ranking": CalibratedLabelRanking(base),
    "output codes": OutputCodes(base, random_state=0),
    "HOMER": HOMER(base, random_state=0),
}
found = {}
for name, learner in learners.items():
    learner.fit(X_train, Y_train)
    found[name] = metrics.evaluate(
        Y_test, metrics.label_scores(learner, X_test), learner.predict(X_test)
    )

# %%
# To the right: more label sets exactly right. Up: better rankings.

points: dict[tuple[float, float], list[str]] = {}
for name, values in found.items():
    point = (values["subset_accuracy"], values["average_precision"])
    points.setdefault(point, []).append(name)

figure, ax = plt.subplots(figsize=(8.5, 5.5))
for (x, y), names in points.items():
    ax.plot(x, y, "o", color="#1b6ca8")
    below = {"binary relevance", "label ranking"} & set(names)
    place = {"xytext": (-6, -4), "ha": "right"} if below else {"xytext": (6, -3)}
    ax.annotate(" = ".join(names), (x, y), textcoords="offset points", fontsize=9, **place)
ax.set(xlabel="subset accuracy", ylabel="average precision")
ax.margins(x=0.3, y=0.1)
for side in ("top", "right"):
    ax.spines[side].set_visible(False)
figure.tight_layout()
plt.show()

# %%
# Digits have only ten label sets, which is why methods that model whole sets win by both measures
# here. On standard datasets the picture is more mixed: see the tables of all transformations.

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_transformations.png"
