"""Draws the plane of a binary classifier among the rows, projected to two dimensions if need be."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from scipy.sparse.linalg import LinearOperator, svds

from linsep.data.labels import check_same_length, class_codes, class_labels, classes_and_codes
from linsep.data.matrices import as_matrix, matrix_for
from linsep.data.plane import Plane
from linsep.errors import DataError
from linsep.figures.style import Display, Palette, below, draw_classes, plain
from linsep.models.linear import Linear
from linsep.problem import Array, Floats

_ALONG = "along w"  # name of the first axis of a projection
_MANY = 3000  # rows from which on only some are drawn


@dataclass(eq=False, repr=False)
class PlaneDisplay(Display):
    """The plane of a binary classifier with its margin band, its normal and the rows.

    Rows of two features are drawn as they are. Others are projected on ``w`` and on the direction across it in which
    they spread most, so that the plane is a straight line and distances to it are true. Of very many rows some are
    drawn: those nearest to the plane, those with most mistakes, and a sample of the rest.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Rows as drawn.
    positive : ndarray of bool of shape (n,)
        Which rows have the positive label.
    w, b
        The plane in the coordinates drawn.
    counts : ndarray of shape (n,)
        Mistakes made on each row, which give the size of its mark.
    labels : tuple
        The negative and the positive label.
    axes_names : tuple of str
        Names of the two axes.
    support : ndarray of bool of shape (n,), default=None
        Rows to put a ring around.
    suspects : ndarray of bool of shape (n,), default=None
        Rows to put a cross on: those that stand in the way of a plane that separates.
    caption : str, default=""
        How the rows were projected or sampled.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    margin_ : float
        Half the width of the band: the smallest distance of a row to the plane.

    Examples
    --------
    >>> from linsep import Perceptron, PlaneDisplay, teacher
    >>> X, y, _ = teacher(100, 2)
    >>> display = PlaneDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    >>> display.ax_.get_xlabel(), display.margin_ > 0  # display.figure_.savefig("plane.png") writes it
    ('x₁', True)
    """

    points: Floats
    positive: Array
    w: Floats
    b: float
    _: KW_ONLY
    counts: Array
    labels: tuple[Any, Any]
    axes_names: tuple[str, str]
    support: Array | None = None
    suspects: Array | None = None
    caption: str = ""

    @property
    def margin_(self) -> float:
        """Half the width of the band."""
        return float(np.abs(self.points @ self.w + self.b).min() / np.linalg.norm(self.w))

    @classmethod
    def from_estimator(cls, model: Linear, X: Any, y: Any, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw the plane of a fitted classifier of two classes among rows; ``ax`` and ``style`` as in `plot`."""
        X, codes = judged(cls, model, X, y)
        if len(model.coef_) > 1:
            raise ValueError(
                f"a plane separates two classes, but the model has {len(model.classes_)}: use RegionsDisplay"
            )
        w, b = model.coef_[0], float(model.intercept_[0])
        if not w.any():
            raise ValueError("there is no plane to draw: w = 0")
        counts, support = records(model, X.shape[0])
        drawn = project(X, w, b, counts, getattr(model, "feature_names_in_", None))
        display = cls(
            drawn.points, codes[drawn.rows] == 1, drawn.w, drawn.b, counts=counts[drawn.rows],
            labels=tuple(model.classes_.tolist()), axes_names=drawn.names, support=support[drawn.rows],
            suspects=in_the_way(model, X.shape[0])[drawn.rows], caption=drawn.caption,
        )  # fmt: skip
        return display.plot(ax=ax, style=style)

    @classmethod
    def from_plane(cls, plane: Plane, X: Any, y: Any, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw any `Plane` among some rows of two labels; the second in sorted order is the positive one.

        ``ax`` and ``style`` are those of `plot`.
        """
        X = as_matrix(X)
        classes, codes = classes_and_codes(class_labels(y))
        check_same_length(X, codes)
        if len(classes) != 2:
            raise ValueError(f"a plane separates two classes, but there are {len(classes)}")
        if not plane.norm > 0:
            raise ValueError("there is no plane to draw: w = 0")
        counts = np.zeros(X.shape[0], np.intp)
        drawn = project(X, np.asarray(plane.w, dtype=np.float64), float(plane.b), counts, None)
        display = cls(
            drawn.points, codes[drawn.rows] == 1, drawn.w, drawn.b, counts=counts[drawn.rows],
            labels=tuple(classes.tolist()), axes_names=drawn.names, caption=drawn.caption,
        )  # fmt: skip
        return display.plot(ax=ax, style=style)

    def _draw(self, ax: Axes, palette: Palette) -> None:
        projected = self.axes_names[0] == _ALONG  # need not have equal scales: w is horizontal anyway
        frame = ViewFrame.around(self.points, equal=not projected)
        line, arrow = frame.line(self.w, self.b)
        seen = frame.crosses(self.w, self.b)
        if frame.holds(arrow[0]):  # then the arrow should be seen as well
            frame = ViewFrame.around(
                np.vstack((self.points, arrow[0] + 1.3 * (arrow[1] - arrow[0]))), equal=not projected
            )
        wrong = np.where(self.positive, 1, -1) * (self.points @ self.w + self.b) <= 0
        name = "band without rows" if wrong.any() else "margin band"
        draw_band(
            ax, line, self.w, self.margin_, color=palette.ink, alpha=0.12, label=f"{name}, 2 × {self.margin_:.3g}"
        )
        if seen:
            ax.plot(*line.T, color=palette.ink, linewidth=1.6, label="plane")
        foot, head = arrow
        ax.annotate("", head, foot, arrowprops={"arrowstyle": "-|>", "color": palette.ink, "lw": 1.6}, zorder=6)
        halo = [withStroke(linewidth=3, foreground=palette.paper)]  # to be read among many rows
        where: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True, "zorder": 6}
        ax.annotate("w", head + 0.18 * (head - foot), fontsize=12, path_effects=halo, **where)
        draw_classes(
            ax, self.points, self.positive, self.labels, palette, size=mistake_sizes(self.counts), alpha=0.85
        )  # fmt: skip
        if self.support is not None and self.support.any():
            x, y = self.points[self.support].T
            rings: dict[str, Any] = {"facecolors": "none", "edgecolors": palette.ink, "linewidths": 1.4}
            ax.scatter(x, y, s=150, label="support rows", zorder=4, **rings)
        if self.suspects is not None and self.suspects.any():
            x, y = self.points[self.suspects].T
            ax.scatter(x, y, s=110, marker="x", color=palette.ink, linewidths=1.6, label="in the way", zorder=5)
        if wrong.any():
            draw_crosses(ax, self.points[wrong], palette, "on the wrong side")
        frame.fit(ax)
        caption = self.caption + (", scales differ" if frame.reach[0] != frame.reach[1] else "")
        if not seen:
            caption = f"{caption}, the plane is outside this view".lstrip(", ")
        name_axes(ax, self.axes_names, caption)
        ax.set_title("Plane and margin" + ("; larger marks: more mistakes" if self.counts.any() else ""))
        below(ax, 3, space=0.17 if caption else 0.11)


class ViewFrame(NamedTuple):
    """A square that holds all points, or a rectangle where they spread much more one way than the other."""

    middle: Floats
    reach: Floats  # (2,)

    @classmethod
    def around(cls, points: Floats, *, equal: bool = True) -> ViewFrame:
        """Return the square around some points; unless ``equal``, a rectangle where it would be nearly empty."""
        low, high = points.min(axis=0), points.max(axis=0)
        reach = 0.56 * (high - low)
        widest = float(reach.max()) or 1.0
        if equal or reach.min() <= 0 or widest < 4 * reach.min():
            reach = np.full(2, widest)
        return cls((low + high) / 2, reach)

    def line(self, w: Floats, b: float) -> tuple[Floats, Floats]:
        """Return two points of a plane beyond the square, and foot and head of an arrow along its normal."""
        length = float(np.linalg.norm(w))
        unit = w / length
        foot = self.middle - (unit @ self.middle + b / length) * unit  # the point of the plane nearest to the middle
        along = np.array([-unit[1], unit[0]]) * 4 * self.reach.max()
        return np.array([foot - along, foot + along]), np.array([foot, foot + 0.35 * self.reach[0] * unit])

    def crosses(self, w: Floats, b: float) -> bool:
        """Say whether some point of a plane is inside."""
        corners = self.middle + self.reach * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
        sides = corners @ w + b
        return bool(sides.min() <= 0 <= sides.max())

    def holds(self, point: Floats) -> bool:
        """Say whether a point is inside."""
        return bool((np.abs(point - self.middle) <= self.reach).all())

    def fit(self, ax: Axes) -> None:
        """Show the square or rectangle, which is a square on paper."""
        (x, y), (across, up) = self.middle, self.reach
        ax.set(xlim=(x - across, x + across), ylim=(y - up, y + up), aspect=across / up)


def draw_band(ax: Axes, line: Floats, w: Floats, width: float, **style: Any) -> None:
    """Draw a band of some width on both sides of a plane."""
    shift = width * w / np.linalg.norm(w)
    band = np.array([line[0] - shift, line[1] - shift, line[1] + shift, line[0] + shift])
    ax.fill(*band.T, linewidth=0, **style)


def draw_crosses(ax: Axes, points: Floats, palette: Palette, label: str) -> None:
    """Put a cross on every one of some rows, a small one if they are many."""
    size = 50 if len(points) <= 100 else 14
    x, y = points.T
    ax.scatter(x, y, s=size, c=palette.ink, marker="x", linewidths=1, label=label, zorder=5)


def name_axes(ax: Axes, names: tuple[str, str], caption: str) -> None:
    """Write what the axes are, with a caption below."""
    across, up = (plain(name, 60) for name in names)
    ax.set_xlabel(f"{across}\n{caption}" if caption else across, linespacing=1.5)
    ax.set_ylabel(up)


def mistake_sizes(counts: Array) -> Floats:
    """Return the size of the mark of every row: an area that grows with the root of its mistakes."""
    return np.asarray(22 + 60 * np.sqrt(counts / max(1, counts.max(initial=0))))


def judged(display: type, model: Any, X: Any, y: Any) -> tuple[Any, Array]:
    """Return rows that a fitted linear classifier can judge, and the class number of each."""
    if not all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_")):
        raise TypeError(
            f"{display.__name__} draws a fitted linear classifier, with coef_, intercept_ and classes_; "
            f"{type(model).__name__} {'is not fitted' if isinstance(model, Linear) else 'has none'}"
        )
    if getattr(model, "keep", "last") == "vote":
        raise DataError("", "a vote of many planes is not one plane: nothing to draw with {0}", ("keep", "vote"))
    X = matrix_for(model, X)
    codes = class_codes(class_labels(y), model.classes_)
    check_same_length(X, codes)
    return X, codes


def in_the_way(model: Any, n: int) -> Array:
    """Return which rows a model of the fewest errors has wrong, or one of the largest margin has dropped."""
    marked = np.zeros(n, bool)
    for name in ("wrong_", "dropped_"):
        rows = getattr(model, name, None)
        if rows is not None and len(rows) and rows.max() < n:
            marked[rows] = True
    return marked


def records(model: Any, n: int) -> tuple[Array, Array]:
    """Return the mistakes made on each row and which rows support the plane, nothing if the model saw other rows."""
    counts, support = np.zeros(n, np.intp), np.zeros(n, bool)
    made = np.delete(getattr(model, "mistake_counts_", counts), getattr(model, "missing_rows_", []))
    if len(made) == n:
        counts = made
    held = getattr(model, "support_", None)
    if held is not None and len(held) and held.max() < n:
        support[held] = True
    return counts, support


# ---------------------------------------------------------------------------------------------------------------
# From many features to two


class Drawn(NamedTuple):
    """Rows and a plane in two coordinates."""

    points: Floats  # (m, 2)
    w: Floats
    b: float
    rows: Array  # (m,) numbers of the rows that are drawn
    names: tuple[str, str]
    caption: str


def project(X: Any, w: Floats, b: float, counts: Array, feature_names: Any = None) -> Drawn:
    """Bring rows and a plane to two coordinates in which the plane is a line and distances to it are true."""
    n = X.shape[0]
    length = float(np.linalg.norm(w))
    along = np.asarray(X @ w, dtype=np.float64).ravel() / length
    rows = some_rows(np.abs(along + b / length), counts)
    part = X[rows]
    caption = f"{len(rows):,} of {n:,} rows" if len(rows) < n else ""
    if X.shape[1] == 2:
        return Drawn(dense(part), w, b, rows, two_names(feature_names), caption)
    across = _widest(part, w / length)
    points = np.column_stack((along[rows], across))
    caption = f"projection of {X.shape[1]:,} features" + (f", {caption}" if caption else "")
    return Drawn(points, np.array([length, 0.0]), b, rows, (_ALONG, "across w, widest spread (projection)"), caption)


def dense(X: Any) -> Floats:
    """Return few rows, or rows of two features, as an array."""
    return np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)


def two_names(feature_names: Any) -> tuple[str, str]:
    """Return the names of two features."""
    return ("x₁", "x₂") if feature_names is None else (str(feature_names[0]), str(feature_names[1]))


def some_rows(distances: Floats, counts: Array) -> Array:
    """Return the rows to draw: all, or the nearest to the plane, those with most mistakes, and a sample of the rest."""
    n = len(distances)
    if n <= _MANY:
        return np.arange(n)
    nearest, heaviest = np.argsort(distances, kind="stable")[:100], np.argsort(-counts, kind="stable")[:100]
    sample = np.random.default_rng(0).choice(n, _MANY - 200, replace=False)
    return np.unique(np.concatenate((nearest, heaviest, sample)))


def _widest(X: Any, unit: Floats) -> Floats:
    """Return the coordinate of every row on the direction across ``unit`` in which the rows spread most.

    The rows are never made dense: what is taken off them, the part along ``unit`` and the mean, is taken off products.
    """
    n, d = X.shape
    if d == 1:
        return np.zeros(n)
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    mean -= (mean @ unit) * unit

    def times(v: Floats) -> Floats:
        v = v.ravel()
        v = v - (v @ unit) * unit
        return np.asarray(np.asarray(X @ v).ravel() - mean @ v)

    def back(u: Floats) -> Floats:
        u = u.ravel()
        v = np.asarray(X.T @ u).ravel()
        v -= (v @ unit) * unit
        return np.asarray(v - u.sum() * mean)

    if min(n, d) < 3:  # too small for an iterative method
        rest = np.array([times(e) for e in np.eye(d)]).T
        direction = np.linalg.svd(rest)[2][0]
    else:
        operator = LinearOperator((n, d), matvec=times, rmatvec=back, dtype=np.float64)
        probe = times(np.random.default_rng(1).standard_normal(d))
        if np.linalg.norm(probe) <= 1e-12 * math.sqrt(float((X * X).sum())):  # no spread but along w
            return np.zeros(n)
        first = np.random.default_rng(0).standard_normal(min(n, d))
        large = min(n, d) > 500  # there a direction next to the widest one looks the same
        accuracy: dict[str, Any] = {"tol": 1e-2, "ncv": 8} if large else {}
        direction = svds(operator, k=1, v0=first, return_singular_vectors="vh", **accuracy)[2][0]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    direction -= (direction @ unit) * unit
    size = float(np.linalg.norm(direction))
    return np.asarray(X @ direction).ravel() / size if size else np.zeros(n)
