"""Who can do what: every yes of the front page's table is found out by running it, here and now.

``python -m benchmarks.features`` runs all checks and writes ``features.json`` and the table. There is a check for every
cell: something that is run, which is a no if it raises or falls short; a look through all public names of a package, or
all options of Vowpal Wabbit; or, where there is nothing to try, what the documentation says instead, which becomes a
note below the table. Peers come with the extra ``bench``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from linsep import teacher

PATH = Path(__file__).with_name("features.json")
PAGES = ("README.md", "docs/compared.md")
PEERS = {
    "linsep": "linsep",
    "scikit-learn": "scikit-learn",
    "LIBLINEAR": "liblinear-official",
    "Vowpal Wabbit": "vowpalwabbit",
    "river": "river",
    "mlpack": "mlpack",
}
X, Y, _ = teacher(400, 20, margin=0.01, random_state=3)  # separable, by little
FLIPPED = np.where(np.arange(len(Y)) < 3, -Y, Y)  # three wrong labels
Check = Callable[[], bool]


def has(package: str, *words: str) -> Check:
    """Look for a public name that has all of the words in it, in a package and its modules."""

    def look() -> bool:
        top = importlib.import_module(package)
        names = set(dir(top))
        for found in pkgutil.iter_modules(getattr(top, "__path__", [])):
            if not found.name.startswith("_") and found.name not in ("tests", "conftest", "test"):
                try:
                    names |= {found.name, *dir(importlib.import_module(f"{package}.{found.name}"))}
                except Exception:  # what cannot be imported cannot be used
                    continue
        public = (name.lower() for name in names if not name.startswith("_"))
        return any(all(word in name for word in words) for name in public)

    return look


def option(*words: str) -> Check:
    """Look for an option of Vowpal Wabbit whose name and help have all of the words in them."""

    def look() -> bool:
        from vowpalwabbit import Workspace

        told = Workspace("--quiet").get_config(filtered_enabled_reductions_only=False)
        texts = [
            f"{each.name} {each.help_str}".lower() for groups in told.values() for _, them in groups for each in them
        ]
        return any(all(word in text for word in words) for text in texts)

    return look


class Manual:
    """A no that rests on the documentation: what there is instead."""

    def __init__(self, says: str) -> None:
        self.says = says

    def __call__(self) -> bool:
        """Say no."""
        return False


def does(*steps: Callable[[], object]) -> Check:
    """Run some steps; it is done if none of them raises and the last one is not false."""

    def run() -> bool:
        return [step() for step in steps][-1] is not False

    return run


def copies(fit: Callable[[Any, Any], object]) -> bool:
    """Say whether learning from bytes takes more memory than they do, which a copy as float64 would."""
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 255, (50_000, 64), np.uint8), rng.integers(0, 2, 50_000)
    fit(rows[:100], labels[:100])
    tracemalloc.start()
    fit(rows, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak > rows.nbytes


# ---------------------------------------------------------------------------------------------------------------
# What each of them is asked


def liblinear(options: str, rows: Any, labels: Any) -> Any:
    """Train LIBLINEAR, and return the share of rows it gets right."""
    from liblinear.liblinearutil import predict, train

    model = train(labels.tolist(), [dict(enumerate(row, 1)) for row in rows.tolist()], f"{options} -q")
    return predict(labels.tolist(), [dict(enumerate(row, 1)) for row in rows.tolist()], model, "-q")[1][0] / 100


def vw(lines: list[str], options: str) -> list[float]:
    """Train Vowpal Wabbit line by line, and return what it predicts for each."""
    from vowpalwabbit import Workspace

    workspace = Workspace(f"{options} --quiet")
    for line in lines:
        workspace.learn(line)
    return [workspace.predict(line.split(" ", 1)[1]) for line in lines]


def vw_lines() -> list[str]:
    return [f"{label} | " + " ".join(f"{j}:{v}" for j, v in enumerate(row)) for row, label in zip(X, Y, strict=True)]


def river_learns(model: Any, labels: Any) -> bool:
    """Teach a model of river row by row, and ask it for a label."""
    for row, label in zip(X.tolist(), labels, strict=True):
        model.learn_one(dict(enumerate(row)), label)
    return model.predict_one(dict(enumerate(X[0].tolist()))) is not None


def checks() -> dict[str, dict[str, Check]]:
    """Return a question per line of the table, with a check for each of those who may be able to do it."""
    import linsep
    from linsep import KernelPerceptron, MaxMarginClassifier, PassiveAggressive, Perceptron

    three = np.arange(len(Y)) % 3
    folder = tempfile.mkdtemp()
    file = os.path.join(folder, "rows.csv")
    np.savetxt(file, np.column_stack((X, Y)), delimiter=",", header=",".join(f"x{j}" for j in range(21)), comments="")

    def scikit(name: str, **parameters: Any) -> Any:
        return getattr(importlib.import_module("sklearn.linear_model"), name)(**parameters)

    def mlpack(**given: Any) -> Any:
        return importlib.import_module("mlpack").perceptron(**given)

    def river(room: str, name: str, *given: Any) -> Any:
        return getattr(importlib.import_module(f"river.{room}"), name)(*given)

    def pa() -> Any:
        return river("linear_model", "PAClassifier")

    def goes_on(labels: Any) -> object:
        return mlpack(training=X, labels=labels, input_model=mlpack(training=X, labels=(Y > 0) + 0)["output_model"])

    def late(model: Any) -> bool:
        first = {"classes": ["a", "b"]} if model.__module__.startswith("sklearn") else {}
        model.partial_fit(X, np.where(Y > 0, "a", "b"), **first)
        model.partial_fit(X, np.repeat("c", len(Y)))
        return "c" in model.classes_

    names = {"scikit-learn": "sklearn", "LIBLINEAR": "liblinear", "river": "river", "mlpack": "mlpack"}

    def named(*words: str) -> dict[str, Check]:
        found = {peer: has(package, *words) for peer, package in names.items()}
        return found | {"Vowpal Wabbit": option(*words)}

    return {
        "decides whether a plane separates, with a proof": named("separab")
        | {"linsep": does(lambda: linsep.verify(linsep.separate(X, Y), X, Y))},
        "gets all rows right on data with a clear margin, by default": {
            "linsep": does(lambda: Perceptron().fit(X, Y).score(X, Y) == 1),
            "scikit-learn": does(lambda: scikit("Perceptron").fit(X, Y).score(X, Y) == 1),
            "LIBLINEAR": does(lambda: liblinear("", X, Y) == 1),
            "Vowpal Wabbit": does(lambda: bool(np.all(np.sign(vw(vw_lines(), "--loss_function hinge")) == Y))),
            "river": does(lambda: _river_right()),
            "mlpack": does(lambda: _mlpack_right(mlpack)),
        },
        "tells on which rows the mistakes fell": named("mistake")
        | {"linsep": does(lambda: Perceptron().fit(X, Y).trace_.size > 0)},
        "finds the largest margin, between proved bounds": named("margin", "upper")
        | {"linsep": does(lambda: MaxMarginClassifier().fit(X, Y).margin_upper_ > 0)},
        "bounds the fewest errors of any plane from both sides, proved": named("fewest")
        | {"linsep": does(lambda: linsep.fewest_errors(X, FLIPPED, time_limit=10).lower > 0)},
        "tells which coefficients of a logistic regression are infinite": named("infinite", "coef")
        | {"linsep": does(lambda: linsep.separation(X, Y > 0).kind == "complete")},
        "learns some rows at a time": {
            "linsep": does(lambda: Perceptron().partial_fit(X, Y)),
            "scikit-learn": does(lambda: scikit("Perceptron").partial_fit(X, Y, classes=[-1, 1])),
            "LIBLINEAR": has("liblinear.liblinearutil", "partial"),
            "Vowpal Wabbit": does(lambda: vw(vw_lines()[:10], "")),
            "river": does(lambda: river_learns(river("linear_model", "Perceptron"), (Y > 0).tolist())),
            "mlpack": does(lambda: goes_on((Y > 0) + 0)),
        },
        "takes classes that appear late": {
            "linsep": does(lambda: late(Perceptron())),
            "scikit-learn": does(lambda: late(scikit("Perceptron"))),
            "LIBLINEAR": has("liblinear.liblinearutil", "partial"),
            "Vowpal Wabbit": does(lambda: 3 in vw([f"{1 + i % 3} | a:{i % 3}" for i in range(300)], "--oaa 2")),
            "river": does(lambda: river_learns(river("multiclass", "OneVsRestClassifier", pa()), three.tolist())),
            "mlpack": does(lambda: goes_on(three)),
        },
        "trains from a file of any size": {
            "linsep": does(lambda: linsep.fit_source(Perceptron(), linsep.read(file))),
            "scikit-learn": Manual("takes arrays; reading blocks for partial_fit is left to the user"),
            "LIBLINEAR": Manual("reads the whole file into memory; a separate program takes data beyond it"),
            "mlpack": Manual("takes matrices in memory"),
            "Vowpal Wabbit": does(lambda: _vw_file(folder)),
            "river": does(lambda: inspect.isgenerator(river("stream", "iter_csv", file))),
        },
        "averaged perceptron": named("averaged")
        | {
            "linsep": does(lambda: Perceptron(keep="average").fit(X, Y)),
            "scikit-learn": does(lambda: scikit("SGDClassifier", loss="perceptron", average=True).fit(X, Y)),
        },
        "voted perceptron": named("voted") | {"linsep": does(lambda: Perceptron(keep="vote").fit(X, Y))},
        "passive-aggressive": named("passive")
        | {
            "linsep": does(lambda: PassiveAggressive().fit(X, Y)),
            "scikit-learn": does(lambda: scikit("PassiveAggressiveClassifier").fit(X, Y)),
            "river": does(lambda: river_learns(river("linear_model", "PAClassifier"), (Y > 0).tolist())),
        },
        "kernel perceptron": named("kernel", "perceptron") | {"linsep": does(lambda: KernelPerceptron().fit(X, Y))},
        "more than two classes as one machine": {
            "linsep": does(lambda: Perceptron(max_iter=2).fit(X, three)),
            "scikit-learn": does(lambda: _crammer_singer(three)),
            "LIBLINEAR": does(lambda: liblinear("-s 4", X, three) > 0.3),
            "Vowpal Wabbit": Manual("its multiclass options reduce them to binary problems"),
            "river": does(lambda: river_learns(river("linear_model", "SoftmaxRegression"), three.tolist())),
            "mlpack": does(lambda: mlpack(training=X, labels=three, max_iterations=2)),
        },
        "learns from rows of bytes without a float64 copy": {
            "linsep": does(lambda: not copies(lambda A, b: Perceptron(max_iter=1).fit(A, b))),
            "scikit-learn": does(lambda: not copies(lambda A, b: scikit("Perceptron", max_iter=1).fit(A, b))),
            "LIBLINEAR": does(lambda: not copies(_liblinear_bytes)),
            "Vowpal Wabbit": Manual("takes text, not arrays"),
            "river": does(lambda: not copies(_river_bytes)),
            "mlpack": does(lambda: not copies(lambda A, b: mlpack(training=A, labels=b, max_iterations=1))),
        },
        "a scikit-learn classifier": {
            "linsep": does(lambda: _classifier(Perceptron())),
            "scikit-learn": does(lambda: _classifier(scikit("Perceptron"))),
            "LIBLINEAR": has("liblinear", "classifier"),
            "Vowpal Wabbit": does(lambda: _classifier(importlib.import_module("vowpalwabbit.sklearn").VWClassifier())),
            "river": does(lambda: _classifier(river("compat", "River2SKLClassifier", pa()))),
            "mlpack": does(lambda: _classifier(importlib.import_module("mlpack").LogisticRegression())),
        },
        "keeps models in files that run no code when read": {
            "linsep": does(lambda: linsep.save(Perceptron().fit(X, Y), os.path.join(folder, "m.linsep"))),
            "LIBLINEAR": has("liblinear.liblinearutil", "save_model"),
            "Vowpal Wabbit": does(lambda: _vw_saves(folder)),
            "scikit-learn": Manual("pickle or joblib; skops and ONNX converters are packages of their own"),
            "river": Manual("pickle"),
            "mlpack": Manual("pickle in Python; its command-line programs and C++ write JSON and XML"),
        },
    }  # fmt: skip


def _liblinear_bytes(rows: Any, labels: Any) -> object:
    from liblinear.liblinearutil import train

    return train(labels.astype(float), rows, "-q")


def _river_bytes(rows: Any, labels: Any) -> None:
    import pandas as pd
    from river.linear_model import Perceptron

    Perceptron().learn_many(pd.DataFrame(rows), pd.Series(labels == 1))


def _crammer_singer(labels: Any) -> object:
    from sklearn.svm import LinearSVC

    return LinearSVC(multi_class="crammer_singer").fit(X, labels)


def _river_right() -> bool:
    from river.linear_model import Perceptron

    model, rows = Perceptron(), [dict(enumerate(row)) for row in X.tolist()]
    for row, label in zip(rows, (Y > 0).tolist(), strict=True):
        model.learn_one(row, label)
    return all(model.predict_one(row) == label for row, label in zip(rows, (Y > 0).tolist(), strict=True))


def _mlpack_right(mlpack: Callable[..., Any]) -> bool:
    labels = (Y > 0) + 0
    return bool(np.array_equal(mlpack(training=X, labels=labels, test=X)["predictions"].ravel(), labels))


def _vw_file(folder: str) -> bool:
    from vowpalwabbit import Workspace

    path = Path(folder, "rows.vw")
    path.write_text("\n".join(vw_lines()) + "\n")
    Workspace(f"-d {path} --loss_function hinge --quiet").finish()
    return True


def _vw_saves(folder: str) -> bool:
    from vowpalwabbit import Workspace

    path = Path(folder, "m.vw")
    workspace = Workspace("--quiet")
    workspace.learn(vw_lines()[0])
    workspace.save(str(path))
    return path.stat().st_size > 0


def _classifier(model: Any) -> bool:
    from sklearn.base import is_classifier
    from sklearn.model_selection import cross_val_score

    return bool(is_classifier(model) and np.isfinite(cross_val_score(model, X, Y, cv=2)).all())


# ---------------------------------------------------------------------------------------------------------------
# The table


def find_out(only: str | None = None) -> dict[str, dict[str, bool]]:
    """Run the checks, of all or of one of them."""
    found: dict[str, dict[str, bool]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for feature, each in checks().items():
            found[feature] = {}
            for peer in PEERS if only is None else [only]:
                try:
                    found[feature][peer] = bool(each[peer]())
                except Exception as error:  # whatever it raises, it cannot do it
                    print(f"{feature}, {peer}: {type(error).__name__}: {str(error)[:100]}")
                    found[feature][peer] = False
    return found


def notes() -> dict[str, dict[str, str]]:
    """Return what the documentation says, where it is all there is to go by."""
    each = {feature: {peer: check.says for peer, check in row.items() if isinstance(check, Manual)}
            for feature, row in checks().items()}  # fmt: skip
    return {feature: row for feature, row in each.items() if row}


def lines(told: dict[str, Any], *, notes: bool = True) -> list[str]:
    """Return the lines of the table, with the notes below it or without any."""
    head = [f"{peer} {told['versions'].get(package, '')}".strip() for peer, package in PEERS.items()]
    table = ["| | " + " | ".join(head) + " |", "|---|" + ":-:|" * len(PEERS)]
    below: list[str] = []
    for feature, each in told["features"].items():
        shown = ["yes" if each[peer] else "–" for peer in PEERS]
        for place, peer in enumerate(PEERS):
            if notes and (says := told["notes"].get(feature, {}).get(peer)):
                mark = f"<sup>{len(below) + 1}</sup>"
                shown[place] += f" {mark}"
                below.append(f"{mark} {peer}: {says}.")
        table.append(f"| {feature} | " + " | ".join(shown) + " |")
    return [*table, "", "By the documentation: " + " ".join(below)] if notes else table


def written(page: str, told: dict[str, Any]) -> str:
    """Return a page with the table written anew; the front page has no notes."""
    text = (results.ROOT / page).read_text(encoding="utf-8")
    return results.filled(text, "features", lines(told, notes=page != "README.md"))


def main() -> None:
    """Find everything out, and write it down."""
    versions = {package: metadata.version(package) for package in PEERS.values()}
    told = {"versions": versions, "features": find_out(), "notes": notes()}
    PATH.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    for page in PAGES:
        (results.ROOT / page).write_text(written(page, told), encoding="utf-8")
    print("\n".join(lines(told)))


if __name__ == "__main__":
    main()
