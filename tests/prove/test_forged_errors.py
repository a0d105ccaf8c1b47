"""Forged proofs about the fewest errors: four checks agree, and none accepts a bracket without the truth in it."""

import json
import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from test_forged_proofs import OTHERS, ROWS, about_these, changed, independent, outcome, scores_of, value, whole_number

from data import few, sealed
from fewest_oracle import fewest, items
from javascript import judged
from linsep import fewest_errors, to_json

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "proof-schema.json").read_text(encoding="utf-8"))
PROBLEMS = {
    "xor": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], True, {}),
    "line": ([[0], [1], [2], [3], [4], [5]], [0, 1, 0, 1, 0, 1], True, {}),
    "origin": ([[1, 2], [2, 1], [1, 1], [3, 1], [-1, 2]], ["a", "b", "a", "b", "b"], False, {}),
    "copies": ([[1], [1], [1], [2], [2], [0]], [0, 0, 1, 0, 1, 1], True, {}),
    "weights": ([[0], [1], [2], [3]], [0, 1, 0, 1], True, {"sample_weight": [1, 3, 2, 1]}),
    "three": ([[0, 0], [0, 1], [1, 0], [0, 0], [1, 1], [0, 1]], [0, 1, 2, 1, 0, 2], True, {}),
    "decimals": ([[0.1, 0.7], [0.3, 0.3], [0.2, 0.5], [0.4, 0.1]], [0, 0, 1, 1], True, {"values": "decimal"}),
    "separable": ([[0.5], [1], [4], [5]], [0, 0, 1, 1], True, {}),
}


# ---------------------------------------------------------------------------------------------------------------
# The independent check: by the page, with fractions alone


def sentence(content):
    """Return what a document says, of planes or, for several classes, of weight vectors."""
    offset, classes = content.get("fit_intercept"), content.get("classes")
    counted = "" if content.get("sample_weight") is None else ", rows counted by their weights"
    bounds = f"at least {content.get('lower')} and at most {content.get('upper')} errors{counted}"
    if isinstance(classes, list) and len(classes) > 2:
        return f"of all weight vectors{'' if offset else ' without offsets'} the best have {bounds}"
    return f"of all planes{'' if offset else ' through the origin'} the best has {bounds}"


def _holds(content, X, y):
    fields = {"lower", "upper", "sample_weight", "separator", "wrong", "bits", "refutations", "common", "tree"}
    rows, codes, C = about_these(content, X, y, fields)
    lower, upper, n = whole_number(content["lower"]), whole_number(content["upper"]), len(rows)
    assert content["kind"] == "fewest-errors"
    assert content["meaning"] == sentence(content)
    weights = [1] * n if content["sample_weight"] is None else [whole_number(w) for w in content["sample_weight"]]
    assert len(weights) == n
    assert sum(weights) < 2**53
    # upper
    scores = scores_of(content["separator"], rows, C, content["n_features"], content["fit_intercept"])
    wrong = [whole_number(i) for i in content["wrong"]]
    assert len(set(wrong)) == len(wrong)
    assert all(i < n for i in wrong)
    for i in set(range(n)) - set(wrong):
        assert weights[i] == 0 or all(scores[i][codes[i]] > s for c, s in enumerate(scores[i]) if c != codes[i])
    assert sum(weights[i] for i in wrong) == upper
    assert lower <= upper
    # lower
    same = [next(k for k in range(n) if rows[k] == rows[i] and codes[k] == codes[i]) for i in range(n)]
    copies = {g: sum(weights[i] for i in range(n) if same[i] == g) for g in set(same)}
    sides = [_sides(each, rows, codes, C, same) for each in content["refutations"]]
    assert whole_number(content["bits"]) < 4096
    unit = Fraction(1, 2 ** content["bits"])
    nodes = list(reversed(content["tree"]))
    _case(nodes, sides, (_pairs(content["common"]), unit, copies, same, lower), frozenset(), frozenset())
    assert not nodes
    return True


def _pairs(pairs):
    for pair in pairs:
        k, u = pair
        assert type(pair) is list
        assert type(k) is type(u) is int
        assert k >= 0
        assert u >= 0
    return pairs


def _sides(each, rows, codes, C, same):
    assert set(each) == ({"rows", "rivals", "multipliers"} if C > 2 else {"rows", "multipliers"})
    which = [whole_number(i) for i in each["rows"]]
    rivals = [1 - codes[i] for i in which] if C == 2 else [whole_number(c) for c in each["rivals"]]
    total = [[Fraction(0)] * len(rows[0]) for _ in range(C)]
    P, N = set(), set()
    for i, rival, text in zip(which, rivals, each["multipliers"], strict=True):
        m = value(text)
        assert m > 0 or (C == 2 and m < 0)
        assert rival != codes[i]
        (P if m > 0 else N).add(same[i])
        total[codes[i]] = [t + m * x for t, x in zip(total[codes[i]], rows[i], strict=True)]
        total[rival] = [t - m * x for t, x in zip(total[rival], rows[i], strict=True)]
    assert P
    assert not P & N
    assert not any(map(any, total))
    return P, N


def _case(nodes, sides, given, K, R):
    common, unit, copies, same, lower = given
    ((kind, told),) = nodes.pop().items()
    if kind == "row":
        g = same[whole_number(told)]
        assert g not in K | R
        _case(nodes, sides, given, K | {g}, R)
        _case(nodes, sides, given, K, R | {g})
    elif kind == "dead":
        P, N = sides[whole_number(told)]
        assert N <= R
        assert P <= K
    else:
        assert kind == "packing"

        def fits(k):
            return sides[k][1] <= R and not sides[k][0] & R and not sides[k][0] <= K

        assert all(fits(k) for k, _ in _pairs(told))
        used = [pair for pair in common if fits(pair[0])] + told
        for g, most in copies.items():
            assert g in K or sum(u * unit for k, u in used if g in sides[k][0]) <= most
        assert sum(copies[g] for g in R) + sum(u * unit for _, u in used) > lower - 1


# ---------------------------------------------------------------------------------------------------------------
# Forgeries

FIELDS = {
    **{name: OTHERS[name] for name in ("format", "fit_intercept", "classes", "n_features", "values", "made")},
    "kind": ["separable", "fewest-errors", "Fewest", None],
    "lower": [0, 1, 2, 3, -1, 1.0, True, "1", None, 2**60],
    "upper": [0, 1, 2, 3, -1, 1.0, True, "1", None, 2**60],
    "sample_weight": [None, [], [1, 1, 1, 1], [2, 2, 2, 2], [0, 0, 0, 0], [-1, 1, 1, 1], [1.0, 1, 1, 1], "1111", 4,
                      [2**53 - 1] * 4, [2**52] * 2 + [0] * 2, [2**53 - 4, 1, 1, 1]],
    "bits": [0, 1, 19, 20, 21, 4095, 4096, -1, 2.0, True, None, 10**9],
    "wrong": [[], [0], [1], [0, 0], [9], [-1], [1.0], None],
    "tree": [[], None, [{"packing": []}], [{"dead": 0}], [{"row": 0}], [{"row": 0}, {"dead": 0}, {"packing": []}],
             [{}]],
    "common": [[], None, [[0, 1 << 20]], [[0, -1]], [[0, 0.5]], [[9, 1]], [[0]], [0]],
    "separator": [None, {}, {"w": [["1"]], "b": ["0"]}, {"w": [["0", "0"]], "b": ["0"]}],
    "refutations": [[], None, [{}], [[]]],
    "extra": [1],
}  # fmt: skip


def forged(content, rng):
    """Return a copy with something changed, perhaps in two places; its sentence fits its bounds most of the time."""
    content = json.loads(json.dumps(content))
    for _ in range(rng.choice((1, 1, 2, 3))):
        way = rng.random()
        if way < 0.3 and content.get("refutations"):
            _in_refutation(content, rng)
        elif way < 0.5 and content.get("tree"):
            _in_tree(content, rng)
        elif way < 0.6 and isinstance(content.get("separator"), dict) and content["separator"].get("w"):
            numbers = rng.choice([*content["separator"]["w"], content["separator"].get("b") or ["0"]])
            k = rng.randrange(len(numbers))
            numbers[k] = changed(numbers[k], rng)
        elif way < 0.7 and type(content.get("lower")) is type(content.get("upper")) is int:
            content["lower"] += 1
            content["upper"] += rng.choice((0, 1))
        else:
            name = rng.choice(list(FIELDS))
            if rng.random() < 0.1:
                content.pop(name, None)
            else:
                content[name] = json.loads(json.dumps(rng.choice(FIELDS[name])))
    if rng.random() < 0.9:
        content["meaning"] = sentence(content)
    return content


def _in_refutation(content, rng):
    each = rng.choice(content["refutations"])
    if not isinstance(each, dict) or not each:
        return
    name = rng.choice(sorted(each))
    items = each[name]
    if not isinstance(items, list) or not items or rng.random() < 0.1:
        each[name] = rng.choice([None, [], "1", [1]])
    elif rng.random() < 0.1:
        each.pop(name)
    else:
        k = rng.randrange(len(items))
        items[k] = changed(items[k], rng) if name == "multipliers" else rng.choice(ROWS)


def _in_tree(content, rng):
    tree = content["tree"]
    k = rng.randrange(len(tree))
    way = rng.random()
    if way < 0.3 and isinstance(tree[k], dict) and isinstance(tree[k].get("packing"), list) and tree[k]["packing"]:
        pair = rng.choice(tree[k]["packing"])
        if isinstance(pair, list) and pair:
            j = rng.randrange(len(pair))
            pair[j] = rng.choice([0, 1, 1 << 20, 1 << 19, 1 << 21, -1, 0.5, True, "1", 3, pair[j]])
    elif way < 0.4:
        tree.pop(k)
    elif way < 0.5:
        tree.insert(k, {"row": rng.randrange(6)})
    elif way < 0.7:
        tree[k : k + 1] = [{"row": rng.randrange(4)}, tree[k], json.loads(json.dumps(tree[k]))]
    else:
        new = [
            {"dead": rng.randrange(3)},
            {"packing": []},
            {"packing": [[0, 1 << 20]]},
            {"row": 1},
            {"row": None},
            [],
            0,
        ]
        tree[k] = rng.choice(new)


def fewest_of(name, offset, weights, values):
    """Return the fewest errors by brute force."""
    X, y, *_ = PROBLEMS[name]
    exact = [[Fraction(str(x)) if values == "decimal" else Fraction(x) for x in row] for row in X]
    labels = sorted(set(y))
    return _fewest_of(
        tuple(map(tuple, exact)), tuple(map(labels.index, y)), offset, None if weights is None else tuple(weights)
    )


@cache
def _fewest_of(X, y, offset, weights):
    return fewest(items(X, y, offset=offset, weights=weights))


@pytest.mark.parametrize("name", few(PROBLEMS, 2))
def test_all_checks_agree_and_none_is_fooled(name):
    X, y, offset, options = PROBLEMS[name]
    rng = random.Random(name)
    found = fewest_errors(X, y, fit_intercept=offset, **options)
    genuine = json.loads(to_json(found, X, y))
    jsonschema.Draft202012Validator(SCHEMA).validate(genuine)
    contents, accepted = [genuine, *(forged(genuine, rng) for _ in range(599))], 0
    texts = [sealed(content) for content in contents]
    script = [holds for holds, _ in judged(texts, X, y)]
    for content, text, in_browser in zip(contents, texts, script, strict=True):
        truth = independent(content, X, y, _holds)
        assert outcome(text, X, y, plain=False) == truth, text
        assert outcome(text, X, y, plain=True) == truth, text
        assert in_browser == truth, text
        if truth:
            k = fewest_of(name, content["fit_intercept"], content["sample_weight"], content["values"])
            assert content["lower"] <= k <= content["upper"], text
            accepted += 1
    assert 0 < accepted < 300


def test_other_data_are_noticed():
    for X, y, offset, options in PROBLEMS.values():
        text = to_json(fewest_errors(X, y, fit_intercept=offset, **options), X, y)
        for i in range(len(X)):
            other = np.array(X, dtype=float)
            other[i, 0] += 0.5
            for plain in (False, True):
                assert not outcome(text, other, y, plain=plain)


@pytest.mark.slow
def test_hostile_trees_are_refused():
    X, y, *_ = PROBLEMS["xor"]
    genuine = json.loads(to_json(fewest_errors(X, y), X, y))
    trees = (
        [{"row": 0}] * 200_000,
        [{"row": k % 4} for k in range(2000)] + [{"packing": []}] * 2001,
        [node for k in range(1500) for node in ({"row": k}, {"dead": 0})] + [{"packing": []}],
    )
    documents = [{**genuine, "tree": tree} for tree in trees]
    documents.append({**genuine, "common": [[0, 0]] * 20_000, "tree": [{"packing": []}] * 20_000})
    documents.append({**genuine, "bits": 10**15})
    documents.append({**genuine, "common": [[0, 10**19]]})
    texts = [sealed(each) for each in documents]
    for text in texts:
        for plain in (False, True):
            assert not outcome(text, X, y, plain=plain)
    assert not any(holds for holds, _ in judged(texts, X, y))


def test_weights_whose_sum_wraps_around_are_refused():
    """4096 rows of weight 2^52 weigh 2^64, which is 0 in 64 bits."""
    X, y = [[0.0]] * 4096 + [[0.0], [1.0]], [0] * 4096 + [1, 1]
    genuine = json.loads(to_json(fewest_errors(X, y), X, y))
    weighed = ", rows counted by their weights"
    for each in ([2**52] * 4096 + [5, 5], [2**53 - 1] * 4096 + [1, 1], [2**41] * 4096 + [1, 1]):
        upper = sum(each[:4096]) % 2**64 if sum(each[:4096]) % 2**64 < 2**53 else 0
        told = {
            "sample_weight": each, "wrong": list(range(4096)), "lower": 0, "upper": upper, "refutations": [],
            "common": [], "tree": [{"packing": []}], "separator": {"w": [["0"]], "b": ["1"]},
            "meaning": f"of all planes the best has at least 0 and at most {upper} errors{weighed}",
        }  # fmt: skip
        text = sealed({**genuine, **told})
        assert not any(outcome(text, X, y, plain=plain) for plain in (False, True))
        assert judged([text], X, y)[0][0] is False


def test_the_largest_weights_that_are_allowed():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    found = fewest_errors(X, y, sample_weight=[2**53 - 3, 1, 1])
    assert (found.lower, found.upper, found.proved) == (1, 1, True)
    text = to_json(found, X, y)
    assert [outcome(text, X, y, plain=plain) for plain in (False, True)] + [judged([text], X, y)[0][0]] == [True] * 3
    found = fewest_errors(X, y, sample_weight=[2**51] * 3)
    assert found.lower <= 2**51 == found.upper
    assert found.check(X, y)


@pytest.mark.parametrize("heavy", [[2**62] * 3, [2**53 - 2, 1, 1], [2**70, 1, 1], [1e300, 1, 1]])
def test_weights_beyond_the_stated_size_are_refused(heavy):
    with pytest.raises(ValueError, match=r"the sum of sample_weight must be below 2\^53"):
        fewest_errors([[0.0], [1.0], [2.0]], [0, 1, 0], sample_weight=heavy)
