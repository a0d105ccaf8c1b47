"""The plain check of a fewest-errors certificate, in integers and the standard library only.

``check_errors`` checks a document, ``check_fewest(rows, labels, claim)`` what it claims:

- rows are lists of numbers that know their ``as_integer_ratio`` (int, float, Fraction), labels are class numbers from
  0, with ``claim["classes"]`` of them.
- ``claim`` has ``classes``, ``fit_intercept``, ``weights`` (a whole number per row, or None for 1 each), ``lower``,
  ``upper``, ``wrong`` (rows), ``w`` (one list of numbers per class, or one for the second of two), ``b`` (as many
  numbers), ``bits``, ``refutations`` (lists of rows, rivals, integer multipliers; rivals
  are read for more than two classes only), ``common`` (pairs), ``tree``.

An empty text means that everything holds; otherwise it says what does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

from linsep.prove.check.plain import Fails, Malformed, Row, integers, numbers, part, weights, whole

ERRORS_FIELDS = {"lower", "upper", "sample_weight", "separator", "wrong", "bits", "refutations", "common", "tree"}
DEEPEST = 1000  # splits above a case
BUSIEST = 10**8  # cases times refutations common to all of them


def meaning_of_errors(content: dict[str, Any]) -> str:
    """Return the sentence of a document."""
    through = "" if content["fit_intercept"] else " through the origin"
    counted = "" if content["sample_weight"] is None else ", rows counted by their weights"
    lower, upper = part(content, "lower", int), part(content, "upper", int)
    return f"of all planes{through} the best has at least {lower} and at most {upper} errors{counted}"


def check_errors(content: dict[str, Any], rows: Sequence[Row], codes: Sequence[int]) -> list[str]:
    """Check a document; return what has been checked, line by line."""
    claim = errors_claim(content)
    why = check_fewest(rows, codes, claim)
    if why:
        raise Fails(why)
    cases = sum("row" not in node for node in content["tree"])
    return [
        f"{len(rows)} rows of {content['n_features']} features in {len(content['classes'])} classes",
        f"every row is strictly on its side of the plane given, but for {len(claim['wrong'])}",
        f"{len(claim['refutations'])} refutations add up to zero; in each of {cases} cases they leave no fewer errors",
    ]


def errors_claim(content: dict[str, Any]) -> dict[str, Any]:
    """Return what a document claims as ``check_fewest`` takes it; raise Malformed if it is not of the right form."""
    classes, d = len(part(content, "classes", list)), part(content, "n_features", int)
    if classes < 2 or not 0 <= part(content, "lower", int) <= part(content, "upper", int):
        raise Malformed("it must name two classes, and bounds of which the lower is not above the upper")
    planes = weights(content["separator"], classes, d)[-1 if classes == 2 else 0 :]
    counted = None if content["sample_weight"] is None else integers(content, "sample_weight")
    common = pairs_of(content, "common")
    return {
        "classes": classes, "fit_intercept": content["fit_intercept"], "weights": counted,
        "lower": content["lower"], "upper": content["upper"], "wrong": integers(content, "wrong"),
        "w": [plane[:-1] for plane in planes], "b": [plane[-1] for plane in planes],
        "bits": part(content, "bits", int), "common": common,
        "refutations": [conditional(each, classes) for each in part(content, "refutations", list)],
        "tree": nested(part(content, "tree", list), len(common)),
    }  # fmt: skip


def conditional(each: Any, classes: int) -> list[list[int]]:
    """Return rows, rivals and whole multipliers of a refutation; of two classes the rivals go without saying."""
    if not isinstance(each, dict) or set(each) != {"rows", "multipliers"} | ({"rivals"} if classes > 2 else set()):
        raise Malformed("a refutation must have rows and multipliers, and for more than two classes rivals")
    rivals = integers(each, "rivals") if classes > 2 else []
    return [integers(each, "rows"), rivals, whole(numbers(each, "multipliers"))[0]]


def pairs_of(of: dict[str, Any], name: str) -> list[list[int]]:
    """Return a field that is a list of pairs: the number of a refutation, and its weight."""
    found: list[list[int]] = part(of, name, list)
    for pair in found:
        if type(pair) is not list or len(pair) != 2 or not all(type(v) is int and v >= 0 for v in pair):
            raise Malformed(f"the field {name!r} must hold pairs of whole numbers")
    return found


def nested(nodes: list[Any], common: int) -> Any:
    """Return a tree that is written node by node, the case that a row is right before the one that it is wrong.

    A dead case becomes the number of its refutation, a packing its list of pairs, a split ``[row, right, wrong]``.
    """
    top: list[Any] = [None]
    open_ = [(top, 0, 0)]  # where the next nodes go, and how many splits are above them
    for node in nodes:
        if not isinstance(node, dict) or len(node) != 1 or not open_ or len(nodes) * (common + 1) > BUSIEST:
            raise Malformed("a tree must be a list of nodes, every split followed by its two cases")
        (kind,) = node
        into, place, depth = open_.pop()
        if kind == "row" and depth < DEEPEST:
            into[place] = [*integers({"row": [node["row"]]}, "row"), None, None]
            open_ += [(into[place], 2, depth + 1), (into[place], 1, depth + 1)]
        elif kind == "dead":
            (into[place],) = integers({"dead": [node["dead"]]}, "dead")
        elif kind == "packing":
            into[place] = pairs_of(node, "packing")
        else:
            raise Malformed("a node must be a row to split on (not too deep), a dead case or a packing")
    if open_:
        raise Malformed("the tree ends too early")
    return top[0]


class _Fails(Exception):  # noqa: N818 (it is an answer)
    """Something does not hold."""


def check_fewest(rows, labels, claim):
    """Return why a claim about the fewest errors does not hold, or an empty text if it holds."""
    try:
        problem = _Problem(rows, labels, claim)
        _check_upper(problem, claim)
        _check_lower(problem, claim)
    except _Fails as error:
        return str(error)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return f"the certificate is malformed: {error!r}"
    return ""


def _require(condition, what):
    if not condition:
        raise _Fails(what)


def _whole(value, low, high):
    """Return an integer between bounds; a bool or a float is none."""
    _require(type(value) is int and low <= value < high, f"{value!r} is not a whole number from {low} to {high - 1}")
    return value


class _Problem:
    """The data: rows, labels, weights, and which rows are equal."""

    def __init__(self, rows, labels, claim):
        self.rows, self.labels = rows, labels
        self.classes = claim["classes"]
        self.offset = claim["fit_intercept"]
        _require(type(self.classes) is int and self.classes >= 2 and type(self.offset) is bool, "no such classes")
        _require(len(rows) == len(labels), "there are not as many labels as rows")
        for label in labels:
            _whole(label, 0, self.classes)
        weights = claim["weights"]
        self.weights = [1] * len(rows) if weights is None else weights
        _require(len(self.weights) == len(rows), "there are not as many weights as rows")
        for weight in self.weights:
            _require(type(weight) is int and weight >= 0, "a weight is not a whole number")
        first, self.group, self.capacity = {}, [], {}
        for i, row in enumerate(rows):
            key = (labels[i], *(value.as_integer_ratio() for value in row))
            g = first.setdefault(key, i)
            self.group.append(g)
            self.capacity[g] = self.capacity.get(g, 0) + self.weights[i]

    def whole_row(self, i):
        """Return row ``i`` times a positive number in integers, the 1 of the offset last, and that number."""
        ratios = [value.as_integer_ratio() for value in self.rows[i]]
        common = lcm(1, *(q for _, q in ratios))
        return [p * (common // q) for p, q in ratios] + ([common] if self.offset else []), common


def _check_upper(problem, claim):
    """Require that the plane has all rows strictly right but those listed, and that they weigh ``upper``."""
    W, b = claim["w"], claim["b"]
    _require(len(W) == len(b) == (1 if problem.classes == 2 else problem.classes), "the plane has the wrong shape")
    planes = []
    for w, c in zip(W, b, strict=True):
        _require(problem.offset or c == 0, "the plane has an offset")
        planes.append([value.as_integer_ratio() for value in w] + ([c.as_integer_ratio()] if problem.offset else []))
    common = lcm(1, *(q for plane in planes for _, q in plane))
    planes = [[p * (common // q) for p, q in plane] for plane in planes]
    if problem.classes == 2:
        planes = [[0] * len(planes[0]), planes[0]]
    wrong = {_whole(i, 0, len(problem.rows)) for i in claim["wrong"]}
    _require(len(wrong) == len(claim["wrong"]), "a wrong row is listed twice")
    for i in range(len(problem.rows)):
        if i in wrong or not problem.weights[i]:
            continue
        x, _ = problem.whole_row(i)
        _require(len(x) == len(planes[0]), "the plane has the wrong number of features")
        scores = [sum(p * v for p, v in zip(plane, x, strict=True) if v) for plane in planes]
        own = scores[problem.labels[i]]
        lead = all(own > score for c, score in enumerate(scores) if c != problem.labels[i])
        _require(lead, f"row {i} is not strictly right, and not listed as wrong")
    _require(sum(problem.weights[i] for i in wrong) == claim["upper"], "the wrong rows do not weigh upper")


def _check_lower(problem, claim):
    """Require that every refutation cancels, and every leaf of the tree holds."""
    lower, bits = _whole(claim["lower"], 0, claim["upper"] + 1), _whole(claim["bits"], 0, 4096)
    table = [_refutation(problem, *parts) for parts in claim["refutations"]]
    common = _pairs(claim["common"], table)
    stack = [(claim["tree"], frozenset(), frozenset())]
    while stack:
        tree, K, R = stack.pop()
        if type(tree) is int:
            P, N = table[_whole(tree, 0, len(table))]
            _require(N <= R and P <= K, f"refutation {tree} does not end a case")
        elif tree and type(tree[0]) is int:
            row, right, wrong = tree
            g = problem.group[_whole(row, 0, len(problem.rows))]
            _require(g not in K and g not in R, f"row {row} is split on twice")
            stack += [(right, K | {g}, R), (wrong, K, R | {g})]
        else:
            used = [(k, u) for k, u in common if _usable(table[k], K, R)] + _pairs(tree, table)
            _check_packing(problem, table, used, K, R, lower, bits)


def _check_packing(problem, table, used, K, R, lower, bits):
    """Require that no row outside ``K`` carries more than its copies, and that the weights reach the bound."""
    load, total = {}, 0
    for k, units in used:
        _require(_usable(table[k], K, R), f"refutation {k} may not be used in a case")
        total += units
        for g in table[k][0] - K:
            load[g] = load.get(g, 0) + units
    for g, units in load.items():
        _require(units <= problem.capacity[g] << bits, f"row {g} carries more than its copies")
    spent = sum(problem.capacity[g] for g in R)
    _require((spent << bits) + total > (lower - 1) << bits, "a case is not shown to reach the lower bound")


def _usable(refutation, K, R):
    P, N = refutation
    return N <= R and not P & R and bool(P - K)


def _pairs(pairs, table):
    found = []
    for k, units in pairs:
        _require(type(units) is int and units >= 0, "a weight of a packing is not a whole number")
        found.append((_whole(k, 0, len(table)), units))
    return found


def _refutation(problem, rows, rivals, multipliers):
    """Return the groups of positive and of negative rows of a refutation that cancels."""
    if problem.classes == 2:  # it goes without saying
        rivals = [1 - problem.labels[_whole(i, 0, len(problem.rows))] for i in rows]
    _require(len(rows) == len(rivals) == len(multipliers) > 0, "a refutation does not have one multiplier per row")
    P, N, sums, scale = set(), set(), {}, 1
    for i, rival, multiplier in zip(rows, rivals, multipliers, strict=True):
        own = problem.labels[_whole(i, 0, len(problem.rows))]
        _whole(rival, 0, problem.classes)
        _require(rival != own and type(multiplier) is int and multiplier != 0, "a multiplier is 0, or of no rival")
        _require(multiplier > 0 or problem.classes == 2, "a negative multiplier, with more than two classes")
        (P if multiplier > 0 else N).add(problem.group[i])
        x, common = problem.whole_row(i)
        if scale % common:
            factor = lcm(scale, common) // scale
            scale *= factor
            sums = {key: value * factor for key, value in sums.items()}
        for j, value in enumerate(x):
            if value:
                term = multiplier * value * (scale // common)
                for c, sign in ((own, 1), (rival, -1)):
                    if c:  # without loss of generality the weights of class 0 are 0
                        sums[c, j] = sums.get((c, j), 0) + sign * term
    _require(P and not P & N, "a refutation has no positive row, or a row of both signs")
    _require(not any(sums.values()), "a refutation does not cancel")
    return frozenset(P), frozenset(N)
