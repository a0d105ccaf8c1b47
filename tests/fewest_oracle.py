"""The fewest errors by brute force in fractions: every cell of the arrangement of planes, through its extreme rays.

An item is a list of vectors and right when all of them have a positive product with the weights. The cells of the
arrangement of all vectors are the cases; each has an extreme ray, on which all but some vectors have the sign that they
have in the cell, and what vanishes there is the same question in one dimension less.
"""

import itertools
from fractions import Fraction


def items(X, y, *, offset, classes=None, weights=None):
    """Return (weight, vectors) of every row; labels are class numbers."""
    classes = classes or max(y) + 1
    found = []
    for i, (x, own) in enumerate(zip(X, y, strict=True)):
        x = [Fraction(value) for value in x] + [Fraction(1)] * offset
        vectors = []
        for rival in range(classes):
            if rival != own:
                blocks = [[Fraction(0)] * len(x) for _ in range(classes)]
                blocks[own], blocks[rival] = x, [-value for value in x]
                vectors.append([value for block in blocks[1:] for value in block])
        found.append((1 if weights is None else weights[i], vectors))
    return found


def fewest(things):
    """Return the least weight of items that are not right under any weights."""
    things = [(weight, list(vectors)) for weight, vectors in things if weight]
    zero = sum(weight for weight, vectors in things if not all(any(v) for v in vectors))
    things = [(weight, vectors) for weight, vectors in things if all(any(v) for v in vectors)]
    if not things:
        return zero
    columns = pivots([v for _, vectors in things for v in vectors])
    things = [(weight, [[v[j] for j in columns] for v in vectors]) for weight, vectors in things]
    rows = list(dict.fromkeys(tuple(v) for _, vectors in things for v in vectors))
    best, seen = None, set()
    for chosen in itertools.combinations(rows, len(columns) - 1):
        ray = orthogonal(chosen, len(columns))
        if not any(ray):
            continue
        scale = next(abs(value) for value in ray if value)
        for sign in (1, -1):
            v = tuple(sign * value / scale for value in ray)
            if v not in seen:
                seen.add(v)
                cost = after(things, v)
                best = cost if best is None else min(best, cost)
    return zero + best


def after(things, ray):
    """Return the least weight near a ray: what is wrong on it, and the best of what vanishes."""
    wrong, rest = 0, []
    for weight, vectors in things:
        signs = [sum(a * b for a, b in zip(v, ray, strict=True)) for v in vectors]
        if min(signs) < 0:
            wrong += weight
        elif min(signs) == 0:
            rest.append((weight, [v for v, s in zip(vectors, signs, strict=True) if s == 0]))
    return wrong + (fewest(rest) if rest else 0)


def pivots(rows):
    """Return columns that all others depend on."""
    rows, found = [list(row) for row in rows], []
    for j in range(len(rows[0])):
        k = next((i for i in range(len(found), len(rows)) if rows[i][j]), None)
        if k is None:
            continue
        top = len(found)
        rows[top], rows[k] = rows[k], rows[top]
        for i in range(top + 1, len(rows)):
            factor = rows[i][j] / rows[top][j]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[top], strict=True)]
        found.append(j)
    return found


def orthogonal(rows, n):
    """Return the vector orthogonal to n - 1 others: its entries are determinants."""
    return [(-1) ** j * determinant([[row[k] for k in range(n) if k != j] for row in rows]) for j in range(n)]


def determinant(rows):
    """Return a determinant by elimination."""
    rows, value = [list(row) for row in rows], Fraction(1)
    for j in range(len(rows)):
        k = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if k is None:
            return Fraction(0)
        if k != j:
            rows[j], rows[k], value = rows[k], rows[j], -value
        value *= rows[j][j]
        for i in range(j + 1, len(rows)):
            factor = rows[i][j] / rows[j][j]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[j], strict=True)]
    return value
