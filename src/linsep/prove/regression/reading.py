"""Records how design columns come from table columns: numbers, categories, and products.

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
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, shown
from linsep.prove.regression.table import LongColumn, ModelTable, unknown

WIDE = 300  # columns from which on a design with factors is sparse
_DIGITS = 20  # of a number of 64 bits, at most
_MANY = 2000  # categories of a column of numbers that could be one of words
_FORMS = ("{}[T.{}]", "{}[{}]", "C({})[T.{}]", "C({})[{}]", "{}={}")  # names that a category has in a design

Spec = dict[str, Any]  # {"column": name}, {"column": name, "level": word} or "equals": number, {"product": [specs]}


def specs_of(names: list[str], X: Any, table: Any, values: Values) -> list[Spec] | None:
    """Return where the columns of a design come from, by their names; None if some come from elsewhere."""
    known = _known(table, names)
    specs = [known.get(name) or _product(name, known) for name in names]
    given = [spec for spec in specs if spec is not None]
    if len(given) < len(names):
        return None
    try:
        design = design_of(given, table, values)
    except DataError:
        return None
    if isinstance(X, LongDecimals) and isinstance(design, LongDecimals):
        same = (X.near == design.near).all()  # whoever checks a proof reads the decimals
    elif is_sparse(X) and is_sparse(design):
        same = (design != X).nnz == 0
    else:
        design, dense = (each.toarray() if is_sparse(each) else each for each in (design, X))
        same = all(bool((dense[:, j] == design[:, j]).all()) for j in range(len(given)))
    return given if same else None


def _known(table: Any, names: list[str]) -> dict[str, Spec]:
    """Return the columns of a table that are in a design, and the categories of each, by all names they have there."""
    known: dict[str, Spec] = {}
    kinds, missing = getattr(table, "kinds", {}), getattr(table, "missing", {})
    for name in (name for name in table.columns if any(name in each for each in names)):
        kind = kinds.get(name, NUMBER)
        if kind == TEXT:
            known |= {
                f"{name}={word}": {"column": name, "kind": TEXT, "level": word} for word in _counts(table[name])[1]
            }
            continue
        cells = np.asarray(table[name])
        words = _are_words(cells)
        written = {} if kind in (NUMBER, DATE) else {"kind": kind}
        if not words:
            known[name] = {"column": name, **written}
        if name in missing:
            known |= {form.format(name, "missing"): {"column": name, "level": None} for form in _FORMS}
        if not words and not any(f"{name}=" in each or f"{name}[" in each or f"C({name})" in each for each in names):
            continue
        categories = [each for each in dict.fromkeys(cells.tolist()) if each is not None]
        if len(categories) > _MANY and not words:
            continue
        for each in categories:
            spec = {"column": name, "level": str(each)} if words else {"column": name, **written, "equals": str(each)}
            for form in _FORMS:
                known.setdefault(form.format(name, each), spec)
    return known


def _are_words(cells: Any) -> bool:
    return cells.dtype.kind not in "biuf" and not isinstance(cells[:1].tolist()[0], Decimal | Fraction | int | float)


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
        categories: list[Any] = []
        if more:
            categories = _counts(cells)[1]
        elif is_numeric(table.kinds[name]):
            names.append(name)
            specs.append({"column": name})
            categories = [None] if name in table.missing else []
        else:
            present, carried = set(cells.tolist()), table.categories.get(name)
            labels = (
                sorted(present - {None}) if carried is None else [each for each in carried.labels if each in present]
            )
            categories = [*labels, *({None} & present)][1:]
        names += [f"{name}={'missing' if each is None else each}" for each in categories]
        specs += [{"column": name, **more, "level": each} for each in categories]
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


def _indicators(table: Any, name: str, kind: str | None, categories: list[Any]) -> Any:
    """Return a sparse column for each of some words, or None: 1 where a cell is it; of a text, how often it has it."""
    import scipy.sparse as sp

    cells, n = _cells(table, name), len(table)
    if kind == TEXT:
        counts, words = _counts(cells)
    else:
        number: dict[Any, int] = {}
        codes = [number.setdefault(None if cell is None else str(cell), len(number)) for cell in cells.tolist()]
        counts, words = (
            sp.csc_array((np.ones(n, dtype=np.int64), (np.arange(n), codes)), (n, len(number))),
            list(number),
        )
    missing = getattr(table, "missing", {}).get(name, np.zeros(n, dtype=bool))
    counts = sp.hstack((counts, missing.astype(np.int64)[:, None], sp.csc_array((n, 1), dtype=np.int64)), format="csc")
    column = {word: j for j, word in enumerate(words)} | {None: len(words)}
    return counts[:, [column.get(each, len(words) + 1) for each in categories]]


def _counts(cells: Any) -> tuple[Any, list[str]]:
    """Return how often each word occurs in some texts, as a sparse matrix by columns, and the words."""
    import scipy.sparse as sp

    words = bag(cells.tolist(), 0)
    ones = np.ones(len(words.rows), dtype=np.int64)
    return sp.csc_array((ones, (words.rows, words.codes)), shape=(len(cells), len(words.words))), words.words


def with_exact_columns(names: list[str], X: Any, table: Any, values: Values) -> Any:
    """Return the design of a formula with the numbers, and the products of decimals, that doubles have rounded.

    A sparse one, which doubles must hold, is refused if they round some.
    """
    known, exact_design = _known(table, names), X
    for j, name in enumerate(names):
        spec = known.get(name) or _product(name, known)
        factors = [] if spec is None else spec.get("product", [spec])
        if is_sparse(X):
            factors = [each for each in factors if "level" not in each and "equals" not in each]
        if not factors or (len(factors) > 1 and values == BINARY):  # such a product is one of doubles
            continue
        exact = _column(factors[0] if len(factors) == 1 else {"product": factors}, table, DECIMAL)
        if is_sparse(X):
            if _rounded(np.asarray(exact), values):
                raise _too_long()
        elif (exact.dtype == object or is_large(exact)) and np.allclose(exact.astype(float), X[:, j], 1e-12, 0.0):
            exact_design = exact_design.astype(object)
            exact_design[:, j] = exact
    return exact_design


def is_large(column: Array) -> bool:
    """Say whether a column holds machine integers that doubles may round."""
    return column.dtype.kind in "iu" and max(int(column.max(initial=0)), -int(column.min(initial=0))) >= 1 << 53


def _rounded(column: Array, values: Values) -> bool:
    """Say whether doubles, as the values are meant, are other numbers than those of a column."""
    if column.dtype != object:
        return is_large(column)
    read = Fraction if values == BINARY else (lambda value: Fraction(repr(value)))
    pairs = zip(column, column.astype(np.float64).tolist(), strict=True)
    return any(shown(exact, i, "", values) != read(near) for i, (exact, near) in enumerate(pairs))


def _too_long() -> DataError:
    message = "numbers of more than 15 digits do not go with factors of hundreds of levels: round them, or {0}"
    return DataError("", message, ("values", BINARY))


def _column(spec: Spec, table: Any, values: Values) -> Any:
    if "product" in spec:
        factors = [_column(each, table, values) for each in spec["product"]]
        if values == DECIMAL and not _product_is_exact(factors):
            factors = [np.array([shown(v, i, "") for i, v in enumerate(each.tolist())], object) for each in factors]
        return math.prod(factors[1:], start=factors[0])
    if "level" in spec:
        return _indicators(table, spec["column"], spec.get("kind"), [spec["level"]]).toarray().ravel()
    cells = _cells(table, spec["column"])
    if values == BINARY and isinstance(cells, LongColumn):
        cells = cells.near
    if _are_words(cells):
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
    beyond = any(c.dtype == np.uint64 and c.max(initial=0) >= 1 << 63 for c in columns)
    if "O" in kinds or beyond or ("f" in kinds and any(map(is_large, columns))):
        return np.column_stack([column.astype(object) for column in columns])
    return np.column_stack([column.astype(np.float64 if "f" in kinds else np.int64) for column in columns])


def _sparse(columns: list[Any], values: Values) -> Any:
    """Return columns as one sparse matrix of machine numbers, or refuse those that are longer."""
    import scipy.sparse as sp

    if any(_rounded(np.asarray(each), values) for each in columns if not is_sparse(each) and each.dtype == object):
        raise _too_long()
    dense = [None if is_sparse(each) else np.asarray(each) for each in columns]
    blocks = [
        column if exact is None else sp.csr_array((exact.astype(float) if exact.dtype == object else exact)[:, None])
        for column, exact in zip(columns, dense, strict=True)
    ]
    kind = np.float64 if any(each.dtype.kind == "f" for each in blocks) else np.int64
    most = 1 << (53 if kind == np.float64 else 63)
    if any(
        each.dtype.kind in "iu" and each.nnz and max(int(each.data.max()), -int(each.data.min())) >= most
        for each in blocks
    ):
        raise _too_long()
    return sp.csr_array(sp.hstack([each.astype(kind) for each in blocks]))


def _long_decimals(columns: list[Any]) -> LongDecimals:
    """Return columns of numbers, some of them long, side by side; decimals are made of the rows that need them."""
    near = np.column_stack([c.near if isinstance(c, LongColumn) else c.astype(np.float64) for c in columns])

    def read(which: list[int]) -> list[Any]:
        rows = zip(*(column[which].tolist() for column in columns), strict=True)
        return [[shown(value, i, "") for value in row] for i, row in enumerate(rows)]

    digits = max(column.digits if isinstance(column, LongColumn) else _DIGITS for column in columns)
    long = [column for column in columns if isinstance(column, LongColumn)]

    return LongDecimals(near, read, lambda: any(column.tiny for column in long), digits=digits)
