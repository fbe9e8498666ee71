"""Label trees by loops: one node, one child, one instance at a time."""

import numpy as np
from scipy.optimize import minimize


def fit_linear(X, y, loss, C, costs=None, means=0.0, precisions=1.0):
    """Weights and bias that minimise ½ Σ q_j (w_j - m_j)² + C Σ c_i loss(±(w x_i + b))."""
    n, d = X.shape
    costs = np.ones(n) if costs is None else costs
    sign = np.where(y, 1.0, -1.0)

    def objective(w):
        pull = precisions * (w - means)
        value, slope = 0.5 * pull @ (w - means), pull.copy()
        for x, s, c in zip(X, sign, costs):
            m = s * (w[:d] @ x + w[d])
            if loss == "logistic":
                value += C * c * np.logaddexp(0, -m)
                by_m = -C * c / (1 + np.exp(m))
            else:
                value += C * c * max(0, 1 - m) ** 2
                by_m = -2 * C * c * max(0, 1 - m)
            slope += by_m * s * np.append(x, 1)
        return value, slope

    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
    w = minimize(objective, np.zeros(d + 1), jac=True, method="L-BFGS-B", options=options).x
    return w[:d], w[d]


def curvature(X, y, w, b, loss, C):
    """The sum of the second derivatives of the losses by the scores."""
    total = 0.0
    for x, s in zip(X, np.where(y, 1.0, -1.0)):
        m = s * (w @ x + b)
        p = 1 / (1 + np.exp(-m))
        total += C * p * (1 - p) if loss == "logistic" else 2 * C * (m < 1)
    return total


def learn_more(X, y, w, b, before, loss, C):
    """Weights and bias after further instances: those so far are a normal distribution."""
    A, z = before
    share = curvature(A, z, w, b, loss, C) / len(A)
    squares = np.append((A**2).sum(axis=0), len(A))
    return fit_linear(
        X, y, loss, C, means=np.append(w, b), precisions=1 + np.where(squares, squares * share, 0)
    )


def halves(labels, branching_factor, leaf_size):
    """The tree over labels in a given order, as nested lists of labels."""
    if len(labels) <= leaf_size:
        return list(labels)
    return [
        halves(part, branching_factor, leaf_size)
        for part in np.array_split(labels, branching_factor)
    ]


def below(node):
    return [l for child in node for l in below(child)] if isinstance(node, list) else [node]


def path_scores(X, Y, x, tree, loss, C):
    """The scores of one instance for all labels: every path of one tree, followed to its end."""
    found = {}

    def visit(node, rows, log):
        for child in node:
            has = Y[rows][:, below(child)].any(axis=1)
            if has.all() or not has.any():
                z = 30.0 if has.any() else -30.0
            else:
                w, b = fit_linear(X[rows], has, loss, C)
                z = w @ x + b
            step = -np.logaddexp(0, -z) if loss == "logistic" else -(max(0, 1 - z) ** 2)
            if isinstance(child, list):
                visit(child, rows[has], log + step)
            else:
                found[child] = np.exp(log + step)

    visit(tree, np.arange(len(X)), 0.0)
    return np.array([found[l] for l in range(Y.shape[1])])
