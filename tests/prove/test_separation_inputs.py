"""What people have: formulas, frames, statsmodels models, pipelines, the command line; and what they get wrong."""

import json
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import linsep
from linsep.errors import DataNote
from linsep.prove.regression.words import sentences


@pytest.fixture
def frame():
    """A treatment that always cures: quasi-complete separation."""
    rng = np.random.default_rng(4)
    n = 90
    dose, place = rng.integers(0, 2, n), rng.choice(["north", "south", "west"], n)
    age = np.round(rng.normal(50, 9, n), 1)
    cured = np.where(dose == 1, 1, rng.random(n) < 0.5).astype(int)
    return pd.DataFrame({"cured": cured, "dose": dose, "age": age, "place": place, "w": 1})


def statuses(found):
    return dict(zip(found.names, found.statuses, strict=True))


def test_a_formula_and_a_frame(frame):
    found = linsep.separation("cured ~ dose + age + C(place)", frame)
    assert statuses(found) == {
        "Intercept": "finite", "dose": "+inf", "age": "finite",
        "C(place)[T.south]": "finite", "C(place)[T.west]": "finite",
    }  # fmt: skip
    assert found.separated.tolist() == np.flatnonzero(frame.dose == 1).tolist()
    assert found.check()
    assert found.status("dose - age") == "+inf"
    assert found.status("2*age + Intercept/3") == "finite"
    assert found.status({"dose": -1}) == "-inf"
    assert found.status("C(place)[T.south] - C(place)[T.west]") == "finite"
    left = found.refit()
    assert left.columns == ["Intercept", "age", "C(place)[T.south]", "C(place)[T.west]"]
    assert left.X.shape == (len(found.rest), 4)
    assert np.linalg.matrix_rank(left.X) == 4
    words = linsep.separation(frame[["dose", "age", "place"]], frame["cured"])
    assert statuses(words)["place=south"] == "finite"
    assert words.separated.tolist() == found.separated.tolist()
    polar = linsep.separation(pl.from_pandas(frame[["dose", "age", "place"]]), frame["cured"].to_numpy())
    assert polar.statuses == words.statuses
    labels = linsep.separation("label ~ dose", frame.assign(label=np.where(frame.cured == 1, "yes", "no")))
    assert statuses(labels)["dose"] == "+inf"


def test_a_formula_names_odd_columns_in_backticks(frame, run):
    """The coefficients are those of the same columns under plain names, in memory, in a file and for new rows."""
    odd = {"cured": "was cured?", "dose": "Dose.mg", "age": "age (years)", "place": "place.of.care"}
    renamed = frame.rename(columns=odd)
    for plain, quoted in (
        ("cured ~ dose + age + place", "`was cured?` ~ `Dose.mg` + `age (years)` + `place.of.care`"),
        ("cured ~ np.log1p(dose) + age:dose", "`was cured?` ~ np.log1p(`Dose.mg`) + `age (years)`:`Dose.mg`"),
        ("cbind(cured, w) ~ C(place) + dose", "cbind(`was cured?`, `w`) ~ C(`place.of.care`) + `Dose.mg`"),
    ):
        wanted, found = linsep.separation(plain, frame), linsep.separation(quoted, renamed)
        assert (found.kind, found.statuses) == (wanted.kind, wanted.statuses)
        assert found.direction == wanted.direction
        new = [{"cured": 1, "dose": 1, "age": 44.5, "place": "west", "w": 1}]
        renamed_new = [{odd.get(name, name): value for name, value in new[0].items()}]
        assert found.predict_status(renamed_new).tolist() == wanted.predict_status(new).tolist()
    renamed.to_csv("odd.csv", index=False)
    code, out, _ = run("regression", "odd.csv", "--formula", "`was cured?` ~ `Dose.mg` + `age (years)`", "--proof", "p")
    assert (code, "Dose.mg is +infinity" in out) == (1, True)
    assert run("verify", "p", "odd.csv")[0] == 0


def test_successes_of_trials_proportions_and_weights(frame):
    counts = np.column_stack((frame.cured * 3, (1 - frame.cured) * 3))
    wanted = linsep.separation(frame[["dose", "age"]], frame.cured).statuses
    assert linsep.separation(frame[["dose", "age"]], counts).statuses == wanted
    assert linsep.separation(frame[["dose", "age"]], frame.cured.astype(float)).statuses == wanted
    mixed = counts.copy()
    mixed[np.flatnonzero(frame.dose == 1)[0]] = (2, 1)
    assert linsep.separation(frame[["dose", "age"]], mixed).kind == "overlap"
    shares = mixed[:, 0] / mixed.sum(axis=1)
    assert linsep.separation(frame[["dose", "age"]], shares, weights=mixed.sum(axis=1)).kind == "overlap"
    weights = np.ones(len(frame))
    weights[np.flatnonzero(frame.dose == 1)[0]] = 0
    found = linsep.separation(frame[["dose", "age"]], mixed, weights=weights)
    assert found.statuses == wanted
    assert found.check()
    assert found.check(frame[["dose", "age"]], mixed, weights=weights, plain=True)
    assert not found.check(frame[["dose", "age"]], mixed)
    assert found.refit().dropped_rows[int(np.flatnonzero(weights == 0)[0])] == "its weight is 0"


def test_statsmodels_models_by_their_attributes(frame):
    sm = pytest.importorskip("statsmodels.api")
    from statsmodels.discrete.conditional_models import ConditionalLogit
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X = sm.add_constant(frame[["dose", "age"]])
    for model in (sm.Logit(frame.cured, X), sm.Probit(frame.cured, X), sm.GLM(frame.cured, X, sm.families.Binomial())):
        found = linsep.separation(model)
        assert statuses(found) == {"const": "finite", "dose": "+inf", "age": "finite"}
        assert found.check()
    zero = 1 - frame.cured
    for model in (sm.Poisson(zero, X), sm.GLM(zero, X, sm.families.Poisson())):
        found = linsep.separation(model)
        assert (found.family, statuses(found)["dose"]) == ("poisson", "-inf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = sm.GLM(zero, X, sm.families.Binomial(sm.families.links.Log()))
    with pytest.raises(ValueError, match="link log is not supported"):
        linsep.separation(log)
    negative = linsep.separation(sm.GLM(zero, X, sm.families.NegativeBinomial(alpha=1.0)))
    assert negative.family == "negative-binomial"
    three = np.where(frame.dose == 1, 2, frame.cured)
    multinomial = linsep.separation(sm.MNLogit(three, X))
    assert multinomial.family == "multinomial"
    assert statuses(multinomial)["2:dose"] == "+inf"
    ordinal = linsep.separation(OrderedModel(three, frame[["dose", "age"]], distr="logit"))
    assert (ordinal.family, statuses(ordinal)["dose"]) == ("ordinal", "+inf")
    groups = np.arange(len(frame)) // 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conditional = linsep.separation(ConditionalLogit(frame.cured, frame[["dose", "age"]], groups=groups))
    assert conditional.family == "conditional"
    assert statuses(conditional)["dose"] == "+inf"
    for family in (sm.families.Gaussian(), sm.families.Gamma(sm.families.links.Log())):
        with pytest.raises(ValueError, match="not supported"):
            linsep.separation(sm.GLM(frame.cured + 1.0, X, family))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        identity = sm.GLM(frame.cured, X, sm.families.Poisson(sm.families.links.Identity()))
    with pytest.raises(ValueError, match="identity is not supported"):
        linsep.separation(identity)
    with pytest.raises(ValueError, match="OLS is not supported"):
        linsep.separation(sm.OLS(frame.cured, X))


def test_predicted_probabilities():
    X, y = np.array([[0, 1], [0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]), [0, 1, 1, 1, 1, 0]
    found = linsep.separation(X, y)
    assert statuses(found)["x0"] == "+inf"
    assert found.predict_status([[0, 5], [1, 2], [-1, 0]]).tolist() == ["inside", "1", "0"]
    counts = linsep.separation(X, [1, 2, 0, 0, 3, 1], family="poisson")
    assert counts.predict_status([[0, 5], [1, 2], [-1, 0]]).tolist() == ["inside", "0", "infinite"]
    many = linsep.separation([[0], [0], [1], [1], [2], [2]], [0, 1, 0, 1, 2, 2], family="multinomial")
    assert many.predict_status([[0], [3]]).tolist() == [["inside", "inside", "0"], ["0", "0", "1"]]
    assert many.refit().choices.tolist() == [[True, True, False]] * 4
    levels = linsep.separation([[0], [0], [2], [2]], [0, 1, 2, 2], family="ordinal")
    assert (levels.kind, levels.names) == ("quasi", ["0|1", "1|2", "x0"])
    assert levels.predict_status([[0], [3]]).tolist() == [["inside", "inside", "0"], ["0", "0", "1"]]
    assert levels.refit().choices.tolist() == [[False, True], [True, False]]
    aliased = linsep.separation([[0, 0], [0, 0], [1, 2], [1, 2]], [0, 1, 1, 1])
    assert aliased.predict_status([[1, 2], [1, 1]]).tolist() == ["1", "aliased"]
    with pytest.raises(ValueError, match="2 columns"):
        aliased.predict_status([[1]])


def test_predictions_for_the_rows_of_another_frame(frame):
    found = linsep.separation("cured ~ dose + age + C(place)", frame)
    new = pd.DataFrame({"dose": [0, 1], "age": [40.0, 41.5], "place": ["west", "south"], "other": [None, None]})
    wanted = found.predict_status([[0, 40.0, 0, 1], [1, 41.5, 1, 0]]).tolist()
    assert found.predict_status(new).tolist() == wanted == ["inside", "1"]
    assert found.predict_status(pl.from_pandas(new.drop(columns="other"))).tolist() == wanted
    decimal = linsep.separation("cured ~ dose + age", frame, values="decimal")
    assert decimal.predict_status(new).tolist() == wanted
    with pytest.raises(ValueError, match="no column is named 'place'"):
        found.predict_status(new[["dose", "age"]])
    with pytest.raises(ValueError, match="'east'"):
        found.predict_status(new.assign(place="east"))
    with pytest.raises(ValueError, match=r"new rows must have the 4 columns of the design, got shape \(2, 3\)"):
        found.predict_status(new[["dose", "age", "place"]].to_numpy())


def test_aliased_columns_are_named_with_what_they_depend_on(frame):
    X = frame[["dose", "age"]].assign(half=lambda f: f.dose / 2 + 1, zero=0)
    found = linsep.separation(X, frame.cured)
    assert found.aliased == {"half": {"Intercept": 1, "dose": Fraction(1, 2)}, "zero": {}}
    assert statuses(found) == {
        "Intercept": "finite",
        "dose": "+inf",
        "age": "finite",
        "half": "aliased",
        "zero": "aliased",
    }
    kept = linsep.separation(X, frame.cured, alias="keep")
    assert statuses(kept) == {
        "Intercept": "aliased", "dose": "aliased", "age": "finite", "half": "aliased", "zero": "aliased",
    }  # fmt: skip
    assert kept.status("Intercept + half") == "finite"
    assert kept.status("half + dose/2 + 3/2*Intercept") == "aliased"
    assert kept.status("dose + half/2") == "+inf"
    assert kept.check()
    assert kept.check(plain=True)
    assert "half is aliased: it depends on Intercept, dose" in found.summary()


def test_words_for_people(frame):
    found = linsep.separation("cured ~ dose + age", frame)
    assert repr(found) == f"Separation(quasi: dose +inf; {int(frame.dose.sum())} of 90 rows separated)"
    assert "dose</td><td>+inf</td>" in re.sub(r' style="[^"]*"', "", found._repr_html_())
    table = found.to_frame()
    assert table["status"].tolist() == ["finite", "+inf", "finite"]
    assert set(table["rows"][1]) & set(found.separated.tolist())
    assert "quasi-complete separation" in found.summary()
    texts = linsep.separation([["0.0"], ["0.0"], ["1.5"], ["1.5"]], [0, 1, 1, 1])
    assert sentences(texts)[0] == "x0 is +infinity: all 2 rows with x0 = 1.5 have y = 1"
    zeros = linsep.separation([[0], [0], [1], [1]], [1, 1, 0, 1])
    assert sentences(zeros)[1] == "x0 is -infinity: all 2 rows with x0 = 0 have y = 1"


def test_a_step_of_a_pipeline(frame):
    X, y = frame[["dose", "age"]], frame["cured"]
    with pytest.warns(UserWarning, match=r"dose is \+infinity"):
        fitted = make_pipeline(linsep.SeparationCheck(), LogisticRegression()).fit(X, y)
    assert fitted[0].separation_.kind == "quasi"
    assert fitted[0].get_feature_names_out().tolist() == ["dose", "age"]
    with pytest.raises(ValueError, match="does not exist"):
        linsep.SeparationCheck(action="raise").fit(X, y)
    with pytest.raises(ValueError, match="action must be 'warn' or 'raise'"):
        linsep.SeparationCheck(action="shout").fit(X, y)
    calm = linsep.SeparationCheck(action="raise").fit(X[["age"]], y)
    assert calm.transform(X[["age"]]).shape == (90, 1)


def test_a_section_of_the_report(frame, tmp_path):
    X = frame[["dose", "age"]]
    linsep.report(X, frame["cured"], tmp_path / "two.html")
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "dose is +infinity" in text
    assert '<section id="regression">' in text
    linsep.report(X, frame["place"], tmp_path / "three.html")
    assert '<section id="regression">' not in (tmp_path / "three.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------
# Bad input: one line each

X3, CURED = [[1.0], [2.0], [3.0]], pd.DataFrame({"cured": [0, 1], "dose": [1, 2]})
TIMES = pd.DataFrame(
    {"t": [5, 6, 7], "e": [1, 1, 2], "w": ["alive", "lost", "alive"], "n": [1, -3, 0], "c": 7, "x": [3, 1, 2]}
)
BAD = [
    ({"X": X3, "y": [1, 1, 1]}, "y is constant: every row is 1"),
    ({"X": X3, "y": [0, 1, 1], "weights": [0, 0, 0]}, "every row has weight 0"),
    ({"X": X3, "y": [0, 1, 1], "weights": [0, 1, -1]}, "row 2: the weight is -1"),
    ({"X": [[1.0], [np.nan], [2.0]], "y": [0, 1, 1]}, "row 1, column 'x0': the cell holds NaN"),
    ({"X": X3, "y": [0.0, np.nan, 1.0]}, "row 1: y is nan"),
    ({"X": X3, "y": [1, -2, 0], "family": "poisson"}, "row 1: y is -2; it cannot be negative"),
    ({"X": X3, "y": [0, 0, 0], "family": "poisson"}, "y is 0 in every row"),
    ({"X": X3, "y": [[1, 0], [0, -1], [1, 1]]}, "row 1: a count of successes or failures is -1"),
    ({"X": X3, "y": ["a", "b", "c"]}, "3 labels; the family binomial has two"),
    ({"X": X3, "y": ["a", "a", "a"], "family": "multinomial"}, "y is constant"),
    ({"X": X3, "y": [1, 0, 0], "family": "conditional"}, "strata must be given"),
    ({"X": X3, "y": [1, 0, 0], "family": "conditional", "strata": [7, 7, 8]}, "stratum 8: no row has y = 1"),
    ({"X": X3, "y": [1, 1, 1], "family": "conditional", "strata": [1, 1, 1]}, "constant within every stratum"),
    ({"X": X3, "y": [[1, 0], [2, 0], [3, 0]], "family": "cox"}, "no row has an event"),
    ({"X": X3, "y": [1, 2, 3], "family": "cox"}, "two columns: the time"),
    (
        {"X": X3, "y": [[5, 1], [6, 2], [7, 1]], "family": "cox"},
        "row 1: the event y is 2; it must be 1 for an event or",
    ),
    ({"X": "Surv(t, e) ~ x", "y": TIMES, "family": "cox"}, "row 2: the event e is 2; it must be 1 for an event or 0"),
    ({"X": "Surv(t, w) ~ x", "y": TIMES, "family": "cox"}, "row 0: w is 'alive', which is not a number"),
    ({"X": "n ~ x", "y": TIMES, "family": "poisson"}, "row 1: n is -3; it cannot be negative"),
    ({"X": "t ~ x", "y": TIMES}, "t has 3 labels; the family binomial has two"),
    ({"X": "c ~ x", "y": TIMES}, "c is constant: every row is 7"),
    ({"X": "c ~ x", "y": TIMES, "family": "multinomial"}, "c is constant: every row is 7"),
    ({"X": "w ~ x", "y": TIMES, "family": "poisson"}, "row 0: w is 'alive', which is not a number"),
    ({"X": "w ~ x", "y": TIMES, "family": "ordinal"}, "w has words such as 'alive'"),
    ({"X": X3, "y": [0, 1], "family": "binomial"}, "X has 3 rows but y has 2"),
    ({"X": [[1], [2, 3]], "y": [0, 1]}, "of one length"),
    ({"X": [["a"], ["1"]], "y": [0, 1]}, "row 0, column 'x0': 'a' is not a number"),
    ({"X": X3, "y": [0, 1, 1], "family": "gaussian"}, "the family 'gaussian' is not supported: least squares"),
    ({"X": X3, "y": [0, 1, 1], "family": "nonsense"}, "family must be one of binomial"),
    ({"X": X3, "y": [0, 1, 1], "values": "octal"}, "values must be 'decimal' or 'binary'"),
    ({"X": X3, "y": [0, 1, 1], "alias": "both"}, "alias must be 'drop' or 'keep'"),
    ({"X": X3, "y": [0, 1, 1], "names": ["a", "b"]}, "must name 1 columns"),
    ({"X": X3, "y": [0, 1, 1], "strata": [1, 1, 1]}, "strata must be None for the family binomial"),
    ({"X": [1, 2, 3], "y": [0, 1, 1]}, "X must have two dimensions"),
    ({"X": np.zeros((0, 1)), "y": []}, "there are no rows"),
    ({"X": "cured ~ doze", "y": CURED}, "no column is named 'doze'; did you mean 'dose'"),
    ({"X": "curd ~ dose", "y": CURED}, "no column is named 'curd'; did you mean 'cured'"),
    ({"X": "cured ~ dose +", "y": CURED}, "cannot be evaluated"),
    ({"X": "cured ~ dose | cured", "y": CURED}, "the formula has a second '~', or '|' outside I(...)"),
    ({"X": "cured | dose ~ dose", "y": CURED}, "the formula has a second '~', or '|' outside I(...)"),
    ({"X": "cured ~ dose ~ cured", "y": CURED}, "the formula has a second '~', or '|' outside I(...)"),
    ({"X": "cured + dose ~ dose", "y": CURED}, "'cured + dose' has 2 columns: write one column, cbind(successes"),
    ({"X": "C(cured) ~ dose", "y": CURED}, "'C(cured)' has 2 columns: write one column, cbind(successes"),
    (
        {"X": "c ~ `a.c`", "y": pd.DataFrame({"c": [0, 1], "a.b": [1, 2]})},
        "no column is named 'a.c'; did you mean 'a.b'",
    ),
    ({"X": "c ~ a.b", "y": pd.DataFrame({"c": [0, 1], "a.b": [1, 2]})}, "a column with a dot in backticks: `a.b`"),
    ({"X": "cured", "y": CURED}, "must read 'response ~ terms'"),
    ({"X": "y ~ x", "y": pd.DataFrame({"y": [0, 1], "x": [1, None]})}, "row 1, column 'x': a missing value"),
    ({"X": X3, "y": ["a", "a", "a"]}, "every row is 'a'"),
    ({"X": X3, "y": np.array(["a", "a", "a"], dtype=object)}, "every row is 'a'"),
    ({"X": X3, "y": [[1, -1], [1, -1], [0, 0]]}, "cannot be negative"),
    ({"X": X3, "y": [1, 0, 0], "family": "conditional", "strata": [1, 1, np.nan]}, "row 2: strata has no value"),
    ({"X": X3, "y": [0, 1, 1], "absorb": [[1, None, 1]]}, "row 1: the factor 'factor0'"),
    ({"X": np.ma.masked_greater(X3, 2), "y": [0, 1, 1]}, "masked array"),
    ({"X": X3, "y": [0, 1, 1], "time_limit": -1}, "time_limit must be a number of seconds not below 0, got -1"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD, ids=[text[:30] for _, text in BAD])
def test_bad_input_is_one_clear_line(arguments, text):
    arguments = dict(arguments)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        linsep.separation(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_contrasts_that_make_no_sense():
    found = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1], names=["dose"])
    for c, text in (
        ("doze", "did you mean 'dose'"),
        ("dose dose", "a sign is missing"),
        ("", "empty"),
        ([1], "2 numbers"),
    ):
        with pytest.raises(ValueError, match=text):
            found.status(c)


# ---------------------------------------------------------------------------------------------------------------
# The command line


ALLOWED = "(--missing zero or --missing drop or --missing indicator allows it)"


def test_the_command_says_what_it_means_and_what_to_do(frame, run):
    frame.drop(columns="w").to_csv("cures.csv", index=False)
    code, out, _ = run(
        "regression", "cures.csv", "--formula", "cured ~ dose + age + place", "--proof", "proof.json", "--rows"
    )
    n = int(frame.dose.sum())
    assert code == 1
    assert f"dose is +infinity: all {n} rows with dose = 1 have cured = 1" in out
    assert f"leave out {n} rows and the column dose" in out
    assert "Firth's penalty" in out
    code, out, _ = run("verify", "proof.json", "cures.csv")
    assert (code, "the proof holds" in out) == (0, True)
    proof = Path("proof.json")
    proof.write_text(proof.read_text().replace('"quasi"', '"overlap"', 1))
    code, _, err = run("verify", "proof.json", "cures.csv")
    assert (code, "altered" in err) == (2, True)
    code, out, _ = run("regression", "cures.csv", "--target", "cured", "--json")
    facts = json.loads(out)
    assert (code, facts["kind"], facts["separated"]) == (1, "quasi", np.flatnonzero(frame.dose == 1).tolist())
    names = [each["name"] for each in facts["coefficients"]]
    assert names == ["Intercept", "dose", "age", "place=south", "place=west"]
    code, out, _ = run("regression", "cures.csv", "--target", "cured", "--ignore", "dose", "--absorb", "place")
    assert (code, "place" in out, "exists" in out) == (0, False, True)
    former = json.loads(run("separation", "cures.csv", "--target", "cured", "--json")[1])  # the name of the command
    assert {**former, "seconds": 0} == {**facts, "seconds": 0}
    assert "separation" not in run("--help")[1].split()


def test_the_command_on_other_families_and_files(tmp_path, run):
    table = pd.DataFrame(
        {"t": [1, 2, 3, 4, 5, 6], "e": [1, 1, 0, 1, 1, 0], "x": [6, 5, 4, 3, 2, 1], "s": [0, 0, 0, 1, 1, 1]}
    )
    table.to_parquet(tmp_path / "times.parquet")
    code, out, _ = run(
        "regression", "times.parquet", "--target", "t", "--event", "e", "--family", "cox", "--strata", "s"
    )
    assert (code, "x is +infinity" in out) == (1, True)
    for name, text in {
        "gaps": "y,x\n0,1\n1,\n1,0\n0,0\n1,1\n",
        "inf": "y,x\n0,1\n1,inf\n1,0\n0,0\n",
        "far": "y,x\n0,1\n1,1e-123456\n1,0\n0,0\n",
        "wordy": f"y,x\n0,1\n1,0.{'1' * 4001}\n1,0\n0,0\n",
        "words": 'y,x,z\n0,1,2\n\n0,2,1\n1,oops,"a\nb"\n0,3,1\n-1,4,2\n1,0,2\n',  # an empty line, a cell of two lines
        "constant": "a,y\n1,x\n2,x\n",
        "long": "y,a\n1,0.10000000000000000002\n0,0.1\n1,0.10000000000000000001\n0,0.1\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert run("regression", "gaps.csv", "--target", "y", "--missing", "drop")[0] == 0
    codes = [run("regression", "long.csv", "--target", "y", "--values", each)[0] for each in ("decimal", "binary")]
    assert codes == [1, 0]  # as doubles all rows are one
    for arguments, text in (
        ("gaps.csv --target y", f"linsep: gaps.csv:3, column 'x': a missing value {ALLOWED}"),
        ("gaps.csv --target yy", "did you mean 'y'"),
        ("gaps.csv --formula y~xx", "did you mean 'x'"),
        ("constant.csv --target y", "constant: every row is 'x', nothing to model"),
        ("gaps.csv", "either --formula or --target"),
        ("gaps.csv --target y --event x", "--event needs --family cox"),
        ("gaps.csv --target y --family poisson --failures x", "--failures needs"),
        ("inf.csv --target y", "inf.csv:3, column 'x': the number is out of range; drop"),
        ("far.csv --target y", "far.csv:3, column 'x': the number is out of range; drop"),
        ("wordy.csv --target y", "wordy.csv:3, column 'x': the number is out of range; drop"),
        ("words.csv --target y --numeric x", "words.csv:5, column 'x': 'oops' is not a number (--cat"),
        ("words.csv --target y --family poisson --ignore x", "words.csv:8: y is -1; it cannot"),
        ("gaps.csv --target y --missing drop --time-limit 0", "linsep: undecided after 0 seconds: allow more time"),
    ):
        code, _, err = run("regression", *arguments.split())
        assert (code, text in err, err.count("\n")) == (2, True, 1), err


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), (True, False)])
@pytest.mark.parametrize("model", [["--target", "t", "--event", "e"], ["--formula", "Surv(t, e) ~ x"]])
def test_events_may_be_true_and_false(words, model, run):
    """The event with the largest x comes first: separated; a censored first row says nothing."""
    table = pd.DataFrame({"t": [1, 2, 3, 4], "e": [0, 1, 1, 0], "x": [0, 3, 2, 1]})
    wanted = linsep.separation(table[["x"]], table[["t", "e"]].to_numpy(), family="cox")
    assert wanted.statuses == ["+inf"]
    told = table.assign(e=[words[0] if each else words[1] for each in table.e])
    if words[0] is True:
        told.to_parquet("events")
        assert linsep.separation("Surv(t, e) ~ x", told, family="cox").direction == wanted.direction
    else:
        told.to_csv("events", index=False)
    code, out, _ = run("regression", "events", *model, "--family", "cox", "--proof", "p.json", "--json")
    facts = json.loads(out)
    assert (code, [each["status"] for each in facts["coefficients"]]) == (1, ["+inf"])
    for options in ([], ["--plain"]):
        assert run("verify", "p.json", facts["design"], "--quiet", *options)[0] == 0


def test_an_event_that_is_none_is_named_with_its_column_and_line(run):
    for cells, text in (
        ("1 2 1", "t.csv:3: the event status is 2; it must be 1 for an event or 0 if censored"),
        ("yes no yes", "t.csv:2: status is 'yes', which is not a number"),
        ("true 1 false", "t.csv:2: status is 'true', which is not a number"),
    ):
        rows = [f"{t},{cell},{5 - t}" for t, cell in enumerate(cells.split(), 7)]
        Path("t.csv").write_text("\n".join(["time,status,x", *rows]))
        for model in (["--target", "time", "--event", "status"], ["--formula", "Surv(time, status) ~ x"]):
            code, _, err = run("regression", "t.csv", *model, "--family", "cox")
            assert (code, text in err, err.count("\n")) == (2, True, 1), err


def test_dates_are_days(frame, run):
    when = pd.to_datetime("2020-01-31") + pd.to_timedelta(frame.index.to_numpy() * 3, unit="D")
    since = (when - pd.Timestamp("1970-01-01")).days
    wanted = linsep.separation(np.column_stack((frame.dose, since)), frame.cured)
    with pytest.warns(DataNote, match="days since 1970-01-01"):
        found = linsep.separation(pd.DataFrame({"dose": frame.dose, "when": when}), frame.cured)
    assert found.direction == wanted.direction
    table = pd.DataFrame({"cured": frame.cured, "dose": frame.dose, "when": when.strftime("%Y-%m-%d")})
    table.to_csv("t.csv", index=False)
    table.loc[5, "when"] = ""
    table.to_csv("gap.csv", index=False)
    told = json.loads(run("regression", "t.csv", "--target", "cured", "--proof", "p.json", "--json")[1])
    assert [each["status"] for each in told["coefficients"]] == wanted.statuses
    assert "days since 1970-01-01" in told["notes"][0]
    for options in ([], ["--plain"]):
        assert run("verify", "p.json", "t.csv", "--quiet", *options)[0] == 0
    code, _, err = run("regression", "gap.csv", "--target", "cured")
    assert (code, "gap.csv:7, column 'when'" in err) == (2, True)


def test_tables_are_read_as_by_other_commands(tmp_path, run):
    """Decimal commas, signs between thousands, percentages, dates, gaps and encodings: the statuses are the same."""
    plain = ["größe,preis,anteil,tag,y,g", "1.5,1200,5,19754,0,0.5", "2.5,2300,7,19755,1,1.5", "3.25,900,9,19757,0,1"]
    plain += ["4,1000,4,19785,1,1", "3,1100,5,19785,1,1", "3,1100,5,19816,0,1"]
    other = ["größe;preis;anteil;tag;y;g", "1,5;1.200;5%;01.02.2024;0;0,5", "2,5;2.300;7%;02.02.2024;1;1,5"]
    other += ["3,25;900;9%;04.02.2024;0;1", "4;1.000;4%;03.03.2024;1;1", "fehlt;1;1%;01.01.2024;1;1"]
    other += ["3;1.100;5%;03.03.2024;1;1", "3;1.100;5%;03.04.2024;0;1"]
    (tmp_path / "plain.csv").write_text("\n".join(plain))
    (tmp_path / "other.csv").write_text("\n".join(other), encoding="latin-1")
    common = ["--target", "y", "--weights", "g", "--json"]
    reading = ["--encoding", "latin-1", "--decimal", ",", "--thousands", ".", "--gaps", "fehlt", "--missing", "drop"]
    statuses = [
        [(each["name"], each["status"]) for each in json.loads(run("regression", *arguments)[1])["coefficients"]]
        for arguments in (["plain.csv", *common], ["other.csv", *common, *reading, "--proof", "p.json"])
    ]
    assert statuses[0] == statuses[1]
    for options in ([], ["--plain"]):
        assert run("verify", "p.json", "other.csv", *options)[0] == 0
    for options, hint in (([], "--encoding"), ([*reading[:2], "--numeric", "größe"], "größe")):
        code, _, err = run("regression", "other.csv", *common, *options)
        assert (code, err.count("\n"), hint in err) == (2, 1, True)


def test_the_command_needs_no_pandas(tmp_path):
    """A plain installation has none: numbers and words of a file are coded without it."""
    (tmp_path / "a.csv").write_text("y,dose,place\n0,0,north\n1,0,south\n0,0,south\n1,0,north\n1,1,north\n1,1,south\n")
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.partition('.')[0] == 'pandas':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from linsep.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    arguments = ["regression", "a.csv", "--target", "y", "--json", "--proof", "p.json"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert {c["name"]: c["status"] for c in json.loads(done.stdout)["coefficients"]} == {
        "Intercept": "finite", "dose": "+inf", "place=south": "finite",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, "verify", "p.json", "a.csv"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_cox_model_of_statsmodels_keeps_its_strata():
    """Within each stratum the row with the larger x has its event first; across strata it is not so."""
    sm = pytest.importorskip("statsmodels.api")
    time, strata = np.array([3.0, 1.0, 4.0, 2.0]), np.array([0, 0, 1, 1])
    x = np.array([[0.0], [1.0], [8.0], [9.0]])
    model = sm.PHReg(time, x, status=np.ones(4), strata=strata)
    assert linsep.separation(model).statuses == ["+inf"]
    assert linsep.separation(sm.PHReg(time, x, status=np.ones(4))).statuses == ["finite"]
    with pytest.raises(ValueError, match="entry times is not supported"):
        linsep.separation(sm.PHReg(time, x, status=np.ones(4), entry=time - 0.5))


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_written_numbers_are_decimals_in_every_form():
    """0.3 is three times 0.1 and 2.1 three times 0.7 as they are written, but not for the doubles nearest to them."""
    written, y = [["0.1", "0.7"], ["0.3", "2.1"], ["0.2", "0.6"]], [1, 2, 0]
    records = [dict(zip("ab", row, strict=True)) for row in written]
    mixed = np.array([[0, 0], *written], dtype=object)
    for X in (written, np.array(written), pd.DataFrame(written, columns=["a", "b"]), records, mixed):
        labels = y if len(X) == 3 else [0, *y]
        found = linsep.separation(X, labels, family="poisson", fit_intercept=False)
        assert found.kind == "quasi"
        assert found.check(plain=True)
        assert linsep.separation(X, labels, family="poisson", fit_intercept=False, values="binary").kind == "overlap"
    assert linsep.separation(np.array(written, float), y, family="poisson", fit_intercept=False).kind == "overlap"
