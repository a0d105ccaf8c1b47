"""Records how design columns come from table columns: numbers, levels, and products.

A proof document about a file contains this record, so others can read the file as the proof does, and a formula in a
document is never evaluated. The meaning of a formula is guessed from its column names, then computed and compared.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.data.arrays import is_sparse
from linsep.data.schema import DATE, NUMBER, TEXT, is_numeric
from linsep.data.tables import bag
from linsep.errors import DataError
from linsep.problem import Array, Values
from linsep.prove.numbers.cells import LongDecimals
from linsep.prove.numbers.given import BINARY, DECIMAL, shown
from linsep.prove.regression.contrasts import unknown
from linsep.prove.regression.table import LongColumn, ModelTable

WIDE = 300  # columns from which on a design with factors is sparse
_DIGITS = 20  # of a number of 64 bits, at most
_MANY = 2000  # levels of a column of numbers that could be one of words

Spec = dict[str, Any]  # {"column": name}, {"column": name, "level": word} or "equals": number, {"product": [specs]}


def specs_of(names: list[str], X: Any, table: Any, values: Values) -> list[Spec] | None:
    """Return where the columns of a design come from, by their names; None if some come from elsewhere."""
    known = _known(table, names)
    found: list[Spec] = []
    for name in names:
        spec = known.get(name) or _product(name, known)
        if spec is None:
            return None
        found.append(spec)
    try:
        design = design_of(found, table, values)
    except DataError:
        return None
    if isinstance(X, LongDecimals) and isinstance(design, LongDecimals):
        return found if (X.near == design.near).all() else None  # whoever checks a proof reads the decimals
    if is_sparse(X) and is_sparse(design):
        return found if (design != X).nnz == 0 else None
    design, dense = (each.toarray() if is_sparse(each) else each for each in (design, X))
    return found if all(bool((dense[:, j] == design[:, j]).all()) for j in range(len(found))) else None


def _known(table: Any, names: list[str]) -> dict[str, Spec]:
    """Return the columns of a table that are in a design, and the categories of each, by all names they have there."""
    found: dict[str, Spec] = {}
    kinds = getattr(table, "kinds", {})
    for name in (name for name in table.columns if any(str(name) in each for each in names)):
        if kinds.get(name) == TEXT:
            specs = {word: {"column": name, "kind": TEXT, "level": word} for word in _counts(table[name])[1]}
            found |= {f"{name}={word}": spec for word, spec in specs.items()}
            continue
        cells = np.asarray(table[name])
        words = cells.dtype.kind not in "biuf" and not isinstance(cells[:1].tolist()[0], Decimal | Fraction)
        written = {} if kinds.get(name, NUMBER) in (NUMBER, DATE) else {"kind": kinds[name]}
        if not words:
            found[name] = {"column": name, **written}
        if name in getattr(table, "missing", {}):
            forms = ("{}=missing", "{}[T.missing]", "{}[missing]", "C({})[T.missing]", "C({})[missing]")
            found |= {form.format(name): {"column": name, "level": None} for form in forms}
        if not words and not any(f"{name}=" in each or f"{name}[" in each or f"C({name})" in each for each in names):
            continue
        categories = dict.fromkeys(cells.tolist())
        if len(categories) > _MANY and not words:
            continue
        for each in categories:
            if each is None:
                continue
            spec = {"column": name, "level": str(each)} if words else {"column": name, **written, "equals": str(each)}
            for base, form in itertools.product((name, f"C({name})"), ("{}[T.{}]", "{}[{}]")):
                found.setdefault(form.format(base, each), spec)
            found.setdefault(f"{name}={each}", spec)
    return found


def _product(name: str, known: dict[str, Spec]) -> Spec | None:
    """Return the factors of an interaction such as ``a:b[T.x]``."""
    pieces = name.split(":")
    factors: list[Spec] = []
    while pieces:
        for size in range(1, len(pieces) + 1):
            spec = known.get(":".join(pieces[:size]))
            if spec is not None:
                factors.append(spec)
                pieces = pieces[size:]
                break
        else:
            return None
    return {"product": factors} if len(factors) > 1 else None


def coded(table: ModelTable) -> tuple[list[str], list[Spec]]:
    """Return names and specs of a design of all columns: numbers; words as a column for each category but the first.

    A number that may be missing has a column for that beside it, a text one for each of its words.
    """
    names, specs = list[str](), list[Spec]()
    for name, cells in table.cells.items():
        more = {"kind": TEXT} if table.kinds[name] == TEXT else {}
        levels: list[Any] = []
        if more:
            levels = _counts(cells)[1]
        elif is_numeric(table.kinds[name]):
            names.append(name)
            specs.append({"column": name})
            levels = [None] if name in table.missing else []
        else:
            there, carried = set(cells.tolist()), table.categories.get(name)
            known = sorted(there - {None}) if carried is None else [each for each in carried.labels if each in there]
            levels = [*known, *({None} & there)][1:]
        names += [f"{name}={'missing' if each is None else each}" for each in levels]
        specs += [{"column": name, **more, "level": each} for each in levels]
    return names, specs


def design_of(specs: list[Spec], table: Any, values: Values) -> Any:
    """Return a design, sparse if it is wide."""
    columns: list[Any] = []
    for key, run in itertools.groupby(
        specs, lambda spec: (spec["column"], spec.get("kind")) if "level" in spec else None
    ):
        if key is None:
            columns += [_column(spec, table, values) for spec in run]
        else:
            columns.append(_indicators(table, *key, [spec["level"] for spec in run]))
    return joined(columns, len(table), values)


def _cells(table: Any, name: str) -> Any:
    """Return a column of a table, or an error with near names."""
    if name not in table.columns:
        raise unknown(name, list(table.columns))
    return table[name] if isinstance(table[name], LongColumn) else np.asarray(table[name])


def _indicators(table: Any, name: str, kind: str | None, levels: list[Any]) -> Any:
    """Return a sparse column for each of some words, or None: 1 where a cell is it; of a text, how often it has it."""
    import scipy.sparse as sp

    cells, none = _cells(table, name), np.empty(0, dtype=np.intp)
    rows: dict[Any, Array]
    if kind == TEXT:
        counts, words = _counts(cells)
        parts = np.split(counts.indices, counts.indptr[1:-1]), np.split(counts.data, counts.indptr[1:-1])
        rows, times = (dict(zip(words, each, strict=True)) for each in parts)
    else:
        codes: dict[Any, int] = {}
        code = [codes.setdefault(None if cell is None else str(cell), len(codes)) for cell in cells.tolist()]
        order = np.argsort(code, kind="stable")
        rows = dict(zip(codes, np.split(order, np.cumsum(np.bincount(code))[:-1]), strict=True))
        rows[None] = np.flatnonzero(getattr(table, "missing", {}).get(name, none))
        times = {level: np.ones(len(each), dtype=np.int64) for level, each in rows.items()}
    chosen = [rows.get(level, none) for level in levels]
    ones = np.concatenate([none, *(times.get(level, none) for level in levels)])
    starts = np.concatenate(([0], np.cumsum([len(each) for each in chosen])))
    return sp.csc_array((ones, np.concatenate([none, *chosen]), starts), shape=(len(cells), len(levels)))


def _counts(cells: Any) -> tuple[Any, list[str]]:
    """Return how often each word occurs in some texts, as a sparse matrix by columns, and the words."""
    import scipy.sparse as sp

    found = bag(cells.tolist(), 0)
    ones = np.ones(len(found.rows), dtype=np.int64)
    return sp.csc_array((ones, (found.rows, found.codes)), shape=(len(cells), len(found.words))), found.words


def unrounded(names: list[str], X: Array, table: Any) -> Array:
    """Return a design of decimals with the products, and the long numbers, that floats have rounded."""
    known, found = _known(table, names), X
    for j, name in enumerate(names):
        spec = known.get(name) or _product(name, known)
        exact = None if spec is None else _column(spec, table, DECIMAL)
        if exact is not None and exact.dtype == object and np.allclose(exact.astype(float), X[:, j], 1e-12, 0.0):
            found = found.astype(object)
            found[:, j] = exact
    return found


def _column(spec: Spec, table: Any, values: Values) -> Any:
    if "product" in spec:
        factors = [_column(each, table, values) for each in spec["product"]]
        if values == DECIMAL and not _product_is_exact(factors):
            exact = [[shown(value, i, "") for i, value in enumerate(each.tolist())] for each in factors]
            total = np.empty(len(exact[0]), dtype=object)
            total[:] = [math.prod(row) for row in zip(*exact, strict=True)]
            return total
        found: Array = factors[0]
        for each in factors[1:]:
            found = found * each
        return found
    if "level" in spec:
        return _indicators(table, spec["column"], spec.get("kind"), [spec["level"]]).toarray().ravel()
    cells = _cells(table, spec["column"])
    if values == BINARY and isinstance(cells, LongColumn):
        cells = cells.near
    if cells.dtype.kind not in "biuf" and not isinstance(cells[:1].tolist()[0], Decimal | Fraction):
        raise DataError(f"column {spec['column']!r}", "it has cells that are not numbers")
    if "equals" in spec:
        wanted = Decimal(spec["equals"])
        return np.array([Decimal(str(value)) == wanted for value in cells.tolist()], dtype=np.int64)
    return cells.astype(np.int64) if cells.dtype.kind == "b" else cells


def _product_is_exact(factors: list[Array]) -> bool:
    """Return whether machine numbers hold the products of columns: of 0, 1 and one column, or of short integers."""
    if any(each.dtype == object for each in factors):
        return False
    others = [each for each in factors if not np.isin(each, (0, 1)).all()]
    sizes = [int(np.abs(each).max(initial=1)) for each in others if each.dtype.kind in "iub"]
    return len(others) <= 1 or (len(sizes) == len(others) and math.prod(sizes) < 1 << 53)


def joined(columns: list[Any], n: int, values: Values, sparse: bool = False) -> Any:
    """Return columns, and blocks of sparse ones, side by side, none of them rounded; sparse if there are many."""
    if sparse or sum(each.shape[1] if is_sparse(each) else 1 for each in columns) > WIDE:
        return _sparse(columns, values)
    columns = [column for each in columns for column in (each.toarray().T if is_sparse(each) else [each])]
    if not columns:
        return np.zeros((n, 0), dtype=np.int64)
    kinds = {column.dtype.kind for column in columns}
    long = any(isinstance(column, LongColumn) for column in columns)
    if long and all(isinstance(column, LongColumn) or column.dtype.kind in "biuf" for column in columns):
        return _long_decimals(columns)
    columns = [np.asarray(column) for column in columns]
    large = any(c.dtype.kind in "iu" and len(c) and np.abs(c).max() >= 1 << 53 for c in columns)
    if "O" in kinds or ("f" in kinds and large):
        return np.column_stack([column.astype(object) for column in columns])
    return np.column_stack([column.astype(np.float64 if "f" in kinds else np.int64) for column in columns])


def _sparse(columns: list[Any], values: Values) -> Any:
    """Return columns as one sparse matrix of machine numbers, or refuse those that are longer."""
    import scipy.sparse as sp

    found: list[Any] = []
    for column in columns:
        exact = column if is_sparse(column) else np.asarray(column)
        if exact.dtype == object:
            near = exact.astype(np.float64)
            read = Fraction if values == BINARY else (lambda value: Fraction(repr(value)))
            if any(
                shown(a, i, "", values) != read(b) for i, (a, b) in enumerate(zip(exact, near.tolist(), strict=True))
            ):
                _refuse_long()
            exact = near
        found.append(exact if is_sparse(exact) else sp.csr_array(exact.reshape(-1, 1)))
    if any(f.dtype.kind == "f" for f in found) and any(f.dtype.kind in "iu" and abs(f).max() >= 1 << 53 for f in found):
        _refuse_long()
    kind = np.float64 if any(f.dtype.kind == "f" for f in found) else np.int64
    return sp.csr_array(sp.hstack([each.astype(kind) for each in found]))


def _refuse_long() -> None:
    what = "numbers of more than 15 digits do not go with factors of hundreds of levels"
    raise DataError("", f"{what}: round them, or {{0}}", ("values", BINARY))


def _long_decimals(columns: list[Any]) -> LongDecimals:
    """Return columns of numbers, some of them long, side by side; decimals are made of the rows that need them."""
    near = np.column_stack([c.near if isinstance(c, LongColumn) else c.astype(np.float64) for c in columns])

    def read(which: list[int]) -> list[Any]:
        rows = zip(*(column[which].tolist() for column in columns), strict=True)
        return [[shown(value, i, "") for value in row] for i, row in enumerate(rows)]

    digits = max(column.digits if isinstance(column, LongColumn) else _DIGITS for column in columns)
    long = [column for column in columns if isinstance(column, LongColumn)]

    return LongDecimals(near, read, lambda: any(column.tiny for column in long), digits=digits)
