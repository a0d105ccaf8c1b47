"""The learners of ``linsep fit``: their options, first weights, and traces."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from click.core import ParameterSource

from linsep.cli.inputs import open_model
from linsep.cli.options import Reading, as_option
from linsep.declared import Declared, Parameter, declared
from linsep.errors import DataError, DataNote, Setting
from linsep.models.constructors import LEARNING, OWN
from linsep.models.kinds import LEARNERS

if TYPE_CHECKING:
    from linsep.data.source import Source

_KINDS = {learner.command: (learner, name) for name, learner in LEARNERS.items()}
ONLINE = tuple(learner.command for learner in LEARNERS.values() if learner.online)  # read files a block at a time
_LARGEST = 1 << 24  # bytes of a file of first weights


@dataclass(frozen=True)
class Chosen:
    """Which learner, what it starts from, and how its rows are weighted and scaled."""

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
    scale: Annotated[
        Literal["none", "unit", "standard"],
        Parameter(
            "Scale rows before learning: none, unit (divide by R, the longest row) or standard (columns of mean 0 "
            "and deviation 1; columns of words keep their mean). The model's weights are in the units of the file.",
            panel=LEARNING,
            metavar="HOW",
        ),
    ] = "none"
    offset: Annotated[bool | None, Parameter("", hidden=True)] = None  # --no-offset, in fewer keys

    def made(self, parameters: Learning) -> Any:
        """Return the model that is asked for; refuse parameters that it does not have."""
        kind, name = _KINDS[self.learner]
        given = parameters.given if self.offset is None else {**parameters.given, "fit_intercept": self.offset}
        known = {each.name for each in declared(kind.parameters)}
        for each, value in given.items():
            if each not in known:
                option = as_option(Setting(each, False if value is False else ...))
                raise click.BadParameter(f"{option} does not apply to --learner {self.learner}")
        if "class_weight" in given:
            given = {**given, "class_weight": _class_weight(given["class_weight"])}
        return getattr(import_module(kind.module), name)(**given)

    def in_memory(self, model: Any) -> str:
        """Name the option that needs all rows in memory, if one does."""
        if self.learner not in ONLINE:
            return f"--learner {self.learner}"
        if getattr(model, "order", None) is not None:
            return f"--order {model.order}"
        return "--sample-weight" if self.sample_weight else "--initial" if self.initial else ""


def _of_all_learners() -> tuple[Declared, ...]:
    """Return the parameters of all learners; of those that only some have, the help says which."""
    found: dict[str, Declared] = {}
    owners: dict[str, list[str]] = {}
    for learner in LEARNERS.values():
        for each in declared(learner.parameters):
            if each.about.typed is not None:
                found.setdefault(each.name, each)
                owners.setdefault(each.name, []).append(learner.command)
    for name, each in found.items():
        if each.about.panel == OWN:
            meaning = each.about.help[0].lower() + each.about.help[1:]
            found[name] = each._replace(about=replace(each.about, help=f"{', '.join(owners[name])}: {meaning}"))
    return tuple(found.values())


class Learning:
    """The parameters of the learner, as far as they are given."""

    parameters_declared = _of_all_learners()

    def __init__(self, **values: Any) -> None:
        source = click.get_current_context().get_parameter_source
        self.given = {name: values[name] for name in values if source(name) is ParameterSource.COMMANDLINE}


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

    from linsep.data.read import read

    known = reading.given | {"target": column}
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


def _class_weight(given: list[str]) -> Any:
    """Return the class weights: "balanced", or a dict."""
    if given == ["balanced"]:
        return "balanced"
    from linsep.data.labels import label

    weights: dict[Any, float] = {}
    for item in given:
        name, equals, number = item.rpartition("=")
        try:
            if not equals:
                raise ValueError
            weights[label(name)] = float(number)
        except ValueError:
            raise click.BadParameter(f"--class-weight takes balanced or LABEL=WEIGHT, got {item!r}") from None
    return weights
