"""Checks of the parameters of models."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from linsep.errors import ParameterError


def need(model: Any, right: bool, name: str, what: str) -> None:
    """Refuse the value of a parameter."""
    if not right:
        raise ParameterError(name, getattr(model, name), what)


def one_of(model: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Refuse the value of a parameter that is none of these."""
    if getattr(model, name) not in choices:
        *most, last = map(repr, choices)
        raise ParameterError(name, getattr(model, name), f"{', '.join(most)} or {last}")


def number(value: Any) -> bool:
    """Say whether this is a finite number."""
    real = type(value) is float or (isinstance(value, Real) and value is not True and value is not False)
    return real and math.isfinite(value)


def whole(value: Any) -> bool:
    """Say whether this is a whole number."""
    return type(value) is int or (isinstance(value, Integral) and value is not True and value is not False)
