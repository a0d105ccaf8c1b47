"""Golden runs on files: every format, checkpoints, a cluster, the command line."""

import gzip
import re
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import linsep
from golden_tools import (
    case,
    linsep_command,
    masked,
    perceptron,
    run_of,
    whole,
)

NAMES = ["red", "green", "blue", "white"]


# ---------------------------------------------------------------------------------------------------------------
# Files of every format


def delimited(X, y, mark, labels=("no", "yes", "maybe", "never")):
    lines = [mark.join([*NAMES[: X.shape[1]], "label"])]
    lines += [mark.join([*(f"{value:.17g}" for value in x), labels[code]]) for x, code in zip(X, y, strict=True)]
    return "\n".join(lines) + "\n"


def libsvm(X, y):
    return "".join(
        " ".join([str(code), *(f"{j + 1}:{value:.17g}" for j, value in enumerate(x) if value)]) + "\n"
        for x, code in zip(X, y, strict=True)
    )


def table(X, y):
    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)} | {"label": np.array(["no", "yes", "maybe"])[y]})


def write_file(form, X, y, name="data"):
    """Write rows in a format, which the ending says; return the name."""
    path = f"{name}.{form}"
    text = {"csv": lambda: delimited(X, y, ","), "tsv": lambda: delimited(X, y, "\t"), "svm": lambda: libsvm(X, y)}
    start, _, packed = form.partition(".")
    if packed == "gz":
        with gzip.open(path, "wt") as file:
            file.write(text[start]())
    elif packed == "zst":
        with pa.CompressedOutputStream(path, "zstd") as file:
            file.write(text[start]().encode())
    elif start in text:
        with open(path, "w") as file:
            file.write(text[start]())
    elif form == "parquet":
        pq.write_table(table(X, y), path, row_group_size=50)
    elif form == "arrow":
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table(X, y).schema) as writer:
            writer.write_table(table(X, y), max_chunksize=50)
    elif form == "feather":
        pyarrow.feather.write_feather(table(X, y), path, compression="lz4")
    elif form == "npy":
        np.save(path, np.column_stack((X, y)))
    else:
        np.savez(path, X=X, y=y)
    return path


FORMATS = ("csv", "tsv", "svm", "parquet", "arrow", "feather", "npy", "npz", "csv.gz", "csv.zst", "tsv.gz", "svm.gz",
           "svm.zst")  # fmt: skip


def learned(model, source, **how):
    """Train from a source without the warning that a budget is spent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return linsep.fit_source(model, source, **how)


def rows_of(source):
    X, y = source.to_arrays()
    names = None if source.names is None else list(source.names)[:8]
    return {"X": X, "y": y, "names": names, "n_features": source.n_features}


def add_format(form):
    @case(f"files/{form}")
    def _():
        found = {}
        for classes in (2, 3):
            X, y = whole(n=300, classes=classes, seed=60)
            path = write_file(form, X, y)
            found[f"{classes} rows"] = rows_of(linsep.read(path))
            for size in (900, 1 << 22):
                model = learned(perceptron(shuffle=False, max_iter=9), linsep.read(path, block_bytes=size))
                found[f"{classes} in blocks of {size}"] = run_of(model, X)
        return found

    @case(f"files/shuffled/{form}")  # the order may become another one: record these cases anew then
    def _():
        X, y = whole(n=300, seed=60)
        path = write_file(form, X, y)
        sizes = (900, 1 << 22)
        return {
            str(size): run_of(learned(perceptron(max_iter=9), linsep.read(path, block_bytes=size)), X) for size in sizes
        }

    @case(f"files/scaled/{form}", machine=True)
    def _():
        X, y = whole(n=300, seed=61)
        path = write_file(form, X * [1, 4, 16, 64], y)
        found = {}
        for scale in ("unit", "standard"):
            model = learned(perceptron(shuffle=False, max_iter=9), linsep.read(path, block_bytes=900), scale=scale)
            found[scale] = run_of(model, X)
        return found


for form in FORMATS:
    add_format(form)


@case("files/runs")
def _():
    found = {}
    for classes in (2, 3):
        X, y = whole(n=300, classes=classes, noise=0.1, seed=62)
        path = write_file("csv", X, y)
        for way in ({"keep": "best"}, {"keep": "average"}, {"keep": "vote"}, {"multi_class": "ovr"}, {"tol": 1e9},
                    {"max_updates": 40}, {"early_stopping": True, "validation_fraction": 0.25}, {"target_margin": 4.0},
                    {"class_weight": {"yes": 2.0}}, {"update_margin": 3.0}, {"fit_intercept": False}):  # fmt: skip
            model = perceptron(**{"shuffle": False, "max_iter": 6, "n_iter_no_change": 2, **way})
            found[f"{classes} {way}"] = run_of(learned(model, linsep.read(path, block_bytes=2000)), X)
    return found


@case("files/late labels, several files, positive")
def _():
    X, y = whole(n=300, classes=3, seed=63)
    order = np.argsort(y, kind="stable")  # the last label comes in the last block
    path = write_file("csv", X[order], y[order])
    parts = [write_file("csv", X[k::2], y[k::2], f"part{k}") for k in range(2)]
    two = whole(n=200, seed=63)
    positive = linsep.read(write_file("tsv", *two), positive="no")
    return {
        "late": run_of(learned(perceptron(shuffle=False, max_iter=5), linsep.read(path, block_bytes=500)), X),
        "several": run_of(learned(perceptron(shuffle=False, max_iter=5), linsep.read(parts, block_bytes=500)), X),
        "glob": rows_of(linsep.read("part*.csv")),
        "positive": run_of(learned(perceptron(shuffle=False), positive), two[0]),
    }


WORDS = "size,color,born,note,label\n" + "".join(
    f"{k % 7},{('red', 'green', 'dark blue')[k % 3]},born {2000 + k % 9},{'a b c'[: 1 + k % 5]},{'ny'[k % 3 > 0]}\n"
    for k in range(60)
)


def write_words():
    with open("words.csv", "w") as file:
        file.write(WORDS)
    return "words.csv"


@case("files/words")
def _():
    path = write_words()
    ways = {
        "": {"hash_bits": 10},
        "text": {"hash_bits": 10, "text": "note", "ignore": ["born"]},
        "categorical": {"hash_bits": 10, "categorical": ["size"], "ignore": ["born", "note"]},
    }
    found = {}
    for name, way in ways.items():
        model = learned(perceptron(shuffle=False, max_iter=5), linsep.read(path, block_bytes=500, **way))
        found[name] = rows_of(linsep.read(path, **way)) | {"run": run_of(model)}
    return found


@case("files/gaps")
def _():
    with open("gaps.csv", "w") as file:
        file.write("a,b,y\n1,2,n\n,3,y\n4,NA,y\n0,-2,n\n5,?,y\n-1,-1,n\n".replace("?", "nan"))
    found = {how: rows_of(linsep.read("gaps.csv", missing=how)) for how in ("zero", "drop")}
    try:
        linsep.read("gaps.csv").to_arrays()
    except ValueError as error:
        found["error"] = str(error)
    return found


@case("files/resumed")
def _():
    found = {}
    for classes, form in ((2, "csv"), (3, "svm"), (2, "npy")):
        X, y = whole(n=300, classes=classes, noise=0.1, seed=64)
        path = write_file(form, X, y)
        for keep in ("last", "best", "average", "vote") if form == "csv" else ("last",):
            name = f"{classes} {keep}.checkpoint"
            for passes, resume in ((3, False), (7, True)):
                model = perceptron(shuffle=False, max_iter=passes, keep=keep)
                source = linsep.read(path, block_bytes=1500)
                learned(model, source, checkpoint=name, every=0.0, resume=resume)
            found[f"{form} {keep}"] = run_of(model, X)
    return found


@case("files/shuffled/resumed")
def _():
    X, y = whole(n=300, noise=0.1, seed=64)
    path = write_file("csv", X, y)
    for passes, resume in ((3, False), (7, True)):
        model = perceptron(max_iter=passes)
        learned(model, linsep.read(path, block_bytes=2000), checkpoint="c", every=0.0, resume=resume)
    return run_of(model, X)


# ---------------------------------------------------------------------------------------------------------------
# A cluster of one worker


# ---------------------------------------------------------------------------------------------------------------
# The command line


def prepared(classes=2, noise=0.0, form="csv"):
    """Write training and test files."""
    X, y = whole(n=260, classes=classes, noise=noise, seed=70)
    return write_file(form, X[:200], y[:200], "train"), write_file(form, X[200:], y[200:], "test")


def add_fit(name, classes, noise, *options):
    @case(f"command line/fit/{name}")
    def _():
        train, _ = prepared(classes, noise)
        command = ("fit", train, "--no-shuffle", "--max-iter", "9", *options)
        return {
            "json": linsep_command(*command, "--json"),
            "text": linsep_command(*command),
            "model": run_of(linsep.load("model.linsep")),
        }


add_fit("separated", 2, 0.0, "--max-iter", "900")
add_fit("max_iter", 2, 0.2)
add_fit("max_updates", 2, 0.2, "--max-updates", "30")
add_fit("loss_plateau", 2, 0.2, "--tol", "1e9", "--n-iter-no-change", "2")
add_fit("validation", 3, 0.2, "--early-stopping", "--validation-fraction", "0.3", "--n-iter-no-change", "2")
add_fit("margin_refuted", 2, 0.2, "--target-margin", "4")
add_fit("average", 3, 0.1, "--keep", "average")
add_fit("vote", 3, 0.1, "--keep", "vote", "--multi-class", "ovr")
add_fit("order", 2, 0.0, "--order", "worst", "--max-updates", "300")
add_fit("class weight", 2, 0.1, "--class-weight", "yes=2", "--class-weight", "no=0.5", "--positive", "no")


@case("command line/predict, score, show")
def _():
    found = {}
    for classes, form in ((2, "csv"), (3, "tsv"), (3, "parquet"), (2, "svm")):
        train, test = prepared(classes, 0.1, form)
        linsep_command("fit", train, "--no-shuffle", "--max-iter", "5", "--quiet")
        found[f"{classes} {form}"] = {
            "predict": linsep_command("predict", "model.linsep", test, "--score")["out"][:12],
            "predict json": linsep_command("predict", "model.linsep", test, "--out", "labels.csv", "--json"),
            "predict text": linsep_command("predict", "model.linsep", test, "--out", "labels.parquet"),
            "score": linsep_command("score", "model.linsep", test),
            "score json": linsep_command("score", "model.linsep", test, "--json", "--at-most", "0.01"),
            "show": linsep_command("show", "model.linsep"),
            "show json": linsep_command("show", "model.linsep", "--json", "--top", "2"),
        }
    return found


def words_of(path):
    """Return the sections and words of a page, without times."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    bare = re.sub(r"(?s)<(style|script|svg).*?</\1>|<[^>]*>", " ", page)
    return {
        "sections": re.findall(r'<section[^>]* id="?([\w-]+)', page),
        "words": [masked(" ".join(line.split())) for line in bare.splitlines() if line.strip()],
    }


@case("command line/convert")
def _():
    train, test = prepared(3, form="svm")  # LIBLINEAR has whole numbers as labels
    linsep_command("fit", train, "--no-shuffle", "--max-iter", "5", "--quiet")
    found = {}
    for name in ("model.txt", "model.onnx", "again.linsep"):
        found[name] = linsep_command("convert", "model.linsep", name)
        found[f"{name} json"] = linsep_command("convert", "model.linsep", name, "--json")
    with open("model.txt") as file:
        found["liblinear"] = file.read()
    found["back"] = linsep_command("convert", "model.txt", "back.linsep")
    found["show back"] = linsep_command("show", "back.linsep")
    return found | {"again": linsep_command("predict", "again.linsep", test)}


@case("command line/errors")
def _():
    train, _ = prepared()
    with open("hole.csv", "w") as file:
        file.write("a,b,y\n1,2,n\n3,nan,y\n")
    with open("one.csv", "w") as file:
        file.write("a,b,y\n1,2,n\n3,4,n\n")
    with open("text.linsep", "w") as file:
        file.write("no model")
    linsep_command("fit", train, "--no-shuffle", "--quiet")
    wrong = [
        "fit nothing.csv", "fit hole.csv", "fit one.csv", f"fit {train} --target lable", f"fit {train} --eta0 -1",
        f"fit {train} --max-iter 0", f"fit {train} --keep some", f"fit {train} --order first --scale unit",
        f"fit {train} --class-weight yes", f"fit {train} --validation-fraction 2 --early-stopping",
        f"fit {train} --resume", f"fit {train} --every x", f"fit {train} --positive blue", "score text.linsep hole.csv",
        "predict model.linsep hole.csv", f"predict model.linsep {train} --json", "verify text.linsep one.csv",
        "separate one.csv", "generate data.csv --margin 2", "generate data.csv --offset x", "convert model.linsep data",
        f"separate {train} --delimiter ;", "fit",
    ]  # fmt: skip
    return {line: linsep_command(*line.split()) for line in wrong if line != "fit"}
