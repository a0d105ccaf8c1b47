"""The response of a regression model: labels and their order, counts, weights and strata."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.errors import DataError, ParameterError
from linsep.problem import Array
from linsep.prove.check.linsep_check import MOST_EMPTY, label_text
from linsep.prove.regression.table import ColumnCategories

ORDERED = ("multinomial", "ordinal")  # families whose classes have an order: the first is the reference, or the lowest
_FILL = "drop the row or fill in the value"


def numbers(y: Any, *names: str) -> Array:
    """Return a response as floats, or an error that names the row; ``names`` are those of its columns."""
    names = names or ("y",)
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        for place, value in np.ndenumerate(np.asarray(y, dtype=object)):
            try:
                float(value)
            except (TypeError, ValueError):
                what = f"{column_name(names, place)} is {_shown(value)}, which is not a number"
                raise DataError(f"row {place[0]}", what) from None
        raise DataError("", f"{names[0]} must be numbers") from None
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        what = f"{column_name(names, tuple(bad[0]))} is {values[tuple(bad[0])]}; {_FILL}"
        raise DataError(f"row {int(bad[0][0])}", what)
    return values


def column_name(names: tuple[str, ...], place: tuple[int, ...]) -> str:
    """Return what the column of a cell of the response is called."""
    return names[place[1]] if len(place) > 1 and len(names) > 1 else names[0]


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)[:40]


def refuse_negative(values: Array, which: Array, what: str) -> None:
    """Refuse numbers below 0 in the rows that count."""
    if len(values) and values.min() < 0:
        raise DataError(f"row {int(which[values.argmin()])}", f"{what} is {values.min():g}; it cannot be negative")


# ---------------------------------------------------------------------------------------------------------------
# Labels


def labels(y: Any, order: tuple[Any, ...] | None = None, name: str = "y") -> tuple[Array, tuple[Any, ...]]:
    """Return the class number of every label, and the labels in the order given, or as they sort."""
    column = np.asarray(y)
    if column.ndim != 1:
        raise DataError("", f"{name} must be one column of labels, got shape {column.shape}")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        numbers(column, name)
    if column.dtype == object:
        missing = _first_missing(column)
        if missing is not None:
            raise DataError(f"row {missing}", f"{name} is {column[missing]!r}; {_FILL}")
        if len({isinstance(value, bool) for value in column.tolist()}) > 1:
            raise DataError("", f"{name} has both booleans and other labels: True and 1 are not the same label")
    if order is None:
        try:
            classes, codes = np.unique(column, return_inverse=True)
        except TypeError:
            raise DataError("", f"{name} has labels of several types, which have no order") from None
        return codes.ravel(), tuple(classes.tolist())
    cells, place = column.tolist(), {label_text(label): k for k, label in enumerate(order)}
    known = {each: place.get(label_text(each[1]), -1) for each in {(type(label), label) for label in cells}}
    codes = np.array([known[type(label), label] for label in cells], dtype=np.intp)
    if codes.min(initial=0) < 0:
        row = int(np.argmin(codes))
        raise DataError(f"row {row}", f"{name} is {cells[row]!r}, which {{0}} does not name", ("order",))
    return codes, order


def label_order(
    y: Any, family: str, order: Any, categories: ColumnCategories | None, name: str = "y"
) -> tuple[Any, ...] | None:
    """Return the labels in their order: as asked for, or as the data carry it; None if sorting tells it."""
    if order is not None:
        if family not in ORDERED:
            raise ParameterError("order", order, f"None for the family {family}; multinomial and ordinal have an order")
        if isinstance(order, str) or not hasattr(order, "__iter__"):
            raise ParameterError("order", order, "a list of labels")
        asked = tuple(getattr(order, "tolist", lambda: order)())
        spelled = [label_text(label) for label in asked]
        if len(set(spelled)) < len(spelled):
            twice = next(label for k, label in enumerate(asked) if spelled[k] in spelled[:k])
            raise DataError("", f"{{0}} names {twice!r} twice", ("order",))
        return asked
    if categories is not None and categories.ordered:
        if family == "ordinal":
            return categories.labels
        present = {label_text(value) for value in set(y.tolist()) if value is not None and value == value}
        return tuple(label for label in categories.labels if label_text(label) in present)
    if family == "ordinal":
        words = [v for v in y.ravel().tolist() if isinstance(v, str | bytes)] if y.dtype.kind in "OUS" else []
        if categories is not None or words:
            what = f"words such as {words[0]!r}" if words else "unordered categories"
            text = (
                f"{name} has {what}, which do not tell their order: give them from the lowest to the highest as {{0}}"
            )
            raise DataError("", text, ("order",))
    return None


def carried_categories(y: Any) -> ColumnCategories | None:
    """Return the categories that a column of pandas, polars or Arrow carries; None if it is a plain one."""
    owner = type(y).__module__.partition(".")[0]
    if owner == "polars":
        kind = type(y.dtype).__name__
        if kind == "Enum":
            return ColumnCategories(tuple(y.dtype.categories.to_list()), True)
        return ColumnCategories((), False) if kind == "Categorical" else None
    if owner == "pyarrow":
        if not hasattr(y.type, "ordered"):
            return None
        whole = y.unify_dictionaries().chunk(0) if hasattr(y, "unify_dictionaries") and len(y) else y
        return ColumnCategories(tuple(whole.dictionary.to_pylist()) if len(whole) else (), bool(y.type.ordered))
    holder = getattr(y, "cat", y)
    if owner != "pandas" or not hasattr(holder, "categories"):
        return None
    return ColumnCategories(tuple(holder.categories.tolist()), bool(holder.ordered))


def empty_categories(codes: Array, classes: tuple[Any, ...], which: Array) -> tuple[str, ...]:
    """Return a note if a category has no row that counts."""
    present = set(codes[which].tolist())
    empty = [repr(label) for k, label in enumerate(classes) if k not in present]
    if len(empty) > MOST_EMPTY:
        raise DataError("", f"{len(empty):,} categories have no row that counts, more than {MOST_EMPTY:,}")
    if len(empty) > 1:
        return (f"the categories {', '.join(empty)} have no row that counts and stay in the model",)
    return tuple(f"the category {each} has no row that counts and stays in the model" for each in empty)


# ---------------------------------------------------------------------------------------------------------------
# Successes and failures


def is_share(y: Array) -> bool:
    """Return whether a response, of the rows that count, is 0 and 1, or proportions, and not labels."""
    if y.dtype.kind not in "fiu" and (y.dtype != object or not all(isinstance(v, int | float) for v in y.tolist())):
        return False
    values = numbers(y)
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def trials(
    y: Any, which: Array, order: tuple[Any, ...] | None = None, names: tuple[str, ...] = ("y",)
) -> tuple[Array, Array]:
    """Return which rows that count are all successes and which all failures; the others are some of both."""
    table = np.asarray(y)
    if table.ndim == 2 and table.shape[1] == 2:
        counts = numbers(table, *names)[which]
        refuse_negative(counts.min(axis=1, initial=np.inf), which, "a count of successes or failures")
        return (counts[:, 1] == 0), (counts[:, 0] == 0)
    if table.ndim != 1:
        raise DataError(
            "", f"{names[0]} must be one column, or two columns of successes and failures, got shape {table.shape}"
        )
    if is_share(table[which]):
        values = numbers(table, *names)[which]
        return values == 1, values == 0
    codes, classes = labels(y, order, names[0])
    if len(classes) > 2:
        raise DataError(
            "", f"{names[0]} has {len(classes)} labels; the family binomial has two", ("family", "multinomial")
        )
    if len(classes) < 2:
        return np.ones(len(which), dtype=bool), np.zeros(len(which), dtype=bool)
    return codes[which] == 1, codes[which] == 0


# ---------------------------------------------------------------------------------------------------------------
# Weights and groups


def counted_rows(weights: Any, n: int) -> Array:
    """Return the rows whose weight is above 0."""
    if weights is None:
        return np.arange(n)
    values = numbers(weights, "weights")
    if values.shape != (n,):
        raise DataError("", f"weights must be {n} numbers, one for every row, got shape {values.shape}")
    if values.min(initial=0.0) < 0:
        raise DataError(f"row {int(values.argmin())}", f"the weight is {values.min():g}; it cannot be negative")
    which = np.flatnonzero(values > 0)
    if len(which) == 0:
        raise DataError("", "every row has weight 0: nothing to decide")
    return which


def group_labels(values: Any, n: int, what: str) -> Array:
    """Return the label of every row, none of them missing."""
    column = np.asarray(values)
    if column.shape != (n,):
        raise DataError("", f"{what} must be {n} labels, one for every row, got shape {column.shape}")
    refuse_missing(column, what)
    return column


def refuse_missing(column: Array, what: str) -> None:
    """Refuse labels that are missing."""
    missing = _first_missing(column) if column.dtype.kind in "fO" else None
    if missing is not None:
        raise DataError(f"row {missing}", f"{what} has no value; {_FILL}")


def _first_missing(column: Array) -> int | None:
    return next((i for i, value in enumerate(column.tolist()) if value is None or value != value), None)


def several_spellings(column: Array, what: str) -> tuple[str, ...]:
    """Return a note if labels that differ are one by their spelling."""
    spellings: dict[str, set[Any]] = {}
    for label in set(column.tolist()):
        if isinstance(label, str):
            spellings.setdefault(label_text(label), set()).add(label)
    for each in (sorted(words) for words in spellings.values() if len(words) > 1):
        return (f"{what} spelled {' and '.join(map(repr, each))} are one: labels that read as one number or word are",)
    return ()


def grouped(column: Array) -> tuple[Array, Array]:
    """Return a row of every group of labels that are spelled alike, and the group of every row, in that order."""
    spelled = np.array([label_text(label) for label in column.tolist()], dtype=object)
    _, first, codes = np.unique(spelled, return_index=True, return_inverse=True)
    return first, codes.ravel()


def in_order(strata: Array) -> tuple[Array, Array]:
    """Return the groups in the order of their first rows, and the number of the group of every row."""
    first, codes = grouped(strata)
    order = np.argsort(first, kind="stable")
    return strata[first[order]], np.argsort(order)[codes]
