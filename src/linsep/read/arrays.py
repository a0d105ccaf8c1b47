"""NumPy files: NPY, mapped into memory, and NPZ with dense or sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.columns import ColumnError, find
from linsep.problem import Array
from linsep.read.source import Options, Source
from linsep.read.stream import File, ReadError, complaints, one_line


class NpySource(Source):
    """Rows of a two-dimensional array; a column of it holds the labels."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._width = int(_mapped(files[0]).shape[1])
        try:
            wanted = -1 if options.target is None else options.target
            self._target = find(wanted, [str(j) for j in range(self._width)]) if options.labels else None
        except ColumnError as error:
            raise ReadError(f"{files[0].name}: {error}") from None
        if options.n_features not in (None, self.n_features):
            raise ReadError(f"{files[0].name}: has {self.n_features} features, but {options.n_features} are expected")

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._width - (self._target is not None)

    def _read(self, file: File) -> Iterator[tuple[Any, Array | None]]:
        array = _mapped(file)
        if array.shape[1] != self._width:
            raise ReadError(f"{file.name}: has {array.shape[1]} columns, but {self.files[0].name} has {self._width}")
        height = max(1, self.options.block_bytes // max(1, array.itemsize * self._width))
        for start in range(0, len(array), height):
            block = array[start : start + height]
            y = None
            if self._target is not None:
                y = np.array(block[:, self._target])
                block = np.delete(block, self._target, axis=1)
            file.position = min(start + height, len(array)) * self._width * array.itemsize
            yield complete(np.ascontiguousarray(block), y, self.options.missing, file.name, start)


def _mapped(file: File) -> Array:
    """Map an NPY file into memory; nothing in it is ever executed."""
    with complaints(file.name):
        try:
            whole = file.whole()
            array = np.load(whole, mmap_mode="r" if isinstance(whole, str) else None, allow_pickle=False)
        except (ValueError, EOFError, SyntaxError, TypeError, OverflowError) as error:
            raise ReadError(f"{file.name}: not an NPY file of numbers ({one_line(error)})") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ReadError(f"{file.name}: a two-dimensional array of real numbers is wanted")
    return array


def complete(X: Array, y: Array | None, missing: str, name: str, start: int) -> tuple[Array, Array | None]:
    """Deal with NaN, the missing value of arrays, and refuse infinity."""
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ReadError(f"{name}: row {start + int(np.argmax(~np.isfinite(y)))}: the label is not a finite number")
    if X.dtype.kind != "f" or np.isfinite(X).all():
        return X, y
    bad = np.argwhere(np.isinf(X) if missing != "error" else ~np.isfinite(X))
    if len(bad):
        what = "a missing value (missing='zero' or 'drop' allows it)" if np.isnan(X[tuple(bad[0])]) else "infinity"
        raise ReadError(f"{name}: row {start + bad[0, 0]}, column {bad[0, 1]}: {what}")
    if missing == "zero":
        return np.nan_to_num(X, nan=0.0), y
    kept = ~np.isnan(X).any(axis=1)
    return X[kept], None if y is None else y[kept]
