"""``linsep serve``: learns online behind HTTP."""

from __future__ import annotations

import sqlite3
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click

from linsep.cli.fit import ONLINE, Learning, made
from linsep.cli.options import OUTPUT, Argument, Screen, command
from linsep.cli.screen import count, headline, result
from linsep.declared import Parameter, declared
from linsep.errors import DataNote
from linsep.models.constructors import LEARNERS, LEARNING, STOPPING

_LISTENING, _LIMITS, _FOLDER = "Listening", "Limits", "Folder"
_OF_PASSES = ("shuffle", "order", "learning_rate", "random_state")  # over all rows, which there are none of
_ONLINE = {
    each.name
    for kind in LEARNERS.values()
    for each in declared(kind.parameters)
    if kind.online and each.about.panel != STOPPING and each.name not in _OF_PASSES
}


class OnlineLearning(Learning):
    """The parameters of a learner that sees every example once, as far as they are given."""

    parameters_declared = tuple(each for each in Learning.parameters_declared if each.name in _ONLINE)


@dataclass(frozen=True)
class Listening:
    """Where to listen, and who may ask."""

    name: Annotated[str, Parameter("Name of the model in /v2/models/NAME.", _LISTENING, "NAME")] = "linsep"
    host: Annotated[str, Parameter("Address to listen on.", _LISTENING, "HOST")] = "127.0.0.1"
    port: Annotated[int, Parameter("Port to listen on; 0 picks a free one.", _LISTENING, "PORT", min=0, max=65535)] = (
        8080
    )
    token_file: Annotated[
        str | None,
        Parameter(
            "File with a token on each line, which requests must carry; after the word predict one that may not teach.",
            _LISTENING,
            "FILE",
        ),
    ] = None
    tls_certificate: Annotated[str | None, Parameter("Certificate, in PEM.", _LISTENING, "FILE")] = None
    tls_key: Annotated[str | None, Parameter("Its private key, in PEM.", _LISTENING, "FILE")] = None
    behind_proxy: Annotated[bool, Parameter("A proxy encrypts the connections.", _LISTENING)] = False


@dataclass(frozen=True)
class Bounds:
    """How much a request, and all of them, may take."""

    max_body_mb: Annotated[float, Parameter("Size of a request.", _LIMITS, "MB", above=0)] = 64
    max_features: Annotated[int, Parameter("Columns of the model.", _LIMITS, "N", min=1)] = 1 << 22
    max_words: Annotated[int, Parameter("Columns that have names.", _LIMITS, "N", min=1)] = 1 << 20
    max_classes: Annotated[int, Parameter("Classes.", _LIMITS, "N", min=2)] = 1000
    max_waiting: Annotated[int, Parameter("Examples that wait to be learned.", _LIMITS, "N", min=1)] = 200_000
    max_requests: Annotated[int, Parameter("Requests at the same time.", _LIMITS, "N", min=1)] = 1000
    timeout: Annotated[float, Parameter("Time for one request.", _LIMITS, "SECONDS", above=0)] = 30


@dataclass(frozen=True)
class Keeping:
    """What is kept on disk."""

    data: Annotated[
        str | None, Parameter("Folder with everything: the log, the snapshots, the settings.", _FOLDER, "DIR")
    ] = None
    pending_days: Annotated[
        float, Parameter("How long a row that was predicted waits for its label.", _FOLDER, "DAYS", above=0)
    ] = 7
    keep_log: Annotated[
        str, Parameter("How long examples stay in the log: all, or a number of days.", _FOLDER, "all|DAYS")
    ] = "all"
    classes: Annotated[
        str | None, Parameter("Labels that are known from the start, separated by commas.", LEARNING, "LABEL,LABEL")
    ] = None
    check: Annotated[
        str | None, Parameter("Check the log, the answers and the snapshots in this folder, then exit.", OUTPUT, "DIR")
    ] = None

    @property
    def keep_days(self) -> float | None:
        """How many days an example stays in the log, None for all."""
        if self.keep_log == "all":
            return None
        try:
            days = float(self.keep_log)
        except ValueError:
            days = -1.0
        if not 0 < days < 1e6:
            raise click.BadParameter(f"--keep-log takes all or a number of days, got {self.keep_log!r}")
        return days


@command("linsep serve --data learner --keep average --port 8080")
def serve(
    model: Annotated[str | None, Argument("Model to start from, as fit writes it.")] = None,
    *,
    keeping: Keeping,
    listening: Listening,
    learner: Annotated[
        Literal[*ONLINE] | None,  # type: ignore[valid-type]
        Parameter(f"Learner: {', '.join(ONLINE)}. [default: perceptron]", LEARNING, "WHICH"),
    ] = None,
    learning: OnlineLearning,
    bounds: Bounds,
    screen: Screen,
) -> None:
    """Learn online behind HTTP: predict, then learn from every example, and lose none.

    POST /v1/learn answers when an example is on disk; POST /v1/predict never waits for learning. After a crash the
    server goes on from its folder. GET / is a page that shows how learning goes, GET /openapi.json describes the rest.
    """
    if keeping.check is not None:
        _check(keeping.check, screen)
        return
    if keeping.data is None:
        raise click.BadParameter("--data DIR names the folder for the log and the snapshots; a new one is made")
    try:
        from linsep.data.bodies import Limits
        from linsep.serve.server import Address
        from linsep.serve.server import serve as listen
        from linsep.serve.service import Service, log
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"serve needs the package {error.name}: pip install 'linsep[serve]'") from None
    from linsep.data.labels import label

    address = Address(
        listening.host, listening.port, listening.token_file, listening.tls_certificate, listening.tls_key,
        listening.behind_proxy,
    )  # fmt: skip
    access = address.access(bounds.max_requests, bounds.timeout)
    classes = None if keeping.classes is None else [label(word.strip()) for word in keeping.classes.split(",")]
    limits = Limits(int(bounds.max_body_mb * 1e6), bounds.max_features, bounds.max_words, bounds.max_classes)
    service = Service(
        keeping.data, _model(model, learner, learning.options), classes, limits=limits,
        pending_days=keeping.pending_days, keep_days=keeping.keep_days,
    )  # fmt: skip
    for note in service.notes:
        warnings.warn(DataNote("", note), stacklevel=1)

    def started(url: str) -> None:
        if not screen.quiet:
            print(f"linsep serve: {url} ({count(service.number, 'example')} learned; press Ctrl-C to stop)", flush=True)
        log("started", url=url, examples=service.number)

    patience = min(10.0, bounds.timeout)
    listen(
        service, address, access, name=listening.name, waiting=bounds.max_waiting, patience=patience, started=started
    )
    log("stopped", examples=service.number)


def _model(path: str | None, learner: str | None, given: dict[str, Any]) -> Any:
    """Return what a new folder begins with, None if nothing is said."""
    if path is not None:
        if learner is not None or given:
            raise click.BadParameter("a model has its own learner and parameters: leave out these, or the model")
        from linsep.cli.inputs import open_model

        return open_model(path)
    if learner is None and not given:
        return None
    return made(learner or "perceptron", {**given, "shuffle": False})


def _check(folder: str, screen: Screen) -> None:
    """Say whether everything in a folder fits together; exit with 1 if it does not."""
    from linsep.models.progressive import replay

    try:
        checked = replay(folder, check=True)
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{folder}: the log is damaged: {error}") from None
    facts = {"command": "serve", "check": folder, "examples": checked.learner.number, "problems": checked.problems}

    def show(console: Any) -> None:
        words = "everything fits together" if not checked.problems else count(len(checked.problems), "problem")
        console.print(headline(folder, f": {count(checked.learner.number, 'example')}, {words}"))
        for problem in checked.problems:
            console.print(problem)

    result(facts, screen, show)
    if checked.problems:
        raise click.exceptions.Exit(1)
