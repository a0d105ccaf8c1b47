"""Verdicts on data on a cluster: the search runs here on a few rows, and every shard checks its answer.

The ordinary search decides a working set of rows, with an exact proof. Then every shard looks, in exact arithmetic, for
rows that the proof does not cover:

- separable: rows that are not strictly on their side of the plane;
- quasi: rows on the wrong side of the weak plane; a refutation of some rows refutes all of them;
- overlap: rows outside of the space that the contradicting rows span.

Where there is none, the proof is one for all rows. Otherwise the worst of them join the working set, and it is decided
again. The working set only grows, by rows that change its verdict, so this ends; in practice after a handful of rounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
from distributed import Client

from linsep.clock import Clock
from linsep.cluster.workers import Farm, Raw, adapting, repeat
from linsep.data.conversions import to_floats
from linsep.data.labels import class_codes, class_labels, one_class_only
from linsep.data.matrices import to_rows
from linsep.data.row_numbers import Dropped
from linsep.data.source import Source
from linsep.learn.problems import classes_among
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.prove.check.exact_signs import difference, signs
from linsep.prove.check.fast_check import PRIME, integer_matrix
from linsep.prove.claims import Data, Decision, Refutation, Separator, Verdict
from linsep.prove.core.scaled_view import ScaledView, lowest
from linsep.prove.verdicts.decide import decide as search

Watch = Callable[[int, int, int], None]  # round, rows searched, rows that the proof left uncovered

_CELLS = 1 << 24  # stored values of the rows that a working set begins with, or grows by
_NEAR = 0.3  # rows so near to the plane, as a share of the distance that the working set keeps, join it too


class Survey(NamedTuple):
    """What one look at a shard finds out."""

    labels: Counter[Any]
    extent: tuple[int, bool]
    kind: np.dtype[Any]
    stored: int  # values, those of all rows together
    digest: int
    notes: list[str]
    dropped: Dropped


class Form(NamedTuple):
    """What all shards must agree on."""

    classes: Array
    kind: np.dtype[Any]
    features: slice
    offset: bool


class Stock(NamedTuple):
    """A shard as data."""

    data: Data
    first_row: int


class Some(NamedTuple):
    """Rows that a shard returns."""

    unmet: int  # rows that the proof does not cover
    numbers: Array  # of the rows returned, in all the data
    rows: Rows
    y: Array


class Doubt(NamedTuple):
    """A plane to be checked, and how to choose among the rows that it is wrong on."""

    plane: Separator
    strictly: bool
    view: ScaledView  # how to see rows, without any of them
    w: Floats  # the plane as the view shows it
    below: float
    most: int


# ---------------------------------------------------------------------------------------------------------------
# On the workers


def survey(raw: Raw, _: None) -> Survey:
    """Look at a shard as it was read."""
    labels: Counter[Any] = Counter()
    for block in raw.blocks:
        if block.y is None:
            raise ValueError("the data have no labels: nothing to separate")
        labels.update(class_labels(block.y.tolist()).tolist())
    kinds = [block.X.dtype for block in raw.blocks]
    kind = np.result_type(*kinds) if kinds else np.dtype(np.int8)
    stored = sum(block.X.size for block in raw.blocks)
    return Survey(labels, raw.extent, kind, stored, raw.digest, raw.notes, raw.dropped)


def stocked(raw: Raw, own: tuple[int, int], form: Form) -> Stock:
    """Return a shard as data, of which a proof can speak; its own are the number of its first row, and its digest."""
    first_row, digest = own
    raw.check(digest)
    n_features = form.features.stop - form.features.start
    y = [class_codes(block.y, form.classes) for block in raw.blocks if block.y is not None]
    parts: list[Rows] = []
    for X, *_ in raw.blocks:
        if hasattr(X, "indptr"):
            X.resize(X.shape[0], max(X.shape[1], form.features.stop))
            X = X[:, form.features].astype(form.kind)
        parts.append(to_rows(X.astype(form.kind, copy=False)))
    data = Data(joined(parts), np.concatenate(y).astype(np.intp), n_features, len(form.classes), form.offset)
    return Stock(data, first_row)


def joined(parts: list[Rows]) -> Rows:
    """Put rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Dense):
        return Dense(np.concatenate([part.data for part in parts]))
    sparse = [part for part in parts if isinstance(part, Sparse)]
    values, indices = np.concatenate([part.data for part in sparse]), np.concatenate([part.indices for part in sparse])
    lengths = np.concatenate([np.diff(part.indptr.astype(np.int64)) for part in sparse])
    return Sparse(values, indices, np.concatenate(([0], np.cumsum(lengths))).astype(np.uint64))


def sample(stock: Stock, most: int) -> Some:
    """Return some rows of a shard to begin with, of every class that it has."""
    data = stock.data
    rng = np.random.default_rng((0, stock.first_row))
    first = [int(np.argmax(data.y == c)) for c in np.unique(data.y)]
    which = rng.choice(len(data.y), min(most, len(data.y)), replace=False)
    return _some(stock, 0, np.union1d(first, which).astype(np.intp))


def used_columns(stock: Stock, _: None) -> Array:
    """Return which columns have a value that is not zero."""
    rows = stock.data.rows
    used = np.zeros(stock.data.n_features, dtype=bool)
    if isinstance(rows, Sparse):
        used[rows.indices[rows.data != 0]] = True
    else:
        for start in range(0, len(rows.data), 4096):
            used |= rows.data[start : start + 4096].any(axis=0)
    return used


def unmet(stock: Stock, doubt: Doubt) -> Some:
    """Look for rows that a plane is wrong on; return the worst of them, and of those next to it."""
    data = stock.data
    wrong = np.flatnonzero(_sides(doubt.plane, data) < (1 if doubt.strictly else 0))
    view = copy(doubt.view)
    view.data = data
    scores, _ = view.sweep(doubt.w)
    near = lowest(scores, doubt.most, doubt.below)
    worst = wrong[np.argsort(scores[wrong], kind="stable")[: doubt.most]]
    return _some(stock, len(wrong), np.union1d(worst, near)[: 2 * doubt.most])


def outside(stock: Stock, told: tuple[list[Array], int]) -> Some:
    """Look for rows that are not orthogonal to all of these vectors; return some."""
    normals, most = told
    everyone = np.arange(len(stock.data.y))
    off = np.zeros(len(everyone), dtype=bool)
    for normal in normals:
        off |= signs(stock.data.rows, everyone, normal) != 0
    which = np.flatnonzero(off)
    return _some(stock, len(which), which[:most])


def beyond(stock: Stock, told: tuple[Array, int]) -> Some:
    """Look for rows with values in any of these columns; return some that together have values in all of them."""
    wanted, most = told
    rows, missing = stock.data.rows, wanted.copy()
    which: list[int] = []
    for i in range(len(stock.data.y)):
        if isinstance(rows, Sparse):
            span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
            columns = rows.indices[span][rows.data[span] != 0]
        else:
            columns = np.flatnonzero(rows.data[i])
        if missing[columns].any():
            which.append(i)
            missing[columns] = False
            if len(which) == most or not missing.any():
                break
    return _some(stock, len(which), np.array(which, dtype=np.intp))


def _some(stock: Stock, count: int, which: Array) -> Some:
    return Some(count, stock.first_row + which, take(stock.data.rows, which), stock.data.y[which])


def _sides(plane: Separator, data: Data) -> Array:
    """Return for every row the exact sign of its lowest inequality."""
    W, b = plane.per_class()
    sides = np.ones(len(data.y), dtype=np.int8)
    for own in range(data.classes):
        members = np.flatnonzero(data.y == own)
        for rival in range(data.classes):
            if rival != own and len(members):
                normal = difference(np.append(W[own], b[own]), np.append(W[rival], b[rival]))
                side = signs(data.rows, members, normal)
                sides[members] = np.minimum(sides[members], side)
    return sides


# ---------------------------------------------------------------------------------------------------------------
# On the driver


def separate(
    source: Source,
    client: Client,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    shard_bytes: int = 1 << 26,
    watch: Watch | None = None,
) -> Verdict:
    """Decide on a cluster whether some plane separates the classes, and prove it.

    The verdict is that of `linsep.separate` on all rows at once. Its proof is exact and has been checked against every
    row, each where it lies; a refutation names rows by their numbers in the whole source.

    Parameters
    ----------
    source : Source
        Of files that all workers can open under the same paths.
    client : distributed.Client
    fit_intercept : bool, default=True
        Whether planes may have an offset, or go through the origin.
    time_limit : float, default=None
        Seconds after which to give up with the verdict "unknown"; looked at between questions to the workers.
    shard_bytes : int
        How much a worker holds in one piece. Another proof may come out with another value, but no other verdict.
    watch : callable, optional
        Told of every round: its number, how many rows are being searched, and how many of all rows the last proof left
        uncovered.

    Returns
    -------
    verdict : Verdict

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     verdict = cluster.separate(read(f"{folder}/*.npy"), client)
    >>> verdict.kind, verdict.check(X, y)
    ('separable', True)
    """
    found = decide(source, client, fit_intercept, Clock(time_limit), shard_bytes, watch)
    return found.verdict.in_source(source.dropped)


def decide(
    source: Source, client: Client, fit_intercept: bool, clock: Clock, shard_bytes: int, watch: Watch | None = None
) -> Decision:
    """Decide on a cluster whether some plane separates the classes; see `separate`."""

    def surveyed() -> tuple[Farm, list[Survey]]:
        farm = Farm(client, source, shard_bytes)
        return farm, list(farm.ask(survey))

    farm, found = adapting(source, surveyed)
    repeat(note for one in found for note in one.notes)
    labels: Counter[Any] = sum((one.labels for one in found), Counter())
    source.take_dropped(one.dropped for one in found)
    if not labels:
        raise farm.no_rows()
    classes = classes_among(labels)
    if len(classes) < 2:
        raise one_class_only(classes)
    source.take_note(max(one.extent[0] for one in found), any(one.extent[1] for one in found))
    sizes = [sum(one.labels.values()) for one in found]
    kind = np.result_type(*(one.kind for one, size in zip(found, sizes, strict=True) if size))
    farm.drop_empty(sizes)
    firsts = np.cumsum([0, *sizes])[:-1].tolist()
    own = [(first, one.digest) for first, one, size in zip(firsts, found, sizes, strict=True) if size]
    ready = farm.hold(stocked, own, Form(classes, kind, source.features, fit_intercept))
    length = sum(one.stored for one in found) // sum(sizes) + 1
    working = _Working(ready, source.n_features, classes, fit_intercept, length)
    for number in range(10**9):
        verdict = search(working.data, tuple(classes.tolist()), clock)
        if verdict.kind == "unknown":
            return working.decision(verdict, sum(sizes), (-math.inf, verdict.bracket[1]))
        before, uncovered = len(working.numbers), working.grow(verdict)
        if watch is not None:
            watch(number, before, uncovered)
        if uncovered == 0:
            return working.decision(verdict, sum(sizes), verdict.bracket)
    raise AssertionError("there are fewer rows")


class _Working:
    """The rows that the search works on, and the shards that they come from."""

    def __init__(self, farm: Farm, n_features: int, classes: Array, offset: bool, length: int) -> None:
        self.farm, self.n_features, self.classes, self.offset = farm, n_features, classes, offset
        dimension = (len(classes) - 1) * (n_features + offset)
        room = max(100, _CELLS // ((len(classes) - 1) * length))  # rows of so many stored values
        shards = len(farm.shards)
        self.most = max(8, -(-2 * min(2 * dimension + 8, room) // shards))  # rows that a shard may add
        self.numbers = np.empty(0, dtype=np.intp)
        self.parts: list[Rows] = []
        self.y: list[Array] = []
        self.used: Array | None = None
        self._add(farm.ask(sample, max(1, min(4 * dimension + 8, room) // shards)))

    def _add(self, answers: Any) -> int:
        """Take up rows; return how many the shards have found that are not covered."""
        uncovered = 0
        for some in answers:
            uncovered += some.unmet
            new = ~np.isin(some.numbers, self.numbers)
            if new.any():
                self.parts.append(take(some.rows, np.flatnonzero(new)))
                self.y.append(some.y[new])
                self.numbers = np.concatenate((self.numbers, some.numbers[new]))
        self.parts, self.y = [joined(self.parts)], [np.concatenate(self.y)]
        return uncovered

    @property
    def data(self) -> Data:
        """The rows, as data."""
        return Data(self.parts[0], self.y[0], self.n_features, len(self.classes), self.offset)

    def grow(self, verdict: Verdict) -> int:
        """Take up rows that the proof of a verdict does not cover; return how many there are."""
        if verdict.kind == "overlap":
            return self._grow_in_rank(verdict)
        assert verdict.separator is not None
        view = ScaledView(self.data, np.random.default_rng(0))
        w = _seen(verdict.separator, view)
        strictly = verdict.kind == "separable"
        below = _NEAR * float(view.sweep(w)[0].min()) if strictly else 0.0
        view.data = view.data._replace(rows=take(self.parts[0], slice(0, 0)), y=self.y[0][:0])
        doubt = Doubt(verdict.separator, strictly, view, w, max(0.0, below), self.most)
        return self._add(self.farm.ask(unmet, doubt))

    def _grow_in_rank(self, verdict: Verdict) -> int:
        """Take up rows that those of the refutation do not span."""
        if self.used is None:
            self.used = np.any(list(self.farm.ask(used_columns)), axis=0)
        here = used_columns(Stock(self.data, 0), None)
        if (self.used & ~here).any():
            return self._add(self.farm.ask(beyond, (self.used & ~here, self.most)))
        assert verdict.refutation is not None
        columns = np.flatnonzero(self.used).tolist() + [self.n_features] * self.offset
        matrix = integer_matrix(self.data, sorted(set(verdict.refutation.rows.tolist())), columns)
        if flint.nmod_mat(matrix, PRIME).rank() == len(columns):
            return 0
        basis, nullity = matrix.nullspace()  # its first `nullity` columns
        normals = []
        for k in range(nullity):
            normal = np.full(self.n_features + 1, Fraction(0), dtype=object)
            divisor = math.gcd(*(int(basis[j, k]) for j in range(len(columns))))
            normal[columns] = [Fraction(int(basis[j, k]) // divisor) for j in range(len(columns))]
            normals.append(normal)
        return self._add(self.farm.ask(outside, (normals, self.most))) if normals else 0

    def decision(self, verdict: Verdict, rows: int, bracket: tuple[float, float]) -> Decision:
        """Return the verdict on these rows as one on all rows."""
        found, data = verdict.refutation, self.data
        cells: dict[int, Floats] = {}
        labels: dict[int, Any] = {}
        if found is not None:
            numbers = self.numbers[found.rows].astype(np.intp)
            order = np.argsort(numbers, kind="stable")
            cells = dict(zip(numbers.tolist(), to_floats(data.rows, found.rows, data.n_features), strict=True))
            labels = dict(zip(numbers.tolist(), self.classes[data.y[found.rows]].tolist(), strict=True))
            multipliers = tuple(found.multipliers[k] for k in order.tolist())
            found = Refutation(numbers[order], multipliers, found.rivals[order])
        return Decision(replace(verdict, refutation=found, bracket=bracket), rows, cells, labels)


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
