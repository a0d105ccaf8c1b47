"""Proofs of separation as documents: every checker says the same of good and of forged ones, about arrays and files."""

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from test_separation import FAMILIES, random_model

import linsep
from data import few, sealed
from javascript import answered, judged
from linsep.prove.check import linsep_check
from oracles import in_integers


def columns_of(y, strata, weights):
    """The response with all that stands beside it, as ``verify`` takes it."""
    first = np.asarray(y)
    parts = [*(first.T if first.ndim == 2 else [first]), *(np.asarray(c) for c in (strata, weights) if c is not None)]
    return np.column_stack(parts) if len(parts) > 1 else first


def proofs(family, count, seed=3):
    """Documents of random models with their design and response."""
    rng, found = np.random.default_rng([seed, *map(ord, family)]), []
    while len(found) < count:
        X, y, strata, weights, offset = random_model(family, rng)
        if len(found) % 3 == 1:
            X = X * 0.1 + 0.3
        options = {"alias": "keep"} if len(found) % 4 == 0 else {}
        if len(found) % 5 == 2:
            options["values"] = "decimal"
        try:
            result = linsep.separation(
                X, np.array(y), family=family, strata=strata, weights=weights, fit_intercept=offset, **options
            )
        except ValueError:  # constant, or no pair in a stratum
            continue
        found.append((result.to_json(), X, columns_of(y, strata, weights)))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_documents_hold_for_their_data_and_no_others(family):
    for text, X, y in proofs(family, 12):
        content = json.loads(text)
        assert (content["kind"], content["family"]) == ("separation", family)
        assert linsep.verify(text, X, y)
        assert linsep.verify(text, X, y, plain=True)
        assert linsep.verify(text, sp.csr_array(X), y)
        assert linsep.verify(text, np.asfortranarray(X), y.tolist())
        other = X.astype(float)
        other[0, 0] += 1
        assert not linsep.verify(text, other, y)
        assert not linsep.verify(text, other, y, plain=True)
        assert not linsep.verify(text, X[:-1], y[:-1])
        assert not linsep.verify(text, X[:, :-1], y)


def forged(part):
    """Every way to change one number or word of a document."""
    if isinstance(part, dict):
        for key, value in part.items():
            for other in forged(value):
                yield {**part, key: other}
        if part:
            yield dict(list(part.items())[1:])
    elif isinstance(part, list):
        for k, value in enumerate(part):
            for other in forged(value):
                yield [*part[:k], other, *part[k + 1 :]]
        yield part[:-1] if part else ["1"]
    elif isinstance(part, bool):
        yield not part
    elif isinstance(part, int):
        yield part + 1
    elif isinstance(part, str):
        try:
            yield str(-Fraction(part))
            yield str(Fraction(part) + 1)
        except ValueError:
            yield {"finite": "+inf", "+inf": "-inf", "-inf": "finite", "drop": "keep", "quasi": "overlap"}.get(part, "")


def forgeries(text):
    """Every document that differs in one place, sealed again."""
    content = json.loads(text)
    for key in sorted(set(content) - {"digest", "made"}):
        for other in forged(content[key]):
            yield key, sealed({**content, key: other})
        yield key, sealed({name: value for name, value in content.items() if name != key})


def answer(text, X, y, plain):
    try:
        return linsep.verify(text, X, y, plain=plain)
    except ValueError:
        return None  # not a proof


CLAIMS = ("claim", "family", "names", "separated", "meaning", "values", "response", "classes", "fit_intercept")


@pytest.mark.parametrize("family", few(FAMILIES, 2))
def test_forged_documents_fail_all_checks(family):
    tried = 0
    for text, X, y in proofs(family, 4, seed=8):
        said, every = json.loads(text), list(forgeries(text))
        for (key, changed), (script, _) in zip(every, judged([changed for _, changed in every], X, y), strict=True):
            fast, plain = (answer(changed, X, y, plain) for plain in (False, True))
            assert fast == plain, (key, changed)
            assert bool(fast) == script, (key, changed)
            if fast:  # another proof of the same, such as other multipliers
                other = json.loads(changed)
                assert all(other[name] == said[name] for name in CLAIMS), key
                assert [(c["name"], c["status"]) for c in other["coefficients"]] == [
                    (c["name"], c["status"]) for c in said["coefficients"]
                ]
            tried += 1
    assert tried > 200


def test_a_result_checks_other_data():
    X, y = np.array([[0], [0], [1], [1]]), np.array([0, 1, 1, 1])
    found = linsep.separation(X, y)
    assert linsep.verify(found, X, y)
    assert linsep.to_json(found, X, y, note="mine").count("mine") == 1
    assert not found.check(X, 1 - y)
    assert not found.check(X[:-1], y[:-1], plain=True)
    with pytest.raises(ValueError, match="not the data"):
        linsep.to_json(found, X, 1 - y)
    with pytest.raises(ValueError, match="not a valid proof"):
        linsep.verify(found.to_json().replace("quasi", "overlap"), X, y)


def test_labels_of_any_kind_have_documents():
    X = [[0.0], [0.0], [1.0], [1.0], [2.0]]
    for labels in (["no", "yes", "yes", "yes", "no"], [True, False, True, True, False], [1.0, 2.0, 2.0, 2.0, 1.0]):
        found = linsep.separation(X, labels)
        assert linsep.verify(found.to_json(), X, labels)
        assert linsep.verify(found.to_json(), X, labels, plain=True)
        assert json.loads(found.to_json())["response"] == ["label"]
    three = linsep.separation(X, ["a", "b", "b", "c", "a"], family="multinomial")
    names = [each["name"] for each in json.loads(three.to_json())["coefficients"]]
    assert names == three.names == ["b:Intercept", "b:x0", "c:Intercept", "c:x0"]
    with pytest.raises(ValueError, match="spelled the same"):
        linsep.separation(X, ["1", "1.0", "1", "2", "2"], family="multinomial").to_json()


def three(text, X, y):
    """What the fast, the plain and the JavaScript checker say; True, False, or None for what is not a proof."""
    return [answer(text, X, y, False), answer(text, X, y, True), answered([text], X, y)[0][0]]


def test_thresholds_that_cross_prove_nothing():
    """A class without rows that count: all rows of the model but the order of its thresholds are separated."""
    X, weights = np.array([[0], [1], [0], [1], [0], [1]]), [1, 1, 1, 1, 0, 0]
    y = np.column_stack(([0, 0, 2, 2, 1, 1], weights))
    truth = json.loads(linsep.separation(X, y[:, 0], family="ordinal", weights=weights).to_json())
    assert three(sealed(truth), X, y) == [True] * 3
    crossing = {
        "claim": "complete", "meaning": "complete separation: the maximum likelihood estimate does not exist",
        "direction": ["1", "-1", "0"], "separated": [[0, 3]], "rest": {"rows": [], "multipliers": []},
        "columns": [0, 1, 2], "independent": [0, 1, 2], "aliased": [],
        "coefficients": [
            {"name": "0|1", "status": "+inf", "rows": [0], "multipliers": ["1"]},
            {"name": "1|2", "status": "-inf", "rows": [2], "multipliers": ["1"]},
            {"name": "x0", "status": "undetermined", "up": ["1", "-1", "1"], "down": ["2", "-2", "-1"]},
        ],
    }  # fmt: skip
    for separated in ([[0, 3]], [[0, 4]]):
        assert three(sealed({**truth, **crossing, "separated": separated}), X, y) == [False] * 3
    several = {"separated": [[0, 3]], "claim": "quasi", "meaning": crossing["meaning"].replace("comp", "quasi-comp")}
    assert three(sealed({**truth, **crossing, **several}), X, y) == [False] * 3


@pytest.mark.parametrize("family", ["ordinal", "multinomial"])
def test_classes_without_rows_and_their_order_are_part_of_the_claim(family):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [1.0]]), np.array(["low", "mid", "high", "high", "mid"])
    for order in (["low", "mid", "high"], ["none", "low", "mid", "some", "high", "most"], ["high", "low", "mid"]):
        found = linsep.separation(X, y, family=family, order=order)
        content = json.loads(found.to_json())
        assert content["classes"] == order
        assert three(found.to_json(), X, y) == [True] * 3
        if found.kind == "complete":
            other = sealed({**content, "classes": [order[1], order[0], *order[2:]]})
            assert three(other, X, y) in ([None] * 3, [False] * 3)
        fewer = [label for label in order if label != "mid"]
        assert three(sealed({**content, "classes": fewer}), X, y) in ([None] * 3, [False] * 3)


RESPONSES = {  # families with a response that none of their rows may have, on a row of weight 0
    "binomial": (np.array([0.0, 1, 1, 0, 7]), None),
    "trials": (np.array([[0, 1], [1, 0], [1, 0], [1, 1], [0, -2]]), None),
    "poisson": (np.array([0, 1, 2, 0, -3]), None),
    "conditional": (np.array([0, 1, 1, 0, 5]), [0, 0, 1, 1, 1]),
    "cox": (np.array([[1, 1], [2, 0], [3, 1], [4, 0], [2, 9]]), None),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_the_response_of_a_row_of_weight_0_is_not_looked_at(name):
    (y, strata), family = RESPONSES[name], "binomial" if name == "trials" else name
    X, weights = np.array([[0.0], [1.0], [0.5], [2.0], [9.0]]), [1, 1, 1, 1, 0]
    found = linsep.separation(X, y, family=family, strata=strata, weights=weights)
    fair = y.copy()
    fair[-1] = y[-2]
    same = linsep.separation(X, fair, family=family, strata=strata, weights=weights)
    assert (found.statuses, found.direction) == (same.statuses, same.direction)
    assert found.check()
    assert found.check(plain=True)
    data = columns_of(y, strata, weights)
    assert three(found.to_json(), X, data) == [True] * 3
    counted = data.copy()
    counted[-1, -1] = 1
    content = json.loads(found.to_json())
    assert three(sealed({**content, "data": about(content, X, counted)}), X, counted) == [False] * 3
    with pytest.raises(ValueError, match=r"."):
        linsep.separation(X, y, family=family, strata=strata)


def about(content, X, y):
    """The data of a document with the fingerprint of others."""
    from linsep.prove.check.linsep_check import fingerprint

    return {**content["data"], "sha256": fingerprint(in_integers(X.tolist()), [tuple(row) for row in y.tolist()])}


@pytest.mark.parametrize("family", ["binomial", "multinomial", "ordinal", "poisson"])
def test_a_boolean_is_not_a_number(family):
    """By the spelling of labels True is not 1, for every checker."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    for numbers in ([0, 1, 1, 1, 0], [1, 2, 2, 2, 1]):
        y, flags = np.array(numbers), np.array(numbers) == max(numbers)
        assert three(linsep.separation(X, y, family=family).to_json(), X, flags) == [False] * 3
        assert three(linsep.separation(X, flags, family=family).to_json(), X, y) == [False] * 3
        assert three(linsep.separation(X, flags, family=family).to_json(), X, flags) == [True] * 3
    mixed = np.array([False, 1, True, 1, 0], dtype=object)
    text = linsep.separation(X, np.array([0, 1, 1, 1, 0]), family=family).to_json()
    assert three(text, X, mixed) == [False] * 3
    if family in ("multinomial", "ordinal"):
        with pytest.raises(ValueError, match="both booleans and other labels"):
            linsep.separation(X, mixed, family=family)


# ---------------------------------------------------------------------------------------------------------------
# Files


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The plain check as one program, run by a Python without linsep."""
    from linsep.prove.documents import checker_program

    path = tmp_path_factory.mktemp("program") / "linsep_check.py"
    path.write_text(checker_program(), encoding="utf-8")
    return lambda *args: subprocess.run(
        [sys.executable, "-I", "-S", path, *args], capture_output=True, text=True, check=False
    )


@pytest.fixture
def table(tmp_path):
    """A table of numbers, words and gaps."""
    rng = np.random.default_rng(6)
    n = 60
    frame = pd.DataFrame(
        {
            "cured": 0,
            "dose": rng.integers(0, 2, n),
            "age": [f"{value:.2f}" for value in rng.normal(50, 9, n)],
            "share": [f"{value:.3f}" for value in rng.random(n)],
            "place": rng.choice(["north", "south: a", "west"], n),
            "grade": rng.integers(1, 4, n),
            "w": rng.integers(0, 3, n),
        }
    )
    frame["cured"] = np.where(frame.dose == 1, 1, rng.random(n) < 0.5).astype(int)
    frame.loc[5, "age"], frame.loc[9, "place"] = "NA", ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


MODELS = {
    "plain": ["--formula", "cured ~ dose + age + place"],
    "target": ["--target", "cured", "--weights", "w"],
    "products": ["--formula", "cured ~ dose*place + age:share + C(grade)"],
    "binary": ["--formula", "cured ~ dose + age:share", "--values", "binary"],
    "counts": ["--formula", "w ~ dose + place", "--family", "poisson"],
    "strata": ["--target", "cured", "--family", "conditional", "--strata", "grade", "--ignore", "place"],
    "absorbed": ["--formula", "cured ~ dose + age", "--absorb", "place"],
    "words": ["--formula", "place ~ dose + share", "--family", "multinomial"],
    "ordered": ["--formula", "grade ~ dose + share", "--family", "ordinal"],
}


def checks(run, program, proof, data):
    """The exit codes of the command, the command with the plain check, and the program, for a proof about a file."""
    codes = {run("verify", proof, data, "--quiet", *options)[0] for options in ([], ["--plain"])}
    return codes | {program(proof, data).returncode}


@pytest.mark.parametrize("name", MODELS)
def test_proofs_about_files(name, table, tmp_path, program, run):
    code, _, err = run("regression", "t.csv", *MODELS[name], "--missing", "drop", "--proof", "p.json", "--quiet")
    assert code in (0, 1), err
    assert json.loads((tmp_path / "p.json").read_text())["data"]["reading"] is not None
    assert checks(run, program, "p.json", "t.csv") == {0}
    told = json.loads(run("verify", "p.json", "t.csv", "--json")[1])
    assert told["holds"]
    assert len(told["checked"]) >= 3
    words = run("verify", "p.json", "t.csv")[1].replace("\n", "")
    assert all(each in words for each in ("t.csv", "taken from '", "not checked", "by linsep "))
    table.loc[0, ["dose", "place", "grade"]] = [1 - table.dose[0], "north", 3]
    table.to_csv("other.csv", index=False)
    assert checks(run, program, "p.json", "other.csv") == {1}


def test_proofs_about_files_with_many_levels(tmp_path, program, run):
    data = tmp_path / "t.csv"
    lines = [f"{i % 3},{i % 7 / 10},{int(i % 9 == 0)},l {i % 53},{i % 4}" for i in range(900)]
    data.write_text("\n".join(["y,x,z,f,g", *lines]) + "\n")
    factors = ["--absorb", "f", "--absorb", "g"]
    code = run("regression", "t.csv", "--target", "y", "--family", "poisson", *factors, "--proof", "p.json", "--quiet")[
        0
    ]
    assert code == 1
    assert checks(run, program, "p.json", "t.csv") == {0}
    data.write_text(data.read_text().replace("l 17,", "l 18,"))
    assert checks(run, program, "p.json", "t.csv") == {1}


@pytest.mark.usefixtures("table")
def test_a_formula_in_a_document_is_never_evaluated(tmp_path, run):
    proof, mark = tmp_path / "p.json", tmp_path / "mark"
    run("regression", "t.csv", "--formula", "cured ~ np.log(w + 1)", "--proof", "p.json", "--quiet")
    content = json.loads(proof.read_text())
    assert content["data"]["reading"] is None  # what a formula computes, others cannot
    content["made"]["options"]["formula"] = f"cured ~ open('{mark}', 'w').close()"
    proof.write_text(sealed(content))
    assert run("verify", "p.json", "t.csv", "--quiet")[0] in (1, 2)
    assert not mark.exists()
    assert linsep_check.load(proof.read_text())["claim"] == content["claim"]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("values", ["decimal", "binary"])
def test_a_computed_design_stands_beside_its_proof(values, program, run):
    formula = "cured ~ np.log(w + 1) + share:grade"
    out = run("regression", "t.csv", "--formula", formula, "--values", values, "--proof", "p.json", "--json")[1]
    assert json.loads(out)["design"] == "p.design.csv"
    assert np.array_equal(pd.read_csv("p.design.csv")["np.log(w + 1)"], np.log(pd.read_csv("t.csv")["w"] + 1))
    assert checks(run, program, "p.json", "p.design.csv") == {0}
    for options in ([], ["--plain"]):
        code, _, err = run("verify", "p.json", "t.csv", *options)
        assert (code, err.count("\n"), f"the formula {formula!r} computes columns" in err) == (2, 1, True)


def test_products_of_decimals_are_exact(tmp_path, run):
    """0.1 · 0.7 is 0.07 and not the double that a product of doubles gives."""
    lines = ["y,a,b,c"]
    rng = np.random.default_rng(1)
    for i in range(30):
        a, b = int(rng.integers(1, 99)), int(rng.integers(1, 99))
        lines.append(f"{i % 2},{a / 10},{b / 10},{a * b / 100:.2f}")
    path = tmp_path / "d.csv"
    path.write_text("\n".join(lines) + "\n")
    told = json.loads(run("regression", path, "--formula", "y ~ c + a:b", "--json")[1])
    assert [each["status"] for each in told["coefficients"]][-1] == "aliased"
    frame = pd.read_csv(path)
    assert linsep.separation("y ~ c + a:b", frame, values="decimal").aliased == {"a:b": {"c": 1}}
    assert linsep.separation("y ~ c + a:b", frame).rank == 3


def test_times_beside_words_are_numbers():
    """Long times and words of strata, given as tuples, are checked as they were given, not as NumPy writes them."""
    X, times, strata = np.array([[1.0], [2.0], [0.5], [3.0]]), [-1.2034688141570908e16, 8.5e15, 1.0, 2.5], list("abab")
    y = np.column_stack((times, [1.0, 1.0, 0.0, 0.0]))
    text = linsep.separation(X, y, family="cox", strata=strata).to_json()
    rows = list(zip(times, y[:, 1].tolist(), strata, strict=True))
    assert linsep.verify(text, X, rows)
    assert linsep.verify(text, X, rows, plain=True)
    assert not linsep.verify(text, X, [(times[1], *rows[0][1:]), *rows[1:]])
