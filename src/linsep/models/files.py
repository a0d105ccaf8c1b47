"""Fitted models to files and back: safetensors for the numbers, JSON for the rest, no pickle.

A model file is a safetensors file whose metadata has one entry, ``linsep``: a JSON object with the version of the
format, the kind of estimator, its parameters and its fitted attributes. An attribute that is an array is written as
a tensor and named in the JSON. Every value that JSON cannot hold is an object with one key, its tag, from the table
``_CODECS``. Nothing in a file can name code: the kinds are those of the table ``_KINDS``.

A file may come from anywhere, so reading trusts nothing: sizes are checked before anything is read, and what is read
must fit together as a fitted model does.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import safetensors
import scipy.sparse as sp
from safetensors.numpy import save as to_bytes

from linsep.data.atomic import replacing
from linsep.learn.driver import Keeper
from linsep.learn.hypotheses import KEEPERS, Average, Best, Vote
from linsep.models.kernel_perceptron import KernelPerceptron
from linsep.models.max_margin import MaxMarginClassifier
from linsep.models.online import _Stretch
from linsep.models.passive_aggressive import PassiveAggressive
from linsep.models.perceptron import Perceptron
from linsep.problem import Array, Dense, Pass, Run, Stop

FORMAT = 1  # raised when older readers would misunderstand the file

_LARGEST_HEADER = 8 << 20  # bytes; names and labels are tensors, so an honest header is short
_PADDED = 1 << 20  # bytes that the unused width of fixed-width strings may take
_TENSOR_TYPES = frozenset("?bhilqBHILQefd")

Path = str | os.PathLike[str]


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file; an older file of that name is replaced in one step, or left as it is.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : path-like

    See Also
    --------
    load : the way back.

    Notes
    -----
    Labels may be of any type that is made of str, bytes, int, float, bool and tuples of them, plain or NumPy.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import Perceptron, load, save
    >>> model = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["left", "right"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.linsep"))
    ...     again = load(os.path.join(folder, "model.linsep"))
    >>> str(again.predict([[2.0, 0.0]])[0]), bool((again.coef_ == model.coef_).all())
    ('left', True)
    """
    name = type(model).__name__
    kind = _KINDS.get(name)
    if kind is None or type(model) is not kind.estimator:
        raise ValueError(f"{name} is not a kind of model that can be saved: {', '.join(sorted(_KINDS))}")
    parameters = model.get_params(deep=False)
    state = {key: value for key, value in vars(model).items() if key not in parameters}
    missing = sorted(kind.needs - set(state))
    if missing:
        raise ValueError(f"this {name} is not fitted yet: it has no {missing[0]}")
    tensors: dict[str, Array] = {}
    content = {
        "format": FORMAT,
        "linsep": version("linsep"),
        "kind": name,
        "parameters": {key: _write(tensors, key, value) for key, value in parameters.items()},
        "attributes": {key: _write(tensors, key, value) for key, value in state.items()},
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    if len(text) > _LARGEST_HEADER // 2:
        raise ValueError(f"the labels and parameters take {len(text)} bytes of JSON, more than a model file may have")
    with replacing(path) as file:
        file.write(to_bytes(tensors, metadata={"linsep": text}))


def load(path: Path) -> Any:
    """Read a model that ``save`` wrote; every fitted attribute has the same bits, and training can go on.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    model : estimator

    Raises
    ------
    ValueError
        If the file is not a model of this package, or is damaged, or was written by a newer version.

    See Also
    --------
    save : the way there.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import Perceptron, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Perceptron().partial_fit([[1.0, 0.0], [0.0, 1.0]], [1, 2]), os.path.join(folder, "model.linsep"))
    ...     model = load(os.path.join(folder, "model.linsep"))
    >>> model.partial_fit([[1.0, 1.0]], [2]).n_iter_
    2
    """
    _check_size(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get("linsep")
            if text is None:
                raise _RefusedError("a safetensors file, but not one of linsep")
            return _model(_parse(text), _Tensors(file))
    except RecursionError:
        raise ValueError(f"{path}: damaged model file: nested too deeply") from None
    except _RefusedError as error:
        raise ValueError(f"{path}: {error}") from None
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path}: not a linsep model, or a damaged one: {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{path}: damaged model file ({type(error).__name__}: {error})") from error


class _RefusedError(ValueError):
    """What a file is refused for, in words meant for the user."""


def _check_size(path: Path) -> None:
    """Refuse what cannot be a model file by its size and first bytes, before anything is read into memory."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path}: not a file")
    with open(path, "rb") as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if len(start) < 9 or start[8:] != b"{" or length > status.st_size - 8:
        raise ValueError(f"{path}: not a linsep model, or a damaged one")
    if length > _LARGEST_HEADER:
        raise ValueError(f"{path}: not a linsep model: its header takes {length} bytes")


def _parse(text: str) -> dict[str, Any]:
    """Return the JSON object of a file, if it is of a version that we read."""

    def refuse(constant: str) -> None:
        raise _RefusedError(f"damaged model file: {constant} in its JSON")

    try:
        content = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise _RefusedError(f"damaged model file: {error}") from None
    _need(isinstance(content, dict), "its JSON is not an object")
    number = content.get("format")
    _need(type(number) is int and number >= 1, f"the version of its format is {number!r}")
    if number > FORMAT:
        raise _RefusedError(
            f"written by linsep {content.get('linsep')} in model format {number}; "
            f"this is linsep {version('linsep')}, which reads formats up to {FORMAT}: install a newer one"
        )
    return content  # type: ignore[no-any-return]


def _model(content: dict[str, Any], tensors: _Tensors) -> Any:
    """Build the estimator that a file describes."""
    kind = _KINDS.get(content["kind"]) if isinstance(content["kind"], str) else None
    if kind is None:
        raise _RefusedError(f"a model of kind {content['kind']!r}, which linsep {version('linsep')} does not know")
    parameters = {key: _read(tensors, value) for key, value in content["parameters"].items()}
    unknown = sorted(set(parameters) - set(kind.estimator().get_params(deep=False)))
    if unknown:
        raise _RefusedError(f"{content['kind']} has no parameter {unknown[0]!r}")
    model = kind.estimator(**parameters)
    for key, value in content["attributes"].items():
        # only what a fit could have set: never a method, a property or a parameter
        free = key.isidentifier() and not key.startswith("__")
        _need(free and key not in vars(model) and not hasattr(kind.estimator, key), f"attribute {key!r}")
        setattr(model, key, _read(tensors, value))
    missing = sorted(kind.needs - set(vars(model)))
    _need(not missing, f"no {missing[0] if missing else ''}")
    kind.check(model)
    return model


def _need(right: bool, what: str) -> None:
    """Refuse a file in which something does not fit."""
    if not right:
        raise _RefusedError(f"damaged model file: {what}")


# ---------------------------------------------------------------------------------------------------------------
# Values


class _Tensors:
    """The tensors of an open file, each to be taken once: a file cannot ask for more memory than it has bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.left = set(file.keys())

    def take(self, name: Any, kinds: str = "biuf", ndim: int | None = None) -> Array:
        """Return a tensor as an array of one of these kinds of dtype and this number of dimensions."""
        _need(isinstance(name, str) and name in self.left, f"tensor {name!r} is missing, or used twice")
        self.left.remove(name)
        array: Array = self.file.get_tensor(name)
        _need(array.dtype.kind in kinds, f"tensor {name!r} is of type {array.dtype}")
        _need(ndim is None or array.ndim == ndim, f"tensor {name!r} has shape {array.shape}")
        return array


Tensors = dict[str, Array]


class _Codec(NamedTuple):
    """How values of one sort are written under a tag, and read again."""

    takes: Callable[[Any], bool]
    write: Callable[[Tensors, str, Any], Any]
    read: Callable[[_Tensors, Any], Any]


def _write(tensors: Tensors, name: str, value: Any) -> Any:
    """Return a value as JSON; its arrays go to ``tensors`` under its name."""
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    for tag, codec in _CODECS.items():
        if codec.takes(value):
            return {tag: codec.write(tensors, name, value)}
    raise ValueError(f"{name} holds {value!r} of type {type(value).__name__}, which a model file cannot keep")


def _read(tensors: _Tensors, value: Any) -> Any:
    """Return the value that ``_write`` made this JSON from."""
    if not isinstance(value, dict):
        _need(not isinstance(value, list), "a list without a tag")
        return value
    _need(len(value) == 1, "a value that is not a tag and its content")
    ((tag, content),) = value.items()
    _need(tag in _CODECS, f"a value with the unknown tag {tag!r}")
    return _CODECS[tag].read(tensors, content)


def _write_items(tensors: Tensors, name: str, values: Any) -> list[Any]:
    return [_write(tensors, f"{name}.{i}", value) for i, value in enumerate(values)]


def _read_items(tensors: _Tensors, content: Any) -> list[Any]:
    _need(isinstance(content, list), "a list that is none")
    return [_read(tensors, value) for value in content]


def _write_dict(tensors: Tensors, name: str, value: dict[Any, Any]) -> list[Any]:
    return [_write_items(tensors, f"{name}.{i}", item) for i, item in enumerate(value.items())]


def _read_dict(tensors: _Tensors, content: Any) -> dict[Any, Any]:
    return dict(_read_items(tensors, item) for item in content)


def _write_number(_: Tensors, name: str, value: np.generic) -> list[Any]:
    if value.dtype.char not in _TENSOR_TYPES | {"U"}:
        raise ValueError(f"{name} holds {value!r}, which a model file cannot keep")
    item = value.item()
    return [value.dtype.char, item if not isinstance(item, float) or math.isfinite(item) else repr(item)]


def _read_number(_: _Tensors, content: Any) -> np.generic:
    char, item = content
    _need(char in _TENSOR_TYPES | {"U"} and isinstance(item, bool | int | float | str), f"a number {item!r}")
    with np.errstate(over="raise"):
        value: np.generic = np.dtype(char).type(item)
    return value


def _write_array(tensors: Tensors, name: str, array: Array) -> list[Any]:
    """Write an array by its kind: numbers as they are, moments as counts of their unit, strings as UTF-8."""
    if array.dtype.char in _TENSOR_TYPES:
        tensors[name] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        return ["numbers", name]
    if array.dtype.kind in "mM":
        tensors[name] = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).view(np.int64)
        return ["moments", name, array.dtype.newbyteorder("=").str.lstrip("<>=")]
    if array.ndim == 1 and array.dtype.kind == "S":
        tensors[name] = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.dtype.itemsize)
        return ["bytes", name]
    if array.ndim == 1 and (array.dtype.kind == "U" or all(type(item) is str for item in array)):
        parts = [item.encode("utf-8", "surrogatepass") for item in array.tolist()]
        width = 0  # an array of objects
        if array.dtype.kind == "U":
            longest = max(map(len, array.tolist()), default=0)
            width = array.dtype.itemsize // 4 if array.nbytes <= _PADDED else longest
        tensors[name] = np.frombuffer(b"".join(parts), dtype=np.uint8)
        tensors[f"{name}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return ["strings", name, width]
    if array.ndim == 1 and array.dtype == object:
        return ["objects", _write_items(tensors, name, array)]
    raise ValueError(f"{name} is an array of {array.dtype}, which a model file cannot keep")


def _read_array(tensors: _Tensors, content: Any) -> Array:
    storage, *details = content
    _need(storage in _STORED, f"an array stored as {storage!r}")
    return _STORED[storage](tensors, *details)


def _read_moments(tensors: _Tensors, name: Any, unit: Any) -> Array:
    _need(isinstance(unit, str) and unit[:2] in ("m8", "M8") and len(unit) < 12, f"moments in {unit!r}")
    array: Array = tensors.take(name, "i").view(np.dtype(unit))
    return array


def _read_bytes(tensors: _Tensors, name: Any) -> Array:
    table = tensors.take(name, "u", 2)
    _need(table.dtype == np.uint8 and table.shape[1] > 0, f"bytes of shape {table.shape}")
    array: Array = table.view(f"S{table.shape[1]}")[:, 0]
    return array


def _read_strings(tensors: _Tensors, name: Any, width: Any) -> Array:
    data, ends = tensors.take(name, "u", 1), tensors.take(f"{name}.ends", "i", 1)
    bounds = [0, *ends.tolist()]
    _need(data.dtype == np.uint8 and all(a <= b for a, b in pairwise(bounds)), "strings that overlap")
    _need(bounds[-1] == len(data), "strings longer or shorter than their text")
    text = data.tobytes()
    parts = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
    longest = max(map(len, parts), default=0)
    _need(type(width) is int and (width == 0 or width >= longest), f"strings of width {width!r}")
    _need(width <= longest or width * len(parts) * 4 <= _PADDED, f"strings of width {width}")
    if width:
        return np.array(parts, dtype=f"U{width}")
    return _objects(parts)


def _objects(items: list[Any]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


_STORED: dict[str, Callable[..., Array]] = {
    "numbers": lambda tensors, name: tensors.take(name),
    "moments": _read_moments,
    "bytes": _read_bytes,
    "strings": _read_strings,
    "objects": lambda tensors, items: _objects(_read_items(tensors, items)),
}


def _write_generator(tensors: Tensors, name: str, value: np.random.RandomState) -> list[Any]:
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ValueError(f"{name} is a RandomState of {state['bit_generator']}, which a model file cannot keep")
    tensors[name] = state["state"]["key"]
    return [name, state["state"]["pos"], state["has_gauss"], float(state["gauss"])]


def _read_generator(tensors: _Tensors, content: Any) -> np.random.RandomState:
    name, position, has_gauss, gauss = content
    key = tensors.take(name, "u", 1)
    _need(type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1), "the state of a random generator")
    generator = np.random.RandomState(0)
    generator.set_state(("MT19937", key, position, has_gauss, gauss))
    return generator


def _is_run(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(item) is _Stretch for item in value)


def _write_run(tensors: Tensors, name: str, values: list[_Stretch]) -> list[Any]:
    """Write the stretches of a run, of which there may be very many, as three tables."""
    stops = list(Stop)
    tensors[f"{name}.trace"] = np.concatenate([stretch.run.trace for stretch in values])
    tensors[f"{name}.passes"] = np.array(
        [entry for stretch in values for entry in stretch.run.passes], dtype=np.float64
    ).reshape(-1, len(Pass._fields))
    tensors[f"{name}.table"] = np.array(
        [(stops.index(s.run.stop), len(s.run.passes), len(s.run.trace), s.machines, s.first_row) for s in values],
        dtype=np.int64,
    )
    return [name, [str(stop) for stop in stops]]


def _read_run(tensors: _Tensors, content: Any) -> list[_Stretch]:
    name, stops = content
    trace, passes = tensors.take(f"{name}.trace", "u", 1), tensors.take(f"{name}.passes", "f", 2)
    table = tensors.take(f"{name}.table", "i", 2)
    _need(
        trace.dtype in (np.uint32, np.uint64) and passes.shape[1] == len(Pass._fields) and table.shape[1] == 5,
        "its run",
    )
    _need(bool((table >= 0).all()) and bool((table[:, 3] > 0).all()), "negative counts in its run")
    # as Python integers, which cannot overflow
    _need(sum(table[:, 1].tolist()) == len(passes) and sum(table[:, 2].tolist()) == len(trace), "the counts of its run")
    entries = [Pass(int(made), *rest) for made, *rest in passes.tolist()]
    stretches, first_pass, first_mistake = [], 0, 0
    for stop, made, kept, machines, first_row in table.tolist():
        run = Run(
            Stop(stops[stop]),
            tuple(entries[first_pass : first_pass + made]),
            trace[first_mistake : first_mistake + kept],
        )
        stretches.append(_Stretch(run, machines, first_row))
        first_pass, first_mistake = first_pass + made, first_mistake + kept
    return stretches


def _write_keeper(tensors: Tensors, name: str, keeper: Keeper) -> list[Any]:
    """Write what a run keeps beside its last weights, array by array."""
    arrays = keeper.arrays()
    tensors |= {f"{name}.{key}": np.ascontiguousarray(array) for key, array in arrays.items()}
    return [next(key for key, kind in KEEPERS.items() if type(keeper) is kind), name, sorted(arrays)]


def _read_keeper(tensors: _Tensors, content: Any) -> Keeper:
    kind, name, keys = content
    _need(kind in KEEPERS and isinstance(keys, list), f"a keeper of kind {kind!r}")
    return KEEPERS[kind].of({key: tensors.take(f"{name}.{key}") for key in keys})


def _write_sparse(tensors: Tensors, name: str, X: Any) -> list[Any]:
    for part in ("data", "indices", "indptr"):
        tensors[f"{name}.{part}"] = np.ascontiguousarray(getattr(X, part))
    return [name, *X.shape]


def _read_sparse(tensors: _Tensors, content: Any) -> Any:
    name, n, d = content
    data, indices, indptr = (tensors.take(f"{name}.{part}", ndim=1) for part in ("data", "indices", "indptr"))
    _need(all(type(size) is int and 0 <= size < 2**62 for size in (n, d)), "a sparse matrix of no size")
    _need(indices.dtype.kind == indptr.dtype.kind == "i" and len(indptr) == n + 1, "a sparse matrix")
    _need(indptr[0] == 0 and indptr[-1] == len(data) == len(indices), "a sparse matrix")
    _need(bool((np.diff(indptr) >= 0).all()) and bool(((indices >= 0) & (indices < d)).all()), "a sparse matrix")
    return sp.csr_array((data, indices, indptr), shape=(n, d))


def _exactly(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


# the first that takes a value writes it
_CODECS = {
    "float": _Codec(_exactly(float), lambda _t, _n, value: repr(value), lambda _t, text: float(text)),  # nan, inf, -inf
    "bytes": _Codec(_exactly(bytes), lambda _t, _n, value: value.hex(), lambda _t, text: bytes.fromhex(text)),
    "tuple": _Codec(_exactly(tuple), _write_items, lambda tensors, items: tuple(_read_items(tensors, items))),
    "run": _Codec(_is_run, _write_run, _read_run),
    "list": _Codec(_exactly(list), _write_items, _read_items),
    "dict": _Codec(_exactly(dict), _write_dict, _read_dict),
    "numpy": _Codec(lambda value: isinstance(value, np.generic), _write_number, _read_number),
    "array": _Codec(_exactly(np.ndarray), _write_array, _read_array),
    "sparse": _Codec(_exactly(sp.csr_array), _write_sparse, _read_sparse),
    "keeper": _Codec(lambda value: type(value) in KEEPERS.values(), _write_keeper, _read_keeper),
    "random_state": _Codec(_exactly(np.random.RandomState), _write_generator, _read_generator),
}


# ---------------------------------------------------------------------------------------------------------------
# Kinds of models


class _Kind(NamedTuple):
    """A kind of estimator: its class, the attributes that make it fitted, and what must hold between them."""

    estimator: Callable[..., Any]
    needs: frozenset[str]
    check: Callable[[Any], None]


def _check_linear(model: Any) -> None:
    """Refuse weights, offsets, labels and names that do not belong together."""
    W, b, classes, d = model.coef_, model.intercept_, model.classes_, model.n_features_in_
    arrays = all(isinstance(array, np.ndarray) for array in (W, b, classes))
    _need(arrays and W.dtype == b.dtype == np.float64, "weights that are not float64")
    _need(type(d) is int and W.ndim == 2 and W.shape == (len(b), d) and b.ndim == classes.ndim == 1, "shapes")
    _need(d > 0 and len(classes) > 0 and len(b) == (1 if len(classes) <= 2 else len(classes)), "number of classes")
    _need(len(set(classes.tolist())) == len(classes), "a class that occurs twice")
    _need(bool(np.isfinite(W).all() and np.isfinite(b).all()), "weights that are not finite")
    names = getattr(model, "feature_names_in_", None)
    _need(names is None or (isinstance(names, np.ndarray) and names.shape == (d,)), "names of features")
    if hasattr(model, "_check_parameters"):
        model._check_parameters()


def _check_margin(model: Any) -> None:
    """Refuse, besides, bounds and factors that do not belong to the weights."""
    _check_linear(model)
    support, dual = model.support_, model.dual_coef_
    _need(isinstance(model.margin_lower_, float) and isinstance(model.margin_upper_, float), "bounds of its margin")
    _need(all(isinstance(array, np.ndarray) for array in (support, dual)) and support.dtype.kind == "i", "support rows")
    _need(
        support.ndim == 1 and bool((support >= 0).all()) and dual.shape == (len(model.coef_), len(support)), "factors"
    )


def _check_online(model: Any) -> None:
    """Refuse, besides, a run that does not belong to the rows that were seen."""
    _check_linear(model)
    _need(type(model._seed) is int and 0 <= model._seed < 2**32, "seed")
    rows = model._rows_seen
    _need(type(rows) is int and 0 <= rows < 2**62, "number of rows")
    _need(isinstance(model.radius_, float) and isinstance(model.margin_, float), "radius and margin")
    _need(isinstance(model._stretches, list), "its run")
    for stretch in model._stretches:
        _need(type(stretch) is _Stretch and stretch.first_row <= rows, "its run")
        last = int(stretch.run.trace.max(initial=0)) // stretch.machines
        _need(len(stretch.run.trace) == 0 or stretch.first_row + last < rows, "a mistake on a row that was not seen")

    if hasattr(model, "_last") or hasattr(model, "_keeper"):
        _check_kept(model)


def _check_kept(model: Any) -> None:
    """Refuse what is kept beside the last weights unless it goes with the weights handed over."""
    keeper, last = getattr(model, "_keeper", None), getattr(model, "_last", None)
    _need(type(keeper) in KEEPERS.values() and type(last) is tuple and len(last or ()) == 2, "what it keeps")
    shapes = list(zip(last or (), (model.coef_, model.intercept_), strict=True))
    if isinstance(keeper, Average):
        shapes += [(keeper.A, model.coef_), (keeper.a, model.intercept_)]
        _need(keeper.looked >= 0, "a negative number of looks")
    held = [keeper.candidate, keeper.pocket] if isinstance(keeper, Best) else []
    held += [keeper.start] if isinstance(keeper, Vote) else []
    for weights in held:
        if weights is not None:
            shapes += [(weights.W, model.coef_), (weights.b, model.intercept_)]
    for array, like in shapes:
        right = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == like.shape
        _need(right and bool(np.isfinite(array).all()), "weights that it keeps")
    if isinstance(keeper, Vote):
        _check_vote(keeper, len(model.classes_), model.n_features_in_)


def _check_vote(vote: Vote, classes: int, d: int) -> None:
    """Refuse mistakes that point outside the rows or classes: compiled code follows them unasked."""
    rows, m = vote.rows_kept, vote.machines
    _need(m == (1 if classes <= 2 else classes) and 0 <= rows < 2**40 and vote.looked >= 0, "numbers of its vote")
    kept = vote.rows[0] if vote.rows else Dense(np.zeros((0, d)))
    if isinstance(kept, Dense):
        _need(kept.data.shape == (rows, d), "rows of its vote")
    else:
        ends = kept.indptr.astype(np.float64)
        _need(kept.indptr.dtype == kept.indices.dtype and kept.indptr.dtype.kind == "u", "rows of its vote")
        _need(len(ends) == rows + 1 and ends[0] == 0 and bool((np.diff(ends) >= 0).all()), "rows of its vote")
        _need(ends[-1] == len(kept.data) == len(kept.indices), "rows of its vote")
        _need(len(kept.indices) == 0 or int(kept.indices.max()) < d, "rows of its vote")
    codes, steps, offsets = vote.codes[0], vote.steps[0], vote.offsets[0]
    trace, looks = vote.trace[0], vote.looks[0]
    _need(codes.shape == steps.shape == offsets.shape == (rows,) and trace.shape == looks.shape, "mistakes of its vote")
    _need(bool(((codes >= 0) & (codes < max(2, classes))).all()), "classes of its vote")
    _need(bool(((trace >= 0) & (trace < rows * m)).all()), "mistakes of its vote")
    ends = np.concatenate(([0], looks, [vote.looked])).astype(np.float64)
    _need(bool((np.diff(ends) >= 0).all()), "looks of its vote")


def _check_kernel(model: Any) -> None:
    """Refuse support rows, factors and mistakes that do not belong together."""
    model._check_parameters()
    _need(isinstance(model.classes_, np.ndarray) and model.classes_.ndim == 1, "classes")
    classes, support = len(model.classes_), model.support_
    _need(len(set(model.classes_.tolist())) == classes > 0, "a class that occurs twice")
    m = 1 if classes <= 2 else classes
    names = ("_codes", "_steps", "support_", "_place", "_machine", "_look", "trace_", "_passes")
    arrays = [getattr(model, name) for name in names]
    _need(all(isinstance(a, np.ndarray) and a.ndim == 1 for a in arrays), "its mistakes")
    _need(all(a.dtype.kind == "i" for a, name in zip(arrays, names, strict=True) if name != "_steps"), "its mistakes")
    codes, steps, _, place, machine, look, *_ = arrays
    dual = model.dual_coef_
    _need(isinstance(dual, np.ndarray) and dual.dtype == np.float64 and dual.shape == (m, len(support)), "factors")
    _need(bool(np.isfinite(dual).all()) and steps.dtype == np.float64, "factors that are not finite")
    _need(codes.shape == steps.shape == support.shape and place.shape == machine.shape == look.shape, "its mistakes")
    for numbers, end in ((codes, classes), (support, model._rows_seen), (place, len(support)), (machine, m)):
        _need(bool(((numbers >= 0) & (numbers < end)).all()), "a mistake on a row or class that is not there")
    _need(bool((np.diff(np.concatenate(([0], look, [model._looked]))) >= 0).all()), "the order of its mistakes")
    d, kept = model.n_features_in_, model._support
    _need(type(d) is int and isinstance(model._gamma, float), "numbers")
    _need(type(kept) in (np.ndarray, sp.csr_array) and kept.dtype == np.float64, "support rows")
    rows = 0 if model.kernel == "precomputed" else len(support)
    _need(kept.shape == (rows, d), "number of support rows")
    _need(bool(np.isfinite(kept if isinstance(kept, np.ndarray) else kept.data).all()), "support rows")


_LINEAR = frozenset({"coef_", "intercept_", "classes_", "n_features_in_"})

# to make another estimator savable, add it here with what makes it fitted and what must hold
_ONLINE = _LINEAR | {"_seed", "_stretches", "_rows_seen", "radius_", "margin_"}
_MARGIN = _LINEAR | {"margin_lower_", "margin_upper_", "support_", "dual_coef_"}
_DUAL = frozenset({"dual_coef_", "support_", "classes_", "n_features_in_", "_support", "_codes", "_steps", "_place"})
_DUAL |= {"_machine", "_look", "_looked", "_rows_seen", "_seed", "_gamma", "trace_", "_passes"}
_KINDS = {
    "KernelPerceptron": _Kind(KernelPerceptron, _DUAL, _check_kernel),
    "MaxMarginClassifier": _Kind(MaxMarginClassifier, _MARGIN, _check_margin),
    "PassiveAggressive": _Kind(PassiveAggressive, _ONLINE, _check_online),
    "Perceptron": _Kind(Perceptron, _ONLINE, _check_online),
}
