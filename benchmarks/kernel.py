"""The kernel perceptron beside scikit-learn's support vector machine: 10,000 digits, polynomial of degree 2."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from sklearn.svm import SVC

from benchmarks import Row, at_least, at_most, best
from benchmarks.family import mnist
from linsep import KernelPerceptron

ROWS = 10_000


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    data = mnist()
    if data is None:
        return
    X, y, X_test, y_test = data
    X, y = X[:ROWS], y[:ROWS]
    models = (
        KernelPerceptron("poly", degree=2, gamma=1.0, coef0=1.0, keep="average", max_iter=10),
        SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0),
    )
    seconds = [best(lambda model=model: model.fit(X, y), times) for model, times in zip(models, (3, 2), strict=True)]
    errors = [100 * (1 - model.score(X_test, y_test)) for model in models]
    yield at_least("fit, 10k digits, polynomial 2, 10 passes", seconds[0], "SVC", seconds[1], 5)
    yield at_most("test error of these in percent", errors[0], "SVC", errors[1], 1.5)
