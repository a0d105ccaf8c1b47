"""The words for stop reasons, verdicts and bounds, shared by command line and report."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Literal

STOPPED = {
    "separated": "a full pass without a mistake",
    "no_mistakes": "a full pass without a mistake, but some rows lie on the plane",
    "max_iter": "the pass budget is spent",
    "max_updates": "the update budget is spent",
    "visited": "all rows of the given order have been visited",
    "loss_plateau": "the loss no longer improves",
    "validation": "the error on held-out rows no longer improves",
    "not_separable": "linsep proved that no plane separates the rows",
    "margin_refuted": "the number of mistakes proves that no plane has the target margin",
}


def stopped_words(reason: str, margin_bound: float) -> str:
    """Return why a run ended; ``margin_bound`` is what its last search proved of all margins, if anything."""
    if reason == "margin_refuted" and not math.isnan(margin_bound):
        return "linsep proved that no plane has a margin but a tiny one"
    return STOPPED.get(reason, "")


def tiny_margin_words(bound: float, radius: float, average: str, further: str) -> str:
    """Return what is proved of a run that ended because all margins are tiny, and the next steps as they are typed."""
    better = f", such as {average}" if average else ""
    return (
        f"it is proved that no plane has a margin above {bound:.2g}, {bound / radius:.0e} of the radius: the rows are "
        f"not separable, or so narrowly that no run will show it. For such rows use weights that need no end{better}; "
        f"{further} goes on."
    )


def verdict_meaning(kind: str, fit_intercept: bool, multiclass: bool = False) -> str:
    """Return what a verdict says; without an offset it is about planes through the origin only."""
    if multiclass:
        vectors = "weight vectors" if fit_intercept else "weight vectors without offsets"
        return {
            "separable": f"some {vectors} score the true class of every row strictly highest",
            "quasi": f"no {vectors} score the true class of every row strictly highest, but some never score another "
            "class higher",
            "overlap": f"whatever the {vectors}, another class scores higher on some row, or all scores are equal",
            "not-separable": f"no {vectors} score the true class of every row strictly highest",
            "unknown": "the search ran out of time",
        }[kind]
    through = "" if fit_intercept else " through the origin"
    return {
        "separable": f"a plane{through} has every row strictly on its side",
        "quasi": f"no plane{through} has every row strictly on its side, but one has none on the wrong side",
        "overlap": f"every plane{through} has rows on the wrong side, or all rows on it",
        "not-separable": f"no plane{through} has every row strictly on its side",
        "unknown": "the search ran out of time",
    }[kind]


def verdict_title(kind: str, fit_intercept: bool) -> str:
    """Return a verdict in a few words, a headline."""
    through = "" if fit_intercept else " through the origin"
    return {
        "separable": f"Separable{through}",
        "quasi": f"Only weakly separable{through}",
        "overlap": f"Not separable{through}",
        "not-separable": f"Not separable{through}",
        "unknown": "Undecided",
    }[kind]


def margin_form(fit_intercept: bool) -> Literal["affine", "origin"]:
    """Return the name of the margin that people draw: of any plane, or of planes through the origin."""
    return "affine" if fit_intercept else "origin"


def margin_line(margin: float, radius: float, fit_intercept: bool, classes: int) -> str:
    """Return the margin of the plane that a run found, which need not be the largest, and the longest row."""
    if math.isnan(radius):
        return "unknown: the run was not evaluated on its rows"
    if math.isnan(margin):
        return f"none: all weights are 0; radius R {radius:.6g}"
    planes = "plane" if classes == 2 else "planes"
    return f"{margin:.6g} for the {planes} found ({margin_form(fit_intercept)}), radius R {radius:.6g}"


def largest_between(lower: float, upper: float, fit_intercept: bool) -> str:
    """Return the largest margin between its bounds."""
    return f"the largest ({margin_form(fit_intercept)}) is between {lower:.10g} and {upper:.10g}"


# R is always the length of the longest row. An update adds η times a vector of squared length Q to the weights: Q = R²;
# with an offset that of the point (x, 1); in the multiclass case twice as much, since two weight vectors move.


def squared_update(offset: bool, multiclass: bool, factor: str = "") -> str:
    """Return Q, the largest squared length of an update at learning rate 1, times some factor, as a formula in R."""
    return f"{'2' if multiclass else ''}{factor}{'(R² + 1)' if offset else 'R²'}"


def update_length(offset: bool, multiclass: bool) -> str:
    """Return √Q as a formula in R."""
    if multiclass:
        return "√(2R² + 2)" if offset else "√2 R"
    return "√(R² + 1)" if offset else "R"


def bound_in_numbers(formula: str, *, radius: float, margin: float, limit: float) -> str:
    """Return a formula in R and γ for the mistake bound from zero weights, with its numbers, and its value.

    Enough digits are written for the numbers to give the value to all of its digits.
    """
    digits = max(6, math.floor(math.log10(max(limit, 1.0))) + 5)
    filled = formula.replace("2R", "2·R").replace("R", f"{radius:.{digits}g}").replace("γ", f"{margin:.{digits}g}")
    return f"{formula} = {filled} = {limit:.{digits - 2}g}"


INEXACT = "The bound is for exact arithmetic: here rounding or underflow may lead to more mistakes."


def refuted_words(rows: int, average: str, machine: object = None) -> str:
    """Return what a run has proved that ended because no plane separates its rows, and the next step as it is typed."""
    what = "these rows" if machine is None else f"class {machine!r} from the rest"
    proved = f"stopped: no plane separates {what}, proved by {rows} {'of them' if machine is None else 'rows'}"
    return f"{proved}; {average} usually predicts better on such data" if average else proved


def digits(value: Fraction | int) -> str:
    """Return an exact number in decimal digits, also where it is too long for ``str``."""
    top, bottom = (format(Decimal(part), "f") for part in value.as_integer_ratio())
    return top if bottom == "1" else f"{top}/{bottom}"


def shown_number(value: Fraction) -> str:
    """Return an exact number in short: itself, or six digits of it, however large or small it is."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) < 64 and len(str(value)) < 24:
        return str(value)
    with localcontext(prec=20, Emax=MAX_EMAX, Emin=MIN_EMIN):
        return f"≈ {Decimal(value.numerator) / Decimal(value.denominator):.6g}"
