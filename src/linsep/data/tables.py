"""Converts pieces of an Arrow table to rows of features, and reads tables: the common part of text and typed ones.

A piece is worked on in two steps. ``raw_rows`` can run in any thread and in any order; ``feature_rows`` gives new words
their features and must see the pieces in their order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.data import cells
from linsep.data.arrays import arrow_numbers, count_matrix, decoded, numpy_view, sorted_csr, word, zero
from linsep.data.files import File
from linsep.data.options import Options
from linsep.data.row_numbers import both
from linsep.data.schema import (
    BOOLEAN,
    DATE,
    GROUPED,
    HASHED_TEXT,
    HASHED_WORD,
    NUMBER,
    PERCENT,
    TEXT,
    UNIT,
    WORD,
    CellError,
    Column,
    ColumnError,
    Layout,
    find,
    is_numeric,
    kind_shown,
    listed,
)
from linsep.data.sniffing import (
    could_be_labels,
    is_id,
    is_text,
    measurement,
    numbers_rows,
    quoted,
    split_words,
    too_many_classes,
)
from linsep.data.source import Piece, Source
from linsep.data.words import Bag, CodedColumn, WordIndex, assemble, hashed_rows
from linsep.errors import ReadError
from linsep.problem import Array, Floats

# ---------------------------------------------------------------------------------------------------------------
# Pieces of a table


def unseen_words(count: int) -> str:
    """Say that some cells hold words that a model does not know."""
    cells = "1 cell holds a word" if count == 1 else f"{count:,} cells hold words"
    return f"{cells} that did not occur in training; linsep counts {'it' if count == 1 else 'them'} as zero"


class WrongKindError(CellError):
    """A cell that is not of the kind that its column is taken for."""


class RawRows(NamedTuple):
    """Rows of a piece of a table, before words have features."""

    numbers: Array  # (n, p)
    coded: Sequence[CodedColumn] = ()  # words, and missing cells among the numbers
    bags: Sequence[Bag] = ()  # texts
    hashed: Any = None  # CSR rows of what is hashed
    kept: Array | None = None  # (rows of the table,) which ones are left, None for all of them
    missing: Mapping[str, int] = {}  # cells without a value, by column


def raw_rows(table: Any, layout: Layout, missing: str, *, point: str = ".") -> RawRows:
    """Return the rows of a piece of a table, as far as they do not depend on the pieces before.

    ``missing`` is what becomes of a cell without a value in a column of numbers; ``"drop"`` means columns of words,
    too. ``point`` is the sign before fractions in numbers that are strings.
    """
    absent: dict[str, Array] = {}  # which cells are missing, by column
    X = _numbers(table, layout, point, absent)
    for name, kind in layout.columns if missing == "drop" else ():
        if not is_numeric(kind):
            words = _whole(table.column(name)).cast(pa.large_string())
            empty = ~numpy_view(pc.fill_null(pc.not_equal(words, word("")), zero(pa.bool_())))
            if empty.any():
                absent[name] = empty
    if absent and missing == "error":
        name, mask = next(iter(absent.items()))
        settings = (("missing", "zero"), ("missing", "drop"), ("missing", "indicator"))
        raise CellError(int(np.argmax(mask)), name, "a missing value", *settings)
    counts = {name: int(mask.sum()) for name, mask in absent.items()}
    kept = None
    if absent and missing in ("drop", "skip"):
        kept = ~np.logical_or.reduce(list(absent.values()))
        X, table = X[kept], table.filter(arrow_numbers(kept))
    coded, bags = [], []
    for place, (name, kind) in enumerate(layout.columns):
        if kind == WORD:
            coded.append(_coded(_whole(table.column(name)), place))
            empty_codes = [code for code, text in enumerate(coded[-1].words) if text is None]
            if empty_codes:
                counts[name] = int(np.isin(coded[-1].codes, empty_codes).sum())
        elif kind == TEXT:
            bags.append(bag(table.column(name).cast(pa.large_string()).to_pylist(), place))
        elif missing == "indicator" and name in absent:
            coded.append(CodedColumn(place, [None], np.where(absent[name], 0, -1)))
    return RawRows(X, coded, bags, hashed_rows(table, layout) if layout.hashed else None, kept, counts)


def _gaps(table: Any, layout: Layout) -> Counter[str]:
    """Return how many cells of rows that are left out are missing, by column."""
    counts = Counter[str]()
    for name, _ in layout.columns:
        column = decoded(_whole(table.column(name)))
        empty = pc.equal(column, word("").cast(column.type)) if is_string(column.type) else column.is_null()
        absent = pc.or_kleene(column.is_null(nan_is_null=True), empty)
        counts[name] = pc.sum(absent).as_py() or 0
    return counts


def bag(texts: list[str | None], place: int) -> Bag:
    """Return the words of a column of texts in lower case; nothing has no words."""
    index: dict[str, int] = {}
    codes: list[int] = []
    lengths = []
    for text in texts:
        words = split_words(text or "")
        codes += [index.setdefault(word, len(index)) for word in words]
        lengths.append(len(words))
    rows = np.repeat(np.arange(len(lengths)), np.array(lengths, dtype=np.int64))
    return Bag(place, list(index), np.array(codes, dtype=np.int64), rows)


def _coded(column: Any, place: int) -> CodedColumn:
    """Return a column of words by their codes; the word of a missing or empty cell is None."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    words: list[str | None] = [word or None for word in column.dictionary.cast(pa.large_string()).to_pylist()]
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(words))
        words.append(None)
    return CodedColumn(place, words, numpy_view(indices))


def feature_rows(raw: RawRows, layout: Layout, categories: WordIndex, missing: str) -> Any:
    """Return the rows with a feature for every word: an array, or a CSR array where there are words."""
    if not (raw.coded or layout.words or layout.hashed or missing == "indicator"):
        return raw.numbers
    features, texts = categories.numbered(raw.coded, raw.bags, len(raw.numbers))
    X = sorted_csr(assemble(raw.numbers, features), (len(raw.numbers), categories.first + len(categories)))
    for each, numbered in zip(raw.bags, texts, strict=True):
        known = numbered >= 0
        X = X + count_matrix(each.rows[known], numbered[known], X.shape)
    if raw.hashed is None:
        return X
    raw.hashed.resize(X.shape)
    return X + raw.hashed


def _numbers(table: Any, layout: Layout, point: str, absent: dict[str, Array]) -> Array:
    """Return the columns of numbers side by side, in a dtype that holds them all; 0 where ``absent`` gets a mark."""
    part = table.select(layout.numbers)
    plain = len(part.schema) and set(part.schema.types) in ({pa.float64()}, {pa.float32()})
    batches = (part.combine_chunks().to_batches() if isinstance(part, pa.Table) else [part]) if plain else []
    if batches:  # the usual case, and quick
        return _finite(batches[0].to_tensor(null_to_nan=True, row_major=True).to_numpy(), layout.numbers, absent)
    columns = [
        _number_column(_whole(table.column(name)), name, kind, point, absent)
        for name, kind in layout.columns
        if is_numeric(kind)
    ]
    X = np.empty((table.num_rows, len(columns)), dtype=np.result_type(*columns) if columns else np.dtype(float))
    for j, values in enumerate(columns):
        X[:, j] = values
    return _finite(X, layout.numbers, absent)


def _number_column(column: pa.Array, name: str, kind: str, point: str, absent: dict[str, Array]) -> Array:
    """Return a column of numbers, 0 where they are missing."""
    column = decoded(column)
    if is_string(column.type):
        values = cells.values(column, f"{DATE}:iso" if kind == DATE else kind, point)
        if values is None:
            there = [(row, cell) for row, cell in enumerate(column.to_pylist()) if cell is not None]
            odd = ((row, cell) for row, cell in there if not cells.fits_kind(kind, cell, point))
            row, cell = next(odd, there[0])  # of dates with and without zones each may fit
            raise WrongKindError(row, name, cell)
        return values
    if pa.types.is_temporal(column.type):
        column = cells.days(column)
    elif not is_plain(column.type):
        column = column.cast(pa.float64())
    if column.null_count:
        absent[name] = numpy_view(column.is_null())
        column = column.fill_null(zero(column.type))
    return numpy_view(column)


def _finite(X: Array, names: list[str], absent: dict[str, Array]) -> Array:
    """Mark NaN as missing, and refuse infinity."""
    if X.dtype.kind != "f" or np.isfinite(X).all():
        return X
    X = X.copy()
    for j, name in enumerate(names):
        mask = np.isnan(X[:, j])
        if mask.any():
            absent[name] = absent[name] | mask if name in absent else mask
            X[mask, j] = 0
    bad = np.argwhere(np.isinf(X))
    if len(bad):
        raise CellError(int(bad[0, 0]), names[bad[0, 1]], "an infinite number")
    return X


def is_plain(kind: pa.DataType) -> bool:
    """Say whether NumPy has the same type of number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_string(kind: pa.DataType) -> bool:
    """Say whether a column holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the cells of a column, which a dictionary may hold."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def label_column(column: Any, name: str, missing: str) -> tuple[Array, Array | None]:
    """Return the labels in a column of a table as they are, and which rows are kept, None for all of them."""
    column = decoded(_whole(column))
    if not (is_plain(column.type) or pa.types.is_null(column.type)):
        column = column.cast(pa.string())
    absent = numpy_view(column.is_null(nan_is_null=True))
    if absent.any():
        if missing != "drop":
            raise CellError(int(np.argmax(absent)), name, "a missing label", ("missing", "drop"))
        column = column.filter(arrow_numbers(~absent))
    y = numpy_view(column)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise CellError(int(np.flatnonzero(~absent)[np.argmax(np.isinf(y))]), name, "an infinite label")
    return y, ~absent if absent.any() else None


def typed_kind(name: str, kind: pa.DataType, asked: str | None = None) -> str:
    """Return what becomes of a column of a typed table; the user may have asked for words or texts."""
    kind = value_type(kind)
    if asked == TEXT:
        if not is_string(kind):
            raise ColumnError(f"column {name!r} cannot be split into words: its type is {kind}")
        return TEXT
    if is_string(kind) or asked == WORD:
        return WORD
    if pa.types.is_boolean(kind):
        return BOOLEAN
    if is_plain(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return DATE
    raise ColumnError(f"column {name!r} has type {kind}, which is neither a number nor a string", ("ignore", name))


# ---------------------------------------------------------------------------------------------------------------
# Sources


_TEXT_BITS = 18  # of the features of texts, which are always hashed


class Sample(NamedTuple):
    """What the first rows show of a column."""

    place: int  # among all columns
    name: str
    kind: str
    cells: list[Any]  # missing ones left out


class TableSource(Source):
    """Rows of a table: columns become features as the layout says, and new words get new features on the way."""

    is_deciding = False  # whether what has been read so far may still change what a column is taken for

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self.has_header = True  # whether the columns have names
        self.column_names: list[str] = []  # names, or numbers, of all columns
        self._layout = Layout(())
        self._categories = WordIndex(0)
        self.number_format = cells.NumberFormat(options.decimal, options.thousands, options.dates, options.gaps)
        self._left_out: dict[int, Column] = {}  # columns that are no features, by place
        self._missing: Counter[str] = Counter()  # of the present iteration
        self._ranges: tuple[Floats, Floats] | None = None  # of the numbers, while a description is made

    def __getstate__(self) -> dict[str, Any]:  # a copy learns words of its own
        categories = WordIndex(self._categories.first, self._categories.order, fixed=self._categories.fixed)
        return super().__getstate__() | {"_categories": categories, "_missing": Counter()}

    def _arrange(self, layout: Layout) -> None:
        """Take the layout, the user's if there is one, and let it say what the features are."""
        self._layout = self.options.layout or layout
        fixed = self.options.layout is not None and not self.options.new_levels
        self._categories = WordIndex(self._layout.first_category, self._layout.categories, fixed=fixed)
        if not self.grows:
            self._check_width()

    def _too_wide(self) -> ReadError:
        message = f"more than {self.options.max_features:,} features, one for each word "
        message += "({0} hashes words; {1} raises the limit)"
        return ReadError(self.files[0].name, message, ("hash_bits", 18), ("max_features", 2 * self.n_features))

    @property
    def layout(self) -> Layout:  # type: ignore[override]
        """The columns and what becomes of them, with the words that have been seen so far."""
        if len(self._layout.categories) != len(self._categories):
            self._layout = replace(self._layout, categories=tuple(self._categories.order))
        return self._layout

    @property
    def names(self) -> list[str] | None:
        """Names of the features, those of columns that are hashed left out; None where the data has none."""
        layout = self.layout
        return layout.names if layout.named or layout.categories else None

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many features there are, or have been seen so far."""
        return self._categories.first + len(self._categories)

    @property
    def categories(self) -> list[tuple[int, str | None]]:
        """The words that have features so far, by the number of their column, in the order of the features."""
        return self._categories.order

    @property
    def grows(self) -> bool:
        """Whether new words get features while rows are read."""
        return not self._categories.fixed and bool(self._layout.words or self.options.missing == "indicator")

    def take_categories(self, parts: list[list[tuple[int, str | None]]]) -> None:
        """Know the words of the parts, which were read elsewhere, in the order of the parts."""
        known = dict.fromkeys(category for part in parts for category in part)
        self._categories = WordIndex(self._categories.first, known, fixed=self._categories.fixed)

    def pieces(self) -> Generator[Piece]:
        """Yield the rows of all files as they are read."""
        self._missing.clear()
        self._categories.unseen = 0
        yield from super().pieces()
        self._check_width()
        if self._categories.unseen:
            self.note(self.files[0].name, unseen_words(self._categories.unseen))

    def missing_cells(self) -> tuple[tuple[str, int], ...]:
        """Return the columns with cells without a value, and how many; the most first."""
        words = self._layout.words if self.options.missing == "skip" else []  # which may be missing
        counts = Counter({name: self._missing[name] for name in self.column_names})  # in their order
        return tuple((name, count) for name, count in counts.most_common() if count and name not in words)

    # -----------------------------------------------------------------------------------------------------------
    # Decisions

    def _choose(self, index: Collection[str] = ()) -> tuple[int | None, list[int]]:
        """Return which column is the target, None if there is none, and which are features.

        ``index`` are the columns in which pandas has written its index, which may come last but is no label.
        """
        names, options = self.column_names, self.options
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

    def _hash(self, kind: str) -> str:
        hashed = {WORD: HASHED_WORD, TEXT: HASHED_TEXT}
        return kind if self.options.hash_bits is None else hashed.get(kind, kind)

    def _new_layout(self, columns: list[tuple[str, str]], named: bool, target: str | None) -> Layout:
        return Layout(tuple(columns), self.options.hash_bits or _TEXT_BITS, named, target)

    def explained(self, column: str, kind: str) -> tuple[str, tuple[tuple[str, Any], ...]]:
        """Say what a column holds that is not plain, and which options decide otherwise; nothing if it was asked so."""
        name, _, form = kind.partition(":")
        if name == DATE:
            written = "ISO 8601" if form == "iso" else form
            times = "times of day" if cells.is_time(kind) else "dates or times"
            unit = "seconds since midnight" if cells.is_time(kind) else "days since 1970-01-01"
            return f"{times}, written as {written}: read as {unit} ({{0}} reads them as words)", (("dates", False),)
        if name == GROUPED:
            return f"numbers with {form!r} as thousands separator ({{0}} turns this off)", (("thousands", ""),)
        if name == UNIT:
            unit, _, sign = form.partition(":")
            thousands = f", with {sign!r} as thousands separator" if sign else ""
            return f"numbers with the unit {unit}{thousands} ({{0}} reads them as words)", (("categorical", column),)
        if name in (TEXT, HASHED_TEXT) and self._asked().get(self.column_names.index(column)) != TEXT:
            how = "hashed" if name == HASHED_TEXT else "a feature for each word, how often it occurs"
            message = f"texts: {how} ({{0}} reads each text as one word, {{1}} leaves it out)"
            return message, (("categorical", column), ("ignore", column))
        known = {
            PERCENT: "percentages: 12% is read as 12 ({0} reads them as words)",
            BOOLEAN: "true and false: read as 1 and 0 ({0} reads them as words)",
        }
        return known.get(name, ""), (("categorical", column),)

    def _asked(self) -> dict[int, str]:
        """Return the columns for which the user has said what they hold: texts, words or numbers, by their places."""
        groups = ((NUMBER, self.options.numeric), (WORD, self.options.categorical), (TEXT, self.options.text))
        return {find(name, self.column_names): kind for kind, group in groups for name in group}

    def _written_kind(self, j: int, written: list[str], asked: Mapping[int, str]) -> str:
        """Decide what a column of text holds by its first cells, missing ones left out."""
        if asked.get(j) in (TEXT, WORD):
            return asked[j]
        kind = cells.written_kind(written, self.number_format)
        if kind != WORD:
            return kind
        if j in asked:
            return NUMBER
        if units := cells.mixed_units(written):  # nobody has said how to convert them
            message = f"mixes the units {listed(units)}: convert them to one"
        elif (cell := cells.unread_number(written)) is not None:
            notation = "a notation that linsep does not read: write it as in -12.5"
            message = f"{quoted(cell)} looks like a number in {notation}"
        else:
            return TEXT if is_text(written) else WORD
        column = self.column_names[j]
        message += " ({0} reads the column as words, {1} leaves it out)"
        where = f"{self.files[0].name}, column {self.named(column)}"
        raise ReadError(where, message, ("categorical", column), ("ignore", column))

    def _first_odd(self, written: Sequence[str]) -> int | None:
        """Return which of the first cells of a column is the first word among many more numbers, if that is so."""
        odd = [k for k, cell in enumerate(written) if not cells.is_number(cell, self.number_format.point)]
        return odd[0] if 0 < 2 * len(odd) < len(written) else None

    def _note_word(self, where: str, column: str, cell: str) -> None:
        why = f"because {quoted(cell)} is not a number ({{0}} makes this an error)"
        self.note(where, f"linsep reads column {self.named(column)} as words, {why}", ("numeric", column))

    def _note_decimal_comma(self) -> None:
        if self.options.decimal is None and self.number_format.point == ",":
            message = "linsep reads commas as decimal marks ({0} turns this off)"
            self.note(self.files[0].name, message, ("decimal", "."))

    def named(self, column: str) -> str:
        """Return a column as messages name it: its name, or its number from 0, as options take it."""
        return repr(column) if self.has_header else column

    def _without_ids(
        self, samples: list[Sample], asked: Collection[int], index: Collection[str] = ()
    ) -> list[tuple[str, str]]:
        """Return names and kinds of the columns but those that only name the rows.

        These stay if they are asked for or nothing else is there. ``index`` are the names of known indexes.
        """
        reasons: dict[int, tuple[str, tuple[str, Any]]] = {}
        for place, name, kind, values in samples:
            if self.options.keep_index or place in asked:
                continue
            if is_numeric(kind) and numbers_rows(name, values, index=name in index):
                reasons[place] = "it only numbers the rows", ("keep_index", True)
            elif kind in (WORD, HASHED_WORD) and is_id(values):
                reasons[place] = "almost every row has a different word, as in an ID", ("categorical", name)
        if len(reasons) == len(samples):
            reasons = {}
        for place, name, kind, _ in samples:
            if place in reasons:
                why, setting = reasons[place]
                self._left_out[place] = Column(name, kind_shown(kind), None, None, 0, f"left out: {why}")
                self.note(self.files[0].name, f"linsep leaves out column {name!r}: {why} ({{0}} keeps it)", setting)
        return [(sample.name, sample.kind) for sample in samples if sample.place not in reasons]

    def _check_label(self, name: str, values: list[Any], samples: list[Sample], measurable: bool = True) -> None:
        """Refuse a label that nobody has named and that looks like a measurement; note one of few rows per class."""
        if self.options.target is not None or self.options.layout is not None or not self.options.labels:
            return
        why, many = measurement(values) if measurable else None, too_many_classes(values)
        if why is None and many is None:
            return
        candidates = could_be_labels(
            (sample.name, sample.cells)
            for sample in samples
            if sample.kind in (WORD, HASHED_WORD)
            or not (sample.kind.startswith(DATE) or any({".", ","} & set(str(cell)) for cell in sample.cells))
        )
        hint = f"columns with few values: {listed(candidates)}" if candidates else ""
        setting = ("target", candidates[0] if candidates else name)
        where = self.files[0].name
        if why is not None:
            message = f"the label would be the last column, {name!r}, but {why}: name the label column with {{0}}"
            raise ReadError(where, f"{message}; {hint}" if hint else message, setting)
        message = f"the label is the last column, {self.named(name)}, with {many}, which are many"
        self.note(where, f"{message} ({hint}{'; ' if hint else ''}{{0}} names it)", setting)

    # -----------------------------------------------------------------------------------------------------------
    # Rows

    def _raw_rows(self, table: Any, target: str | None, labeled: Array | None, point: str) -> RawRows:
        """Return the rows of a piece that have a label, in any thread; a CellError names the row among all of them."""
        if labeled is None:
            return raw_rows(table, self._layout, self.options.missing, point=point)
        try:
            raw = raw_rows(table.filter(arrow_numbers(labeled)), self._layout, self.options.missing, point=point)
        except CellError as error:
            error.row = int(np.flatnonzero(labeled)[error.row])
            raise
        missing = Counter(raw.missing) + _gaps(table.filter(arrow_numbers(~labeled)), self._layout)
        return raw._replace(missing=missing + Counter({str(target): int(np.count_nonzero(~labeled))}))

    def _piece(self, raw: RawRows, y: Array | None, labeled: Array | None) -> Piece:
        """Return rows, whose words get features, and the labels that some have; pieces must come in their order."""
        self._missing.update(raw.missing)
        if self._ranges is not None and len(raw.numbers):
            low, high = self._ranges
            np.minimum(low, raw.numbers.min(axis=0), out=low)
            np.maximum(high, raw.numbers.max(axis=0), out=high)
        X = feature_rows(raw, self._layout, self._categories, self.options.missing)
        if self.n_features > self.options.max_features and self.options.n_features is None:
            raise self._too_wide()
        return Piece(X, y if y is None or raw.kept is None else y[raw.kept], both(labeled, raw.kept))

    def change_kind(self, error: ReadError, early: bool) -> str:  # noqa: ARG002, only text changes its mind
        """Return what a column is taken for in which a cell does not fit, or raise the error of that cell."""
        raise error

    def wrong_kind(self, where: str, column: str, cell: str) -> ReadError:
        """Return the error of a cell that is not of its column's kind."""
        message = f"{quoted(cell)} is not a number, as the cells above are"
        return self.error(where, message, *((("categorical", column),) if self.options.layout is None else ()))

    def error(self, where: str, message: str, *settings: tuple[str, Any]) -> ReadError:
        """Return an error about the table, with the settings that would allow it."""
        return ReadError(where, message, *settings)

    @abstractmethod
    def cells(self, names: list[str]) -> Iterator[Any]:
        """Yield the cells of some columns as Arrow has them, a block at a time: those of a text as they are written."""

    def cells_of(self, columns: Sequence[str | int]) -> Iterator[list[Any]]:
        """Return the cells of some columns, row by row."""
        try:
            names = [self.column_names[find(column, self.column_names)] for column in columns]
        except ColumnError as error:
            raise ReadError(self.files[0].name, str(error)) from None
        return (
            [cell.strip() if isinstance(cell, str) else cell for cell in row]
            for block in self.cells(list(dict.fromkeys(names)))
            for row in zip(*(block.column(name).to_pylist() for name in names), strict=True)
        )

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way: besides, the sign before fractions."""
        return super().state() | {"point": self.number_format.point}

    def describe(self) -> list[Column]:
        r"""Read all rows, and return what there is to say of every column.

        Returns
        -------
        list of Column
            Name, kind, how many words there are or the range of the numbers, how many cells are missing, and what
            became of it. Missing numbers, which may be an error otherwise, count as 0 in the range.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> source = read(io.BytesIO(b"x,town,class\n1,Ulm,yes\n3,Bonn,no\n"), format="csv")
        >>> for column in source.describe():
        ...     print(column.name, column.kind, column.levels, column.range, column.gaps, column.usage)
        x number None (1.0, 3.0) 0 1 feature
        town word 2 None 0 2 features, 1 for each word
        class label 2 None 0 the label
        """
        twin = copy(self)
        if self.options.missing == "error":
            twin.options = replace(self.options, missing="zero")
        n = len(self._layout.numbers)
        low, high = twin._ranges = (np.full(n, np.inf), np.full(n, -np.inf))
        counts: Counter[Any] = Counter()
        for _, y, _ in twin:
            counts.update([] if y is None else y.tolist())
        layout = twin.layout
        ranges = dict(zip(layout.numbers, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        n_words = Counter(place for place, _ in layout.categories)
        columns = []
        for place, (name, kind) in enumerate(layout.columns):
            words = n_words[place] if kind in (WORD, TEXT) else None
            usage = _usage(kind, n_words[place], layout.hash_bits)
            columns.append(Column(name, kind_shown(kind), words, ranges.get(name), twin._missing[name], usage))
        for place, column in sorted(twin._left_out.items()):
            columns.insert(place, column)
        target = str(layout.target)
        if counts:
            columns.append(Column(target, "label", len(counts), None, twin._missing[target], "the label"))
        return columns


def _usage(kind: str, n_words: int, hash_bits: int) -> str:
    if kind == WORD:
        return f"{n_words} feature{'s' * (n_words != 1)}, 1 for each word"
    if kind == TEXT:
        return f"{n_words:,} feature{'s' * (n_words != 1)}, how often each word occurs"
    if kind in (HASHED_WORD, HASHED_TEXT):
        return f"hashed into 2^{hash_bits} features"
    return "1 feature and 1 for its gaps" if n_words else "1 feature"
