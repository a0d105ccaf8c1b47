"""Verdicts as users have them: ``linsep.separate`` and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from linsep.clock import Clock, OutOfTime
from linsep.data.labels import refuse_measurements
from linsep.data.source import Source
from linsep.errors import ParameterError
from linsep.problem import Values
from linsep.prove.checking import verify
from linsep.prove.claims import Claim
from linsep.prove.class_pairs import Pairs, class_pairs
from linsep.prove.documents import opened
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL
from linsep.prove.numbers.tables import exact_input
from linsep.prove.verdict.separability import decide_table, encoded, undecided, with_columns
from linsep.wording import verdict_meaning


@dataclass(frozen=True, eq=False)
class Verdict(Claim):
    """Whether some plane separates the classes, with the proof.

    Attributes
    ----------
    kind : {"separable", "quasi", "overlap", "unknown", "not-separable"}
        "quasi": not separable, but a plane has all rows on the right side or on it, and some not on it. "unknown"
        occurs only with a time limit. ``separate`` never returns "not-separable", which means "quasi" or "overlap":
        a training run does not decide between them.
    separator : Separator or None
        For "separable" and "quasi".
    refutation : Refutation or None
        For "quasi", "overlap" and "not-separable".
    classes : tuple
        Labels; of two, the second is the positive one.
    n_features : int
    fit_intercept : bool
    values : {"binary", "decimal"}
        Whether floats stand for the binary numbers they store, or for the decimals they were read from.
    bracket : tuple of float
        Bounds on the largest margin known when the search ended; see ``separate``.
    dropped : Dropped
        Rows of a source that were dropped before: the rows of the refutation have their numbers in the source.
    columns : tuple of ColumnRule
        Columns of which one alone tells the classes apart, but for few rows: perhaps a copy of the label.

    Examples
    --------
    >>> import linsep
    >>> linsep.separate([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])  # the classes touch
    Verdict(quasi, Separator(float w of 1 feature), Refutation(2 rows: [1 2]))
    """

    @classmethod
    def of(cls, claim: Claim) -> Self:
        """Return a claim as a verdict."""
        return cls(**{each.name: getattr(claim, each.name) for each in fields(claim)})

    def __repr__(self) -> str:
        parts = [self.kind, *(repr(part) for part in (self.separator, self.refutation) if part is not None)]
        return f"Verdict({', '.join(parts)})"

    def _repr_html_(self) -> str:
        meaning = verdict_meaning(self.kind, self.fit_intercept, len(self.classes) > 2)
        rows = [("classes", ", ".join(map(str, self.classes))), ("features", f"{self.n_features:,}")]
        if self.separator is not None and self.separator.w.shape in ((1,), (2,), (3,), (4,)):
            weights = ", ".join(f"{float(weight):.6g}" for weight in self.separator.w)
            rows.append(("plane", f"w = ({weights}), b = {float(self.separator.b):.6g}"))
        if self.refutation is not None:
            shown = sorted({int(row) for row in self.refutation.rows})
            more = f", … {len(shown):,} in all" if len(shown) > 12 else ""
            rows.append(("rows that contradict each other", ", ".join(map(str, shown[:12])) + more))
        proof = (
            "Nothing is proved." if self.kind == "unknown" else "Proved in exact arithmetic; check(X, y) verifies it."
        )
        return notebook_html(f"{self.kind}: {meaning}", proof, rows)

    def check(self, X: Any, y: Any = None, *, plain: bool = False) -> bool:
        """Return whether the proof holds for these data, in exact arithmetic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Source
        y : array-like of shape (n,)
            None for a source, which has its own.
        plain : bool, default=False
            Check with the short integer checker only: slower, but with nothing compiled and no library to trust.

        Returns
        -------
        holds : bool
            False for "unknown", which proves nothing.

        Examples
        --------
        >>> import linsep
        >>> verdict = linsep.separate([[0.0], [1.0], [2.0]], [0, 0, 1])
        >>> verdict.kind, verdict.check([[0.0], [1.0], [2.0]], [0, 0, 1])
        ('separable', True)
        >>> verdict.check([[0.0], [3.0], [2.0]], [0, 0, 1], plain=True)
        False
        """
        return verify(self, X, y, plain=plain)

    def pairs(self, X: Any, y: Any = None, *, time_limit: float | None = 10.0) -> Pairs:
        """Return for every pair of classes whether a plane separates them, and the fewest errors of one that does not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Source
            The data of the verdict.
        y : array-like of shape (n,)
            None for a source, which has its own.
        time_limit : float, default=10.0
            Seconds for all pairs together; bounds on the fewest errors that still differ then are returned as they
            are. None for no limit.

        Returns
        -------
        pairs : Pairs
            A table: ``first``, ``second``, ``rows``, ``kind``, ``lower``, ``upper``; ``to_frame()``.

        Examples
        --------
        >>> import linsep
        >>> X, y = [[0], [1], [2], [3], [2], [4]], list("aabbcc")
        >>> [(pair.first, pair.second, pair.kind, pair.upper) for pair in linsep.separate(X, y).pairs(X, y)]
        [('a', 'b', 'separable', 0), ('a', 'c', 'separable', 0), ('b', 'c', 'overlap', 1)]
        """
        return class_pairs(self, X, y, time_limit)


def separate(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    values: Values | None = None,
) -> Verdict:
    """Decide whether some plane separates the classes, and prove it.

    The verdict is exact: it is about the numbers as given, without any tolerance, and linsep checks its proof in exact
    arithmetic before returning it. Integers of any length, fractions and decimals are not rounded; numbers beyond the
    range of a double are refused.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or Source
        Any real numbers; not copied. Rows of a source, which `read` returns, are parsed once; if they are many, they
        are kept in temporary files.
    y : array-like of shape (n,)
        Labels of any hashable type, at least two different ones; None for a source, which has its own. More than two
        classes are separable when one weight vector and offset per class give the true class of every row the strictly
        highest score.
    fit_intercept : bool, default=True
        Whether planes may have an offset, or go through the origin.
    time_limit : float, default=None
        Seconds after which to give up with the verdict "unknown", those for reading a source included. Its ``bracket``
        then bounds the largest margin; if not even all rows were read, it has no classes. The search checks the time
        between steps, and starts no step that seems too long; compiling functions on first use is not limited.
    values : {"binary", "decimal"}, default=None
        Whether a float is the number it stores, or the shortest decimal that reads back as it: 0.1 + 0.2 is 0.3 in
        decimals only. By default numbers that are written, as in a text file, are decimals, and all others binary.

    Returns
    -------
    verdict : Verdict
        ``kind`` is "separable", "quasi" or "overlap", and without a time limit never "unknown". Rows of a source have
        the numbers that they have there, also where ``missing="drop"`` has left out others.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # exclusive or
    >>> verdict = linsep.separate(X, y)
    >>> verdict
    Verdict(overlap, Refutation(4 rows: [0 1 2 3]))
    >>> verdict.refutation.multipliers
    (Fraction(1, 1), Fraction(1, 1), Fraction(1, 1), Fraction(1, 1))
    >>> verdict.check(X, y)
    True
    """
    if time_limit is not None and not time_limit >= 0:
        raise ParameterError("time_limit", time_limit, "a number of seconds not below 0")
    if values not in (None, BINARY, DECIMAL):
        raise ParameterError("values", values, "'binary' or 'decimal'")
    offset, clock = bool(fit_intercept), Clock(time_limit)
    if not isinstance(X, Source):
        X, names, values = exact_input(X, values)
        refuse_measurements(y)
        table = encoded(X, y)
        return Verdict.of(with_columns(decide_table(table, values, offset, clock), table, names, clock))
    if y is not None:
        raise ValueError("a source has its own labels: do not pass y")
    from linsep.prove.numbers.text import default_values, exact_table  # which load pyarrow

    values = values or default_values(X)
    try:
        rows, labels = exact_table(X, values, clock, lazily=True)
    except OutOfTime:
        return Verdict.of(undecided((), X.n_features, offset, values))
    table = encoded(rows, labels)
    claim = decide_table(table, values, offset, clock, mapped=True).in_source(X.dropped)
    return Verdict.of(with_columns(claim, table, X.names, clock))


def from_json(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the verdict in a document and the fingerprint of its data, without checking the proof.

    Parameters
    ----------
    text : str

    Returns
    -------
    verdict : Verdict or Fewest
    fingerprint : dict

    Raises
    ------
    ValueError
        If the text is not a proof, or was changed after it was written.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> verdict, fingerprint = linsep.from_json(linsep.to_json(linsep.separate(X, y), X, y))
    >>> verdict.kind, fingerprint["n_rows"]
    ('separable', 3)
    """
    claim, content = opened(text)
    if claim is None:
        raise ValueError(f"a proof of separation ({content['claim']}) can be checked with verify, but not loaded")
    if isinstance(claim, Claim):
        verdict: Any = Verdict.of(claim)
    else:
        from linsep.prove.fewest.results import Fewest  # slow to import

        verdict = Fewest.of(claim)
    return verdict, {name: content["data"][name] for name in ("n_rows", "n_features", "sha256")}
