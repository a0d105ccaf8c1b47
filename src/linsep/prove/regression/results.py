"""The ``Separation`` result: statuses, evidence, and what can still be estimated."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.problem import Array
from linsep.prove.check.linsep_check import SEPARATED
from linsep.prove.linear_algebra.algebra import entries, one_column, primitive
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.regression.cone import RegressionFace, own_rows, whole
from linsep.prove.regression.documents import certificate, check_claims, document, response_of
from linsep.prove.regression.families import Model
from linsep.prove.regression.inputs import Given, gather
from linsep.prove.regression.predictions import Refit, limiting, predicted
from linsep.prove.regression.responses import ORDERED
from linsep.prove.regression.statuses import ALIASED, DOWN, FINITE, UNDETERMINED, UP, Statuses, contrast
from linsep.prove.regression.words import summary
from linsep.wording import digits

COMPLETE, QUASI, OVERLAP = "complete", "quasi", "overlap"


def kind_of(separated: Array) -> str:
    """Return the kind of separation, by which constraints are separated."""
    return OVERLAP if not separated.any() else COMPLETE if separated.all() else QUASI


class Coefficient(NamedTuple):
    """A coefficient, its status, and the rows (observations, from 0) that prove it.

    Examples
    --------
    >>> import linsep
    >>> linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1]).coefficients[0]
    Coefficient(name='Intercept', status='finite', rows=(0,))
    """

    name: str
    status: str
    rows: tuple[int, ...]


class Separation:
    """Which coefficients have a finite maximum likelihood estimate, with the proof.

    Attributes
    ----------
    kind : {"complete", "quasi", "overlap"}
        Only with "overlap" does the maximum likelihood estimate exist.
    coefficients : list of (name, status, rows)
        ``status`` is "finite", "+inf", "-inf", "undetermined" or "aliased"; ``rows`` prove it.
    separated, rest : ndarray
        Observations that maximum likelihood fits perfectly in the limit, and the others. Observations of weight 0 are
        in neither.
    direction : tuple of int
        In this direction of the coefficients the likelihood rises forever; it is generic, so every separated row moves.
    dimension : int
        Number of independent such directions.
    rank : int
        Rank of the design.
    estimable : list of dict
        A basis of the functions of the coefficients that have a finite estimate: coefficient names to numbers.
    names : list of str
    notes : list of str
    given, model, face
        What the answer is made of: the model as it was given, its constraints, and the face of their cone.

    Examples
    --------
    >>> import linsep
    >>> found = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1], names=["dose"])
    >>> found
    Separation(quasi: dose +inf; 2 of 4 rows separated)
    >>> found.status("Intercept + dose"), found.status("Intercept")
    ('+inf', 'finite')
    """

    def __init__(self, given: Given, model: Model, face: RegressionFace, notes: list[str]) -> None:
        self.given, self.model, self.face = given, model, face
        self.listed = len(model.names) - given.hidden  # coefficients that are shown, the first ones
        self.names, self.notes, self.family = model.names, notes, given.family
        self._finder = Statuses(face)
        self.dimension, self.rank = face.dimension, len(face.columns)
        self.position = {unknown: k for k, unknown in enumerate(face.columns)}
        self.split = face.separated[model.system.ids]
        self.kind = kind_of(self.split)
        self.statuses = [self._coefficient_status(j) for j in range(len(self.names))]

    # -----------------------------------------------------------------------------------------------------------
    # What was found

    @cached_property
    def separated(self) -> Array:
        """Observations all of whose rows are separated."""
        owners = np.stack((self.model.first, self.model.second))
        unseparated = owners[:, ~self.split]
        return np.setdiff1d(owners[owners >= 0], unseparated)

    @cached_property
    def rest(self) -> Array:
        """Observations that still matter."""
        return np.setdiff1d(self.given.which, self.separated)

    @cached_property
    def direction(self) -> tuple[int, ...]:
        """The generic direction in integers without a common divisor."""
        return tuple(self.by_coefficient(self.face.direction))

    def by_coefficient(self, g: list[int]) -> list[int]:
        """Return unknowns of the face as numbers by coefficient."""
        pairs = zip(self.model.order, self.model.scales, strict=True)
        return primitive([g[self.position[u]] * scale if u in self.position else 0 for u, scale in pairs])

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """Name, status and rows of every coefficient."""
        parts = zip(self.names[: self.listed], self.statuses, strict=False)
        return [Coefficient(name, status, self._rows_of(self._proved(j))) for j, (name, status) in enumerate(parts)]

    @cached_property
    def evidence(self) -> list[Any]:
        """The evidence for every coefficient, as ``statuses.Status``; None for aliased ones."""
        return [self._proved(j) for j in range(len(self.names))]

    def _proved(self, j: int) -> Any:
        return None if self.statuses[j] == ALIASED else self._finder.proved(self._unit(j))

    def _rows_of(self, proved: Any) -> tuple[int, ...]:
        if proved is None:
            return ()
        if proved.combination is None:
            return tuple(self.separated.tolist())
        rows = np.searchsorted(self.model.system.ids, proved.combination.rows)
        owners = np.concatenate((self.model.first[rows], self.model.second[rows]))
        return tuple(np.unique(owners[owners >= 0]).tolist())

    @cached_property
    def estimable(self) -> list[dict[str, Fraction]]:
        """A basis of the functions that have a finite estimate."""
        kept, coefficient = self.face.columns, {unknown: j for j, unknown in enumerate(self.model.order)}
        table = [[int(value) for value in row] for row in self.face.span.tolist()]
        single, functions = own_rows(self.face.span), []
        for i in [i for i in range(len(kept)) if i not in single.values()]:
            parts = {i: Fraction(1)} | {free: Fraction(-table[i][k], table[free][k]) for k, free in single.items()}
            numbers = {coefficient[kept[k]]: value for k, value in parts.items() if value}
            numbers = {j: value / self.model.scales[j] for j, value in numbers.items()}
            unit = numbers[coefficient[kept[i]]]
            for at, v in self.alias_vectors if self.given.alias == "keep" else ():  # as the columns depended on ask for
                along = sum((value * v[j] for j, value in numbers.items() if j != at), Fraction(0))
                numbers[at] = -along / v[at]
            functions.append({self.names[j]: numbers[j] / unit for j in sorted(numbers) if numbers[j]})
        return functions

    @property
    def aliased(self) -> dict[str, dict[str, Fraction]]:
        """Columns that depend on others, each with the columns it depends on."""
        names, parts = self.names, {}
        for at, v in self.alias_vectors:
            if at < self.listed:
                parts[names[at]] = {names[j]: -value / v[at] for j, value in enumerate(v) if value and j != at}
        return parts

    @cached_property
    def alias_vectors(self) -> list[tuple[int, list[Fraction]]]:
        """Coefficients outside the columns that are kept, each with a vector by coefficient that all rows are 0 on."""
        N, model = self.face.aliases, self.model
        vectors = []
        for k in range(N.ncols()):
            v = [Fraction(int(N[u, k]) * scale) for u, scale in zip(model.order, model.scales, strict=True)]
            at = next(j for j, unknown in enumerate(model.order) if v[j] and unknown not in self.position)
            vectors.append((at, v))
        return vectors

    # -----------------------------------------------------------------------------------------------------------
    # Functions of the coefficients

    def status(self, c: Any) -> str:
        """Return the status of a linear function of the coefficients.

        Parameters
        ----------
        c : sequence of numbers, mapping of names to numbers, or str
            One number for every coefficient, or a text such as ``"a - b"`` or ``"2*a + b/3"``.

        Returns
        -------
        status : str

        Examples
        --------
        >>> import linsep
        >>> found = linsep.separation([[0, 1], [0, 0], [1, 0], [1, 1]], [0, 1, 1, 1], names=["a", "b"])
        >>> found.status("a"), found.status("a + b")
        ('+inf', 'undetermined')
        """
        return self.status_of(contrast(c, self.names))

    def status_of(self, c: list[Fraction]) -> str:
        """Return the status of a function with one number for every coefficient."""
        inner = self._inner(c)
        if inner is None:
            return ALIASED
        status = self._finder.status(inner)
        if self.empty and status in (UP, DOWN) and not sum(a * b for a, b in zip(c, self._closed, strict=True)):
            return UNDETERMINED  # what only the gap of an empty category moves need not move
        return status

    @cached_property
    def empty(self) -> list[int]:
        """Numbers of the categories of an ordinal model that have no row that counts."""
        if self.family != "ordinal":
            return []
        codes, classes = self.given.labels
        return sorted(set(range(len(classes))) - set(codes[self.given.which].tolist()))

    @cached_property
    def _closed(self) -> list[int]:
        """The generic direction with the thresholds around empty categories made one.

        The likelihood rises as much along it: raising the lower threshold of an empty category to its upper one makes
        the rows below likelier and no row less likely; at the lower end lowering the upper one does.
        """
        direction, K = list(self.direction), len(self.model.classes)
        first = next(k for k in range(K) if k not in self.empty)
        for k in range(first + 1, K - 1):
            if k in self.empty:
                direction[k] = direction[k - 1]
        for k in range(first - 1, 0, -1):
            direction[k - 1] = direction[k]
        return direction

    def _inner(self, c: list[Fraction]) -> dict[int, int] | None:
        """Return a function in the unknowns of the face, times a positive number; None if it is not estimable."""
        model, face = self.model, self.face
        scaled = [Fraction(0)] * len(c)
        for j, unknown in enumerate(model.order):
            scaled[unknown] = c[j] * model.scales[j]
        if face.aliases.ncols():
            dropped = any(value for unknown, value in enumerate(scaled) if unknown not in self.position)
            asked = dropped or self.given.alias == "keep"
            if asked and any(entries(one_column(whole(scaled)).transpose() * face.aliases)):
                return None
        kept = [scaled[unknown] for unknown in face.columns]
        return {k: value for k, value in enumerate(whole(kept)) if value}

    def _unit(self, j: int) -> dict[int, int]:
        """Return the unit vector of a coefficient that is kept, exactly as large as its column."""
        return {self.position[self.model.order[j]]: self.model.scales[j]}

    def _coefficient_status(self, j: int) -> str:
        unknown, aliases = self.model.order[j], self.face.aliases
        shared = self.given.alias == "keep" and any(aliases[unknown, k] for k in range(aliases.ncols()))
        return ALIASED if shared or unknown not in self.position else self._finder.status(self._unit(j))

    def predict_status(self, X: Any) -> Array:
        """Return, for new rows, whether maximum likelihood gives them a probability of exactly 0 or 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or frame
            Columns as those of the design, without the intercept that ``fit_intercept`` adds. If a formula gave the
            model, a frame with the columns that it names.

        Returns
        -------
        statuses : ndarray of str
            "0", "1" (a probability; of a count "0" or "infinite" is its mean), "inside", "undetermined" or "aliased";
            shape (m, classes) for multinomial and ordinal models, (m,) for others. Of conditional and Cox models it
            is the status of the linear predictor.

        Examples
        --------
        >>> import linsep
        >>> found = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1])
        >>> found.predict_status([[0], [2], [-1]]).tolist()
        ['inside', '1', '0']
        """
        return predicted(self, X)

    # -----------------------------------------------------------------------------------------------------------
    # The proof

    def check(self, X: Any = None, y: Any = None, plain: bool = False, **others: Any) -> bool:
        """Return whether the proof holds for these data, in exact arithmetic.

        Parameters
        ----------
        X, y : as given to ``separation``
            By default the same data.
        plain : bool, default=False
            Check with Python's integers alone, which takes longer.
        **others
            ``strata``, ``weights`` and ``absorb`` of other data; the order of labels is that of the proof.

        Returns
        -------
        holds : bool

        Examples
        --------
        >>> import linsep
        >>> found = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1])
        >>> found.check(), found.check(plain=True), found.check([[0], [0], [1], [1]], [0, 1, 0, 1])
        (True, True, False)
        """
        given = self.given
        if X is not None:
            options = {
                "family": given.family, "names": list(given.names)[: len(given.names) - given.hidden],
                "fit_intercept": given.offset, "values": given.values, "alias": given.alias, **others,
            }  # fmt: skip
            if given.family in ORDERED:
                options["order"] = self.model.classes
            try:
                given = gather(X, y, options)
            except ValueError:
                return False
        roles, columns = response_of(given)
        claimed = self.certificate()
        if claimed["response"] != roles or claimed["names"] != list(given.names):
            return False
        return check_claims(claimed, given.X, columns, plain=plain).holds

    def to_json(self, *, note: str | None = None) -> str:
        """Return the proof as a JSON document about these data.

        Parameters
        ----------
        note : str, optional
            Your own remark, kept in the document.

        Returns
        -------
        text : str

        Examples
        --------
        >>> import linsep
        >>> X, y = [[0], [0], [1], [1]], [0, 1, 1, 1]
        >>> linsep.verify(linsep.separation(X, y).to_json(), X, y)
        True
        """
        return document(self, None, {}, note)

    def certificate(self) -> dict[str, Any]:
        """Return all claims with their evidence, as plain data for a JSON document.

        Returns
        -------
        certificate : dict

        Examples
        --------
        >>> import linsep
        >>> linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1]).certificate()["direction"]
        ['0', '1']
        """
        return certificate(self)

    def refit(self) -> Refit:
        """Return the rows and columns of the limiting conditional model, ready for statsmodels or scikit-learn.

        Returns
        -------
        refit : Refit

        Examples
        --------
        >>> import linsep
        >>> linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1]).refit()
        Refit(2 rows, columns ['Intercept']; left out: 2 rows, 1 columns)
        """
        return limiting(self)

    # -----------------------------------------------------------------------------------------------------------
    # Words

    def to_frame(self) -> Any:
        """Return the coefficients as a pandas frame.

        Returns
        -------
        frame : pandas.DataFrame

        Examples
        --------
        >>> import linsep
        >>> linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1]).to_frame()["status"].tolist()
        ['finite', '+inf']
        """
        import pandas as pd

        shown = self.listed
        columns = {
            "name": self.names[:shown],
            "status": self.statuses[:shown],
            "direction": [digits(value) for value in self.direction[:shown]],
            "rows": [list(each.rows) for each in self.coefficients],
        }
        return pd.DataFrame(columns)

    def summary(self) -> str:
        """Return the result as a table and sentences.

        Returns
        -------
        text : str

        Examples
        --------
        >>> import linsep
        >>> print(linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1], names=["dose"]).summary())
        Separation in a binomial model: quasi-complete separation: the maximum likelihood estimate does not exist
        rows       4, of which 2 are separated (fitted perfectly in the limit)
        columns    2 of rank 2; the likelihood rises forever in 1 direction
        <BLANKLINE>
        coefficient  status  direction
        Intercept    finite          0
        dose         +inf            1
        <BLANKLINE>
        Decided in exact arithmetic by linsep; you can check the proof of every status.
        """
        return summary(self)

    def __repr__(self) -> str:
        pairs = list(zip(self.names, self.statuses, strict=True))[: self.listed]
        infinite = [f"{n} {s}" for n, s in pairs if s not in (FINITE, ALIASED)]
        aliased = [n for n, s in pairs if s == ALIASED]
        shown = ", ".join(infinite[:4]) + (f" and {len(infinite) - 4} more" if len(infinite) > 4 else "")
        parts = [shown] if infinite else ["all coefficients finite"]
        if aliased:
            parts.append(f"{len(aliased)} aliased")
        if self.kind != OVERLAP:
            parts.append(f"{len(self.separated)} of {len(self.given.which)} rows separated")
        return f"Separation({self.kind}: {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = list(zip(self.names, self.statuses, self.direction, strict=True))[: self.listed]
        headline = f"{SEPARATED[self.kind]}; {len(self.separated):,} of {len(self.given.which):,} rows separated"
        proof = "Every status is proved in exact arithmetic; check() verifies it."
        return notebook_html(headline, proof, rows, ("coefficient", "status", "direction"))
