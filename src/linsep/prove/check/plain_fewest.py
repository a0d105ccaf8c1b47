"""The plain check of a fewest-errors certificate, in integers and the standard library only.

A row is wrong unless all its leads are positive. A plane with the rows that it has wrong bounds the least number of
errors from above; from below, a tree of cases does, in each of which *conditional refutations* leave enough rows wrong:
leads that add up to zero, so that if the rows N with negative multipliers are wrong, some row of P, those with positive
ones, is wrong. Rows that are equal are right or wrong together: a *group*, named by its first row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from linsep.prove.check.plain import (
    NOTHING,
    PLANE,
    Exact,
    Fails,
    Malformed,
    Row,
    cancels,
    dot,
    exact_rows,
    form,
    leads_of,
    natural,
    number,
    weights,
)

Groups: TypeAlias = frozenset[int]

DEEPEST = 1000  # splits above a case
BUSIEST = 10**8  # cases times refutations common to all of them


def pair(value: Any) -> None:
    """Refuse what is not the number of a refutation with its weight."""
    if type(value) is not list or len(value) != 2 or not all(type(v) is int and v >= 0 for v in value):
        raise Malformed("a packing must hold pairs of whole numbers")


def node(value: Any) -> None:
    """Refuse what is not a node of a tree."""
    shapes = {"row": natural, "dead": natural, "packing": [pair]}
    kind = next(iter(value), None) if type(value) is dict else None
    form(value, {kind: shapes[kind]} if kind in shapes else {"row": natural}, "a node of the tree")


ERRORS = {
    "lower": natural, "upper": natural, "sample_weight": (NOTHING, [natural]), "separator": PLANE, "wrong": [natural],
    "refutations": [{"rows": [natural], "multipliers": [number], "rivals?": [natural]}], "bits": natural,
    "common": [pair], "tree": [node],
}  # fmt: skip


def meaning_of_errors(content: dict[str, Any]) -> str:
    """Return the sentence of a document."""
    through = "" if content["fit_intercept"] else " through the origin"
    counted = "" if content["sample_weight"] is None else ", rows counted by their weights"
    bounds = f"at least {content['lower']} and at most {content['upper']} errors"
    return f"of all planes{through} the best has {bounds}{counted}"


def form_of_errors(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    classes, nodes = len(content["classes"]), content["tree"]
    weights(content["separator"], classes, content["n_features"])
    if classes < 2 or content["lower"] > content["upper"] or content["bits"] > 4095:
        raise Malformed("it must name two classes, and bounds of which the lower is not above the upper")
    for each in content["refutations"]:
        rivals = each.get("rivals", each["rows"])
        if ("rivals" in each) != (classes > 2) or not 0 < len(each["rows"]) == len(each["multipliers"]) == len(rivals):
            raise Malformed("a refutation must have rows and multipliers, and for more than two classes rivals")
    if len(nodes) * (len(content["common"]) + 1) > BUSIEST:
        raise Malformed("the tree has too many cases")
    depths = [0]  # of the cases that are still to come
    for each in nodes:
        if not depths or depths[-1] > DEEPEST - ("row" in each):
            raise Malformed("a tree must be a list of nodes, every split followed by its two cases, not too deep")
        depth = depths.pop()
        depths += [depth + 1] * (2 * ("row" in each))
    if depths:
        raise Malformed("the tree ends too early")


def check_errors(content: dict[str, Any], rows: Sequence[Row], codes: Sequence[int]) -> list[str]:
    """Check a document; return what has been checked, line by line."""
    form({name: content[name] for name in ERRORS}, ERRORS)
    form_of_errors(content)
    exact = exact_rows(rows, codes, content)
    counted = [1] * len(rows) if content["sample_weight"] is None else content["sample_weight"]
    if len(counted) != len(rows):
        raise Fails("there are not as many weights as rows")
    first: dict[Any, int] = {}
    group = [first.setdefault((code, *row), i) for i, (code, row) in enumerate(zip(codes, rows, strict=True))]
    capacity = dict.fromkeys(group, 0)
    for g, weight in zip(group, counted, strict=True):
        capacity[g] += weight
    check_upper(content, exact, codes, counted)
    table = [conditional(each, exact, codes, group, len(content["classes"])) for each in content["refutations"]]
    cases = check_cases(content, table, group, capacity)
    return [
        f"{len(rows)} rows of {content['n_features']} features in {len(content['classes'])} classes",
        f"every row is strictly on its side of the plane given, but for {len(content['wrong'])}",
        f"{len(table)} refutations add up to zero; in each of {cases} cases they leave no fewer errors",
    ]


def check_upper(content: dict[str, Any], exact: list[Exact], codes: Sequence[int], counted: list[int]) -> None:
    """Check that the plane has all rows strictly right but those listed, and that these weigh ``upper``."""
    W = weights(content["separator"], len(content["classes"]), content["n_features"])
    leads = leads_of(W, content["fit_intercept"])
    wrong = set(content["wrong"])
    if len(wrong) < len(content["wrong"]) or max(wrong, default=0) >= len(exact):
        raise Fails("a wrong row is listed twice, or there is none")
    for i, ((x, _), code) in enumerate(zip(exact, codes, strict=True)):
        if i not in wrong and counted[i] and not all(dot(lead, x) > 0 for lead in leads[code]):
            raise Fails(f"row {i} is not strictly right, and not listed as wrong")
    if sum(counted[i] for i in wrong) != content["upper"]:
        raise Fails("the wrong rows do not weigh upper")


def conditional(
    each: dict[str, Any], exact: list[Exact], codes: Sequence[int], group: list[int], classes: int
) -> tuple[Groups, Groups]:
    """Return P and N, the groups with positive and with negative multipliers, of a refutation that cancels."""
    if max(each["rows"]) >= len(exact):
        raise Fails("a refutation names a row that there is not")
    rivals = each["rivals"] if classes > 2 else [1 - codes[i] for i in each["rows"]]
    parts = list(zip(each["rows"], rivals, map(number, each["multipliers"]), strict=True))
    for i, rival, value in parts:
        if rival == codes[i] or rival >= classes or value == 0 or (value < 0 and classes > 2):
            raise Fails("a multiplier is 0, or of no rival, or negative with more than two classes")
    P = frozenset(group[i] for i, _, value in parts if value > 0)
    N = frozenset(group[i] for i, _, value in parts if value < 0)
    if not P or P & N:
        raise Fails("a refutation has no positive row, or a row of both signs")
    if not cancels(parts, exact, codes, classes):
        raise Fails("a refutation does not cancel")
    return P, N


def check_cases(
    content: dict[str, Any], table: list[tuple[Groups, Groups]], group: list[int], capacity: dict[int, int]
) -> int:
    """Check every case of the tree, in which the groups K are held right and R wrong; return how many there are."""
    cases = 0
    stack: list[tuple[Groups, Groups]] = [(frozenset(), frozenset())]
    numbers = [k for k, _ in content["common"]]
    numbers += [k for each in content["tree"] for k in ([each["dead"]] if "dead" in each else [])]
    numbers += [k for each in content["tree"] for k, _ in each.get("packing", ())]
    if max(numbers, default=-1) >= len(table):
        raise Fails("a case names a refutation that there is not")
    for each in content["tree"]:
        K, R = stack.pop()
        if "row" in each:
            if each["row"] >= len(group) or (g := group[each["row"]]) in K | R:
                raise Fails(f"row {each['row']} is split on twice, or there is none")
            stack += [(K, R | {g}), (K | {g}, R)]  # the last one comes first
            continue
        cases += 1
        if "dead" in each:
            P, N = table[each["dead"]]
            if not (N <= R and P <= K):
                raise Fails(f"refutation {each['dead']} does not end a case")
        else:
            used = [(k, u) for k, u in content["common"] if usable(table[k], K, R)] + each["packing"]
            check_packing(content, used, table, capacity, K, R)
    return cases


def usable(refutation: tuple[Groups, Groups], K: Groups, R: Groups) -> bool:
    """Say whether a refutation shows that a group outside K and R is wrong."""
    P, N = refutation
    return N <= R and not P & R and not P <= K


def check_packing(
    content: dict[str, Any],
    used: list[Any],
    table: list[tuple[Groups, Groups]],
    capacity: dict[int, int],
    K: Groups,
    R: Groups,
) -> None:
    """Check that no group outside K carries more than its weight, and that the weights reach the bound."""
    load: dict[int, int] = {}
    for k, units in used:
        if not usable(table[k], K, R):
            raise Fails(f"refutation {k} may not be used in a case")
        for g in table[k][0] - K:
            load[g] = load.get(g, 0) + units
    bits = content["bits"]
    for g, units in load.items():
        if units > capacity[g] << bits:
            raise Fails(f"row {g} carries more than its copies")
    reached = (sum(capacity[g] for g in R) << bits) + sum(units for _, units in used)
    if reached <= (content["lower"] - 1) << bits:
        raise Fails("a case is not shown to reach the lower bound")
