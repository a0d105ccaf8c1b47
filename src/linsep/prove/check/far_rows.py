"""Rows far from one plane are on the right side of every plane near it: no second look at them is needed.

With ``z = ((x - center) unit, constant)``, a plane ``w·x + b`` is ``v·z`` for some ``v``. If ``±v·z >= distance ‖z‖``
for a row, then for any plane ``u`` with ``‖u - v‖ < distance`` also ``±u·z >= ±v·z - ‖u - v‖ ‖z‖ > 0`` (Cauchy and
Schwarz), and a plane stays the same when ``u`` is multiplied by a positive number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linsep.compiling import compiled
from linsep.problem import Array, Floats
from linsep.prove.claims import Separator

_SMALLEST, _LARGEST = 2.0**-900, 2.0**900  # squared sizes within which nothing overflows, and what underflows is little
_UNIT = 500  # powers of two that leave room for these
_ROUNDED = 2.0**-30  # of a mean: a smaller spread may be rounding


@dataclass(frozen=True)
class Coordinates:
    """Centered and scaled columns, in which distances are measured; all of these numbers are taken as exact."""

    center: Floats  # (d,) zero if planes have no offset
    unit: Floats  # (d,) powers of two
    constant: float  # 1 if planes have an offset, else 0

    @classmethod
    def of(cls, x: Floats, *, offset: bool) -> Coordinates:
        """Return coordinates in which the columns of some rows have mean about 0 and spread about 1."""
        with np.errstate(all="ignore"):
            center = x.mean(axis=0) if offset else np.zeros(x.shape[1])
            spread = np.sqrt(np.square(x - center).mean(axis=0))
        spread = np.where(spread > _ROUNDED * np.abs(center), spread, np.abs(center))  # a column that is constant
        powers = -np.frexp(np.where(spread > 0, spread, 1.0))[1]
        return cls(center, np.ldexp(1.0, np.clip(powers, -_UNIT, _UNIT)), float(offset))

    def vector(self, plane: Separator) -> list[Fraction]:
        """Return the ``v`` of a plane of two classes, exactly; that of an offset comes last."""
        (w,), (b,) = plane.exactly()
        v = [a / Fraction(s) for a, s in zip(w, self.unit.tolist(), strict=True)]
        return [*v, b + sum(a * Fraction(c) for a, c in zip(w, self.center.tolist(), strict=True))]

    @property
    def rounding(self) -> float:
        """How much of ``‖z‖`` the heights and sizes of rows may be off, for ``‖v‖`` about 1.

        Any sum of d products is off by less than ``(d + 3) 2^-53`` times the sum of their sizes, which Cauchy and
        Schwarz bound. Cells may be off by ``2^-53`` of themselves (decimals, long integers), ``x - center`` by as much
        of both, which is at most ``‖z‖ + 2 ‖center unit‖``, where ``‖z‖`` is 1 at least if there is a center.
        """
        with np.errstate(all="ignore"):
            return float((len(self.unit) + 10) * 2.0**-50 * (1 + 2 * np.linalg.norm(self.center * self.unit)))


@dataclass(frozen=True)
class Guard:
    """A plane, and a distance from it beyond which rows count as far."""

    coordinates: Coordinates
    v: Floats  # (d + 1,) of norm about 1
    distance: float

    @classmethod
    def at(cls, plane: Separator, coordinates: Coordinates, distance: float = 0.0) -> Guard:
        """Return the guard of a plane, whose weights are not all zero."""
        exact = coordinates.vector(plane)
        largest = max(map(abs, exact))
        v = np.array([float(value / largest) for value in exact])
        return cls(coordinates, v / np.linalg.norm(v), distance)

    def leads(self, x: Array, y: Array) -> Floats:
        """Return for every row its height above the plane on the side of its class, 0 or 1, divided by its size.

        0 for rows so short or long that floats cannot tell.
        """
        center, unit, constant = self.coordinates.center, self.coordinates.unit, self.coordinates.constant
        found = np.empty(len(y))
        _leads(x, y, self.v, center, unit, constant, found)
        return found

    def covers(self, plane: Separator) -> bool:
        """Return whether rows whose lead is ``distance`` or more are strictly on the right side of a plane."""
        return self.heights(plane) > 0

    def heights(self, plane: Separator) -> float:
        """Return a bound below on ``±(w·x + b) / ‖z‖`` of these rows for a plane, -1 if there is none above 0.

        The numbers are fractions: only the leads of the rows were rounded, and this bound is, downward.
        """
        if not self.distance > self.coordinates.rounding:
            return -1.0
        u, v = self.coordinates.vector(plane), [Fraction(value) for value in self.v.tolist()]
        along, size = sum(map(_product, u, v)), sum(map(_product, u, u))
        if along <= 0:
            return -1.0
        apart = sum((along / size * a - c) ** 2 for a, c in zip(u, v, strict=True))
        reach = Fraction(self.distance) - Fraction(self.coordinates.rounding)
        if apart >= reach**2:
            return -1.0
        # (reach - √apart) size/along, where reach - √apart >= (reach² - apart) / 2 reach
        return float((reach**2 - apart) / (2 * reach) * size / along) * (1 - 2.0**-50)


def _product(a: Fraction, b: Fraction) -> Fraction:
    return a * b


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _leads(x, y, v, center, unit, constant, found):
    d = unit.size
    for i in range(y.size):
        height, square = constant * v[d], constant * constant
        for j in range(d):
            z = (x[i, j] - center[j]) * unit[j]
            height += v[j] * z
            square += z * z
        if y[i] == 0:
            height = -height
        found[i] = height / np.sqrt(square) if _SMALLEST < square < _LARGEST else 0.0
