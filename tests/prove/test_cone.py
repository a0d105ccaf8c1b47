"""The core of separation on inequalities and equations, against double description in plain integers."""

import numpy as np
import pytest

from linsep.problem import Dense
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints as System
from linsep.prove.regression.cone import reduce
from linsep.prove.regression.statuses import Statuses
from regression_oracle import answers, dot


def system_of(X, y, equal, offset):
    X = np.ascontiguousarray(X)
    return System(Data(Dense(X), np.asarray(y, dtype=np.intp), X.shape[1], 2, offset), np.asarray(equal, dtype=bool))


def designs(count, seed):
    """Small designs in integers: repeated rows and columns that depend on others among them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d = int(rng.integers(2, 10)), int(rng.integers(1, 5))
        X = rng.integers(-2, 3, (n, d))
        if rng.random() < 0.3:
            X[:, -1] = X[:, 0] - X[:, d // 2]
        if rng.random() < 0.3:
            X[n // 2] = X[0]
        if rng.random() < 0.2:
            X[:, 0] = X[:, 0] > 0
        y = rng.integers(0, 2, n)
        equal = rng.random(n) < rng.choice([0.0, 0.0, 0.3])
        yield X, y, equal, bool(rng.random() < 0.7)


def plain_rows(X, y, offset):
    return [
        [(1 if s else -1) * v for v in [*row, *([1] if offset else [])]] for row, s in zip(X.tolist(), y, strict=True)
    ]


@pytest.mark.slow
def test_faces_and_statuses_are_those_of_double_description():
    seen = {"S": 0, "N": 0}
    for X, y, equal, offset in designs(600, 0):
        rows = plain_rows(X, y, offset)
        p = len(rows[0])
        face = reduce(system_of(X.astype(float), y, equal, offset), list(range(p)))
        kept = face.columns
        inner = [[row[j] for j in kept] for row in rows]
        functions = [[int(j == k) for j in range(len(kept))] for k in range(len(kept))]
        rng = np.random.default_rng(len(rows))
        functions += rng.integers(-2, 3, (2, len(kept))).tolist()
        separated, statuses = answers(inner, equal, len(kept), functions)
        ids = np.arange(len(y)) * 2 + 1 - y
        assert face.separated[ids].tolist() == separated
        assert face.separated.sum() == sum(separated)
        found = Statuses(face)
        assert [found.status({k: v for k, v in enumerate(c) if v}) for c in functions] == statuses
        heights = [dot(row, face.direction) for row in inner]
        assert [height > 0 for height in heights] == separated
        assert all(height >= 0 for height in heights)
        for c in functions:
            holds(found.proved({k: v for k, v in enumerate(c) if v}), c, inner, equal, separated, face)
        for status in statuses:
            seen[status] = seen.get(status, 0) + 1
    assert min(seen.get(each, 0) for each in ("finite", "+inf", "-inf", "undetermined")) > 100


def holds(proved, c, rows, equal, separated, face):
    """Check the evidence against the table of the specification."""
    if proved.combination is not None:
        ids, multipliers = proved.combination
        total = [sum(m * rows[i // 2][j] for i, m in zip(ids, multipliers, strict=True)) for j in range(len(c))]
        sign = -1 if proved.status == "-inf" else 1
        assert total == [sign * value for value in c]
        if proved.status == "finite":
            assert not any(separated[i // 2] for i in ids)
        else:
            assert all(m > 0 or equal[i // 2] for i, m in zip(ids, multipliers, strict=True))
            assert sign * dot(c, face.direction) > 0
    else:
        assert proved.status == "undetermined"
        up, down = proved.directions
        assert dot(c, up) > 0 > dot(c, down)
        for g in (up, down):
            assert all(dot(z, g) == 0 if e else dot(z, g) >= 0 for z, e in zip(rows, equal, strict=True))
