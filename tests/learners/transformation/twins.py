"""Slow, obvious twins of the transformations, written from the papers' definitions.

They take a base estimator with ``predict_proba`` and answer for one instance after the other.
"""

from itertools import product

import numpy as np
from sklearn.base import clone


def p_yes(model, x):
    """P(y = 1 | x); a model that is a number is that probability."""
    if isinstance(model, float):
        return model
    return float(model.predict_proba(np.array([x], dtype=float))[0, list(model.classes_).index(1)])


def train(base, X, y):
    if len(set(y)) == 1:
        return float(y[0])
    return clone(base).fit(np.array(X, dtype=float), np.array(y))


def chain_models(base, X, Y, order):
    return [
        train(base, [list(x) + [row[t] for t in order[:j]] for x, row in zip(X, Y)], Y[:, label])
        for j, label in enumerate(order)
    ]


def greedy_chain(base, X, Y, order, x, pass_on="predict"):
    scores, seen = {}, []
    for label, model in zip(order, chain_models(base, X, Y, order)):
        p = p_yes(model, list(x) + seen)
        scores[label] = p
        told = {
            "predict": float(p > 0.5),
            "predict_proba": p,
            "predict_log_proba": np.log(max(p, np.finfo(np.float32).tiny)),
        }
        seen.append(told[pass_on])
    return [scores[label] for label in range(Y.shape[1])]


def joint_chain(base, X, Y, order, x):
    """The most probable label set and the marginals, over all 2^q sets."""
    models = chain_models(base, X, Y, order)
    q, joint = Y.shape[1], {}
    for bits in product((0, 1), repeat=q):  # in label order
        along = [float(bits[t]) for t in order]
        p = 1.0
        for j, model in enumerate(models):
            one = p_yes(model, list(x) + along[:j])
            p *= one if along[j] else 1 - one
        joint[bits] = p
    marginals = [sum(p for bits, p in joint.items() if bits[l]) for l in range(q)]
    return max(joint, key=joint.get), marginals, joint


def powerset(base, X, Y, labels, x):
    """P(set | x) for each set of these labels that occurs."""
    names = sorted({tuple(row[labels]) for row in Y})
    if len(names) == 1:
        return {names[0]: 1.0}
    y = [names.index(tuple(row[labels])) for row in Y]
    model = clone(base).fit(X, y)
    return dict(zip(names, model.predict_proba([x])[0]))


def rakel(base, X, Y, labelsets, x):
    """Votes mu over votes possible tau."""
    q = Y.shape[1]
    mu, tau = [0] * q, [0] * q
    for labels in labelsets:
        p = powerset(base, X, Y, labels, x)
        best = max(p, key=p.get)
        for l, bit in zip(labels, best):
            tau[l] += 1
            mu[l] += bit
    return [m / t for m, t in zip(mu, tau)]


def pruned(Y, threshold, strategy, limit):
    """(row, label set) of the training set of pruned sets."""
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in Y]
    count = {s: sets.count(s) for s in sets}
    training = []
    for i, s in enumerate(sets):
        if count[s] > threshold:
            training.append((i, s))
            continue
        subsets = [t for t in count if t < s and t and count[t] > threshold]
        if strategy == "a":
            # between equals the set whose 0/1 row is smaller: later first labels
            subsets.sort(key=lambda t: (-len(t), -count[t], [-l for l in sorted(t)]))
            subsets = subsets[:limit]
        elif strategy == "b":
            subsets = [t for t in subsets if len(t) > limit]
        else:
            subsets = []
        training += [(i, t) for t in subsets]
    return training


def label_ranking(base, X, Y, x):
    """Votes of the labels, and of the virtual label at the end."""
    q = Y.shape[1]
    votes = [0.0] * (q + 1)
    for j in range(q):
        winner = j if p_yes(train(base, X, Y[:, j]), x) > 0.5 else q
        votes[winner] += 1
        for k in range(j + 1, q):
            rows = [i for i in range(len(Y)) if Y[i, j] != Y[i, k]]
            if not rows:
                votes[j] += 0.5
                votes[k] += 0.5
                continue
            model = train(base, X[rows], Y[rows, j])
            votes[j if p_yes(model, x) > 0.5 else k] += 1
    return votes


def decode(bit_scores, G, candidates):
    """Fit of each candidate set to the scores of the bits."""
    fits = {}
    for bits in candidates:
        word = [sum(b * g for b, g in zip(bits, column)) % 2 for column in np.transpose(G)]
        fits[bits] = sum(s if c else -s for s, c in zip(bit_scores, word))
    return fits
