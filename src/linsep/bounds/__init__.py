"""What can be proved of a run: how many mistakes it may make, that it kept to the proof, how it will do on new rows.

``mistakes`` is Novikoff's theorem as a number, ``steps`` follows its proof along a run, ``unseen`` bounds the error on
rows that were not there.
"""

from linsep.bounds.mistakes import Bound, mistake_bound
from linsep.bounds.steps import Audit, audit
from linsep.bounds.unseen import ErrorBound, Generalization, clopper_pearson, generalization

__all__ = [
    "Audit",
    "Bound",
    "ErrorBound",
    "Generalization",
    "audit",
    "clopper_pearson",
    "generalization",
    "mistake_bound",
]
