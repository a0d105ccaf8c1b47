"""The textbook, in plain Python: what the compiled code is compared with."""

import numpy as np


def dot(x, w):
    return sum(p * q for p, q in zip(x, w, strict=True))


def perceptron(X, y, *, eta=1, offset=True, order="cyclic", passes=1000, w=None, b=0, margin=0):
    """Return w, b and the trace of a binary perceptron on lists of numbers."""
    w, trace = list(w or [0] * len(X[0])), []

    def value(i):
        return y[i] * (dot(X[i], w) + b)

    for _ in range(passes):
        before = len(trace)
        looks = range(len(X)) if order != "worst" else [min(range(len(X)), key=value)]
        for i in looks:
            if value(i) <= margin:
                w = [wj + eta * y[i] * xj for wj, xj in zip(w, X[i], strict=True)]
                b += eta * y[i] * offset
                trace.append(i)
                if order == "first":
                    break
        if len(trace) == before:
            break
    return w, b, trace


def argmax(X, y, classes, *, offset=True, passes=1000):
    """Return the weights, offsets and trace of the many-class perceptron; y are class numbers."""
    W, b, trace = [[0] * len(X[0]) for _ in range(classes)], [0] * classes, []
    for _ in range(passes):
        before = len(trace)
        for i, x in enumerate(X):
            s = [dot(x, W[c]) + b[c] for c in range(classes)]
            rival = max((c for c in range(classes) if c != y[i]), key=lambda c: (s[c], -c))
            if s[y[i]] <= s[rival]:
                for c, sign in ((y[i], 1), (rival, -1)):
                    W[c] = [wj + sign * xj for wj, xj in zip(W[c], x, strict=True)]
                    b[c] += sign * offset
                trace.append(i)
        if len(trace) == before:
            break
    return W, b, trace


# ---------------------------------------------------------------------------------------------------------------
# The family: what every look leaves behind, and what becomes of it


def looks(X, y, *, offset=True, passes=1, eta=1, margin=0, order=None):
    """Yield, for every look of a binary perceptron, whether it was a mistake and the w and b after it."""
    w, b = [0] * len(X[0]), 0
    for number in range(passes):
        for i in range(len(X)) if order is None else order[number]:
            mistake = y[i] * (dot(X[i], w) + b) <= margin
            if mistake:
                w = [wj + eta * y[i] * xj for wj, xj in zip(w, X[i], strict=True)]
                b += eta * y[i] * offset
            yield mistake, w, b


def looks_argmax(X, y, classes, *, offset=True, passes=1):
    """Yield the same of the many-class perceptron: W has one row, and b one entry, for every class."""
    W, b = [[0] * len(X[0]) for _ in range(classes)], [0] * classes
    for _ in range(passes):
        for i, x in enumerate(X):
            s = [dot(x, W[c]) + b[c] for c in range(classes)]
            rival = max((c for c in range(classes) if c != y[i]), key=lambda c: (s[c], -c))
            mistake = s[y[i]] <= s[rival]
            if mistake:
                W, b = [list(row) for row in W], list(b)
                for c, sign in ((y[i], 1), (rival, -1)):
                    W[c] = [wj + sign * xj for wj, xj in zip(W[c], x, strict=True)]
                    b[c] += sign * offset
            yield mistake, W, b


def vote(hypotheses, x, on_plane=-1):
    """Freund & Schapire 1999, figure 1: every look gives the vote of the hypothesis that it left behind."""
    total = 0
    for _, w, b in hypotheses:
        s = dot(x, w) + b
        total += (s > 0) - (s < 0) or on_plane
    return total


def vote_argmax(hypotheses, x, classes):
    """Return the votes for each class: every hypothesis votes for the one it predicts, the lowest of equals."""
    votes = [0] * classes
    for _, W, b in hypotheses:
        s = [dot(x, W[c]) + b[c] for c in range(classes)]
        votes[s.index(max(s))] += 1
    return votes


def pocket(hypotheses, n, errors):
    """Return the pocket with ratchet (Gallant 1990), where few hypotheses are evaluated.

    These are the longest run of every pass of n looks, and after the first pass the last one too. ``errors(w, b)``
    counts the training errors of a hypothesis.
    """
    held, fewest, run = None, None, 0
    before = None  # the hypothesis that the next look meets
    for begin in range(0, len(hypotheses), n):
        longest, candidate = 0, None
        for mistake, w, b in hypotheses[begin : begin + n]:
            if mistake:
                if run > longest:
                    longest, candidate = run, before
                run = 0
            else:
                run += 1
            before = (w, b)
        if candidate is None or run > longest:
            candidate = before
        for evaluated in (candidate, before) if begin else (candidate,):
            wrong = errors(*evaluated)
            if held is None or wrong < fewest:
                held, fewest = evaluated, wrong
    return held


def passive_aggressive(X, y, *, variant, C, passes=1, offset=True):
    """Return w and b of Crammer et al. 2006, figure 1; the offset moves with the step, but is not in the norm."""
    w, b = [0.0] * len(X[0]), 0.0
    for _ in range(passes):
        for x, sign in zip(X, y, strict=True):
            loss, norm = max(0.0, 1 - sign * (dot(x, w) + b)), dot(x, x)
            if loss > 0 and norm > 0:
                tau = {"pa": loss / norm, "pa1": min(C, loss / norm), "pa2": loss / (norm + 1 / (2 * C))}[variant]
                w = [wj + tau * sign * xj for wj, xj in zip(w, x, strict=True)]
                b += tau * sign * offset
    return w, b


def passive_aggressive_argmax(X, y, classes, *, variant, C, passes=1, offset=True):
    """Return W and b of Crammer et al. 2006, section 8: the true class and its highest rival move apart."""
    W, b = [[0.0] * len(X[0]) for _ in range(classes)], [0.0] * classes
    for _ in range(passes):
        for x, own in zip(X, y, strict=True):
            s = [dot(x, W[c]) + b[c] for c in range(classes)]
            rival = max((c for c in range(classes) if c != own), key=lambda c: (s[c], -c))
            loss, norm = max(0.0, 1 - (s[own] - s[rival])), 2 * dot(x, x)
            if loss > 0 and norm > 0:
                tau = {"pa": loss / norm, "pa1": min(C, loss / norm), "pa2": loss / (norm + 1 / (2 * C))}[variant]
                for c, sign in ((own, 1), (rival, -1)):
                    W[c] = [wj + tau * sign * xj for wj, xj in zip(W[c], x, strict=True)]
                    b[c] += tau * sign * offset
    return W, b


def alike(one, other):
    """Say whether two fitted models made the same mistakes and have the same bits."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("coef_", "intercept_", "trace_", "mistake_counts_")
    )


def hash_name(text: str) -> int:
    """FNV-1a and the finisher of MurmurHash3, as they are published."""
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = (h ^ c) * 0x100000001B3 % 2**64
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33
