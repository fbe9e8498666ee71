"""Small learners for the tests."""

from collections import deque


class Nearest:
    """The labels of the nearest of the last rows."""

    def __init__(self, window=50):
        self.window = window
        self.rows = deque(maxlen=window)
        self.learned = 0

    def learn_one(self, x, y):
        self.learned += 1
        self.rows.append((x, y))

    def predict_one(self, x):
        def distance(row):
            return sum((x.get(k, 0) - v) ** 2 for k, v in row[0].items())

        return dict(min(self.rows, key=distance)[1]) if self.rows else {}

    def predict_proba_one(self, x):
        return {l: {True: 0.9 * y, False: 1 - 0.9 * y} for l, y in self.predict_one(x).items()}

    def __repr__(self):
        return f"Nearest({self.window})"


class Fragile:
    """Fails at its tenth row."""

    def __init__(self):
        self.left = 10

    def learn_one(self, x, y):
        self.left -= 1
        if not self.left:
            raise RuntimeError("out of luck")

    def predict_one(self, x):
        return {}
