"""
How many neighbours?
====================

``MLkNNCV`` judges every *k* by leave-one-out from a single neighbour search. Does that find the
right *k*? Here its curve is drawn next to that of a large test set.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from plurilabel import MLkNN, MLkNNCV, datasets, metrics, model_selection

data = datasets.load("digits")
half = data.X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = half + np.random.default_rng(0).normal(scale=6, size=half.shape)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    X, data.Y, sizes=(0.5, 0.5), random_state=0
)

ks = np.arange(1, 61)
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
for ax, measure in zip(axes, ["hamming_loss", "average_precision"]):
    for leave_out, colour in (("entry", "#1b6ca8"), ("instance", "#3f8f4f")):
        learner = MLkNNCV(ks, scoring=measure, leave_out=leave_out).fit(X_train, Y_train)
        ax.plot(ks, learner.cv_values_, color=colour, label=f'leave out "{leave_out}"')
        best = learner.n_neighbors_
        ax.plot(best, learner.cv_values_[best - 1], "o", color=colour)
    test = []
    for k in ks[::3]:
        scores = MLkNN(int(k)).fit(X_train, Y_train).predict_proba(X_test)
        test.append(metrics.get_measure(measure).function(
            Y_test, scores > 0.5 if measure == "hamming_loss" else scores
        ))  # fmt: skip
    ax.plot(ks[::3], test, "x:", color="#c1502e", label="test images")
    ax.set(xlabel="k", title=measure.replace("_", " "))
axes[0].legend(frameon=False)
figure.tight_layout()
plt.show()

# %%
# "instance", the default, is what one separate fit per image would give. "entry" only takes the
# image's own entry out of the frequency arrays. That is cheaper, and a little too optimistic where
# *k* is small. Here both choose a *k* (the dot) where the curve is flat and the choice hardly
# matters; on other data "entry" may choose a much worse one.

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_k_sweep.png"
