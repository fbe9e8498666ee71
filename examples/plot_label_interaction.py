"""
Label interaction of CML
========================

CML is a model of the whole label set, with a potential for every pair of labels: how much more
likely two labels are together than apart, *given the image and all other labels*. That is not
how often they occur together. This example shows both.
"""

# %%
# The labels of a digit are tied to each other: a multiple of three below five is 0 or 3, a prime
# is even only if it is 2. Only the right half of each image is kept, with noise, so that the
# model needs what it knows about labels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from plurilabel import CML, BinaryRelevance, datasets, model_selection

data = datasets.load("digits")
half = data.X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = StandardScaler().fit_transform(
    half + np.random.default_rng(0).normal(scale=4, size=half.shape)
)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    X, data.Y, sizes=(0.5, 0.5), random_state=0
)
cml = CML(C=0.1).fit(X_train, Y_train)

# %%
# To the left the correlation of the labels, to the right the interaction that CML learned, in log
# odds.

together = np.corrcoef(Y_train.T)
np.fill_diagonal(together, 0)
names = data.label_names
figure, axes = plt.subplots(1, 2, figsize=(10.5, 5), sharey=True)
for ax, matrix, title in (
    (axes[0], together, "correlation of labels"),
    (axes[1], cml.label_interaction_, "interaction, given all else"),
):
    limit = np.abs(matrix).max()
    ax.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit)
    for (i, j), value in np.ndenumerate(matrix):
        if i != j:
            colour = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(j, i, f"{value:.1f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
    ax.set_title(title)
    ax.tick_params(length=0)
axes[0].set_yticks(range(len(names)), names)
figure.tight_layout()
plt.show()

# %%
# Pairs that hardly correlate may still exclude each other once the other labels are known. The
# benefit: more label sets that are exactly right.

base = BinaryRelevance(LogisticRegression(C=0.1, max_iter=1000)).fit(X_train, Y_train)
print(f"label sets exactly right, separate labels: {base.score(X_test, Y_test):.2f}")
print(f"label sets exactly right, CML:             {cml.score(X_test, Y_test):.2f}")

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_label_interaction.png"
