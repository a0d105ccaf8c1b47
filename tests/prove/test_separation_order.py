"""The order of categories: the data's or the user's, never the alphabet's; and columns that are categories."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import linsep

ORDER = ["low", "mid", "high"]
SAID = ["low", "mid", "high"] * 2
X = [[1], [2], [3], [1], [2], [3]]  # grows with the order: complete separation; not in alphabetical order


CATEGORICAL = pd.Categorical(SAID, categories=ORDER, ordered=True)
DICTIONARY = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0, 1, 2]), pa.array(ORDER), ordered=True)
CARRIED = {
    "Categorical": CATEGORICAL,
    "Series": pd.Series(CATEGORICAL),
    "CategoricalIndex": pd.CategoricalIndex(CATEGORICAL),
    "Enum": pl.Series(SAID, dtype=pl.Enum(ORDER)),
    "arrow": DICTIONARY,
    "chunks": pa.chunked_array([DICTIONARY[:2], DICTIONARY[2:]]),
}


@pytest.mark.parametrize("form", CARRIED)
def test_the_order_that_the_data_carry_is_the_model_s(form):
    found = linsep.separation(X, CARRIED[form], family="ordinal")
    assert (found.kind, found.names) == ("complete", ["low|mid", "mid|high", "x0"])
    assert found.check()
    assert found.check(X, CARRIED[form], plain=True)
    text = found.to_json()
    assert json.loads(text)["classes"] == ORDER
    assert linsep.verify(text, X, SAID)
    assert linsep.verify(text, X, SAID, plain=True)
    with pytest.warns(UserWarning, match="complete separation"):
        steps = (
            linsep.SeparationCheck(family="ordinal").fit(X, CARRIED[form]),
            linsep.SeparationCheck(family="ordinal", order=ORDER).fit(X, SAID),
        )
    assert [step.separation_.names[0] for step in steps] == ["low|mid"] * 2
    given = linsep.separation(X, SAID, family="ordinal", order=["high", "mid", "low"])
    assert given.statuses == ["-inf", "-inf", "-inf"]
    assert linsep.separation(X, SAID, family="ordinal", order=["high", "low", "mid"]).kind != "complete"


def test_frames_carry_the_order_of_a_formula_s_response():
    frame = pd.DataFrame({"y": CATEGORICAL, "x": [row[0] for row in X]})
    for each in (frame, pl.DataFrame({"y": CARRIED["Enum"], "x": frame.x.to_numpy()}), pa.Table.from_pandas(frame)):
        found = linsep.separation("y ~ x", each, family="ordinal")
        assert (found.kind, found.names) == ("complete", ["low|mid", "mid|high", "x"])


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (SAID, "words such as 'low'"),
        (np.array(SAID, dtype=object), "words such as 'low'"),
        (pd.Categorical(SAID, categories=ORDER), "words such as 'low'"),
        (pl.Series(SAID, dtype=pl.Categorical), "words such as 'low'"),
        (DICTIONARY.cast(pa.dictionary(pa.int64(), pa.string())), "words such as 'low'"),
        (pd.Categorical([1, 2, 3] * 2), "unordered categories"),
    ],
)
def test_words_without_an_order_are_refused_in_one_line(y, what):
    with pytest.raises(ValueError, match=f"y has {what}, which do not tell their order: .* as order$"):
        linsep.separation(X, y, family="ordinal")
    assert linsep.separation(X, y, family="multinomial").kind != "overlap"  # which needs none


def test_numbers_are_in_their_own_order():
    for labels in ([9, 10, 11], [9.5, 10.0, 11.0], [-1, 0, 100]):
        found = linsep.separation(X, labels * 2, family="ordinal")
        assert (found.kind, found.names[0]) == ("complete", f"{labels[0]}|{labels[1]}")
    assert linsep.separation(X, [False, True, True] * 2, family="ordinal").names == ["False|True", "x0"]


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (["low", "mid"], "row 2: y is 'high', which order does not name"),
        (["low", "mid", "high", "mid"], "order names 'mid' twice"),
        ("low,mid,high", "order must be a list of labels"),
        (list(range(2000)) + ORDER, "2,000 categories have no row that counts"),
    ],
)
def test_orders_that_make_no_sense(order, text):
    with pytest.raises(ValueError, match=text):
        linsep.separation(X, SAID, family="ordinal", order=order)
    with pytest.raises(ValueError, match="order must be None for the family poisson"):
        linsep.separation(X, [1, 2, 3] * 2, family="poisson", order=[1, 2, 3])


def test_a_category_without_rows_is_a_category():
    """Of the thresholds around it neither passes the other: the likelihood is highest where both are one."""
    weights = [1, 1, 1, 1, 0, 0]
    found = linsep.separation([[0], [1]] * 3, [0, 0, 2, 2, 1, 1], family="ordinal", weights=weights)
    assert (found.kind, found.statuses) == ("overlap", ["finite", "finite", "finite"])
    assert found.notes == ["the category 1 has no row that counts and stays in the model"]
    assert found.predict_status([[0], [5]]).tolist() == [["inside", "0", "inside"]] * 2
    assert found.refit().dropped_columns == {"1|2": "it equals 0|1: no row has the category 1"}
    named = linsep.separation([[0], [1]] * 2, ["a", "a", "c", "c"], family="ordinal", order=["a", "b", "c"])
    assert (named.kind, named.names) == ("overlap", ["a|b", "b|c", "x0"])
    assert named.check(plain=True)
    above = linsep.separation([[0], [1]] * 2, ["a", "b", "b", "a"], family="ordinal", order=["a", "b", "c"])
    assert above.statuses == ["finite", "+inf", "finite"]  # nothing speaks against a last threshold far out
    apart = linsep.separation([[0], [1]], ["a", "c"], family="ordinal", order=["a", "b", "c"])
    assert apart.kind == "complete"
    assert apart.status("b|c - a|b") == "undetermined"  # the gap may stay closed or open for ever
    many = linsep.separation([[0], [1]] * 2, ["a", "a", "c", "c"], family="multinomial", order=["a", "b", "c"])
    assert many.statuses == ["-inf", "undetermined", "finite", "finite"]
    assert many.check(plain=True)


def test_statuses_are_about_the_model_s_own_coefficients():
    sm = pytest.importorskip("statsmodels.api")
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    y = np.array([9, 10, 11] * 4)
    design = np.column_stack((np.ones(12), np.arange(12) % 5))
    model = sm.MNLogit(y, design)
    found = linsep.separation(model)
    assert found.names == ["10:const", "10:x1", "11:const", "11:x1"]
    assert found.statuses == linsep.separation(design[:, 1:], y, family="multinomial").statuses
    assert found.check()
    beside = pd.Categorical(SAID, categories=["mid", "low", "high", "none"])
    assert linsep.separation(sm.MNLogit(pd.Series(beside, name="y"), np.ones((6, 1)))).names == [
        "low:const", "high:const", "none:const",
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ordered = OrderedModel(pd.Series(CATEGORICAL), np.array(X, dtype=float), offset=np.ones(6))
    found = linsep.separation(ordered)
    assert (found.kind, found.names[:2]) == ("complete", ["low|mid", "mid|high"])
    with pytest.raises(ValueError, match="None for a model of statsmodels"):
        linsep.separation(ordered, order=ORDER)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_the_command_takes_the_order_of_the_file_or_of_its_option(form, tmp_path, run):
    frame = pd.DataFrame({"x": [row[0] for row in X], "y": CATEGORICAL})
    data, proof = tmp_path / f"t.{form}", tmp_path / "p.json"
    if form == "csv":
        frame.to_csv(data, index=False)
    elif form == "arrow":
        frame.to_feather(data)
    else:
        pl.DataFrame({"x": frame.x.to_numpy(), "y": CARRIED["Enum"]}).write_parquet(data)
    for model in (["--target", "y"], ["--formula", "y ~ x"]):
        command = ["regression", data, *model, "--family", "ordinal", "--proof", proof]
        if form == "csv":
            code, _, err = run(*command)
            assert (code, err.count("\n"), "--order" in err, "'low'" in err) == (2, 1, True, True)
            code, _, err = run(*command, "--order", "low,mid")
            assert (code, "t.csv:4: y is 'high', which --order does not name" in err) == (2, True)
            command += ["--order", "low,mid,high"]
        code, out, _ = run(*command, "--json")
        told = json.loads(out)
        assert (code, told["kind"]) == (1, "complete")
        assert [each["name"] for each in told["coefficients"]] == ["low|mid", "mid|high", "x"]
        for options in ([], ["--plain"]):
            code, out, _ = run("verify", proof, data, *options)
            assert (code, "in the order low, mid, high" in " ".join(out.split())) == (0, True)
        code, out, _ = run(*command[:-2], "--order", "low, none, mid, high", "--json")
        assert len(json.loads(out)["coefficients"]) == 4
        assert "'none'" in json.loads(out)["notes"][0]


# ---------------------------------------------------------------------------------------------------------------
# Columns that are categories


def test_a_categorical_column_is_a_factor_whatever_its_categories(tmp_path, run):
    """A grade of 3, 1, 2 as categories has levels, of which the first category is the reference; no slope."""
    grade = pd.Categorical([1, 2, 3, 1, 2, 3, 1], categories=[3, 1, 2])
    y, size = [0, 1, 1, 1, 0, 1, 0], [1.5, 2, 3, 4, 5, 6, 7]
    frame = pd.DataFrame({"grade": grade, "size": size})
    found = linsep.separation(frame, y)
    assert found.names == ["Intercept", "grade=1", "grade=2", "size"]
    formula = linsep.separation("y ~ grade + size", frame.assign(y=y))
    assert found.statuses == formula.statuses
    assert linsep.separation(pa.Table.from_pandas(frame), y).names == found.names
    flags = linsep.separation(pd.DataFrame({"flag": pd.Categorical([True, False] * 3 + [True])}), y)
    assert flags.names == ["Intercept", "flag=True"]
    feather.write_feather(pa.Table.from_pandas(frame.assign(y=y)), tmp_path / "t.arrow")
    words = frame.assign(y=y, grade=grade.rename_categories({k: f"g{k}" for k in (3, 1, 2)}))
    pq.write_table(pa.Table.from_pandas(words), tmp_path / "t.parquet")
    for name, levels in (("t.arrow", ("1", "2")), ("t.parquet", ("g1", "g2"))):
        for model, form in ((["--target", "y"], "grade={}"), (["--formula", "y ~ grade + size"], "grade[T.{}]")):
            proof = tmp_path / "p.json"
            _, out, _ = run("regression", tmp_path / name, *model, "--json", "--proof", proof)
            told = [(each["name"], each["status"]) for each in json.loads(out)["coefficients"]]
            names = ["Intercept", *(form.format(level) for level in levels), "size"]
            assert told == list(zip(names, found.statuses, strict=True))
            for options in ([], ["--plain"]):
                assert run("verify", proof, tmp_path / name, *options)[0] == 0
    gap = linsep.separation(pd.DataFrame({"grade": pd.Categorical([1, None, 2])}), [0, 1, 1])
    assert gap.names == ["Intercept", "grade=2", "grade=missing"]  # no value is a category of its own
    assert gap.given.X.tolist() == [[0, 0], [0, 1], [1, 0]]
