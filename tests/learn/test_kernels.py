"""The loops themselves: the same with and without a compiler, and argmax on two classes is the binary perceptron."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracle
from linsep.data.arrays import to_rows
from linsep.learn import kernels, row_operations, rules
from linsep.learn.averaging import WeightTracker
from linsep.learn.driver import fit
from linsep.learn.evaluation import scores
from linsep.learn.parameters import Parameters
from linsep.learn.passes import State
from linsep.learn.rules import MarginRule
from linsep.learn.weights import Weights
from linsep.problem import Batch, Dense, Examples, Problem


def train(blocks, weights, kernel, rule, **others):
    """Train two classes, or more with a kernel of theirs, on examples in blocks."""
    batches = [Batch(first, data, weights.W.shape[1], data.rows) for first, data in blocks]
    several = np.arange(2 if len(weights.b) == 1 else 3)[: max(2, len(weights.b))]
    problem = Problem(several, batches, np.ones(len(several)))
    if len(weights.b) == 2:  # one weight vector for each of two classes is not what a problem of two has

        class Both(Problem):
            machines = 2

        problem = Both(several, batches, np.ones(2))
    assert Parameters(rule).kernel(problem.machines) is kernel
    return fit(problem, Parameters(rule, **others), State(weights, WeightTracker())).run


@given(seed=st.integers(0, 10**6), offset=st.booleans())
def test_argmax_on_two_classes_makes_the_mistakes_of_the_binary_perceptron(seed, offset):
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(-4, 5, (25, 3)), rng.integers(0, 2, 25)
    rows, step = to_rows(X), np.ones(25)
    rule = MarginRule(0.0, float(offset))
    W, b = np.zeros((1, 3)), np.zeros(1)
    signs = (2 * codes - 1).astype(np.int8)
    binary = train([(0, Examples(rows, signs, step))], Weights(W, b), kernels.two_classes, rule, max_iter=20)
    W2, b2 = np.zeros((2, 3)), np.zeros(2)
    several = [(0, Examples(rows, codes.astype(np.intp), step))]
    both = train(several, Weights(W2, b2), kernels.argmax, rule, max_iter=20)
    assert np.array_equal(both.trace // 2, binary.trace)
    assert np.array_equal(both.trace % 2, 1 - codes[binary.trace])  # the rival is the other class
    assert np.array_equal(W2, np.vstack((-W, W)))
    assert np.array_equal(b2, [-b[0], b[0]])
    assert both.stop is binary.stop


@pytest.mark.parametrize("d", [1, 3, 8, 17, 64, 129, 1000])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_a_look_gives_the_same_bits_as_training_does(storage, d):
    """A plane that separates in training separates in prediction too: the sums are taken in the same order."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((400, d))
    rows, W, b = to_rows(storage(X)), rng.standard_normal((1, d)), rng.standard_normal(1)
    s = scores(rows, W, b)[:, 0]
    loss = np.zeros(1)
    for i in range(400):  # a row is a mistake exactly if its margin, as prediction sees it, is at most the limit
        sign = np.int8(1 if s[i] > 0 else -1)
        for limit, expected in ((abs(s[i]), 1), (np.nextafter(abs(s[i]), 0), 0)):
            mistakes = np.empty(1, np.uint64)
            data = Examples(rows, np.full(400, sign), np.ones(400))
            looked, k = kernels.two_classes(
                data, np.array([i], np.uint32), MarginRule(limit, 1.0), W.copy(), b.copy(), mistakes, loss
            )
            assert (looked, k) == (1, expected)
    signs = np.where(np.arange(400) % 3, 1, -1).astype(np.int8)
    largest, smallest, loss, wrong, broken = kernels.evaluate(Examples(rows, signs, np.ones(400)), W, b, -1, False)
    assert smallest == (signs * s).min()
    assert loss == pytest.approx(np.maximum(0, -signs * s).sum(), rel=1e-12)
    assert wrong == np.count_nonzero(signs != np.sign(s))
    assert largest == pytest.approx((X * X).sum(axis=1).max(), rel=1e-12)
    assert broken == 0


def text(overloaded, *arguments):
    """Return what the compiler is given to compile for such arguments, as the plain Python function that it is."""
    return overloaded(*map(numba.typeof, arguments))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, bool])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_operations_on_rows_are_those_of_numpy_in_both_their_texts(storage, dtype):
    """What is compiled and what stands for it without a compiler: sums of integers are exact, so they are equal."""
    rng = np.random.default_rng(4)
    X = np.where(rng.random((6, 5)) < 0.6, rng.integers(0, 200, (6, 5)), 0).astype(dtype)
    rows, W = to_rows(storage(X)), rng.integers(-3, 4, (2, 5)).astype(float)
    sums = rules.UpdateSums(np.ones((2, 5)), np.ones(2), 10.0)
    for i, x in enumerate(X.astype(float)):
        for dot in (row_operations.dot, text(row_operations._dot, rows, i, W, 1)):
            assert dot(rows, i, W, 1) == x @ W[1]
        for square in (row_operations.square, text(row_operations._square, rows, i)):
            assert square(rows, i) == x @ x
        for both in (row_operations.dot_and_square, text(row_operations._dot_and_square, rows, i, W)):
            assert both(rows, i, W) == (x @ W[0], x @ x)
        for add in (row_operations.add, text(row_operations._add, rows, i, 2.0, W, 1)):
            moved = W.copy()
            add(rows, i, 2.0, moved, 1)
            assert np.array_equal(moved, [W[0], W[1] + 2 * x])
        for places in (row_operations.places, text(row_operations._places, rows, i)):
            stored = np.zeros(5)
            for p in places(rows, i):
                stored[row_operations.column(rows, p)] = row_operations.value(rows, i, p)
            assert np.array_equal(stored, x)
        rule = MarginRule(0.0, 0.5, sums)
        sums.A[:], sums.a[:] = 1.0, 1.0
        rules.average(rule, rows, i, -1.0, 7, 1)  # look 17 of all
        assert np.array_equal(sums.A, [np.ones(5), 1 - 17 * x])
        assert np.array_equal(sums.a, [1, 1 - 17 * 0.5])
        assert rules.average(MarginRule(0.0, 0.5), rows, i, -1.0, 7, 1) is None


@pytest.mark.parametrize(("lacking", "squared", "weight", "cap", "soft", "tau"), [
    (3.0, 2.0, 1.0, np.inf, 0.0, 1.5),  # PA: lacking / ‖x‖²
    (3.0, 2.0, 0.5, 2.0, 0.0, 1.0),  # PA-I: at most C times the weight
    (3.0, 2.0, 0.5, np.inf, 0.5, 1.0),  # PA-II: lacking / (‖x‖² + 1/(2 C weight))
    (3.0, 0.0, 1.0, np.inf, 0.0, 0.0),  # a row of zeros
])  # fmt: skip
def test_how_far_a_passive_aggressive_machine_moves(lacking, squared, weight, cap, soft, tau):
    rule, rows = rules.PassiveAggressiveRule(1.0, 1.0, cap, soft), Dense(np.array([[np.sqrt(squared)]]))
    assert rules.step(rule, rows, 0, 1.0 - lacking, weight, 0, -1) == pytest.approx(tau)


WITHOUT_COMPILER = """
import numpy as np, scipy.sparse as sp, warnings
from linsep import Perceptron
import oracle
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.integers(-4, 5, (20, 3)), rng.integers(0, 3, 20)
W, b, trace = oracle.argmax(X.tolist(), y.tolist(), 3, passes=5)
w, c, binary_trace = oracle.perceptron(X.tolist(), (2 * (y == 1) - 1).tolist(), passes=5)
for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
    model = Perceptron(shuffle=False, max_iter=5).fit(rows, y)
    assert model.coef_.tolist() == W and model.trace_.tolist() == trace
    binary = Perceptron(shuffle=False, max_iter=5).fit(rows, y == 1)
    assert binary.coef_.tolist() == [w] and binary.trace_.tolist() == binary_trace
    ovr = Perceptron(shuffle=False, max_iter=5, multi_class="ovr").fit(rows, y)
    assert ovr.coef_[1].tolist() == w
    assert binary.radius_ == np.sqrt((X * X).sum(axis=1).max())
print("the same")
"""


@pytest.mark.compiled
def test_without_a_compiler():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.path.dirname(oracle.__file__)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "the same\n", done.stderr
