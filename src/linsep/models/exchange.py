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
        what = "such a file holds one plane, but a vote uses many: train with {0} instead"
        raise DataError("", what, ("keep", "average"))


def _feature_names(model: Any) -> list[str] | None:
    """Return the names of the features, such as ``town=Ulm`` for a word, if they are known; tell of hashed ones."""
    memory = getattr(model, "reading_", {})
    if "names" in memory and Layout.from_state(memory).hashed:
        what = "the model hashes words: rows for the new file must be hashed in the same way (linsep.data.words)"
        warnings.warn(DataNote("", what), stacklevel=3)
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
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise ModuleNotFoundError("to_onnx needs the package onnx: pip install 'linsep[onnx]'") from None
    _check_linear(model)
    taken = {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float32): TensorProto.FLOAT}
    if np.dtype(dtype) not in taken:
        raise ParameterError("dtype", str(np.dtype(dtype)), "float64 or float32")
    classes, d = _onnx_labels(model.classes_), model.coef_.shape[1]
    if model.coef_.nbytes >= 2**31 - 2**20:
        raise DataError("", f"the weights take {model.coef_.nbytes} bytes, an ONNX file holds 2 GB at most")
    binary = len(model.coef_) == 1
    layout = _raw_layout(model, raw)
    constants = {
        "linsep.b": model.intercept_,
        "linsep.classes": classes if len(classes) > 1 else np.repeat(classes, 2),  # one class is on both sides
    }
    if layout is None:
        inputs = [helper.make_tensor_value_info("X", taken[np.dtype(dtype)], ["n", d])]
        constants["linsep.W"] = np.ascontiguousarray(model.coef_.T)  # (d, 1) or (d, C)
        nodes = [
            helper.make_node("Cast", ["X"], ["linsep.rows"], to=TensorProto.DOUBLE),
            helper.make_node("MatMul", ["linsep.rows", "linsep.W"], ["linsep.products"]),
        ]
        names = _feature_names(model)
        properties = {} if names is None else {"feature_names": json.dumps(names)}
    else:
        reading = _OnnxColumns(model, layout, taken[np.dtype(dtype)])
        inputs, nodes, own = reading.inputs, reading.nodes, reading.constants
        constants |= own
        properties = {"columns": json.dumps(reading.described)}
    scores = "linsep.sums" if binary else "scores"
    nodes.append(helper.make_node("Add", ["linsep.products", "linsep.b"], [scores]))
    if binary:
        constants |= {"linsep.zero": np.float64(0), "linsep.second": np.array([1])}
        compare = "Greater" if model.on_plane < 0 else "GreaterOrEqual"
        nodes.append(helper.make_node("Squeeze", [scores, "linsep.second"], ["scores"]))
        nodes.append(helper.make_node(compare, ["scores", "linsep.zero"], ["linsep.side"]))
        nodes.append(helper.make_node("Cast", ["linsep.side"], ["linsep.number"], to=TensorProto.INT64))
    else:
        nodes.append(helper.make_node("ArgMax", ["scores"], ["linsep.number"], axis=1, keepdims=0))
    nodes.append(helper.make_node("Gather", ["linsep.classes", "linsep.number"], ["label"]))
    kind = TensorProto.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    graph = helper.make_graph(
        nodes,
        type(model).__name__,
        inputs,
        [
            helper.make_tensor_value_info("label", kind, ["n"]),
            helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"] if binary else ["n", len(classes)]),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    # opsets that runtimes of the last years know
    dates = any(node.op_type == "StringSplit" for node in nodes)
    opsets = [helper.make_opsetid("", 20 if dates else 17)]
    opsets += [] if layout is None else [helper.make_opsetid("ai.onnx.ml", 2)]
    proto = helper.make_model(graph, producer_name="linsep", opset_imports=opsets, ir_version=9 if dates else 8)
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


class _OnnxColumns:
    """The inputs, nodes and constants by which a graph reads the columns of a table: each adds to the scores."""

    def __init__(self, model: Any, layout: Layout, number: int) -> None:
        from onnx import TensorProto, helper

        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.described: list[dict[str, str]] = []
        self._helper, self._double, self._integer = helper, TensorProto.DOUBLE, TensorProto.INT64
        missing = str(model.reading_.get("missing", "error"))
        W, machines = model.coef_.T, len(model.coef_)
        levels: dict[int, dict[str, int]] = {}
        for feature, (column, word) in enumerate(layout.categories, layout.first_category):
            levels.setdefault(column, {})[word or ""] = feature
        numbers, parts = iter(range(len(layout.numbers))), []
        for place, (name, kind) in enumerate(layout.columns):
            given = f"{name}_column" if name in ("label", "scores") else name
            words, day = kind == WORD, _DAY.fullmatch(kind)
            self.described.append({"input": given, "column": name, "kind": kind})
            typed = TensorProto.STRING if words or day else number
            self.inputs.append(helper.make_tensor_value_info(given, typed, ["n", 1]))
            own = levels.get(place, {})
            if words:
                own |= {gap: own[""] for gap in model.reading_.get("gaps", MISSING) if "" in own and gap not in own}
                parts.append(self._words(given, place, own, W, machines))
            else:
                given = given if day is None else self._days(given, place, kind.partition(":")[2], day[1])
                parts.append(self._number(given, place, W[next(numbers)], own.get(""), W, missing))
        self._node("Sum", parts, "linsep.products")

    def _node(self, kind: str, given: list[str], result: str, **how: Any) -> str:
        self.nodes.append(self._helper.make_node(kind, given, [result], **how))
        return result

    def _words(self, name: str, place: int, levels: dict[str, int], W: Floats, machines: int) -> str:
        """Look up the weights of a word; one that is not known has none."""
        own = f"linsep.{place}"
        table = np.concatenate([W[list(levels.values())], np.zeros((1, machines))])
        self.constants |= {f"{own}.W": np.ascontiguousarray(table), f"{own}.axis": np.array([1])}
        how = {"keys_strings": list(levels), "values_int64s": list(range(len(levels))), "default_int64": len(levels)}
        flat = self._node("Squeeze", [name, f"{own}.axis"], f"{own}.flat")
        code = self._node("LabelEncoder", [flat], f"{own}.code", domain="ai.onnx.ml", **how)
        return self._node("Gather", [f"{own}.W", code], f"{own}.part", axis=0)

    def _days(self, name: str, place: int, form: str, between: str) -> str:
        """Count the days from 1970-01-01 to a date (as Hinnant does: years begin in March), NaN for a gap."""
        own = f"linsep.{place}"
        some = form.replace("%Y", "1970").replace("%m", "1").replace("%d", "1")
        self.constants |= {f"{own}.none": np.array([""], object), f"{own}.some": np.array([some], object)}
        self.constants[f"{own}.nan"] = np.float64(np.nan)
        absent = self._node("Equal", [name, f"{own}.none"], f"{own}.none_given")
        text = self._node("Where", [absent, f"{own}.some", name], f"{own}.text")
        self.nodes.append(
            self._helper.make_node("StringSplit", [text], [f"{own}.split", f"{own}.counts"], delimiter=between)
        )
        numbers = self._node("Cast", [f"{own}.split"], f"{own}.parts", to=self._integer)

        def step(kind: str, left: str, right: int | str) -> str:
            if isinstance(right, int):
                self.constants[f"linsep.int{right}"] = np.int64(right)
                right = f"linsep.int{right}"
            return self._node(kind, [left, right], f"{own}.step{len(self.nodes)}")

        places = {sign: k for k, sign in enumerate(re.findall("%(.)", form))}
        for k in range(3):
            self.constants[f"linsep.int{k}"] = np.int64(k)
        year, month, day = (
            self._node("Gather", [numbers, f"linsep.int{places[sign]}"], f"{own}.{sign}", axis=2) for sign in "Ymd"
        )
        march = step("Mod", step("Add", month, 9), 12)  # months since March
        early = self._node("Cast", [step("Greater", march, 9)], f"{own}.early", to=self._integer)
        year = step("Sub", year, early)
        days = step("Add", step("Div", step("Add", step("Mul", march, 153), 2), 5), day)
        days = step("Add", days, step("Mul", year, 365))
        for sign, length in (("Add", 4), ("Sub", 100), ("Add", 400)):
            days = step(sign, days, step("Div", year, length))
        days = step("Sub", days, 719469)
        number = self._node("Cast", [days], f"{own}.days", to=self._double)
        return self._node("Where", [absent, f"{own}.nan", number], f"{own}.date")

    def _number(self, name: str, place: int, weights: Floats, gap: int | None, W: Floats, missing: str) -> str:
        """Multiply a number with its weights; a gap is 0, and may have weights of its own."""
        own = f"linsep.{place}"
        self.constants |= {f"{own}.w": weights[None, :].copy(), f"{own}.zero": np.float64(0)}
        number = self._node("Cast", [name], f"{own}.double", to=self._double)
        if missing not in ("zero", "indicator"):
            return self._node("MatMul", [number, f"{own}.w"], f"{own}.part")
        absent = self._node("IsNaN", [number], f"{own}.absent")
        filled = self._node("Where", [absent, f"{own}.zero", number], f"{own}.filled")
        part = self._node("MatMul", [filled, f"{own}.w"], f"{own}.part")
        if gap is None:
            return part
        self.constants[f"{own}.gap"] = W[gap][None, :].copy()
        marked = self._node("Cast", [absent], f"{own}.marked", to=self._double)
        return self._node("Add", [part, self._node("MatMul", [marked, f"{own}.gap"], f"{own}.missing")], f"{own}.all")


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
