"""Projects points of any number of columns to two dimensions."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from linsep.pages.explorer.requests import MOST_COLUMNS, numbers
from linsep.problem import Floats


class View(NamedTuple):
    """A window of two directions: ``x`` is drawn at ``basis (x - origin)``."""

    origin: Floats  # (d,)
    basis: Floats  # (2, d)
    kind: str  # "columns" or "projection"
    axes: tuple[str, str]

    @classmethod
    def of(cls, X: Floats, names: list[str], w: Floats | None) -> Self:
        """Return the view of one or two columns as they are; of more, along w and along what varies most across it."""
        d = X.shape[1]
        if d <= 2:
            axes = (names[0] if d else "", names[1] if d == 2 else "")
            return cls(np.zeros(d), np.eye(2, d), "columns", axes)
        origin = X.mean(axis=0)
        centered = X - origin
        basis = []
        if w is not None and np.linalg.norm(w) > 0:
            basis.append(w / np.linalg.norm(w))
            centered = centered - np.outer(centered @ basis[0], basis[0])
        directions = np.linalg.svd(centered, full_matrices=True)[2][: 2 - len(basis)]
        basis += [v * (1 if v[np.abs(v).argmax()] > 0 else -1) for v in directions]  # the sign is free: fix it
        along, across = ("1st principal axis", "2nd principal axis")
        if w is not None:
            along, across = ("along the last w", "most varied across it")
        return cls(origin, np.array(basis), "projection", (along, across))

    @classmethod
    def held(cls, asked: Any, d: int) -> Self | None:
        """Return the projection that a page holds on to while points are moved on it, None if it holds none."""
        if asked is None or d <= 2:
            return None
        if not isinstance(asked, dict) or not isinstance(asked.get("basis"), list) or len(asked["basis"]) != 2:
            raise ValueError("view must be an object with an origin and a basis of two directions")
        parts = [numbers(part, "view") for part in (asked.get("origin"), *asked["basis"])]
        if any(len(part) != d for part in parts) or d > MOST_COLUMNS:
            raise ValueError(f"view must have {d} numbers, one per column")
        axes = asked.get("axes")
        given = axes if isinstance(axes, list) and len(axes) == 2 else ("", "")
        named = (str(given[0])[:40].replace("the last w", "an earlier w"), str(given[1])[:40])
        return cls(np.array(parts[0]), np.array(parts[1:]), "projection", named)

    @property
    def words(self) -> dict[str, Any]:
        """What the page says about the view, and for a projection how rows are drawn on it."""
        plain: dict[str, Any] = {"kind": self.kind, "axes": list(self.axes), "said": ""}
        if self.kind == "projection":
            plain["said"] = (
                f"{len(self.origin)} columns, projected: points may look misplaced, lines are cuts through the view. "
                "A point moves within the view; Fit turns the view to the new run."
            )
            plain |= {"origin": self.origin.tolist(), "basis": self.basis.tolist()}
        return plain

    def points(self, X: Floats) -> Floats:
        """Return where rows are drawn, shape (n, 2)."""
        return (X - self.origin) @ self.basis.T

    def rows(self, Z: Floats) -> Floats:
        """Return the rows in the plane of the view that are drawn at some spots, shape (n, d)."""
        return self.origin + Z @ self.basis

    def planes(self, W: Floats, b: Any) -> Floats:
        """Return planes as they cut the view: weights of shape (..., d) become two weights and an offset, (..., 3)."""
        return np.concatenate((W @ self.basis.T, (W @ self.origin + b)[..., None]), axis=-1)
