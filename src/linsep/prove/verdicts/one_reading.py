"""Decides on the rows of a large file in one reading: keeps only rows near a plane, in memory.

The first rows lead to a plane, or to a contradiction, which decides at once. Of the rows that follow, those far from
the plane are on the right side of every plane near it (``far_rows``), so they need not be kept. The others are, and
whenever there are many of them, the plane is moved if some are on its wrong side, and the band around it made narrower.
In the end the rows kept decide, if their plane is near all planes before it. Otherwise nothing is decided here, and
who asked reads the file again and keeps all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat, nmod_mat

from linsep.data.labels import class_codes, classes_and_codes
from linsep.data.matrices import to_rows
from linsep.data.source import Block, Source, until_settled
from linsep.data.sparse import is_sparse
from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.check.far_rows import Coordinates, Guard
from linsep.prove.check.fast_check import PRIME
from linsep.prove.check.plain_document import whole
from linsep.prove.claims import OVERLAP, SEPARABLE, Decision, Verdict
from linsep.prove.exact.exact_text import stored_exactly
from linsep.prove.exact.given_numbers import DECIMAL, rational_rows

Search = Callable[[Any, Array], Verdict]  # rows and class numbers, 0 and 1, to a verdict
Found = tuple[Decision, "Near | None"]  # rows near the planes, if any were looked for


@dataclass(frozen=True)
class Plan:
    """When to decide in this way, and how many rows to keep."""

    file_bytes: int = 1 << 26  # smaller files are kept as they are
    rows: int = 50_000  # to begin with, and to keep until the band is made narrower,
    rows_each: int = 50  # if memory allows, but at least so many times the unknowns
    kept_bytes: int = 1 << 26  # at most
    share: float = 0.25  # of the rows kept stay in a narrower band


class Near(NamedTuple):
    """The rows that were kept, and the planes by which the others were left out: these are far from each of them."""

    numbers: Array
    X: Array
    y: Array  # labels
    guards: list[Guard]


class NotDecidedError(Exception):
    """What has been kept does not decide."""


def decide(source: Source, values: str, offset: bool, search: Search, plan: Plan | None = None) -> Found | None:
    """Return the verdict on two classes of dense rows, None if they are others or one reading does not decide."""
    plan = plan or Plan()
    if (source.size or 0) < plan.file_bytes or not stored_exactly(source):
        return None
    try:
        return until_settled(lambda: _decided(source, values, offset, search, plan))
    except NotDecidedError:
        return None


def _decided(source: Source, values: str, offset: bool, search: Search, plan: Plan) -> Found:
    first = source.peek()
    d = max(1, first.X.shape[1])
    most = plan.kept_bytes // (4 * d * first.X.dtype.itemsize)  # rows may be there four times
    rows = min(plan.rows, most)
    if is_sparse(first.X) or first.y is None or rows < min(plan.rows, plan.rows_each * (d + 1)):
        raise NotDecidedError
    blocks = source.blocks()
    begun, kept = _first(blocks, rows), None
    while not (source.long_numbers and values == DECIMAL):  # for which doubles are not near enough
        kept = _Kept(begun, search, plan, values, offset) if kept is None else kept
        block = next(blocks, None)
        if block is None:
            return kept.found()
        kept.add(block)
    raise NotDecidedError


def _first(blocks: Iterable[Block], rows: int) -> list[Block]:
    """Return the first blocks, of at least this number of rows together."""
    found, count = [], 0
    for block in blocks:
        found.append(block)
        count += len(block.X)
        if count >= rows:
            break
    return found


class _Kept:
    """The rows that are kept, and the planes by which others were left out."""

    def __init__(self, first: list[Block], search: Search, plan: Plan, values: str, offset: bool) -> None:
        self._search, self._plan, self._values, self._offset = search, plan, values, offset
        labels = np.concatenate([block.y for block in first if block.y is not None])
        self._classes, codes = classes_and_codes(labels)
        if len(self._classes) != 2:
            raise NotDecidedError
        X = np.concatenate([block.X for block in first])
        self._parts = [(np.arange(len(X)), X, codes)]  # numbers of rows, the rows, and their classes
        self._rows = self._count = self._most = len(X)  # rows in all, rows kept, and rows to be kept at most
        self._coordinates = Coordinates.of(X.astype(np.float64), offset=offset)
        if not np.isfinite(self._coordinates.rounding):
            raise NotDecidedError
        self._guards: list[Guard] = []
        self._last: Verdict | None = None  # that gave a plane
        self._guard: Guard | None = None  # at that plane
        self._overlap: Decision | None = None
        self._narrow()

    def add(self, block: Block) -> None:
        """Keep the rows of a block that are not far from the last plane."""
        try:
            assert block.y is not None
            codes = class_codes(block.y, self._classes)
        except DataError:  # another class
            raise NotDecidedError from None
        self._rows += len(codes)
        if self._overlap is not None:
            return
        X, guard = to_rows(block.X).data, self._guard
        assert guard is not None
        near = np.flatnonzero(~(guard.leads(X, codes) >= guard.distance))
        if len(near):
            self._parts.append((block.first_row + near, X[near], codes[near]))
            self._count += len(near)
            if self._count > self._most:
                self._narrow()

    def found(self) -> Found:
        """Return what the rows kept say of all rows, and these rows."""
        if self._overlap is not None:
            return self._overlap._replace(rows=self._rows), None
        numbers, X, codes = self._together()
        decision = self._decided(numbers, X, codes)._replace(rows=self._rows)
        return decision, Near(numbers, X, self._classes[codes], self._guards)

    def _together(self) -> tuple[Array, Array, Array]:
        """Return the numbers of the rows that are kept, the rows and their classes."""
        numbers, X, codes = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        self._parts = [(numbers, X, codes)]
        return numbers, X, codes

    def _narrow(self) -> None:
        """Leave out the rows that are far from a plane that all rows kept so far are on the right side of."""
        numbers, X, codes = self._together()
        x = to_rows(X).data
        guard = self._guard
        if guard is None or not guard.leads(x, codes).min() > 0:
            found = self._decided(numbers, X, codes)
            if found.verdict.separator is None:
                self._overlap, self._parts = found, []
                return
            self._last, guard = found.verdict, Guard.at(found.verdict.separator, self._coordinates)
        leads = guard.leads(x, codes)
        distance = max(float(np.quantile(leads[codes == c], self._plan.share)) for c in np.unique(codes))
        if not distance > self._coordinates.rounding:  # nothing is far enough for floats to tell
            raise NotDecidedError
        self._guard = replace(guard, distance=distance)
        self._guards.append(self._guard)
        near = np.flatnonzero(~(leads >= distance))
        self._parts = [(numbers[near], X[near], codes[near])]
        self._count, self._most = len(near), max(self._most, 2 * len(near))
        if self._most * X[0].nbytes > self._plan.kept_bytes:
            raise NotDecidedError

    def _decided(self, numbers: Array, X: Array, codes: Array) -> Decision:
        """Return the verdict on the rows kept as one on all rows so far, if it is one."""
        try:
            verdict = self._search(X, codes)
        except (DataError, ArithmeticError):  # one class, or a value that is not finite: others say which
            raise NotDecidedError from None
        if not self._holds(verdict, X):
            verdict = self._still_right(X, codes)
        found, cells, labels = verdict.refutation, {}, {}
        if found is not None:
            which = numbers[found.rows].tolist()
            cells = dict(zip(which, X[found.rows].astype(np.float64), strict=True))
            labels = dict(zip(which, self._classes[codes[found.rows]].tolist(), strict=True))
            found = replace(found, rows=numbers[found.rows])
        verdict = replace(verdict, refutation=found, classes=tuple(self._classes.tolist()))
        return Decision(verdict, len(numbers), cells, labels)

    def _still_right(self, X: Array, codes: Array) -> Verdict:
        """Return the verdict that gave the last plane, if that is right for the rows kept since."""
        last = self._last
        if last is None or last.kind != SEPARABLE or not self._holds(last, X):
            raise NotDecidedError
        if not last.check(X, self._classes[codes]):
            raise NotDecidedError
        return last

    def _holds(self, verdict: Verdict, X: Array) -> bool:
        """Return whether what holds for the rows kept holds for those left out, too."""
        if verdict.kind == OVERLAP:  # rows that were left out must not be outside of the span
            assert verdict.refutation is not None
            some = rational_rows(X[verdict.refutation.rows], self._values)
            table = [whole([*row, 1] if self._offset else row)[0] for row in some]
            return bool(nmod_mat(fmpz_mat(table), PRIME).rank() == X.shape[1] + self._offset)
        plane = verdict.separator
        return plane is not None and all(guard.covers(plane) for guard in self._guards)
