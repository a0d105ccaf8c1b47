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
from linsep.prove.numbers.cells import (
    Cells,
    LongDecimals,
)
from linsep.prove.numbers.decimals import as_decimals
from linsep.prove.numbers.given import BINARY, DECIMAL
from linsep.prove.regression.cone import RegressionFace, reduce
from linsep.prove.regression.families import modeled
from linsep.prove.regression.inputs import Given, gather, with_factors
from linsep.prove.regression.results import COMPLETE, OVERLAP, QUASI, Separation

_LOOK = 64  # rows that show whether floats are short decimals
_BLOCK = 4096  # rows that are looked at together


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
) -> Any:
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


def decide(given: Given, clock: Clock) -> Any:
    """Build the rows of a model and reduce them.

    Raises OutOfTime or Cancelled.
    """
    with quiet_algebra():
        full = with_factors(given)
        model, exact = modeled(full, clock)
        listed = len(model.names) - (len(full.names) - len(given.names))
        face = reduce(model.system, model.order[listed:] + model.order[:listed])  # columns may depend on factors
        return Separation(full, model, face, _notes(full, exact, face), listed)


def _notes(given: Given, exact: Cells, face: RegressionFace) -> list[str]:
    """Say where decimals and binary numbers do not agree."""
    notes = list(given.notes)
    other = _other_values(given, exact)
    if other is not None:
        model, _ = modeled(replace(given, values=other), face.system.clock)
        found = reduce(model.system, model.order)
        here, there = (f.separated[model.system.ids] for f in (face, found))
        if len(found.columns) != len(face.columns) or here.any() != there.any() or here.all() != there.all():
            kinds = [OVERLAP if not s.any() else COMPLETE if s.all() else QUASI for s in (here, there)]
            notes.append(
                f"as {given.values} numbers the design has rank {len(face.columns)} and the answer is {kinds[0]}; as "
                f"{other} numbers rank {len(found.columns)} and {kinds[1]}"
            )
    return notes


def _other_values(given: Given, exact: Cells) -> Values | None:
    """Return the other way to read the cells where it may matter: short decimals that are no binary fractions."""
    X = given.X
    if is_sparse(X) or X.dtype.kind not in "fO":
        return None
    if given.values == DECIMAL:
        return None if _is_binary(exact, X) else BINARY
    if X.dtype != np.float64 or as_decimals(X[:_LOOK], None, X.shape[1]) is None:
        return None
    blocks = np.split(X, range(_BLOCK, len(X), _BLOCK))
    if all((part == np.rint(part)).all() for part in blocks):
        return None  # whole numbers are the same either way
    found = as_decimals(X, None, X.shape[1])
    if found is None:
        return None
    units = 2.0 ** found[1]  # a decimal of k places is a binary fraction if it is a multiple of 2**-k
    return None if all((part * units == np.rint(part * units)).all() for part in blocks) else DECIMAL


def _is_binary(found: Cells, X: Any) -> bool:
    """Return whether the exact decimals are the binary numbers that the floats are, or no cell is a float."""
    if X.dtype == object:
        return isinstance(X, LongDecimals) or not any(isinstance(value, float | str | bytes) for value in X.flat)
    if found.exact is not None:
        return False
    for j, scale in enumerate(found.scales):
        twos = scale & -scale  # a decimal that is a binary fraction has a numerator divisible by the odd part
        odd = min(scale // twos, (1 << 63) - 1)  # no cell but 0 is a multiple of a larger one
        if (found.matrix[:, j] % odd).any():
            return False
    return True
