"""
Decision regions of ML-kNN
==========================

Three labels, each true inside a circle of the plane; where circles overlap, an instance has
several labels. From 800 points, 3% of whose labels are wrong, ML-kNN learns where each
label is likely.
"""

# %%
# The data: with two features they can be drawn. Each panel shows the instances that have one
# label, and the probability that ML-kNN gives to it over the plane. The line is where it is one
# half: inside, the label is predicted.

import matplotlib.pyplot as plt
import numpy as np

from plurilabel import MLkNN, datasets

data = datasets.make_multilabel(
    800, 2, 3, cardinality=1.2, noise=0.03, allow_empty=True, random_state=4
)
learner = MLkNN(n_neighbors=25).fit(data.X, data.Y)

low, high = data.X.min(axis=0) - 0.1, data.X.max(axis=0) + 0.1
grid = np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150))
plane = np.column_stack([axis.ravel() for axis in grid])
probability = learner.predict_proba(plane)

colours = ["#1b6ca8", "#c1502e", "#3f8f4f"]
figure, axes = plt.subplots(
    1, 3, figsize=(10, 3.4), sharex=True, sharey=True, layout="constrained"
)
for l, (ax, colour) in enumerate(zip(axes, colours)):
    surface = probability[:, l].reshape(grid[0].shape)
    shades = ax.pcolormesh(*grid, surface, vmin=0, vmax=1.6, cmap="Greys", rasterized=True)
    ax.contour(*grid, surface, levels=[0.5], colors=colour, linewidths=2)
    has = data.Y[:, l] == 1
    ax.scatter(*data.X[~has].T, s=4, color="#888888", linewidths=0)
    ax.scatter(*data.X[has].T, s=7, color=colour, linewidths=0)
    ax.set(title=f"label {l}, {has.mean():.0%} have it", aspect="equal")
bar = figure.colorbar(shades, ax=axes, shrink=0.9, boundaries=np.linspace(0, 1, 51))
bar.set_label("P(label | x)")
bar.set_ticks([0, 0.5, 1])
plt.show()

# %%
# The label sets. A colour is a set of labels; the sets were not learned as such, they follow from
# three decisions.

labels = learner.predict(plane)
number = labels @ [1, 2, 4]  # one number for each set
sets = np.unique(number)
palette = plt.get_cmap("Set2")
figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
for i, s in enumerate(sets):
    name = "{" + ", ".join(str(l) for l in range(3) if s >> l & 1) + "}"
    here = (number == s).reshape(grid[0].shape)
    ax.contourf(*grid, here, levels=[0.5, 1.5], colors=[palette(i)])
    ax.plot([], [], "s", color=palette(i), label=name)
ax.scatter(*data.X.T, s=4, color="black", alpha=0.4, linewidths=0)
ax.set(aspect="equal", title="predicted label sets")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
plt.show()

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_decision_regions.png"
