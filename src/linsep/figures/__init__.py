"""Figures, as scikit-learn style Display classes; the only package that draws.

In: fitted models, rows, audits. Out: matplotlib figures. Read ``plane`` first; ``style`` has the colors.
"""
