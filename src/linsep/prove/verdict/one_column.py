"""Does one column give the answer away? Columns with a threshold that tells the classes apart, but for a few rows.

A column that says almost everything about the label is often a copy of it, or was measured after it. Only comparisons
are made, so what is said is exact. Most columns are ruled out by a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.arrays import is_sparse
from linsep.problem import Array
from linsep.prove.numbers.cells import LongDecimals

_SHARE, _OF_CLASS = 0.02, 0.1  # rows on the wrong side that are few: of all rows, and of those of the smaller class
_SAMPLES = (64, 4000)  # rows that rule out most columns, and nearly all others
_BLOCK_CELLS = 1 << 20  # of the columns looked at together
_FULL = 0.5  # sparse columns with more numbers than this share of the rows are looked at like dense ones


@dataclass(frozen=True)
class ColumnRule:
    """A column that tells the classes apart alone, but for few rows: perhaps it is a copy of the label.

    Attributes
    ----------
    column : int
        Its number, from 0.
    name : str
    labels : tuple
        The classes in the order of their values; of two classes, the first is the one that ``rows`` counts.
    thresholds : tuple of float
        For two classes the last value on the side of the first class; for more the largest value of each class but the
        last.
    below : bool
        Whether the first class has the small values.
    rows : int
        Rows on the side of the first class.
    errors : int
        Rows on the wrong side: 0 if the column alone separates the classes.
    wrong_inside : int
        Those of them that are on the side of the first class.

    Examples
    --------
    >>> import linsep
    >>> verdict = linsep.separate([[2495, 1], [2300, 0], [2600, 1], [2800, 0]], ["low", "low", "fine", "fine"])
    >>> print(*verdict.columns)
    #0 alone separates: all 2 rows with #0 ≤ 2495 are 'low', all others 'fine'
    """

    column: int
    name: str
    labels: tuple[Any, ...]
    thresholds: tuple[float, ...]
    below: bool
    rows: int
    errors: int
    wrong_inside: int

    def sentence(self, target: str | int | None = None) -> str:
        """Return it in words; ``target`` is the name of the label, if it has one."""

        def is_label(label: Any) -> str:
            return f"{target} = {label}" if isinstance(target, str) else repr(label)

        if len(self.labels) > 2:
            pairs = zip(self.labels, self.thresholds, strict=False)
            up_to = [f"{is_label(label)} up to {_digits(top)}" for label, top in pairs]
            return f"{self.name} alone separates: {', '.join(up_to)}, {is_label(self.labels[-1])} above"
        side = f"{self.name} {'≤' if self.below else '≥'} {_digits(self.thresholds[0])}"
        first, other = map(is_label, self.labels)
        if not self.errors:
            these = f"all {self.rows:,} rows with {side} are" if self.rows != 1 else f"the one row with {side} is"
            return f"{self.name} alone separates: {these} {first}, all others {other}"
        wrong = f"{self.errors:,} row{'s' * (self.errors != 1)}"
        right = f"{self.rows - self.wrong_inside:,} of {self.rows:,} rows with {side} are {first}"
        rest = self.errors - self.wrong_inside
        others = "1 other is" if rest == 1 else f"{rest:,} others are"
        return f"{self.name} alone separates but for {wrong}: {right}" + (f", and {others}, too" if rest else "")

    def __str__(self) -> str:
        return self.sentence()


def _digits(value: float) -> str:
    return f"{value:.12g}"


def telling_columns(
    X: Any, y: Any, classes: Sequence[Any], names: Sequence[str] | None = None, clock: Clock | None = None
) -> tuple[ColumnRule, ...]:
    """Return the columns of which one alone tells the classes apart, but for few rows; those with the fewest first.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or LongDecimals
    y : array of shape (n,)
        Numbers of classes.
    classes : sequence
        Labels by number.
    names : sequence of str, optional
        Names of the columns, as many as are known.
    clock : Clock, optional
        Where it has run out, the columns looked at by then.
    """
    X = X.near if isinstance(X, LongDecimals) else X
    n, two, clock = len(y), len(classes) == 2, clock or Clock()
    counts = np.array([n - y.sum(), y.sum()]) if two else np.bincount(y, minlength=len(classes))
    few = int(min(_SHARE * n, _OF_CLASS * counts.min())) if two else 0
    rng, rules = np.random.default_rng(0), []
    samples = [np.sort(rng.choice(n, size, replace=False)) for size in _SAMPLES if n > 4 * size]
    samples += [np.arange(n)] if n <= 4 * _SAMPLES[-1] else []
    for numbers, block in _blocks(X, y, counts, few):
        left = np.arange(len(numbers))
        for some in samples:
            if len(left) and clock.left > 0:
                left = left[~_ruled_out(block[some][:, left], y[some], few, len(some) / n)]
        for k in left.tolist():
            if clock.left <= 0:
                break
            rule = _rule(int(numbers[k]), block[:, k], y, classes, counts, names)
            if rule is not None and rule.errors <= few:
                rules.append(rule)
    return tuple(sorted(rules, key=lambda rule: (rule.errors, rule.column)))


def _ruled_out(sample: Array, y: Array, few: int, share: float) -> Array:
    """Say which columns show that more than few rows are on the wrong side of every threshold; of all rows a share."""
    present, starts = np.unique(np.sort(y), return_index=True)
    if len(present) > 2 or few == 0:  # the values of the classes must not mix
        grouped = sample[np.argsort(y, kind="stable")]
        lows, highs = np.minimum.reduceat(grouped, starts), np.maximum.reduceat(grouped, starts)
        order = np.argsort(lows, axis=0)
        lows, highs = np.take_along_axis(lows, order, axis=0), np.take_along_axis(highs, order, axis=0)
        return np.asarray((highs[:-1] >= lows[1:]).any(axis=0))
    order = np.argsort(sample, axis=0)
    ordered = np.take_along_axis(sample, order, axis=0)
    away = np.cumsum(np.where(y == 0, 1, -1)[order], axis=0)[:-1]  # of the first class at or below, less the others
    away[ordered[1:] == ordered[:-1]] = 0  # no threshold is between equal values
    zeros = np.count_nonzero(y == 0)
    fewest = np.minimum(zeros - away.max(axis=0, initial=0), len(y) - zeros + away.min(axis=0, initial=0))
    expected = few * share
    return np.asarray(fewest > (few if share == 1 else expected + 4 * np.sqrt(expected) + 4))


def class_numbers(y: Any, classes: Sequence[Any]) -> Array:
    """Return labels as numbers of their classes."""
    numbers = {label: code for code, label in enumerate(classes)}
    return np.array([numbers[label] for label in np.asarray(y).tolist()], dtype=np.intp)


def _blocks(X: Any, y: Array, counts: Array, few: int) -> Iterator[tuple[Array, Array]]:
    """Yield columns, some at a time; of sparse ones most can be ruled out by what is stored in each class."""
    n, d = X.shape
    if not is_sparse(X):
        width = max(1, _BLOCK_CELLS // min(n, _SAMPLES[-1]))
        yield from ((np.arange(j, min(j + width, d)), X[:, j : j + width]) for j in range(0, d, width))
        return
    if d <= len(X.indices) + n:
        used, columns = np.arange(d), X.indices
    else:  # there may be more columns than any array can count
        used, columns = np.unique(X.indices, return_inverse=True)
    stored = np.zeros((len(counts), len(used)), dtype=np.int64)
    _count_stored(columns, X.indptr, y, stored)
    worth = stored.sum(axis=0) > _FULL * n
    if len(counts) == 2:
        worth |= np.minimum(stored[0] + counts[1] - stored[1], stored[1] + counts[0] - stored[0]) <= few
    wanted = np.flatnonzero(worth)
    width, position = max(1, _BLOCK_CELLS // n), np.full(len(used), -1)
    position[wanted] = np.arange(len(wanted))
    for k in range(0, len(wanted), width):
        block = np.zeros((n, min(width, len(wanted) - k)), dtype=X.dtype)
        _write_out(X.data, columns, X.indptr, position - k, block)
        yield used[wanted[k : k + width]], block


@compiled()
def _count_stored(columns, indptr, y, stored):
    for i in range(y.size):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            stored[y[i], columns[p]] += 1


@compiled()
def _write_out(data, columns, indptr, position, block):
    """Write the columns that have a position in a block of all rows."""
    for i in range(len(block)):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if 0 <= position[columns[p]] < block.shape[1]:
                block[i, position[columns[p]]] = data[p]


def _best(values: Array, y: Array, counts: Array) -> tuple[int, int, bool, Array, Array]:
    """Return the fewest rows on the wrong side of a threshold for two classes, where it is, and the table behind it.

    For more classes 0 if their values do not mix, else many.
    """
    distinct, place = np.unique(values, return_inverse=True)
    table = np.zeros((len(distinct), len(counts)), dtype=np.int64)
    np.add.at(table, (place, y), 1)
    if len(counts) > 2:
        pure = (table > 0).sum(axis=1) <= 1
        runs = 1 + np.count_nonzero(np.diff(table.argmax(axis=1)))
        return (0 if pure.all() and runs == np.count_nonzero(counts) else len(y)), 0, True, distinct, table
    here = np.bincount(y, minlength=2)
    up = np.cumsum(table, axis=0)[:-1]  # rows at or below each threshold, by class
    if len(up) == 0:
        return len(y), 0, True, distinct, table
    second_above, first_above = up[:, 1] + here[0] - up[:, 0], up[:, 0] + here[1] - up[:, 1]
    k, m = int(second_above.argmin()), int(first_above.argmin())
    if second_above[k] <= first_above[m]:
        return int(second_above[k]), k, True, distinct, table  # class 0 has the small values
    return int(first_above[m]), m, False, distinct, table


def _rule(
    j: int, values: Array, y: Array, classes: Sequence[Any], counts: Array, names: Sequence[str] | None
) -> ColumnRule | None:
    """Return what a column says of the classes, None if it has a single value, or mixes several classes."""
    errors, k, zero_below, distinct, table = _best(values, y, counts)
    name = str(names[j]) if names is not None and j < len(names) else f"#{j}"
    if errors == len(y):
        return None
    if len(counts) > 2:
        owners = table.argmax(axis=1)
        ends = np.flatnonzero(np.diff(owners, append=-1))
        labels = tuple(classes[c] for c in owners[ends].tolist())
        tops = tuple(float(distinct[end]) for end in ends[:-1].tolist())
        return ColumnRule(j, name, labels, tops, True, int(counts[owners[0]]), 0, 0)
    first = 1 if counts[1] <= counts[0] else 0  # the smaller class is spoken of
    below = (first == 0) == zero_below
    side = slice(0, k + 1) if below else slice(k + 1, None)
    inside = table[side].sum(axis=0)
    edge = float(distinct[k] if below else distinct[k + 1])
    labels = classes[first], classes[1 - first]
    return ColumnRule(j, name, labels, (edge,), below, int(inside.sum()), errors, int(inside[1 - first]))
