"""Options that run a command on a cluster, and the calls that do so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import click

from linsep.cli.screen import Meter, count
from linsep.declared import Parameter

if TYPE_CHECKING:
    from linsep.clock import Clock
    from linsep.data.source import Source
    from linsep.problem import Array
    from linsep.prove.claims import Decision, Verdict

_PANEL = "Cluster"


@dataclass(frozen=True)
class Place:
    """Where a command is to work: a cluster, unless nothing is said."""

    cluster: Annotated[
        str | None,
        Parameter(
            "Dask cluster to run on, such as tcp://host:8786; local starts processes on this machine.",
            panel=_PANEL,
            metavar="ADDRESS",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Parameter("Number of local processes. [default: one per core]", panel=_PANEL, metavar="N", min=1),
    ] = None
    shard_mb: Annotated[
        float,
        Parameter("Size of the shards that files are split into.", panel=_PANEL, metavar="MB", min=1e-6),
    ] = 64

    def __post_init__(self) -> None:
        if self.workers is not None and self.cluster not in (None, "local"):
            raise click.BadParameter(
                "--workers needs --cluster local: an existing cluster sets its own number of workers"
            )

    @property
    def address(self) -> str | None:
        """Where the cluster is, None if there is none."""
        return "local" if self.cluster is None and self.workers is not None else self.cluster

    @property
    def elsewhere(self) -> bool:
        """Whether predictions are made on a cluster.

        This process predicts on all cores, and other processes on this machine take seconds to start: they must be
        asked for with ``--cluster local``.
        """
        return self.cluster is not None

    @property
    def shard_bytes(self) -> int:
        """About how many bytes of a file a worker gets at a time."""
        return max(1, round(self.shard_mb * 1e6))

    def __bool__(self) -> bool:
        return self.address is not None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Connect to the cluster."""
        try:
            from linsep.cluster import connect
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"--cluster needs the package {error.name}: pip install 'linsep[cluster]'"
            ) from None
        assert self.address is not None
        with connect(self.address, self.workers) as client:
            yield client

    def fit(self, learner: Any, source: Source, watching: Meter, **how: Any) -> None:
        """Train on the cluster."""
        before = [0, 0, 0, 0]  # round, rows looked at before it, shards heard in it, mistakes so far
        size: int | None = None  # rows of a whole round, once there was one

        def watch(number: int, looked: int, mistakes: int, _: float) -> None:
            nonlocal size
            if number != before[0]:
                size = watching.rows - before[1] or None
                before[:] = [number, watching.rows, 0, before[3]]
            own = mistakes - before[3]
            before[2:] = [before[2] + 1, mistakes]
            watching.rows = before[1] + looked
            words = f"round {number + 1}/{learner.max_iter:,}  shard {before[2]}: {own:,} of {mistakes:,} mistakes"
            watching.show(looked, size, words)

        with self.client() as client:
            from linsep import cluster

            cluster.fit(learner, source, client, shard_bytes=self.shard_bytes, watch=watch, **how)

    def confusion(self, fitted: Any, source: Source) -> Counter[tuple[Any, Any]]:
        """Count pairs of true and predicted labels on the cluster."""
        with self.client() as client:
            from linsep import cluster

            return cluster.confusion(fitted, source, client, shard_bytes=self.shard_bytes)

    def predictions(
        self, fitted: Any, source: Source, methods: tuple[str, ...]
    ) -> Generator[tuple[Array, ...], None, None]:
        """Yield what the model says of the rows, a stretch at a time, in their order."""
        with self.client() as client:
            from linsep import cluster

            yield from cluster.predict(fitted, source, client, methods=methods, shard_bytes=self.shard_bytes)

    def decide(self, source: Source, offset: bool, clock: Clock, watching: Meter) -> Decision:
        """Decide on the cluster whether a plane separates the classes."""

        def watch(number: int, rows: int, left: int) -> None:
            watching.show(None, None, f"round {number + 1}  {count(rows, 'row')} searched, {left:,} not covered")

        with self.client() as client:
            from linsep.cluster.verdicts import decide

            return decide(source, client, offset, clock, self.shard_bytes, watch)

    def fingerprint(self, verdict: Verdict, source: Source) -> dict[str, Any]:
        """Return the name of the data for a proof of the verdict; the rows are read here once more."""
        from linsep.prove.numbers.text import fingerprint_of

        return fingerprint_of(source, verdict)


class Picked(dict[int, Any]):
    """Some rows of a matrix, by their numbers; its shape is that of all of it."""

    def __init__(self, rows: dict[int, Any], shape: tuple[int, int]) -> None:
        super().__init__(rows)
        self.shape = shape


def mixing_facts(learner: Any) -> dict[str, Any]:
    """Return what is to be reported of a run on a cluster, nothing of one here."""
    mixing = getattr(learner, "mixing_", None)
    if mixing is None:
        return {}
    by_shard = mixing["mistakes"].sum(axis=0)
    facts = {"shards": len(by_shard), "mistakes_by_shard": by_shard, "weighted_mistakes": mixing["weighted"]}
    return facts | {"margin_upper": mixing["margin_upper"], "bound_holds": mixing["holds"]}


def mixing_lines(learner: Any) -> dict[str, str]:
    """Return the lines of the report about a run on a cluster, none about one here."""
    facts = mixing_facts(learner)
    if not facts:
        return {}
    own = facts["mistakes_by_shard"]
    lines = {"shards": f"{facts['shards']:,}, with {own.min():,} to {own.max():,} mistakes each"}
    if facts["margin_upper"] < float("inf"):
        margin = "an augmented margin" if learner.fit_intercept else "a margin"
        lines["bound"] = (
            f"no plane has {margin} above {facts['margin_upper']:.6g}, by {facts['weighted_mistakes']:,.1f} weighted "
            f"mistakes ({facts['bound_holds']})"
        )
    return lines
