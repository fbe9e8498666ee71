"""
Likelihood curves of ML-kNN
===========================

What do the neighbours say about a label? ML-kNN counts on the training set how often *j* of the
*k* neighbours have the label, among instances that have it (H1) and among those that do not
(H0). These two curves, and the label's frequency, are all it learns.
"""

# %%
# Only the right half of each digit is kept, with noise, so that the neighbours are not always
# right.

import matplotlib.pyplot as plt
import numpy as np

from plurilabel import MLkNN, datasets

data = datasets.load("digits")
half = data.X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = half + np.random.default_rng(0).normal(scale=6, size=half.shape)

k = 20
learner = MLkNN(n_neighbors=k).fit(X, data.Y)
j = np.arange(k + 1)

# %%
# Two labels side by side. In training, no image is its own neighbour.

figure, axes = plt.subplots(2, 2, figsize=(9, 5.5), sharex=True, sharey="row")
for column, name in enumerate(["has a loop", "straight lines only"]):
    l = data.label_names.index(name)
    absent, present = learner.likelihood_[:, l]
    top, bottom = axes[:, column]
    top.plot(j, present, "o-", color="#1b6ca8", label="has it: $P(E_j | H_1)$", markersize=4)
    top.plot(j, absent, "s-", color="#c1502e", label="does not: $P(E_j | H_0)$", markersize=4)
    top.set_title(f"{name} ({learner.prior_[l]:.0%} of the images)")
    bottom.plot(j, learner.table_[l], "o-", color="#333333", markersize=4)
    bottom.axhline(0.5, color="#999999", linestyle=":")
    first = int(np.argmax(learner.table_[l] > 0.5))
    bottom.annotate(
        f"predicted from {first} of {k} on",
        (first, learner.table_[l, first]),
        xytext=(0, 0.8),
        arrowprops={"arrowstyle": "->", "color": "#555555"},
    )
    bottom.set_xticks(range(0, k + 1, 5))
    bottom.set_xlabel(f"j of {k} neighbours have the label")
axes[0, 0].set_ylabel("likelihood")
axes[1, 0].set_ylabel("posterior $P(H_1 | E_j)$")
axes[0, 0].legend(frameon=False)
figure.tight_layout()
plt.show()

# %%
# A plain vote would ask for more than half of the neighbours, 11 of 20, for every label. ML-kNN
# learns for each label how many are enough: fewer for the label that is rarer and whose images
# lie among others.

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_likelihoods.png"
