"""A plane as an object of its own, and random data with a known plane: ``linsep.Plane``, ``linsep.teacher``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Floats


class Plane(NamedTuple):
    """The plane ``w·x + b = 0``; ``w`` points to its positive side.

    Labels are -1 and +1, or any two of which the second in sorted order is the positive one. As everywhere in linsep, a
    row on the plane is on the negative side when it is predicted, and has a margin of 0.

    Parameters
    ----------
    w : array-like of shape (d,)
    b : float, default=0.0

    Examples
    --------
    >>> from linsep import Plane
    >>> plane = Plane([3.0, 4.0], -5.0)
    >>> plane.predict([[1, 1], [0, 0]]), plane.distance([[1, 1], [0, 0]])
    (array([ 1, -1]), array([ 0.4, -1. ]))
    >>> plane.project([[0, 0]]), plane.threshold
    (array([[0.6, 0.8]]), 5.0)
    """

    w: Floats  # (d,)
    b: float = 0.0

    @property
    def threshold(self) -> float:
        """The number θ of the form ``w·x > θ``: the offset with the other sign."""
        return -self.b

    @property
    def norm(self) -> float:
        """The length of ``w``."""
        return float(np.linalg.norm(self.w))

    def score(self, X: Any) -> Floats:
        """Return ``w·x + b`` of every row of ``X``, an array-like or sparse matrix of shape (n, d)."""
        X = _matrix(X)
        w = np.asarray(self.w, dtype=np.float64)
        if X.shape[1] != len(w):
            raise DataError("", f"X has {X.shape[1]} columns, but the plane has {len(w)} weights")
        return np.asarray(X @ w + self.b, dtype=np.float64)

    def predict(self, X: Any, labels: tuple[Any, Any] = (-1, 1)) -> Array:
        """Return the label of the side on which every row lies: the second one where ``w·x + b > 0``."""
        return np.asarray(labels)[(self.score(X) > 0).astype(np.intp)]

    def distance(self, X: Any) -> Floats:
        """Return the signed distance of every row to the plane, ``(w·x + b)/‖w‖``; NaN where ``w = 0``."""
        return self.score(X) / (self.norm or math.nan)

    def project(self, X: Any) -> Floats:
        """Return the point of the plane nearest to each row: ``x - (w·x + b)/‖w‖² w``."""
        if self.norm == 0:
            raise DataError("", "there is no plane to project on: w = 0")
        X = _matrix(X)
        X = X.toarray() if hasattr(X, "toarray") else X
        w = np.asarray(self.w, dtype=np.float64)
        return np.asarray(X - np.outer(self.score(X) / float(w @ w), w))

    def errors(self, X: Any, y: Any) -> int:
        """Return how many rows lie on the other side than their label says, or on the plane if that is positive."""
        signs, scores = _signs(y, X), self.score(X)
        return int(np.count_nonzero((scores > 0) != (signs > 0)))

    def loss(self, X: Any, y: Any) -> float:
        """Return the perceptron loss ``Σ max(0, -y (w·x + b))``."""
        return float(np.maximum(0.0, -_signs(y, X) * self.score(X)).sum())

    def margin(self, X: Any, y: Any) -> float:
        """Return the smallest ``y (w·x + b)/‖w‖``: negative if some row is wrong, NaN where ``w = 0``."""
        return float((_signs(y, X) * self.distance(X)).min())


def weights_from_counts(
    counts: Any, X: Any, y: Any, *, fit_intercept: bool = True, eta0: float = 1.0, start: Any = None
) -> Plane:
    """Return the weights of a perceptron from the mistakes on each row: ``w = η Σ α y x`` and ``b = η Σ α y``.

    This is the dual form: the counts α alone determine the weights, in whatever order the mistakes were made.

    Parameters
    ----------
    counts : array-like of shape (n,)
        Mistakes on each row, ``model.mistake_counts_``.
    X, y : array-like of shape (n, d), array-like of shape (n,)
        The rows, with two labels.
    fit_intercept : bool, default=True
    eta0 : float, default=1.0
    start : Plane, default=None
        The first weights, zero by default.

    Returns
    -------
    plane : Plane

    Examples
    --------
    >>> from linsep import Perceptron, weights_from_counts
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> weights_from_counts(model.mistake_counts_, X, y).w, model.coef_[0]
    (array([1., 1.]), array([1., 1.]))
    """
    X, counts = _matrix(X), np.asarray(counts, dtype=np.float64)
    factors = eta0 * counts * _signs(y, X)
    if counts.shape != (X.shape[0],):
        raise DataError("", f"there are {counts.size} counts for {X.shape[0]} rows")
    first = Plane(np.zeros(X.shape[1]), 0.0) if start is None else start
    return Plane(np.asarray(first.w + X.T @ factors), first.b + fit_intercept * float(factors.sum()))


def _matrix(X: Any) -> Any:
    from linsep.data.matrices import as_matrix  # slow to load, and a plane alone needs none

    return as_matrix(X)


def _signs(y: Any, X: Any) -> Array:
    from linsep.data.labels import check_same_length, class_codes, class_labels, classes_and_codes

    labels = class_labels(y)
    check_same_length(_matrix(X), labels)
    if set(labels.tolist()) <= {-1, 1}:
        return labels.astype(np.int8)
    classes, _ = classes_and_codes(labels)
    if len(classes) != 2:
        raise DataError("", f"a plane has two sides, but there are {len(classes)} labels")
    return (2 * class_codes(labels, classes) - 1).astype(np.int8)


# ---------------------------------------------------------------------------------------------------------------
# Random data


def teacher(
    n: int,
    d: int,
    *,
    margin: float = 0.1,
    radius: float = 1.0,
    offset: bool | float = False,
    flip: float = 0.0,
    kind: str = "ball",
    plane: Any = None,
    random_state: Any = 0,
) -> tuple[Floats, Array, Plane]:
    """Draw random points in a ball, labeled by a plane with a margin, or make points that attain the mistake bound.

    Parameters
    ----------
    n, d : int
        Number of points (at least 2, so that both labels occur) and of features.
    margin : float, default=0.1
        Every point is at least this far from the plane; ``kind="basis"`` has a margin of its own.
    radius : float, default=1.0
        No point is farther than this from the origin.
    offset : bool or float, default=False
        False: the plane goes through the origin. True: its offset ``b`` is drawn from the middle half of the range
        that the radius allows. A number: ``b`` itself.
    flip : float, default=0.0
        Share of the labels to flip.
    kind : {"ball", "basis"}, default="ball"
        "ball": uniform in the ball. "basis": the unit vectors times ``radius``, again and again, with labels +1 and -1
        in turns. Their largest margin through the origin is ``radius / √d``, so the mistake bound is d, and a
        perceptron without offset makes exactly d mistakes in any order.
    plane : Plane or (w, b), default=None
        The plane that labels the points; by default one is drawn.
    random_state : int, numpy Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Labels -1 and +1.
    plane : Plane
        The plane ``(w, b)`` that gave the labels: one with ``‖w‖ = 1``, or ``plane`` itself.

    Examples
    --------
    >>> from linsep import teacher
    >>> X, y, plane = teacher(200, 5, margin=0.2, random_state=1)
    >>> bool((y * (X @ plane.w + plane.b) >= 0.2).all())
    True
    """
    if n < 2 or d < 1:
        raise ParameterError(*(("n", n, "at least 2") if n < 2 else ("d", d, "at least 1")))
    if not 0 <= flip <= 1:
        raise ParameterError("flip", flip, "between 0 and 1")
    if not (math.isfinite(radius) and radius > 0):
        raise ParameterError("radius", radius, "positive")
    if kind not in ("ball", "basis"):
        raise ParameterError("kind", kind, "'ball' or 'basis'")
    rng = np.random.default_rng(random_state)
    if kind == "basis":
        if margin != 0.1 or offset or plane is not None:
            raise DataError("", "{0} has a plane and a margin of its own: leave out the others", ("kind", "basis"))
        w = np.where(np.arange(d) % 2 == 0, 1.0, -1.0) / math.sqrt(d)
        rows = np.arange(n) % d
        return radius * np.eye(d)[rows], _flipped(np.where(w[rows] > 0, 1, -1), flip, rng), Plane(w, 0.0)
    if not margin >= 0:
        raise ParameterError("margin", margin, "0 or more")
    if plane is None:
        w = rng.standard_normal(d)
        w /= np.linalg.norm(w)
        b = float(rng.uniform(-0.5, 0.5)) * (radius - margin) if offset is True else float(offset)
        plane = Plane(w, b)
    else:
        plane = Plane(np.asarray(plane[0], dtype=np.float64), float(plane[1]))
        if plane.w.shape != (d,) or not plane.norm > 0:
            raise ParameterError("plane", plane, f"a plane with {d} weights that are not all 0")
        if offset:
            raise DataError("", "{0} has an offset of its own: leave out {1}", ("plane",), ("offset",))
        w, b = plane.w / plane.norm, plane.b / plane.norm
    if abs(b) + margin >= radius:
        message = f"no point can lie outside the margin: |offset| + margin = {abs(b) + margin:g}, radius = {radius:g}"
        raise DataError("", message)

    x = rng.standard_normal((n, d))
    x *= (radius * rng.random(n) ** (1 / d) / np.linalg.norm(x, axis=1))[:, None]  # uniform in the ball
    t = x @ w
    x -= t[:, None] * w
    y = np.where(t + b > 0, 1, -1)
    if abs(y.sum()) == n:  # all on one side: carry the first point to the middle of the other
        y[0] = -y[0]
        t[0] = y[0] * (radius + y[0] * b) / 2 - b
    # Squeeze each side from [plane, far end] into [plane + margin, far end], and the slice across to fit the ball.
    slack = 1e-12 * radius
    far = radius - slack + y * b  # distance from the plane to the far end of this side
    away = margin + slack + np.minimum(1.0, y * (t + b) / far) * (far - margin - slack)
    moved = y * away - b
    across = np.sqrt(np.maximum(0.0, (radius - slack) ** 2 - moved**2))
    before = np.sqrt(np.maximum(np.sum(x * x, axis=1), radius**2 - t**2))
    X = x * np.minimum(1.0, across / np.where(before > 0, before, 1.0))[:, None] + moved[:, None] * w
    return X, _flipped(y, flip, rng), plane


def _flipped(y: Array, flip: float, rng: np.random.Generator) -> Array:
    turned = rng.permutation(len(y))[: round(flip * len(y))]
    y[turned] = -y[turned]
    return y


def lessons(
    n: int, d: int, *, offset: bool | float = False, random_state: int = 0, block: int = 1 << 20, **others: Any
) -> Iterator[tuple[Floats, Array, Plane]]:
    """Yield what ``teacher`` draws, some rows at a time, so that there may be more of them than memory holds.

    About ``block`` numbers are drawn at a time, and what is drawn depends on it; up to this size in all the rows are
    those of ``teacher``. The hidden plane is the same for all.
    """
    rows = max(2, block // d) if d > 0 else n
    starts = list(range(0, n - 1, rows)) or [0]  # a single row would be no lesson: it goes with those before it
    hidden: Plane | None = None
    for k, (start, stop) in enumerate(zip(starts, [*starts[1:], n], strict=True)):
        seed = random_state if k == 0 else [random_state, k]
        X, y, plane = teacher(stop - start, d, offset=offset, random_state=seed, **others)
        if hidden is None:
            hidden, offset = plane, plane.b
        else:  # a reflection carries this plane to the hidden one; norms and distances stay (Householder 1958)
            v = plane.w - hidden.w
            square = float(v @ v)
            if square > 0:
                X -= np.outer(X @ v, v * (2 / square))
        yield X, y, hidden
