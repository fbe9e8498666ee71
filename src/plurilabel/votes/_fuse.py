"""From votes to labels: majority, Dawid-Skene, and a joint model of labels and sources."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logit, xlog1py, xlogy
from sklearn.cluster import KMeans

from plurilabel._core.blocks import dense
from plurilabel._core.compat import AtLeastOne, StrOptions, check_arguments
from plurilabel._core.labels import check_labels
from plurilabel._core.unknown import known_part
from plurilabel.votes._em import Expected, Model, Problem, maximise_posterior
from plurilabel.votes._fused import Fused
from plurilabel.votes._votes import Floats, Votes, by_label

METHODS = ("majority", "weighted", "dawid-skene", "joint")
_SOURCE_PRIOR = np.array([1.0, 3.0])  # wrong and right votes on each label, added to each source
_POOLED = 20.0  # votes at a source's mean rate over labels, added to each label
_ENOUGH = 30  # cells that two sources have in common, to say that one copies the other
_SHARE, _GAIN = 0.3, 10.0  # least share of copied votes of a pair, and nats that it explains
_LINE = 10.0  # penalty of a calibration that changes the log-odds
_KEPT = 0.2  # least share of copied votes of a source of a group


def fuse(
    votes: Votes,
    method: Annotated[str, StrOptions(set(METHODS))] = "joint",
    *,
    known: ArrayLike | None = None,
    n_components: AtLeastOne = 8,
    copies: bool = True,
    max_iter: int = 200,
    tol: float = 1e-6,
    random_state: int | np.random.RandomState | None = 0,
) -> Fused:
    """Combine the votes of all sources into one probability for each label of each row.

    Parameters
    ----------
    votes : Votes
    method : {"joint", "dawid-skene", "weighted", "majority"}, default="joint"
        ``"majority"``
            the share of yes among the votes on the cell; among all votes on the label if the
            cell has none, and 0.5 if the label has none.
        ``"weighted"``
            the same, with each source weighted by the log-odds that it agrees with the others,
            or with the known labels.
        ``"dawid-skene"``
            the sensitivity and specificity of each source for each label are estimated together
            with the labels, by expectation maximization with Beta priors (Dawid and Skene 1979).
            Labels are independent of each other.
        ``"joint"``
            the same for label sets from a mixture of ``n_components`` components, so that labels
            depend on each other. The rates of a source are shrunk towards its means over all
            labels. Sources that copy each other are detected and not counted several times.
    known : array-like of shape (n, q), optional
        Labels that are certain: 0 or 1, and NaN elsewhere. Rows and columns of a data frame are
        matched by name; it may have only some of the rows. Known labels are kept as they are,
        help to estimate the rates of the sources, and calibrate the probabilities of all other
        cells by a linear map of the log-odds, shrunk towards the identity. If only ones or only
        zeros of a label are known, they are not a random sample: they are kept, but have no
        influence on other cells.
    n_components : int, default=8
        For ``"joint"``; at most the number of rows.
    copies : bool, default=True
        For ``"joint"``: whether to look for sources that copy each other.
    max_iter : int, default=200
    tol : float, default=1e-6
        The fit stops when a step improves the log posterior by less than this share.
    random_state : int, RandomState or None, default=0
        Initializes the mixture.

    Notes
    -----
    Abstentions are ignored: sources are assumed to abstain for reasons unrelated to the label. A
    vote v between 0 and 1 counts as v of a yes and 1 - v of a no. The priors assume sources that
    are better than chance. A source that takes one label for another has a low sensitivity for
    the first and a low specificity for the second; the model does not link the two.

    Two sources are candidates for copying if they agree more than the labels suggested by all
    *other* sources explain. Their share of copied votes is then estimated with the rest of the
    model; candidates with a share below 0.2 are dropped. Copies cannot be identified if most
    sources copy the same one.

    References
    ----------
    A. Dawid, A. Skene. Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Applied Statistics 28, 1979. X. Dong, L. Berti-Equille, D. Srivastava. Integrating
    conflicting data: the role of source dependence. VLDB 2009.

    Examples
    --------
    >>> from plurilabel.votes import Votes, fuse
    >>> votes = Votes.from_sets({
    ...     "ann": [{"a"}, {"b"}, {"a"}, {"b"}, {"a"}, None],
    ...     "bob": [{"a"}, {"b"}, {"a"}, {"b"}, {"a"}, {"b"}],
    ...     "eve": [{"b"}, {"b"}, {"a"}, {"a"}, None, {"a"}],
    ... })
    >>> fused = fuse(votes, "dawid-skene")
    >>> fused.labels().tolist()
    [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]]
    >>> fused.source_table().label_names[-1]
    'eve'
    """
    check_arguments(fuse, locals())
    if not isinstance(votes, Votes):
        raise TypeError(f"votes must be Votes, got {type(votes).__name__}")
    if not len(votes):
        raise ValueError("votes must hold at least one vote, got none")
    told = _known_cells(known, votes)
    judged = (np.nanmin(told, axis=0, initial=1) == 0) & (np.nanmax(told, axis=0, initial=0) == 1)
    sure = np.where(judged, told, np.nan)
    alone = np.arange(len(votes.source_names))
    path = np.empty(0)
    problem = Problem(votes, sure, alone)
    if method in ("majority", "weighted"):
        p = _majority(votes, sure, method == "weighted")
        judge, copied = replace_known(p, sure), np.zeros((2, len(votes)))
        found = Expected(0.0, judge, np.ones((len(p), 1)), [judge], copied)
        model = problem.maximise(_first(problem, votes, 1), found)
    else:
        joint = method == "joint"
        K = min(n_components, votes.shape[0]) if joint else 1
        fit = _Fit(votes, sure, max_iter, tol, random_state)
        groups, weights = fit.copying() if joint and copies else (alone, np.ones(len(alone)))
        problem, model, path = fit(groups, K, weights, pooled=joint)
        p = problem.expect(model).p
    # known cells are judged by their votes, as all others are
    said = p if len(path) == 0 else problem.expect(model, clamp=False).p
    line = _calibration(said[:, judged], sure[:, judged])
    p[:, judged] = expit(line[0] + line[1] * _log_odds(p[:, judged]))
    names = np.asarray(votes.source_names, dtype=object)
    copying = [np.flatnonzero(problem.groups == g) for g in np.unique(problem.groups)]
    return Fused(
        replace_known(p, told), model.rates[1], 1 - model.rates[0], model.kappa,
        tuple(tuple(names[group]) for group in copying if len(group) > 1), path, line, votes,
    )  # fmt: skip


def _known_cells(known: Any, votes: Votes) -> Floats:
    """Known labels as 0 and 1, NaN elsewhere."""
    shape = votes.shape
    if known is None:
        return np.full(shape, np.nan)
    index: Any = getattr(known, "index", None)
    numbered = type(index).__name__ == "RangeIndex" and list(index) == list(range(shape[0]))
    if hasattr(known, "reindex") and not numbered:
        names = set(votes.row_names)
        if not index.is_unique or any(row not in names for row in index):
            raise ValueError(
                "the index of known must have row names of the votes, each once; "
                "reset_index(drop=True) drops it"
            )
        known = known.reindex(list(votes.row_names))
    filled, unknown = known_part(by_label(known, votes.label_names, "known"))
    labels = dense(check_labels(filled, name="known")).astype(np.float64)
    if labels.shape != shape:
        raise ValueError(f"known must have the shape of the votes, {shape}, got {labels.shape}")
    return labels if unknown is None else np.where(dense(unknown), np.nan, labels)


def replace_known(p: Floats, known: Floats) -> Floats:
    """Probabilities, with the known labels in place."""
    return np.where(np.isnan(known), p, known)


def _log_odds(p: Floats) -> Floats:
    return logit(np.clip(p, 1e-6, 1 - 1e-6))


def _calibration(p: Floats, known: Floats) -> tuple[float, float]:
    """Intercept and slope of the log-odds that suit the known labels, shrunk towards (0, 1)."""
    there = ~np.isnan(known)
    if not there.any():
        return 0.0, 1.0
    x, y = _log_odds(p[there]), known[there]
    design, line = np.column_stack([np.ones_like(x), x]), np.array([0.0, 1.0])
    for _ in range(50):  # Newton; the penalty keeps it finite where all are right
        f = expit(design @ line)
        gradient = design.T @ (f - y) + _LINE * (line - (0.0, 1.0))
        step = np.linalg.solve((design.T * (f * (1 - f))) @ design + _LINE * np.eye(2), gradient)
        line = line - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return float(line[0]), float(line[1])


def _majority(votes: Votes, known: Floats, weighted: bool) -> Floats:
    """Shares of yes, by weight of the sources."""
    w = np.ones(len(votes.source_names))
    if weighted:
        judged = known[votes.rows, votes.labels]
        others, rest = votes._others()
        judge = np.where(np.isnan(judged), rest, judged) if np.isnan(known).all() else judged
        met = ~np.isnan(judge) & ((others > 0) | ~np.isnan(judged))
        right = np.where(met, 1 - np.abs(votes.values - judge), 0.0)
        hits, n = (np.bincount(votes.sources, x, len(w)) for x in (right, met))
        w = np.maximum(logit((hits + 3) / (n + 4)), 0.01)  # the prior of all sources
    yes, total = (votes._sums(x * w[votes.sources]) for x in (votes.values, np.ones(len(votes))))
    n = total.sum(axis=0)
    rate = np.divide(yes.sum(axis=0), n, out=np.full(len(n), 0.5), where=n > 0)
    return np.where(total > 0, yes / np.where(total > 0, total, 1), rate)


def _first(problem: Problem, votes: Votes, K: int) -> Model:
    """Priors, and rates that will be replaced."""
    s, q = problem.n_sources, problem.shape[1]
    yes, total = votes.counts()
    rate = (yes.sum(axis=0) + 1) / (total.sum(axis=0) + 2)
    wrong, right = (np.full((s, q), count) for count in _SOURCE_PRIOR)
    return Model(
        pi=np.full(K, 1 / K), theta=np.tile(rate, (K, 1)), rates=np.full((2, s, q), 0.5),
        kappa=np.where(problem.copiers, 0.8, 0.0), theta_prior=2 * np.array([1 - rate, rate]),
        rate_prior=np.array([[right, wrong], [wrong, right]]),
    )  # fmt: skip


class _Fit:
    """Fits of the model to the same votes, for different groups of sources."""

    def __init__(self, votes: Votes, known: Floats, max_iter: int, tol: float, random_state: Any):
        self.votes, self.known, self.random_state = votes, known, random_state
        self.max_iter, self.tol = max_iter, tol

    def __call__(
        self, groups: NDArray[np.int64], K: int, weights: Floats, *, pooled: bool = True
    ) -> tuple[Problem, Model, Floats]:
        problem = Problem(self.votes, self.known, groups)
        model = self._start(problem, K, weights)
        model, found, path = maximise_posterior(problem, model, self.max_iter, self.tol)
        if pooled:
            model = _pooled(problem, model, found)
            model, _, path = maximise_posterior(problem, model, self.max_iter, self.tol)
        return problem, model, path

    def _start(self, problem: Problem, K: int, weights: Floats) -> Model:
        """The model that weighted vote shares suggest."""
        votes, model = self.votes, _first(problem, self.votes, K)
        w = weights[votes.sources]
        p = (votes._sums(votes.values * w) + model.theta[0]) / (votes._sums(w) + 1)
        p = replace_known(p, self.known)
        kind = np.zeros(len(p), dtype=np.int64)
        if K > 1 and len(np.unique(p, axis=0)) >= K:
            kind = KMeans(K, n_init=3, random_state=self.random_state).fit_predict(p)
        r = np.eye(K)[kind]
        copied = np.tile(0.8 * problem.same, (2, 1))
        by_component = [r[:, [c]] * p for c in range(K)]
        return problem.maximise(model, Expected(0.0, p, r, by_component, copied))

    def copying(self) -> tuple[NDArray[np.int64], Floats]:
        """Groups of sources that copy each other, and weights of all sources to start from."""
        groups = np.arange(len(self.votes.source_names))
        weights = np.ones(len(groups))
        problem, model, _ = self(groups, 1, weights)
        for _ in range(3):  # the groups found change what the next search sees
            shares = _copied_shares(self.votes, problem, model)
            if not shares.any():
                break
            fits = [self._without_weak(found, shares) for found in _groupings(shares)]
            # sources that agree because they are right seem to copy a part of their votes; of all
            # groupings, the one with most sources that copy most of theirs is taken
            problem, model, weights = max(fits, key=_copying)
            if (problem.groups == groups).all():
                break
            groups = problem.groups
        return groups, weights

    def _without_weak(self, groups: NDArray[np.int64], shares: Floats) -> Any:
        """Fit of the groups, without sources that copy little, and the weights at its start."""
        while True:
            together = groups[:, None] == groups
            weights = 1 / (1 + (shares * together).sum(axis=0))
            problem, model, _ = self(groups, 1, weights)
            weak = problem.copiers & (model.kappa < _KEPT)
            if not weak.any():
                return problem, model, weights
            groups = np.where(weak, np.arange(len(groups)), groups)


def _copying(fit: Any) -> tuple[bool, float]:
    problem, model, _ = fit
    return bool(problem.copiers.any()), float((model.kappa[problem.copiers] - 0.5).sum())


def _groupings(shares: Floats) -> list[NDArray[np.int64]]:
    """Groups of sources that are linked at some level of shares: all of them, and each alone."""
    alone, found = np.arange(len(shares)), {}
    for level in np.unique(np.quantile(shares[shares > 0], np.linspace(0, 1, 5), method="lower")):
        part = connected_components(shares >= level)[1]
        linked = np.array([np.flatnonzero(part == g)[0] for g in part])
        several = [g for g, size in zip(*np.unique(linked, return_counts=True)) if size > 1]
        for groups in (linked, *(np.where(linked == g, linked, alone) for g in several)):
            found[groups.tobytes()] = groups
    return list(found.values())


def _pooled(problem: Problem, model: Model, found: Expected) -> Model:
    """The model with rates of each source that lean on its mean rate over all labels."""
    at, s, q = found.p.ravel()[problem.cell], problem.n_sources, problem.shape[1]
    priors = []
    for z, sure in enumerate((1 - at, at)):
        w = sure * (1 - found.copied[z])
        n, yes = (np.bincount(problem.sources, x, s) for x in (w, w * problem.v))
        rate = (yes + _SOURCE_PRIOR[z]) / (n + _SOURCE_PRIOR.sum())
        priors.append([np.tile(_POOLED * x[:, None], q) for x in (1 - rate, rate)])
    return replace(model, rate_prior=np.array(priors))


def _copied_shares(votes: Votes, problem: Problem, model: Model) -> Floats:
    """Shares of copied votes (s, s) of the pairs that agree more than other sources explain."""
    (n, q), s = votes.shape, problem.n_sources
    rates = model.rates.reshape(2, -1)[:, problem.pair]
    says = xlogy(problem.v, rates) + xlog1py(1 - problem.v, -rates)
    label = np.tile(np.arange(q), n)
    odds = logit(model.pi @ model.theta)[label]
    odds += np.bincount(problem.cell, says[1] - says[0], n * q)
    own = [np.flatnonzero(votes.sources == i) for i in range(s)]
    shares = np.zeros((s, s))
    for i, j in combinations(range(s), 2):
        cells, first, second = np.intersect1d(
            problem.cell[own[i]], problem.cell[own[j]], assume_unique=True, return_indices=True
        )
        if len(cells) < _ENOUGH:
            continue
        pair = [own[i][first], own[j][second]]
        p = expit(odds[cells] - sum(says[1, at] - says[0, at] for at in pair))
        v = [problem.v[at] for at in pair]
        shares[i, j] = shares[j, i] = _share_of_pair(v, np.array([1 - p, p]), label[cells], q)
    return shares


def _share_of_pair(v: list[Floats], sure: Floats, label: NDArray[np.int64], q: int) -> float:
    """The share of copied votes of two sources, 0 if too low to be told from none."""
    # ``sure`` (2, cells) is what the other sources say of each cell: no label, or label.
    own = []
    for said in v:
        rates = [
            ((np.bincount(label, w * said, q) + prior) / (np.bincount(label, w, q) + 4))[label]
            for w, prior in zip(sure, _SOURCE_PRIOR)
        ]
        own.append(np.array([rate**said * (1 - rate) ** (1 - said) for rate in rates]))
    apart = (sure * own[0] * own[1]).sum(axis=0)
    same = 1 - np.abs(v[0] - v[1])
    copied = same * (sure * (own[0] + own[1])).sum(axis=0) / 2  # who copies whom is not known
    share = 0.3
    for _ in range(100):
        part = share * copied
        before, share = share, float(np.mean(part / (part + (1 - share) * apart)))
        if abs(share - before) < 1e-4:
            break
    gain = np.log((share * copied + (1 - share) * apart) / apart).sum()
    return share if share > _SHARE and gain > _GAIN else 0.0
