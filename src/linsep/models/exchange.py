"""Reads and writes LIBLINEAR model text, and writes ONNX."""

from __future__ import annotations

import json
import math
import os
import warnings
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from linsep.data.files import masked, open_bytes, replacing, size
from linsep.data.schema import Layout
from linsep.errors import DataError, DataNote, ParameterError
from linsep.learn.weights import Weights
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    from linsep.models.estimators import Perceptron

Path = str | os.PathLike[str]

# LIBLINEAR's solvers that learn a classifier; the last one keeps two weight vectors even for two classes
_CLASSIFIERS = (
    "L2R_LR",
    "L2R_L2LOSS_SVC_DUAL",
    "L2R_L2LOSS_SVC",
    "L2R_L1LOSS_SVC_DUAL",
    "L1R_L2LOSS_SVC",
    "L1R_LR",
    "L2R_LR_DUAL",
    "MCSVM_CS",
)


def to_liblinear(model: Any, path: Path) -> None:
    """Write a linear model as LIBLINEAR model text, with which LIBLINEAR's ``predict`` gives the same labels.

    Parameters
    ----------
    model : estimator
        A fitted linear classifier whose labels are whole numbers, as LIBLINEAR requires.
    path : path-like

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
    labels = _whole_numbers(model.classes_)
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
    _feature_names(model)
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
        what = "the model hashes words: rows for the new file must be hashed in the same way (linsep.data.hashing)"
        warnings.warn(DataNote("", what), stacklevel=3)
        return None
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _whole_numbers(classes: Array) -> list[int]:
    """Return the labels as LIBLINEAR keeps them: C integers."""
    labels = classes.tolist()
    for label in labels:
        number = isinstance(label, int | float) and not isinstance(label, bool)
        if not (number and float(label).is_integer() and abs(label) < 2**31):
            raise DataError("", f"LIBLINEAR's labels are whole numbers below 2^31, but this model has {label!r}")
    return [int(label) for label in labels]


def from_liblinear(path: Path) -> Perceptron:
    r"""Read LIBLINEAR model text as a Perceptron with the same predictions, ready for ``partial_fit``.

    Parameters
    ----------
    path : path-like
        A model that LIBLINEAR wrote, of any of its solvers for classification.

    Returns
    -------
    model : Perceptron
        It has weights and labels but no record of a run.

    Raises
    ------
    ValueError
        If the file is not LIBLINEAR model text, or a model of regression or of one class.

    See Also
    --------
    to_liblinear : writes such a file.

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
    """Read the lines of key and value up to the weights."""
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


def to_onnx(model: Any, path: Path, *, dtype: Any = np.float64) -> None:
    """Write a linear model as an ONNX graph with the same labels and scores.

    Its input is ``X`` of shape (n, d), with the columns that ``feature_names`` among its properties lists, ``town=Ulm``
    for a word, if the model knows them; its outputs are ``label`` of shape (n,) and ``scores`` as those of
    ``decision_function``: shape (n,) for two classes, (n, classes) for more.

    Parameters
    ----------
    model : estimator
        A fitted linear classifier whose labels are all strings, or whole numbers, or floats, or bool.
    path : path-like
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the rows that the graph takes. It computes in float64 either way, as we do; ONNX's own
        LinearClassifier keeps its weights in float32 and cannot give the same labels.

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
    constants = {
        "W": np.ascontiguousarray(model.coef_.T),  # (d, 1) or (d, C)
        "b": model.intercept_,
        "classes": classes if len(classes) > 1 else np.repeat(classes, 2),  # one class is on both sides
    }
    nodes = [
        helper.make_node("Cast", ["X"], ["rows"], to=TensorProto.DOUBLE),
        helper.make_node("MatMul", ["rows", "W"], ["products"]),
        helper.make_node("Add", ["products", "b"], ["sums" if binary else "scores"]),
    ]
    if binary:
        constants |= {"zero": np.float64(0), "second": np.array([1])}
        compare = "Greater" if model.on_plane < 0 else "GreaterOrEqual"
        nodes.append(helper.make_node("Squeeze", ["sums", "second"], ["scores"]))
        nodes.append(helper.make_node(compare, ["scores", "zero"], ["side"]))
        nodes.append(helper.make_node("Cast", ["side"], ["number"], to=TensorProto.INT64))
    else:
        nodes.append(helper.make_node("ArgMax", ["scores"], ["number"], axis=1, keepdims=0))
    nodes.append(helper.make_node("Gather", ["classes", "number"], ["label"]))
    kind = TensorProto.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    graph = helper.make_graph(
        nodes,
        type(model).__name__,
        [helper.make_tensor_value_info("X", taken[np.dtype(dtype)], ["n", d])],
        [
            helper.make_tensor_value_info("label", kind, ["n"]),
            helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"] if binary else ["n", len(classes)]),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    # an opset that runtimes of the last years know
    proto = helper.make_model(graph, producer_name="linsep", opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    names = _feature_names(model)
    if names is not None:
        helper.set_model_props(proto, {"feature_names": json.dumps(names)})
    checker.check_model(proto)
    with replacing(path) as file:
        file.write(proto.SerializeToString())


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
