"""What a quasi verdict on more than two classes means: which rows tie, which classes split off, which pairs overlap."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.prove.check.exact_signs import sides, signs
from linsep.prove.claims import QUASI, UNKNOWN, Claim
from linsep.prove.numbers.cells import cells, whole_table
from linsep.prove.numbers.tables import table_of
from linsep.prove.verdict.separability import decide_table, encoded


class Ties(NamedTuple):
    """What the weights of a quasi verdict on several classes leave undecided."""

    rows: int  # whose true class scores no higher than another
    strict: list[Any]  # classes that tie with no other, on no row
    pairs: list[tuple[Any, Any, str]]  # classes that tie, and the verdict on the rows of these two alone

    def told(self) -> dict[str, Any]:
        """Return it for JSON."""
        pairs = [{"classes": [first, second], "verdict": kind} for first, second, kind in self.pairs]
        return {"rows": self.rows, "strict": self.strict, "pairs": pairs}

    def words(self, most: int = 8) -> dict[str, str]:
        """Return it in words, line by line."""
        lines = {"ties": f"{self.rows:,} row{'s' * (self.rows != 1)}: another class scores as high as the true one"}
        if self.strict:
            lines["strict"] = f"{_some(self.strict, most)}: split off strictly from every other class"
        pairs = [f"{first} and {second} {_ALONE[kind]}" for first, second, kind in self.pairs]
        lines["pairs"] = f"{_some(pairs, most)}, if taken alone"
        return lines


_ALONE = {
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
    found = table_of(whole_table(X), y, verdict.classes)
    stored = None if found is None else cells(found.X, verdict.values, offset=verdict.fit_intercept)
    if found is None or stored is None:  # 64 bits do not hold the numbers
        return None
    classes = len(verdict.classes)
    level = sides(stored.inside(verdict.separator), found.codes, classes, partial(signs, stored.rows)) == 0
    level[np.arange(len(level)), found.codes] = False
    rows, tie = level.any(axis=1), np.zeros((classes, classes), dtype=bool)
    for own in range(classes):
        tie[own] = level[found.codes == own].any(axis=0)
    tie |= tie.T
    pairs = []
    for i, j in np.argwhere(np.triu(tie)).tolist():
        some = np.flatnonzero((found.codes == i) | (found.codes == j))
        part = encoded(found.X[some], found.codes[some])
        alone = decide_table(part, verdict.values, verdict.fit_intercept, clock)
        pairs.append((verdict.classes[i], verdict.classes[j], alone.kind))
    return Ties(int(rows.sum()), [verdict.classes[c] for c in range(classes) if not tie[c].any()], pairs)
