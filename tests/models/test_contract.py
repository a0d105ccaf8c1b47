"""scikit-learn's contract, for one of every kind of learner."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linsep import AROW, KernelPerceptron, PassiveAggressive, Perceptron

LEARNERS = [
    Perceptron(),
    Perceptron(keep="vote", multi_class="ovr", max_iter=100),
    PassiveAggressive(keep="average", max_iter=100),
    AROW(max_iter=100),
    KernelPerceptron(keep="vote", multi_class="ovr", max_iter=20),
]
# An online learner visits examples one at a time: a weight scales a step, and a row given twice is visited twice
# (docs/mathematics.md). So a weight of 2 is not a row given twice, which is what these two checks ask for.
WEIGHTS_SCALE_STEPS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "a weight is a factor of the step (docs/mathematics.md)",
)
COMPILES = ("check_estimators_dtypes", "check_estimator_sparse_array")  # the loops for many types of numbers
CHECKS = parametrize_with_checks(LEARNERS, expected_failed_checks=lambda _: WEIGHTS_SCALE_STEPS)


def cases():
    """Yield all checks: those of the first learner as they are, the others marked slow."""
    for case in CHECKS.args[1]:
        estimator, check, marks = (*case.values, case.marks) if hasattr(case, "values") else (*case, ())
        quick = repr(estimator) == repr(LEARNERS[0]) and check.func.__name__ not in COMPILES
        yield pytest.param(estimator, check, marks=(*marks, *(() if quick else (pytest.mark.slow,))))


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(cases()), ids=CHECKS.kwargs["ids"])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
