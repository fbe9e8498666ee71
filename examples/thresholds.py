"""What a cut can do: the same scores, turned into label sets in eleven ways.

The images of scikit-learn's digits are tagged with properties of the digit. Only the right half of
each image is kept, with noise, so that scores are uncertain and the cut matters. One classifier
gives the scores; each strategy is learned on its out-of-fold scores and judged on test instances.

    python examples/thresholds.py [curves.png]

prints a table of measures, and draws F1 against the cut for each tag if a file is named.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsClassifier

from plurilabel import metrics
from plurilabel.thresholds import (
    SCut,
    ThresholdClassifier,
    plot_threshold_curves,
    strategy_names,
)

TAGS = {
    "even": {0, 2, 4, 6, 8},
    "prime": {2, 3, 5, 7},
    "square": {0, 1, 4, 9},
    "multiple of 3": {0, 3, 6, 9},
    "has a loop": {0, 6, 8, 9},
    "above 6": {7, 8, 9},
    "zero": {0},
}
MEASURES = ["hamming_loss", "subset_accuracy", "accuracy", "f1", "micro_f1", "macro_f1"]


def tagged_digits() -> tuple[np.ndarray, np.ndarray]:
    X, digit = load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(X), -1)  # the right half
    X += np.random.default_rng(0).normal(scale=6, size=X.shape)
    return X, np.array([[d in tag for tag in TAGS.values()] for d in digit], dtype=int)


def main() -> None:
    X, Y = tagged_digits()
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.5, random_state=0)
    classifier = KNeighborsClassifier(n_neighbors=25)

    strategies: dict[str, object] = {name: name for name in strategy_names()}
    strategies["scut, accuracy"] = SCut("accuracy")
    print(f"{'strategy':16}" + "".join(f"{name:>17}" for name in MEASURES))
    for name, strategy in strategies.items():
        model = ThresholdClassifier(classifier, strategy).fit(X_train, Y_train)
        labels = model.predict(X_test)
        values = [getattr(metrics, measure)(Y_test, labels) for measure in MEASURES]
        print(f"{name:16}" + "".join(f"{value:17.3f}" for value in values))

    if len(sys.argv) > 1:
        output = cross_val_predict(classifier, X_train, Y_train, method="predict_proba")
        scores = np.column_stack([present for _, present in (p.T for p in output)])
        ax = plot_threshold_curves(Y_train, scores, "f1", label_names=list(TAGS))
        ax.figure.savefig(sys.argv[1], dpi=150)
        print(f"\nF1 against the cut: {sys.argv[1]}")


if __name__ == "__main__":
    main()
