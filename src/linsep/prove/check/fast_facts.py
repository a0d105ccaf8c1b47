"""The four facts that every proof consists of, fast: floats with error bounds, integers of python-flint, modular ranks.

The same facts as in ``linsep_check``, with no code in common. Some rows are a matrix of integers and, for each, the
exponent of the power of two that was left out of it. Signs of g·z, the second fact, are in ``exact_signs``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from linsep.prove.check.exact_signs import Row
from linsep.prove.check.integers import over_common

PRIME = 2**63 - 25
SHORT_PRIME = 2**30 - 35  # a rank modulo it takes half as long, and is too small with one chance in 2**27
_FEW_ROWS = 8  # that have a column which is eliminated: with more, sparse rows fill up


def inequalities(
    rows: Sequence[Row], labels: Sequence[int], rivals: Sequence[int], classes: int
) -> tuple[Any, list[int]]:
    """Return the left sides of inequalities, each of a row against a rival class, as integers.

    The columns are the weights and offsets that occur, for each class but 0: adding one vector to the weights of all
    classes has no effect, so that without loss of generality those of class 0 are zero.
    """
    alike = all(row.columns is rows[0].columns for row in rows)
    used = rows[0].columns if alike else sorted({j for row in rows for j in row.columns})
    place = {column: position for position, column in enumerate(used)}
    matrix = []
    for label, rival, row in zip(labels, rivals, rows, strict=True):
        values = row.values if alike else [0] * len(used)
        for j, value in () if alike else zip(row.columns, row.values, strict=True):
            values[place[j]] = value
        blocks = {label: values, rival: [-value for value in values]}
        matrix.append([value for c in range(1, classes) for value in blocks.get(c) or [0] * len(used)])
    return flint.fmpz_mat(matrix), [row.shift for row in rows]


def total(multipliers: Sequence[Fraction], matrix: Any, shifts: Sequence[int]) -> dict[int, Fraction]:
    """Fact 1: return Σ λ z, those of its numbers that are not 0."""
    if not multipliers:
        return {}
    (whole, common), lowest = over_common(multipliers), min(shifts)
    factors = [value << (shift - lowest) for value, shift in zip(whole, shifts, strict=True)]
    sums, unit = flint.fmpz_mat(1, len(factors), factors) * matrix, Fraction(2) ** lowest / common
    return {k: int(value) * unit for k, value in enumerate(sums.entries()) if value}


def sparse_inequalities(
    rows: Sequence[Row], labels: Sequence[int], rivals: Sequence[int], width: int
) -> list[dict[int, int]]:
    """Return the left sides of inequalities of sparse rows, by column; those of class c begin at c times a width."""
    return [
        {
            c * width + j: sign * value
            for c, sign in ((label, 1), (rival, -1))
            if c
            for j, value in zip(row.columns, row.values, strict=True)
        }
        for row, label, rival in zip(rows, labels, rivals, strict=True)
    ]


def cancel(multipliers: Sequence[Fraction], rows: Sequence[dict[int, int]], shifts: Sequence[int]) -> bool:
    """Fact 1 for sparse rows: return whether Σ λ z = 0."""
    (whole, _), lowest = over_common(multipliers), min(shifts)
    sums: dict[int, int] = {}
    for multiplier, row, shift in zip(whole, rows, shifts, strict=True):
        factor = multiplier << (shift - lowest)
        for j, value in row.items():
            sums[j] = sums.get(j, 0) + factor * value
    return not any(sums.values())


def rank(matrix: Any, enough: int, *, certain: bool = True) -> int:
    """Fact 3: return the rank, quickly if it is ``enough``: the rank modulo a prime is never larger.

    Unless ``certain``, that rank will do, which is too small with one chance in 2**60.
    """
    quick = int(flint.nmod_mat(matrix, PRIME).rank())
    return quick if quick >= enough or not certain else int(matrix.rank())


def sparse_rank(rows: list[dict[int, int]], prime: int = PRIME) -> int:
    """Fact 3 for sparse rows, numbers by column: their rank modulo a prime, which is never larger than their rank.

    Columns are eliminated one by one as long as few rows have them, and flint does the rest: of a factor with thousands
    of categories each has its own few rows, and what is left is as wide as the other columns.
    """
    left = [{j: value % prime for j, value in row.items() if value % prime} for row in rows]
    owners: dict[int, set[int]] = {}
    for i, row in enumerate(left):
        for j in row:
            owners.setdefault(j, set()).add(i)
    waiting, rank = [(len(rows_of), j) for j, rows_of in owners.items()], 0
    heapq.heapify(waiting)
    while waiting and (first := heapq.heappop(waiting))[0] <= _FEW_ROWS:
        count, j = first
        if count != len(owners.get(j, ())):
            continue  # it has changed, and waits again
        rows_of = owners.pop(j)
        pivot = min(rows_of, key=lambda i: len(left[i]), default=None)
        if pivot is None:
            continue
        row, left[pivot] = left[pivot], {}
        inverse, rank = pow(row.pop(j), -1, prime), rank + 1
        for i in rows_of - {pivot}:
            factor = left[i].pop(j) * inverse
            for k, value in row.items():
                new = (left[i].get(k, 0) - factor * value) % prime
                if new:
                    left[i][k] = new
                    owners[k].add(i)
                else:
                    left[i].pop(k, None)
                    owners[k].discard(i)
        for k in row:
            owners[k].discard(pivot)
            heapq.heappush(waiting, (len(owners[k]), k))
    rest = [row for row in left if row]
    place = {j: k for k, j in enumerate({j for row in rest for j in row})}
    matrix = flint.nmod_mat(len(rest), len(place), prime)
    for i, row in enumerate(rest):
        for j, value in row.items():
            matrix[i, place[j]] = value
    return rank + int(matrix.rank())


def normals(matrix: Any) -> list[list[int]]:
    """Fact 4: return vectors that span all that is orthogonal to some rows."""
    width = matrix.ncols()
    if matrix.nrows() == 0:
        return [[int(j == k) for j in range(width)] for k in range(width)]
    if rank(matrix, width, certain=False) == width:
        return []
    basis, nullity = matrix.nullspace()  # its first `nullity` columns
    vectors = [[int(basis[j, k]) for j in range(width)] for k in range(nullity)]
    return [[value // math.gcd(*vector) for value in vector] for vector in vectors]
