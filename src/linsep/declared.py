"""Parameters that are declared once: beside name, type and default stands what a parameter means and may be.

``max_iter: Annotated[int, Parameter("Largest number of passes.", min=1)] = 1000`` in the signature of a constructor or
among the fields of a dataclass is all that checks, options of the command line and tables of the documentation need.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Parameter:
    """What a parameter means, which values it may have, and what to type for it on the command line."""

    help: str
    panel: str | None = None  # of the help
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
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
    def optional(self) -> bool:
        """Whether None is a value."""
        return NoneType in get_args(self.kind)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values that are listed one by one."""
        return tuple(
            value
            for kind in self.members
            if get_origin(kind) is Literal
            for value in get_args(kind)
            if value is not None
        )


@cache
def declared(thing: Any) -> tuple[Declared, ...]:
    """Return the declared parameters of a function or class in order."""
    if is_dataclass(thing):
        hints, defaults = (
            get_type_hints(thing, include_extras=True),
            {each.name: each.default for each in fields(thing)},
        )
    else:
        function = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]
        hints, signature = get_type_hints(function, include_extras=True), inspect.signature(function)
        defaults = {
            name: MISSING if each.default is inspect.Parameter.empty else each.default
            for name, each in signature.parameters.items()
        }
    found = []
    for name, default in defaults.items():
        kind: Any = hints.get(name)
        if get_origin(kind) is Annotated:
            found.append(Declared(name, kind.__origin__, default, kind.__metadata__[0]))
    return tuple(found)
