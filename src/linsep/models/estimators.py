"""The public classifiers: linsep's models combined with scikit-learn's base classes."""

from __future__ import annotations

import inspect
import re
from textwrap import fill, indent
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.data.arrays import is_sparse
from linsep.data.labels import must_stay_objects
from linsep.declared import declared
from linsep.models import arow, fewest_classifier, kernel_perceptron, max_margin, passive_aggressive, perceptron
from linsep.models.visit_records import Steps
from linsep.problem import Array

_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n---|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w[^:\n]*?)(?: : (.*))?$\n?((?:    .*\n?)*)", re.M)
_IN = "    "


def reference(kind: Any) -> str:
    """Return the docstring of a class with all of its parameters and attributes, also those of its base classes.

    What is written of one in a class replaces what its bases say. Otherwise a parameter has the help with which it is
    declared, and an attribute the docstring of its property.
    """
    bases = [base for base in kind.__mro__ if base.__module__.startswith("linsep.")]
    docs = {base: inspect.cleandoc(base.__doc__ or "") for base in bases}
    defaults = {each.name: f", default={each.default!r}" for each in declared(kind)}
    parameters = {each.name: [each.type_words(), indent(fill(each.about.help, 116), _IN)] for each in declared(kind)}
    attributes: dict[str, list[str]] = {}
    for base in reversed(bases):
        for name, value in vars(base).items():
            if isinstance(value, property) and name.endswith("_"):
                type_ = re.sub("Array|Floats", "ndarray", value.fget.__annotations__["return"]).replace(" | ", " or ")
                attributes[name] = [type_, indent(inspect.cleandoc(value.__doc__ or ""), _IN)]
        for section, text in _SECTION.findall(docs[base]):
            entries = parameters if section == "Parameters" else attributes
            for name, type_, meaning in _ENTRY.findall(text):
                before = entries.get(name, ["", ""])
                entries[name] = [type_ or before[0], meaning.rstrip() or before[1]]
    whole = ""
    for section, entries in (("Parameters", parameters), ("Attributes", attributes)):
        lines = [f"{name} : {type_}{defaults.get(name, '')}\n{meaning}" for name, (type_, meaning) in entries.items()]
        whole += "\n".join([section, "-" * len(section), *lines, "", ""])
    doc = next(docs[base] for base in bases[1:] if base is not _Classifier)
    before_it, mark, after = doc.partition("Parameters\n---")
    return before_it + whole + _SECTION.sub("", mark + after)


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What scikit-learn asks of a classifier; stands before the model among the base classes."""

    _warning = ConvergenceWarning

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__:  # not the classes that users derive
            cls.__doc__ = reference(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if not reset and not hasattr(self, "feature_names_in_"):
            plain = X.format == "csr" if is_sparse(X) else type(X) is np.ndarray and X.dtype.kind in "fiub"
            if plain and len(shape := X.shape) == 2 and shape[0] > 0 and shape[1] == self.n_features_in_:
                return X  # scikit-learn finds the same, in several times the time that learning from a row takes
        rules = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": None, "ensure_all_finite": False}
        return validate_data(self, X, reset=reset, **rules)

    def _labels(self, y: Any) -> Array:
        """Return ``y`` as a 1-D array of class labels; a column of them is taken with scikit-learn's warning."""
        plain = type(y) is np.ndarray and y.ndim == 1
        labels: Array = super()._labels(y if plain or must_stay_objects(y) else column_or_1d(y, warn=True))
        return labels

    @property
    def predict_proba(self) -> Any:
        """Not there: scores of these classifiers are no probabilities."""
        raise AttributeError(
            f"{type(self).__name__} has scores, but no probabilities: `from sklearn.calibration import "
            "CalibratedClassifierCV`, then `CalibratedClassifierCV(model).fit(X, y).predict_proba(X)`"
        )

    def _check_fitted(self, attribute: str) -> None:
        check_is_fitted(self, attribute)

    def _generator(self) -> np.random.RandomState:
        generator: np.random.RandomState = check_random_state(self.random_state)
        return generator


class Perceptron(_Classifier, perceptron.Perceptron):  # noqa: D101
    pass


class PassiveAggressive(_Classifier, passive_aggressive.PassiveAggressive):  # noqa: D101
    pass


class AROW(_Classifier, arow.AROW):  # noqa: D101
    pass


class MaxMarginClassifier(_Classifier, max_margin.MaxMarginClassifier):  # noqa: D101
    pass


class FewestErrorsClassifier(_Classifier, fewest_classifier.FewestErrorsClassifier):  # noqa: D101
    pass


class KernelPerceptron(_Classifier, kernel_perceptron.KernelPerceptron):  # noqa: D101
    @available_if(lambda self: self.kernel != "precomputed")  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        return super().partial_fit(X, y, classes, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def steps(X: Any, y: Any, *, plane: Any = "best", **parameters: Any) -> Steps:
    """Return the visits of a perceptron's run, one record each: those of ``Perceptron(**parameters).steps(X, y)``.

    ``plane`` is the one to measure the angle to: a Plane, ``(w, b)``, "best", which is that of largest margin, or None.

    Examples
    --------
    >>> from linsep import steps
    >>> steps([[2, 0], [-1, 1]], ["yes", "no"], fit_intercept=False, shuffle=False)
    visit  pass  row  label  score  mistake   w after  b after
        1     1    0    yes      0      yes  [2., 0.]        0
        2     1    1     no     -2           [2., 0.]        0
        3     2    0    yes      4           [2., 0.]        0
        4     2    1     no     -2           [2., 0.]        0
    """
    return Perceptron(**parameters).steps(X, y, plane=plane)
