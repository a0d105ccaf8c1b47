"""The nearest point of a small hull in exact fractions, by trying every set of rows: an oracle that cannot be wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def solve(A, c):
    """Solve a square system in fractions; None if it is singular."""
    A = [[*row, value] for row, value in zip(A, c, strict=True)]
    n = len(A)
    for j in range(n):
        pivot = next((i for i in range(j, n) if A[i][j] != 0), None)
        if pivot is None:
            return None
        A[j], A[pivot] = A[pivot], A[j]
        A[j] = [a / A[j][j] for a in A[j]]
        for i in range(n):
            if i != j and A[i][j] != 0:
                A[i] = [a - A[i][j] * p for a, p in zip(A[i], A[j], strict=True)]
    return [row[-1] for row in A]


def squared_distance(Z, group=None):
    """Return min ‖Σ λ z‖² over λ >= 0, Σ λ = 1, half of it in each group if there are two; a Fraction.

    The minimum is that of the affine hull of some rows; every affine minimum with λ >= 0 is feasible, so the least of
    them is the answer.
    """
    Z = [[Fraction(float(a)) for a in row] for row in Z]
    group = [0] * len(Z) if group is None else list(group)
    groups = sorted(set(group))
    share = Fraction(1, len(groups))
    gram = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in Z] for x in Z]
    best = None
    for k in range(len(groups), min(len(Z), len(Z[0]) + len(groups)) + 1):
        for S in combinations(range(len(Z)), k):
            marks = [[Fraction(int(group[i] == g)) for g in groups] for i in S]
            A = [[gram[i][j] for j in S] + mark for i, mark in zip(S, marks, strict=True)]
            A += [[mark[g] for mark in marks] + [Fraction(0)] * len(groups) for g in range(len(groups))]
            solution = solve(A, [Fraction(0)] * k + [share] * len(groups))
            if solution is not None and min(solution[:k]) >= 0:
                value = -sum(solution[k:]) * share
                best = value if best is None or value < best else best
    return best
