"""Saves fitted models to files and loads them; a file cannot run code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from linsep import __version__
from linsep.learn.hypotheses import Keeper
from linsep.learn.state_files import CODECS, Codec, Codecs, Path, Reader, RefusedError, Writer, opened, write
from linsep.models.online import SavedKeeper, Stretch

_NOUN = "model"


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file, atomically: an existing file is replaced as a whole, or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : path-like

    See Also
    --------
    load : reads the file.

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
    if type(model).__module__ not in (_KINDS.get(name), _ESTIMATORS):
        hint = ""
        if hasattr(model, "steps"):  # a pipeline
            hint = "; save its last step, or train with fit_source(..., scale='standard'): such a model needs no scaler"
        raise ValueError(
            f"{type(model).__module__}.{name} cannot be saved; linsep saves its own {', '.join(sorted(_KINDS))}{hint}"
        )
    write(path, name, {"parameters": model.get_params(deep=False), "attributes": model._state()}, _CODECS)


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
    save : writes the file.

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
    return load_plain(path, _ESTIMATORS)


def load_plain(path: Path, module: str | None = None) -> Any:
    """Read a model as an object of the class in this module, by default of the one that needs no scikit-learn."""
    with opened(path, _NOUN, _CODECS) as (content, reader):
        home = _KINDS.get(content["kind"])
        if home is None:
            raise RefusedError(f"a model of kind {content['kind']!r}, which linsep {__version__} does not know")
        kind = getattr(import_module(module or home), content["kind"])
        parameters = reader.values(content["parameters"])
        unknown = sorted(set(parameters) - set(kind().get_params(deep=False)))
        if unknown:
            raise RefusedError(f"{content['kind']} has no parameter {unknown[0]!r}")
        model = kind(**parameters)
        model._restore(reader.values(content["attributes"]))
        return model


def _write_run(out: Writer, name: str, stretches: list[Stretch]) -> list[Any]:
    """Write the stretches of a run, of which there may be very many, as three tables."""
    tables, stops = Stretch.tables(stretches)
    out.tensors.update({f"{name}.{key}": table for key, table in tables.items()})
    return [name, stops]


def _read_run(file: Reader, content: Any) -> list[Stretch]:
    name, stops = content
    trace, passes = file.take(f"{name}.trace", "u", 1), file.take(f"{name}.passes", "f", 2)
    return Stretch.from_tables(trace, passes, file.take(f"{name}.table", "i", 2), stops)


def _write_keeper(out: Writer, name: str, keeper: Keeper) -> list[Any]:
    """Write what a run keeps beside its last weights, array by array."""
    arrays = keeper.state()
    out.tensors.update({f"{name}.{key}": np.ascontiguousarray(array) for key, array in arrays.items()})
    return [keeper.kind, name, sorted(arrays)]


def _read_keeper(file: Reader, content: Any) -> SavedKeeper:
    kind, name, keys = content
    return SavedKeeper(kind, {key: file.take(f"{name}.{key}") for key in keys})


def _are_stretches(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(item) is Stretch for item in value)


_CODECS: Codecs = {
    "run": Codec(_are_stretches, _write_run, _read_run),
    "keeper": Codec(lambda value: isinstance(value, Keeper), _write_keeper, _read_keeper),
    **CODECS,
}

# where each kind of model is defined, and all of them as scikit-learn's classifiers
_KINDS = {
    "KernelPerceptron": "linsep.models.kernel_perceptron",
    "FewestErrorsClassifier": "linsep.models.fewest_classifier",
    "MaxMarginClassifier": "linsep.models.max_margin",
    "PassiveAggressive": "linsep.models.passive_aggressive",
    "Perceptron": "linsep.models.perceptron",
}
_ESTIMATORS = "linsep.models.estimators"
