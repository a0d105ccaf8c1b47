"""Plain and slow: what the verdict is and whether a proof holds, with fractions alone."""

import math
from fractions import Fraction


def in_integers(X):
    """Rows as the plain check takes them: integers over the least common denominator, and it."""
    rows = [[Fraction(value) for value in row] for row in X]
    common = [math.lcm(*(value.denominator for value in row)) for row in rows]
    return [([int(value * q) for value in row], q) for row, q in zip(rows, common, strict=True)]


def inequalities(X, y, classes, offset):
    """Every z with z·θ > 0 asked for; θ holds one block a class, offsets last in each block."""
    index = {label: code for code, label in enumerate(classes)}
    rows = []
    for x, label in zip(X, y, strict=True):
        x = [Fraction(value) for value in x] + [Fraction(1)] * offset
        own = index[label]
        for rival in range(len(classes)):
            if rival != own:
                z = [Fraction(0)] * (len(classes) * len(x))
                z[own * len(x) : (own + 1) * len(x)] = x
                z[rival * len(x) : (rival + 1) * len(x)] = [-value for value in x]
                rows.append(z)
    return rows


def rank(rows):
    """Rank by Gaussian elimination."""
    rows, r = [list(row) for row in rows], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(r, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[r], rows[pivot] = rows[pivot], rows[r]
        for i in range(r + 1, len(rows)):
            if rows[i][j]:
                factor = rows[i][j] / rows[r][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[r], strict=True)]
        r += 1
    return r


def kind(rows):
    """Three-way verdict by an exact linear program.

    Maximize Σ t with t <= 1 and t_i <= z_i·θ: the value is the number of rows (separable), 0 (overlap), or between.
    Tableau simplex with Bland's rule from the feasible point 0; θ is free, written as a difference.
    """
    n, m = len(rows), len(rows[0])
    width = n + 2 * m + 2 * n + 1
    table = []
    for i, z in enumerate(rows):  # t_i - z·(θ+ - θ-) + slack = 0
        line = [Fraction(0)] * width
        line[i] = Fraction(1)
        line[n : n + m] = [-value for value in z]
        line[n + m : n + 2 * m] = z
        line[n + 2 * m + i] = Fraction(1)
        table.append(line)
    for i in range(n):  # t_i + slack = 1
        line = [Fraction(0)] * width
        line[i] = line[n + 2 * m + n + i] = line[-1] = Fraction(1)
        table.append(line)
    basis = list(range(n + 2 * m, n + 2 * m + 2 * n))
    cost = [Fraction(-1)] * n + [Fraction(0)] * (width - n)
    while True:
        j = next((j for j in range(width - 1) if cost[j] < 0), None)
        if j is None:
            value = cost[-1]
            return "separable" if value == n else "overlap" if value == 0 else "quasi"
        ratios = [(line[-1] / line[j], basis[i], i) for i, line in enumerate(table) if line[j] > 0]
        _, _, i = min(ratios)
        pivot = table[i][j]
        table[i] = [value / pivot for value in table[i]]
        for k, line in enumerate(table):
            if k != i and line[j]:
                factor = line[j]
                table[k] = [a - factor * b for a, b in zip(line, table[i], strict=True)]
        factor = cost[j]
        cost = [a - factor * b for a, b in zip(cost, table[i], strict=True)]
        basis[i] = j


def proves(verdict, X, y):
    """Whether the parts of a verdict prove its kind, by the definition and nothing else."""
    X = [[Fraction(value) for value in row] for row in (X.toarray() if hasattr(X, "toarray") else X).tolist()]
    y = list(y)
    classes, offset = list(verdict.classes), verdict.fit_intercept
    C, width = len(classes), len(X[0]) + offset
    if verdict.kind in ("separable", "quasi"):
        W, b = verdict.separator.w.tolist(), verdict.separator.b
        if C == 2:
            W, b = [[0] * len(W), W], [0, b]
        else:
            b = b.tolist()
        W = [[Fraction(value) for value in row] for row in W]
        b = [Fraction(value) for value in b]
        assert offset or not any(b)
        some = False
        for x, label in zip(X, y, strict=True):
            own = classes.index(label)
            scores = [sum(p * q for p, q in zip(w, x, strict=True)) + c for w, c in zip(W, b, strict=True)]
            leads = [scores[own] - score for c, score in enumerate(scores) if c != own]
            if min(leads) < 0 or (verdict.kind == "separable" and min(leads) == 0):
                return False
            some = some or max(leads) > 0
        if not some:
            return False
    if verdict.kind in ("quasi", "overlap"):
        proof = verdict.refutation
        total, support = [Fraction(0)] * (C * width), []
        for i, rival, weight in zip(proof.rows.tolist(), proof.rivals.tolist(), proof.multipliers, strict=True):
            own = classes.index(y[i])
            x = X[i] + [Fraction(1)] * offset
            if weight <= 0 or own == rival:
                return False
            z = [Fraction(0)] * (C * width)
            z[own * width : (own + 1) * width] = x
            z[rival * width : (rival + 1) * width] = [-value for value in x]
            total = [a + weight * b for a, b in zip(total, z, strict=True)]
            support.append(z)
        if not support or any(total):
            return False
        if verdict.kind == "overlap":
            r = rank(support)
            if r < (C - 1) * width and r != rank(inequalities(X, y, classes, offset)):
                return False
    return verdict.kind in ("separable", "quasi", "overlap")
