"""Finds inequalities that vanish on a subspace by inner products modulo primes, in compiled code.

An inner product that is zero is zero modulo every prime. One that is not is zero modulo two primes near 2**31, for
random weights, with a chance of about 2**-62. Exact integers would say the same for certain, a thousand times slower.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Dense, Rows
from linsep.prove.claims import Data

_PRIMES = (2147483629, 2147483587)
_LOWEST = -1140  # powers of two from here to 1040 occur in floats


def vanishing(data: Data, w: Any) -> Array:
    """Return which inequalities weights, an integer column, meet with equality: shape (n, classes), own class too."""
    rows, block = data.rows, data.n_features + data.offset
    vanish = np.ones((len(data.y), data.classes), dtype=bool)
    for prime in _PRIMES:
        products = np.zeros((len(data.y), data.classes), dtype=np.int64)  # class 0 has no weights
        for c in range(data.classes - 1):
            residues = np.zeros(data.n_features + 1, dtype=np.int64)
            residues[:block] = [int(w[c * block + j, 0]) % prime for j in range(block)]
            _products(rows, residues, prime, products[:, c + 1])
        vanish &= products == products[np.arange(len(data.y)), data.y][:, None]
    return vanish


def _products(rows: Rows, residues: Array, prime: int, products: Array) -> None:
    """Put the inner products of all rows with some weights modulo a prime into an array."""
    powers, whole, n = _powers(prime), rows.data.dtype.kind != "f", len(products)

    def work(start: int, stop: int) -> None:
        if isinstance(rows, Dense):
            part: Any = np.ascontiguousarray(rows.data[start:stop])
            part.flags.writeable = False  # one compiled version serves all
            _dense(part, residues, prime, powers, whole, products[start:stop])
        else:
            part = rows._replace(indptr=rows.indptr[start : stop + 1])
            _sparse(part, residues, prime, powers, whole, products[start:stop])

    in_parallel(work, n, 8 * rows.data.size // max(1, n))  # remainders take longer than other operations


@cache
def _powers(prime: int) -> Array:
    """Return the powers of two that occur in floats, modulo the prime."""
    return np.array([pow(2, e, prime) for e in range(_LOWEST, 1040)], dtype=np.int64)


_compiled = compiled(error_model="numpy")


@_compiled
def _residue(x, prime, powers, whole):
    """Return a number modulo the prime, a float being an integer times a power of two."""
    if whole or (abs(x) < 9007199254740992.0 and x == np.rint(x)):
        return np.int64(x) % prime
    mantissa, exponent = math.frexp(x)
    return (np.int64(mantissa * 9007199254740992.0) % prime) * powers[exponent - 53 - _LOWEST] % prime


@_compiled
def _dense(data, w, prime, powers, whole, products):
    for i in range(products.size):
        total = w[-1]
        for j in range(data.shape[1]):
            if data[i, j] != 0:
                total += _residue(data[i, j], prime, powers, whole) * w[j] % prime
        products[i] = total % prime


@_compiled
def _sparse(rows, w, prime, powers, whole, products):
    data, indices, indptr = rows
    for i in range(products.size):
        total = w[-1]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if data[p] != 0:
                total += _residue(data[p], prime, powers, whole) * w[indices[p]] % prime
        products[i] = total % prime
