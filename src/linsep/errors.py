"""Errors that carry data; each face, the library or the command line, words them for its users.

Every error of bad input is a ``ValueError`` whose text is one line: what is wrong, where, what to do.
"""

from __future__ import annotations

from typing import Any


class ParameterError(ValueError):
    """A parameter has a value that it must not have.

    Attributes
    ----------
    name : str
        The parameter, as the library spells it; the command line shows it as an option.
    value : object
    must_be : str
        What is allowed, to be read after "must be".
    """

    def __init__(self, name: str, value: Any, must_be: str) -> None:
        super().__init__(name, value, must_be)
        self.name, self.value, self.must_be = name, value, must_be

    def __str__(self) -> str:
        return f"{self.name} must be {self.must_be}, got {self.value!r}"


class DataError(ValueError):
    """Some data cannot be used: where they are, and what is wrong with them.

    Attributes
    ----------
    where : str
        File, line and column, or row and column; may be empty.
    what : str
    option : tuple of (str, object) or None
        A parameter and a value for it that would allow the data.
    """

    def __init__(self, where: str, what: str, option: tuple[str, Any] | None = None) -> None:
        super().__init__(where, what, option)
        self.where, self.what, self.option = where, what, option

    def __str__(self) -> str:
        hint = f" ({self.option[0]}={self.option[1]!r} allows it)" if self.option else ""
        return f"{self.where}: {self.what}{hint}" if self.where else f"{self.what}{hint}"


class NotSeparable(ValueError):  # noqa: N818 (what is wrong, not that something is)
    """No plane separates the rows.

    Attributes
    ----------
    upper : float
        Proved: no plane separates them by a margin above this, which is zero or next to it.
    refutation : object or None
        The exact proof that none separates them at all, where one has been searched for.

    Examples
    --------
    >>> from linsep import NotSeparable, largest_margin
    >>> try:
    ...     largest_margin([[1], [2], [3]], [0, 1, 0])
    ... except NotSeparable as error:
    ...     print(error.upper)
    0.0
    """

    def __init__(self, message: str, *, upper: float = 0.0, refutation: Any = None):
        super().__init__(message)
        self.upper = upper
        self.refutation = refutation
