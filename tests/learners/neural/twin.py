"""BP-MLL as the paper's section 3 writes it: one instance at a time, one pair at a time."""

import numpy as np


def train(X, Y, V, theta, W, gamma, *, rate, orders):
    """Weights after online back-propagation over the instances in these orders.

    V (d, M) and theta (M,) lead to the hidden units, W (M, q) and gamma (q,) to the outputs.
    """
    V, theta, W, gamma = (np.array(a, dtype=np.float64) for a in (V, theta, W, gamma))
    for order in orders:
        for i in order:
            a, y = X[i], Y[i]
            b = np.tanh(a @ V + theta)
            c = np.tanh(b @ W + gamma)
            labels, others = np.flatnonzero(y), np.flatnonzero(y == 0)
            pairs = max(1, len(labels) * len(others))
            d = np.zeros(len(c))
            for j in range(len(c)):
                if y[j]:
                    d[j] = sum(np.exp(-(c[j] - c[l])) for l in others) / pairs
                else:
                    d[j] = -sum(np.exp(-(c[k] - c[j])) for k in labels) / pairs
                d[j] *= (1 + c[j]) * (1 - c[j])
            e = (W @ d) * (1 + b) * (1 - b)
            W += rate * np.outer(b, d)
            gamma += rate * d
            V += rate * np.outer(a, e)
            theta += rate * e
    return V, theta, W, gamma
