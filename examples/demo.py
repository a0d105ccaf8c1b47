"""What linsep does, in a minute: learn a plane, count the mistakes, prove the bound and the verdict, draw it.

Run it with ``make demo``, or with ``python examples/demo.py [FOLDER]``; figure and report go to FOLDER (``demo``).
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as ScikitPerceptron

from linsep import Perceptron, PlaneDisplay, audit, mistake_bound, report, separate, teacher

console = Console()


def numbers(values: np.ndarray) -> str:
    """Format a vector so that it reads like one on a blackboard."""
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def passes(model: Perceptron) -> Table:
    """Tabulate what each pass recorded, the middle left out where there are many."""
    table = Table("pass", "mistakes", "loss", title="pass by pass", title_justify="left")
    history = model.history_
    shown = [i for i in range(model.n_iter_) if i < 5 or i >= model.n_iter_ - 3]
    for before, i in zip([-1, *shown], shown, strict=False):
        if i > before + 1:
            table.add_row("…", "…", "…")
        table.add_row(str(i + 1), str(history["mistakes"][i]), f"{history['loss'][i]:.4g}")
    return table


def main(folder: Path) -> None:
    """Show a run on drawn data with a known plane, then iris."""
    folder.mkdir(parents=True, exist_ok=True)

    console.rule("[bold]1  A teacher hides a plane; the perceptron finds one")
    margin = 0.05
    X, y, hidden = teacher(200, 2, margin=margin, random_state=7)
    model = Perceptron(fit_intercept=False).fit(X, y)
    bound = mistake_bound(X, y, fit_intercept=False)
    console.print(f"200 points in a disc, no closer than {margin} to the hidden plane w* = {numbers(hidden.w)}\n")
    console.print(f"stop reason     [bold]{model.stop_reason_}[/] after {model.n_iter_} passes")
    console.print(f"mistakes        [bold]{model.mistakes_}[/]   the theorem allows (R/γ)² ≤ {bound.mistakes}")
    holds = audit(model, X, y).holds
    console.print(f"proof           both inequalities hold at each of the {model.mistakes_} mistakes: {holds}")
    console.print(f"radius R        {model.radius_:.4f}")
    console.print(f"margin          {model.margin_:.4f}   of the plane found; the hidden one keeps {margin}")
    console.print(f"w               {numbers(model.coef_[0])}")
    console.print(f"rows that erred {np.count_nonzero(model.mistake_counts_)} of {len(X)}\n")
    console.print(passes(model))
    picture = folder / "plane.png"
    PlaneDisplay.from_estimator(model, X, y).figure_.savefig(picture, dpi=150)
    console.print(f"the plane with its margin band is drawn in [bold]{picture}[/]\n")

    console.rule("[bold]2  Separable data, and who says so")
    X, y, _ = teacher(400, 20, margin=0.01, random_state=3)
    ours = Perceptron().fit(X, y)
    theirs = ScikitPerceptron(random_state=0).fit(X, y)
    table = Table("400 × 20, margin 0.01", "training errors", "passes", "ended because")
    table.add_row("linsep", str(round(400 * (1 - ours.score(X, y)))), str(ours.n_iter_), ours.stop_reason_)
    table.add_row(
        "scikit-learn", str(round(400 * (1 - theirs.score(X, y)))), str(theirs.n_iter_), "loss tolerance (not told)"
    )
    console.print(table)

    console.rule("[bold]3  Iris: what the perceptron finds, and what is proved")
    iris = load_iris(as_frame=True)
    table = Table("iris", "verdict", "stop reason", "passes", "mistakes", "margin", "errors")
    problems = {name: np.where(iris.target == c, name, "other") for c, name in enumerate(iris.target_names)}
    problems = {"all three": iris.target_names[iris.target]} | {
        f"{name} or not": labels for name, labels in problems.items()
    }
    for name, labels in problems.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two of these end on the pass budget: the table says so
            model = Perceptron(shuffle=False).fit(iris.data, labels)
        wrong = np.count_nonzero(model.predict(iris.data) != labels)
        table.add_row(
            name,
            separate(iris.data, labels).kind,
            model.stop_reason_,
            str(model.n_iter_),
            str(model.mistakes_),
            f"{model.margin_:.3g}",
            str(wrong),
        )
    console.print(table)
    versicolor = problems["versicolor or not"]
    refutation = separate(iris.data, versicolor).refutation
    console.print(
        f"no plane tells versicolor from the others: rows {refutation.indices.tolist()} contradict each other"
    )
    page = folder / "report.html"
    report(iris.data, problems["setosa or not"], page, title="Setosa or not")
    console.print(f"all about the first of these problems is in [bold]{page}[/]: open it in a browser")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
