"""``linsep report`` and the figures of ``linsep show``, as their users meet them."""

import json
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from data import few
from linsep import Perceptron, audit, largest_margin, load, mistake_bound, read, save


@pytest.fixture(autouse=True)
def _every_figure_is_closed():
    yield
    assert plt.get_fignums() == []  # every figure was closed


def facts(answer):
    code, out, err = answer
    assert (code, err) == (0, "")
    return json.loads(out)


def test_show_draws_a_model_among_its_rows(run, tmp_path):
    run("generate", "data.csv", "--n", 30, "--d", 2, "--margin", 0.1, "--offset", 0.1, "-q")
    run("fit", "data.csv", "--model", "m.linsep", "-q")
    found = facts(run("show", "m.linsep", "data.csv", "--out", "figures", "--animate", "--style", "dark", "--json"))
    names = ["plane.png", "margins.png", "passes.png", "theorem.png", "bracket.png", "run.gif"]
    assert found["figures"] == [f"figures/{name}" for name in names]
    assert found["left_out"] == {}
    for name in names:
        with Image.open(tmp_path / "figures" / name) as picture:
            assert min(picture.size) > 300
            assert picture.convert("RGB").getpixel((1, 1)) == (21, 24, 29) or name == "run.gif"
    X, y = read("data.csv").to_arrays()
    model = load("m.linsep")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows have no names here
        assert audit(model, X, y).holds  # the trace survives the file
    code, out, _ = run("show", "m.linsep", "data.csv", "--out", "other", "--image", "svg")
    assert code == 0
    assert "5 figures" in out
    assert (tmp_path / "other" / "plane.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("scale", few(["unit", "standard"], 1))
def test_show_draws_the_run_of_a_scaled_model(run, scale):
    run("generate", "data.csv", "--n", 80, "--d", 2, "--margin", 0.1, "--radius", 30, "-q")
    offset = "--no-fit-intercept" if scale == "unit" else "--fit-intercept"
    run("fit", "data.csv", "--scale", scale, offset, "--model", "m.linsep", "-q")
    found = facts(run("show", "m.linsep", "data.csv", "--json"))
    assert found["left_out"] == {}
    assert {"figures/theorem.png", "figures/passes.png", "figures/bracket.png"} <= set(found["figures"])
    X, y = read("data.csv").to_arrays()
    model = load("m.linsep")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows have no names here
        checked = audit(model, X, y)
    assert checked.holds
    if scale == "unit":  # the theorem in the unit ball: 1/γ²
        assert checked.bound.radius == pytest.approx(1)
        assert checked.bound.upper == pytest.approx(1 / checked.bound.margin.lower**2)


def test_show_says_what_it_leaves_out(run, tmp_path):
    run("generate", "data.csv", "--n", 60, "--d", 3, "--margin", 0.1, "--flip", 0.2, "-q")
    run("fit", "data.csv", "--max-iter", 9, "--model", "m.linsep", "-q")
    found = facts(run("show", "m.linsep", "data.csv", "--json"))
    assert "not linearly separable" in found["left_out"]["theorem"]
    assert (tmp_path / "figures" / "bracket.png").exists()
    run("generate", "new.svm", "--n", 30, "--d", 3, "--random-state", 5, "-q")  # sparse rows
    found = facts(run("show", "m.linsep", "new.svm", "--out", "new", "--json"))
    assert found["figures"] == ["new/plane.png", "new/margins.png"]
    assert "trained on 60 rows, but X has 30" in found["left_out"]["passes"]


def test_show_does_not_take_other_rows_for_those_of_the_run(run, tmp_path):
    run("generate", "data.csv", "--n", 60, "--d", 2, "--margin", 0.1, "-q")
    run("fit", "data.csv", "--model", "m.linsep", "-q")
    run("generate", "new.csv", "--n", 60, "--d", 2, "--margin", 0.1, "--random-state", 5, "-q")
    found = facts(run("show", "m.linsep", "new.csv", "--json"))
    assert found["figures"] == ["figures/plane.png", "figures/margins.png"]
    assert set(found["left_out"]) == {"passes", "theorem", "bracket"}
    assert all("the rows or their order differ" in reason for reason in found["left_out"].values())
    rows = (tmp_path / "new.csv").read_text().replace(",-1\n", ",zebra\n")
    (tmp_path / "zebra.csv").write_text(rows)
    code, out, err = run("show", "m.linsep", "zebra.csv", "--out", "none")
    assert (code, out) == (2, "")
    assert "zebra" in err
    assert not (tmp_path / "none").exists()  # nothing to draw, nothing left behind


def test_show_draws_many_classes(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 2)) + c for c in ([0, 0], [9, 0], [0, 9])])
    save(Perceptron().fit(X, np.repeat([0, 1, 2], 20)), "m.linsep")  # in the folder of the fixture
    np.savetxt("data.csv", np.c_[X, np.repeat([0, 1, 2], 20)], delimiter=",", header="a,b,y", comments="")
    found = facts(run("show", "m.linsep", "data.csv", "--json"))
    assert "figures/regions.png" in found["figures"]
    assert "figures/theorem.png" in found["figures"]
    assert (tmp_path / "figures" / "regions.png").exists()


def test_report_writes_one_page(run, tmp_path):
    run("generate", "data.csv", "--n", 90, "--d", 2, "--margin", 0.1, "-q")
    found = facts(run("report", "data.csv", "--json"))
    X, y = read("data.csv").to_arrays()
    assert found["verdict"] == "separable"
    assert found["audit"] is True
    assert found["mistakes"] <= found["mistake_bound"] == mistake_bound(X, y).mistakes
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html"] == ["report.html"]
    html = (tmp_path / "report.html").read_text()
    assert "<title>data.csv</title>" in html
    assert ">x1<" in html  # the names of the columns
    code, out, err = run("report", "data.csv", "--out", "other.html", "--title", "Mine", "--no-offset")
    assert (code, err) == (0, "")
    assert "separable" in out
    assert "through the origin" in (tmp_path / "other.html").read_text()


@pytest.mark.parametrize(
    ("classes", "kind"), few([(3, "separable"), (2, "overlap"), (2, "separable"), (3, "quasi")], 2)
)
@pytest.mark.filterwarnings("always:the numbers have more digits")
def test_numbers_of_more_digits_than_doubles_have_a_margin_and_a_report(run, classes, kind):
    """As NumPy writes them by default: the verdict is about the decimals, margin and run about the nearest doubles."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 2)) + c for c in ([0, 0], [9, 0], [0, 9])[:classes]])
    y = np.repeat(np.arange(classes), 20)
    y[0] = kind != "separable"  # a row in the midst of another class
    np.savetxt("data.csv", np.c_[X, y], delimiter=",", fmt=["%.18e", "%.18e", "%d"], header="a,b,y", comments="")
    found = facts(run("report", "data.csv", "--json"))
    assert found["verdict"] == kind
    if kind == "separable":
        assert found["mistakes"] <= found["mistake_bound"] == mistake_bound(X, y).mistakes
        found = facts(run("separate", "data.csv", "--json"))
        assert found["values"] == "decimal"
        assert found["margin_lower"] == pytest.approx(largest_margin(X, y).lower, rel=1e-6)
    elif classes == 3:
        for values in ("decimal", "binary"):
            found = json.loads(run("separate", "data.csv", "--values", values, "--json")[1])
            assert (found["verdict"], found["values"]) == (kind, values)
    else:
        code, out, err = run("errors", "data.csv", "--proof", "errors.json", "--json")
        assert (code, json.loads(out)["upper"], err.count("\n")) == (0, 1, 1)
        assert "counts the errors for the nearest doubles" in err
        assert run("verify", "errors.json", "data.csv", "--plain")[0] == 0
        code, _, err = run("errors", "data.csv", "--values", "decimal")
        assert (code, err.count("\n")) == (2, 1)
        assert "--values binary allows it" in err
