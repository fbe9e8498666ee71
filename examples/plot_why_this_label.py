"""
Why this label?
===============

A lazy learner's answer is its neighbours. ``explain`` names them, so that they can be shown:
here the training images behind the labels of three test images.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from plurilabel import MLkNN, datasets, model_selection

data = datasets.load("digits")
Y = pd.DataFrame(data.Y, columns=data.label_names)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    data.X, Y, sizes=(0.7, 0.3), random_state=0
)
learner = MLkNN(n_neighbors=5).fit(X_train, Y_train)

# %%
# As text: for each label its probability, the odds, and the training rows that speak for it with
# their distances.

print(learner.explain(X_test[:1])[0])

# %%
# As a picture, for three images of which the second and the third are not clear. A neighbour has
# a green frame if its labels are those predicted, and an orange one if not.

unsure = np.argsort(np.abs(learner.predict_proba(X_test) - 0.5).min(axis=1))
chosen = [0, unsure[2], unsure[5]]
k, q = learner.n_neighbors, len(data.label_names)
figure, axes = plt.subplots(
    3, k + 2, figsize=(10.5, 4.6), width_ratios=[1, 1.3] + [1] * k, layout="constrained"
)
for i, row, why in zip(chosen, axes, learner.explain(X_test[chosen])):
    image, bars, *others = row
    predicted = why.posterior > 0.5
    image.imshow(X_test[i].reshape(8, 8), cmap="Greys")
    colours = np.where(predicted, "#1b6ca8", "#bbbbbb")
    bars.barh(range(q), why.posterior, color=colours)
    bars.set_yticks(range(q), data.label_names, fontsize=7)
    bars.set(xlim=(0, 1), xticks=[0, 0.5, 1], ylim=(q - 0.5, -0.5))
    bars.axvline(0.5, color="#555555", linewidth=0.8, linestyle=":")
    bars.tick_params(axis="x", labelsize=7)
    for n, ax in enumerate(others):
        ax.imshow(X_train[why.neighbors[n]].reshape(8, 8), cmap="Greys")
        same = (why.labels[n] == predicted).all()
        for side in ax.spines.values():
            side.set(color="#3f8f4f" if same else "#e08a2b", linewidth=2.5)
    for ax in (image, *others):
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_title("image", fontsize=9)
axes[0, 1].set_title("probability", fontsize=9)
axes[0, 2].set_title("its neighbours, nearest first", fontsize=9, loc="left")
plt.show()

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_why_this_label.png"
