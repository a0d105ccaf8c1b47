"""Decimals of more digits than doubles hold: a text of them is read again where its digits decide, and only there."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from data import few
from linsep import fewest_errors, read, separate, separation
from linsep.cli import main
from linsep.prove.check.integers import over_common
from linsep.prove.core import facial_reduction
from linsep.prove.core.constraints import LongConstraints
from linsep.prove.linear_algebra import algebra
from linsep.prove.numbers import cells, text
from linsep.prove.regression import families
from oracles import inequalities, kind


@pytest.fixture(params=["some rows", "many readings"])
def lazily(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long decimals even in small tables; some rows are read, or all after one reading."""
    monkeypatch.setattr(text, "FEW_CELLS", 0)
    if request.param == "many readings":
        monkeypatch.setattr(cells, "_MOST_READINGS", 1)


def some_text(rng: np.random.Generator, value: float) -> str:
    """Return a decimal that reads as a double, in one of the ways that programs write it."""
    texts = [repr(value), f"{value:.17g}", f"{value:.18e}", f"{value:.25f}"]
    return texts[int(rng.integers(4))]


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("seed", few(range(60), 15))
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
@pytest.mark.parametrize("seed", range(8))
def test_integers_of_a_text_are_its_decimals(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fewest errors among decimals of 18 digits, read as 64-bit integers, are those among fractions."""
    monkeypatch.setattr(text, "FEW_CELLS", 0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2)) * rng.choice([1, 10, 0.01])
    y = (X[:, 0] + 0.5 * rng.normal(size=20) > 0).astype(int)
    y[:2] = 0, 1
    texts = [[f"{value:.17f}" for value in row] for row in X.tolist()]
    path = tmp_path / "long.csv"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(texts, y, strict=True)))
    exact = np.array([[Fraction(Decimal(value)) for value in row] for row in texts], dtype=object)
    found, wanted = fewest_errors(read(path, target="y")), fewest_errors(exact, y)
    assert (found.lower, found.upper) == (wanted.lower, wanted.upper)
    assert found.check(exact, y)
    with pytest.raises(SystemExit):
        main(["errors", str(path), "--target", "y", "--json"])
    assert json.loads(capsys.readouterr().out)["upper"] == wanted.upper


def test_the_fewest_errors_of_long_decimals(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"0.{i}00000000000000001,{i % 2}\n" for i in range(1, 7)))
    found = fewest_errors(read(path, target="y"))
    assert found.values == "decimal"
    assert found.lower == found.upper == 2


# ---------------------------------------------------------------------------------------------------------------
# Regression models


@pytest.mark.parametrize("family", ["binomial", "poisson", "multinomial", "ordinal", "conditional", "cox"])
@pytest.mark.parametrize("seed", few(range(12), 4))
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
    if family == "ordinal":
        y[2] = 2
    strata = np.arange(n) % 2 if family == "conditional" and n > 5 and y[::2].any() and y[1::2].any() else np.zeros(n)
    response = np.column_stack((rng.integers(1, 9, n), y)) if family == "cox" else y
    options = {"strata": strata} if family == "conditional" else {}
    exact = X.astype(object)
    exact[:] = [[Decimal(some_text(rng, value)) for value in row] for row in X.tolist()]
    for given in (X, exact):
        answers = []
        for most in (0, 1 << 30):
            monkeypatch.setattr(families, "_FEW_CELLS", most)
            found = separation(given, response, family=family, values="decimal", **options)
            assert found.check()
            statuses = [(name, status) for name, status, *_ in found.coefficients]
            answers.append((found.kind, statuses, found.separated.tolist(), found.notes))
        assert answers[0] == answers[1]


# ---------------------------------------------------------------------------------------------------------------
# Ties that only the decimals decide, against a threshold or pairs of rows in fractions


def tied_column(rng: np.random.Generator, n: int) -> tuple[list[str], list[int]]:
    """Return decimals of two classes that about touch: the last one below and the first above may be one double."""
    places = int(rng.integers(15, 20))
    middle = int(rng.integers(10**places // 3, 10**places // 2))
    gap = int(rng.choice([-2, -1, 0, 0, 1, 1, 2, 5, 40]))
    steps = [0, *(int(10 ** rng.uniform(0, places - 1)) for _ in range(n // 2 - 1))]
    numbers = [middle - step for step in steps] + [middle + gap + step for step in steps]
    signs = [0] * len(steps) + [1] * len(steps)
    order = rng.permutation(len(numbers)).tolist()
    return [f"0.{numbers[i]:0{places}d}" for i in order], [signs[i] for i in order]


def kind_of_column(texts: list[str], y: list[int]) -> str:
    """Return the verdict on one column, by the definition: which numbers of the classes lie between the other's."""
    zeros, ones = ([Fraction(t) for t, label in zip(texts, y, strict=True) if label == own] for own in (0, 1))
    if max(zeros) < min(ones) or max(ones) < min(zeros):
        return "separable"
    if max(zeros) == min(ones) or max(ones) == min(zeros):
        return "quasi" if len({*zeros, *ones}) > 1 else "overlap"
    return "overlap"


@pytest.mark.parametrize("seed", few([229, *range(150)], 13))  # of 229 different rows have one hash, in turns
@pytest.mark.usefixtures("lazily")
def test_one_column_of_ties(seed: int, tmp_path: Path) -> None:
    """The verdict, the fewest errors and the separation of a model all follow from the order of the decimals."""
    rng = np.random.default_rng(seed)
    texts, y = tied_column(rng, int(rng.integers(4, 60)))
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{cell},{label}\n" for cell, label in zip(texts, y, strict=True)))
    wanted = kind_of_column(texts, y)
    source = read(path, target="y")
    verdict = separate(source)
    assert verdict.kind == wanted
    for plain in (False, True):
        assert verdict.check(source, plain=plain)
    exact = [Fraction(text) for text in texts]
    pairs = sorted(zip(exact, y, strict=True))
    least = len(y)
    for cut in [*sorted(set(exact)), max(exact) + 1]:  # rows below are of one class, all others of the other one
        wrong = sum((value < cut) == label for value, label in pairs)
        least = min(least, wrong, len(y) - wrong)
    found = fewest_errors(source)
    assert (found.lower, found.upper) == (least, least)
    assert found.check(source)


@pytest.mark.parametrize("seed", few(range(60), 6))
def test_a_model_of_ties_in_a_text(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``linsep regression`` reads the decimals of a text, in a column of its own or beside short numbers."""
    rng = np.random.default_rng(seed)
    texts, y = tied_column(rng, int(rng.integers(6, 40)))
    other = rng.integers(0, 2, len(y)).tolist() if seed % 2 else [0] * len(y)
    path, proof = tmp_path / "t.csv", tmp_path / "p.json"
    path.write_text("x,z,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(texts, other, y, strict=True)))
    rows = [[Fraction(a), Fraction(b)] for a, b in zip(texts, other, strict=True)]
    wanted = {"separable": "complete"}.get(found := kind(inequalities(rows, y, [0, 1], True)), found)
    with pytest.raises(SystemExit):
        main(["regression", str(path), "--target", "y", "--json", "--proof", str(proof)])
    assert json.loads(capsys.readouterr().out)["kind"] == wanted
    for options in ([], ["--plain"]):
        with pytest.raises(SystemExit) as ended:
            main(["verify", str(proof), str(path), "--json", *options])
        assert ended.value.code == 0


def test_doubles_near_to_the_rows_settle_nothing() -> None:
    """A row in the middle between two of the other class: its double is beside the segment, its decimals are on it."""
    rng, misled = np.random.default_rng(0), 0
    for _ in range(40):
        ends = [[Decimal(int(v)).scaleb(-18) for v in row] for row in rng.integers(-(2**62), 2**62, (2, 2))]
        rows = np.array([*ends, [(a + b) / 2 for a, b in zip(*ends, strict=True)]], dtype=object)
        y = np.array([0, 0, 1])
        exact = cells.ExactRows(rows, "decimal")
        scaled = exact.scaled()
        assert scaled is not None
        system = LongConstraints.of(exact, scaled, y, 2, True)
        near = separate(scaled[1], y)
        assert not facial_reduction.solve(system).strict.all()
        if near.kind == "separable":
            W, b = near.separator.exactly()
            g = algebra.one_column(over_common([*W[0], *b])[0])
            system.candidates = lambda _, g=g: iter([g])
            assert system.strict_plane(scaled[1]) is None
            misled += 1
    assert misled > 5
