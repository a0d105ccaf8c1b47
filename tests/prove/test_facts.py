"""The facts of which proofs consist, in the plain checker and in the browser's, against ranks by another program."""

import numpy as np
import pytest
from flint import fmpz_mat

import linsep
from javascript import judged
from linsep.prove.check.linsep_check import echelon, independent, parities, spanned


def rank(rows):
    return fmpz_mat(rows).rank() if rows else 0


def tables(times):
    """Yield rows of whole numbers of many shapes and ranks; ``times`` 2 hides all of them modulo 2."""
    rng = np.random.default_rng(5)
    for _ in range(150):
        m, d, r = (int(v) for v in rng.integers(1, 9, 3))
        low = rng.integers(-3, 4, (m, r)) @ rng.integers(-3, 4, (r, d))
        yield (low.astype(object) * times * (1 if rng.random() < 0.7 else 10**30)).tolist()


@pytest.mark.parametrize("times", [1, 2])
def test_ranks(times):
    fell_short = 0
    for rows in tables(times):
        with_bottoms, true = [(row, 3) for row in rows], rank(rows)
        fell_short += parities(with_bottoms) < true
        assert parities(with_bottoms) <= true == len(echelon(with_bottoms))
        assert independent(with_bottoms, true)
        assert not independent(with_bottoms, true + 1)
        some, width = with_bottoms[: len(rows) // 2 + 1], len(rows[0])
        inside = rank(rows[: len(some)])
        assert spanned(some, with_bottoms, width) == (inside if inside == true else None)
    assert fell_short  # and the other ways to a rank were used


@pytest.mark.parametrize("times", [1, 2])
def test_overlap_whose_rank_parities_show_or_hide(times):
    """The plain check and the browser's find the rank of many columns, whether all numbers are even or not."""
    rng = np.random.default_rng(8)
    X = times * rng.integers(-2, 3, (90, 40)).astype(float)
    y = rng.integers(0, 2, 90)
    X[:, 39] = X[:, 38] if times == 1 else 0  # dependent columns: less than full rank
    verdict = linsep.separate(np.vstack([X, X]), np.concatenate([y, 1 - y]))
    assert verdict.kind == "overlap"
    assert verdict.check(np.vstack([X, X]), np.concatenate([y, 1 - y]), plain=True)
    document = linsep.to_json(verdict, np.vstack([X, X]), np.concatenate([y, 1 - y]))
    assert judged([document], np.vstack([X, X]), np.concatenate([y, 1 - y])) == [(True, "")]
    X[0, 39] += 1  # now the rows of the refutation are not those of the proof
    assert not verdict.check(np.vstack([X, X]), np.concatenate([y, 1 - y]), plain=True)
