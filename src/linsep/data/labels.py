"""Maps labels of any hashable type to class codes from 0, and back."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np

from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Examples, Floats, Rows

NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FEW = 20  # different numbers with fractions that may be classes
_SIGNS = np.array([-1, 1], np.int8)  # of the two classes
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


def must_stay_objects(y: Any) -> bool:
    """Say whether NumPy would change labels: it makes columns of tuples, and a string of 1 beside "one"."""
    kinds = {type(label) for label in y} if isinstance(y, list | tuple) else set()
    return tuple in kinds or (str in kinds and len(kinds) > 1)


def class_labels(y: Any) -> Array:
    """Return ``y`` as a 1-D array of class labels of any hashable type."""
    if must_stay_objects(y):
        column = object_array(list(y))
    else:
        column = np.asarray(y)
        if column.ndim == 2 and column.shape[1] == 1:
            column = column.ravel()
        if column.ndim != 1:
            raise DataError("", f"y must have one dimension, a label for each row, got shape {column.shape}")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        i = int(np.argmax(~np.isfinite(column)))
        raise DataError("", f"Input y contains {'NaN' if np.isnan(column[i]) else 'infinity'} at row {i}")
    if column.dtype.kind == "O":
        _check_objects(column)
    return column


def _check_objects(y: Array) -> None:
    """Refuse labels that are None or NaN."""
    labels = y.tolist()
    with suppress(TypeError):  # what cannot be hashed is refused elsewhere
        if not any(label is None or (isinstance(label, float) and label != label) for label in set(labels)):
            return
    absent = [i for i, label in enumerate(labels) if isinstance(label, float) and label != label]
    if absent:
        raise DataError("", f"Input y contains NaN: there is no label at row {absent[0]}")
    absent = [i for i, label in enumerate(labels) if label is None]
    if absent:
        raise DataError("", f"y has no label at row {absent[0]}: it is None")


def measured(y: Array) -> str | None:
    """Say what is wrong with labels that look like measurements, numbers with fractions; None if they do not."""
    if y.dtype.kind != "f":
        return None
    broken = y != np.floor(y)
    if not broken.any():
        return None
    message = f"the labels are numbers with fractions, such as {float(y[np.argmax(broken)])!r}"
    return f"Unknown label type: {message}, which looks like measurements; turn them into classes first"


def refuse_measurements(y: Any) -> None:
    """Refuse labels of a program that look like measurements: fractions, and more than a few of them."""
    labels = class_labels(y)
    message = measured(labels)
    if message is not None and len(np.unique(labels)) > _FEW:
        raise DataError("", message)


def check_same_length(X: Any, y: Array) -> None:
    """Refuse rows and labels that do not go together."""
    if X.shape[0] != len(y):
        raise DataError("", f"X has {X.shape[0]} rows but y has {len(y)} labels: inconsistent numbers of samples")


def classes_and_codes(y: Array) -> tuple[Array, Array]:
    """Return the classes in ``y``, sorted where they have an order, and the class number of every label."""
    lowest, highest = (y.min(), y.max()) if y.dtype.kind in "iub" and len(y) else (0, 2**62)
    if lowest != highest < 2**62:
        second = y == highest
        if (second | (y == lowest)).all():  # two classes, as a rule
            return np.array([lowest, highest], y.dtype), second.astype(np.intp)
    if int(highest) - int(lowest) < 4096 and highest < 2**62:
        places = np.subtract(y, lowest, dtype=np.int64)
        present = np.bincount(places) > 0  # ten times as fast as sorting
        classes = (np.flatnonzero(present) + int(lowest)).astype(y.dtype)
        return classes, (np.cumsum(present) - 1)[places]
    if y.dtype != object:
        classes, codes = np.unique(y, return_inverse=True)
        return classes, codes
    labels = dict.fromkeys(y.tolist())  # ten times as fast as sorting
    with suppress(TypeError):  # labels of several types have no order: first seen, first numbered
        labels = dict.fromkeys(sorted(labels))
    index = {label: code for code, label in enumerate(labels)}
    return object_array(list(index)), np.fromiter(map(index.__getitem__, y.tolist()), np.intp, len(y))


def at_least_two_classes(y: Array) -> tuple[Array, Array]:
    """Return the classes and class numbers that ``number`` finds; one class alone is an error."""
    classes, codes = classes_and_codes(y)
    if len(classes) < 2:
        raise one_class_only(classes)
    return classes, codes


def one_class_only(classes: Array) -> DataError:
    """Return the error that there is one class only."""
    return DataError("", f"there is only one class, {classes.tolist()[0]!r}: nothing to separate")


def object_array(items: list[Any]) -> Array:
    """Return a 1-D array of the items themselves, whatever they are."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def class_codes(y: Array, classes: Array) -> Array:
    """Return the number that each label has among ``classes``; a label that is not there is an error."""
    index = {label: code for code, label in enumerate(classes.tolist())}
    if len(classes) == 2 and y.dtype == classes.dtype and y.dtype.kind in "iub":  # as a rule, and soon done
        second: Array = y == classes[1]
        if (second | (y == classes[0])).all():
            return second.astype(np.intp)
    if y.dtype == object:  # which would take long to sort
        with suppress(KeyError):
            return np.fromiter(map(index.__getitem__, y.tolist()), np.intp, len(y))
    present, inverse = classes_and_codes(y)
    try:
        table = np.array([index[label] for label in present.tolist()], dtype=np.intp)
    except KeyError as unknown:
        raise DataError(
            "", f"y has the label {unknown.args[0]!r}, which is not among the classes {_named(classes)}"
        ) from None
    return table[inverse]


def _named(classes: Array) -> str:
    shown = ", ".join(map(repr, classes[:8].tolist()))
    return shown if len(classes) <= 8 else f"{shown} and {len(classes) - 8} more"


def check_class_weight(class_weight: Any, classes: Array) -> None:
    """Refuse weights by class where one is misspelt: a name that is no class, while some class has no weight."""
    if not isinstance(class_weight, dict):
        return
    known = set(classes.tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown and not known <= set(class_weight):
        raise DataError(
            "",
            f"{{0}} has the label {unknown[0]!r}, which is not among the classes {_named(classes)}",
            ("class_weight",),
        )


def example_weights(X: Any, sample_weight: Any, class_weight: Any, classes: Array, codes: Array) -> Floats:
    """Return the weight of every example: its own times that of its class."""
    n = X.shape[0]
    if sample_weight is None and class_weight is None:
        return np.ones(n)
    weight: Floats = np.ones(n) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.shape != (n,):
        raise DataError("", f"sample_weight must be one number for each of the {n} rows, got shape {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        i = int(np.argmax(~np.isfinite(weight) | (weight < 0)))
        raise DataError("", f"Negative or infinite values in sample_weight: {weight[i]} at row {i}")
    if not weight.any():
        raise DataError("", "sample_weight must have at least one non-zero number: every row has weight 0")
    if class_weight is not None:
        weight *= class_factors(class_weight, classes, np.bincount(codes, minlength=len(classes)))[codes]
    if not weight.any():
        raise DataError("", "every row has weight 0: nothing to learn from")
    return weight


def class_factors(class_weight: Any, classes: Array, counts: Array) -> Floats:
    """Return the weight of every class, given the rows of each."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return np.asarray(counts.sum() / (len(classes) * np.maximum(1, counts).astype(np.float64)))
    if not isinstance(class_weight, dict):
        raise ParameterError("class_weight", class_weight, "a dict of class to weight, 'balanced' or None")
    check_class_weight(class_weight, classes)
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def as_examples(rows: Rows, codes: Array, machines: int, step: Floats) -> Examples:
    """Put rows, class numbers and steps together as the kernels want them: signs for one weight vector."""
    if machines == 1:
        return Examples(rows, _SIGNS.take(codes), step)
    return Examples(rows, codes.astype(np.intp), step)


def label(word: str) -> int | float | str:
    """Return what a label written as ``word`` is: an int or a float where it reads as a finite one, else the word.

    Each label is looked at by itself, so that what it becomes cannot depend on its neighbors; ``1`` and ``+1`` are the
    same label, and so are ``1`` and ``1.0``. Integers of more than 53 bits stay words: none must become another.
    """
    written = word.encode("utf-8", "replace")
    if not NUMBER.fullmatch(written):
        return word
    value = float(written)
    if abs(value) >= 2**53:
        return word
    return int(value) if word.lstrip("+-").isdigit() else value


def tidy(y: Array) -> Array:
    """Return labels in the narrowest of int64, float64 and objects that holds them."""
    types = set(map(type, y.tolist()))
    if types <= {int}:
        return y.astype(np.int64)
    return y.astype(np.float64) if types <= {int, float} else y


def join_labels(parts: list[Array]) -> Array | None:
    """Return the labels of several blocks as one array; words and numbers side by side stay what they are."""
    if len(parts) < 2:
        return parts[0] if parts else None
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(parts)
    return tidy(np.concatenate([part.astype(object) for part in parts]))


def labels_of(scores: Floats, classes: Array, on_plane: int) -> Array:
    """Return the label of each row by its scores: that of the largest, or of the side, which ``on_plane`` says of 0."""
    if scores.ndim > 1:
        codes: Array = scores.argmax(axis=1)
    else:
        side = np.where(scores == 0, on_plane, scores) > 0
        codes = np.minimum(side, len(classes) - 1)  # a class alone is both
    found: Array = np.take(classes, codes)
    return found
