"""Turns arrays, frames, formulas and statsmodels models into a design, a response and a family."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import is_sparse
from linsep.data.matrices import is_frame, is_records, native, table_source
from linsep.data.schema import NUMBER, WORD, Layout
from linsep.data.tables import TableSource
from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Values
from linsep.prove.numbers.cells import LongDecimals, canonical, whole_table
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL
from linsep.prove.numbers.tables import exact_columns, unrounded
from linsep.prove.numbers.text import default_values, refuse_rounded
from linsep.prove.regression.families import FAMILIES, INTERCEPT, WITHOUT_INTERCEPT
from linsep.prove.regression.reading import WIDE, coded, design_of, is_large, joined, with_exact_columns
from linsep.prove.regression.responses import (
    ORDERED,
    carried_categories,
    counted_rows,
    empty_categories,
    group_labels,
    grouped,
    label_order,
    labels,
    numbers,
    refuse_missing,
    several_spellings,
)
from linsep.prove.regression.table import ModelTable, open_columns, read_table, unknown

_REFUSED = {
    "gaussian": "least squares always has a finite estimate",
    "gamma": "its likelihood has a maximum for any rows: separation cannot occur",
    "inverse-gaussian": "its likelihood has a maximum for any rows: separation cannot occur",
    "quasi": "name the family that the quasi-likelihood is based on",
    "tweedie": "use poisson: rows with y = 0 separate in the same way under a log link",
    "beta": "responses between 0 and 1 never separate",
    "log-binomial": "its probabilities must not pass 1, so its estimate may lie on the edge of the coefficients that "
    "the rows allow; for relative risks use poisson",
    "bernoulli": "say binomial",
    "logit": "say binomial",
    "probit": "say binomial",
}


@dataclass(frozen=True)
class Given:
    """A model as it was given, checked but not computed with."""

    family: str
    X: Any  # ndarray of numbers or objects, or CSR
    y: Any
    names: tuple[str, ...]
    offset: bool
    values: Values
    alias: str
    n: int
    which: Array  # observations of positive weight
    strata: Array | None = None
    weights: Array | None = None
    order: tuple[Any, ...] | None = None  # of the labels; None if they are numbers, or sorting tells it
    notes: tuple[str, ...] = ()
    formula: Any = None  # makes the columns of another frame, as formulaic's model specification
    hidden: int = 0  # columns of absorbed factors, the last ones
    response: tuple[str, ...] = ("y",)  # what its columns are called

    @cached_property
    def labels(self) -> tuple[Array, tuple[Any, ...]]:
        """The class number of every label, and the labels in their order."""
        return labels(self.y, self.order, self.name)

    @property
    def name(self) -> str:
        """What the response is called."""
        return self.response[0] if len(self.response) == 1 else "the response"


def gather(X: Any, y: Any, options: dict[str, Any]) -> Given:
    """Return a model given in any way; absorbed factors have a column for every category, and no intercept beside."""
    options = dict.fromkeys(("names", "values", "strata", "weights", "order", "absorb")) | {"alias": "drop"} | options
    model = X if hasattr(X, "exog") and hasattr(X, "endog") else getattr(X, "model", None)
    if isinstance(X, str):
        X, y, options = _from_formula(X, y, options)
    elif isinstance(X, TableSource):
        X, y, options = _from_source(X, y, options)
    elif hasattr(model, "exog"):
        X, y, options = _from_statsmodels(model, options)
    family = _family(options["family"])
    if options["alias"] not in ("drop", "keep"):
        raise ParameterError("alias", options["alias"], "'drop' or 'keep'")
    if options["values"] not in (None, DECIMAL, BINARY):
        raise ParameterError("values", options["values"], "'decimal' or 'binary'")
    if y is None:
        raise ParameterError("y", None, "given; it is the response")
    factors = _factors(options["absorb"], X)
    X = frame_table(X) if is_frame(native(X)) or is_records(X) else X
    if isinstance(X, ModelTable) and options["values"] == BINARY:
        X = X.nearest_doubles()
    if isinstance(X, ModelTable) and X.source is not None:
        refuse_rounded(X.source, options["values"])
    matrix, names = _matrix(X, options["names"], options["values"])
    written = isinstance(matrix, LongDecimals)
    if isinstance(X, ModelTable) and X.source is not None:
        written = written or default_values(X.source) == DECIMAL
    elif matrix.dtype == object:
        written = any(isinstance(value, str | bytes | Decimal) for value in matrix.ravel().tolist())
    values = options["values"] or (DECIMAL if written else BINARY)
    n = matrix.shape[0]
    if n == 0:
        raise DataError("", "there are no rows")
    categories = options.get("categories") or carried_categories(y)
    y = np.asarray(y)
    if len(y) != n:
        raise DataError("", f"X has {n} rows but y has {len(y)}")
    which = counted_rows(options["weights"], n)
    response = tuple(options.get("response") or ("y",))
    if family == "binomial" and y.ndim == 2 and y.shape[1] == 2:
        which = which[numbers(y, *response)[which].any(axis=1)]
    order = label_order(y, family, options["order"], categories, response[0])
    notes = empty_categories(*labels(y, order, response[0]), which) if family in ORDERED else ()
    strata = None if options["strata"] is None else group_labels(options["strata"], n, "strata")
    notes += () if strata is None else several_spellings(strata, "strata")
    if strata is not None and family not in ("conditional", "cox"):
        raise ParameterError("strata", "groups", f"None for the family {family}; conditional and cox have strata")
    offset = bool(options["fit_intercept"]) and family not in WITHOUT_INTERCEPT
    hidden = 0
    if factors:
        if family == "multinomial":
            raise ParameterError("absorb", [name for name, _ in factors], "None for the family multinomial")
        matrix, more = _with_factors(matrix, factors, which, values)
        names, hidden, offset = names + more, len(more), False
    weights = None if options["weights"] is None else np.asarray(options["weights"])
    return Given(
        family, matrix, y, tuple(names), offset, values, options["alias"], n, which, strata, weights, order, notes,
        options.get("formula"), hidden, response,
    )  # fmt: skip


def _family(family: Any) -> str:
    """Return the name of a family, or say why there is no such."""
    name = str(family).lower().replace("_", "-").replace(" ", "-")
    others = {"negbin": "negative-binomial", "negativebinomial": "negative-binomial", "logbinomial": "log-binomial"}
    name = others.get(name, name)
    if name in FAMILIES:
        return name
    if name in _REFUSED:
        raise DataError("", f"the family {family!r} is not supported: {_REFUSED[name]}")
    raise ParameterError("family", family, f"one of {', '.join(FAMILIES)}")


def _factors(absorb: Any, X: Any) -> list[tuple[str, Array]]:
    """Return the names of factors and the label of every row."""
    if absorb is None:
        return []
    if isinstance(absorb, str):
        absorb = [absorb]
    if isinstance(absorb, np.ndarray) and absorb.ndim == 2:
        absorb = list(absorb.T)
    factors = []
    for k, each in enumerate(absorb):
        name, column = each if isinstance(each, tuple) else (f"factor{k}", each)
        if isinstance(each, str):
            if not hasattr(X, "columns"):
                raise ParameterError("absorb", each, "a list of arrays, one label per row, unless X is a frame")
            name, column = each, _column(X, each)
        column = np.asarray(column)
        refuse_missing(column, f"the factor {name!r}")
        factors.append((str(name), column))
    return factors


def _with_factors(X: Any, factors: list[tuple[str, Array]], which: Array, values: Values) -> tuple[Any, list[str]]:
    """Return a design with a column for every category of factors that occurs in the rows that count; their names."""
    import scipy.sparse as sp

    n, X = X.shape[0], whole_table(X)
    columns, names = [X] if is_sparse(X) else list(X.T), []
    for name, labels_of_rows in factors:
        if len(labels_of_rows) != n:
            raise DataError("", f"X has {n} rows but the factor {name!r} has {len(labels_of_rows)}")
        first, codes = grouped(labels_of_rows)
        used = np.unique(codes[which])
        all_columns = sp.csc_array((np.ones(n, dtype=np.int64), (np.arange(n), codes)), shape=(n, len(first)))
        columns.append(all_columns[:, used])
        names += [f"{name}={label}" for label in labels_of_rows[first[used]].tolist()]
    return joined(columns, n, values, is_sparse(X)), names


# ---------------------------------------------------------------------------------------------------------------
# Arrays and frames


def _matrix(X: Any, names: Any, values: Values | None) -> tuple[Any, list[str]]:
    """Return a design as a matrix with names."""
    known = None
    if isinstance(X, ModelTable):
        known, specs = coded(X)
        matrix = design_of(specs, X, values or DECIMAL)
    elif is_sparse(X):
        import scipy.sparse as sp

        matrix = canonical(sp.csr_array(X))
    else:
        matrix = _plain_array(X)
    if names is not None:
        known = [str(name) for name in names]
        if len(known) != matrix.shape[1]:
            raise DataError("", f"{{0}} must name {matrix.shape[1]} columns, got {len(known)} names", ("names",))
    if known is None:
        known = [f"x{j}" for j in range(matrix.shape[1])]
    if len(set(known)) < len(known):
        twice = next(name for k, name in enumerate(known) if name in known[:k])
        raise DataError("", f"two columns are named {twice!r}")
    return matrix, known


def _plain_array(X: Any) -> Array:
    """Return numbers, or objects that are to be numbers, in two dimensions."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("", "X is a masked array, in which some cells have no value: fill them first")
    try:
        matrix = np.asarray(unrounded(X) if isinstance(X, list | tuple) else X)
    except ValueError:
        raise DataError("", "the rows of X are not all of one length") from None
    if matrix.ndim == 1 and matrix.dtype != object:
        raise DataError("", "X must have two dimensions; one column is X.reshape(-1, 1)")
    if matrix.ndim != 2:
        raise DataError("", f"X must have two dimensions, got {matrix.ndim}; are all rows of one length?")
    if matrix.dtype.kind in "US":
        return matrix.astype(object)
    if matrix.dtype.kind == "c":
        raise DataError("", "X has complex numbers")
    if matrix.dtype.kind not in "biufO":
        raise DataError("", f"X must be numbers, got {matrix.dtype}")
    if matrix.dtype.kind == "f" and matrix.dtype.itemsize > 8:
        raise DataError("", "X has numbers longer than 64 bits: give them as Fraction, or round them to float64")
    if matrix.dtype == np.uint64:
        return matrix.astype(object if matrix.max(initial=0) >= 1 << 63 else np.int64)
    return matrix


def frame_table(frame: Any, names: list[str] | None = None, kinds: dict[str, str] | None = None) -> ModelTable:
    """Return a frame as a table, read as a file with its columns would be; exact numbers stay as they are.

    Only columns that just name the rows are left out, or with ``names`` all but these are taken. ``kinds`` are those
    of another table that it is to be read like.
    """
    frame = native(frame)
    wanted = column_names(frame) if names is None else names
    exact = {name: cells for name, cells in exact_columns(frame).items() if name in wanted}
    others = [name for name in wanted if name not in exact]
    if not others:
        return ModelTable(exact, dict.fromkeys(exact, NUMBER))
    layout = None if kinds is None else Layout(tuple((name, kinds[name]) for name in others))
    source = table_source(frame, others, layout=layout, keep_index=names is not None)
    table = read_table(source, dict(source.layout.columns)).complete([], "error")
    cells = table.cells | exact
    table.cells = {name: cells[name] for name in wanted if name in cells}
    table.kinds |= dict.fromkeys(exact, NUMBER)
    return table


def column_names(frame: Any) -> list[str]:
    """Return the names of the columns of a frame or of records."""
    if is_records(frame):
        records = [frame] if isinstance(frame, Mapping) else frame
        return list(dict.fromkeys(str(key) for record in records for key in record))
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def _column(frame: Any, name: str) -> Any:
    """Return a column by name, or an error with near names."""
    columns = [str(each) for each in frame.columns]
    if name not in columns:
        raise unknown(name, columns)
    return frame[name]


# ---------------------------------------------------------------------------------------------------------------
# Sources and formulas


def _from_source(source: TableSource, y: Any, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return features, label and options of a table that `read` has opened."""
    if y is not None:
        raise ParameterError("y", "labels", "None for a source, which has its own")
    assert source.layout is not None
    target = source.layout.target
    if target is None:
        raise DataError(source.files[0].name, "there are no labels")
    table = read_table(source, {**dict(source.layout.columns), target: WORD}, frozenset([target]))
    table = table.complete([target], source.options.missing)
    values = options["values"] or default_values(source)
    return (
        table.only([name for name in table.columns if name != target]),
        table[target],
        {**options, "values": values, "response": [target]},
    )


def formula_columns(formula: str, names: list[str]) -> list[str]:
    """Return the columns of a table that a formula names."""
    return [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", formula)]


def _from_formula(formula: str, frame: Any, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return design, response and options of a formula and a table: a frame, records, or a file."""
    left, tilde, right = formula.partition("~")
    if not tilde or not left.strip() or not right.strip():
        raise DataError("", f"the formula {formula!r} must read 'response ~ terms'")
    absorb = [options["absorb"]] if isinstance(options["absorb"], str) else options["absorb"] or []
    named = [each for each in (options["strata"], options["weights"], *absorb) if isinstance(each, str)]
    table, columns = _formula_table(formula, frame, named)
    if options["values"] is None and table.source is not None:
        options = {**options, "values": default_values(table.source)}
    if table.source is not None:
        refuse_rounded(table.source, options["values"])
    if options["values"] == BINARY:
        table = table.nearest_doubles()
    pandas = table.to_pandas()
    response = _response(left.strip(), pandas, columns)
    asked = FormulaTerms(right.strip(), columns, table.kinds)
    matrix, names, terms = _design(asked, pandas, options["values"] or BINARY)
    kept = [name for name in names if name != INTERCEPT]
    options = {**options, "names": kept, "fit_intercept": kept != names, "formula": terms}
    options["response"] = response_columns(left.strip())
    for each in ("strata", "weights"):
        if isinstance(options[each], str):
            options[each] = np.asarray(_column(pandas, options[each]))
    if absorb:
        options["absorb"] = [(each, _column(pandas, each)) if isinstance(each, str) else each for each in absorb]
    return matrix, response, options


def formula_table(
    source: TableSource, formula: str, named: list[str], missing: str, clock: Clock | None = None
) -> ModelTable:
    """Return the columns of a file that a formula names, and others, of which no cell may be missing."""
    names = source.column_names
    left = formula.partition("~")[0].strip()
    needed = [*formula_columns(left, names), *named]
    event = response_columns(left)[1:] if left.startswith("Surv") else []
    used = {*formula_columns(formula, names), *named}
    ignored = tuple(name for name in names if name not in used)
    source = source.with_options(layout=None, keep_index=True, ignore=ignored)
    assert source.layout is not None
    table = read_table(source, dict(source.layout.columns), frozenset(needed) - {*event}, clock)
    return table.complete(needed, missing)


def _formula_table(formula: str, frame: Any, named: list[str]) -> tuple[ModelTable, list[str]]:
    """Return the columns that a formula and options name, and the names of all columns."""
    if isinstance(frame, ModelTable):
        return frame, frame.columns if frame.source is None else frame.source.column_names
    if isinstance(frame, str | os.PathLike):
        source = open_columns(frame)
        return formula_table(source, formula, named, "error"), source.column_names
    frame = native(frame)
    if frame is None or not (is_frame(frame) or is_records(frame)):
        raise ParameterError("y", type(frame).__name__, "a data frame with the columns that the formula names")
    columns = column_names(frame)
    used = {*formula_columns(formula, columns), *named}
    return frame_table(frame, [name for name in columns if name in used]), columns


class FormulaTerms(NamedTuple):
    """What makes the columns of a design of a table: the terms of a formula, and what the columns hold."""

    terms: Any  # a text, or formulaic's specification
    columns: list[str]  # that there are; of a specification, that it needs
    kinds: dict[str, str]


def _design(formula: FormulaTerms, frame: Any, values: Values) -> tuple[Any, list[str], FormulaTerms]:
    """Return the design of terms without its intercept, the names of all columns, and what makes it of others."""
    exact = [
        name for name in frame.columns if isinstance(next(iter(frame[name]), None), Decimal | Fraction | int | float)
    ]
    exact = [name for name in exact if frame[name].dtype == object]
    rounded = frame.assign(**{name: frame[name].astype(float) for name in exact}) if exact else frame
    matrix, names, made = _materialized(formula, rounded)
    large = any(is_large(frame[name].to_numpy()) for name in frame.columns if frame[name].dtype.kind in "iu")
    if exact or large or values == DECIMAL:
        matrix = with_exact_columns(names, matrix, frame, values)
    keep = [j for j, name in enumerate(names) if name != INTERCEPT]
    return (matrix if len(keep) == len(names) else matrix[:, keep]), names, made


def new_design(given: Given, X: Any) -> Any:
    """Return new rows as columns of the design: of a frame, what the formula of a model makes of it."""
    formula: FormulaTerms | None = given.formula
    if formula is None or not (is_frame(native(X)) or is_records(X)):
        return X
    columns = column_names(native(X))
    for name in formula.columns:
        if name not in columns:
            raise unknown(name, columns)
    kinds = {name: kind for name, kind in formula.kinds.items() if name in formula.columns}
    return _design(formula, frame_table(X, formula.columns, kinds).to_pandas(), given.values)[0]


def response_columns(left: str) -> list[str]:
    """Return the columns that the left side of a formula names, if it only does that."""
    name = r"\s*(`[^`]+`|[^,`]+?)\s*"
    two = re.fullmatch(rf"(?:cbind|Surv)\s*\({name},{name}\)", left)
    return [each.strip("`") for each in (two.groups() if two else [left])]


def _response(left: str, frame: Any, columns: list[str]) -> Any:
    """Return the response: a column, or ``cbind(successes, failures)``, ``Surv(time, event)``."""
    names = response_columns(left)
    if len(names) > 1:
        return np.column_stack([np.asarray(_column(frame, name)) for name in names])
    name = names[0]
    if name in frame.columns:
        return frame[name]
    if re.fullmatch(r"[\w.]+", name):
        raise unknown(name, columns)
    matrix, *_ = _materialized(FormulaTerms(f"{left} - 1", columns, {}), frame)
    if matrix.shape[1] != 1:
        what = f"the response {left!r} has {matrix.shape[1]} columns"
        raise DataError("", f"{what}: write one column, cbind(successes, failures) or Surv(time, event)")
    return matrix.toarray()[:, 0] if is_sparse(matrix) else matrix[:, 0]


def _needed(parsed: Any, text: str, columns: list[str]) -> list[str]:
    """Return the columns that terms name, or an error that one is not there."""
    quoted, bare = re.findall("`([^`]+)`", text), re.sub("`[^`]+`", "``", text)
    roots = sorted(map(str, parsed.required_variables))  # of `a.b` only a
    needed = [*quoted, *(name for name in roots if re.search(rf"\b{re.escape(name)}\b", bare))]
    for name in needed:
        dotted = [each for each in columns if each.startswith(f"{name}.") and each in bare]
        if name not in columns and dotted:
            raise DataError("", f"a formula names a column with a dot in backticks: `{dotted[0]}`")
        if name not in columns:
            raise unknown(name, columns)
    return list(dict.fromkeys(needed))


def _materialized(formula: FormulaTerms, frame: Any) -> tuple[Any, list[str], FormulaTerms]:
    """Return the columns that terms stand for, sparse if there are many, their names, and their specification."""
    terms, needed = formula.terms, formula.columns
    try:
        from formulaic import Formula, ModelMatrices, model_matrix
        from formulaic.errors import DataMismatchWarning
    except ModuleNotFoundError:
        raise ModuleNotFoundError("formulas need the package formulaic: pip install 'linsep[formula]'") from None
    try:
        parsed = Formula(terms) if isinstance(terms, str) else terms
        if isinstance(terms, str):
            needed = _needed(parsed, terms, formula.columns)
        used = [frame[name] for name in needed]
        words = [each for each in used if hasattr(each, "cat") or np.asarray(each[:1]).dtype.kind not in "biuf"]
        output = "sparse" if sum(each.nunique() for each in words) > WIDE else "numpy"
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)  # a level that the model does not have
            matrix = model_matrix(parsed, frame, output=output, na_action="raise")
        if isinstance(matrix, ModelMatrices):
            raise DataError("", "the formula has a second '~', or '|' outside I(...): write 'response ~ terms'")
    except DataError:
        raise
    except Exception as error:  # formulaic has many kinds
        text = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]
        shown = repr(terms) if isinstance(terms, str) else "of the model"
        raise DataError("", f"the formula {shown} cannot be evaluated: {text}") from None
    names = [str(name) for name in matrix.model_spec.column_names]
    made = formula._replace(terms=matrix.model_spec, columns=needed)
    if output == "sparse":
        import scipy.sparse as sp

        return sp.csr_array(matrix.__wrapped__), names, made
    return np.ascontiguousarray(np.asarray(matrix)), names, made


# ---------------------------------------------------------------------------------------------------------------
# statsmodels, by attributes

_DISCRETE = {
    "Logit": "binomial", "Probit": "binomial", "Poisson": "poisson", "NegativeBinomial": "negative-binomial",
    "NegativeBinomialP": "negative-binomial", "MNLogit": "multinomial", "OrderedModel": "ordinal",
    "ConditionalLogit": "conditional", "PHReg": "cox",
}  # fmt: skip
_LINKS = {
    "Binomial": ("binomial", ("logit", "probit", "cloglog", "loglog", "cauchy")),
    "Poisson": ("poisson", ("log",)),
    "NegativeBinomial": ("negative-binomial", ("log",)),
}


def _from_statsmodels(model: Any, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return design, response and options of a model that has ``exog`` and ``endog``."""
    kind = type(model).__name__
    options = {**options, "fit_intercept": False}
    y: Any = np.asarray(model.endog)
    X = np.asarray(model.exog)
    names = [str(name) for name in model.exog_names][: X.shape[1]]
    if kind == "GLM":
        options["family"] = _glm(model)
        weights = np.asarray(model.freq_weights) * np.asarray(model.var_weights)
        options["weights"] = weights if options["weights"] is None and (weights == 0).any() else options["weights"]
    elif kind in _DISCRETE:
        options["family"] = _DISCRETE[kind]
    else:
        raise DataError("", f"statsmodels' {kind} is not supported; supported are GLM, {', '.join(_DISCRETE)}")
    if options["order"] is not None:
        raise ParameterError("order", options["order"], "None for a model of statsmodels, which has its own")
    if kind == "OrderedModel" and getattr(model, "labels", None) is not None:
        options["order"] = list(model.labels)
        y = np.asarray(model.labels)[y]
    if kind == "MNLogit" and (known := getattr(model, "_ynames_map", {})):
        options["order"] = [str(known[code]) for code in sorted(known)]  # the first is the model's reference
        y = np.array([str(known[code]) for code in y.tolist()])
    if kind == "ConditionalLogit":
        groups = getattr(model, "groups", None)
        if groups is None:  # the groups that vary, as the model keeps them
            X, y = np.vstack(model._exog_grp), np.concatenate(model._endog_grp)
            groups = np.repeat(np.arange(len(model._endog_grp)), [len(each) for each in model._endog_grp])
        options["strata"] = np.asarray(groups)
        vary = np.isin(options["strata"], options["strata"][y == 1])
        options["weights"] = vary.astype(float) if options["weights"] is None else options["weights"]
    if kind == "PHReg":
        y = np.column_stack((y, np.asarray(model.status)))
        if getattr(model, "entry", None) is not None:
            raise DataError("", "a PHReg with entry times is not supported: its risk sets lose rows at both ends")
        options["strata"] = getattr(model, "strata", None) if options["strata"] is None else options["strata"]
    return X, y, {**options, "names": names}


def _glm(model: Any) -> str:
    """Return the family of a GLM by its family and link."""
    family, link = type(model.family).__name__, type(model.family.link).__name__.lower()
    if family not in _LINKS:
        raise DataError(
            "", f"a GLM of family {family} is not supported: supported are Binomial, Poisson and NegativeBinomial"
        )
    name, links = _LINKS[family]
    if link not in links:
        allowed = ", ".join(links)
        raise DataError("", f"a GLM of family {family} with link {link} is not supported; supported links: {allowed}")
    return name
