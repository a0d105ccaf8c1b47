"""Solves a square system of floats exactly: rounded digits, exact residuals.

With an approximate inverse each round finds the next ``beta`` binary digits of the solution, and the residual that the
digits found so far leave is known exactly: its size from floats, its last 64 bits from integers that wrap around. When
there are twice as many digits as the determinant has, they determine the rational solution. After Wan (2006), *An
algorithm to solve integer linear systems exactly using numerical methods*, Journal of Symbolic Computation 41.

The time is that of a few thousand products with the matrix, a tenth of what integers of full length take. Nothing here
is certain, for the number of digits is an estimate: the solution is for the caller to check.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz, fmpz_mat

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.check.integers import aligned
from linsep.prove.linear_algebra.algebra import Dependency

ROOM = 128  # columns that LAPACK inverts together: with the room it asks for by default it takes six times as long
_PIECE = 5_000_000  # numbers looked at between two looks at the clock
_SPARE = 64  # digits more than needed: a wrong solution passes for one with a chance of 2**-64
_CLOSE = 4  # in units of the last spare digit
_FRACTION, _HALF = fmpz((1 << _SPARE) - 1), 1 << (_SPARE - 1)


def dependency(X: Floats, weights: Floats, clock: Clock) -> Dependency | None:
    """Return the positive dependency of float rows that are independent but for one relation, or None.

    ``weights`` are about its multipliers. That it holds is for the caller to check.
    """
    tops = np.frexp(np.abs(X).max(axis=1, initial=0.0))[1]
    X = np.ldexp(X, -tops[:, None])  # an underflow is found out by the check
    columns = np.arange(X.shape[1])
    if len(columns) > len(X) - 1:
        units = np.frexp(np.abs(X).max(axis=0, initial=0.0))[1]
        columns = np.sort(scipy_linalg().qr(np.ldexp(X, -units), mode="r", pivoting=True)[1][: len(X) - 1])
    if len(columns) == 0 or len(columns) < len(X) - 1:
        return None
    last = int(weights.argmax())
    others = np.delete(np.arange(len(X)), last)
    solution = solve(X[np.ix_(others, columns)].T, -X[last, columns], clock)
    if solution is None or min(solution[0]) < 0:
        return None
    multipliers = [*solution[0]]
    multipliers.insert(last, solution[1])
    kept = [k for k, value in enumerate(multipliers) if value > 0]
    highest = int(tops[kept].max())
    return Dependency(np.array(kept), [int(multipliers[k] << (highest - int(tops[k]))) for k in kept])


def solve(F: Floats, f: Floats, clock: Clock) -> tuple[list[fmpz], fmpz] | None:
    """Return integers ``x`` and ``q > 0`` with ``F x = q f``; None if floats are too coarse for the system."""
    whole = _integers(np.column_stack((F, f)))
    return None if whole is None else solve_integers(*whole, clock)


def solve_integers(
    M: Any, f: Floats, low: Array, f_low: Array, bits: int, clock: Clock
) -> tuple[list[fmpz], fmpz] | None:
    """Return the same for a sparse system of integers.

    All numbers are integers of at most ``bits`` bits: ``M``, a CSR matrix, and ``f`` are floats near to them; ``low``,
    the cells of M, and ``f_low`` are their last 64 bits.
    """
    lapack = scipy_linalg().lapack
    n = len(f)
    with np.errstate(all="ignore"):
        lu, swaps, flaw = lapack.dgetrf(M.toarray().T, overwrite_a=True)  # transposed, nothing is copied
        if flaw != 0:
            return None
        determinant = float(np.log2(np.abs(np.diag(lu))).sum())
        clock.check()
        inverse = lapack.dgetri(lu, swaps, lwork=ROOM * n, overwrite_lu=True)[0].T
        condition = float((np.abs(inverse) @ np.abs(M).sum(axis=1)).max())
        size = float(np.abs(inverse @ f).max())
    if not (condition < 2.0**42 and size < 2.0**40):
        return None
    # the digits of a round must be right up to one, and the float residual up to the 63 bits that wrap around
    beta = 8 * int(min(50 - math.log2(condition), 114 - bits - math.log2(n), 40) // 8)
    if beta < 8:
        return None
    rounds = -(-int(2 * determinant + math.log2(size + 1) + _SPARE) // beta)
    signed = np.empty((rounds + 1, n), dtype=np.int64)
    matrix, residual = (inverse, M.data, low, M.indices, M.indptr), (f.copy(), f_low.copy())
    piece = max(1, _PIECE // n**2)
    for start in range(0, rounds + 1, piece):
        clock.count(n**2 * min(piece, rounds + 1 - start))
        if not _lift(matrix, residual, beta, signed, start, min(start + piece, rounds + 1)):
            return None
    digits = np.empty((n, rounds), dtype=np.uint64)
    leading = np.empty(n, dtype=np.int64)
    _carry(signed, beta, digits, leading)
    return _rational(digits, leading, beta, clock)


def _integers(M: Floats) -> tuple[Any, Floats, Array, Array, int] | None:
    """Return a system, its right side the last column, with rows times powers of two that make them integers."""
    import scipy.sparse as sp

    digits, up, shifts, longest = aligned(M, constant=False)
    bits, n = int(longest.max()), len(M)
    if bits > 100:
        return None
    low = np.where(up < 64, digits << np.minimum(up, 63), 0)
    M = np.ldexp(M, -shifts[:, None].astype(np.int32))
    every = np.tile(np.arange(n, dtype=np.int32), n), np.arange(0, n * n + 1, n, dtype=np.int32)
    whole = sp.csr_array((M[:, :n].ravel(), *every), shape=(n, n))
    return whole, M[:, n].copy(), low[:, :n].ravel(), low[:, n].copy(), bits


def _rational(digits: Array, leading: Array, beta: int, clock: Clock) -> tuple[list[fmpz], fmpz] | None:
    """Return the fractions of a common denominator, half as long as the numbers they are near to."""
    n, rounds = digits.shape
    bits = beta * rounds
    parts = digits.view(np.uint8).reshape(n, rounds, 8)[:, :, : beta // 8].reshape(n, -1)
    parts = np.hstack((parts, leading.view(np.uint8).reshape(n, 8)))
    q, one = fmpz(1), fmpz(1)
    numerators: list[fmpz] = []
    while q.bit_length() <= bits // 2:
        # only the digits that count: q x is an integer up to an error far below 1
        cut = max(0, bits - q.bit_length() - 2 * _SPARE) // 8
        scale = bits - 8 * cut
        for number in parts[len(numerators) :, cut:]:
            clock.check()
            near = (_integer(number) * q + (one << (scale - 1))) >> (scale - _SPARE)
            part = int(near & _FRACTION) - _HALF
            if abs(part) > _CLOSE:
                break
            numerators.append(near >> _SPARE)
        else:
            return numerators, q
        # most often a small divisor is missing, but for the first time
        factor = fmpz(Fraction(part, 1 << _SPARE).limit_denominator(256).denominator)
        if abs((part * int(factor) + _HALF) % (2 * _HALF) - _HALF) > 256 * _CLOSE:
            # what is left of the denominator is so much shorter, and found from as many fewer digits
            length = min(bits, bits - 2 * (q.bit_length() - _SPARE))
            remainder = ((_integer(parts[len(numerators)]) * q) % (one << bits)) >> (bits - length)
            clock.count(length**2 / 100)
            short = fmpz_mat([[remainder, 1], [one << length, 0]]).lll()
            factor = abs(short[0, 1] if short[0, 1] else short[1, 1])
        if factor <= 1:
            return None
        q *= factor
        numerators = [factor * value for value in numerators]
    return None


def _integer(part: Array) -> fmpz:
    """Return the number that some bytes are, the last ones first."""
    return fmpz(int.from_bytes(part.tobytes(), "little", signed=True))


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _lift(matrix, residual, beta, digits, start, stop):
    """Put the next digits of the solution of ``M x = r`` into ``found``, and what they leave into ``r``.

    ``r_low`` and ``low`` are the same integers modulo 2**64. Returns whether all went as it should: rounding may make
    a digit another one, which the digits after it make up for.
    """
    inverse, M, low, indices, indptr = matrix
    r, r_low = residual
    n = r.size
    for k in range(start, stop):
        shift = beta if k > 0 else 0
        power = 2.0**shift
        bound = 2.0 ** (beta + 2) if k > 0 else 2.0**52
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += inverse[i, j] * r[j]
            value = np.rint(value * power)
            if not abs(value) < bound:
                return False
            digits[k, i] = np.int64(value)
        for i in range(n):
            size, exact = 0.0, r_low[i] << shift
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                digit = digits[k, indices[p]]
                size += M[p] * float(digit)
                exact -= low[p] * digit
            above = np.rint((r[i] * power - size - float(exact)) / 18446744073709551616.0)
            r_low[i] = exact
            r[i] = above * 18446744073709551616.0 + float(exact)
    return True


@compiled(error_model="numpy")
def _carry(signed, beta, digits, leading):
    """Put digits of either sign, and the integer part before them, as digits not below 0, the last ones first."""
    n, rounds = digits.shape
    mask = (np.int64(1) << beta) - 1
    for i in range(n):
        carry = np.int64(0)
        for k in range(rounds, 0, -1):
            value = signed[k, i] + carry
            digits[i, rounds - k] = np.uint64(value & mask)
            carry = value >> beta
        leading[i] = signed[0, i] + carry
