"""A mixture of label sets, seen through sources that err and copy: expectation maximisation.

A row belongs to one of K components c with probability pi_c. Given c, its labels are independent,
with P(label j) = theta_cj. Source s votes yes with probability a_sj (its sensitivity) if label j
is present, and with probability b_sj if it is absent. A source that copies another repeats its
vote with probability kappa_s and votes independently otherwise. With K = 1 and without copies this
is the model of Dawid and Skene for each label. A vote v between 0 and 1 counts as v of a yes and
1 - v of a no.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlog1py, xlogy

from plurilabel.votes._votes import Floats, Votes

_COPY_PRIOR = np.array([1.0, 3.0])  # counts of copied and of own votes, added


@dataclass(frozen=True)
class Model:
    """Parameters, and the Beta and Dirichlet priors that keep them from 0 and 1."""

    pi: Floats  # (K,)
    theta: Floats  # (K, q)
    rates: Floats  # (2, s, q): b, then a: P(yes) of a label that is not there, and of one that is
    kappa: Floats  # (s,): share of copied votes; 0 for a source that copies nobody
    theta_prior: Floats  # (2, q): counts of no and yes, added in each component
    rate_prior: Floats  # (2, 2, s, q): the same for each rate


class Expected(NamedTuple):
    """What the E-step finds."""

    likelihood: float
    p: Floats  # (n, q): P(label | votes)
    r: Floats  # (n, K): P(component | votes)
    by_component: list[Floats]  # P(label, component | votes)
    copied: Floats  # (2, v): P(the vote is a copy | its votes, no label or label)


class Problem:
    """Votes in the form that the steps need.

    ``groups[s]`` is the group of source s: in a cell, a source may copy those of its group that
    come before it, each with the same probability.
    """

    def __init__(self, votes: Votes, known: Floats, groups: NDArray[np.int64]) -> None:
        self.shape, self.n_sources = votes.shape, len(votes.source_names)
        q = votes.shape[1]
        self.cell = votes.rows * q + votes.labels
        self.pair = votes.sources * q + votes.labels
        self.v, self.sources, self.known, self.groups = votes.values, votes.sources, known, groups
        # votes are sorted by cell and source: a stable sort keeps the order within a group
        key = self.cell * self.n_sources + groups[self.sources]
        order = np.argsort(key, kind="stable")
        _, first, size = np.unique(key[order], return_index=True, return_counts=True)
        place, sums = np.empty_like(order), np.empty(len(order))
        running = np.cumsum(self.v[order]) - self.v[order]
        place[order] = np.arange(len(order)) - np.repeat(first, size)
        sums[order] = running - np.repeat(running[first], size)
        self.may_copy = place > 0
        # the share of those before that say the same
        self.same = np.where(self.may_copy, 1 - np.abs(self.v - sums / np.maximum(place, 1)), 0.0)
        self.copiers = np.isin(np.arange(self.n_sources), np.unique(self.sources[self.may_copy]))

    def expect(self, model: Model, *, clamp: bool = True) -> Expected:
        """The E-step; ``clamp=False`` leaves the known cells to the votes."""
        rates, mine = model.rates.reshape(2, -1), self.may_copy
        yes, no = np.log(rates)[:, self.pair], np.log1p(-rates)[:, self.pair]
        total = self.v * yes + (1 - self.v) * no  # (2, v): log P(vote | no label or label)
        copied = np.zeros_like(total)
        kappa = model.kappa[self.sources[mine]]
        both = kappa * self.same[mine] + (1 - kappa) * np.exp(total[:, mine])
        copied[:, mine], total[:, mine] = kappa * self.same[mine] / both, np.log(both)
        size, evidence = self.shape[0] * self.shape[1], []
        for value, each in enumerate(total):
            L = np.bincount(self.cell, each, size).reshape(self.shape)
            evidence.append(np.where(self.known == 1 - value, -np.inf, L) if clamp else L)
        joint, given = np.empty((self.shape[0], len(model.pi))), []
        for c, theta in enumerate(model.theta):
            absent, there = np.log1p(-theta) + evidence[0], np.log(theta) + evidence[1]
            either = np.logaddexp(absent, there)
            joint[:, c] = np.log(model.pi[c]) + either.sum(axis=1)
            given.append(np.exp(there - either))
        each = logsumexp(joint, axis=1)
        r = np.exp(joint - each[:, None])
        by_component = [r[:, [c]] * p for c, p in enumerate(given)]
        p = np.minimum(np.sum(by_component, axis=0), 1.0)
        return Expected(float(each.sum()), p, r, by_component, copied)

    def maximise(self, model: Model, found: Expected) -> Model:
        """The M-step: the parameters that suit the expectations best."""
        (no, yes), rows = model.theta_prior, found.r.sum(axis=0)
        present = np.array([part.sum(axis=0) for part in found.by_component])
        theta = (present + yes) / (rows[:, None] + no + yes)
        at, q = found.p.ravel()[self.cell], self.shape[1]
        sure = np.array([1 - at, at])  # (2, v)
        weights = sure * (1 - found.copied)
        size = self.n_sources * q
        rates = np.empty_like(model.rates)
        for z, (w, prior) in enumerate(zip(weights, model.rate_prior)):
            n, said = (np.bincount(self.pair, x, size).reshape(-1, q) for x in (w, w * self.v))
            rates[z] = (said + prior[1]) / (n + prior.sum(axis=0))
        copies = np.bincount(self.sources, (sure * found.copied).sum(axis=0), self.n_sources)
        chances = np.bincount(self.sources, self.may_copy, self.n_sources)
        kappa = (copies + _COPY_PRIOR[0]) / (chances + _COPY_PRIOR.sum())
        kappa = np.where(self.copiers, kappa, 0.0)
        pi = (rows + 1) / (rows + 1).sum()
        return replace(model, pi=pi, theta=theta, rates=rates, kappa=kappa)

    def objective(self, model: Model, likelihood: float) -> float:
        """Log likelihood and log priors: what no step lowers."""

        def log_prior(rate: Floats, counts: Any) -> float:
            return float((xlog1py(counts[0], -rate) + xlogy(counts[1], rate)).sum())

        kappa = model.kappa[self.copiers]
        total = likelihood + float(np.log(model.pi).sum()) + log_prior(kappa, _COPY_PRIOR[::-1])
        total += log_prior(model.theta, model.theta_prior[:, None])
        return total + sum(log_prior(*both) for both in zip(model.rates, model.rate_prior))


def maximise_posterior(
    problem: Problem, model: Model, max_iter: int, tol: float
) -> tuple[Model, Expected, Floats]:
    """EM from a first model: the last model, what it expects, and the objective at each step."""
    path: list[float] = []
    while True:
        found = problem.expect(model)
        path.append(problem.objective(model, found.likelihood))
        gained = path[-1] - path[-2] if len(path) > 1 else np.inf
        if gained <= tol * max(1.0, abs(path[-1])) or len(path) > max_iter:
            return model, found, np.asarray(path)
        model = problem.maximise(model, found)
