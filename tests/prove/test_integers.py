"""Signs of sums of long products against Python's fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from linsep.problem import Dense
from linsep.prove.check.exact_signs import signs


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", ["small", "floats", "long", "eighths", "bytes"])
def test_signs_are_those_of_fractions(kind, constant):
    rng, choose, seen = np.random.default_rng(len(kind)), random.Random(3), set()
    for t in range(120):
        m, d = int(rng.integers(1, 9)), int(rng.integers(2, 70))
        cells = {
            "small": lambda: rng.integers(-5, 6, (m, d)).astype(float),  # noqa: B023
            "floats": lambda: rng.normal(size=(m, d)) * 2.0 ** rng.integers(-3, 3, d),  # noqa: B023
            "long": lambda: rng.integers(-(2**61), 2**61, (m, d)) >> int(rng.integers(0, 9)),  # noqa: B023
            "eighths": lambda: rng.integers(-100, 100, (m, d)) / 8,  # noqa: B023
            "bytes": lambda: rng.integers(0, 255, (m, d)).astype(np.uint8),  # noqa: B023
        }[kind]()
        weights = [choose.getrandbits(choose.choice([3, 40, 300])) * choose.choice([1, -1, 0]) for _ in range(d)]
        weights += [choose.randint(-9, 9)] * constant
        if t % 3 == 0:  # sums that cancel
            a = 7 * 10**40 + 1
            weights = [a, -a - t % 2, *([0] * (d - 2 + constant))]
            cells[:, :2] = 1
        weights += [0] * (not constant)
        found = signs(Dense(cells), np.arange(m), np.array([*map(Fraction, weights)], dtype=object))
        for row, sign in zip(cells.tolist(), found.tolist(), strict=True):
            total = sum(Fraction(x) * v for x, v in zip([*row, 1], weights, strict=True))
            assert sign == (total > 0) - (total < 0)
            seen.add(sign)
    assert seen == {-1, 0, 1}


def test_rows_on_a_plane_of_long_weights():
    rng = np.random.default_rng(0)
    weights = [int(v) * 3**80 for v in rng.integers(-9, 10, 6)] + [0]
    X = rng.integers(-3, 4, (500, 6)).astype(float)
    X[::2] = 0.25 * X[::2]
    w = np.array([Fraction(v) for v in weights], dtype=object)
    heights = [sum(Fraction(x) * v for x, v in zip([*row, 1], weights, strict=True)) for row in X.tolist()]
    wanted = [(h > 0) - (h < 0) for h in heights]
    assert 0 in wanted
    assert signs(Dense(X), np.arange(500), w).tolist() == wanted
