"""The progress bar of a run, and the warning when it ends without success."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from linsep.learn.passes import Watch
from linsep.problem import Stop
from linsep.wording import refuted_words, tiny_margin_words

_UNDERFLOW = 2.0**-960  # scores below this are sums of products some of which doubles do not hold


def progress(verbose: int, passes: int) -> AbstractContextManager[Watch | None]:
    """Show a progress bar on standard error while training, if asked to; return what is told of the progress."""
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


def advice_after(model: Any) -> str:
    """Return the next step to take after a run, in one line; nothing if it ended well, or its errors are not known."""
    proof, run = model.refutation_, model._stretches[-1].run
    if proof is not None:
        return refuted_words(len(proof.rows), model.keep, proof.machine)
    bound = run.passes[-1].margin_bound if run.passes else math.nan
    if run.stop is Stop.MARGIN_REFUTED and not math.isnan(bound):
        return tiny_margin_words(bound, math.hypot(model.radius_, float(model.fit_intercept)), model.keep)
    wrong, rows = model.training_errors_, model.training_rows_
    known = wrong > 0 or (wrong == 0 and hasattr(model, "update_margin"))
    if run.stop not in (Stop.MAX_ITER, Stop.MAX_UPDATES) or not known:
        return ""
    budget = f"{run.stop}={model.max_iter if run.stop is Stop.MAX_ITER else model.max_updates}"
    last = run.passes[-1].mistakes
    scaling, longest = getattr(model, "scaling_", {}).get("kind"), max(model.radius_, float(model.fit_intercept))
    if scaling is None and getattr(model, "eta0", 1.0) * (longest * longest) < _UNDERFLOW:
        return (
            f"{budget} ended the run. The scores of the rows underflow: they are too small for double "
            "precision, so no run can tell the sides apart. Scale X or eta0 up."
        )
    ended = f"{budget} ended the run while the last pass still made {last} mistake{'s' * (last != 1)}; "
    if wrong == 0:
        return f"{ended}now no row is on the wrong side. A larger {run.stop} lets it end with a pass without a mistake."
    ended += f"{wrong} of {rows} rows are on the wrong side."
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
