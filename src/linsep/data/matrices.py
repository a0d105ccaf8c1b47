"""Takes what users pass as ``X``: arrays and sparse matrices, frames of any library, and records, a dict for each row.

A frame of numbers alone is a matrix, as in scikit-learn, unless a column only names the rows. A frame with such a
column, with words, dates, categories or missing cells, and a list of dicts, are tables, and are read as files would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.data.arrays import check_cells, check_shape, is_sparse, numeric
from linsep.data.sniffing import names_rows, numbers_rows
from linsep.errors import DataError

if TYPE_CHECKING:
    from linsep.data.columnar import TypedSource

_SOME = 1000  # rows that show whether a column only names the rows


def as_matrix(X: Any) -> Any:
    """Return ``X`` as a real 2-D array or CSR matrix."""
    X, _ = named_matrix(X)
    check_cells(X)
    if is_sparse(X):
        X = X.tocsr()
    else:
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise DataError("", f"X is not a matrix of numbers: {error}") from None
    check_shape(X.shape)
    return numeric(X)


def matrix_for(model: Any, X: Any) -> Any:
    """Return ``X`` as ``as_matrix`` does, after a check that it has the features that the model has learned from."""
    like_trained = getattr(model, "rows_like_trained", None)
    X = X if like_trained is None else like_trained(X)
    names = getattr(model, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise DataError("", f"X does not have the columns {type(model).__name__} was fitted with, in that order")
    X = as_matrix(X)
    if X.shape[1] != model.n_features_in_:
        raise DataError(
            "",
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features"
            " as input",
        )
    return X


def named_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """Return ``X`` with the names of its columns, None if they have none; a table becomes rows of features."""
    X = native(X)
    if is_table(X):
        source = table_source(X)
        return source.to_arrays()[0], source.names
    names = getattr(X, "columns", None)
    if names is None or is_sparse(X):
        return X, None
    return X, [str(name) for name in getattr(X, "column_names", names)]


def table_source(X: Any, names: list[str] | None = None, **options: Any) -> TypedSource:
    """Return some columns of a table in memory, or all, as a source without labels, with options of `read`."""
    from linsep.data.columnar import HeldTable, TypedSource, arrow_table  # which load pyarrow
    from linsep.data.options import Options

    return TypedSource([HeldTable(arrow_table(X, names))], Options("arrow", labels=False, cache="none", **options))


def native(X: Any) -> Any:
    """Return a frame that is computed and of its own library, and a tensor of another library as an array."""
    if type(X) is np.ndarray or is_sparse(X) or isinstance(X, list | tuple | Mapping):
        return X
    if hasattr(X, "__narwhals_dataframe__") or hasattr(X, "__narwhals_lazyframe__"):
        X = X.to_native() if hasattr(X, "to_native") else X
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # lazy
        X = X.collect()
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        import pyarrow as pa

        return pa.table(X)
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        return np.from_dlpack(X)
    return X


def is_records(X: Any) -> bool:
    """Say whether these are records: a dict, or a list of them."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], Mapping)
    return isinstance(X, Mapping) and not is_sparse(X)


def is_frame(X: Any) -> bool:
    """Say whether this is a frame, or a table of Arrow."""
    if type(X) is np.ndarray or is_sparse(X):
        return False
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "__arrow_c_stream__"))


def is_table(X: Any) -> bool:
    """Say whether this is a frame with more than numbers to learn from in it, or records."""
    if type(X) is np.ndarray:
        return False
    if is_records(X):
        return True
    if not is_frame(X):
        return False
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return not all(map(_is_number, columns)) or _some_name_rows(X.columns, columns)
    import pyarrow as pa

    table = pa.table(X)
    if _some_name_rows(table.column_names, table.columns):
        return True
    plain = all(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        for kind in table.schema.types
    )
    return not plain or any(column.null_count for column in table.columns)


def _some_name_rows(names: Any, columns: list[Any]) -> bool:
    """Say whether some columns of numbers, but not all of them, only name the rows."""
    suspects = [pair for pair in zip(map(str, names), columns, strict=True) if names_rows(pair[0])]
    count = sum(numbers_rows(name, np.asarray(column[:_SOME]).tolist()) for name, column in suspects)
    return 0 < count < len(columns)


def _is_number(column: Any) -> bool:
    kind = column.dtype
    if isinstance(kind, np.dtype):
        return kind.kind in "biufc" or (kind.kind == "O" and all(isinstance(cell, Number | Decimal) for cell in column))
    return getattr(kind, "kind", "O") in "biufc" and not column.isna().any()
