"""Separation in regression models beside passes over the rows and other packages, and which answers differ."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import DATA, Row, Table, at_least, at_most, best, in_turns, sized
from linsep import separation, verify
from linsep.prove.regression.documents import response_of

Answer = Callable[[Any, pd.DataFrame], bool]

FOUR = ([[0.0, 2.0], [1.0, -2.0], [1.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 1])


def quasi(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows with a 0/1 column that is 1 for successes only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 0] = rng.random(n) < 0.1
    y = (X[:, 1:] @ rng.normal(size=d - 1) + 3 * rng.normal(size=n) > 0).astype(int)
    y[X[:, 0] == 1] = 1
    return X, y


def four_way(levels: int, factors: int) -> np.ndarray:
    """Return the design of all interactions up to order 4 on a table of counts."""
    cells = np.array(list(itertools.product(range(levels), repeat=factors)))
    columns = []
    for k in range(min(factors, 5)):
        for some in itertools.combinations(range(factors), k):
            every = itertools.product(range(1, levels), repeat=k)
            columns += [(cells[:, list(some)] == values).all(axis=1) for values in every]
    return np.column_stack(columns).astype(float)


def effects(n: int, firms: int, years: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two columns, counts of which many are 0, and two factors."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 2)), rng.poisson(0.3, n), rng.integers(0, firms, n), rng.integers(0, years, n)


def detected(X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Return the job of firthmodels' linear program."""
    from firthmodels import detect_separation

    return lambda: detect_separation(X, y)


def checked_effects(X: np.ndarray, y: np.ndarray, firm: np.ndarray, year: np.ndarray) -> tuple[float, set[int]]:
    """Return how long pyfixest's check of fixed effects takes, and the rows that it finds."""
    from pyfixest.estimation.models.fepois_ import _check_for_separation

    frame = pd.DataFrame({"y": y, "a": X[:, 0], "b": X[:, 1]})
    fe = pd.DataFrame({"firm": firm, "year": year})
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _check_for_separation("y ~ a + b | firm + year", frame, frame[["y"]], frame[["a", "b"]], fe, ["fe"])
    return time.perf_counter() - started, {int(i) for i in found}


def run() -> Iterator[Row]:
    """Yield times; the rows of 100k×50 are quasi-separated, a pass is ``X @ w``."""
    X, y = quasi(sized(100_000, 2000), 50)
    w = np.ones(50)
    ours, product = in_turns(lambda: separation(X, y), lambda: X @ w, times=7)
    yield at_most(f"separation, {len(X)}×50, quasi", ours, "X @ w", product, 40)
    small, labels = quasi(80, 3)
    ours = best(lambda: separation(small, labels), 20)
    yield at_least("separation, 80×3, quasi", ours, "50 ms", 0.05, 1)
    try:
        yield at_least("separation, 80×3, quasi", ours, "firthmodels", best(detected(small, labels), 20), 0.1)
        few = sized(20_000, 1000)
        ours = best(lambda: separation(X[:few], y[:few]), 3)
        yield at_least(f"separation, {few}×50, quasi", ours, "firthmodels", best(detected(X[:few], y[:few]), 1), 1)
    except ImportError:
        pass
    design = four_way(sized(4, 2), 5)
    counts = np.random.default_rng(0).poisson(1.0, len(design))
    ours = best(lambda: separation(design, counts, family="poisson", fit_intercept=False), 2)
    yield at_least(f"separation, 4-way table, {design.shape[0]}×{design.shape[1]}", ours, "2 s", 2.0, 1)
    X, y, firm, year = effects(sized(20_000, 2000), sized(300, 30), sized(20, 5))
    ours = best(lambda: separation(X, y, family="poisson", absorb=[firm, year]), 2)
    yield at_least(f"separation, {len(y)} rows, two absorbed factors", ours, "10 s", 10.0, 1)
    with suppress(ImportError, TypeError):
        yield at_least(
            f"separation, {len(y)} rows, two absorbed factors", ours, "pyfixest, check of factors alone",
            checked_effects(X, y, firm, year)[0], 0.01,
        )  # fmt: skip


def tables() -> Iterator[Table]:
    """Yield the answers that differ."""
    body = []
    try:
        from firthmodels import detect_separation

        found, other = separation(*FOUR), detect_separation(np.array(FOUR[0]), np.array(FOUR[1]))
        theirs = dict(zip(other.feature_names, other.is_finite.tolist(), strict=True))
        ours = dict(zip(found.names, found.statuses, strict=True))
        body.append(["four rows", f"x1 {ours['x1']}", f"firthmodels: x1 {'finite' if theirs['x1'] else 'infinite'}"])
    except ImportError:
        pass
    try:
        X, y, firm, year = effects(sized(10_000, 2000), sized(200, 30), sized(20, 5))
        switch = (np.random.default_rng(2).random(len(y)) < 0.01).astype(float)
        y = np.where(switch == 1, 0, y)
        ours = separation(np.column_stack((X[:, 0], switch)), y, family="poisson", absorb=[firm, year])
        theirs = checked_effects(np.column_stack((X[:, 0], switch)), y, firm, year)[1]
        body.append(
            [
                "a column that separates, and factors",
                f"{len(ours.separated)} rows",
                f"pyfixest, check of factors: {len(theirs)} rows",
            ]
        )
    except (ImportError, TypeError):
        pass
    yield Table("separation", ["data", "linsep", "others"], body)
    folder = DATA / "separation"
    if folder.exists():
        yield Table("separation, published data", ["data", "linsep", "published", "proof"], list(published(folder)))


def published(folder: Path) -> Iterator[list[str]]:
    """Yield what is found for published data, whether it is what was published, and whether three checks hold."""
    for name, (formula, options, wanted) in PUBLISHED.items():
        frame = pd.read_csv(folder / f"{name}.csv")
        factors = [each for each in frame.columns if each in ("i", "j") or each.startswith("id")]
        plain = [each for each in frame.columns if each.startswith("x")]
        terms = " + ".join([*plain, *(f"C({each})" for each in factors)])
        found = separation(formula.format(terms), frame, **{"values": "decimal", **options})
        text, same = found.to_json(), wanted(found, frame)
        y = np.column_stack(response_of(found.given)[1])
        y = y if y.shape[1] > 1 else y[:, 0]
        holds = found.check() and verify(text, found.given.X, y) and verify(text, found.given.X, y, plain=True)
        yield [name, repr(found)[11:-1], "the same" if same else "another", "holds" if holds else "fails"]


def is_separated(*rows: int) -> Answer:
    """Return whether these rows are separated, counted from 1 as the publications do."""
    return lambda found, _: (found.separated + 1).tolist() == list(rows)


def has(kind: str, rows: int, **statuses: str) -> Answer:
    """Return whether an answer is of this kind, with so many rows, and these statuses."""

    def same(found: Any, _: pd.DataFrame) -> bool:
        said = dict(zip(found.names, found.statuses, strict=True))
        return (found.kind, len(found.separated)) == (kind, rows) and all(said[n] == s for n, s in statuses.items())

    return same


def as_marked(found: Any, frame: pd.DataFrame) -> bool:
    """Return whether the rows are those that the data mark."""
    return bool(found.separated.tolist() == np.flatnonzero(frame["separated"]).tolist())


COUNTS = {"family": "poisson"}
TEAMS = ["ants", "beetles", "cows", "dogs", "egrets", "foxes", "gerbils"]
PUBLISHED: dict[str, tuple[str, dict[str, str], Answer]] = {
    "endometrial": (
        "HG ~ NV + PI + EH", {}, has("quasi", 13, NV="+inf", PI="finite", EH="finite", Intercept="finite"),
    ),
    "lizards": ("cbind(grahami, opalinus) ~ height + diameter + light + time", {}, has("overlap", 0)),
    "complete": ("y ~ x", {}, has("complete", 8)),
    "quasi": ("y ~ x", {}, has("quasi", 8)),
    "sports": (
        f"cbind(wins, losses) ~ {' + '.join(TEAMS)} + hogs - 1", {},
        lambda found, _: found.rank == 7
        and has("quasi", 17, gerbils="finite", hogs="aliased", **dict.fromkeys(TEAMS[:-1], "+inf"))(found, _),
    ),
    **{f"ppml0{k}": ("y ~ {}", COUNTS, as_marked) for k in range(1, 10)},
    "ppml_example1": (
        "y ~ {}", COUNTS,
        has("quasi", 1, x1="-inf", x2="+inf", x3="finite", x4="finite", Intercept="finite"),
    ),
    "ppml_example2": ("y ~ {}", COUNTS, is_separated(*range(1, 10))),
    "ppml_fe1": ("y ~ {}", COUNTS, is_separated(5, 8, 14, 15)),
    "ppml_fe2": ("y ~ {}", COUNTS, is_separated(*range(1, 6))),
}  # fmt: skip
