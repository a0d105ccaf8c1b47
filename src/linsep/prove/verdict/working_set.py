"""The one loop for rows that are not all in memory: decides a few rows, and has the others check the answer.

A search decides a working set of rows, with an exact proof. Then every part of the rows looks, in exact arithmetic, for
rows that the proof does not cover:

- separable: rows that are not strictly on their side of the plane;
- quasi: rows on the wrong side of the weak plane; a refutation of some rows refutes all of them;
- overlap: rows outside of the space that the contradicting rows span.

Where there is none, the proof is one for all rows. Otherwise the worst of them join the working set, and it is decided
again. The working set only grows, by rows that change its verdict, so this ends; in practice after a handful of rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np

from linsep.clock import Clock
from linsep.problem import Array, Floats, Sparse, take
from linsep.prove.check.fast_check import integer_matrix
from linsep.prove.check.fast_facts import PRIME
from linsep.prove.claims import OVERLAP, SEPARABLE, UNKNOWN, Data, Refutation, Separator
from linsep.prove.core.scaled_view import ScaledView
from linsep.prove.verdict.parts import Parts, PlaneTask, RowsTask, SpanTask

_CELLS = 1 << 23  # stored values of a working set to begin with, at most
FIRST_ROWS = 20_000  # rows of it, if that is more than the unknowns call for: more of them make fewer rounds
_NEAR = 1.0  # rows so near to the plane, as a share of the distance that the working set keeps, join it too

Search = Callable[[Array, Data], Any]  # numbers of rows and the rows, to a verdict or a certificate, or None
Integers = Callable[[Data, list[int], list[int]], Any]  # rows in some columns as a matrix of integers
Watch = Callable[[int, int, int], None]  # round, rows searched, rows that the proof left uncovered


class Settled(NamedTuple):
    """The last working set, and what was found about it: if that is a verdict, it is one about all rows."""

    found: Any
    numbers: Array
    data: Data

    def refutation(self) -> Refutation:
        """Return the refutation in the numbers of all rows."""
        inner: Refutation = self.found.refutation
        return replace(inner, rows=self.numbers[inner.rows].astype(np.intp))


def first_rows(parts: Parts) -> tuple[Array | None, int]:
    """Return the rows to begin with, None for all of them, and how many may join at a time."""
    size, rivals = parts.size, parts.classes - 1
    dimension = rivals * (size.n_features + parts.offset)
    capacity = max(100, _CELLS * size.rows // (rivals * max(1, size.cells)))
    most = min(max(4 * dimension + 8, FIRST_ROWS), capacity)
    return (None if 2 * most > size.rows else parts.sample(most)), most


def settle(
    parts: Parts,
    search: Search,
    clock: Clock,
    first: Array | None,
    most: int,
    *,
    codes: Array | None = None,
    limit: float = math.inf,
    any_refutation: bool = False,
    integers: Integers = integer_matrix,
    watch: Watch | None = None,
) -> Settled | None:
    """Have a working set decided until what is found holds for all rows.

    Parameters
    ----------
    parts : Parts
    search : callable
        Its planes and refutations hold for the rows that it is given, exactly; None gives up.
    clock : Clock
    first : ndarray or None
        Numbers of the rows to begin with, None for all.
    most : int
        Rows that may join at a time.
    codes : ndarray of shape (classes,), default=None
        Numbers of the classes in the question, -1 for one that is no part of it; by default all.
    limit : float
        Rows of a working set that is not searched any more.
    any_refutation : bool
        Whether any rows that cancel are the answer, whatever they span.
    integers : callable
    watch : callable, optional

    Returns
    -------
    settled : Settled or None
        None if the limit was reached.
    """
    codes = np.arange(parts.classes) if codes is None else codes
    everyone, numbers, rounds = int(parts.size.members[codes >= 0].sum()), first, 0
    while numbers is None or len(numbers) <= limit:
        clock.count(0 if numbers is None else parts.work)
        numbers, data = parts.rows(RowsTask(codes, numbers))
        settled = Settled(search(numbers, data), numbers, data)
        if settled.found is None or settled.found.kind == UNKNOWN:
            return settled
        new, uncovered = np.empty(0, np.intp), 0
        if len(numbers) < everyone and not (any_refutation and settled.found.refutation is not None):
            clock.count(2 * parts.work)
            new, uncovered = _uncovered(parts, settled, codes, most, integers)
        if watch is not None:
            watch(rounds, len(numbers), uncovered)
        if uncovered == 0:
            return settled
        numbers, rounds = np.union1d(numbers, new), rounds + 1
        del data, settled  # before the next ones are gathered
    return None


def _uncovered(parts: Parts, settled: Settled, codes: Array, most: int, integers: Integers) -> tuple[Array, int]:
    """Return rows that a proof about the working set does not cover, and how many there are at least."""
    verdict, data = settled.found, settled.data
    if verdict.kind == OVERLAP:
        new = parts.outside(_spanned(verdict.refutation, data, most, integers))
        return new, len(new)
    view, strictly = ScaledView(data, np.random.default_rng(0)), verdict.kind == SEPARABLE
    with np.errstate(all="ignore"):
        w = _seen(verdict.separator, view)
        below = max(0.0, _NEAR * float(view.sweep(w)[0].min())) if strictly else 0.0
        view.data = data._replace(rows=take(data.rows, slice(0, 0)), y=data.y[:0])
        count, new = parts.worst(PlaneTask(verdict.separator, strictly, codes, view, w, below, most))
    return new, count


def _spanned(refutation: Refutation, data: Data, most: int, integers: Integers) -> SpanTask:
    """Return what the rows of a refutation span; they span all rows of the working set."""
    used = np.zeros(data.n_features, dtype=bool)
    if isinstance(data.rows, Sparse):
        used[data.rows.indices[data.rows.data != 0]] = True
    else:
        used |= data.rows.data.any(axis=0)
    columns = np.flatnonzero(used).tolist() + [data.n_features] * data.offset
    matrix = integers(data, sorted(set(refutation.rows.tolist())), columns)
    if flint.nmod_mat(matrix, PRIME).rank() == len(columns):
        return SpanTask(used, [], most)
    basis, nullity = matrix.nullspace()  # its first `nullity` columns
    normals = []
    for k in range(nullity):
        normal = np.full(data.n_features + 1, Fraction(0), dtype=object)
        divisor = math.gcd(*(int(basis[j, k]) for j in range(len(columns))))
        normal[columns] = [Fraction(int(basis[j, k]) // divisor) for j in range(len(columns))]
        normals.append(normal)
    return SpanTask(used, normals, most)


def _seen(plane: Separator, view: ScaledView) -> Floats:
    """Return a plane as the view shows it, as far as floats can tell; only used to tell near rows from far ones."""
    W, b = plane.per_class()
    W, b = W[1:] - W[:1], b[1:] - b[:1]
    if W.dtype == object:
        largest = max(abs(value) for value in [*W.ravel().tolist(), *b.tolist()])
        W, b = (np.array([float(value / largest) for value in part.ravel()]).reshape(part.shape) for part in (W, b))
    V: Floats = np.ldexp(W, -view.shift)
    if not view.data.offset:
        return V.ravel()
    return np.column_stack((V, (b + V @ view.center) / view.constant)).ravel()
