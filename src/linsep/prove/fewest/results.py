"""The fewest errors of any plane, between proved bounds: ``linsep.fewest_errors``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from linsep.clock import OPERATION, Clock, UntilStopped
from linsep.data.arrays import as_scipy, refuse_not_finite, to_floats, to_rows
from linsep.data.labels import refuse_measurements
from linsep.data.parallel import quiet_algebra
from linsep.data.row_numbers import Dropped
from linsep.data.source import Source
from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Floats, Values, take
from linsep.prove.check import check_fewest
from linsep.prove.checking import check_claim
from linsep.prove.claims import Data, Separator
from linsep.prove.documents import claim_of
from linsep.prove.fewest.certificates import NOTHING, ErrorsClaim, Proof, Unproved, row_counts, write_proof
from linsep.prove.fewest.items import make_items
from linsep.prove.fewest.node_bounds import Budget
from linsep.prove.fewest.search import CLOSING, Search, one_class_plane, wrong_rows
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.numbers.cells import Cells, LongDecimals, cells, nearest_doubles
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL
from linsep.prove.numbers.tables import exact_input, rows_and_classes, table_from, table_of

_CELLS, _COLUMNS, _ROUNDS = 400_000, 200, 8  # cells, columns at most, and steps, for a plane in a tenth of a second
_BLOCK = 4096  # rows that are copied at a time


@dataclass(frozen=True, eq=False)
class Fewest(ErrorsClaim):
    """The fewest errors of any plane: proved lower and upper bounds, and the best plane found.

    Attributes
    ----------
    lower, upper : int
        No plane has fewer than ``lower`` rows wrong; the plane here has ``upper``. A row on the plane counts as wrong.
        With weights these are sums of weights.
    rows : ndarray of shape (k,)
        Row numbers that are wrong under the plane, the most doubtful first: those deepest on the wrong side. Rows of a
        source have the numbers that they have there.
    depths : ndarray of shape (k,)
        How deep they lie there, as a distance to the plane; 0 on it.
    plane : Separator
    certificate : Proof
        Why no plane has fewer than ``lower`` errors.
    classes : tuple
        Labels; of two, the second is the positive one.
    n_features : int
    fit_intercept : bool
    weights : ndarray of shape (n,) or None
        Weights of the rows, if they were given.
    note : str
        A remark, if the proof was cut short.
    values : {"binary", "decimal"}
        Whether floats stand for the binary numbers they store, or for the decimals they were read from.
    dropped : Dropped
        Rows of a source that were dropped before.

    Examples
    --------
    >>> import linsep
    >>> fewest = linsep.fewest_errors([[0], [1], [2], [3], [9]], [0, 0, 1, 1, 0])
    >>> fewest
    Fewest(1 error, proved; rows [4])
    """

    @classmethod
    def of(cls, claim: ErrorsClaim) -> Self:
        """Return a claim as a result."""
        return cls(**{each.name: getattr(claim, each.name) for each in fields(claim)})

    @property
    def w(self) -> Array:
        """Weights of the plane, ``(d,)``, or one row per class."""
        return self.plane.w

    @property
    def b(self) -> Any:
        """Offset of the plane, or one per class."""
        return self.plane.b

    @property
    def proved(self) -> bool:
        """Whether the bounds meet, so that no plane is better."""
        return self.lower == self.upper

    def __repr__(self) -> str:
        rows = np.array2string(self.rows, threshold=12, max_line_width=200)
        return f"Fewest({self._bracket()}; rows {rows})"

    def _bracket(self) -> str:
        noun = "error" if self.upper == 1 else "errors"
        if self.proved:
            return f"{self.upper} {noun}, proved"
        return f"between {self.lower} and {self.upper} {noun}"

    def _repr_html_(self) -> str:
        proof = "Both bounds are proved in exact arithmetic; check(X, y) verifies them."
        rows = [(row, f"{depth:.4g}") for row, depth in zip(self.rows.tolist(), self.depths.tolist(), strict=True)]
        headline = f"The best plane has {self._bracket()}"
        return notebook_html(headline, f"{self.note} {proof}" if self.note else proof, rows, ("wrong row", "depth"))

    def check(self, X: Any, y: Any = None, *, plain: bool = False) -> bool:
        """Return whether both bounds hold for these data, in exact arithmetic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Source
        y : array-like of shape (n,)
            None for a source, which has its own.
        plain : bool, default=False
            Use the slow check that is one page of integers.

        Returns
        -------
        holds : bool

        Examples
        --------
        >>> import linsep
        >>> X, y = [[0], [1], [2], [3], [9]], [0, 0, 1, 1, 0]
        >>> linsep.fewest_errors(X, y).check(X, y)
        True
        """
        return check_claim(self, *table_from(X, y, self.values), plain=plain).holds

    def certain(self, X: Any, y: Any = None, *, time_limit: float | None = None) -> Array:
        """Return rows that are wrong in every smallest set of rows whose removal leaves the rest separable.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Source
        y : array-like of shape (n,)
            The data of this result; None for a source, which has its own labels.
        time_limit : float, default=None
            Seconds for all rows together; rows not settled in time are not returned.

        Returns
        -------
        rows : ndarray
            Each proved: planes that have it right have more than ``upper`` errors. Empty unless ``proved``.

        Examples
        --------
        >>> import linsep
        >>> X, y = [[0], [1], [2], [3], [9]], [0, 0, 1, 1, 0]
        >>> linsep.fewest_errors(X, y).certain(X, y)
        array([4])
        """
        table = table_of(*table_from(X, y, self.values), self.classes)
        if table is None or table.X.shape[1] != self.n_features or not self.proved:
            return np.zeros(0, dtype=np.intp)
        data = _held(table.X, self.values, table.codes, len(self.classes), self.fit_intercept)[0]
        clock = Budget(time_limit)
        with quiet_algebra():
            rows = _certain(self.among_kept(), data, row_counts(self.weights, len(data.y)), clock)
        return self.dropped.in_source(rows)


def fewest_errors(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = 10.0,
    sample_weight: Any = None,
    max_nodes: int | None = None,
    max_proof_mb: float | None = None,
    progress: Callable[..., None] | None = None,
    values: Values | None = None,
) -> Fewest:
    """Find the plane with the fewest training errors, with proved bounds on how few are possible.

    Equivalently the fewest rows whose removal leaves the rest separable, or whose labels must be flipped for it.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or Source
    y : array-like of shape (n,)
        At least two different labels; None for a source, which has its own. Of more than two classes a row is right if
        its class has the strictly highest score.
    fit_intercept : bool, default=True
        Whether planes may have an offset, or go through the origin.
    time_limit : float, default=10.0
        Seconds after which to return the bounds known by then; None for no limit. Ctrl-C returns them, too.
    sample_weight : array-like of shape (n,), default=None
        Integers: how often each row counts; 0 leaves it out. Their sum must be below 2^53.
    max_nodes : int, default=None
        Largest number of nodes in the search tree; the result then does not depend on the speed of the machine.
    max_proof_mb : float, default=None
        Largest size of the certificate as a document, in megabytes. If the proof of the best bound is longer, a weaker
        bound with a shorter proof is returned, and ``note`` says so.
    progress : callable, default=None
        Called with the bounds, as ``lower`` and ``upper``, at most ten times a second.
    values : {"binary", "decimal"}, default=None
        Whether a float is the number it stores, or the shortest decimal that reads back as it. By default numbers in a
        text file are decimals, and all others binary.

    Returns
    -------
    fewest : Fewest

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # exclusive or
    >>> fewest = linsep.fewest_errors(X, y)
    >>> fewest.lower, fewest.upper, fewest.check(X, y)
    (1, 1, True)
    """
    for name, value in (("time_limit", time_limit), ("max_nodes", max_nodes), ("max_proof_mb", max_proof_mb)):
        if value is not None and not value >= 0:
            raise ParameterError(name, value, "a number not below 0")
    if values not in (None, BINARY, DECIMAL):
        raise ParameterError("values", values, "'binary' or 'decimal'")
    clock = Budget(time_limit, max_nodes, progress)
    dropped = Dropped()
    if isinstance(X, Source):
        from linsep.prove.numbers.text import default_values  # which loads pyarrow

        source, values = X, values or default_values(X)
        X, y = table_from(source, y, values)
        dropped = source.dropped
    else:
        refuse_measurements(y)
        X, _, values = exact_input(X, values)
    if isinstance(X, LongDecimals):
        _in_64_bits(X[:64], values, bool(fit_intercept))  # before all digits are read
    X, classes, codes = rows_and_classes(X, y)
    weights = None if sample_weight is None else whole_weights(sample_weight, len(codes))
    names = tuple(classes.tolist())
    ready = None
    try:
        with quiet_algebra():
            with UntilStopped(clock):
                ready = _held(X, values, codes, len(classes), bool(fit_intercept), clock)
            if ready is not None:
                found = _solve(ready[0], names, weights, clock, max_proof_mb)
    except FloatingPointError:
        refuse_not_finite(X, np.zeros(0))
    if ready is None:
        found = _one_class_right(codes, names, X.shape[1], bool(fit_intercept), weights)
        return replace(found, rows=dropped.in_source(found.rows), dropped=dropped, values=values)
    data, inside = ready
    if not inside.unchanged:
        plane, near = inside.outside(found.plane), to_rows(nearest_doubles(X).astype(np.float64))
        rows, depths = _deepest_first(data._replace(rows=near), found.rows, plane)
        found = replace(found, plane=plane, rows=rows, depths=depths)
    return replace(found, values=values, rows=dropped.in_source(found.rows), dropped=dropped)


def _held(
    X: Any, values: Values, codes: Array, classes: int, offset: bool, clock: Clock | None = None
) -> tuple[Data, Cells]:
    """Return the rows to search with, and how they hold the numbers of X."""
    if values == DECIMAL and X.dtype.kind == "f" and not np.isfinite(X.data if hasattr(X, "indptr") else X).all():
        refuse_not_finite(X, np.zeros(0))
    inside = _in_64_bits(X, values, offset, clock)
    return Data(inside.rows, codes.astype(np.intp), X.shape[1], classes, offset), inside


def _in_64_bits(X: Any, values: Values, offset: bool, clock: Clock | None = None) -> Cells:
    """Return how 64 bits hold the numbers of X, or an error."""
    inside = cells(X, values, offset=offset, clock=clock)
    if inside is None:
        what = "X has numbers of more digits than 64 bits hold, too many to search for the fewest errors: round them"
        raise DataError("", what, ("values", BINARY))
    return inside


def whole_weights(sample_weight: Any, n: int) -> Array:
    """Return weights as integers, or say what is wrong with them."""
    weights = np.asarray(sample_weight)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one number for each of {n} rows, got the shape {weights.shape}")
    for row, weight in enumerate(weights.tolist()):
        if not (isinstance(weight, int | float) and weight >= 0 and weight % 1 == 0):
            raise ValueError(f"sample_weight must be whole numbers not below 0, got {weight!r} at row {row}")
    total = sum(map(int, weights.tolist()))
    if not total < check_fewest.HEAVIEST:
        raise ValueError(
            f"the sum of sample_weight must be below 2^53, got {total}: divide the weights by a common factor"
        )
    return weights.astype(np.int64)


def _solve(
    data: Data, classes: tuple[Any, ...], weights: Array | None, clock: Budget, max_proof_mb: float | None
) -> Fewest:
    """Search, write the proof, check it."""
    each = row_counts(weights, len(data.y))
    clock.reserve = OPERATION * CLOSING * data.rows.data.size
    items = None
    with UntilStopped(clock):
        items = make_items(data, each, clock)
    if items is None:
        known = _one_class_right(data.y, classes, data.n_features, data.offset, weights)
        return _by_least_squares(known, data, each)
    search = Search(items, clock)
    search.run()
    proof, lower = _proved(search)
    plane, wrong = _beside_contradictions(data, each, search.plane, items.base + search.upper)
    rows, depths = _deepest_first(data, wrong, plane)
    found = Fewest(
        items.base + lower, int(each[wrong].sum()), rows, depths, plane, proof, classes, data.n_features, data.offset,
        weights,
    )  # fmt: skip
    if max_proof_mb is not None:
        found = _capped(found, search, lower, max_proof_mb)
    if not check_fewest.holds(found, data, each):
        raise ArithmeticError("linsep found a proof that does not hold: please report these data")
    return found


def _one_class_right(
    codes: Array, classes: tuple[Any, ...], n_features: int, offset: bool, weights: Array | None
) -> Fewest:
    """Return what is known of any rows: a plane with an offset has all rows of the heaviest class right."""
    each = row_counts(weights, len(codes))
    heaviest = int(np.bincount(codes, weights=each, minlength=len(classes)).argmax())
    wrong = np.flatnonzero((each > 0) & ((codes != heaviest) | (not offset)))
    plane = one_class_plane(heaviest, len(classes), n_features, offset)
    depths = np.full(len(wrong), float(offset))
    upper = int(each[wrong].sum())
    return Fewest(0, upper, wrong, depths, plane, NOTHING, classes, n_features, offset, weights)


def _by_least_squares(known: Fewest, data: Data, weights: Array) -> Fewest:
    """Return the same with the errors of a plane by least squares, where these are fewer.

    Some rows ask to be at height 1, then only those of them that the last plane has between -1 and 1.
    """
    n, d = len(data.y), data.n_features
    if data.classes > 2 or d > _COLUMNS:
        return known
    some = np.arange(0, n, 1 + n * (d + 1) // _CELLS)
    Z = np.column_stack((to_floats(data.rows, some, d), np.ones(len(some))))[:, : d + data.offset]
    if not np.isfinite(Z).all():
        return known
    Z, near = Z * (2.0 * data.y[some] - 1)[:, None], np.ones(len(some), dtype=bool)
    w: Floats = np.zeros(d + data.offset)
    for _ in range(_ROUNDS):
        w = np.asarray(np.linalg.lstsq(Z[near], np.ones(np.count_nonzero(near)), rcond=None)[0], dtype=np.float64)
        near = np.abs(Z @ w) < 1
        if not near.any():
            break
    plane = Separator(w[:d], float(w[d:].sum()))
    rows, depths = _deepest_first(data, np.flatnonzero((weights > 0) & wrong_rows(data, np.arange(n), plane)), plane)
    upper = int(weights[rows].sum())
    return replace(known, upper=upper, rows=rows, depths=depths, plane=plane) if upper < known.upper else known


def _beside_contradictions(data: Data, weights: Array, plane: Separator, cost: int) -> tuple[Separator, Array]:
    """Return a plane and the rows it has wrong; turned a little, where it goes through points of both labels.

    Such points, equally many of both, are no items; beside the plane half of their rows are right.
    """
    rng = np.random.default_rng(0)

    def wrong_under(plane: Separator) -> Array:
        return np.flatnonzero((weights > 0) & wrong_rows(data, np.arange(len(data.y)), plane))

    best, wrong = plane, wrong_under(plane)
    W, offsets = plane.exactly()
    w, b = np.array(W, dtype=object).reshape(plane.w.shape), np.array(offsets, dtype=object)
    size = max(map(abs, (*w.ravel().tolist(), *offsets)), default=Fraction(0)) or Fraction(1)
    for bits in (*range(8, 50, 6), *range(60, 1200, 60)):
        if int(weights[wrong].sum()) <= cost:
            break
        noise = [Fraction(int(value), 1 << (10 + bits)) * size for value in rng.integers(-1024, 1025, w.size + b.size)]
        v = w + np.array(noise[: w.size], dtype=object).reshape(w.shape)
        c = b + np.array(noise[w.size :], dtype=object) * int(data.offset)
        if bits < 50:  # floats may do
            v, c = v.astype(float), c.astype(float)
        turned = Separator(v, c[0] if data.classes == 2 else c)
        now_wrong = wrong_under(turned)
        if weights[now_wrong].sum() < weights[wrong].sum():
            best, wrong = turned, now_wrong
    return best, wrong


def _proved(search: Search) -> tuple[Proof, int]:
    """Return a proof of the lower bound; search on where floats promised too much, or settle for less."""
    while True:
        lower = search.lower
        try:
            return write_proof(search, lower), lower
        except Unproved as error:
            search.reopen(error.node, error.node.spent)
            search.run()
            if search.lower >= lower and lower > 0:
                continue
            if search.lower == 0 and not search.root.packing:
                return write_proof(search, 0), 0


def _capped(found: Fewest, search: Search, lower: int, most: float) -> Fewest:
    """Return the result with the largest lower bound whose proof is short enough."""
    if proof_size(found) <= most * 1e6:
        return found
    best = replace(found, lower=0, certificate=NOTHING)
    low, high = 0, lower
    while low < high:
        middle = (low + high) // 2
        shorter = replace(found, lower=search.items.base + middle, certificate=write_proof(search, middle))
        if proof_size(shorter) <= most * 1e6:
            best, low = shorter, middle + 1
        else:
            high = middle
    note = f"linsep found a lower bound of {found.lower}, but its proof takes more than {most:g} MB"
    return replace(best, note=note)


def proof_size(fewest: Fewest) -> int:
    """Return how many bytes a certificate takes as a document, about."""
    return len(json.dumps(claim_of(fewest), separators=(",", ":")))


def _deepest_first(data: Data, rows: Array, plane: Separator) -> tuple[Array, Array]:
    """Return wrong rows and how far they lie on the wrong side, as floats see it, the deepest first."""
    if len(rows) == 0:
        return rows, np.zeros(0)
    W, b = plane.per_class()
    W, b = W.astype(float), b.astype(float)
    distances, every = np.linalg.norm(W[:, None] - W, axis=2), np.arange(len(rows))
    blocks = (take(data.rows, rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK))
    scores = np.concatenate([np.asarray(as_scipy(block, data.n_features) @ W.T) + b for block in blocks])
    true = scores[every, data.y[rows]]
    scores[every, data.y[rows]] = -np.inf
    rival = scores.argmax(axis=1)
    distance = distances[rival, data.y[rows]]
    depths = np.maximum((scores[every, rival] - true) / np.where(distance > 0, distance, 1.0), 0.0)
    order = np.lexsort((rows, -depths))
    return rows[order], depths[order]


def _certain(fewest: ErrorsClaim, data: Data, weights: Array, clock: Budget) -> list[int]:
    """Return rows without which no plane has as few errors."""
    items = None
    with UntilStopped(clock):
        items = make_items(data, weights, clock)
    if items is None:
        return []
    certain = []
    goal = fewest.upper - items.base + 1
    pool = None
    for row in np.sort(fewest.rows).tolist():
        item = int(items.of_row[row])
        if item < 0:
            continue
        cost = items.cost.copy()
        cost[item] = cost.sum() + goal  # a plane that has it wrong is of no use
        search = Search(replace(items, cost=cost), clock, goal=goal)
        search.root.state[item] = 1
        if pool is not None:
            search.pool, search.root.cuts = pool, np.arange(len(pool.cuts))
        pool = search.pool
        search.run()
        if clock.left <= 0:
            break
        if search.lower < goal or search.upper < goal:
            continue
        proof, lower = _proved(search)
        if lower == goal and check_fewest.lower_holds(proof, fewest.upper + 1, data, weights, (int(items.rows[item]),)):
            certain.append(row)
    return certain
