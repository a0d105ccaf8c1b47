"""The progress bar of a run, and the warning when it ends without success."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from linsep.learn.passes import Watch
from linsep.problem import Run, Stop
from linsep.wording import refuted_words, tiny_margin_words

CLEARLY = 0.9  # of the errors of a guess: more are hardly better
_MANY = 100  # rows from which on some can be held out
_UNDERFLOW = 2.0**-960  # scores below this are sums of products some of which doubles do not hold


def progress(verbose: int, passes: int) -> AbstractContextManager[Watch | None]:
    """Show a progress bar on standard error while training, if ``verbose``; yield what is called with the progress."""
    return _bar(passes) if verbose else nullcontext()


@contextmanager
def _bar(passes: int) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("pass {task.completed}/{task.total}"),
        BarColumn(10),
        TextColumn("{task.fields[made]} mistakes, loss {task.fields[loss]:.3g}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=passes, made=0, loss=0.0)
        yield lambda number, _, made, loss: bar.update(task, completed=number + 1, made=made, loss=loss)


def margin_bound(model: Any) -> float:
    """Return what the last search of a run proved of all margins, NaN if nothing."""
    passes = model.record_.passes if hasattr(model, "record_") else ()
    return passes[-1].margin_bound if passes else math.nan


def advice_after(model: Any, command: bool = False) -> str:
    """Return the next step after a run, in one line; nothing if it ended well, or its errors are not known.

    A command has printed what ended the run, and spells parameters as options.
    """
    if command and (line := _no_better_than_guessing(model)):
        return line
    run, wrong = model.record_.runs[-1].run, model.training_errors_
    stop, average = run.stop, "--keep average" if command else "keep='average'"
    proof, bound = model.refutation_, margin_bound(model)
    if proof is not None:
        text = refuted_words(len(proof.rows), average if model.keep == "last" else "", proof.machine)
        return f"{text[0].upper()}{text[1:]}." if command else text
    if stop is Stop.MARGIN_REFUTED and not math.isnan(bound):
        further = "--no-prove" if command else "prove=False"
        radius = math.hypot(model.radius_, float(model.fit_intercept))
        text = tiny_margin_words(bound, radius, average if model.keep not in ("average", "auto") else "", further)
        return f"{text[0].upper()}{text[1:]}" if command else text
    if wrong < 0 or stop is Stop.SEPARATED or not run.passes:
        return ""
    if stop in (Stop.MAX_ITER, Stop.MAX_UPDATES):
        if wrong == 0 and not hasattr(model, "update_margin"):
            return ""
        return _more_for_a_command(model, run) if command else _more(model, run)
    if not command:
        return ""
    if stop is Stop.MARGIN_REFUTED:
        margin = "an augmented margin" if model.fit_intercept else "a margin"
        return f"The number of mistakes proves that no plane has {margin} of {model.target_margin:g} on these rows."
    option = {Stop.LOSS_PLATEAU: "--tol", Stop.VALIDATION: "--early-stopping"}.get(stop)
    if option is None or wrong == 0:
        return ""
    return (
        f"Not separated: {option} ended the run early. linsep separate tells you whether a plane exists, with a proof."
    )


def _no_better_than_guessing(model: Any) -> str:
    """Return the first of the steps that usually help, if the most frequent class is as good a guess."""
    guessed = model.training_rows_ - model.majority_rows_
    if model.training_errors_ <= CLEARLY * guessed:
        return ""
    step = "other features, such as products or powers of these"
    if not model.early_stopping and model.training_rows_ >= _MANY:
        step = "--early-stopping, which stops when held-out rows are predicted best"
    if model.keep not in ("average", "auto", "vote"):
        step = "--keep average, which is steadier than the last weights"
    if _scaling(model) != "standard":
        step = "--scale standard, which gives all columns the same size"
    return f"Hardly better than always saying the most frequent class. Try {step}."


def _more(model: Any, run: Run) -> str:
    budget = f"{run.stop}={model.max_iter if run.stop is Stop.MAX_ITER else model.max_updates}"
    wrong, last = model.training_errors_, run.passes[-1].mistakes
    scaling, longest = _scaling(model), max(model.radius_, float(model.fit_intercept))
    if scaling is None and getattr(model, "eta0", 1.0) * (longest * longest) < _UNDERFLOW:
        return (
            f"{budget} ended the run. The scores of the rows underflow: they are too small for double "
            "precision, so no run can tell the sides apart. Scale X or eta0 up."
        )
    ended = f"{budget} ended the run while the last pass still made {last} mistake{'s' * (last != 1)}; "
    if wrong == 0:
        return f"{ended}now no row is on the wrong side. A larger {run.stop} lets it end with a pass without a mistake."
    ended += f"{wrong} of {model.training_rows_} rows are on the wrong side."
    if any(entry.separable for entry in run.passes):
        return (
            f"{ended} The run has proved that some plane separates these rows: a larger {run.stop} will find one, "
            "linsep.separate or MaxMarginClassifier finds one sooner."
        )
    scaled = "" if scaling == "standard" else " or scaled features (StandardScaler)"
    return (
        f"{ended} If some plane separates the data, a larger {run.stop}{scaled} will find one. If none does, no number "
        "of passes will: set tol or early_stopping to stop sooner. linsep.separate tells which, with a proof."
    )


def _more_for_a_command(model: Any, run: Run) -> str:
    """Return what to do about a run that a budget has ended, with options of the command line."""
    larger = f"a larger --{str(run.stop).replace('_', '-')}"
    if model.training_errors_ == 0:
        return f"No row is on the wrong side now; {larger} lets the run end with a pass without a mistake."
    scaled = "" if _scaling(model) == "standard" else " or --scale standard"
    if any(entry.separable for entry in run.passes):
        return (
            f"Not separated yet, but the run has proved that some plane separates these rows: {larger}{scaled} will "
            "find one; linsep separate or --learner max-margin finds one sooner."
        )
    return (
        "Not separated yet. linsep separate tells you whether a plane exists, with a proof. If one does, --learner "
        f"max-margin finds it; you can also try {larger}{scaled}. If none does, --early-stopping or --tol stops sooner."
    )


def _scaling(model: Any) -> str | None:
    """Return how the rows were scaled in training, None if they were not."""
    kind: str | None = getattr(model, "scaling_", {}).get("kind")
    return kind
