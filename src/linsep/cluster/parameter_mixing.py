"""Iterative parameter mixing (McDonald, Hall & Mann 2010): every shard makes a pass from the shared weights, then mix.

In round n shard i starts from the shared weights w, makes k_i mistakes, and ends with w_i. The next shared weights are
``w + Σ μ_i (w_i - w)`` with ``μ_i = k_i / Σ k``. A round in which no shard makes a mistake has visited all rows with
one and the same w: the run is ``separated``. With one shard all this is the ordinary perceptron, to the bit.

The mistake bound. Let u be a unit vector with ``y u·x >= γ`` for all rows, ``‖x‖ <= R``, w = 0 at first, and all steps
equal to η. As in Novikoff's proof, a shard gains ``u·w_i >= u·w + k_i η γ`` and ``‖w_i‖² <= ‖w‖² + k_i η² R²``. Both
survive the mixing, the second because the square is convex. With ``B = Σ_n Σ_i μ_i k_i`` over all rounds therefore
``B η γ <= u·w <= ‖w‖ <= η R √B``, and ``B <= (R/γ)²`` (theorem 3 of the paper). Any share μ_i >= 0 that adds up to 1
would do; by mistakes, B is largest, so the bound says most. It bounds B, not the number of mistakes Σ k, which may be
up to as many times larger as there are shards.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from distributed import Client

from linsep.cluster.shard_passes import (
    PassResult,
    PassTask,
    ShardNumbers,
    ShardSummary,
    encoded,
    evaluation_of,
    first_rows,
    held_wrong,
    learn,
    squares,
    summaries,
    swept,
    training_loss_of,
)
from linsep.cluster.workers import ClusterError, ShardPool
from linsep.data.labels import class_factors
from linsep.data.scaling import Ranges, Scaler, Sums
from linsep.data.schema import listed
from linsep.data.source import Source
from linsep.errors import DataError, ParameterError, ReadError
from linsep.learn import driver
from linsep.learn.averaging import Average, WeightTracker
from linsep.learn.checkpoints import Checkpoint, Saved
from linsep.learn.evaluation import UNKNOWN, Evaluation, TrainingLoss, combine
from linsep.learn.parameters import Parameters
from linsep.learn.passes import LONGEST_TRACE, Hooks, Passes, State, TrainingLog, Watch
from linsep.learn.problems import BatchEncoder, automatic_scale, centers, classes_among, counts_by_class, settled
from linsep.learn.voting import new_tracker
from linsep.learn.weights import AVERAGE, Weights, norm
from linsep.models.from_files import about, adopted, check_scale, overflow_explained
from linsep.models.online import Online
from linsep.models.progress import advice_after
from linsep.problem import Array, Stop


def fit(
    model: Online,
    source: Source,
    client: Client,
    *,
    shard_bytes: int = 1 << 26,
    scale: str = "none",
    checkpoint: Any = None,
    every: float = 30.0,
    resume: bool = False,
    evaluate: bool = True,
    watch: Watch | None = None,
) -> Online:
    """Train on many machines: every shard makes a pass from the shared weights, and the results are mixed.

    Iterative parameter mixing (McDonald, Hall & Mann 2010) with shares by mistakes. With fixed shards the result has
    the same bits whatever the number of workers, and whether or not some of them die. With one shard it is that of
    `fit_source`. With more it is that of another algorithm: it ends ``separated`` just the same where a plane
    separates the rows, but with other weights, and after another number of rounds.

    Parameters
    ----------
    model : Perceptron or PassiveAggressive
        Its parameters say how to train; it is fitted in place. ``keep`` is "last", "average" or "auto". ``max_updates``
        is shared out evenly among the shards in every round. ``prove`` looks for a proof unless rows are scaled.
    source : Source
        What `read` returns, of files that all workers can open under the same paths.
    client : distributed.Client
        Of a cluster whose scheduler and workers have linsep installed; see `connect`.
    shard_bytes : int
        Where to cut the files: see `cut`. The result depends on it.
    scale : {"none", "unit", "standard", "auto"}
        As in `fit_source`.
    checkpoint : path, optional
        Write a checkpoint there at this interval in seconds, and when the cluster is lost.
    every : float
        Seconds between two checkpoints.
    resume : bool
        Go on from the checkpoint if there is one; the end is that of a run that was never interrupted. A larger
        ``max_iter`` than before is fine.
    evaluate : bool
        Have a last look at all rows, for radius, margin and training errors; without it, no warning tells that a
        budget ended the run.
    watch : callable, optional
        Told of every shard that has made its pass: round, rows visited in it, mistakes so far, loss of the round.

    Returns
    -------
    model : the same
        A trace is kept where there is one shard only. Beside the usual attributes it has ``mixing_``, a dict:
        ``mistakes``, shape (rounds, shards); ``weighted``, B of the bound below; ``margin_upper``, above which no plane
        has a margin: that of the rows as they were trained on, augmented by a 1 if there is an offset; and ``holds``,
        what the bound needs, or why it says nothing here (``margin_upper`` is then infinite).

    Notes
    -----
    If the cluster is lost, a ``ClusterError`` says so; what was learned until then is in the checkpoint. A
    ``ConvergenceWarning`` says in one line what to do next if a budget or a proof ended the run, as that of ``fit``.

    Theorem 3 of the paper: if a plane has margin γ, then ``B = Σ μ k <= (R/γ)²`` over all rounds and shards, where k is
    the mistakes of a shard in a round and μ its share in the mixing. It needs first weights 0 and equal steps. Since
    also ``B η γ <= ‖w‖``, every run bounds γ from above by ``‖w‖ / (η B)``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import Perceptron, cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     model = cluster.fit(Perceptron(), read(f"{folder}/*.npy"), client)
    >>> model.stop_reason_, model.score(X, y)
    ('separated', 1.0)
    """
    check_scale(model, scale)
    if model.keep not in ("last", "average", "auto"):
        raise ParameterError("keep", model.keep, "'last', 'average' or 'auto' on a cluster")
    if kept := model.rule().companions:
        message = (
            f"{type(model).__name__} keeps a {kept[0].name} beside every weight, and a cluster mixes weights alone: "
        )
        raise DataError("", message + "train it in one process (linsep.fit_source)")

    pool = ShardPool(client, source, shard_bytes)
    saved = None
    if checkpoint is not None:
        shards = [str(shard.size) for shard in pool.shards]
        data = {"data": source.fingerprint(), "scale": scale, "shards": shards}
        saved = Checkpoint(checkpoint, every, about(model) | data)
    resumed = saved.load() if saved is not None and resume else None
    parameters = model.run_parameters(model.draw_seed() if resumed is None else resumed.seed)
    rounds = Rounds(pool, source, parameters, scale)
    # workers have no rows but the scaled ones, which rounding has changed
    plain = rounds.encoder.scaling is None
    prover = model.prover(parameters, asking=lambda _: rounds.ask) if plain else None

    def keep(state: State, ended: bool) -> None:
        if saved is not None and (ended or saved.due()):
            rounds.save(saved, state)

    rounds.hooks, state = Hooks(watch, checkpoint=keep, prover=prover, evaluate=evaluate), rounds.start(resumed)
    try:
        with overflow_explained():
            fitted = driver.fit(rounds.problem, parameters, state, rounds.hooks, rounds)
    except (ClusterError, ReadError) as error:  # save the last whole round, and say how to go on
        made = len(state.log.passes)
        done = f"; {made} round{'s' * (made != 1)} had been made" if made else ""
        if made and saved is not None:
            keep(state, ended=True)
            done += f"; resume from {saved.name}"
        elif made:
            done += "; with a checkpoint you could resume the run"
        if isinstance(error, ClusterError):
            raise ClusterError(f"{error}{done}") from None
        raise ReadError(error.where, f"{error.what}{done}", *error.settings) from None
    adopted(model, source, fitted)
    model.mixing_ = rounds.mixing
    model.advise(advice_after(model))
    return model


class Rounds(Passes):
    """Passes on a cluster: in a round every shard makes one, and the results are mixed."""

    def __init__(self, pool: ShardPool, source: Source, parameters: Parameters, scale: str) -> None:
        if scale == "auto" and parameters.target_margin is not None:
            scale = "none"
        shards = summaries(pool, source, scale, radius=parameters.target_margin is not None)
        if scale == "auto":
            ranges = Ranges.joined(one.ranges for one in shards if one.ranges is not None)
            scale = automatic_scale(source, ranges)
        labels: Counter[Any] = sum((one.labels for one in shards), Counter())
        if source.positive is not None and source.positive not in labels:
            known = listed(sorted(map(str, labels)))
            raise ReadError(source.files[0].name, f"no row has the label {source.positive!r}; there are {known}")
        radius = max(one.radius for one in shards)
        classes = settled(classes_among(labels), source.positive, parameters.class_weight)
        factors = class_factors(parameters.class_weight, classes, counts_by_class(labels, classes))
        numbers = source.n_numbers if centers(source, parameters, scale) else None
        scaler = _scaler(pool, shards, scale, numbers)
        scaler = None if scaler is None else scaler.sparing(source.word_counts)
        self.pool, self.encoder = pool, BatchEncoder(classes, factors, parameters, scaler)
        allowed = self.encoder.allowed(radius)
        problem = self.encoder.problem((), allowed=allowed)
        super().__init__(problem._replace(held_out=None), parameters, Hooks())
        self.rows = sum(one.rows for one in shards)
        self.n_features = max(one.n_features for one in shards)
        self.numbers = [
            ShardNumbers(first_row, _seed(parameters.seed, number), shards[number].digest)
            for number, first_row in enumerate(first_rows(shards))
        ]
        self.encoded = pool.then(encoded, self.numbers, self.encoder)
        self.by_shard: list[list[int]] = []  # mistakes, round by round
        self.mixing: dict[str, Any] = {}

    # -----------------------------------------------------------------------------------------------------------
    # State

    def start(self, resumed: Saved | None) -> State:
        """Return where to begin: at weights 0, or where a run was interrupted."""
        machines = self.problem.machines
        if resumed is None:
            log = TrainingLog(longest_trace=LONGEST_TRACE, spent=np.zeros(machines))
            weights = Weights.zero(machines, self.n_features)
            return State(weights, new_tracker(self.parameters.keep, self.parameters.separate(machines)), log)
        state, digests, by_shard = resumed.state, resumed.more["digests"], resumed.more["by_shard"]
        for shard, numbers, digest in zip(self.pool.shards, self.numbers, digests.tolist(), strict=True):
            if numbers.digest != digest:
                raise ValueError(f"{shard}: the file has changed since the checkpoint: start a new run")
        if state.weights.W.shape != (machines, self.n_features) or state.log.spent is None:
            raise ValueError("the checkpoint belongs to other rows: start a new run")
        self.by_shard = by_shard.tolist()
        return state

    def save(self, saved: Checkpoint, state: State) -> None:
        """Write a checkpoint."""
        digests = np.array([numbers.digest for numbers in self.numbers], dtype=np.int64)
        rounds = {"by_shard": np.array(self.by_shard), "digests": digests}
        saved.keep(self.problem, self.parameters.seed, state, rounds)

    # -----------------------------------------------------------------------------------------------------------
    # Rounds

    def make(self, state: State) -> None:
        """Have every shard make a pass, and mix the results; nothing of the run changes unless all goes well."""
        started, log = time.perf_counter(), state.log
        only = len(self.pool.shards) == 1
        mix = Mix(state.weights)
        counts, losses, visited = [], [], 0
        for result in self.encoded.ask(learn, self._task(state, only)):
            mix.add(result)
            counts.append(result.counts)
            losses.append(result.loss)
            visited += result.visited
            if self.hooks.watch is not None:
                self.hooks.watch(len(log.passes), visited, log.made + mix.mistakes, math.fsum(losses))
        weights = result.weights.copy() if only else mix.mixed(state.tracker, visited)
        tracker = state.tracker
        if isinstance(tracker, Average):
            tracker = copy(tracker)
            tracker.visited += visited
            tracker.on_pass_end(weights, mix.mistakes == 0)
        if not weights.finite:
            raise FloatingPointError("the weights overflowed to infinity")
        error = self._held_error(tracker.plane(weights))
        loss = math.fsum(losses) if self.parameters.tol is None else self.training_loss(State(weights, tracker)).loss
        state.weights, state.tracker = weights, tracker
        self._count(np.array(counts), log)
        log.loss[0] = loss
        if only:
            log.note(result.trace)
        else:
            log.made += mix.mistakes
        log.seconds = time.perf_counter() - started
        log.close(error)
        self.pool.release()  # what was made of it is persisted now

    def training_loss(self, state: State) -> TrainingLoss:
        """Have all shards visit their training rows with the shared weights."""
        losses, smallest = zip(*self.encoded.ask(training_loss_of, (state.weights, self.parameters)), strict=True)
        return TrainingLoss(math.fsum(losses), min(smallest))

    def ask(self, function: Callable[..., Any], common: Any) -> Iterator[Any]:
        """Yield the results of a function of ``parts`` for all rows, each shard for its own."""
        for results in self.encoded.ask(swept, (function, common)):
            yield from results

    def _task(self, state: State, only: bool) -> PassTask:
        log, weights, parameters = state.log, state.weights, self.parameters
        assert log.spent is not None
        if parameters.max_updates is not None:
            share = (parameters.max_updates - log.made) // len(self.pool.shards)
            parameters = parameters._replace(max_updates=max(1, share))
        visited = None
        if isinstance(state.tracker, Average):
            visited = state.tracker.visited if only else 0
            weights = weights if only else weights.plain()  # a shard's own sums begin at 0
            weights.companion(AVERAGE)
        allowed = self.problem.allowed - float(log.spent.max())
        return PassTask(parameters, allowed, weights, len(log.passes), only, visited)

    def _held_error(self, plane: Weights) -> float:
        """Return the share of the held-out rows that a plane predicts wrong, NaN if none are held out."""
        if not self.parameters.early_stopping:
            return math.nan
        wrong, held = map(sum, zip(*self.encoded.ask(held_wrong, (plane, self.parameters.on_plane)), strict=True))
        if held == 0:
            share = ("validation_fraction", self.parameters.validation_fraction)
            raise DataError("", "{0} holds out no row: choose a larger share", share)
        return float(wrong / held)

    def _count(self, counts: Array, log: TrainingLog) -> None:
        """Take down the mistakes of a round, shape (shards, machines)."""
        assert log.spent is not None
        by_shard = counts.sum(axis=1)
        self.by_shard.append(by_shard.tolist())
        if by_shard.any():
            each = counts if self.parameters.separate(self.problem.machines) else by_shard[:, None]
            log.spent[: each.shape[1]] += (by_shard @ each) / by_shard.sum()

    # -----------------------------------------------------------------------------------------------------------
    # Ends

    def evaluate(self, state: State, stop: Stop) -> Evaluation:
        """Have all shards visit their rows with the plane that is returned, in the units of the files."""
        self.mixing = self._mixing(state)
        if not (self.hooks.evaluate or stop in (Stop.SEPARATED, Stop.NO_MISTAKES)):
            return UNKNOWN
        plane, shards = state.tracker.plane(state.weights), self.encoded
        if self.encoder.scaling is not None:
            plane.unscale(self.encoder.scaling)
            shards = self.pool.then(encoded, self.numbers, self.encoder._replace(scaler=None))
        return combine(one for one in shards.ask(evaluation_of, (plane, self.parameters.on_plane)) if one.rows)

    def _mixing(self, state: State) -> dict[str, Any]:
        """Return the facts about the mixing: mistakes, the bound, and what it needs."""
        assert state.log.spent is not None
        rule, spent = self.parameters.rule, float(state.log.spent.max())
        reason = (
            "updates beyond mistakes have no such bound" if not self.parameters.textbook or rule.margin else
            "the steps are not equal" if len(set(self.encoder.factors.tolist())) > 1 else
            "there was no mistake" if spent == 0 else ""
        )  # fmt: skip
        W, b = state.weights.W, state.weights.b
        if self.parameters.separate(len(b)):
            machine = int(state.log.spent.argmax())
            W, b = W[machine : machine + 1], b[machine : machine + 1]
        upper = math.inf if reason else norm(np.column_stack((W, b))) / (self.parameters.eta0 * spent) * (1 + 1e-9)
        holds = reason or "from weights 0, with equal steps, and shares of each round that add up to 1"
        return {"mistakes": np.array(self.by_shard), "weighted": spent, "margin_upper": upper, "holds": holds}


def _seed(seed: int, number: int) -> int:
    return seed if number == 0 else int(np.random.SeedSequence((seed, number)).generate_state(1)[0])


def _scaler(pool: ShardPool, shards: list[ShardSummary], scale: str, numbers: int | None) -> Scaler | None:
    """Return how to scale the rows of all shards; ``numbers`` are the first columns of sparse rows that are shifted."""
    if scale == "none":
        return None
    if scale == "unit":
        return Scaler.of_radius(max(one.largest for one in shards))
    sums = Sums(np.zeros(0), np.zeros(0), 0, False)
    for one in shards:
        assert one.sums is not None
        sums = sums.plus(one.sums)
    deviations = np.zeros(len(sums.total))
    for part in pool.ask(squares, sums.mean()):
        deviations += part
    return Scaler.of_sums(sums, deviations, numbers)


class Mix:
    """The shared weights of a round, and what the shards have made of them so far, in the order of the shards."""

    def __init__(self, weights: Weights) -> None:
        self.before, self.mistakes = weights, 0
        self.moved = Weights.zero(weights.machines, weights.n_features)  # Σ k_i (w_i - w)
        self.sums: Weights | None = None  # Σ (A_i - T_i (w_i - w)), for the average

    def add(self, result: PassResult) -> None:
        """Take in the result of the next shard."""
        k, after = result.mistakes, result.weights
        if k == 0:
            return
        self.mistakes += k
        moved, shifted = after.W - self.before.W, after.b - self.before.b
        self.moved.W += k * moved
        self.moved.b += k * shifted
        if AVERAGE.name in after.companions:
            if self.sums is None:
                self.sums = Weights.zero(self.before.machines, self.before.n_features)
            sums = after.companion(AVERAGE)
            self.sums.W += sums.W - result.visited * moved
            self.sums.b += sums.b - result.visited * shifted

    def mixed(self, tracker: WeightTracker, visited: int) -> Weights:
        """Return the mixed weights, with the sums of the average of all hypotheses that rows were visited with.

        The average ``w - A/T`` is kept by its A. T visits so far, T_i of shard i, and T' in the end: all hypotheses add
        up to ``(T w - A) + Σ (T_i w_i - A_i) = T' w' - A'``, and so ``A' = A + T' (w' - w) + Σ (A_i - T_i (w_i - w))``.
        """
        share, weights = max(1, self.mistakes), self.before.copy()
        moved, shifted = self.moved.W / share, self.moved.b / share
        weights.W, weights.b = weights.W + moved, weights.b + shifted
        if isinstance(tracker, Average):
            T, sums = tracker.visited + visited, weights.companion(AVERAGE)
            if self.sums is not None:
                sums.W += T * moved + self.sums.W
                sums.b += T * shifted + self.sums.b
        return weights
