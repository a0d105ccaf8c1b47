"""Golden runs on models and proofs that 0.1.0 wrote: they must be read for ever."""

import contextlib
import json
import shutil
import tempfile

import numpy as np

import linsep
from golden_files import prepared, write_words
from golden_tools import (
    FIXTURES,
    LATER,
    case,
    digest,
    dual_of,
    fitted,
    linsep_command,
    plain,
    real,
    run_of,
    verdict_of,
    whole,
)


def _models():
    """Yield models of every kind with their names."""
    for classes in (2, 3):
        X, y = whole(n=60, classes=classes, noise=0.15, seed=80)
        labels = np.array(["no", "yes", "maybe"])[y]
        for keep in ("last", "best", "average", "vote"):
            yield f"perceptron-{classes}-{keep}", fitted(linsep.Perceptron(max_iter=4, keep=keep), X, labels)
            if keep != "vote":
                model = linsep.PassiveAggressive(max_iter=3, keep=keep)
                yield f"passive-aggressive-{classes}-{keep}", fitted(model, X, labels)
            if keep != "best":
                model = linsep.KernelPerceptron("poly", gamma=1.0, max_iter=4, keep=keep)
                yield f"kernel-{classes}-{keep}", fitted(model, X, labels)
        yield (
            f"perceptron-{classes}-ovr-vote",
            fitted(linsep.Perceptron(max_iter=4, multi_class="ovr", keep="vote", early_stopping=True), X, y),
        )
        yield f"max-margin-{classes}", linsep.MaxMarginClassifier().fit(*whole(n=60, classes=classes, seed=23))
    parts = linsep.Perceptron(keep="average")
    for known in (2, 3, 3):
        parts.partial_fit(X[y < known], y[y < known])
    yield "perceptron-in-parts", parts
    linsep.to_liblinear(parts, "model.txt")
    yield "from-liblinear", linsep.from_liblinear("model.txt")


PROOFS = {
    "separable": lambda: whole(n=40, seed=31),
    "quasi": lambda: (np.array([[0.0, 0], [2, 1], [1, 2], [1, 2], [3, 3], [2, 1]]), np.array([0, 0, 0, 1, 1, 1])),
    "overlap": lambda: (np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.array(["a", "a", "b", "b"])),
    "overlap-three": lambda: whole(n=60, classes=3, noise=0.3, seed=33),
    "overlap-floats": lambda: real(n=60, d=3, seed=36, apart=0.2),
    "separable-fractions": lambda: (
        np.array([[1e300, 1.0], [1e300, 1 + 2.0**-52], [1e-300, 0.0], [0.0, 5e-324]]),
        np.array([0, 1, 0, 1]),
    ),
}


def write_fixtures():
    """Write models and proofs; done once, with 0.1.0."""
    assert linsep.__version__ == "0.1.0"
    FIXTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, model in _models():
            linsep.save(model, FIXTURES / f"{name}.linsep")
        write_words()
        command = ("fit", "words.csv", "--hash-bits", "10", "--no-shuffle", "--max-iter", "5", "--scale", "unit")
        assert linsep_command(*command)["code"] == 0
        shutil.copy("model.linsep", FIXTURES / "from-words.linsep")
        train, _ = prepared(3, 0.1)
        assert linsep_command("fit", train, "--no-shuffle", "--max-iter", "5", "--keep", "vote")["code"] == 0
        shutil.copy("model.linsep", FIXTURES / "from-csv.linsep")
    for name, data in PROOFS.items():
        X, y = data()
        (FIXTURES / f"{name}.proof.json").write_text(linsep.to_json(linsep.separate(X, y), X, y))


def add_model(path):
    @case(f"0.1.0/model/{path.stem}", machine=True)
    def _():
        model = linsep.load(path)
        linsep.save(model, "again.linsep")
        again = linsep.load("again.linsep")
        X, _ = whole(n=60, classes=3, seed=81)
        X = np.hstack((X, np.zeros((60, model.n_features_in_ - 4))))
        parameters = {key: value for key, value in model.get_params().items() if key not in LATER}
        found = {"kind": type(model).__name__, "parameters": parameters}
        loaded, once_more = ((run_of if getattr(each, "radius_", 0.0) > 0 else dual_of)(each, X)
                             for each in (model, again))  # fmt: skip
        found |= loaded | {"saved again": plain(loaded) == plain(once_more)}
        if hasattr(model, "partial_fit") and not parameters.get("early_stopping"):
            y = model.classes_[np.arange(60) % len(model.classes_)]
            found["goes on"] = digest(model.partial_fit(X, y).decision_function(X))
        return found


def add_proof(path):
    @case(f"0.1.0/proof/{path.name.partition('.')[0]}")
    def _():
        X, y = PROOFS[path.name.partition(".")[0]]()
        verdict, about = linsep.from_json(path.read_text())
        other = np.roll(np.asarray(y), 1)
        forged = json.loads(path.read_text())
        forged["n_features"] += 1
        try:
            linsep.verify(json.dumps(forged), X, y)
            refused = None
        except ValueError as error:
            refused = str(error)
        return {
            "verdict": verdict_of(verdict),
            "about": about,
            "holds": [linsep.verify(path, X, y), linsep.verify(path.read_text(), X, y), verdict.check(X, y)],
            "for other labels": linsep.verify(path, X, other),
            "forged": refused,
        }


for path in sorted(FIXTURES.glob("*.linsep")):
    add_model(path)
for path in sorted(FIXTURES.glob("*.proof.json")):
    add_proof(path)
