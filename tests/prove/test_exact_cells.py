"""A cell is one number, whoever reads it: decimals, products, tiny and long numbers, times, float32, groups of rows.

Every expectation is computed here in fractions, from the cells as the user wrote them.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import linsep
from data import command
from linsep.errors import DataError

INTERACTION = "x,z,w,y\n1,0.1,0.1,1\n2,0.2,0.4,0\n3,0.3,0.9,1\n4,0.4,1.6,0\n"


def proved(path, proof, *options):
    """Let the command prove a regression, and both checks verify the proof; return what was printed."""
    code, text = command("regression", str(path), *options, "--proof", str(proof))
    assert code in (0, 1), text
    for plain in ([], ["--plain"]):
        checked, told = command("verify", str(proof), str(path), *plain)
        assert checked == 0, told
    return text


def test_a_proof_about_products_passes_the_plain_check(tmp_path):
    path, proof = tmp_path / "t.csv", tmp_path / "p.json"
    path.write_text(INTERACTION)
    proved(path, proof, "--formula", "y ~ x*z")
    assert "overlap" in proved(path, proof, "--formula", "y ~ x:z + w")  # in decimals x z is w in every row


def test_products_of_long_integers_are_exact():
    """Products beyond 64 bits: b is a times 3000000019, so a:c and b:c depend on each other only exactly."""
    a = np.array([3_000_000_019, 3_000_000_037, 5, 7])
    c = np.array([4_000_000_007, 4_000_000_009, 11, 13])
    frame = pd.DataFrame({"a": a, "c": c, "y": [0, 1, 1, 0]})
    found = linsep.separation("y ~ a:c - 1", frame, values="decimal")
    exact = [int(u) * int(v) for u, v in zip(a, c, strict=True)]
    assert found.kind == "overlap"  # one positive column, both labels
    assert min(exact) > 0
    assert found.check()


@pytest.mark.parametrize("exponent", [300, 330, 400, 1000, 5000])
def test_tiny_cells_are_not_zero(exponent, tmp_path):
    """1e-400 < 2e-400 < 3e-400 < 4e-400: a threshold between the second and the third separates completely."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k}e-{exponent},{int(k > 2)}\n" for k in (1, 2, 3, 4)))
    assert "complete" in proved(path, tmp_path / "p.json", "--target", "y")
    assert linsep.separate(linsep.read(str(path))).kind == "separable"


def test_numbers_beyond_what_the_format_allows_are_refused_in_one_line(tmp_path):
    for cell in ("1e-50000", "1e99999", "1" * 4001):
        path = tmp_path / "t.csv"
        path.write_text(f"x,y\n{cell},0\n2,1\n3,1\n4,0\n")
        for name in ("regression", "separate"):
            code, text = command(name, str(path), "--target", "y")
            assert code == 2, (cell, name, text)
            assert len(text.strip().splitlines()) == 1, text
            assert "4300" not in text


def test_the_margin_of_moments_says_that_it_is_one_of_doubles(tmp_path):
    """Half of 25 hours is 25/48 of a day, which no double is: the bounds are about the doubles near the moments."""
    path = tmp_path / "t.csv"
    path.write_text("t,y\n2024-01-01 10:00,a\n2024-01-01 11:00,a\n2024-01-02 12:00,b\n")
    assert "for the doubles nearest to these numbers" in command("separate", str(path))[1]
    path.write_text("t,y\n2024-01-01,a\n2024-01-02,b\n")  # whole days
    assert "doubles" not in command("separate", str(path))[1]


def test_exponents_may_have_leading_zeros(tmp_path):
    path, proof = tmp_path / "t.csv", tmp_path / "p.json"
    path.write_text("x,y\n1e00001,0\n2e00001,0\n3e+00001,1\n40,1\n")
    code, text = command("separate", str(path), "--proof", str(proof))
    assert "separable" in text, (code, text)
    for plain in ([], ["--plain"]):
        code, text = command("verify", str(proof), str(path), *plain)
        assert code == 0, text


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_nanoseconds_count():
    """Two moments a nanosecond apart are two numbers; equal steps of time are equal numbers."""
    start = np.datetime64("2024-05-01T10:00:00", "ns")
    times = start + np.array([1, 2, 3, 4]).astype("timedelta64[ns]")
    frame = pd.DataFrame({"t": times})
    assert linsep.separation(frame, [0, 0, 1, 1]).kind == "complete"
    seconds = np.arange(6) * 7
    frame = pd.DataFrame({"t": start + seconds.astype("timedelta64[s]"), "s": seconds.astype(float)})
    found = linsep.separation(frame, [0, 1, 0, 1, 0, 1])
    assert found.rank == 2  # with the intercept: t is s times a constant plus another


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_moments_in_parquet_are_numbers(unit, tmp_path):
    """A column of moments in Parquet is one of exact days, as in a frame: collinear with its seconds."""
    start = np.datetime64("2024-05-01T10:00:00", unit)
    seconds = np.array([0, 7, 14, 21, 28, 35])
    frame = pd.DataFrame({"t": start + seconds.astype("timedelta64[s]"), "s": seconds, "y": [0, 1, 0, 1, 0, 1]})
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    code, text = command("regression", str(path), "--target", "y")
    assert code in (0, 1), text
    assert "3 of rank 2" in text, text


GROUPS = [["01", "1", "2", "2"], ["a", " a", "b", "b"], np.array([1.0, 1, 2, 2]), ["1.0", "1", "x", "x"]]


@pytest.mark.parametrize("groups", GROUPS, ids=["zeros", "blanks", "floats", "points"])
@pytest.mark.parametrize("family", ["conditional", "cox", "binomial"])
def test_groups_are_told_apart_by_one_rule(groups, family):
    """Deciding and checking read the same strata, and the same factors: those of one spelling are one."""
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    y = np.array([[1, 1], [2, 1], [3, 1], [4, 0]]) if family == "cox" else np.array([1, 0, 0, 1])
    found, same = (
        linsep.separation(X, y, absorb=[each])
        if family == "binomial"
        else linsep.separation(X, y, family=family, strata=each)
        for each in (groups, ["p", "p", "q", "q"])
    )
    assert found.kind == same.kind
    assert found.statuses == same.statuses
    assert found.check()
    assert found.check(plain=True)
    if isinstance(groups, list) and family != "binomial":
        assert any("one" in note for note in found.notes)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_are_the_decimals_of_their_own_type(dtype):
    """0.1, 0.2 and 0.3 in half or single precision: as decimals they lie on a line through the origin."""
    X = np.array([[0.1, 1], [0.2, 2], [0.3, 3], [0.4, 4]], dtype=dtype)
    y = np.array([0, 1, 0, 1])
    shown = [[Fraction(str(v)) for v in row] for row in X]
    assert all(10 * a == b for a, b in shown)
    decimal = linsep.separation(X, y, fit_intercept=False, values="decimal")
    assert decimal.rank == 1
    assert decimal.kind == "overlap"
    assert decimal.check()
    assert decimal.check(plain=True)
    verdict = linsep.separate(X, y, fit_intercept=False, values="decimal")
    assert verdict.kind == "overlap"
    assert verdict.check(X, y)
    assert verdict.check(X, y, plain=True)
    assert (
        linsep.separate(X.astype(np.float64), y, fit_intercept=False).kind
        == linsep.separate(X, y, fit_intercept=False).kind
    )
    fewest = linsep.fewest_errors(X, y, fit_intercept=False, values="decimal", time_limit=5)
    assert fewest.check(X, y)


def test_exact_numbers_of_a_program_are_themselves_in_either_case():
    """Fractions and decimals are not rounded, whatever floats beside them mean."""
    third = Fraction(1, 3)
    X = np.array([[third, 1.0], [2 * third, 2.0], [1, 3.0], [4 * third, 4.0]], dtype=object)
    for values in ("binary", "decimal"):
        found = linsep.separation(X, [0, 1, 0, 1], fit_intercept=False, values=values)
        assert found.rank == 1
        assert found.check()


def test_a_gap_in_a_group_is_named():
    with pytest.raises(DataError, match="row 1"):
        linsep.separation([[0.0], [1.0]], [0, 1], family="conditional", strata=["a", None])
