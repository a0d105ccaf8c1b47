"""Likelihoods of regression families as textbooks define them, and by brute force what they do far out.

Nothing here knows inequalities: a direction is judged by the log-likelihood at large multiples of it. Designs of 0 and
1 with at most four coefficients have all their directions of recession among small whole numbers (their entries are
minors of matrices of -1, 0 and 1: at most 2 for three coefficients, 4 for four), so trying these is a decision.
"""

from functools import cache, cached_property
from itertools import combinations, product
from math import comb, gcd

import numpy as np
from scipy.special import gammaln, log_ndtr

FAR = 2.0**10  # how far out: e**-FAR is 0 in floats
LINKS = ("logit", "probit", "cloglog")


def log_cdf(eta, link):
    """Logarithms of F(eta) and of 1 - F(eta)."""
    with np.errstate(over="ignore"):
        if link == "logit":
            return -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
        if link == "probit":
            return log_ndtr(eta), log_ndtr(-eta)
        return np.where(eta < -30, eta, np.log(-np.expm1(-np.exp(np.maximum(eta, -30))))), -np.exp(eta)


def log_sum(values, axis=-1):
    """Logarithm of the sum of exponentials."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))


def log_between(a, b, link):
    """Logarithm of F(a) - F(b) for a > b, where a may be infinite and b minus infinite."""
    with np.errstate(all="ignore"):
        if link == "logit":
            found = log_cdf(a, link)[0] + log_cdf(b, link)[1] + np.log1p(-np.exp(b - a))
        else:
            flip = b > 0
            high, low = np.where(flip, -b, a), np.where(flip, -a, b)
            top, bottom = log_ndtr(high), log_ndtr(low)
            found = top + np.log1p(-np.exp(np.where(np.isneginf(bottom), -np.inf, bottom - top)))
        return np.where(a > b, found, -np.inf)


class Case:
    """A model: what the user gives, and its likelihood."""

    def __init__(self, family, X, y, *, offset=False, weights=None, strata=None, classes=0, link="logit", beside=None):
        self.family, self.X, self.y, self.link = family, np.asarray(X, dtype=float), y, link
        self.n, self.d = self.X.shape
        self.weights = np.ones(self.n) if weights is None else np.asarray(weights, dtype=float)
        self.strata = [0] * self.n if strata is None else list(strata)
        self.counted = [i for i in range(self.n) if self.weights[i] > 0]
        self.classes, self.offset = classes, offset
        self.beside = np.zeros(self.n) if beside is None else np.asarray(beside, dtype=float)  # the offsets of rows
        self.full = np.column_stack((np.ones(self.n), self.X)) if offset else self.X
        own = self.full.shape[1]
        self.p = {"multinomial": (classes - 1) * own, "ordinal": classes - 1 + own}.get(family, own)

    def scores(self, B, X):
        """Linear predictors of rows for coefficients, one line for each of these: (m, rows) or (m, rows, classes)."""
        if self.family == "multinomial":
            blocks = B.reshape(len(B), self.classes - 1, -1)
            inner = np.einsum("mcj,nj->mnc", blocks, X)
            return np.concatenate((np.zeros((*inner.shape[:2], 1)), inner), axis=2)
        return (B[:, self.classes - 1 :] if self.family == "ordinal" else B) @ X.T

    def cuts(self, B):
        """Thresholds with the two infinite ones."""
        ends = np.full((len(B), 1), np.inf)
        return np.hstack((-ends, B[:, : self.classes - 1], ends))

    def probabilities(self, B, X):
        """Logarithms of the probability of every class: (m, rows, classes)."""
        if self.family == "multinomial":
            eta = self.scores(B, X)
            return eta - log_sum(eta)[:, :, None]
        eta, t = self.scores(B, X), self.cuts(B)
        found = [log_between(t[:, k + 1, None] - eta, t[:, k, None] - eta, self.link) for k in range(self.classes)]
        return np.where(self.in_order(B)[:, None, None], np.stack(found, axis=2), -np.inf)

    def in_order(self, B):
        """Whether the thresholds do not cross."""
        return (np.diff(B[:, : self.classes - 1], axis=1) >= 0).all(axis=1)

    def units(self, B):
        """The log-likelihood of every unit: a row, a stratum of choices, an event."""
        with np.errstate(over="ignore", invalid="ignore"):
            return getattr(self, "_" + self.family.replace("-", "_"))(np.asarray(B, dtype=float))

    def total(self, B):
        """The log-likelihood."""
        return self.units(B).sum(axis=1)

    def _binomial(self, B):
        up, down = log_cdf(self.scores(B, self.full) + self.beside, self.link)
        parts = []
        for i in self.counted:
            s, f = self.y[i] if isinstance(self.y[i], tuple) else (self.y[i], 1 - self.y[i])
            whole = np.log(comb(round(s + f), round(s))) if s == round(s) else 0.0
            parts.append(self.weights[i] * ((s * up[:, i] if s else 0) + (f * down[:, i] if f else 0) + whole))
        return np.stack(parts, axis=1)

    def _poisson(self, B):
        eta = (self.scores(B, self.full) + self.beside)[:, self.counted]
        y = np.array(self.y, dtype=float)[self.counted]
        return self.weights[self.counted] * (y * eta - np.exp(eta) - gammaln(y + 1))

    def _negative_binomial(self, B):
        eta = (self.scores(B, self.full) + self.beside)[:, self.counted]
        y = np.array(self.y, dtype=float)[self.counted]
        return self.weights[self.counted] * (y * eta - (y + 1) * np.logaddexp(0, eta))  # dispersion 1

    def _multinomial(self, B):
        found = self.probabilities(B, self.full)
        return np.stack([self.weights[i] * found[:, i, self.y[i]] for i in self.counted], axis=1)

    _ordinal = _multinomial

    def groups(self):
        """The rows of every stratum that count."""
        found = {}
        for i in self.counted:
            found.setdefault(self.strata[i], []).append(i)
        return list(found.values())

    def _conditional(self, B):
        eta, parts = self.scores(B, self.X) + self.beside, []
        for members in self.groups():
            chosen = [i for i in members if self.y[i]]
            sums = np.stack([eta[:, list(some)].sum(axis=1) for some in combinations(members, len(chosen))], axis=1)
            parts.append(eta[:, chosen].sum(axis=1) - log_sum(sums))
        return np.stack(parts, axis=1)

    def events(self):
        """Every event with the rows at risk, and how many events of its time are before it in Efron's order."""
        found = []
        for members in self.groups():
            for i in members:
                if self.y[i][1]:
                    tied = [j for j in members if self.y[j] == self.y[i]]
                    found.append((i, [j for j in members if self.y[j][0] >= self.y[i][0]], tied))
        return found

    def _cox(self, B):
        eta, parts = self.scores(B, self.X) + self.beside, []
        for i, risk, tied in self.events():
            share = tied.index(i) / len(tied) if self.link == "efron" else 0
            log_share = np.array([np.log(1 - share) if j in tied else 0 for j in risk])
            parts.append(eta[:, i] - log_sum(eta[:, risk] + log_share))
        return np.stack(parts, axis=1)

    def fates(self, B):
        """By row the logarithm of the probability of what became of it: near 0 where that is certain.

        Rows that are held against no other are None.
        """
        if self.family not in ("conditional", "cox"):
            units = self.units(B)
            return {i: units[0, k] for k, i in enumerate(self.counted)}
        eta, found = self.scores(B, self.X) + self.beside, dict.fromkeys(self.counted)
        for others in self.groups() if self.family == "conditional" else ():
            chosen = [i for i in others if self.y[i]]
            if len(chosen) == len(others):
                continue
            subsets = list(combinations(others, len(chosen)))
            sums = np.array([eta[0, list(some)].sum() for some in subsets])
            for i in others:
                same = [k for k, some in enumerate(subsets) if (i in some) == bool(self.y[i])]
                found[i] = log_sum(sums[same]) - log_sum(sums)
        for i, risk, _ in self.events() if self.family == "cox" else ():
            for j in risk if len(risk) > 1 else ():
                total = log_sum(eta[0, risk])
                rest = [k for k in risk if k != j]
                own = eta[0, i] if j == i else log_sum(eta[0, rest])
                found[j] = (found[j] or 0.0) + own - total
        return found


@cache
def small_vectors(p):
    """Whole numbers without common divisor among which are all directions that matter."""
    most = 2 if p <= 3 else 4
    return np.array([v for v in product(range(-most, most + 1), repeat=p) if gcd(*v) <= 1], dtype=float)


class Answers:
    """What the likelihood says of a case; coefficients in ``zero`` are kept at 0."""

    def __init__(self, case, start, zero=()):
        grid = small_vectors(case.p)
        grid = grid[~grid[:, list(zero)].any(axis=1)]
        self.case, self.start = case, np.asarray(start, dtype=float)
        near, far = (case.total(self.start + s * grid) for s in (FAR, 2 * FAR))
        with np.errstate(invalid="ignore"):
            self.cone = grid[np.isfinite(far) & (far > near - FAR / 4)]  # the likelihood does not fall
        limits = self.limits(self.cone)
        back = {tuple((-v).tolist()) for v in self.cone}
        self.lines = np.array([v for v in self.cone if v.any() and tuple(v.tolist()) in back])
        generic = self.cone.sum(axis=0)
        divisor = gcd(*(int(v) for v in generic)) or 1
        self.generic = generic / divisor
        top = self.limits(self.generic[None])[0]
        self.units = top
        near = self.cone[np.abs(limits - top).max(axis=1) < 1e-6]
        self.reaching = np.vstack((near, self.generic[None], 2.0**17 * self.cone + self.generic))  # the supremum

    def limits(self, V):
        """The limit of every unit far out."""
        return self.case.units(self.start + FAR * np.asarray(V, dtype=float))

    @cached_property
    def separated(self):
        """Rows that the limit fits perfectly."""
        fates = self.case.fates((self.start + FAR * self.generic)[None])
        return [i for i, fate in fates.items() if fate is not None and fate > -1e-9]

    @property
    def kind(self):
        rows = [i for i, fate in self.case.fates(self.start[None]).items() if fate is not None]
        done = self.separated
        rising = np.abs(self.units - self.case.units(self.start[None])[0]).max() > 1e-7
        return "complete" if done == rows else "quasi" if rising else "overlap"

    @property
    def dependent(self):
        """Coefficients that nothing tells from earlier ones."""
        return sorted({int(np.flatnonzero(line)[-1]) for line in self.lines})

    def classes(self, x):
        """What becomes of the probability of every class of a new row along all ways to the supremum."""
        case, found = self.case, []
        for k in range(case.classes):
            near, far = (case.probabilities(self.start + s * self.cone, x[None])[:, 0, k] for s in (FAR, 2 * FAR))
            with np.errstate(invalid="ignore"):
                stays = self.cone[np.isfinite(far) & (far > near - FAR / 4)].sum(axis=0)
            found.append("" if np.abs(self.limits(stays[None])[0] - self.units).max() < 1e-6 else "0")
        found = [self._closed(k) or each for k, each in enumerate(found)]
        if found.count("") == 1:
            found[found.index("")] = "1"
        limits = np.exp(case.probabilities(self.start + FAR * self.reaching, x[None])[:, 0])
        for k in [k for k, each in enumerate(found) if not each]:
            one = np.ptp(limits[:, k]) < 1e-6 and limits[:, k].min() > 1e-9
            found[k] = "inside" if one else "undetermined"
        return found

    def _closed(self, k):
        """A class between others without rows has probability 0 unless its thresholds can go apart for ever.

        The higher its lower threshold, the likelier are the rows of the class below, and nothing speaks against it.
        """
        case = self.case
        if case.family != "ordinal" or not 0 < k < case.classes - 1 or any(case.y[i] == k for i in case.counted):
            return ""
        return "0" if not (self.cone[:, k] - self.cone[:, k - 1]).any() else ""

    def status(self, c):
        """The status of c·β along all sequences that reach the supremum."""
        c = np.asarray(c, dtype=float)
        if len(self.lines) and (self.lines @ c).any():
            return "aliased"
        heights, there = self.cone @ c, self.reaching @ c
        if not heights.any():
            return "finite"
        if (heights >= 0).all() and (there > 0).all():
            return "+inf"
        return "-inf" if (heights <= 0).all() and (there < 0).all() else "undetermined"
