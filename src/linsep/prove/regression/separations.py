"""Decides which coefficients of a regression model are infinite: ``linsep.separation``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from linsep.clock import Clock, limited
from linsep.data.arrays import is_sparse
from linsep.data.parallel import quiet_algebra
from linsep.errors import ParameterError
from linsep.problem import Values
from linsep.prove.numbers.cells import Cells, LongDecimals, short_cells
from linsep.prove.numbers.decimals import as_decimals
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL
from linsep.prove.regression.cone import RegressionFace, reduce
from linsep.prove.regression.families import Model, modeled
from linsep.prove.regression.inputs import Given, gather
from linsep.prove.regression.results import Separation, kind_of

_SAMPLE = 64  # rows that show, most often, whether floats are short decimals


def separation(
    X: Any,
    y: Any = None,
    *,
    family: str = "binomial",
    names: Any = None,
    fit_intercept: bool = True,
    values: Values | None = None,
    strata: Any = None,
    weights: Any = None,
    alias: Literal["drop", "keep"] = "drop",
    absorb: Any = None,
    order: Any = None,
    time_limit: float | None = None,
) -> Separation:
    """Decide which coefficients of a regression model have infinite maximum likelihood estimates, and prove it.

    It decides this before anything is fitted, in exact arithmetic, without any tolerance.

    Parameters
    ----------
    X : array-like, sparse matrix, frame; or str; or a statsmodels model
        The design without the intercept; or a formula such as ``"y ~ a + C(b)"`` (then ``y`` is the frame, and the
        extra ``formula`` is needed); or a model that is not fitted yet, alone.
    y : array-like
        Binomial models: two labels (the second in sorted order, or 1, is success), proportions, or an (n, 2) array of
        successes and failures. Poisson and negative binomial models: counts. Multinomial and ordinal models: labels.
        Conditional models: 1 for the rows chosen within each stratum. Cox models: (n, 2), time and event.
    family : str, default="binomial"
        "binomial" (any of logit, probit, cloglog, cauchit links), "poisson", "negative-binomial", "multinomial",
        "ordinal", "conditional" or "cox".
    names : list of str, default=None
        Names of the columns of ``X``.
    fit_intercept : bool, default=True
        Whether the model has an intercept beside the columns of ``X``; a formula says so itself.
    values : {"decimal", "binary"}, default=None
        Whether 0.1 is the decimal it shows or the float it is: "binary" for arrays of numbers, "decimal" for texts and
        ``Decimal`` by default.
    strata : array-like or str, default=None
        Groups of rows of conditional and Cox models, or the name of a column of the frame.
    weights : array-like or str, default=None
        Row weights. Only zeros matter: rows of weight 0 are left out.
    alias : {"drop", "keep"}, default="drop"
        Whether to drop columns that depend on earlier ones, as R does, or to keep them; then no coefficient involved is
        estimable.
    absorb : list of str or of array-like, default=None
        Factors with a coefficient for every level, which are part of the model but not listed in the result.
    order : list, default=None
        Labels of an ordinal model from the lowest to the highest; of a multinomial model the first is the reference. By
        default numbers are in their own order, and ordered categories of pandas, polars or Arrow in theirs; words have
        none. A category without rows stays in the model.
    time_limit : float, default=None
        Seconds; None sets no limit. Methods of the result have no limit.

    Returns
    -------
    found : Separation

    Raises
    ------
    TimeoutError
        If the search runs out of time.

    Examples
    --------
    Four rows on which the usual linear program calls the second coefficient finite:

    >>> import linsep
    >>> found = linsep.separation([[0, 2], [1, -2], [1, -1], [-1, 0]], [1, 1, 0, 1])
    >>> found.kind, [(name, status) for name, status, _ in found.coefficients]
    ('complete', [('Intercept', '+inf'), ('x0', '-inf'), ('x1', '-inf')])
    >>> found.check()
    True
    """
    options = {
        "family": family, "names": names, "fit_intercept": fit_intercept, "values": values, "strata": strata,
        "weights": weights, "alias": alias, "absorb": absorb, "order": order,
    }  # fmt: skip
    if time_limit is not None and not time_limit >= 0:
        raise ParameterError("time_limit", time_limit, "a number of seconds not below 0")
    with limited(time_limit) as clock:
        return decide(gather(X, y, options), clock)


def decide(given: Given, clock: Clock) -> Separation:
    """Build the rows of a model and reduce them.

    Raises OutOfTime or Cancelled.
    """
    with quiet_algebra():
        model, design = modeled(given, clock)
        listed = len(model.names) - given.hidden
        face = reduce(model.system, model.order[listed:] + model.order[:listed])  # columns may depend on factors
        return Separation(given, model, face, [*given.notes, *_notes(given, model, design, face)])


def _notes(given: Given, model: Model, design: Cells, face: RegressionFace) -> list[str]:
    """Return a note if decimals and binary numbers have other answers."""
    other = _other_values(given, design)
    if other is None:
        return []
    again = modeled(replace(given, values=other), face.system.clock)[0]
    faces = face, reduce(again.system, again.order)
    ranks, kinds = (
        [len(each.columns) for each in faces],
        [kind_of(each.separated[model.system.ids]) for each in faces],
    )
    if ranks[0] == ranks[1] and kinds[0] == kinds[1]:
        return []
    return [
        f"as {given.values} numbers the design has rank {ranks[0]} and the answer is {kinds[0]}; as {other} numbers "
        f"rank {ranks[1]} and {kinds[1]}"
    ]


def _other_values(given: Given, design: Cells) -> Values | None:
    """Return the other way to read the cells where it may matter: short decimals that are no binary fractions."""
    X = given.X
    if is_sparse(X) or X.dtype.kind not in "fO":
        return None
    if X.dtype == object:
        floats = not isinstance(X, LongDecimals) and any(isinstance(value, float | str | bytes) for value in X.flat)
        return BINARY if given.values == DECIMAL and floats else None
    if given.values == DECIMAL:
        return None if design.exact is None and _is_binary(design) else BINARY
    if X.dtype != np.float64 or as_decimals(X[:_SAMPLE], None, X.shape[1]) is None:
        return None
    decimals = short_cells(X, DECIMAL)
    return None if decimals is None or _is_binary(decimals) else DECIMAL


def _is_binary(decimals: Cells) -> bool:
    """Return whether short decimals are binary fractions: their numerators are divisible by the odd part of a scale."""
    odd = [min(scale // (scale & -scale), (1 << 63) - 1) for scale in decimals.scales]  # of a larger one only 0 is
    return not any((decimals.matrix[:, j] % each).any() for j, each in enumerate(odd))
