"""Figures as Display classes in scikit-learn's style; the only package that draws.

In: fitted models, rows, audits. Out: matplotlib figures. Read ``plane`` first; ``style`` has the colors.
"""
