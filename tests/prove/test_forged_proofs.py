"""Forged proofs: every field changed, the digest made to fit again; the checks and an independent one must agree."""

import json
import random
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from data import sealed
from javascript import judged
from linsep import separate, to_json
from linsep.prove.check.linsep_check import fingerprint
from linsep.prove.checking import check_document
from linsep.prove.documents import opened
from oracles import in_integers, rank

PROBLEMS = {
    "separable": ([[0, 1], [1, 3], [4, 2], [5, 7]], [0, 0, 1, 1], True),
    "origin": ([[1, 2], [2, 1], [-1, -1]], ["yes", "yes", "no"], False),
    "quasi": ([[0.5, 1], [1, 1], [1, 1], [2, 0.25]], ["a", "a", "b", "b"], True),
    "overlap": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], True),
    "flat overlap": ([[0, 0, 7], [1, 1, 7], [0, 1, 7], [1, 0, 7], [3, 3, 7]], [0, 0, 1, 1, 0], True),
    "origin overlap": ([[1], [2], [3]], [0, 1, 0], False),
    "three": ([[0, 0.5], [1, 0.25], [2, 1]], ["a", "b", "c"], True),
    "three quasi": ([[0], [1], [1], [3]], [1, 2, 3, 3], True),
    "three overlap": ([[0], [0], [0], [2], [2], [2]], [1, 2, 3, 1, 2, 3], True),
}


# ---------------------------------------------------------------------------------------------------------------
# The independent check: by the definition, with fractions alone


def value(text):
    if re.fullmatch(r"-?0x[01]\.[0-9a-f]+p[+-]\d+", text):
        return Fraction(float.fromhex(text))
    assert re.fullmatch(r"-?\d+([/.]\d+)?", text)
    return Fraction(text)


def independent(content, X, y, holds=None):
    """Whether a document about these rows proves its claim; anything out of order is a no."""
    try:
        return (holds or _holds)(content, X, y)
    except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def whole_number(value):
    assert type(value) is int
    assert 0 <= value < 2**53
    return value


def about_these(content, X, y, fields):
    """Return the rows with the 1 of an offset, the class numbers, and how many classes there are."""
    offset, classes, d, made = (content[name] for name in ("fit_intercept", "classes", "n_features", "made"))
    common = {"format", "kind", "meaning", "fit_intercept", "classes", "n_features", "values", "data", "made", "digest"}
    assert set(content) == common | fields
    assert content["format"] == "linsep proof 1"
    assert offset is True or offset is False
    assert set(made) == {"by", "time", "options", "note"}
    assert isinstance(made["by"], str)
    assert isinstance(made["time"], str)
    assert isinstance(made["options"], dict)
    assert all(isinstance(option, str) for option in made["options"].values())
    assert made["note"] is None or isinstance(made["note"], str)
    about = content["data"]
    assert set(about) == {"n_rows", "n_features", "sha256", "reading"}
    assert about["reading"] is None
    assert (whole_number(about["n_rows"]), whole_number(about["n_features"]), whole_number(d)) == (len(X), d, len(X[0]))
    exact = {"binary": Fraction, "decimal": lambda x: Fraction(str(x))}[content["values"]]
    rows = [[exact(x) for x in row] for row in X]
    assert about["sha256"] == fingerprint(in_integers(rows), y)
    assert type(classes) is list
    assert all(type(label) in (str, int, bool, float) for label in classes)
    names = [str(label) for label in classes]
    codes = [names.index(str(label)) for label in y]
    assert len(set(names)) == len(names) >= 2
    assert set(codes) == set(range(len(names)))
    return [row + [Fraction(1)] * offset for row in rows], codes, len(names)


def scores_of(plane, rows, C, d, offset):
    """Return the scores of every class on every row."""
    assert set(plane) == {"w", "b"}
    W, b = [[value(v) for v in w] for w in plane["w"]], [value(v) for v in plane["b"]]
    assert len(W) == len(b) == (1 if C == 2 else C)
    assert all(len(w) == d for w in W)
    assert offset or not any(b)
    W = [w + [c] * offset for w, c in zip(W, b, strict=True)]
    W = [[Fraction(0)] * (d + offset), *W] if C == 2 else W
    return [[sum(p * x for p, x in zip(w, row, strict=True)) for w in W] for row in rows]


def sentence(kind, offset, classes):
    """Return what a verdict says, of planes or, for several classes, of weight vectors."""
    planes = "plane" if offset else "plane through the origin"
    vectors = "weight vectors" if offset else "weight vectors without offsets"
    return {
        ("separable", False): f"a {planes} has every row strictly on its side",
        ("quasi", False): f"no {planes} has every row strictly on its side, but one has none on the wrong side",
        ("overlap", False): f"every {planes} has rows on the wrong side, or all rows on it",
        ("separable", True): f"some {vectors} score the true class of every row strictly highest",
        ("quasi", True): f"no {vectors} score the true class of every row strictly highest, but some never score "
        "another class higher",
        ("overlap", True): f"whatever the {vectors}, another class scores higher on some row, or all scores are equal",
    }[kind, len(classes) > 2]


def _holds(content, X, y):
    kind, offset, d = content["kind"], content["fit_intercept"], content["n_features"]
    plane, refutation = content["separator"], content["refutation"]
    rows, codes, C = about_these(content, X, y, {"separator", "refutation"})
    assert content["meaning"] == sentence(kind, offset, content["classes"])
    width = d + offset
    if kind == "overlap":
        assert plane is None
    else:
        scores = scores_of(plane, rows, C, d, offset)
        leads = [s[own] - s[r] for s, own in zip(scores, codes, strict=True) for r in range(C) if r != own]
        assert min(leads) >= 0
        assert max(leads) > 0
        assert kind == "quasi" or min(leads) > 0
    if kind == "separable":
        assert refutation is None
        return True
    assert set(refutation) == {"rows", "rivals", "multipliers"}
    vectors, total = [], [Fraction(0)] * (C * width)
    assert len(refutation["rows"]) > 0
    for i, rival, text in zip(*(refutation[name] for name in ("rows", "rivals", "multipliers")), strict=True):
        multiplier, own = value(text), codes[whole_number(i)]
        assert multiplier > 0
        assert own != whole_number(rival) < C
        z = [Fraction(0)] * (C * width)
        z[own * width : (own + 1) * width] = rows[i]
        z[rival * width : (rival + 1) * width] = [-x for x in rows[i]]
        vectors.append(z)
        total = [t + multiplier * v for t, v in zip(total, z, strict=True)]
    assert not any(total)
    return kind == "quasi" or rank(vectors) == (C - 1) * rank(rows)


# ---------------------------------------------------------------------------------------------------------------
# Forgeries

NUMBERS = [
    "0", "1", "-1", "2", "1/2", "-3/7", "0.5", "0x1.8000000000000p+0", "-0x1.0p-1", "", "inf", "nan", "1e5", "1/0",
    "0x1p99999999999", "1e300000000", " 1", "1\n", "+1", "--1", "0x1.8p+9999", "1/-2", 1, 0.5, None, True, [], {},
]  # fmt: skip
ROWS = [0, 1, 2, 3, 4, 5, 9, -1, 0.0, 0.9, 1.0, True, None, "1", 2**70, 2**53, []]
OTHERS = {
    "format": ["linsep proof 1", "linsep proof 3", None, 2],
    "kind": ["separable", "quasi", "overlap", "unknown", "Separable", None, 1],
    "meaning": ["a plane has every row strictly on its side", "", None],
    "fit_intercept": [True, False, -1, 0, 1, "true", None, 1.0],
    "classes": [[], [0], [0, 1], [1, 0], [0, 1, 2], [0, 0], ["a", "b"], ["b", "a"], ["0", "1"], [None, 1], "ab", None],
    "n_features": [0, 1, 2, 3, -1, 2.0, True, "2", None, 2**70],
    "values": ["binary", "decimal", "text", None],
    "separator": [None, {}, {"w": [["1"]], "b": ["0"]}, [], {"w": [["1", "1"]], "b": ["0"]}],
    "refutation": [None, {}, [], {"rows": [], "rivals": [], "multipliers": []}],
    "data": [None, {}, []],
    "made": [None, {}, {"by": "me", "time": "", "options": {"a": 1}, "note": None}],
    "extra": [1, None],
}


def forged(content, rng):
    """Return a copy with something changed, perhaps in two places."""
    content = json.loads(json.dumps(content))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = rng.random()
        plane, refutation = content.get("separator"), content.get("refutation")
        if place < 0.3 and isinstance(plane, dict) and plane:
            _in_plane(plane, rng)
        elif place < 0.7 and isinstance(refutation, dict) and refutation:
            _in_refutation(refutation, rng)
        elif place < 0.75 and isinstance(content.get("data"), dict):
            name = rng.choice(["n_rows", "n_features", "sha256", "reading", "extra"])
            content["data"][name] = rng.choice([0, 1, 3, 4, 5.0, True, None, "", "0" * 64, {}])
        else:
            name = rng.choice(list(OTHERS))
            if rng.random() < 0.15:
                content.pop(name, None)
            else:
                content[name] = json.loads(json.dumps(rng.choice(OTHERS[name])))
    return content


def _in_plane(plane, rng):
    name = rng.choice(["w", "w", "w", "b"])
    numbers = plane.get(name)
    if name == "w" and isinstance(numbers, list) and numbers and rng.random() < 0.95:
        numbers = rng.choice(numbers)
    if isinstance(numbers, list) and numbers and rng.random() < 0.9:
        k = rng.randrange(len(numbers))
        numbers[k] = changed(numbers[k], rng)
    elif isinstance(numbers, list):
        rng.choice([numbers.clear, lambda: numbers.append("1")])()
    else:
        plane[name] = rng.choice([None, "1", ["1"]])


def _in_refutation(refutation, rng):
    name = rng.choice(["rows", "rivals", "multipliers"])
    items = refutation.get(name)
    if not isinstance(items, list) or not items or rng.random() < 0.05:
        refutation[name] = rng.choice([None, [], "1", [1]])
    elif rng.random() < 0.1:
        for items in refutation.values():
            if isinstance(items, list) and items:
                rng.choice([items.pop, lambda items=items: items.append(items[0])])()
    else:
        k = rng.randrange(len(items))
        items[k] = changed(items[k], rng) if name == "multipliers" else rng.choice(ROWS)


def changed(text, rng):
    """Return another number: negated, with a digit changed, or something else altogether."""
    way = rng.random()
    if not isinstance(text, str) or way < 0.4:
        return rng.choice(NUMBERS)
    if way < 0.6:
        return text.removeprefix("-") if text.startswith("-") else f"-{text}"
    if way < 0.7:
        return str(2 * value(text)) if re.fullmatch(r"-?\d+([/.]\d+)?", text) else text
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), text, count=1)


def outcome(text, X, y, *, plain):
    try:
        return check_document(*opened(text), X, y, plain=plain).holds
    except ValueError as error:
        return "\n" in str(error)  # one line says what is wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_checks_agree_on_forged_documents(name):
    X, y, offset = PROBLEMS[name]
    rng = random.Random(name)
    genuine = json.loads(to_json(separate(X, y, fit_intercept=offset), X, y))
    assert independent(genuine, X, y)
    accepted = 0
    contents = [forged(genuine, rng) for _ in range(900)]
    texts = [sealed(content) for content in contents]
    for content, text, (in_browser, _) in zip(contents, texts, judged(texts, X, y), strict=True):
        truth = independent(content, X, y)
        assert outcome(text, X, y, plain=False) == truth, text
        assert outcome(text, X, y, plain=True) == truth, text
        assert in_browser == truth, text
        accepted += truth
    assert accepted < 450  # some forgeries are true, such as a plane that is another one


@pytest.mark.parametrize("name", PROBLEMS)
def test_all_checks_agree_on_changed_data(name):
    X, y, offset = PROBLEMS[name]
    genuine = json.loads(to_json(separate(X, y, fit_intercept=offset), X, y))
    for i, j, step in product(range(len(X)), range(len(X[0])), (-1, 0.5, 2.0**-40)):
        other = [list(row) for row in X]
        other[i][j] += step
        _compare(genuine, other, y)
    for i, label in product(range(len(y)), set(y)):
        _compare(genuine, X, [*y[:i], label, *y[i + 1 :]])
    for i in range(len(X) - 1):
        _compare(genuine, [*X[:i], X[i + 1], X[i], *X[i + 2 :]], y)


def _compare(genuine, X, y):
    """The genuine document fails on other data; made to name them, it is judged alike by all."""
    text = json.dumps(genuine)
    content = json.loads(text)
    content["data"]["sha256"] = fingerprint(in_integers(X), y)
    if content["data"] != genuine["data"]:
        assert not outcome(text, X, y, plain=False)
        assert not outcome(text, X, y, plain=True)
    truth = independent(content, X, y)
    assert outcome(sealed(content), np.array(X), y, plain=False) == truth
    assert outcome(sealed(content), X, y, plain=True) == truth
