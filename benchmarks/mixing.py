"""What mixing costs in learning: rounds, mistakes and errors against the number of shards.

The algorithm of the cluster without a cluster: its own passes, its own mixing and stop rules, on shards that are asked
one after the other in this process. Beside it, on real data, one machine and one-shot averaging, in which every shard
is learned on its own and the mean is taken once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks import DATA, Curve, Row, Table, sized
from linsep import Perceptron, read, teacher
from linsep.cluster.parameter_mixing import Rounds
from linsep.cluster.workers import LoadedShard
from linsep.data.source import Block
from linsep.learn.driver import fit
from linsep.learn.passes import Hooks

PASSES = 20
SEEDS = 3
THERE = (DATA / "a9a").exists()


class Data(NamedTuple):
    """Rows in random order to learn from, and others to test with."""

    X: Any
    y: Any
    Z: Any
    z: Any


class Here:
    """Shards in this process: what a pool is to the driver, without workers."""

    def __init__(self, held: list[Any]) -> None:
        self.held = self.shards = held

    def then(self, make: Callable[..., Any], each: list[Any], common: Any) -> Here:
        """Return what is made of each shard."""
        return Here([make(one, own, common) for one, own in zip(self.held, each, strict=True)])

    def ask(self, question: Callable[..., Any], common: Any = None) -> Iterator[Any]:
        """Yield the results in their order."""
        return (question(one, common) for one in self.held)

    def release(self) -> None:
        """Keep all: there is room."""


def fitted(model: Perceptron, X: Any, y: Any, shards: int) -> Perceptron:
    """Train as a cluster does with so many shards."""
    d = X.shape[1]
    raw = [
        LoadedShard(f"shard {k}", [Block(X[part], y[part], 0)], d, 0, [])
        for k, part in enumerate(np.array_split(np.arange(X.shape[0]), shards))
    ]
    ignored = dict.fromkeys(("take_width", "take_dropped"), lambda *_: None)
    source = SimpleNamespace(positive=None, names=None, n_numbers=d, **ignored)
    parameters = model.run_parameters(model.draw_seed())
    rounds = Rounds(Here(raw), source, parameters, "none")  # type: ignore[arg-type]
    rounds.hooks = Hooks(evaluate=False)
    model.n_features_in_ = d
    model.adopt(fit(rounds.problem, parameters, rounds.start(None), rounds.hooks, rounds))
    model.mixing_ = rounds.mixing
    return model


class Outcome(NamedTuple):
    """How a way to train has ended."""

    passes: int
    mistakes: int
    separated: bool
    training_error: float
    test_error: float


def mixing(model: Perceptron, data: Data, shards: int) -> Outcome:
    """Train with so many shards; with one, it is the ordinary perceptron."""
    model = fitted(model, data.X, data.y, shards)
    separated = model.stop_reason_ == "separated"
    return Outcome(model.n_iter_, model.mistakes_, separated, *errors(model, data))


def one_shot(model: Perceptron, data: Data, shards: int) -> Outcome:
    """Train every shard on its own, and take the mean."""
    parts = np.array_split(np.arange(data.X.shape[0]), shards)
    models = [fitted(clone(model), data.X[part], data.y[part], 1) for part in parts]
    mean = models[0]
    passes, mistakes = max(m.n_iter_ for m in models), sum(m.mistakes_ for m in models)
    mean.coef_ = np.mean([m.coef_ for m in models], axis=0)
    mean.intercept_ = np.mean([m.intercept_ for m in models], axis=0)
    return Outcome(passes, mistakes, False, *errors(mean, data))


def errors(model: Perceptron, data: Data) -> tuple[float, float]:
    """Return the shares of training and of test rows that are wrong."""
    return 1 - model.score(data.X, data.y), 1 - model.score(data.Z, data.z)


# ---------------------------------------------------------------------------------------------------------------
# Real data


@cache
def text() -> tuple[Any, Any]:
    """Return part of RCV1, which is in the text of Vowpal Wabbit."""
    places, values, ends, y = [], [], [0], []
    for line in (DATA / "rcv1_small.dat").read_text().splitlines():
        label, _, words = line.partition("|f ")
        pairs = [word.split(":") for word in words.split()]
        places += [int(j) for j, _ in pairs]
        values += [float(v) for _, v in pairs]
        ends.append(len(places))
        y.append(float(label))
    return sp.csr_array((np.array(values), places, ends)), np.array(y)


def rcv1(seed: int) -> Data:
    """Return part of RCV1, a fifth of it held out."""
    X, labels = mixed_up(*text(), seed)
    held = len(labels) // 5
    return Data(X[held:], labels[held:], X[:held], labels[:held])


@cache
def given(train: str, test: str) -> Data:
    """Return a data set that has test rows of its own."""
    X, y = read(DATA / train).to_arrays()
    Z, z = read(DATA / test).to_arrays()
    d = max(X.shape[1], Z.shape[1])
    X.resize(X.shape[0], d)
    Z.resize(Z.shape[0], d)
    return Data(X, y, Z, z)


def shuffled(data: Data, seed: int) -> Data:
    """Return a data set with the rows to learn from in a random order."""
    return Data(*mixed_up(data.X, data.y, seed), data.Z, data.z)


def mixed_up(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Return the rows in a random order."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    return X[order], y[order]


REAL: dict[str, Callable[[int], Data]] = {
    "rcv1_small": rcv1,
    "a9a": lambda seed: shuffled(given("a9a", "a9a.t"), seed),
    "IMDB": lambda seed: shuffled(given("imdb_counts_train.npz", "imdb_counts_test.npz"), seed),
}
WAYS: dict[str, tuple[Callable[[Perceptron, Data, int], Outcome], int]] = {
    "one machine": (mixing, 1),
    "mixing, 2 shards": (mixing, 2),
    "mixing, 8 shards": (mixing, 8),
    "one-shot, 2 shards": (one_shot, 2),
    "one-shot, 8 shards": (one_shot, 8),
}


def spread(values: list[float], form: str) -> str:
    """Return the mean of some values, and between what they lie."""
    low, mean, high = (f"{value:{form}}" for value in (min(values), sum(values) / len(values), max(values)))
    return mean if low == high else f"{mean} ({low}–{high})"


def tables() -> Iterator[Table]:
    """Yield the comparison on real data, seeds taken together."""
    head = ["data", "keep", "how", "passes", "mistakes", "training error", "test error"]
    body = []
    for name, make in REAL.items() if THERE else ():
        for keep in ("last", "average"):
            for way, (train, shards) in WAYS.items():
                runs = [
                    train(Perceptron(keep=keep, max_iter=PASSES, random_state=seed), make(seed), shards)
                    for seed in range(sized(SEEDS, 1))
                ]
                passes, mistakes, separated, training, test = (list(column) for column in zip(*runs, strict=True))
                ended = ", separated" if all(separated) else ""
                numbers = [spread(passes, ",.0f") + ended, spread(mistakes, ",.0f")]
                body.append([name, keep, way, *numbers, spread(training, ".2%"), spread(test, ".2%")])
    if body:
        yield Table("real data", head, body)


# ---------------------------------------------------------------------------------------------------------------
# Up to a thousand shards


def run() -> Iterator[Row]:
    """Yield no rows: these are curves and a table."""
    return iter(())


def curves() -> Iterator[Curve]:
    """Yield rounds, mistakes and test errors against the number of shards."""
    X, y, _ = teacher(sized(20_000, 400), 20, margin=0.02, random_state=0)
    separable = {"teacher, margin 0.02": Data(X, y, X, y)}
    inseparable = {}
    if THERE:
        separable["rcv1_small"] = rcv1(0)
        inseparable = {"a9a": REAL["a9a"](0), "IMDB": REAL["IMDB"](0)}
    counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000][: sized(11, 3)]
    how: dict[str, dict[str, tuple[list[float], list[float]]]] = {"rounds": {}, "mistakes": {}, "errors": {}}

    def note(what: str, name: str, shards: int, value: float) -> None:
        where, much = how[what].setdefault(name, ([], []))
        where.append(float(shards))
        much.append(float(value))

    for name, data in separable.items():
        for shards in counts:
            if 5 * shards <= data.X.shape[0]:  # a few rows each
                model = fitted(Perceptron(max_iter=2000), data.X, data.y, shards)
                if model.stop_reason_ == "separated":
                    note("rounds", name, shards, model.n_iter_)
                    note("mistakes", name, shards, model.mistakes_)
                    note("mistakes", f"{name}: B", shards, model.mixing_["weighted"])
    for name, data in inseparable.items():
        for shards in counts if name == "a9a" else (1, 8, 64, 256)[: sized(4, 2)]:
            for keep in ("last", "average"):
                model = fitted(Perceptron(max_iter=PASSES, keep=keep), data.X, data.y, shards)
                note("errors", f"{name}, {keep}", shards, 100 * (1 - model.score(data.Z, data.z)))
    yield Curve("rounds until the rows are separated", "shards", "rounds", how["rounds"])
    yield Curve("mistakes until then, and B of the bound", "shards", "mistakes", how["mistakes"])
    if how["errors"]:
        yield Curve(f"test error after {PASSES} rounds", "shards", "percent", how["errors"])
