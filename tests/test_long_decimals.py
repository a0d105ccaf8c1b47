"""Decimals of more digits than doubles hold: a text of them is read again where its digits decide, and only there."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from linsep import fewest_errors, read, separate, separation
from linsep.prove.exact import exact_text, exact_values
from linsep.prove.numbers import long_decimals
from oracles import inequalities, kind


@pytest.fixture(params=["some rows", "many readings"])
def lazily(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long decimals even in small tables; some rows are read, or all after one reading."""
    monkeypatch.setattr(exact_text, "FEW_CELLS", 0)
    if request.param == "many readings":
        monkeypatch.setattr(long_decimals, "_MOST_READINGS", 1)


def some_text(rng: np.random.Generator, value: float) -> str:
    """Return a decimal that reads as a double, in one of the ways that programs write it."""
    texts = [repr(value), f"{value:.17g}", f"{value:.18e}", f"{value:.25f}"]
    return texts[int(rng.integers(4))]


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.usefixtures("lazily")
def test_the_decimals_decide(seed: int, tmp_path: Path) -> None:
    """Sums and thirds that tie as decimals or as doubles, on lines of all kinds, against an exact program."""
    rng = np.random.default_rng(seed)
    n, d, offset = int(rng.integers(3, 12)), int(rng.integers(1, 4)), bool(rng.integers(2))
    whole = rng.integers(-3, 4, (n, d))
    X = [whole / 3, whole * 0.1 + 0.2, whole / 7 * 10.0 ** rng.integers(-3, 4, d), rng.normal(size=(n, d))][seed % 4]
    y = ((X @ rng.integers(-2, 3, d) + rng.integers(-1, 2)) > 0).astype(int)
    y[:2] = 0, 1
    cells = [[some_text(rng, value) for value in row] for row in X.tolist()]
    cells[0][0] = f"{X[0, 0]:.18e}"
    quote, blank = ('"', "\n") if seed % 5 == 0 else ("", "")
    lines = [f"{','.join(row)},{quote}c{label}{quote}\n{blank}" for row, label in zip(cells, y.tolist(), strict=True)]
    if seed % 3 == 0:
        lines.insert(int(rng.integers(n)), f"{','.join(['NA'] * d)},c0\n")
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"x{j}" for j in range(d)) + ",y\n" + "".join(lines))
    exact = [[Fraction(Decimal(cell)) for cell in row] for row in cells]
    verdict = separate(read(path, target="y", missing="drop"), fit_intercept=offset)
    assert verdict.kind == kind(inequalities(exact, y.tolist(), [0, 1], offset))
    assert verdict.check(read(path, target="y", missing="drop"))


@pytest.mark.usefixtures("lazily")
def test_a_text_of_many_rows_is_read_again_for_few(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X @ [1, 2, 3, 4] + rng.normal(size=3000) > 0).astype(int)
    for part in range(2):
        rows = np.column_stack((X, y))[part::2]
        text = "\n".join(",".join([*(f"{v:.18e}" for v in row[:-1]), str(int(row[-1]))]) for row in rows.tolist())
        (tmp_path / f"t{part}.csv").write_text("a,b,c,d,y\n" + text + "\n")
    source = read([tmp_path / "t0.csv", tmp_path / "t1.csv"], target="y")
    verdict = separate(source)
    assert verdict.kind == "overlap"
    assert verdict.check(source)
    assert verdict.check(source, plain=True)


@pytest.mark.usefixtures("lazily")
def test_the_fewest_errors_of_long_decimals(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"0.{i}00000000000000001,{i % 2}\n" for i in range(1, 7)))
    found = fewest_errors(read(path, target="y"))
    assert found.values == "decimal"
    assert found.lower == found.upper == 2


# ---------------------------------------------------------------------------------------------------------------
# Regression models


@pytest.mark.parametrize("family", ["binomial", "poisson", "multinomial"])
@pytest.mark.parametrize("seed", range(12))
def test_regression_models_of_long_decimals(seed: int, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats near the decimals and integers in pieces find the same: which rows and coefficients are separated."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 40)), int(rng.integers(1, 4))
    whole = rng.integers(-3, 4, (n, d))
    X = [whole / 3, whole * 0.1 + 0.2, whole / 7 * 10.0 ** rng.integers(-3, 4, d), rng.normal(size=(n, d))][seed % 4]
    if d > 1 and seed % 3 == 0:
        X[:, 1] = X[:, 0]
    y = ((X @ rng.integers(-2, 3, d) + rng.integers(-1, 2) / 3) > 0).astype(int) + (family == "multinomial")
    y[:2] = 0, 1
    exact = X.astype(object)
    exact[:] = [[Decimal(some_text(rng, value)) for value in row] for row in X.tolist()]
    for cells in (X, exact):
        answers = []
        for few in (0, 1 << 30):
            monkeypatch.setattr(exact_values, "FEW_CELLS", few)
            found = separation(cells, y, family=family, values="decimal")
            assert found.check()
            statuses = [(name, status) for name, status, *_ in found.coefficients]
            answers.append((found.kind, statuses, found.separated.tolist(), found.notes))
        assert answers[0] == answers[1]
