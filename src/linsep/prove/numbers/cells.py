"""One exact form of cells: machine numbers with a scale and a shift for each column, or doubles near to long ones.

Multiplying a column by a positive number, or with an offset also adding one, changes no verdict: it only changes the
unit of a coefficient. So columns of decimals or fractions become columns of integers, and a plane is carried over
exactly. What 64 bits do not hold stays as it is given: the doubles nearest to it find nearly all signs, and integers
are made of the few rows that need them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import csr_array, is_sparse, refuse_not_finite, to_rows
from linsep.data.cache import mapped_array
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Floats, Rows, Values
from linsep.prove.check.exact_signs import signs
from linsep.prove.check.integers import Normal, over_common
from linsep.prove.claims import Separator
from linsep.prove.numbers.decimals import as_decimals, in_doubles
from linsep.prove.numbers.exact_numbers import (
    BINARY,
    DECIMAL,
    all_finite,
    decimal,
    exact_array,
    exact_rows,
    nearest,
    shown,
)

_EXACT = 2**53  # floats hold integers up to here
_CELLS = 1 << 20  # that are looked at together
_STRETCH = 1 << 14  # numbers that are Python's at a time
_SAMPLE = 64  # rows that nearly always show whether 64 bits suffice
_SMALLEST, _LARGEST = 2.0**-900, 2.0**900  # doubles between these are off by a share of themselves only
_DIGITS = 17  # of the shortest decimal that reads back as a double, at most
_MOST_READINGS = 50  # of a text, for some rows each, before all of it is kept
_MOST_SHARE = 0.05  # of the rows, from which on all are kept


class Cells(NamedTuple):
    """A table in machine numbers: column ``j`` holds ``(value - shifts[j]) * scales[j]``.

    It does so exactly, unless ``exact`` has the integers that it is only near to, or whose signs it has alone.
    """

    matrix: Any  # ndarray or CSR
    scales: list[int]
    shifts: list[Fraction]
    exact: ExactRows | None = None
    rough: bool = False  # whether the matrix has signs alone, of numbers out of the range of doubles

    @property
    def rows(self) -> Rows:
        """The machine numbers."""
        return to_rows(self.matrix)

    @property
    def n_features(self) -> int:
        """How many columns the data have."""
        return len(self.scales)

    @property
    def unchanged(self) -> bool:
        """Whether the machine numbers are the values themselves."""
        return all(scale == 1 for scale in self.scales) and not any(self.shifts)

    def inside(self, plane: Separator) -> Separator:
        """Return a plane for the values as one for the machine numbers."""
        if self.unchanged or plane.w.shape[-1] != len(self.scales):
            return plane
        W, b = plane.exactly()
        b = [c + self._shifted(w) for w, c in zip(W, b, strict=True)]
        return exact_plane([[v / s for v, s in zip(w, self.scales, strict=True)] for w in W], b, plane.w.ndim)

    def outside(self, plane: Separator) -> Separator:
        """Return a plane for the machine numbers as one for the values."""
        if self.unchanged:
            return plane
        W, b = plane.exactly()
        W = [[v * s for v, s in zip(w, self.scales, strict=True)] for w in W]
        return exact_plane(W, [c - self._shifted(w) for w, c in zip(W, b, strict=True)], plane.w.ndim)

    def _shifted(self, w: list[Fraction]) -> Fraction:
        return sum((a * b for a, b in zip(w, self.shifts, strict=True) if a and b), Fraction(0))


def exact_plane(W: list[list[Fraction]], b: list[Fraction], dimensions: int) -> Separator:
    """Return a Separator, of one weight vector if ``dimensions`` is 1, in floats where that changes nothing."""
    table = exact_array([*(value for w in W for value in w), *b])
    w, c = table[: -len(b)].reshape(len(W), -1), table[-len(b) :]
    return Separator(w, c) if dimensions == 2 else Separator(w[0], c.tolist()[0])


# ---------------------------------------------------------------------------------------------------------------
# In 64 bits


def cells(X: Any, values: Values, *, offset: bool = False, clock: Clock | None = None) -> Cells | None:
    """Return a validated array or CSR matrix in floats or 64-bit integers, None if these do not hold its values.

    Columns are shifted only with an ``offset``. Raises OutOfTime or Cancelled if the clock says so.
    """
    clock = clock or Clock()
    integers = X.integers(clock) if isinstance(X, LongDecimals) and values == DECIMAL else None
    if integers is not None:
        return Cells(*integers, [Fraction(0)] * X.shape[1])
    X = canonical(whole_table(X))
    short = short_cells(X, values)
    if short is not None:
        return short
    if X.dtype != object:
        X = in_doubles(X)
        if not all_finite(X.data if is_sparse(X) else X):
            refuse_not_finite(X, np.zeros(0))
        if _in_integers(X[:_SAMPLE], values, offset, clock) is None:
            return None
    return _in_integers(X, values, offset, clock)


def short_cells(X: Any, values: Values) -> Cells | None:
    """Return numbers of the machine as they are, or decimals of at most 15 digits as integers; None for others."""
    X = canonical(X)
    if X.dtype != object and (values == BINARY or X.dtype.kind != "f"):
        return Cells(X, [1] * X.shape[1], [Fraction(0)] * X.shape[1])
    if X.dtype == object:
        return None
    X = in_doubles(X)
    decimals = as_decimals(X.data if is_sparse(X) else X, X.indices if is_sparse(X) else None, X.shape[1])
    if decimals is None:
        return None
    return Cells(_like(X, decimals[0]), [10**k for k in decimals[1].tolist()], [Fraction(0)] * X.shape[1])


def canonical(X: Any) -> Any:
    """Return a CSR matrix that names no cell twice, and an array as it is."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _like(X: Any, values: Array) -> Any:
    """Return other values in the places of those of an array or a CSR matrix."""
    return csr_array((values, X.indices, X.indptr), X.shape) if is_sparse(X) else values


def _in_integers(X: Any, values: Values, offset: bool, clock: Clock) -> Cells | None:
    """Return exact numbers, or floats that are decimals, as integers; None if 64 bits do not suffice."""
    d, stored = X.shape[1], X.data if is_sparse(X) else X
    scales, shifts, largest = [1] * d, [Fraction(0)] * d, 0
    table = mapped_array(stored.shape, np.int64)
    if is_sparse(X):
        offset, largest = False, math.ceil(np.abs(stored).max(initial=0))  # what is not stored stays zero
        if largest >= 2**63:
            return None
        table[:] = stored
    for j, cells_of in _fractional(X) if is_sparse(X) else ((j, (slice(None), j)) for j in range(d)):
        distinct, inverse = stored[cells_of], None
        if stored.dtype != object:
            distinct, inverse = np.unique(distinct, return_inverse=True)
        numbers, scale = _column(distinct, values, clock)
        low, high = min(numbers, default=0), max(numbers, default=0)
        shift = low if offset and max(-low, high) >= _EXACT else 0
        largest = max(largest, high - shift, shift - low)
        if largest >= 2**63:
            return None
        whole = np.array([number - shift for number in numbers], dtype=np.int64)
        table[cells_of] = whole if inverse is None else whole[inverse]
        scales[j], shifts[j] = scale, Fraction(shift, scale)
    if largest < _EXACT:
        floats, step = table.view(np.float64), max(1, _CELLS * len(table) // max(1, table.size))
        for start in range(0, len(table), step):
            floats[start : start + step] = table[start : start + step].copy()
        table = floats
    return Cells(_like(X, table), scales, shifts)


def _fractional(X: Any) -> Iterator[tuple[int, Array]]:
    """Yield the columns of a CSR matrix that hold fractions, each with the places of its cells."""
    some = np.bincount(X.indices, X.data != np.rint(X.data), X.shape[1]) > 0
    positions = np.flatnonzero(some[X.indices])
    positions = positions[np.argsort(X.indices[positions], kind="stable")]
    columns, counts = np.unique(X.indices[positions], return_counts=True)
    if len(columns):
        yield from zip(columns.tolist(), np.split(positions, np.cumsum(counts)[:-1]), strict=True)


def _column(column: Array, values: Values, clock: Clock) -> tuple[list[int], int]:
    """Return numbers as integers over their least common denominator."""
    exact: list[Any] = []
    for start in range(0, len(column), _STRETCH):
        clock.check()
        part = column[start : start + _STRETCH].tolist()
        if column.dtype == object:
            plain = all(type(v) in (int, Fraction, Decimal) for v in part)
            exact += part if plain else [shown(value, i, "", values) for i, value in enumerate(part)]
        else:
            exact += [Decimal(repr(value)) for value in part]
    if not all(type(value) is Decimal for value in exact):
        return over_common(exact)
    context = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
    scale, numbers = 10 ** _places(exact), list[int]()
    for start in range(0, len(exact), _STRETCH):
        clock.check()
        numbers += [int(context.multiply(value, scale)) for value in exact[start : start + _STRETCH]]
    common = math.gcd(scale, *numbers)
    return [value // common for value in numbers] if common > 1 else numbers, scale // common


def _places(decimals: list[Decimal]) -> int:
    """Return how many digits after the point the longest of some decimals has."""
    return max([0, *(-int(value.as_tuple().exponent) for value in decimals)])


# ---------------------------------------------------------------------------------------------------------------
# Longer numbers


class ExactRows:
    """Numbers of any length: the doubles nearest to them, and exact numbers of the rows that are asked for.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), or LongDecimals
        Floats, or exact numbers of Python.
    values : {"binary", "decimal"}
    """

    def __init__(self, X: Any, values: Values) -> None:
        self.X, self.values = X, values
        self.near: Rows = to_rows(in_doubles(nearest_doubles(X)) if values == DECIMAL else nearest_doubles(X))

    def take(self, which: Array) -> ExactRows:
        """Return some of the rows."""
        if len(which) == self.X.shape[0]:
            return self
        return ExactRows(self.X.take(which) if isinstance(self.X, LongDecimals) else self.X[which], self.values)

    def exact(self, which: Any) -> list[list[Any]]:
        """Return some rows as exact numbers."""
        return list(exact_rows(self.X[which], self.values))

    def integers(self, i: int, *, one: bool) -> tuple[list[int], int]:
        """Return a row, perhaps with the 1 of an offset behind it, as integers over a common denominator."""
        (row,) = self.exact([i])
        return over_common([*row, 1] if one else row)

    @cached_property
    def _rough(self) -> bool:
        """Whether some double may be off by more than a share of itself."""
        cells, rough = self.near.data, [False]

        def scan(start: int, stop: int) -> None:
            sizes = np.abs(cells[start:stop])
            if sizes.min(initial=1.0) < _SMALLEST:
                rough[0] |= bool(((sizes < _SMALLEST) & (sizes > 0)).any())

        in_parallel(scan, len(cells), 16 * cells.size // max(1, len(cells)))  # the sizes stay in the processor's cache
        if rough[0] or self.X.dtype != object or not all_finite(cells):
            return rough[0] or self.X.dtype == object
        zeros = cells == 0  # of numbers that are not
        if isinstance(self.X, LongDecimals):
            return bool(zeros.any()) and self.X.tiny()
        return bool((self.X[zeros] != 0).any())

    def signs(self, which: Array, normal: Array | Normal, clock: Clock | None = None) -> Array:
        """Return the exact signs of ``normal·(x_i, 1)`` for the rows asked."""
        w = normal.w if isinstance(normal, Normal) else normal
        if not w.any():  # two classes that tie everywhere
            return np.zeros(len(which), dtype=np.int8)
        exactly = partial(self._exact_signs, w, clock or Clock())
        return exactly(which) if self._rough else signs(self.near, which, normal, exactly)

    def _exact_signs(self, normal: Array, clock: Clock, which: Array) -> Array:
        """Return them without a look at the doubles: in 64 bits if these hold the numbers, else in Python's."""
        rows = self.X[which]
        machine = cells(rows, self.values, offset=True, clock=clock)
        if machine is not None:
            plane = machine.inside(Separator(normal[:-1], normal.tolist()[-1]))
            return signs(machine.rows, np.arange(len(which)), np.append(plane.w, plane.b))
        v, sides = over_common(normal.tolist())[0], np.empty(len(which), dtype=np.int8)
        for k, row in enumerate(exact_rows(rows, self.values)):
            clock.check()
            whole, common = over_common(row)
            total = sum((a * x for a, x in zip(v, whole, strict=False) if a and x), v[-1] * common)
            sides[k] = (total > 0) - (total < 0)
        return sides

    def scaled(self) -> tuple[list[int], Floats] | None:
        """Return numbers that make the columns of dense rows integers, and doubles near these integers.

        Each is off by at most 2**-51 of itself; None if they are out of the range in which that holds.
        """
        near = self.near.data
        scales = [self.scale(j) for j in range(near.shape[1])]
        try:
            table: Floats = near * np.array([float(scale) for scale in scales])
        except OverflowError:
            return None
        sizes = np.abs(table)
        if not (sizes <= _LARGEST).all() or self._rough:
            return None
        return scales, table

    def scale(self, j: int) -> int:
        """Return a number with which all cells of a column are integers."""
        if self.X.dtype == object and not isinstance(self.X, LongDecimals):
            column = self.X[:, j].tolist()
            if all(isinstance(value, Decimal) for value in column):
                return int(10 ** _places(column))
            return over_common([shown(value, i, "", self.values) for i, value in enumerate(column)])[1]
        digits = _DIGITS if self.X.dtype != object else self.X.digits
        sizes = np.abs(self.near.data[:, j])
        least = float(np.min(sizes, initial=1.0, where=sizes > 0))
        days = 1 if self.X.dtype != object else 27  # seconds are fractions of a day over 2**7 * 3**3 * 5**2
        return int(days * 10 ** max(0, digits - math.floor(math.log10(least))))


class LongDecimals:
    """Decimals of a text that doubles round: an array of objects whose rows are read when they are asked for.

    The sign of a sum of products is known from the nearest doubles unless it is about zero, and a certificate names
    few rows. Only for these the text is read again.

    Parameters
    ----------
    near : ndarray of shape (n, d)
        The doubles nearest to them.
    read : callable
        Returns the exact rows of some numbers, which are sorted, as lists of fractions.
    tiny : callable
        Says whether a number that is not 0 is so small that the double nearest to it is 0.
    digits : int
        The most significant digits that a number has.
    read_all : callable, optional
        Yields all rows as integers, each with a denominator.
    are_shortest : callable, optional
        Says whether every number is the shortest decimal that reads back as its double.
    integers : callable, optional
        Returns all numbers as 64-bit integers and the factor of each column, None if they do not fit.
    """

    dtype = np.dtype(object)

    def __init__(
        self,
        near: Array,
        read: Callable[[list[int]], list[Any]],
        tiny: Callable[[], bool],
        *,
        digits: int = 4000,
        read_all: Callable[[], Iterable[tuple[list[int], int]]] | None = None,
        are_shortest: Callable[[], bool] = lambda: False,
        integers: Callable[[Clock], tuple[Array, list[int]] | None] = lambda _: None,
    ) -> None:
        self.near, self._read, self.tiny, self.digits = near, read, tiny, digits
        self.rows = read_all or (lambda: map(over_common, read(list(range(len(near))))))
        self._are_shortest, self.integers = are_shortest, integers
        self.shape, self.ndim = near.shape, 2
        self._known: dict[int, Any] = {}
        self._readings = 0
        self._all: Any = None
        self._shortest: bool | None = None

    def __len__(self) -> int:
        return int(self.shape[0])

    def whole(self) -> Any:
        """Return all of the table, as a program would give it with ``values="decimal"``."""
        if self._all is None:
            table = self.settled()
            if table is self:
                rows = (row if q == 1 else [Fraction(p, q) for p in row] for row, q in self.rows())
                table = _objects(list(rows), self.shape[1])
            self._all = table  # at once: another thread may look
        return self._all

    def settled(self) -> Any:
        """Return the doubles if each number is the shortest decimal that reads back as its double, else itself."""
        if self._shortest is None:
            self._shortest = self._are_shortest()
        return self.near if self._shortest else self

    def take(self, which: Array) -> LongDecimals:
        """Return some rows, in their order, to be read later."""

        def read(rows: list[int]) -> list[Any]:
            return self._read(which[rows].tolist())

        return LongDecimals(self.near[which], read, self.tiny, digits=self.digits, are_shortest=self._are_shortest)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):  # some columns
            return self.whole()[which]
        if isinstance(which, int | np.integer):
            return self[[int(which)]][0]
        numbers = np.arange(len(self))[which].tolist()
        new = sorted(set(numbers) - self._known.keys())
        self._readings += bool(new)
        if self._readings > _MOST_READINGS or len(new) > _MOST_SHARE * len(self) + 100:
            self.whole()
        if self._all is not None:
            rows = self._all[numbers]
            return rows if rows.dtype == object else _objects([[decimal(v) for v in row] for row in rows.tolist()])
        if new:
            rows = self._read(new)
            if len(rows) != len(new) or (np.array(rows, dtype=np.float64) != self.near[new]).any():
                raise ArithmeticError("a text was not read again as before: has the file changed?")
            self._known |= zip(new, rows, strict=True)
        return _objects([self._known[i] for i in numbers], self.shape[1])


def _objects(rows: list[Any], d: int = 0) -> Array:
    """Return lists of numbers as an array of objects."""
    table = np.empty((len(rows), len(rows[0]) if rows else d), dtype=object)
    for k, row in enumerate(rows):
        table[k] = row
    return table


def whole_table(X: Any) -> Any:
    """Return all of a table that may be one of long decimals."""
    return X.whole() if isinstance(X, LongDecimals) else X


def nearest_doubles(X: Any) -> Any:
    """Return ``X`` with the doubles nearest to its exact numbers, for what is searched, trained, measured or drawn."""
    if isinstance(X, LongDecimals):
        return X.near
    if is_sparse(X) or not isinstance(X, np.ndarray) or X.dtype != object:
        return X
    doubles = np.array([nearest(value) for value in X.ravel().tolist()], dtype=np.float64)
    return doubles.reshape(X.shape)
