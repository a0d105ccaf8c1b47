"""What the package shows to the world: its names, their parameters and examples, and what an import costs."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linsep
from data import few

SOURCE = Path(linsep.__file__).parent
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "__main__.py"
}
EXAMPLES = [name for name, path in MODULES.items() if ">>>" in path.read_text(encoding="utf-8")]
EXAMPLES.sort(key=lambda name: name.startswith("linsep.cluster"))  # these start clusters
REQUIRED = inspect.Parameter.empty

# The public contract: names with their parameters and defaults. What has been added since has a default, too.
CONTRACT = {
    "Perceptron": {
        "fit_intercept": True, "eta0": 1.0, "shuffle": True, "order": None, "max_iter": 1000, "max_updates": None,
        "tol": None, "n_iter_no_change": 5, "early_stopping": False, "validation_fraction": 0.1, "target_margin": None,
        "keep": "last", "update_margin": 0.0, "multi_class": "argmax", "mistake": "violation", "on_plane": -1,
        "class_weight": None, "warm_start": False, "random_state": 0, "verbose": 0, "prove": True,
        "learning_rate": "constant",
    },
    "Perceptron.fit": {
        "X": REQUIRED, "y": REQUIRED, "sample_weight": None, "coef_init": None, "intercept_init": None,
    },
    "Perceptron.partial_fit": {"X": REQUIRED, "y": REQUIRED, "classes": None, "sample_weight": None},
    "PassiveAggressive": {"variant": "pa1", "C": 1.0},
    "KernelPerceptron": {"kernel": "rbf"},
    "MaxMarginClassifier": {"fit_intercept": True, "gap": 1e-6},
    "separate": {"X": REQUIRED, "y": None, "fit_intercept": True, "time_limit": None},
    "separation": {
        "X": REQUIRED, "y": None, "family": "binomial", "names": None, "fit_intercept": True, "values": None,
        "strata": None, "weights": None, "alias": "drop",
    },
    "verify": {"proof": REQUIRED, "X": REQUIRED, "y": None},
    "fewest_errors": {"X": REQUIRED, "y": None, "fit_intercept": True, "time_limit": 10.0},
    "largest_margin": {"X": REQUIRED, "y": REQUIRED, "form": "affine", "gap": 1e-6},
    "mistake_bound": {"X": REQUIRED, "y": REQUIRED, "fit_intercept": True, "eta0": 1.0, "coef_init": None},
    "audit": {"model": REQUIRED, "X": REQUIRED, "y": REQUIRED},
    "generalization": {"model": REQUIRED, "X": REQUIRED, "y": REQUIRED, "delta": 0.05},
    "teacher": {
        "n": REQUIRED, "d": REQUIRED, "margin": 0.1, "radius": 1.0, "offset": False, "flip": 0.0, "kind": "ball",
        "plane": None, "random_state": 0,
    },
    "read": {"path": REQUIRED},
    "save": {"model": REQUIRED, "path": REQUIRED},
    "load": {"path": REQUIRED},
    "explore": {"X": None, "y": None},
    "cluster.fit": {"model": REQUIRED, "source": REQUIRED, "client": REQUIRED},
}  # fmt: skip
RESULTS = {
    "Perceptron": "predict decision_function score distance loss margin coef_ intercept_ classes_ n_iter_ "
    "n_features_in_ stop_reason_ refutation_ mistakes_ mistake_counts_ trace_ history_ radius_ margin_",
    "MaxMarginClassifier": "margin_lower_ margin_upper_ support_ dual_coef_",
    "separate": "kind separator refutation check",
    "separation": "kind coefficients separated rest direction dimension rank estimable status predict_status to_frame "
    "check refit",
    "fewest_errors": "lower upper rows w b proved check",
    "largest_margin": "lower upper w b support",
    "mistake_bound": "radius margin mistakes",
}


def public():
    """Every public name of the package and of its rooms, with its room; the command line is a program, not a room."""
    for room in MODULES:
        if room != "linsep.cli":
            module = importlib.import_module(room)
            yield from ((room, name) for name in getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_is_kept(name):
    thing = linsep
    for part in name.split("."):
        thing = getattr(thing, part)
    given = [each for each in inspect.signature(thing).parameters.values() if each.name not in ("self", "settings")]
    found = {each.name: each.default for each in given}
    wanted = CONTRACT[name]
    assert {each: found.get(each, "missing") for each in wanted} == wanted
    assert all(default is not REQUIRED for each, default in found.items() if each not in wanted)
    if name == "Perceptron":
        assert set(found) == set(wanted)
    assert name.split(".")[0] in {*linsep.__all__, "cluster"}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_what_the_contract_says(name):
    X, y = np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([1, -1, 1, -1])
    maker = getattr(linsep, name)
    result = maker().fit(X, y) if inspect.isclass(maker) else maker(X, y)
    assert [each for each in RESULTS[name].split() if not hasattr(result, each)] == []


def test_names_are_sorted_and_others_are_not_there():
    assert sorted(linsep.__all__) == linsep.__all__ == sorted(linsep._HOME)
    assert set(linsep.__all__) <= set(dir(linsep))
    assert (Path(linsep.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        linsep.nonsense  # noqa: B018


def test_every_public_name_is_in_the_reference_with_an_example_that_runs():
    reference = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: linsep\.([\w.]+)$", reference, re.M))
    for room, name in public():
        assert {name, f"{room}.{name}".removeprefix("linsep.")} & named, (room, name)
        text = inspect.getdoc(getattr(importlib.import_module(room), name)) or ""
        examples = doctest.DocTestParser().get_examples(text)
        assert examples, (room, name)
        assert not [each for each in examples if doctest.SKIP in each.options], (room, name)


@pytest.mark.parametrize("name", few(EXAMPLES, sum(not name.startswith("linsep.cluster") for name in EXAMPLES)))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted > 0
    assert done.failed == 0
    assert os.listdir(tmp_path) == []  # an example cleans up


def test_importing_loads_and_compiles_nothing():
    code = "import linsep, sys; print(sorted({'numba', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    code = (
        "from linsep.learn import kernels\n"
        "print(sum(len(f.signatures) for f in vars(kernels).values() if hasattr(f, 'signatures')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
