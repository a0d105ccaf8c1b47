"""Errors that carry data; the library and the command line word them for their users.

Every error of bad input is a ``ValueError`` whose text is one line: what is wrong, where, what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """A parameter that an error speaks of, with a value for it or without."""

    name: str
    value: Any = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


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

    def words(self, spell: Callable[[Setting], str] = str) -> str:
        """Return the text, with parameters spelled by ``spell``."""
        return f"{spell(Setting(self.name))} must be {self.must_be}, got {self.value!r}"

    def __str__(self) -> str:
        return self.words()


class _Worded(Exception):  # noqa: N818
    """A text about some data, with settings in it that each face spells in its own way."""

    def __init__(self, where: str, what: str, *settings: tuple[Any, ...]) -> None:
        super().__init__(where, what, *settings)
        self.where, self.what = where, what
        self.settings = tuple(Setting(*each) for each in settings)

    def words(self, spell: Callable[[Setting], str] = str) -> str:
        """Return the text, with parameters spelled by ``spell``."""
        what, spelled = self.what, [spell(each) for each in self.settings]
        if spelled and "{0}" not in what:
            what += f" ({' or '.join(spelled)} allows it)"
        for number, each in enumerate(spelled):
            what = what.replace(f"{{{number}}}", each)
        return f"{self.where}: {what}" if self.where else what

    def __str__(self) -> str:
        return self.words()


class DataError(_Worded, ValueError):
    """Some data, or data and parameters together, cannot be used: where they are, and what is wrong with them.

    Attributes
    ----------
    where : str
        File, line and column, or row and column; may be empty.
    what : str
        May name settings as ``{0}``, ``{1}``; if it names none, the settings are what would allow the data.
    settings : tuple of Setting
    """


class ReadError(DataError):
    r"""A file cannot be read, or something in it is wrong: one line that says what and where.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> from linsep.errors import ReadError
    >>> try:
    ...     read(io.BytesIO(b"x,z,class\n1,2,yes\n3,,no\n"), format="csv").to_arrays()
    ... except ReadError as error:
    ...     print(error)
    input:3, column 'z': a missing value (missing='zero' or missing='drop' or missing='indicator' allows it)
    """


class DataNote(_Worded, UserWarning):
    r"""A decision that was taken for the user while data were read: what was decided, and how to decide otherwise.

    Attributes
    ----------
    where, what, settings
        As those of ``DataError``.

    Examples
    --------
    >>> import io, warnings
    >>> from linsep import read
    >>> with warnings.catch_warnings(record=True) as notes:
    ...     warnings.simplefilter("always")
    ...     source = read(io.BytesIO(b"id,x,class\n1,5,yes\n2,3,no\n"), format="csv")
    >>> print(notes[0].message)
    input: linsep leaves out column 'id': it only numbers the rows (keep_index=True keeps it)
    """


class NotSeparable(ValueError):  # noqa: N818 (what is wrong, not that something is)
    """No plane separates the rows.

    Attributes
    ----------
    upper : float
        No plane separates them by a margin above this, which is zero or almost zero.
    refutation : object or None
        The exact proof that no plane separates them, if linsep searched for one.

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
