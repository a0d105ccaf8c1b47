"""Reads and writes LIBLINEAR model text, and writes ONNX."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from linsep.data.files import masked, open_bytes, replacing, size
from linsep.data.options import MISSING
from linsep.data.schema import WORD, Layout, is_numeric
from linsep.errors import DataError, DataNote, ParameterError
from linsep.learn.weights import Weights
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    from linsep.models.estimators import Perceptron

Path = str | os.PathLike[str]
_DAY = re.compile(r"date:%[Ymd]([^%\w])%[Ymd]\1%[Ymd]")  # dates without a time, and the sign between their numbers

# LIBLINEAR's solvers that learn a classifier; the last one keeps two weight vectors even for two classes
_CLASSIFIERS = (
    "L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "L1R_L2LOSS_SVC", "L1R_LR",
    "L2R_LR_DUAL", "MCSVM_CS",
)  # fmt: skip


def to_liblinear(model: Any, path: Path) -> None:
    """Write a linear model as LIBLINEAR model text, with which LIBLINEAR's ``predict`` gives the same labels.

    Parameters
    ----------
    model : estimator
        A fitted linear classifier.
    path : path-like
        Names of features, and labels that are not whole numbers, which LIBLINEAR requires, are written to a file beside
        it, ``model.txt.map.json``: what each number stands for.

    Notes
    -----
    Of two labels LIBLINEAR predicts the first where the score is positive and the second everywhere else, the plane
    included: which of our labels comes first, and the sign of the weights, follow from ``on_plane``. The weights are
    written in full, so that reading them again gives the same bits.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import Perceptron, from_liblinear, to_liblinear
    >>> model = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], [1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_liblinear(model, os.path.join(folder, "model.txt"))
    ...     from_liblinear(os.path.join(folder, "model.txt")).predict([[0.0, 3.0]])
    array([2])
    """
    _check_linear(model)
    labels, named = _whole_numbers(model.classes_)
    W, b = model.coef_, model.intercept_
    if len(labels) < 2:
        raise DataError("", "this model has only one class; LIBLINEAR needs two")
    if len(labels) == 2:
        if model.on_plane < 0:
            labels = labels[::-1]
        else:
            W, b = -W, -b
    offset = bool(b.any()) or getattr(model, "fit_intercept", False)
    table = np.vstack([W.T, b]) if offset else W.T
    names = _feature_names(model)
    header = [
        "solver_type L2R_L1LOSS_SVC_DUAL",  # of LIBLINEAR's losses the nearest to the perceptron's
        f"nr_class {len(labels)}",
        f"label {' '.join(map(str, labels))}",
        f"nr_feature {W.shape[1]}",
        f"bias {1 if offset else -1}",
        "w",
    ]
    with replacing(path) as file:
        file.write(("\n".join(header) + "\n").encode())
        for row in table:
            file.write((" ".join(map(repr, row.tolist())) + "\n").encode())
    if named or names is not None:
        features = {} if names is None else {str(j): name for j, name in enumerate(names, 1)}
        known = {str(number): label for number, label in named.items()}
        with replacing(map_beside(path)) as file:
            file.write(
                (json.dumps({"labels": known, "features": features}, indent=1, ensure_ascii=False) + "\n").encode()
            )


def map_beside(path: Path) -> str:
    """Return the name of the file in which the numbers of a LIBLINEAR model have names."""
    return f"{os.fspath(path)}.map.json"


def _check_linear(model: Any) -> None:
    """Refuse what has no plane: a model that is not fitted, or not linear."""
    if not (hasattr(model, "coef_") and hasattr(model, "classes_")):
        raise DataError("", f"this {type(model).__name__} has no weights: it is not fitted yet, or not linear")
    if getattr(model, "keep", None) == "vote":
        message = "such a file holds one plane, but a vote uses many: train with {0} instead"
        raise DataError("", message, ("keep", "average"))


def _feature_names(model: Any) -> list[str] | None:
    """Return the names of the features, such as ``town=Ulm`` for a word, if they are known; tell of hashed ones."""
    memory = getattr(model, "reading_", {})
    if "names" in memory and Layout.from_state(memory).hashed:
        message = "the model hashes words: rows for the new file must be hashed in the same way (linsep.data.words)"
        warnings.warn(DataNote("", message), stacklevel=3)
        return None
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _whole_numbers(classes: Array) -> tuple[list[int], dict[int, Any]]:
    """Return the labels as LIBLINEAR keeps them, C integers, and what the numbers stand for where they are others."""
    labels = classes.tolist()
    for label in labels:
        number = isinstance(label, int | float) and not isinstance(label, bool)
        if not (number and float(label).is_integer() and abs(label) < 2**31):
            return list(range(len(labels))), dict(enumerate(labels))
    return [int(label) for label in labels], {}


def from_liblinear(path: Path) -> Perceptron:
    r"""Read LIBLINEAR model text as a Perceptron with the same predictions, ready for ``partial_fit``.

    LIBLINEAR may have written it with any of its solvers for classification; a ``ValueError`` says so if it is a model
    of regression or of one class. The Perceptron has weights and labels but no record of a run.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import from_liblinear
    >>> text = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5\n-2\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "model.txt"), "w") as file:
    ...         _ = file.write(text)
    ...     model = from_liblinear(os.path.join(folder, "model.txt"))
    >>> model.coef_, model.classes_
    (array([[ 0.5, -2. ]]), array([-1,  1]))
    """
    from linsep.models.estimators import Perceptron  # loads scikit-learn

    model: Perceptron = read_liblinear(path, Perceptron)
    return model


def read_liblinear(path: Path, kind: Any) -> Any:
    """Read LIBLINEAR model text as a perceptron of this class."""
    with open_bytes(path) as file:
        try:
            facts = _header(file)
            labels, W, b = _weights(file, facts, size(path))
        except (ValueError, KeyError, OverflowError) as error:
            reason = f"its header has no {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(masked(str(path)), f"not LIBLINEAR model text: {reason}") from None
    model = kind(fit_intercept=float(facts["bias"]) >= 0)
    if len(labels) == 2:
        W, b = W[:1], b[:1]  # of two score vectors LIBLINEAR looks at the first only
        if labels[0] < labels[1]:  # our second label is the positive one, theirs the first
            W, b, model.on_plane = -W, -b, 1
        labels = np.sort(labels)
    model.start_with(labels, Weights(W, b))
    return model


def _header(file: BinaryIO) -> dict[str, str]:
    facts = {}
    for line in islice(file, 16):
        key, _, value = line.decode("ascii", "replace").strip().partition(" ")
        if key == "w":
            break
        facts[key] = value
    else:
        raise ValueError("no line 'w' that begins the weights")
    solver = facts["solver_type"]
    if solver not in _CLASSIFIERS:
        raise ValueError(f"solver_type {solver} is not a classifier of two classes or more")
    return facts


def _weights(file: BinaryIO, facts: dict[str, str], size: int) -> tuple[Array, Floats, Floats]:
    """Read the weights: return labels (C,), weights (1, d) or (C, d), offsets."""
    d, bias = int(facts["nr_feature"]), float(facts["bias"])
    labels = np.array(list(map(int, facts["label"].split())), dtype=np.int64)
    if len(labels) != int(facts["nr_class"]) or len(set(labels.tolist())) != len(labels) or d < 1:
        raise ValueError(f"nr_class {facts['nr_class']}, nr_feature {d} and label {facts['label']} do not agree")
    machines = 1 if len(labels) == 2 and facts["solver_type"] != "MCSVM_CS" else len(labels)
    shape = (d + (bias >= 0), machines)
    if 2 * shape[0] * shape[1] > size:  # a number takes a digit and a space
        raise ValueError(f"{shape[0]} times {shape[1]} weights announced, in a file of {size} bytes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "no data": the shape says it
        table = np.loadtxt(file, dtype=np.float64, comments=None, ndmin=2, encoding="ascii")
    if table.shape != shape:
        raise ValueError(
            f"{shape[0]} lines of {shape[1]} weights announced, {table.shape[0]} of {table.shape[1]} found"
        )
    if not (np.isfinite(table).all() and math.isfinite(bias)):
        raise ValueError("weights that are not finite")
    W = np.ascontiguousarray(table[:d].T)
    return labels, W, table[d] * bias if bias >= 0 else np.zeros(machines)


# ---------------------------------------------------------------------------------------------------------------
# ONNX


def to_onnx(model: Any, path: Path, *, dtype: Any = np.float64, raw: bool | None = None) -> None:
    """Write a linear model as an ONNX graph with the same labels and scores.

    A model of a table with columns of words has an input for each of its columns, of shape (n, 1): strings for words
    and for dates, as they are written in the table, numbers for all others (moments with a time are days since
    1970-01-01, times of day seconds since midnight, truth values 0 and 1, units left out), and NaN or ``""`` for a gap,
    which counts as in training, or makes the scores NaN if training refused gaps. ``columns`` among its properties
    lists the inputs. Any other model has one input ``X`` of shape (n, d), with the columns that ``feature_names`` among
    its properties lists, if the model knows them. The outputs are ``label`` of shape (n,) and ``scores`` as those of
    ``decision_function``: shape (n,) for two classes, (n, classes) for more.

    Parameters
    ----------
    model : estimator
        A fitted linear classifier whose labels are all strings, or whole numbers, or floats, or bool.
    path : path-like
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the rows that the graph takes. It computes in float64 either way, as we do; ONNX's own
        LinearClassifier keeps its weights in float32 and cannot give the same labels.
    raw : bool, default=None
        Whether there is an input for each column of the table; False makes one input ``X`` of the features, in which a
        word is a 1 at its feature, such as ``town=Ulm``.

    Notes
    -----
    Needs the package ``onnx``: ``pip install linsep[onnx]``.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import Perceptron, to_onnx
    >>> model = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["left", "right"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, os.path.join(folder, "model.onnx"))
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ModuleNotFoundError("to_onnx needs the package onnx: pip install 'linsep[onnx]'") from None
    _check_linear(model)
    kinds = {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float32): TensorProto.FLOAT}
    if np.dtype(dtype) not in kinds:
        raise ParameterError("dtype", str(np.dtype(dtype)), "float64 or float32")
    classes, (machines, d) = _onnx_labels(model.classes_), model.coef_.shape
    if model.coef_.nbytes >= 2**31 - 2**20:
        raise DataError("", f"the weights take {model.coef_.nbytes} bytes, an ONNX file holds 2 GB at most")
    graph, layout, properties = _Graph(kinds[np.dtype(dtype)]), _raw_layout(model, raw), {}
    if layout is not None:
        products, columns = _read_columns(graph, model, layout)
        properties["columns"] = json.dumps(columns)
    else:
        X = graph.input("X", graph.number, ["n", d])
        products = graph.node("MatMul", graph.cast(X, "DOUBLE"), np.ascontiguousarray(model.coef_.T))
        if (names := _feature_names(model)) is not None:
            properties["feature_names"] = json.dumps(names)
    if machines == 1:
        sums = graph.node("Add", products, model.intercept_)
        scores = graph.node("Squeeze", sums, np.array([1]), name="scores")
        compare = "Greater" if model.on_plane < 0 else "GreaterOrEqual"
        code = graph.cast(graph.node(compare, scores, 0.0), "INT64")
    else:
        scores = graph.node("Add", products, model.intercept_, name="scores")
        code = graph.node("ArgMax", scores, axis=1, keepdims=0)
    # one class is on both sides
    graph.node("Gather", classes if len(classes) > 1 else np.repeat(classes, 2), code, name="label")
    kind = TensorProto.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    outputs = [
        helper.make_tensor_value_info("label", kind, ["n"]),
        helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"] if machines == 1 else ["n", len(classes)]),
    ]
    # opsets that runtimes of the last years know
    dates = any(node.op_type == "StringSplit" for node in graph.nodes)
    opsets = [helper.make_opsetid("", 20 if dates else 17)]
    opsets += [] if layout is None else [helper.make_opsetid("ai.onnx.ml", 2)]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, type(model).__name__, graph.inputs, outputs, graph.constants),
        producer_name="linsep",
        opset_imports=opsets,
        ir_version=9 if dates else 8,
    )
    if properties:
        helper.set_model_props(proto, properties)
    checker.check_model(proto)
    with replacing(path) as file:
        file.write(proto.SerializeToString())


def _raw_layout(model: Any, raw: bool | None) -> Layout | None:
    """Return the columns that are inputs of a graph, None if the features are."""
    memory = getattr(model, "reading_", {})
    layout = Layout.from_state(memory) if "names" in memory else None
    reason = "" if layout is not None else "the model has not learned from a table"
    if layout is not None:
        odd = next((name for name, kind in layout.columns if not (is_numeric(kind) or kind == WORD)), None)
        reason = f"a graph has no means to cut the texts of column {odd!r} into words, or to hash them" if odd else ""
    if reason and raw:
        raise DataError("", f"{reason}: use {{0}}", ("raw", False))
    if reason or raw is False or layout is None:
        return None
    return layout if raw or layout.words else None


class _Graph:
    """An ONNX graph as it is built; nodes and constants have names of their own unless they are told one."""

    def __init__(self, number: int) -> None:
        self.number = number  # the type of the numbers that it takes
        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def input(self, name: str, kind: int, shape: list[Any]) -> str:
        """Add an input; return its name."""
        from onnx import helper

        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def node(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """Add a node; what is no name among its inputs is a constant. Return the name of its first output."""
        from onnx import helper, numpy_helper

        names = []
        for each in inputs:
            if not isinstance(each, str):
                self.constants.append(
                    numpy_helper.from_array(np.asarray(each), f"linsep.constant{len(self.constants)}")
                )
                each = self.constants[-1].name
            names.append(each)
        outputs = [name or f"linsep.node{len(self.nodes)}"]
        outputs += [f"{outputs[0]}.counts"] if kind == "StringSplit" else []
        self.nodes.append(helper.make_node(kind, names, outputs, **attributes))
        return outputs[0]

    def cast(self, name: str, kind: str) -> str:
        """Add a node that changes the type."""
        from onnx import TensorProto

        return self.node("Cast", name, to=getattr(TensorProto, kind))


def _read_columns(graph: _Graph, model: Any, layout: Layout) -> tuple[str, list[dict[str, str]]]:
    """Have a graph read the columns of a table; return the sum of what they add to the scores, and the columns."""
    from onnx import TensorProto

    W, missing = model.coef_.T, str(model.reading_.get("missing", "error"))
    categories: dict[int, dict[str, int]] = {}
    for feature, (column, word) in enumerate(layout.categories, layout.first_category):
        categories.setdefault(column, {})[word or ""] = feature
    numbers, parts, columns = iter(range(len(layout.numbers))), [], []
    for place, (name, kind) in enumerate(layout.columns):
        title = f"{name}_column" if name in ("label", "scores") else name
        words, day = kind == WORD, _DAY.fullmatch(kind)
        columns.append({"input": title, "column": name, "kind": kind})
        cells = graph.input(title, TensorProto.STRING if words or day else graph.number, ["n", 1])
        features = categories.get(place, {})
        if words:
            gaps = model.reading_.get("gaps", MISSING) if "" in features else ()
            features |= {gap: features[""] for gap in gaps if gap not in features}
            parts.append(_word_scores(graph, cells, features, W))
        else:
            cells = cells if day is None else _days(graph, cells, kind.partition(":")[2], day[1])
            gap = W[[features[""]]] if "" in features else None
            parts.append(_number_scores(graph, cells, W[[next(numbers)]], gap, missing in ("zero", "indicator")))
    return graph.node("Sum", *parts), columns


def _word_scores(graph: _Graph, cells: str, features: dict[str, int], W: Floats) -> str:
    """Look up the weights of a word; one that is not known has none."""
    table = np.vstack([W[list(features.values())], np.zeros((1, W.shape[1]))])
    codes: dict[str, Any] = {"keys_strings": list(features), "values_int64s": list(range(len(features)))}
    flat = graph.node("Squeeze", cells, np.array([1]))
    code = graph.node("LabelEncoder", flat, domain="ai.onnx.ml", default_int64=len(features), **codes)
    return graph.node("Gather", table, code, axis=0)


def _number_scores(graph: _Graph, cells: str, weights: Floats, gap: Floats | None, filled: bool) -> str:
    """Multiply a number with its weights; a gap is 0 if it is filled, and may have weights of its own."""
    number = graph.cast(cells, "DOUBLE")
    if not filled:
        return graph.node("MatMul", number, weights)
    absent = graph.node("IsNaN", number)
    score = graph.node("MatMul", graph.node("Where", absent, 0.0, number), weights)
    return score if gap is None else graph.node("Add", score, graph.node("MatMul", graph.cast(absent, "DOUBLE"), gap))


def _days(graph: _Graph, cells: str, form: str, between: str) -> str:
    """Count the days from 1970-01-01 to a date (as Hinnant does: years begin in March), NaN for a gap."""
    node = graph.node
    some = form.replace("%Y", "1970").replace("%m", "1").replace("%d", "1")
    absent = node("Equal", cells, np.array([""], object))
    text = node("Where", absent, np.array([some], object), cells)
    numbers = graph.cast(node("StringSplit", text, delimiter=between), "INT64")
    order = "".join(re.findall("%(.)", form))
    year, month, day = (node("Gather", numbers, order.index(sign), axis=2) for sign in "Ymd")
    march = node("Mod", node("Add", month, 9), 12)  # months since March
    year = node("Sub", year, graph.cast(node("Greater", march, 9), "INT64"))
    days = node("Add", node("Div", node("Add", node("Mul", march, 153), 2), 5), day)
    days = node("Add", days, node("Mul", year, 365))
    for sign, length in (("Add", 4), ("Sub", 100), ("Add", 400)):
        days = node(sign, days, node("Div", year, length))
    return node("Where", absent, np.nan, graph.cast(node("Sub", days, 719469), "DOUBLE"))


def _onnx_labels(classes: Array) -> Array:
    """Return the labels as a tensor that ONNX knows: int64, float64, bool or strings (of dtype object)."""
    if classes.dtype.kind in "bf":
        return classes.astype(bool if classes.dtype.kind == "b" else np.float64)
    labels = classes.tolist()
    if all(isinstance(label, str) for label in labels):
        return classes.astype(object)
    if all(isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63 for label in labels):
        return np.array(labels, dtype=np.int64)
    raise DataError("", f"an ONNX model has labels of one type, strings or numbers; this one has {labels[:5]}")
