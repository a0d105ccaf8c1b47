"""Describes a separation result in words: a summary table, and advice."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.data.arrays import is_sparse
from linsep.prove.check.linsep_check import SEPARATED
from linsep.prove.numbers.exact_numbers import number
from linsep.prove.regression.families import INTERCEPT
from linsep.prove.verdict.one_column import ColumnRule, telling_columns
from linsep.wording import digits

_INFINITE = {"+inf": "+infinity", "-inf": "-infinity"}
_SHOWN = 60  # coefficients in a table


def counted(n: int, what: str) -> str:
    """Return "1 row" or "13 rows"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def summary(result: Any) -> str:
    """Return a table and sentences."""
    n, s = len(result.given.which), len(result.separated)
    lines = [
        f"Separation in a {result.family} model: {SEPARATED[result.kind]}",
        f"rows       {n:,}, of which {s:,} {'is' if s == 1 else 'are'} separated (fitted perfectly in the limit)",
        f"columns    {len(result.names):,} of rank {result.rank:,}"
        + (f"; the likelihood rises forever in {counted(result.dimension, 'direction')}" if result.dimension else ""),
        "",
    ]
    directions = [digits(value) for value in result.direction]
    rows = list(zip(result.names, result.statuses, directions, strict=True))[: result.listed]
    wide = max([11, *(len(name) for name in result.names[:_SHOWN])])
    far = max([9, *(len(value) for value in directions[:_SHOWN])])
    status = max([6, *(len(each) for each in result.statuses[:_SHOWN])])
    for name, each, value in [("coefficient", "status", "direction"), *rows[:_SHOWN]]:
        lines.append(f"{name:<{wide}}  {each:<{status}}  {value:>{far}}")
    if len(rows) > _SHOWN:
        lines.append(f"… and {len(rows) - _SHOWN} more")
    lines += _aliases(result, _SHOWN)
    lines += ["", *(f"Note: {note}" for note in result.notes)]
    lines.append("Decided in exact arithmetic by linsep; you can check the proof of every status.")
    return "\n".join(lines)


def sentences(result: Any, response: str = "y") -> list[str]:
    """Return what an answer means and what to do about it."""
    if result.kind == "overlap":
        return ["The maximum likelihood estimate exists: every estimable coefficient is finite", *_aliases(result)]
    shown = list(zip(result.names, result.statuses, strict=True))[: result.listed]
    infinite = [(name, _INFINITE[status]) for name, status in shown if status in _INFINITE]
    lines = [f"{name} is {value}{_because(result, name, response)}" for name, value in infinite[:8]]
    if len(infinite) > 8:
        more = len(infinite) - 8
        lines.append(f"{counted(more, 'other coefficient')} {'is' if more == 1 else 'are'} infinite")
    lines += [rule.sentence(response) for rule in _single_columns(result)[:2]]
    undetermined = [name for name, status in shown if status == "undetermined"]
    if undetermined:
        verb, them = ("has", "it") if len(undetermined) == 1 else ("have", "them")
        lines.append(f"{_first(undetermined)} {verb} no limit: maximum likelihood does not determine {them}")
    call = {"binomial": "FirthLogisticRegression().fit(X, y)", "cox": "FirthCoxPH().fit(X, y)"}.get(result.family)
    firth = "use Firth's penalty or a prior" + (f" (pip install firthmodels: {call})" if call else "")
    return [*lines, *_aliases(result), f"{_advice(result)}; for finite estimates of all coefficients, {firth}"]


def _first(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _single_columns(result: Any) -> list[ColumnRule]:
    """Return the columns of a binomial model that tell the responses apart alone, unless two values say it already."""
    given = result.given
    if given.family != "binomial" or given.y.ndim != 1:
        return []
    codes, classes = given.labels
    rules = telling_columns(given.X[given.which], codes[given.which], tuple(classes), given.names)
    return [rule for rule in rules if not _because(result, rule.name, "")]


def _advice(result: Any) -> str:
    """Return how to fit what is left."""
    if result.kind == "complete":
        return "No row is left to fit"
    left, given = result.refit(), result.given
    if not left.ordinary and left.strata is None:
        return f"What is left is no ordinary {result.family} model: refit() returns it"
    shown = {*given.names, INTERCEPT} & set(result.names[: result.listed])
    names = [each for each in left.dropped_columns if each in shown]
    parts = [counted(len(result.separated), "row")] if len(result.separated) else []
    if names:
        parts.append(f"the column{'s' if len(names) > 1 else ''} {_first(names)}")
    steps = [f"leave out {' and '.join(parts)}"] if parts else []
    steps += [] if left.ordinary else ["take the strata that refit() returns"]
    return f"To fit the rest, {', and '.join(steps)}"


def _aliases(result: Any, most: int = 6) -> list[str]:
    hidden, lines = set(result.names[result.listed :]), []
    for name, parts in list(result.aliased.items())[:most]:
        shown = [each for each in parts if each not in hidden]
        shown += ["the absorbed factors"] if len(shown) < len(parts) else []
        lines.append(f"{name} is aliased: it depends on {', '.join(shown) or 'nothing, it is zero'}")
    return lines


def _because(result: Any, name: str, response: str) -> str:
    """Return the simple reason, where there is one: all rows with a value of the column have one response."""
    given, y = result.given, np.asarray(result.given.y)
    if name not in given.names or y.ndim != 1 or given.family not in ("binomial", "poisson", "negative-binomial"):
        return ""
    column = given.X[:, [given.names.index(name)]]
    x, y = (column.toarray() if is_sparse(column) else np.asarray(column)).ravel()[given.which], y[given.which]
    x = x.astype(np.int64) if x.dtype == bool else x
    values = set(x.tolist())
    if len(values) != 2:
        return ""
    for value in sorted(values, key=lambda v: number(v) == 0):
        same = x == value
        responses = set(y[same].tolist())
        if len(responses) == 1 and (given.family == "binomial" or responses == {0}):
            n = int(same.sum())
            rows, have = (f"all {n:,} rows", "have") if n > 1 else ("the only row", "has")
            return f": {rows} with {name} = {_short(value)} {have} {response} = {_short(responses.pop())}"
    return ""


def _short(value: Any) -> Any:
    """Return a whole number without its decimals, and all else as it is."""
    return int(value) if isinstance(value, float | Decimal | Fraction) and value == int(value) else value
