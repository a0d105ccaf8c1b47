"""The common part of readers of delimited text and of typed tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linsep.data.arrow_arrays import numbers
from linsep.data.byte_streams import File
from linsep.data.head_checks import could_be_labels, left_out, measurement, refusal
from linsep.data.layout import (
    CATEGORY,
    TEXT,
    WORD,
    CellError,
    Column,
    ColumnError,
    Layout,
    find,
    is_numeric,
    kind_shown,
)
from linsep.data.levels import Levels
from linsep.data.source import Options, Source
from linsep.data.table_rows import Parts, finished, parts
from linsep.errors import ReadError
from linsep.problem import Array, Floats

_TEXT_BITS = 18  # of the features of texts, which are always hashed


def choose(names: list[str], options: Options, index: Collection[str] = ()) -> tuple[int | None, list[int]]:
    """Return which column is the target, None if there is none, and which are features.

    ``index`` are the columns in which pandas has written its index, which may come last but is no label.
    """
    target: int | None = None
    if options.labels or options.target is not None:
        last = next((j for j in reversed(range(len(names))) if names[j] not in index), -1)
        try:
            target = find(last if options.target is None else options.target, names)
        except ColumnError:
            if options.labels:
                raise
    ignored = {find(name, names) for name in options.ignore}
    return target, [j for j in range(len(names)) if j != target and j not in ignored]


class TableSource(Source):
    """Rows of a table: columns become features as the layout says, and new words get new features on the way."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._layout = Layout(())
        self._levels = Levels(0)
        self._fates: dict[str, tuple[int, str, str]] = {}  # of columns that are left out
        self._gaps: Counter[str] = Counter()  # of the present iteration
        self._ranges: tuple[Floats, Floats] | None = None  # of the numbers, while a description is made

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        twin._levels = Levels(self._levels.first, self._levels.order, fixed=self._levels.fixed)
        twin._gaps = Counter()
        return twin

    def _arrange(self, layout: Layout) -> None:
        """Take the layout, the user's if there is one, and let it say what the features are."""
        given = self.options.layout
        self._layout = given or layout
        fixed = given is not None and not self.options.new_levels
        self._levels = Levels(self._layout.first_level, self._layout.levels, fixed=fixed)
        if fixed or not (self._layout.words or self.options.missing == "indicator"):
            self._check_width()

    def _check_width(self) -> None:
        """Refuse another number of features than the user wants."""
        wanted = self.options.n_features
        if wanted is not None and wanted != self.n_features:
            raise ReadError(self.files[0].name, f"has {self.n_features} features, but {wanted} are expected")

    @property
    def layout(self) -> Layout:  # type: ignore[override]
        """The columns and what becomes of them, with the words that have been seen so far."""
        if len(self._layout.levels) != len(self._levels):
            self._layout = replace(self._layout, levels=tuple(self._levels.order))
        return self._layout

    @property
    def names(self) -> list[str] | None:
        """Names of the features, those of columns that are hashed left out; None where the data has none."""
        layout = self.layout
        return layout.names if layout.named or layout.levels else None

    @property
    def n_features(self) -> int:
        """How many features there are, or have been seen so far."""
        return self._levels.first + len(self._levels)

    @property
    def levels(self) -> list[tuple[int, str | None]]:
        """The words that have features so far, by the number of their column, in the order of the features."""
        return self._levels.order

    @property
    def grows(self) -> bool:
        """Whether new words get features while rows are read."""
        return not self._levels.fixed and bool(self._layout.words or self.options.missing == "indicator")

    def take_levels(self, found: list[list[tuple[int, str | None]]]) -> None:
        """Know the words that the parts, which were read elsewhere, have found, in the order of the parts."""
        known = dict.fromkeys(level for part in found for level in part)
        self._levels = Levels(self._levels.first, known, fixed=self._levels.fixed)

    def _blocks(self) -> Any:
        self._gaps.clear()
        self._levels.unseen = 0
        yield from super()._blocks()
        self._check_width()
        if self._levels.unseen:
            said = (
                f"{self._levels.unseen:,} cells hold words that did not occur in training; linsep counts them as zero"
            )
            self.note(self.files[0].name, said)

    # -----------------------------------------------------------------------------------------------------------
    # Decisions

    def _missing_cells(self) -> tuple[tuple[str, int], ...]:
        words = set(self._layout.words)
        return tuple((name, count) for name, count in self._gaps.most_common() if name not in words and count)

    def _hash(self, kind: str) -> str:
        """Return the kind of a column with words as the user wants them."""
        return CATEGORY if kind == WORD and self.options.hash_bits is not None else kind

    def _new_layout(self, columns: list[tuple[str, str]], named: bool, target: str | None) -> Layout:
        bits = self.options.hash_bits or _TEXT_BITS
        return Layout(tuple(columns), bits, named, target)

    def _leave_out(
        self, columns: list[tuple[int, str, str, list[Any]]], asked: set[int], index: set[str] | None = None
    ) -> list[tuple[str, str]]:
        """Leave out columns that only name the rows, unless they are asked for or nothing else is there.

        ``columns`` are places, names, kinds, and the cells of the first rows that are no gaps; ``index`` are the names
        of those that are known to be an index.
        """
        open_ = [
            (name, is_numeric(kind), cells)
            for place, name, kind, cells in columns
            if place not in asked and (is_numeric(kind) or kind in (WORD, CATEGORY))
        ]
        reasons = {} if self.options.keep_index else left_out(open_, index or set())
        if len(reasons) == len(columns):
            reasons = {}
        for place, name, kind, _ in columns:
            if name in reasons:
                why, setting = reasons[name]
                self._fates[name] = place, kind, f"left out: {why}"
                self.note(self.files[0].name, f"linsep leaves out column {name!r}: {why} ({{0}} keeps it)", setting)
        return [(name, kind) for _, name, kind, _ in columns if name not in reasons]

    def _check_label(self, name: str, values: list[Any], columns: list[tuple[int, str, str, list[Any]]]) -> None:
        """Refuse a label that nobody has named and that looks like a measurement."""
        if self.options.target is not None or self.options.layout is not None or not self.options.labels:
            return
        why = measurement(values)
        if why is not None:
            fit = [(n, cells) for _, n, kind, cells in columns if kind in (WORD, CATEGORY) or not _broken(kind, cells)]
            candidates = could_be_labels([n for n, _ in fit], [cells for _, cells in fit])
            what, setting = refusal(name, why, candidates)
            raise ReadError(self.files[0].name, what, setting)

    # -----------------------------------------------------------------------------------------------------------
    # Rows

    def _parts(self, table: Any, point: str = ".") -> Parts:
        """Return the rows of a piece of the table, in any thread; raises CellError."""
        return parts(table, self._layout, self.options.missing, point=point)

    def _labeled_parts(self, table: Any, target: str, kept: Array | None, point: str = ".") -> Parts:
        """Return the rows of a piece that have a label; a CellError names the row among all of them."""
        if kept is None:
            return self._parts(table, point)
        try:
            found = self._parts(table.filter(numbers(kept)), point)
        except CellError as error:
            error.row = int(np.flatnonzero(kept)[error.row])
            raise
        return found._replace(gaps={**found.gaps, target: int(np.count_nonzero(~kept))})

    def _finish(self, found: Parts) -> Any:
        """Return the rows of a piece, whose words get features; pieces must come in their order."""
        self._gaps.update(found.gaps)
        if self._ranges is not None and len(found.numbers):
            low, high = self._ranges
            np.minimum(low, found.numbers.min(axis=0), out=low)
            np.maximum(high, found.numbers.max(axis=0), out=high)
        X = finished(found, self._layout, self._levels, self.options.missing)
        if self.n_features > self.options.max_features and self.options.n_features is None:
            what = f"more than {self.options.max_features:,} features, one for each word "
            what += "({0} hashes words; {1} raises the limit)"
            raise ReadError(self.files[0].name, what, ("hash_bits", 18), ("max_features", 2 * self.n_features))
        return X

    def describe(self) -> list[Column]:
        r"""Read all rows, and return what there is to say of every column.

        Returns
        -------
        list of Column
            Name, kind, how many levels there are or the range of the numbers, how many gaps, and what became of it.
            Gaps among numbers, which may be an error otherwise, count as 0 in the range.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> source = read(io.BytesIO(b"x,town,class\n1,Ulm,yes\n3,Bonn,no\n"), format="csv")
        >>> for column in source.describe():
        ...     print(column.name, column.kind, column.levels, column.range, column.gaps, column.fate)
        x number None (1.0, 3.0) 0 1 feature
        town word 2 None 0 2 features, 1 for each word
        class label 2 None 0 the label
        """
        twin = copy(self)
        if self.options.missing == "error":
            twin.options = replace(self.options, missing="zero")
        counts: Counter[Any] = twin._surveyed()
        layout = twin.layout
        assert twin._ranges is not None
        ranges = dict(zip(layout.numbers, zip(*(side.tolist() for side in twin._ranges), strict=True), strict=True))
        found = [
            Column(
                name,
                kind_shown(kind),
                sum(column == place for column, _ in layout.levels) if kind == WORD else None,
                ranges.get(name),
                twin._gaps[name],
                _fate(layout, place),
            )
            for place, (name, kind) in enumerate(layout.columns)
        ]
        for name, (place, kind, fate) in sorted(twin._fates.items(), key=lambda item: item[1][0]):
            found.insert(place, Column(name, kind_shown(kind), None, None, 0, fate))
        if counts:
            found.append(Column(str(layout.target), "label", len(counts), None, 0, "the label"))
        return found

    def _surveyed(self) -> Counter[Any]:
        """Read all rows; note the ranges of numbers, and return how often each label occurs."""
        numbers = len(self._layout.numbers)
        self._ranges = (np.full(numbers, np.inf), np.full(numbers, -np.inf))
        counts: Counter[Any] = Counter()
        for _, y, _ in self:
            counts.update([] if y is None else y.tolist())
        return counts


def _broken(kind: str, cells: list[Any]) -> bool:
    """Say whether a column holds numbers with fractions, or dates."""
    return kind.startswith("date") or any("." in str(cell) or "," in str(cell) for cell in cells)


def _fate(layout: Layout, place: int) -> str:
    """Say what became of a column."""
    kind = layout.columns[place][1]
    own = sum(column == place for column, _ in layout.levels)
    if kind == WORD:
        return f"{own} feature{'s' * (own != 1)}, 1 for each word"
    if kind in (CATEGORY, TEXT):
        return f"hashed into 2^{layout.hash_bits} features"
    return "1 feature and 1 for its gaps" if own else "1 feature"


def kept_rows(y: Array | None, kept: Array | None) -> Array | None:
    """Return the labels of the rows that are kept."""
    return y if y is None or kept is None else y[kept]
