"""Stores how a model's training files were read, so other files can be read the same way."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.data.labels import object_array
from linsep.data.layout import Layout
from linsep.data.source import Source
from linsep.learn.state_files import must

_PLAIN: dict[str, tuple[type, ...]] = {
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


def remember(model: Any, source: Source) -> None:
    """Have the model keep what it takes to read other data in the same way."""
    model.reading_ = source.state()
    model.__dict__.pop("feature_names_in_", None)
    if source.names is not None and len(source.names) == model.n_features_in_:
        model.feature_names_in_ = object_array(list(source.names))


def check_memory(memory: Any) -> None:
    """Refuse a memory that no source has left."""
    must(isinstance(memory, dict), "what it remembers of its files")
    for name, kinds in _PLAIN.items():
        must(name not in memory or type(memory[name]) in kinds, f"what it remembers of its files: {name}")
    if "names" in memory:
        Layout.from_state(memory)
    words = [memory[name] for name in ("names", "kinds", "level_words", "seen_names", "gaps") if name in memory]
    right = all(isinstance(array, np.ndarray) and array.ndim == 1 for array in words)
    must(right and all(type(word) is str for array in words for word in array.tolist()), "words that are none")
    if "seen" in memory:
        seen, names = memory["seen"], memory.get("seen_names")
        must(isinstance(seen, np.ndarray) and seen.dtype.kind == "i" and names is not None, "names of hashed features")
        must(seen.shape == names.shape, "names of hashed features")
