"""The trusted page on the fewest errors: what a document of the kind claims and how it is checked, in whole numbers.

A row is *right* under weights if all of its leads are positive, and an error otherwise. Equal rows of one class are one
*group*: right or wrong together. A group costs as much as its rows weigh.

- upper: weights under which all rows are right but those listed, and these weigh ``upper``.
- lower: a table of *refutations* and a tree of cases. A refutation is leads with whole multipliers that add up to zero
  for all weights; P are its groups with positive multipliers, N those with negative ones (two classes only). If all
  of N are wrong, no term of theirs is negative, and not all of P are right. An inner node of the tree takes a group as
  right, into K, or as wrong, into R. A leaf is *dead*, a refutation with N in R and P in K, or a *packing*: weights on
  refutations with N in R, P outside R and not all of P in K, no group outside K carrying more than its cost. Each of
  these refutations has a wrong group outside K and R; so the groups outside cost at least as much as the weights sum
  to, and with R more than ``lower - 1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from linsep.prove.plain import Exact, Fails, Malformed, Row, dot, integers, number, part, weights, whole

Sides: TypeAlias = tuple[frozenset[int], frozenset[int]]  # the groups P and N of a refutation

UNIT = 1 << 20  # weights of a packing are whole numbers of 1/UNIT
DEEPEST = 1000  # splits on the way to a leaf
FEWEST_FIELDS = {"lower", "upper", "wrong", "weights", "separator", "refutations", "common", "tree"}
FEWEST_MEANING = "the fewest errors of any plane{} are between {lower} and {upper}"


class Groups:
    """The rows that refutations and the tree name: in whole numbers, by group, and what a group costs."""

    def __init__(self, rows: Sequence[Row], codes: Sequence[int], offset: bool, used: set[int]) -> None:
        if used and max(used) >= len(rows):
            raise Fails("a row is named that there is not")
        self.offset = offset
        self.exact = {i: self.whole(rows[i]) for i in sorted(used)}
        self.first: dict[Any, int] = {}
        self.of = {i: self.first.setdefault(self.key(x, codes[i]), i) for i, x in self.exact.items()}
        self.cost = dict.fromkeys(self.first.values(), 0)

    def whole(self, row: Row) -> Exact:
        """Return a row with the 1 of the offset in whole numbers, and their common denominator."""
        return whole([*row, 1] if self.offset else row)

    @staticmethod
    def key(x: Exact, code: int) -> tuple[Any, ...]:
        """Return the same for equal rows of one class."""
        return (code, x[1], *x[0])

    def count(self, x: Exact, code: int, weight: int) -> None:
        """Add the weight of a row to its group, if that is named."""
        g = self.first.get(self.key(x, code))
        if g is not None:
            self.cost[g] += weight


def check_fewest(claim: dict[str, Any], rows: Sequence[Row], codes: Sequence[int]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    lower, upper = (natural(part(claim, name, int)) for name in ("lower", "upper"))
    classes, offset, d = len(part(claim, "classes", list)), part(claim, "fit_intercept", bool), claim["n_features"]
    if classes < 2 or set(codes) != set(range(classes)):
        raise Fails("the classes are not those of the rows")
    weight = [1] * len(rows) if claim.get("weights", 0) is None else integers(claim, "weights")
    if len(weight) != len(rows) or any(len(row) != d for row in rows):
        raise Fails(f"not every row has {d} features and a weight")
    table = [parts_of(entry, classes) for entry in part(claim, "refutations", list)]
    tree = [entry_of(entry, len(table)) for entry in part(claim, "tree", list)]
    common = pairs_of(part(claim, "common", list), len(table))
    used = {i for rows_of, _, _ in table for i in rows_of} | {value for word, value in tree if word == "split"}
    groups = Groups(rows, codes, offset, used)
    check_plane(claim, rows, codes, weight, groups)
    sides = [check_parts(entry, groups, codes, classes, d + offset) for entry in table]
    leaves = 0
    for word, value, K, R in cases(tree, groups):
        if word == "dead":
            P, N = sides[value]
            if not (N <= R and P <= K):
                raise Fails(f"refutation {value} does not end its case")
        else:
            check_packing(value, common, sides, K, R, groups.cost, lower)
        leaves += 1
    if lower > upper:
        raise Fails("the lower bound is above the upper one")
    return [
        f"rows that the plane has not right: {len(claim['wrong'])}, of weight {upper}",
        f"refutations, all of which add up to zero: {len(table)}",
        f"cases, each with at least {lower} of weight wrong: {leaves}",
    ]


def check_plane(
    claim: dict[str, Any], rows: Sequence[Row], codes: Sequence[int], weight: list[int], groups: Groups
) -> None:
    """Require that all rows but those listed are right, and that these weigh ``upper``; let groups count."""
    W = weights(claim["separator"], len(claim["classes"]), claim["n_features"])
    if not groups.offset and any(w[-1] for w in W):
        raise Fails("the plane has an offset, but is said to go through the origin")
    W = W if groups.offset else [w[:-1] for w in W]
    leads = [[whole([a - b for a, b in zip(own, other, strict=True)])[0] for other in W] for own in W]
    listed = integers(claim, "wrong")
    wrong = set(listed)
    if len(wrong) < len(listed) or max(wrong, default=0) >= len(rows):
        raise Fails("a wrong row is listed twice, or there is no such row")
    for i, row in enumerate(rows):
        x, code = groups.whole(row), codes[i]
        groups.count(x, code, weight[i])
        right = i in wrong or not weight[i]
        if not right and any(dot(leads[code][r], x[0]) <= 0 for r in range(len(W)) if r != code):
            raise Fails(f"row {i} is not right, and not listed as wrong")
    if sum(weight[i] for i in wrong) != claim["upper"]:
        raise Fails("the rows listed as wrong do not weigh as much as claimed")


def check_parts(entry: Any, groups: Groups, codes: Sequence[int], classes: int, width: int) -> Sides:
    """Return the groups of a refutation, having seen that its leads add up to zero."""
    which, rivals, multipliers = entry
    rivals = rivals or [1 - codes[i] for i in which]
    if any(codes[i] == rival for i, rival in zip(which, rivals, strict=True)):
        raise Fails("a refutation holds a row against its own class")
    factors, _ = whole([Fraction(m, groups.exact[i][1]) for i, m in zip(which, multipliers, strict=True)])
    total = [[0] * width for _ in range(classes)]
    for i, rival, f in zip(which, rivals, factors, strict=True):
        for c, sign in ((codes[i], f), (rival, -f)):
            if c:  # the weights of class 0 may be zero
                total[c] = [a + sign * x for a, x in zip(total[c], groups.exact[i][0], strict=True)]
    if any(map(any, total)):
        raise Fails("the rows of a refutation do not add up to zero")
    P = frozenset(groups.of[i] for i, m in zip(which, multipliers, strict=True) if m > 0)
    N = frozenset(groups.of[i] for i, m in zip(which, multipliers, strict=True) if m < 0)
    if not P or P & N:
        raise Fails("a refutation has no positive multiplier, or a group of both signs")
    return P, N


def cases(tree: list[tuple[str, Any]], groups: Groups) -> Iterator[tuple[str, Any, frozenset[int], frozenset[int]]]:
    """Yield every leaf of a tree, which is written node, case "right", case "wrong", with its K and R."""
    none: frozenset[int] = frozenset()
    waiting = [(none, none)]
    for word, value in tree:
        if not waiting:
            raise Malformed("the tree goes on after its last case")
        K, R = waiting.pop()
        if word != "split":
            yield word, value, K, R
            continue
        g = groups.of[value]
        if g in K or g in R:
            raise Fails(f"row {value} is split on twice")
        if len(K) + len(R) >= DEEPEST:
            raise Malformed(f"the tree is more than {DEEPEST} splits deep")
        waiting += [(K, R | {g}), (K | {g}, R)]
    if waiting:
        raise Malformed("the tree ends before its last case")


def check_packing(
    own: list[tuple[int, int]],
    common: list[tuple[int, int]],
    sides: list[Sides],
    K: frozenset[int],
    R: frozenset[int],
    cost: dict[int, int],
    lower: int,
) -> None:
    """Require that no group carries more than its cost, and that the weights reach the bound."""

    def usable(k: int) -> bool:
        P, N = sides[k]
        return N <= R and not P & R and bool(P - K)

    load: dict[int, int] = {}
    total = sum(cost[g] for g in R) * UNIT
    for k, units in [*own, *((k, units) for k, units in common if usable(k))]:
        if not usable(k):
            raise Fails(f"refutation {k} may not be used in a case")
        total += units
        for g in sides[k][0] - K:
            load[g] = load.get(g, 0) + units
    if any(units > cost[g] * UNIT for g, units in load.items()):
        raise Fails("a row carries more than its copies")
    if total <= (lower - 1) * UNIT:
        raise Fails("a case is not shown to reach the lower bound")


# What the parts of a document are


def natural(value: Any) -> int:
    """Return a whole number from 0."""
    if type(value) is not int or not 0 <= value < 2**53:
        raise Malformed("a whole number from 0 is expected")
    return value


def parts_of(entry: Any, classes: int) -> tuple[list[int], list[int], list[int]]:
    """Return rows, rivals (none of two classes, where they go without saying) and multipliers of a refutation."""
    names = ("rows", "multipliers") if classes == 2 else ("rows", "rivals", "multipliers")
    if type(entry) is not list or len(entry) != len(names):
        raise Malformed(f"a refutation must have {' and '.join(names)}")
    parts = dict(zip(names, entry, strict=True))
    which, multipliers = integers(parts, "rows"), [multiplier(value) for value in part(parts, "multipliers", list)]
    rivals = integers(parts, "rivals") if classes > 2 else []
    if not 0 < len(which) == len(multipliers) or (classes > 2 and len(rivals) != len(which)):
        raise Malformed("a refutation must have a row for each of its multipliers, at least one")
    if classes > 2 and (max(rivals) >= classes or min(multipliers) < 0):
        raise Malformed("a refutation names a class that there is not, or a multiplier is negative")
    return which, rivals, multipliers


def multiplier(value: Any) -> int:
    """Return a whole number, given as such or, if it is long, as a hexadecimal text."""
    found = value if type(value) is int and abs(value) < 2**53 else number(value)
    if found == 0 or found.denominator != 1:
        raise Malformed("a multiplier must be a whole number other than 0")
    return int(found)


def pairs_of(entries: Any, size: int) -> list[tuple[int, int]]:
    """Return the refutations of a packing with their weights."""
    found = []
    for entry in entries:
        if type(entry) is not list or len(entry) != 2 or natural(entry[0]) >= size:
            raise Malformed("a packing must hold pairs: a refutation and its weight")
        found.append((entry[0], natural(entry[1])))
    return found


def entry_of(entry: Any, size: int) -> tuple[str, Any]:
    """Return a node of the tree: a row to split on, a refutation that ends a case, or a packing."""
    if type(entry) is list and len(entry) == 2 and entry[0] == "split":
        return "split", natural(entry[1])
    if type(entry) is list and len(entry) == 2 and entry[0] == "dead" and natural(entry[1]) < size:
        return "dead", entry[1]
    if type(entry) is list and entry and entry[0] == "packing":
        return "packing", pairs_of(entry[1:], size)
    raise Malformed("a node of the tree must be a split, dead or a packing")
