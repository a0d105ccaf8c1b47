"""Reads JSON Lines: a table with an object for each row, on a line of its own."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from linsep.data.columnar import ArrowTable, TypedSource, check_kind
from linsep.data.files import File, pieces
from linsep.data.parallel import cores, side_by_side
from linsep.data.schema import CellError, ColumnError
from linsep.data.sniffing import numbered_lines
from linsep.data.source import Piece
from linsep.data.tables import RawRows
from linsep.errors import ReadError
from linsep.problem import Array

_HEAD = 1 << 20  # bytes that say which columns there are
_ROW = re.compile(r"(?: in|,)? row (\d+)")
_WHOLE = 2**53  # integers up to here are doubles


class JsonSource(TypedSource):
    """Rows of JSON Lines; every block has its own types, and the layout says what becomes of the columns."""

    long_numbers = True  # for all that is known

    @contextmanager
    def opened(self, file: File) -> Iterator[Any]:
        """Yield the columns as the first lines of a file have them."""
        data = file.head(_HEAD)
        end = len(data) if len(data) < _HEAD else data.rfind(b"\n") + 1
        if not data.strip():
            raise ReadError(file.name, "is empty")
        table = parse_json_lines(file.name, data[:end], 1)
        first = next(line for line in data[:end].split(b"\n") if line.strip(b"\xef\xbb\xbf \t\r"))
        keys = parse_json_lines(file.name, first, 1).column_names
        self._late = [name for name in table.column_names if name not in set(keys)] if keys else []
        if self._late:  # the last key of the first row stays the last column
            table = table.select([*keys[:-1], *self._late, keys[-1]])
        yield ArrowTable(table)

    def _choose(self, index: Collection[str] = ()) -> tuple[int | None, list[int]]:
        target, chosen = super()._choose(index)
        if self._late and target is not None and self.options.target is None:
            message = f"the label is the last key of the first row, {self.column_names[target]!r}, although rows below"
            message += f" have more keys, such as {self._late[0]!r} ({{0}} names another)"
            self.note(self.files[0].name, message, ("target", self._late[-1]))
        return target, chosen

    def cells(self, names: list[str]) -> Iterator[pa.Table]:
        """Yield the cells of some columns, a block at a time."""
        for file in self.files:
            line = 1
            for piece in self._texts(file):
                text = bytes(piece)
                if not text.isspace():
                    yield self._wanted(parse_json_lines(file.name, text, line), names)
                line += text.count(b"\n")

    def _texts(self, file: File) -> Iterator[memoryview]:
        return pieces(file, self.options.block_bytes, last=True, buffers=cores() + 1)

    def _read(self, file: File) -> Iterator[Piece]:
        line = 1

        def texts() -> Iterator[tuple[bytes, int]]:
            number = 1
            for piece in self._texts(file):
                text = bytes(piece)
                if not text.isspace():
                    yield text, number
                number += text.count(b"\n")

        for (text, line), taken in side_by_side(texts(), lambda part: self._parse(file, *part)):
            try:
                yield self._piece(*taken.result())
            except CellError as error:
                number = next(number for row, number in enumerate(numbered_lines(text, line)) if row == error.row)
                raise self._cell_error(f"{file.name}:{number}, column {error.column!r}", error) from None

    def _parse(self, file: File, text: bytes, line: int) -> tuple[RawRows, Array | None, Array | None]:
        """Return the rows and labels of some lines, and which of them have a label."""
        names = [name for name, _ in self._layout.columns] + ([] if self._name is None else [self._name])
        table = self._wanted(parse_json_lines(file.name, text, line), names)
        try:
            for name, kind in self._layout.columns:
                if not pa.types.is_null(stored := table.schema.field(name).type):
                    check_kind(name, kind, stored)
        except ColumnError as error:
            raise ReadError(f"{file.name}, from line {line}", str(error), *error.settings) from None
        raw, y, labeled = self._take(table.combine_chunks().to_batches()[0])
        if raw.numbers.dtype.kind in "iu":
            large = np.argwhere((raw.numbers > _WHOLE) | (raw.numbers < -_WHOLE))
            if len(large):
                raise CellError(int(large[0, 0]), self._layout.numbers[large[0, 1]], "a whole number above 2^53")
        return raw._replace(numbers=raw.numbers.astype(np.float64)), y, labeled

    @staticmethod
    def _wanted(table: pa.Table, names: list[str]) -> pa.Table:
        """Return some columns; those that no row has here are empty."""
        there = set(table.column_names)
        empty = pa.nulls(table.num_rows, pa.string())
        return pa.table({name: table.column(name) if name in there else empty for name in dict.fromkeys(names)})

    def row_lines(self, file: File) -> Iterator[list[int]]:
        """Yield the lines in which rows begin, a piece of the file at a time."""
        line = 1
        for piece in self._texts(file):
            yield numbered_lines(text := bytes(piece), line)
            line += text.count(b"\n")


def parse_json_lines(name: str, text: bytes, line: int = 1) -> pa.Table:
    """Return lines of JSON as a table; what is wrong with them is told with its line."""
    try:
        return pyarrow.json.read_json(
            io.BytesIO(text.removeprefix(codecs.BOM_UTF8)),
            read_options=pyarrow.json.ReadOptions(block_size=len(text) + 1, use_threads=False),
            parse_options=pyarrow.json.ParseOptions(newlines_in_values=False),
        )
    except pa.ArrowInvalid as error:
        message = str(error).split("\n")[0].removeprefix("JSON parse error: ")
        row = _ROW.search(message)
        where = name
        if row is not None:
            lines = numbered_lines(text, line)
            where = f"{name}:{lines[min(int(row[1]), len(lines) - 1)]}"
            message = message[: row.start()] + message[row.end() :]
        changed = re.match(r"Column\(/?(.+)\) changed from (\w+) to (\w+)", message)
        if changed is not None:
            name, before, here = changed.groups()
            message = f"column {name!r} holds a {here} here, and a {before} before: write one or the other"
        else:
            message = f"is not JSON Lines, with an object on each line: {message}"
        raise ReadError(where, message) from None
