"""What every reader is: blocks of rows and labels that can be asked for again and again."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.data.byte_streams import File, ReadError
from linsep.data.columns import Layout, listed
from linsep.data.text_parsers import label, tidy
from linsep.problem import Array


class Block(NamedTuple):
    r"""Some rows of a source.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> from linsep.data.source import Block
    >>> X, y, first_row = next(iter(read(io.BytesIO(b"1,2,yes\n3,4,no\n"), format="csv")))
    >>> Block(X, y, first_row).y.tolist()
    ['yes', 'no']
    """

    X: Any  # (n, d) array in C order, or CSR array with sorted indices
    y: Array | None  # (n,) labels as the user wrote them, None when the source has no target
    first_row: int  # number of the block's first row in the whole source, from 0


@dataclass(frozen=True)
class Options:
    """How a source is to be read; what each of them means is said at `read`."""

    format: str
    target: str | int | None = None
    positive: Any = None
    delimiter: str | None = None
    header: bool | None = None
    zero_based: bool | None = None
    hash_bits: int = 18
    text: tuple[str | int, ...] = ()
    categorical: tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    missing: str = "error"
    n_features: int | None = None
    block_bytes: int = 1 << 22
    labels: bool = True
    layout: Layout | None = None


class Source(ABC):
    r"""Blocks of rows from one file or several; every iteration opens the files anew and holds one block at a time.

    Where the blocks begin depends on the data and ``block_bytes`` alone. Sparse rows may grow wider from block to
    block: `n_features` counts the features seen so far, and is final once an iteration has come to its end.

    Attributes
    ----------
    names : list of str or None
        Names of the features, those of columns that are hashed left out; None where the data has none.
    layout : Layout or None
        The columns of a table and what becomes of them, to read other data in the same way.
    seen : dict of int to set of str, or None
        For ``invert=True``: the names that were hashed to each feature so far.
    positive : label or None
        The label to be learnt as +1, as it appears in `y`.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> source = read(io.BytesIO(b"x,z,class\n1,2,yes\n3,4,no\n"), format="csv")
    >>> source, source.names
    (<Source input, csv>, ['x', 'z'])
    """

    names: list[str] | None = None
    layout: Layout | None = None
    seen: dict[int, set[str]] | None = None

    def __init__(self, files: list[File], options: Options) -> None:
        self.files = files
        self.options = options
        positive = options.positive
        self.positive = label(positive) if isinstance(positive, str) else positive
        self._done = 0  # bytes of the files that have been read to their end
        self._current: File | None = None

    def __repr__(self) -> str:
        names = self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"
        return f"<Source {names}, {self.options.format}>"

    def __iter__(self) -> Iterator[Block]:
        self._done, self._current = 0, None
        first_row = 0
        labels: set[Any] = set()
        for file in self.files:
            self._current = file
            for X, y in self._read(file):
                if X.shape[0] == 0:
                    continue
                if self.positive is not None and y is not None and self.positive not in labels:
                    labels.update(y.tolist())
                yield Block(X, y, first_row)
                first_row += X.shape[0]
            self._done, self._current = self._done + (file.size or file.position), None
        if first_row == 0:
            raise ReadError(f"{self.files[0].name}: no rows" if len(self.files) == 1 else "no rows in any of the files")
        if self.positive is not None and self.options.labels and self.positive not in labels:
            known = listed(sorted(map(str, labels)))
            raise ReadError(f"{self.files[0].name}: no row has the label {self.options.positive!r}; there are {known}")

    @abstractmethod
    def _read(self, file: File) -> Iterator[tuple[Any, Array | None]]:
        """Yield rows and labels of one file, a block at a time."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features there are, or have been seen so far."""

    @property
    def features(self) -> slice:
        """The columns of `Block.X` that are features.

        All of them, except where it is open whether the indices of a LIBSVM file start at 0 or at 1: then ``X`` has a
        column for either case, and once an iteration has come to its end ``w[source.features]`` leaves out the one
        that is not needed.
        """
        return slice(0, self.n_features)

    @property
    def extent(self) -> tuple[int, bool]:
        """How wide `Block.X` has been so far, and whether an index was 0: parts read elsewhere must agree on it."""
        return self.n_features, False

    def take_note(self, width: int, zero: bool) -> None:  # noqa: B027, most have nothing to take note of
        """Know what the parts, which were read elsewhere, have found together; only LIBSVM text leaves it open."""

    @property
    def size(self) -> int | None:
        """Bytes on disk, None for a stream whose end has not been seen."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def position(self) -> int:
        """Bytes consumed so far in the current iteration."""
        return self._done + (0 if self._current is None else self._current.position)

    def fingerprint(self) -> str:
        """Return a name for the data and how it is read, which does not depend on file names and times.

        It is made of the length and of samples of each file, so it is quick, but cannot notice every change.
        """
        how = [(field.name, getattr(self.options, field.name)) for field in fields(Options) if field.name != "positive"]
        digest = hashlib.sha256(repr(how).encode())
        for file in self.files:
            digest.update(file.fingerprint().encode())
        return digest.hexdigest()

    def to_arrays(self) -> tuple[Any, Array | None]:
        r"""Return all rows and labels at once: an array or a CSR array ``X``, and ``y`` or None.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> X, y = read(io.BytesIO(b"a,b,class\n1,2,yes\n3,4,no\n"), format="csv").to_arrays()
        >>> X.tolist(), y.tolist()
        ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'])
        """
        parts: list[Any] = []
        labels: list[Array] = []
        for X, y, _ in self:
            parts.append(X)
            if y is not None:
                labels.append(y)
        if not sp.issparse(parts[0]):
            return np.concatenate(parts), join(labels)
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize(part.shape[0], width)
        X = sp.vstack(parts, format="csr")
        if self.features != slice(0, width):
            X = X[:, self.features]
        return X, join(labels)


def join(labels: list[Array]) -> Array | None:
    """Put labels of several blocks together; words and numbers side by side stay what they are."""
    if not labels:
        return None
    if len({part.dtype.kind for part in labels}) == 1:
        return np.concatenate(labels)
    return tidy(np.concatenate([part.astype(object) for part in labels]))
