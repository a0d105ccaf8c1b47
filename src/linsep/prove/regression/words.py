"""Describes a separation result in words: a summary table, and advice."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.data.arrays import is_sparse
from linsep.prove.check.linsep_check import SEPARATED
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
        found = ["The maximum likelihood estimate exists: every estimable coefficient is finite"]
        return found + _aliases(result)
    shown = list(zip(result.names, result.statuses, strict=True))[: result.listed]
    found = []
    for name, status in shown:
        if status in _INFINITE and len(found) < 8:
            found.append(f"{name} is {_INFINITE[status]}" + _because(result, name, response))
    more = sum(status in _INFINITE for _, status in shown) - len(found)
    if more > 0:
        found.append(f"{counted(more, 'other coefficient')} {'is' if more == 1 else 'are'} infinite")
    found += [rule.sentence(response) for rule in _single_columns(result)[:2]]
    open_ = [name for name, status in shown if status == "undetermined"]
    if open_:
        some = ", ".join(open_[:6]) + (f" and {len(open_) - 6} more" if len(open_) > 6 else "")
        verb, them = ("has", "it") if len(open_) == 1 else ("have", "them")
        found.append(f"{some} {verb} no limit: maximum likelihood does not determine {them}")
    call = {"binomial": "FirthLogisticRegression().fit(X, y)", "cox": "FirthCoxPH().fit(X, y)"}.get(result.family)
    firth = "use Firth's penalty or a prior" + (f" (pip install firthmodels: {call})" if call else "")
    return [*found, *_aliases(result), f"{_advice(result)}; for finite estimates of all coefficients, {firth}"]


def _single_columns(result: Any) -> tuple[ColumnRule, ...]:
    """Return the columns of a binomial model that tell the responses apart alone, unless two values say it already."""
    given = result.given
    y = np.asarray(given.y)
    if given.family != "binomial" or y.ndim != 1:
        return ()
    codes, classes = given.labels
    which = given.which
    X = given.X[which]
    rules = telling_columns(X, codes[which], tuple(classes), given.names)
    return tuple(rule for rule in rules if not _because(result, rule.name, ""))


def _advice(result: Any) -> str:
    """Return how to fit what is left."""
    if result.kind == "complete":
        return "No row is left to fit"
    left, given = result.refit(), result.given
    ordinary = _is_ordinary(result, left)
    if not ordinary and left.strata is None:
        return f"What is left is no ordinary {result.family} model: refit() returns it"
    names = [each for each in left.dropped_columns if each in given.names or each == INTERCEPT]
    names = [each for each in names if each in set(result.names[: result.listed])]
    parts = [counted(len(result.separated), "row")] if len(result.separated) else []
    if names:
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        parts.append(f"the column{'s' if len(names) > 1 else ''} {', '.join(names[:6])}{more}")
    steps = [f"leave out {' and '.join(parts)}"] if parts else []
    return f"To fit the rest, {', and '.join(steps if ordinary else [*steps, 'take the strata that refit() returns'])}"


def _is_ordinary(result: Any, left: Any) -> bool:
    """Return whether leaving out rows and columns is all that the limiting model asks for."""
    given = result.given
    if left.strata is not None:
        rows = left.rows
        before = np.zeros(len(rows), dtype=np.intp) if given.strata is None else given.strata[rows]
        return len(np.unique(before)) == len(np.unique(left.strata))
    if left.choices is None or len(left.rows) == 0:
        return True
    codes = given.labels[0][left.rows]
    if given.family == "multinomial":
        return bool(left.choices[:, np.unique(codes)].all())
    ends = np.column_stack((codes == codes.min(), codes == codes.max()))
    return bool((left.choices | ends).all())


def _aliases(result: Any, most: int = 6) -> list[str]:
    hidden, found = set(result.names[result.listed :]), []
    for name, parts in list(result.aliased.items())[:most]:
        shown = [each for each in parts if each not in hidden]
        shown += ["the absorbed factors"] if len(shown) < len(parts) else []
        found.append(f"{name} is aliased: it depends on {', '.join(shown) or 'nothing, it is zero'}")
    return found


def _because(result: Any, name: str, response: str) -> str:
    """Return the simple reason, where there is one: all rows with a value of the column have one response."""
    given = result.given
    if name not in given.names or given.family not in ("binomial", "poisson", "negative-binomial"):
        return ""
    column = given.X[:, [given.names.index(name)]]
    x = (column.toarray() if is_sparse(column) else np.asarray(column)).ravel()[given.which]
    y = np.asarray(given.y)
    if y.ndim != 1 or len({*x.tolist()}) != 2:
        return ""
    y = y[given.which]
    for value in sorted({*x.tolist()}, key=lambda v: v == 0):
        at = x == value
        same = {*y[at].tolist()}
        if len(same) == 1 and (given.family == "binomial" or same == {0}):
            value = int(value) if float(value).is_integer() else value
            shown = same.pop()
            shown = int(shown) if isinstance(shown, float) and shown.is_integer() else shown
            n = int(at.sum())
            which, have = (f"all {n:,} rows", "have") if n > 1 else ("the only row", "has")
            return f": {which} with {name} = {value} {have} {response} = {shown}"
    return ""
