"""Decides whether a plane separates the classes of a table; ``fast_check`` checks every proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock, OutOfTime
from linsep.data.arrays import is_sparse, refuse_not_finite, to_rows, to_scipy
from linsep.data.parallel import quiet_algebra
from linsep.errors import DataError
from linsep.problem import Array, Dense, Rows, Values
from linsep.prove.check.fast_check import integer_matrix, separates
from linsep.prove.check.integers import over_common
from linsep.prove.claims import UNKNOWN, Claim, Data, Separator
from linsep.prove.numbers.cells import ExactRows, LongDecimals, cells
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, all_finite, is_exact
from linsep.prove.numbers.tables import rows_and_classes, table_of
from linsep.prove.verdict import rationals
from linsep.prove.verdict.decide import decide
from linsep.prove.verdict.one_column import telling_columns
from linsep.prove.verdict.parts import Part, Parts
from linsep.prove.verdict.working_set import first_rows, settle

PART_CELLS = 1 << 21  # stored values that are looked at together
LARGE = 1 << 26  # bytes of rows, most of which are better only looked at in passing


class EncodedTable(NamedTuple):
    """Rows that have been looked at, and labels as numbers of classes."""

    X: Any
    classes: tuple[Any, ...]
    codes: Array


def encoded(X: Any, y: Any) -> EncodedTable:
    """Return rows as an array, CSR matrix or LongDecimals, with the classes of their labels."""
    X, classes, codes = rows_and_classes(X, y)
    return EncodedTable(X, tuple(classes.tolist()), codes)


def with_columns(verdict: Claim, table: EncodedTable, names: list[Any] | None, clock: Clock) -> Claim:
    """Return a verdict with the columns of which one alone tells the classes apart, but for few rows."""
    return replace(verdict, columns=telling_columns(table.X, table.codes, table.classes, names, clock))


def undecided(classes: tuple[Any, ...], n_features: int, offset: bool, values: Values) -> Claim:
    """Return the verdict where the time was up before any search."""
    return Claim(UNKNOWN, None, None, classes, n_features, offset, (-math.inf, math.inf), values)


def decide_table(table: EncodedTable, values: Values, offset: bool, clock: Clock, *, mapped: bool = False) -> Claim:
    """Return the verdict on rows; of many that are ``mapped``, most are only looked at in passing."""
    X, classes, codes = table
    if isinstance(X, LongDecimals):
        verdict = _near(table, values, offset, clock)
        if verdict is not None:
            return verdict
        X = rows_and_classes(X.whole(), codes)[0]
    asked = _Asked(classes, values, offset, clock)
    stored = X.data if is_sparse(X) else X
    large = stored.dtype != object and stored.nbytes > LARGE
    if large and (mapped or asked.decimal(X)):
        return _in_parts(X, codes, asked)
    return asked.decide(X, codes)


def _near(table: EncodedTable, values: Values, offset: bool, clock: Clock) -> Claim | None:
    """Return the verdict on the nearest doubles if it is one on the decimals, None if only all digits tell."""
    near = table._replace(X=rows_and_classes(table.X.near, table.codes)[0])
    verdict = decide_table(near, BINARY, offset, clock, mapped=True)
    if verdict.kind == UNKNOWN:
        return replace(verdict, values=values, bracket=(-math.inf, math.inf))
    return rationals.carried_over(replace(verdict, values=values), ExactRows(table.X, values), table.codes)


class _Asked(NamedTuple):
    """What is to be decided, about whatever rows."""

    classes: tuple[Any, ...]
    values: Values
    offset: bool
    clock: Clock

    def decimal(self, X: Any) -> bool:
        """Say whether the numbers are others than the doubles that they are stored in."""
        return self.values == DECIMAL and X.dtype.kind == "f"

    def decide(self, X: Any, codes: Array) -> Claim:
        """Return the verdict on rows that are held all at once."""
        names, values, offset, clock = self

        def search(rows: Rows) -> Claim:
            data = Data(rows, codes, X.shape[1], len(names), offset)
            try:
                with quiet_algebra():
                    return decide(data, names, clock)
            except FloatingPointError:
                refuse_not_finite(X, np.zeros(0))

        if not is_exact(X) and not self.decimal(X):
            return replace(search(to_rows(X)), values=values)
        try:
            machine = cells(X, values, offset=offset, clock=clock)
        except OutOfTime:
            return undecided(names, X.shape[1], offset, values)
        if machine is None:
            return rationals.decide(X, values, codes, search, clock)
        verdict = search(machine.rows)
        plane = None if verdict.separator is None else machine.outside(verdict.separator)
        return replace(verdict, separator=plane, values=values, bracket=(-math.inf, math.inf))


def _in_parts(X: Any, codes: Array, asked: _Asked) -> Claim:
    """Return the verdict on many rows from a working set of them."""
    decimal, (n, d) = asked.decimal(X), X.shape
    if not all_finite(X.data if is_sparse(X) else X):
        refuse_not_finite(X, np.zeros(0))
    step = max(1, PART_CELLS * n // max(1, (X.data if is_sparse(X) else X).size))

    def ask(function: Callable[..., Any], argument: Any) -> Iterator[Any]:
        for start in range(0, n, step):
            asked.clock.check()
            some, y = _stretch(X, start, start + step), codes[start : start + step]
            exact = ExactRows(some, asked.values) if decimal else None
            yield function(Part(start, to_rows(some) if exact is None else exact.near, y, d, exact=exact), argument)

    def search(_: Array, data: Data) -> Claim:
        return asked.decide(_matrix(data), data.y)

    def integers(data: Data, which: list[int], columns: list[int]) -> Any:
        if not decimal:
            return integer_matrix(data, which, columns)
        rows = ExactRows(_matrix(data), asked.values).exact(which)
        return fmpz_mat([[row[j] for j in columns] for row, _ in (over_common([*each, 1]) for each in rows)])

    try:
        parts = Parts(ask, len(asked.classes), asked.offset)
        first, most = first_rows(parts)
        if first is None or most < 4 * (parts.classes - 1) * (d + asked.offset):  # too few would take many rounds
            return asked.decide(X, codes)
        settled = settle(parts, search, asked.clock, first, most, integers=integers)
    except OutOfTime:
        return undecided(asked.classes, d, asked.offset, asked.values)
    except DataError:  # some rows may depend on digits beyond double precision where all do not
        return asked.decide(X, codes)
    assert settled is not None
    verdict: Claim = settled.found
    if verdict.kind == UNKNOWN:
        return replace(verdict, bracket=(-math.inf, verdict.bracket[1]))
    return verdict if verdict.refutation is None else replace(verdict, refutation=settled.refutation())


def _stretch(X: Any, start: int, stop: int) -> Any:
    """Return some rows that follow each other, of which nothing is copied."""
    if not is_sparse(X):
        return X[start:stop]
    indptr = X.indptr[start : stop + 1]
    cells = slice(int(indptr[0]), int(indptr[-1]))
    part = type(X)((len(indptr) - 1, X.shape[1]), dtype=X.dtype)  # given arrays, SciPy copies those of a map
    part.data, part.indices, part.indptr = X.data[cells], X.indices[cells], indptr - indptr[0]
    return part


def _matrix(data: Data) -> Any:
    return data.rows.data if isinstance(data.rows, Dense) else to_scipy(data.rows, data.n_features)


def separator(model: Any, X: Any, y: Any) -> Separator | None:
    """Return the plane of a fitted linear classifier as a Separator, if it separates the data exactly.

    A perceptron that ended ``separated`` has found one already, so no search is needed.

    Parameters
    ----------
    model : fitted classifier with ``coef_``, ``intercept_`` and ``classes_``
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)

    Returns
    -------
    separator : Separator or None
        None if some row is on the wrong side of the plane, or on it.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> model = linsep.Perceptron().fit(X, y)
    >>> linsep.separator(model, X, y)
    Separator(float w of 1 feature)
    """
    table = table_of(X, y, tuple(model.classes_.tolist()))
    if table is None or table.X.shape[1] != model.coef_.shape[1] or table.X.dtype == object:
        return None
    data = Data(to_rows(table.X), table.codes, table.X.shape[1], len(model.classes_), True)
    two = len(model.coef_) == 1
    plane = Separator(model.coef_[0], float(model.intercept_[0])) if two else Separator(model.coef_, model.intercept_)
    return plane if separates(plane, data, strictly=True) else None
