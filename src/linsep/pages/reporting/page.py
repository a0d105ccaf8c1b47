"""The page of a report: HTML with everything in it, for a screen of any width and for paper."""

from __future__ import annotations

import base64
import io
import math
from html import escape
from importlib.metadata import version
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from linsep.figures.plane import PlaneDisplay
from linsep.figures.planes import PlanesDisplay
from linsep.figures.regions import RegionsDisplay
from linsep.figures.row_margins import MarginsDisplay
from linsep.figures.runs import BracketDisplay, PassesDisplay, TheoremDisplay
from linsep.pages.reporting.study import Study
from linsep.pages.reporting.words import CSS, TERMS, VERDICTS
from linsep.prove.claims import OVERLAP, QUASI, SEPARABLE

_SMALL = 200_000  # cells up to which further runs, in other orders, cost nothing to speak of
_CELLS = 6  # features up to which rows are written out
_SHOWN = 12  # entries of a table before the rest is left out


def page(found: Study, title: str) -> str:
    """Return the page."""
    with found.timed("figures"):
        parts = [
            _summary(found),
            _verdict(found),
            _run(found),
            _bound(found),
            _margins(found),
            _unseen(found),
            _weights(found),
            _terms(),
        ]
    parts.append(_colophon(found))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


# ---------------------------------------------------------------------------------------------------------------
# Pieces


def _section(name: str, heading: str, *content: str) -> str:
    return f'<section id="{name}">\n<h2>{heading}</h2>\n' + "\n".join(content) + "\n</section>"


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text}</p>' if kind else f"<p>{text}</p>"


def _facts(rows: list[tuple[str, str]]) -> str:
    """Return names and values side by side."""
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows) + "</dl>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table that can be moved sideways where it is too wide."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(display: Any, caption: str, *, points: bool = False) -> str:
    """Return a figure as data of the page: lines as SVG, clouds of points as PNG."""
    figure, buffer = display.figure_, io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # once is enough: savefig would draw all of it twice, for the layout and to write
    if points:
        figure.set_dpi(150)
        canvas.print_png(buffer)
        kind = "image/png"
    else:
        canvas = FigureCanvasSVG(figure)
        with mpl.rc_context({"svg.hashsalt": "linsep"}):
            canvas.print_svg(buffer, metadata={"Date": None})
        kind = "image/svg+xml"
    plt.close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    plain = escape(caption.replace("<b>", "").replace("</b>", ""))
    return f'<figure><img alt="{plain}" src="data:{kind};base64,{data}"><figcaption>{caption}</figcaption></figure>'


def number(value: float) -> str:
    """Return a number as it is read best: whole numbers in full, others to six digits, with all digits on demand."""
    if value != value or math.isinf(value):
        return "∞" if value == math.inf else "not known"
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f'<span title="{value!r}">{value:.6g}</span>'


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


# ---------------------------------------------------------------------------------------------------------------
# Sections


def _summary(found: Study) -> str:
    model, kind = found.model, found.verdict.kind
    classes = [f"{escape(str(label))} ({size:,})" for label, size in zip(found.classes, found.sizes, strict=True)]
    if len(classes) > _SHOWN:
        classes = [*classes[:_SHOWN], f"… {len(classes)} in all"]
    cells = f"{found.rows:,} rows of {found.features:,} features"
    if found.sparse:
        cells += f", {found.stored / max(1, found.rows * found.features):.2%} of the cells not zero"
    headline, _ = VERDICTS[kind]
    facts = [
        ("data", cells),
        ("classes", ", ".join(classes)),
        ("planes", "with offset" if found.fit_intercept else "through the origin"),
        ("run", f"{model.mistakes_:,} mistakes in {model.n_iter_:,} passes, ended <b>{model.stop_reason_}</b>"),
    ]
    if found.bound is not None:
        facts.append(("mistake bound", f"at most {number(found.bound.mistakes)} mistakes, in any order"))
    if found.margin is not None:
        facts.append(("largest margin", _between(found.margin.lower, found.margin.upper)))
    if found.unseen is not None:
        held = found.unseen.held_out
        facts.append(
            (
                "error on new rows",
                f"{_percent(held.lower)} to {_percent(held.value)}, at confidence {1 - found.delta:g}",
            )
        )
    return _section("summary", "At a glance", f'<p class="verdict {kind}">{headline}</p>', _facts(facts))


def _between(low: float, high: float) -> str:
    """Return an interval, as one number where it is a narrow one."""
    if low == high or not math.isfinite(high):
        return number(low) if low == high else f"at least {number(low)}"
    width = (high - low) / max(abs(low), abs(high))
    if width < 1e-5:
        return f'<span title="between {low!r} and {high!r}">{high:.6g}</span>, known to {width:.1g} of it'
    return f"between {number(low)} and {number(high)}"


def _verdict(found: Study) -> str:
    verdict = found.verdict
    _, words = VERDICTS[verdict.kind]
    parts = [_p(words, "student")]
    if verdict.separator is not None:
        exact = (
            "fractions" if verdict.separator.w.dtype == object else "double precision numbers, which are fractions too"
        )
        strictly = "strictly on its side" if verdict.kind == SEPARABLE else "on its side or on the plane"
        parts.append(
            _p(
                f"Proof: a plane, given in {exact}. In exact arithmetic every one of the {found.rows:,} rows is "
                f"{strictly}."
            )
        )
        if verdict.kind == SEPARABLE and found.model.stop_reason_ == "separated":
            parts.append(_p("It is the plane that the perceptron ended with; its weights are listed below."))
    if verdict.refutation is not None:
        parts += _refutation(found)
    if verdict.kind not in (SEPARABLE, QUASI, OVERLAP):
        low, high = verdict.bracket
        parts.append(
            _p(
                f"The search ended at its time limit. If there is a margin, it is between {number(low)} and "
                f"{number(high)}."
            )
        )
    parts.append(
        _p("To check it again: <code>linsep.separate(X, y).check(X, y)</code>, which shares no code with the search.")
    )
    return _section("verdict", "Verdict and proof", *parts)


def _refutation(found: Study) -> list[str]:
    """Return the rows that contradict each other, with their weights."""
    refutation = found.verdict.refutation
    assert refutation is not None
    total = len(refutation.rows)
    heaviest = sorted(range(total), key=lambda k: -refutation.multipliers[k])[: 2 * _SHOWN]
    whole = sum(refutation.multipliers)
    few, many = found.features <= _CELLS, len(found.classes) > 2
    head = ["row", "label", *(["held against"] if many else [])]
    head += [escape(found.name(j)) for j in range(found.features)] if few else []
    rows = []
    for k in heaviest:
        i = int(refutation.rows[k])
        row = [f"{i:,}", escape(str(found.y[i]))]
        row += [escape(str(found.classes[refutation.rivals[k]]))] if many else []
        if few:
            cells = found.X[[i]]
            row += [number(float(cell)) for cell in np.asarray(cells.todense() if found.sparse else cells).ravel()]
        rows.append([*row, f"{float(refutation.multipliers[k] / whole):.6g}", _fraction(refutation.multipliers[k])])
    head += ["share", "exact weight"]
    more = f" The {len(rows)} heaviest are listed." if len(rows) < total else ""
    same = ""
    if total == 2:
        same = " Two rows that are the same point with different labels are already a contradiction."
    meaning = (
        "With these weights the mean of the rows of one label is, exactly, the mean of those of the other. A "
        "plane with "
        "all of them on their sides would have that one point on both sides."
    )
    if len(found.classes) > 2:
        meaning = (
            "With these weights the rows of each class and the rows held against it balance exactly, so that no "
            "weights "
            "can give all of them the strictly highest score for their own class."
        )
    return [
        _p(f"Proof: {total:,} rows contradict each other; the first row is row 0. {meaning}{same}{more}"),
        _table(head, rows),
    ]


def _fraction(weight: Any) -> str:
    """Return a fraction, a long one by its first digits, with all of them on demand."""
    text = str(weight)
    if len(text) <= 24:
        return escape(text)
    return f'<span title="{escape(text)}">{escape(text[:10])}… ({sum(c.isdigit() for c in text)} digits)</span>'


def _run(found: Study) -> str:
    model = found.model
    words = (
        "The perceptron looks at one row after another. A row on the wrong side of the plane, or on it, is a "
        "<b>mistake</b>: "
        "then the row is added to the weights, or taken off them. Nothing happens otherwise."
    )
    facts = [
        ("mistakes k", f"{model.mistakes_:,}, on {np.count_nonzero(model.mistake_counts_):,} different rows"),
        ("passes", f"{model.n_iter_:,}"),
        ("stop reason", f"<b>{model.stop_reason_}</b>: {TERMS_OF_STOP[model.stop_reason_]}"),
        ("training errors", f"{model.training_errors_:,} of {found.rows:,} rows on the wrong side at the end"),
    ]
    parts = [_p(words, "student"), _facts(facts)]
    if found.trained is not None and found.split is not None:
        display = PassesDisplay.from_estimator(found.trained, *found.split)
        parts.append(
            _figure(
                display,
                f"A run on {found.split[0].shape[0]:,} of the rows, in a fixed order, and what it makes of the other "
                f"{found.split[2].shape[0]:,} after each pass. Many passes can overfit, few can underfit.",
            )
        )
    else:
        parts.append(_figure(PassesDisplay.from_estimator(model), "Mistakes and loss of each pass."))
    return _section("run", "The run", *parts)


TERMS_OF_STOP = {
    "separated": "a full pass without a mistake",
    "max_iter": "the pass budget was spent",
    "max_updates": "the update budget was spent",
    "loss_plateau": "the loss did not go down any more",
    "validation": "the error on held-out rows did not improve any more",
    "margin_refuted": "so many mistakes prove that no plane has the target margin",
}


def _bound(found: Study) -> str:
    words = (
        "Novikoff's theorem: if all rows are at most R long and some plane keeps at least γ from all of them, the "
        "perceptron makes at most (R/γ)² mistakes, whatever the order, the number of rows and of features. Each "
        "mistake "
        "brings the weights closer to that plane, and none lets them grow by much."
    )
    parts = [_p(words, "student")]
    if found.bound is None or found.margin is None:
        if found.verdict.kind in (QUASI, OVERLAP):
            parts.append(_p("No plane separates these rows, so there is no margin and no bound: mistakes never end."))
        else:
            parts.append(_p("The largest margin is not known here, and the run gave no lower bound on it."))
        display = BracketDisplay.from_trail(found.model, found.trail, None).plot()
        parts.append(
            _figure(display, "‖w‖/(ηk) is above every margin that a plane could have; without any it falls to 0.")
        )
        return _section("bound", "The mistake bound", *parts)
    bound = found.bound
    points = "of the points (x, 1)" if found.fit_intercept else ""
    factor = "2" if len(found.classes) > 2 else ""
    squared = f"{factor}(R² + 1)/γ²" if found.fit_intercept else f"{factor}R²/γ²"
    facts = [
        ("radius R", number(bound.radius)),
        (f"largest margin γ {points}", _between(bound.margin.lower, bound.margin.upper)),
        (f"bound {squared}", f"{_between(bound.lower, bound.upper)}: at most {number(bound.mistakes)} mistakes"),
        (
            "mistakes made",
            f"{found.model.mistakes_:,}, {_percent(found.model.mistakes_ / bound.mistakes)} of the bound",
        ),
    ]
    if found.audit is not None:
        said = f"every step holds, at each of the {found.audit.mistakes:,} mistakes" if found.audit.holds else (
            f"<b>violated</b>: {escape(found.audit.violation or '')}"
        )  # fmt: skip
        facts.append(("audit of the proof", said))
    parts.append(_facts(facts))
    if not found.searched:
        parts.append(
            _p(
                "For rows of so many features the largest margin is not searched for here; its bounds come from "
                "the run: "
                "<code>linsep.largest_margin</code> finds it more exactly."
            )
        )
    if found.audit is not None and math.isfinite(bound.upper):
        parts.append(
            _figure(
                TheoremDisplay(found.audit).plot(),
                "The proof as it happens. The norm ‖w‖ stays below one curve, the progress w·u above the other; "
                "where "
                "they cross no run can go on.",
            )
        )
    display = BracketDisplay.from_trail(found.model, found.trail, (found.margin.lower, found.margin.upper)).plot()
    parts.append(
        _figure(
            display,
            "What the run alone tells of the largest margin: an upper bound at every mistake, a lower one at the end.",
        )
    )
    return _section("bound", "The mistake bound", *parts)


def _margins(found: Study) -> str:
    model = found.model
    words = (
        "The <b>margin</b> of a plane is its distance to the nearest row, negative if some row is on the wrong "
        "side. The "
        "perceptron stops at any plane that separates; the one of largest margin is the hard-margin support "
        "vector machine."
    )
    two = len(found.classes) == 2
    rows = [["plane of the perceptron", number(model.margin_), "—"]]
    for name, margin in (("of all planes", found.affine), ("of the theorem", found.margin)):
        if margin is not None:
            support = f"{len(np.unique(margin.rows)):,}"
            rows.append([f"largest {name} ({margin.form})", _between(margin.lower, margin.upper), support])
    parts = [_p(words, "student"), _table(["margin", "value", "support rows"], rows)]
    cloud = found.rows > 300
    if two and model.coef_.any():
        display: Any = PlaneDisplay.from_estimator(model, found.X, found.y)
        caption = "The plane of the run among the rows; larger marks had more mistakes."
        if found.features > 2:
            caption += (
                " The rows are projected on w and on the widest direction across it: distances to the plane are true."
            )
        parts.append(_figure(display, caption, points=cloud))
    elif not two:
        display = RegionsDisplay.from_estimator(model, found.X, found.y)
        parts.append(_figure(display, "The region of each class; rows that are wrong have a cross.", points=True))
    if model.coef_.any():
        parts.append(
            _figure(MarginsDisplay.from_estimator(model, found.X, found.y), "How far the rows keep from the plane.")
        )
    if two and found.affine is not None and found.stored <= _SMALL and model.stop_reason_ == "separated":
        display = PlanesDisplay.from_data(found.X, found.y, fit_intercept=found.fit_intercept, shuffles=5)
        parts.append(
            _figure(
                display, "Other orders, other planes: why the perceptron's plane is not the best one.", points=cloud
            )
        )
    return _section("margins", "Planes and margins", *parts)


def _unseen(found: Study) -> str:
    words = (
        "How will it do on rows that it has not seen? Each answer holds with probability "
        f"{1 - found.delta:g} if the rows were drawn independently from one source. A bound of 1 or more is "
        f"vacuous: it "
        "says nothing."
    )
    parts = [_p(words, "student")]
    if found.unseen is None or found.trained is None:
        return _section("unseen", "New rows", *parts, _p("Not measured: too few rows to hold some out."))
    parts.append(
        _p(
            f"Learnt from {found.trained._rows_seen:,} rows in a random but fixed order "
            f"({found.trained.stop_reason_}), "
            f"measured on the others."
        )
    )
    for part in found.unseen:
        if not part.applies:
            value = f"does not apply: {escape(part.reason or '')}"
        elif part.vacuous:
            value = f"at most {number(part.value)}: <b>vacuous</b>"
        elif part.lower > 0:
            value = f"{_percent(part.lower)} to {_percent(part.value)}"
        else:
            value = f"at most {_percent(part.value)}"
        why = "".join(f"<li>{escape(text)}</li>" for text in part.assumptions)
        facts = [("error on new rows", value), ("how", escape(part.formula)), ("assumes", f"<ul>{why}</ul>")]
        parts.append(f"<h3>{part.name.capitalize()}</h3>{_facts(facts)}")
    return _section("unseen", "New rows", *parts)


def _weights(found: Study) -> str:
    W = found.model.coef_
    strength = np.abs(W).max(axis=0)
    order = np.argsort(-strength, kind="stable")[: 2 * _SHOWN]
    labels = ["weight"] if len(W) == 1 else [escape(str(label)) for label in found.classes[:_SHOWN]]
    rows = [
        [escape(found.name(int(j))), *(number(float(w)) for w in W[: len(labels), j])] for j in order if strength[j] > 0
    ]
    rows.append(["<i>offset</i>", *(number(float(b)) for b in found.model.intercept_[: len(labels)])])
    used = int(np.count_nonzero(strength))
    words = f"The score of a row is w·x + b. {used:,} of {found.features:,} features have a weight; the strongest are:"
    if len(W) == 1:
        words += f" (positive weights speak for {escape(str(found.classes[1]))})"
    return _section("weights", "Weights", _p(words, "student"), _table(["feature", *labels], rows))


def _terms() -> str:
    entries = "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in TERMS)
    return _section("terms", "Terms", f'<dl class="terms">{entries}</dl>')


def _colophon(found: Study) -> str:
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.seconds.items())
    notes = "".join(_p(escape(note), "note") for note in found.notes)
    return f"<footer>{notes}<p>linsep {version('linsep')}; {times}.</p></footer>"
