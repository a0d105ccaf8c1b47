"""Rows to weights: compiled loops, the driver of a run, the hypothesis it keeps, checkpoints.

In: blocks of examples and a plan. Out: weights and the record of the run. Read ``driver`` first, then ``kernels``.
"""
