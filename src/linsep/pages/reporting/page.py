"""The HTML page of a report: its sections, one function each, for any screen width and for print."""

from __future__ import annotations

import base64
import hashlib
import math
from html import escape
from importlib.metadata import version
from typing import Any

import numpy as np

from linsep.figures.plane import PlaneDisplay
from linsep.figures.planes import PlanesDisplay
from linsep.figures.regions import RegionsDisplay
from linsep.figures.row_margins import MarginsDisplay
from linsep.figures.runs import BracketDisplay, PassesDisplay, TheoremDisplay
from linsep.pages.checker import as_data, carried, proof_of, script
from linsep.pages.reporting.pieces import (
    between,
    facts_list,
    figure,
    fraction,
    number,
    paragraph,
    percent,
    section,
    table,
)
from linsep.pages.reporting.study import Study
from linsep.pages.reporting.words import CSS, SEVERAL, TERMS, VERDICTS
from linsep.prove.check.linsep_check import SEPARATED
from linsep.prove.claims import OVERLAP, QUASI, SEPARABLE, UNKNOWN
from linsep.prove.documents import checker_program
from linsep.prove.regression.documents import document
from linsep.prove.regression.separations import separation
from linsep.prove.regression.words import sentences
from linsep.wording import INEXACT, bound_in_numbers, margin_form, stopped_words, verdict_meaning, verdict_title

_SMALL = 200_000  # cells up to which further runs, in other orders, cost nothing to speak of
_CELLS = 6  # features up to which rows are written out
_FORMS = {
    "affine": "the distance from a plane to its nearest row, as people draw it",
    "augmented": "the same for the points (x, 1), as the mistake bound needs it",
    "origin": "the distance from a plane through the origin to its nearest row",
}
_SHOWN = 12  # entries of a table before the rest is left out
_COLUMNS, _DECIDED = 30, 100_000  # features and cells up to which every coefficient is decided here
_PROVING = 8  # rows of those that prove a status
_KINDS = {SEPARABLE: "complete", QUASI: "quasi", OVERLAP: "overlap"}


_MOUNT = """
const read = (name) => document.getElementById(name)?.textContent;
const data = linsepChecker.tableOf(JSON.parse(read("linsep-data") ?? "null"));
for (const host of document.querySelectorAll(".check")) {
  linsepChecker.mountChecker(host, { proof: () => read(`linsep-proof-${host.dataset.proof}`), data: () => data });
}
"""


def page(study: Study, title: str) -> str:
    """Return the page."""
    with study.timed("figures"):
        parts = [
            summary(study),
            verdict(study),
            fewest(study),
            run(study),
            bound(study),
            margins(study),
            unseen(study),
            regression(study),
            weights(study),
            terms(),
        ]
    parts.append(colophon(study))
    code = f"{script()}{_MOUNT}".replace("</script", "<\\/script") if study.documents else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + f"\n</main>\n{_carried(study)}"
        + (f"<script>{code}</script>\n" if code else "")
        + "</body>\n</html>\n"
    )


def _carried(study: Study) -> str:
    """Return the proofs and, if they are not too many, the rows that they are about, as data of the page."""
    if not study.documents:
        return ""
    parts: list[tuple[str, Any]] = [(f"linsep-proof-{name}", text) for name, text in study.documents.items()]
    parts.append(("linsep-data", study.table))
    return "".join(
        f'<script type="application/json" id="{name}">{as_data(content)}</script>\n'
        for name, content in parts
        if content is not None
    )


def checkable(study: Study, name: str, document: str | None) -> str:
    """Return the button that checks a proof, with the proof to take away; nothing if there is none."""
    if document is None:
        return ""
    first, file = not study.documents, "proof.json" if name == "verdict" else f"{name}.json"
    study.documents[name] = document
    words = (
        "You need not believe this page. The button checks the proof again in your browser, in whole numbers, with "
        "code that shares nothing with linsep's own. To check it elsewhere, take "
        f"{_link(file, 'application/json', document)} and "
        f"{_link('linsep_check.py', 'text/x-python', checker_program())}, a program that needs Python and nothing "
        f"else: <code>python linsep_check.py {file} DATA.csv</code>; or "
        f"<code>linsep verify {file} DATA</code>."
        if first
        else f"This can be checked in the same way; the proof is {_link(file, 'application/json', document)}."
    )
    return paragraph(words) + f'<div class="check" data-proof="{name}"></div>'


def _link(name: str, kind: str, text: str) -> str:
    return f'<a download="{name}" href="data:{kind};base64,{base64.b64encode(text.encode()).decode()}">{name}</a>'


def summary(study: Study) -> str:
    """Return what matters most, at a glance."""
    model, kind = study.model, study.verdict.kind
    classes = [f"{escape(str(label))} ({size:,})" for label, size in zip(study.classes, study.sizes, strict=True)]
    if len(classes) > _SHOWN:
        classes = [*classes[:_SHOWN], f"… {len(classes)} in all"]
    cells = f"{study.rows:,} rows of {study.features:,} feature{'s' * (study.features != 1)}"
    if study.sparse:
        cells += f", {study.stored / max(1, study.rows * study.features):.2%} of the cells not zero"
    title = verdict_title(kind, study.fit_intercept)
    headline = f"{title}: {verdict_meaning(kind, study.fit_intercept, len(study.classes) > 2)}."
    facts = [
        ("data", cells),
        ("classes", ", ".join(classes)),
        ("planes", "with offset" if study.fit_intercept else "through the origin"),
        ("run", f"{model.mistakes_:,} mistakes in {model.n_iter_:,} passes, stopped: <b>{model.stop_reason_}</b>"),
    ]
    if study.bound is not None:
        facts.append(("mistake bound", f"at most {number(study.bound.mistakes)} mistakes, in any order"))
    for margin in (study.affine, study.margin):
        if margin is not None:
            value = f"{between(margin.lower, margin.upper)}: {_FORMS[margin.form]}"
            facts.append((f"largest margin, {margin.form}", value))
    if study.unseen is not None:
        held = study.unseen.held_out
        facts.append(
            ("error on new rows", f"{percent(held.lower)} to {percent(held.value)}, at confidence {1 - study.delta:g}")
        )
    return section("summary", "At a glance", f'<p class="verdict {kind}">{headline}</p>', facts_list(facts))


def verdict(study: Study) -> str:
    """Return the verdict with its proof."""
    verdict = study.verdict
    parts = [paragraph((VERDICTS if len(study.classes) == 2 else SEVERAL)[verdict.kind], "student")]
    if study.ties is not None:
        parts.append(facts_list([(name, escape(line)) for name, line in study.ties.words().items()]))
    if verdict.refutation is not None and not study.fit_intercept:
        parts.append(
            paragraph(
                "All of this is about planes <b>through the origin</b>. A plane with an offset may still separate the "
                "rows."
            )
        )
    if verdict.separator is not None:
        exact = (
            "fractions" if verdict.separator.w.dtype == object else "double precision numbers, which are fractions too"
        )
        strictly = "strictly on its side" if verdict.kind == SEPARABLE else "on its side or on the plane"
        parts.append(
            paragraph(
                f"Proof: a plane, given in {exact}. In exact arithmetic every one of the {study.rows:,} rows is "
                f"{strictly}."
            )
        )
        if verdict.kind == SEPARABLE and study.model.stop_reason_ == "separated":
            parts.append(paragraph("It is the plane that the perceptron ended with, in the run described below."))
    if verdict.refutation is not None:
        parts += _refutation(study)
    if verdict.kind == UNKNOWN:
        low, high = verdict.bracket
        parts.append(
            paragraph(
                f"The search ended at its time limit. If there is a margin, it is between {number(low)} and "
                f"{number(high)}."
            )
        )
    parts.append(checkable(study, "verdict", study.document))
    return section("verdict", "Verdict and proof", *parts)


def _refutation(study: Study) -> list[str]:
    refutation = study.verdict.refutation
    assert refutation is not None
    total = len(refutation.rows)
    heaviest = sorted(range(total), key=lambda k: -refutation.multipliers[k])[: 2 * _SHOWN]
    whole = sum(refutation.multipliers)
    many = len(study.classes) > 2
    names, named = _row_names(study, refutation.rows[heaviest])
    head = [*names, "label", *_feature_names(study), *(["held against"] if many else [])]
    rows = []
    for k, name in zip(heaviest, named, strict=True):
        row = [*name, *_row(study, int(refutation.rows[k]))]
        row += [escape(str(study.classes[refutation.rivals[k]]))] if many else []
        multiplier = refutation.multipliers[k]
        rows.append([*row, f"{float(multiplier / whole):.6g}", fraction(multiplier)])
    head += ["share", "exact multiplier"]
    more = f" The {len(rows)} heaviest are listed." if len(rows) < total else ""
    same = ""
    if total == 2:
        same = " Two rows that are the same point with different labels are already a contradiction."
    meaning = (
        "With these multipliers the mean of the rows of one label is, exactly, the mean of those of the other. A plane "
        "with all of them on their sides would have that one point on both sides."
    )
    if not study.fit_intercept:
        meaning = (
            "With these multipliers, and a minus before the rows of one label, they add up to exactly 0. A plane "
            "through the origin with all of them on their sides would give that sum a positive score."
        )
    if len(study.classes) > 2:
        meaning = (
            "With these multipliers the rows of each class and the rows held against it balance exactly, so that no "
            "weights can give all of them the strictly highest score for their own class."
        )
    return [
        paragraph(f"Proof: {total:,} rows contradict each other; the first row is row 0. {meaning}{same}{more}"),
        table(head, rows),
    ]


def fewest(study: Study) -> str:
    """Return how far the rows are from separable, and which stand in the way; nothing if that is not known."""
    errors = study.fewest
    if errors is None:
        return ""
    words = (
        "How far from separable are the rows? A row <b>stands in the way</b> if it is on the wrong side of the plane "
        "with the fewest errors, or on that plane. If you remove these rows, or with an offset change their labels, "
        "some plane separates the rest. Look at them: a label may be wrong. In many dimensions a plane fits nearly any "
        "labels, and this list says little."
    )
    share = f"of {study.rows:,} rows are wrong under"
    if errors.proved:
        answer = f"<b>{errors.upper:,} {share} the best plane</b>; linsep proved that no plane has fewer errors."
    else:
        answer = (
            f"<b>At least {errors.lower:,} and at most {errors.upper:,} {share} the best plane</b>; both bounds are "
            "proved. <code>linsep errors</code> with a longer time limit narrows them."
        )
    shown = errors.rows[: 2 * _SHOWN].tolist()
    names, named = _row_names(study, shown)
    rows = [
        [*name, *_row(study, i), number(float(depth))]
        for i, name, depth in zip(shown, named, errors.depths, strict=False)
    ]
    head = [*names, "label", *_feature_names(study), "depth on the wrong side"]
    more = f" The {len(rows)} deepest are listed." if len(rows) < len(errors.rows) else ""
    rest = paragraph(f"{answer} Rows are numbered from 0.{more}")
    X = study.exact if errors.values == study.verdict.values else study.X
    proof = checkable(study, "fewest-errors", proof_of(errors, X, study.y, study.reading))
    return section("fewest", "Rows that stand in the way", paragraph(words, "student"), rest, table(head, rows), proof)


def _feature_names(study: Study) -> list[str]:
    """Return the names of the features, if they are few enough to write rows out."""
    return [escape(study.name(j)) for j in range(study.features)] if study.features <= _CELLS else []


def _row_names(study: Study, rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return what rows are called, below heads of columns: their numbers in the file and, of a text, their lines."""
    numbers = study.dropped.in_source(rows).tolist()
    locations = study.locate(numbers) if numbers else []
    if locations is None:
        return ["row"], [[f"{number:,}"] for number in numbers]
    lines = [f"{escape(place.file)}:{place.line}" if place.file else f"{place.line}" for place in locations]
    return ["row", "line"], [[f"{n:,}", line] for n, line in zip(numbers, lines, strict=True)]


def _row(study: Study, i: int) -> list[str]:
    """Return the label and, if they are few, the features of a row."""
    row = [escape(str(study.y[i]))]
    if study.features <= _CELLS:
        cells = study.X[[i]]
        row += [number(float(cell)) for cell in np.asarray(cells.todense() if study.sparse else cells).ravel()]
    return row


def run(study: Study) -> str:
    """Return the run of the perceptron, pass by pass."""
    model = study.model
    words = (
        "The perceptron visits one row after another. A row on the wrong side of the plane, or on it, is a "
        "<b>mistake</b>: the perceptron adds the row to the weights, or subtracts it. Otherwise nothing changes."
    )
    facts = [
        ("mistakes k", f"{model.mistakes_:,}, on {np.count_nonzero(model.mistake_counts_):,} different rows"),
        ("passes", f"{model.n_iter_:,}"),
        (
            "stop reason",
            f"<b>{model.stop_reason_}</b>: {stopped_words(model.stop_reason_, model.history_['margin_bound'][-1])}",
        ),
        ("training errors", f"{model.training_errors_:,} of {study.rows:,} rows on the wrong side at the end"),
    ]
    parts = [paragraph(words, "student"), facts_list(facts)]
    parts.append(figure(PassesDisplay.from_estimator(model), "Mistakes and loss of each pass."))
    return section("run", "The run", *parts)


def bound(study: Study) -> str:
    """Return the mistake bound, and its proof along the run."""
    words = (
        "Novikoff's theorem: if all rows are at most R long and some plane keeps at least γ from all of them, the "
        "perceptron makes at most (R/γ)² mistakes, whatever the order and the number of rows or features. Each "
        "mistake makes w·u larger, u being the direction of that plane, and none makes the weights grow by much."
    )
    if study.fit_intercept:
        words += " With an offset, the theorem is about the points (x, 1), whose squared length is at most R² + 1."
    if len(study.classes) > 2:
        words += " With more than two classes, a mistake moves two weight vectors, hence the factor 2."
    parts = [paragraph(words, "student")]
    if study.bound is None or study.margin is None:
        answer = "The largest margin is not known here, and the run gave no lower bound on it."
        if study.verdict.refutation is not None:
            through = "" if study.fit_intercept else " through the origin"
            answer = f"No plane{through} separates these rows, so there is no margin and no bound: mistakes never end."
        display = BracketDisplay.from_trail(study.model, study.trail, None).plot()
        caption = "No plane has a margin above ‖w‖/(ηk). If no plane separates the rows, it falls to 0."
        return section("bound", "The mistake bound", *parts, paragraph(answer), figure(display, caption))
    parts.append(facts_list(_bound_facts(study)))
    if not study.searched:
        parts.append(
            paragraph(
                "With this many features the report does not search for the largest margin: its bounds come from the "
                "run. <code>linsep.largest_margin</code> finds narrower ones."
            )
        )
    if study.audit is not None and math.isfinite(study.bound.upper):
        caption = (
            "The proof along the run: the norm ‖w‖ stays below one curve, the progress w·u above the other. No run "
            "continues past the point where the curves cross."
        )
        parts.append(figure(TheoremDisplay(study.audit).plot(), caption))
    display = BracketDisplay.from_trail(study.model, study.trail, (study.margin.lower, study.margin.upper)).plot()
    caption = "The run alone bounds the largest margin: from above at every mistake, from below at the end."
    return section("bound", "The mistake bound", *parts, figure(display, caption))


def _bound_facts(study: Study) -> list[tuple[str, str]]:
    """Return the numbers of the mistake bound and what the audit of its proof found."""
    bound = study.bound
    assert bound is not None
    facts = [
        ("radius R", f"{number(bound.radius)}, the length of the longest row"),
        (
            f"largest margin γ, {bound.margin.form}",
            f"{between(bound.margin.lower, bound.margin.upper)}: {_FORMS[bound.margin.form]}",
        ),
    ]
    if math.isfinite(bound.upper):
        limit = bound_in_numbers(bound.formula, radius=bound.radius, margin=bound.margin.lower, limit=bound.upper)
        doubt = "" if bound.covers_floats else f". {INEXACT}"
        facts.append(("bound", f"{limit}: at most {number(bound.mistakes)} mistakes{doubt}"))
        share = percent(study.model.mistakes_ / bound.mistakes)
        facts.append(("mistakes made", f"{study.model.mistakes_:,}, {share} of the bound"))
    else:
        facts.append((f"bound {bound.formula}", "not known: double precision does not bound γ from below"))
    if study.audit is not None:
        answer = f"every step holds, at each of the {study.audit.mistakes:,} mistakes"
        if not study.audit.holds:
            answer = f"<b>violated</b>: {escape(study.audit.violation or '')}"
        facts.append(("audit of the proof", answer))
    return facts


def margins(study: Study) -> str:
    """Return planes and how far they keep from the rows."""
    model = study.model
    words = (
        "The <b>margin</b> of a plane is its distance to the nearest row, negative if a row is on the wrong side. The "
        "perceptron stops at the first plane that separates the rows; the hard-margin support vector machine is the "
        "plane with the largest margin."
    )
    two = len(study.classes) == 2
    rows = [[f"of the perceptron's plane, {margin_form(study.fit_intercept)}", number(model.margin_), "—"]]
    for margin in (study.affine, study.margin):
        if margin is not None:
            support = f"{len(np.unique(margin.rows)):,}"
            rows.append([f"largest, {margin.form}", between(margin.lower, margin.upper), support])
    parts = [paragraph(words, "student"), table(["margin", "value", "support rows"], rows)]
    cloud = study.rows > 300
    if two and model.coef_.any():
        display: Any = PlaneDisplay.from_estimator(model, study.X, study.y)
        caption = "The plane of the run among the rows; larger marks had more mistakes."
        if study.features > 2:
            caption += (
                " The rows are projected on w and on the widest direction across it: distances to the plane are true."
            )
        parts.append(figure(display, caption, points=cloud))
    elif not two:
        display = RegionsDisplay.from_estimator(model, study.X, study.y)
        parts.append(figure(display, "The region of each class; rows that are wrong have a cross.", points=True))
    if model.coef_.any():
        parts.append(
            figure(MarginsDisplay.from_estimator(model, study.X, study.y), "The distances of the rows from the plane.")
        )
    if (
        two
        and study.margin is not None
        and study.searched
        and study.stored <= _SMALL
        and model.stop_reason_ == "separated"
    ):
        display = PlanesDisplay.from_data(study.X, study.y, fit_intercept=study.fit_intercept, shuffles=5)
        parts.append(
            figure(display, "Runs in other orders end at other planes; green has the largest margin.", points=cloud)
        )
    return section("margins", "Planes and margins", *parts)


def unseen(study: Study) -> str:
    """Return what is known about the error on new rows."""
    words = (
        "How well does the model predict new rows? Each answer holds with probability "
        f"{1 - study.delta:g} if the rows were drawn independently from one source. A bound of 1 or more is "
        "vacuous: it says nothing."
    )
    parts = [paragraph(words, "student")]
    if study.unseen is None or study.trained is None or study.split is None:
        return section("unseen", "New rows", *parts, paragraph("Not measured: too few rows to hold some out."))
    parts += _model(study.trained, study.split)
    for part in study.unseen:
        if not part.applies:
            value = f"does not apply: {escape(part.reason or '')}"
        elif part.vacuous:
            value = f"at most {number(part.value)}: <b>vacuous</b>"
        elif part.lower > 0:
            value = f"{percent(part.lower)} to {percent(part.value)}"
        else:
            value = f"at most {percent(part.value)}"
        why = "".join(f"<li>{escape(text)}</li>" for text in part.assumptions)
        facts = [("error on new rows", value), ("how", escape(part.formula)), ("assumes", f"<ul>{why}</ul>")]
        parts.append(f"<h3>{part.name.capitalize()}</h3>{facts_list(facts)}")
    return section("unseen", "New rows", *parts)


def _model(model: Any, split: tuple[Any, Any, Any, Any]) -> list[str]:
    """Return which model the errors on new rows are of, and how its errors went down."""
    scaling = getattr(model, "scaling_", {}).get("kind", "none")
    kept = "last" if model.returns_last else "average" if model.keep == "auto" else model.keep
    rows, wrong = model.training_rows_, model.training_errors_
    facts = [
        ("learner", f"{type(model).__name__}, weights kept: {kept}, scale: {scaling}"),
        ("rows to learn from", f"{model.record_.rows:,}, in a random but fixed order"),
        ("run", f"{model.n_iter_:,} passes, stopped: <b>{model.stop_reason_}</b>"),
        (
            "training error",
            f"{percent(wrong / rows)}; always the most frequent class would be wrong on "
            f"{percent(1 - model.majority_rows_ / rows)}",
        ),
    ]
    try:
        display = PassesDisplay.from_estimator(model, *split)
    except ValueError:  # only the perceptron's passes can be made again, and only from weights 0
        display = PassesDisplay.from_estimator(model)
    caption = f"Its passes. The error on the {split[2].shape[0]:,} held-out rows shows over- and underfitting."
    answer = "This is the model whose weights are listed below, and whose error on new rows is bounded here."
    return [paragraph(answer), facts_list(facts), figure(display, caption)]


def weights(study: Study) -> str:
    """Return the strongest weights."""
    model = study.trained or study.model
    W = model.coef_
    strength = np.abs(W).max(axis=0)
    order = np.argsort(-strength, kind="stable")[: 2 * _SHOWN]
    labels = ["weight"] if len(W) == 1 else [escape(str(label)) for label in study.classes[:_SHOWN]]
    rows = [
        [escape(study.name(int(j))), *(number(float(w)) for w in W[: len(labels), j])] for j in order if strength[j] > 0
    ]
    rows.append(["<i>offset</i>", *(number(float(b)) for b in model.intercept_[: len(labels)])])
    used = int(np.count_nonzero(strength))
    words = f"The score of a row is w·x + b. The table lists the strongest of {used:,} weights that are not 0."
    if len(W) == 1:
        words += f" Positive weights point to {escape(str(study.classes[1]))}."
    return section("weights", "Weights", paragraph(words, "student"), table(["feature", *labels], rows))


def regression(study: Study) -> str:
    """Return the section for two classes; nothing for more, or where nothing is proved."""
    kind = _KINDS.get(study.verdict.kind)
    if len(study.classes) != 2 or kind is None:
        return ""
    words = (
        "A <b>logistic regression</b> fits these rows by maximum likelihood. It has a finite answer only where "
        "the classes overlap; otherwise the likelihood rises forever as some coefficients grow, and programs stop "
        "somewhere."
    )
    parts = [paragraph(words, "student")]
    if study.features > _COLUMNS or study.stored > _DECIDED:
        answer = f"{SEPARATED[kind].capitalize()}. <code>linsep regression</code> says it of every coefficient."
        return section("regression", "Logistic regression", *parts, paragraph(answer))
    names = [study.name(j) for j in range(study.features)]
    with study.timed("separation"):
        result = separation(
            study.exact, study.y, names=names, fit_intercept=study.fit_intercept, values=study.verdict.values
        )
        rows = [
            [escape(name), f"<b>{status}</b>" if status.endswith("inf") else status, _listed(proving)]
            for name, status, proving in result.coefficients[: 2 * _SHOWN]
        ]
        texts = sentences(result, "the label")
    parts.append(paragraph(f"<b>{SEPARATED[result.kind].capitalize()}.</b>"))
    parts += [paragraph(f"{escape(text)}.") for text in texts]
    parts.append(table(["coefficient", "estimate", "proved by rows"], rows))
    if len(result.names) > 2 * _SHOWN:
        parts.append(paragraph(f"{2 * _SHOWN} of {len(result.names):,} coefficients are listed."))
    parts.append(
        paragraph(
            f"The response is {escape(str(study.classes[1]))} against {escape(str(study.classes[0]))}.", "student"
        )
    )
    parts.append(checkable(study, "separation", carried(document(result, _reading(study), {}))))
    return section("regression", "Logistic regression", *parts)


def _reading(study: Study) -> dict[str, Any] | None:
    """Return how a file became the rows, None if gaps are levels: those of a model are not."""
    reading = study.reading
    if (
        reading is None
        or reading["missing"] in ("zero", "indicator")
        or any(c.get("level", "") is None for c in reading["columns"])
    ):
        return None
    return {**reading, "others": []}


def _listed(rows: tuple[int, ...]) -> str:
    shown = ", ".join(f"{row:,}" for row in rows[:_PROVING])
    return f"{shown} … {len(rows):,} in all" if len(rows) > _PROVING else shown or "—"


def terms() -> str:
    """Return a sentence on every term."""
    entries = "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in TERMS)
    return section("terms", "Terms", f'<dl class="terms">{entries}</dl>')


def colophon(study: Study) -> str:
    """Return notes, version and times."""
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in study.seconds.items())
    notes = "".join(paragraph(escape(note), "note") for note in study.notes)
    return f"<footer>{notes}<p>linsep {version('linsep')}; {times}.</p></footer>"
