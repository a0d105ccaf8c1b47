"""The largest margin of a large file from the rows near its plane, which ``one_reading`` keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linsep.clock import Clock
from linsep.prove.bounds.margins import Margin, largest_margin
from linsep.prove.claims import Separator
from linsep.prove.verdicts.one_reading import Near


def margin_of_all(near: Near, gap: float, clock: Clock) -> Margin | None:
    """Return the largest affine margin of all rows, None if those that were left out might have a smaller one.

    No plane keeps more from all rows than the best one does from some, so the upper bound of the near rows is one for
    all. The rows left out have ``‖z‖ >= 1`` where planes have an offset, so their distance from the plane is at least
    their height (``far_rows``) divided by ``‖w‖``, which is about 1.
    """
    assert all(guard.coordinates.constant == 1.0 for guard in near.guards)
    found = largest_margin(near.X, near.y, form="affine", gap=gap, clock=clock)
    plane, size = Separator(found.w, float(found.b)), float(np.linalg.norm(found.w)) * (1 + 1e-12)
    if any(guard.heights(plane) <= found.lower * size for guard in near.guards):
        return None
    return replace(found, rows=near.numbers[found.rows])
