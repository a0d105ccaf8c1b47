"""The plain check, part 5: bounds on the fewest errors of any plane.

A row is wrong unless all its inequalities hold. A plane with the rows that it has wrong bounds the fewest errors from
above (signs); from below a tree of cases does, in each of which *conditional refutations*, sums that are 0, leave
enough rows wrong: if the rows N with negative multipliers are wrong, some row of P, those with positive ones, is wrong.
Rows that are equal are right or wrong together: a *group*, named by its first row.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from linsep.prove.check.plain import Codes, Rows, exact_rows, form_of_plane, inequalities, normals_of, sides
from linsep.prove.check.plain_document import (
    PLANE,
    form,
    natural,
    numbers,
    require,
    spelled,
    well,
    whole_number,
)  # fmt: skip
from linsep.prove.check.plain_facts import total

Groups: TypeAlias = frozenset[int]
Refutation: TypeAlias = tuple[Groups, Groups]  # P and N

DEEPEST = 1000  # splits above a case
HEAVIEST = 2**53  # all weights together are less
BUSIEST = 10**8  # cases times refutations common to all of them
PAIRS = [[whole_number, whole_number]]  # numbers of refutations with their weights
ERRORS = {
    "lower": natural, "upper": natural, "sample_weight": (None, [natural]), "separator": PLANE, "wrong": [natural],
    "refutations": [{"rows": [natural], "multipliers": [spelled], "rivals?": [natural]}], "bits": natural,
    "common": PAIRS, "tree": [({"row": natural}, {"dead": natural}, {"packing": PAIRS})],
}  # fmt: skip


def form_of_errors(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    classes, nodes = len(content["classes"]), content["tree"]
    well(classes > 1, "it must name two classes")
    fits = content["lower"] <= content["upper"] and content["bits"] < 4096
    well(fits, "its lower bound is above the upper, or its bits are too many")
    well(sum(content["sample_weight"] or [0]) < HEAVIEST, "its weights add up to 2^53 or more")
    form_of_plane(content["separator"], classes, content["n_features"])
    for each in content["refutations"]:
        rivals = each.get("rivals", each["rows"])
        fits = 0 < len(each["rows"]) == len(each["multipliers"]) == len(rivals) and ("rivals" in each) == (classes > 2)
        well(fits, "a refutation must have rows and multipliers, and for more than two classes rivals")
    well(len(nodes) * (len(content["common"]) + 1) <= BUSIEST, "the tree has too many cases")
    depths = [0]  # of the cases that are still to come
    for each in nodes:
        well(depths and depths[-1] + ("row" in each) <= DEEPEST, "a tree goes too deep, or on after its last case")
        depth = depths.pop()
        depths += [depth + 1] * (2 * ("row" in each))
    well(not depths, "the tree ends too early")


def check_errors(content: dict[str, Any], rows: Rows, codes: Codes) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    form({name: content[name] for name in ERRORS}, ERRORS)
    form_of_errors(content)
    exact = exact_rows(rows, codes, content)
    counted = [1] * len(rows) if content["sample_weight"] is None else content["sample_weight"]
    require(len(counted) == len(rows), "there are not as many weights as rows")
    first: dict[Any, int] = {}
    group = [first.setdefault((code, *x, q), i) for i, (code, (x, q)) in enumerate(zip(codes, rows, strict=True))]
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


def check_upper(content: dict[str, Any], exact: Rows, codes: Codes, counted: list[int]) -> None:
    """Check that the plane has all rows strictly right but those listed, and that these weigh ``upper``."""
    wrong = set(content["wrong"])
    fits = len(wrong) == len(content["wrong"]) and max(wrong, default=0) < len(exact)
    require(fits, "a wrong row is listed twice or does not exist")
    for i, sign in sides(normals_of(content["separator"], content), exact, codes):
        fits = sign > 0 or i in wrong or not counted[i]
        require(fits, f"row {i} is not strictly right, and not listed as wrong")
    require(sum(counted[i] for i in wrong) == content["upper"], "the wrong rows do not weigh upper")


def conditional(each: dict[str, Any], exact: Rows, codes: Codes, group: Codes, classes: int) -> Refutation:
    """Return P and N, the groups with positive and with negative multipliers, of a refutation that cancels."""
    which, multipliers = each["rows"], numbers(each["multipliers"])
    require(max(which) < len(exact), "a refutation names a row that does not exist")
    rivals = each["rivals"] if classes > 2 else [1 - codes[i] for i in which]
    for i, rival, value in zip(which, rivals, multipliers, strict=True):
        fits = codes[i] != rival < classes and (value > 0 or (value < 0 and classes == 2))
        require(fits, "a multiplier is 0, or of no rival, or negative with more than two classes")
    P, N = (frozenset(group[i] for i, m in zip(which, multipliers, strict=True) if sign * m > 0) for sign in (1, -1))
    require(P and not P & N, "a refutation has no positive row, or a row of both signs")
    parts = inequalities(which, rivals, exact, codes, classes)
    require(not any(total(multipliers, parts)), "the rows of a refutation do not add up to zero")
    return P, N


def check_cases(content: dict[str, Any], table: list[Refutation], group: Codes, capacity: dict[int, int]) -> int:
    """Check every case of the tree, in which the groups K are held right and R wrong; return how many there are."""
    stack: list[tuple[Groups, Groups]] = [(frozenset(), frozenset())]
    named = [k for each in content["tree"] for k, _ in each.get("packing", [])] + [k for k, _ in content["common"]]
    named += [each["dead"] for each in content["tree"] if "dead" in each]
    require(max(named, default=-1) < len(table), "a case names a refutation that does not exist")
    for each in content["tree"]:
        K, R = stack.pop()
        if "row" in each:
            require(each["row"] < len(group), "the tree splits on a row that does not exist")
            g = group[each["row"]]
            require(g not in K | R, f"row {g} is split on twice")
            stack += [(K, R | {g}), (K | {g}, R)]  # the last one comes first
        elif "dead" in each:
            P, N = table[each["dead"]]
            require(N <= R and P <= K, f"refutation {each['dead']} does not end a case")
        else:
            require(all(usable(table[k], K, R) for k, _ in each["packing"]), "a refutation may not be used in a case")
            used = [(k, u) for k, u in content["common"] if usable(table[k], K, R)] + each["packing"]
            check_packing([(table[k][0] - K, u) for k, u in used], content, capacity, R)
    return sum("row" not in each for each in content["tree"])


def usable(refutation: Refutation, K: Groups, R: Groups) -> bool:
    """Say whether a refutation shows that a group outside K and R is wrong."""
    P, N = refutation
    return N <= R and not P & R and not P <= K


def check_packing(used: list[Any], content: dict[str, Any], capacity: dict[int, int], R: Groups) -> None:
    """Check that no group carries more than its weight, and that the weights reach the bound; (groups, units) each."""
    load: Counter[int] = Counter()
    bits = content["bits"]
    for groups, units in used:
        load.update(dict.fromkeys(groups, units))
    for g, units in load.items():
        require(units <= capacity[g] << bits, f"row {g} carries more than its copies")
    reached = (sum(capacity[g] for g in R) << bits) + sum(units for _, units in used)
    require(reached > (content["lower"] - 1) << bits, "a case is not shown to reach the lower bound")
