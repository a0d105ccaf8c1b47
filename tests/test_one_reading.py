"""Verdicts on files in one reading: rows far from a plane are not kept, and the answer is that of all rows."""

from __future__ import annotations

import itertools
import json
import re
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linsep
from linsep.cli import main
from linsep.clock import Clock
from linsep.data.matrices import to_rows
from linsep.prove.bounds.near_margins import margin_of_all
from linsep.prove.check.far_rows import Coordinates, Guard
from linsep.prove.claims import Separator
from linsep.prove.exact import exact_text
from linsep.prove.verdicts import one_reading, separability

SMALL = one_reading.Plan(file_bytes=0, rows=400, rows_each=10, kept_bytes=1 << 20)


def written(path, X, y):
    """Write a table with the shortest decimals of its numbers."""
    lines = [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


def decide(path, *, offset=True, values="decimal", plan=SMALL, **how):
    """Return what one reading decides, None if it does not."""
    source = linsep.read(path, block_bytes=4096, **how)
    search = lambda X, y: separability._decided(X, y, values, offset, Clock(), many=0)  # noqa: E731
    found = one_reading.decide(source, values, offset, search, plan)
    return None if found is None else found[0]


def rows(rng, n=4000, d=3):
    return rng.standard_normal((n, d)).round(3)


# ---------------------------------------------------------------------------------------------------------------
# Far rows

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))


@settings(max_examples=200, deadline=None)
@given(data=st.data(), d=st.integers(1, 4), offset=st.booleans())
def test_far_rows_are_right_for_every_plane_that_is_covered(data, d, offset):
    """By fractions: the decimals that the floats were read from, and any plane that the guard says is near."""
    vectors = st.lists(numbers, min_size=d, max_size=d)
    x = np.array(data.draw(st.lists(vectors, min_size=2, max_size=12)))
    plane = Separator(np.array(data.draw(vectors)), data.draw(numbers) if offset else 0.0)
    moved = Separator(plane.w + np.array(data.draw(vectors)) * 1e-6, plane.b + data.draw(numbers) * 1e-6 * offset)
    if not plane.w.any():
        return
    coordinates = Coordinates.of(x, offset=offset)
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(x), max_size=len(x))))
    guard = Guard.at(plane, coordinates)
    leads = guard.leads(to_rows(x).data, y)
    distance = data.draw(st.sampled_from(sorted({float(lead) for lead in leads if lead > 0} or {0.5})))
    guard = Guard(coordinates, guard.v, distance)
    for other in (plane, moved, Separator(-plane.w, -plane.b)):
        if guard.covers(other):
            for row, code, lead in zip(x.tolist(), y.tolist(), leads.tolist(), strict=True):
                if lead >= distance:
                    cells = [Fraction(repr(value)) for value in row]
                    side = sum(Fraction(a) * c for a, c in zip(other.w.tolist(), cells, strict=True))
                    assert (side + Fraction(other.b)) * (2 * code - 1) > 0


def test_a_plane_is_covered_as_far_as_its_angle_allows():
    """With one unit for all and no center, the guard measures sines of angles."""
    coordinates = Coordinates(np.zeros(2), np.ones(2), 0.0)
    guard = Guard.at(Separator(np.array([3.0, 0.0]), 0.0), coordinates, distance=0.1)
    for angle, near in ((0.0, True), (0.09, True), (0.1, True), (0.101, False), (3.14, False), (np.pi, False)):
        turned = Separator(7 * np.array([np.cos(angle), np.sin(angle)]), 0.0)
        assert guard.covers(turned) == near


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308, 5e-324])
def test_rows_beyond_all_measure_are_never_far(value):
    coordinates = Coordinates(np.zeros(2), np.ones(2), 0.0)
    guard = Guard.at(Separator(np.array([1.0, 0.0]), 0.0), coordinates, distance=0.1)
    leads = guard.leads(to_rows(np.array([[value, value], [1.0, 0.0]])).data, np.array([1, 1]))
    assert not leads[0] >= 0.1
    assert leads[1] == 1.0


# ---------------------------------------------------------------------------------------------------------------
# Verdicts


@pytest.mark.parametrize("offset", [True, False])
def test_separable_rows(tmp_path, offset):
    rng = np.random.default_rng(0)
    X = rows(rng)
    heights = X @ [1.0, 2.0, -1.0] + (0.3 if offset else 0.0)
    X, y = X[abs(heights) > 1e-6], (heights[abs(heights) > 1e-6] > 0) * 2 - 1
    path = written(tmp_path / "t.csv", X, y)
    found = decide(path, offset=offset)
    assert found is not None
    assert (found.verdict.kind, found.rows, found.verdict.classes) == ("separable", len(X), (-1, 1))
    for plain in (False, True):
        assert linsep.verify(found.verdict, linsep.read(path), plain=plain)


def test_large_margins_and_classes_of_unequal_size(tmp_path):
    rng = np.random.default_rng(1)
    X = rows(rng)
    y = np.where(np.arange(len(X)) % 50 == 0, "rare", "common")
    X[y == "rare"] += 20
    X = X.round(3)
    found = decide(written(tmp_path / "t.csv", X, y))
    assert found is not None
    assert found.verdict.kind == "separable"
    assert found.verdict.check(X, y)


@pytest.mark.parametrize("wrong", [1, 3500, 3999])
def test_one_wrong_label_wherever_it_is(tmp_path, wrong):
    rng = np.random.default_rng(2)
    X = rows(rng)
    y = (X.sum(axis=1) > 0.0005).astype(int)
    wrong = int(np.flatnonzero(abs(X.sum(axis=1)) > 1)[wrong * 2 // 5])
    y[wrong] = 1 - y[wrong]
    path = written(tmp_path / "t.csv", X, y)
    found = decide(path)
    assert found is not None
    verdict = found.verdict
    assert (verdict.kind, found.rows) == ("overlap", len(X))
    assert linsep.verify(verdict, linsep.read(path), plain=True)
    assert set(found.cells) == set(verdict.refutation.rows.tolist()) == set(found.labels)
    for i, cells in found.cells.items():
        assert (cells.tolist(), found.labels[i]) == (X[i].tolist(), y[i])


def test_quasi_separation(tmp_path):
    """Rows of both classes on the plane, and nowhere else do they meet."""
    rng = np.random.default_rng(3)
    X = rows(rng, d=2)
    X[::7, 0] = 0.0
    y = (X[:, 0] > 0).astype(int)
    y[::7] = rng.integers(0, 2, len(y[::7]))
    found = decide(written(tmp_path / "t.csv", X, y))
    assert found is None or found.verdict.kind == "quasi"
    assert linsep.separate(linsep.read(tmp_path / "t.csv")).kind == "quasi"
    if found is not None:
        assert found.verdict.check(X, y)


def test_planes_that_only_some_rows_span_are_left_to_all_rows(tmp_path):
    """A column that is not constant only among rows far from the plane: rows near it cannot know."""
    rng = np.random.default_rng(4)
    X = np.column_stack((rows(rng, d=2), np.zeros(4000)))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[:8] = [0, 1] * 4
    path = written(tmp_path / "t.csv", X, y)
    assert decide(path) is None
    assert linsep.separate(linsep.read(path)).kind == "overlap"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), digits=st.integers(0, 2), flips=st.integers(0, 2), sort=st.booleans())
def test_the_verdict_is_that_of_all_rows(tmp_path_factory, seed, digits, flips, sort):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((1500, 2)) * 3).round(digits)
    y = (X @ rng.integers(-3, 4, 2) > 0.5).astype(int)
    for i in rng.integers(0, len(y), flips).tolist():
        y[i] = 1 - y[i]
    if len(set(y.tolist())) < 2:
        return
    order = np.argsort(X[:, 0], kind="stable") if sort else np.arange(len(X))
    X, y = X[order], y[order]
    path = written(tmp_path_factory.mktemp("t") / "t.csv", X, y)
    found = decide(path)
    expected = linsep.separate(X, y, values="decimal")
    if found is not None:
        assert found.verdict.kind == expected.kind
        assert found.verdict.check(X, y, plain=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apart", [0.0, 0.3, 5.0])
def test_the_margin_of_all_rows_from_those_near_the_plane(tmp_path, seed, apart):
    """Its bounds hold for all rows: by the margin of all of them, and by the plane's distance from each."""
    rng = np.random.default_rng(seed)
    X = rows(rng)
    heights = X @ [0.6, 0.0, 0.8]
    X = (X[abs(heights) > 1e-3] + apart * np.sign(heights[abs(heights) > 1e-3])[:, None] * [0.6, 0.0, 0.8]).round(3)
    y = (X @ [0.6, 0.0, 0.8] > 0).astype(int)
    source = linsep.read(written(tmp_path / "t.csv", X, y), block_bytes=4096)
    search = lambda X, y: separability._decided(X, y, "decimal", True, Clock(), many=0)  # noqa: E731
    _, near = one_reading.decide(source, "decimal", True, search, SMALL)
    assert 0 < len(near.X) < len(X) / 2
    assert np.array_equal(X[near.numbers], near.X)
    best, found = linsep.largest_margin(X, y), margin_of_all(near, 1e-6, Clock())
    if found is not None:
        assert found.lower <= best.upper
        assert found.upper >= best.lower
        distances = (2 * y - 1) * (X @ found.w + found.b) / np.linalg.norm(found.w)
        assert distances.min() >= found.lower * (1 - 1e-9)
        assert np.array_equal(np.sort(found.rows), np.sort(best.rows))
    assert found is not None or apart > 0
    for guard in near.guards:  # what it says of far rows is so
        leads = guard.leads(to_rows(X).data, y)
        size = np.sqrt((((X - guard.coordinates.center) * guard.coordinates.unit) ** 2).sum(axis=1) + 1)
        plane = Separator(best.w, float(best.b))
        far = leads >= guard.distance
        assert ((2 * y - 1) * (X @ best.w + best.b) / size)[far].min() >= guard.heights(plane)


# ---------------------------------------------------------------------------------------------------------------
# What is left to others


def separable(tmp_path, change=None, head=None):
    """Write separable rows, with one line changed, and return the path."""
    rng = np.random.default_rng(5)
    X = rows(rng)
    y = (X.sum(axis=1) > 0.0005).astype(int)
    path = written(tmp_path / "t.csv", X, y)
    lines = path.read_text().splitlines()
    if change is not None:
        lines[3000] = change
    if head is not None:
        lines = [lines[0], *sorted(lines[1:], key=head)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_another_class_late(tmp_path):
    path = separable(tmp_path, "90,90,90,2")
    assert decide(path) is None
    assert linsep.separate(linsep.read(path)).classes == (0, 1, 2)


def test_one_class_in_all_the_first_rows(tmp_path):
    path = separable(tmp_path, head=lambda line: line[-1])
    assert decide(path) is None


def test_a_long_decimal_late(tmp_path):
    """0.30000000000000001 and 0.3 are one double, but two numbers."""
    path = separable(tmp_path, "0.10000000000000000001,9,9,1")
    assert decide(path) is None
    assert decide(path, values="binary") is not None


def test_a_word_late(tmp_path):
    path = separable(tmp_path, "word,9,9,1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert decide(path) is None  # columns of words make sparse rows
        assert linsep.separate(linsep.read(path)).kind == "separable"


@pytest.mark.parametrize("cell", ["1e999", "-inf"])
def test_a_number_out_of_range_late(tmp_path, cell):
    path = separable(tmp_path, f"{cell},9,9,1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = []
        for ask in (lambda: decide(path), lambda: linsep.separate(linsep.read(path))):
            try:
                outcomes.append(ask())
            except ValueError as error:
                outcomes.append(str(error))
    assert outcomes[0] is None or outcomes[0] == outcomes[1]


def test_several_classes_and_small_files(tmp_path):
    rng = np.random.default_rng(6)
    path = written(tmp_path / "t.csv", rows(rng), np.arange(4000) % 3)
    assert decide(path) is None
    path = separable(tmp_path)
    assert decide(path, plan=one_reading.Plan()) is None
    assert decide(path, plan=one_reading.Plan(file_bytes=0, rows=10**6, rows_each=1000, kept_bytes=1 << 16)) is None


def test_typed_tables(tmp_path):
    """Floats of Parquet are what they are; 64-bit integers beside them may have been rounded, which all rows tell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    X = rng.standard_normal((4000, 3))
    y = (X.sum(axis=1) > 0).astype(np.int32)
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"y": y}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=200)
    found = decide(tmp_path / "t.parquet", values="binary")
    assert found is not None
    assert found.verdict.check(X, y)
    pq.write_table(pa.table(columns | {"x0": np.arange(4000)}), tmp_path / "u.parquet", row_group_size=200)
    assert decide(tmp_path / "u.parquet", values="binary") is None


def test_time_that_is_up_is_left_to_others(tmp_path):
    path = separable(tmp_path)
    source = linsep.read(path, block_bytes=4096)
    search = lambda X, y: separability._decided(X, y, "decimal", True, Clock(0), many=0)  # noqa: E731
    assert one_reading.decide(source, "decimal", True, search, SMALL) is None


def test_rows_that_floats_cannot_tell_from_the_plane(tmp_path):
    """Columns far from zero and close together: a last row 12 units on the wrong side is not taken for a far one."""
    rng = np.random.default_rng(0)
    i, side = rng.integers(-50, 50, 1200), rng.choice([-1, 1], 1200)
    k = -997 * i + side
    i[-1], k[-1], side[-1] = 48, -47868, 1  # 997 i + k is -12
    cells = [[f"{v // 10}.{v % 10}" for v in (99_999_999_900_000 + column).tolist()] for column in (k, i)]
    path = tmp_path / "t.csv"
    path.write_text("x,z,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(*cells, side.tolist(), strict=True)))
    assert decide(path) is None
    assert linsep.separate(linsep.read(path)).kind == "overlap"


@pytest.mark.parametrize("constant", [0.1, 5.3, 123.456, -1e9])
def test_constant_columns(tmp_path, constant):
    X = rows(np.random.default_rng(9))
    y = (X.sum(axis=1) > 0.0005).astype(int)
    X[:, 1] = constant
    y[:] = X[:, 0] > X[:, 2] + 0.0005
    found = decide(written(tmp_path / "t.csv", X, y))
    assert found is not None
    assert found.verdict.check(X, y)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e-20, 1e300])
@pytest.mark.parametrize("offset", [True, False])
def test_columns_of_any_size(tmp_path, scale, offset):
    rng = np.random.default_rng(10)
    y = rng.integers(0, 2, 2000)
    X = np.column_stack(((2 * y - 1) * rng.integers(1, 9, 2000) * scale, rng.standard_normal(2000).round(3)))
    path = written(tmp_path / "t.csv", X, y)
    for values in ("binary", "decimal"):
        found = decide(path, offset=offset, values=values)
        assert found is None or found.verdict.check(X, y)
    X[:, 0] = rng.choice([1e308, 1.2e308, 0.5e308], 2000)  # their mean is beyond all floats
    X[:, 1] = (X[:, 1] + 4 * (2 * y - 1)).round(3)
    found = decide(written(path, X, y), offset=offset)
    assert found is None or found.verdict.check(X, y)


def test_long_decimals_in_the_first_rows(tmp_path):
    """Two numbers that are one double, in a file that is read before anything is decided."""
    path = tmp_path / "t.csv"
    lines = ["0.50000000000000000001,1", "0.5,0", *(f"{-1 - i % 5},0\n{1 + i % 5},1" for i in range(60))]
    path.write_text("x,label\n" + "\n".join(lines) + "\n")
    assert decide(path) is None


def test_the_time_limit_counts_once_for_all_searches(tmp_path, monkeypatch):
    """Every search takes a quarter of a second here, and is told how much is left of two."""
    rng = np.random.default_rng(4)
    X = rows(rng)
    y = (X[:, 0] > 0).astype(int)
    X[3000:, 0] = np.where(y[3000:], 1, -1) * 0.0001 * rng.integers(1, 9, 1000)  # the band is made narrower
    y[-1] = 1 - y[-1]  # one reading does not decide
    path, left, search = written(tmp_path / "t.csv", X, y), [], separability.decide

    def slowly(data, names, clock, *others):
        left.append(clock.left)
        time.sleep(0.25)
        return search(data, names, clock, *others)

    monkeypatch.setattr(one_reading, "Plan", lambda: SMALL)
    monkeypatch.setattr(separability, "decide", slowly)
    assert linsep.separate(linsep.read(path, block_bytes=4096), time_limit=2).kind in ("overlap", "unknown")
    assert len(left) > 1
    assert all(later <= max(0, earlier - 0.25) for earlier, later in itertools.pairwise(left))


def test_reading_and_search_are_timed_apart(tmp_path, monkeypatch, capsys):
    """A reading of half a second, and a search of a quarter."""
    path = written(tmp_path / "t.csv", np.arange(40.0)[:, None], np.arange(40) >= 20)
    read, search = exact_text.exact_table, separability.decide

    def slow_reading(*given):
        time.sleep(0.5)
        return read(*given)

    def slow_search(*given):
        time.sleep(0.25)
        return search(*given)

    monkeypatch.setattr(exact_text, "exact_table", slow_reading)
    monkeypatch.setattr(separability, "decide", slow_search)
    with pytest.raises(SystemExit):
        main(["separate", str(path), "--json", "--no-margin"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["reading_seconds"] >= 0.5
    assert facts["seconds"] >= 0.25
    with pytest.raises(SystemExit):
        main(["separate", str(path)])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("time"))
    assert re.fullmatch(r"time +\d+\.\d\d s for reading, \d+\.\d\d s for the verdict and its exact proof.*", line)


def test_a_table_without_features(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label\n" + "0\n1\n" * 500)
    assert decide(path, target="label") is None


def test_several_typed_files(tmp_path):
    """Whole numbers above 2^53 in the second file: they may have been rounded to the floats of the first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    y = np.arange(600, dtype=np.int32) % 2
    pq.write_table(pa.table({"x": y - 0.5, "y": y}), tmp_path / "a.parquet")
    large = np.where(y, 2**53 + 1, -(2**53) - 1)
    pq.write_table(pa.table({"x": large, "y": y}), tmp_path / "b.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert decide(paths, values="binary") is None
    with pytest.raises(ValueError, match="whole numbers above 2\\^53"):
        linsep.separate(linsep.read(paths))


# ---------------------------------------------------------------------------------------------------------------
# A file that is large enough


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Write 70 MB of rows, the same 3000 again and again, and a copy with one wrong label near the end."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((3000, 30)).round(6)
    y = (X.sum(axis=1) > 0).astype(int)
    folder = tmp_path_factory.mktemp("large")
    head, text = written(folder / "some.csv", X, y).read_text().split("\n", 1)
    times = -(-(70 << 20) // len(text))
    for name, last in (("right.csv", ""), ("wrong.csv", ",".join(map(repr, (X[0] * 0 + 1).tolist())) + ",0\n")):
        with (folder / name).open("w") as file:
            file.write(head + "\n")
            for _ in range(times):
                file.write(text)
            file.write(last)
    return folder, 3000 * times


@pytest.mark.compiled
def test_a_large_file(large, capsys):
    folder, n = large
    for name, kind, rows, code in (("right.csv", "separable", n, 0), ("wrong.csv", "overlap", n + 1, 1)):
        verdict = linsep.separate(linsep.read(folder / name))
        assert verdict.kind == kind
        assert linsep.verify(verdict, linsep.read(folder / name))
        with pytest.raises(SystemExit) as left:
            main(["separate", str(folder / name), "--no-margin", "--json"])
        told = json.loads(capsys.readouterr().out)
        assert (left.value.code, told["verdict"], told["rows"]) == (code, kind, rows)
        if kind == "overlap":
            assert [each["row"] for each in told["refutation"]] == verdict.refutation.rows.tolist()
            assert n in verdict.refutation.rows
        if kind == "separable":
            with pytest.raises(SystemExit):
                main(["separate", str(folder / name), "--json"])
            told = json.loads(capsys.readouterr().out)
            best = linsep.largest_margin(*linsep.read(folder / "some.csv").to_arrays())  # the same rows, once each
            assert told["margin_lower"] <= best.upper
            assert told["margin_upper"] >= best.lower
            assert told["margin_upper"] <= told["margin_lower"] * (1 + 2e-6)
            assert {row % 3000 for row in told["support_rows"]} == set(best.rows.tolist())
    with pytest.raises(SystemExit):
        main(["separate", str(folder / "wrong.csv"), "--no-margin"])
    shown = capsys.readouterr().out
    assert re.search(r"\d s for reading, [\d.]+ s for the verdict and its exact proof", shown)
    assert "rows that contradict each other" in shown
