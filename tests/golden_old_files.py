"""Golden runs on proofs that were written earlier."""

import json

import numpy as np

import linsep
from golden_tools import (
    FIXTURES,
    case,
    real,
    verdict_of,
    whole,
)

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
    """Write proofs; done once, with 0.1.0."""
    assert linsep.__version__ == "0.1.0"
    FIXTURES.mkdir(exist_ok=True)
    for name, data in PROOFS.items():
        X, y = data()
        (FIXTURES / f"{name}.proof.json").write_text(linsep.to_json(linsep.separate(X, y), X, y))


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


for path in sorted(FIXTURES.glob("*.proof.json")):
    add_proof(path)
