"""The ``--proof`` and ``--note`` options, and the proof files that commands write."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from linsep.cli.options import OUTPUT
from linsep.declared import Parameter

if TYPE_CHECKING:
    from linsep.data.source import Source


@dataclass(frozen=True)
class Document:
    """Where to write the proof, and what to add."""

    proof: Annotated[
        str | None,
        Parameter("Write the proof to this JSON file.", panel=OUTPUT, metavar="OUT"),
    ] = None
    note: Annotated[
        str | None,
        Parameter("Your own remark, kept in the proof file.", panel=OUTPUT, metavar="TEXT"),
    ] = None

    def write(self, verdict: Any, X: Any, y: Any, source: Source, about: Any, options: dict[str, str]) -> None:
        """Write the proof in one step; ``about`` is the fingerprint of the data, if it is known already."""
        from linsep.data.atomic import replacing
        from linsep.prove.checking import about_data
        from linsep.prove.documents import written
        from linsep.prove.numbers.text import reading_of

        if about is None:
            verdict, about = about_data(verdict, X, y)
        files = [os.path.basename(file.name) for file in source.files]
        options = {**options, "fit_intercept": str(verdict.fit_intercept), "values": verdict.values}
        about = {**about, "files": files, "reading": reading_of(source)}
        assert self.proof is not None
        with replacing(self.proof) as file:
            file.write(written(verdict, about, note=self.note, options=options).encode())
