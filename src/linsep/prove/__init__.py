"""Verdicts, margins and bounds on rows, each with a proof that is checked in exact arithmetic.

In: rows and class codes. Out: claims with proofs. Read ``claims``, ``linsep_check`` and ``facial_reduction`` first.
"""
