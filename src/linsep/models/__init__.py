"""Scikit-learn classifiers on top of ``learn`` and ``prove``, model files, and other programs' formats.

In: arrays or a ``Source``. Out: fitted estimators. Read ``online`` first, then ``perceptron``.
"""
