"""``linsep report``: writes an HTML report on the data."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import click

from linsep.cli.fit import ONLINE, Chosen, Learning
from linsep.cli.inputs import check_place, kinds, kinds_line, label_facts, label_line, open_data
from linsep.cli.options import DECIDING, OUTPUT, Data, Planes, Reading, Screen, command
from linsep.cli.screen import count, facts_table, headline, result, while_reading
from linsep.declared import Parameter


@dataclass(frozen=True)
class StudyOptions:
    """What to report about the data, and how long it may take."""

    delta: Annotated[float, Parameter("Probability that a bound on the error fails.", DECIDING)] = 0.05
    test_size: Annotated[float, Parameter("Share of the rows to hold out for measuring the error.", DECIDING)] = 0.2
    time_limit: Annotated[
        float, Parameter("Time limit for the page: passes, searches and figures.", DECIDING, "SECONDS", min=0)
    ] = 60.0
    random_state: Annotated[int, Parameter("Random seed.", DECIDING, "SEED", min=0)] = 0


@dataclass(frozen=True)
class Html:
    """The page to write."""

    out: Annotated[str, Parameter("HTML file to write.", OUTPUT, "OUT", short="-o")] = "report.html"
    title: Annotated[str | None, Parameter("Title of the page. [default: the name of the file]", OUTPUT, "TEXT")] = None


class ReportedLearning(Learning):
    """The parameters of the model of the page, as far as they are given: offset and seed are the page's."""

    parameters_declared = tuple(
        each
        for each in Learning.parameters_declared
        if each.name not in ("fit_intercept", "random_state", "time_limit")
    )


@command("linsep report data.csv --target species --out report.html")
def report(
    data: Data,
    planes: Planes,
    about: StudyOptions,
    chosen: Chosen,
    learning: ReportedLearning,
    html: Html,
    *,
    screen: Screen,
    reading: Reading,
) -> None:
    """Write a report on the data as one HTML page: verdict, proof, run, bound, margins, expected error, figures.

    The options of learning and stopping are those of linsep fit: they are about the model whose weights the page lists
    and whose error on new rows it bounds. The page needs no network and no other file. The exit code is 0 for any
    verdict.
    """
    import matplotlib as mpl

    from linsep.data.files import replacing
    from linsep.pages.reporting.page import page
    from linsep.pages.reporting.study import study
    from linsep.prove.numbers.text import default_values, exact_table, reading_of

    if chosen.learner not in ONLINE:
        raise click.BadParameter(f"--learner must be {' or '.join(ONLINE)} for a report, got {chosen.learner}")
    own = {"fit_intercept": planes.has_offset, "random_state": about.random_state}
    learner = chosen.made(learning.also(**own, shuffle=learning.options.get("shuffle", False)))
    mpl.use("Agg")  # files only: no window, no screen needed
    started = time.perf_counter()
    check_place(html.out, *data)
    source = open_data(data, reading, screen)
    values = default_values(source)
    with while_reading(source, screen):
        X, y = exact_table(source, values)
    names = list(source.names) if source.names is not None and len(source.names) == X.shape[1] else None
    options = {"feature_names": names, "reading": reading_of(source), "values": values, **asdict(about)}

    def locate(rows: Any) -> Any:
        locations = source.locate(rows)
        if locations is None or len(source.files) > 1:
            return locations
        return [place._replace(file="") for place in locations]

    options |= {"dropped": source.dropped, "locate": locate, "learner": learner, "scale": chosen.scale}
    options["word_counts"] = source.word_counts
    results = study(X, y, fit_intercept=planes.has_offset, **options)
    written = page(results, html.title or os.path.basename(source.files[0].name))
    with replacing(html.out) as file:
        file.write(written.encode())
    facts = {"command": "report", "data": data, "out": html.out, **_facts(results, source)}
    facts["seconds"] = time.perf_counter() - started

    def show(console: Any) -> None:
        console.print(headline(html.out, f": {len(written) / 1024:,.0f} KB in {facts['seconds']:.2f} s"))
        console.print(facts_table(_lines(results, source, facts, about.delta)))

    result(facts, screen, show)


def _facts(results: Any, source: Any) -> dict[str, Any]:
    """Return what the page says in numbers, for ``--json``."""
    held, model = None if results.unseen is None else results.unseen.held_out, results.trained
    return {
        "rows": results.rows,
        "dropped": len(source.dropped),
        "features": results.features,
        "columns": kinds(source),
        **label_facts(source),
        "classes": results.classes,
        "verdict": results.verdict.kind,
        "stop_reason": results.model.stop_reason_,
        "mistakes": results.model.mistakes_,
        "mistake_bound": None if results.bound is None else results.bound.mistakes,
        "margin_lower": None if results.margin is None else results.margin.lower,
        "margin_upper": None if results.margin is None else results.margin.upper,
        "audit": None if results.audit is None else results.audit.holds,
        "learner": None if model is None else type(model).__name__,
        "scale": None if model is None else getattr(model, "scaling_", {}).get("kind", "none"),
        "error_interval": None if held is None else [held.lower, held.value],
    }


def _lines(results: Any, source: Any, facts: dict[str, Any], delta: float) -> dict[str, str]:
    lines = {
        "rows": f"{results.rows:,} of {count(results.features, 'feature')}, {count(len(results.classes), 'class')}",
        "columns": kinds_line(facts["columns"]),
        **label_line(source, len(results.classes)),
        "verdict": results.verdict.kind,
        "run": f"{count(results.model.mistakes_, 'mistake')}, stopped: {results.model.stop_reason_}",
    }
    if results.bound is not None:
        lines["bound"] = f"at most {results.bound.mistakes:,.0f} mistakes"
    if facts["error_interval"] is not None:
        lower, upper = facts["error_interval"]
        model = results.trained
        learned = f"{type(model).__name__} that learned from {model.record_.rows:,} rows, scale: {facts['scale']}"
        lines["error"] = f"{lower:.2%} to {upper:.2%} on new rows, at confidence {1 - delta:g}, for the {learned}"
    return lines
