"""
Threshold curves
================

The same scores give different label sets, depending on the cut. The curves show the F1 of each
label against its cut; the table compares eleven strategies on the same classifier.
"""

# %%
# The data are digits tagged by their properties. Only the right half of each image is kept, with
# added noise, so that scores are uncertain and the cut matters. The scores are out-of-fold: each
# image is scored by a classifier that was not trained on it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from plurilabel import (
    BinaryRelevance,
    SCut,
    ThresholdClassifier,
    datasets,
    metrics,
    model_selection,
)
from plurilabel.inspection import plot_threshold_curves
from plurilabel.thresholds import strategy_names

data = datasets.load("digits")
half = data.X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = half + np.random.default_rng(0).normal(scale=6, size=half.shape)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    X, data.Y, sizes=(0.5, 0.5), random_state=0
)
classifier = BinaryRelevance(KNeighborsClassifier(n_neighbors=25))
folds = model_selection.IterativeStratifiedKFold(5)
scores = cross_val_predict(classifier, X_train, Y_train, cv=folds, method="predict_proba")

figure, ax = plt.subplots(figsize=(9, 4.8))
plot_threshold_curves(Y_train, scores, "f1", label_names=data.label_names, ax=ax)
figure.tight_layout()
plt.show()

# %%
# No single cut is best for all labels, and no label has its best cut at 0.5. The table shows every
# strategy on the test images. Darker is better within each column.

strategies = {name: name for name in strategy_names()} | {"scut, accuracy": SCut("accuracy")}
shown = ["hamming_loss", "subset_accuracy", "accuracy", "f1", "micro_f1", "macro_f1"]
table = np.array(
    [
        [metrics.evaluate(Y_test, labels=labels)[name] for name in shown]
        for labels in (
            ThresholdClassifier(classifier, strategy).fit(X_train, Y_train).predict(X_test)
            for strategy in strategies.values()
        )
    ]
)
sign = np.array([1 if metrics.get_measure(name).greater_is_better else -1 for name in shown])
better = sign * table
better = (better - better.min(axis=0)) / np.ptp(better, axis=0)

figure, ax = plt.subplots(figsize=(8, 5))
ax.imshow(better, cmap="Blues", vmin=-0.2, vmax=1.6, aspect="auto")
for (i, j), value in np.ndenumerate(table):
    weight = "bold" if better[i, j] == 1 else "normal"
    ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=9, fontweight=weight)
ax.set_xticks(range(len(shown)), [name.replace("_", "\n") for name in shown])
ax.set_yticks(range(len(strategies)), list(strategies))
ax.tick_params(length=0)
ax.xaxis.tick_top()
for side in ax.spines.values():
    side.set_visible(False)
figure.tight_layout()
plt.show()

# %%
# The best strategy for one measure is rarely the best for another: choose the measure first.

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_threshold_curves.png"
