"""Writes ``separation`` proofs as JSON documents and checks them; docs/proof-format.md defines the fields."""

from __future__ import annotations

import csv
import io
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.clock import Clock
from linsep.data.parallel import together
from linsep.errors import DataError
from linsep.problem import Array, Values
from linsep.prove.check.linsep_check import (
    Fails,
    Malformed,
    answers,
    check_separation,
    coefficient_names,
    factors_of,
    label_text,
    meaning_of,
)
from linsep.prove.claims import OTHER_DATA, CheckResult
from linsep.prove.documents import numbers_written, sealed
from linsep.prove.numbers.exact_numbers import exact_rows
from linsep.prove.numbers.tables import integer_rows, table_fingerprint
from linsep.prove.numbers.text import signs_of
from linsep.prove.regression.cone import ConeCombination
from linsep.prove.regression.families import modeled
from linsep.prove.regression.fast_check import holds
from linsep.prove.regression.inputs import Given
from linsep.prove.regression.reading import design_of, specs_of
from linsep.prove.regression.responses import ORDERED, is_share

# ---------------------------------------------------------------------------------------------------------------
# What is claimed


def certificate(result: Any) -> dict[str, Any]:
    """Return what a result claims, with its evidence; ``plain_regression`` has the table of its parts."""
    given, model, face = result.given, result.model, result.face
    ids = model.system.ids
    place = {unknown: j for j, unknown in enumerate(model.order)}
    roles, _ = response_of(given)
    classes = [_label(label) for label in given.labels[1]] if roles[0] == "label" else []
    spelled = [label_text(label) for label in classes]
    if len(set(spelled)) < len(spelled):
        raise ValueError("two labels are spelled the same: a proof cannot tell them apart")
    aliased = []
    for at, v in result.alias_vectors:
        used = [j for j, value in enumerate(v) if value]
        multipliers = numbers_written(v[j] for j in used)
        aliased.append({"column": at, "columns": used, "multipliers": multipliers})
    names = coefficient_names(given.family, given.names, spelled, given.offset)
    statuses = zip(names, result.statuses, result.evidence, strict=True)
    claim = {
        "kind": "separation",
        "meaning": "",
        "fit_intercept": given.offset,
        "classes": classes,
        "n_features": len(given.names),
        "values": given.values,
        "family": given.family,
        "response": roles,
        "alias": given.alias,
        "names": list(given.names),
        "claim": result.kind,
        "columns": [place[unknown] for unknown in face.columns],
        "independent": np.searchsorted(ids, np.sort(face.independent)).tolist(),
        "aliased": aliased,
        "direction": numbers_written(result.direction),
        "separated": _stretches(np.flatnonzero(face.separated[ids])),
        "rest": _combination(face.contradiction, ids),
        "coefficients": [
            {"name": name, "status": status, **_evidence(result, proved, ids)} for name, status, proved in statuses
        ],
    }
    return claim | {"meaning": meaning_of(claim)}


def _combination(sums: ConeCombination, ids: Array) -> dict[str, Any]:
    return {"rows": np.searchsorted(ids, sums.rows).tolist(), "multipliers": numbers_written(sums.multipliers)}


def _evidence(result: Any, proved: Any, ids: Array) -> dict[str, Any]:
    if proved is None:
        return {}
    if proved.combination is not None:
        return _combination(proved.combination, ids)
    up, down = (numbers_written(result.by_coefficient(g)) for g in proved.directions)
    return {"up": up, "down": down}


def _stretches(rows: Array) -> list[list[int]]:
    """Return sorted row numbers as stretches [first, last]."""
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else []
    return [[int(part[0]), int(part[-1])] for part in parts]


# ---------------------------------------------------------------------------------------------------------------
# The response


def response_of(given: Given) -> tuple[list[str], list[list[Any]]]:
    """Return the roles of the columns of a response, strata and weights among them, and these columns."""
    y = np.asarray(given.y)
    columns = [y] if y.ndim == 1 else list(y.T)
    if given.family in ("multinomial", "ordinal"):
        roles = ["label"]
    elif given.family == "binomial":
        roles = ["number", "failures"] if y.ndim == 2 else ["number" if is_share(y[given.which]) else "label"]
    else:
        roles = ["number", "event"] if given.family == "cox" else ["number"]
    if given.strata is not None:
        roles, columns = [*roles, "stratum"], [*columns, given.strata]
    if given.weights is not None:
        roles, columns = [*roles, "weight"], [*columns, np.asarray(given.weights)]
    return roles, [[_label(value) for value in column.tolist()] for column in columns]


def _label(value: Any) -> Any:
    """Return a label that JSON can hold."""
    if isinstance(value, str | bool | int | float):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


# ---------------------------------------------------------------------------------------------------------------
# Documents


def document(result: Any, reading: dict[str, Any] | None, options: dict[str, str], note: str | None = None) -> str:
    """Return the proof of a result as a document; ``reading`` tells how its table becomes rows."""
    given = result.given
    about = {"reading": reading, **fingerprint(given.X, response_of(given)[1], given.values)}
    return sealed(result.certificate(), about, options, note)


def design_text(result: Any) -> str:
    """Return the design of a result and its response as a table of text, to which a proof without a reading fits."""
    given = result.given
    roles, columns = response_of(given)
    names = [f"the {role}" for role in roles]
    names = [name if name not in given.names else f"{name} (response)" for name in names]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*given.names, *names])
    for row, *response in zip(exact_rows(given.X, given.values, given.names), *columns, strict=True):
        writer.writerow([*map(_cell_text, row), *response])
    return file.getvalue()


def _cell_text(value: Any) -> str:
    """Return an exact number as a decimal."""
    exact = Fraction(value)
    near = float(exact)
    if exact in (Fraction(near), Fraction(repr(near))):  # texts of doubles read back as what they are
        return repr(near) if exact.denominator > 1 else str(exact.numerator)
    with localcontext() as context:
        context.prec = 2000
        return str(Decimal(exact.numerator) / exact.denominator)


def fingerprint(X: Any, columns: list[list[Any]], values: Values) -> dict[str, Any]:
    """Return the fingerprint of a design and its response."""
    columns = [c if len({type(v) for v in c}) < 2 else [label_text(v) for v in c] for c in columns]  # True is not 1
    response = list(zip(*columns, strict=True)) if len(columns) > 1 else columns[0]
    known = {label: code for code, label in enumerate(dict.fromkeys(response))}
    codes = np.array([known[label] for label in response], dtype=np.intp)
    return table_fingerprint(X, values, codes, tuple(known), response)


def check_separation_document(content: dict[str, Any], X: Any, columns: list[list[Any]], *, plain: bool) -> CheckResult:
    """Check a document, by its fingerprint and its claims."""
    about = content["data"]
    if len(columns) != len(content["response"]):
        return CheckResult(False, f"the response has {len(columns)} columns, not {len(content['response'])}")
    if X.shape != (about["n_rows"], about["n_features"]) or any(len(column) != X.shape[0] for column in columns):
        return CheckResult(False, f"it was written for {about['n_rows']} rows of {about['n_features']} features")
    name, outcome = together(
        lambda: fingerprint(X, columns, content["values"]), lambda: check_claims(content, X, columns, plain=plain)
    )
    if name["sha256"] != about["sha256"]:
        return OTHER_DATA
    return outcome._replace(checked=("the fingerprint is that of these data", *outcome.checked))


def check_claims(content: dict[str, Any], X: Any, columns: list[list[Any]], *, plain: bool) -> CheckResult:
    """Check what is claimed of a design and its response."""
    try:
        if X.shape[1] != content["n_features"]:
            raise Fails(f"the design has {X.shape[1]} columns, not {content['n_features']}")
        response = answers(content, list(zip(*columns, strict=True)))
        if plain:
            rows = list(integer_rows(X, content["values"], content["names"]))
            return CheckResult(True, "", tuple(check_separation(content, rows, response)))
        model, _ = modeled(_given(content, X, response), Clock())
    except (Fails, ValueError) as error:
        return CheckResult(False, str(error))
    if not holds(model, content):
        return CheckResult(False, "the proof does not prove its claims for these data")
    counts = f"{len(model.system.ids)} constraints on {len(model.names)} coefficients"
    return CheckResult(True, "", (counts, "every coefficient has the status that the proof states"))


def _given(content: dict[str, Any], X: Any, answers: list[dict[str, Any]]) -> Given:
    """Return the model that a document is about."""
    columns = {role: np.array([answer[role] for answer in answers]) for role in content["response"]}
    first: Any = columns.get("label", columns.get("number"))
    second: Any = columns.get("failures", columns.get("event"))
    weights = columns.get("weight", np.ones(len(answers)))
    if weights.min(initial=0) < 0 or not (weights > 0).any():
        raise Fails("a weight is negative, or all are 0")
    which = np.flatnonzero(weights > 0)
    if "failures" in columns:
        which = which[(first + columns["failures"])[which] != 0]
    share = content["family"] == "binomial" and second is None
    if share and not ((first >= 0) & (first <= 1))[which].all():
        raise Fails("a proportion is not between 0 and 1")
    y = first if second is None else np.column_stack((first, second))
    order = tuple(range(len(content["classes"]))) if content["family"] in ORDERED else None
    return Given(
        content["family"], X, y, tuple(content["names"]), content["fit_intercept"], content["values"],
        content["alias"], len(answers), which, columns.get("stratum"), columns.get("weight"), order,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Readings of documents


def reading_of(given: Any, table: Any, parts: list[str], missing: str) -> dict[str, Any] | None:
    """Return how a table becomes design and response; None if a formula has computed some of it."""
    columns = specs_of(list(given.names), given.X, table, given.values) if parts else None
    if columns is None or len(parts) != len(response_of(given)[0]):
        return None
    return {
        "columns": columns,
        "target": parts[0],
        "others": parts[1:],
        "missing": missing,
        **signs_of(table.source),
    }


def read_back(content: dict[str, Any], frame: Any) -> tuple[Any, list[list[Any]]]:
    """Return the design and the columns of the response of a document, from a table; raise Fails if it has not them."""
    how = content["data"]["reading"]
    if how is None:
        last = len(frame.columns) - len(content["response"])
        columns = [{"column": name} for name in frame.columns[: max(0, last)]]
        parts, missing = frame.columns[max(0, last) :], "error"
    else:
        columns, parts, missing = how["columns"], [how["target"], *how["others"]], how["missing"]
    used = list(dict.fromkeys([*(each["column"] for each in factors_of(columns)), *parts]))
    for name in used:
        if name not in frame.columns:
            raise Malformed(f"there is no column {name[:40]!r}")
    try:
        kept = frame.only(used).complete(parts, missing)
        X = design_of(columns, kept, content["values"])
    except DataError as error:
        raise Fails(str(error)) from None
    return X, [kept[name].tolist() for name in parts]
