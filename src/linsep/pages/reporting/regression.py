"""The report's section on logistic regression: which coefficients are finite."""

from __future__ import annotations

from html import escape
from typing import Any

from linsep.pages.checker import carried
from linsep.pages.reporting.pieces import paragraph, section, table
from linsep.pages.reporting.proofs import checkable
from linsep.pages.reporting.study import Study
from linsep.prove.check.linsep_check import SEPARATED
from linsep.prove.claims import OVERLAP, QUASI, SEPARABLE
from linsep.prove.regression.documents import document
from linsep.prove.regression.separations import separation
from linsep.prove.regression.words import sentences

_COLUMNS = 30  # up to which every coefficient is decided here
_CELLS = 100_000
_SHOWN = 24  # coefficients that are listed
_ROWS = 8  # of those that prove a status
_KINDS = {SEPARABLE: "complete", QUASI: "quasi", OVERLAP: "overlap"}


def regression(found: Study) -> str:
    """Return the section for two classes; nothing for more, or where nothing is proved."""
    kind = _KINDS.get(found.verdict.kind)
    if len(found.classes) != 2 or kind is None:
        return ""
    words = (
        "A <b>logistic regression</b> fits these rows by maximum likelihood. It has a finite answer only where "
        "the classes overlap; otherwise the likelihood rises forever as some coefficients grow, and programs stop "
        "somewhere."
    )
    parts = [paragraph(words, "student")]
    if found.features > _COLUMNS or found.stored > _CELLS:
        said = f"{SEPARATED[kind].capitalize()}. <code>linsep regression</code> says it of every coefficient."
        return section("regression", "Logistic regression", *parts, paragraph(said))
    names = [found.name(j) for j in range(found.features)]
    with found.timed("separation"):
        result = separation(
            found.given, found.y, names=names, fit_intercept=found.fit_intercept, values=found.verdict.values
        )
        rows = [
            [escape(name), f"<b>{status}</b>" if status.endswith("inf") else status, _listed(proving)]
            for name, status, proving in result.coefficients[:_SHOWN]
        ]
        told = sentences(result, "the label")
    parts.append(paragraph(f"<b>{SEPARATED[result.kind].capitalize()}.</b>"))
    parts += [paragraph(f"{escape(text)}.") for text in told]
    parts.append(table(["coefficient", "estimate", "proved by rows"], rows))
    if len(result.names) > _SHOWN:
        parts.append(paragraph(f"{_SHOWN} of {len(result.names):,} coefficients are listed."))
    parts.append(
        paragraph(
            f"The response is {escape(str(found.classes[1]))} against {escape(str(found.classes[0]))}.", "student"
        )
    )
    parts.append(checkable(found, "separation", carried(document(result, _reading(found), {}))))
    return section("regression", "Logistic regression", *parts)


def _reading(found: Study) -> dict[str, Any] | None:
    """Return how a file became the rows, None if gaps are levels: those of a model are not."""
    how = found.reading
    if (
        how is None
        or how["missing"] in ("zero", "indicator")
        or any(c.get("level", "") is None for c in how["columns"])
    ):
        return None
    return {**how, "others": []}


def _listed(rows: tuple[int, ...]) -> str:
    shown = ", ".join(f"{row:,}" for row in rows[:_ROWS])
    return f"{shown} … {len(rows):,} in all" if len(rows) > _ROWS else shown or "—"
