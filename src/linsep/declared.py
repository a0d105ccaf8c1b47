"""Parameters that are declared once: beside name, type and default stands what a parameter means and may be.

A name with its type and default stands in a signature or among the fields of a dataclass; the `Parameter` stands in its
annotation, ``n: Annotated[int, Parameter("Number of rows.", min=2)] = 1000``, or by name in ``about_parameters`` of the
class. Checks, options of the command line and tables of the documentation are made from both.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from linsep.errors import ParameterError


@dataclass(frozen=True)
class Parameter:
    """What a parameter means, which values it may have, and what to type for it on the command line."""

    help: str
    panel: str | None = None  # of the help
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None
    typed: Any = ...  # its type on the command line, if that is another; None if it is no option
    name: str = ""  # as it is typed, unless that follows from the name in Python
    short: str = ""  # one letter
    hidden: bool = False


class Declared(NamedTuple):
    """A parameter with its name, type and default."""

    name: str
    kind: Any
    default: Any  # `MISSING` if it must be given
    about: Any  # a `Parameter`

    @property
    def members(self) -> tuple[Any, ...]:
        """The types that a value may have, without None."""
        union = get_origin(self.kind) in (Union, UnionType)
        return tuple(kind for kind in (get_args(self.kind) if union else (self.kind,)) if kind is not NoneType)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values that are listed one by one."""
        return tuple(value for kind in self.members if get_origin(kind) is Literal for value in get_args(kind))

    def allows(self, value: Any) -> bool:
        """Say whether this is one of the values that the parameter may have."""
        if self.kind is Any or (value is None and NoneType in get_args(self.kind)):
            return True
        for kind in self.members:
            if kind is bool or get_origin(kind) is Literal:
                right = _among(get_args(kind) or (True, False), value)
            elif get_origin(kind) is list:
                right = _lists_numbers(value)
            elif kind in (int, float):
                right = isinstance(value, Integral if kind is int else Real) and self._within(value)
            else:
                right = callable(value)
            if right:
                return True
        return False

    def _within(self, value: Any) -> bool:
        """Say whether a number is finite, no truth value, and between its bounds."""
        about = self.about
        return (
            value is not True
            and value is not False
            and (isinstance(value, Integral) or math.isfinite(value))
            and (about.min is None or value >= about.min)
            and (about.max is None or value <= about.max)
            and (about.above is None or value > about.above)
            and (about.below is None or value < about.below)
        )

    def check(self, value: Any) -> None:
        """Refuse a value that the parameter must not have."""
        if not self.allows(value):
            raise ParameterError(self.name, value, self.words())

    def words(self) -> str:
        """Return what the parameter may be, to be read after "must be"."""
        words = ["None"] if NoneType in get_args(self.kind) else []
        words += [repr(choice) for choice in self.choices]
        for kind in self.members:
            if kind is bool:
                words += ["True", "False"]
            elif kind in (int, float):
                words.append(self._number(kind))
            elif get_origin(kind) is list:
                words.append("a list of row numbers")
            elif get_origin(kind) is not Literal:
                words.append("a callable")
        *most, last = words
        return f"{', '.join(most)} or {last}" if most else last

    def type_words(self) -> str:
        """Return the type as the reference writes it."""
        words = [f"{{{', '.join(map(repr, self.choices))}}}"] if self.choices else []
        for kind in self.members:
            if get_origin(kind) is list:
                words.append("list of row numbers")
            elif get_origin(kind) is not Literal:
                words.append(getattr(kind, "__name__", "callable").lower())
        *most, last = [*words, "None"] if NoneType in get_args(self.kind) else words
        return f"{', '.join(most)} or {last}" if most else last

    def _number(self, kind: type) -> str:
        about, whole = self.about, "whole " if kind is int else ""
        if about.above is not None and about.below is not None:
            return f"above {about.above:g} and below {about.below:g}"
        if about.above == 0 or (kind is int and about.min == 1 and about.max is None):
            return f"a positive {whole}number"
        if about.min is not None and about.max is not None:
            return f"a {whole}number from {about.min:g} to {about.max:g}"
        if about.min == 0:
            return f"a {whole}number that is not negative"
        return f"a {whole}number" if about.min is None else f"a {whole}number of at least {about.min:g}"


def _lists_numbers(value: Any) -> bool:
    """Say whether a value is a list of whole numbers, none of them negative."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return False
    return all(isinstance(each, Integral) and int(each) >= 0 for each in value)


def _among(choices: tuple[Any, ...], value: Any) -> bool:
    return (isinstance(value, str) or not hasattr(value, "__len__")) and value in choices


def check(model: Any) -> None:
    """Refuse a value of a declared parameter that it must not have."""
    kind: Any = type(model)
    for each in declared(kind):
        value = getattr(model, each.name)
        if value is not each.default:
            each.check(value)


@cache
def declared(thing: Any) -> tuple[Declared, ...]:
    """Return the declared parameters of a function or class in order; a class may have gathered them itself."""
    if hasattr(thing, "parameters_declared"):
        return tuple(thing.parameters_declared)
    if is_dataclass(thing):
        kinds: tuple[type, ...] = thing.__mro__  # type: ignore[union-attr]
        owner = next(kind for kind in kinds if "__dataclass_fields__" in vars(kind))  # of all the fields
        hints = get_type_hints(owner, include_extras=True)
        defaults = {each.name: each.default for each in fields(thing)}
    else:
        function = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]
        hints, signature = get_type_hints(function, include_extras=True), inspect.signature(function)
        defaults = {
            name: MISSING if each.default is inspect.Parameter.empty else each.default
            for name, each in signature.parameters.items()
        }
    parameters, about = [], getattr(thing, "about_parameters", {})
    for name, default in defaults.items():
        kind: Any = hints.get(name)
        if get_origin(kind) is Annotated:
            parameters.append(Declared(name, kind.__origin__, default, kind.__metadata__[0]))
        elif name in about:
            parameters.append(Declared(name, kind, default, about[name]))
    return tuple(parameters)
