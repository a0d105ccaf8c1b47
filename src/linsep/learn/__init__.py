"""Learns weights from rows: compiled loops, the driver, kept hypotheses, checkpoints.

In: blocks of examples and a plan. Out: weights and the record of the run. Read ``driver`` first, then ``kernels``.
"""
