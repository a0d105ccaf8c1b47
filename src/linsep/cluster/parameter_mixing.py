"""Iterative parameter mixing (McDonald, Hall & Mann 2010): every shard makes a pass from the shared weights, then mix.

In round n shard i starts from the shared weights w, makes k_i mistakes, and ends with w_i. The next shared weights are
``w + Σ μ_i (w_i - w)`` with ``μ_i = k_i / Σ k``. A round in which no shard makes a mistake has looked at all rows with
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
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client
from sklearn.base import clone

from linsep.cluster.shard_passes import (
    Answer,
    Census,
    Lesson,
    Orders,
    Own,
    Wanted,
    all_classes,
    census,
    encoded,
    held_wrong,
    learn,
    look,
    squares,
    together,
)
from linsep.cluster.workers import ClusterError, Farm, adapting, repeat
from linsep.data.byte_streams import ReadError
from linsep.data.labels import check_class_weight, one_class_only
from linsep.data.layout import listed
from linsep.data.scaling import Scaler, Sums
from linsep.data.source import Source
from linsep.learn import kernels
from linsep.learn.checkpoints import Checkpoint, State
from linsep.learn.driver import Keeper, Ledger, Plan, View, Watch, Weights, allowed_mistakes, norm, stopped
from linsep.learn.hypotheses import Average
from linsep.models.from_files import deliver
from linsep.models.online import Online
from linsep.problem import Array, Floats, Stop

_LONGEST_TRACE = 1 << 24  # mistakes; a longer trace is not kept


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
        Its parameters say how to train; it is fitted in place. ``keep`` is "last" or "average". ``max_updates`` is
        shared out evenly among the shards in every round.
    source : Source
        What `read` returns, of files that all workers can open under the same paths.
    client : distributed.Client
        Of a cluster whose scheduler and workers have linsep installed; see `connect`.
    shard_bytes : int
        Where to cut the files: see `cut`. The result depends on it.
    scale : {"none", "unit", "standard"}
        As in `fit_source`.
    checkpoint : path, optional
        Write there, every so many seconds and when the cluster is lost, what it takes to go on after an interruption.
    every : float
        Seconds between two checkpoints.
    resume : bool
        Go on from the checkpoint if there is one; the end is that of a run that was never interrupted. A larger
        ``max_iter`` than before is fine.
    evaluate : bool
        Have a last look at all rows, for radius, margin and training errors.
    watch : callable, optional
        Told of every shard that has made its pass: round, rows looked at in it, mistakes so far, loss of the round.

    Returns
    -------
    model : the same
        A trace is kept where there is one shard only. Beside the usual attributes it has ``mixing_``, a dict:
        ``mistakes``, shape (rounds, shards); ``weighted``, B of the bound below; ``margin_upper``, above which no plane
        has a margin: that of the rows as they were trained on, augmented by a 1 if there is an offset; and ``holds``,
        what the bound needs, or why it says nothing here (``margin_upper`` is then infinite).

    Raises
    ------
    ClusterError
        If the cluster is lost; what was learnt until then is in the checkpoint.

    Notes
    -----
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
    model._check_parameters()
    if model.order is not None:
        raise ValueError(f"order={model.order!r} goes back to the first row all the time: it needs an array, not files")
    if model.keep not in ("last", "average"):
        raise ValueError(f"keep must be 'last' or 'average' on a cluster, got {model.keep!r}")
    if scale not in ("none", "unit", "standard"):
        raise ValueError(f"scale must be 'none', 'unit' or 'standard', got {scale!r}")

    def job() -> Online:
        farm = Farm(client, source, shard_bytes)
        saved = None
        if checkpoint is not None:
            about = {name: value for name, value in model.get_params().items() if name != "verbose"}
            sizes = [str(shard.size) for shard in farm.shards]
            saved = Checkpoint(
                checkpoint, every, about | {"data": source.fingerprint(), "scale": scale, "shards": sizes}
            )
        state = saved.load() if saved is not None and resume else None
        return _Fitting(model, source, farm, scale, saved, watch).run(state, evaluate)

    return adapting(source, job)


class _Fitting:
    """One run on a cluster: the shared weights, and what is known of all shards."""

    def __init__(
        self, model: Online, source: Source, farm: Farm, scale: str, saved: Checkpoint | None, watch: Watch | None
    ) -> None:
        self.model, self.source, self.farm, self.scale, self.saved, self.watch = (
            model,
            source,
            farm,
            scale,
            saved,
            watch,
        )
        self.seed = model._draw_seed()
        self.ledger = Ledger(longest_trace=_LONGEST_TRACE)
        self.keeper = Average() if model.keep == "average" else Keeper()
        self.by_shard: list[list[int]] = []  # mistakes, round by round
        self.wanted = Wanted(model.target_margin is not None, scale)

    def run(self, state: State | None, evaluate: bool) -> Online:
        """Train until a rule ends the run, and hand over."""
        if state is not None:
            self.seed = state.seed
        self._survey(list(self.farm.ask(census, self.wanted)))
        machines = 1 if len(self.classes) == 2 else len(self.classes)
        self.weights = Weights(np.zeros((machines, self.width)), np.zeros(machines))
        self.spent = np.zeros(machines)  # B of each machine; of an argmax machine all is in the first
        if state is not None:
            self._go_on_from(state)
        lesson = Lesson(clone(self.model), self.classes, machines, self.class_weight, self.scaler)
        ready = self.farm.hold(encoded, self.own, lesson)
        plan = self.model._plan(machines, self.seed)
        seen = View(math.nan, math.nan, math.nan, -1)
        try:
            stop = self._rounds(ready, plan)
            if evaluate or stop is Stop.SEPARATED:
                seen = self._view(ready, lesson)
        except ClusterError as error:
            raise ClusterError(f"{error}{self._rescue()}") from None
        except ReadError as error:
            raise ReadError(error.where, f"{error.what}{self._rescue()}", *error.settings) from None
        run, mixing = self.ledger.run(stop), self._mixing(plan)
        deliver(
            self.model,
            self.source,
            self.classes,
            self.weights,
            self.keeper,
            self.scaler,
            run,
            self.seed,
            self.rows,
            seen,
        )
        self.model.mixing_ = mixing
        return self.model

    def _view(self, ready: Farm, lesson: Lesson) -> View:
        """Have all shards look at the plane that is handed over, in the units of the files."""
        plane = self.keeper.plane(self.weights)
        if self.scaler is not None:
            plane = self.scaler.undo(*plane)
            ready = self.farm.hold(encoded, self.own, lesson._replace(scaler=None))
        found = together([one for one in ready.ask(look, (*plane, self.model.on_plane)) if one is not None])
        assert found is not None  # there are rows
        return found

    # -----------------------------------------------------------------------------------------------------------
    # Beginnings

    def _survey(self, found: list[Census]) -> None:
        """Learn from a look at all shards what they have to agree on."""
        model, source = self.model, self.source
        labels: Counter[Any] = sum((one.labels for one in found), Counter())
        sizes = [sum(one.labels.values()) for one in found]
        self.rows = sum(sizes)
        if self.rows == 0:
            raise self.farm.no_rows()
        repeat(note for one in found for note in one.notes)
        classes = all_classes(list(labels))
        if len(classes) < 2:
            raise one_class_only(classes)
        check_class_weight(model.class_weight, classes)
        if source.positive is not None:
            if len(classes) > 2:
                raise ValueError(f"a positive label is for two classes, but there are {len(classes)}")
            if source.positive not in labels:
                known = listed(sorted(map(str, labels)))
                raise ReadError(source.files[0].name, f"no row has the label {source.positive!r}; there are {known}")
            classes = classes if classes[1] == source.positive else classes[::-1].copy()
        self.classes = classes
        self.width = max(one.extent[0] for one in found)
        source.take_note(self.width, any(one.extent[1] for one in found))
        for one in found:
            for place, names in (one.seen or {}).items():
                assert source.seen is not None
                source.seen.setdefault(place, set()).update(names)
        self.own = []
        for number, first_row in enumerate(np.cumsum([0, *sizes[:-1]]).tolist()):
            seed = self.seed if number == 0 else int(np.random.SeedSequence((self.seed, number)).generate_state(1)[0])
            self.own.append(Own(first_row, seed, self.seed, found[number].digest))
        self.class_weight = dict(model.class_weight or {}) if model.class_weight != "balanced" else {}
        if model.class_weight == "balanced":
            self.class_weight = {c: self.rows / (len(classes) * labels[c]) for c in classes.tolist()}
        self.scaler = self._scaler(found)
        self.allowed = math.inf
        if model.target_margin is not None:
            if self.scaler is not None:
                raise ValueError("target_margin is a distance in the rows as they are: it does not go with scale")
            factors = [float(self.class_weight.get(c, 1.0)) for c in classes.tolist()]
            steps = (model.eta0 * min(factors), model.eta0 * max(factors))
            plan = model._plan(1 if len(classes) == 2 else len(classes), self.seed)
            radius = max(one.radius for one in found)
            self.allowed = allowed_mistakes(plan, radius, model.target_margin, steps, 0.0)

    def _scaler(self, found: list[Census]) -> Scaler | None:
        """Return how to scale the rows of all shards."""
        if self.scale == "none":
            return None
        if self.scale == "unit":
            return Scaler.of_radius(max(one.largest for one in found))
        sums = Sums(np.zeros(0), np.zeros(0), 0, False)
        for one in found:
            assert one.sums is not None
            sums = sums.plus(one.sums)
        apart = np.zeros(len(sums.total))
        for part in self.farm.ask(squares, sums.mean()):
            apart += part
        return Scaler.of_sums(sums, apart)

    def _go_on_from(self, state: State) -> None:
        """Begin where a run was interrupted."""
        for shard, own, digest in zip(self.farm.shards, self.own, state.kept["digests"].tolist(), strict=True):
            if own.digest != digest:
                raise ValueError(f"{shard}: the file has changed since the checkpoint was written")
        self.weights, self.ledger = state.weights, state.ledger
        self.ledger.longest_trace = _LONGEST_TRACE
        self.by_shard, self.spent = state.kept["by_shard"].tolist(), state.kept["spent"]
        if self.model.keep == "average":
            self.keeper = Average.of(state.kept)

    # -----------------------------------------------------------------------------------------------------------
    # Rounds

    def _rounds(self, ready: Farm, plan: Plan) -> Stop:
        """Make rounds until a rule ends the run."""
        while (stop := self._stopped(plan)) is None:
            self._round(ready, plan)
            if not (np.isfinite(self.weights.W).all() and np.isfinite(self.weights.b).all()):
                raise ValueError(
                    "the weights overflowed to infinity: scale the rows (scale='unit') or choose a smaller eta0"
                )
            self.farm.release()  # what was made of it is held now
            if self.saved is not None and (self.saved.due() or self._stopped(plan) is not None):
                self._save()
        return stop

    def _round(self, ready: Farm, plan: Plan) -> None:
        """Have every shard make a pass, and mix the results; nothing of the run changes unless all goes well."""
        started, ledger, model = time.perf_counter(), self.ledger, self.model
        alone = len(self.farm.shards) == 1
        left = math.inf if plan.max_updates is None else plan.max_updates - ledger.made
        most = None if left == math.inf else int(max(1, left // len(self.farm.shards)))
        limits = replace(plan, max_updates=most, allowed=self.allowed - float(self.spent.max()))
        W, b = self.weights.W, self.weights.b
        kept: dict[str, Array] = {}
        if isinstance(self.keeper, Average):
            A, a, before = _sums(self.keeper, W, b) if alone else (np.zeros(W.shape), np.zeros(b.shape), 0)
            kept = {"A": A, "a": a, "looked": np.array([before])}
        orders = Orders(clone(model), limits, W, b, len(ledger.passes), alone, kept)
        mix = Mix(W, b)
        counts, losses, looked = [], [], 0
        for answer in ready.ask(learn, orders):
            mix.add(answer)
            counts.append(answer.counts)
            losses.append(answer.loss)
            looked += answer.looked
            if self.watch is not None:
                self.watch(len(ledger.passes), looked, ledger.made + mix.mistakes, math.fsum(losses))
        weights, keeper = mix.alone(answer, self.keeper) if alone else mix.mixed(self.keeper, looked)
        error = math.nan
        if model.early_stopping:
            plane = (*keeper.plane(weights), model.on_plane)
            wrong, held = map(sum, zip(*ready.ask(held_wrong, plane), strict=True))
            if held == 0:
                raise ValueError(f"validation_fraction={model.validation_fraction} holds out no row")
            error = wrong / held
        self.weights, self.keeper = weights, keeper
        self._note(np.array(counts), plan)
        ledger.loss[0] = math.fsum(losses)
        if alone:
            ledger.note(answer.trace)
        else:
            ledger.made += mix.mistakes
        ledger.seconds = time.perf_counter() - started
        ledger.close(error)

    def _note(self, counts: Array, plan: Plan) -> None:
        """Take down the mistakes of a round, shape (shards, machines)."""
        by_shard = counts.sum(axis=1)
        self.by_shard.append(by_shard.tolist())
        if by_shard.any():
            each = counts if plan.kernel is kernels.one_vs_rest else by_shard[:, None]
            self.spent[: each.shape[1]] += (by_shard @ each) / by_shard.sum()

    def _stopped(self, plan: Plan) -> Stop | None:
        """Say whether the run ends here, and why."""
        if not self.ledger.passes:
            return None
        if self.ledger.passes[-1].mistakes and float(self.spent.max()) > self.allowed:
            return Stop.MARGIN_REFUTED
        return stopped(plan, self.ledger, len(self.weights.b))

    def _save(self) -> None:
        """Write a checkpoint."""
        assert self.saved is not None
        digests = np.array([own.digest for own in self.own], dtype=np.int64)
        kept = self.keeper.arrays() | {"by_shard": np.array(self.by_shard), "spent": self.spent, "digests": digests}
        self.saved.write(
            State(self.classes, self.weights, self.ledger, self.seed, self.rows, self.allowed, self.class_weight, kept)
        )

    def _rescue(self) -> str:
        """Write a checkpoint of the last whole round, if there is one, and say how to go on."""
        rounds = len(self.ledger.passes)
        if rounds == 0:
            return ""
        done = f"; {rounds} round{'s' * (rounds != 1)} had been made"
        if self.saved is None:
            return f"{done}; with a checkpoint the run could be gone on with"
        self._save()
        return f"{done}; resume from {self.saved.path}"

    def _mixing(self, plan: Plan) -> dict[str, Any]:
        """Return what is to be said of the mixing."""
        eta, spent = self.model.eta0, float(self.spent.max())
        unequal = len({float(self.class_weight.get(c, 1.0)) for c in self.classes.tolist()}) > 1
        lacks = (
            "updates beyond mistakes have no such bound" if not self.model._mistakes_are_errors or plan.rule.margin else
            "the steps are not equal" if unequal else
            "there was no mistake" if spent == 0 else ""
        )  # fmt: skip
        W, b = self.weights.W, self.weights.b
        if plan.kernel is kernels.one_vs_rest:
            machine = int(self.spent.argmax())
            W, b = W[machine : machine + 1], b[machine : machine + 1]
        upper = math.inf if lacks else norm(np.column_stack((W, b))) / (eta * spent) * (1 + 1e-9)
        holds = lacks or "from weights 0, with equal steps, and shares of each round that add up to 1"
        return {"mistakes": np.array(self.by_shard), "weighted": spent, "margin_upper": upper, "holds": holds}


class Mix:
    """The shared weights of a round, and what the shards have made of them so far, heard in the order of the shards."""

    def __init__(self, W: Floats, b: Floats) -> None:
        self.W, self.b = W, b
        self.mistakes = 0
        self.D, self.d = np.zeros(W.shape), np.zeros(b.shape)  # Σ k_i (w_i - w)
        self.E, self.e = np.zeros((len(b), 0)), np.zeros(b.shape)  # Σ (A_i - T_i (w_i - w)), for the average

    def add(self, answer: Answer) -> None:
        """Hear the answer of the next shard."""
        k, columns = answer.mistakes, answer.columns
        if k == 0:
            return
        self.mistakes += k
        moved, shifted = answer.W - self.W[:, columns], answer.b - self.b
        self.D[:, columns] += k * moved
        self.d += k * shifted
        if answer.A.shape == moved.shape:
            if self.E.shape != self.W.shape:
                self.E = np.zeros(self.W.shape)
            self.E[:, columns] += answer.A - answer.looked * moved
            self.e += answer.a - answer.looked * shifted

    def alone(self, answer: Answer, keeper: Keeper) -> tuple[Weights, Keeper]:
        """Return the weights of the only shard, and its average, as they are."""
        if answer.mistakes:
            weights = Weights(self.W.copy(), answer.b)
            weights.W[:, answer.columns] = answer.W
        else:
            weights = Weights(self.W, self.b)
        if isinstance(keeper, Average):
            after = Average()
            after.A, after.a, after.looked = _sums(keeper, self.W, self.b)
            after.looked += answer.looked
            if answer.mistakes:
                after.A[:, answer.columns], after.a = answer.A, answer.a
            return weights, after
        return weights, keeper

    def mixed(self, keeper: Keeper, looked: int) -> tuple[Weights, Keeper]:
        """Return the mixed weights, and the average of everything that was looked at with.

        The average ``w - A/T`` is kept by its A. T looks so far, T_i of shard i, and T' in the end: all hypotheses add
        up to ``(T w - A) + Σ (T_i w_i - A_i) = T' w' - A'``, and so ``A' = A + T' (w' - w) + Σ (A_i - T_i (w_i - w))``.
        """
        share = max(1, self.mistakes)
        moved, shifted = self.D / share, self.d / share
        weights = Weights(self.W + moved, self.b + shifted)
        if isinstance(keeper, Average):
            after = Average()
            after.A, after.a, after.looked = _sums(keeper, self.W, self.b)
            after.looked += looked
            if self.mistakes:
                after.A += after.looked * moved + self.E
                after.a += after.looked * shifted + self.e
            return weights, after
        return weights, keeper


def _sums(keeper: Average, W: Floats, b: Floats) -> tuple[Floats, Floats, int]:
    """Return a copy of the sums of an average, for these weights; before the first look there are none."""
    if keeper.A.shape != W.shape:
        return np.zeros(W.shape), np.zeros(b.shape), keeper.looked
    return keeper.A.copy(), keeper.a.copy(), keeper.looked
