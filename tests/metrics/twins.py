"""Every measure once more, slow and obvious, written from the definitions.

Label sets are Python sets, scores are dicts from label to number; a label without a score (an
entry that sparse scores do not store) has -inf. NaN where nothing is defined.
"""

from math import inf, log2, nan


def sets(Y):
    return [{j for j, y in enumerate(row) if y} for row in Y]


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else nan


# label sets, by instance -------------------------------------------------------------------


def hamming_loss(Y, Z):
    q = len(Y[0])
    return mean([len(y ^ z) / q for y, z in zip(sets(Y), sets(Z))])


def subset_accuracy(Y, Z):
    return mean([float(y == z) for y, z in zip(sets(Y), sets(Z))])


def accuracy(Y, Z):
    return mean([len(y & z) / len(y | z) if y else None for y, z in zip(sets(Y), sets(Z))])


def precision(Y, Z):
    def one(y, z):
        if not y:
            return None
        return len(y & z) / len(z) if z else 0.0

    return mean([one(y, z) for y, z in zip(sets(Y), sets(Z))])


def recall(Y, Z):
    return mean([len(y & z) / len(y) if y else None for y, z in zip(sets(Y), sets(Z))])


def f_beta(Y, Z, beta=1.0):
    def one(y, z):
        if not y:
            return None
        if not y & z:
            return 0.0
        p, r = len(y & z) / len(z), len(y & z) / len(y)
        return (1 + beta**2) * p * r / (beta**2 * p + r)

    return mean([one(y, z) for y, z in zip(sets(Y), sets(Z))])


# label sets, by label ----------------------------------------------------------------------


def tables(Y, Z):
    """(tp, fp, fn, tn) of each label."""
    result = []
    for j in range(len(Y[0])):
        pairs = [(bool(y[j]), bool(z[j])) for y, z in zip(Y, Z)]
        kinds = ((True, True), (False, True), (True, False), (False, False))
        result.append(tuple(pairs.count(kind) for kind in kinds))
    return result


def binary(name, tp, fp, fn, tn, beta=1.0):
    if name == "accuracy":
        return (tp + tn) / (tp + fp + fn + tn)
    if name == "jaccard":
        return tp / (tp + fp + fn) if tp + fp + fn else 0.0
    p = tp / (tp + fp) if tp + fp else 0.0
    r = tp / (tp + fn) if tp + fn else 0.0
    if name in ("precision", "recall"):
        return p if name == "precision" else r
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0


def macro(name, Y, Z, beta=1.0):
    return mean([binary(name, *table, beta) for table in tables(Y, Z)])


def micro(name, Y, Z, beta=1.0):
    return binary(name, *(sum(c) for c in zip(*tables(Y, Z))), beta)


# scores, by instance -----------------------------------------------------------------------


def rank_of(f, j):
    """Ties count against the learner: as low as the lowest of the tie."""
    return sum(other >= f[j] for other in f)


def one_error(Y, F):
    def one(y, f):
        if not y:
            return None
        top = {j for j in range(len(f)) if f[j] == max(f)}
        return float(max(f) == -inf or not top <= y)

    return mean([one(y, f) for y, f in zip(sets(Y), F)])


def coverage(Y, F):
    return mean([max(rank_of(f, j) for j in y) - 1 if y else None for y, f in zip(sets(Y), F)])


def coverage_normalized(Y, F):
    return coverage(Y, F) / len(F[0])


def wrong_pairs(y, f):
    """Wrong pairs and all pairs of an instance."""
    pairs = [(a, b) for a in y for b in range(len(f)) if b not in y]
    return sum(f[a] <= f[b] for a, b in pairs), len(pairs)


def ranking_loss(Y, F):
    counts = [wrong_pairs(y, f) for y, f in zip(sets(Y), F)]
    return mean([wrong / pairs if pairs else None for wrong, pairs in counts])


def is_error(Y, F):
    counts = [wrong_pairs(y, f) for y, f in zip(sets(Y), F)]
    return mean([float(wrong > 0) if pairs else None for wrong, pairs in counts])


def average_precision(Y, F):
    def one(y, f):
        ranks = {j: rank_of(f, j) for j in y}
        return mean([sum(r <= ranks[j] for r in ranks.values()) / ranks[j] for j in y])

    return mean([one(y, f) if y else None for y, f in zip(sets(Y), F)])


# scores, by label --------------------------------------------------------------------------


def auc(positive, negative):
    """Mann-Whitney: half a point for a tie."""
    points = [(a > b) + 0.5 * (a == b) for a in positive for b in negative]
    return mean(points) if points else None


def macro_auc(Y, F):
    def one(j):
        f = [row[j] for row in F]
        y = [row[j] for row in Y]
        return auc([v for v, t in zip(f, y) if t], [v for v, t in zip(f, y) if not t])

    return mean([one(j) for j in range(len(F[0]))])


def micro_auc(Y, F):
    entries = [(v, t) for f, y in zip(F, Y) for v, t in zip(f, y)]
    value = auc([v for v, t in entries if t], [v for v, t in entries if not t])
    return nan if value is None else value


def label_precision(f, y):
    """Average precision of entries: the precision at the rank of each positive, ties last."""
    at = [rank_of(f, i) for i in range(len(f))]
    found = [sum(at[j] <= at[i] for j in range(len(y)) if y[j]) for i in range(len(f))]
    return mean([found[i] / at[i] for i in range(len(y)) if y[i]]) if any(y) else None


def label_precisions(Y, F):
    return [label_precision([f[j] for f in F], [y[j] for y in Y]) for j in range(len(F[0]))]


def macro_average_precision(Y, F):
    return mean(label_precisions(Y, F))


def weighted_average_precision(Y, F):
    found = label_precisions(Y, F)
    # a label counts as often as it occurs
    return mean([found[j] for y in Y for j in range(len(y)) if y[j]])


def micro_average_precision(Y, F):
    value = label_precision([v for f in F for v in f], [t for y in Y for t in y])
    return nan if value is None else value


# the first k -------------------------------------------------------------------------------


def first(y, f, k, worth):
    """The first k labels, in the order that is worst for the learner; only those with a score."""
    ranked = [j for j in range(len(f)) if f[j] > -inf]
    return sorted(ranked, key=lambda j: (-f[j], j in y, worth[j] if j in y else 0))[:k]


def gains(y, f, k, worth):
    return [worth[j] if j in y else 0.0 for j in first(y, f, k, worth)]


def best_gains(y, k, worth):
    return sorted((worth[j] for j in y), reverse=True)[:k]


def discounted(values):
    return sum(v / log2(r + 1) for r, v in enumerate(values, 1))


def precision_at_k(Y, F, k):
    ones = [1.0] * len(F[0])
    return mean([sum(gains(y, f, k, ones)) / k if y else None for y, f in zip(sets(Y), F)])


def recall_at_k(Y, F, k):
    ones = [1.0] * len(F[0])
    return mean([sum(gains(y, f, k, ones)) / len(y) if y else None for y, f in zip(sets(Y), F)])


def ideal(y, k):
    return discounted([1.0] * min(k, len(y)))


def ndcg_at_k(Y, F, k):
    ones = [1.0] * len(F[0])
    return mean(
        [discounted(gains(y, f, k, ones)) / ideal(y, k) if y else None for y, f in zip(sets(Y), F)]
    )


def r_precision_at_k(Y, F, k):
    ones = [1.0] * len(F[0])
    return mean(
        [sum(gains(y, f, k, ones)) / min(k, len(y)) if y else None for y, f in zip(sets(Y), F)]
    )


def whole(y, f):
    """Whether each label is relevant, in the order that is worst for the learner."""
    return [j in y for j in sorted(range(len(f)), key=lambda j: (-f[j], j in y))]


def r_precision(Y, F):
    return mean([sum(whole(y, f)[: len(y)]) / len(y) if y else None for y, f in zip(sets(Y), F)])


def ndcg(Y, F):
    return mean(
        [discounted(whole(y, f)) / ideal(y, len(f)) if y else None for y, f in zip(sets(Y), F)]
    )


def psp_at_k(Y, F, k, p):
    worth = [1 / v for v in p]
    got = sum(sum(gains(y, f, k, worth)) / k for y, f in zip(sets(Y), F))
    best = sum(sum(best_gains(y, k, worth)) / k for y in sets(Y))
    return got / best if best else nan


def ps_ndcg_at_k(Y, F, k, p):
    worth = [1 / v for v in p]
    got = sum(discounted(gains(y, f, k, worth)) / ideal(y, k) for y, f in zip(sets(Y), F) if y)
    best = sum(discounted(best_gains(y, k, worth)) / ideal(y, k) for y in sets(Y) if y)
    return got / best if best else nan
