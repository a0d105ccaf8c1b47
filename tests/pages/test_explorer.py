"""The page: its numbers are the library's, its server answers nobody else, and a browser can do everything on it."""

import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import linsep
from linsep.pages.explorer import server, share
from linsep.pages.explorer.engine import answer
from linsep.pages.explorer.presets import PRESETS
from linsep.pages.explorer.requests import MOST_COLUMNS, MOST_ROWS, Points, Settings
from linsep.wording import STOPPED

TOKEN = "a-token-that-nobody-guesses"
ALL = sorted(PRESETS)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def client(**options):
    app = server.application(TOKEN, 8000, options.pop("first", None))
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False, **options)


def asked(name, **changes):
    chosen = PRESETS[name]()
    return {"points": chosen.points.plain(), "settings": {**chosen.settings.plain(), **changes}}


def rows_of(question):
    return np.array(question["points"]["rows"]), np.array(question["points"]["labels"])


def fitted(question):
    X, y = rows_of(question)
    chosen = Settings.of(question["settings"])
    return linsep.Perceptron(**chosen.parameters()).fit(X, y), X, y


# ---------------------------------------------------------------------------------------------------------------
# Answers


@pytest.mark.parametrize("name", ALL)
def test_what_is_shown_of_every_preset_is_what_the_library_says(name):
    question = asked(name)
    shown = share.answered("compute", question)
    model, X, y = fitted(question)
    run = shown["run"]
    assert run["mistakes"] == model.mistakes_
    assert run["stop"] == model.stop_reason_
    assert run["trace"] == model.trace_.tolist()
    assert run["counts"] == model.mistake_counts_.tolist()
    assert run["errors"] == int(np.count_nonzero(model.predict(X) != y))
    last = np.column_stack((model.coef_, model.intercept_))
    if X.shape[1] == 2:
        assert np.array_equal(np.array(run["planes"][-1]), last)
    np.testing.assert_allclose(run["growth"][-1], np.square(last).sum(), rtol=1e-9)
    offset = question["settings"]["fit_intercept"]
    verdict = linsep.separate(X, y, fit_intercept=offset)
    assert shown["verdict"]["kind"] == verdict.kind
    assert shown["verdict"]["checked"] is True
    if verdict.kind == "separable":
        bound = linsep.mistake_bound(X, y, fit_intercept=offset)
        assert shown["theorem"]["allowed"] == bound.mistakes
        assert shown["theorem"]["holds"] is True
        best = linsep.largest_margin(X, y, form="affine" if offset else "origin")
        assert (shown["margin"]["lower"], shown["margin"]["upper"]) == (best.lower, best.upper)
    else:
        assert shown["theorem"] is None
        assert shown["verdict"]["refutation"]["rows"] == verdict.refutation.rows.tolist()


@pytest.mark.parametrize("order", ["cyclic", "shuffled", "first", "worst"])
def test_every_moment_follows_from_the_one_before(order):
    shown = share.answered("compute", asked("duplicate", order=order, eta0=0.5, max_updates=40, random_state=3))
    X, y = rows_of(asked("duplicate"))
    run = shown["run"]
    w = np.zeros(3)
    for k, i in enumerate(run["trace"]):
        x = np.append(X[i], 1.0)
        assert y[i] * (w @ x) <= 1e-12  # a mistake
        np.testing.assert_allclose(run["leads"][k + 1], y[i] * (w @ x), atol=1e-12)
        np.testing.assert_allclose(run["before"][k + 1][0], w, atol=1e-12)
        w += 0.5 * y[i] * x
        np.testing.assert_allclose(run["after"][k + 1][0], w, atol=1e-12)
        np.testing.assert_allclose(run["moved"][k + 1], np.linalg.norm(w) / (0.5 * (k + 1)), atol=1e-12)
    assert run["frames"] == list(range(41))
    assert sum(run["counts"]) == run["mistakes"] == 40


def test_a_mistake_may_be_a_wrong_prediction():
    """The lecture's three points: the first one is predicted right by the tie, and costs no update."""
    points = {"rows": [[1, 0], [0, 1], [-1, -1]], "labels": [0, 1, 2]}
    settings = {"fit_intercept": False, "mistake": "prediction"}
    shown = share.answered("compute", {"points": points, "settings": settings})
    assert shown["run"]["trace"] == [1, 2]
    assert [w[:2] for w in shown["run"]["planes"][-1]] == [[1, 0], [0, 1], [-1, -1]]
    assert shown["theorem"]["holds"] is True
    worked = {on: share.answered("compute", asked("worked", mistake="prediction", on_plane=on)) for on in (-1, 1)}
    assert [worked[on]["run"]["trace"][0] for on in (-1, 1)] == [0, 1]
    assert "on_plane must be one of -1, 1" in share.answered("compute", asked("worked", on_plane=0))["error"]
    assert "on_plane must be one of -1, 1" in share.answered("compute", asked("worked", on_plane=True))["error"]


def test_the_worked_example_meets_its_bound_with_equality():
    shown = share.answered("compute", asked("worked"))
    assert shown["run"]["planes"][-1] == [[1.0, 1.0, 0.0]]
    assert shown["run"]["trace"] == [0, 1]
    assert shown["theorem"]["allowed"] == 2
    assert shown["theorem"]["radius"] == 1.0
    np.testing.assert_allclose(shown["theorem"]["margin"], 0.5**0.5, rtol=1e-6)
    assert shown["theorem"]["progress"][-1] >= shown["theorem"]["progress_bound"][-1] * (1 - 1e-9)


def test_start_weights_are_where_the_run_begins():
    shown = share.answered("compute", asked("worked", start=[-3.0, 1.0]))
    assert shown["run"]["after"][0] == [[-3.0, 1.0, 0.0]]
    assert shown["run"]["from_zero"] is False
    assert shown["run"]["mistakes"] <= shown["theorem"]["allowed"]
    wrong = share.answered("compute", asked("worked", start=[1.0]))
    assert wrong["error"] == "start weights must be 2 numbers, one per column"


@pytest.mark.parametrize("name", ["xor", "touching", "duplicate", "iris"])
def test_a_refutation_walks_back_to_zero(name):
    question = asked(name)
    refuted = share.answered("compute", question)["verdict"]["refutation"]
    X, y = rows_of(question)
    classes = sorted(set(y.tolist()))
    total = [[Fraction(0)] * (X.shape[1] + 1) for _ in classes]
    for row, rival, weight in zip(refuted["rows"], refuted["rivals"], refuted["multipliers"], strict=True):
        z = [Fraction(float(value)) for value in X[row]] + [Fraction(1)]
        for j, value in enumerate(z):
            total[classes.index(y[row])][j] += Fraction(weight) * value
            total[rival][j] -= Fraction(weight) * value
    assert all(value == 0 for part in total for value in part)
    for walk in refuted["walks"]:
        np.testing.assert_allclose(walk["sums"][-1], [0, 0], atol=1e-9)


@pytest.mark.parametrize("name", ["xor", "touching", "duplicate"])
def test_the_plane_with_the_fewest_errors(name):
    question = asked(name)
    found = share.answered("compute", question)["fewest"]
    X, y = rows_of(question)
    assert found["lower"] == found["upper"] == len(found["rows"]) == linsep.fewest_errors(X, y).upper
    (a, b, c) = found["planes"][0]
    wrong = np.flatnonzero(np.where(y > 0, 1, -1) * (X @ [a, b] + c) <= 1e-12)
    assert wrong.tolist() == sorted(found["rows"])
    rest = np.setdiff1d(np.arange(len(X)), found["rows"])
    assert len(set(y[rest])) < 2 or linsep.separate(X[rest], y[rest]).kind == "separable"
    assert [-label for label in y[found["rows"]].tolist()] == found["labels"]
    assert share.answered("compute", asked("worked"))["fewest"] is None


def test_the_fewest_errors_of_three_classes():
    points = {
        "rows": [[0, 0], [1, 0], [9, 1], [9, 1], [0, 9], [1, 8], [9, 1]],
        "labels": ["a", "a", "b", "b", "c", "c", "c"],
    }
    found = share.answered("compute", {"points": points, "settings": {"max_updates": 50}})["fewest"]
    assert (found["rows"], found["labels"]) == ([6], ["b"])  # a point of c where two of b are


def test_a_long_run_is_thinned_and_keeps_its_ends():
    X = np.array([[1.0, 0.0], [1.0, 0.01], [-1.0, 0.02]])
    settings = {"fit_intercept": False, "max_updates": 3000, "max_iter": 10_000}
    points = {"rows": X.tolist(), "labels": [1, -1, 1]}
    run = share.answered("compute", {"points": points, "settings": settings})["run"]
    assert run["mistakes"] == 3000
    assert len(run["frames"]) == len(run["planes"]) == len(run["growth"]) == 1000
    assert (run["frames"][0], run["frames"][-1]) == (0, 3000)
    assert len(run["trace"]) == 3000
    near = share.answered("compute", {"points": points, "settings": settings, "around": 1501})
    assert set(range(1450, 1550)) <= set(near["run"]["frames"])
    assert "around" in share.answered("compute", {**asked("xor"), "around": -1})["error"]


def test_without_an_offset_the_verdict_is_about_planes_through_the_origin():
    points = {"rows": [[1, 1], [2, 1.5], [3, 3], [4, 3.5]], "labels": ["a", "a", "b", "b"]}
    for offset, title in ((False, "Not separable through the origin"), (True, "Separable")):
        shown = share.answered("compute", {"points": points, "settings": {"fit_intercept": offset}})
        assert shown["verdict"]["title"] == title
        assert ("through the origin" in shown["verdict"]["said"]) != offset
        assert shown["verdict"]["offset_helps"] != offset
    assert share.answered("compute", asked("xor", fit_intercept=False))["verdict"]["offset_helps"] is False


def formula(text):
    """Return a printed formula as Python."""
    return re.sub(r"(?<=\d)\(", "*(", text.replace("²", "**2").replace("·", "*"))


@pytest.mark.parametrize("name", ["worked", "teacher", "three", "five", "scaled"])
@pytest.mark.parametrize("offset", [False, True])
def test_the_printed_formula_gives_the_printed_bound(name, offset):
    question = asked(name, fit_intercept=offset)
    shown = share.answered("compute", question)
    if shown["theorem"] is None:
        assert shown["verdict"]["kind"] != "separable"
        return
    X, y = rows_of(question)
    bound = linsep.mistake_bound(X, y, fit_intercept=offset)
    _, filled, value = shown["theorem"]["limit_said"].split(" = ")
    assert eval(formula(filled), {"__builtins__": {}}) == pytest.approx(float(value), rel=2e-4)
    assert float(value) == pytest.approx(bound.upper, rel=2e-4)
    longest = np.linalg.norm(X, axis=1).max()
    assert shown["theorem"]["radius"] == pytest.approx(longest)
    assert shown["run"]["radius"] == pytest.approx(longest)  # R is one thing, offset or not


@pytest.mark.parametrize(
    "changes", [{"start": [-3.0, 1.0]}, {"start": [2.0, 1.0], "eta0": 0.5}, {"update_margin": 0.3}]
)
def test_with_start_weights_the_printed_numbers_give_the_printed_bound(changes):
    question = asked("worked", **changes)
    said = share.answered("compute", question)["theorem"]["limit_said"]
    value, h, r = map(float, re.search(r"= ([\d.]+), with h = .* = ([-\d.]+) and r = .* = ([-\d.]+)$", said).groups())
    assert h + (h * h + r) ** 0.5 == pytest.approx(value, rel=1e-4)
    X, y = rows_of(question)
    start, eta, m = changes.get("start"), changes.get("eta0", 1.0), changes.get("update_margin", 0.0)
    bound = linsep.mistake_bound(X, y, fit_intercept=False, eta0=eta, coef_init=start, update_margin=m)
    assert value == pytest.approx(bound.upper, rel=1e-4)


def test_classes_called_after_colors_are_sent_theirs():
    points = {"rows": [[0, 0], [1, 1]], "labels": ["red", "blue"]}
    colors = share.answered("compute", {"points": points})["colors"]
    for shade in (0, 1):
        red, blue = (colors[label][shade] for label in ("red", "blue"))
        assert int(red[1:3], 16) > int(red[5:], 16)
        assert int(blue[5:], 16) > int(blue[1:3], 16)
    assert share.answered("compute", asked("xor"))["colors"] == {}


def test_words_come_from_the_one_table():
    for stop, changes in (("separated", {}), ("max_updates", {"max_updates": 1}), ("max_iter", {"max_iter": 1})):
        run = share.answered("compute", asked("worked", **changes))["run"]
        assert (run["stop"], run["stopped"]) == (stop, STOPPED[stop])
    assert not set(STOPPED.values()) & set(re.findall(r'"([^"]*)"', share.module()))


def test_columns_are_chosen_or_projected():
    question = asked("iris")
    X, y = rows_of(question)
    whole = share.answered("compute", question)
    assert whole["view"]["kind"] == "projection"
    assert "projected" in whole["view"]["said"]
    chosen = share.answered("compute", asked("iris", columns=[0, 2]))
    assert chosen["points"] == X[:, [0, 2]].tolist()
    assert chosen["view"]["axes"] == ["sepal length", "petal length"]
    # of two classes: along the last w the projection keeps every score
    some = y != "virginica"
    points = Points.of_arrays(X[some], y[some])
    shown = answer(points, Settings())
    a, b, c = shown["run"]["planes"][-1][0]
    model = linsep.Perceptron(shuffle=False).fit(X[some], y[some])
    seen = np.array(shown["points"])
    np.testing.assert_allclose(seen @ [a, b] + c, model.decision_function(X[some]), atol=1e-8)
    assert share.answered("compute", asked("xor", columns=[0, 1]))["view"]["kind"] == "columns"
    assert "no column 9" in share.answered("compute", asked("iris", columns=[0, 9]))["error"]


def test_the_widest_margin_of_many_classes_keeps_every_point_as_far_as_it_says():
    question = asked("five")
    X, y = rows_of(question)
    margin = share.answered("compute", question)["margin"]
    S = X @ np.array(margin["planes"])[:, :2].T + np.array(margin["planes"])[:, 2]
    leads = S[np.arange(len(X)), y][:, None] - S
    leads[np.arange(len(X)), y] = np.inf
    np.testing.assert_allclose(leads.min(), margin["lower"], rtol=1e-9)
    on_the_edge = np.flatnonzero(leads.min(axis=1) < margin["upper"] * (1 + 1e-3)).tolist()
    assert set(margin["support"]) <= set(on_the_edge)


@pytest.mark.parametrize("name", ["five", "three", "iris"])
def test_one_against_rest_is_a_binary_perceptron_for_every_class(name):
    question = asked(name, multi_class="ovr", max_updates=3000, max_iter=200)
    shown = share.answered("compute", question)
    X, y = rows_of(question)
    model, _, _ = fitted(question)
    run = shown["run"]
    assert run["apart"] is True
    assert shown["theorem"] is None
    assert run["trace"] == model.trace_.tolist()
    if X.shape[1] == 2:
        assert np.array_equal(np.array(run["planes"][-1]), np.column_stack((model.coef_, model.intercept_)))
    for part, label in zip(shown["rest"], model.classes_, strict=True):
        verdict = linsep.separate(X, y == label)
        assert (part["kind"], part["checked"]) == (verdict.kind, True)
        if verdict.kind != "separable":
            assert part["rows"] == np.unique(verdict.refutation.rows).tolist()
            assert shown["margin"]["planes"][part["class"]] is None
            continue
        alone = linsep.Perceptron(shuffle=False).fit(X, y == label)
        assert part["mistakes"] == alone.mistakes_ <= part["allowed"]
        assert part["allowed"] == linsep.mistake_bound(X, y == label).mistakes
    assert sum(part["mistakes"] for part in shown["rest"]) == run["mistakes"]


@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
def test_moments_of_many_classes_follow_from_the_ones_before(multi_class):
    question = asked("five", multi_class=multi_class, eta0=0.5, order="shuffled")
    X, y = rows_of(question)
    run = share.answered("compute", question)["run"]
    W = np.zeros((5, 3))
    for k, i in enumerate(run["trace"]):
        x, other = np.append(X[i], 1.0), run["rivals"][k + 1]
        if multi_class == "ovr":
            sign = 1 if y[i] == other else -1
            lead = sign * W[other] @ x
            W[other] += 0.5 * sign * x
        else:
            lead = (W[y[i]] - W[other]) @ x
            W[y[i]] += 0.5 * x
            W[other] -= 0.5 * x
        assert lead <= 1e-12
        np.testing.assert_allclose(run["leads"][k + 1], lead, atol=1e-12)
        np.testing.assert_allclose(run["after"][k + 1], W, atol=1e-12)
        assert run["growth"][k + 1] <= run["growth_bound"][k + 1] * (1 + 1e-12)


@pytest.mark.parametrize("name", ["duplicate", "three"])
@pytest.mark.parametrize("keep", ["last", "best", "average", "vote"])
def test_what_is_kept_is_what_the_library_hands_over(name, keep):
    question = asked(name, keep=keep, order="shuffled", max_updates=25)
    run = share.answered("compute", question)["run"]
    model, X, _ = fitted(question)
    if keep in ("best", "average"):
        assert np.array_equal(np.array(run["kept"]), np.column_stack((model.coef_, model.intercept_)))
    else:
        assert run["kept"] is None
    if keep != "vote":
        assert run["vote"] is None
        return
    spots = np.array(run["vote"])
    assert len(spots) > 40
    tiny = 0.03 * np.ptp(X, axis=0).max() * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    around = model.predict((spots[:, None] + tiny).reshape(-1, 2)).reshape(-1, 4)
    assert (around != around[:, :1]).any(axis=1).all()  # on every spot the vote changes its mind


def test_a_projection_is_held_when_it_is_asked_for():
    question = asked("iris")
    view = share.answered("compute", question)["view"]
    question["points"]["rows"][0][2] += 1.5
    moved = share.answered("compute", {**question, "view": view})
    assert (moved["view"]["origin"], moved["view"]["basis"]) == (view["origin"], view["basis"])
    seen = (np.array(question["points"]["rows"]) - view["origin"]) @ np.array(view["basis"]).T
    np.testing.assert_allclose(moved["points"], seen, atol=1e-12)
    assert share.answered("compute", question)["view"]["basis"] != view["basis"]
    for wrong in ({}, [], {"origin": [0.0], "basis": [[1.0], [1.0]]}, {**view, "basis": [[float("nan")] * 4] * 2}):
        assert share.answered("compute", {**question, "view": wrong})["error"].startswith("view must ")
    assert share.answered("compute", {**asked("xor"), "view": view})["view"]["kind"] == "columns"


def test_one_class_and_no_points_are_no_error():
    for rows, labels in (([], []), ([[1.0, 2.0]], [1]), ([[1.0], [2.0]], ["a", "a"])):
        shown = share.answered("compute", {"points": {"rows": rows, "labels": labels}, "settings": {}})
        assert shown["run"] is None
        assert "two classes" in shown["note"]
    one = share.answered("compute", {"points": {"rows": [[1.0], [2.0]], "labels": ["a", "b"]}})
    assert one["verdict"]["kind"] == "separable"
    assert one["points"] == [[1.0, 0.0], [2.0, 0.0]]


def test_pasted_text_is_read_as_files_are():
    got = share.answered("read", {"text": "a,b,label\n1,2,yes\n3,4,no\n"})
    assert got["points"] == {"rows": [[1, 2], [3, 4]], "labels": ["yes", "no"], "names": ["a", "b"]}
    assert share.answered("read", {"text": "0.5 1 1\n-1 0.25 -1\n"})["points"]["labels"] == [1, -1]
    words = share.answered("read", {"text": "x,y,label\n0,0,a\n1,oh,b\n"})
    assert words["points"]["names"] == ["x", "y=0", "y=oh"]
    counted = share.answered("read", {"text": "id,x,y,label\n1,5,0,a\n2,6,3,b\n3,1,2,a\n"})
    assert counted["points"]["names"] == ["x", "y"]
    assert "id" in counted["said"]  # the column that only counts the rows is left out, and that is said
    for text in ("", "1,2,1\n3,1\n", "\x00\xff", "1,nan,1\n2,3,0"):
        assert share.answered("read", {"text": text})["error"]


def test_what_is_too_much_is_said():
    rows = [[0.0, 0.0]] * (MOST_ROWS + 1)
    assert "shows up to" in share.answered("compute", {"points": {"rows": rows, "labels": [1] * len(rows)}})["error"]
    labels = list(range(11))
    assert "labels" in share.answered("compute", {"points": {"rows": [[0.0]] * 11, "labels": labels}})["error"]
    source = io.BytesIO(b"".join(b"%d,%d\n" % (i, i % 2) for i in range(MOST_ROWS + 5)))
    points, said = Points.of_source(source, format="csv")
    assert len(points.rows) == MOST_ROWS
    assert f"first {MOST_ROWS}" in said


@pytest.mark.parametrize(("points", "said"), [
    ([], "points must be an object with rows and labels"),
    ({"rows": 5}, "rows must be a list"),
    ({"rows": [5], "labels": [1]}, "a row must be a list"),
    ({"rows": [[]], "labels": [1]}, f"this page takes 1 to {MOST_COLUMNS} columns, got 0"),
    ({"rows": [[1, 2]], "labels": []}, "1 points but 0 labels"),
    ({"rows": [[1, 2]], "labels": [1], "names": ["a"]}, "1 names for 2 columns"),
    ({"rows": [[1, 2], [1]], "labels": [1, 2]}, "point 2 has 1 coordinates, but the first point has 2"),
    ({"rows": [["x"]], "labels": [1]}, "point 1 must be a number"),
    ({"rows": [[True]], "labels": [1]}, "point 1 must be a number"),
    ({"rows": [[1]], "labels": [None]}, "a label must be a whole number or a word"),
])  # fmt: skip
def test_points_that_are_none_are_named(points, said):
    assert share.answered("compute", {"points": points})["error"] == said


@pytest.mark.parametrize(("changes", "said"), [
    ({"fit_intercept": 1}, "fit_intercept must be true or false"),
    ({"order": "best"}, "order must be one of cyclic, shuffled, first, worst"),
    ({"keep": "first"}, "keep must be one of last, best, average, vote"),
    ({"max_iter": True}, "max_iter must be a whole number from 1 to "),
    ({"random_state": 0.5}, "random_state must be a whole number from 0 to 2147483647"),
    ({"columns": [1, 1]}, "columns must be two different column numbers, counted from 0"),
])  # fmt: skip
def test_settings_that_are_none_are_named(changes, said):
    assert share.answered("compute", asked("xor", **changes))["error"].startswith(said)


def test_a_preset_that_is_none_is_named():
    assert (
        share.answered("preset", {"name": "teacher", "margin": 2})["error"] == "margin must be a number from 0 to 0.9"
    )
    assert share.answered("preset", {"name": "zebra"})["error"].startswith("the preset must be one of ")


def test_rows_from_python_and_from_files():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    points = Points.of_arrays(frame, ["x", "y"])
    assert (points.rows, points.labels, points.names) == (((1, 3), (2, 4)), ("x", "y"), ("a", "b"))
    assert Points.of_arrays(sp.csr_array([[0, 1]]), [1]).rows == ((0, 1),)
    with pytest.raises(ValueError, match="X must have two dimensions, got 1"):
        Points.of_arrays([1, 2], [0, 1])
    wide = ",".join(["1"] * (MOST_COLUMNS + 2))
    with pytest.raises(ValueError, match=f"takes up to {MOST_COLUMNS} features, got {MOST_COLUMNS + 1}"):
        Points.of_source(io.BytesIO(f"{wide}\n{wide}\n".encode()), format="csv")


def test_classes_none_of_which_can_be_told_from_the_rest():
    points = {"rows": [[0, 0], [1, 1]] * 3, "labels": [0, 0, 1, 1, 2, 2]}
    shown = share.answered("compute", {"points": points, "settings": {"multi_class": "ovr", "max_updates": 50}})
    assert shown["margin"] is None
    assert [each["kind"] for each in shown["rest"]] == ["overlap"] * 3
    for each in shown["rest"]:  # a row of the class and the same point of another one
        rows = [points["rows"][i] for i in each["rows"]]
        assert any(rows.count(row) > 1 for row in rows)


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port}: .*Leave out --port to use a free one"):
            server.serve(port=port, browser=False, told=lambda _: None)


@pytest.mark.parametrize("changes", [
    {}, {"order": "worst", "eta0": 0.25}, {"start": [2.0, -1.0, 0.5]}, {"order": "shuffled"},
    {"start": [2.0, -1.0], "fit_intercept": False},
])  # fmt: skip
def test_the_script_makes_the_same_run(changes, capsys):
    question = asked("xor", max_updates=30, **changes)
    text = share.answered("export", {**question, "as": "python"})["text"]
    scope = {}
    with pytest.warns(Warning, match="max_updates=30"):
        exec(text, scope)
    shown = share.answered("compute", question)
    assert scope["model"].trace_.tolist() == shown["run"]["trace"]
    assert scope["model"].coef_.tolist() == [shown["run"]["planes"][-1][0][:2]]
    assert "Verdict(overlap" in capsys.readouterr().out


def test_the_script_learns_the_columns_that_are_shown():
    question = asked("iris", columns=[2, 0])
    scope = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(share.answered("export", {**question, "as": "python"})["text"].split("print")[0], scope)
    assert np.array_equal(scope["X"], np.array(question["points"]["rows"])[:, [2, 0]])
    assert scope["model"].trace_.tolist() == share.answered("compute", question)["run"]["trace"]


def test_csv_comes_back_as_the_same_points():
    question = asked("iris")
    text = share.answered("export", {**question, "as": "csv"})["text"]
    assert share.answered("read", {"text": text})["points"] == question["points"]


def test_a_saved_page_holds_everything_and_ends_no_script_early():
    question = asked("xor")
    question["points"]["labels"] = ["</script><script>alert(1)</script>", "b", "b", "b"]
    text = share.answered("export", {**question, "as": "html"})["text"]
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    data = re.search(r'id="linsep-run">(.*?)</script>', text).group(1)
    assert json.loads(data)["points"]["labels"][0].startswith("</script>")
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text.split("<body>")[0])


def test_the_widget_answers_as_the_server_does():
    widget = linsep.explore([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    sent = []
    widget.send = sent.append
    widget._answer(
        widget, {"number": 7, "kind": "compute", "asked": {"points": widget.points, "settings": widget.settings}}, []
    )
    assert sent[0]["number"] == 7
    assert sent[0]["answer"]["run"]["mistakes"] == 2
    assert linsep.explore().points["rows"] == widget.points["rows"]
    with pytest.raises(ValueError, match="no setting 'colour'"):
        linsep.explore([[0], [1]], [0, 1], colour="red")
    with pytest.raises(ValueError, match="give both X and y"):
        linsep.explore([[0], [1]])


# ---------------------------------------------------------------------------------------------------------------
# The server


def test_only_those_who_know_the_token_are_let_in():
    web = client()
    for name in ("", "explore.js", "explore.css", "start"):
        assert web.get(f"/{TOKEN}/{name}").status_code == 200
        assert web.get(f"/{TOKEN[:-1]}/{name}").status_code == 404
        assert web.get(f"/{name}").status_code == 404
    assert web.post(f"/{TOKEN}/compute", json=asked("worked")).json()["run"]["mistakes"] == 2
    assert web.post("/x/compute", json=asked("worked")).status_code == 404
    assert web.get(f"/{TOKEN}/../engine.py").status_code == 404
    assert web.get(f"/{TOKEN}/%2e%2e/engine.py").status_code == 404


def test_other_names_and_other_pages_are_refused():
    web = client()
    path = f"/{TOKEN}/compute"
    assert web.get(f"/{TOKEN}/", headers={"Host": "evil.example:8000"}).status_code == 421
    assert web.get(f"/{TOKEN}/", headers={"Host": "127.0.0.1:9"}).status_code == 421
    for origin in ("http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001"):
        assert web.post(path, json=asked("worked"), headers={"Origin": origin}).status_code == 403
    assert web.post(path, json=asked("worked"), headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert web.post(path, json=asked("worked"), headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200
    with pytest.raises(WebSocketDisconnect) as refused, web.websocket_connect(f"/{TOKEN}/socket"):
        pass
    assert refused.value.code == 1008


def test_pages_carry_their_guards():
    page = client().get(f"/{TOKEN}/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert not re.search(r"https?://", share.page("index.html") + share.page("explore.css"))
    addresses = set(re.findall(r"https?://[^\"'`\s]+", share.module()))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_a_request_for_nothing_is_refused():
    web = client()
    for method in ("OPTIONS", "GET", "POST"):
        answer = web.request(method, "http://127.0.0.1:8000/*")
        assert answer.status_code == 404


@pytest.fixture
def impatient(monkeypatch):
    """Serve with little patience, in this process; return the address."""
    monkeypatch.setattr(server.Impatient, "patience", 0.3)
    config = uvicorn.Config(server.application(TOKEN, 0), http=server.Impatient, log_level="warning", ws="none")
    serving = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        while not serving.started:
            time.sleep(0.01)
        yield listening.getsockname()
        serving.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\nGET"]
)
def test_connections_that_never_ask_are_closed(impatient, sent):
    with socket.create_connection(impatient, timeout=60) as line:
        line.sendall(sent)
        got = b""
        while more := line.recv(4096):  # until the server closes it
            got += more
    assert b" 500 " not in got
    assert (b" 421 " in got) == (b"OPTIONS" in sent)


def test_too_large_and_broken_questions_are_refused():
    web = client()
    assert web.post(f"/{TOKEN}/read", content=b" " * (server.LARGEST + 1)).status_code == 413
    assert web.post(f"/{TOKEN}/compute", content=b"{").status_code == 400
    assert web.post(f"/{TOKEN}/compute", content=b"[" * 100_000).status_code == 400
    assert web.post(f"/{TOKEN}/compute", content=b"\xff\xfe").status_code == 400
    assert web.post(f"/{TOKEN}/nonsense", json={}).status_code == 404
    assert web.get(f"/{TOKEN}/compute").status_code == 404
    assert "error" in web.post(f"/{TOKEN}/compute", json=[1]).json()


WEB = client()
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
values = st.floats(allow_nan=True) | st.integers(-3, 3) | st.sampled_from([1e-320, -0.0, 1e11, 1e300, 2**70])
some_points = st.integers(0, 4).flatmap(
    lambda d: st.fixed_dictionaries(
        {
            "rows": st.lists(st.lists(values, min_size=d, max_size=d), max_size=6),
            "labels": st.lists(st.sampled_from([1, -1, 0, "a", True, 0.5, None]), max_size=6),
        },
    )
)
some_settings = st.dictionaries(
    st.sampled_from([*Settings().plain()]),
    anything | values | st.sampled_from(["first", "worst", [0, 1], [1.0, 1.0]]),
    max_size=4,
)


@given(
    kind=st.sampled_from(["compute", "preset", "read", "proof", "export"]),
    body=anything
    | st.fixed_dictionaries(
        {"points": some_points | anything, "settings": some_settings | anything},
        optional={
            "as": anything | st.sampled_from(["csv", "python", "html"]),
            "around": anything,
            "view": anything | st.fixed_dictionaries({"origin": anything, "basis": st.lists(anything, max_size=3)}),
        },
    )
    | st.fixed_dictionaries({"name": st.sampled_from([*PRESETS, "x"]), "margin": values, "seed": anything})
    | st.fixed_dictionaries({"text": st.text(max_size=60)}),
)
@settings(max_examples=150)
def test_no_question_brings_the_server_down(kind, body):
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    got = WEB.post(f"/{TOKEN}/{kind}", content=content)
    assert got.status_code in (200, 400)
    found = got.json()
    assert isinstance(found, dict)
    assert "Traceback" not in got.text


@given(rows=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=2, max_size=6), labels=st.data())
@settings(max_examples=40)
def test_any_points_get_a_full_answer(rows, labels):
    y = labels.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    got = WEB.post(
        f"/{TOKEN}/compute", json={"points": {"rows": rows, "labels": y}, "settings": {"max_updates": 50}}
    ).json()
    assert "error" not in got
    assert (got["run"] is None) == (len(set(y)) < 2)


def test_the_command_for_teachers_prints_an_address_and_ends_with_ctrl_c(tmp_path):
    """The page runs its other commands itself, but this one goes on until Ctrl-C."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "teach.md").read_text(encoding="utf-8")
    (tmp_path / "points.csv").write_text(re.search(r"printf '(.*)' > points.csv", page)[1].replace("\\n", "\n"))
    arguments = re.search(r"^linsep (explore .*)$", page, re.M)[1].split()
    command = [sys.executable, "-m", "linsep", *arguments, "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{30,}/", running.stdout.readline()).group()
        with urllib.request.urlopen(address + "start") as page:
            points = json.load(page)["first"]["points"]
        assert (points["rows"][1], points["labels"]) == ([0, -1], [1, -1, 1, -1])
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate()
    assert running.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(("start", "h", "r"), [([2, 0], -1, 4), ([1, 0], 0, 1), ([-3, 1], 3, 16), ([0, -2], 3, 4)])
def test_the_numbers_of_the_bound_are_those_of_the_lecture(start, h, r):
    """R = 1 and γ² = 1/2: h = 1 - w₀·u/γ = 1 - (w₀₁ + w₀₂), r = 2(‖w₀‖² - (w₀·u)²) = (w₀₁ - w₀₂)²."""
    assert h == 1 - sum(start)
    assert r == (start[0] - start[1]) ** 2
    said = share.answered("compute", asked("worked", start=[float(v) for v in start]))["theorem"]["limit_said"]
    assert re.search(rf"= {h} and r = .* = {r}$", said), said
