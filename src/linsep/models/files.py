"""Saves fitted models to files and loads them; a file cannot run code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linsep import __version__
from linsep.learn.serialization import Path, RefusedError, open_tensors, write
from linsep.models.constructors import LEARNERS

if TYPE_CHECKING:
    from linsep.models.estimators import (
        AROW,
        FewestErrorsClassifier,
        KernelPerceptron,
        MaxMarginClassifier,
        PassiveAggressive,
        Perceptron,
    )

    Model = Perceptron | PassiveAggressive | AROW | KernelPerceptron | MaxMarginClassifier | FewestErrorsClassifier

_NOUN = "model"


def save(model: Any, path: Path) -> None:
    """Write a fitted model of linsep to a file, atomically: an existing file is replaced as a whole, or not at all.

    Labels are strings, whole numbers, floats or booleans, of Python or NumPy. `load` reads the file.

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
    home = LEARNERS[name].module if name in LEARNERS else None
    if type(model).__module__ not in (home, _ESTIMATORS):
        hint = ""
        if hasattr(model, "steps"):  # a pipeline
            hint = "; save its last step, or train with fit_source(..., scale='standard'): such a model needs no scaler"
        raise ValueError(
            f"{type(model).__module__}.{name} cannot be saved; linsep saves its own {', '.join(sorted(LEARNERS))}{hint}"
        )
    write(path, name, {"parameters": model.get_params(deep=False), "attributes": model.saved_state()})


def load(path: Path) -> Model:
    """Read a model that `save` wrote; every fitted attribute has the same bits, and training can go on.

    A ``ValueError`` says so if the file is not a model of linsep, or is damaged, or was written by a newer version.

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
    model: Model = load_plain(path, _ESTIMATORS)
    return model


def load_plain(path: Path, module: str | None = None) -> Any:
    """Read a model as an object of the class in this module, by default of the one that needs no scikit-learn."""
    with open_tensors(path, _NOUN) as (content, reader):
        if content["kind"] not in LEARNERS:
            raise RefusedError(f"a model of kind {content['kind']!r}, which linsep {__version__} does not know")
        kind = getattr(import_module(module or LEARNERS[content["kind"]].module), content["kind"])
        parameters = reader.values(content["parameters"])
        unknown = sorted(set(parameters) - set(kind().get_params(deep=False)))
        if unknown:
            raise RefusedError(f"{content['kind']} has no parameter {unknown[0]!r}")
        model = kind(**parameters)
        model.restore(reader.values(content["attributes"]))
        return model


_ESTIMATORS = "linsep.models.estimators"  # all of them as scikit-learn's classifiers
