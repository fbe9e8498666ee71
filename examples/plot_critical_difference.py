"""
Critical-difference diagram
===========================

Five learners on twelve datasets: which is better than which, and which differences may be due to
chance? The diagram shows average ranks, the best to the left. A bar joins learners whose ranks are
closer than the critical difference of Nemenyi's test.
"""

# %%
# The datasets are generated: more or fewer labels, more or less noise and dependence.

import matplotlib.pyplot as plt

from plurilabel import datasets, evaluation

data = {
    f"generated {i}": datasets.make_multilabel(
        240,
        8,
        4 + i % 3 * 2,
        cardinality=1.5 + i % 2,
        dependence=0.2 * (i % 4),
        noise=0.02 * (i % 5),
        random_state=i,
    )
    for i in range(12)
}
learners = {
    "ML-kNN": "MLkNN(n_neighbors=9)",
    "DW-ML-kNN": "DWMLkNN(n_neighbors=9)",
    "voting": "BRkNN(n_neighbors=9)",
    "forest": 'MLRandomForest(n_estimators=30, criterion="gini", random_state=0)',
    "tree": "MLDecisionTree(min_samples_leaf=5, random_state=0)",
}
results = evaluation.compare(data, learners)  # a stratified split of each

# %%
# Friedman's test comes first: is there any difference at all?

values = results.means("average_precision")
print(evaluation.friedman(values, greater_is_better=True, names=results.learners))

# %%
# Then the diagram.

test = evaluation.nemenyi(values, greater_is_better=True, names=results.learners)
evaluation.plot_critical_difference(test.average_ranks, test.names, test.critical_difference)
plt.show()

# %%
# Another measure gives another order.

values = results.means("f1")
test = evaluation.nemenyi(values, greater_is_better=True, names=results.learners)
evaluation.plot_critical_difference(test.average_ranks, test.names, test.critical_difference)
plt.show()

# sphinx_gallery_thumbnail_path = "gallery/thumbnails/plot_critical_difference.png"
