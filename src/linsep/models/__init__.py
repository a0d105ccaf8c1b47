"""The scikit-learn face: classifiers over ``learn`` and ``prove``, model files, and models of other programs.

In: arrays or a ``Source``. Out: fitted estimators. Read ``online`` first, then ``perceptron``.
"""
