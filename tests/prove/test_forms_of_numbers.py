"""One table in every form in which a user may have it: each answer is that about the numbers as they are written."""

import json
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from linsep import separate
from linsep.errors import DataError
from linsep.prove.numbers import text
from oracles import inequalities, kind

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
COLUMNS = {  # the numbers of a column, and the type that Arrow has for them
    "small": (lambda r: r.randint(-3, 3), pa.int64()),
    "half": (lambda r: r.randint(-6, 6) / 2, pa.float64()),
    "at 2^53": (lambda r: 2**53 + r.randint(-3, 4), pa.int64()),
    "at 2^63": (lambda r: r.choice([2**63 - 1 - r.randint(0, 4), -(2**63) + r.randint(0, 3)]), pa.int64()),
    "at 2^64": (lambda r: 2**64 - 1 - r.randint(0, 4), pa.uint64()),
    "tenths": (lambda r: Decimal(r.randint(-9, 9)) / 10, pa.decimal128(18, 14)),
    "20 digits": (lambda r: Decimal("0.3") + Decimal(r.randint(-2, 2)).scaleb(-20), pa.decimal128(24, 20)),
    "17 digits": (lambda r: float(np.nextafter(0.3, r.choice([0, 0.3, 1]))), pa.float64()),
    "thousands": (lambda r: f"{2**53 + r.randint(-3, 4):,}", pa.string()),
    "written": (lambda r: f"0.{r.randint(0, 3):020d}", pa.string()),
    "whole and not": (lambda r: r.choice([2**53, 2**53 + 1, 2**53 + 2, 0.5]), None),
}


def exact(cell, values):
    if isinstance(cell, str):
        return Fraction(cell.replace(",", ""))
    return Fraction(repr(cell)) if isinstance(cell, float) and values == "decimal" else Fraction(cell)


def cases(seed, tmp_path):
    """Yield the name of a form, how numbers are meant, the verdict that is due, and the rows with their labels."""
    r = random.Random(seed)
    n, kinds = r.randint(3, 7), [r.choice(list(COLUMNS)) for _ in range(r.randint(1, 3))]
    columns = {f"x{j}": [COLUMNS[name][0](r) for _ in range(n)] for j, name in enumerate(kinds)}
    y = ["a", "b", *(r.choice("ab") for _ in range(n - 2))]
    rows = list(zip(*columns.values(), strict=True))
    due = {
        values: kind(inequalities([[exact(cell, values) for cell in row] for row in rows], y, ("a", "b"), True))
        for values in ("binary", "decimal")
    }
    objects = ("tenths", "20 digits", "thousands", "written", "whole and not")
    frame = pd.DataFrame(
        {
            name: pd.Series(cells, dtype=object if kind_ in objects else "uint64" if kind_ == "at 2^64" else None)
            for (name, cells), kind_ in zip(columns.items(), kinds, strict=True)
        }
    )
    written = any(isinstance(cell, str) for cell in rows[0])
    forms = {"records": [dict(zip(columns, row, strict=True)) for row in rows], "pandas": frame}
    if not written:
        forms["lists"] = rows
    for dtype, names in ((np.int64, ("small", "at 2^53", "at 2^63")), (np.uint64, ("at 2^64",))):
        if set(kinds) <= set(names):
            forms["numpy"] = np.array(rows, dtype=dtype)
    if "whole and not" not in kinds:
        types = [COLUMNS[name][1] for name in kinds]
        table = pa.table([pa.array(c, t) for c, t in zip(columns.values(), types, strict=True)], names=list(columns))
        forms |= {"arrow": table, "polars": pl.from_arrow(table)}
        pq.write_table(table.append_column("label", pa.array(y)), tmp_path / "t.parquet")
        forms["parquet"] = tmp_path / "t.parquet"
    for name, X in forms.items():
        for values in ("decimal",) if written else ("binary", "decimal"):
            yield name, values, due[values], X, y, list(columns)
    texts = [
        [cell if isinstance(cell, str) else repr(cell) if isinstance(cell, float) else f"{cell}" for cell in row]
        for row in rows
    ]
    lines = ["\t".join([*row, label]) for row, label in zip(texts, y, strict=True)]
    (tmp_path / "t.tsv").write_text("\n".join(["\t".join([*columns, "label"]), *lines]) + "\n")
    yield "csv", "decimal", due["decimal"], tmp_path / "t.tsv", y, list(columns)
    records = [dict(zip(columns, row, strict=True)) | {"label": label} for row, label in zip(rows, y, strict=True)]
    plain = [
        json.dumps({k: v if isinstance(v, str | int | float) else float(v) for k, v in each.items()})
        for each in records
    ]
    if not any(isinstance(cell, Decimal) for cell in rows[0]):
        (tmp_path / "t.jsonl").write_text("\n".join(plain) + "\n")
        yield "json", "decimal", due["decimal"], tmp_path / "t.jsonl", y, list(columns)


def verdicts(X, y, values, names):
    """Yield what is asked about a table, and the kind of the answer in the words of a verdict."""
    words = {"complete": "separable"}
    if not isinstance(X, list | np.ndarray | pa.Table | pd.DataFrame | pl.DataFrame):
        source = {"X": linsep.read(X, target="label"), "values": values}
        formula, given = (
            linsep.separation(f"label ~ {' + '.join(names)}", X, values=values),
            linsep.separation(**source),
        )
        verdict = linsep.separate(**source)
        assert verdict.check(linsep.read(X, target="label"), plain=True)
        yield from (
            ("formula", words.get(formula.kind, formula.kind)),
            ("regression", words.get(given.kind, given.kind)),
        )
        yield "separate", verdict.kind
        return
    verdict = linsep.separate(X, y, values=values)
    assert verdict.check(X, y, plain=True)
    assert linsep.verify(linsep.to_json(verdict, X, y), X, y)
    yield "separate", verdict.kind
    regression = linsep.separation(X, y, values=values)
    assert regression.check(plain=True)
    yield "regression", words.get(regression.kind, regression.kind)
    if not isinstance(X, list | np.ndarray):
        frame = X.append_column("label", pa.array(y)) if isinstance(X, pa.Table) else X
        frame = frame.assign(label=y) if isinstance(X, pd.DataFrame) else frame
        frame = frame.with_columns(label=pl.Series(y)) if isinstance(X, pl.DataFrame) else frame
        formula = linsep.separation(f"label ~ {' + '.join(names)}", frame, values=values)
        yield "formula", words.get(formula.kind, formula.kind)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 120))])
def test_the_form_of_a_table_does_not_matter(seed, tmp_path):
    for name, values, due, X, y, names in cases(seed, tmp_path):
        try:
            answers = dict(verdicts(X, y, values, names))
        except DataError as error:
            refused = "digits" in str(error) or "2^53" in str(error)
            if name != "json" or not refused:  # numbers that a parser of JSON rounds are refused
                raise
        else:
            assert set(answers.values()) == {due}, (name, values, answers)


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("size", [0, 1 << 16], ids=["read again", "held"])
def test_moments_are_exact(size, unit, tmp_path, monkeypatch):
    """A moment between two others divides their distance as its seconds do: three such points lie on one line."""
    monkeypatch.setattr(text, "FEW_CELLS", size)
    r, y = random.Random(1), ["u", "v", "u"]
    for _ in range(12):
        steps = np.cumsum([0, r.randint(1, 10**5), r.randint(1, 10**5)])
        second = 10**6 if unit == "us" else 10**9
        odd = 0 if unit == "us" else 256
        start = np.datetime64("2024-05-01T10:00:00", unit) + r.randint(0, 10**6) * second + odd
        for late in (0, 1):  # a microsecond, or a nanosecond, moves the middle off the line
            moments = start + (steps * second + np.array([0, late, 0])).astype(f"timedelta64[{unit}]")
            frame = pd.DataFrame({"t": moments, "s": steps})
            frame.assign(y=y).to_parquet(tmp_path / "t.parquet")
            frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
            frame.assign(t=frame.t.astype(str), y=y).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
            due = "separable" if late else "overlap"
            assert separate(frame, y).kind == due
            for name in ("t.parquet", "t.csv", "t.jsonl"):
                source = linsep.read(tmp_path / name, target="y")
                verdict = separate(source)
                assert verdict.kind == due
                assert verdict.check(source)
                assert verdict.check(source, plain=True)
                regression = linsep.separation(linsep.read(tmp_path / name, target="y"))
                assert regression.kind == ("complete" if late else "overlap")
                assert regression.check(plain=True)
                assert linsep.fewest_errors(source).upper == 1 - late


@pytest.mark.parametrize("block", [1 << 12, 1 << 20])
def test_a_nanosecond_more_is_one_in_every_block(block, tmp_path):
    """Blocks of a text with and without nanoseconds give the same numbers, also a nanosecond after midnight."""
    days = np.arange(1000).astype("datetime64[D]")
    moments = [f"{day} 00:00:00" for day in days[:-1]] + [f"{days[-1]} 00:00:00.000000001"]
    frame = pd.DataFrame({"t": moments, "s": range(1000), "y": ["a", "b"] * 500})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(t=["1970-01-01 00:00:00.000000000", *moments[1:]]).to_json(
        tmp_path / "t.jsonl", orient="records", lines=True
    )
    typed = pd.to_datetime([*(f"{moment}.000000000" for moment in moments[:-1]), moments[-1]]).astype("datetime64[ns]")
    frame.assign(t=typed).to_parquet(tmp_path / "t.parquet", index=False)
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        X, _ = text.exact_table(linsep.read(tmp_path / name, block_bytes=block), "decimal")
        rows = X.rows(list(range(1000))) if hasattr(X, "rows") else X.tolist()
        assert [row[0] for row in rows] == [*range(999), 999 + Fraction(1, 86400 * 10**9)]
