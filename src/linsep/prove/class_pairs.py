"""Pairs of classes: which a plane separates, how far the others are from it, and which tie under quasi weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.prove.check.exact_signs import sides, signs
from linsep.prove.claims import QUASI, SEPARABLE, UNKNOWN, Claim
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.numbers.cells import cells, whole_table
from linsep.prove.numbers.tables import table_from, table_of
from linsep.prove.verdict.separability import decide_table, encoded

HEAD = ("classes", "rows", "verdict", "fewest errors")


class Pair(NamedTuple):
    """Two classes: the verdict on their rows alone, and proved bounds on the fewest errors of a plane between them."""

    first: Any
    second: Any
    rows: int
    kind: str
    lower: int
    upper: int

    def cells(self) -> tuple[str, str, str, str]:
        """Return it as a line of a table."""
        errors = f"{self.upper:,}" if self.lower == self.upper else f"{self.lower:,} to {self.upper:,}"
        return f"{self.first} and {self.second}", f"{self.rows:,}", self.kind, errors


@dataclass(frozen=True)
class Pairs:
    """All pairs of classes, as a sequence of `Pair`.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0], [1], [2], [3], [2], [4]], list("aabbcc")
    >>> linsep.separate(X, y).pairs(X, y)
    classes  rows  verdict    fewest errors
    a and b  4     separable  0
    a and c  4     separable  0
    b and c  4     overlap    1
    """

    entries: tuple[Pair, ...]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, k: int) -> Pair:
        return self.entries[k]

    def __repr__(self) -> str:
        lines = [HEAD, *(pair.cells() for pair in self.entries)]
        wide = [max(len(line[j]) for line in lines) for j in range(len(HEAD))]
        return "\n".join("  ".join(f"{c:<{w}}" for c, w in zip(line, wide, strict=True)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        proof = "Verdicts and both bounds are proved in exact arithmetic."
        return notebook_html(f"{len(self.entries):,} pairs of classes", proof, [p.cells() for p in self.entries], HEAD)

    def to_frame(self) -> Any:
        """Return the table as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(list(self.entries), columns=list(Pair._fields))


def class_pairs(verdict: Claim, X: Any, y: Any, time_limit: float | None) -> Pairs:
    """Return the verdict and the fewest errors of every pair of classes; all together take about ``time_limit``."""
    from linsep.prove.fewest.results import fewest_errors

    table, clock = table_of(*table_from(X, y, verdict.values), verdict.classes), Clock(time_limit)
    if table is None or table.X.shape[1] != verdict.n_features:
        raise ValueError("these are not the data of the verdict: the labels or the number of features differ")
    codes, pairs = table.codes, []
    chosen = list(combinations(range(len(verdict.classes)), 2))
    for k, (a, b) in enumerate(chosen):
        which = np.flatnonzero((codes == a) | (codes == b))
        some, labels = table.X[which], (codes[which] == b).astype(np.intp)
        share = None if time_limit is None else max(0.0, clock.left) / (len(chosen) - k)
        kind = decide_table(encoded(some, labels), verdict.values, verdict.fit_intercept, Clock(share)).kind
        bounds = (0, 0)
        if kind != SEPARABLE:
            left = None if share is None else max(0.0, clock.left) / (len(chosen) - k)
            fewest = fewest_errors(
                some, labels, fit_intercept=verdict.fit_intercept, time_limit=left, values=verdict.values
            )
            bounds = max(fewest.lower, int(kind != UNKNOWN)), fewest.upper
        pairs.append(Pair(verdict.classes[a], verdict.classes[b], len(which), kind, *bounds))
    return Pairs(tuple(pairs))


# ---------------------------------------------------------------------------------------------------------------
# What a quasi verdict on more than two classes means


class Ties(NamedTuple):
    """What the weights of a quasi verdict on several classes leave undecided."""

    rows: int  # whose true class scores no higher than another
    strict: list[Any]  # classes that tie with no other, on no row
    pairs: list[tuple[Any, Any, str]]  # classes that tie, and the verdict on the rows of these two alone

    def facts(self) -> dict[str, Any]:
        """Return it for JSON."""
        pairs = [{"classes": [first, second], "verdict": kind} for first, second, kind in self.pairs]
        return {"rows": self.rows, "strict": self.strict, "pairs": pairs}

    def words(self, most: int = 8) -> dict[str, str]:
        """Return it in words, line by line."""
        lines = {"ties": f"{self.rows:,} row{'s' * (self.rows != 1)}: another class scores as high as the true one"}
        if self.strict:
            lines["strict"] = f"{_some(self.strict, most)}: split off strictly from every other class"
        pairs = [f"{first} and {second} {_PAIR_VERDICTS[kind]}" for first, second, kind in self.pairs]
        lines["pairs"] = f"{_some(pairs, most)}, if taken alone"
        return lines


_PAIR_VERDICTS = {
    "separable": "are separable",
    "quasi": "are only weakly separable (quasi)",
    "overlap": "overlap",
    UNKNOWN: "are undecided in the time given",
}


def _some(names: list[Any], most: int) -> str:
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def tied_classes(verdict: Claim, X: Any, y: Any, clock: Clock) -> Ties | None:
    """Return what ties under the weights of a quasi verdict, None for other verdicts, and for two classes.

    A pair of classes that never ties is separated strictly by the difference of its weights; the others are decided on
    their own, as long as the clock allows.
    """
    if verdict.kind != QUASI or len(verdict.classes) <= 2 or verdict.separator is None:
        return None
    table = table_of(whole_table(X), y, verdict.classes)
    stored = None if table is None else cells(table.X, verdict.values, offset=verdict.fit_intercept)
    if table is None or stored is None:  # 64 bits do not hold the numbers
        return None
    classes = len(verdict.classes)
    level = sides(stored.inside(verdict.separator), table.codes, classes, partial(signs, stored.rows)) == 0
    level[np.arange(len(level)), table.codes] = False
    rows, tie = level.any(axis=1), np.zeros((classes, classes), dtype=bool)
    for c in range(classes):
        tie[c] = level[table.codes == c].any(axis=0)
    tie |= tie.T
    pairs = []
    for i, j in np.argwhere(np.triu(tie)).tolist():
        some = np.flatnonzero((table.codes == i) | (table.codes == j))
        part = encoded(table.X[some], table.codes[some])
        kind = decide_table(part, verdict.values, verdict.fit_intercept, clock).kind
        pairs.append((verdict.classes[i], verdict.classes[j], kind))
    return Ties(int(rows.sum()), [verdict.classes[c] for c in range(classes) if not tie[c].any()], pairs)
