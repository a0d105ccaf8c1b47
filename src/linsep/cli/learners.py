"""The learners of ``linsep fit``: their options, first weights, and traces."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from linsep.cli.inputs import open_model
from linsep.cli.options import Planes, Reading
from linsep.declared import Parameter
from linsep.errors import DataError, DataNote
from linsep.models.kinds import LEARNERS

if TYPE_CHECKING:
    from linsep.data.source import Source

LEARNING, OWN = "Learning", "Options of single learners"

_KINDS = {learner.command: (learner.module, name) for name, learner in LEARNERS.items()}
ONLINE = tuple(learner.command for learner in LEARNERS.values() if learner.online)  # read files a block at a time
_OURS = ("learner", "initial", "sample_weight", "offset", "scale")  # no parameters of a model
_LARGEST = 1 << 24  # bytes of a file of first weights


def _own(meaning: str, metavar: str | None = None) -> Parameter:
    """Return an option of some learners only."""
    return Parameter(meaning, panel=OWN, metavar=metavar)


@dataclass(frozen=True)
class Learners(Planes):
    """Which learner, its first weights, and the parameters that only some learners have."""

    learner: Annotated[
        Literal[*_KINDS],  # type: ignore[valid-type]
        Parameter(
            f"Learner: {', '.join(_KINDS)}. Only {', '.join(ONLINE)} learn from files larger than memory.",
            panel=LEARNING,
            metavar="WHICH",
        ),
    ] = "perceptron"
    initial: Annotated[
        str | None,
        Parameter(
            'File with the first weights: a model of the same features and classes, or JSON such as {"coef": '
            '[...], "intercept": [...]}.',
            panel=LEARNING,
            metavar="FILE",
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        Parameter(
            "Column of row weights; linsep does not use it as a feature. Needs all rows in memory.",
            panel=LEARNING,
            metavar="COLUMN",
        ),
    ] = None
    mistake: Annotated[
        Literal["violation", "prediction"],
        _own(
            "perceptron: update on every row that is not strictly on its side (violation), or only if the predicted "
            "label is wrong (prediction)."
        ),
    ] = "violation"
    variant: Annotated[
        Literal["pa", "pa1", "pa2"] | None, _own("passive-aggressive: update rule; pa1 and pa2 limit the step by C.")
    ] = None
    C: Annotated[float | None, _own("passive-aggressive: aggressiveness, the limit on the step.")] = None
    r: Annotated[float | None, _own("arow: regularization; the larger, the smaller the steps.")] = None
    kernel: Annotated[Literal["rbf", "poly", "linear"] | None, _own("kernel: kernel function.")] = None
    degree: Annotated[int | None, _own("kernel: degree of poly.")] = None
    gamma: Annotated[float | None, _own("kernel: scale of rbf and poly.")] = None
    coef0: Annotated[float | None, _own("kernel: constant term of poly.")] = None
    gap: Annotated[float | None, _own("max-margin: stop at this relative gap between the bounds.")] = None
    on_overlap: Annotated[
        Literal["raise", "drop"] | None,
        _own("max-margin: if no plane separates the rows, raise an error or drop the fewest rows."),
    ] = None
    time_limit: Annotated[
        float | None, _own("max-margin, fewest-errors: time limit of the search.", metavar="SECONDS")
    ] = None
    max_nodes: Annotated[
        int | None, _own("fewest-errors: largest number of nodes in the search tree.", metavar="N")
    ] = None

    def made(self, **changed: Any) -> Any:
        """Return the model that is asked for; refuse options that it does not have."""
        module, name = _KINDS[self.learner]
        kind = getattr(import_module(module), name)
        known = inspect.signature(kind.__init__).parameters
        given: dict[str, Any] = {}
        for field in fields(self):
            value = changed.get(field.name, getattr(self, field.name))
            if field.name in _OURS or value == field.default:  # a learner has its own defaults
                continue
            if field.name in known:
                given[field.name] = value
            else:
                option = field.name.replace("_", "-")
                option = f"--no-{option}" if value is False else f"--{option}"
                raise click.BadParameter(f"{option} does not apply to --learner {self.learner}")
        return kind(**given)


def start_from(learner: Any, path: str) -> dict[str, Any]:
    """Have a learner go on from a model; return weights that a JSON file has, as ``fit`` takes them."""
    if not hasattr(learner, "warm_start"):
        raise click.BadParameter(f"--initial needs --learner {' or '.join(ONLINE)}")
    with open(path, "rb") as file:
        text = file.read(_LARGEST) if os.path.getsize(path) < _LARGEST else b""
    if text.lstrip()[:1] == b"{":
        return _weights(path, text)
    model = open_model(path)
    if not hasattr(model, "last_weights"):
        raise ValueError(f"{path}: a {type(model).__name__} has no weights to start from; give a linear model")
    learner.start_with(model.classes_, model.last_weights())
    learner.warm_start = True
    if hasattr(model, "reading_"):
        learner.reading_ = model.reading_
    return {}


def _weights(path: str, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
        if not (isinstance(content, dict) and "coef" in content and set(content) <= {"coef", "intercept"}):
            raise ValueError
    except (ValueError, RecursionError):
        what = 'expected JSON of the form {"coef": [...], "intercept": [...]}'
        raise ValueError(f"{path}: {what}") from None
    return {f"{name}_init": values for name, values in content.items()}


def read_weights(paths: list[str], reading: Reading, column: str) -> Any:
    """Return the numbers of a column, which are the weights of the rows of a source, NaN for those that are dropped."""
    import numpy as np

    from linsep.data.opening import read

    known = reading.given() | {"target": column}
    known["ignore"] = [name for name in known.get("ignore", ()) if name != column]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)  # the reading of the rows tells the same
        source = read(paths if len(paths) > 1 else paths[0], **known)
        _, found = source.to_arrays()
    assert found is not None
    weights = np.full(source.dropped.rows, np.nan)
    try:
        weights[source.dropped.in_source(np.arange(len(found)))] = [float(value) for value in found.tolist()]
        return weights
    except (TypeError, ValueError):
        raise ValueError(f"--sample-weight {column}: the column must hold numbers") from None


def weights_of(source: Source, weights: Any, rows: int) -> Any:
    """Return the weights of the rows that are not dropped, out of those of all rows of a source."""
    import numpy as np

    numbers = source.dropped.in_source(np.arange(rows))
    found = weights[numbers]
    if np.isnan(found).any():
        place = source.locate([row := int(numbers[np.isnan(found).argmax()])])
        where = f"{source.files[0].name}: row {row}" if place is None else f"{place[0].file}:{place[0].line}"
        raise DataError(where, "the row has no weight: drop it or fill in the weight")
    return found


def trace_facts(learner: Any, source: Source, coef: bool, trace: bool) -> dict[str, Any]:
    """Return the quantities of the lectures that are asked for: w and b, the trace, and α, the mistakes of each row.

    Rows have the numbers that they have in the source; a row that was dropped has None for α.
    """
    facts: dict[str, Any] = {}
    if coef:
        asked: Iterable[str] = ("coef_", "intercept_", "dual_coef_", "support_")
        facts |= {name.rstrip("_"): getattr(learner, name) for name in asked if hasattr(learner, name)}
        if "support" in facts:
            facts["support"] = source.dropped.in_source(facts["support"])
    if trace:
        if not hasattr(learner, "trace_"):
            raise ValueError(f"--trace needs a learner that records its mistakes; {type(learner).__name__} does not")
        dropped, rows, counts = source.dropped, learner.trace_, learner.mistake_counts_.astype(object)
        if not hasattr(learner, "missing_rows_"):  # it numbers the rows of its arrays
            import numpy as np

            rows, counts = dropped.in_source(rows), np.insert(counts, dropped.among_kept(dropped.numbers), 0)
        counts[dropped.numbers] = None
        facts |= {"trace": rows, "mistake_counts": counts}
    return facts


def trace_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return them in lines; long ones are cut, --json has all."""

    def some(values: Any) -> str:
        listed = ["dropped" if value is None else f"{value:.6g}" for value in values[:20]]
        return ", ".join(listed) + (f", … ({len(values):,} in all)" if len(values) > 20 else "")

    lines: dict[str, str] = {}
    classes = facts["classes"].tolist()
    for c, row in enumerate(facts.get("coef", ())):
        lines["w" if len(classes) <= 2 else f"w of {classes[c]}"] = some(row)
    if "intercept" in facts:
        lines["b"] = some(facts["intercept"])
    if "trace" in facts:
        lines["trace"] = f"{some(facts['trace'])}: rows of the mistakes in order, from 0"
        lines["α"] = f"{some(facts['mistake_counts'])}: mistakes on each row"
    if facts.get("bound") is not None:
        lines["bound"] = f"at most {facts['bound']:,} mistakes in any order: {facts['bound_formula']}"
    elif facts.get("bound_missing"):
        lines["bound"] = f"none: {facts['bound_missing']}"
    return lines
