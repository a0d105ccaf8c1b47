"""The plain check of a certificate of kind ``separation``: Python's integers and fractions, the standard library alone.

``rows_of`` turns data into rows ``z`` as a family of models defines them, ``holds`` checks what a certificate claims
of such rows. Nothing here is fast; everything here can be read. A certificate is the dictionary in its document:

==================  ==================================================================================================
``claim``           "complete" (all rows separated), "quasi" (some) or "overlap" (none)
``columns``         columns that all others depend on
``independent``     as many rows that are independent in these columns
``aliased``         for each other column ``{"column": j, "combination": {column: number}}``, a vector ``v`` with
                    ``Z v = 0`` and ``v_j ≠ 0`` that is 0 in all columns but ``j`` and those of ``columns``
``direction``       a vector ``g``: ``z·g >= 0`` for inequalities, ``= 0`` for equations; ``> 0`` are separated rows
``separated``       these rows, as stretches ``[first, last]``
``rest``            other rows with multipliers, positive for inequalities, that cancel and span all other rows
``coefficients``    for each coefficient ``c``, the unit vector of its column, a status with its evidence:
                    *finite*: ``rows`` that are not separated, and ``multipliers`` with ``Σ m z = c``;
                    *+inf*, *-inf*: rows and multipliers, not negative for inequalities, with ``Σ m z = c`` or ``-c``,
                    and ``g·c`` of that sign; *undetermined*: ``up`` and ``down``, both as ``g`` must be,
                    ``up·c > 0 > down·c``; *aliased*: some ``v`` of ``aliased`` has ``v·c ≠ 0``
``alias``           "drop": aliased columns are left out; "keep": coefficients are about all columns
==================  ==================================================================================================
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

_PRIME = 2**61 - 1
Rows = tuple[list[list[Fraction]], list[bool]]  # and which of them are equations


def number(text: Any) -> Fraction:
    """Return the number that a text such as "-3/7" or "0x1f/0x3" writes."""
    if isinstance(text, int) and not isinstance(text, bool):
        return Fraction(text)
    if not isinstance(text, str):
        raise TypeError("a number must be a text")
    top, _, bottom = text.partition("/")
    return Fraction(_integer(top), _integer(bottom or "1"))


def _integer(text: str) -> int:
    return int(text, 16) if "x" in text else int(text, 10)


# ---------------------------------------------------------------------------------------------------------------
# Rows of the families


def rows_of(
    family: str, X: list[list[Fraction]], y: list[Any], *, strata: Any = None, weights: Any = None, offset: bool = True
) -> tuple[list[list[Fraction]], list[bool]]:
    """Return the rows of a model and which of them are equations.

    ``X`` are the exact cells of the design. ``y`` has the class number of each row (binomial: 0, 1, or pairs of
    successes and failures or proportions; multinomial, ordinal: 0, 1, …), counts, or pairs (time, event).
    """
    counts = [i for i in range(len(X)) if weights is None or weights[i] > 0]
    counts = [i for i in counts if not (family.endswith("binomial") and _pair(y[i]) and sum(y[i]) == 0)]
    full = [[Fraction(1), *row] if offset else list(row) for row in X]
    if family in ("binomial", "log-binomial", "poisson", "negative-binomial"):
        return _one_each(family, full, y, counts)
    if family == "multinomial":
        return _against_rivals(full, y, counts)
    if family == "ordinal":
        return _between_thresholds(X, y, counts)
    groups: dict[Any, list[int]] = {}
    for i in counts:
        groups.setdefault(strata[i] if strata is not None else 0, []).append(i)
    pairs: list[tuple[int, int]] = []
    for key in sorted(groups):
        members = groups[key]
        pairs += _chosen(members, y) if family == "conditional" else _at_risk(members, y)
    rows = [[a - b for a, b in zip(X[i], X[j], strict=True)] for i, j in pairs]
    return rows, [False] * len(rows)


def _pair(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _one_each(family: str, X: list[list[Fraction]], y: list[Any], counts: list[int]) -> Rows:
    rows, equal = [], []
    for i in counts:
        if _pair(y[i]):
            low, high = y[i][0] == 0, y[i][1] == 0
        else:
            low, high = y[i] == 0, y[i] == 1
        if family != "binomial":
            high = False  # a count above 0, or some successes, is an equation
        rows.append(X[i] if high else [-value for value in X[i]])
        equal.append(not (low or high))
    return rows, equal


def _against_rivals(X: list[list[Fraction]], y: list[int], counts: list[int]) -> Rows:
    classes, width = max(y) + 1, len(X[0])
    rows = []
    for i in counts:
        for rival in range(classes):
            if rival != y[i]:
                row = [Fraction(0)] * ((classes - 1) * width)
                for c, sign in ((y[i], 1), (rival, -1)):
                    if c:
                        row[(c - 1) * width : c * width] = [sign * value for value in X[i]]
                rows.append(row)
    return rows, [False] * len(rows)


def _between_thresholds(X: list[list[Fraction]], y: list[int], counts: list[int]) -> Rows:
    cuts = max(y)
    rows = []
    for i in counts:
        for k, sign in ((y[i], 1), (y[i] - 1, -1)):  # t_y - x·g >= 0 and x·g - t_(y-1) >= 0
            if 0 <= k < cuts:
                rows.append([*(Fraction(sign * (j == k)) for j in range(cuts)), *(-sign * value for value in X[i])])
    return rows, [False] * len(rows)


def _chosen(members: list[int], y: list[Any]) -> list[tuple[int, int]]:
    return [(i, j) for i in members if y[i] == 1 for j in members if y[j] == 0]


def _at_risk(members: list[int], y: list[Any]) -> list[tuple[int, int]]:
    """Return differences within risk sets that all others are sums of, latest times first."""
    pairs: list[tuple[int, int]] = []
    waiting: list[int] = []
    head = None
    for time in sorted({y[i][0] for i in members}, reverse=True):
        same = [i for i in members if y[i][0] == time]
        events = [i for i in same if y[i][1] == 1]
        waiting += [i for i in same if y[i][1] == 0]
        if events:
            pairs += [(events[0], j) for j in [*waiting, *([head] if head is not None else [])]]
            for other in events[1:]:
                pairs += [(events[0], other), (other, events[0])]
            waiting, head = [], events[0]
    return pairs


# ---------------------------------------------------------------------------------------------------------------
# The check


def holds(rows: list[list[Fraction]], equal: list[bool], certificate: dict[str, Any]) -> bool:
    """Return whether all that a certificate claims of some rows is true."""
    try:
        return _Check(rows, equal, certificate).run()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        return False


class _Check:
    """The rows, and the parts of a certificate as numbers."""

    def __init__(self, rows: list[list[Fraction]], equal: list[bool], certificate: dict[str, Any]) -> None:
        self.rows, self.equal, self.parts = rows, equal, certificate
        self.width = len(rows[0])
        self.columns: list[int] = certificate["columns"]
        self.direction = [number(value) for value in certificate["direction"]]

    def run(self) -> bool:
        """Check every claim."""
        return self._columns() and self._split() and self._rest() and self._coefficients()

    def _columns(self) -> bool:
        """Check that all rows are zero on aliased vectors, and some independent in the columns that are left."""
        parts, kept = self.parts, set(self.columns)
        if len(kept) != len(self.columns) or not kept <= set(range(self.width)) or len(self.direction) != self.width:
            return False
        chosen = parts["independent"]
        if len(chosen) != len(kept) or rank(self._inner(chosen)) != len(kept):
            return False
        others = []
        self.aliased = []
        for each in parts["aliased"]:
            v = [Fraction(0)] * self.width
            for j, value in each["combination"].items():
                v[int(j)] = number(value)
            others.append(each["column"])
            if v[each["column"]] == 0 or any(v[j] for j in range(self.width) if j not in kept and j != each["column"]):
                return False
            if any(dot(row, v) for row in self.rows):
                return False
            self.aliased.append(v)
        return len(set(others)) == len(others) and set(others) == set(range(self.width)) - kept

    def _inner(self, which: list[int]) -> list[list[Fraction]]:
        """Return some rows in the columns that are kept."""
        return [[self.rows[_index(i)][j] for j in self.columns] for i in which]

    def _in_cone(self, g: list[Fraction]) -> list[Fraction] | None:
        """Return the height of every row, or None if an inequality is negative or an equation not zero."""
        if len(g) != self.width or any(g[j] for j in range(self.width) if j not in self.columns):
            return None
        heights = [dot(row, g) for row in self.rows]
        fair = all(
            height == 0 if is_equal else height >= 0 for height, is_equal in zip(heights, self.equal, strict=True)
        )
        return heights if fair else None

    def _split(self) -> bool:
        """Check that the direction is in the cone, and separates the rows that it is said to."""
        heights = self._in_cone(self.direction)
        if heights is None:
            return False
        self.separated = {i for i, height in enumerate(heights) if height > 0}
        said = [i for first, last in self.parts["separated"] for i in range(first, last + 1)]
        kind = "overlap" if not self.separated else "complete" if len(self.separated) == len(self.rows) else "quasi"
        return said == sorted(self.separated) and self.parts["claim"] == kind

    def _rest(self) -> bool:
        """Check that rows that are not separated cancel with positive multipliers, and span all such rows."""
        which, total, fair = self._combined(self.parts["rest"], strictly=True)
        if not fair or any(total) or set(which) & self.separated:
            return False
        basis = echelon(self._inner(which))
        others = [i for i in range(len(self.rows)) if i not in self.separated]
        return all(not any(reduced(row, basis)) for row in self._inner(others))

    def _combined(self, part: dict[str, Any], *, strictly: bool) -> tuple[list[int], list[Fraction], bool]:
        """Return rows, their sum in the columns that are kept, and whether the signs of the multipliers are right."""
        which, multipliers = [_index(i) for i in part["rows"]], [number(value) for value in part["multipliers"]]
        if len(which) != len(multipliers) or len(set(which)) != len(which):
            raise ValueError("as many multipliers as rows")
        total = [Fraction(0)] * len(self.columns)
        for row, m in zip(self._inner(which), multipliers, strict=True):
            total = [a + m * b for a, b in zip(total, row, strict=True)]
        fair = all(self.equal[i] or m > 0 or (m == 0 and not strictly) for i, m in zip(which, multipliers, strict=True))
        return which, total, fair

    def _coefficients(self) -> bool:
        """Check the evidence of every coefficient."""
        listed = self.parts["coefficients"]
        place = {j: k for k, j in enumerate(self.columns)}
        if len(listed) != self.width:
            return False
        for j, each in enumerate(listed):
            estimable = j in place and (self.parts["alias"] == "drop" or not any(v[j] for v in self.aliased))
            if (each["status"] == "aliased") == estimable:
                return False
            if estimable and not self._evidence(each, j, [Fraction(int(k == place[j])) for k in range(len(place))]):
                return False
        return self.parts["alias"] in ("drop", "keep")

    def _evidence(self, each: dict[str, Any], j: int, c: list[Fraction]) -> bool:
        """Check what the table above asks for."""
        status = each["status"]
        if status == "undetermined":
            up, down = ([number(value) for value in each[name]] for name in ("up", "down"))
            return self._in_cone(up) is not None and self._in_cone(down) is not None and up[j] > 0 > down[j]
        which, total, fair = self._combined(each, strictly=False)
        if status == "finite":
            return total == c and not set(which) & self.separated
        sign = {"+inf": 1, "-inf": -1}[status]
        return fair and total == [sign * value for value in c] and sign * self.direction[j] > 0


def _index(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a row number is an integer from 0")
    return value


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def rank(rows: list[list[Fraction]]) -> int:
    """Return the rank of some rows modulo a prime, which is never above their rank."""
    left = []
    for row in rows:
        common = lcm(*(value.denominator for value in row))
        left.append([int(value * common) % _PRIME for value in row])
    found = 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(found, len(left)) if left[k][j]), None)
        if pivot is None:
            continue
        left[found], left[pivot] = left[pivot], left[found]
        inverse = pow(left[found][j], -1, _PRIME)
        for k in range(found + 1, len(left)):
            if left[k][j]:
                factor = left[k][j] * inverse
                left[k] = [(a - factor * b) % _PRIME for a, b in zip(left[k], left[found], strict=True)]
        found += 1
    return found


def echelon(rows: list[list[Fraction]]) -> dict[int, list[Fraction]]:
    """Return a basis of the span of some rows, by the column in which each begins with a 1."""
    basis: dict[int, list[Fraction]] = {}
    for row in rows:
        left = reduced(row, basis)
        lead = next((j for j, value in enumerate(left) if value), None)
        if lead is not None:
            basis[lead] = [value / left[lead] for value in left]
    return basis


def reduced(row: list[Fraction], basis: dict[int, list[Fraction]]) -> list[Fraction]:
    """Return what is left of a row when a basis has been taken out: zero if it is in its span."""
    left = list(row)
    for j in sorted(basis):
        if left[j]:
            factor = left[j]
            left = [a - factor * b for a, b in zip(left, basis[j], strict=True)]
    return left
