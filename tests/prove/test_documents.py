"""Proofs as files: numbers of any length come back exactly, and the hash is that of the numbers, not of their type."""

from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import Separator, from_json, separate, to_json, verify
from linsep.data.arrays import to_rows
from linsep.problem import take
from linsep.prove.numbers.fingerprints import Fingerprint
from linsep.prove.verdict.shorter import rounded


def hashed(X, y, pieces=None):
    """Return the fingerprint of rows that come in pieces of so many."""
    found = Fingerprint(X.shape[1], (0, 1))
    n = X.shape[0]
    for start in range(0, n, pieces or n):
        some = slice(start, start + (pieces or n))
        found.add(take(to_rows(X), some), np.asarray(y)[some])
    return found.result()


def test_numbers_too_long_for_decimals_come_back():
    X, y = [[0.0], [1.0], [3.0]], ["a", "a", "b"]
    found = separate(X, y)
    factor = Fraction(3**7000, 5**6000)  # of more than 10,000 bits; a multiple of a plane is the same plane
    w = np.array([Fraction(value) * factor for value in found.separator.w], dtype=object)
    long = replace(found, separator=Separator(w, Fraction(found.separator.b) * factor))
    assert long.check(X, y)
    text = to_json(long, X, y, short=False)
    assert verify(text, X, y)
    back, _ = from_json(text)
    assert back.separator.w.tolist() == w.tolist()
    assert back.separator.b == long.separator.b


@pytest.mark.parametrize("digits", [1, 2, 3, 6, 12])
def test_weights_are_rounded_to_significant_digits(digits):
    """Whole numbers, floats and fractions of any size, ties too, as Python's decimals round them: half to even."""
    rng = np.random.default_rng(digits)
    some = [
        *rng.integers(-(10**6), 10**6, 200).tolist(),
        0,
        5,
        15,
        25,
        95,
        985,
        -25,
        10**14 + 5,
        10**15,
        3**7000,
        9**5000,
    ]
    some += [*rng.standard_normal(100), 0.5, 2.5e-300, 0.95, Fraction(25, 1000), Fraction(-995, 10**9)]
    for value in map(Fraction, some):
        exact = Context(prec=20_000).divide(Decimal(value.numerator), Decimal(value.denominator))
        assert rounded(value, digits) == Fraction(Context(prec=digits).plus(exact))


def test_a_proof_is_written_for_its_data_only():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    found = separate(X, y)
    for other, labels in ((X[:, :1], y), (X, [0, 2])):
        with pytest.raises(ValueError, match="these are not the data of the verdict"):
            to_json(found, other, labels)


def test_the_hash_is_that_of_the_numbers():
    y = [0, 1]
    small = np.array([[0, 7], [250, 1]])
    expected = hashed(small.astype(np.float64), y)
    for kind in (np.int64, np.uint8, np.float32):
        assert hashed(small.astype(kind), y) == expected
    assert hashed(sp.csr_array(small), y) == expected
    # beyond 2**53 doubles have gaps: neighbors have one name, and the facts are checked with every digit
    large = np.array([[2**60, 7], [250, 1]])
    assert hashed(large, y) == hashed(large.astype(np.uint64), y)
    assert hashed(large + np.array([[1, 0], [0, 0]]), y) == hashed(large, y)
    assert hashed(large + np.array([[256, 0], [0, 0]]), y) != hashed(large, y)
    found = separate(large, y)
    assert verify(to_json(found, large, y), large.astype(np.uint64), y)
    assert verify(to_json(found, large, y), large + np.array([[1, 0], [0, 0]]), y)
    close, y = np.array([[2**60], [2**60 + 1]]), [0, 1]
    text = to_json(separate(close, y), close, y)
    assert verify(text, close, y)
    assert not verify(text, close + np.array([[1], [0]]), y)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_pieces_do_not_show_in_the_hash(storage):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((8192, 256)) < 0.02, rng.integers(1, 9, (8192, 256)), 0)  # twice what is hashed together
    y = rng.integers(0, 2, 8192)
    whole = hashed(storage(X), y)
    assert whole["n_rows"] == 8192
    for pieces in (1000, 4096, 5000):
        assert hashed(storage(X), y, pieces) == whole
    X[-1, -1] += 1
    assert hashed(storage(X), y) != whole
