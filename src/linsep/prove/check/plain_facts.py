"""The plain check, part 3: the four facts that every proof consists of. This page is the one to read first.

A *row* z is a list of integers with the denominator that they were multiplied with. Every number is exact; there is no
tolerance. docs/proof-format.md says which facts a claim of each kind needs, and why they suffice.

1. ``total``: the sum Σ λ z, to be compared with the claim; the signs of λ are seen at once.
2. ``signs``: the sign of g·z for each of many rows.
3. ``independent``: some rows have at least a given rank.
4. ``normals``: vectors that span what is orthogonal to some rows. Rows on which they are all 0 are spanned by these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from linsep.prove.check.plain_document import Exact, whole

PRIME = 2**61 - 1


def total(multipliers: Sequence[Fraction], rows: Sequence[Exact]) -> list[Fraction]:
    """Fact 1: return Σ λ z, nothing for no rows."""
    factors, common = whole([value / bottom for value, (_, bottom) in zip(multipliers, rows, strict=True)])
    columns = zip(*(z for z, _ in rows), strict=True)
    return [Fraction(sum(map(mul, factors, column)), common) for column in columns]


def signs(g: Sequence[int | Fraction], rows: Iterable[Exact]) -> Iterator[int]:
    """Fact 2: yield the sign of g·z of every row; denominators, which are positive, do not change it."""
    vector, _ = whole(g)
    for z, _ in rows:
        value = sum(map(mul, vector, z))
        yield (value > 0) - (value < 0)


def independent(rows: Sequence[Exact], least: int) -> bool:
    """Fact 3: say whether rows have this rank at least. Modulo a prime the rank is never larger."""
    return len(echelon(rows, PRIME)) >= least or len(echelon(rows)) >= least


def normals(rows: Sequence[Exact], width: int) -> list[list[int]]:
    """Fact 4: return vectors that span all that is orthogonal to rows of this width."""
    if len(echelon(rows, PRIME)) == width:
        return []
    reduced = echelon(rows)
    free = [k for k in range(width) if k not in reduced]
    return [whole([-reduced[j][k] if j in reduced else Fraction(j == k) for j in range(width)])[0] for k in free]


def echelon(rows: Sequence[Exact], p: int = 0) -> dict[int, list[Any]]:
    """Return the reduced echelon form by pivot columns (Gauss and Jordan): modulo the prime p, or in fractions."""
    done: dict[int, list[Any]] = {}
    for z, _ in rows:
        v: list[Any] = [value % p for value in z] if p else [Fraction(value) for value in z]
        for j, row in done.items():
            v = minus(v, v[j], row, p)
        pivot = next((j for j, value in enumerate(v) if value), None)
        if pivot is not None:
            inverse = pow(v[pivot], -1, p) if p else 1 / v[pivot]
            v = [value * inverse % p if p else value * inverse for value in v]
            done = done if p else {j: minus(row, row[pivot], v, p) for j, row in done.items()}
            done[pivot] = v
        if len(done) == len(v):
            break
    return done


def minus(v: list[Any], f: Any, row: list[Any], p: int) -> list[Any]:
    """Return v - f row."""
    return [(a - f * b) % p if p else a - f * b if b else a for a, b in zip(v, row, strict=True)] if f else v
