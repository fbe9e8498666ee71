"""
Scores, cuts and one instance
=============================

Are the probabilities right? Which cut is best? And what about this instance? Three displays answer
from the scores of any classifier.
"""

# %%
# The learner is the one of the example before: ML-kNN on noisy halves of digits.

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
# Precision and recall over all cuts: the cut with the best F1 is below the usual 0.5.

inspection.PrecisionRecallThresholdDisplay.from_estimator(learner, X_test, Y_test)
plt.show()

# %%
# A point on the diagonal is a bin of probabilities that are right on average.

inspection.ReliabilityDisplay.from_estimator(learner, X_test, Y_test)
plt.show()

# %%
# The scores of one image: predicted labels are blue, true ones have a mark.

inspection.InstanceScoresDisplay.from_estimator(learner, X_test[:1], Y_test[:1])
plt.show()

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_scores_and_cuts.png"
