"""The prior: random tables whose labels depend on their features, and on one another.

A table is made in four steps, each of a random kind: hidden causes and features (``FEATURES``),
a score for every label and row (``SCORES``), dependence among the labels (``TIES``), and label
sets from scores (``CUTS``). Features are then given the marginals of real columns. Tables of one
call share the kinds and differ in everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.prior_fitted._dice import Dice

RAREST, MOST_FREQUENT = 0.01, 0.6
"""Share of rows that have a label, where it is drawn."""
VERSION = 1
"""Raised when the prior changes, and kept with the weights."""

BENDS: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.tanh,
    torch.relu,
    torch.sin,
    torch.abs,
    lambda x: x,
    lambda x: torch.exp(-x * x),
    torch.sign,
    F.silu,
    lambda x: x.clamp(-1.5, 1.5).square(),
    lambda x: torch.sin(3 * x),
    lambda x: torch.round(x * 1.5),
    lambda x: torch.log1p(x.abs()) * torch.sign(x),
)


def draw_easy(dice: Dice, tables: int, n: int, d: int, q: int) -> tuple[Tensor, Tensor]:
    """Tables without noise whose labels are linear in the features, or features themselves.

    A network that sees many of them at first sooner uses the labels of other rows: see the README
    for the figures.
    """
    X = dice.normal(tables, n, d)
    kind = dice.choose([linear_scores, node_scores])
    return X, cut_at_frequencies(
        dice, standard(kind(dice, X, q)) + 1e-3 * dice.normal(tables, n, q)
    )


def draw(
    dice: Dice, tables: int, n: int, d: int, q: int, *, scores: str | None = None
) -> tuple[Tensor, Tensor]:
    """Features (tables, n, d) and labels (tables, n, q) of tables with one structure.

    ``scores`` names the mechanism behind the labels, see ``SCORES``; by default any of them.
    """
    X, hidden = dice.choose(FEATURES)(dice, tables, n, d)
    X = standard(X)
    # labels depend on what is seen, or on what is behind it
    base = X if dice.chance(0.5) else standard(hidden)
    S = standard(SCORES[scores or dice.choose(list(SCORES))](dice, base, q))
    for tie in TIES:
        if dice.chance(0.25):
            S = standard(tie(dice, S))
    noise = dice.log_uniform(0.01, 1.0) * torch.exp(0.5 * dice.normal(tables, 1, q))
    S = S + (noise + 1e-4) * dice.normal(tables, n, q)
    Y = dice.choose(CUTS)(dice, standard(S))
    X = pick(dice, present(dice, spoil(dice, X)), d)  # in any order
    return X, flip(dice, Y)


def standard(x: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the rows of each table."""
    x = x - x.mean(1, keepdim=True)
    return x / (x.square().mean(1, keepdim=True).sqrt() + 1e-4)


def pick(dice: Dice, x: Tensor, k: int) -> Tensor:
    """Columns of ``x`` at random, each once as far as they suffice."""
    tables, n, columns = x.shape
    order = dice.order(tables, columns)[:, torch.arange(k, device=x.device) % columns]
    return x.gather(2, order[:, None].expand(tables, n, k))


def bend(dice: Dice, x: Tensor) -> Tensor:
    """An activation, or two of them for different columns."""
    first = dice.choose(BENDS)(x)
    if dice.chance(0.5):
        return first
    mask = dice.mask(dice.uniform(0.2, 0.8), x.shape[0], 1, x.shape[2])
    return torch.where(mask, first, dice.choose(BENDS)(x))


def sparse_weights(dice: Dice, tables: int, inputs: int, outputs: int, keep: float) -> Tensor:
    """Weights of which about ``keep`` are not 0, but about two for each output at least."""
    keep = min(1.0, max(keep, 2 / inputs))
    W = dice.normal(tables, inputs, outputs) * dice.mask(keep, tables, inputs, outputs)
    return W / math.sqrt(keep * inputs)


# ---- features ----------------------------------------------------------------------------------


def causes(dice: Dice, tables: int, n: int, h: int) -> Tensor:
    """Hidden causes: normal, uniform, clustered, on or off, heavy-tailed; few behind many."""
    kind = dice.integer(0, 4)
    if kind == 0:
        z = dice.normal(tables, n, h)
    elif kind == 1:
        z = dice.flat(tables, n, h) * 3.4 - 1.7
    elif kind == 2:
        clusters = dice.integer(2, 30)
        centres = dice.normal(tables, clusters, h) * dice.uniform(0.5, 3)
        # clusters of unequal sizes
        member = (dice.flat(tables, n).pow(dice.uniform(1, 2)) * clusters).long()
        z = centres.gather(1, member[..., None].expand(tables, n, h))
        z = z + dice.uniform(0.1, 1) * dice.normal(tables, n, h)
    elif kind == 3:
        z = (dice.flat(tables, n, h) < dice.uniform(0.2, 1) * dice.flat(tables, 1, h)).float()
        z = 3 * z + dice.uniform(0.05, 1) * dice.normal(tables, n, h)
    else:
        z = dice.normal(tables, n, h) * -torch.log1p(-dice.flat(tables, n, 1))
    if dice.chance(0.35):
        r = dice.integer(1, max(1, h // 2))
        z = z[..., :r] @ dice.normal(tables, r, h) / math.sqrt(r)
        z = z + dice.uniform(0, 0.5) * dice.normal(tables, n, h)
    return z


def graph_features(dice: Dice, tables: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    """Features are nodes of a random layered graph; most of the others remain hidden."""
    h = dice.integer(2, 24) if dice.chance(0.5) else dice.integer(max(4, d // 8), max(8, d))
    width = dice.integer(8, min(160, max(16, 2 * d)))
    keep, noise = dice.uniform(0.05, 1), dice.log_uniform(0.005, 0.5)
    x = z = causes(dice, tables, n, h)
    nodes = [z]
    for _ in range(dice.integer(1, 5)):
        W = sparse_weights(dice, tables, x.shape[2], width, keep)
        x = standard(x) @ W * dice.uniform(0.5, 2.5)
        x = bend(dice, x + dice.uniform(0, 1) * dice.normal(tables, 1, width))
        x = x + noise * dice.normal(tables, n, width)
        nodes.append(x)
    hidden = torch.cat(nodes, 2)
    seen = torch.cat([z, x], 2) if dice.chance(0.3) else hidden
    return pick(dice, seen, d), hidden


def factor_features(dice: Dice, tables: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    """Many correlated features of few factors, as of images, genes and sounds."""
    r = dice.integer(2, max(3, min(40, d)))
    z = causes(dice, tables, n, r) * torch.exp(-dice.uniform(0, 2) * dice.flat(tables, 1, r))
    W = sparse_weights(dice, tables, r, d, dice.uniform(0.1, 1))
    if dice.chance(0.5):  # neighbours resemble one another
        place = torch.arange(d, device=z.device)
        reach = dice.log_uniform(1, max(2.0, d / 4))
        W = W @ torch.exp(-(place[:, None] - place).abs() / reach)
    X = standard(z @ W)
    if dice.chance(0.6):
        X = bend(dice, X * dice.uniform(0.5, 2) + dice.uniform(0, 1) * dice.normal(tables, 1, d))
    noise = dice.log_uniform(0.05, 1.5) * torch.exp(0.5 * dice.normal(tables, 1, d))
    return standard(X) + noise * dice.normal(tables, n, d), z


def topic_features(dice: Dice, tables: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    """Counts of words, or their presence, in texts that mix topics."""
    topics = dice.integer(2, 20)
    z = dice.normal(tables, n, topics) * dice.uniform(1, 4)
    words = torch.softmax(dice.normal(tables, topics, d) * dice.uniform(0.5, 3), -1)
    length = dice.log_uniform(0.3, 8) * d * torch.exp(0.4 * dice.normal(tables, n, 1))
    rate = torch.softmax(z, -1) @ words * length
    X = torch.poisson(rate.clamp(max=1e4), generator=dice.generator)
    if dice.chance(0.4):
        X = (X > 0).float()
    elif dice.chance(0.5):
        X = torch.log1p(X)
    return X, torch.softmax(z, -1)


def plain_features(dice: Dice, tables: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    """The causes themselves."""
    z = causes(dice, tables, n, d)
    return z, z


FEATURES = (graph_features, graph_features, factor_features, factor_features, topic_features,
            plain_features)  # fmt: skip


# ---- scores of the labels ----------------------------------------------------------------------


def node_scores(dice: Dice, x: Tensor, q: int) -> Tensor:
    """Nodes of the graph itself, each bent."""
    return bend(dice, pick(dice, x, q) + dice.uniform(0, 1) * dice.normal(x.shape[0], 1, q))


def tree_scores(dice: Dice, x: Tensor, q: int) -> Tensor:
    """Sums of trees with one split per level, whose leaves are shared by the labels."""
    tables, n, d = x.shape
    trees, depth = int(dice.log_uniform(1, 16)), dice.integer(1, 4)
    useful = min(d, int(dice.log_uniform(1, 40)))
    feature = dice.index(useful, tables, 1, trees * depth).expand(tables, n, trees * depth)
    value = pick(dice, x, useful).gather(2, feature)
    cut = value.gather(1, dice.index(n, tables, 1, trees * depth))
    power = 2 ** torch.arange(depth, device=x.device)
    leaf = ((value > cut).view(tables, n, trees, depth) * power).sum(-1)
    leaf = leaf + torch.arange(trees, device=x.device) * 2**depth
    worth = dice.normal(tables, trees * 2**depth, q)
    worth = worth * dice.mask(dice.uniform(0.2, 1), tables, trees * 2**depth, q)
    index = leaf.view(tables, n * trees, 1).expand(-1, -1, q)
    return worth.gather(1, index).view(tables, n, trees, q).sum(2)


def network_scores(dice: Dice, x: Tensor, q: int) -> Tensor:
    """A small network with a layer that the labels share."""
    tables, _, d = x.shape
    width = int(dice.log_uniform(2, 48))
    inner = x @ sparse_weights(dice, tables, d, width, dice.log_uniform(0.02, 1))
    inner = bend(dice, standard(inner) * dice.uniform(0.5, 2.5) + dice.normal(tables, 1, width))
    return inner @ sparse_weights(dice, tables, width, q, dice.uniform(0.1, 1))


def linear_scores(dice: Dice, x: Tensor, q: int) -> Tensor:
    """Linear in a few features, or a little in all of them."""
    keep = dice.log_uniform(0.02, 1)
    return x @ sparse_weights(dice, x.shape[0], x.shape[2], q, keep)


def prototype_scores(dice: Dice, x: Tensor, q: int) -> Tensor:
    """Rows are near one of the prototypes, each with a label set of its own."""
    tables, n, d = x.shape
    prototypes = int(dice.log_uniform(2, min(60, max(3, n // 4))))
    x = pick(dice, x, min(d, dice.integer(1, 16)))
    rows = dice.index(n, tables, prototypes, 1).expand(-1, -1, x.shape[2])
    distance = torch.cdist(x, x.gather(1, rows))
    distance = distance / (distance.mean((1, 2), keepdim=True) + 1e-4)
    near = torch.softmax(-dice.log_uniform(2, 40) * distance.square(), -1)
    sets = dice.normal(tables, prototypes, q)
    if dice.chance(0.5):
        sets = (sets > dice.uniform(0, 1.2)).float()
    return near @ sets


SCORES = {
    "nodes": node_scores,
    "trees": tree_scores,
    "network": network_scores,
    "linear": linear_scores,
    "prototypes": prototype_scores,
}


# ---- dependence among labels -------------------------------------------------------------------


def share_few_scores(dice: Dice, S: Tensor) -> Tensor:
    """All labels are mixtures of a few of the scores."""
    tables, _, q = S.shape
    r = dice.integer(1, max(1, q // 2))
    own = dice.uniform(0, 0.5) * S
    return S[..., :r] @ dice.normal(tables, r, q) / math.sqrt(r) + own


def come_in_groups(dice: Dice, S: Tensor) -> Tensor:
    """Hidden groups, of which a row is in one or a few, bring their labels along."""
    tables, _, q = S.shape
    groups = dice.integer(2, max(3, 2 * q))
    strength = standard(S @ dice.normal(tables, q, groups)) * dice.uniform(1, 8)
    S = 0.5 * S if dice.chance(0.5) else 0.0
    return torch.softmax(strength, -1) @ dice.normal(tables, groups, q) * math.sqrt(groups) + S


def follow_one_another(dice: Dice, S: Tensor) -> Tensor:
    """A label that is likely makes others likely, or unlikely."""
    tables, _, q = S.shape
    W = dice.normal(tables, q, q) * dice.mask(dice.uniform(0.1, 1), tables, q, q)
    return S + dice.uniform(0.2, 1.5) * torch.relu(S) @ W / math.sqrt(q)


def have_parents(dice: Dice, S: Tensor) -> Tensor:
    """The score of a label is at most that of its parent, in a tree of two or three levels."""
    tables, n, q = S.shape
    for _ in range(dice.integer(1, 2)):
        # roots: parents of themselves
        parent = torch.where(
            dice.mask(dice.uniform(0.2, 0.6), tables, q),
            torch.arange(q, device=S.device),
            dice.index(q, tables, q),
        )
        above = S.gather(2, parent[:, None].expand(tables, n, q))
        S = torch.minimum(S, above + 0.5 * S.std())
    return S


TIES = (share_few_scores, come_in_groups, follow_one_another, have_parents)


# ---- label sets from scores --------------------------------------------------------------------


def cut_at_frequencies(dice: Dice, S: Tensor) -> Tensor:
    """Every label has a frequency, and the rows with its highest scores."""
    tables, n, q = S.shape
    low, high = dice.choose([(0.1, 0.6), (0.01, 0.3), (0.02, 0.6), (0.2, 0.5)])
    low = max(low, min(2 / n, high))
    spread = math.log(high / low) * dice.flat(tables, 1, q)
    if dice.chance(0.3):  # one frequency for all, nearly
        spread = math.log(high / low) * dice.flat(tables, 1, 1) * (0.8 + 0.2 * dice.flat(1, 1, q))
    count = (n * low * torch.exp(spread)).round().clamp(1, max(1, int(MOST_FREQUENT * n))).long()
    cut = S.sort(1, descending=True).values.gather(1, count)
    return (cut < S).float()


def cut_near_best(dice: Dice, S: Tensor) -> Tensor:
    """Labels compete: a row has its best one, and others only if nearly as good."""
    tables, _, q = S.shape
    S = S + dice.uniform(0, 0.8) * dice.normal(tables, 1, q)
    gap = dice.choose([0.0, dice.uniform(0, 0.4), dice.uniform(0, 1.5)])
    Y = (S.amax(2, keepdim=True) - gap <= S).float()
    return _where_usual(dice, S, Y)


def cut_at_level(dice: Dice, S: Tensor) -> Tensor:
    """One level for all labels: causes that are on or off become labels as they are."""
    return _where_usual(dice, S, (dice.uniform(-0.2, 0.8) < S).float())


def _where_usual(dice: Dice, S: Tensor, Y: Tensor) -> Tensor:
    """Labels that are too rare or too frequent are cut at frequencies instead."""
    frequency = Y.mean(1, keepdim=True)
    usual = (frequency >= max(RAREST, 2 / S.shape[1])) & (frequency <= MOST_FREQUENT)
    return torch.where(usual, Y, cut_at_frequencies(dice, S))


def cut_by_row(dice: Dice, S: Tensor) -> Tensor:
    """Some rows have many labels, others few, whatever their features."""
    tables, n, _ = S.shape
    return cut_at_frequencies(dice, S + dice.uniform(0.1, 1) * dice.normal(tables, n, 1))


CUTS = (cut_at_frequencies, cut_at_frequencies, cut_at_level, cut_near_best, cut_near_best,
        cut_by_row)  # fmt: skip


def flip(dice: Dice, Y: Tensor) -> Tensor:
    """A few labels are wrong: drawn at random by their frequency."""
    if dice.chance(0.7):
        return Y
    wrong = dice.mask(dice.uniform(0, 0.1), *Y.shape)
    return torch.where(wrong, (dice.flat(*Y.shape) < Y.mean(1, keepdim=True)).float(), Y)


# ---- features as they come ---------------------------------------------------------------------


def spoil(dice: Dice, X: Tensor) -> Tensor:
    """Replace columns by noise or by near-copies of others."""
    tables, n, d = X.shape
    if dice.chance(0.35):
        X = torch.where(
            dice.mask(dice.uniform(0, 0.6), tables, 1, d), dice.normal(tables, n, d), X
        )
    if dice.chance(0.25):
        copies = pick(dice, X, d) + dice.log_uniform(0.01, 1) * dice.normal(tables, n, d)
        X = torch.where(dice.mask(dice.uniform(0, 0.5), tables, 1, d), copies, X)
    return X


def present(dice: Dice, X: Tensor) -> Tensor:
    """Give the columns marginals of real ones: one kind for all, or any for each."""
    X = standard(X)
    tables, _, d = X.shape
    if dice.chance(0.4):
        return X
    if dice.chance(0.5):
        return dice.choose(MARGINALS)(dice, X)
    for marginal in MARGINALS:
        X = torch.where(dice.mask(0.2, tables, 1, d), marginal(dice, X), X)
    return X


def powers(dice: Dice, X: Tensor) -> Tensor:
    return X.sign() * X.abs() ** dice.uniform(0.4, 2.5)


def heavy_tails(dice: Dice, X: Tensor) -> Tensor:
    return torch.exp(X.clamp(-5, 5) * dice.uniform(0.5, 1.5))


def counts(dice: Dice, X: Tensor) -> Tensor:
    return torch.exp(X.clamp(-5, 5) * dice.uniform(0.3, 1) + dice.uniform(-0.5, 2)).floor()


def steps(dice: Dice, X: Tensor) -> Tensor:
    levels = 1 + 6 * dice.flat(X.shape[0], 1, X.shape[2])
    return torch.round(X * levels / 2)


def yes_or_no(dice: Dice, X: Tensor) -> Tensor:
    return (dice.normal(X.shape[0], 1, X.shape[2]) + dice.uniform(0, 1.2) < X).float()


def zeros(dice: Dice, X: Tensor) -> Tensor:
    """Only values above a level of the column remain."""
    return torch.relu(X - dice.normal(X.shape[0], 1, X.shape[2]) * 0.7 - dice.uniform(-0.5, 1))


def categories(dice: Dice, X: Tensor) -> Tensor:
    """Codes of intervals in an order without meaning."""
    k = dice.integer(2, 12)
    interval = ((torch.erf(X / math.sqrt(2)) + 1) / 2 * k).long().clamp(0, k - 1)
    codes = dice.normal(X.shape[0], k, X.shape[2]).argsort(1).float()
    return codes.gather(1, interval)


def one_of_several(dice: Dice, X: Tensor) -> Tensor:
    """Neighbouring columns are the categories of one variable, as 0 and 1."""
    tables, _, d = X.shape
    k = min(d, dice.integer(2, 9))
    # unequal categories; those of an incomplete variable at the end never occur
    edges = dice.normal(tables, 1, -(-d // k), k - 1).sort(-1).values
    code = (X[:, :, ::k, None] > edges).sum(-1)  # (tables, n, variables)
    place = torch.arange(k, device=X.device)
    return (code[..., None] == place).flatten(2)[:, :, :d].to(X)


def bounded(dice: Dice, X: Tensor) -> Tensor:
    return torch.sigmoid(X * dice.uniform(0.5, 3))


MARGINALS = (powers, heavy_tails, counts, steps, yes_or_no, zeros, categories, one_of_several,
             bounded)  # fmt: skip


def hide(dice: Dice, X: Tensor, Y: Tensor, n_known: int) -> tuple[Tensor, Tensor]:
    """Values of ``X``, and labels of the known rows, that nobody knows: NaN."""
    if dice.chance(0.15):
        rate = dice.uniform(0, 0.4) * dice.flat(X.shape[0], 1, X.shape[2])
        X = X.masked_fill(dice.flat(*X.shape) < rate, torch.nan)
    known = Y[:, :n_known]
    if dice.chance(0.1):
        known = known.masked_fill(dice.mask(dice.uniform(0, 0.5), *known.shape), torch.nan)
    return X, known
