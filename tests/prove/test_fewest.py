"""The fewest errors of any plane: brute force agrees, certificates check in both ways, forged ones fail."""

import copy
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fewest_oracle as oracle
import linsep
from linsep.prove.check.linsep_check import ERRORS, Fails, Malformed, check_errors, form, form_of_errors
from linsep.prove.documents import claim_of, fewest_from
from linsep.prove.fewest.certificates import Combination, Proof
from oracles import in_integers

XOR = np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])


def least(X, y, *, offset=True, weights=None):
    """Return the fewest errors by brute force."""
    return oracle.fewest(oracle.items(X.tolist(), y.tolist(), offset=offset, weights=weights))


def checks(found, X, y):
    """Return what the two checks say, which must be the same."""
    fast, plain = found.check(X, y), found.check(X, y, plain=True)
    assert fast == plain
    return fast


def agrees(X, y, *, offset=True, weights=None):
    """Return the result, having compared it with brute force and checked its proof in both ways."""
    given_weights = {} if weights is None else {"sample_weight": weights}
    found = linsep.fewest_errors(X, y, fit_intercept=offset, **given_weights)
    assert found.lower == found.upper == least(X, y, offset=offset, weights=weights)
    assert found.proved
    assert checks(found, X, y)
    each = np.ones(len(y), dtype=int) if weights is None else np.asarray(weights)
    assert each[found.rows].sum() == found.upper
    return found


def random_case(seed):
    """Return rows of small integers or floats, duplicates, dependent columns, and labels."""
    rng = np.random.default_rng(seed)
    classes = int(rng.choice([2, 2, 2, 3]))
    d = int(rng.integers(1, 4 if classes == 2 else 3))
    n = int(rng.integers(classes, 12 if classes == 2 else 6))  # brute force takes long with many inequalities
    size = int(rng.integers(1, 5))
    X = rng.integers(-size, size + 1, (n, d)).astype(float) if size < 4 else rng.normal(size=(n, d))
    if rng.random() < 0.3 and d > 1:
        X[:, -1] = 2 * X[:, 0] + rng.integers(0, 2)
    if rng.random() < 0.3:
        X = np.vstack((X, X[rng.integers(0, n, 3 if classes == 2 else 1)]))
    y = rng.integers(0, classes, len(X))
    y[:classes] = range(classes)
    return X, y, bool(rng.random() < 0.7), rng.integers(0, 4, len(X)).tolist() if rng.random() < 0.4 else None


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_brute_force_agrees_on_degenerate_and_generic_data(block):
    for seed in range(25 * block, 25 * block + 25):
        X, y, offset, weights = random_case(seed)
        agrees(X, y, offset=offset, weights=weights)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 1)), min_size=2, max_size=9))
def test_brute_force_agrees_on_points_of_a_small_grid(points):
    table = np.array(points)
    X, y = table[:, :2], table[:, 2]
    y[:2] = (0, 1)
    agrees(X, y)


@pytest.mark.parametrize(
    ("X", "y", "offset", "fewest"),
    [
        ([[0.0], [1.0], [2.0]], [0, 0, 1], True, 0),  # separable
        ([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1], True, 1),  # the classes touch
        ([[1.0]] * 5, [0, 0, 1, 1, 1], True, 2),  # one point: the smaller class
        ([[0.0, 0.0]] * 4, [0, 1, 0, 1], True, 2),
        ([[0.0], [1.0]], [0, 1], False, 1),  # a row of zeros is on every plane through the origin
        ([[0.0], [0.0], [3.0], [-2.0]], [0, 1, 1, 0], False, 2),
        ([[1.0], [-1.0], [3.0], [-3.0], [2.0]], [1, 1, 1, 1, 0], False, 2),  # one class alone overlaps there
        ([[-1.0], [0.0], [1.0]], [0, 1, 0], True, 1),
        ([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [0, 1, 0], True, 1),  # dependent columns
        ([[0.0], [1.0], [2.0]], [0, 1, 2], True, 0),  # three classes in a line
        ([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], [0, 1, 2], True, 1),
    ],
)
def test_known_cases(X, y, offset, fewest):
    assert agrees(np.array(X), np.array(y), offset=offset).upper == fewest


def test_a_plane_through_a_point_of_both_labels_is_moved_beside_it():
    X = np.array(
        [[-1, 2], [1, -2], [-1, -1], [2, 1], [-2, 2], [-1, -1], [2, -1], [-1, -1], [-2, -1], [-2, 2], [-1, -1]]
    )
    y = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1])
    agrees(X, y, offset=False)


def test_rows_are_wrong_under_the_plane_and_sorted_by_depth():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 0, "b", "a")
    found = linsep.fewest_errors(X, y)
    side = np.where(y == "b", 1, -1) * (X @ found.w + found.b)
    assert set(np.flatnonzero(side <= 0)) == set(found.rows.tolist())
    assert (np.diff(found.depths) <= 0).all()
    assert found.depths == pytest.approx(-side[found.rows] / np.linalg.norm(found.w))
    rest = np.setdiff1d(np.arange(60), found.rows)
    assert linsep.separate(X[rest], y[rest]).kind == "separable"
    flipped = y.copy()
    flipped[found.rows] = np.where(y[found.rows] == "b", "a", "b")
    assert linsep.separate(X, flipped).kind == "separable"


def test_flipped_labels_of_a_teacher_are_found():
    X, y, _ = linsep.teacher(400, 3, margin=0.05, random_state=0)
    flipped = np.random.default_rng(1).choice(400, 6, replace=False)
    y[flipped] *= -1
    found = linsep.fewest_errors(X, y)
    assert found.proved
    assert found.upper <= 6
    assert set(found.rows.tolist()) <= set(flipped.tolist())


def test_storage_and_dtype_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (40, 3))
    y = rng.integers(0, 2, 40)
    wanted = linsep.fewest_errors(X, y)
    for other in (X.astype(np.uint8), X.astype(np.float32), sp.csr_array(X), sp.csc_matrix(X), X.tolist()):
        found = linsep.fewest_errors(other, y)
        assert (found.lower, found.upper) == (wanted.lower, wanted.upper)
        assert found.check(other, y)


def test_weights_are_multiplicities():
    X, y, *_ = random_case(5)
    weights = np.random.default_rng(5).integers(0, 4, len(y))
    weights[:2] = 1
    repeated = linsep.fewest_errors(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    found = linsep.fewest_errors(X, y, sample_weight=weights)
    assert (found.lower, found.upper) == (repeated.lower, repeated.upper)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (*XOR, {"time_limit": -1}, "time_limit must be"),
        (*XOR, {"max_nodes": -1}, "max_nodes must be"),
        (*XOR, {"max_proof_mb": -1}, "max_proof_mb must be"),
        (*XOR, {"sample_weight": [0.5] * 4}, "whole numbers"),
        (*XOR, {"sample_weight": [1, 1, -1, 1]}, "whole numbers not below 0, got -1 at row 2"),
        (*XOR, {"sample_weight": [1]}, "one number for each"),
        ([[1.0], [np.nan]], [0, 1], {}, "row 1"),
        ([[1.0], [2.0]], [0, 0], {}, "class"),
    ],
)
def test_bad_input_is_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        linsep.fewest_errors(X, y, **options)


# -----------------------------------------------------------------------------------------------------------------
# Limits


def overlapping(n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 1.5 * rng.normal(size=n) > 0).astype(int)


def test_an_open_bracket_is_proved_on_both_sides_and_the_same_for_the_same_budget_of_nodes():
    X, y, told = *overlapping(), []
    found, again = (
        linsep.fewest_errors(X, y, max_nodes=1, progress=lambda lower, upper: told.append((lower, upper)))
        for _ in range(2)
    )
    assert 0 < found.lower < found.upper
    assert checks(found, X, y)
    assert "between" in repr(found)
    assert json.dumps(claim_of(found)) == json.dumps(claim_of(again))
    assert told
    assert all(lower <= upper for lower, upper in told)


def test_no_time_at_all_still_gives_a_bracket():
    X, y = overlapping()
    found = linsep.fewest_errors(X, y, time_limit=0)
    assert 0 <= found.lower <= found.upper <= min(np.bincount(y))
    assert found.check(X, y)


def test_a_short_proof_on_request():
    X, y = overlapping(100, 3)
    whole = linsep.fewest_errors(X, y, max_nodes=3)
    size = len(json.dumps(claim_of(whole)))
    short = linsep.fewest_errors(X, y, max_nodes=3, max_proof_mb=0.4 * size / 1e6)
    assert len(json.dumps(claim_of(short), separators=(",", ":"))) <= 0.4 * size
    assert short.lower < whole.lower
    assert str(whole.lower) in short.note
    assert short.check(X, y)


@pytest.mark.compiled
def test_ctrl_c_returns_what_is_known(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import linsep, numpy as np\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(600, 8)); y = (X[:, 0] + 2 * rng.normal(size=600) > 0).astype(int)\n"
        "linsep.fewest_errors(X[:40, :2], y[:40], max_nodes=1)\n"
        "print('ready', flush=True)\n"
        "found = linsep.fewest_errors(X, y)\n"
        "print(found.lower, found.upper, found.check(X, y), flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    lower, upper, holds = child.communicate(timeout=120)[0].split()
    assert int(lower) < int(upper)
    assert holds == "True"


# -----------------------------------------------------------------------------------------------------------------
# Certain rows


@pytest.mark.parametrize("seed", range(12))
def test_certain_rows_are_in_every_smallest_set(seed):
    X, y, offset, _ = random_case(seed)
    X, y = X[:8, :2], (y[:8] > 0).astype(int)
    found = linsep.fewest_errors(X, y, fit_intercept=offset)
    things = oracle.items(X.tolist(), y.tolist(), offset=offset)
    wanted = []
    for i in range(len(y)):  # a row is certain if every smallest set has it: held right, the least is more
        heavy = [(1000, v) if k == i else (weight, v) for k, (weight, v) in enumerate(things)]
        if min(oracle.fewest(heavy), 1000) > found.upper:
            wanted.append(i)
    assert set(found.certain(X, y).tolist()) <= set(wanted)
    twins = {i for i in wanted if any(k != i and (X[k] == X[i]).all() and y[k] != y[i] for k in range(len(y)))}
    alone = {i for i in wanted if i not in twins and (offset or X[i].any())}
    assert alone <= set(found.certain(X, y).tolist())


# -----------------------------------------------------------------------------------------------------------------
# Certificates


def test_documents_are_read_back():
    X, y = overlapping(60, 3)
    three = X[:9], np.arange(9) % 3
    for found, data in (
        (linsep.fewest_errors(X, y, max_nodes=3), (X, y)),
        (linsep.fewest_errors(*three, sample_weight=np.arange(9)), three),
    ):
        again = linsep.Fewest.of(fewest_from(json.loads(json.dumps(claim_of(found)))))
        assert json.dumps(claim_of(again)) == json.dumps(claim_of(found))
        assert checks(again, *data)
        text = linsep.to_json(found, *data)
        assert linsep.verify(text, *data)
        assert not linsep.verify(text, data[0] + 1, data[1])


def test_a_certificate_is_about_its_data():
    X, y = overlapping(50, 3)
    found = linsep.fewest_errors(X, y)
    assert found.certificate.refutations
    changed = X.copy()
    changed[found.certificate.refutations[0].rows[0], 0] += 1
    assert not checks(found, changed, y)
    assert not checks(found, X, 1 - y)
    assert not found.check(X[:, :2], y)
    assert not found.check(X[1:], y[1:])
    assert not found.check(X, np.where(y == 1, "yes", "no"))


def test_a_refutation_with_negative_rows_serves_only_where_they_are_wrong():
    # x = 0 (-), 1 (+), 2 (-), 3 (+): one error at least; row 1 wrong and row 2 right leave none for 0 < 3 either way
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    good = agrees(X, y)
    assert good.upper == 1
    split = Proof(
        (Combination((0, 1, 2), (), (1, 2, 1)), Combination((1, 2, 3), (), (1, 2, 1))),
        (),
        [{"row": 1}, {"packing": [[0, 1 << 20]]}, {"packing": []}],
    )
    # wrong: it costs 1 itself; right: rows 0 and 2 cannot both be
    assert checks(replace(good, certificate=split), X, y)
    worse = replace(split, tree=[{"row": 0}, {"dead": 0}, {"packing": []}])
    assert not checks(replace(good, certificate=worse), X, y)
    reverse = Combination((0, 1, 2), (), (-1, -2, -1))
    assert not checks(replace(good, certificate=replace(split, refutations=(reverse, split.refutations[1]))), X, y)


def test_plain_check_says_what_fails():
    content = claim_of(linsep.fewest_errors(*XOR))
    rows, labels = in_integers(XOR[0].tolist()), XOR[1].tolist()

    def checked(claim):
        form({name: claim[name] for name in ERRORS}, ERRORS)
        form_of_errors(claim)
        return check_errors(claim, rows, labels)

    assert len(checked(content)) == 3
    for change, words in (
        ({"upper": 0}, "lower"),
        ({"upper": 2}, "weigh"),
        ({"lower": 2}, "lower bound is above"),
        ({"wrong": []}, "not strictly right"),
        ({"wrong": [0, 0]}, "twice"),
        ({"tree": []}, "ends too early"),
        ({"tree": [{"packing": []}]}, "lower bound"),
        ({"sample_weight": [1]}, "weights"),
        ({"classes": ["a"]}, "two classes"),
        ({"bits": None}, "whole number"),
    ):
        with pytest.raises((Fails, Malformed), match=words):
            checked({**copy.deepcopy(content), **change})


def test_the_oracle_agrees_with_trying_every_subset():
    for seed in range(30):
        X, y, offset, _ = random_case(seed)
        X, y = X[:7], y[:7]
        if set(y.tolist()) != {0, 1}:
            continue
        sizes = [
            size
            for size in range(len(y))
            for gone in itertools.combinations(range(len(y)), size)
            if separable(np.delete(X, gone, axis=0), np.delete(y, gone), offset)
        ]
        assert least(X, y, offset=offset) == min(sizes, default=len(y))


def separable(X, y, offset):
    """Say whether a plane separates, by the exact search; of one class, whether a direction does."""
    if len(set(y.tolist())) == 2:
        return linsep.separate(X, y, fit_intercept=offset).kind == "separable"
    if offset:
        return True
    both = np.vstack((X, -X)), np.concatenate((y, 1 - y))
    return linsep.separate(*both, fit_intercept=False).kind == "separable"


# -----------------------------------------------------------------------------------------------------------------
# Classifiers


def test_the_classifier_takes_data_that_overlap():
    X, y = overlapping(80, 3)
    labels = np.where(y == 1, "yes", "no")
    model = linsep.FewestErrorsClassifier(time_limit=None, max_nodes=2).fit(X, labels)
    assert model.errors_lower_ <= model.errors_upper_
    assert round((1 - model.score(X, labels)) * len(y)) == model.errors_upper_
    assert model.fewest_.check(X, labels)
    assert sorted(model.wrong_.tolist()) == np.flatnonzero(model.predict(X) != labels).tolist()
    heavy = linsep.FewestErrorsClassifier(time_limit=None).fit(*XOR, sample_weight=[1, 1, 1, 9])
    assert 3 not in heavy.wrong_


def test_largest_margin_of_what_remains():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.5, 0.0]])
    y = np.array([0, 0, 1, 1, 1])
    with pytest.raises(linsep.NotSeparable, match="not linearly separable"):
        linsep.MaxMarginClassifier().fit(X, y)
    model = linsep.MaxMarginClassifier(on_overlap="drop").fit(X, y)
    assert model.dropped_.tolist() == [4]
    other = linsep.MaxMarginClassifier().fit(X[:4], y[:4])
    assert model.coef_.tolist() == other.coef_.tolist()
    assert model.support_.tolist() == other.support_.tolist()
    assert other.dropped_.tolist() == []
    with pytest.raises(ValueError, match="on_overlap must be"):
        linsep.MaxMarginClassifier(on_overlap="ignore").fit(X, y)
    with pytest.raises(linsep.NotSeparable, match="leaves a class without any"):
        linsep.MaxMarginClassifier(on_overlap="drop").fit([[0.0], [1.0], [2.0]], [0, 1, 0])


def test_very_many_rows_have_a_plane_before_the_first_node():
    """A good plane is known, and exact, when there is no time for more."""
    rng = np.random.default_rng(2)
    X = rng.integers(-50, 51, (1 << 18, 2))
    y = X @ [2, 1] > 3
    y[:1000] = ~y[:1000]
    found = linsep.fewest_errors(X, y, max_nodes=0)
    assert found.upper <= 1000
    assert found.check(X, y)
    whole = (X @ found.w + found.b > 0) != y  # integers: no sum is rounded so far that its sign changes
    assert whole.sum() == found.upper == len(found.rows)


@pytest.mark.parametrize("offset", [False, True])
def test_without_time_for_a_search_least_squares_on_few_rows_are_a_bound(offset):
    X, y, _ = linsep.teacher(300_000, 8, margin=0.0, flip=0.05, random_state=0)
    found = linsep.fewest_errors(X, y, fit_intercept=offset, time_limit=0.01)
    scores = X @ found.plane.w + found.plane.b
    wrong = np.flatnonzero(np.where(y == y.max(), scores, -scores) <= 0)
    assert sorted(found.rows.tolist()) == wrong.tolist()
    assert found.upper == len(wrong) < 0.1 * len(y)
    assert found.lower == 0
    assert found.check(X, y)
