"""The base class of all models: parameters, input checks, saved state; works without scikit-learn.

The commands use these models directly; `estimators` turns them into scikit-learn's classifiers.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from linsep.data.arrays import check_cells, is_sparse, numeric
from linsep.data.labels import (
    check_same_length,
    class_codes,
    class_labels,
    classes_and_codes,
    labels_of,
    measured,
    object_array,
)
from linsep.data.matrices import is_frame, is_records, is_table, native, table_source
from linsep.data.schema import Layout
from linsep.data.source import Source
from linsep.declared import check
from linsep.errors import DataError, DataNote
from linsep.learn.serialization import must
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    from linsep.data.columnar import ReadRows

Method = TypeVar("Method", bound=Callable[[Any, Any], Any])

_FEW = 16  # labels to look up one by one
_READING: dict[str, tuple[type, ...]] = {
    "format": (str,),
    "missing": (str,),
    "hash_bits": (int,),
    "named": (bool,),
    "target": (str, int, type(None)),
    "zero_based": (bool,),
    "decimal": (str,),
    "thousands": (str,),
    "encoding": (str,),
    "point": (str,),
    "comment": (str,),
    "skip_rows": (int,),
}


class Trained(NamedTuple):
    """Rows with the features that a model has learned, in their order: nothing about them is to be checked."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""
        shape: tuple[int, int] = self.X.shape
        return shape


def takes_records(method: Method) -> Method:
    """Let a method of a model take frames and records as its training did: one dict is one row.

    A row that cannot be read gets None among labels, NaN among numbers, and one note says why.
    """

    @wraps(method)
    def taking(self: Any, X: Any) -> Any:
        if type(X) is np.ndarray or isinstance(X, Trained):
            return method(self, X)
        read = self.read_like_trained(X)
        if read is None:
            return method(self, X)
        none_left = read.kept is not None and not read.kept.any()
        result: Any = None if none_left else method(self, Trained(read.X))
        if read.kept is not None:
            lost = int(np.count_nonzero(~read.kept))
            warnings.warn(
                DataNote("X", f"{lost:,} row{'s get' if lost > 1 else ' gets'} no answer: {read.why}"), stacklevel=3
            )
            result = spread(result, read.kept, method.__name__ == "predict")
        return result[0] if isinstance(X, Mapping) else result

    return cast(Method, taking)


def spread(result: Array | None, kept: Array, labels: bool) -> Array:
    """Return the results of some rows among all of them."""
    shape = (len(kept), *(() if result is None else result.shape[1:]))
    whole = np.full(shape, None if labels else np.nan, dtype=object if labels else np.float64)
    if result is not None:
        whole[kept] = result
    return whole


class Field(NamedTuple):
    """An attribute that a model file holds: its type, or the kinds of dtype and the dimensions of its array."""

    kind: type | str
    ndim: int = 1
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Refuse a value of another type."""
        if isinstance(self.kind, str):
            right = isinstance(value, np.ndarray) and value.dtype.kind in self.kind and value.ndim == self.ndim
        else:
            right = type(value) is self.kind
        must(right, f"{name} is of the wrong type or shape")


class Learner:
    """A model whose parameters are those of its constructor; the checks are scikit-learn's where it is one of them.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        Labels; of two, the second is the positive one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows came with names.
    """

    random_state: Any
    on_plane: Any
    decision_function: Callable[[Any], Floats]  # of one kind of model and another
    n_features_in_: int
    classes_: Array
    feature_names_in_: Array
    reading_: dict[str, Any]  # how to read other files as those of the training
    saved_fields: ClassVar[dict[str, Field]] = {
        "n_features_in_": Field(int),
        "classes_": Field("biufUO"),
        "feature_names_in_": Field("UO", optional=True),
        "reading_": Field(dict, optional=True),
    }
    _reader: Any = None  # of frames and records, made when the first one comes
    _warning: ClassVar[type[Warning] | None] = None  # of a run without success; commands say it in their own words

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in sorted(names)}

    @takes_records
    def predict(self, X: Any) -> Any:
        """Return the label of the side, or of the class, on which every row lies."""
        return labels_of(self.decision_function(X), self.classes_, self.on_plane)

    def saved_state(self) -> dict[str, Any]:
        """Return the values to save, by name."""
        missing = [name for name, each in self.saved_fields.items() if not (each.optional or hasattr(self, name))]
        if missing:
            raise ValueError(f"this {type(self).__name__} is not fitted yet: it has no {missing[0]}")
        return {name: getattr(self, name) for name in self.saved_fields if hasattr(self, name)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over values that were saved; refuse what is not in the schema or does not fit together."""
        for name, value in state.items():
            must(name in self.saved_fields, f"attribute {name!r}")
            self.saved_fields[name].check(name, value)
            setattr(self, name, value)
        for name, each in self.saved_fields.items():
            must(each.optional or name in state, f"no {name}")
        self._check_state()

    def _check_state(self) -> None:
        """Refuse attributes that do not belong together; subclasses add to this."""
        d, classes = self.n_features_in_, self.classes_
        must(d > 0 and len(classes) > 0, "shapes: its features and classes")
        must(len(set(classes.tolist())) == len(classes), "a class that occurs twice")
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_
            must(names.shape == (d,) and all(type(name) is str for name in names.tolist()), "names of features")
        if hasattr(self, "reading_"):
            _check_reading(self.reading_)
        self.check_parameters()

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as a real 2-D array or CSR matrix; its features are noted, or compared with those noted."""
        if isinstance(X, Trained):
            return X.X
        X = native(X)
        if reset:
            self._forget_reading()
            if is_table(X):  # keep what it takes to read others in the same way
                source = table_source(X)
                rows, _ = source.to_arrays()
                self.n_features_in_ = rows.shape[1]
                self.remember(source)
                return rows
        else:
            X = self.rows_like_trained(X)
            if isinstance(X, Trained):
                return X.X
        check_cells(X)
        X = self._validated(X, reset=reset)
        return numeric(X, getattr(self, "feature_names_in_", None))

    def rows_like_trained(self, X: Any) -> Any:
        """Return a frame or records as the rows that the model has learned from; anything else as it is."""
        read = self.read_like_trained(X)
        if read is None:
            return X
        if read.why:
            raise DataError("X", f"{read.why}: fill it in, or drop the row")
        return Trained(read.X)

    def read_like_trained(self, X: Any) -> ReadRows | None:
        """Return the rows of a frame or of records that can be read; None if ``X``, or what the model knows, is none.

        A frame that has a column for each feature, as ``feature_names_in_`` names them, is a matrix.
        """
        X = native(X)
        if not hasattr(self, "reading_") or "names" not in self.reading_ or not (is_records(X) or is_frame(X)):
            return None
        from linsep.data.columnar import RowReader  # which loads pyarrow
        from linsep.data.tables import unseen_words

        if self._reader is None:
            self._reader = RowReader(self.reading_)
        reader: RowReader = self._reader
        names = getattr(self, "feature_names_in_", None)
        if not is_records(X) and names is not None and reader.names != list(names):
            columns = getattr(X, "column_names", X.columns)
            if list(map(str, columns)) == list(names):
                return None
        rows = reader.read(X)
        if rows.unseen:
            warnings.warn(DataNote("X", unseen_words(rows.unseen)), stacklevel=5)
        return rows

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if not is_sparse(X):
            X = np.asarray(X)
        elif X.format != "csr":
            X = X.tocsr()
        if X.ndim != 2:
            raise DataError("", f"X must have two dimensions, rows and columns, got {X.ndim}")
        if reset:
            self.n_features_in_ = X.shape[1]
            self._forget_names()
        elif X.shape[1] != self.n_features_in_:
            raise DataError("", f"X has {X.shape[1]} features, but the model has {self.n_features_in_}")
        return X

    def _take_more_columns(self, X: Any) -> None:
        """Let sparse rows have more columns than those before.

        A model that knows the names of its columns, or the file that they are from, would not know those of new ones.
        """
        if is_sparse(X) and not hasattr(self, "feature_names_in_") and not hasattr(self, "reading_"):
            self.n_features_in_ = max(self.n_features_in_, X.shape[1])

    def remember(self, source: Source) -> None:
        """Keep what it takes to read other data in the same way."""
        self.reading_, self._reader = source.state(), None
        prints = [file.fingerprint() for file in source.files if file.path is not None and not file.is_far]
        if prints:
            self.reading_["fingerprints"] = object_array(prints)
        self._forget_names()
        if source.names is not None and len(source.names) == self.n_features_in_:
            self.feature_names_in_ = object_array(list(source.names))

    def _forget_reading(self) -> None:
        self._reader = None
        if hasattr(self, "reading_"):
            del self.reading_

    def _forget_names(self) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _labels(self, y: Any) -> Array:
        """Return ``y`` as a 1-D array of class labels."""
        labels = class_labels(y)
        advice = measured(labels)
        if advice is not None:
            raise DataError("", advice)
        return labels

    def rows_and_labels(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        """Return rows and labels that can be learned from."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._matrix(X, reset=reset)
        y = self._labels(y)
        check_same_length(X, y)
        return X, y

    def _classes_and_codes(self, known: Array | None, expected: Any, y: Array) -> tuple[Array, Array]:
        """Return the classes known so far, expected, and in ``y``, and the class numbers of ``y``.

        If none is new, the classes are in the order they have.
        """
        if known is not None and expected is None and len(y) <= _FEW:
            index = dict(zip(known.tolist(), range(len(known)), strict=True))
            codes = list(map(index.get, y.tolist()))
            if None not in codes:
                return known, np.array(codes, np.intp)
        parts = [part for part in (known, None if expected is None else self._labels(expected)) if part is not None]
        merged, _ = classes_and_codes(np.concatenate([*parts, y]))
        merged = known if known is not None and len(merged) == len(known) else merged
        return merged, class_codes(y, merged)

    def advise(self, next_step: str) -> None:
        """Warn the caller of a fit that ended without success of what to do next, if there is anything to say."""
        if next_step and self._warning is not None:
            warnings.warn(next_step, self._warning, stacklevel=3)

    def check_parameters(self) -> None:
        """Refuse parameters that are not what they are declared to be; subclasses add what they must be together."""
        check(self)

    def _check_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _generator(self) -> np.random.RandomState:
        """Return what draws the seed of a run."""
        return np.random.RandomState(self.random_state)

    def draw_seed(self) -> int:
        """Return a seed for a run, the same for the same number as ``random_state``."""
        return int(self._generator().randint(np.iinfo(np.int32).max))


def _check_reading(memory: Any) -> None:
    for name, kinds in _READING.items():
        must(name not in memory or type(memory[name]) in kinds, f"what it remembers of its files: {name}")
    if "names" in memory:
        Layout.from_state(memory)
    words = [memory[name] for name in ("names", "kinds", "level_words", "gaps", "fingerprints") if name in memory]
    right = all(isinstance(array, np.ndarray) and array.ndim == 1 for array in words)
    must(right and all(type(word) is str for array in words for word in array.tolist()), "words that are none")
