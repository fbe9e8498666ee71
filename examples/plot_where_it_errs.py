"""
Where a learner errs
====================

One number says how good a learner is; these displays say where it is not. As in scikit-learn, each
is made by ``from_estimator`` or ``from_predictions`` and keeps the figures that it shows.
"""

# %%
# Digits labelled by their properties. Only the right half of each image is kept, with added noise,
# so that there is something to get wrong. ``as_frame`` gives labels with names, which plots use.

import matplotlib.pyplot as plt
import numpy as np

from plurilabel import MLkNN, datasets, inspection, model_selection

data = datasets.load("digits", as_frame=True)
half = data.X.to_numpy().reshape(-1, 8, 8)[:, :, 4:].reshape(len(data.X), -1)
X = half + np.random.default_rng(0).normal(scale=6, size=half.shape)
X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    X, data.Y, sizes=(0.5, 0.5), random_state=0
)
learner = MLkNN(n_neighbors=15).fit(X_train, Y_train)

# %%
# Precision, recall and F1 of each label. The number at the right is that of its instances.

inspection.LabelScoresDisplay.from_estimator(learner, X_test, Y_test)
plt.show()

# %%
# What is predicted where a true label is missed? Where "square" or "has a loop" is missed, it is
# most often "prime". The last column has those for which nothing wrong is predicted instead.

inspection.LabelConfusionDisplay.from_estimator(learner, X_test, Y_test)
plt.show()

# %%
# Which labels are predicted together, beside those that occur together.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
inspection.CooccurrenceDisplay.from_predictions(Y_test, ax=axes[0])
inspection.CooccurrenceDisplay.from_estimator(learner, X_test, ax=axes[1])
axes[0].set_title("true", loc="left", fontsize=10)
axes[1].set_title("predicted", loc="left", fontsize=10)
plt.show()

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_where_it_errs.png"
