"""Collects the state of a fitted model for saving, and validates it when it is loaded."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from linsep.learn.state_files import must
from linsep.models.reading_memory import check_memory


class Savable:
    """An estimator whose state can be saved: all its attributes that are no parameters."""

    _needs: ClassVar[frozenset[str]]  # attributes that make it fitted

    def _state(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        state = {key: value for key, value in vars(self).items() if key not in parameters}
        missing = sorted(self._needs - set(state))
        if missing:
            raise ValueError(f"this {type(self).__name__} is not fitted yet: it has no {missing[0]}")
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over attributes that were saved; refuse what does not fit together."""
        for key, value in state.items():
            # only what a fit could have set: never a method, a property or a parameter
            free = key.isidentifier() and not key.startswith("__")
            own = key in self._needs or not hasattr(type(self), key)
            must(free and own and key not in vars(self), f"attribute {key!r}")
            setattr(self, key, value)
        missing = sorted(self._needs - set(vars(self)))
        must(not missing, f"no {missing[0] if missing else ''}")
        self._check_state()

    def _check_state(self) -> None:
        """Refuse attributes that do not belong together; subclasses add to this."""
        d, classes = self.n_features_in_, self.classes_  # type: ignore[attr-defined]
        must(type(d) is int and d > 0, "shapes: its number of features")
        must(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "classes")
        must(len(set(classes.tolist())) == len(classes), "a class that occurs twice")
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_
            must(isinstance(names, np.ndarray) and names.shape == (d,), "names of features")
            must(all(type(name) is str for name in names.tolist()), "names of features that are no words")
        if hasattr(self, "reading_"):
            check_memory(self.reading_)
        if hasattr(self, "_check_parameters"):
            self._check_parameters()
