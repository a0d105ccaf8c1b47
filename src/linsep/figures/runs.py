"""Draws a run pass by pass, and mistake by mistake beside the theorem's bound."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep.data.arrays import to_rows
from linsep.data.labels import as_examples, class_codes, class_labels
from linsep.data.matrices import matrix_for
from linsep.errors import NotSeparable
from linsep.figures.style import Display, Palette, below, logarithmic, short
from linsep.learn.evaluation import evaluate, separations
from linsep.problem import Array, Floats, Stop
from linsep.prove.bounds.audits import Audit, Trail, as_trained, audit, own_trail
from linsep.prove.bounds.margins import largest_margin
from linsep.wording import bound_in_numbers, squared_update, update_length

_LOOKS = 5e7  # cells that may be looked at to compute errors after passes


@dataclass(eq=False, repr=False)
class PassesDisplay(Display):
    """Mistakes, loss and errors pass by pass; the errors show over- and underfitting by the number of passes.

    Parameters
    ----------
    mistakes, loss : ndarray of shape (passes,)
        Mistakes and loss of each pass.
    at : ndarray of shape (m,)
        Passes after which errors are known, counted from 1.
    training_error, test_error : ndarray of shape (m,) or None
        Share of rows predicted wrong after these passes.
    test_name : str, default="held-out rows"

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
        The lowest panel.
    axes_ : tuple of matplotlib Axes
        All panels: mistakes, loss, and errors where they are known.

    Examples
    --------
    >>> from linsep import PassesDisplay, Perceptron, teacher
    >>> X, y, _ = teacher(300, 5, margin=0.01)
    >>> display = PassesDisplay.from_estimator(Perceptron().fit(X[:200], y[:200]), X[:200], y[:200], X[200:], y[200:])
    >>> float(display.training_error[-1])
    0.0
    """

    mistakes: Array
    loss: Floats
    _: KW_ONLY
    at: Array
    training_error: Floats | None = None
    test_error: Floats | None = None
    test_name: str = "held-out rows"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
        ax: Axes | None = None,
        style: str = "light",
    ) -> Self:
        """Draw the passes of a fitted perceptron.

        Parameters
        ----------
        model : fitted Perceptron
        X, y : array-like, default=None
            The rows it was trained on, in their order: its trace then gives the weights after every pass, and with
            them the training error.
        X_test, y_test : array-like, default=None
            Other rows, whose error is drawn beside it. Without them the validation error that the run recorded is.
        coef_init, intercept_init : array-like, default=None
            The first weights, if ``fit`` received any.
        ax, style
            As in `plot`.
        """
        if not hasattr(model, "history_"):
            raise TypeError(f"PassesDisplay draws a fitted classifier that records its passes, not {_a(model)}")
        history = model.history_
        at = np.arange(1, len(history["mistakes"]) + 1)
        training = test = None
        name = "held-out rows"
        if X is not None:
            trail = own_trail(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
            at = _some_passes(len(at), trail.examples.rows.data.size * len(trail.start))
            training, test = _errors(model, trail, np.cumsum(history["mistakes"])[at - 1], X_test, y_test)
        if test is None and not np.isnan(history["validation_error"]).all():
            test, name = history["validation_error"][at - 1], "validation rows"
        display = cls(
            history["mistakes"], history["loss"], at=at, training_error=training, test_error=test, test_name=name
        )
        return display.plot(ax=ax, style=style)

    @property
    def _panels(self) -> int:
        """Mistakes, loss, and errors where they are known."""
        return 2 + (self.training_error is not None or self.test_error is not None)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        return 5.2, 1.1 + 1.45 * self._panels

    def _draw(self, ax: Axes, palette: Palette) -> None:
        spec = ax.get_subplotspec()
        if spec is None:
            raise ValueError("ax must be part of a grid of axes, as plt.subplots makes them")
        ax.set_axis_off()
        grid = spec.subgridspec(self._panels, 1, hspace=0.12)
        self.axes_ = tuple(self.figure_.add_subplot(grid[p]) for p in range(self._panels))
        self.ax_ = self.axes_[-1]
        passes = np.arange(1, len(self.mistakes) + 1)
        mark: dict[str, Any] = {"marker": ".", "markersize": 5} if len(passes) <= 60 else {}
        mark |= {"clip_on": False, "zorder": 3}  # a mark at 0 is not cut in half
        self.axes_[0].plot(passes, self.mistakes, color=palette.positive, **mark)
        self.axes_[0].set_ylabel("mistakes")
        self.axes_[1].plot(passes, self.loss, color=palette.accent, **mark)
        self.axes_[1].set_ylabel("loss")
        highest = [float(self.mistakes.max(initial=1)), float(self.loss.max(initial=0)) or 1.0]
        if self._panels == 3:
            highest.append(self._draw_errors(self.ax_, palette))
        for axes, high in zip(self.axes_, highest, strict=True):
            axes.grid(True, axis="y")
            axes.set_ylim(0, 1.08 * high)
            axes.set_xlim(1 - 0.04 * (len(passes) or 1), 0.5 + 1.04 * len(passes))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
            axes.tick_params(labelbottom=axes is self.ax_)
        self.ax_.set_xlabel("pass")
        self.axes_[0].set_title("Pass by pass")

    def _draw_errors(self, ax: Axes, palette: Palette) -> float:
        """Draw the share of rows that are predicted wrong, and return the largest, in percent."""
        highest = 1.0
        if self.training_error is not None:
            line: dict[str, Any] = {"color": palette.positive, "marker": "^", "markersize": 4}
            ax.plot(self.at, 100 * self.training_error, label="training rows", **line)
            highest = max(highest, 100 * float(self.training_error.max()))
        if self.test_error is not None:
            line = {"color": palette.negative, "marker": "o", "markersize": 4, "linestyle": "--"}
            best = int(np.nanargmin(self.test_error))
            name = f"{self.test_name}, lowest {100 * self.test_error[best]:.2g}% after pass {self.at[best]}"
            ax.plot(self.at, 100 * self.test_error, label=name, **line)
            highest = max(highest, 100 * float(np.nanmax(self.test_error)))
        ax.set_ylabel("error, %")
        below(ax, 1, space=0.42)
        return highest


def _some_passes(last: int, cells: int) -> Array:
    """Return the passes after which errors are computed: all, or some, more of them early, when most happens."""
    most = int(np.clip(_LOOKS / max(1, cells), 18, 40))
    if last <= most:
        return np.arange(1, last + 1)
    at = np.concatenate((np.geomspace(1, last, most // 2), np.linspace(1, last, most // 2)))
    return np.unique(at.round().astype(np.intp))


def _errors(model: Any, trail: Trail, counts: Array, X: Any, y: Any) -> tuple[Floats, Floats | None]:
    """Return the share of wrong rows by the number of mistakes, of training rows and of others."""
    sets = [trail.examples]
    if X is not None:
        X = as_trained(model, matrix_for(model, X))
        codes = class_codes(class_labels(y), model.classes_)
        sets.append(as_examples(to_rows(X), codes, len(model.coef_), np.ones(len(codes))))
    shares = np.array(
        [
            [evaluate(data, W, b, on_plane=model.on_plane).wrong / len(data.y) for data in sets]
            for W, b in trail.weights_after(counts.tolist())
        ]
    )
    return shares[:, 0], shares[:, 1] if X is not None else None


# ---------------------------------------------------------------------------------------------------------------
# Mistake by mistake


class TheoremDisplay(Display):
    """The mistake bound as it happens: progress from below, norm from above, and where they must meet.

    After k mistakes ``w_0·u + kηγ <= w_k·u <= ‖w_k‖ <= sqrt(‖w_0‖² + kη²R²)``. The outer two cross at the bound: no run
    gets past it.

    Parameters
    ----------
    audit : Audit

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from linsep import Perceptron, TheoremDisplay, teacher
    >>> X, y, _ = teacher(100, 3, margin=0.2)
    >>> TheoremDisplay.from_estimator(Perceptron().fit(X, y), X, y).audit.holds
    True
    """

    _size = 5.6, 5.0

    def __init__(self, audit: Audit) -> None:
        if audit.bound is None:
            raise ValueError("no plane separates the rows: there is no bound to draw")
        if not math.isfinite(audit.bound.upper):
            raise ValueError("double precision does not bound the margin from below: there is no bound to draw")
        self.audit, self._bound = audit, audit.bound

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
        ax: Axes | None = None,
        style: str = "light",
    ) -> Self:
        """Audit a fitted perceptron on the rows of its training, and draw what comes out.

        ``coef_init`` and ``intercept_init`` are the first weights, if ``fit`` received any; ``ax`` and ``style`` are
        those of `plot`.
        """
        proof = audit(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
        return cls(proof).plot(ax=ax, style=style)

    def _draw(self, ax: Axes, palette: Palette) -> None:
        proof = self.audit
        made, end = proof.mistakes, self._bound.upper
        far = end > 40 * max(1, made) and proof.progress_bound[0] == 0 == proof.squared_norm[0]
        last = 1.12 * max(end, made)
        k = self._places(np.geomspace(1, last, 400) if far else np.linspace(0, last, 400))
        self._curves(ax, k, palette)
        ax.axvline(end, color=palette.accent, linewidth=2)
        ax.annotate(
            f"bound {short(self._bound.mistakes)}", (end, 0.04), xycoords=("data", "axes fraction"),
            xytext=(4, 0), textcoords="offset points", color=palette.accent, rotation=90,
        )  # fmt: skip
        ax.axvline(max(made, 1 if far else 0), color=palette.ink, linewidth=0.8, linestyle=":")
        low, high = self._bounds(k)
        if far:
            ax.set(xscale="log", yscale="log", xlim=(1, 1.2 * end ** (1 + 1 / 16)))
            ax.set_ylim(bottom=0.6 * float(low[low > 0].min()))
            logarithmic(ax.xaxis)
            logarithmic(ax.yaxis)
        else:
            ax.set(xlim=(0, 1.08 * max(end, made)))
            ax.set_ylim(bottom=min(0.0, float(low.min())), top=1.15 * float(np.interp(end, k, high)))
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            if made < end / 4:
                self._zoom(ax, palette)
        axis = self._in_numbers()
        ax.set(xlabel=axis, ylabel="length")
        ax.xaxis.label.set_linespacing(1.5)
        outcome = "proof holds" if proof.holds else "VIOLATED"
        ax.set_title(f"{short(made)} of at most {short(self._bound.mistakes)} mistakes: {outcome}")
        below(ax, 1, space=0.16 + 0.09 * axis.count("\n"))

    def _curves(self, ax: Axes, k: Floats, palette: Palette) -> None:
        proof = self.audit
        steps = _some(proof.mistakes + 1)
        low, high = self._bounds(k)
        least, most = self._formulas()
        dashes: dict[str, Any] = {"linestyle": (0, (3, 1.5))}
        if proof.mistakes <= 60:
            dashes |= {"marker": ".", "markersize": 5}
        ax.fill_between(k, low, high, where=list(high >= low), color=palette.ink, alpha=0.07, linewidth=0)
        ax.plot(k, high, color=palette.negative, linewidth=1.6, label=f"{most}: ‖w‖ is at most this")
        ax.plot(steps, np.sqrt(proof.squared_norm[steps]), color=palette.negative, label="‖w‖", **dashes)
        ax.plot(k, low, color=palette.positive, linewidth=1.6, label=f"{least}: w·u is at least this")
        ax.plot(steps, proof.progress[steps], color=palette.positive, label="w·u", **dashes)

    def _zoom(self, ax: Axes, palette: Palette) -> None:
        made = self.audit.mistakes
        inset = ax.inset_axes((0.54, 0.09, 0.36, 0.33))
        self._curves(inset, self._places(np.linspace(0, 1.1 * made, 200)), palette)
        inset.set(xlim=(0, 1.08 * made), ylim=(0, 1.1 * float(self._bounds(np.array([made]))[1][0])))
        inset.tick_params(labelsize=7)
        inset.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        inset.yaxis.set_major_locator(MaxNLocator(nbins=3))
        inset.set_title("the run", fontsize=8)

    def _places(self, smooth: Floats) -> Floats:
        """Return where the outer curves are drawn: also at every mistake that is, so that no chord cuts off the run."""
        return np.union1d(smooth, _some(self.audit.mistakes + 1)[1:])

    def _rates(self) -> tuple[float, float]:
        """Return what a mistake adds to the bound on the progress, ηγ, and to that on the squared norm, η²Q + 2ηm."""
        proof = self.audit
        last = max(1, len(proof.progress_bound) - 1)
        slope = float(proof.progress_bound[-1] - proof.progress_bound[0]) / last
        return slope, float(proof.squared_norm_bound[-1] - proof.squared_norm_bound[0]) / last

    def _bounds(self, k: Floats) -> tuple[Floats, Floats]:
        """Return the two outer curves by the number of mistakes, also beyond the run."""
        slope, growth = self._rates()
        proof = self.audit
        return proof.progress_bound[0] + k * slope, np.sqrt(proof.squared_norm_bound[0] + k * growth)

    @property
    def _kind(self) -> tuple[bool, bool]:
        """Whether an offset was learned, and whether there are more than two classes."""
        margin = self._bound.margin
        return margin.form == "augmented", np.ndim(margin.w) > 1

    def _formulas(self) -> tuple[str, str]:
        slope, growth = self._rates()
        rate = slope / self._bound.margin.lower
        extra = growth > rate**2 * self._bound.largest_update**2 * (1 + 1e-9)  # updates are made up to a margin m
        zero = self.audit.squared_norm[0] == 0
        if zero and not extra:
            return "kηγ", f"√k η{update_length(*self._kind)}"
        inside = f"{'' if zero else '‖w₀‖² + '}{squared_update(*self._kind, 'kη²')}{' + 2kηm' if extra else ''}"
        return "kηγ" if zero else "w₀·u + kηγ", f"√({inside})"

    def _in_numbers(self) -> str:
        """Return what the horizontal axis counts and, if it is the textbook's, the bound in numbers."""
        bound = self._bound
        if not self._formulas()[1].startswith("√k"):
            return "mistakes k"
        numbers = bound_in_numbers(bound.formula, radius=bound.radius, margin=bound.margin.lower, limit=bound.upper)
        return "mistakes k\n" + (numbers if len(numbers) < 60 else "\n= ".join(numbers.rsplit(" = ", 1)))


@dataclass(eq=False, repr=False)
class BracketDisplay(Display):
    """The bounds on the largest margin that a run implies: an upper bound at every mistake, a lower one at the end.

    Parameters
    ----------
    upper : ndarray of shape (mistakes + 1,)
        ``‖w_k - w_0‖/(ηk)``, above the largest margin at every moment.
    achieved : float or None
        The margin of the plane at the end, if it separates the rows.
    margin : tuple (lower, upper) or None
        Certified bounds on the largest margin; None if no plane separates the rows.
    form : {"origin", "augmented"}, default="origin"
        Whether all of these are margins of the points ``x`` or, with offset, ``(x, 1)``.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from linsep import BracketDisplay, Perceptron, teacher
    >>> X, y, _ = teacher(100, 3, margin=0.2)
    >>> display = BracketDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    >>> bool(display.achieved <= display.margin[1] <= display.upper[-1])
    True
    """

    _size = 5.4, 4.3

    upper: Floats
    achieved: float | None
    margin: tuple[float, float] | None
    _: KW_ONLY
    form: str = "origin"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
        ax: Axes | None = None,
        style: str = "light",
    ) -> Self:
        """Follow a fitted perceptron on the rows of its training, and draw its bounds on the largest margin.

        With an offset the margin is that of the points ``(x, 1)``. The other parameters are those of `TheoremDisplay`.
        """
        trail = own_trail(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
        try:
            best = largest_margin(as_trained(model, X), y, form="augmented" if model.fit_intercept else "origin")
            margin = best.lower, best.upper
        except NotSeparable:
            margin = None
        return cls.from_trail(model, trail, margin).plot(ax=ax, style=style)

    @classmethod
    def from_trail(cls, model: Any, trail: Trail, margin: tuple[float, float] | None) -> Self:
        """Return what there is to draw of a run that has been followed already."""
        k = np.arange(len(trail.trace) + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(k > 0, trail.moved / (trail.eta * k), np.inf)
        achieved = None
        if model.stop_reason_ == Stop.SEPARATED:
            W, b = np.ascontiguousarray(trail.end[:, :-1]), trail.end[:, -1].copy()
            achieved = float(separations(trail.examples, W, b).min() / np.linalg.norm(trail.end))
        return cls(upper, achieved, margin, form="augmented" if model.fit_intercept else "origin")

    def _draw(self, ax: Axes, palette: Palette) -> None:
        """Draw what falls from above, what was found below, and the largest margin between them."""
        k = 1 + _some(len(self.upper) - 1)
        mark: dict[str, Any] = {"marker": ".", "markersize": 5} if len(k) <= 60 else {}
        ax.plot(k, self.upper[k], color=palette.negative, label="‖w‖/(ηk): γ is at most this", **mark)
        if self.margin is not None:
            low, high = self.margin
            if high - low < 1e-3 * high:
                ax.axhline(high, color=palette.accent, linewidth=2, label=f"largest margin γ = {high:.4g}")
            else:
                name = f"largest margin γ, {low:.3g} to {high:.3g}"
                ax.axhspan(low, high, color=palette.accent, alpha=0.25, linewidth=0, label=name)
        if self.achieved is not None:
            name = f"plane found: γ is at least {self.achieved:.3g}"
            ax.axhline(self.achieved, color=palette.positive, linewidth=1.6, linestyle="--", label=name)
        known = np.array([*self.upper[k], *(self.margin or ()), self.achieved or 0.0])
        known = known[known > 0]
        if len(known) and known.max() > 30 * known.min():
            ax.set_yscale("log")
            logarithmic(ax.yaxis)
        else:
            ax.set_ylim(bottom=0)
        if len(self.upper) > 1000:
            ax.set_xscale("log")
            logarithmic(ax.xaxis)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="mistakes k", ylabel="margin of the points (x, 1)" if self.form == "augmented" else "margin")
        ax.set_title(
            "Bounds on the largest margin from the run"
            if self.margin
            else "The margin that any plane could have is below this"
        )
        below(ax, 1, space=0.17)


def _some(n: int) -> Array:
    """Return the numbers below n, or enough of them for a curve that looks the same."""
    if n <= 4000:
        return np.arange(n)
    return np.unique(np.concatenate((np.geomspace(1, n, 2000), np.linspace(1, n, 2000))).astype(np.intp) - 1)


def _a(model: Any) -> str:
    """Return what a model is, with its article."""
    name = type(model).__name__
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"
