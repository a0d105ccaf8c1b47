"""What a model file holds of a fitted model: a fixed list of values, checked when it is read."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from linsep.data.schema import Layout
from linsep.learn.state_files import must

_READING: dict[str, tuple[type, ...]] = {
    "format": (str,),
    "missing": (str,),
    "hash_bits": (int,),
    "named": (bool,),
    "target": (str, int, type(None)),
    "zero_based": (bool,),
    "decimal": (str,),
    "thousands": (str,),
    "encoding": (str,),
}


class Savable:
    """An estimator that says which of its attributes are saved."""

    _needs: ClassVar[frozenset[str]]  # attributes that make it fitted, all saved
    _may_have: ClassVar[frozenset[str]] = frozenset({"feature_names_in_", "reading_"})  # saved where they are there

    def saved_state(self) -> dict[str, Any]:
        """Return the values to save, by name."""
        missing = sorted(name for name in self._needs if not hasattr(self, name))
        if missing:
            raise ValueError(f"this {type(self).__name__} is not fitted yet: it has no {missing[0]}")
        return {name: getattr(self, name) for name in sorted(self._needs | self._may_have) if hasattr(self, name)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over values that were saved; refuse what does not fit together."""
        for name in state:
            must(name in self._needs | self._may_have, f"attribute {name!r}")
        missing = sorted(self._needs - set(state))
        must(not missing, f"no {missing[0] if missing else ''}")
        for name, value in state.items():
            setattr(self, name, value)
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
            _check_reading(self.reading_)
        self._check_parameters()  # type: ignore[attr-defined]


def _check_reading(memory: Any) -> None:
    """Refuse what no source has said about how it was read."""
    must(isinstance(memory, dict), "what it remembers of its files")
    for name, kinds in _READING.items():
        must(name not in memory or type(memory[name]) in kinds, f"what it remembers of its files: {name}")
    if "names" in memory:
        Layout.from_state(memory)
    words = [memory[name] for name in ("names", "kinds", "level_words", "gaps") if name in memory]
    right = all(isinstance(array, np.ndarray) and array.ndim == 1 for array in words)
    must(right and all(type(word) is str for array in words for word in array.tolist()), "words that are none")
