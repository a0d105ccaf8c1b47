"""Separation under a clock: time limits end with one clear line, and whoever cancels is heard in every loop."""

import threading

import numpy as np
import pytest

import linsep
from linsep.clock import Cancelled, Clock, OutOfTime
from linsep.prove.regression.inputs import gather
from linsep.prove.regression.separations import decide
from linsep.prove.regression.table import open_columns, read_table


class Countdown(Clock):
    """A clock that somebody cancels just before it is asked for the last time."""

    def __init__(self, questions):
        super().__init__()
        self.questions = questions

    def check(self):
        self.questions -= 1
        if self.questions < 0:
            self.cancel()
        super().check()


def quasi():
    """Several levels of separation, and statuses of every kind."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (60, 6))
    y = np.where(X[:, 0] != 0, X[:, 0] > 0, np.where(X[:, 1] != 0, X[:, 1] > 0, rng.random(60) < 0.5))
    return X, y.astype(int), {}


def many_levels():
    """Two absorbed factors, and a column that separates only with them."""
    rng = np.random.default_rng(1)
    a, b = np.repeat(np.arange(30), 4), rng.integers(0, 15, 120)
    x = rng.integers(0, 4, (120, 2))
    y = np.where(x[:, 0] == 3, 0, rng.poisson(0.7, 120))
    return x, y, {"family": "poisson", "absorb": [a, b]}


def classes():
    """A multinomial model of numbers that are not integers."""
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(50, 3)), 2)
    return X, np.argmax(X + rng.normal(size=(50, 3)) / 8, axis=1), {"family": "multinomial"}


def prepared(case):
    X, y, options = case()
    return gather(X, y, {"family": "binomial", "fit_intercept": True, **options})


@pytest.mark.parametrize("case", [quasi, many_levels, classes])
def test_a_cancelled_clock_ends_the_work_wherever_it_is_asked(case):
    given = prepared(case)
    clock = Countdown(10**9)
    whole = decide(given, clock)
    asked = 10**9 - clock.questions
    assert asked > 20
    for questions in sorted({*range(0, asked, max(1, asked // 40)), asked - 1}):
        with pytest.raises(Cancelled):
            decide(given, Countdown(questions))
    again = decide(given, Countdown(asked))
    assert (again.kind, again.statuses) == (whole.kind, whole.statuses)


def test_a_long_search_hears_another_thread():
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (3000, 200))  # takes minutes
    given = gather(X, (X[:, :100].sum(axis=1) > 25).astype(int), {"family": "binomial", "fit_intercept": True})
    clock, ended = Clock(), []

    def work():
        try:
            decide(given, clock)
        except Cancelled:
            ended.append("cancelled")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(1.0)
    clock.cancel()
    thread.join(30.0)
    assert ended == ["cancelled"]


@pytest.mark.parametrize("case", [quasi, many_levels, classes])
def test_a_time_limit_ends_with_one_clear_line(case):
    X, y, options = case()
    with pytest.raises(TimeoutError, match=r"^undecided after 0 seconds: allow more time$"):
        linsep.separation(X, y, **options, time_limit=0)
    found = linsep.separation(X, y, **options, time_limit=600)
    assert found.statuses == linsep.separation(X, y, **options).statuses
    assert found.check()


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_fewest_errors_without_time_to_look_at_the_rows(labels, offset):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2100, 500)), rng.integers(0, labels, 2100)
    found = linsep.fewest_errors(X, y, fit_intercept=offset, time_limit=0)
    assert found.lower == 0
    assert found.upper == (2100 - np.bincount(y).max() if offset else 2100)
    assert found.check(X, y)
    assert found.certain(X, y, time_limit=0).tolist() == []


def test_a_time_limit_ends_the_reading_of_a_table(tmp_path):
    (tmp_path / "rows.csv").write_text("x,y\n1,0\n2,1\n3,0\n")
    source = open_columns(tmp_path / "rows.csv")
    with pytest.raises(OutOfTime):
        read_table(source, dict(source.layout.columns), clock=Clock(-1.0))
